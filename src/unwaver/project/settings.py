"""Options of `unwaver run` in unwaver.toml: the same names with _ for -, and a list for a repeatable option.

model = "@bot"                    --model @bot
agree = ["normalised", "exact"]   --agree normalised --agree exact
column = {question = "Frage"}     --column question=Frage
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from unwaver.config import Config
from unwaver.config_record import option_of
from unwaver.errors import DataError, near
from unwaver.named_models import as_text
from unwaver.typed import typed

# fields that a project cannot set: they are given in another way, or make no sense when a check is repeated
_NOT_HERE = ("suites", "out", "until", "alpha", "pilot", "fetch", "store")
_HINTS = get_type_hints(Config)
TYPE_OF = {field.name: str(field.type) for field in fields(Config) if field.name not in _NOT_HERE}
# the name of an option in the file -> the field of Config: "model" -> "models"
FIELD_OF = {option_of(name).removeprefix("--").replace("-", "_"): name for name in TYPE_OF}
# what decides how groups are made, and who is paid for it; everything else is about asking
OF_GROUPS = (
    "limit", "sample", "seed", "data_dir", "additive", "additive_cap", "signs", "source", "bank", "task", "kind",
    "labels", "columns", "variants", "writer", "writer_args", "writer_prompt", "judges", "k", "tries", "encoder",
    "lang", "antonyms", "review", "epsilon", "min_score", "message", "core_seed", "tables",
)  # fmt: skip
OF_BOTH = (
    "yes", "device", "max_calls", "max_cost", "price_in", "price_out", "map", "data_dir", "seed", "engine",
    "replicas", "gpus_per_replica", "cpus_per_replica",
)  # fmt: skip


def read_settings(given: Mapping[str, Any], where: str, file: Path) -> dict[str, Any]:
    """Fields of Config: {"model": "@bot", "k": 3} -> {"models": ("@bot",), "k": 3}."""
    return dict(_setting(name, value, where, file) for name, value in given.items())


def _setting(name: str, value: Any, where: str, file: Path) -> tuple[str, Any]:
    plain = name.replace("-", "_")
    field = FIELD_OF.get(plain) or (plain if plain in TYPE_OF else None)
    if field is None:
        raise DataError(f'{where}: "{name}" is not known', file=file, hint=near(plain, FIELD_OF))
    kind = TYPE_OF[field]
    if kind.startswith("tuple"):
        value = value if isinstance(value, list) else [value]
    elif kind.startswith("Mapping") and isinstance(value, dict):
        value = {key: as_text(part) for key, part in value.items()}
    found = typed(_HINTS[field], value, file, f"see unwaver run --help for {option_of(field)}", f"{where} {name}")
    return field, found
