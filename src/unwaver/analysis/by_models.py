"""Paraphrases compared with their originals by models: similarity by an agreement or a scorer, and entailment.

Each text that a paraphrase changes is a pair with the original's text: one of δ-NLI, two of α-NLI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unwaver.agree import Agreement
from unwaver.agree.human_pairs import Directions, JudgedPair, JudgedPairs, mean_of_directions
from unwaver.agree.scorers import Scorer, pair_request
from unwaver.analysis.paraphrases import changed_fields, pairs_by_relation
from unwaver.answers.references import Referenced
from unwaver.asking.consult import Consult, Enquiry
from unwaver.console import Console
from unwaver.stats import Estimate, estimate
from unwaver.types import Answer, Group, Request, replace


class TextPair(NamedTuple):
    """The text of an original and that of a paraphrase, with the number of the problem."""

    original: str
    paraphrase: str
    problem: int


@dataclass(frozen=True)
class Entailment:
    """Shares of text pairs where the label is entailment: original to paraphrase, back, and both ways."""

    relation: str
    pairs: int
    not_told: int
    forward: float | None
    backward: float | None
    both: Estimate


def text_pairs(groups: Sequence[Group]) -> dict[str, list[TextPair]]:
    """By suite/task/kind; a text that does not change is left out."""
    found: dict[str, list[TextPair]] = {}
    for relation, items in pairs_by_relation(groups).items():
        numbers: dict[str, int] = {}
        fields = changed_fields(items)
        found[relation] = [
            TextPair(a.fields[name], b.fields[name], numbers.setdefault(a.id, len(numbers)))
            for a, b in items
            for name in fields
            if a.fields[name] != b.fields[name]
        ]
    return {relation: pairs for relation, pairs in found.items() if pairs}


def agreed(
    pairs: Sequence[TextPair], agreement: Agreement, consult: Consult, console: Console
) -> list[float | None]:
    """The value of each pair; of an agreement with two directions their mean."""
    return [mean_of_directions(several) for several in _directions(pairs, agreement, consult, console)]


def entailment(
    relation: str,
    pairs: Sequence[TextPair],
    agreement: Agreement,
    consult: Consult,
    console: Console,
    seed: int = 0,
) -> Entailment:
    """`agreement` is `bidirectional` of some NLI model. Intervals resample problems."""
    both_ways = _directions(pairs, replace(agreement, combine=None), consult, console)
    told = [d for d in both_ways if None not in d]
    ways = np.array([[float(d[0] or 0), float(d[-1] or 0)] for d in told]).reshape(-1, 2)
    values = np.array([np.nan if None in d else float(min(v or 0.0 for v in d)) for d in both_ways])
    found = estimate(values, np.array([pair.problem for pair in pairs]), seed=seed)
    forward, backward = ways.mean(axis=0).tolist() if told else (None, None)
    return Entailment(relation, len(pairs), len(pairs) - len(told), forward, backward, found)


def _directions(
    pairs: Sequence[TextPair], agreement: Agreement, consult: Consult, console: Console
) -> list[Directions]:
    judged = JudgedPairs([JudgedPair("", p.original, (p.paraphrase,), 0.0, str(p.problem)) for p in pairs])
    return judged.compared(agreement, consult, console)


def scored(pairs: Sequence[TextPair], scorer: Scorer, consult: Consult) -> list[float | None]:
    """What a scorer gives a paraphrase with the original as its reference: the number of a regression model, or
    1 and 0 for right and wrong."""
    asked = {pair: _requests(pair, scorer) for pair in dict.fromkeys(pairs)}
    distinct = dict.fromkeys(request for requests in asked.values() for request in requests)
    names = {request: f"scorer/{scorer.name}/{n}" for n, request in enumerate(distinct)}
    enquiry = Enquiry("scorer", scorer.name, scorer.model, scorer.options, {n: r for r, n in names.items()})
    answers = consult(enquiry)
    said = {request: answers[name, 0] for request, name in names.items() if (name, 0) in answers}
    values = {pair: _scored(pair, requests, scorer, said) for pair, requests in asked.items()}
    return [values[pair] for pair in pairs]


def _requests(pair: TextPair, scorer: Scorer) -> Sequence[Request]:
    if _is_regression(scorer):  # as a scorer of answers it also needs a false reference
        return [pair_request(pair.paraphrase, pair.original)]
    return scorer.asks("", _held(pair))


def _is_regression(scorer: Scorer) -> bool:
    return scorer.model.startswith("regression/")


def _held(pair: TextPair) -> Referenced:
    return Referenced(pair.paraphrase, (pair.original,), ())


def _scored(
    pair: TextPair, requests: Sequence[Request], scorer: Scorer, said: Mapping[Request, Answer]
) -> float | None:
    if _is_regression(scorer):
        answer = said.get(requests[0])
        return None if answer is None or answer.error is not None or answer.text is None else float(answer.text)
    right = scorer.right("", _held(pair), lambda request: said.get(request, Answer(error="not asked")))
    return None if right is None else float(right)
