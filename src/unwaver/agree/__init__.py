"""Do two answers to one question agree? Each agreement is a function of its options that returns an Agreement.

    what                 needs
    exact … entities     nothing but the two texts: `compare` gives the values
    bertscore … judge    a model: `request` is what it is asked about a pair of answers, `request_questions` about
                         two wordings of the question (--compare-questions), `value` reads what it says

Identical texts are never compared: they are worth `same`, but where nothing can be told of some texts at all
(`compares_identical`). `pairs` says which pairs are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from unwaver.types import Answer, Request


class Pair(NamedTuple):
    """Two answers to one question; the order counts where an agreement is not symmetric."""

    question: str
    a: str
    b: str


@dataclass(frozen=True)
class Agreement:
    """How far two texts agree, from 0 to 1; None if it cannot be told.

    `threshold` is the t of Cons_<name>@t where none is given: a pair counts when its value is t or more. Two
    answers agree if their value is at least t or, if `better` is "low", below t.
    """

    name: str  # the <agreement> in Cons_<agreement>
    symmetric: bool  # else both directions are asked
    better: Literal["high", "low"]
    same: float  # what two identical texts are worth; where they are compared, the most they are worth
    threshold: float
    compare: Callable[[Sequence[Pair]], list[float | None]] | None = None  # needs no model
    compares_identical: bool = False  # a text without a number has none in common with itself
    model: str = ""  # "provider/name" of the model that is asked, where one is
    options: Mapping[str, object] = field(default_factory=dict)  # what the model is opened with
    needs_texts: bool = False  # the model is opened with texts=, the distinct answers of the run
    request: Callable[[Pair], Request] | None = None
    request_questions: Callable[[Pair], Request] | None = None  # about two questions; `request` if not given
    value: Callable[[Request, Answer], float | None] | None = None
    combine: Callable[[float, float], float] | None = None  # both directions -> one value, for both of them
    # answers with fields (unwaver.agree.structured): the whole has parts, each an agreement of its own
    parts: Callable[[Sequence[str]], Sequence[Agreement]] | None = None  # of these answers, without a model
    asked: tuple[Agreement, ...] = ()  # parts that ask a model
    whole: Whole | None = None  # the values of pairs, with what models say of parts
    unread: Callable[[str], bool] | None = None  # whether an answer cannot be read, or lacks the field
    part_of: str = ""  # the whole
    settled: Callable[[Pair], tuple[float | None] | None] | None = None  # the value, if no model has to tell


Whole = Callable[[Sequence[Pair], Mapping[str, Mapping[Pair, bool | None]]], "list[float | None]"]
