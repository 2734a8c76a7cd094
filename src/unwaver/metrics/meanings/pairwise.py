"""What the metrics of `unwaver.metrics.pairwise` mean, and their figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unwaver import registry
from unwaver.meaning import AnyNamed, Context, Meaning, Named, Phrase
from unwaver.metrics import charts
from unwaver.metrics.agreed import WORDING, field_notions, notions, of_wordings, pairs
from unwaver.metrics.block import Block, Codes
from unwaver.metrics.meanings.violation import phrase_of
from unwaver.metrics.papers import GENERATION
from unwaver.stats import Floats
from unwaver.types import Figure, Score


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    del scores
    for block in blocks:
        columns, same = different(by_pair(block)[0])
        if len(columns) > 1:
            title = charts.label(f"{block.task}/{block.kind} · {block.model}", 60)
            says = "Spearman's ρ over pairs of answers to distinct wordings. Accuracy of a pair: the mean of both."
            says += "".join(
                f" {one.capitalize()} gives the same values as {other}." for one, other in same.items()
            )
            spec = correlations(columns)
            named = f"Cons_{next(iter(notions(block)))}"
            yield Figure("Do the notions of agreement agree?", title, says, named, spec)


def by_pair(block: Block) -> tuple[dict[str, Floats], Codes]:
    """Over the ordered pairs of answers to distinct wordings: the values of each agreement, NaN where it has none,
    and accuracy; and the group of each pair. Columns that are the same everywhere are left out."""
    rows = len(block.group)
    columns = {}
    for name in notions(block):
        found = pairs(block, name)
        chosen = of_wordings(block, found)
        places = (found.i * rows + found.j)[chosen].tolist()
        columns[name] = dict(zip(places, found.value[chosen].tolist(), strict=True))
    every = np.array(sorted({place for column in columns.values() for place in column}), dtype=np.int64)
    values = {name: np.array([column.get(p, np.nan) for p in every.tolist()]) for name, column in columns.items()}
    if values:
        values["accuracy"] = (block.right[every // rows] + block.right[every % rows]) / 2
    varied = {name: v for name, v in values.items() if len(np.unique(v[~np.isnan(v)])) > 1}
    return varied, block.group[every // rows]


def different(columns: dict[str, Floats]) -> tuple[dict[str, Floats], dict[str, str]]:
    """Columns that differ from those before them, and of the others which one they equal: a matrix of two
    agreements that are the same says nothing."""
    kept: dict[str, Floats] = {}
    same: dict[str, str] = {}
    for name, values in columns.items():
        equal = next(
            (other for other, known in kept.items() if np.array_equal(values, known, equal_nan=True)), None
        )
        if equal is None:
            kept[name] = values
        else:
            same[name] = equal
    return kept, same


def correlations(columns: dict[str, Floats]) -> dict[str, object]:
    """Spearman's ρ of every two columns, over the places that both have."""
    from scipy.stats import spearmanr

    names = list(columns)
    cells = []
    for n, other in enumerate(names):  # column by column: each begins with a new name, whatever cells are missing
        for one in names[: n + 1]:
            both = ~np.isnan(columns[one]) & ~np.isnan(columns[other])
            a, b = columns[one][both], columns[other][both]
            if len(a) < 3 or len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
                continue
            rho = 1.0 if one == other else float(spearmanr(a, b).statistic)
            says = f"{one} and {other}: ρ = {rho:.2f}, {len(a):,} pairs"
            cells.append({"row": charts.label(one), "column": charts.label(other), "value": rho, "says": says})
    return charts.heat(cells, "", "", scheme="blueorange", domain=(-1, 1), text=".2f")


# --- what they mean --------------------------------------------------------------------------------------

_DOCS = "docs/text.md#the-numbers"


def _agreement_names() -> Iterable[str]:
    return registry.names("agreements")


def _scorer_names() -> Iterable[str]:
    """References are read as they are, or a model rates; --scorer NAME=MODEL can give it another name."""
    return "contains", "rouge1", *registry.names("scorers")


def means_of(block: Sequence[AnyNamed]) -> list[AnyNamed]:
    """The means of agreement that a block of free text has, the one that leads first: Cons_rouge1, not
    Cons_rouge1@0.5."""
    shares = {s.metric.rpartition("@")[0] for s in block if s.metric.startswith("Cons_")}
    return [s for s in block if s.metric in shares]


def _of_free_text(score: Named, block: Sequence[Named]) -> bool:
    return score in means_of(block)


def _beside(context: Context) -> Iterator[str]:
    """Beside tau every agreement: its mean, its share at the threshold where that is another number, its repeats
    and the gap to them, and the questions with --compare-questions; then how many answers are alike, and how many
    are right."""
    for mean in means_of(context.block):
        yield mean.metric
        yield from (s.metric for s in context.block if s.metric.startswith(f"tau{mean.metric[4:]}."))
        shares = (s for s in context.block if s.metric.startswith(f"{mean.metric}@"))
        yield from (s.metric for s in shares if s.value != mean.value)
        yield from (f"{mean.metric}_repeat", f"{mean.metric}_gap")
        if context.run.get("config", {}).get("compare_questions"):
            yield f"{mean.metric}_questions"
    yield from ("wording_share", "majority_share", "format_kept", "format_kept_all")
    yield from (name for name in ("P_C", "P_C_pairs") if context.value(name) is not None)
    names = (s.metric for s in context.block)
    yield from (name for name in names if name.startswith("accuracy_") and name != "accuracy_variants")


def _about_sets(context: Context) -> Iterator[str]:
    """The number of different answers, which is not a share."""
    s, entropy = context.score, context.beside("cluster_entropy")
    if {mean.metric for mean in means_of(context.block)[:1]} & {f"Cons_{name}" for name in WORDING}:
        return
    if s.value is not None and entropy is not None and entropy.value is not None:
        yield (
            f"{s.task}/{s.kind} ({s.method}): a question has {_plain(s)} different answers "
            f"(clusters), {_plain(entropy)} bits (cluster_entropy), over {s.counted:,} questions"
        )


def _plain(s: Score) -> str:
    interval = "" if s.low is None or s.high is None else f" [{s.low:.2f} – {s.high:.2f}]"
    return f"{s.value:.2f}{interval}"


def _verdict(agreement: str, s: Score) -> Phrase:
    """The sentence about tau. Answers that must differ, or follow from others, are not broken because they do not
    agree."""
    if s.kind.partition("_")[0] in ("negational", "transitive", "additive"):
        return phrase_of(s)
    said = f"answers that do not agree ({agreement})"
    return Phrase("question", "questions", f"gets {said}", f"get {said}")


_AGREEMENT = {"agreement": _agreement_names}
_FAMILY = (
    Meaning(
        "Cons_<agreement>",
        title="agreement of answers by <agreement>",
        says="Mean agreement of answers to different wordings of one question, measured by <agreement>. "
        "Empty answers are dropped; a question with fewer than two does not apply.",
        formula="mean of f(y_i, y_j) over ordered pairs i ≠ j of answers to distinct wordings, by question, then "
        "over questions",
        better="high",
        paper=GENERATION,
        docs=_DOCS,
        of=_AGREEMENT,
        leads=20,
        leads_if=_of_free_text,
        led_by="tau",
        beside=(
            "Cons_<agreement>@<t>",
            "Cons_<agreement>_repeat",
            "wording_share",
            "majority_share",
            "accuracy_<scorer>",
        ),
        choose=_beside,
        without_gold=("accuracy",),
        figures=figures,
        verdict=partial(_verdict, "<agreement>"),
    ),
    Meaning(
        "Cons_<agreement>@<t>",
        title="share of answer pairs at <agreement> ≥ <t>",
        says="Share of pairs of answers to distinct wordings whose <agreement> value is at least <t>.",
        formula="mean of [f(y_i, y_j) ≥ <t>] over ordered pairs i ≠ j, by question, then over questions",
        better="high",
        paper=GENERATION,
        docs=_DOCS,
        of={**_AGREEMENT, "t": r"[01]?\.?\d+"},
    ),
    Meaning(
        "Cons_<agreement>_repeat",
        title="agreement of repeats by <agreement>",
        says="Mean agreement of repeated answers to one wording, measured by <agreement>: sampling noise.",
        formula="mean of f over ordered pairs of repeats of one wording, by question, then over questions",
        better="high",
        paper=f"{GENERATION}; among repeats: unwaver",
        docs=_DOCS,
        of=_AGREEMENT,
    ),
    Meaning(
        "Cons_<agreement>_questions",
        title="agreement of the questions by <agreement>",
        says="Mean agreement of the wordings of a question themselves, measured by <agreement>.",
        formula="mean of f over ordered pairs of distinct wordings, by question, then over questions",
        better="high",
        paper=GENERATION,
        docs=_DOCS,
        of=_AGREEMENT,
    ),
    Meaning(
        "Cons_<agreement>_accurate",
        title="agreement of accurate answers by <agreement>",
        says="Mean agreement of the accurate answers to one question, measured by <agreement>. A question with "
        "fewer than two accurate answers does not apply; the value can exceed the one over all answers.",
        formula="mean of f over ordered pairs of accurate answers, by question, then over questions",
        better="high",
        paper=GENERATION,
        docs=_DOCS,
        of=_AGREEMENT,
    ),
    Meaning(
        "Cons_<agreement>_joint",
        title="share of answer pairs that agree by <agreement> and are accurate",
        says="Share of pairs of answers that agree by <agreement> and are both accurate.",
        formula="mean of [pair agrees at the threshold, both accurate] over ordered pairs, by question, then over "
        "questions",
        better="high",
        paper=f"{GENERATION}; this form: unwaver",
        docs=_DOCS,
        of=_AGREEMENT,
    ),
)
# where less of it is better, an agreement is a disagreement
_OF_LOW = {
    "": "contradiction between answers",
    "@<t>": "share of answer pairs at contradict ≥ <t>",
    "_repeat": "contradiction between repeats",
    "_questions": "contradiction between the questions",
    "_accurate": "contradiction between accurate answers",
    "_joint": "share of answer pairs that do not contradict each other and are accurate",
}

_OF_CONTRADICTION: list[Meaning] = []
for _low in ("contradict",):
    for _meaning in _FAMILY:
        _OF_CONTRADICTION.append(
            replace(
                _meaning.filled({"agreement": _low}),
                title=_OF_LOW[_meaning.name.removeprefix("Cons_<agreement>")],
                says=_meaning.says.replace("Mean agreement of", "Mean probability of contradiction between")
                .replace(", measured by <agreement>", "")
                .replace("agree by <agreement>", "do not contradict each other")
                .replace("<agreement>", _low),
                better="high" if _meaning.name.endswith("_joint") else "low",
            )
        )


def figures_of_fields(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    """The share of groups in which each field differs, for each model and relation."""
    for block in blocks:
        names = {f"tau_{name}": name for name in field_notions(block)}
        own = [s for s in charts.chosen(scores, *names) if charts.block_key(s) == charts.block_key(block)]
        if len(own) > 1:
            rows = charts.rows_of(own, name=lambda s, names=names: charts.label(names[s.metric]))
            title = charts.label(f"{block.task}/{block.kind} · {block.model}", 60)
            says = "Share of groups in which the field or argument differs between two answers, 95 % intervals."
            spec = charts.intervals(rows, "groups in which it differs")
            yield Figure("Which fields differ?", title, says, own[0].metric, spec)


_OF_FIELDS: list[Meaning] = []
for _whole, _of in (("json", "JSON answers"), ("tool", "calls of tools")):
    _OF_FIELDS += [
        Meaning(
            f"Cons_{_whole}.<field>",
            title=f"agreement of <field> in {_of}",
            says=f"Mean agreement of <field> in {_of} to different wordings of one question. An answer "
            "without the field differs from one that has it.",
            formula="mean of f(y_i.<field>, y_j.<field>) over ordered pairs i ≠ j, by question, then over "
            "questions",
            better="high",
            docs="docs/text.md#json-and-tool-calls",
            of={"field": r"[^@]+"},
        ),
        Meaning(
            f"tau_{_whole}.<field>",
            title=f"share of groups in which <field> differs in {_of}",
            says=f"Share of groups in which two {_of} to different wordings differ in <field>.",
            formula="groups with two answers whose <field> does not agree / groups",
            better="low",
            docs="docs/text.md#json-and-tool-calls",
            of={"field": r"[^@]+"},
            figures=figures_of_fields,
        ),
    ]

MEANINGS = (
    *_FAMILY,
    *_OF_CONTRADICTION,
    *_OF_FIELDS,
    Meaning(
        "accuracy_<scorer>",
        title="accuracy by <scorer>",
        says="Share of all answers that are right by <scorer>. rouge1: closer to a true reference than to every "
        "false one; contains: the answer contains a right answer; others: a model says so.",
        formula="right answers / answers, originals and variants",
        better="high",
        paper=GENERATION,
        docs=_DOCS,
        of={"scorer": _scorer_names},
    ),
    Meaning(
        "clusters",
        title="number of different answers",
        says="Number of different answers to a question. Answers that agree by the first --agree count as the "
        "same.",
        formula="number of sets of answers that are connected by pairs at the threshold; mean over questions",
        docs=_DOCS,
        remark=_about_sets,
    ),
    Meaning(
        "cluster_entropy",
        title="entropy of different answers",
        says="How evenly the answers to a question are spread over the different ones, in bits.",
        formula="−Σ p·log₂ p, p the share of answers in each set; mean over questions",
        better="low",
        docs=_DOCS,
    ),
    Meaning(
        "majority_share",
        title="share of the most frequent answer",
        says="Share of the answers to a question that are the most frequent one. Answers that agree by the "
        "first --agree count as the same.",
        formula="size of the largest set of answers / answers; mean over questions",
        better="high",
        docs=_DOCS,
    ),
)
