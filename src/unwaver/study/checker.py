"""Names in a study's TOML file, checked: every error names the file and the key."""

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

EXAMPLE = 'write bases = ["PATH"], a table [tasks.mrpc] and a table [settings.single]; docs/train.md shows one'
# of a setting, handed to the training as they are
TRAINING = (
    "recipe", "lr", "batch", "epochs", "length", "patience", "share", "consistency", "writer", "antonyms", "lang",
    "adversarial", "samples", "bar", "encoder", "masked_lm", "test_rows", "head", "vectors", "dimension",
    "victim", "candidates", "pos", "fooling_only",
)  # fmt: skip
HEADS = (CLASSIFY, TEXT, CHOOSE)
METHODS = ("generate", "logprob")  # of models that write


@dataclass(frozen=True)
class Checker:
    """What the types of a study's file do not say: names that must be known."""

    file: Path

    def error(self, message: str, hint: str = EXAMPLE) -> DataError:
        return DataError(message, file=self.file, hint=hint)

    def keys(self, entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        if strange := sorted(set(entry) - set(known)):
            raise self.error(f"{where}: unknown key {strange[0]!r}", near(strange[0], known))

    def training(self, entry: Mapping[str, Any], where: str) -> None:
        """What is handed to the training: names are known."""
        for key, known in (("recipe", RECIPES), ("adversarial", WAYS), ("head", HEADS), ("pos", (KEEP, ANY))):
            if key in entry and entry[key] not in known:
                raise self.error(f"{where}{key}: found {entry[key]!r}", near(entry[key], known))

    def by_task(self, entry: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
        """A text for all tasks ("*"), or one for each of some: form = "t5", or form = { rte = "t5" }."""
        value = entry.get(key, {})
        found = {ALL: value} if isinstance(value, str) else dict(value)
        for name in found.values():
            if key == "method" and name not in METHODS:
                raise self.error(f"{where}{key}: found {name!r}", near(name, METHODS))
            if key == "form":
                check_form(name)
        return found
