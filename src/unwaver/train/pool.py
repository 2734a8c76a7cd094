"""Several sets with the same labels in one model with one head: the unified δ-NLI model of ParaNLU."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.errors import UsageError
from unwaver.tasks import Task


def check_pool(tasks: Sequence[Task], multi_task: bool) -> None:
    """Refuse what is not a pool: a head for each, one set, different labels. The order of labels may differ."""
    if multi_task:
        hint = "--pool trains one head for all sets, --multi-task one for each: leave one out"
        raise UsageError("--pool and --multi-task cannot be combined", hint=hint)
    if len(tasks) < 2:
        hint = "name several: unwaver train paranlu/snli paranlu/atomic paranlu/social --pool …"
        raise UsageError("--pool needs several sets, found one", hint=hint)
    first = tasks[0]
    for task in tasks[1:]:
        if set(task.labels) != set(first.labels):
            told = " and ".join(f"{t.name} has {', '.join(t.labels)}" for t in (first, task))
            hint = "pool sets with the same labels, or give each a head of its own: --multi-task instead of --pool"
            raise UsageError(f"--pool: the labels differ: {told}", hint=hint)
