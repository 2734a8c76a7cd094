"""The road from answers to scores: groups and answers -> table -> compared -> rated -> scored.

Every command that scores takes it: a run with the answers it has just received, all others with the answers of a
run folder. They differ in one argument, `consult`, which gets the replies of models that compare or rate free
text: a run asks these models, the others read their stored replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from unwaver.tasks import Words, spoken
from unwaver.types import Group, Score

if TYPE_CHECKING:
    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer


@dataclass(frozen=True)
class Tested:
    """A model under test, with its answers and those of the certifiers of variants.

    `writes` is the method for free text, if it differs from `method`. `seen` are ids of groups that the model was
    trained on. `groups` replaces the groups of the evidence if a review removed variants for this model.
    """

    name: str
    method: str
    answers: Answers
    writes: str | None = None
    seen: Sequence[str] = ()
    groups: Sequence[Group] | None = None
    form: str = ""  # in which the model read the items, where its words are others
    parts: Iterable[tuple[Sequence[Group], Answers]] | None = None  # all groups with their answers, if very many


@dataclass(frozen=True)
class Evidence:
    """Everything that the scores depend on: the same evidence always gives the same scores."""

    config: Config
    groups: Sequence[Group]
    words: Words  # the words that stand for the labels in a prompt, by task and template
    tested: Sequence[Tested]
    agreements: Sequence[Agreement] = ()
    scorers: Sequence[Scorer] = ()
    until: Mapping[str, Any] | None = None  # what --until did not ask because the verdict was certain


@dataclass(frozen=True)
class Rated:
    """The table: one frame per model under test, with the values of agreements and scorers as columns."""

    frames: list[pl.DataFrame]
    agreements: list[dict[str, Any]]  # one summary per agreement, for run.json
    scorers: list[dict[str, Any]]

    @cached_property
    def frame(self) -> pl.DataFrame:
        return pl.concat(self.frames, how="diagonal_relaxed")


def rated(evidence: Evidence, consult: Consult, console: Console | None = None) -> Rated:
    """The table that is scored: `tabulated`, then `compared`, then `judged_right`."""
    frames, agreements = compared(tabulated(evidence), evidence, consult, console or Console())
    frames, scorers = judged_right(frames, evidence, consult)
    return Rated(frames, agreements, scorers)


def scored(table: pl.DataFrame, config: Config) -> list[Score]:
    return score_frame(table, unreadable=config.unreadable, seed=config.seed)


def tabulated(evidence: Evidence) -> list[pl.DataFrame]:
    """One frame per model, with one row per answer."""
    return [_frame(evidence, number, tested) for number, tested in enumerate(evidence.tested)]


def _frame(evidence: Evidence, number: int, tested: Tested) -> pl.DataFrame:
    config = evidence.config
    whole = evidence.groups if tested.groups is None else tested.groups, tested.answers
    parts = [
        table_of(
            groups,
            answers,
            spoken(evidence.words, tested.form),
            model=tested.name,
            method=tested.method,
            writes=tested.writes,
            replicates=config.replicates,
            normalise=config.normalise,
            read=config.read,
            cut=config.cut,
        )
        for groups, answers in tested.parts or [whole]
    ]
    alike = all(part.schema == parts[0].schema for part in parts)  # then nothing is copied
    frame = pl.concat(parts, how="vertical" if alike else "diagonal_relaxed", rechunk=False)
    if evidence.until:
        from unwaver.asking.until import marked

        frame = marked(frame, evidence.until, number, evidence.groups)
    if config.domain:
        from unwaver.answers.domains import with_domains

        frame = with_domains(frame, config.domain)
    if config.theta:
        frame = frame.with_columns(theta=pl.lit(list(config.theta)))
    return seen_apart(frame, tested.seen)


def seen_apart(frame: pl.DataFrame, seen: Sequence[str]) -> pl.DataFrame:
    """Give groups that the model was trained on a kind of their own: symmetric -> symmetric_seen."""
    if not seen:
        return frame
    in_group, apart = pl.col("role") != "test", pl.col("group").is_in(list(seen))
    apart = pl.when(in_group).then(apart).otherwise((apart | ~in_group).all().over("suite", "task", "kind"))
    return frame.with_columns(kind=pl.when(apart).then(pl.col("kind") + SEEN_SUFFIX).otherwise(pl.col("kind")))


def compared(
    frames: list[pl.DataFrame], evidence: Evidence, consult: Consult, console: Console
) -> tuple[list[pl.DataFrame], list[dict[str, Any]]]:
    """Add the values of each agreement of free text to the frames; also return a summary per agreement."""
    summaries: list[dict[str, Any]] = []
    for agreement in evidence.agreements:
        from unwaver.agree.comparison import Comparison

        asks_questions = evidence.config.compare_questions
        if agreement.part_of:
            continue  # compared with its whole
        if agreement.parts is not None:
            from unwaver.agree.in_parts import compared_in_parts

            frames, more = compared_in_parts(agreement, evidence.groups, frames, consult, console)
            summaries += more
            continue
        comparison = Comparison(agreement, evidence.groups, frames, asks_questions)
        values, lost = comparison.values(consult, console)
        frames = comparison.frames_with(values)
        summaries.append(comparison.summary(values, lost))
    return frames, summaries


def judged_right(
    frames: list[pl.DataFrame], evidence: Evidence, consult: Consult
) -> tuple[list[pl.DataFrame], list[dict[str, Any]]]:
    """Add whether free-text answers are right, by each scorer; also return a summary per scorer."""
    summaries: list[dict[str, Any]] = []
    for scorer in evidence.scorers:
        from unwaver.agree.scorers import Rating

        rating = Rating(scorer, evidence.groups, frames)
        said = rating.said(consult)
        frames = rating.frames_with(said)
        summaries.append(rating.summary(said))
    return frames, summaries
