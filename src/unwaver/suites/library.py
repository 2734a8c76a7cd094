"""Finding the files of published sets, and fetching those that have a public home.

Files are looked for in the folder given (`--data-dir`), else the one in UNWAVER_DATA, then in the cache, where
fetched files are kept. Nothing is fetched unless asked for, and what comes must have the hash that is pinned.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import IO

from unwaver.console import silent
from unwaver.errors import DataError
from unwaver.files import EXTENSIONS, whole

CONNECT_SECONDS = 5  # for each connection and each read
FETCH_SECONDS = 120  # for a whole file


@dataclass(frozen=True)
class Home:
    """Where a file can be had: at one commit, and with this hash."""

    url: str
    sha256: str
    size: int


@lru_cache(maxsize=1)
def homes() -> Mapping[str, Home]:
    """The file in the data folder -> its public home, from pins.json."""
    text = resources.files("unwaver.suites").joinpath("pins.json").read_text(encoding="utf-8")
    raw = "https://raw.githubusercontent.com"
    return {
        pin["file"]: Home(
            f"{raw}/{pin['repo']}/{pin['commit']}/{urllib.parse.quote(pin['path'])}", pin["sha256"], pin["bytes"]
        )
        for pin in json.loads(text)
    }


@dataclass(frozen=True)
class Library:
    """Where files are looked for, and whether one that is missing may be fetched. `say` hears what is done."""

    folders: tuple[Path, ...]
    cache: Path
    fetch: bool = False
    say: Callable[[str], None] = silent
    homes: Mapping[str, Home] = field(default_factory=homes)
    unreachable: dict[str, str] = field(default_factory=dict)  # host -> why, so that we wait for it once

    def find(self, relative: str) -> Path:
        """find("becel/snli/semantic") -> DIR/becel/snli/semantic.tsv, or .tsv.gz, .csv, .jsonl, .json …"""
        found = self.find_optional(relative)
        if found is None:
            raise self.missing(f"{relative}.tsv", f"{relative}{{{','.join(EXTENSIONS)}}}[.gz]")
        return found

    def find_optional(self, relative: str) -> Path | None:
        here = (
            folder / f"{relative}{suffix}{zipped}"
            for folder in (*self.folders, self.cache)
            for suffix in EXTENSIONS
            for zipped in ("", ".gz")
        )
        found = next((path for path in here if path.is_file() and not self._is_stale(path)), None)
        return found or self._fetched(relative)

    def _is_stale(self, path: Path) -> bool:
        """A file in the cache that is not the one that is pinned: fetched again if that is allowed, else told."""
        home = self.homes.get(str(path.relative_to(self.cache))) if path.is_relative_to(self.cache) else None
        if home is None or hashlib.sha256(path.read_bytes()).hexdigest() == home.sha256:
            return False
        if not self.fetch:
            self.say(f"{path} differs from the pinned file: delete it and add --fetch")
        return self.fetch

    def files_in(self, relatives: Sequence[str]) -> Iterator[Path]:
        """The files of each of these folders, wherever there is one: folders in order, files by name."""
        for relative in relatives:
            for folder in (*self.folders, self.cache):
                if (folder / relative).is_dir():
                    yield from sorted(p for p in (folder / relative).iterdir() if p.is_file())

    def missing(self, name: str, looked_for: str, how: str = "add --fetch to download") -> DataError:
        if self.folders and not self.folders[0].is_dir():
            message = f"no folder {self.folders[0]}, where {looked_for} should be"
        else:
            places = ", ".join(map(str, (*self.folders, self.cache)))
            message = f"not found: {looked_for}, looked for in {places}"
        home = self._home(name)
        fetch = "" if home is None else f", or {how} it from {home[1].url}"
        place = (self.folders or (Path("DIR"),))[0] / name
        hint = f"save it as {place}, give --data-dir DIR or set UNWAVER_DATA (the folder above {name}){fetch}"
        return DataError(message, hint=hint, file=place if self.folders else None)

    def _home(self, relative: str) -> tuple[str, Home] | None:
        names = [f"{relative}{suffix}{zipped}" for zipped in ("", ".gz") for suffix in ("", *EXTENSIONS)]
        return next(((n, self.homes[n]) for n in names if n in self.homes), None)

    def _fetched(self, relative: str) -> Path | None:
        home = self._home(relative)
        if not self.fetch or home is None:
            return None
        name, url = home[0], home[1].url
        host = urllib.parse.urlsplit(url).netloc
        target = self.cache / name
        if host not in self.unreachable:
            self.say(f"fetching {url} to {target}")
            try:
                size = _download(home[1], target)
                self.say(f"fetched {name}: {size:,} bytes")
                return target
            except urllib.error.HTTPError as error:  # the server answers: the next file may be there
                error.close()
                raise self._unfetched(name, url, f"{error.code} {error.reason}") from None
            except _Different as error:
                raise self._unfetched(name, url, str(error)) from None
            except (OSError, http.client.HTTPException, _Refused) as error:
                self.unreachable[host] = str(getattr(error, "reason", None) or error or type(error).__name__)
        raise self._unfetched(name, url, self.unreachable[host])

    def _unfetched(self, name: str, url: str, reason: str) -> DataError:
        place = (self.folders or (self.cache,))[0] / name
        return DataError(
            f"could not download {url}: {reason}",
            hint=f"save the file as {place}, give --data-dir DIR or set UNWAVER_DATA",
            file=place,
        )


def library(
    data_dir: Path | None = None, *, fetch: bool = False, say: Callable[[str], None] | None = None
) -> Library:
    """The folder given, else the one in UNWAVER_DATA, and the cache."""
    folder = data_dir or os.environ.get("UNWAVER_DATA")
    return Library((Path(folder),) if folder else (), cache_folder(), fetch, say or silent)


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/unwaver/data, by default ~/.cache/unwaver/data."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(home) / "unwaver" / "data"


class _Refused(Exception):
    """What came is not what was asked for."""


class _Different(_Refused):
    """It is a file, but not the one that is pinned; the next one may be."""


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not newurl.startswith("https://"):
            fp.close()
            raise _Refused(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(home: Home, target: Path) -> int:
    """The file appears at `target` whole and with its hash, or not at all."""
    opener = urllib.request.build_opener(_HttpsOnly)
    with opener.open(home.url, timeout=CONNECT_SECONDS) as reply:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                _copy(reply, file, home)
            Path(part).replace(target)
        finally:
            Path(part).unlink(missing_ok=True)
    return home.size


def _copy(reply: http.client.HTTPResponse, file: IO[bytes], home: Home) -> None:
    size, end, digest = 0, time.monotonic() + FETCH_SECONDS, hashlib.sha256()
    expected = reply.headers.get("Content-Length") or ""
    while block := reply.read1(1 << 16):
        if size == 0 and block.lstrip().startswith(b"<"):  # a login or error page sent as if it were the file
            raise _Refused("the server sent a web page instead of the file")
        size += len(block)
        if size > home.size:
            raise _Different(f"it is larger than the {home.size:,} expected bytes")
        if time.monotonic() > end:
            raise _Refused(f"not done after {FETCH_SECONDS} s")
        digest.update(block)
        file.write(block)
    if size == 0 or size < (whole(expected) or 0):
        raise _Refused(f"it ended after {size:,} bytes")
    if digest.hexdigest() != home.sha256:
        found = f"found {size:,} bytes with SHA-256 {digest.hexdigest()}"
        raise _Different(f"{found}, expected {home.size:,} bytes with {home.sha256}")
