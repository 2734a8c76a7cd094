"""Are free answers right? By a model: another accuracy beside that by ROUGE-1 or by containment.

    --scorer bleurt=PATH-OR-HUB-ID    any regression model: right if the highest value with a true reference is
                                      above the highest with a false one
    --scorer judge=openai/NAME        any model, asked in words whether the answer is right; with its options:
                                      judge=openai/NAME,base_url=http://…

What comes out is a column right_<scorer>: 1, 0, or null if it cannot be told. An empty answer is wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from unwaver import registry
from unwaver.agree.asked import chosen, lacking
from unwaver.answers.references import Referenced, accurate_all
from unwaver.asking.consult import Consult, Enquiry
from unwaver.asking.panel import Answers
from unwaver.bound import bind
from unwaver.errors import UsageError
from unwaver.groups.conversations import question_of
from unwaver.models.helpers import shared_options
from unwaver.named_models import pieces, resolved
from unwaver.state import NO_ANSWER
from unwaver.types import Answer, Group, Request, replace

RIGHT = "right_"  # what the names of the columns begin with
REGRESSION = "bleurt"  # how a scorer works whose name is not in the catalog
RESERVED = ("rouge1", "contains")
CHOICES, WORDS = ("wrong", "right"), ("No", "Yes")

Said = Callable[[Request], Answer]


@dataclass(frozen=True)
class Scorer:
    """`asks(question, answer)` gives what the model is asked about an answer; `right(question, answer, said)`
    tells from what it said whether the answer is right, None if it cannot be told."""

    name: str  # the <scorer> in accuracy_<scorer>
    model: str  # "provider/name"
    asks: Callable[[str, Referenced], Sequence[Request]]
    right: Callable[[str, Referenced, Said], bool | None]
    options: Mapping[str, object] = field(default_factory=dict)  # what the model is opened with

    @property
    def sample(self) -> Request:
        """The kind of request that the model will have to answer."""
        answer = Referenced("an answer", ("a right one",), ("a wrong one",))
        return next(iter(self.asks("question", answer)), judge_request("question", answer))


class Held(NamedTuple):
    """An answer of a frame, and what it is compared with."""

    row: int
    question: str
    answer: Referenced


def parse_scorer(text: str) -> Scorer:
    """ "bleurt=PATH" -> the regression model at PATH; "judge=hf/PATH" -> a model that is asked in words."""
    first, given = pieces(resolved(text, "--scorer "), "--scorer ")
    name, equals, model = first.partition("=")
    if not equals or not model or not re.fullmatch(r"\w+", name) or name == "by":
        hint = "--scorer NAME=PATH of a regression model, or --scorer judge=hf/PATH"
        raise UsageError(f"found the scorer {text!r}, expected NAME=MODEL", hint=hint)
    if name in RESERVED:
        hint = f"--scorer {name}_own=PATH, or any other name"
        raise UsageError(f"accuracy_{name} is unwaver's own", hint=hint)
    kind = name if name in registry.names("scorers") else REGRESSION
    make = registry.find("scorers", kind)
    own = bind(make, registry.accepted(make, given), f"the scorer {name}", f"--scorer {first},")
    scorer = _guarded(kind, registry.call("scorers", kind, Scorer, model, **own))
    _, of_model = shared_options(make, f"the scorer {name}", scorer.model, given, f"--scorer {name}=")
    return replace(scorer, name=name, options={**scorer.options, **of_model})


def _guarded(kind: str, scorer: Scorer) -> Scorer:
    """A scorer of an installed package, with failures that name it; an empty answer does not reach it."""
    if registry.is_built_in("scorers", kind):
        return scorer
    asks = registry.guarded("scorers", kind, scorer.asks, Sequence)
    right = registry.guarded("scorers", kind, scorer.right, bool | None)
    return replace(
        scorer,
        asks=lambda question, answer: asks(question, answer) if answer.text.strip() else (),
        right=lambda question, answer, said: right(question, answer, said) if answer.text.strip() else False,
    )


def parse_scorers(given: Sequence[str]) -> list[Scorer]:
    found = [parse_scorer(text) for text in given]
    names = [scorer.name for scorer in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"the scorer {twice[0]} is named twice", hint="every scorer needs a name of its own")
    return found


class Rating:
    """One scorer on all free answers of a run that have references."""

    def __init__(self, scorer: Scorer, groups: Sequence[Group], frames: Sequence[pl.DataFrame]):
        self.scorer, self._frames = scorer, frames
        self._held = [list(held(frame, groups)) for frame in frames]
        self.requests: dict[str, Request] = {}
        for answers in self._held:
            for entry in answers:
                self.requests.update(self._asked(entry))

    def _asked(self, entry: Held) -> Iterator[tuple[str, Request]]:
        for request in self.scorer.asks(entry.question, entry.answer):
            yield self._id(request), request

    def _id(self, request: Request) -> str:
        text = json.dumps([self.scorer.name, request.prompt, *request.segments], ensure_ascii=True)
        return "rate:" + hashlib.sha256(text.encode()).hexdigest()[:32]

    def said(self, consult: Consult) -> Answers:
        return consult(Enquiry("scorer", self.scorer.name, self.scorer.model, self.scorer.options, self.requests))

    def frames_with(self, answers: Answers) -> list[pl.DataFrame]:
        """The frames with one more column."""
        frames = []
        for frame, entries in zip(self._frames, self._held, strict=True):
            column: list[float | None] = [None] * frame.height
            for entry, right in zip(entries, self._right(entries, answers), strict=True):
                column[entry.row] = None if right is None else float(right)
            name = RIGHT + self.scorer.name
            frames.append(frame.with_columns(pl.Series(name, column, dtype=pl.Float64)))
        return frames

    def summary(self, answers: Answers) -> dict[str, object]:
        """How many requests there were, and how many have no verdict: failed (or not asked), refused, cut."""
        said = {name: answers.get((name, 0)) or Answer(error="not asked") for name in self.requests}
        lost = Counter(lacking(request, said[name]) for name, request in self.requests.items())
        unfinished = {why: lost[why] for why in ("failed", "cut", "refused")}
        return {"name": self.scorer.name, "model": self.scorer.model, "asked": len(said), **unfinished}

    def _right(self, entries: Sequence[Held], answers: Answers) -> list[bool | None]:
        def said(request: Request) -> Answer:
            return answers.get((self._id(request), 0)) or Answer(error="not asked")

        return [self.scorer.right(entry.question, entry.answer, said) for entry in entries]


def held(frame: pl.DataFrame, groups: Sequence[Group]) -> Iterator[Held]:
    """The free answers of a frame that have references."""
    items = {item.id: item for group in groups for item in group.items if not item.choices and item.accepted}
    columns = frame.select("item", "role", "status", "label")
    for row, (id, role, status, label) in enumerate(columns.iter_rows()):
        item = items.get(id)
        if item is not None and role != "judge" and status not in NO_ANSWER:
            yield Held(row, question_of(item), Referenced(label or "", item.accepted, item.rejected))


# --- by a regression model ------------------------------------------------------------------------------------


def regression(model: str) -> Scorer:
    """Right if the highest value with a true reference is above the highest with a false one."""
    path = model.removeprefix("regression/").removeprefix("hf/")
    return Scorer(REGRESSION, f"regression/{path}", _pair_requests, _closer)


def _pair_requests(_: str, answer: Referenced) -> list[Request]:
    if not answer.text.strip() or not answer.true or not answer.false:
        return []
    return [pair_request(answer.text, reference) for reference in (*answer.true, *answer.false)]


def _closer(_: str, answer: Referenced, said: Said) -> bool | None:
    def similarity(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        told = [said(pair_request(text, reference)) for text, reference in pairs]
        return [None if a.error is not None or a.text is None else float(a.text) for a in told]

    return accurate_all([answer], similarity)[0]


def pair_request(text: str, reference: str) -> Request:
    """As BLEURT reads it: the reference first."""
    return Request(task="similarity", segments=(reference, text), prompt="", choices=(), words=())


# --- by a model that is asked in words ------------------------------------------------------------------------


def judge(model: str) -> Scorer:
    """A model reads the question, the references and the answer, and says whether the answer is right."""
    return Scorer("judge", model, _judge_requests, _judged)


def _judge_requests(question: str, answer: Referenced) -> list[Request]:
    return [judge_request(question, answer)] if answer.text.strip() else []


def _judged(question: str, answer: Referenced, said: Said) -> bool | None:
    if not answer.text.strip():
        return False
    request = judge_request(question, answer)
    label = chosen(request, said(request))
    return None if label is None else label == "right"


def judge_request(question: str, answer: Referenced) -> Request:
    lines = [f"Question: {question}"]
    if answer.true:
        lines.append("Right answers: " + " / ".join(answer.true))
    if answer.false:
        lines.append("Wrong answers: " + " / ".join(answer.false))
    lines += [
        f"Answer to be judged: {answer.text}",
        "An answer is right if it says what one of the right answers says, in whatever words. "
        "Is the answer to be judged right, Yes or No?",
        "Answer:",
    ]
    return Request(
        task="rate",
        segments=(question, answer.text),
        prompt="\n".join(lines),
        choices=CHOICES,
        words=WORDS,
        template="rate@1",
    )
