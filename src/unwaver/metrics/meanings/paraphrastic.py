"""What the metrics of `unwaver.metrics.paraphrastic` mean, and their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unwaver.meaning import Context, Meaning, Phrase, if_measured
from unwaver.metrics import charts
from unwaver.metrics.block import Block
from unwaver.metrics.papers import PARANLU
from unwaver.metrics.paraphrastic import theta
from unwaver.metrics.pareto import Point, consistency_at, pareto
from unwaver.types import Figure, Score

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
    where = among_curves()
    ring = {
        "transform": [{"filter": "datum.front"}],
        "mark": {"type": "point", "size": 230, "color": charts.INK, "strokeWidth": 1.5, "aria": False},
        "encoding": where.place,
    }
    return charts.spec([*where.layers, ring, where.dots(rows)], rows, height=240)


@dataclass(frozen=True)
class AmongCurves:
    """Accuracy across, P_C upwards: where to put things, and the curves of constant PVAP behind them."""

    place: dict[str, object]
    layers: list[dict[str, object]]

    def dots(self, rows: charts.Rows) -> dict[str, object]:
        return {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": charts.COLOURS[0]},
            "encoding": {**self.place, **charts.colour(rows), **charts.SAYS},
        }


def among_curves(
    accuracy: str = "accuracy", consistency: str = "P_C", least: float = 0.45, named_at: float = 0.5
) -> AmongCurves:
    grid = np.linspace(0, 1, 51)
    curves = [
        {"accuracy": float(a), "value": float(consistency_at(a, share)), "share": share, "floor": share == 1.0}
        for share in (*SHARES, 1.0)
        for a in grid
    ]
    ends = [
        {"accuracy": named_at, "value": consistency_at(named_at, s), "text": f"PVAP {100 * s:.0f} %"}
        for s in SHARES
    ]
    ends.append({"accuracy": named_at, "value": consistency_at(named_at, 1.0), "text": "least P_C"})
    x = charts.accuracy_axis()
    x = {**x, "axis": {**x["axis"], "title": accuracy}}
    ticks = [n / 10 for n in range(round(10 * least + 0.5), 11)]
    y = {
        "field": "value",
        "type": "quantitative",
        "axis": charts.share_axis(consistency, values=ticks),
        "scale": {"domain": [least, 1], "nice": False},
    }
    place: dict[str, object] = {"x": x, "y": y}
    curve = {
        "data": {"values": curves},
        "mark": {"type": "line", "color": charts.MUTED, "strokeWidth": 1.2, "aria": False},
        "encoding": {
            **place,
            "detail": {"field": "share", "type": "nominal"},
            "strokeDash": {"condition": {"test": "datum.floor", "value": [1, 0]}, "value": [4, 3]},
        },
    }
    align = "center" if named_at == 0.5 else "right"  # left of the middle, curves fall to the right
    named = {
        "data": {"values": ends},
        "mark": {"type": "text", "dy": 10, "align": align, "color": charts.MUTED, "fontSize": 11, "aria": False},
        "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
    }
    return AmongCurves(place, [curve, named])


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


# --- what they mean --------------------------------------------------------------------------------------

_MEASURES = ("P_C", "Cons_lex", "Cons_lex_repeat", "tau")  # of buckets


def _beside(context: Context) -> Iterator[str]:
    """P_C is never shown without its pair form and its accuracies."""
    form = "_published" if context.run.get("weights") == "published" else ""
    yield from ("P_C_pairs", "A_paraphrase", f"P_C_corrected{form}", f"A_corrected{form}", "A_test")
    yield from (name for name in ("Cons_lex", "Cons_lex_repeat") if context.value(name) is not None)


def _about_buckets(context: Context) -> Iterator[str]:
    s = context.score
    name = f"{s.suite}/{s.task}/{s.kind}"
    if "identical" in s.flags:
        yield (
            f"{name}: {s.model} gives one answer to all wordings of every problem, though not always the "
            "right one: the paraphrase may never have reached the model"
        )
    if s.not_applicable and s.value is not None:
        yield f"{name}: P_C leaves out groups with fewer than two judged answers: {s.not_applicable:,}"
    answered = s.groups - s.failed - s.not_asked > 0
    if answered and all(context.value(metric) is None for metric in _MEASURES):
        yield (
            f"{name}: nothing was measured: no group has a second judged wording or a second answer, so there "
            "is nothing to compare"
        )


def _about_test_set(context: Context) -> Iterator[str]:
    s = context.score
    if s.value is not None and context.value("A_corrected") is None:
        yield (
            f"{s.suite}/{s.task}/{s.kind}: no corrected values: they need the probability of the right answer to "
            "originals and test items, and these answers have none"
        )


def _about_lost_mass(context: Context) -> Iterator[str]:
    s = context.score
    if s.value is not None and s.value < 1 - 1e-9:
        name, lost = f"{s.suite}/{s.task}/{s.kind}", f"{100 * (1 - s.value):.2g} %"
        yield f"{name}: {lost} of the test set is in bins without a problem, so …_published lose it"


_PAIRS = Phrase(
    "pair of paraphrases",
    "pairs of paraphrases",
    "is right in one wording and wrong in the other",
    "are right in one wording and wrong in the other",
)
_PAGE = "docs/paraphrastic.md"
_CORRECTED = f"{_PAGE}#corrected-values"


MEANINGS = (
    Meaning(
        "P_C",
        title="paraphrastic consistency",
        says="Probability that two paraphrases of one problem are both answered right or both wrong. A paraphrase "
        "is also paired with itself, as published; P_C_pairs leaves these pairs out. Problems with one judged "
        "wording do not apply.",
        formula="P_C = mean of θ² + (1 − θ)², θ the share of a problem's paraphrases answered right; 1 − 2·VAP",
        better="high",
        paper=PARANLU,
        docs=_PAGE,
        leads=50,
        leads_if=if_measured,
        beside=(
            *("P_C_pairs", "A_paraphrase", "P_C_corrected", "A_corrected", "A_test"),
            *("Cons_lex", "Cons_lex_repeat"),
        ),
        choose=_beside,
        chance="P_C_independent",
        chance_says="expected value if answers were independent",
        remark=_about_buckets,
        figures=figures,
        verdict=_PAIRS,
        verdict_of=("P_C_pairs", "P_C_repeats"),
    ),
    Meaning(
        "P_C_pairs",
        title="paraphrastic consistency over distinct pairs",
        says="Probability that two different paraphrases of one problem are both answered right or both wrong.",
        formula="mean of 1 − 2·θ(1 − θ)·n/(n − 1) for n paraphrases, θ the share of them answered right",
        better="high",
        paper=f"{PARANLU}; this form: unwaver",
        docs=_PAGE,
        chance="P_C_floor",
        chance_says="expected value if answers were independent",
        verdict=_PAIRS,
    ),
    Meaning(
        "P_C_floor",
        title="lowest paraphrastic consistency at this accuracy",
        says="The lowest P_C that the accuracy on paraphrases allows. It is also the chance value of P_C_pairs.",
        formula="1 − 2·A(1 − A), A = mean θ",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "P_C_independent",
        title="paraphrastic consistency of independent answers",
        says="Expected P_C if wordings were answered independently. It is the chance value of P_C.",
        formula="1 − 2·A(1 − A)(1 − mean 1/n), A = mean θ, n paraphrases a problem: three coin flips give 2/3",
        docs=_PAGE,
    ),
    Meaning(
        "VAP",
        title="variance attributable to paraphrasing",
        says="Variance of right and wrong within a problem: how much the wording alone changes.",
        formula="VAP = mean of θ(1 − θ); P_C = 1 − 2·VAP",
        better="low",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "Var_R",
        title="variance of correctness",
        says="Variance of right and wrong over all paraphrases, problems weighted equally.",
        formula="Var_R = VAP + Var(θ) = A(1 − A), A = mean θ",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "PVAP",
        title="proportion of variance attributable to paraphrasing",
        says="Share of the variance of right and wrong that is due to wording.",
        formula="PVAP = VAP / Var_R",
        better="low",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "A_original",
        title="accuracy on originals",
        says="Share of right answers to the original wordings.",
        formula="mean of [original right]",
        better="high",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "A_paraphrase",
        title="accuracy on paraphrases",
        says="Share of right answers to paraphrases, all problems pooled.",
        formula="right paraphrases / paraphrases",
        better="high",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "A_bucket",
        title="mean accuracy per problem",
        says="Share of right answers to the paraphrases of a problem, averaged over problems.",
        formula="mean θ",
        better="high",
        paper=PARANLU,
        docs=_PAGE,
    ),
    Meaning(
        "A_test",
        title="accuracy on the test set",
        says="Share of right answers on the full test set that the problems were sampled from.",
        formula="mean of [test item right]",
        better="high",
        paper=PARANLU,
        docs=_CORRECTED,
        remark=_about_test_set,
    ),
    Meaning(
        "P_C_corrected",
        title="corrected paraphrastic consistency",
        says="P_C with weights that sum to 1 and correct for how the problems were sampled.",
        formula="Σ w·(θ² + (1 − θ)²) / Σ w",
        better="high",
        paper=PARANLU,
        docs=_CORRECTED,
    ),
    Meaning(
        "A_corrected",
        title="corrected accuracy",
        says="Accuracy on paraphrases with weights that sum to 1 and correct for how the problems were sampled.",
        formula="Σ w·θ / Σ w",
        better="high",
        paper=PARANLU,
        docs=_CORRECTED,
    ),
    Meaning(
        "P_C_corrected_published",
        title="corrected paraphrastic consistency, published weights",
        says="P_C with the published weights, which correct for how the problems were sampled.",
        formula="Σ w·(θ² + (1 − θ)²)",
        better="high",
        paper=PARANLU,
        docs=_CORRECTED,
    ),
    Meaning(
        "A_corrected_published",
        title="corrected accuracy, published weights",
        says="Accuracy on paraphrases with the published weights, which correct for how problems were sampled.",
        formula="Σ w·θ",
        better="high",
        paper=PARANLU,
        docs=_CORRECTED,
    ),
    Meaning(
        "weight_mass",
        title="sum of the published weights",
        says="What the published weights sum to. Test predictions in bins without a problem are lost from it.",
        formula="Σ w",
        paper=PARANLU,
        docs=_CORRECTED,
        remark=_about_lost_mass,
    ),
)
