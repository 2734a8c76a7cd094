"""Semantic sensitivity: how often does a paraphrase turn an answer that was right? (Arakelyan et al. 2024)

    r_r@k   share of items where some of k variants changes the label (relaxed)
    r_s@k   … gives the opposite one: entailment for contradiction; for neutral any change (strict)

An item with m certified variants, f of them changing: @k = 1 − C(m−f, k) / C(m, k). It applies to every item that
was answered right and has m ≥ k, whatever number was asked for: each k rests on other items. The measures below
are over every certified variant of an item answered right, apart for those that flipped and those that did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from unwaver.metrics.block import Block, Bools, Metric
from unwaver.metrics.violation import accepts
from unwaver.stats import Floats
from unwaver.text.distance import lexical_distance, words

OPPOSITE = {"entailment": "contradiction", "contradiction": "entailment"}


def metrics(block: Block) -> Iterator[Metric]:
    if block.kind != "fooling" or not block.keep:
        return
    for name, changes in (("r_r", flipped(block)), ("r_s", opposed(block))):
        for k in range(1, block.keep + 1):
            for given in (None, *originals_of(block)):
                values = partial(rate, changes=changes, k=k, given=given)
                yield Metric(f"{name}@{k}", values, given=given, any_of=k)
    yield from _measures(block)


def originals_of(block: Block) -> list[str]:
    """The labels that originals were given, rightly."""
    codes = np.unique(block.first_original[block.originals_right & (block.first_original >= 0)])
    return [block.labels[code] for code in codes]


def pairs(block: Block) -> Bools:
    """Per row: a certified variant of an original that was answered right."""
    return np.asarray(block.target & block.originals_right[block.trial])


def flipped(block: Block) -> Bools:
    """Per row: the variant got another label than its original, or none that can be read."""
    return np.asarray(pairs(block) & (block.code != block.first_original[block.trial]))


def opposed(block: Block) -> Bools:
    """Per row: the variant got the opposite label; where the original's has none, any other."""
    place = {label: code for code, label in enumerate(block.labels)}
    opposite = np.array([place.get(OPPOSITE.get(label, ""), -2) for label in block.labels] or [-2])
    has_opposite = np.array([label in OPPOSITE for label in block.labels] or [False])
    original = np.maximum(block.first_original[block.trial], 0)  # unreadable ones are not right, so not flipped
    return np.asarray(flipped(block) & ((block.code == opposite[original]) | ~has_opposite[original]))


def rate(block: Block, changes: Bools, k: int, given: str | None = None) -> Floats:
    """Per group: the chance that k of its variants, drawn at random, hold one that changes the answer."""
    m = np.bincount(block.trial[pairs(block)], minlength=block.trials)
    f = np.bincount(block.trial[changes], minlength=block.trials)
    applies = block.originals_right & (m >= k)
    if given is not None:
        applies &= block.first_original == block.labels.index(given)
    value = np.where(applies, at(m, f, k), np.nan)
    firsts = np.zeros(len(block.group), dtype=bool)  # one row of each trial
    firsts[np.unique(block.trial, return_index=True)[1]] = True
    return block.per_group(value[block.trial], firsts)


def left_out(block: Block, k: int, given: str | None = None) -> tuple[int, int]:
    """How many groups have no value at k: answered wrong, too few certified variants. With a given class, of the
    groups whose right answer it is. An original without gold is neither."""
    wrong = np.zeros(block.trials, dtype=bool)
    wrong[block.trial[~block.target & (block.right == 0.0)]] = True
    right = block.originals_right.copy()
    if given is not None:
        of_class = np.zeros(block.trials, dtype=bool)
        of_class[block.trial[~block.target & (accepts(block, given) == 1)]] = True
        wrong &= of_class
        right &= block.first_original == block.labels.index(given)
    trial_group = np.zeros(block.trials, dtype=np.int64)
    trial_group[block.trial] = block.group

    def any_trial(trials: Bools) -> Bools:
        return np.bincount(trial_group[trials], minlength=block.groups) > 0

    valued = ~np.isnan(rate(block, flipped(block), k, given))
    once_right = any_trial(right)
    return (
        int((any_trial(wrong) & ~once_right & block.complete).sum()),
        int((once_right & ~valued & block.complete).sum()),
    )


def at(m: np.ndarray, f: np.ndarray, k: int) -> Floats:
    """at(5, 1, 1) -> 0.2, at(5, 1, 5) -> 1, at(5, 0, 3) -> 0."""
    from scipy.special import comb

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - comb(m - f, k) / comb(m, k), dtype=np.float64)


# --- what flipped and unflipped variants are like -----------------------------------------------------------


def _measures(block: Block) -> Iterator[Metric]:
    has_probs = block.probs.null_count() < len(block.probs)
    texts = block.text is not None
    measures: list[tuple[str, Callable[[Block], Floats], bool]] = []
    if has_probs:
        measures.append(("js", _js, True))
    if block.embedding_distance is not None and block.embedding_distance.null_count() < len(block.group):
        measures.append(("embedding_distance", _embedding_distance, False))
    if texts:
        measures += [
            ("overlap_exact", _overlap_exact, True),
            ("overlap_fuzzy", _overlap_fuzzy, True),
            ("length", _length, False),
        ]
    for state in ("flipped", "unflipped"):
        rows = flipped(block) if state == "flipped" else pairs(block) & ~flipped(block)
        for name, measure, share in measures:
            yield Metric(f"{name}_{state}", partial(_sums, measure=measure, rows=rows), share=share, reduce=_ratio)
        if has_probs:
            both = rows & ~np.isnan(np.hstack(_probabilities(block))).any(axis=1)
            ks = ks_of(*_samples(block, both))
            yield Metric(f"ks_{state}", partial(_has_any, rows=both), share=True, by_weight=ks)
            yield Metric(f"sigma_{state}", partial(_sums, measure=_sigma, rows=rows), share=False, reduce=_ratio)
    if has_probs:
        judged = np.zeros(block.trials, dtype=bool)
        judged[block.trial[pairs(block)]] = True
        rows = ~block.target & judged[block.trial]
        yield Metric("sigma_original", partial(_sums, measure=_sigma, rows=rows), share=False, reduce=_ratio)


def _sums(block: Block, measure: Callable[[Block], Floats], rows: Bools) -> Floats:
    """Per group: the sum over its pairs, and their number; NaN where it has none."""
    values = measure(block)
    rows = rows & ~np.isnan(values)
    sums = np.bincount(block.group[rows], weights=values[rows], minlength=block.groups)
    counts = np.bincount(block.group[rows], minlength=block.groups).astype(float)
    counts[counts == 0] = np.nan
    return np.column_stack([sums, counts])


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _has_any(block: Block, rows: Bools) -> Floats:
    counts = np.bincount(block.group[rows], minlength=block.groups)
    return np.where(counts > 0, 0.0, np.nan)


def _probabilities(block: Block) -> tuple[Floats, Floats]:
    """Per row: its probabilities and those of its original; NaN where there are none."""
    width = int(block.probs.list.len().max() or 1)  # type: ignore[arg-type]
    own = np.full((len(block.group), width), np.nan)
    known = (block.probs.list.len() == width).fill_null(False).to_numpy()
    own[known] = np.array(block.probs.filter(known).to_list(), dtype=np.float64).reshape(-1, width)
    first = np.zeros(block.trials, dtype=np.int64)
    originals = np.flatnonzero(~block.target)[::-1]
    first[block.trial[originals]] = originals
    return own, own[first[block.trial]]


def _js(block: Block) -> Floats:
    """Jensen–Shannon divergence of the probabilities on original and variant, in bits."""
    p, q = _probabilities(block)
    return js_divergence(p, q)


def js_divergence(p: Floats, q: Floats) -> Floats:
    """½ D(P‖M) + ½ D(Q‖M), base 2, row by row: [1, 0] and [0, 1] -> 1."""
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x == 0, 0.0, x * np.log2(x / middle)).sum(axis=1) for x in (p, q)]
    return np.asarray(np.clip((parts[0] + parts[1]) / 2, 0.0, 1.0))


def _sigma(block: Block) -> Floats:
    """The standard deviation of the probabilities of the classes: 0 where all are alike, .471 for 1, 0, 0."""
    return np.asarray(_probabilities(block)[0].std(axis=1))


def _samples(block: Block, rows: Bools) -> tuple[Floats, Floats, np.ndarray]:
    """The probability of the original's label, on the original and on the variant, and the group of each pair."""
    own, original = _probabilities(block)
    place = _label_places(block)[rows]
    index = np.arange(int(rows.sum()))
    return original[rows][index, place], own[rows][index, place], block.group[rows]


def _label_places(block: Block) -> np.ndarray:
    """Per row: which of the probabilities is that of the original's label, the greatest of its original."""
    _, original = _probabilities(block)
    return np.asarray(np.argmax(np.nan_to_num(original, nan=-1.0), axis=1))


def ks_of(before: Floats, after: Floats, group: np.ndarray) -> Callable[[Floats], Floats]:
    """The greatest distance between the two distribution functions, as a function of the weights of the groups."""
    values = np.concatenate([before, after])
    order = np.argsort(values, kind="stable")  # once, not for every draw
    last_of_equal = np.append(np.diff(values[order]) > 0, True)
    sign = np.repeat([1.0, -1.0], len(before))[order]
    place = np.concatenate([group, group])[order]

    def ks(weights: Floats) -> Floats:
        total = weights[group].sum()
        if not total:
            return np.asarray(np.nan)
        steps = np.cumsum(sign * weights[place]) / total
        return np.asarray(np.abs(steps[last_of_equal]).max())

    return ks


def _embedding_distance(block: Block) -> Floats:
    assert block.embedding_distance is not None
    return block.embedding_distance.fill_null(np.nan).to_numpy()


def _text_pairs(block: Block, measure: Callable[[str, str], float]) -> Floats:
    assert block.text is not None
    texts = block.text.to_list()
    first: dict[int, str] = {}
    for row in np.flatnonzero(~block.target)[::-1]:
        first[int(block.trial[row])] = texts[row]
    values = np.full(len(texts), np.nan)
    for row in np.flatnonzero(pairs(block)):
        values[row] = measure(first[int(block.trial[row])], texts[row])
    return values


def _overlap_exact(block: Block) -> Floats:
    return _text_pairs(block, overlap_exact)


def _overlap_fuzzy(block: Block) -> Floats:
    return _text_pairs(block, lambda a, b: 1 - lexical_distance(a, b))


def _length(block: Block) -> Floats:
    return _text_pairs(block, lambda _, text: float(len(words(text))))


def overlap_exact(one: str, other: str) -> float:
    """Twice the words in common over the words of both: "a dog runs", "a dog ran" -> 4 / 6."""
    from collections import Counter

    a, b = Counter(words(one)), Counter(words(other))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 1.0


MEANINGS = "unwaver.metrics.meanings.fooling:MEANINGS"
