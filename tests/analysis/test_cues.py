"""Superficial cues against a direct count, and on the training data that the paper speaks of."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from unwaver.analysis.cues import Row, shares, strongest, words_of
from unwaver.cli.main import cli
from unwaver.errors import DataError, UsageError


def test_words() -> None:
    assert words_of("He can't; I cannot, isn’t it?") == {"he", "ca", "n't", "i", "cannot", "is", "it"}
    assert words_of("Mountain-bike n't") == {"mountain", "bike", "n't"}


def rows(seed: int = 0) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for n in range(300):
        label = rng.choice("abc")
        words = {"the", *(["cue"] if rng.random() < (0.6 if label == "a" else 0.1) else []), rng.choice("xyz")}
        found.append(Row(frozenset(words), label, n // 3))
    return found


def test_shares_equal_a_count() -> None:
    data = rows()
    having = [row for row in data if row.words & {"cue", "x"}]
    for share in shares(data, ["Cue", "x"]):
        own = [row for row in having if row.label == share.label]
        assert share.rows == len(own)
        assert share.share == pytest.approx(len(own) / len(having))
        assert share.low is not None
        assert share.high is not None
        assert share.low < share.share < share.high
        assert share.overall == pytest.approx(sum(row.label == share.label for row in data) / len(data))
    assert sum(share.rows for share in shares(data, ["cue", "x"])) == len(having)
    assert {share.share for share in shares(data, ["absent"])} == {None}


def test_the_strongest_cue_is_found() -> None:
    data = rows()
    first, *_ = cues = strongest(data)
    both = sum("cue" in row.words and row.label == "a" for row in data)
    word, label = sum("cue" in row.words for row in data), sum(row.label == "a" for row in data)
    assert (first.word, first.label) == ("cue", "a")
    assert first.pmi == pytest.approx(math.log2(both * len(data) / (word * label)))
    assert first.low is not None
    assert first.high is not None
    assert 0 < first.low < first.pmi < first.high
    assert (first.rows, first.share) == (word, pytest.approx(both / word))
    assert all(cue.word != "the" for cue in cues), "a word that every row has says nothing"
    assert strongest(data, fewest=1000) == []
    assert len(strongest(data, most=1)) == 1


def test_a_word_that_always_has_one_label_has_an_interval() -> None:
    data = [Row(frozenset({"w"} if n < 30 else {"v"}), "a" if n < 60 else "b", n) for n in range(120)]
    cue = strongest(data)[0]
    assert (cue.word, cue.share) == ("w", 1.0)
    assert cue.low is not None
    assert cue.high == pytest.approx(cue.pmi)
    assert cue.low < cue.pmi - 0.05


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(cli, ["analyse", "cues", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_18k_part_of_snli(data: Path) -> None:
    path = data / "snli" / "snli_train_part_18k_cat.tsv.gz"
    columns = ("--column", "premise=3", "--column", "hypothesis=4", "--column", "gold=1")
    labels = ("--map", "1=neutral", "--map", "2=contradiction", "--map", "3=entailment")
    given = (path, "--task", "snli", "--words", "no,not,n't", *columns, *labels, "--most", 2, "--json")
    found = json.loads(invoke(*given))
    assert (found["rows"], found["rows_with_word"]) == (18_000, 297)
    share = next(each for each in found["labels"] if each["label"] == "contradiction")
    assert round(100 * share["share"], 1) == 70.0
    assert share["low"] < share["share"] < share["high"]
    assert found["cues"][0]["word"] == "nobody"


@pytest.mark.parametrize("file", ["train", "{data}/snli/snli_train_part_18k_cat.tsv.gz"])
def test_the_18k_part_of_snli_needs_no_columns(file: str, data: Path) -> None:
    """The layout of a published file is known, by its split and by its path."""
    given = (file.format(data=data), "--task", "snli", "--data-dir", data, "--words", "no,not,n't", "--json")
    found = json.loads(invoke(*given))
    assert (found["rows"], found["rows_with_word"]) == (18_000, 297)
    share = next(each for each in found["labels"] if each["label"] == "contradiction")
    assert round(100 * share["share"], 1) == 70.0


def test_a_file_with_a_header_and_a_file_of_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("premise,hypothesis,label\np,it is not,contradiction\nnot p,it is,entailment\n")
    words = tmp_path / "words.txt"
    words.write_text("not\nnever\n")
    output = invoke(path, "--task", "snli", "--words", words)
    assert "1 of 2 rows have one of these words in hypothesis: not, never" in output
    assert "1 of 2 rows have one of these words in premise" in invoke(path, "--task", "snli", "--field", "premise")


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("1\tp\th\n2\tp\n")
    by_number = ("--column", "hypothesis=3", "--column", "gold=1")
    with pytest.raises(UsageError, match="task"):
        invoke(path)
    with pytest.raises(UsageError, match="no field 'x'"):
        invoke(path, "--task", "snli", "--field", "x")
    with pytest.raises(UsageError, match="no word"):
        invoke(path, "--task", "snli", "--words", ",", *by_number, "--map", "1=neutral", "--map", "2=neutral")
    with pytest.raises(DataError, match="found the label '1'"):
        invoke(path, "--task", "snli", *by_number)
    with pytest.raises(DataError, match="found 2 cells"):
        invoke(path, "--task", "snli", *by_number, "--map", "1=neutral", "--map", "2=neutral")
    with pytest.raises(UsageError, match="no label 'nuetral'"):
        invoke(path, "--task", "snli", *by_number, "--map", "1=nuetral")
    with pytest.raises(UsageError, match="gold is not given"):
        invoke(path, "--task", "snli", "--column", "hypothesis=3")
