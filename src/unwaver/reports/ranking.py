"""How bad the groups of a block are: their state, how far each is from consistent, and how sure the model was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unwaver.metrics.agreed import decides, leading
from unwaver.metrics.block import Block
from unwaver.metrics.broken import broken
from unwaver.metrics.bucket import among_wordings
from unwaver.metrics.confidence import max_prob
from unwaver.metrics.pairwise import mean_agreement
from unwaver.metrics.paraphrastic import within
from unwaver.metrics.violation import applies, tau, violated
from unwaver.stats import Floats

HELD, BROKEN, NOT_APPLICABLE, MISSING = range(4)


class Ranked:
    """Of the groups of a block: how bad each is (0 … 1), its state, and how sure the model was where it broke."""

    def __init__(self, bad: Floats, state: np.ndarray, sure: Floats):
        self.bad, self.state, self.sure = bad, state, sure


def ranked(block: Block) -> Ranked:
    bad, found = _badness(block), broken(block)
    state = np.where(np.isnan(found), NOT_APPLICABLE, np.where(found > 0, BROKEN, HELD))
    state = np.where(block.complete, state, MISSING)
    return Ranked(np.nan_to_num(bad), state, _sureness(block))


def _badness(block: Block) -> Floats:
    """How far a group is from consistent."""
    if decides(block):  # free text
        mean, notion = mean_agreement(block, leading(block).name), leading(block)
        return mean if notion.low == (block.expect != "different") else 1 - mean
    if block.expect != "bucket":
        return tau(block)
    if np.isnan(block.right[block.target]).all():
        return 1 - among_wordings(block)
    return np.asarray(4 * within(block))


def _sureness(block: Block) -> Floats:
    """The greatest probability on what broke, and no more than that on the original; NaN without probabilities."""
    sure = np.full(block.groups, np.nan)
    if block.probs.null_count() == len(block.probs):
        return sure
    value = max_prob(block.probs)
    broke = block.target & (block.right == 0.0) if block.expect == "bucket" else violated(block) & applies(block)
    rows = np.flatnonzero(broke & ~np.isnan(value))
    np.fmax.at(sure, block.group[rows], value[rows])
    if block.expect in ("same", "different"):
        originals = np.flatnonzero(~block.target & ~np.isnan(value))
        known = ~np.isnan(sure[block.group[originals]])
        np.minimum.at(sure, block.group[originals[known]], value[originals[known]])
    return sure


def worst_first(ranked: Sequence[Ranked]) -> np.ndarray:
    """The places of all groups, one block after the other: broken ones first, the worst of them first."""
    if not ranked:
        return np.empty(0, dtype=int)
    state = np.concatenate([r.state for r in ranked])
    bad = np.concatenate([r.bad for r in ranked])
    sure = np.nan_to_num(np.concatenate([r.sure for r in ranked]))
    order = np.array([1, 0, 2, 3])[state]  # broken, held, does not apply, missing
    return np.lexsort((-sure, -bad, order))
