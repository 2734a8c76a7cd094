"""A model that is asked in words whether two answers say the same.

With --compare-questions it is asked the same about two wordings of the question, in words about questions. Both
orders of two texts are asked: `pairs.swap_agreement` tells from them how consistent the judge is.
"""

from __future__ import annotations

from functools import partial

from unwaver.agree import Agreement, Pair
from unwaver.agree.asked import probability
from unwaver.errors import UsageError
from unwaver.tasks.prompts import fill
from unwaver.types import Request

CHOICES, WORDS = ("different", "same"), ("No", "Yes")
RUBRIC = """\
Two people have answered the same question.
Question: {question}
Answer 1: {a}
Answer 2: {b}
The answers are consistent if both say the same about the question. Wording, length and further details do not \
matter, as long as nothing in one answer goes against the other. Whether they are right does not matter.
Are the two answers consistent, Yes or No?
Answer:"""

RUBRIC_OF_QUESTIONS = """\
Two people have asked a question.
Question 1: {a}
Question 2: {b}
The questions are equivalent if every right answer to one is a right answer to the other. Wording and length do \
not matter.
Are the two questions equivalent, Yes or No?
Answer:"""


def judge(model: str, *, rubric: str = "") -> Agreement:
    """`rubric` is a prompt of your own with {question}, {a} and {b}, to be answered with Yes or No."""
    template = rubric or RUBRIC
    if missing := [name for name in ("a", "b") if "{" + name + "}" not in template]:
        wanted = " and ".join("{" + name + "}" for name in missing)
        raise UsageError(f"the rubric has no {wanted}", hint="a rubric needs {a} and {b}; {question} is optional")
    return Agreement(
        name="judge",
        symmetric=False,
        better="high",
        same=1.0,
        threshold=0.5,
        model=model,
        request=partial(_request, template, "own" if rubric else "1"),
        request_questions=_request_questions,
        value=partial(probability, label="same"),
    )


def _request(template: str, version: str, pair: Pair) -> Request:
    return Request(
        task="judge",
        segments=(_said(pair.question, pair.a), _said(pair.question, pair.b)),
        prompt=fill(template, pair._asdict()),
        choices=CHOICES,
        words=WORDS,
        template=f"judge@{version}",
    )


def _request_questions(pair: Pair) -> Request:
    return Request(
        task="judge",
        segments=(pair.a, pair.b),
        prompt=fill(RUBRIC_OF_QUESTIONS, pair._asdict()),
        choices=CHOICES,
        words=WORDS,
        template="judge_questions@1",
    )


def _said(question: str, answer: str) -> str:
    """What a classifier reads of one answer: ("Who?", "Ann.") -> "Who? Ann."."""
    return f"{question} {answer}".strip()
