"""The columns of a table that fooling rates need: texts, what stays the same beside them, and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from unwaver.groups.certify import Reading
from unwaver.types import Group, Item

Told = Callable[[Item, int], Reading]


def columns_of(
    rows: Sequence[tuple[Group, Item]], groups: Iterable[Group], told: Told
) -> dict[str, Sequence[object]]:
    distances = _distances(groups, told)
    return {
        "keep": [group.keep for group, _ in rows],
        "text": [_texts(group, item, changed=True) for group, item in rows],
        "context": [
            _texts(group, item, changed=False) if item.role == "original" else None for group, item in rows
        ],
        "embedding_distance": [distances.get(item.id) for _, item in rows],
    }


def _texts(group: Group, item: Item, *, changed: bool) -> str:
    """The texts of the fields in which the variants differ from the original, or of the others."""
    first = group.items[0].fields
    others = [i.fields for i in group.items if i.role == "variant"]
    names = [name for name in first if any(other.get(name) != first[name] for other in others) == changed]
    return " ".join(item.fields[name] for name in names)


def _distances(groups: Iterable[Group], told: Told) -> dict[str, float]:
    """Of each variant to its original, by the judges that embed."""
    return {
        item.about: 1 - _cosine(told(item, 0))
        for group in groups
        for item in group.items
        if item.role == "judge" and not item.accepted and told(item, 0).probs
    }


def _cosine(reading: Reading) -> float:
    """A model that embeds gives the last choice, "same", the probability (1 + cosine) / 2."""
    return 2 * (reading.probs or [0.5])[-1] - 1
