"""Consistency of generated text: how far the answers to one question agree (Raj, Rosati and Majumdar 2022).

    Cons_<f>            mean of f over ordered pairs of answers to distinct wordings, by question, then of these
    Cons_<f>@t          share of these pairs with f at or above t
    Cons_json.<field>   the mean of one field; tau_json.<field> the share of groups in which it broke
    Cons_<f>_repeat     the mean among replicates of one wording: sampling noise, beside that of wording
    Cons_<f>_questions  the mean among the wordings themselves: how alike are the questions?
    Cons_<f>_accurate   the mean among the accurate answers only; fewer than two: null
    Cons_<f>_joint      share of pairs that agree (f at or above t) and are both accurate
    accuracy_rouge1     share of all answers that are closer (ROUGE-1) to a true reference than to every false one
    accuracy_contains   share of all answers in which a right answer stands
    accuracy_<scorer>   share of all answers that a model calls right, or closer to a true reference
    clusters            sets of answers that say the same: connected by the agreement that leads
    cluster_entropy     their entropy, in bits
    majority_share      share of answers in the largest of them

Empty answers are dropped; a question with fewer than two does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np

from unwaver.metrics.agreed import (
    ANSWERS,
    QUESTIONS,
    Notion,
    Pairs,
    all_compared,
    broken_by,
    field_notions,
    notions,
    of_wordings,
    pairs,
    set_sizes,
)
from unwaver.metrics.block import Block, Bools, Metric
from unwaver.stats import Floats


def metrics(block: Block) -> Iterator[Metric]:
    found = notions(block)
    for notion in found.values():
        name, threshold = notion.name, notion.threshold
        better: Literal["low", "high"] = "low" if notion.low else "high"
        yield Metric(f"Cons_{name}", partial(mean_agreement, name=name), better)
        yield Metric(f"Cons_{name}@{threshold:g}", partial(_share, name=name, t=threshold), better)
        if block.trials > block.groups:
            yield Metric(f"Cons_{name}_repeat", partial(repeated_agreement, name=name), better)
        if QUESTIONS + notion.column in block.agree:
            of_questions = partial(_mean, name=name, chosen=_questions, of=QUESTIONS)
            yield Metric(f"Cons_{name}_questions", of_questions, better)
        if not np.isnan(block.right).all():
            yield Metric(f"Cons_{name}_accurate", partial(_mean, name=name, chosen=_accurate), better)
            yield Metric(f"Cons_{name}_joint", partial(_joint, notion=notion), "high")
    yield from _of_fields(block)
    if block.right_by is not None:
        for way in block.right_by.unique().drop_nulls().sort():
            yield Metric(f"accuracy_{way}", partial(_judged_by, way=way), reduce=_ratio)
    for scorer in block.rated:
        yield Metric(f"accuracy_{scorer}", partial(_rated_by, scorer=scorer), reduce=_ratio)
    if found:
        yield Metric("clusters", _clusters, share=False)
        yield Metric("cluster_entropy", _entropy, share=False)
        yield Metric("majority_share", _majority)


def _of_fields(block: Block) -> Iterator[Metric]:
    """Per field of answers with fields: its mean agreement, and the share of groups in which it broke."""
    for name, notion in field_notions(block).items():
        yield Metric(f"Cons_{name}", partial(mean_agreement, name=name), "low" if notion.low else "high")
        if block.expect != "implied":
            yield Metric(f"tau_{name}", partial(broken_by, notion=notion), "low")


Chosen = Callable[[Block, Pairs], Bools]


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


def _mean(block: Block, name: str, chosen: Chosen, of: str = ANSWERS) -> Floats:
    found = pairs(block, name, of)
    return _per_group(block, found, found.value, chosen(block, found))


def mean_agreement(block: Block, name: str) -> Floats:
    """Per group, over pairs of answers to distinct wordings."""
    return _mean(block, name, of_wordings)


def repeated_agreement(block: Block, name: str) -> Floats:
    """Per group, over pairs of answers to one wording."""
    return _mean(block, name, _repeats)


def _share(block: Block, name: str, t: float) -> Floats:
    found = pairs(block, name)
    return _per_group(block, found, (found.value >= t).astype(float), of_wordings(block, found))


def agreeing_shares(block: Block, name: str, t: float, better: str) -> tuple[Floats, Floats]:
    """Per question, over pairs of answers to distinct wordings: the share that agrees, and the share of texts that
    are the same letter for letter."""
    found = pairs(block, name)
    agree = Notion(name, t, better == "low", "").agrees(found.value)
    same = block.code[found.i] == block.code[found.j]
    rows = of_wordings(block, found)
    return tuple(_per_group(block, found, x.astype(float), rows) for x in (agree, same))  # type: ignore[return-value]


def _joint(block: Block, notion: Notion) -> Floats:
    """Of pairs whose accuracy is known."""
    found = pairs(block, notion.name)
    agree = notion.agrees(found.value)
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


def _clusters(block: Block) -> Floats:
    group, _ = set_sizes(block)
    return all_compared(block, np.bincount(group, minlength=block.groups).astype(np.float64))


def _entropy(block: Block) -> Floats:
    group, size = set_sizes(block)
    total = np.bincount(group, weights=size, minlength=block.groups)
    p = size / total[group]
    return all_compared(
        block, np.bincount(group, weights=-p * np.log2(p), minlength=block.groups).astype(np.float64)
    )


def _majority(block: Block) -> Floats:
    group, size = set_sizes(block)
    most = np.zeros(block.groups)
    np.maximum.at(most, group, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return all_compared(block, most / np.bincount(group, weights=size, minlength=block.groups))


MEANINGS = "unwaver.metrics.meanings.pairwise:MEANINGS"
