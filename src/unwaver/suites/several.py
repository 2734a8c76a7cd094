"""Several files in one run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unwaver.errors import DataError
from unwaver.types import Group


def check_ids(groups: Iterable[Group]) -> None:
    """Answers are kept by item and scored by group: two files must not call different things by one name."""
    names: set[str] = set()
    texts: dict[str, Any] = {}
    for group in groups:
        items = [(i.id, (i.task, i.template, *i.fields.items())) for i in group.items]
        if group.id in names or any(texts.setdefault(id, text) != text for id, text in items):
            what = f"group {group.id}: more than one file uses this id, or the id of an item in it"
            raise DataError(what, hint="rename one of the files or its ids, or run them one at a time")
        names.add(group.id)
