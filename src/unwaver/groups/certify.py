"""Which variants count: those that every judge accepts, in order, up to as many as the group keeps.

A judge's verdict is an answer like any other. So what has to be asked next follows from what is answered:
originals, then judges about as many candidates as may still be kept, then the variants that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from unwaver.groups import is_plain
from unwaver.groups.conversations import awaited
from unwaver.state import NO_ANSWER, NOTHING_SAID, Status
from unwaver.types import Group, Item


class Reading(NamedTuple):
    """An answer as the table has it."""

    status: Status = "not_asked"
    label: str | None = None
    probs: list[float] | None = None


class Acceptance(NamedTuple):
    """What one judge says of a variant: accepted, rejected, or None if it has not answered."""

    accepted: bool | None
    score: float | None  # the probability of the accepted answers
    status: Status = "answered"


Read = Callable[[Item], Reading]
WHY: tuple[Status, ...] = ("failed", "refused", "cut")  # why a judge's answer is not a verdict
Standing = Literal["kept", "rejected", "spare", "open"]


def verdict(item: Item, reading: Reading) -> Acceptance:
    """accepted=("entailment",), at_least=0.8: "entailment" with 0.9 -> True, with 0.7 -> False.

    With a bar the probability of the accepted answers decides, without one the label does.
    """
    if reading.status in NO_ANSWER:
        return Acceptance(None, None, reading.status)
    score = None
    if reading.probs:
        score = sum(p for label, p in zip(item.choices, reading.probs, strict=True) if label in item.accepted)
    if item.at_least and score is not None:
        return Acceptance(score >= item.at_least, score)
    return Acceptance(reading.label in item.accepted, score)


def judges_of(group: Group) -> dict[str, list[Item]]:
    """By variant: the items that must be answered with yes. One without an accepted answer only measures."""
    judges: dict[str, list[Item]] = {}
    for item in group.items:
        if item.role == "judge" and item.accepted:
            judges.setdefault(item.about, []).append(item)
    return judges


def standings(group: Group, read: Read) -> dict[str, Standing]:
    """What has become of each variant: kept; rejected; certified or unread but not needed (spare); open.

    An open one holds its place: one behind it may be certified already, by an answer about another group.
    """
    judges = judges_of(group)
    found: dict[str, Standing] = {}
    places = 0
    for item in group.items:
        if item.role not in ("variant", "conclusion"):
            continue
        if group.keep is not None and places >= group.keep:
            found[item.id] = "spare"
            continue
        found[item.id] = _standing(item, judges.get(item.id, ()), read)
        places += found[item.id] in ("kept", "open")
    return found


def _standing(item: Item, judges: Iterable[Item], read: Read) -> Standing:
    if item.certified is False:
        return "rejected"
    verdicts = [verdict(judge, read(judge)).accepted for judge in judges]
    if False in verdicts:
        return "rejected"
    return "open" if None in verdicts else "kept"


def in_play(group: Group, read: Read) -> bool:
    """Whether the variants matter: fooling needs a model that is right about the original."""
    if group.kind != "fooling":
        return True
    return all(read(item).label in item.accepted for item in group.items if item.role == "original")


def counted(group: Group, read: Read) -> list[Item]:
    """The items that stand in the table: originals, variants that are kept, and those not yet decided."""
    if is_plain(group):
        return list(group.items)
    found = standings(group, read) if in_play(group, read) else {}
    return [i for i in group.items if i.role == "original" or found.get(i.id) in ("kept", "open")]


def reading_of(group: Group, item: Item, read: Read) -> Reading:
    """What the table has of an item. A variant that was not asked about because its judge gave no answer is
    missing for the same reason: the judge failed, was refused or was cut. So is one that would have held such an
    answer of the model, or an empty one."""
    reading = read(item)
    if reading.status == "not_asked":
        if item.messages and (why := _not_said(group, item, read)):
            return Reading(why)
        judges = {read(judge).status for judge in judges_of(group).get(item.id, ())}
        return next((Reading(why) for why in WHY if why in judges), reading)
    return reading


def _not_said(group: Group, item: Item, read: Read) -> Status | None:
    """Why an answer that the item should hold could not be put into it."""
    ids = awaited(item)
    found = {reading_of(group, each, read).status for each in group.items if each.id in ids}
    return next((status for status in (*WHY, *NOTHING_SAID) if status in found), None)


def needed(group: Group, read: Read) -> list[Item]:
    """The items whose answers are needed as far as can be told now; more may follow from the answers.

    All judges of a variant are asked, also once one has said no: a run that was stopped between two of them ends
    with the same answers as one that was not.
    """
    if is_plain(group):
        return list(group.items)
    originals = [item for item in group.items if item.role == "original"]
    if not in_play(group, read):
        return originals
    found = standings(group, read)
    refused = {item.id for item in group.items if item.certified is False}
    wanted = []
    for item in group.items:
        if item.role == "judge":  # one that only measures speaks of what is kept
            asked_about = ("kept", "open", "rejected") if item.accepted else ("kept",)
            wanted += [item] if found.get(item.about) in asked_about and item.about not in refused else []
        elif found.get(item.id) == "kept":
            wanted.append(item)
    return originals + wanted
