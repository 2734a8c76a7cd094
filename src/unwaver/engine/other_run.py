"""The error for a folder that holds another run: which settings differ, old → new, never a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unwaver.config import Config
from unwaver.config_record import option_of
from unwaver.errors import UsageError
from unwaver.secrets import MASK, masked

SHOWN, LONGEST = 3, 40  # settings that are named, characters of a value


def other_run(folder: Path, record: Mapping[str, Any], config: Config) -> UsageError:
    found = _differences(record.get("config"), config)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    which = "; ".join(found[:SHOWN]) + more if found else "another version of unwaver made it"
    hint = "choose another --out, or omit it: unwaver then chooses the folder"
    return UsageError(f"this folder holds a different run: {which}", file=folder, hint=hint)


def _differences(old: Any, config: Config) -> list[str]:
    """["--limit 5 → 10", "--model fake/random → fake/constant"]"""
    if not isinstance(old, Mapping):
        return []
    new, plain = asdict(config), asdict(Config((), ()))
    names = [name for name in new if name not in Config.PLACE]
    told = [(name, _text(old.get(name, plain[name])), _text(new[name])) for name in names]
    found = [f"{option_of(name)} {' → '.join(_cut(one, other))}" for name, one, other in told if one != other]
    if not found and any(MASK in one for _, one, _ in told):
        return ["a secret in the name or the options of a model"]
    return found


def _cut(one: str, other: str) -> Iterator[str]:
    """Two texts; of long ones the part where they begin to differ: "…,seed=1", "…,seed=2"."""
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, same - LONGEST // 2) if max(len(one), len(other)) > LONGEST else 0
    for text in (one, other):
        end = start + LONGEST
        yield f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}" or "not given"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{name}={part}" for name, part in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    else:
        text = "" if value is None else str(value)
    return " ".join(masked(text).split())
