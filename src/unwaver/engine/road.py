"""The road from answers to scores: groups and answers -> table -> compared -> rated -> scored.

There is no other: a run takes it with the answers it has just got, and everything that reads a run folder takes it
with those it finds there. They differ in one argument, `consult`: a model that compares or rates answers is asked,
or what it said is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from unwaver.answers.table import table_of
from unwaver.asking.consult import Consult
from unwaver.asking.panel import Answers
from unwaver.config import Config
from unwaver.console import Console
from unwaver.groups import SEEN_SUFFIX
from unwaver.metrics.score import score_frame
from unwaver.types import Group, Score

if TYPE_CHECKING:
    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer

Words = Mapping[tuple[str, str], Sequence[str]]


@dataclass(frozen=True)
class Tested:
    """A model under test, and what it and the certifiers of variants have answered.

    `writes` is the method of free text, where that is another. `seen` are groups that the model was trained on.
    `groups` are its own where a review has taken variants out.
    """

    name: str
    method: str
    answers: Answers
    writes: str | None = None
    seen: Sequence[str] = ()
    groups: Sequence[Group] | None = None


@dataclass(frozen=True)
class Evidence:
    """Everything that scores depend on."""

    config: Config
    groups: Sequence[Group]
    words: Words  # what a language model writes for the labels, by task and template
    tested: Sequence[Tested]
    agreements: Sequence[Agreement] = ()
    scorers: Sequence[Scorer] = ()
    until: Mapping[str, Any] | None = None  # what was left out because a verdict was certain


@dataclass(frozen=True)
class Rated:
    """The table: one frame for each model under test, with what agreements and scorers say in columns."""

    frames: list[pl.DataFrame]
    agreements: list[dict[str, Any]]  # a summary of each
    scorers: list[dict[str, Any]]

    @cached_property
    def frame(self) -> pl.DataFrame:
        return pl.concat(self.frames, how="diagonal_relaxed")


def rated(evidence: Evidence, consult: Consult, console: Console | None = None) -> Rated:
    """From answers to the table that is scored."""
    frames, agreements = compared(tabulated(evidence), evidence, consult, console or Console())
    frames, scorers = judged_right(frames, evidence, consult)
    return Rated(frames, agreements, scorers)


def scored(table: pl.DataFrame, config: Config) -> list[Score]:
    return score_frame(table, unreadable=config.unreadable, seed=config.seed)


def tabulated(evidence: Evidence) -> list[pl.DataFrame]:
    """One row for each answer, a frame for each model."""
    return [_frame(evidence, number, tested) for number, tested in enumerate(evidence.tested)]


def _frame(evidence: Evidence, number: int, tested: Tested) -> pl.DataFrame:
    config = evidence.config
    frame = table_of(
        evidence.groups if tested.groups is None else tested.groups,
        tested.answers,
        evidence.words,
        model=tested.name,
        method=tested.method,
        writes=tested.writes,
        replicates=config.replicates,
        normalise=config.normalise,
        read=config.read,
        cut=config.cut,
    )
    if evidence.until:
        from unwaver.asking.until import marked

        frame = marked(frame, evidence.until, number, evidence.groups)
    return seen_apart(frame, tested.seen)


def seen_apart(frame: pl.DataFrame, seen: Sequence[str]) -> pl.DataFrame:
    """Groups that the model was trained on are a kind of their own: symmetric -> symmetric_seen."""
    if not seen:
        return frame
    apart = pl.col("group").is_in(list(seen))
    return frame.with_columns(kind=pl.when(apart).then(pl.col("kind") + SEEN_SUFFIX).otherwise(pl.col("kind")))


def compared(
    frames: list[pl.DataFrame], evidence: Evidence, consult: Consult, console: Console
) -> tuple[list[pl.DataFrame], list[dict[str, Any]]]:
    """The frames with how far free answers agree, by each agreement, and a summary of each."""
    summaries: list[dict[str, Any]] = []
    for agreement in evidence.agreements:
        from unwaver.agree.comparison import Comparison

        comparison = Comparison(agreement, evidence.groups, frames)
        values, lost = comparison.values(consult, console)
        frames = comparison.frames_with(values)
        summaries.append(comparison.summary(values, lost))
    return frames, summaries


def judged_right(
    frames: list[pl.DataFrame], evidence: Evidence, consult: Consult
) -> tuple[list[pl.DataFrame], list[dict[str, Any]]]:
    """The frames with whether free answers are right, by each scorer, and a summary of each."""
    summaries: list[dict[str, Any]] = []
    for scorer in evidence.scorers:
        from unwaver.agree.scorers import Rating

        rating = Rating(scorer, evidence.groups, frames)
        said = rating.said(consult)
        frames = rating.frames_with(said)
        summaries.append(rating.summary(said))
    return frames, summaries
