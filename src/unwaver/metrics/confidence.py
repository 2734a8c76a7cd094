"""How sure was the model on the changed input, where its answer held and where it did not?

Entropy in bits (0.9/0.1 -> 0.47, 0.7/0.3 -> 0.88) and the greatest probability, on the variant or conclusion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
import polars as pl

from unwaver.meaning import Meaning
from unwaver.metrics import charts
from unwaver.metrics.block import Block, Metric
from unwaver.metrics.papers import BECEL, CALM
from unwaver.metrics.violation import applies, violated
from unwaver.stats import Floats
from unwaver.types import Figure, Score


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect == "bucket" or block.probs.null_count() == len(block.probs):
        return
    for inconsistent in (False, True):
        name = "inconsistent" if inconsistent else "consistent"
        of_entropy = partial(_mean, measure="entropy", inconsistent=inconsistent)
        of_max_prob = partial(_mean, measure="max_prob", inconsistent=inconsistent)
        yield Metric(f"entropy_{name}", of_entropy, share=False)
        yield Metric(f"max_prob_{name}", of_max_prob, share=False)


def _mean(block: Block, measure: str, inconsistent: bool) -> Floats:
    chosen = applies(block) & (violated(block) == inconsistent)
    return block.per_group(_measures(block)[measure], chosen)


@lru_cache(maxsize=1)  # four metrics of one block
def _measures(block: Block) -> dict[str, Floats]:
    return {"entropy": entropy(block.probs), "max_prob": max_prob(block.probs)}


def max_prob(probs: pl.Series) -> Floats:
    return probs.list.max().fill_null(np.nan).to_numpy()


def entropy(probs: pl.Series) -> Floats:
    """Bits, one number a row; null rows are NaN and 0 · log 0 is 0."""
    known = probs.is_not_null().to_numpy()
    lengths = probs.list.len().fill_null(0).to_numpy()
    p = probs.drop_nulls().explode().fill_null(0.0).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(p > 0, -p * np.log2(p), 0.0)
    rows = np.repeat(np.arange(len(probs)), lengths)
    values = np.bincount(rows, weights=bits, minlength=len(probs))
    return np.where(known, values, np.nan)


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    del scores
    known = [b for b in blocks if b.expect != "bucket" and b.probs.null_count() < len(b.probs)]
    who = list(dict.fromkeys((b.model, b.method) for b in known))
    for model, method in who:
        of = charts.label(f" · {model}" if len(who) > 1 else "", 60)
        yield from _of_model([b for b in known if (b.model, b.method) == (model, method)], of)


def _of_model(known: Sequence[Block], of: str) -> Iterator[Figure]:
    for measure, title, axis in (
        ("max_prob", f"How sure the model was{of}", "greatest probability"),
        ("entropy", f"How unsure the model was{of}", "entropy, bits"),
    ):
        rows = list(_boxes(known, measure))
        if not rows:
            continue
        says = "On the changed input: answers that held, and those that did not. Box: half of them, line: median."
        form = "%" if measure == "max_prob" else ".1f"
        spec = charts.boxes(rows, axis, domain=(0, 1) if measure == "max_prob" else None, format=form)
        yield Figure(
            "Confidence of consistent and inconsistent answers", title, says, f"{measure}_inconsistent", spec
        )


def _boxes(blocks: Sequence[Block], measure: str) -> Iterator[dict[str, object]]:
    names = charts.names_of(blocks)
    for block in blocks:
        values = _measures(block)[measure]
        for inconsistent, state in ((False, "consistent"), (True, "inconsistent")):
            rows = applies(block) & (violated(block) == inconsistent) & ~np.isnan(values)
            if not rows.any():
                continue
            name = names[charts.block_key(block)]
            found = charts.box(values[rows])
            says = f"{name}, {state}: median {found['middle']:.2f}, half in {found['q1']:.2f} – {found['q3']:.2f}"
            yield {"name": name, "colour": state, "says": f"{says}, {int(rows.sum()):,} answers", **found}


# --- what they mean ---------------------------------------------------------------------------------------------


def _meanings() -> Iterator[Meaning]:
    for state, held in (("consistent", "held"), ("inconsistent", "did not hold")):
        yield Meaning(
            f"entropy_{state}",
            title=f"entropy of {state} answers",
            says=f"How unsure the model was on the changed input where its answer {held}, in bits.",
            formula="−Σ p·log₂ p over the class probabilities; averaged in a group, then over groups",
            paper=f"{CALM}; {BECEL}",
            docs="docs/methods.md#metrics",
            figures=figures,
        )
        yield Meaning(
            f"max_prob_{state}",
            title=f"confidence of {state} answers",
            says=f"Greatest class probability on the changed input where the answer {held}.",
            formula="max p; averaged in a group, then over groups",
            paper=f"{CALM}; {BECEL}",
            docs="docs/methods.md#metrics",
            figures=figures,
        )


MEANINGS = tuple(_meanings())
