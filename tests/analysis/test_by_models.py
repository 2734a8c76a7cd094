"""Paraphrases held against their originals: sizes, dependency trees, agreements, scorers and entailment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unwaver.agree.nli import bidirectional
from unwaver.agree.scorers import Scorer, pair_request
from unwaver.analysis.by_models import TextPair, entailment, scored, text_pairs
from unwaver.analysis.paraphrases import sizes
from unwaver.asking.consult import Enquiry
from unwaver.cli.analyse_verb import command as analyse
from unwaver.console import Console
from unwaver.types import Answer, Group, Item


def group(name: str, *texts: tuple[str, str]) -> Group:
    items = tuple(
        Item(f"{name}/{n}", "anli", "variant" if n else "original", {"hyp1": a, "hyp2": b, "obs1": "o"})
        for n, (a, b) in enumerate(texts)
    )
    return Group(name, "s", "t", "k", "bucket", items)


GROUPS = [group("g", ("a", "b"), ("a1", "b1"), ("a2", "b")), group("h", ("c", "d"), ("c1", "d1"))]


def test_sizes_as_in_table_2() -> None:
    (found,) = sizes(GROUPS)
    assert (found.originals, found.paraphrases, found.mean, found.least, found.most) == (2, 3, 1.5, 1, 2)
    assert found.deviation == pytest.approx(0.5**0.5)
    assert sizes(GROUPS[:1])[0].deviation is None


def test_every_text_that_changes_is_a_pair() -> None:
    (pairs,) = text_pairs(GROUPS).values()
    assert pairs == [
        ("a", "a1", 0), ("b", "b1", 0), ("a", "a2", 0), ("c", "c1", 1), ("d", "d1", 1)
    ]  # fmt: skip


def says(entails: set[tuple[str, str]]) -> Any:
    """An NLI model that says entailment for these pairs, and cannot answer about "?"."""

    def consult(enquiry: Enquiry) -> Mapping[tuple[str, int], Answer]:
        return {
            (name, 0): Answer(error="failed")
            if "?" in request.segments
            else Answer(logprobs=(0.0, -9.0, -9.0) if request.segments in entails else (-9.0, 0.0, -9.0))
            for name, request in enquiry.requests.items()
        }

    return consult


def test_entailment_in_both_directions() -> None:
    pairs = [TextPair("a", "b", 0), TextPair("c", "d", 1), TextPair("e", "f", 2), TextPair("g", "?", 3)]
    known = {("a", "b"), ("b", "a"), ("c", "d")}
    found = entailment("r", pairs, bidirectional("hf/x"), says(known), Console())
    assert (found.pairs, found.not_told) == (4, 1)
    assert found.forward == pytest.approx(2 / 3)
    assert found.backward == pytest.approx(1 / 3)
    assert found.both.value == pytest.approx(1 / 3)


def test_scorers_give_a_number_or_right_and_wrong() -> None:
    pairs = [TextPair("a", "b", 0), TextPair("a", "c", 0), TextPair("a", "b", 1)]

    def numbers(enquiry: Enquiry) -> Any:
        assert enquiry.name == "bleurt"
        values = {pair_request("b", "a").segments: "0.25", pair_request("c", "a").segments: "-1.5"}
        return {(name, 0): Answer(text=values[r.segments]) for name, r in enquiry.requests.items()}

    bleurt = Scorer("bleurt", "regression/x", lambda q, a: [], lambda q, a, said: None)
    assert scored(pairs, bleurt, numbers) == [0.25, -1.5, 0.25]
    judge = Scorer(
        "judge",
        "fake/x",
        lambda q, a: [pair_request(a.text, "")],
        lambda q, a, said: said(pair_request(a.text, "")).text == "y",
    )
    replies = {"b": "y", "c": "n"}

    def words(enquiry: Enquiry) -> Any:
        return {(name, 0): Answer(text=replies[r.segments[1]]) for name, r in enquiry.requests.items()}

    assert scored(pairs, judge, words) == [1.0, 0.0, 1.0]


def test_the_commands(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"g{n}",
            "items": [{"id": f"a{n}", "text": "A dog runs home."}, {"id": f"b{n}", "text": "Home ran it."}],
        }
        for n in range(6)
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))

    def ran(*arguments: str) -> Any:
        done = CliRunner().invoke(analyse, [*arguments, "--json"])
        assert done.exit_code == 0, done.exception
        return json.loads(done.stdout)

    (found,) = ran("sizes", str(path))["sizes"]
    assert (found["originals"], found["mean"], found["deviation"]) == (6, 1.0, 0.0)
    (found,) = ran("distance", str(path), "--agree", "rouge1")["distances"]
    assert 0 < found["measures"]["rouge1"] < 1
    document = ran("entailment", str(path), "--model", "fake/random", "--store", str(tmp_path / "s.sqlite"))
    assert document["entailment"][0]["pairs"] == 6
    assert (tmp_path / "s.sqlite").exists()
    assert "measures" not in ran("distance", str(path))["distances"][0]


@pytest.mark.slow
def test_dependency_trees_are_compared() -> None:
    pytest.importorskip("spacy")
    from unwaver.analysis.dependencies import dependency_distances
    from unwaver.errors import UsageError
    from unwaver.text.english import pipeline

    try:
        pipeline()
    except UsageError as e:
        pytest.skip(str(e))
    same, other, refused = dependency_distances(
        [
            ("A dog runs home.", "A cat walks home."),
            ("A dog runs home.", "Home, it was the dog that ran."),
            ("Dog", "A b"),
        ]
    )
    assert same == 0.0
    assert other is not None
    assert 0 < other <= 1
    assert refused is None
