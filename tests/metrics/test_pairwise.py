"""Consistency of generated text against a direct count over ordered pairs."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unwaver
from unwaver.agree import Pair
from unwaver.agree.comparison import Comparison, chosen, parse_agreement
from unwaver.answers.given import complete
from unwaver.answers.table import table_of
from unwaver.console import Console
from unwaver.errors import UsageError
from unwaver.metrics.block import block_of
from unwaver.metrics.pairwise import _clusters, _entropy, _majority
from unwaver.metrics.score import score_frame
from unwaver.types import Answer, Group, Item, Score


def group_of(name: str, wordings: int, accepted: tuple[str, ...] = (), rejected: tuple[str, ...] = ()) -> Group:
    items = tuple(
        Item(
            f"{name}/{n}",
            "own",
            "variant" if n else "original",
            {"text": f"{name} asked in way {n}"},
            accepted=accepted,
            rejected=rejected,
        )
        for n in range(wordings)
    )
    return Group(name, "own", "own", "paraphrase", "same", items)


def scores_of(
    groups: list[Group], said: dict[tuple[str, int], str], agree: list[str], replicates: int = 1
) -> dict[str, Score]:
    answers = {place: Answer(text=text) for place, text in said.items()}
    frame = table_of(groups, answers, {}, model="m", method="generate", replicates=replicates)
    for agreement in chosen(agree, groups):
        comparison = Comparison(agreement, groups, [frame])
        [frame] = comparison.frames_with(comparison.values(lambda _: {}, Console())[0])
    return {score.metric: score for score in score_frame(frame) if score.given is None}


TEXTS = st.lists(st.sampled_from(["a", "a b", "a b c", "x y", "", "  "]), min_size=2, max_size=5)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_the_mean_over_ordered_pairs_by_question(questions: list[list[str]]) -> None:
    groups = [group_of(f"g{n}", len(texts)) for n, texts in enumerate(questions)]
    said = {(f"g{n}/{i}", 0): text for n, texts in enumerate(questions) for i, text in enumerate(texts)}
    scores = scores_of(groups, said, ["rouge1@0.6", "exact"])
    rouge = parse_agreement("rouge1").compare
    assert rouge is not None
    for name, value_of in (
        ("rouge1", lambda a, b: 1.0 if a == b else rouge([Pair("", a, b)])[0]),
        ("exact", lambda a, b: float(a == b)),
    ):
        means, shares = [], []
        for texts in questions:
            left = [text.strip() for text in texts if text.strip()]
            if len(left) >= 2:
                values = [value_of(a, b) for a, b in permutations(left, 2)]
                means.append(fmean(values))
                shares.append(fmean(v >= (0.6 if name == "rouge1" else 0.5) for v in values))
        found = scores[f"Cons_{name}"]
        assert found.counted == len(means)
        assert found.groups == len(questions)
        assert found.value == (pytest.approx(fmean(means)) if means else None)
        share = scores[f"Cons_{name}@{'0.6' if name == 'rouge1' else '0.5'}"]
        assert share.value == (pytest.approx(fmean(shares)) if shares else None)


def test_repeats_questions_and_accuracy() -> None:
    group = group_of("q", 2, accepted=("Paris",))
    said = {("q/0", 0): "Paris", ("q/0", 1): "Paris", ("q/1", 0): "It is Paris.", ("q/1", 1): "Rome"}
    scores = scores_of([group], said, ["exact"], replicates=2)
    assert scores["Cons_exact"].value == 0  # all pairs of distinct wordings differ
    assert scores["Cons_exact_repeat"].value == 0.5  # "Paris" twice; "It is Paris." and "Rome"
    assert scores["Cons_exact_questions"].value == 0
    assert scores["Cons_exact_accurate"].value == 0
    assert scores["Cons_exact_joint"].value == 0
    assert scores["accuracy_contains"].value == 3 / 4
    assert scores["accuracy"].value == 1.0
    assert scores["majority_share"].value == 0.5


def test_accurate_answers_may_agree_more_than_all() -> None:
    group = group_of("q", 3, accepted=("Paris",))
    said = {("q/0", 0): "Paris", ("q/1", 0): "Paris", ("q/2", 0): "Rome"}
    scores = scores_of([group], said, ["exact"])
    assert scores["Cons_exact"].value == pytest.approx(1 / 3)
    assert scores["Cons_exact_accurate"].value == 1.0
    assert scores["Cons_exact_joint"].value == pytest.approx(1 / 3)


def test_accuracy_against_false_references() -> None:
    group = group_of("q", 2, accepted=("The earth is round.",), rejected=("The earth is flat.",))
    said = {("q/0", 0): "It is round.", ("q/1", 0): "It is flat."}
    scores = scores_of([group], said, ["exact"])
    assert scores["accuracy_rouge1"].value == 0.5
    assert scores["accuracy"].value == 1.0
    assert scores["accuracy"].accuracy == 1.0


def test_fewer_than_two_answers_do_not_apply() -> None:
    scores = scores_of([group_of("q", 3)], {("q/0", 0): "a", ("q/1", 0): " ", ("q/2", 0): ""}, ["exact"])
    score = scores["Cons_exact"]
    assert (score.value, score.counted, score.not_applicable, score.unreadable) == (None, 0, 1, 1)


def test_labels_need_no_agreement() -> None:
    items = tuple(Item(f"g/{n}", "own", "variant" if n else "original", {"text": "t"}, ("y", "n")) for n in (0, 1))
    assert chosen(["exact"], [Group("g", "own", "own", "semantic", "same", items)]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rouge", "unknown agreement"),
        ("entail", "asks a model"),
        ("exact=hf/x", "asks no model"),
        ("rouge1@2", "expected a number from 0 to 1"),
        ("bertscore=x,layers=2", "has an option 'layers'"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_agreement(text)


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="named twice"):
        chosen(["exact", "exact@0.3"], [group_of("q", 2)])


class Writer:
    """Says what it is told, and counts."""

    name = identity = "writer"
    method, reads, deterministic, settings = "generate", ("prompt",), True, {"max_tokens": 8}

    def __init__(self) -> None:
        self.calls = 0

    def answer(self, requests):
        for index, request in enumerate(requests):
            self.calls += 1
            text = "A man is asleep." if "one" in request.prompt else "A man is sleeping."
            yield [(index, Answer(text=text if "four" not in request.prompt else ""))]

    def close(self) -> None:
        pass


@pytest.mark.slow
def test_models_that_compare_are_asked_once_and_their_values_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nli_model: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    wordings = ", ".join(f'{{"text": "say {n}"}}' for n in ("one", "two", "three", "four"))
    Path("q.jsonl").write_text('{"kind": "paraphrase", "items": [' + wordings + "]}\n")
    writer = Writer()
    agree = [f"entail=hf/{nli_model}", f"bidirectional=hf/{nli_model}", f"contradict=hf/{nli_model}"]
    result = unwaver.run("q.jsonl", writer, agree=tuple(agree), out="out", compare_questions=True)
    # two distinct texts in two directions, and twelve pairs of the four questions
    assert [a["pairs"] for a in result.run["agreements"]] == [14, 14, 14]
    assert result.run["spent"]["calls"] == 4 + 14  # the three agreements ask the same questions
    assert result.find("Cons_bidirectional").value == 1.0
    assert result.find("clusters").value == 1.0
    assert result.find("cluster_entropy").value == 0.0
    assert result.find("majority_share").value == 1.0
    again = unwaver.score("out")
    assert [s.value for s in again if s.metric.startswith("Cons_")] == [
        s.value for s in result if s.metric.startswith("Cons_")
    ]
    warm = unwaver.run("q.jsonl", writer, agree=tuple(agree), out="out")
    assert warm.run["spent"]["calls"] == 0
    assert [a["pairs"] for a in warm.run["agreements"]] == [2, 2, 2], "not the questions unless asked"
    assert writer.calls == 4
    assert not any(isinstance(s.value, float) and math.isnan(s.value) for s in result)


def test_clusters_are_unknown_where_a_verdict_is_missing() -> None:
    """Of the second question no pair was compared: its answers are not three things said."""
    rows = [
        {"group": g, "kind": "paraphrase", "role": "variant" if n else "original", "label": f"{text}{g}"}
        for g in ("q1", "q2")
        for n, text in enumerate("abc")
    ]
    known = [[None, 1.0, 1.0], [1.0, None, 0.0], [1.0, 0.0, None]]
    values = pl.Series("agree_bidirectional@0.5", known + [[None] * 3] * 3, dtype=pl.List(pl.Float64))
    block = block_of(complete(rows).with_columns(values))
    for metric, expected in ((_clusters, 1.0), (_entropy, 0.0), (_majority, 1.0)):
        first, second = metric(block).tolist()
        assert first == pytest.approx(expected)
        assert math.isnan(second)
