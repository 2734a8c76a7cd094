"""An agreement of an installed package: what it gives is checked, and what goes wrong names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from unwaver import registry
from unwaver.agree import Agreement, Pair
from unwaver.errors import UsageError
from unwaver.types import Request, replace


def guarded(name: str, agreement: Agreement) -> Agreement:
    """The agreement with its functions guarded; a built-in one as it is."""
    if registry.is_built_in("agreements", name):
        return agreement
    if agreement.better not in ("low", "high"):
        raise registry.broken("agreements", name, f'has better={agreement.better!r}, expected "low" or "high"')
    if agreement.compare is not None:
        return replace(agreement, compare=_aligned(name, agreement.compare))
    if agreement.request is None or agreement.value is None:
        why = "has neither compare, nor request and value"
        raise registry.broken("agreements", name, why)
    about_questions = agreement.request_questions
    return replace(
        agreement,
        request_questions=about_questions and registry.guarded("agreements", name, about_questions, Request),
        request=registry.guarded("agreements", name, agreement.request, Request),
        value=registry.guarded("agreements", name, agreement.value, float | int | None),
    )


def better_of(name: str) -> Literal["low", "high", ""]:
    """Whether lower or higher values of an agreement are better; "" if it cannot be made without options."""
    asks_model = "model" in inspect.signature(registry.find("agreements", name)).parameters
    try:
        made: Agreement = registry.call("agreements", name, Agreement, *([""] if asks_model else []))
    except UsageError:
        return ""
    return made.better


def _aligned(
    name: str, compare: Callable[[Sequence[Pair]], Iterable[float | None]]
) -> Callable[..., list[float | None]]:
    """One value from 0 to 1 for each pair, None if it cannot be told."""

    def compared(pairs: Sequence[Pair]) -> list[float | None]:
        values = [None if value is None else float(value) for value in compare(pairs)]
        if len(values) != len(pairs):
            raise ValueError(f"{len(values)} values for {len(pairs)} pairs")
        if odd := [value for value in values if value is not None and not 0 <= value <= 1]:
            raise ValueError(f"found {odd[0]}, expected a number from 0 to 1, or None")
        return values

    return registry.guarded("agreements", name, compared, list)
