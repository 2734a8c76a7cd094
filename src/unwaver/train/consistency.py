"""Pairs to learn consistency from: an item beside a variant of it, made by any builder of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from unwaver.errors import UsageError
from unwaver.models.trained import in_form
from unwaver.suites.built import builder, names_of
from unwaver.tasks import CALM, T5, Task
from unwaver.types import Group, Item, replace
from unwaver.variants.paraphrase import is_model
from unwaver.variants.source import Source

_LAID_OUT = ("reverse", "signal")  # builders whose groups are in CALM's form


class Variant(NamedTuple):
    """Another way to put an item, in the form that is trained; `alike`: it must get the same answer."""

    item: Item
    alike: bool


def variants_of(
    items: Sequence[Item],
    task: Task,
    names: Sequence[str],
    *,
    form: str,
    share: float = 1.0,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> dict[int, Variant]:
    """For a random share of the items, by their number, one variant each.

    First a builder is drawn among those that can make one of the item, then one of its variants: ten other signs
    weigh no more than one reversed order. An item of which none can be made (a swap of an entailment) has none.
    """
    builders = [builder(name, options or {}) for name in checked(names, form, share, options or {})]
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.permutation(len(items))[: round(share * len(items))]).tolist()
    source = Source("train", task, tuple(replace(items[n], id=str(n)) for n in chosen))
    found: dict[int, list[list[Variant]]] = {}
    for build in builders:
        for group in build(source):
            if isinstance(group, Group):
                n = int(group.id.rpartition("/")[2].partition(".")[0])
                made = [
                    Variant(in_form(i, task, form), group.expect == "same")
                    for i in group.items
                    if i.role == "variant"
                ]
                if made:
                    found.setdefault(n, []).append(made)
    return {n: _one_of(_one_of(several, random), random) for n, several in sorted(found.items())}


_T = TypeVar("_T")


def _one_of(several: Sequence[_T], random: np.random.Generator) -> _T:
    return several[int(random.integers(len(several)))]


def checked(names: Sequence[str], form: str, share: float, options: Mapping[str, Any]) -> list[str]:
    """The names of the variants, if pairs can be made of them."""
    chosen = names_of(names)
    if not 0 < share <= 1:
        raise UsageError(
            f"--share is {share}, expected more than 0 and at most 1", hint="0.5 is every second item"
        )
    for name in chosen:
        if name in ("additive", "transitive"):
            raise UsageError(f"{name} makes no pairs", hint="take swap, reverse, signal, negate, paraphrase …")
        if name in _LAID_OUT and form not in (CALM, T5):
            raise UsageError(f"{name} is a variant of CALM's form", hint="add --form calm")
        if name == "paraphrase" and is_model(options.get("writer")):
            hint = "let it write first (unwaver build), then --writer bank/FILE; or --writer rules"
            raise UsageError("a model cannot write while another is trained", hint=hint)
        if name.startswith("options"):
            raise UsageError("options are for prompts of language models", hint="take another variant")
    return chosen
