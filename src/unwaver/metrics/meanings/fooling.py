"""What the metrics of `unwaver.metrics.fooling` mean, and their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver.meaning import Context, Meaning, Named, Phrase
from unwaver.metrics import charts
from unwaver.metrics.block import Block
from unwaver.metrics.papers import SENSITIVITY
from unwaver.types import Figure, Score


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    del blocks
    own = [s for s in scores if not s.task.startswith("average") and not s.model.startswith("average")]
    yield from _over_k(own)
    yield from _by_model(own)
    divergence = {f"{name}_{state}": state for name in ("js", "ks") for state in ("unflipped", "flipped")}
    sigma = {"sigma_original": "original", "sigma_unflipped": "unflipped", "sigma_flipped": "flipped"}
    family = "Flipped and unflipped variants"
    for title, metric, states, axis in (
        ("Jensen–Shannon divergence", "js_flipped", {k: v for k, v in divergence.items() if k[0] == "j"}, "bits"),
        (
            "Kolmogorov–Smirnov distance",
            "ks_flipped",
            {k: v for k, v in divergence.items() if k[0] == "k"},
            "distance",
        ),
        ("Spread of the probabilities", "sigma_flipped", sigma, "σ"),
    ):
        says = "Of the probabilities on original and variant, where the answer stayed and where it changed."
        if metric == "sigma_flipped":
            says = "Standard deviation of the class probabilities. Greater is surer."
        found = [s for name in states for s in charts.chosen(own, name)]
        if found:
            yield Figure(family, title, says, metric, _by_set(found, states, axis))


def _by_set(found: Sequence[Score], states: dict[str, str], axis: str) -> dict[str, object]:
    names = charts.names_of(found)
    rows = charts.rows_of(found, name=lambda s: names[charts.block_key(s)], colour=lambda s: states[s.metric])
    for row, s in zip(rows, found, strict=True):
        row["says"] = f"{row['name']}, {row['colour']}: {s.metric} {s.value:.3f}"
    return charts.bars(rows, "", axis, format="~g")


_OTHER_ITEMS = "Each k rests on the items with at least k certified paraphrases."


def _over_k(scores: Sequence[Score]) -> Iterator[Figure]:
    for name, title, says in (
        ("r_r", "Relaxed", f"Share of right answers that at least one of k paraphrases changes. {_OTHER_ITEMS}"),
        (
            "r_s",
            "Strict",
            f"Share of right answers that at least one of k paraphrases turns into the opposite. {_OTHER_ITEMS}",
        ),
    ):
        found = charts.chosen(scores, *dict.fromkeys(s.metric for s in scores if s.metric.startswith(f"{name}@")))
        if len({s.metric for s in found}) < 2:
            continue
        names = charts.names_of(found)
        shown = list(dict.fromkeys(names.values()))[: charts.MOST_SERIES]
        rows = charts.rows_of(
            found, x=lambda s: int(s.metric.partition("@")[2]), colour=lambda s, n=names: n[charts.block_key(s)]
        )
        rows = [row for row in rows if row["colour"] in shown]
        ticks = sorted({row["x"] for row in rows})
        spec = charts.lines(rows, "k paraphrases", f"{name}@k", ticks=ticks)
        yield Figure("Fooling rate over k", title, says, f"{name}@<k>", spec)


def _by_model(scores: Sequence[Score]) -> Iterator[Figure]:
    """Figure 2 of the paper: both rates of each model at the k of the protocol, one picture for each set."""
    rates = [s for s in scores if s.metric.startswith(("r_r@", "r_s@"))]
    last = {_set(s): s.metric.partition("@")[2] for s in rates}
    for place in last:
        found = charts.chosen(
            [s for s in rates if _set(s) == place], *(f"{r}@{last[place]}" for r in ("r_s", "r_r"))
        )
        if len({(s.model, s.method) for s in found}) < 2:
            continue
        names = charts.names_of(found)
        rows = charts.rows_of(
            found, name=lambda s, n=names: n[charts.block_key(s)].partition(" · ")[2], colour=lambda s: s.metric
        )
        says = (
            f"Share of right answers that at least one of {last[place]} paraphrases changes (r_r), or turns into "
            "the opposite (r_s)."
        )
        spec = charts.bars(rows, "", "fooling rate", domain=(0, 1))
        yield Figure("Fooling rates of the models", charts.label(place[1]), says, "r_r@<k>", spec)


def _set(s: Score) -> tuple[str, str]:
    return s.suite, s.task


# --- what they mean --------------------------------------------------------------------------------------

_DOCS = "docs/sensitivity.md#the-numbers"
_K = {"k": r"[1-9]\d*"}


def _with_the_most_variants(score: Named, block: Sequence[Named]) -> bool:
    """The last k is the one of the protocol."""
    rates = [s for s in block if s.metric.startswith("r_r@") and s.given is None]
    return rates[-1] is score


def _is_average(score: Score) -> bool:
    return score.task.startswith("average") or score.model.startswith("average")


def _beside(context: Context) -> Sequence[str]:
    """The strict rate and, of a single set, both rates of one paraphrase."""
    strict = context.score.metric.replace("r_r@", "r_s@")
    return (strict,) if _is_average(context.score) else (strict, "r_r@1", "r_s@1")


def items_by_k(context: Context) -> Iterator[str]:
    """How many items each k has, below the k of the protocol."""
    s = context.score
    rates = [r for r in context.block if r.metric.startswith("r_r@") and r.given is None]
    if not context.leads or _is_average(s) or s is not rates[-1] or len({r.counted for r in rates}) < 2:
        return
    counts = ", ".join(f"{r.metric.partition('@')[2]}: {r.counted:,}" for r in rates)
    yield (
        f"{s.suite}/{s.task}/{s.kind} ({s.model}): rates at k use items answered right with at least k "
        f"certified paraphrases, so each k has different items ({counts})"
    )


_STATES = {
    "": "all certified paraphrases of originals answered right",
    "flipped": "certified paraphrases that change the answer",
    "unflipped": "certified paraphrases that do not change the answer",
    "original": "originals answered right",
}
_OF_PAIRS = {
    "js": (
        "Jensen–Shannon divergence",
        "How far the class probabilities move from the original to the paraphrase, in bits",
        "½D(P‖M) + ½D(Q‖M), base 2",
    ),
    "ks": (
        "Kolmogorov–Smirnov distance",
        "Distance between the probabilities of the original's label on originals and on paraphrases",
        "largest distance between the two distribution functions",
    ),
    "embedding_distance": (
        "embedding distance",
        "Distance between the sentence embeddings of original and paraphrase",
        "1 − cosine of mean-pooled embeddings",
    ),
    "overlap_exact": (
        "word overlap",
        "Share of words that original and paraphrase have in common",
        "twice the words in common / words of both; lower case, no punctuation",
    ),
    "overlap_fuzzy": (
        "fuzzy word overlap",
        "Similarity of the words of original and paraphrase",
        "1 − lexical distance: words matched one to one, each pair by the letters in common",
    ),
    "overlap_words": (
        "words in common",
        "Number of words that original and paraphrase have in common",
        "words in common; lower case, no punctuation",
    ),
    "length": ("length", "Number of words in the paraphrase", "number of words"),
    "length_original": ("length of the original", "Number of words in the original", "number of words"),
    "length_context": (
        "length of the context",
        "Number of words in the texts that stay the same, such as the premise",
        "number of words",
    ),
    "pairs": (
        "count",
        "Number of certified paraphrases",
        "count",
    ),
    "sigma": (
        "spread of the class probabilities",
        "How certain the model is: the standard deviation of its class probabilities",
        "σ = population standard deviation of the class probabilities; at most 0.471 for three classes",
    ),
}

_AT_K = (
    "@k = 1 − C(m − f, k) / C(m, k) for an item with m paraphrases, f of them {}; mean over right items with m ≥ k"
)

_NOT_OF_ALL = ("js", "ks", "sigma")
_OF_PARAPHRASES: list[Meaning] = []
for _name, (_title, _says, _formula) in _OF_PAIRS.items():  # loops: a plain run reads this file and calls nothing
    for _state, _where in _STATES.items():
        if _name in _NOT_OF_ALL if _state == "" else _state == "original" and _name != "sigma":
            continue
        _whose = _state if _state == "original" else f"{_state} paraphrases".strip()
        _how = "Counted" if _name == "pairs" else "Averaged"
        _OF_PARAPHRASES.append(
            Meaning(
                f"{_name}_{_state}" if _state else _name,
                title=f"{_title}, {_whose}",
                says=f"{_says}. {_how} over {_where}.",
                formula=_formula,
                paper=SENSITIVITY,
                docs=_DOCS,
            )
        )
for _name in ("embedding", "lexical"):
    _OF_PARAPHRASES.append(
        Meaning(
            f"{_name}_distance_jsd",
            title=f"divergence of {_name} distances",
            says=f"How much the {_name} distances from the original differ in distribution between flipped and "
            "unflipped paraphrases. Large by chance if there are few paraphrases.",
            formula="½D(P‖M) + ½D(Q‖M), base 2, over 20 bins of equal width",
            paper=SENSITIVITY,
            docs=_DOCS,
        )
    )

MEANINGS = (
    Meaning(
        "r_r@<k>",
        title="relaxed fooling rate, k = <k>",
        says="Share of right answers that at least one of <k> certified paraphrases changes. It grows with the "
        "number of paraphrases: never compare rates of different k.",
        formula=_AT_K.format("changing the label"),
        better="low",
        paper=SENSITIVITY,
        docs=_DOCS,
        of=_K,
        examples=("r_r@1", "r_r@5"),
        leads=10,
        leads_if=_with_the_most_variants,
        beside=("r_s@<k>", "r_r@1", "r_s@1"),
        choose=_beside,
        without_gold=("accuracy", "tau_conditioned", "transitive and additive tau"),
        remark=items_by_k,
        figures=figures,
        verdict=Phrase(
            "right answer",
            "right answers",
            "is changed by one of <k> paraphrases",
            "are changed by one of <k> paraphrases",
        ),
    ),
    Meaning(
        "r_s@<k>",
        title="strict fooling rate, k = <k>",
        says="Share of right answers that at least one of <k> certified paraphrases turns into the opposite "
        "label; for neutral, which has no opposite, any change counts. It grows with the number of paraphrases.",
        formula=_AT_K.format("giving the opposite label"),
        better="low",
        paper=SENSITIVITY,
        docs=_DOCS,
        of=_K,
        examples=("r_s@1", "r_s@5"),
    ),
    *_OF_PARAPHRASES,
)
