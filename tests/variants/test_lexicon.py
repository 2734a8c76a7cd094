"""Antonyms and synonyms from tables, WordNet folders and the wn library."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError, UsageError
from unwaver.variants import lexicon
from unwaver.variants.lexicon import (
    antonyms_in_file,
    antonyms_in_wn,
    antonyms_in_wordnet,
    antonyms_of,
    synonyms,
    synonyms_of_senses,
    synset_count,
)


def write_wordnet(folder: Path) -> Path:
    """Four adjectives: large, big / small, little; a hot of two senses, one of them against cold; a noun of one."""
    small_words, large_words = "small 0 little 0", "large 0 big 0"

    def synset(words: str, pointers: list[tuple[str, str]], at: dict[str, int], name: str) -> str:
        links = " ".join(f"! {at[other]:08} a {numbers}" for other, numbers in pointers)
        count = len(words.split()) // 2
        return f"{at[name]:08} 00 a {count:02x} {words} {len(pointers):03} {links} | a gloss\n".replace("  ", " ")

    at = dict.fromkeys(("large", "small", "hot", "cold", "spicy"), 0)
    for _ in range(2):  # the offsets have a fixed width, so that the second time they are right
        text = "  1 a licence line\n"
        for name, words, pointers in (
            ("large", large_words, [("small", "0101"), ("small", "0202")]),
            ("small", small_words, [("large", "0101"), ("large", "0202")]),
            ("hot", "hot 0", [("cold", "0101")]),
            ("cold", "cold(a) 0", [("hot", "0101")]),
            ("spicy", "hot 1", []),
        ):
            at[name] = len(text.encode())
            text += synset(words, pointers, at, name)
    (folder / "data.adj").write_text(text)
    senses = {"large": ["large"], "big": ["large"], "small": ["small"], "little": ["small"], "cold": ["cold"]}
    index = {**senses, "hot": ["spicy", "hot"]}
    lines = [
        f"{w} a {len(s)} 1 ! {len(s)} 0 {' '.join(f'{at[n]:08}' for n in s)}" for w, s in sorted(index.items())
    ]
    (folder / "index.adj").write_text("  1 a licence line\n" + "\n".join(lines) + "\n")
    line = "00000000 00 n 02 sofa 0 long_chair 0 000 | a seat\n"
    (folder / "data.noun").write_text(line)
    (folder / "index.noun").write_text("sofa n 1 0 1 0 00000000\nlong_chair n 1 0 1 0 00000000\n")
    return folder


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    monkeypatch.setenv("UNWAVER_WORDNET", str(folder))
    return write_wordnet(folder)


def test_a_wordnet_folder_gives_opposites_by_sense(wordnet: Path) -> None:
    antonyms = antonyms_of()
    assert antonyms("big", "a") == [["little", "small"]]  # its own first, then those of its synonyms
    assert antonyms("large", "a") == [["small", "little"]]
    assert antonyms("HOT", "a") == [["cold"]]  # the first of its senses has none
    assert antonyms("cold", "a") == [["hot"]]  # cold(a) in the file
    assert antonyms("purple", "a") == []


def test_synonyms_are_those_of_the_only_sense(wordnet: Path) -> None:
    assert synset_count("hot", "a") == 2
    assert synset_count("sofa", "n") == 1
    assert synset_count("xyzzy", "n") == 0
    assert synonyms("sofa", "n") == ["long chair"]
    assert synonyms("long chair", "n") == ["sofa"]
    assert synonyms("hot", "a") == []


def test_synonyms_of_the_frequent_senses(wordnet: Path) -> None:
    assert synonyms_of_senses("big", "a") == ["large"]
    assert synonyms_of_senses("sofa", "n") == ["long chair"]
    assert synonyms_of_senses("hot", "a") == synonyms_of_senses("xyzzy", "n") == []
    assert synonyms_of_senses("big", "a", most=0) == []


def test_without_wordnet_there_are_no_synonyms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UNWAVER_WORDNET", raising=False)
    monkeypatch.setattr(lexicon, "DEBIAN_WORDNET", tmp_path / "none")
    assert synset_count("sofa", "n") is None
    assert synonyms("sofa", "n") == synonyms_of_senses("sofa", "n") == []
    monkeypatch.setitem(sys.modules, "wn", None)
    with pytest.raises(UsageError, match="no source of antonyms") as caught:
        antonyms_of()
    assert "apt-get install wordnet-base" in (caught.value.hint or "")


def test_a_folder_that_is_no_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNWAVER_WORDNET", str(tmp_path))
    with pytest.raises(UsageError, match=r"has no file index\.adj"):
        antonyms_of()


def test_index_and_data_of_two_wordnets(wordnet: Path) -> None:
    (wordnet / "data.adj").write_text("one more line\n" + (wordnet / "data.adj").read_text())
    with pytest.raises(DataError, match="no synset at byte"):
        antonyms_in_wordnet(wordnet)("big", "a")
    with pytest.raises(DataError, match="cannot be read"):
        antonyms_in_wordnet(wordnet)("run", "v")


def test_a_table_with_parts_of_speech(tmp_path: Path) -> None:
    table = tmp_path / "antonyms.tsv"
    table.write_text("word1\tpos1\tword2\tpos2\nlight\ta\tdark\ta\nlight\tn\tshadow\tn\nwarm\ts\tcool\ta-1\n")
    antonyms = antonyms_of(str(table))
    assert antonyms("light", "a") == [["dark"]]
    assert antonyms("light", "n") == [["shadow"]]
    assert antonyms("light", "r") == [["dark"], ["shadow"]]  # no adverb: any other
    assert antonyms("cool", "a") == [["warm"]]  # a row counts both ways


def test_a_table_with_labels(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("word1,word2,label\nhot,cold,Antonym\nhot,warm,Synonym\nhot,icy,antonym\ncold,mild,Antonym\n")
    assert antonyms_in_file(table)("hot", "a") == [["cold"], ["icy"]]  # cold has more opposites
    assert antonyms_in_file(table)("warm", "a") == []


def test_a_table_of_word_and_antonym(tmp_path: Path) -> None:
    table = tmp_path / "own.jsonl"
    table.write_text('{"word": "up", "antonym": "down"}\n')
    assert antonyms_in_file(table)("up", "r") == [["down"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nhot,cold\n", 'no column "word1"'),
        ("word1,word2,pos\nhot,cold,adj\n", 'column "pos": found "adj"'),
        ("word1,word2,label\nhot,warm,Synonym\n", "no row is labelled Antonym"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "bad.csv"
    table.write_text(text)
    with pytest.raises(DataError, match=message):
        antonyms_in_file(table)


WORDS = st.sampled_from(["hot", "cold", "big", "small", "old", "new"])


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12))
def test_antonymy_in_a_table_is_symmetric(tmp_path_factory: pytest.TempPathFactory, pairs: list[Any]) -> None:
    table = tmp_path_factory.mktemp("table") / "t.tsv"
    table.write_text("word1\tword2\n" + "".join(f"{a}\t{b}\n" for a, b in pairs))
    antonyms = antonyms_in_file(table)
    for a, b in pairs:
        assert [b] in antonyms(a, "a")
        assert [a] in antonyms(b, "a")


def test_a_lexicon_of_wn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of wn that are used: lexicons, senses, Sense.get_related, Sense.word, Word.lemma."""

    class Sense:
        def __init__(self, lemma: str, opposites: list[Any] = []):  # noqa: B006
            self.lemma_, self.opposites = lemma, opposites

        def get_related(self, name: str) -> list[Any]:
            return self.opposites if name == "antonym" else []

        def word(self) -> Any:
            return types.SimpleNamespace(lemma=lambda: self.lemma_)

    def senses(form: str, pos: str, lang: str) -> list[Sense]:
        return [Sense("hot", [Sense("cold")]), Sense("hot")] if (form, pos, lang) == ("hot", "a", "en") else []

    monkeypatch.setitem(sys.modules, "wn", types.SimpleNamespace(lexicons=lambda lang: ["oewn"], senses=senses))
    assert antonyms_in_wn() is None, "UNWAVER_WORDNET=none"
    monkeypatch.delenv("UNWAVER_WORDNET")
    antonyms = antonyms_in_wn()
    assert antonyms is not None
    assert antonyms("hot", "a") == [["cold"]]
    assert antonyms("hot", "r") == []
    monkeypatch.setitem(sys.modules, "wn", types.SimpleNamespace(lexicons=lambda lang: []))
    assert antonyms_in_wn() is None


def test_the_real_tables(data: Path) -> None:
    oewn = antonyms_in_file(data / "antonyms" / "open_english_wordnet_antonyms.tsv")
    assert ["young"] in oewn("old", "a")
    assert ["slowly"] in oewn("quickly", "r")
    conceptnet = antonyms_in_file(data / "antonyms" / "conceptnet_SAR_train_balanced.tsv.gz")
    assert ["cold"] in conceptnet("hot", "a")


def test_the_debian_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNWAVER_WORDNET", raising=False)
    if lexicon.wordnet_folder() is None:
        pytest.skip("no WordNet folder: apt-get install wordnet-base")
    assert antonyms_of()("old", "a")[:2] == [["young"], ["new"]]
    assert synonyms("automobile", "n")[:2] == ["car", "auto"]
    assert synset_count("dog", "n") == 7
