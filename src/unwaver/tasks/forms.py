"""Forms made of a task's own: with a list of options, in the layout of CALM, or of the target text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from unwaver.errors import UsageError
from unwaver.tasks import FIELD, T5, Form, Task


def options_form(task: Task, base: Form, marks: Sequence[str]) -> Form:
    """The form with a list of options after the question, in the order of the item's choices:

    A. True
    B. Neither
    C. False
    Answer with the letter of the right option.
    """
    if not 2 <= len(task.labels) <= len(marks):
        raise UsageError(
            f"options need 2 to {len(marks)} labels, {task.name} has {len(task.labels)}",
            hint="give all items of the task the same labels",
        )
    mark = "number" if marks[0] == "1" else "letter"
    written = task.forms.get("options") if base is task.form else None
    prompt = written.prompt.replace("{mark}", mark) if written else _with_options(base.prompt, mark)
    shown = dict(zip(task.labels, base.words, strict=True))
    return replace(base, prompt=prompt, words=tuple(marks[: len(task.labels)]), options=shown)


def _with_options(prompt: str, mark: str) -> str:
    """The last line stays the last, if it is one like "Answer:"; a line "Answer with Yes or No" goes."""
    lines = prompt.split("\n")
    cue = lines.pop() if re.fullmatch(r"[^{}]*[:\uff1a]\s*", lines[-1]) else "Answer:"
    kept = [line for line in lines if not line.startswith("Answer with ")]
    return "\n".join([*kept, "{option_list}", f"Answer with the {mark} of the right option.", cue])


def calm_form(task: Task) -> Form:
    """CALM's format for a task of two fields that has none written down: their names are the indicators."""
    lines = task.form.prompt.split("\n")
    texts = [line for line in lines if FIELD.search(line)]
    if len(task.fields) != 2 or not all(line.endswith("}") for line in texts):
        raise UsageError(
            f"{task.name} has no form calm, and none can be made of its prompt",
            hint=f"write [{task.name}.forms.calm] with two indicators and a prompt with {{first}} and {{second}}",
        )
    return replace(
        task.form,
        segments=("{first}", "{second}"),
        prompt="\n".join(["{first} {second}", *(line for line in lines if line not in texts)]),
        indicators=tuple(name.replace("_", " ").capitalize() for name in task.fields),
    )


def target_form(task: Task) -> Form:
    """Only the segment with the text that variants change, and the lines of the prompt that need no more:

    snli -> ("{hypothesis}",), anli -> ("{hyp1} {hyp2}",)
    """
    segments = tuple(s for s in task.form.segments if task.modified in FIELD.findall(s))
    known = {name for segment in segments for name in FIELD.findall(segment)}
    lines = [line for line in task.form.prompt.split("\n") if set(FIELD.findall(line)) <= known]
    return replace(task.form, segments=segments, prompt="\n".join(lines))


def form_for_t5(task: Task, name: str) -> Form:
    from unwaver.tasks.t5 import t5_calm_form, t5_form

    return t5_form(task) if name == T5 else t5_calm_form(task)
