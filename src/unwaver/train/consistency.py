"""Pairs to learn consistency from: an item beside a variant of it, made by any builder of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unwaver.errors import UsageError
from unwaver.suites.built import builder, names_of
from unwaver.tasks import CALM, Task
from unwaver.trained import in_form
from unwaver.types import Group, Item
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
    """For a random share of the items, by their number, one variant each, drawn from all that can be made.

    An item of which none can be made (a swap of an entailment) has none.
    """
    builders = _checked(names, form, options or {})
    if not 0 < share <= 1:
        raise UsageError(
            f"--share is {share}, expected more than 0 and at most 1", hint="0.5 is every second item"
        )
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.permutation(len(items))[: round(share * len(items))]).tolist()
    source = Source("train", task, tuple(replace(items[n], id=str(n)) for n in chosen))
    found: dict[int, list[Variant]] = {}
    for build in builders:
        for group in build(source):
            if isinstance(group, Group):
                n = int(group.id.rpartition("/")[2].partition(".")[0])
                made = [
                    Variant(in_form(i, task, form), group.expect == "same")
                    for i in group.items
                    if i.role == "variant"
                ]
                found.setdefault(n, []).extend(made)
    return {n: several[int(random.integers(len(several)))] for n, several in sorted(found.items())}


def _checked(names: Sequence[str], form: str, options: Mapping[str, Any]) -> list[Any]:
    chosen = names_of(names)
    for name in chosen:
        if name in ("additive", "transitive"):
            raise UsageError(f"{name} makes no pairs", hint="take swap, reverse, signal, negate, paraphrase …")
        if name in _LAID_OUT and form != CALM:
            raise UsageError(f"{name} is a variant of CALM's form", hint="add --form calm")
        if name == "paraphrase" and is_model(options.get("writer")):
            hint = "let it write first (unwaver build), then --writer bank/FILE; or --writer rules"
            raise UsageError("a model cannot write while another is trained", hint=hint)
        if name.startswith("surface_options"):
            raise UsageError("options are for prompts of language models", hint="take another variant")
    return [builder(name, options) for name in chosen]
