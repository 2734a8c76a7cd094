"""One adjective or adverb replaced by its antonym: sentences of our own for each rule, then the human-made set."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from unwaver.errors import UsageError
from unwaver.text.refused import Refused
from unwaver.variants.antonym import antonym
from unwaver.variants.lexicon import wordnet_folder
from unwaver.variants.source import Rewrite

pytest.importorskip("spacy")
pytest.importorskip("lemminflect")

TABLE = """word1,word2,pos
old,young,a
old,new,a
outside,inside,r
large,small,a
happy,unhappy,a
quickly,slowly,r
good,bad,a
hot,cold,a
expensive,cheap,a
modern,ancient,a
black,white,a
female,male,a
short,tall,a
short,long,a
dead,alive,a
many,few,a
open,closed,a
interesting,uninteresting,a
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "antonyms.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The soup is hot.", ["The soup is cold."]),
        ("An old man is outside.", ["A young man is outside.", "An old man is inside."]),
        ("A young man sings.", ["An old man sings."]),
        ("An old house burns.", ["A new house burns."]),  # old has two opposites
        ("The short man has short hair.", ["The tall man has short hair.", "The short man has long hair."]),
        ("The older man sings.", ["The younger man sings."]),
        ("The oldest house burns.", ["The newest house burns."]),
        ("This is a better plan.", ["This is a worse plan."]),
        ("The best plan wins.", ["The worst plan wins."]),
        ("A more expensive car stops.", ["A cheaper car stops."]),
        ("A cheaper car stops.", ["A more expensive car stops."]),
        ("He runs quickly.", ["He runs slowly."]),
        ("Happy dogs bark.", ["Unhappy dogs bark."]),
        ("THE SOUP IS HOT", ["THE SOUP IS COLD"]),
        ("This is an interesting book.", ["This is an uninteresting book."]),
        ("Many people sing.", ["Few people sing."]),
        ("The two girls are in the same room.", ["The two girls are in a different room."]),
        ("They wear the same hats.", ["They wear different hats."]),
        ("He has a different plan.", ["He has the same plan."]),
        ("The  soup  is hot !", ["The  soup  is cold !"]),
    ],
)
def test_replacement(table: str, text: str, expected: list[str]) -> None:
    (found,) = antonym(antonyms=table)([text])
    assert found == [Rewrite(other, "antonym") for other in expected]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The soup is not hot.", "negated"),
        ("Nobody is happy.", "negated"),
        ("The goat sleeps.", "no adjective or adverb"),
        ("He eats a hot dog.", "no adjective or adverb"),  # part of a name
        ("A few people sing.", "no adjective or adverb"),
        ("The boy is six years old.", "no adjective or adverb"),
        ("Black and white cats sleep.", "no adjective or adverb"),
        ("A dead fish floats.", "no adjective or adverb"),  # "an alive fish" is no English
        ("The door is wide open.", "no adjective or adverb"),
        ("A young child sings.", "no adjective or adverb"),
        ("The black dog chases a white cat.", "no adjective or adverb"),  # two white animals are another thing
        ("", "empty"),
        ("Hot", "one word"),
        ("그는 늙었다 정말로.", "not in English"),
    ],
)
def test_refusals(table: str, text: str, reason: str) -> None:
    (found,) = antonym(antonyms=table)([text])
    assert isinstance(found, Refused), found
    assert reason in found.reason


def test_only_english(table: str) -> None:
    with pytest.raises(UsageError, match="language de"):
        antonym(lang="de", antonyms=table)


def test_a_table_is_trusted_with_words_that_a_wordnet_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.csv"
    path.write_text("word,antonym\nstale,crisp\n")
    (found,) = antonym(antonyms=str(path))(["The bread is stale."])
    assert found == [Rewrite("The bread is crisp.", "antonym")]
    monkeypatch.delenv("UNWAVER_WORDNET")
    if wordnet_folder() is not None:
        (found,) = antonym()(["The fellow is waspish."])
        assert isinstance(found, Refused)


def test_with_a_wordnet_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNWAVER_WORDNET")
    if wordnet_folder() is None:
        pytest.skip("no WordNet folder: apt-get install wordnet-base")
    (found,) = antonym()(["A big goat naps outdoors."])
    assert found == [
        Rewrite("A little goat naps outdoors.", "antonym"),
        Rewrite("A small goat naps outdoors.", "antonym"),
        Rewrite("A big goat naps indoors.", "antonym"),
    ]


# --- the human-made set -------------------------------------------------------------------------------------


def bench() -> Any:
    path = Path(__file__).parents[2] / "bench" / "negation.py"
    spec = importlib.util.spec_from_file_location("bench_negation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "any_of_them"),
    [(None, 0.60), ("open_english_wordnet_antonyms.tsv", 0.60), ("conceptnet_SAR_train_balanced.tsv.gz", 0.50)],
)
def test_against_the_human_made_antonyms(
    data: Path, source: str | None, any_of_them: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNWAVER_WORDNET")
    if source is None and wordnet_folder() is None:
        pytest.skip("no WordNet folder: apt-get install wordnet-base")
    study = bench()
    file = None if source is None else str(data / "antonyms" / source)
    found = study.matched(study.pairs(data, "snli", "antonym"), antonym(antonyms=file))
    assert found["any"] >= any_of_them
