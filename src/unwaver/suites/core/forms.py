"""The tasks of core: how an item becomes a prompt, and what a model may write for each answer."""

from __future__ import annotations

from collections.abc import Iterable

from unwaver.suites.core import instructions
from unwaver.suites.core.asked import MARKS
from unwaver.suites.core.facts import NO, YES, answers, label_template, open_template
from unwaver.suites.core.kinds_judging import TEMPLATE
from unwaver.suites.core.table import LABELLED, PREFERENCE, Table
from unwaver.tasks import Form, Task

PROMPT = "{question}{instruction}"
FIELDS = ("instruction", "question")


def tasks_of(tables: Iterable[Table]) -> dict[str, Task]:
    forms: dict[str, dict[str, Form]] = {name: {} for name in ("yes_no", "choice", "open", PREFERENCE, *LABELLED)}
    labels: dict[str, tuple[str, ...]] = {"yes_no": (YES, NO)}
    for lang, both in instructions.YES_NO_WORDS.items():
        forms["yes_no"]["" if lang == "en" else lang] = _form(both)
    for marks, signs in MARKS.items():
        for count in range(2, len(signs) + 1):
            forms["choice"][f"{marks}{count}"] = _form(tuple(signs[:count]))
    forms[PREFERENCE][TEMPLATE] = _form(instructions.PREFERENCE_WORDS)
    for table in tables:
        for question in table.questions:
            if question.open:
                names = answers(table, question).values()
                forms["open"][open_template(table, question)] = _form(tuple("|".join(n) for n in names))
            for lang, words in question.words.items():
                forms[question.task][label_template(table, lang)] = _form(words)
                labels[question.task] = question.labels
    return {
        name: Task(name, "core", FIELDS, "question", labels.get(name, ()), of.get("", _form(())), of)
        for name, of in forms.items()
    }


def _form(words: tuple[str, ...]) -> Form:
    return Form(segments=("{question}",), prompt=PROMPT, words=words)
