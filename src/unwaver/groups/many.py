"""Groups, few or very many: a list, or packed in blocks if there are more than KEPT.

together(groups)  -> a list; more than KEPT groups are packed
few(groups)       -> enough of them to see what groups there are: a million of one form are one group
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from unwaver.types import Group

KEPT = 131_072  # groups that may be kept as objects
NEW_OBJECTS = 200_000  # before Python looks for garbage among them; by itself it does after 700


def together(groups: Iterable[Group]) -> Sequence[Group]:
    """All groups of an iterator that was not read from yet, as a list or packed."""
    known: Any = getattr(groups, "whole", None)
    if known is not None:
        return known  # type: ignore[no-any-return]
    left = iter(groups)
    kept = list(islice(left, KEPT))
    if len(kept) < KEPT:
        return kept
    from unwaver.groups.packed import packed

    return packed(chain(kept, left))


def joined(parts: Sequence[Sequence[Group]]) -> Sequence[Group]:
    """One sequence of several."""
    return parts[0] if len(parts) == 1 else together(group for part in parts for group in part)


def few(groups: Sequence[Group]) -> Sequence[Group]:
    """Groups among which every form of `groups` is."""
    return getattr(groups, "few", groups)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Python looks for cycles of dead objects after some hundred new ones. Answers, keys and rows of a table form
    none, and there are so many of them that looking takes a fifth of the time of a run."""
    before = gc.get_threshold()
    gc.set_threshold(max(NEW_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
