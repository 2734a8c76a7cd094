"""`run … --corrected`: the full test set of each task is asked too, as items with the role `test`.

A suite that has one has a function `full_test_set(task, …)` beside its `suite`, with the options that it needs.
Each item is a group of its own, of the suite/task/kind whose buckets it corrects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unwaver import registry
from unwaver.errors import UsageError
from unwaver.suites.select import Selection
from unwaver.types import Group, Item, replace


def with_test_sets(selection: Selection, options: Mapping[str, Any], until: str | None = None) -> Selection:
    """The selection with the test set of every suite/task that has one; --limit and --sample do not shorten it."""
    if until is not None:
        hint = "leave one of them out: a test set is asked as a whole, --until as little as possible"
        raise UsageError("--corrected and --until cannot be combined", hint=hint)
    cases = dict.fromkeys((g.suite, g.task, g.kind) for g in selection.groups if g.expect == "bucket")
    found = [group for case in cases for group in _test_groups(*case, options)]
    if not found and not any(is_test(group) for group in selection.groups):
        names = ", ".join(dict.fromkeys(f"{g.suite}/{g.task}" for g in selection.groups))
        hint = "omit --corrected, or name a suite with a test set: paranlu/snli"
        raise UsageError(f"--corrected: {names} has no test set that unwaver knows", hint=hint)
    return replace(selection, groups=[*selection.groups, *found])


def is_test(group: Group) -> bool:
    return group.items[0].role == "test"


def _test_groups(suite: str, task: str, kind: str, options: Mapping[str, Any]) -> list[Group]:
    if suite not in registry.names("suites"):
        return []
    items_of = registry.beside("suites", suite, "full_test_set")
    if items_of is None:
        return []
    items: list[Item] = list(items_of(task, **registry.accepted(items_of, options)))
    return [Group(item.id, suite, task, kind, "bucket", (item,), cluster=item.id) for item in items]
