"""How the models of a run stand, from its scores alone: what a list of many runs shows of each, and a ranking.

Reading every score of a run as `Score` takes ten times as long as its JSON; here only those that lead are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from unwaver.errors import DataError
from unwaver.meaning import leading_of, meaning_of
from unwaver.reports.kinds import ORDER, Level
from unwaver.reports.verdict import counted, is_average, level_of, rates
from unwaver.typed import fits, is_number, typed
from unwaver.types import Score

_HINT = "the file was cut or edited: unwaver score RUN computes the scores again"


class _Line(msgspec.Struct):
    """What tells scores apart."""

    suite: str
    task: str
    kind: str
    model: str
    method: str
    metric: str
    given: str | None = None


class _File(msgspec.Struct):
    scores: list[_Line]


class Share(NamedTuple):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Relation:
    """One suite/task/kind of one model. `share` is the part that is consistent; None if it was not measured."""

    name: str
    metric: str
    level: Level
    share: Share | None
    has_interval: bool
    accuracy: float | None
    groups: int
    counted: int
    missing: int


@dataclass(frozen=True)
class Standing:
    """One model of a run."""

    model: str
    relations: tuple[Relation, ...]

    @cached_property
    def level(self) -> Level:
        """The worst of its relations."""
        return min((r.level for r in self.relations), key=ORDER.index, default="none")

    @cached_property
    def consistency(self) -> Share | None:
        """The mean over relations. The mean of intervals is at least as wide as the interval of the mean, however
        the relations depend on each other; a relation without an interval counts as 0 to 1."""
        shares = [r.share for r in self.relations if r.share is not None]
        if not shares:
            return None
        value, low, high = (sum(part) / len(shares) for part in zip(*shares, strict=True))
        return Share(value, low, high)

    @cached_property
    def accuracy(self) -> float | None:
        """The mean over relations whose right answers are known."""
        known = [r.accuracy for r in self.relations if r.accuracy is not None]
        return sum(known) / len(known) if known else None

    @property
    def groups(self) -> int:
        return sum(r.groups for r in self.relations)

    @property
    def counted(self) -> int:
        return sum(r.counted for r in self.relations)

    @property
    def missing(self) -> int:
        return sum(r.missing for r in self.relations)

    @property
    def is_constant(self) -> bool:
        """Whether nothing that was measured shows more than that it always gives one answer."""
        return {r.level for r in self.relations} - {"none"} == {"constant"}

    @property
    def headline(self) -> str:
        """ "7 relations were measured: 3 inconsistent, 4 consistent." """
        return counted([r.level for r in self.relations])


def read_standings(path: Path) -> list[Standing]:
    """From a scores.json."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as e:
        raise DataError(f"cannot be read: {e}", file=path, hint=_HINT) from None
    except OSError as e:
        raise DataError(f"cannot be read: {e.strerror}", file=path, hint=_HINT) from None
    if not fits(_File, document):
        typed(_File, document, path, _HINT)  # says what is wrong
    return standings(document["scores"], path)


def standings(scores: Sequence[Mapping[str, Any]], path: Path) -> list[Standing]:
    """Of scores as scores.json holds them; `path` is named where one is wrong."""
    found: dict[str, list[Relation]] = {}
    for block in _blocks(scores):
        leading = leading_of(block)
        s = typed(Score, leading.raw, path, _HINT, "scores")
        if not is_average(s):
            found.setdefault(s.model, []).append(_relation(_sentence(s, leading, block, path)))
    return [Standing(model, tuple(relations)) for model, relations in found.items()]


class _Named(NamedTuple):
    metric: str
    given: str | None
    value: float | None
    raw: Mapping[str, Any]


def _blocks(scores: Sequence[Mapping[str, Any]]) -> Iterator[list[_Named]]:
    blocks: dict[tuple[str, ...], list[_Named]] = {}
    for s in scores:
        value = s.get("value")
        named = _Named(s["metric"], s.get("given"), value if is_number(value) else None, s)
        blocks.setdefault((s["suite"], s["task"], s["kind"], s["model"], s["method"]), []).append(named)
    yield from blocks.values()


def _sentence(s: Score, leading: _Named, block: Sequence[_Named], path: Path) -> Score:
    """The score that a verdict is about: as reports.verdict.about."""
    meaning = meaning_of(leading.metric)
    if meaning is None or not meaning.verdict_of or s.value is None:
        return s
    forms = (next((n for n in block if n.metric == name), None) for name in meaning.verdict_of)
    other = next((form for form in forms if form is not None and form.value is not None), None)
    return s if other is None else typed(Score, other.raw, path, _HINT, "scores")


def _relation(s: Score) -> Relation:
    rate, low, high = rates(s)
    share = None
    if rate is not None and 0 <= rate <= 1:
        share = Share(1 - rate, 1 - (1 if high is None else high), 1 - (low or 0))
    return Relation(
        name=f"{s.suite}/{s.task}/{s.kind}",
        metric=s.metric,
        level=level_of(s, rate, low, high),
        share=share,
        has_interval=low is not None and high is not None,
        accuracy=s.accuracy,
        groups=s.groups,
        counted=s.counted,
        missing=s.missing,
    )


# --- a ranking ----------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """The first and the last place that the intervals leave open: 1 to 3 of 5."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def places(shares: Sequence[Share | None]) -> list[Place | None]:
    """A model is surely behind another only if its whole interval is below the other's. None has no place.

    shares .9 [.8, 1], .85 [.7, .95], .2 [.1, .3] -> 1–2, 1–2, 3
    """
    known = [s for s in shares if s is not None]

    def place(share: Share) -> Place:
        ahead = sum(other.low > share.high for other in known)
        behind = sum(other.high < share.low for other in known)
        return Place(ahead + 1, len(known) - behind)

    return [None if s is None else place(s) for s in shares]
