"""Published sets, the sample, and files of a user's own: each gives groups."""

from __future__ import annotations

from collections.abc import Mapping

from unwaver.errors import UsageError, near
from unwaver.tasks import known


def check_case(suite: str, cases: Mapping[str, tuple[str, ...]], task: str, kind: str) -> None:
    """Refuse a task or a kind that the suite does not have, with the reason if there is one."""
    if task not in cases:
        raise UsageError(f"{suite} has no task {task}", hint=near(task, cases))
    if kind in cases[task]:
        return
    if task in known():
        known()[task].check_relation(kind)
    raise UsageError(f"{suite}/{task} has no {kind}", hint=near(kind, cases[task]))
