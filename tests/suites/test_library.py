"""Finding and fetching, against a real server on loopback."""

import gzip
import hashlib
import http.server
import json
import os
import re
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from unwaver.errors import DataError
from unwaver.suites import library as loaders
from unwaver.suites.library import Home, homes, library

TABLE = b"premise\thypothesis\tlabel\na\tb\t0\n"
OTHER = TABLE.replace(b"0", b"1")
HASH = hashlib.sha256(TABLE).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNWAVER_DATA", raising=False)
    return tmp_path / "cache" / "unwaver" / "data"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/")
        if name == "gone":
            self.send_error(404)
        elif name == "elsewhere":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/x")
            self.end_headers()
        elif name == "hang":
            time.sleep(2)
        else:
            body = {"page": b"<!DOCTYPE html>", "big": b"x" * 5000, "other": OTHER, "short": TABLE[:9]}.get(
                name, TABLE
            )
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) + (10 if name == "cut" else 0)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def fetching(
    url: str,
    said: list[str] | None = None,
    data_dir: Path | None = None,
    sha256: str = HASH,
    size: int = len(TABLE),
):
    found = library(data_dir, fetch=True, say=None if said is None else said.append)
    return replace(found, homes={"set/x.tsv": Home(url, sha256, size)})


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz", "x.csv", "x.csv.gz", "x.jsonl", "x.json.gz"])
def test_every_form_is_found(tmp_path, cache, name):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / name).touch()
    assert library(tmp_path).find("set/x") == tmp_path / "set" / name


def test_the_folder_given_wins_over_the_environment_and_the_cache_comes_last(tmp_path, cache, monkeypatch):
    for folder in (tmp_path / "given", tmp_path / "env", cache):
        folder.mkdir(parents=True)
        (folder / "x.tsv").touch()
    assert library(None).find("x") == cache / "x.tsv"
    monkeypatch.setenv("UNWAVER_DATA", str(tmp_path / "env"))
    assert library(None).find("x") == tmp_path / "env" / "x.tsv"
    assert library(tmp_path / "given").find("x") == tmp_path / "given" / "x.tsv"


def test_a_missing_file_is_named_with_where_to_put_it(tmp_path, cache):
    with pytest.raises(DataError) as raised:
        library(tmp_path).find("becel/snli/semantic")
    error = raised.value
    assert (
        f"not found: becel/snli/semantic{{.tsv,.csv,.jsonl,.json}}[.gz], looked for in {tmp_path}" in error.message
    )
    assert error.file == str(tmp_path / "becel/snli/semantic.tsv")
    assert f"save it as {tmp_path}/becel/snli/semantic.tsv, give --data-dir DIR or set UNWAVER_DATA" in error.hint
    assert "--fetch to download it from https://raw.githubusercontent.com/MJ-Jang/BECEL" in error.hint


def test_a_missing_folder_is_named(tmp_path, cache):
    with pytest.raises(DataError, match=f"no folder {tmp_path}/nowhere, where x"):
        library(tmp_path / "nowhere").find("x")


def test_without_any_folder_the_hint_still_says_what_to_do(cache):
    with pytest.raises(DataError) as raised:
        library(None).find("becel/sst2/train")
    assert raised.value.file is None
    assert "--data-dir DIR or set UNWAVER_DATA" in raised.value.hint
    assert "--fetch" not in raised.value.hint  # it has no public home


def test_a_file_is_fetched_once_and_said(cache, server):
    said = []
    found = fetching(f"{server}/x.tsv", said).find("set/x")
    assert found == cache / "set/x.tsv"
    assert found.read_bytes() == TABLE
    assert said == [f"fetching {server}/x.tsv to {found}", f"fetched set/x.tsv: {len(TABLE)} bytes"]
    said.clear()
    assert fetching(f"{server}/x.tsv", said).find("set/x") == found
    assert said == []


def test_nothing_is_fetched_unless_asked(cache, server):
    with pytest.raises(DataError, match="not found"):
        replace(fetching(f"{server}/x.tsv"), fetch=False).find("set/x")


REFUSED = {
    "gone": "404 Not Found",
    "page": "the server sent a web page instead of the file",
    "elsewhere": "it redirects to http://127.0.0.1:1/x, which is not https",
    "cut": f"it ended after {len(TABLE)} bytes",
    "big": f"it is larger than the {len(TABLE)} expected bytes",
    "other": (
        f"found {len(TABLE)} bytes with SHA-256 {hashlib.sha256(OTHER).hexdigest()}, "
        f"expected {len(TABLE)} bytes with {HASH}"
    ),
    "short": (
        f"found 9 bytes with SHA-256 {hashlib.sha256(TABLE[:9]).hexdigest()}, expected {len(TABLE)} bytes with {HASH}"
    ),
    "hang": "timed out",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_the_file_is_refused_and_leaves_nothing(cache, server, monkeypatch, name):
    monkeypatch.setattr(loaders, "CONNECT_SECONDS", 0.3 if name == "hang" else 60)
    with pytest.raises(DataError) as raised:
        fetching(f"{server}/{name}").find("set/x")
    assert raised.value.message == f"could not download {server}/{name}: {REFUSED[name]}"
    assert f"save the file as {cache}/set/x.tsv, give --data-dir DIR or set UNWAVER_DATA" in raised.value.hint
    assert [p for p in cache.rglob("*") if p.is_file()] == []


def test_without_a_network_it_says_so_in_seconds_and_tries_a_host_once(tmp_path, cache):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/x.tsv"
    said = []
    files = fetching(url, said, tmp_path)
    for _ in range(3):
        with pytest.raises(DataError, match=r"could not download .*Connection refused") as raised:
            files.find("set/x")
    assert f"save the file as {tmp_path}/set/x.tsv" in raised.value.hint
    assert len(said) == 1


def test_a_cache_that_cannot_be_written(cache, server):
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file where a folder should be")
    with pytest.raises(DataError, match="could not download"):
        fetching(f"{server}/x.tsv").find("set/x")


def test_a_file_that_differs_does_not_keep_the_next_one_away(cache, server):
    pins = {f"set/{name}.tsv": Home(f"{server}/{name}", HASH, len(TABLE)) for name in ("other", "x")}
    files = replace(fetching(server), homes=pins)
    with pytest.raises(DataError, match="SHA-256"):
        files.find("set/other")
    assert files.find("set/x").read_bytes() == TABLE


def test_what_is_in_the_cache_is_held_against_the_pin(cache, server):
    """Without --fetch an old file is used and told; with it the pinned one takes its place, or none does."""
    (cache / "set").mkdir(parents=True)
    (cache / "set/x.tsv").write_bytes(OTHER)
    said = []
    old = replace(fetching(f"{server}/x.tsv", said), fetch=False)
    assert old.find("set/x").read_bytes() == OTHER
    assert "differs from the pinned file: delete it and add --fetch" in said[0]
    with pytest.raises(DataError, match="SHA-256"):
        fetching(f"{server}/other").find("set/x")
    assert (cache / "set/x.tsv").read_bytes() == OTHER
    assert fetching(f"{server}/x.tsv").find("set/x").read_bytes() == TABLE


def test_a_packed_home(cache, server):
    packed = {"set/x.jsonl.gz": Home(f"{server}/x", HASH, len(TABLE))}
    assert replace(fetching(server), homes=packed).find("set/x") == cache / "set/x.jsonl.gz"


def test_public_homes_are_pinned():
    """At a commit, never at a branch, with a hash and a size."""
    pinned = re.compile(r"https://raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/\S+")
    assert len(homes()) > 90
    for home in homes().values():
        assert pinned.fullmatch(home.url), home.url
        assert re.fullmatch("[0-9a-f]{64}", home.sha256)
        assert 0 < home.size < 50_000_000


def test_pins_are_those_of_the_shared_files():
    """The files that scores are checked with in these tests are the ones that --fetch gets."""
    reference, data = (Path(os.environ.get(name, "")) for name in ("UNWAVER_REFERENCE", "UNWAVER_DATA"))
    if not (reference / "fetch_pins.json").is_file() or not data.is_dir():
        pytest.skip("UNWAVER_REFERENCE and UNWAVER_DATA are not set")
    compared = 0
    for pin in json.loads((reference / "fetch_pins.json").read_text()):
        name = pin["file"] if pin["file"] in homes() else pin["file"] + ".gz"
        if name in homes():
            assert (homes()[name].sha256, homes()[name].size) == (pin["sha256"], pin["bytes"])
            assert pin["commit"] in homes()[name].url
        for path in (data / pin["file"], data / f"{pin['file']}.gz"):
            if pin["same_as_shared"] and path.is_file():
                content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
                assert hashlib.sha256(content).hexdigest() == pin["sha256"], path
                compared += 1
    assert compared > 50
