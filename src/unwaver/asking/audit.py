"""What became of every candidate: audit.jsonl, and a summary of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Literal, NamedTuple

from unwaver.groups import has_candidates, is_self_certified
from unwaver.groups.certify import WHY, Read, in_play, standings, verdict
from unwaver.metrics.missing import LEAST, in_words
from unwaver.types import Group, Item
from unwaver.variants.certifiers import Certifier, refused_by

VERSION = 1
ENOUGH = (1, 3, 5)


Rejected = Literal["unfinished", "refused", "empty", "copy"]


class Unfinished(NamedTuple):
    """What a writer wrote that is not a candidate: cut at its token limit (unfinished), refused by the service,
    empty, or a copy of the original or of another candidate."""

    group: str
    attempt: int
    original: str
    text: str
    standing: Rejected
    reason: str

    def record(self, model: str) -> dict[str, Any]:
        """As a line of audit.jsonl."""
        return {
            "version": VERSION,
            "model": model,
            "group": self.group,
            "id": f"{self.group}/writer/{self.attempt}",
            "original": self.original,
            "variant": self.text,
            "standing": self.standing,
            "reasons": [self.reason],
            "verdicts": [],
            "reviewed": None,
        }


def of_groups(unfinished: Sequence[Unfinished], groups: Sequence[Group]) -> list[Unfinished]:
    ids = {group.id for group in groups}
    return [one for one in unfinished if one.group in ids]


def audit(
    groups: Sequence[Group], read: Read, certifiers: Sequence[Certifier], model: str
) -> Iterator[dict[str, Any]]:
    """One record for each candidate; `model` is the one under test, "" if there is none."""
    for group in groups:
        if not has_candidates(group):
            continue
        found = standings(group, read) if in_play(group, read) else {}
        questions: dict[str, list[Item]] = {}
        for item in group.items:
            if item.role == "judge":
                questions.setdefault(item.about, []).append(item)
        for item in group.items:
            if item.role == "variant":
                yield _record(group, item, questions.get(item.id, []), found, read, certifiers, model)


def _record(
    group: Group,
    item: Item,
    questions: Sequence[Item],
    found: Mapping[str, str],
    read: Read,
    certifiers: Sequence[Certifier],
    model: str,
) -> dict[str, Any]:
    original = group.items[0]
    changed = [name for name in item.fields if item.fields[name] != original.fields.get(name)] or list(item.fields)
    texts = [" | ".join(i.fields[name] for name in changed) for i in (original, item)]
    standing = found.get(item.id, "not needed")
    verdicts = [_verdict(q, read) for q in questions]
    reasons = [
        r
        for certifier in certifiers
        for name in changed
        if (r := refused_by(certifier, original.fields[name], item.fields[name]))
    ]
    if item.certified is False and not reasons:
        reasons = ["refused when the groups were made, or by a person"]
    return {
        "version": VERSION,
        "model": model,
        "group": group.id,
        "id": item.id,
        "original": texts[0],
        "variant": texts[1],
        "standing": standing,
        "reasons": reasons
        + [f"{v['judge']} ({v['question']}) says {v['label']}" for v in verdicts if v["accepted"] is False],
        "verdicts": verdicts,
        "reviewed": item.certified if not reasons or item.certified else None,
    }


def _verdict(question: Item, read: Read) -> dict[str, Any]:
    reading = read(question)
    given = verdict(question, reading)
    measured = not question.accepted
    return {
        "judge": question.judge,
        "question": question.id.rpartition("/")[2],
        "label": reading.label,
        "accepted": None if measured else given.accepted,
        "score": (reading.probs[-1] if reading.probs else None) if measured else given.score,
        "at_least": question.at_least or None,
    }


def summary(
    groups: Sequence[Group], read: Read, unfinished: Sequence[Unfinished] = (), with_certifiers: bool = False
) -> dict[str, Any]:
    """Acceptance, lexical diversity and how many items have enough variants; of the groups in play. What a writer
    or a judge did not finish is counted apart: it is neither a candidate nor a no. A certifier without a model
    leaves no trace where it accepts: `with_certifiers` says that there was one."""
    from unwaver.text.distance import lexical_distance

    judged = [group for group in groups if has_candidates(group) and in_play(group, read)]
    kept: list[list[str]] = []
    accepted = rejected = 0
    to_original: list[float] = []
    for group in judged:
        found = standings(group, read)
        accepted += list(found.values()).count("kept")
        rejected += list(found.values()).count("rejected")
        original, *variants = _texts(group, {id for id, standing in found.items() if standing == "kept"})
        kept.append(variants)
        to_original += [lexical_distance(original, text) for text in variants]
    among = [lexical_distance(a, b) for texts in kept for a, b in combinations(texts, 2)]
    items = [item for group in judged for item in group.items]
    somebody = with_certifiers or any(i.role == "judge" or i.certified is not None for i in items)
    decided = accepted + rejected if somebody else 0
    most = max((group.keep or max(ENOUGH) for group in judged), default=0)
    return {
        "items": len(judged),
        "candidates": sum(item.role == "variant" for group in judged for item in group.items),
        "judged": decided,
        "accepted": accepted,
        "acceptance": accepted / decided if decided else None,
        "kept": sum(map(len, kept)),
        **{name: [one.standing for one in unfinished].count(told) for name, told in _REJECTED.items()},
        **({"self_certified": True} if any(map(is_self_certified, judged)) else {}),
        "no_verdict": _without_verdict(judged, read),
        "distance_to_original": fmean(to_original) if to_original else None,
        "distance_among_variants": fmean(among) if among else None,
        **{f"items_with_{n}": fmean(len(texts) >= n for texts in kept) if n <= most else None for n in ENOUGH},
    }


_REJECTED: Mapping[str, Rejected] = {
    "unfinished": "unfinished",
    "refused": "refused",
    "empty": "empty",
    "copies": "copy",
}


def _without_verdict(groups: Sequence[Group], read: Read) -> dict[str, int]:
    """How many answers of certifiers are not a verdict, by why: {"failed": 0, "refused": 0, "cut": 2}."""
    asked = [read(item).status for group in groups for item in group.items if item.role == "judge"]
    return {why: asked.count(why) for why in WHY}


def _texts(group: Group, chosen: set[str]) -> list[str]:
    """What differs: of the original, then of the chosen variants."""
    first = group.items[0].fields
    variants = [item for item in group.items if item.role == "variant"]
    changed = [n for n in first if any(v.fields[n] != first[n] for v in variants)] or list(first)
    items = [group.items[0], *(v for v in variants if v.id in chosen)]
    return [" ".join(item.fields[name] for name in changed) for item in items]


def as_text(found: Mapping[str, Any]) -> str:
    """The summary in a line, for people."""
    text = f"{found['candidates']:,} candidates of {found['items']:,} items, "
    if found["judged"]:
        text += f"{100 * found['acceptance']:.1f} % of {found['judged']:,} judged were accepted, "
    text += f"{found['kept']:,} kept"
    if found.get("unfinished"):  # these three are not in older runs
        text += (
            f", {found['unfinished']:,} cut at the writer's token limit "
            f"(to raise it: --writer-arg max_tokens={LEAST})"
        )
    if found.get("refused"):
        text += f", {found['refused']:,} refused by the writer's service"
    if found.get("empty"):
        text += f", {found['empty']:,} empty"
    if found.get("copies"):
        text += f", {found['copies']:,} copies or near-copies"
    if found.get("self_certified"):
        text += ", certified by their own writer"
    if any(found.get("no_verdict", {}).values()):
        text += f", judge answers without a verdict: {in_words(found['no_verdict'])}"
    shares = [(n, found[f"items_with_{n}"]) for n in ENOUGH if found[f"items_with_{n}"] is not None]
    if shares:
        text += "; items with " + ", ".join(f"≥ {n}: {100 * share:.1f} %" for n, share in shares)
    if found["distance_to_original"] is not None:
        text += f"; lexical distance to the original {100 * found['distance_to_original']:.1f}"
    if found["distance_among_variants"] is not None:
        text += f", among variants {100 * found['distance_among_variants']:.1f}"
    return text
