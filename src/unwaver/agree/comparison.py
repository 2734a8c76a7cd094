"""How far the answers to a question agree: each agreement that was asked for, on every pair of answers.

    --agree rouge1   --agree entail=hf/PATH   --agree bertscore=PATH,layer=5,idf=true   --agree normalised@0.9

What comes out is a column for each agreement: in the row of an answer, its values with all answers of its group,
in their order. Models that compare are asked as any other: stored, batched, each pair once.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from unwaver import registry
from unwaver.agree import Agreement, Pair
from unwaver.agree.asked import lacking
from unwaver.agree.pairs import Distinct, distinct, spread, swap_agreement, to_compare
from unwaver.agree.plug_ins import guarded
from unwaver.asking.consult import Consult, Enquiry
from unwaver.bound import bind
from unwaver.console import Console, Progress
from unwaver.errors import UsageError
from unwaver.groups import is_free_text
from unwaver.groups.conversations import question_of
from unwaver.metrics.agreed import ANSWERS, column_of
from unwaver.metrics.agreed import QUESTIONS as QUESTIONS
from unwaver.models.helpers import shared_options
from unwaver.named_models import pieces, resolved, with_threshold
from unwaver.secrets import masked, masked_settings
from unwaver.stats import estimate
from unwaver.types import Answer, Group, Request, replace

DEFAULT = ("normalised", "exact")  # the first one leads
CHUNK = 2000  # pairs that are compared before progress is shown
# agreements that are asked of a provider of their own, whatever the path says
_PROVIDERS = {"bertscore": "bertscore/", "embedding": "embedding/"}

Values = Mapping[Pair, float | None]


def parse_agreement(text: str) -> Agreement:
    """ "entail=hf/PATH@0.7" -> the agreement `entail`, asked of that model, with the threshold 0.7."""
    text, bar = with_threshold(resolved(text, "--agree "))
    first, given = pieces(text, "--agree ")
    name, equals, model = first.partition("=")
    make = registry.find("agreements", name)
    if "model" in inspect.signature(make).parameters:
        if not equals or not model:
            raise UsageError(f"the agreement {name} asks a model", hint=f"--agree {name}=hf/PATH")
        agreement = _asking(make, name, model, given)
    elif equals:
        raise UsageError(f"the agreement {name} asks no model", hint=f"--agree {name}")
    else:
        own = bind(make, given, f"the agreement {name}", f"--agree {name},")
        agreement = registry.call("agreements", name, Agreement, **own)
    agreement = guarded(name, agreement)
    return agreement if bar is None else replace(agreement, threshold=_share(bar, text))


def _asking(make: Callable[..., Agreement], name: str, model: str, given: Mapping[str, str]) -> Agreement:
    """Options that are not of the agreement are those of its model: judge=openai/NAME,base_url=http://…"""
    if "@" in model and _is_share(model.rpartition("@")[2]):
        before, _, bar = model.rpartition("@")
        raise UsageError(
            f"agreement {name}: @{bar} comes last", hint=f"--agree {name}={before},option=value@{bar}"
        )
    prefix = _PROVIDERS.get(name, "")
    model = model if model.startswith(prefix) else prefix + model
    bound, of_model = shared_options(make, f"the agreement {name}", model, given, f"--agree {name}=")
    agreement: Agreement = registry.call("agreements", name, Agreement, model, **bound)
    return replace(agreement, options={**agreement.options, **of_model})


def _is_share(text: str) -> bool:
    return bool(re.fullmatch(r"[01]?(?:\.\d+)?", text)) and bool(text)


def _share(text: str, of: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(
            f"agreement {of}: found {text!r} after @, expected a number from 0 to 1", hint="rouge1@0.5"
        )
    return value


SAMPLE = Pair("question", "one answer", "another")  # to find out at the start whether an agreement can be used


def chosen(given: Sequence[str], groups: Iterable[Group]) -> list[Agreement]:
    """Those asked for; two that need nothing where there is free text; none where there is not."""
    is_needed = any(is_free_text(group) for group in groups)
    found = parse_agreements(given or DEFAULT) if given or is_needed else []  # a wrong name is said in any case
    return found if is_needed else []


def parse_agreements(given: Sequence[str]) -> list[Agreement]:
    """All of them, each once: values are known by the name of their agreement."""
    wholes = [parse_agreement(text) for text in given]
    found = [agreement for whole in wholes for agreement in (whole, *whole.asked)]
    names = [agreement.name for agreement in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"the agreement {twice[0]} is named twice", hint="name it once")
    return found


def check_same_question(agreement: Agreement, run: Sequence[str], place: Path) -> None:
    """Values of a run are known by the name of their agreement: an error where another model, or the same one in
    other words, would be taken for the one that was asked."""
    for other in map(parse_agreement, run):
        if other.name == agreement.name and _question_of(other) != _question_of(agreement):
            hint = f"leave --agree {agreement.name} out, or run the command of the run again with it"
            raise UsageError(f"this run was compared by {other.name}={other.model}", file=place, hint=hint)


def _question_of(agreement: Agreement) -> tuple[object, ...]:
    sample = agreement.request(Pair("q", "a", "b")) if agreement.request else None
    return masked(agreement.model), masked_settings(dict(agreement.options)), sample


@dataclass(frozen=True)
class Question:
    """The answers to one question: rows of a frame, and their content."""

    text: str
    rows: list[int]
    answers: Distinct
    wordings: Distinct  # the prompts themselves


def questions(frame: pl.DataFrame, groups: Sequence[Group]) -> list[Question]:
    """The groups of free text in a frame."""
    free = {group.id: group for group in groups if is_free_text(group)}
    asked = {item.id: question_of(item) for group in free.values() for item in group.items}
    rows: dict[str, list[int]] = {}
    for row, (group, role) in enumerate(frame.select("group", "role").iter_rows()):
        if group in free and role in ("original", "variant", "conclusion"):
            rows.setdefault(group, []).append(row)
    labels, items = frame["label"].to_list(), frame["item"].to_list()
    return [
        Question(
            question_of(free[name].items[0]),
            where,
            distinct([labels[row] for row in where]),
            distinct([asked[items[row]] for row in where]),
        )
        for name, where in rows.items()
    ]


class PairList:
    """Pairs that an agreement compares. `texts` are what it may count words over. `about` is QUESTIONS where they
    are two wordings of a question: a model is asked that in words of its own."""

    def __init__(self, agreement: Agreement, pairs: Iterable[Pair], texts: Sequence[str], about: str = ANSWERS):
        self.agreement, self.pairs, self.texts = agreement, list(dict.fromkeys(pairs)), texts
        self._about = about

    def values(self, consult: Consult, console: Console) -> tuple[Values, Counter[str]]:
        """The values of the pairs, and how many have none because the model that compares failed, refused or was
        cut. `consult` asks that model, or reads what it has said."""
        if self.agreement.compare is not None:
            with console.track(self.agreement.name, len(self.pairs)) as progress:
                return self._compared(self.agreement.compare, progress), Counter()
        return self.read(consult(self.enquiry(self.requests)))

    def enquiry(self, requests: Mapping[str, Request]) -> Enquiry:
        texts = {"texts": self.texts} if self.agreement.needs_texts else {}
        options = {**self.agreement.options, **texts}
        return Enquiry("agreement", self.agreement.name, self.agreement.model, options, requests)

    @cached_property
    def requests(self) -> dict[str, Request]:
        """What the model that compares is asked, by the name under which the store keeps what it says."""
        request_of = asked_about(self.agreement, self._about)
        return {name: request_of(pair) for pair, name in self._names.items()}

    @cached_property
    def _names(self) -> dict[Pair, str]:
        return {pair: pair_id(self.agreement, pair, self._about) for pair in self.pairs if pair not in self._known}

    @cached_property
    def _known(self) -> Values:
        """What needs no model."""
        settled = self.agreement.settled
        return {p: told[0] for p in self.pairs if (told := settled(p)) is not None} if settled else {}

    def _compared(self, compare: Callable[[Sequence[Pair]], Sequence[float | None]], progress: Progress) -> Values:
        values: dict[Pair, float | None] = {}
        for start in range(0, len(self.pairs), CHUNK):
            part = self.pairs[start : start + CHUNK]
            values.update(zip(part, compare(part), strict=True))
            progress(len(part))
        return values

    def read(self, answers: Mapping[tuple[str, int], Answer]) -> tuple[Values, Counter[str]]:
        """What was cut or refused is not an answer."""
        assert self.agreement.value is not None
        values: dict[Pair, float | None] = dict(self._known)
        lost: Counter[str] = Counter()
        for pair, name in self._names.items():
            answer = answers.get((name, 0))
            if answer is None:
                continue
            if why := lacking(self.requests[name], answer):
                lost[why] += 1
            else:
                values[pair] = self.agreement.value(self.requests[name], answer)
        return values, lost


@dataclass(frozen=True)
class Told:
    """The values of pairs of answers, and of wordings of the questions; None if these are not compared."""

    answers: Values
    questions: Values | None


class Comparison:
    """One agreement on all answers of a run, and on the wordings of the questions. A model is asked about these
    only where `asks_questions` says so."""

    def __init__(
        self,
        agreement: Agreement,
        groups: Sequence[Group],
        frames: Sequence[pl.DataFrame],
        asks_questions: bool = False,
    ):
        self.agreement, self._frames = agreement, frames
        self._found = [questions(frame, groups) for frame in frames]
        every = [question for found in self._found for question in found]
        texts = list(dict.fromkeys(text for question in every for text in question.answers.texts))
        answers = (p for question in every for p in _pairs_among(question, question.answers, agreement))
        wordings = (p for question in every for p in _pairs_among(question, question.wordings, agreement))
        self._answers = PairList(agreement, answers, texts)
        has_fields = agreement.parts is not None or bool(agreement.part_of)  # a question has none
        asked = (agreement.compare is not None or asks_questions) and not has_fields
        self._questions = PairList(agreement, wordings, texts, QUESTIONS) if asked else None

    @property
    def requests(self) -> dict[str, Request]:
        """All that the model that compares is asked."""
        return {**self._answers.requests, **(self._questions.requests if self._questions else {})}

    def values(self, consult: Consult, console: Console) -> tuple[Told, Counter[str]]:
        """See PairList.values. A model is consulted once."""
        if self.agreement.compare is not None:
            both = PairList(self.agreement, self._pairs, self._answers.texts)
            values, lost = both.values(consult, console)
            return Told(values, None if self._questions is None else values), lost
        said = consult(self._answers.enquiry(self.requests))
        values, lost = self._answers.read(said)
        if self._questions is None:
            return Told(values, None), lost
        of_questions, also_lost = self._questions.read(said)
        return Told(values, of_questions), lost + also_lost

    @property
    def texts(self) -> Sequence[str]:
        """The distinct answers of the run."""
        return self._answers.texts

    @property
    def answer_pairs(self) -> list[Pair]:
        return self._answers.pairs

    def rows(self, chosen: Callable[[str], bool]) -> int:
        """How many answers are such texts."""
        every = (question for found in self._found for question in found)
        return sum(
            chosen(q.answers.texts[place]) for q in every for place in q.answers.place.tolist() if place >= 0
        )

    @property
    def _pairs(self) -> list[Pair]:
        return [*self._answers.pairs, *(self._questions.pairs if self._questions else ())]

    def frames_with(self, values: Told) -> list[pl.DataFrame]:
        return [
            with_values(frame, found, self.agreement, values)
            for frame, found in zip(self._frames, self._found, strict=True)
        ]

    def summary(self, values: Told, lost: Mapping[str, int]) -> dict[str, object]:
        """What a reader must know: how many pairs, how many could not be told, and how sure the comparer is."""
        every = [question for found in self._found for question in found]
        is_free = self.agreement.compare is not None  # what is equal is compared once
        pairs = len(set(self._pairs)) if is_free else len(self._pairs)
        known = len(values.answers) + (0 if is_free else len(values.questions or ()))
        unfinished = {why: lost.get(why, 0) for why in ("cut", "refused")}
        told = values.answers
        return {
            "name": self.agreement.name,
            "model": self.agreement.model,
            "threshold": self.agreement.threshold,
            "pairs": pairs,
            "failed": pairs - known - sum(unfinished.values()),
            **unfinished,
            "answer_pairs": len(self._answers.pairs),
            "not_told": sum(pair in told and told[pair] is None for pair in self._answers.pairs),
            **own_consistency(every, self.agreement, told),
        }


def _pairs_among(question: Question, texts: Distinct, agreement: Agreement) -> list[Pair]:
    return to_compare(question.text, texts, agreement.symmetric, agreement.compares_identical)


def asked_about(agreement: Agreement, about: str = ANSWERS) -> Callable[[Pair], Request]:
    """What makes the request about a pair of answers, or of questions."""
    own = agreement.request_questions if about == QUESTIONS else None
    found = own or agreement.request
    assert found is not None
    return found


def pair_id(agreement: Agreement, pair: Pair, about: str = ANSWERS) -> str:
    """The name under which the store keeps what was said of a pair."""
    parts = [agreement.name, *pair] if about == ANSWERS else [agreement.name, "questions", *pair]
    return "pair:" + hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()[:32]


def with_values(frame: pl.DataFrame, found: Sequence[Question], agreement: Agreement, told: Told) -> pl.DataFrame:
    """The frame with more columns: of the answers, and of the questions where these were compared."""
    name = column_of(agreement.name, agreement.threshold, low=agreement.better == "low")
    columns = {ANSWERS + name: _column(frame, [(q, q.answers) for q in found], agreement, told.answers)}
    if told.questions is not None:
        columns[QUESTIONS + name] = _column(frame, [(q, q.wordings) for q in found], agreement, told.questions)
    return frame.with_columns(**columns)


def _column(
    frame: pl.DataFrame, found: Sequence[tuple[Question, Distinct]], agreement: Agreement, values: Values
) -> pl.Series:
    """In the row of a text, its values with all texts of its group."""
    column: list[list[float | None] | None] = [None] * frame.height
    for question, texts in found:
        wanted = _pairs_among(question, texts, agreement)
        table = spread(texts, [values.get(pair) for pair in wanted], agreement)
        for row, line in zip(question.rows, table, strict=True):
            column[row] = [None if np.isnan(x) else float(x) for x in line]
    return pl.Series(column, dtype=pl.List(pl.Float64))


def own_consistency(found: Sequence[Question], agreement: Agreement, values: Values) -> dict[str, object]:
    """The share of pairs of which the one who compares says the same in both orders, with its interval (pairs of
    one question are drawn together), and their number; None if it has no order."""
    same: dict[frozenset[str], float] = {}
    cluster: dict[frozenset[str], str] = {}
    for question in found if not agreement.symmetric and agreement.compare is None else ():
        for pair in to_compare(question.text, question.answers, symmetric=False):
            verdicts = [values.get(pair), values.get(Pair(pair.question, pair.b, pair.a))]
            told = swap_agreement(verdicts, agreement.threshold)
            if told is not None:
                same[frozenset(pair)], cluster[frozenset(pair)] = told, question.text
    units = np.unique(list(cluster.values()), return_inverse=True)[1]
    share = estimate(np.array(list(same.values())), units, share=True)
    return {"own_consistency": share.value, "own_interval": (share.low, share.high), "own_pairs": len(same)}
