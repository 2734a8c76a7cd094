"""wording_share and the gap between wordings and repeats, against plain Python; what a reader is told of them."""

from __future__ import annotations

import random
from itertools import permutations
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from test_pairwise import group_of, scores_of

import unwaver
from unwaver.answers.table import table_of
from unwaver.meaning import is_known, leading_of
from unwaver.metrics.noise import in_words, noise_of
from unwaver.metrics.score import score_frame
from unwaver.reports.remarks import remarks
from unwaver.reports.terminal import rows
from unwaver.types import Answer, Group, replace

Bucket = dict[int, list[str]]  # the answers to each wording


def bucket_rows(group: int, said: Bucket, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "group": group,
            "kind": "bucket",
            "role": "variant",
            "label": label,
            "item": f"{group}/{wording}",
            "replicate": n,
            **more,
        }
        for wording, labels in said.items()
        for n, label in enumerate(labels)
    ]


def plain(said: Bucket) -> tuple[float | None, float | None]:
    """Cons among wordings, among repeats."""
    answers = [(wording, label) for wording, labels in said.items() for label in labels]
    other = [a[1] == b[1] for a, b in permutations(answers, 2) if a[0] != b[0]]
    again = [a[1] == b[1] for a, b in permutations(answers, 2) if a[0] == b[0]]
    return fmean(other) if other else None, fmean(again) if again else None


def random_buckets(seed: int, groups: int = 300) -> list[Bucket]:
    """Unequal: one to four wordings, each asked one to three times."""
    rng = random.Random(seed)
    return [
        {w: [rng.choice("aab") for _ in range(rng.randint(1, 3))] for w in range(rng.randint(1, 4))}
        for _ in range(groups)
    ]


def expected(buckets: list[Bucket]) -> tuple[float, float, int]:
    """The gap, the share, and over how many groups."""
    known = [(w, r) for w, r in map(plain, buckets) if w is not None and r is not None]
    wordings, repeats = fmean(w for w, _ in known), fmean(r for _, r in known)
    return wordings - repeats, (repeats - wordings) / (1 - wordings), len(known)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("gold", [None, "a"])
def test_buckets_of_labels_against_plain_python(seed: int, gold: str | None) -> None:
    buckets = random_buckets(seed)
    more = {} if gold is None else {"gold": gold}
    result = unwaver.score([row for n, said in enumerate(buckets) for row in bucket_rows(n, said, **more)])
    gap, share, counted = expected(buckets)
    for name, value in (("Cons_lex_gap", gap), ("wording_share", share)):
        found = result.find(name)
        assert found.value == pytest.approx(value)
        assert (found.counted, found.not_applicable) == (counted, 300 - counted)
        assert found.low < found.value < found.high  # type: ignore[operator]


def test_an_original_and_its_variants() -> None:
    """A relation of BECEL: tau leads, the noise is beside it, right answers are not needed."""
    rng = random.Random(3)
    buckets = [{w: [rng.choice("aab") for _ in range(3)] for w in range(2)} for _ in range(200)]
    table = [
        {**row, "kind": "semantic", "role": "variant" if row["item"].endswith("/1") else "original"}
        for n, said in enumerate(buckets)
        for row in bucket_rows(n, said)
    ]
    result = unwaver.score(table)
    gap, share, counted = expected(buckets)
    assert result.find("Cons_lex_gap").value == pytest.approx(gap)
    assert result.find("wording_share").value == pytest.approx(share)
    assert result.find("wording_share").counted == counted
    assert leading_of(result.scores).metric == "tau"
    shown = [row[1].split()[0] for row in rows(result)[1:]]
    assert shown == ["tau", "Cons_lex", "Cons_lex_repeat", "Cons_lex_gap", "wording_share"]


@pytest.mark.parametrize("kind", ["negational", "transitive"])
def test_not_where_answers_must_change_or_follow(kind: str) -> None:
    role = {"negational": "variant", "transitive": "conclusion"}[kind]
    table = [
        {**row, "kind": kind, "role": role if row["item"].endswith("/1") else "original", "gold": "a"}
        for n in range(6)
        for row in bucket_rows(n, {0: ["a", "b"], 1: ["b", "a"]})
    ]
    result = unwaver.score(table)
    assert not [s for s in result if "wording_share" in s.metric or s.metric.endswith("_gap")]
    assert noise_of(result.scores) is None


@pytest.mark.parametrize("kind", ["surface", "typos", "paraphrase"])
def test_every_kind_made_of_variants_has_it(kind: str) -> None:
    groups = [group_of(f"g{n}", 3) for n in range(12)]
    rng = random.Random(1)
    said = {(f"g{n}/{i}", r): rng.choice("ab") for n in range(12) for i in range(3) for r in range(2)}
    groups = [Group(g.id, g.suite, g.task, kind, "same", g.items) for g in groups]
    scores = scores_of(groups, said, ["exact"], replicates=2)
    buckets = [{i: [said[f"g{n}/{i}", r] for r in range(2)] for i in range(3)} for n in range(12)]
    gap, share, _ = expected(buckets)
    assert scores["Cons_exact_gap"].value == pytest.approx(gap)
    assert scores["wording_share"].value == pytest.approx(share)
    assert scores["wording_share_exact"] == replace(scores["wording_share"], metric="wording_share_exact")


def test_each_agreement_has_its_own_and_the_first_leads() -> None:
    said = {("q/0", 0): "It is Paris.", ("q/0", 1): "it is paris", ("q/1", 0): "Paris", ("q/1", 1): "Paris"}
    scores = scores_of([group_of("q", 2)], said, ["normalised", "exact"], replicates=2)
    # normalised: wordings 0, repeats 1; exact: wordings 0, repeats 0.5
    assert scores["wording_share"].value == scores["wording_share_normalised"].value == 1.0
    assert scores["wording_share_exact"].value == 0.5
    assert scores["Cons_exact_gap"].value == -0.5


def test_where_less_is_better_the_values_are_disagreements() -> None:
    """Wordings: 0.6 and 0.2, a mean of 0.4; repeats 0.1: three quarters are due to wording."""
    answers = {(f"q/{i}", r): Answer(text=f"{i}{r}") for i in range(2) for r in range(2)}
    frame = table_of([group_of("q", 2)], answers, {}, model="m", method="generate", replicates=2)
    places = list(zip(frame["item"], frame["replicate"], strict=True))
    values = [
        [
            None if one == other else 0.1 if one[0] == other[0] else 0.6 if one[1] == other[1] else 0.2
            for other in places
        ]
        for one in places
    ]
    frame = frame.with_columns(pl.Series("agree_contradict@0.5 low", values, dtype=pl.List(pl.Float64)))
    found = {s.metric: s for s in score_frame(frame)}
    assert found["Cons_contradict_gap"].value == pytest.approx(0.3)
    assert found["Cons_contradict_gap"].better == "low"
    assert found["wording_share"].value == pytest.approx(0.75)
    noise = noise_of(list(found.values()))
    assert noise is not None
    assert noise.low
    assert noise.disagreement == pytest.approx((0.4, 0.1))
    assert in_words(noise).startswith("different wordings contradict each other in 40.0 % of pairs")


def test_names_are_declared() -> None:
    for name in ("wording_share", "wording_share_rouge1", "Cons_lex_gap", "Cons_rouge1_gap", "var_wording_share"):
        assert is_known(name)


# --- what is said -----------------------------------------------------------------------------------------------


def score_of(buckets: list[Bucket]) -> Any:
    return unwaver.score([row for n, said in enumerate(buckets) for row in bucket_rows(n, said)])


def test_noise_in_words() -> None:
    result = score_of([{0: ["a", "a"], 1: ["b", "a"]}, {0: ["a", "a"], 1: ["a", "a"]}])
    noise = noise_of(result.scores)
    assert noise is not None
    assert noise.disagreement == pytest.approx((0.25, 0.25))
    assert in_words(noise).endswith("in 25.0 % of pairs, repeats of one wording in 25.0 %: no wording noise beyond "
                                    "sampling noise")  # fmt: skip


def test_disagreement_is_that_of_the_groups_with_both() -> None:
    """The second group has one wording; its repeats must not count."""
    result = score_of([{0: ["a", "a"], 1: ["b", "b"], 2: ["a", "b"]}, {0: ["a", "b"]}])
    wordings, repeats = plain({0: ["a", "a"], 1: ["b", "b"], 2: ["a", "b"]})
    noise = noise_of(result.scores)
    assert noise is not None
    assert noise.disagreement == pytest.approx((1 - wordings, 1 - repeats))  # type: ignore[operator]


def test_repeats_of_some_groups_only_are_said() -> None:
    result = score_of([*random_buckets(5, 20), *({0: ["a"], 1: ["b"]} for _ in range(10))])
    counted, asked = result.find("wording_share").counted, result.find("Cons_lex").counted
    assert counted < asked
    assert any(f"use the {counted} of {asked} groups" in line for line in remarks(result))


def test_wordings_that_never_disagree() -> None:
    result = score_of([{0: ["a", "a"], 1: ["a", "a"]}] * 6)
    assert result.find("wording_share").value is None
    assert result.find("Cons_lex_gap").value == 0
    assert any("wording_share is undefined: different wordings never disagree" in x for x in remarks(result))


def test_without_repeats_the_reader_learns_how_to_get_them() -> None:
    result = score_of([{0: ["a"], 1: ["b"]}] * 6)
    assert not [s for s in result if s.metric == "wording_share"]
    noise = noise_of(result.scores)
    assert noise is not None
    assert noise.share is None
    assert "--replicates 2" in noise.why
    assert in_words(noise) == ""


def test_one_wording_asked_twice_is_no_comparison() -> None:
    result = score_of([{0: ["a", "b"]}] * 6)
    assert result.find("wording_share").value is None
    noise = noise_of(result.scores)
    assert noise is not None
    assert noise.why == "no group has answers to two wordings"


# --- P_C of free text -------------------------------------------------------------------------------------------


def test_paraphrastic_consistency_of_free_text_with_references() -> None:
    """θ = 2/3 and 1 over three paraphrases: the original is not one of them."""
    groups = [group_of(f"g{n}", 4, accepted=("Paris",)) for n in range(2)]
    said = {
        ("g0/0", 0): "Rome",
        ("g0/1", 0): "Paris",
        ("g0/2", 0): "It is Paris.",
        ("g0/3", 0): "Oslo",
        **{(f"g1/{i}", 0): "Paris" for i in range(4)},
    }
    scores = scores_of(groups, said, ["exact"])
    assert scores["P_C"].value == pytest.approx(fmean([(2 / 3) ** 2 + (1 / 3) ** 2, 1]))
    assert scores["P_C_pairs"].value == pytest.approx(fmean([1 / 3, 1]))
    assert scores["A_original"].value == 0.5
    assert leading_of(list(scores.values())).metric == "tau"


def test_no_paraphrastic_consistency_without_references() -> None:
    said = {(f"g0/{i}", 0): "Paris" for i in range(4)}
    assert not {"P_C", "A_bucket"} & set(scores_of([group_of("g0", 4)], said, ["exact"]))
