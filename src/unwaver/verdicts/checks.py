"""What a gate says: one check for each bar on each suite/task/kind and model, and the outcome of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unwaver.bars import Decision
from unwaver.text.shown import percent, safe
from unwaver.verdicts.differing import Difference, heading


@dataclass(frozen=True)
class Check:
    """One bar on one suite/task/kind of one model. `low` and `high` are one-sided limits at level 1 − alpha each;
    for a drop they limit how much worse it is than the baseline."""

    suite: str
    task: str
    kind: str
    model: str
    method: str
    metric: str
    bar: str
    where: str
    verdict: Decision
    reason: str
    value: float | None = None
    baseline: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    further_groups: int | None = None  # about this many more of the same kind would decide
    groups: int = 0
    counted: int = 0
    not_applicable: int = 0
    unreadable: int = 0
    missing: int = 0
    not_needed: int = 0
    clusters: int = 0
    accuracy: float | None = None
    # those that are missing, by why; and the groups with an answer that was cut and could be read
    failed: int = 0
    refused: int = 0
    cut: int = 0
    not_asked: int = 0
    cut_read: int = 0
    # of those with an unreadable answer: it has no text, or is a call of a tool
    empty: int = 0
    tool_call: int = 0
    partial: int = 0  # scored without an answer whose call failed; part of `missing`

    @property
    def case(self) -> str:
        return "/".join(part for part in (self.suite, self.task, self.kind) if part) or self.where

    def __str__(self) -> str:
        counts = f"{self.counted:,} of {self.groups:,} groups, accuracy {percent(self.accuracy)} %"
        about = f"{self.verdict}: {self.case} · {self.model}: {self.bar}"
        return safe(f"{about}: {shown_value(self)}; {self.reason} ({counts})")


@dataclass(frozen=True, repr=False)
class GateOutcome:
    """All checks of a gate. It is true if the bars are met: `assert unwaver.gate("runs/new", ["tau<=0.10"])`."""

    checks: tuple[Check, ...]
    alpha: float = 0.05
    allow_undecided: bool = False
    differs: tuple[Difference, ...] = ()  # between the baseline (first) and the run

    @property
    def verdict(self) -> Decision:
        return worst(self.checks)

    @property
    def is_met(self) -> bool:
        return self.verdict == "pass" or (self.allow_undecided and self.verdict == "undecided")

    def __bool__(self) -> bool:
        return self.is_met

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.checks)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from unwaver.text import displayed

        level = {"pass": "good", "fail": "bad", "undecided": "fair"}[self.verdict]
        left = ("relation", "model", "bar", "verdict")
        parts = [displayed.headline(self.verdict, level), *(displayed.soft(line) for line in self.heading)]
        parts += [displayed.table(self.rows(), left)]
        parts += [displayed.notes(list(self.remarks())), displayed.soft(self.note)]
        return displayed.framed(*parts)

    def rows(self) -> list[list[str]]:
        """The checks as a table, header first; models only if there are several."""
        header = ["relation", "bar", "%", "limits", "acc.", "groups", "verdict"]
        body = [
            [self._about(c), c.bar, percent(c.value), limits(c), percent(c.accuracy), f"{c.counted:,}", c.verdict]
            for c in self.checks
        ]
        if self._has_models:
            header.insert(1, "model")
            for row, check in zip(body, self.checks, strict=True):
                row.insert(1, check.model)
        return [header, *body]

    def remarks(self) -> list[str]:
        """Why a check is not decided, or what it lacks."""
        return [
            f"{self._about(c)}{f' ({c.model})' if self._has_models else ''}: {c.bar}: {c.reason}"
            for c in self.checks
            if c.verdict == "undecided" or c.value is None or c.missing
        ]

    @property
    def _has_models(self) -> bool:
        return len({(c.model, c.method) for c in self.checks}) > 1

    def _about(self, check: Check) -> str:
        suites = {c.suite for c in self.checks if c.suite}
        return check.case.removeprefix(f"{check.suite}/") if len(suites) == 1 and check.suite else check.case

    @property
    def note(self) -> str:
        """What the limits of the checks are."""
        drops = any(check.bar.startswith(("drop(", "drop ")) for check in self.checks)
        level = f"Limits are one-sided at {100 * (1 - self.alpha):g} %"
        return f"{level}; for a drop, they limit how much worse the run is." if drops else f"{level}."

    @property
    def heading(self) -> list[str]:
        """Lines above the checks: how the baseline and the run were asked differently."""
        lines = list(heading(self.differs))
        return ["baseline | this run", *lines] if lines else []

    def document(self) -> dict[str, Any]:
        """What `unwaver gate --json` prints."""
        return {
            "version": 1,
            "verdict": self.verdict,
            "alpha": self.alpha,
            "allow_undecided": self.allow_undecided,
            **({"differs": [difference._asdict() for difference in self.differs]} if self.differs else {}),
            "checks": [asdict(check) for check in self.checks],
        }


def worst(checks: Sequence[Check]) -> Decision:
    verdicts = {check.verdict for check in checks}
    return "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"


# --- for people ---------------------------------------------------------------------------------------------


def limits(check: Check) -> str:
    return "–" if check.low is None else f"{percent(check.low)} – {percent(check.high)}"


def shown_value(check: Check) -> str:
    """ "tau is 12.5 % [9.1 – 16.8]"; against a baseline also what it was."""
    if check.value is None:
        return f"{check.metric} has no value"
    was = "" if check.baseline is None else f", was {percent(check.baseline)} %; worse by"
    return f"{check.metric} is {percent(check.value)} %{was} [{limits(check)}]"
