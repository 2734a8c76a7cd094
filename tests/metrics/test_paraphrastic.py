"""P_C and what belongs to it: values by hand, identities, bounds, order, unbiasedness, weights and flags."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.answers.given import complete
from unwaver.errors import DataError
from unwaver.metrics.broken import broken_groups
from unwaver.metrics.score import score_frame
from unwaver.reports.verdict import verdicts
from unwaver.types import Score


def buckets(*answers: str, originals: str = "", **more: Any) -> list[dict[str, Any]]:
    """buckets("110", "1"): two problems, of which three paraphrases (right, right, wrong) and one were asked."""
    rows = []
    for n, bucket in enumerate(answers):
        base = {"group": n, "kind": "bucket", "gold": "r", **more}
        if originals:
            rows.append({**base, "role": "original", "label": _label(originals[n])})
        rows += [{**base, "role": "variant", "label": _label(a)} for a in bucket]
    return rows


def _label(answer: str) -> str | None:
    return {"1": "r", "0": "w", "?": None}[answer]


def scores(rows: list[dict[str, Any]]) -> dict[str, Score]:
    return {s.metric: s for s in unwaver.score(rows)}


def test_values_by_hand() -> None:
    found = scores(buckets("1110", "0", originals="10"))
    value = {name: s.value for name, s in found.items()}
    assert value["P_C"] == 0.625  # one wording says nothing of consistency
    assert value["P_C_pairs"] == 0.5  # the bucket of one has no pair
    assert (found["P_C_pairs"].counted, found["P_C_pairs"].not_applicable) == (1, 1)
    assert value["VAP"] == 0.1875
    assert value["A_bucket"] == 0.375
    assert value["A_paraphrase"] == pytest.approx(3 / 5)
    assert value["A_original"] == 0.5
    assert value["Var_R"] == 0.75 * 0.25
    assert value["PVAP"] == pytest.approx(1.0)
    assert value["P_C_floor"] == 1 - 2 * 0.75 * 0.25
    assert value["P_C_independent"] == pytest.approx(1 - 2 * 0.75 * 0.25 * (1 - 1 / 4))
    assert not {"A_test", "A_corrected", "weight_mass"} & set(found)


def test_without_an_original_all_wordings_are_variants() -> None:
    found = scores(buckets("10", "11"))
    assert (found["P_C"].value, found["A_original"].value) == (0.75, None)
    assert (found["A_original"].counted, found["A_original"].not_applicable) == (0, 2)


def test_without_gold_nothing_is_right_or_wrong() -> None:
    rows = buckets("10", "11", gold=None)
    found = scores(rows)
    assert (found["P_C"].value, found["P_C"].not_applicable) == (None, 2)
    assert broken_groups(complete(rows)) == [0]


def test_unreadable_is_wrong() -> None:
    found = scores(buckets("1?", "??"))
    assert found["A_bucket"].value == 0.25
    assert found["P_C"].value == 0.75


def test_one_wording_says_nothing_of_consistency() -> None:
    """Whatever the model does, a single judged answer agrees with itself."""
    result = unwaver.score(buckets("1", "0", "1"))
    found = {s.metric: s for s in result}
    for name in ("P_C", "P_C_pairs", "VAP", "PVAP", "Var_R", "P_C_floor", "P_C_independent", "Cons_lex"):
        assert (found[name].value, found[name].low, found[name].not_applicable) == (None, None, 3), name
    assert (found["A_bucket"].value, found["A_bucket"].counted) == (pytest.approx(2 / 3), 3)
    (leads,) = result.leading()
    assert leads.metric != "P_C"
    assert "nothing was measured" in str(result)
    (said,) = verdicts(result)
    assert "pair" not in said.said
    assert broken_groups(complete(buckets("1", "0", gold=None))) == []


def test_repeats_of_one_wording_are_compared_with_one_another() -> None:
    rows = [
        {**row, "item": row["group"], "replicate": n % 3}
        for n, row in enumerate(buckets("110", "000", kind="repeat", expect="bucket"))
    ]
    assert scores(rows)["P_C"].value == pytest.approx((5 / 9 + 1) / 2)
    only_paraphrase = [{**row, "kind": "paraphrase"} for row in rows]
    assert scores(only_paraphrase)["P_C"].value is None  # a bucket of wordings of which one was judged


@pytest.mark.parametrize(("n", "expected"), [(2, 0.75), (3, 2 / 3), (12, 1 - 0.5 * 11 / 12)])
def test_chance_counts_a_wording_paired_with_itself(n: int, expected: float) -> None:
    """All answers of coin flips, once each: the mean of P_C over them is its chance value."""
    every = ["".join(flips) for flips in itertools.product("01", repeat=n)] if n < 9 else ["01" * (n // 2)]
    found = scores(buckets(*every))
    assert found["P_C_independent"].value == pytest.approx(expected)
    if n < 9:
        assert found["P_C"].value == pytest.approx(expected)
        assert found["P_C_pairs"].value == pytest.approx(found["P_C_floor"].value)


def test_chance_of_unequal_buckets_is_by_the_mean_of_one_over_n() -> None:
    found = scores(buckets("11", "0110", "100"))
    a = (1 + 1 / 2 + 1 / 3) / 3
    of_one = (1 / 2 + 1 / 4 + 1 / 3) / 3
    squares = a  # without repeats p is 0 or 1
    expected = 1 - 2 * (a * (1 - a) - (squares - a**2) * of_one)
    assert found["P_C_independent"].value == pytest.approx(expected)
    assert expected == pytest.approx(1 - 2 * a * (1 - a) * (1 - of_one))


def test_chance_with_repeats_is_that_of_wordings() -> None:
    """A model that answers alike every time gains nothing by being asked three times."""
    once = buckets("1100", "0110")
    thrice = [{**row, "item": f"{n}", "replicate": r} for n, row in enumerate(once) for r in range(3)]
    single = [{**row, "item": f"{n}"} for n, row in enumerate(once)]
    assert scores(thrice)["P_C_independent"].value == pytest.approx(scores(single)["P_C_independent"].value)


def test_the_verdict_is_about_distinct_pairs() -> None:
    """Two wordings, one right: every pair of distinct ones differs; P_C itself says half."""
    result = unwaver.score(buckets(*["10"] * 40))
    (found,) = verdicts(result)
    assert result.find("P_C").value == 0.5
    assert found.rate == 1.0
    assert found.said.startswith("every pair of paraphrases")


def test_figure_2_of_the_paper() -> None:
    """One accuracy, 80 %, and P_C from its floor to 1."""
    apart = scores(buckets("11111", "11111", "11111", "11111", "00000"))
    even = scores(buckets(*["11110"] * 5))
    assert apart["A_bucket"].value == even["A_bucket"].value == 0.8
    assert apart["P_C"].value == 1.0
    assert even["P_C"].value == pytest.approx(even["P_C_floor"].value)
    assert even["PVAP"].value == pytest.approx(1.0)
    assert apart["PVAP"].value == 0.0


def test_broken_groups_are_those_answered_in_two_ways() -> None:
    assert broken_groups(complete(buckets("10", "11", "00", "01"))) == [0, 3]


bucket_texts = st.lists(st.text("01", min_size=1, max_size=9), min_size=1, max_size=20)


@given(bucket_texts)
@example(["01111"] * 3)  # all variance is due to wording: the quotient rounds to more than 1
@settings(max_examples=60, deadline=None)
def test_identities_and_bounds(answers: list[str]) -> None:
    found = scores(buckets(*answers))
    p_c, vap, floor = (found[name].value for name in ("P_C", "VAP", "P_C_floor"))
    several = [a for a in answers if len(a) > 1]
    if not several:
        assert p_c is vap is floor is None
        return
    assert p_c == 1 - 2 * vap
    theta = np.array([a.count("1") / len(a) for a in several])
    assert p_c == pytest.approx((theta**2 + (1 - theta) ** 2).mean(), abs=1e-12)
    assert found["Var_R"].value == pytest.approx(vap + theta.var(), abs=1e-12)
    assert 0.5 - 1e-12 <= floor <= p_c + 1e-12
    assert p_c <= 1
    if found["PVAP"].value is not None:
        assert p_c == pytest.approx(1 - 2 * found["PVAP"].value * found["Var_R"].value, abs=1e-12)  # type: ignore
    else:
        assert found["Var_R"].value == pytest.approx(0)
    for s in found.values():
        assert s.counted + s.not_applicable == s.groups
        if s.value is not None and s.low is not None and s.high is not None:
            assert s.low <= s.value <= s.high


ORDERLESS = ("P_C", "P_C_pairs", "P_C_floor", "VAP", "Var_R", "PVAP", "A_paraphrase", "A_bucket")


@given(bucket_texts, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_order_does_not_matter(answers: list[str], shuffler: random.Random) -> None:
    rows = buckets(*answers)
    shuffled = rows.copy()
    shuffler.shuffle(shuffled)
    one, other = scores(rows), scores(shuffled)
    for name in ORDERLESS:  # tau of a bucket is against its first wording
        score = one[name]
        assert other[name].value == pytest.approx(score.value, abs=1e-12)
        assert other[name].counted == score.counted


def test_pair_form_is_unbiased_and_plug_in_is_not() -> None:
    """Problems are right with a probability of their own, two to six paraphrases each."""
    rng = np.random.default_rng(3)
    p = rng.beta(1.2, 0.8, 60_000)
    sizes = rng.integers(2, 7, len(p))
    group = np.repeat(np.arange(len(p)), sizes)
    right = rng.random(len(group)) < p[group]
    frame = pl.DataFrame({"group": group, "label": np.where(right, "r", "w")}).with_columns(
        kind=pl.lit("bucket"), role=pl.lit("variant"), gold=pl.lit("r")
    )
    found = {s.metric: s for s in score_frame(complete(frame))}
    true = float((p**2 + (1 - p) ** 2).mean())
    assert found["P_C_pairs"].value == pytest.approx(true, abs=0.004)
    assert found["P_C"].value > true + 0.03  # type: ignore[operator]
    assert found["P_C_pairs"].low < true < found["P_C_pairs"].high  # type: ignore[operator]


def test_repeats_of_one_wording_are_no_pair() -> None:
    """Two wordings, each answered twice: w0 right and wrong, w1 right twice. Pairs are across wordings only."""
    rows = [
        {
            "group": 1,
            "kind": "bucket",
            "role": "variant",
            "gold": "r",
            "item": f"w{w}",
            "replicate": r,
            "label": label,
        }
        for w, labels in enumerate(("rw", "rr"))
        for r, label in enumerate(labels)
    ]
    assert scores(rows)["P_C_pairs"].value == 0.5  # r-r, r-r agree; w-r, w-r do not
    without_ids = [{k: v for k, v in row.items() if k != "item"} for row in rows]
    assert scores(without_ids)["P_C_pairs"].value == 0.5


# --- weights and the test set -------------------------------------------------------------------------------


def weighted() -> list[dict[str, Any]]:
    rows = buckets("11", "10", "00", kind="paraphrase", expect="bucket")
    for row in rows:
        row["weight"] = (0.5, 0.2, 0.1)[row["group"]]
    tests = [("r", "r"), ("w", "r"), ("r", "r"), (None, "r")]
    base = {"kind": "paraphrase", "expect": "bucket", "role": "test"}
    return rows + [{**base, "group": f"t{n}", "label": a, "gold": b} for n, (a, b) in enumerate(tests)]


def test_corrected_values_by_hand() -> None:
    found = scores(weighted())
    assert found["weight_mass"].value == pytest.approx(0.8)
    assert (found["weight_mass"].low, found["weight_mass"].interval) == (None, None)
    assert found["A_corrected_published"].value == pytest.approx(0.5 + 0.1)
    assert found["A_corrected"].value == pytest.approx(0.6 / 0.8)
    assert found["P_C_corrected_published"].value == pytest.approx(0.5 + 0.1 + 0.1)
    assert found["P_C_corrected"].value == pytest.approx(0.7 / 0.8)
    test = found["A_test"]
    assert (test.value, test.groups, test.counted, test.interval, test.unreadable) == (0.5, 4, 4, "exact", 1)
    assert (found["P_C"].groups, found["P_C"].value) == (3, pytest.approx(5 / 6))


def test_equal_weights_change_nothing() -> None:
    rows = [{**row, "weight": 0.25} for row in buckets("11", "10", "00", "01")]
    found = scores(rows)
    assert found["A_corrected"].value == pytest.approx(found["A_bucket"].value)
    assert found["P_C_corrected"].value == pytest.approx(found["P_C"].value)
    assert found["P_C_corrected"].low == pytest.approx(found["P_C"].low)


def test_a_table_of_the_test_set_alone_is_refused() -> None:
    with pytest.raises(DataError, match="role test"):
        unwaver.score([row for row in weighted() if row["role"] == "test"])


# --- flags --------------------------------------------------------------------------------------------------


def flags(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    return scores(rows)["P_C"].flags


def test_identical_in_every_bucket_is_flagged() -> None:
    rows = buckets("111", "000", "11")
    assert flags(rows) == ("identical",)
    assert "may never have reached the model" in " ".join(str(unwaver.score(rows)).split())


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(("111", "110"), id="one differs"),
        pytest.param(("111", "111"), id="all right"),
        pytest.param(("1", "0"), id="one wording each"),
        pytest.param(("111", "0"), id="one bucket of several"),
        pytest.param(("111", "??"), id="unreadable is no answer"),
    ],
)
def test_not_identical(answers: tuple[str, ...]) -> None:
    assert "identical" not in flags(buckets(*answers))


def test_a_constant_predictor_is_called_that() -> None:
    rows = buckets("11", "11", "11")
    rows[0]["gold"] = rows[1]["gold"] = "w"
    assert flags(rows) == ("constant",)


def test_repeats_of_one_text_may_be_identical() -> None:
    assert flags(buckets("111", "000", kind="repeat", expect="bucket")) == ()


def test_the_table_shows_both_forms_with_the_accuracies() -> None:
    shown = str(unwaver.score(weighted()))
    for name in ("P_C ↑", "P_C_pairs ↑", "A_paraphrase ↑", "P_C_corrected ↑", "A_corrected ↑", "A_test ↑"):
        assert name in shown
    assert "20 % of the test set" in " ".join(shown.split())
