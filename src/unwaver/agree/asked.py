"""What all agreements share that ask a model: a pair as a question of a built-in task, and probabilities."""

from __future__ import annotations

from unwaver.agree import Pair
from unwaver.answers.labels import read_label
from unwaver.answers.table import reading_status, softmax
from unwaver.state import NO_ANSWER, Status, is_cut
from unwaver.tasks import segments_of, task_named
from unwaver.tasks.prompts import prompt_of
from unwaver.types import Answer, Item, Request


def request_of(task_name: str, pair: Pair) -> Request:
    """The two answers as the two texts of a task: for snli a is the premise, b the hypothesis."""
    task = task_named(task_name)
    fields = dict(zip(task.fields, (pair.a, pair.b), strict=True))
    item = Item("", task_name, "judge", fields, task.labels)
    return Request(
        task=task_name,
        segments=segments_of(item, task.form),
        prompt=prompt_of(item, task.form),
        choices=task.labels,
        words=task.form.words,
        template=f"{task_name}@{task.form.version}",
    )


def lacking(request: Request, answer: Answer) -> Status | None:
    """Why an answer of a model that compares or judges is not a verdict: failed, refused, cut. None: it is one."""
    label = read_label(answer.text, request.choices, request.words) if is_cut(answer.finish) else None
    status = reading_status(answer, label, request.choices, request.words)
    return status if status in NO_ANSWER else None


def probability(request: Request, answer: Answer, label: str) -> float | None:
    """Of a choice: by the log-probabilities where there are any, else 1 or 0 by what is written; None if neither
    can be read, or it is not a verdict."""
    if lacking(request, answer):
        return None
    if answer.logprobs and len(answer.logprobs) == len(request.choices):
        probs = softmax(answer.logprobs)
        return None if probs is None else probs[request.choices.index(label)]
    given = read_label(answer.text, request.choices, request.words)
    return None if given is None else float(given == label)


def chosen(request: Request, answer: Answer) -> str | None:
    """The label that is given: what is written goes before log-probabilities, as in a run."""
    if lacking(request, answer):
        return None
    if answer.text is not None:
        return read_label(answer.text, request.choices, request.words)
    probs = softmax(answer.logprobs) if len(answer.logprobs) == len(request.choices) else None
    return None if probs is None else request.choices[max(range(len(probs)), key=probs.__getitem__)]
