"""Consistency of generated text: how far the answers to one question agree (Raj, Rosati and Majumdar 2022).

    Cons_<f>            mean of f over ordered pairs of answers to distinct wordings, by question, then of these
    Cons_<f>@t          share of these pairs with f at or above t
    Cons_<f>_repeat     the mean among replicates of one wording: sampling noise, beside that of wording
    Cons_<f>_questions  the mean among the wordings themselves: how alike are the questions?
    Cons_<f>_accurate   the mean among the accurate answers only; fewer than two: null
    Cons_<f>_joint      share of pairs that agree (f at or above t) and are both accurate
    accuracy_rouge1     share of all answers that are closer (ROUGE-1) to a true reference than to every false one
    accuracy_contains   share of all answers in which a right answer stands
    accuracy_<scorer>   share of all answers that a model calls right, or closer to a true reference
    clusters            groups of answers that say the same: connected by bidirectional entailment
    cluster_entropy     their entropy, in bits
    majority_share      share of answers in the largest of them; without an NLI model, of the most frequent answer

Empty answers are dropped; a question with fewer than two does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np

from unwaver.metrics.block import Block, Bools, Codes, Metric
from unwaver.stats import Floats


class Pairs(NamedTuple):
    """One entry for each ordered pair of rows of a group whose value is known."""

    i: Codes
    j: Codes
    value: Floats


LOW = ("contradict",)  # agreements of which less is better


def metrics(block: Block) -> Iterator[Metric]:
    found = agreements(block)
    for name, threshold in found.items():
        t = f"{threshold:g}"
        better: Literal["low", "high"] = "low" if name in LOW else "high"
        yield Metric(f"Cons_{name}", partial(_mean, name=name, chosen=of_wordings))
        yield Metric(f"Cons_{name}@{t}", partial(_share, name=name, t=threshold))
        if block.trials > block.groups:
            yield Metric(f"Cons_{name}_repeat", partial(_mean, name=name, chosen=_repeats))
        yield Metric(f"Cons_{name}_questions", partial(_mean, name=name, chosen=_questions, of="agree_questions_"))
        if not np.isnan(block.right).all():
            yield Metric(f"Cons_{name}_accurate", partial(_mean, name=name, chosen=_accurate))
            yield Metric(f"Cons_{name}_joint", partial(_joint, name=name, t=threshold, better=better))
    if block.right_by is not None:
        for way in block.right_by.unique().drop_nulls().sort():
            yield Metric(f"accuracy_{way}", partial(_judged_by, way=way), reduce=_ratio)
    for scorer in block.rated:
        yield Metric(f"accuracy_{scorer}", partial(_rated_by, scorer=scorer), reduce=_ratio)
    if found:
        if "bidirectional" in found:
            yield Metric("clusters", _clusters, share=False)
            yield Metric("cluster_entropy", _entropy, share=False)
        yield Metric("majority_share", _majority)


def agreements(block: Block) -> dict[str, float]:
    """The agreements that the table has values of, with their thresholds; none where every value is missing."""
    names = [n.removeprefix("agree_") for n in block.agree if not n.startswith("agree_questions_")]
    known = [n for n in names if block.agree[f"agree_{n}"].null_count() < len(block.group)]
    return {name: float(t) for name, _, t in (n.rpartition("@") for n in known)}


@lru_cache(maxsize=4)  # the metrics of one agreement follow one another
def pairs(block: Block, name: str, of: str = "agree_") -> Pairs:
    column = block.agree[f"{of}{name}@{agreements(block)[name]:g}"]
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    i = np.repeat(np.arange(len(column)), lengths)
    value = column.drop_nulls().list.explode(keep_nulls=True).fill_null(np.nan).to_numpy().astype(np.float64)
    # the nth value of a row belongs to the nth row of its group
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(i)) - starts[i]
    first = _first_row(block)
    order = np.argsort(block.group, kind="stable")
    j = order[first[block.group[i]] + place]
    known = ~np.isnan(value)
    return Pairs(i[known], j[known], value[known])


def _first_row(block: Block) -> Codes:
    """Where the rows of each group begin, when rows are sorted by group."""
    counts = np.bincount(block.group, minlength=block.groups)
    return np.asarray(np.cumsum(counts) - counts, dtype=np.int64)


Chosen = Callable[[Block, Pairs], Bools]


def of_wordings(block: Block, found: Pairs) -> Bools:
    return np.asarray(block.wording[found.i] != block.wording[found.j])


def _repeats(block: Block, found: Pairs) -> Bools:
    return np.asarray(block.wording[found.i] == block.wording[found.j])


def _questions(block: Block, found: Pairs) -> Bools:
    """The wordings of one replicate; those of the others are the same."""
    least = np.full(block.groups, block.trials)
    np.minimum.at(least, block.group, block.trial)
    first = block.trial == least[block.group]
    return np.asarray(of_wordings(block, found) & first[found.i] & first[found.j])


def _accurate(block: Block, found: Pairs) -> Bools:
    return np.asarray(of_wordings(block, found) & (block.right[found.i] == 1.0) & (block.right[found.j] == 1.0))


def _per_group(block: Block, found: Pairs, values: Floats, rows: Bools) -> Floats:
    group = block.group[found.i[rows]]
    counts = np.bincount(group, minlength=block.groups)
    sums = np.bincount(group, weights=values[rows], minlength=block.groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts, dtype=np.float64)


def _mean(block: Block, name: str, chosen: Chosen, of: str = "agree_") -> Floats:
    found = pairs(block, name, of)
    return _per_group(block, found, found.value, chosen(block, found))


def mean_agreement(block: Block, name: str) -> Floats:
    """Per group, over pairs of answers to distinct wordings."""
    return _mean(block, name, of_wordings)


def _share(block: Block, name: str, t: float) -> Floats:
    found = pairs(block, name)
    return _per_group(block, found, (found.value >= t).astype(float), of_wordings(block, found))


def agreeing_shares(block: Block, name: str, t: float, better: str) -> tuple[Floats, Floats]:
    """Per question, over pairs of answers to distinct wordings: the share that agrees, and the share of texts that
    are the same letter for letter."""
    found = pairs(block, name)
    agree = found.value >= t if better == "high" else found.value < t
    same = block.code[found.i] == block.code[found.j]
    rows = of_wordings(block, found)
    return tuple(_per_group(block, found, x.astype(float), rows) for x in (agree, same))  # type: ignore[return-value]


def _joint(block: Block, name: str, t: float, better: str) -> Floats:
    """Of pairs whose accuracy is known."""
    found = pairs(block, name)
    agree = found.value >= t if better == "high" else found.value < t
    known = ~np.isnan(block.right[found.i]) & ~np.isnan(block.right[found.j])
    both = agree & (block.right[found.i] == 1.0) & (block.right[found.j] == 1.0)
    return _per_group(block, found, both.astype(float), of_wordings(block, found) & known)


def _judged_by(block: Block, way: str) -> Floats:
    assert block.right_by is not None
    return _all_answers(block, block.right, (block.right_by == way).fill_null(False).to_numpy())


def _rated_by(block: Block, scorer: str) -> Floats:
    right = block.rated[scorer].fill_null(np.nan).to_numpy()
    return _all_answers(block, right, np.ones(len(right), dtype=bool))


def _all_answers(block: Block, right: Floats, rows: Bools) -> Floats:
    """Per group: the right ones among all its answers, originals and variants, and their number."""
    rows = rows & ~np.isnan(right)
    counts = np.bincount(block.group[rows], minlength=block.groups).astype(float)
    sums = np.bincount(block.group[rows], weights=right[rows], minlength=block.groups)
    counts[counts == 0] = np.nan
    return np.column_stack([sums, counts])


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


@lru_cache(maxsize=1)
def _sizes(block: Block) -> tuple[Codes, Codes]:
    """Of each set of answers that say the same: its group and how many they are."""
    answered = block.code >= 0
    bar = agreements(block).get("bidirectional")
    if bar is not None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        found = pairs(block, "bidirectional")
        same = found.value >= bar
        n = len(block.group)
        graph = coo_array((np.ones(int(same.sum())), (found.i[same], found.j[same])), shape=(n, n))
        component = connected_components(graph, directed=False)[1]
    else:
        component = block.group * (len(block.labels) + 1) + block.code
    _, first, count = np.unique(component[answered], return_index=True, return_counts=True)
    return block.group[answered][first], count


def _several(block: Block, values: Floats) -> Floats:
    """Null where fewer than two answers are left, or where it is not known of two of them whether they agree."""
    answers = np.bincount(block.group[block.code >= 0], minlength=block.groups)
    values = np.where(answers >= 2, values, np.nan)
    if "bidirectional" not in agreements(block):
        return values
    found = pairs(block, "bidirectional")
    compared = np.bincount(block.group[found.i[found.i != found.j]], minlength=block.groups)
    return np.where(compared >= answers * (answers - 1), values, np.nan)


def _clusters(block: Block) -> Floats:
    group, _ = _sizes(block)
    return _several(block, np.bincount(group, minlength=block.groups).astype(np.float64))


def _entropy(block: Block) -> Floats:
    group, size = _sizes(block)
    total = np.bincount(group, weights=size, minlength=block.groups)
    p = size / total[group]
    return _several(block, np.bincount(group, weights=-p * np.log2(p), minlength=block.groups).astype(np.float64))


def _majority(block: Block) -> Floats:
    group, size = _sizes(block)
    most = np.zeros(block.groups)
    np.maximum.at(most, group, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _several(block, most / np.bincount(group, weights=size, minlength=block.groups))


MEANINGS = "unwaver.metrics.meanings.pairwise:MEANINGS"
