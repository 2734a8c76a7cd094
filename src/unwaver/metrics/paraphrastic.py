"""P_C, paraphrastic consistency (Srikanth et al. 2024): how probable is it that two paraphrases of one problem
are both answered right or both wrong?

A group is a bucket of paraphrases; θ is the share of it that was answered right. The original is not in it.

    right, right, right, wrong -> θ = 0.75, P_C 0.625, P_C_pairs 0.5

    P_C           mean of θ² + (1 − θ)², the published plug-in: a paraphrase is also paired with itself
    P_C_pairs     the same over distinct pairs, unbiased; a bucket of one paraphrase does not apply
    P_C_floor     1 − 2·A·(1 − A), the least P_C that the accuracy A = mean θ allows
    VAP           mean of θ·(1 − θ), the variance due to wording; P_C = 1 − 2·VAP
    Var_R         VAP + Var(θ) = A·(1 − A), the variance of right and wrong
    PVAP          VAP / Var_R, the share of it that is due to wording
    A_original    accuracy on originals; A_paraphrase on all paraphrases pooled; A_bucket the mean of θ
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unwaver.block import Block, Metric
from unwaver.stats import Floats, mean


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect != "bucket":
        return
    yield Metric("P_C", agreement, "high")
    yield Metric("P_C_pairs", pair_agreement, "high")
    yield Metric("P_C_floor", theta, reduce=_floor)
    yield Metric("VAP", lambda b: theta(b) * (1 - theta(b)), "low")
    yield Metric("Var_R", theta, reduce=_variance)
    yield Metric("PVAP", _vap_and_theta, "low", reduce=_share_of_wording)
    yield Metric("A_original", lambda b: b.per_group(b.right, ~b.target), "high")
    yield Metric("A_paraphrase", _right_and_count, "high", reduce=_pooled)
    yield Metric("A_bucket", theta, "high")


def theta(block: Block) -> Floats:
    return block.per_group(block.right, block.target)


def agreement(block: Block) -> Floats:
    share = theta(block)
    return np.asarray(share**2 + (1 - share) ** 2)


def pair_agreement(block: Block) -> Floats:
    share, n = theta(block), _paraphrases(block)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, 1 - 2 * share * (1 - share) * n / (n - 1), np.nan)


def _paraphrases(block: Block) -> Floats:
    return np.bincount(block.group[block.target & ~np.isnan(block.right)], minlength=block.groups).astype(float)


def _floor(sums: Floats) -> Floats:
    return np.asarray(1 - 2 * _variance(sums))


def _variance(sums: Floats) -> Floats:
    accuracy = mean(sums)
    return np.asarray(accuracy * (1 - accuracy))


def _vap_and_theta(block: Block) -> Floats:
    share = theta(block)
    return np.column_stack([share * (1 - share), share])


def _share_of_wording(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(mean(sums) / _variance(sums[..., 1:]))


def _right_and_count(block: Block) -> Floats:
    share, n = theta(block), _paraphrases(block)
    return np.column_stack([share * n, np.where(np.isnan(share), np.nan, n)])


def _pooled(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])
