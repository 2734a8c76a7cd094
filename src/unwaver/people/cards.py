"""What people get to see, made from groups, from items, or from a table of pairs.

    rate, validate, review   one card for each variant
    write                    one card for each original
    answer                   one card for each item, those of a group in one unit
    pairs                    one card for each pair of answers

Cards are blind: no model, no right answer and no verdict of anybody is on them. `validate` alone shows the right
answer of the original, because people are asked whether the variant keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from unwaver.errors import DataError, near
from unwaver.groups import KINDS
from unwaver.groups.certify import Reading, standings
from unwaver.groups.conversations import awaited, question_of
from unwaver.groups.review import relation_of, texts_of, variants_of
from unwaver.people.job import KNOWN_TEXTS, WITH_CONTEXT, Job, Known
from unwaver.people.store import Card
from unwaver.types import Group, Item

Pair = tuple[str, str, str, str]  # id, question, and two answers
Prompt = tuple[str, Sequence[str]]  # what a model gets, and the words that it has for the labels
CHECK = "check/"  # before the number of a card with a known answer


def cards_of(
    job: Job,
    groups: Sequence[Group] = (),
    pairs: Sequence[Pair] = (),
    prompts: Mapping[str, Prompt] | None = None,
) -> list[Card]:
    """All cards of a job, or `limit` units of them drawn at random, then those with a known answer. `prompts` are
    the texts of items as a model gets them, by id."""
    _check_kinds(job, groups)
    if job.kind == "pairs":
        found = [
            Card(id, id, {"question": q, "one": a, "other": b, "about": {"kind": "pairs", "cluster": q}})
            for id, q, a, b in pairs
        ]
    elif job.kind == "answer":
        found = list(_to_answer(groups, prompts or {}))
    else:
        found = list((_to_write if job.kind == "write" else _variants)(job, groups))
    if not found:
        needs = {"pairs": "pairs of answers", "write": f'items with the text "{job.field}"', "answer": "groups"}
        raise DataError(f"nothing to ask: {job.source} has no {needs.get(job.kind, 'variants')}", file=job.path)
    return _mixed(_drawn(found, job), list(known_cards(job)), job)


def _mixed(cards: Sequence[Card], checks: Sequence[Card], job: Job) -> list[Card]:
    """Cards with a known answer anywhere among the others, so that their number in the file does not tell them."""
    draw, found = Random(job.seed), list(cards)
    for check in checks:
        found.insert(draw.randint(0, len(found)), check)
    return found


def _check_kinds(job: Job, groups: Sequence[Group]) -> None:
    """A rule for a kind that there is not would keep nothing, and say nothing."""
    here = {name for group in groups for name in (group.kind, group.kind.partition("_")[0])}
    for name in job.rule if isinstance(job.rule, Mapping) and groups else ():
        if name not in here and name not in KINDS:
            what = f'rule: there are no groups of the kind "{name}"'
            raise DataError(what, file=job.path, hint=near(name, sorted(here)))


def _drawn(cards: Sequence[Card], job: Job) -> list[Card]:
    units = list(dict.fromkeys(card.unit for card in cards))
    if job.limit is None or job.limit >= len(units):
        return list(cards)
    chosen = set(Random(job.seed).sample(units, job.limit))
    return [card for card in cards if card.unit in chosen]


def known_cards(job: Job) -> Iterator[Card]:
    """Those with a known answer."""
    for n, known in enumerate(job.checks, 1):
        yield Card(f"{CHECK}{n}", f"{CHECK}{n}", texts_of_known(job, known), known=known.answer)


def texts_of_known(job: Job, known: Known) -> dict[str, Any]:
    """A card of [[checks]] or [[practice]], as the others of its kind look: what it has besides is context."""
    needed, optional = KNOWN_TEXTS[job.kind]
    found: dict[str, Any] = {name: text for name, text in known.shown.items() if name in (*needed, *optional)}
    if job.kind in WITH_CONTEXT:
        found["context"] = {name: text for name, text in known.shown.items() if name not in found}
    if job.kind == "write":
        found["field"] = job.field
    if job.kind == "answer":
        found["choices"] = [c.strip() for c in str(found.get("choices", "")).split("|") if c.strip()]
    return found


def _variants(job: Job, groups: Iterable[Group]) -> Iterator[Card]:
    for group in groups:
        for item in variants_of(group):
            original, variant = texts_of(group, item)
            found: dict[str, Any] = {"original": original, "variant": variant, "context": _context(group, item)}
            found["about"] = _about(group)
            if job.kind == "review":
                found["expected"] = relation_of(group)
            if job.kind == "validate" and "label" in job.criteria and group.items[0].accepted:
                found["label"] = " or ".join(group.items[0].accepted)
            yield Card(item.id, item.id, found)


def _about(group: Group) -> dict[str, str]:
    """What agreement is told apart by, and what intervals resample; no page shows it."""
    kind = f"{group.suite}/{group.task}/{group.kind}"
    return {"kind": kind, "expect": group.expect, "cluster": group.cluster or group.id}


def _context(group: Group, item: Item) -> dict[str, str]:
    """The texts that the variant shares with its original."""
    first = group.items[0].fields
    return {name: text for name, text in item.fields.items() if first.get(name) == text}


def _to_write(job: Job, groups: Iterable[Group]) -> Iterator[Card]:
    seen = set()
    for group in groups:
        item = group.items[0]
        key = tuple(item.fields.values())
        if job.field not in item.fields or key in seen:
            continue
        seen.add(key)
        context = {name: text for name, text in item.fields.items() if name != job.field}
        yield Card(item.id, item.id, {"text": item.fields[job.field], "field": job.field, "context": context})


def _to_answer(groups: Iterable[Group], prompts: Mapping[str, Prompt]) -> Iterator[Card]:
    """Groups that share an original are one unit, and what has the same texts is asked once: `items` are the ids
    that its answer is for. `choices` are in the words of the prompt, `labels` what they stand for."""
    asked: dict[object, Card] = {}
    places: dict[str, int] = {}
    for group in groups:
        unit = group.cluster or group.id
        for item in answerable(group):
            question = unit, item.task, item.template, tuple(item.fields.items())
            if question in asked:
                asked[question].shown["items"].append(item.id)
                continue
            text, words = prompts.get(item.id) or (question_of(item), ())
            shown = {"prompt": text, "choices": list(item.choices), "items": [item.id], "about": _about(group)}
            if len(set(words)) == len(item.choices):
                shown |= {"choices": list(words), "labels": list(item.choices)}
            asked[question] = Card(item.id, unit, shown, places.setdefault(unit, 0))
            places[unit] += 1
    yield from asked.values()


def _unread(_: Item) -> Reading:
    """No model has answered anything."""
    return Reading()


def answerable(group: Group) -> list[Item]:
    """The items that a person answers: the originals and the variants that count. None of a group without such
    a variant, and none of those that only a model under test is asked: its judges, and what holds its answers."""
    found = standings(group, _unread)
    counts = [item for item in group.items if item.role == "original" or found.get(item.id) == "kept"]
    kept = [item for item in counts if not awaited(item)]
    lacks = found and all(item.role == "original" for item in kept)
    return [] if lacks else kept


def undecided(groups: Iterable[Group]) -> list[Item]:
    """Variants that wait for the verdict of a model, so that nobody can say yet whether they count."""
    return [item for group in groups for item in group.items if standings(group, _unread).get(item.id) == "open"]
