"""Declarations of metrics in other packages: checked, and guarded so that an error names the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

from unwaver import registry
from unwaver.meaning import Better, Meaning, Phrase


def checked(own: Any, name: str) -> Sequence[Meaning]:
    """The declarations of the catalogue entry `name`; an error says what is wrong with them."""
    if isinstance(own, Meaning) or not all(isinstance(meaning, Meaning) for meaning in own):
        raise registry.broken("metrics", name, f"has MEANINGS = {own!r:.60}, expected a tuple of unwaver.Meaning")
    if odd := [meaning.name for meaning in own if meaning.better not in get_args(Better)]:
        raise registry.broken("metrics", name, f'declares {odd[0]} with better other than "low", "high" or ""')
    return [_guarded(meaning, name) for meaning in own]


def _guarded(meaning: Meaning, name: str) -> Meaning:
    """The declaration of a plug-in, with functions that name the plug-in if they fail."""

    def listed(function: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
        return lambda *arguments: list(function(*arguments))  # a generator fails only when it is read

    if isinstance(meaning.verdict, str):
        try:
            meaning.verdict.format(value="", wrong="", right="")
        except (KeyError, IndexError, ValueError) as e:
            what = (
                f"has the verdict {meaning.verdict!r:.60}, expected only {{value}}, {{wrong}} and {{right}} in it"
            )
            raise registry.broken("metrics", name, what) from e

    def guarded(function: Any, expected: Any) -> Any:
        return registry.guarded("metrics", name, function, expected) if callable(function) else function

    return replace(
        meaning,
        leads_if=guarded(meaning.leads_if, bool),
        chance=guarded(meaning.chance, float | int | None),
        choose=guarded(meaning.choose and listed(meaning.choose), list),
        remark=guarded(meaning.remark and listed(meaning.remark), list),
        figures=guarded(meaning.figures and listed(meaning.figures), list),
        verdict=guarded(meaning.verdict, Phrase | str),
    )
