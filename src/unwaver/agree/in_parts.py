"""An agreement on answers with fields, on all answers of a run: the whole, then each field beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from unwaver.agree import Agreement, Pair
from unwaver.agree.comparison import Comparison, Told, Values
from unwaver.agree.structured import agrees
from unwaver.asking.consult import Consult
from unwaver.console import Console
from unwaver.types import Group


def compared_in_parts(
    agreement: Agreement,
    groups: Sequence[Group],
    frames: Sequence[pl.DataFrame],
    consult: Consult,
    console: Console,
) -> tuple[list[pl.DataFrame], list[dict[str, Any]]]:
    """The frames with a column for the whole and for each field, and a summary of each."""
    assert agreement.parts is not None
    assert agreement.whole is not None
    assert agreement.unread is not None
    whole = Comparison(agreement, groups, frames)
    parts = [*agreement.asked, *agreement.parts(whole.texts)]
    told = {}
    lost = {}
    for part in parts:
        told[part.name], lost[part.name] = Comparison(part, groups, frames).values(consult, console)
    by_models = {
        part.name.removeprefix(f"{agreement.name}."): _verdicts(part, whole.answer_pairs, told[part.name].answers)
        for part in agreement.asked
    }
    values = agreement.whole(whole.answer_pairs, by_models)
    found = Told(dict(zip(whole.answer_pairs, values, strict=True)), None)
    frames = whole.frames_with(found)
    summaries = [whole.summary(found, {}) | {"unread": whole.rows(agreement.unread)}]
    for part in parts:
        comparison = Comparison(part, groups, frames)
        frames = comparison.frames_with(told[part.name])
        assert part.unread is not None
        found_in = {"unread": comparison.rows(part.unread), "answers": comparison.rows(lambda _: True)}
        summaries.append(comparison.summary(told[part.name], lost[part.name]) | found_in)
    return list(frames), summaries


def _verdicts(part: Agreement, pairs: Sequence[Pair], values: Values) -> Mapping[Pair, bool | None]:
    """Whether the field agrees, by the mean of both directions."""
    found: dict[Pair, bool | None] = {}
    for pair in pairs:
        both = [values.get(pair)]
        if not part.symmetric and pair.a != pair.b:
            both.append(values.get(Pair(pair.question, pair.b, pair.a)))
        known = [value for value in both if value is not None]
        found[pair] = agrees(part, sum(known) / len(known)) if len(known) == len(both) else None
    return found
