"""The configuration of a run: what `unwaver run` was asked for, and what run.json holds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from unwaver.errors import DataError, UsageError


@dataclass(frozen=True)
class Config:
    """Everything a run is made from; run.json holds it, and `unwaver run --from run.json` repeats it."""

    suites: tuple[str, ...]
    models: tuple[str, ...]
    model_args: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    shots: int = 0
    replicates: int = 1
    method: str | None = None
    system: str | None = None
    template: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    normalise: bool = False
    unreadable: Literal["violate", "skip"] = "violate"
    # how the groups are found or made
    data_dir: str | None = None
    fetch: bool = False
    additive: str = "disjoint"
    additive_cap: int | None = None
    task: str | None = None
    kind: str | None = None
    labels: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    # where it runs; none of these changes an answer
    device: str | None = None
    out: str | None = None
    store: str | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    PLACE = ("device", "out", "store", "max_calls", "max_cost", "price_in", "price_out", "unreadable", "fetch")

    def __post_init__(self) -> None:
        _check_config(self)

    @property
    def id(self) -> str:
        """A hash of what decides the answers: the same command finds the same folder and goes on there."""
        settings = {k: v for k, v in asdict(self).items() if k not in self.PLACE}
        return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:8]

    @property
    def folder(self) -> Path:
        if self.out:
            return Path(self.out)
        names = "+".join(re.sub(r"[^\w.-]+", "-", Path(s).name if Path(s).is_file() else s) for s in self.suites)
        return Path("runs") / f"{names[:60]}-{self.id}"


def config_from(record: Mapping[str, Any], file: Path) -> Config:
    """The configuration in a run.json, checked: it may have been written by hand."""
    given = record.get("config")
    known = {f.name for f in fields(Config)}
    if not isinstance(given, dict) or not set(given) <= known or not {"suites", "models"} <= set(given):
        raise DataError("it holds no configuration of a run", file=file, hint="give a run.json of this version")
    return Config(**as_options(given))


def as_options(config: Config | Mapping[str, Any]) -> dict[str, Any]:
    values = asdict(config) if isinstance(config, Config) else dict(config)
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def _check_config(c: Config) -> None:
    for name in ("limit", "sample", "max_calls", "additive_cap"):
        value = getattr(c, name)
        if value is not None and value < 1:
            raise UsageError(
                f"{name.replace('_', '-')} is {value}, expected 1 or more", hint="leave it out for all"
            )
    if c.limit is not None and c.sample is not None:
        raise UsageError("--limit and --sample exclude one another", hint="give one of them")
    if c.replicates < 1 or c.shots < 0:
        raise UsageError("--replicates is at least 1 and --shots at least 0", hint="leave them out")
    if c.unreadable not in ("violate", "skip"):
        raise UsageError(f"unreadable={c.unreadable!r}", hint="known: violate, skip")
    for name, value in c.model_args.items():
        if re.search(r"://[^/\s]*@", str(value)):
            raise UsageError(
                f"--model-arg {name} holds a user name or password",
                hint="keys come from the environment (OPENAI_API_KEY): a command line gets written down",
            )
