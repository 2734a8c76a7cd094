"""One notion of broken in free text, against a direct look at every pair of answers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.agree import Agreement, Pair
from unwaver.agree.comparison import Comparison, parse_agreement
from unwaver.answers.table import table_of
from unwaver.console import Console
from unwaver.metrics.agreed import both_ways, leading, not_compared, notions
from unwaver.metrics.block import block_of
from unwaver.metrics.broken import broken, broken_groups
from unwaver.metrics.score import score_frame
from unwaver.types import Answer, Group, Item

VALUES = {("a", "b"): 0.9, ("b", "a"): 0.2, ("a", "c"): 0.9, ("c", "a"): 0.1, ("b", "c"): 0.4, ("c", "b"): 0.6}


def compare(pairs: Any) -> list[float | None]:
    """One that depends on the order, and can tell nothing of x."""
    return [VALUES.get((pair.a, pair.b), None if "x" in pair[1:] else 0.0) for pair in pairs]


def ordered(name: str = "mine", better: Any = "high", threshold: float = 0.5) -> Agreement:
    same = 1.0 if better == "high" else 0.0
    return Agreement(name, False, better, same=same, threshold=threshold, compare=compare)


def frame_of(
    said: dict[str, list[list[str]]], agreements: list[Agreement], expect: Any = "same", kind: str = "paraphrase"
) -> pl.DataFrame:
    """said: by group, by wording, one answer for each replicate."""
    groups = [
        Group(
            name,
            "own",
            "own",
            kind,
            expect,
            tuple(
                Item(f"{name}/{n}", "own", "variant" if n else "original", {"text": f"{name} way {n}"})
                for n in range(len(wordings))
            ),
        )
        for name, wordings in said.items()
    ]
    answers = {
        (f"{name}/{n}", r): Answer(text=text)
        for name, wordings in said.items()
        for n, repeats in enumerate(wordings)
        for r, text in enumerate(repeats)
    }
    replicates = max(len(repeats) for wordings in said.values() for repeats in wordings)
    frame = table_of(groups, answers, {}, model="m", method="generate", replicates=replicates)
    for agreement in agreements:
        comparison = Comparison(agreement, groups, [frame])
        [frame] = comparison.frames_with(comparison.values(lambda _: {}, Console())[0])
    return frame


def is_broken(wordings: list[list[str]], agreement: Agreement) -> float | None:
    """By hand: 1, 0, or None where it does not apply."""
    answers = [(n, text) for n, repeats in enumerate(wordings) for text in repeats if text.strip()]
    pairs = [(a, b) for (n, a), (m, b) in combinations(answers, 2) if n != m]
    values = []
    for a, b in pairs:
        both = [agreement.same] * 2 if a == b else compare([Pair("", a, b), Pair("", b, a)])
        values.append(None if None in both else sum(both) / 2)  # type: ignore[arg-type]
    low = agreement.better == "low"
    if any(v is not None and (v >= agreement.threshold if low else v < agreement.threshold) for v in values):
        return 1.0
    return 0.0 if values and None not in values else None


WORDINGS = st.lists(st.lists(st.sampled_from("abcx "), min_size=2, max_size=2), min_size=1, max_size=4)


@given(st.lists(WORDINGS, min_size=1, max_size=4), st.sampled_from(["high", "low"]), st.sampled_from([0.5, 0.55]))
def test_any_pair_of_answers_to_distinct_wordings(
    questions: list[list[list[str]]], better: str, threshold: float
) -> None:
    agreement = ordered(better=better, threshold=threshold)
    said = {f"g{n}": wordings for n, wordings in enumerate(questions)}
    frame = frame_of(said, [agreement, parse_agreement("exact")])
    expected = [is_broken(wordings, agreement) for wordings in said.values()]
    found = [None if np.isnan(v) else v for v in broken(block_of(frame)).tolist()]
    assert found == expected
    assert broken_groups(frame) == [name for name, value in zip(said, expected, strict=True) if value]
    tau = next(s for s in score_frame(frame) if s.metric == "tau")
    told = [v for v in expected if v is not None]
    assert (tau.counted, tau.not_applicable) == (len(told), len(said) - len(told))
    assert tau.value == (pytest.approx(sum(told) / len(told)) if told else None)


def test_the_mean_of_both_directions_decides() -> None:
    """a, b: .9 and .2 make .55; a, c: .9 and .1 make .5; b, c: .4 and .6 make .5."""
    said = {"ab": [["a"], ["b"]], "abc": [["a"], ["b"], ["c"]]}
    assert broken(block_of(frame_of(said, [ordered()]))).tolist() == [0, 0]
    assert broken(block_of(frame_of(said, [ordered(threshold=0.52)]))).tolist() == [0, 1]
    assert broken(block_of(frame_of(said, [ordered(better="low")]))).tolist() == [1, 1]
    assert broken(block_of(frame_of(said, [ordered(better="low", threshold=0.55)]))).tolist() == [1, 1], (
        "as contradict@t"
    )
    assert broken(block_of(frame_of(said, [ordered(better="low", threshold=0.56)]))).tolist() == [0, 0]


def test_the_first_agreement_leads() -> None:
    said = {"g": [["Paris"], ["paris!"]]}
    exact, normalised = parse_agreement("exact"), parse_agreement("normalised")
    for agreements, expected in (([exact, normalised], 1.0), ([normalised, exact], 0.0)):
        frame = frame_of(said, agreements)
        block = block_of(frame)
        assert leading(block).name == agreements[0].name
        scores = {s.metric: s for s in score_frame(frame)}
        assert scores["tau"].value == expected
        assert scores["majority_share"].value == (1 - expected / 2)
        assert scores["clusters"].value == 1 + expected


def test_the_direction_belongs_to_the_agreement() -> None:
    frame = frame_of({"g": [["a"], ["b"]], "h": [["a"], ["a"]]}, [ordered("odd", "low")])
    assert notions(block_of(frame))["odd"].low
    scores = {s.metric: s for s in score_frame(frame)}
    assert {scores[f"Cons_odd{end}"].better for end in ("", "@0.5", "_questions")} == {"low"}
    assert scores["tau"].value == 0.5  # .55 is above .5; two identical texts are worth 0
    assert scores["majority_share"].value == 0.75


def test_where_answers_must_differ() -> None:
    said = {"kept": [["yes"], ["yes"]], "reversed": [["yes"], ["no"], ["no"]]}
    frame = frame_of(said, [parse_agreement("exact")], "different", "negational")
    assert broken(block_of(frame)).tolist() == [1, 0]
    frame = frame_of({"g": [["a"], ["x"], ["b"], ["c"]]}, [ordered(threshold=0.6)], "different", "negational")
    assert np.isnan(broken(block_of(frame))).all(), "one variant was not compared with the original"
    assert not_compared(block_of(frame), "mine").tolist() == [True]


def test_buckets_of_free_text() -> None:
    said = {"held": [["yes"], ["Yes."]], "torn": [["yes"], ["no"]]}
    frame = frame_of(said, [parse_agreement("normalised")], "bucket", "bucket")
    assert broken(block_of(frame)).tolist() == [0, 1]
    assert next(s for s in score_frame(frame) if s.metric == "tau").value == 0.5


def test_what_was_not_compared_is_not_consistent() -> None:
    """Of x nothing can be told: broken where two others disagree, else not known."""
    said = {"unknown": [["a"], ["a"], ["x"]], "broken": [["a"], ["d"], ["x"]], "one": [["x"], [""]]}
    block = block_of(frame_of(said, [ordered()]))
    assert [None if np.isnan(v) else v for v in broken(block).tolist()] == [None, 1, None]
    assert not_compared(block, "mine").tolist() == [True, True, False]
    assert len(both_ways(block, "mine").i) == 2


def test_tau_conditioned_is_over_right_originals() -> None:
    items = [Item(f"g{n}/{k}", "own", "variant" if k else "original", {"text": f"{n} {k}"}, accepted=("yes",))
             for n in (0, 1) for k in (0, 1)]  # fmt: skip
    groups = [Group(f"g{n}", "own", "own", "paraphrase", "same", tuple(items[2 * n : 2 * n + 2])) for n in (0, 1)]
    said = dict(zip([i.id for i in items], ["yes", "no", "no", "no"], strict=True))
    answers = {(name, 0): Answer(text=text) for name, text in said.items()}
    frame = table_of(groups, answers, {}, model="m", method="generate")
    comparison = Comparison(parse_agreement("exact"), groups, [frame])
    [frame] = comparison.frames_with(comparison.values(lambda _: {}, Console())[0])
    scores = {s.metric: s for s in score_frame(frame)}
    assert scores["tau"].value == 0.5
    assert (scores["tau_conditioned"].value, scores["tau_conditioned"].counted) == (1.0, 1)
    assert "tau_independent" not in scores, "it is about labels"


@pytest.mark.parametrize(("threshold", "expected"), [(0.2, (1.0, 0.0)), (0.21, (0.0, 1.0))])
def test_what_contradicts_does_not_agree(threshold: float, expected: tuple[float, float]) -> None:
    """A pair at the threshold counts in Cons_far@t, so it breaks its group and is not in the joint share."""
    agreement = Agreement(
        "far", True, "low", same=0.0, threshold=threshold, compare=lambda pairs: [0.2] * len(pairs)
    )
    frame = frame_of({"g": [["a"], ["b"]]}, [agreement]).with_columns(right=pl.lit(1.0))
    scores = {s.metric: s.value for s in score_frame(frame)}
    assert (scores["tau"], scores["Cons_far_joint"]) == expected
    assert scores[f"Cons_far@{threshold:g}"] == expected[0]
