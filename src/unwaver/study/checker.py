"""Values of a study's TOML file, checked: every error names the file and the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unwaver.errors import DataError, near
from unwaver.models.trained import check_form
from unwaver.train.attack import ANY, KEEP, WAYS
from unwaver.train.base import CHOOSE, CLASSIFY, TEXT
from unwaver.train.recipes import NAMES as RECIPES
from unwaver.train.setup import ALL
from unwaver.typed import is_number

EXAMPLE = 'write bases = ["PATH"], a table [tasks.mrpc] and a table [settings.single]; docs/train.md shows one'
# of a setting, handed to the training as they are
TRAINING = (
    "recipe", "lr", "batch", "epochs", "length", "patience", "share", "consistency", "writer", "antonyms", "lang",
    "adversarial", "samples", "bar", "encoder", "masked_lm", "test_rows", "head", "vectors", "dimension",
    "victim", "candidates", "pos", "fooling_only",
)  # fmt: skip
HEADS = (CLASSIFY, TEXT, CHOOSE)
METHODS = ("generate", "logprob")  # of models that write
_WHOLE = ("batch", "epochs", "length", "patience", "samples", "test_rows", "dimension", "candidates")
_NUMBERS = ("lr", "share", "consistency", "bar")


@dataclass(frozen=True)
class Checker:
    file: Path

    def error(self, message: str, hint: str = EXAMPLE) -> DataError:
        return DataError(message, file=self.file, hint=hint)

    def keys(self, entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        if strange := sorted(set(entry) - set(known)):
            raise self.error(f"{where}: unknown key {strange[0]!r}", near(strange[0], known))

    def table(self, value: Any, where: str) -> dict[str, Any]:
        return dict(self.typed(value, dict, where))

    def typed(self, value: Any, kind: type, where: str) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise self.error(f"{where}: found {value!r}, expected {_KINDS[kind]}")
        return value

    def texts(self, value: Any, where: str) -> list[str]:
        found = self.typed(value, list, where)
        if not all(isinstance(v, str) and v for v in found):
            raise self.error(f"{where}: found {value!r}, expected a list of texts")
        return list(found)

    def above_zero(self, entry: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
        for key in keys:
            if key in entry and (type(entry[key]) is not int or entry[key] < 1):
                raise self.error(f"{where}{key}: found {entry[key]!r}, expected a whole number, 1 or more")

    def training(self, entry: Mapping[str, Any], where: str) -> None:
        """What is handed to the training: numbers are numbers, and names are known."""
        self.above_zero(entry, _WHOLE, where)
        for key in TRAINING:
            value = entry.get(key)
            if value is None or key in _WHOLE:
                continue
            if key in _NUMBERS and not is_number(value):
                raise self.error(f"{where}{key}: found {value!r}, expected a number")
            if key not in _NUMBERS:
                self.typed(value, bool if key == "fooling_only" else str, f"{where}{key}")
        for key, known in (("recipe", RECIPES), ("adversarial", WAYS), ("head", HEADS), ("pos", (KEEP, ANY))):
            if key in entry and entry[key] not in known:
                raise self.error(f"{where}{key}: found {entry[key]!r}", near(entry[key], known))

    def by_task(self, entry: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
        """A text for all tasks ("*"), or one for each of some: form = "t5", or form = { rte = "t5" }."""
        value = entry.get(key, {})
        found = {ALL: value} if isinstance(value, str) else self.table(value, f"{where}{key}")
        for task, name in found.items():
            self.typed(name, str, f"{where}{key}.{task}")
            if key == "method" and name not in METHODS:
                raise self.error(f"{where}{key}: found {name!r}", near(name, METHODS))
            if key == "form":
                check_form(name)
        return found

    def fractions(self, value: Any, where: str) -> tuple[float, ...]:
        found = self.typed(value, list, where)
        if not found or not all(type(f) in (int, float) and 0 < f <= 1 for f in found):
            raise self.error(f"{where}: found {value!r}, expected numbers above 0, at most 1", "[0.25, 1.0]")
        return tuple(float(f) for f in found)


_KINDS = {dict: "a table", list: "a list", int: "a whole number", str: "a text", bool: "true or false"}
