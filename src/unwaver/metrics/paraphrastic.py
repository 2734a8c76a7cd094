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

from collections.abc import Iterator, Sequence

import numpy as np

from unwaver.metrics import charts
from unwaver.metrics.block import Block, Bools, Metric
from unwaver.metrics.pareto import Point, consistency_at, pareto
from unwaver.stats import Floats, Reduce, mean
from unwaver.types import Figure, Score

PUBLISHED = "paranlu"


def metrics(block: Block) -> Iterator[Metric]:
    if block.expect != "bucket":
        return
    yield Metric("P_C", within, "high", reduce=_consistency, each=_one_minus_two)
    yield Metric("P_C_pairs", within_pairs, "high", reduce=_consistency, each=_one_minus_two)
    yield Metric("P_C_floor", _theta_of_several, reduce=_floor)
    yield Metric("P_C_independent", _if_independent, reduce=_independent)
    yield Metric("VAP", within, "low")
    yield Metric("Var_R", _theta_of_several, reduce=_variance)
    yield Metric("PVAP", _within_and_theta, "low", reduce=_share_of_wording)
    yield Metric("A_original", lambda b: b.per_group(b.right, ~b.target), "high")
    yield Metric("A_paraphrase", _right_and_count, "high", reduce=_ratio)
    yield Metric("A_bucket", theta, "high")
    if block.test is not None:
        yield Metric("A_test", theta, "high", of_test=True)
    if block.weight is not None:
        yield from _corrected(block)


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

    With replicates a wording is right with a probability of its own, and repeats of it are no pair.
    """
    share, n, between_repeats = _wordings(block)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, (n**2 * share * (1 - share) - between_repeats) / (n * (n - 1)), np.nan)


def torn(block: Block) -> Floats:
    """1 where a bucket was answered in different ways: right and wrong, or without gold by several labels."""
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
        return np.asarray(mean(sums) / _variance(sums[..., 1:]))


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
    yield Metric("A_corrected", _weighted_theta, "high", reduce=_ratio)
    yield Metric("P_C_corrected", _weighted_within, "high", reduce=_weighted_consistency)
    yield Metric("A_corrected_published", _weighted_theta, "high", reduce=_times(mass, _ratio))
    yield Metric("P_C_corrected_published", _weighted_within, "high", reduce=_times(mass, _weighted_consistency))
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


# --- pictures -----------------------------------------------------------------------------------------------

SHARES = (0.25, 0.5, 0.75)  # curves of constant PVAP
BINS = 10


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    for accuracy, consistency, form in (("A_bucket", "P_C", ""), ("A_corrected", "P_C_corrected", ", corrected")):
        points = pareto(scores, accuracy, consistency)
        for relation in dict.fromkeys(p.relation for p in points):
            own = [p for p in points if p.relation == relation]
            yield _among_curves(own, charts.label(relation) + form, consistency)
    for block in blocks:
        if block.expect == "bucket":
            yield from _distribution(block)


def _among_curves(points: Sequence[Point], title: str, metric: str) -> Figure:
    says = (
        "The lowest curve is the least P_C that an accuracy allows; on the others wording makes 25, 50 and 75 % "
        "of the variance of right and wrong."
    )
    if len(points) > 1:
        says += " Ringed: no other model is better in both."
    spec = accuracy_and_consistency(points)
    return Figure("Accuracy against consistency", title, says, metric, spec)


def accuracy_and_consistency(points: Sequence[Point]) -> dict[str, object]:
    grid = np.linspace(0, 1, 51)
    curves = [
        {"accuracy": float(a), "value": float(consistency_at(a, share)), "share": share, "floor": share == 1.0}
        for share in (*SHARES, 1.0)
        for a in grid
    ]
    named_at = 0.5
    ends = [
        {"accuracy": named_at, "value": consistency_at(named_at, s), "text": f"PVAP {100 * s:.0f} %"}
        for s in SHARES
    ]
    ends.append({"accuracy": named_at, "value": consistency_at(named_at, 1.0), "text": "least P_C"})
    rows = [
        {
            "accuracy": p.accuracy,
            "value": p.consistency,
            "front": p.front and len(points) > 1,
            "colour": charts.label(p.model, 40),
            "says": charts.label(
                f"{p.model}: accuracy {charts.percent(p.accuracy)}, P_C {charts.percent(p.consistency)}"
                + (f", PVAP {charts.percent(p.share)}" if p.share is not None else "")
                + (", on the front" if p.front and len(points) > 1 else ""),
                200,
            ),
        }
        for p in points
    ]
    x = charts.ACCURACY
    y = {
        "field": "value",
        "type": "quantitative",
        "axis": charts.share_axis("P_C", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        "scale": {"domain": [0.45, 1], "nice": False},
    }
    curve = {
        "data": {"values": curves},
        "mark": {"type": "line", "color": charts.MUTED, "strokeWidth": 1.2, "aria": False},
        "encoding": {
            "x": x,
            "y": y,
            "detail": {"field": "share", "type": "nominal"},
            "strokeDash": {"condition": {"test": "datum.floor", "value": [1, 0]}, "value": [4, 3]},
        },
    }
    named = {
        "data": {"values": ends},
        "mark": {"type": "text", "dy": 10, "color": charts.MUTED, "fontSize": 11, "aria": False},
        "encoding": {"x": x, "y": y, "text": {"field": "text", "type": "nominal"}},
    }
    ring = {
        "transform": [{"filter": "datum.front"}],
        "mark": {"type": "point", "size": 230, "color": charts.INK, "strokeWidth": 1.5, "aria": False},
        "encoding": {"x": x, "y": y},
    }
    dots = {
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": charts.COLOURS[0]},
        "encoding": {"x": x, "y": y, **charts.colour(rows), **charts.SAYS},
    }
    return charts.spec([curve, named, ring, dots], rows, height=240)


def _distribution(block: Block) -> Iterator[Figure]:
    values = theta(block)
    values = values[block.complete & ~np.isnan(values)]
    if len(values) < 2:
        return
    counts = np.bincount(np.minimum((values * BINS + 1e-9).astype(int), BINS - 1), minlength=BINS)
    rows = [
        {
            "from": n / BINS,
            "to": (n + 1) / BINS,
            "value": int(count),
            "says": f"{100 * n // BINS} – {100 * (n + 1) // BINS} % right: {count:,} problems",
        }
        for n, count in enumerate(counts)
    ]
    x = {
        "field": "from",
        "type": "quantitative",
        "bin": {"binned": True, "step": 1 / BINS},
        "axis": charts.share_axis("wordings of a problem that were answered right", grid=False),
    }
    y = {"field": "value", "type": "quantitative", "axis": {"title": "problems", "tickCount": 5, "format": "~s"}}
    bars = {
        "mark": {"type": "bar", "color": charts.GOOD},
        "encoding": {"x": x, "x2": {"field": "to"}, "y": y, **charts.SAYS},
    }
    says = "All on the left or the right: the wording does not matter. In the middle: it decides."
    title = charts.label(f"{block.task}/{block.kind} · {block.model}", 60)
    yield Figure("Bucket accuracy", title, says, "P_C", charts.spec([bars], rows, height=160))
