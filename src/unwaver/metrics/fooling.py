"""Semantic sensitivity: how often does a paraphrase turn an answer that was right? (Arakelyan et al. 2024)

    r_r@k   share of items where some of k variants changes the label (relaxed)
    r_s@k   … gives the opposite one: entailment for contradiction; for neutral any change (strict)

An item with m certified variants, f of them changing: @k = 1 − C(m−f, k) / C(m, k). It applies to every item that
was answered right and has m ≥ k, whatever number was asked for: each k rests on other items. The measures below
are over every certified variant of an item answered right, apart for those that flipped and those that did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

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


BINS = 20  # of a distribution of distances
_EVERY = ("", "_flipped", "_unflipped")


def _measures(block: Block) -> Iterator[Metric]:
    states = {"": pairs(block), "_flipped": flipped(block), "_unflipped": pairs(block) & ~flipped(block)}
    for state, rows in states.items():
        yield Metric(f"pairs{state}", partial(_counts, rows=rows), share=False, known=True, reduce=_total)
    for name, values, share in [*_text_measures(block), *_distances(block)]:
        for state, rows in states.items():
            each = partial(_sums, values=values, rows=rows)
            yield Metric(f"{name}{state}", each, share=share, reduce=_ratio)
    for name, values in _distances_of(block):
        yield _between(f"{name}_jsd", values, states, block)
    if block.probs.null_count() < len(block.probs):
        yield from _of_probabilities(block, states)


Values = Callable[[], Floats]  # a value per row, computed when it is first needed


def _text_measures(block: Block) -> Iterator[tuple[str, Values, bool]]:
    """Name, values and whether they are shares."""
    if block.text is None:
        return
    found: list[tuple[str, Callable[[str, str, str], float], bool]] = [
        ("overlap_exact", lambda _, one, other: overlap_exact(one, other), True),
        ("overlap_fuzzy", lambda _, one, other: 1 - lexical_distance(one, other), True),
        ("overlap_words", lambda _, one, other: float(words_in_common(one, other)), False),
        ("length", lambda *texts: float(len(words(texts[2]))), False),
        ("length_original", lambda *texts: float(len(words(texts[1]))), False),
    ]
    if block.context is not None:
        found.append(("length_context", lambda *texts: float(len(words(texts[0]))), False))
    for name, measure, share in found:
        yield name, cache(partial(_text_pairs, block, measure)), share


def _distances(block: Block) -> Iterator[tuple[str, Values, bool]]:
    if block.embedding_distance is not None and block.embedding_distance.null_count() < len(block.group):
        yield "embedding_distance", partial(_embedding_distance, block), False


def _distances_of(block: Block) -> Iterator[tuple[str, Values]]:
    """The distances of variants from their originals, whose distributions are compared."""
    if block.text is not None:
        yield "lexical_distance", cache(partial(_text_pairs, block, lambda _, a, b: lexical_distance(a, b)))
    for name, values, _ in _distances(block):
        yield name, values


def _between(name: str, values: Values, states: Mapping[str, Bools], block: Block) -> Metric:
    """How far the distances of flipped variants are distributed otherwise than those of unflipped ones."""
    known = ~np.isnan(values())
    rows = [states[state] & known for state in _EVERY[1:]]
    both = rows[0] | rows[1] if rows[0].any() and rows[1].any() else np.zeros(len(known), dtype=bool)
    jsd = jsd_of(values()[both], rows[0][both], block.group[both])
    return Metric(name, partial(_has_any, rows=both), share=True, by_weight=jsd)


def _of_probabilities(block: Block, states: Mapping[str, Bools]) -> Iterator[Metric]:
    js, sigma = cache(partial(_js, block)), cache(partial(_sigma, block))
    for state in _EVERY[1:]:
        rows = states[state]
        yield Metric(f"js{state}", partial(_sums, values=js, rows=rows), share=True, reduce=_ratio)
        both = rows & ~np.isnan(np.hstack(_probabilities(block))).any(axis=1)
        ks = ks_of(*_samples(block, both))
        yield Metric(f"ks{state}", partial(_has_any, rows=both), share=True, by_weight=ks)
        yield Metric(f"sigma{state}", partial(_sums, values=sigma, rows=rows), share=False, reduce=_ratio)
    judged = np.zeros(block.trials, dtype=bool)
    judged[block.trial[pairs(block)]] = True
    rows = ~block.target & judged[block.trial]
    yield Metric("sigma_original", partial(_sums, values=sigma, rows=rows), share=False, reduce=_ratio)


def _counts(block: Block, rows: Bools) -> Floats:
    """Per group: how many of its pairs; NaN if its original was not answered right."""
    right = np.zeros(block.groups, dtype=bool)
    right[block.group[block.originals_right[block.trial]]] = True
    return np.where(right, np.bincount(block.group[rows], minlength=block.groups), np.nan)[:, None]


def _total(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0])


def _sums(block: Block, values: Values, rows: Bools) -> Floats:
    """Per group: the sum over its pairs, and their number; NaN if it has none."""
    found = values()
    rows = rows & ~np.isnan(found)
    sums = np.bincount(block.group[rows], weights=found[rows], minlength=block.groups)
    counts = np.bincount(block.group[rows], minlength=block.groups).astype(float)
    counts[counts == 0] = np.nan
    return np.column_stack([sums, counts])


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _has_any(block: Block, rows: Bools) -> Floats:
    counts = np.bincount(block.group[rows], minlength=block.groups)
    return np.where(counts > 0, 0.0, np.nan)


def _probabilities(block: Block) -> tuple[Floats, Floats]:
    """Per row: its probabilities and those of its original; NaN if there are none."""
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
    """The standard deviation of the probabilities of the classes: 0 if all are alike, .471 for 1, 0, 0."""
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


def jsd_of(values: Floats, flips: Bools, group: np.ndarray) -> Callable[[Floats], Floats]:
    """The Jensen–Shannon divergence, in bits, of the distributions of two samples over BINS bins of equal width
    between the smallest and the greatest value, as a function of the weights of the groups."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    width = (high - low) / BINS or 1.0
    bins = np.minimum(((values - low) / width).astype(np.int64), BINS - 1)

    def jsd(weights: Floats) -> Floats:
        parts = [np.bincount(bins[some], weights=weights[group[some]], minlength=BINS) for some in (flips, ~flips)]
        if not all(part.sum() for part in parts):
            return np.asarray(np.nan)
        one, other = (part[None] / part.sum() for part in parts)
        return np.asarray(js_divergence(one, other)[0])

    return jsd


def _embedding_distance(block: Block) -> Floats:
    assert block.embedding_distance is not None
    return block.embedding_distance.fill_null(np.nan).to_numpy()


def _text_pairs(block: Block, measure: Callable[[str, str, str], float]) -> Floats:
    """Per row of a pair: a measure of the context, the original and the variant."""
    assert block.text is not None
    texts = block.text.to_list()
    contexts = [""] * len(texts) if block.context is None else block.context.fill_null("").to_list()
    first: dict[int, tuple[str, str]] = {}
    for row in np.flatnonzero(~block.target)[::-1]:
        first[int(block.trial[row])] = contexts[row], texts[row]
    values = np.full(len(texts), np.nan)
    for row in np.flatnonzero(pairs(block)):
        values[row] = measure(*first[int(block.trial[row])], texts[row])
    return values


def words_in_common(one: str, other: str) -> int:
    """ "a dog runs", "a dog ran" -> 2; a word that is there twice in both counts twice."""
    from collections import Counter

    return (Counter(words(one)) & Counter(words(other))).total()


def overlap_exact(one: str, other: str) -> float:
    """Twice the words in common over the words of both: "a dog runs", "a dog ran" -> 4 / 6."""
    total = len(words(one)) + len(words(other))
    return 2 * words_in_common(one, other) / total if total else 1.0


MEANINGS = "unwaver.metrics.meanings.fooling:MEANINGS"
