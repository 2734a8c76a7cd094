"""Finding the files of published sets, and fetching those that have a public home.

Files are looked for in the folder given (`--data-dir`), else the one in UNWAVER_DATA, then in the cache, where
fetched files are kept. Nothing is fetched unless asked for.
"""

from __future__ import annotations

import http.client
import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from unwaver.errors import DataError
from unwaver.files import EXTENSIONS

CONNECT_SECONDS = 5  # for each connection and each read
FETCH_SECONDS = 120  # for a whole file
FETCH_BYTES = 200_000_000

_BECEL = "https://raw.githubusercontent.com/MJ-Jang/BECEL/HEAD/data"
_BECEL_FILES = {
    "boolq": "validation semantic negational",
    "snli": "validation test semantic negational symmetric transitive",
    "rte": "train validation semantic negational symmetric",
    "mrpc": "train validation test semantic negational symmetric",
    "wic": "train validation semantic negational symmetric transitive",
    "sst2": "validation semantic",
    "ag_news": "validation test semantic",
}
_KLUE = "https://raw.githubusercontent.com/KLUE-benchmark/KLUE/main/klue_benchmark"

# the file in the data folder -> its public home
HOMES: Mapping[str, str] = {
    **{
        f"becel/{task}/{name}.tsv": f"{_BECEL}/{task}/{name}.tsv"
        for task, names in _BECEL_FILES.items()
        for name in names.split()
    },
    "kornli/xnli.dev.ko.tsv": (
        "https://raw.githubusercontent.com/kakaobrain/kor-nlu-datasets/master/KorNLI/xnli.dev.ko.tsv"
    ),
    "klue_nli/klue-nli-v1.1_dev.json": f"{_KLUE}/klue-nli-v1.1/klue-nli-v1.1_dev.json",
    "klue_sts/klue-sts-v1.1_dev.json": f"{_KLUE}/klue-sts-v1.1/klue-sts-v1.1_dev.json",
}


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True)
class Library:
    """Where files are looked for, and whether one that is missing may be fetched. `say` hears what is done."""

    folders: tuple[Path, ...]
    cache: Path
    fetch: bool = False
    say: Callable[[str], None] = _silent
    homes: Mapping[str, str] = field(default_factory=lambda: HOMES)
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
        return next((path for path in here if path.is_file()), None) or self._fetched(relative)

    def files_in(self, relatives: Sequence[str]) -> Iterator[Path]:
        """The files of each of these folders, wherever there is one: folders in order, files by name."""
        for relative in relatives:
            for folder in (*self.folders, self.cache):
                if (folder / relative).is_dir():
                    yield from sorted(p for p in (folder / relative).iterdir() if p.is_file())

    def missing(self, name: str, looked_for: str, how: str = "give --fetch to get") -> DataError:
        if self.folders and not self.folders[0].is_dir():
            message = f"no folder {self.folders[0]}, where {looked_for} was looked for"
        else:
            places = ", ".join(map(str, (*self.folders, self.cache)))
            message = f"not found: {looked_for}, looked for in {places}"
        home = self._home(name)
        fetch = "" if home is None else f", or {how} it from {home[1]}"
        place = (self.folders or (Path("DIR"),))[0] / name
        hint = f"put it there as {place}, give --data-dir DIR or set UNWAVER_DATA (the folder above {name}){fetch}"
        return DataError(message, hint=hint, file=place if self.folders else None)

    def _home(self, relative: str) -> tuple[str, str] | None:
        names = (relative, *(relative + suffix for suffix in EXTENSIONS))
        return next(((n, self.homes[n]) for n in names if n in self.homes), None)

    def _fetched(self, relative: str) -> Path | None:
        home = self._home(relative)
        if not self.fetch or home is None:
            return None
        name, url = home
        host = urllib.parse.urlsplit(url).netloc
        target = self.cache / name
        if host not in self.unreachable:
            self.say(f"fetching {url} to {target}")
            try:
                size = _download(url, target)
                self.say(f"fetched {name}: {size:,} bytes")
                return target
            except urllib.error.HTTPError as error:  # the server answers: the next file may be there
                error.close()
                raise self._unfetched(name, url, f"{error.code} {error.reason}") from None
            except (OSError, http.client.HTTPException, _Refused) as error:
                self.unreachable[host] = str(getattr(error, "reason", None) or error or type(error).__name__)
        raise self._unfetched(name, url, self.unreachable[host])

    def _unfetched(self, name: str, url: str, reason: str) -> DataError:
        place = (self.folders or (self.cache,))[0] / name
        return DataError(
            f"could not fetch {url}: {reason}",
            hint=f"put the file there as {place}, give --data-dir DIR or set UNWAVER_DATA",
            file=place,
        )


def library(
    data_dir: Path | None = None, *, fetch: bool = False, say: Callable[[str], None] | None = None
) -> Library:
    """The folder given, else the one in UNWAVER_DATA, and the cache."""
    folder = data_dir or os.environ.get("UNWAVER_DATA")
    return Library((Path(folder),) if folder else (), cache_folder(), fetch, say or _silent)


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/unwaver/data, by default ~/.cache/unwaver/data."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(home) / "unwaver" / "data"


class _Refused(Exception):
    """What came is not what was asked for."""


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
            raise _Refused(f"it leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, target: Path) -> int:
    """The file appears at `target` whole or not at all."""
    opener = urllib.request.build_opener(_HttpsOnly)
    with opener.open(url, timeout=CONNECT_SECONDS) as reply:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                size = _copy(reply, file)
            Path(part).replace(target)
        finally:
            Path(part).unlink(missing_ok=True)
    return size


def _copy(reply: http.client.HTTPResponse, file: IO[bytes]) -> int:
    size, end = 0, time.monotonic() + FETCH_SECONDS
    expected = int(reply.headers.get("Content-Length") or -1)
    while block := reply.read1(1 << 16):
        if size == 0 and block.lstrip().startswith(b"<"):  # a login or error page sent as if it were the file
            raise _Refused("a web page came instead of the file")
        size += len(block)
        if size > FETCH_BYTES:
            raise _Refused(f"more than {FETCH_BYTES:,} bytes")
        if time.monotonic() > end:
            raise _Refused(f"not done after {FETCH_SECONDS} s")
        file.write(block)
    if size == 0 or size < expected:
        raise _Refused(f"it ended after {size:,} bytes")
    return size
