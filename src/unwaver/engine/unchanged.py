"""Whether what a result was made of is still the same: files, code, installed packages."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_VARIABLES = ("OPENAI_BASE_URL", "UNWAVER_DATA", "UNWAVER_MODELS", "UNWAVER_WORDNET", "UNWAVER_CACHE")
_INSTALLED = (".dist-info", ".pth", ".egg-link")
_HOME = Path(__file__).parent.parent


def is_closed() -> bool:
    """Whether the code is all unwaver's or installed."""
    return not any(_strangers())


def _strangers() -> Iterator[str]:
    """Modules that are neither unwaver's nor installed: a plug-in in the making, a function of one's own."""
    known = (str(_HOME), str(_HOME.resolve()), str(Path(os.__file__).parent), *_package_folders())
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if name.startswith("__") or not isinstance(place, str) or not Path(place).is_absolute():
            continue  # the command itself; torch.ops says it is in "_ops.py"
        if not place.startswith(known):
            yield name


def code_state() -> str:
    """A hash that changes with unwaver, Python, the installed packages and the variables of unwaver."""
    files = sorted(path for path in _HOME.rglob("*.*") if path.parent.name != "__pycache__")
    installed = [p for place in _package_folders() for p in Path(place).iterdir() if p.suffix in _INSTALLED]
    stats = [(str(path), path.stat()) for path in [*files, *sorted(installed)]]
    found = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    variables = [os.environ.get(name) for name in _VARIABLES]
    return digest(json.dumps([sys.version, variables, found]).encode(errors="backslashreplace"))


def _package_folders() -> list[str]:
    return [
        place for place in sys.path if place.endswith(("site-packages", "dist-packages")) and Path(place).is_dir()
    ]


def hash_of(path: Path) -> str | None:
    """Of what a file holds; of a folder, which may hold gigabytes, names, sizes and times. None: there is none."""
    if path.is_dir():
        stats = [(str(each.relative_to(path)), each.stat()) for each in sorted(path.rglob("*"))]
        return digest(json.dumps([(name, s.st_size, s.st_mtime_ns) for name, s in stats]).encode())
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except FileNotFoundError:
        return None


def digest(data: bytes) -> str:
    return hashlib.blake2b(data).hexdigest()[:32]
