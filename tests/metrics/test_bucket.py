from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unwaver

sys.path.insert(0, str(Path(__file__).parent.parent / "logs"))
from counting import counted


def rows(group: object, labels: str, **more: Any) -> list[dict[str, Any]]:
    """One wording a letter; - is unreadable."""
    return [
        {
            "group": group,
            "kind": "bucket",
            "role": "variant",
            "label": None if x == "-" else x,
            "item": f"{group}/{n}",
            **more,
        }
        for n, x in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "cons", "tau"),
    [
        ("aab", 2 / 6, 0.5),
        ("aaa", 1.0, 0.0),
        ("ab", 0.0, 1.0),
        ("a-", None, 1.0),
        ("a-a", 1.0, 0.5),
        ("a", None, None),
    ],
)
def test_one_bucket(labels: str, cons: float | None, tau: float | None) -> None:
    result = unwaver.score(rows(1, labels))
    assert result.find("Cons_lex").value == cons
    assert result.find("tau").value == tau
    assert result.find("Cons_lex").unreadable == int("-" in labels)
    assert result.find("Cons_lex").not_applicable == int(cons is None)


def test_the_original_is_one_of_the_wordings_and_the_first() -> None:
    bucket = rows(1, "aab")
    bucket[2]["role"] = "original"
    result = unwaver.score(bucket)
    assert result.find("tau").value == 1.0
    assert result.find("Cons_lex").value == pytest.approx(2 / 6)


def test_repeats_of_one_wording_are_apart() -> None:
    table = [
        {"group": 1, "kind": "bucket", "role": "variant", "item": item, "replicate": n, "label": label}
        for item, labels in (("w1", "aaab"), ("w2", "aabb"))
        for n, label in enumerate(labels)
    ]
    result = unwaver.score(table)
    assert result.find("Cons_lex").value == pytest.approx((3 * 2 + 1 * 2) / 16)
    assert result.find("Cons_lex_repeat").value == pytest.approx((6 + 4) / 24)


answers = st.lists(
    st.tuples(
        st.sampled_from("123"),
        st.sampled_from("uvw"),
        st.integers(0, 2),
        st.sampled_from(["a", "b", None]),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda a: a[:3],
)


@given(answers)
@settings(max_examples=60, deadline=None)
def test_agrees_with_a_direct_count(found: list[Any]) -> None:
    expected = counted((*a, None) for a in found)
    table = [
        {"group": g, "kind": "bucket", "role": "variant", "item": w, "replicate": r, "label": label}
        for g, w, r, label in found
    ]
    result = unwaver.score(table)
    for name in ("Cons_lex", "Cons_lex_repeat", "tau"):
        if name == "Cons_lex_repeat" and all(a[2] == 0 for a in found):
            continue  # not among the scores: there are no replicates
        assert result.find(name).value == pytest.approx(expected[name]), name


@given(st.permutations(list("aabbc-")))
@settings(max_examples=30, deadline=None)
def test_order_does_not_matter(labels: list[str]) -> None:
    assert unwaver.score(rows(1, "".join(labels))).find("Cons_lex").value == pytest.approx(4 / 20)


def test_other_groups_have_none_of_these() -> None:
    pair = [{"group": 1, "kind": "semantic", "role": role, "label": "a"} for role in ("original", "variant")]
    assert "Cons_lex" not in {s.metric for s in unwaver.score(pair)}
