"""Groups: what a kind expects, what sort of group it is, and how it is written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unwaver.types import Expect, Group, Item

VERSION = 1

KINDS: Mapping[str, Expect] = {
    "semantic": "same",
    "paraphrase": "same",
    "symmetric": "same",
    "reverse": "same",
    "signal": "same",
    "surface": "same",
    "negational": "different",
    "transitive": "implied",
    "additive": "implied",
    "bucket": "bucket",
    "fooling": "same",
    "options": "same",
    "format": "same",
    "distractor": "same",
    "documents": "same",
    "persona": "same",
    "again": "same",
    "language": "same",
    "padded": "same",
    "politeness": "same",
    "inverse": "same",
    "contrast": "implied",
    "doubt": "implied",
    "inherited": "implied",
}
# groups with a text that a model was trained on: what their kind ends in, and the flag of their scores
SEEN_SUFFIX, SEEN_FLAG = "_seen", "seen_in_training"
# the model that wrote a variant: as its judge, it certifies itself; and the flag of scores on such variants
WRITER, SELF_CERTIFIED = "writer", "self_certified"
BASE = "base"  # groups of one item each: a whole split (base_test) that other groups were made from
# an original of which no variant could be written still counts, as not applicable; so where some are to be kept
ALONE = ("fooling", BASE)


def expect_of(kind: str) -> Expect | None:
    """expect_of("negational") -> "different", expect_of("surface_case") -> "same", expect_of("mine") -> None."""
    return KINDS.get(kind.partition("_")[0])


def is_free_text(group: Group) -> bool:
    """Whether the answers are texts, without labels to choose from."""
    return not group.items[0].choices


def is_plain(group: Group) -> bool:
    """Every item counts: nobody judges, and all variants are kept."""
    return group.kind != "fooling" and not has_candidates(group)


def has_candidates(group: Group) -> bool:
    """Whether there is anything to certify: a judge, a review, or a limit to what is kept."""
    # a list: any() of a generator would take three times as long, and there may be millions
    return group.keep is not None or bool([i for i in group.items if i.role == "judge" or i.certified is not None])


def is_self_certified(group: Group) -> bool:
    """Whether a variant counts because the model that wrote it says so, and no person has looked at it."""
    judged = [item.about for item in group.items if item.judge == WRITER]
    found = [i for i in group.items if i.certified_by == WRITER or (i.id in judged and i.certified is None)]
    return bool(found)


def group_to_json(group: Group) -> dict[str, Any]:
    """What group_from_json reads."""
    record: dict[str, Any] = {
        "version": VERSION,
        "id": group.id,
        "suite": group.suite,
        "task": group.task,
        "kind": group.kind,
        "expect": group.expect,
        "cluster": group.cluster,
        "tag": group.tag,
    }
    if group.keep is not None:
        record["keep"] = group.keep
    if group.epsilon is not None:
        record["epsilon"] = group.epsilon
    if group.units:
        record["units"] = list(group.units)
    if group.repeats:
        record["repeats"] = group.repeats
    record["items"] = [_item_to_json(item, group.task) for item in group.items]
    return record


def _item_to_json(item: Item, task: str) -> dict[str, Any]:
    record: dict[str, Any] = {"id": item.id}
    if item.task != task:
        record["task"] = item.task
    record["role"] = item.role
    if not item.messages:
        record["fields"] = dict(item.fields)
    record["choices"] = list(item.choices)
    record["accepted"] = list(item.accepted)
    record["rejected"] = list(item.rejected)
    record["template"] = item.template
    if item.judge:
        record["judge"], record["about"] = item.judge, item.about
    if item.at_least:
        record["at_least"] = item.at_least
    if item.certified is not None:
        record["certified"] = item.certified
    if item.certified_by:
        record["certified_by"] = item.certified_by
    if item.messages or item.tools or item.response_format:
        record |= _conversation(item)
    return record


def _conversation(item: Item) -> dict[str, Any]:
    from unwaver.groups.conversations import to_json

    return to_json(item)
