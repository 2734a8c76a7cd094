"""Groups with their texts and answers side by side, the worst first: what `unwaver show` prints, and what
`unwaver.show` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from unwaver.console import captured
from unwaver.errors import UsageError
from unwaver.reports.in_python import answers_frame
from unwaver.reports.listed import Listed, group_of, listed
from unwaver.reports.side_by_side import LONGEST, print_group
from unwaver.result import Result
from unwaver.text import displayed
from unwaver.text.shown import cut, percent, safe
from unwaver.types import Group

if TYPE_CHECKING:
    from rich.console import Console

    from unwaver.frames import Frame


@dataclass(frozen=True, repr=False)
class Shown:
    """The groups that were found, of which the first `limit` are printed."""

    found: Sequence[Listed]
    groups: Mapping[str, Group]
    limit: int
    full: bool = False

    def frame(self) -> Frame:
        """One row for each answer of all groups that were found, as a Polars frame."""
        return answers_frame(self.found, self.groups)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        return captured(
            lambda console: print_listed(
                self.found, self.groups, self.limit, self.full, console, ("limit=N", "full=True")
            )
        )

    def __repr__(self) -> str:
        return str(self).rstrip()

    def _repr_html_(self) -> str:
        parts = []
        for each in self.found[: self.limit]:
            rows = [["", "text", "answer", "right"], *map(self._cells, _once(answers_frame([each], self.groups)))]
            parts += [displayed.title(_title(each)), displayed.table(rows, ("", "right"), ("text", "answer"))]
        return displayed.framed(*parts, displayed.soft(_last(len(self.found), self.limit, "limit=N")))

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        said = row["answer"] if row["answer"] is not None else row["status"].replace("_", " ")
        times = f" ×{row['times']}" if row["times"] > 1 else ""
        right = {True: "right", False: "wrong", None: ""}[row["right"]]
        return [row["role"], self._cut(row["text"] or ""), f"{self._cut(said)}{times}", right]

    def _cut(self, text: str) -> str:
        shown = safe(text)
        return shown if self.full else cut(shown, LONGEST)


def _title(each: Listed) -> str:
    agree = "" if each.agreement is None else f", agreement {percent(each.agreement)} %"
    return safe(f"{each.task}/{each.kind} · {each.group} · {each.model}: {each.state}{agree}")


def _once(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Equal answers to one text once: "yes ×2"."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        same = found.setdefault((row["role"], row["text"], row["answer"], row["status"]), {**row, "times": 0})
        same["times"] += 1
    return list(found.values())


def print_listed(
    found: Sequence[Listed],
    known: Mapping[str, Group],
    limit: int,
    full: bool,
    console: Console,
    more: tuple[str, str] = ("--limit N", "--full"),
) -> None:
    """The first groups, and how many there are; `more` is how to see more groups, and whole texts."""
    several, cut = len({each.model for each in found}) > 1, False
    for each in found[:limit]:
        if several:
            console.print(safe(each.model), style="dim", markup=False)
        by_item: dict[str, list[Any]] = {}
        for answer in each.answers:
            by_item.setdefault(answer["item"], []).append(answer)
        note = f"  differs in: {', '.join(each.fields)}" if each.fields else ""
        longest = None if full else LONGEST
        cut |= print_group(group_of(each, known), by_item, console, longest=longest, note=note)
    console.print(_last(len(found), limit, more[0]), markup=False)
    if cut:
        console.print(
            f"Texts of more than {LONGEST} characters are cut; {more[1]} shows all of them", markup=False
        )


def _last(found: int, limit: int, how: str) -> str:
    more = f" – the first {limit} are shown; {how} shows more" if found > limit else ""
    return f"{found:,} group{'' if found == 1 else 's'}{more}"


def show(
    run: Any,
    *,
    only: str = "",
    model: str = "",
    everything: bool = False,
    limit: int = 10,
    full: bool = False,
    **options: Any,
) -> Shown:
    """The broken groups of a run, texts and answers side by side, the worst first: show("runs/first", limit=3).

    `run` is a run folder, a table or a log, or the result of unwaver.run or unwaver.score. `only` is a part of
    suite/task/kind, `model` a part of a model's name; `everything` adds the groups that hold, and `full` shows
    long texts as a whole. Other options are those of unwaver.score.
    """
    from unwaver.engine.load import load

    if limit < 1:
        raise UsageError(f"limit is {limit}, expected 1 or more", hint="leave it out for 10")
    options = {name: value for name, value in options.items() if value is not None}
    if not isinstance(run, Result):
        options["texts"] = True
    loaded = load(run, **options)
    parts = [about(frame, only) for frame in of_models(loaded.frames, model)]
    return Shown(listed(parts, everything), {group.id: group for group in loaded.groups}, limit, full)


def about(frame: pl.DataFrame, only: str) -> pl.DataFrame:
    """The rows of suites, tasks and kinds that begin with `only`."""
    name = pl.concat_str([pl.col("suite"), pl.col("task"), pl.col("kind")], separator="/")
    part = frame.filter(name.str.starts_with(only))
    if part.is_empty():
        kinds = frame.select(name.unique()).to_series().sort().to_list()
        raise UsageError(f"no suite/task/kind starts with {only!r}", hint="in this run: " + ", ".join(kinds))
    return part


def of_models(frames: Sequence[pl.DataFrame], model: str) -> list[pl.DataFrame]:
    """The answers of the models whose name holds this text."""
    names = [str(frame["model"][0]) for frame in frames]
    found = [frame for frame, name in zip(frames, names, strict=True) if model in name]
    if not found:
        raise UsageError(f"no model has {model!r} in its name", hint="in this run: " + ", ".join(names))
    return found
