"""How far people agree, how fast they are, and whether they read: what the owner of a job looks at.

Agreement is Cohen's κ for two people, Fleiss' κ and Krippendorff's α for more; α is ordinal where replies are
grades. Skipped cards and people who were set aside do not count. Each figure is given in total and by kind of
group, with an interval that resamples clusters of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from unwaver.people.agreement import Agreement, in_total_and_by_kind
from unwaver.people.forms import is_right
from unwaver.people.job import Job
from unwaver.people.rules import PRESETS, verdict
from unwaver.people.store import Card, Database, Rater, Reply
from unwaver.stats.raters import Level

GRADED = ("rate",)


@dataclass(frozen=True)
class Progress:
    """Of one person. `checks` are the cards with a known answer, and how many of them were right."""

    rater: Rater
    done: int
    skipped: int
    flagged: int
    changed: int
    seconds: float | None  # median of a card
    checks: int
    right: int


def values(reply: Reply) -> dict[str, str]:
    """What a reply says, by criterion: {"": "4"}, {"meaning": "yes", "label": "no"}; nothing for skipped cards and
    for texts."""
    said = reply.value
    if "skip" in said:
        return {}
    if "criteria" in said:
        return {str(name): str(value) for name, value in said["criteria"].items()}
    return {"": str(said["value"])} if "value" in said else {}


def agreements(
    job: Job, cards: Sequence[Card], replies: Sequence[Reply], aside: Sequence[int] = ()
) -> list[Agreement]:
    """In total, then by kind where there are several; one for each criterion."""
    about = {card.id: card.shown.get("about", {}) for card in cards if card.known is None}
    counted = [r for r in replies if r.rater not in aside and r.card in about]
    found = []
    for criterion in dict.fromkeys(name for reply in counted for name in values(reply)):
        found_rows = _table(job, counted, criterion)
        table = {card: found_rows[card] for card in about if card in found_rows}
        clusters = [str(about[card].get("cluster") or card) for card in table]
        kinds = [str(about[card].get("kind", "")) for card in table]
        numbers = np.array(list(table.values()))
        found += in_total_and_by_kind(numbers, clusters, kinds, level_of(job), criterion=criterion)
    return found


def _table(job: Job, replies: Sequence[Reply], criterion: str) -> dict[str, list[float]]:
    """For each card the reply of each person, as a number; NaN where there is none."""
    people = sorted({reply.rater for reply in replies})
    codes: dict[str, float] = {value: float(n) for n, value in enumerate(job.choices, 1)}
    table: dict[str, list[float]] = {}
    for reply in replies:
        said = values(reply).get(criterion)
        if said is not None:
            row = table.setdefault(reply.card, [np.nan] * len(people))
            row[people.index(reply.rater)] = codes.setdefault(said, float(len(codes) + 1))
    return table


def level_of(job: Job) -> Level:
    """Grades have an order, yes and no have none."""
    graded = job.kind in GRADED or (job.kind == "pairs" and all(grade.isdigit() for grade in job.grades))
    return "ordinal" if graded else "nominal"


def progress(database: Database) -> list[Progress]:
    cards = {card.id: card for card in database.cards()}
    replies: dict[int, list[Reply]] = {}
    for reply in database.replies():
        replies.setdefault(reply.rater, []).append(reply)
    return [_progress(rater, replies.get(rater.id, ()), cards) for rater in database.raters()]


def _progress(rater: Rater, replies: Sequence[Reply], cards: Mapping[str, Card]) -> Progress:
    checks = [is_right(cards[r.card], r.value) for r in replies if cards[r.card].known is not None]
    own = [r for r in replies if cards[r.card].known is None]
    seconds = [r.seconds for r in own if r.seconds is not None]
    return Progress(
        rater=rater,
        done=len(own),
        skipped=sum("skip" in r.value for r in own),
        flagged=sum("flag" in r.value for r in own),
        changed=sum(r.times > 1 for r in own),
        seconds=median(seconds) if seconds else None,
        checks=len(checks),
        right=sum(check is True for check in checks),
    )


def said_of(cards: Sequence[Card], replies: Sequence[Reply], aside: Sequence[int] = ()) -> dict[str, list[str]]:
    """What each card was called by everybody who counts."""
    known = {card.id for card in cards if card.known is None and not card.withdrawn}
    found: dict[str, list[str]] = {id: [] for id in known}
    for reply in replies:
        if reply.card in known and reply.rater not in aside and "value" in reply.value:
            found[reply.card].append(str(reply.value["value"]))
    return found


def kept_by(said: Mapping[str, Sequence[str]], rules: Sequence[str] = PRESETS) -> dict[str, tuple[int, int]]:
    """For each rule, how many cards it keeps, of how many that it says something about."""
    found = {}
    for rule in rules:
        verdicts = [verdict(rule, of) for of in said.values()]
        found[rule] = (sum(v is True for v in verdicts), sum(v is not None for v in verdicts))
    return found


def disputed(said: Mapping[str, Sequence[str]]) -> list[str]:
    """Cards that people call different things, those with the most different replies first."""
    counts = {id: Counter(of) for id, of in said.items() if len(set(of)) > 1}
    return sorted(counts, key=lambda id: (-len(counts[id]), max(counts[id].values()) / counts[id].total(), id))
