"""P_C, paraphrastic consistency (Srikanth et al. 2024): how probable is it that two paraphrases of one problem
are both answered right or both wrong?

A group is a bucket of paraphrases; θ is the share of it that was answered right. The original is not in it.

    right, right, right, wrong -> θ = 0.75, P_C 0.625, P_C_pairs 0.5

    P_C              mean of θ² + (1 − θ)², the published plug-in: a paraphrase is also paired with itself
    P_C_pairs        the same over distinct pairs, unbiased
    P_C_floor        1 − 2·A·(1 − A), the least P_C that the accuracy A = mean θ allows; what P_C_pairs would be
                     if answers were independent
    P_C_independent  1 − 2·A·(1 − A)·(1 − mean 1/n), what P_C would be: a wording always agrees with itself
    VAP           mean of θ·(1 − θ), the variance due to wording; P_C = 1 − 2·VAP
    Var_R         VAP + Var(θ) = A·(1 − A), the variance of right and wrong
    PVAP          VAP / Var_R, the share of it that is due to wording
    A_original    accuracy on originals; A_paraphrase on all paraphrases pooled; A_bucket the mean of θ

A bucket with one judged wording tells nothing of consistency (θ² + (1 − θ)² is 1 whatever the model does): only
accuracies apply to it.

Where buckets have weights that undo how they were drawn:

    A_corrected, P_C_corrected   means under the weights, which are made to sum to 1
    …_published                  sums under the weights as they are: bins without a bucket lose their mass
    weight_mass                  what the weights sum to
    A_test                       accuracy on the full test set
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unwaver.metrics.block import Block, Bools, Metric
from unwaver.stats import Floats, Reduce, mean

PUBLISHED = "paranlu"


def metrics(block: Block) -> Iterator[Metric]:
    if not has_paraphrases(block):
        return
    yield Metric("P_C", within, reduce=_consistency, each=_one_minus_two)
    yield Metric("P_C_pairs", within_pairs, reduce=_consistency, each=_one_minus_two)
    yield Metric("P_C_floor", _theta_of_several, reduce=_floor)
    yield Metric("P_C_independent", _if_independent, reduce=_independent)
    yield Metric("VAP", within)
    yield Metric("Var_R", _theta_of_several, reduce=_variance)
    yield Metric("PVAP", _within_and_theta, reduce=_share_of_wording)
    yield Metric("A_original", lambda b: b.per_group(b.right, ~b.target))
    yield Metric("A_paraphrase", _right_and_count, reduce=_ratio)
    yield Metric("A_bucket", theta)
    if block.test is not None:
        yield Metric("A_test", theta, of_test=True)
    if block.weight is not None:
        yield from _corrected(block)


def has_paraphrases(block: Block) -> bool:
    """Buckets, and free text with known right answers: there the variants of a question are its paraphrases."""
    if block.expect == "same" and block.is_free_text:
        return not bool(np.isnan(block.right).all())
    return block.expect == "bucket"


def theta(block: Block) -> Floats:
    """right, right, right, wrong -> 0.75"""
    return block.per_group(block.right, block.target)


def _theta_of_several(block: Block) -> Floats:
    """θ of the buckets that say something of consistency."""
    return np.where(_tells(_judged(block)[1], block), theta(block), np.nan)


def _tells(n: Floats, block: Block) -> Bools:
    """Buckets with two judged wordings or more; where the kind is `repeat`, with two judged answers.

    The published P_C of δ-SNLI counts a bucket with a single paraphrase as consistent; so does ours of that suite.
    """
    several = n > 1
    return np.asarray(n > 0 if block.suite == PUBLISHED and several.any() else several)


def within(block: Block) -> Floats:
    """The variance of right and wrong in a bucket: right, right, right, wrong -> 0.1875; one wording: null."""
    share = _theta_of_several(block)
    return np.asarray(share * (1 - share))


def within_pairs(block: Block) -> Floats:
    """The same over pairs of distinct wordings: right, right, right, wrong -> 0.25; one wording does not apply.

    With replicates a wording is right with a probability of its own, and repeats of it are not a pair.
    """
    share, n, between_repeats = _wordings(block)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, (n**2 * share * (1 - share) - between_repeats) / (n * (n - 1)), np.nan)


def torn(block: Block) -> Floats:
    """1 if a bucket was answered in different ways: right and wrong, or without gold by several labels."""
    if np.isnan(block.right[block.target]).all():
        other = block.code != block.first_of_target[block.group]
        found = block.per_group(other.astype(float), block.target) > 0
        return np.where(block.wordings(block.target) > 1, found, np.nan)
    # repeats of one wording may be torn, too
    share = theta(block)
    several = np.bincount(block.group[block.target & ~np.isnan(block.right)], minlength=block.groups) > 1
    return np.where(several, share * (1 - share) > 0, np.nan)


def _if_independent(block: Block) -> Floats:
    """Per bucket: θ, 1/n for n wordings, and the mean of p² over them; p is 0 or 1 without repeats."""
    share, n, between_repeats = _judged(block)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = share - between_repeats / n  # p² = p − p(1 − p)
        table = np.column_stack([theta(block), 1 / n, squares])
    return np.where(_tells(n, block)[:, None], table, np.nan)


def _independent(sums: Floats) -> Floats:
    """Three coin flips -> 2/3. θ(1 − θ) is A(1 − A) less the variance of θ, which is that of p divided by n."""
    accuracy, of_one, squares = (sums[..., i] / sums[..., -1] for i in range(3))
    return np.asarray(1 - 2 * (accuracy * (1 - accuracy) - (squares - accuracy**2) * of_one))


def _judged(block: Block) -> tuple[Floats, Floats, Floats]:
    """As `_wordings`; of the kind `repeat` every answer stands for itself."""
    return _answers(block) if block.kind.partition("_")[0] == "repeat" else _wordings(block)


def _answers(block: Block) -> tuple[Floats, Floats, Floats]:
    rows = block.target & ~np.isnan(block.right)
    n = np.bincount(block.group[rows], minlength=block.groups).astype(float)
    return theta(block), n, np.zeros(block.groups)


def _wordings(block: Block) -> tuple[Floats, Floats, Floats]:
    """Per bucket: the mean share right of its wordings, their number, and the sum of p(1 − p) over them."""
    rows = block.target & ~np.isnan(block.right)
    if block.trials == block.groups:  # no replicates: every row is a wording
        return _answers(block)
    p, group, _ = block.per_wording(rows)
    n = np.bincount(group, minlength=block.groups).astype(float)
    with np.errstate(invalid="ignore"):
        share = np.bincount(group, weights=p, minlength=block.groups) / n
    between_repeats = np.bincount(group, weights=p * (1 - p), minlength=block.groups)
    return np.asarray(share), n, np.asarray(between_repeats, dtype=np.float64)


def _consistency(sums: Floats) -> Floats:
    """Of the mean, so that P_C = 1 − 2·VAP to the last digit."""
    return _one_minus_two(mean(sums))


def _one_minus_two(values: Floats) -> Floats:
    return np.asarray(1 - 2 * values)


def _floor(sums: Floats) -> Floats:
    return np.asarray(1 - 2 * _variance(sums))


def _variance(sums: Floats) -> Floats:
    accuracy = mean(sums)
    return np.asarray(accuracy * (1 - accuracy))


def _within_and_theta(block: Block) -> Floats:
    return np.column_stack([within(block), _theta_of_several(block)])


def _share_of_wording(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(mean(sums) / _variance(sums[..., 1:]), 1.0)  # a part of it: rounding must not exceed it


def _right_and_count(block: Block) -> Floats:
    share = theta(block)
    n = np.bincount(block.group[block.target & ~np.isnan(block.right)], minlength=block.groups)
    return np.column_stack([share * n, np.where(np.isnan(share), np.nan, n)])


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


# --- with weights -------------------------------------------------------------------------------------------


def _corrected(block: Block) -> Iterator[Metric]:
    weight = _weighted_theta(block)[:, 1]
    mass = float(np.nansum(weight[block.complete]))
    yield Metric("A_corrected", _weighted_theta, reduce=_ratio)
    yield Metric("P_C_corrected", _weighted_within, reduce=_weighted_consistency)
    yield Metric("A_corrected_published", _weighted_theta, reduce=_times(mass, _ratio))
    yield Metric("P_C_corrected_published", _weighted_within, reduce=_times(mass, _weighted_consistency))
    yield Metric("weight_mass", _weighted_theta, reduce=lambda sums: sums[..., 1], share=False, known=True)


def _times(mass: float, reduce: Reduce) -> Reduce:
    """Drawing buckets again must not draw the mass again: it belongs to the test set."""
    return lambda sums: np.asarray(mass * reduce(sums))


def _weighted_theta(block: Block) -> Floats:
    return _weighted(theta(block), block)


def _weighted_within(block: Block) -> Floats:
    return _weighted(within(block), block)


def _weighted(values: Floats, block: Block) -> Floats:
    assert block.weight is not None
    return np.column_stack([block.weight * values, np.where(np.isnan(values), np.nan, block.weight)])


def _weighted_consistency(sums: Floats) -> Floats:
    return np.asarray(1 - 2 * _ratio(sums))


MEANINGS = "unwaver.metrics.meanings.paraphrastic:MEANINGS"
