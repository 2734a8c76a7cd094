"""Fooling rates and what flipped variants are like, against direct enumeration, SciPy and NumPy."""

import json
import math
import warnings
from itertools import combinations

import numpy as np
import polars as pl
import pytest
import scipy.spatial.distance
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.answers.given import complete
from unwaver.metrics import fooling
from unwaver.metrics.block import block_of

QUICK = settings(deadline=None, max_examples=40)
E, N, C = NLI = ("entailment", "neutral", "contradiction")
OPPOSITE = {E: (C,), C: (E,), N: (E, C, None)}


def frame(items, keep, *, probs=None, texts=None):
    """Items are (gold, label of the original, labels of its variants); None is unreadable."""
    rows = []
    for n, (gold, original, variants) in enumerate(items):
        for m, label in enumerate([original, *variants]):
            row = {"group": str(n), "kind": "fooling", "role": "variant" if m else "original", "label": label}
            row |= {"gold": gold, "keep": keep, "text": (texts or {}).get((n, m), f"text {m}")}
            rows.append({**row, "probs": (probs or {}).get((n, m))})
    table = pl.DataFrame(rows, infer_schema_length=None)
    return complete(table.with_columns(pl.col("probs").cast(pl.List(pl.Float64)), pl.col("label").cast(pl.String)))


def scored(items, keep, **options):
    return unwaver.score(frame(items, keep, **options))


def values(items, keep, **options):
    """By metric and given class: a value for each group, and their number; without intervals, which take long."""
    block = block_of(frame(items, keep, **options))
    return {(m.name, m.given): (m, m.values(block)) for m in fooling.metrics(block)}


def reduced(metric, found):
    """The one number that a metric is, None where no group counts."""
    known = ~np.isnan(found if found.ndim == 1 else found.sum(axis=1))
    if not known.any():
        return None
    if metric.by_weight:
        return float(metric.by_weight(known.astype(float)))
    return float(metric.reduce(found[known].sum(axis=0)) if metric.reduce else found[known].mean())


def slow_rate(variants, changes, k):
    """The share of all k-subsets in which some variant changes the answer: nothing to get wrong."""
    subsets = list(combinations(range(len(variants)), k))
    return sum(any(changes(variants[i]) for i in subset) for subset in subsets) / len(subsets)


def slow(items, k, strict):
    values = []
    for gold, original, variants in items:
        if original == gold and len(variants) >= k:
            opposite = OPPOSITE[original]
            changes = (lambda v, o=opposite: v in o) if strict else (lambda v, o=original: v != o)
            values.append(slow_rate(variants, changes, k))
    return values


LABEL = st.sampled_from([*NLI, None])
ITEM = st.tuples(st.sampled_from(NLI), LABEL, st.lists(LABEL, max_size=5))


@QUICK
@given(st.lists(ITEM, min_size=1, max_size=8), st.integers(1, 4))
def test_rates_equal_the_enumeration_of_all_subsets(items, keep):
    found = values(items, keep)
    for k in range(1, keep + 1):
        relaxed, strict = found[f"r_r@{k}", None][1], found[f"r_s@{k}", None][1]
        for rates, is_strict in ((relaxed, False), (strict, True)):
            assert rates[~np.isnan(rates)] == pytest.approx(slow(items, k, is_strict), abs=1e-12)
            assert len(rates) == len(items)
        assert not (strict > relaxed + 1e-12).any()


@QUICK
@given(st.lists(ITEM, min_size=1, max_size=8), st.integers(1, 4))
def test_given_classes_part_the_items(items, keep):
    found = values(items, keep)
    for name in ("r_r", "r_s"):
        whole = found[f"{name}@{keep}", None][1]
        parts = {c: v for (metric, c), (_, v) in found.items() if metric == f"{name}@{keep}" and c}
        assert sum((~np.isnan(v)).sum() for v in parts.values()) == (~np.isnan(whole)).sum()
        for given_class, part in parts.items():
            expected = slow([i for i in items if i[0] == given_class], keep, name == "r_s")
            assert part[~np.isnan(part)] == pytest.approx(expected)
            assert part[~np.isnan(part)] == pytest.approx(whole[~np.isnan(part)])


@QUICK
@given(st.lists(ITEM, min_size=1, max_size=6), st.integers(1, 5))
def test_per_item_rates_grow_with_k_and_end_in_any(items, keep):
    block = block_of(frame(items, keep))
    for changes in (fooling.flipped(block), fooling.opposed(block)):
        values = np.array([fooling.rate(block, changes, k) for k in range(1, keep + 1)])
        assert not (np.diff(values, axis=0) < -1e-12).any()
        assert (np.diff(np.isnan(values).astype(int), axis=0) >= 0).all(), "each k rests on fewer items"
    relaxed, strict = (fooling.rate(block, c(block), keep) for c in (fooling.flipped, fooling.opposed))
    assert not (strict > relaxed + 1e-12).any()
    for n, (gold, original, variants) in enumerate(items):
        if gold == original and len(variants) == keep:  # @m is any
            assert relaxed[n] == any(v != original for v in variants)
            assert strict[n] == any(v in OPPOSITE[original] for v in variants)


@QUICK
@given(st.integers(1, 12), st.data())
def test_the_formula(m, data):
    f, k = data.draw(st.integers(0, m)), data.draw(st.integers(1, m))
    expected = slow_rate([n < f for n in range(m)], bool, k)
    assert fooling.at(np.array([m]), np.array([f]), k)[0] == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    found = scored([(E, E, [E, C]), (E, E, [E, N]), (N, N, [N, E]), (C, E, [E, E]), (C, C, [C])], keep=2)
    assert found.find("r_r@1").value == pytest.approx((1 / 2 + 1 / 2 + 1 / 2 + 0) / 4)
    assert found.find("r_r@2").value == 1.0
    assert found.find("r_s@1").value == pytest.approx((1 / 2 + 0 + 1 / 2 + 0) / 4)
    assert found.find("r_s@2").value == pytest.approx(2 / 3)
    score = found.find("r_r@2")
    assert (score.groups, score.counted, score.not_applicable) == (5, 3, 2)
    assert (score.answered_wrong, score.too_few) == (1, 1)
    score = found.find("r_r@1")
    assert (score.counted, score.answered_wrong, score.too_few) == (4, 1, 0)
    assert score.better == "low"
    assert found.find("r_s@2", given=N).value == 1.0
    assert not [s for s in found if s.metric == "r_r@3"]


def test_an_unreadable_variant_is_a_change_but_no_opposite():
    found = scored([(E, E, [None]), (N, N, [None])], keep=1)
    assert found.find("r_r@1").value == 1.0
    assert found.find("r_s@1", given=E).value == 0.0
    assert found.find("r_s@1", given=N).value == 1.0, "of neutral any change counts"
    assert found.find("r_r@1").unreadable == 2


def test_failed_and_unasked_groups_are_not_counted():
    table = frame([(E, E, [C]), (E, E, [E]), (E, E, [E])], keep=1)
    statuses = ["answered"] * 3 + ["failed"] + ["answered"] + ["not_asked"]
    score = unwaver.score(table.with_columns(status=pl.Series(statuses))).find("r_r@1")
    assert (score.value, score.counted, score.failed, score.not_asked) == (1.0, 1, 1, 1)


def test_replicates_are_averaged():
    parts = [frame([(E, E, [C])], 1), frame([(E, E, [E])], 1), frame([(E, N, [C])], 1)]
    table = pl.concat([p.with_columns(replicate=pl.lit(n, pl.Int64)) for n, p in enumerate(parts)])
    score = unwaver.score(table).find("r_r@1")
    assert (score.value, score.counted) == (0.5, 1), "the third was wrong about the original"


# --- what flipped and unflipped variants are like -----------------------------------------------------------

PROBS = (
    st.lists(st.integers(0, 1000), min_size=3, max_size=3)
    .filter(any)
    .map(lambda weights: [w / sum(weights) for w in weights])
)


@QUICK
@given(st.lists(st.tuples(PROBS, PROBS), min_size=1, max_size=6))
def test_js_is_the_square_of_scipys_distance_in_bits(pairs):
    p, q = (np.array(x) for x in zip(*pairs, strict=True))
    expected = [scipy.spatial.distance.jensenshannon(a, b, base=2) ** 2 for a, b in pairs]
    found = fooling.js_divergence(p, q)
    assert found == pytest.approx(np.nan_to_num(np.array(expected)), abs=1e-9)
    assert ((found >= 0) & (found <= 1)).all()


def test_js_by_hand():
    assert fooling.js_divergence(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == [1.0]
    assert fooling.js_divergence(np.array([[0.3, 0.7]]), np.array([[0.3, 0.7]])) == [0.0]


def scipys_ks(one, other):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its p value, for which there are too few
        return scipy.stats.ks_2samp(one, other).statistic


@QUICK
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_ks_is_scipys_statistic(pairs):
    before, after = (np.array(x) for x in zip(*pairs, strict=True))
    found = fooling.ks_of(before, after, np.arange(len(pairs)))(np.ones(len(pairs)))
    assert found == pytest.approx(scipys_ks(before, after), abs=1e-9)


@QUICK
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=8))
def test_ks_with_weights_is_that_of_repeated_pairs(pairs):
    before, after, weights = (np.array(x) for x in zip(*pairs, strict=True))
    found = fooling.ks_of(before, after, np.arange(len(pairs)))(weights.astype(float))
    if not weights.sum():
        assert np.isnan(found)
        return
    expected = scipys_ks(np.repeat(before, weights), np.repeat(after, weights))
    assert found == pytest.approx(expected, abs=1e-9)


def told(probs, label=None):
    """A label and its probabilities: the greatest, if no other is said."""
    return label or NLI[int(np.argmax(probs))], list(probs)


@QUICK
@given(st.lists(st.tuples(PROBS, st.lists(PROBS, min_size=1, max_size=3)), min_size=1, max_size=6))
def test_measures_equal_a_direct_count(drawn):
    """All originals are right; each measure is the mean over the pairs of its kind."""
    items, probs = [], {}
    pairs = {"flipped": [], "unflipped": []}
    for n, (original, variants) in enumerate(drawn):
        label, probs[n, 0] = told(original)
        labels = []
        for m, variant in enumerate(variants, 1):
            other, probs[n, m] = told(variant)
            labels.append(other)
            pairs["unflipped" if other == label else "flipped"].append((original, variant, NLI.index(label)))
        items.append((label, label, labels))
    measured = values(items, 1, probs=probs)
    found = {name: reduced(*entry) for (name, given_class), entry in measured.items() if given_class is None}
    for state, each in pairs.items():
        if not each:
            assert found[f"js_{state}"] is found[f"ks_{state}"] is found[f"sigma_{state}"] is None
            continue
        js = [scipy.spatial.distance.jensenshannon(a, b, base=2) ** 2 for a, b, _ in each]
        assert found[f"js_{state}"] == pytest.approx(np.mean(np.nan_to_num(js)), abs=1e-9)
        assert found[f"sigma_{state}"] == pytest.approx(np.mean([np.std(b) for _, b, _ in each]), abs=1e-9)
        ks = scipys_ks([a[c] for a, _, c in each], [b[c] for _, b, c in each])
        assert found[f"ks_{state}"] == pytest.approx(ks, abs=1e-9)
    assert found["sigma_original"] == pytest.approx(np.mean([np.std(p) for p, _ in drawn]), abs=1e-9)


def test_scores_with_intervals():
    """The same through everything: a Kolmogorov–Smirnov distance is no share of groups."""
    random = np.random.default_rng(0)
    probs, items = {}, []
    for n in range(30):
        probs[n, 0], probs[n, 1] = random.dirichlet([4, 1, 1]).tolist(), random.dirichlet([2, 1, 1]).tolist()
        (original, _), (variant, _) = told(probs[n, 0]), told(probs[n, 1])
        items.append((original, original, [variant]))
    found = scored(items, 1, probs=probs)
    same = [n for n, (_, original, (variant,)) in enumerate(items) if original == variant]
    places = [NLI.index(items[n][0]) for n in same]
    before, after = ([probs[n, m][c] for n, c in zip(same, places, strict=True)] for m in (0, 1))
    score = found.find("ks_unflipped")
    assert score.value == pytest.approx(scipys_ks(before, after))
    assert 0 < score.low <= score.value <= score.high <= 1
    assert (score.interval, score.counted) == ("bootstrap", len(same))
    assert found.find("js_unflipped").counted + found.find("js_flipped").counted == 30
    assert found.find("r_r@1").interval == "exact"


def test_sigma_is_at_most_471_for_three_classes():
    found = scored([(E, E, [E])], 1, probs={(0, 0): [1.0, 0.0, 0.0], (0, 1): [1.0, 0.0, 0.0]})
    assert found.find("sigma_original").value == pytest.approx(math.sqrt(2) / 3)
    assert round(found.find("sigma_unflipped").value, 3) == 0.471
    found = scored([(E, E, [E])], 1, probs={(0, 0): [1 / 3] * 3, (0, 1): [1 / 3] * 3})
    assert found.find("sigma_original").value == pytest.approx(0.0, abs=1e-12)


def test_pairs_without_probabilities_are_left_out():
    """One variant was answered in words alone: the measures speak of the others."""
    probs = {(0, 0): [0.9, 0.1, 0.0], (0, 1): [0.5, 0.4, 0.1], (1, 0): [0.6, 0.3, 0.1]}
    found = scored([(E, E, [E]), (E, E, [E])], 1, probs=probs)
    alone = scored([(E, E, [E])], 1, probs=probs)
    for name in ("js_unflipped", "ks_unflipped", "sigma_unflipped"):
        assert found.find(name).value == pytest.approx(alone.find(name).value), name
        assert found.find(name).counted == 1, name
    probs = {(0, 1): [0.5, 0.4, 0.1]}  # and where the original has none, there is nothing to compare
    found = scored([(E, E, [E])], 1, probs=probs)
    assert found.find("js_unflipped").value is found.find("ks_unflipped").value is None
    assert found.find("sigma_original").value is None


def test_texts():
    texts = {(0, 0): "A dog runs.", (0, 1): "a dog ran", (1, 0): "All sleep.", (1, 1): "Nobody is awake now!"}
    found = scored([(E, E, [E]), (E, E, [C])], 1, texts=texts)
    assert found.find("overlap_exact_unflipped").value == pytest.approx(4 / 6)
    assert found.find("overlap_fuzzy_unflipped").value == pytest.approx(1 - 2 * (3 / 7) / 6)
    assert found.find("length_unflipped").value == 3.0
    assert found.find("overlap_exact_flipped").value == 0.0
    assert found.find("length_flipped").value == 4.0


def test_counts_and_lengths_overall_and_by_flipped():
    texts = {(0, 0): "A dog runs.", (0, 1): "a dog ran", (0, 2): "Nobody is awake now!", (1, 0): "All sleep."}
    table = frame([(E, E, [E, C]), (E, E, []), (E, N, [N])], 2, texts=texts)
    context = {"0": "Two big dogs run.", "1": "x", "2": "y"}
    column = pl.when(pl.col("role") == "original").then(pl.col("group").replace_strict(context))
    found = unwaver.score(table.with_columns(context=column))
    assert [found.find(f"pairs{state}").value for state in ("", "_flipped", "_unflipped")] == [2, 1, 1]
    pairs = found.find("pairs")
    assert (pairs.counted, pairs.not_applicable, pairs.low) == (2, 1, None), "an item answered wrong has no pairs"
    assert [found.find(f"length{state}").value for state in ("", "_flipped", "_unflipped")] == [3.5, 4, 3]
    assert [found.find(f"length_original{state}").value for state in ("", "_flipped")] == [3, 3]
    assert [found.find(f"length_context{state}").value for state in ("", "_unflipped")] == [4, 4]
    assert [found.find(f"overlap_words{state}").value for state in ("", "_flipped", "_unflipped")] == [1, 0, 2]
    assert found.find("overlap_exact").value == pytest.approx((4 / 6 + 0) / 2)
    without = unwaver.score(table)
    assert not any(s.metric.startswith("length_context") for s in without), "nothing is known of the context"


@QUICK
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=30))
def test_the_divergence_of_two_distributions(drawn):
    """Against NumPy's histogram and SciPy's divergence, over the same bins."""
    values, flips = np.array([v for v, _ in drawn]), np.array([f for _, f in drawn])
    found = fooling.jsd_of(values, flips, np.arange(len(drawn)))(np.ones(len(drawn)))
    if flips.all() or not flips.any():
        assert np.isnan(found), "one state alone has nothing to be compared with"
        return
    if np.ptp(values) < 1e-6:
        return  # NumPy's bins are no longer equal
    span = (values.min(), values.max())
    one, other = (np.histogram(values[some], fooling.BINS, span)[0] for some in (flips, ~flips))
    expected = scipy.spatial.distance.jensenshannon(one, other, base=2) ** 2
    assert found == pytest.approx(expected, abs=0.2), "a value on the edge of two bins may be in either"
    assert 0 <= found <= 1


def test_distances_alike_and_apart():
    rng = np.random.default_rng(0)
    values, flips, group = rng.random(4000), np.arange(4000) % 2 == 0, np.arange(4000)
    assert fooling.jsd_of(values, flips, group)(np.ones(4000)) < 0.01
    assert fooling.jsd_of(values + 2 * flips, flips, group)(np.ones(4000)) == pytest.approx(1.0)
    same = fooling.jsd_of(np.full(10, 0.25), flips[:10], group[:10])(np.ones(10))
    assert same == 0.0, "equal distances are distributed alike"
    texts = {(0, 0): "A dog runs.", (0, 1): "a dog ran", (1, 0): "All sleep.", (1, 1): "Nobody is awake now!"}
    assert scored([(E, E, [E]), (E, E, [C])], 1, texts=texts).find("lexical_distance_jsd").value == 1.0
    assert scored([(E, E, [E]), (E, E, [E])], 1, texts=texts).find("lexical_distance_jsd").value is None


def test_overlap():
    assert fooling.overlap_exact("a dog runs", "a dog ran") == pytest.approx(4 / 6)
    assert fooling.overlap_exact("A dog, a dog!", "a dog") == pytest.approx(4 / 6), "words are counted, not listed"
    assert fooling.overlap_exact("", "") == 1.0
    assert fooling.overlap_exact("a", "") == 0.0


@pytest.mark.parametrize(
    "items",
    [
        [(E, E, [])],
        [(E, N, [])],
        [(E, None, [])],
        [(E, E, [E])],
        [(E, E, [None])],
        [(E, N, [C]), (N, E, [C])],
        [(C, C, [])] * 3,
    ],
)
@pytest.mark.parametrize("keep", [1, 3])
def test_nothing_is_ever_nan(items, keep):
    """No probabilities, one group, no variants at all: what is not known is null."""
    text = json.dumps(scored(items, keep).document(), allow_nan=False)
    for score in json.loads(text)["scores"]:
        assert score["counted"] + score["not_applicable"] == score["groups"] == len(items)
        assert (score["value"] is None) == (score["counted"] == 0), score["metric"]


def test_other_kinds_have_no_fooling_rates():
    table = frame([(E, E, [C])], 1).with_columns(kind=pl.lit("semantic"))
    assert not [s for s in unwaver.score(table) if s.metric.startswith(("r_r", "r_s", "js", "sigma"))]
    assert not [s for s in unwaver.score(frame([(E, E, [C])], 1).drop("keep")) if s.metric.startswith("r_")]


def test_a_table_without_originals_has_nothing_to_tell():
    table = frame([(E, E, [C, C]), (E, E, [C, C])], 1).filter(pl.col("role") == "variant")
    assert unwaver.score(table).find("r_r@1").value is None


def test_the_table_says_why_items_have_no_rate():
    items = [(E, E, [E, C]), (C, E, [E, E]), (C, C, [C])]
    text = " ".join(str(scored(items, keep=2)).split())
    assert "answered wrong" in text
    assert "too few" in text
    assert "each k has different items (1: 2, 2: 1)" in text
    even = str(scored([(E, E, [E, C])], keep=2))
    assert "answered wrong" not in even
    assert "each k has different items" not in even


def test_an_item_that_was_right_once_is_not_called_wrong():
    parts = [frame([(E, E, [C])], 2), frame([(E, N, [C])], 2)]
    table = pl.concat([p.with_columns(replicate=pl.lit(n, pl.Int64)) for n, p in enumerate(parts)])
    score = unwaver.score(table).find("r_r@2")
    assert (score.counted, score.answered_wrong, score.too_few) == (0, 0, 1)


def test_items_without_gold_are_neither_wrong_nor_short():
    table = frame([(E, E, [C])], 1).with_columns(gold=pl.lit(None, pl.List(pl.String)))
    score = unwaver.score(table).find("r_r@1")
    assert (score.not_applicable, score.answered_wrong, score.too_few) == (1, 0, 0)
