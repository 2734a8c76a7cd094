"""How models are trained: the recipes of the papers, and one for small encoders on a CPU.

All use AdamW with a learning rate that falls linearly to 0, and stop early on the hold-out. "pp" is the paraphrase
detector of Raj et al. (2022): DeBERTa-v3-large on PAWS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unwaver.errors import UsageError, near
from unwaver.train.own_bases import BILSTM, NGRAMS, RECIPES


@dataclass(frozen=True)
class Recipe:
    """`patience` is how many epochs without a better hold-out are waited for; no paper gives it."""

    batch: int
    length: int  # tokens of an input
    lr: float
    epochs: int
    patience: int = 2
    weight_decay: float = 0.01  # of AdamW; no paper gives another
    warmup: int = 0  # steps in which the learning rate rises


# Table of BECEL's appendix; its text says "decaying from 1e-3", which the table contradicts
_BECEL = {
    "boolq": Recipe(8, 512, 2e-5, 10),
    "snli": Recipe(64, 128, 1e-5, 10),
    "rte": Recipe(8, 256, 1e-5, 10),
    "mrpc": Recipe(8, 128, 2e-5, 10),
    "wic": Recipe(64, 128, 1e-5, 10),
    "sst2": Recipe(32, 128, 1e-5, 10),
    "ag_news": Recipe(32, 256, 1e-5, 10),
}
_CALM = Recipe(64, 128, 1e-5, 10)  # the length is ours
_PARANLU = {"deberta": Recipe(16, 128, 5e-6, 2), "": Recipe(32, 128, 2e-5, 2)}  # the length is ours
_PP = Recipe(8, 128, 6e-6, 3, patience=3, warmup=50)  # the length is ours; it does not stop early
_SMALL = Recipe(32, 128, 1e-4, 3)
# of bases without weights: ParaNLU's, with a learning rate and a length of ours for the BiLSTM
_OWN = {NGRAMS: Recipe(1, 1, 0.1, 5), BILSTM: Recipe(64, 128, 1e-3, 10)}
_OF_ALL = {"calm": _CALM, "pp": _PP, "small": _SMALL}
NAMES = ("becel", "calm", "paranlu", "pp", "small")


def recipe_for(name: str, tasks: Sequence[str], family: str, **changed: Any) -> Recipe:
    """The recipe of these tasks for a model of this family ("bert", "deberta-v2"); `changed` wins where not None.

    Several tasks in one model share one recipe: the lowest learning rate, the largest batch, the longest input.
    """
    if name not in NAMES:
        raise UsageError(f"unknown recipe {name!r}", hint=near(name, NAMES))
    found = [_recipe(name, task, family) for task in tasks]
    lowest = min(found, key=lambda r: r.lr)
    shared = replace(lowest, batch=max(r.batch for r in found), length=max(r.length for r in found))
    made = replace(shared, **{key: value for key, value in changed.items() if value is not None})
    for key in ("batch", "length", "lr", "epochs", "patience"):
        if not 0 < getattr(made, key) < math.inf:
            raise UsageError(f"--{key} is {getattr(made, key)}, expected more than 0", hint="leave it out")
    return made


def _recipe(name: str, task: str, family: str) -> Recipe:
    if family in _OWN:
        if name not in RECIPES:
            raise UsageError(
                f"the recipe {name} is for pretrained models, not for {family}", hint="leave --recipe out"
            )
        return _OWN[family]
    if name in _OF_ALL:
        return _OF_ALL[name]
    if name == "paranlu":
        return _PARANLU["deberta" if family.startswith("deberta") else ""]
    if task not in _BECEL:
        hint = f"becel has figures for {', '.join(_BECEL)}; take --recipe calm or small"
        raise UsageError(f"the recipe becel has no values for {task}", hint=hint)
    return _BECEL[task]
