"""What comes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unwaver.result import Result
from unwaver.types import Group

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Outcome:
    """A finished run: its scores, and the table and groups that they were computed from."""

    result: Result

    @property
    def frame(self) -> pl.DataFrame:
        assert self.result.answers is not None
        return self.result.answers

    @property
    def groups(self) -> Sequence[Group]:
        return self.result.groups
