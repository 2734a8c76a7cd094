"""`unwaver view`: who may open it, what it finds, and that it shows whatever is in run folders without harm."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from itsdangerous import TimestampSigner
from starlette.testclient import TestClient

import unwaver
from unwaver.errors import UsageError
from unwaver.reports.pictures import installed
from unwaver.web import sessions, view_list, view_pages, view_runs
from unwaver.web.guard import HEADERS
from unwaver.web.view import COOKIE, Viewer, view_app
from unwaver.web.view_runs import Runs

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202egnp.exe\n=cmd|' /C calc'!A0 {{7*7}}"
INERT = ("<script>alert", "<img src=x", "\u202e", "A0 49")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs: three models on the same groups, two of them in one run, and one model on others."""
    place = tmp_path_factory.mktemp("view") / "runs"
    for name, models, suite in (
        ("random", ["fake/random"], "sample/snli"),
        ("keyword", ["fake/keyword"], "sample/snli"),
        ("both", ["fake/random", "fake/constant"], "sample/snli"),
        ("other", ["fake/random"], "sample/rte"),
    ):
        unwaver.run(suite, models, out=str(place / name))
    return place


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "runs"))


class Page:
    """A browser that has opened the link, with the ids of runs by name."""

    def __init__(self, *folders: Path, port: int = 8000):
        self.viewer = Viewer(folders, port)
        self.viewer.runs._clock = lambda: 0.0  # a busy machine takes longer than a page waits
        self.client = TestClient(view_app(self.viewer), base_url=f"http://127.0.0.1:{port}")
        self.client.get(f"/in/{self.viewer.token}")

    def id(self, name: str) -> str:
        return next(run.id for run in self.viewer.runs.find().runs.values() if run.name == name)

    def get(self, path: str, status: int = 200) -> str:
        found = self.client.get(path)
        assert found.status_code == status, found.text[:2000]
        return found.text

    def compare(self, *names: str, end: str = "", more: str = "") -> str:
        return f"/compare{end}?" + "&".join(f"run={self.id(name)}" for name in names) + more


@pytest.fixture
def page(runs: Path) -> Page:
    return Page(runs)


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table of runs, without markup."""
    body = re.search(r'aria-label="Runs">.*?<tbody[^>]*>(.*?)</tbody>', text, re.S)
    if body is None:
        return []
    rows = re.findall(r"<tr.*?</tr>", body[1], re.S)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in rows]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def names(text: str) -> list[str]:
    return [row[2] for row in rows_of(text)]


# --- who may open it ---------------------------------------------------------------------------------------------


PAGES = (
    "/",
    "/?q=a",
    "/progress?run=x",
    "/run/x",
    "/run/x/broken.csv",
    "/compare?run=x",
    "/compare/broken.csv",
    "/leaderboard",
)


@pytest.mark.parametrize("path", PAGES)
def test_nobody_gets_in_without_the_link(path: str, page: Page) -> None:
    stranger = TestClient(page.client.app, base_url="http://127.0.0.1:8000")
    for cookie in ("", f"{COOKIE}_8000=forged", "unwaver=x"):
        found = stranger.get(path, headers={"cookie": cookie})
        assert found.status_code == 401
        assert "Open the link" in found.text
        assert "sample" not in found.text
        for name, value in HEADERS.items():
            assert found.headers[name] == value


@pytest.mark.parametrize("token", ["wrong", "", "%00", "..%2f", "\u202e", "x" * 5000])
def test_a_wrong_token_is_refused(token: str, page: Page) -> None:
    stranger = TestClient(page.client.app, base_url="http://127.0.0.1:8000")
    assert stranger.get(f"/in/{token}").status_code in (401, 404)
    assert not stranger.cookies


def test_the_token_of_another_server_and_an_old_session_are_refused(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Page(runs), Page(runs)
    assert second.viewer.token != first.viewer.token
    assert (
        TestClient(first.client.app, base_url="http://127.0.0.1:8000")
        .get(f"/in/{second.viewer.token}")
        .status_code
        == 401
    )
    second.client.cookies = first.client.cookies
    second.get("/", 401)  # signed by another server
    first.get("/")
    now = TimestampSigner.get_timestamp
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda self: now(self) + sessions.LASTS + 2)
    first.get("/", 401)


def test_the_cookie_is_that_of_this_port_and_not_that_of_annotate(runs: Path) -> None:
    """A browser sends the cookies of one port to all others of the machine."""
    client = TestClient(view_app(viewer := Viewer([runs], 8123)), base_url="http://127.0.0.1:8123")
    cookie = client.get(f"/in/{viewer.token}", follow_redirects=False).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}_8123=")
    assert not cookie.startswith(f"{sessions.COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.1:8000", "", "localhost.evil:80"]
)
def test_other_hosts_are_refused(host: str, page: Page) -> None:
    assert page.client.get("/", headers={"host": host}).status_code == 421
    assert page.client.get(f"/in/{page.viewer.token}", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_sent(method: str, page: Page) -> None:
    for path in ("/", f"/run/{page.id('random')}", "/compare", "/leaderboard"):
        assert page.client.request(method, path).status_code in (404, 405)


TRICKS = (
    "..", "../..", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/etc/passwd", "%2fetc%2fpasswd", "random", "./random",
    "random%00", "%00", "\u202erandom", "ｒandom", "~", "x" * 3000, "random/run.json", "..%5c..", "%c0%ae%c0%ae",
)  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
def test_an_address_never_becomes_a_path(trick: str, page: Page) -> None:
    for path in (
        f"/run/{trick}",
        f"/run/{trick}/broken.csv",
        f"/compare?run={trick}&run={page.id('random')}",
        f"/leaderboard?groups={trick}",
    ):
        found = page.client.get(path)
        assert found.status_code in (404, 422) or str(found.url).rstrip("/").endswith(":8000"), (
            path,
            found.status_code,
        )
        assert "root:" not in found.text
    assert page.client.get(f"/progress?run={trick}").json() == {}
    found = page.client.get(f"/static/{trick}")
    assert found.status_code == 404 or str(found.url).rstrip("/").endswith(":8000")
    if "/" not in trick:
        assert page.client.get(f"/run/{page.id('random')}/broken.{trick}").status_code == 404


# --- the list ----------------------------------------------------------------------------------------------------


def test_the_list_shows_every_model_of_every_run(page: Page) -> None:
    text = page.get("/")
    assert "<h1>4 runs in" in text
    rows = {(row[2], row[3]): row for row in rows_of(text)}
    assert sorted(rows) == [
        ("both", "fake/constant"), ("both", "fake/random"), ("keyword", "fake/keyword"), ("other", "fake/random"),
        ("random", "fake/random"),
    ]  # fmt: skip
    result = unwaver.score(str(page.viewer.folders[0] / "random"))
    leading = result.leading()
    shown = rows["random", "fake/random"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", shown[1])
    assert shown[4] == "sample/snli"
    assert shown[5].startswith("inconsistent ")
    mean = sum(1 - s.value for s in leading if s.value is not None) / sum(s.value is not None for s in leading)
    assert shown[6].startswith(f"{100 * mean:.1f} [")
    assert shown[8] == f"{sum(s.counted for s in leading)} of {sum(s.groups for s in leading)}"
    assert shown[9] == "–"
    assert rows["both", "fake/constant"][5].startswith("always one answer")


def test_filters_search_and_order_are_in_the_address(page: Page) -> None:
    assert set(names(page.get("/?q=KEY"))) == {"keyword"}
    assert set(names(page.get("/?q=fake+sample/rte"))) == {"other"}
    assert set(names(page.get("/?model=constant"))) == {"both"}
    assert set(names(page.get("/?suite=rte"))) == {"other"}
    assert [row[3] for row in rows_of(page.get("/?verdict=constant"))] == ["fake/constant"]
    assert names(page.get("/?state=unreadable")) == []
    assert names(page.get("/?since=2999-01-01")) == []
    assert len(names(page.get("/?until=2999-01-01"))) == 5
    by_name = names(page.get("/?sort=run"))
    assert by_name == sorted(by_name)
    assert names(page.get("/?sort=run&order=down")) == by_name[::-1]
    shares = [float(row[6].split()[0]) for row in rows_of(page.get("/?sort=consistency"))]
    assert shares == sorted(shares)
    assert "No run fits" in page.get("/?q=nothing-like-this")
    text = page.get("/?q=fake&sort=model")
    assert 'href="/?q=fake&amp;sort=model&amp;order=down"' in text
    assert 'aria-sort="ascending"' in text


@pytest.mark.parametrize(
    "query",
    ["page=0", "page=-1", "page=99999999999999", "page=x", "page=²", "sort=__class__", "order=sideways", "verdict=x",
     "state=x", "since=x", "q=" + "x" * 5000, "q=%00", "q=%ff%fe", "q=(", "q=%", "sort=date&sort=run", "=", "&&&"],
)  # fmt: skip
def test_any_query_gives_a_page(query: str, page: Page) -> None:
    page.get(f"/?{query}")


def test_pages(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_list, "PER_PAGE", 2)
    page = Page(runs)
    seen = [names(page.get(f"/?sort=run&page={n}")) for n in (1, 2, 3)]
    assert list(map(len, seen)) == [2, 2, 1]
    assert [name for own in seen for name in own] == ["both", "both", "keyword", "other", "random"]
    assert names(page.get("/?sort=run&page=9")) == seen[2]
    assert "Page 2 of 3" in page.get("/?page=2")


def test_what_was_read_is_remembered_until_it_changes(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    for name in ("read_run", "read_standings"):
        real = getattr(view_runs, name)
        monkeypatch.setattr(view_runs, name, lambda path, real=real: read.append(path) or real(path))
    page = Page(runs)
    page.get("/")
    assert len(read) == 8
    read.clear()
    page.get("/?sort=consistency")
    assert read == []
    record = json.loads((runs / "other" / "run.json").read_text())
    (runs / "other" / "run.json").write_text(json.dumps({**record, "command": ["changed"]}))
    assert names(page.get("/?q=changed")) == ["other"]
    assert read == [runs / "other"]
    shutil.rmtree(runs / "other")
    assert "other" not in names(page.get("/"))


def test_scores_that_are_not_read_yet_follow(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_list, "PATIENCE", -1.0)
    page = Page(runs)
    for path in ("/", "/?sort=verdict"):
        text = page.get(path)
        assert "still being read" in text
        assert '<meta http-equiv="refresh" content="2">' in text
        assert len(rows_of(text)) == 5
    assert "still being read" in page.get("/leaderboard")
    page.viewer.runs.read_in_background().join()
    text = page.get("/?sort=verdict")
    assert "still being read" not in text
    assert "refresh" not in text


# --- runs that are not whole -------------------------------------------------------------------------------------


def edit(path: Path, **changes: Any) -> None:
    record = json.loads(path.read_text())
    record.update(changes)
    path.write_text(json.dumps({name: value for name, value in record.items() if value is not ...}))


def damage(place: Path, how: str) -> None:
    run, scores = place / "run.json", place / "scores.json"
    if how == "cut":
        run.write_text(run.read_text()[:200])
    elif how == "empty":
        run.write_bytes(b"")
    elif how == "not text":
        run.write_bytes(b"\xff\xfe\x00")
    elif how == "list":
        run.write_text("[]")
    elif how == "deep":
        run.write_text("[" * 100_000)
    elif how == "other version":
        edit(run, version=99)
    elif how == "wrong type":
        edit(run, models=[{"name": 3, "method": "x"}])
    elif how == "strange config":
        edit(run, config=[1], hashes={"groups.jsonl": "x"}, failures=[{"calls": "many"}], asking=None)
    elif how == "no run.json":
        run.unlink()
    elif how == "folder":
        run.unlink()
        run.mkdir()
    elif how == "scores cut":
        scores.write_text(scores.read_text()[:500])
    elif how == "scores wrong":
        scores.write_text(
            '{"scores": [{"suite": "a", "task": "a", "kind": "a", "model": "a", "method": "a", "metric": "tau", "value": "x"}]}'
        )
    elif how == "scores null":
        scores.write_text("null")
    elif how == "no answers":
        (place / "answers.sqlite").unlink()
    elif how == "answers are text":
        (place / "answers.sqlite").write_text("not a database")
    elif how == "no groups":
        (place / "groups.jsonl").unlink()


LISTED_AS_UNREADABLE = (
    "cut", "empty", "not text", "list", "deep", "other version", "wrong type", "no run.json", "folder", "scores cut",
    "scores wrong", "scores null",
)  # fmt: skip


@pytest.mark.parametrize(
    "how", [*LISTED_AS_UNREADABLE, "strange config", "no answers", "answers are text", "no groups"]
)
def test_a_broken_run_is_shown_with_a_reason(how: str, page: Page, runs: Path) -> None:
    damage(runs / "random", how)
    rows = {row[2]: row for row in rows_of(page.get("/"))}
    assert set(rows) == {"both", "keyword", "other", "random"}
    if how in LISTED_AS_UNREADABLE:
        assert re.match(r"unreadable \S+", rows["random"][5])
        assert names(page.get("/?state=unreadable")) == ["random"]
    assert set(names(page.get("/?sort=verdict"))) == set(rows)
    page.get("/leaderboard")
    id = page.id("random")
    for path in (f"/run/{id}", f"/run/{id}/broken.csv", page.compare("random", "keyword")):
        found = page.client.get(path)
        assert found.status_code in (200, 422), found.text
        if found.status_code == 422:
            assert "unexpected" not in found.text
            assert "To the list of runs" in found.text


def test_an_interrupted_run(page: Page, runs: Path) -> None:
    edit(runs / "random" / "run.json", spent=..., agreements=..., failures=..., asking=...)
    row = next(row for row in rows_of(page.get("/")) if row[2] == "random")
    assert row[5].startswith("interrupted stopped before the end: run the same command again")
    (runs / "keyword" / "scores.json").unlink()
    assert set(names(page.get("/?state=interrupted"))) == {"random", "keyword"}


def test_a_run_with_failed_calls(tmp_path: Path) -> None:
    unwaver.run("sample/snli", "fake/random,fail=0.3", out=str(tmp_path / "failing"))
    page = Page(tmp_path)
    row = rows_of(page.get("/"))[0]
    assert re.match(r"incomplete \d+ calls failed: run the same command again to continue \. inconsistent", row[5])
    assert "This run is incomplete" in page.get(f"/run/{page.id('failing')}") or not installed()


def test_links_out_of_the_folder_are_refused(page: Page, runs: Path, tmp_path: Path) -> None:
    outside = Path(shutil.copytree(runs / "random", tmp_path / "outside"))
    (runs / "link").symlink_to(outside, target_is_directory=True)
    (runs / "loop").symlink_to(runs, target_is_directory=True)
    (runs / "nowhere").symlink_to(tmp_path / "nowhere")
    secret = tmp_path / "secret.json"
    secret.write_text((runs / "keyword" / "groups.jsonl").read_text())
    (runs / "keyword" / "groups.jsonl").unlink()
    (runs / "keyword" / "groups.jsonl").symlink_to(secret)
    text = page.get("/")
    assert "1 link leads out of the folder" in text
    assert set(names(text)) == {"both", "keyword", "other", "random"}
    row = next(row for row in rows_of(text) if row[2] == "keyword")
    assert row[5] == "unreadable groups.jsonl is a link that leads out of the folder"
    page.get(f"/run/{page.id('keyword')}", 422)
    page.get(f"/run/{page.id('keyword')}/broken.jsonl", 422)


def test_only_run_folders_are_listed(runs: Path) -> None:
    (runs / "dry").mkdir()
    shutil.copy(runs / "random" / "groups.jsonl", runs / "dry")  # unwaver run --dry-run --out dry
    (runs / "a" / "b").mkdir(parents=True)
    shutil.move(runs / "other", runs / "a" / "b" / "deep")
    (runs / ".hidden").mkdir()
    shutil.copy(runs / "random" / "run.json", runs / ".hidden")
    os.mkfifo(runs / "pipe")
    page = Page(runs)
    assert set(names(page.get("/"))) == {"both", "keyword", "random", "a/b/deep"}
    one = Page(runs / "random")  # a run folder itself
    assert names(one.get("/")) == ["random"]
    two = Page(runs / "a", runs / "random")
    assert set(names(two.get("/"))) == {str(runs / "a" / "b" / "deep"), str(runs / "random")}


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "There is no run folder here yet" in Page(tmp_path).get("/")


def test_a_wrong_folder_is_named(runs: Path) -> None:
    with pytest.raises(UsageError) as e:
        Runs([runs.parent / "rnus"])
    assert "there is no such folder" in str(e.value)
    assert "did you mean runs?" in str(e.value)
    with pytest.raises(UsageError, match="this is a file"):
        Runs([runs / "random" / "scores.json"])
    assert Runs([runs / "random" / "run.json"]).find().runs


# --- one run -----------------------------------------------------------------------------------------------------

needs_report = pytest.mark.skipif(not installed(), reason="the extra report is not installed")


@needs_report
def test_the_report_is_the_page_that_unwaver_report_writes(page: Page, runs: Path, tmp_path: Path) -> None:
    written = unwaver.report(str(runs / "random"), out=str(tmp_path / "report.html")).path.read_text()
    text = page.get(f"/run/{page.id('random')}")
    above = re.search(r'<div class="above">.*?</div>', text, re.S)
    assert above is not None
    assert 'href="/"' in above[0]
    assert f"run={page.id('keyword')}" in above[0]
    assert text.replace(above[0], "") == written
    found = page.client.get(f"/run/{page.id('random')}")
    policy = found.headers["content-security-policy"]
    assert "'unsafe" not in policy
    assert "script-src 'sha256-" in policy
    assert "frame-ancestors 'none'" in policy
    assert "connect-src" not in policy  # default-src 'none'
    assert "default-src 'none'" in policy


def test_without_the_extra_report_the_page_says_how_to_get_it(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    text = page.get(f"/run/{page.id('random')}", 422)
    assert "pip install &#39;unwaver[report]&#39;" in text
    assert "broken.csv" in text


def test_broken_groups_as_files(page: Page, runs: Path) -> None:
    id = page.id("random")
    found = page.client.get(f"/run/{id}/broken.csv")
    assert found.headers["content-disposition"] == f'attachment; filename="broken-{id}.csv"'
    assert found.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(found.text)))
    lines = [json.loads(line) for line in page.get(f"/run/{id}/broken.jsonl").splitlines()]
    broken = unwaver.show(str(runs / "random"), limit=10**6)
    assert len(lines) == len(broken) > 0
    assert (
        {row["group"] for row in rows}
        == {line["group"] for line in lines}
        == {each.group for each in broken.found}
    )
    assert {line["state"] for line in lines} == {"broken"}
    page.get(f"/run/{id}/broken.exe", 404)


# --- several runs ------------------------------------------------------------------------------------------------


def test_two_runs_side_by_side(page: Page, runs: Path) -> None:
    text = page.get(page.compare("random", "keyword"))
    found = unwaver.compare(str(runs / "random"), str(runs / "keyword"))
    assert f"Newly broken: {len(found.broken)} group" in text
    assert f"Fixed: {len(found.fixed)} group" in text
    for group in [*found.broken, *found.fixed]:
        assert group in text
    assert "fake/keyword (keyword) against fake/random (random)" in text
    assert "✗ wrong" in text
    assert "✓ right" in text
    rows = list(csv.DictReader(io.StringIO(page.get(page.compare("random", "keyword", end="/broken.csv")))))
    assert {row["group"] for row in rows} == set(found.broken)
    states = {(row["model"], row["state"]) for row in rows}
    assert states == {("fake/random (random)", "held"), ("fake/keyword (keyword)", "broken")}
    lines = page.get(page.compare("random", "keyword", end="/broken.jsonl")).splitlines()
    assert len(lines) == 2 * len(found.broken)


def test_more_than_two_runs_and_one_of_several_models(page: Page) -> None:
    text = page.get(page.compare("random", "keyword", "both"))
    assert text.count("<section>") == 3  # both models of the last
    assert "<section>" in page.get(page.compare("both"))
    assert "Mark two or more runs" in page.get(page.compare("random"), 422)


def test_what_was_marked_in_the_list_is_compared_with_the_oldest(page: Page, runs: Path) -> None:
    for name, date in (("random", "2020-01-02T00:00:00Z"), ("keyword", "2020-01-01T00:00:00Z")):
        record = json.loads((runs / name / "run.json").read_text())
        edit(runs / name / "run.json", asking={**record["asking"], "began": date})
    found = page.client.get(page.compare("random", "keyword", more="&pick=1"))
    assert str(found.url).endswith(page.compare("keyword", "random"))
    assert "fake/random (random) against fake/keyword (keyword)" in found.text
    assert page.compare("random", "keyword").replace("&", "&amp;") in found.text  # the other way round


def test_runs_without_a_group_in_common_are_refused_in_words(page: Page, runs: Path, tmp_path: Path) -> None:
    text = page.get(page.compare("random", "other"), 422)
    assert "have no group in common" in text
    assert "These runs cannot be compared" in text
    unwaver.run("sample/snli", "fake/random", out=str(runs / "few"), limit=2)
    text = page.get(page.compare("random", "few"), 422)
    assert "have different groups" in text
    link = re.search(r'class="button" href="([^"]+)"', text)
    assert link is not None
    assert "groups in both; left out" in page.get(link[1].replace("&amp;", "&"))
    unwaver.run("sample/snli", "fake/random", out=str(runs / "again"), replicates=2)
    text = page.get(page.compare("random", "again"), 422)
    assert "were not asked in the same way" in text
    assert "Compare them anyway" in text
    page.get(page.compare("random", "again", more="&allow=1"))


@pytest.mark.parametrize("query", ["", "?run=", "?run=x", "?common=1", "?run=a&run=b&pick=1"])
def test_addresses_of_comparisons_that_lead_nowhere(query: str, page: Page) -> None:
    for path in ("/compare", "/compare/broken.csv"):
        assert page.client.get(path + query).status_code in (404, 422)
    page.get(page.compare("random", "keyword", end="/broken.exe"), 404)


def test_too_many_runs_are_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_pages, "MOST_COMPARED", 2)
    assert "Choose up to 2" in page.get(page.compare("random", "keyword", "both"), 422)


# --- the leaderboard ---------------------------------------------------------------------------------------------


def test_the_leaderboard_ranks_models_on_the_same_groups_only(page: Page, runs: Path) -> None:
    text = page.get("/leaderboard")
    assert text.count("<section>") == 1
    assert "1 set of groups has one model only" in text
    body = re.search(r"<tbody.*?</tbody>", text, re.S)
    assert body is not None
    rows = [
        [" ".join(re.sub(r"<[^>]+>", " ", c).split()) for c in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S)]
        for row in re.findall(r"<tr.*?</tr>", body[0], re.S)
    ]
    assert {(row[1], row[7]) for row in rows} == {
        ("fake/random", "random"),
        ("fake/keyword", "keyword"),
        ("fake/random", "both"),
        ("fake/constant", "both"),
    }
    ranked = [row for row in rows if row[0] != "–"]
    assert [float(row[2]) for row in ranked] == sorted((float(row[2]) for row in ranked), reverse=True)
    assert "not ranked it gives one answer to everything" in next(row for row in rows if row[1] == "fake/constant")
    link = re.search(r'href="(/leaderboard\?groups=\w+)"', text)
    assert link is not None
    one = page.get(link[1])
    assert "sample/snli/negational" in one
    unwaver.run("sample/snli", "fake/random", out=str(runs / "few"), limit=2)
    assert page.get("/leaderboard").count("<section>") == 1  # other groups: a table of its own, with one model
    page.get("/leaderboard?groups=0123456789ab", 404)


# --- a run under way ---------------------------------------------------------------------------------------------


@pytest.fixture
def under_way(runs: Path) -> Path:
    """As a run leaves its folder while it works: some answers, a lock of a process that lives."""
    place = runs / "random"
    edit(place / "run.json", spent=..., agreements=..., failures=..., asking=...)
    (place / "scores.json").unlink()
    with closing(sqlite3.connect(place / "answers.sqlite")) as db:
        keys = [key for (key,) in db.execute("SELECT DISTINCT key FROM asked")]
        db.executemany("DELETE FROM answers WHERE key = ?", [(key,) for key in keys[5:]])
        db.execute("INSERT INTO failures VALUES (?, ?)", (keys[5], "timed out"))
        db.commit()
    who = {"pid": os.getpid(), "host": socket.gethostname(), "since": "2026-11-17 12:00:00"}
    (place / ".lock").write_text(json.dumps(who))
    return place


def test_progress_of_a_run_under_way(page: Page, under_way: Path) -> None:
    clock = iter([10.0 * n for n in range(9)])
    page.viewer.speed._clock = lambda: next(clock)
    id = page.id("random")
    told = page.client.get(f"/progress?run={id}&run=nothing").json()
    assert list(told) == [id]
    with closing(sqlite3.connect(under_way / "answers.sqlite")) as db:
        planned = db.execute("SELECT count(DISTINCT key) FROM asked").fetchone()[0]
        rows = [row for (row,) in db.execute("SELECT key FROM asked WHERE key NOT IN (SELECT key FROM answers)")]
        assert told[id] | {"text": ""} == {
            "state": "under way",
            "planned": planned,
            "done": 5,
            "failed": 1,
            "rate": None,
            "left": None,
            "text": "",
        }
        new = [(key, "yes", "stop", 0) for key in list(dict.fromkeys(rows))[1:11]]
        db.executemany("INSERT INTO answers (key, text, finish, truncated) VALUES (?, ?, ?, ?)", new)
        db.commit()
    told = page.client.get(f"/progress?run={id}").json()[id]
    assert (told["done"], told["rate"]) == (15, 1.0)
    assert told["left"] == planned - 16
    assert re.fullmatch(rf"15 of {planned} requests, 1 failed; 1.0 a second, about \d.* left", told["text"])
    text = page.get(f"/run/{id}")
    assert "is under way" in text
    assert f'data-live="{id}"' in text
    row = next(row for row in rows_of(page.get("/")) if row[2] == "random")
    assert row[5].startswith("under way 15 of")
    page.get(f"/run/{id}/broken.csv", 422)
    page.get(page.compare("random", "keyword"), 422)


def test_a_lock_of_a_process_that_is_gone_is_no_run_under_way(page: Page, under_way: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for text in (
        json.dumps({"pid": ended.pid, "host": socket.gethostname(), "since": "x"}),
        "",
        "{}",
        "[1]",
        '{"pid": "x"}',
    ):
        (under_way / ".lock").write_text(text)
        assert (
            page.client.get(f"/progress?run={page.id('random')}").json()[page.id("random")]["state"]
            == "interrupted"
        )
    (under_way / ".lock").write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "x"}))
    assert "is under way" in page.get(f"/run/{page.id('random')}")


# --- nothing is written ------------------------------------------------------------------------------------------


def everything(place: Path) -> dict[str, tuple[int, bytes]]:
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(place.rglob("*")) if p.is_file()}


def test_nothing_is_written_also_where_a_killed_run_left_its_log(page: Page, runs: Path, tmp_path: Path) -> None:
    """The last answers of a killed run are in the log of SQLite, which reads it only after writing beside it."""
    place = runs / "random"
    with closing(sqlite3.connect(place / "answers.sqlite")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("INSERT OR REPLACE INTO failures VALUES ('x', 'y')")
        db.commit()
        for end in ("", "-wal"):
            shutil.copy(place / f"answers.sqlite{end}", tmp_path / f"kept{end}")
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"kept{end}", place / f"answers.sqlite{end}")
    assert (place / "answers.sqlite-wal").stat().st_size > 0
    before = everything(runs)
    id = page.id("random")
    for path in (
        "/",
        "/leaderboard",
        f"/run/{id}",
        f"/run/{page.id('keyword')}",
        f"/run/{id}/broken.csv",
        f"/progress?run={id}",
        page.compare("random", "keyword"),
    ):
        assert page.client.get(path).status_code in (200, 422)
    assert everything(runs) == before


# --- hostile strings ---------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(runs: Path) -> Path:
    """Every text of a run that the view shows is hostile: names, commands, questions, answers, errors, the folder."""
    text = json.dumps(HOSTILE)[1:-1]
    for name in ("random", "keyword"):
        place = runs / name
        for file in ("run.json", "scores.json", "groups.jsonl"):
            found = (place / file).read_text()
            found = found.replace(f"fake/{name}", f"{name}{text}").replace('"sample/snli"', f'"{text}"')
            found = found.replace('hypothesis": "', f'hypothesis": "{text}').replace(
                '"id": "sample/', f'"id": "{text}sample/'
            )
            (place / file).write_text(found)
        with closing(sqlite3.connect(place / "answers.sqlite")) as db:
            db.execute("UPDATE asked SET item = ? || item", (HOSTILE,))
            db.commit()
    edit(
        runs / "random" / "run.json",
        failures=[
            {"role": "model", "model": HOSTILE, "reason": HOSTILE, "calls": 3, "example": HOSTILE, "item": HOSTILE}
        ],
        command=[HOSTILE],
    )
    edit(runs / "keyword" / "run.json", spent={"stopped": HOSTILE}, notes={HOSTILE: [HOSTILE]})
    (runs / "other" / "run.json").write_text(json.dumps({"version": HOSTILE}))
    (runs / "random").rename(runs / HOSTILE.replace("/", "∕"))
    (runs / "both").rename(runs / os.fsdecode(b"\xff\xfe<b>.."))
    return runs


def test_hostile_strings_stay_texts(hostile: Path) -> None:
    page = Page(hostile)
    found = page.viewer.runs.find().runs
    assert len(found) == 4
    ids = [run.id for run in found.values()]
    assert all(re.fullmatch(r"[a-z0-9.-]+", id) for id in ids)
    named = [run.id for run in found.values() if run.name == "keyword" or "script" in run.name]
    compare = "/compare?" + "&".join(f"run={id}" for id in sorted(named)) + "&allow=1&common=1"
    pages = [
        "/",
        "/?sort=verdict",
        "/leaderboard",
        f"/?{urlencode({'q': HOSTILE})}",
        f"/?{urlencode({'model': HOSTILE})}",
        compare,
        *(f"/run/{id}" for id in ids),
    ]
    pages += [f"/leaderboard?groups={run.groups}" for run in found.values() if run.groups]
    for path in pages:
        reply = page.client.get(path)
        assert reply.status_code in (200, 404, 422), reply.text
        assert "unexpected" not in reply.text
        for mark in INERT:
            assert mark not in reply.text, (path, mark)
    assert page.client.get(compare).status_code == 200
    assert "&lt;script&gt;" in page.client.get(compare).text


def test_hostile_strings_in_files_are_no_formulas(hostile: Path) -> None:
    page = Page(hostile)
    for run in page.viewer.runs.find().runs.values():
        reply = page.client.get(f"/run/{run.id}/broken.csv")
        if reply.status_code == 200:
            cells = [cell for row in csv.reader(io.StringIO(reply.text)) for cell in row]
            assert not [cell for cell in cells if re.match(r"[=+@\t\r-]", cell)]
            assert "\n" not in reply.headers["content-disposition"]


def test_formulas_are_guarded(page: Page, runs: Path) -> None:
    for file in ("run.json", "scores.json"):
        path = runs / "keyword" / file
        path.write_text(path.read_text().replace("fake/keyword", "=1+1"))
    rows = list(csv.DictReader(io.StringIO(page.get(f"/run/{page.id('keyword')}/broken.csv"))))
    assert {row["model"] for row in rows} == {"'=1+1"}
    rows = list(csv.DictReader(io.StringIO(page.get(page.compare("random", "keyword", end="/broken.csv")))))
    assert "'=1+1 (keyword)" in {row["model"] for row in rows}


def test_the_pages_load_nothing_from_elsewhere(page: Page) -> None:
    for path in ("/", "/leaderboard", f"/run/{page.id('random')}", page.compare("random", "keyword")):
        text = page.client.get(path).text
        for address in re.findall(r'(?:src|href|action)="([^"]*)"', text):
            assert address.startswith(("/", "#", "data:")), (path, address)
        assert "style=" not in text or path.startswith("/run/")
