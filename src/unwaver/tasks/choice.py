"""Multiple choice: a form with the texts of each alternative, which one head scores, one after the other.

    [anli.forms.choice]
    segments = ["{obs1} {hyp1}", "{obs2}", "{obs1} {hyp2}", "{obs2}"]    label 1, then label 2

An alternative is one text or a pair, so there are as many segments as labels, or twice as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.errors import UsageError
from unwaver.tasks import Task
from unwaver.types import Item, replace

CHOICE = "choice"


def in_choice_form(item: Item, task: Task) -> Item:
    check_choice(task)
    if item.template:
        hint = "ask it about suites whose items are plain: paranlu/anli"
        raise UsageError(
            f"a model that chooses between alternatives cannot read the form {item.template}", hint=hint
        )
    return replace(item, template=CHOICE)


def check_choice(task: Task) -> None:
    """Refuse a task without alternatives, or with a number of texts that does not fit its labels."""
    example = f'[{task.name}.forms.choice] with segments = ["{{text}} {{first}}", "{{text}} {{second}}"]'
    if CHOICE not in task.forms:
        hint = f"choose with anli, or with a task of your own that has {example}"
        raise UsageError(f"{task.name} has no alternatives to choose between (form choice)", hint=hint)
    texts, labels = len(task.forms[CHOICE].segments), len(task.labels)
    if texts not in (labels, 2 * labels):
        told = f"{labels} labels need {labels} segments, or {2 * labels} for pairs"
        raise UsageError(f"{task.name}.forms.choice has {texts} segments: {told}", hint=f"write {example}")


def alternatives(segments: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """The texts of each alternative: alternatives(["a", "x", "b", "x"], 2) -> [("a", "x"), ("b", "x")]."""
    width = len(segments) // count
    return [tuple(segments[n : n + width]) for n in range(0, len(segments), width)]
