from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver
from unwaver.errors import DataError


def pair(
    group: object, a: object, b: object, kind: str = "semantic", gold: Any = None, **more: Any
) -> list[dict[str, Any]]:
    base = {"group": group, "kind": kind, "gold": gold, **more}
    return [{**base, "role": "original", "label": a}, {**base, "role": "variant", "label": b}]


def chain(group: object, a: object, b: object, c: object, gold: Any) -> list[dict[str, Any]]:
    base = {"group": group, "kind": "transitive"}
    return [
        {**base, "role": "original", "label": a, "gold": [gold[0]]},
        {**base, "role": "original", "label": b, "gold": [gold[1]]},
        {**base, "role": "conclusion", "label": c, "gold": gold[2]},
    ]


def tau(rows: list[dict[str, Any]], **options: Any) -> Any:
    return unwaver.score(rows, **options).find("tau")


def test_an_unreadable_answer_satisfies_no_relation() -> None:
    for kind in ("semantic", "negational"):
        rows = pair(1, None, None, kind) + pair(2, "a", None, kind) + pair(3, None, "a", kind)
        found = tau(rows)
        assert (found.value, found.unreadable) == (1.0, 3)


def test_both_readings_of_unreadable_are_shown() -> None:
    rows = pair(1, "a", "a") + pair(2, "a", "b") + pair(3, "a", None) + pair(4, "a", "a")
    both = [s for s in unwaver.score(rows) if s.metric == "tau"]
    assert [(s.unreadable_as, s.value, s.counted) for s in both] == [
        ("violation", 0.5, 4),
        ("skipped", pytest.approx(1 / 3), 3),
    ]
    skipped = tau(rows, unreadable="skip")
    assert (skipped.value, skipped.counted, skipped.not_applicable) == (pytest.approx(1 / 3), 3, 1)


def test_implied_counts_only_groups_whose_originals_are_right() -> None:
    gold = ["e", "c", ["n", "c"]]
    rows = (
        chain(1, "e", "c", "c", gold)
        + chain(2, "e", "c", "n", gold)
        + chain(3, "e", "c", "e", gold)
        + chain(4, "e", "n", "e", gold)  # an original wrong
        + chain(5, None, "c", "e", gold)  # an original unreadable
        + chain(6, "e", "c", None, gold)  # the conclusion unreadable: broken
    )
    found = tau(rows)
    assert (found.value, found.counted, found.not_applicable) == (0.5, 4, 2)


def test_without_gold_implied_cannot_be_told() -> None:
    rows = [{**r, "gold": None} for r in chain(1, "e", "c", "c", ["e", "c", ["c"]])]
    found = tau(rows)
    assert (found.value, found.not_applicable, found.accuracy) == (None, 1, None)


def test_conditioned_on_a_right_original() -> None:
    rows = pair(1, "a", "b", gold="a") + pair(2, "b", "b", gold="a") + pair(3, "a", "a", gold="a")
    found = unwaver.score(rows).find("tau_conditioned")
    assert (found.value, found.counted, found.not_applicable) == (0.5, 2, 1)


def test_independent_answers() -> None:
    rows = pair(1, "a", "a") + pair(2, "b", "b")
    assert unwaver.score(rows).find("tau_independent").value == 0.5
    rows = pair(1, "a", "b", "negational") + pair(2, "b", "a", "negational")
    assert unwaver.score(rows).find("tau_independent").value == 0.5


def test_independent_conclusions() -> None:
    """Two of four conclusions say c; every group accepts n or c; none says n: half would be broken."""
    gold = ["e", "c", ["n", "c"]]
    rows = [r for g, c in enumerate("cece") for r in chain(g, "e", "c", c, gold)]
    result = unwaver.score(rows)
    assert result.find("tau").value == 0.5
    assert result.find("tau_independent").value == 0.5


def test_constant_predictor_is_flagged_but_not_one_that_is_right() -> None:
    constant = pair(1, "a", "a", gold="a") + pair(2, "a", "a", gold="b")
    assert "constant" in tau(constant).flags
    right = pair(1, "a", "a", gold="a") + pair(2, "a", "a", gold="a")
    assert "constant" not in tau(right).flags
    assert "constant" in tau(pair(1, "a", "a") + pair(2, "a", "a")).flags


def signal(group: int, original: str, variants: str) -> list[dict[str, Any]]:
    base = {"group": group, "kind": "signal", "gold": "a"}
    return [{**base, "role": "original", "label": original}] + [
        {**base, "role": "variant", "label": v} for v in variants
    ]


def test_signal_pass_rate_and_thresholds() -> None:
    rows = signal(1, "a", "aaaaaaaaaa") + signal(2, "a", "aaaaaaaaab") + signal(3, "b", "aaaaabbbbb")
    result = unwaver.score(rows)
    assert result.find("C_S").value == pytest.approx(1 / 3)
    assert result.find("C_S@0.9").value == pytest.approx(2 / 3)
    assert result.find("C_S@0.5").value == pytest.approx(1.0)
    assert result.find("tau").value == pytest.approx((0 + 0.1 + 0.5) / 3)


def test_reverse() -> None:
    rows = pair(1, "a", "a", "reverse") + pair(2, "a", "b", "reverse")
    assert unwaver.score(rows).find("C_R").value == 0.5


def test_entropy_in_bits_of_the_perturbed_input() -> None:
    rows = pair(1, "a", "a", probs=[0.9, 0.1]) + pair(2, "a", "b", probs=[0.3, 0.7])
    result = unwaver.score(rows)
    assert result.find("entropy_consistent").value == pytest.approx(0.47, abs=0.005)
    assert result.find("entropy_inconsistent").value == pytest.approx(0.88, abs=0.005)
    assert result.find("max_prob_inconsistent").value == pytest.approx(0.7)


def test_replicates_are_averaged_within_their_group() -> None:
    rows = [{**r, "replicate": k} for k, b in enumerate("ab") for r in pair(1, "a", b)] + [
        {**r, "replicate": k} for k in range(2) for r in pair(2, "a", "a")
    ]
    found = tau(rows)
    assert (found.value, found.groups, found.counted) == (0.25, 2, 2)


def test_failed_and_not_asked_groups_are_not_scored() -> None:
    rows = pair(1, "a", "b") + pair(2, "a", "a") + pair(3, "a", None) + pair(4, None, None)
    rows[5]["status"], rows[6]["status"], rows[7]["status"] = "failed", "not_asked", "failed"
    found = tau([{"status": None, **r} for r in rows])
    assert (found.value, found.counted, found.failed, found.not_asked) == (0.5, 2, 2, 0)


ANSWERS = st.sampled_from(["a", "b", "c", None])
PAIRS = st.lists(st.tuples(ANSWERS, ANSWERS, st.sampled_from("abc")), min_size=1, max_size=40)


@settings(deadline=None)
@given(
    PAIRS,
    st.sampled_from(["semantic", "symmetric", "negational"]),
    st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_any_table_obeys_the_contract(pairs: list[Any], kind: str, shared: list[bool]) -> None:
    rows = []
    for i, (a, b, gold) in enumerate(pairs):
        rows += pair(i, a, b, kind, gold, cluster=f"c{i // 2 if shared[i] else i}")
    result = unwaver.score(rows)
    direct = [
        (a is None or b is None or a == b) if kind == "negational" else (a is None or a != b) for a, b, _ in pairs
    ]
    assert result.find("tau").value == pytest.approx(sum(direct) / len(direct))
    assert result.find("tau").accuracy == pytest.approx(sum(a == g for a, _, g in pairs) / len(pairs))
    for s in result:
        assert s.counted + s.not_applicable + s.failed + s.not_asked == s.groups
        assert s.value is None or not math.isnan(s.value)
        if s.low is not None and s.high is not None and s.value is not None:
            assert s.low <= s.value <= s.high
    shuffled = unwaver.score(pl.DataFrame(rows, infer_schema_length=None).sort("role", descending=False))
    assert shuffled.find("tau").value == result.find("tau").value


def test_tables_of_all_makes() -> None:
    import pandas as pd

    rows = pair(1, 2, 2, gold=2) + pair(2, 2, 0, gold=2) + pair(3, 2, None, gold=2)
    frame = pl.DataFrame(rows)
    for table in (rows, frame, frame.lazy(), frame.to_dict(as_series=False), pd.DataFrame(rows), iter(rows)):
        assert tau(table).value == pytest.approx(2 / 3)
    assert unwaver.score(pd.DataFrame(rows)).find("tau_conditioned", given="2").counted == 3


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([{"group": 1, "kind": "semantic", "role": "original"}], "no column label"),
        ([], "empty|no column"),
        (
            [{"group": 1, "kind": "semantic", "role": "varient", "label": "a", "gold": None}],
            "varient",
        ),
    ],
)
def test_bad_tables(rows: Any, part: str) -> None:
    with pytest.raises(DataError, match=part):
        unwaver.score(rows)


def test_a_result_prints_in_a_terminal_and_a_notebook() -> None:
    result = unwaver.score(pair(1, "a", "<b>", gold="a") + pair(2, "a", "a", gold="a"))
    assert "semantic" in str(result)
    assert "50.0" in str(result)
    page = result._repr_html_()
    assert "<table>" in page
    assert "own/semantic" in page


def test_how_methods_are_called() -> None:
    from unwaver.result import method_names

    mixed = [("snli", "m", "logprob"), ("facts", "m", "generate"), ("snli", "other", "classify")]
    assert method_names(mixed) == {
        ("m", "logprob"): "logprob, generate",
        ("m", "generate"): "logprob, generate",
        ("other", "classify"): "classify",
    }
    both = [("facts", "m", "generate"), ("facts", "m", "generate, nucleus")]
    assert method_names(both) == {("m", "generate"): "generate", ("m", "generate, nucleus"): "generate, nucleus"}


def test_normalised_entropy_is_alike_for_different_numbers_of_labels():
    for k in (2, 3, 5):
        even = [1 / k] * k
        sure = [1.0, *[0.0] * (k - 1)]
        table = {
            "group": [1, 1, 2, 2], "kind": ["semantic"] * 4, "role": ["original", "variant"] * 2,
            "label": ["a", "b", "a", "a"], "probs": [sure, even, sure, sure],
        }  # fmt: skip
        result = unwaver.score(table)
        assert result.find("entropy_normalised_inconsistent").value == pytest.approx(1.0)
        assert result.find("entropy_inconsistent").value == pytest.approx(math.log2(k))
        assert result.find("entropy_normalised_consistent").value == pytest.approx(0.0, abs=1e-12)
