"""From a job in which people write to one in which others validate what they wrote.

    write.toml -> texts -> cards of validate.toml -> verdicts -> a bank of paraphrases with its audit

A person is known by their name, in both jobs: Ann never validates what Ann wrote. The same text of two people is
one card, which neither of them gets. Texts are read whenever the second job is opened: new ones are added; those
of people who were set aside, and those that were changed, are withdrawn; those of people who were deleted go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from random import Random
from typing import Any

from unwaver.errors import DataError
from unwaver.people.job import Job
from unwaver.people.outcome import Outcome, outcome_of, verdicts
from unwaver.people.store import Card, Database, identity


@dataclass(frozen=True)
class Texts:
    """Cards for what was written; units of the validating job that are no longer to be shown; and people who wrote
    and were deleted since."""

    cards: tuple[Card, ...]
    withdrawn: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()


def cards_of_texts(job: Job, written: Job, labels: Mapping[str, str]) -> Texts:
    """`labels` are the right answers of originals, by item."""
    from unwaver.people.cards import known_cards

    if not written.database.exists():
        hint = f"unwaver annotate {written.path} starts it"
        raise DataError(
            f"{job.source} has not been started: there is nothing to validate", file=job.path, hint=hint
        )
    database = Database(written.database, read_only=True)
    try:
        found = outcome_of(written, database)
        people = {rater.id: rater.name for rater in database.raters()}
    finally:
        database.close()
    here = {card.id: card for card in _cards(found, people, labels)}
    before, authors = _before(job)
    shown = _drawn([card for card in here.values() if not card.withdrawn], job, before)
    if not shown and not before:
        hint = "let people write first, then open this job again"
        raise DataError(f"nobody has written anything in {job.source} yet", file=job.path, hint=hint)
    return Texts(
        cards=(*shown, *known_cards(job)),
        withdrawn=frozenset(id for id in before if id not in here or here[id].withdrawn),
        forgotten=frozenset(authors - {identity(name) for name in people.values()}),
    )


def _before(job: Job) -> tuple[set[str], set[str]]:
    """The texts that the job has cards for already, and who wrote them."""
    if not job.database.exists():
        return set(), set()
    database = Database(job.database, read_only=True)
    try:
        return {card.id for card in database.cards() if card.known is None}, database.authors()
    finally:
        database.close()


def _drawn(cards: list[Card], job: Job, before: Set[str]) -> list[Card]:
    """At most `limit` of them; those that are there already stay."""
    old, new = [card for card in cards if card.id in before], [card for card in cards if card.id not in before]
    if job.limit is None or len(cards) <= job.limit:
        return cards
    return old + Random(job.seed).sample(new, min(len(new), max(0, job.limit - len(old))))


def _cards(found: Outcome, people: Mapping[int, str], labels: Mapping[str, str]) -> Iterator[Card]:
    """One for each text of an original; withdrawn where all who wrote it were set aside."""
    cards = {card.id: card for card in found.cards}
    texts: dict[str, list[tuple[int, str]]] = {}
    for reply in found.replies:
        for text in map(str, reply.value.get("texts", ())):
            texts.setdefault(_id(reply.card, text), []).append((reply.rater, text))
            cards[_id(reply.card, text)] = cards[reply.card]
    for id, of_text in texts.items():
        original = cards[id].shown
        counted = [(rater, text) for rater, text in of_text if rater not in found.aside]
        shown: dict[str, Any] = {
            "original": original["text"],
            "variant": (counted or of_text)[0][1],
            "context": original["context"],
            "about": {
                "kind": f"{found.job.name}/{original['field']}",
                "cluster": cards[id].id,
                "field": original["field"],
                "by": sorted({found.names[rater] for rater, _ in of_text}),
            },
        }
        if label := labels.get(cards[id].id):
            shown["label"] = label
        authors = tuple(sorted({people[rater] for rater, _ in of_text}))
        yield Card(id, id, shown, authors=authors, withdrawn=not counted)


def _id(card: str, text: str) -> str:
    plain = " ".join(text.casefold().split())
    return f"{card}/{hashlib.sha256(plain.encode()).hexdigest()[:12]}"


# --- what comes out -----------------------------------------------------------------------------------------


def is_of_texts(found: Outcome) -> bool:
    """Whether a job judges what was written in another."""
    return found.job.kind == "validate" and found.job.source.endswith(".toml")


def validated_bank(found: Outcome) -> str:
    """The texts that the rule keeps, as a bank: see unwaver.variants.bank."""
    kept = verdicts(found)
    records: dict[str, dict[str, Any]] = {}
    for card in found.cards:
        if kept.get(card.id) and not card.withdrawn:
            about = card.shown["about"]
            empty = {**card.shown["context"], about["field"]: card.shown["original"], "variants": []}
            records.setdefault(about["cluster"], empty)["variants"].append(card.shown["variant"])
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records.values())


def validated_audit(found: Outcome) -> str:
    """One line for each text: who wrote it, what everybody said of it, and what became of it. People are r1, r2, …
    of the job in which they wrote, and of the one in which they judged."""
    kept, lines = verdicts(found), []
    for card in found.cards:
        if card.known is not None:
            continue
        about = card.shown["about"]
        said = {found.names[reply.rater]: dict(reply.value) for reply in found.counted if reply.card == card.id}
        lines.append(
            {
                "original": card.shown["original"],
                "id": about["cluster"],
                "written": card.shown["variant"],
                "by": about["by"],
                "withdrawn": card.withdrawn,
                "validated": card.id in kept,
                "rule": found.job.rule_for(about),
                "kept": kept.get(card.id) if not card.withdrawn else False,
                "judged": said,
                **({"decided": dict(found.decisions[card.id])} if card.id in found.decisions else {}),
            }
        )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
