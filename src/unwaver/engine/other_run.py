"""The error for a folder that holds another run: which settings differ, old → new, never a secret."""

from __future__ import annotations

from collections.abc import Mapping
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
    values = [(name, old.get(name, plain[name]), new[name]) for name in names]
    told = [(name, _shown(one), _shown(other)) for name, one, other in values]
    found = [f"{option_of(name)} {one} → {other}" for name, one, other in told if one != other]
    if not found and any(MASK in one for _, one, _ in told):
        return ["a secret in the name or the options of a model"]
    return found


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{name}={part}" for name, part in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    else:
        text = "" if value is None else str(value)
    text = " ".join(masked(text).split())
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}…") or "not given"
