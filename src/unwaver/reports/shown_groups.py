"""Groups of a run as `unwaver.show` returns them: texts and answers side by side, the worst first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from unwaver import displayed
from unwaver.errors import UsageError
from unwaver.reports.in_python import answers_frame, broken_frame
from unwaver.text.shown import percent, safe

if TYPE_CHECKING:
    from unwaver.frames import Frame

LONGEST = 300  # characters of a text or answer
KEY = ["suite", "task", "kind", "model", "group"]


@dataclass(frozen=True, repr=False)
class Shown:
    """The first groups of a run, of `found` ones."""

    answers: Frame
    found: int
    limit: int

    def frame(self) -> Frame:
        """One row for each answer of all groups that were found, as a Polars frame."""
        return self.answers

    def __len__(self) -> int:
        return self.found

    def __str__(self) -> str:
        lines = []
        for part in self._parts():
            lines.append(self._title(part))
            lines += [
                f"  {role:<11}{text}\n             → {said}" for role, text, said, _ in map(_cells, _rows(part))
            ]
            lines.append("")
        return "\n".join([*lines, self._last()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        for part in self._parts():
            rows = [["", "text", "answer", "right"], *(list(_cells(row)) for row in _rows(part))]
            parts += [displayed.title(self._title(part)), displayed.table(rows, ("", "right"), ("text", "answer"))]
        return displayed.framed(*parts, displayed.soft(self._last()))

    def _parts(self) -> list[pl.DataFrame]:
        return self.answers.partition_by(KEY, maintain_order=True)[: self.limit]

    def _title(self, part: pl.DataFrame) -> str:
        first = part.row(0, named=True)
        share = "" if not first["broken"] else f", {percent(first['broken'])} % broken"
        return safe(f"{first['task']}/{first['kind']} · {first['group']} · {first['model']}{share}")

    def _last(self) -> str:
        more = f" – the first {self.limit} are shown; limit=N shows more" if self.found > self.limit else ""
        return f"{self.found:,} group{'' if self.found == 1 else 's'}{more}"


def _rows(part: pl.DataFrame) -> list[dict[str, Any]]:
    """Equal answers to one text once: "yes ×2"."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in part.iter_rows(named=True):
        same = found.setdefault((row["role"], row["text"], row["answer"], row["status"]), {**row, "times": 0})
        same["times"] += 1
    return list(found.values())


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    said = row["answer"] if row["answer"] is not None else row["status"].replace("_", " ")
    times = f" ×{row['times']}" if row["times"] > 1 else ""
    right = {True: "right", False: "wrong", None: ""}[row["right"]]
    return row["role"], _cut(row["text"]), f"{_cut(said)}{times}", right


def _cut(text: str) -> str:
    shown = safe(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def shown(
    run: Any, *, only: str = "", model: str = "", everything: bool = False, limit: int = 10, **options: Any
) -> Shown:
    from unwaver.engine.load import load

    if limit < 1:
        raise UsageError(f"limit is {limit}, expected 1 or more", hint="leave it out for 10")
    options = {name: value for name, value in options.items() if value is not None}
    loaded = load(run, **options)
    frame = _of_models(_about(loaded.frame, only), model)
    found = answers_frame(frame, loaded.groups) if everything else broken_frame(frame, loaded.groups)
    return Shown(found, found.select(KEY).n_unique() if len(found) else 0, limit)


def _about(frame: pl.DataFrame, only: str) -> pl.DataFrame:
    """The rows of suites, tasks and kinds that begin with `only`."""
    name = pl.concat_str([pl.col("suite"), pl.col("task"), pl.col("kind")], separator="/")
    part = frame.filter(name.str.starts_with(only))
    if part.is_empty():
        kinds = frame.select(name.unique()).to_series().sort().to_list()
        raise UsageError(f"no suite/task/kind starts with {only!r}", hint="in this run: " + ", ".join(kinds))
    return part


def _of_models(frame: pl.DataFrame, model: str) -> pl.DataFrame:
    part = frame.filter(pl.col("model").str.contains(model, literal=True))
    if part.is_empty():
        names = ", ".join(frame["model"].unique(maintain_order=True))
        raise UsageError(f"no model has {model!r} in its name", hint=f"in this run: {names}")
    return part
