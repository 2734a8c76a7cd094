"""The search of BAE and TextFooler against a victim, an encoder and substitutes that are known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("spacy")

from unwaver.tasks import Task, built_in
from unwaver.train import samples
from unwaver.train.attack_search import Constraints, Search
from unwaver.train.attack_words import WordText
from unwaver.train.samples import Attacked
from unwaver.train.tagger import Tagged
from unwaver.train.victim import Judged
from unwaver.types import Item

SST2, MRPC, WIC = (built_in()[name] for name in ("sst2", "mrpc", "wic"))
WORDS = {"fine": 0.5, "film": 0.2, "great": 0.4, "movie": 0.1, "actor": 0.05}
OTHERS = {
    "fine": ["good", "decent", "okay"],
    "great": ["grand", "big"],
    "film": ["picture", "reel"],
    "actor": ["player"],
}
WEIGHTS = {
    **WORDS,
    "good": 0.45,
    "decent": 0.0,
    "okay": -0.3,
    "grand": 0.1,
    "big": 0.3,
    "picture": 0.0,
    "reel": -0.1,
}


class Lexical:
    """A victim that adds up weights of words: positive from 0.5 on."""

    asked = 0

    def judged(self, items: Sequence[Item]) -> list[Judged]:
        type(self).asked += len(items)
        return [self._one(item) for item in items]

    def _one(self, item: Item) -> Judged:
        words = " ".join(item.fields.values()).lower().replace(".", "").split()
        positive = min(max(sum(WEIGHTS.get(w, 0.0) for w in words), 0.0), 1.0)
        right = positive if item.accepted[0] in ("positive", "equivalent", "true") else 1 - positive
        label = item.accepted[0] if right >= 0.5 else next(c for c in item.choices if c != item.accepted[0])
        return Judged(right, label)


class Known:
    def of(self, places: Sequence[tuple[WordText, int]]) -> list[list[str]]:
        return [OTHERS.get(text.words[n].lower(), []) for text, n in places]


class Letters:
    """Vectors of letter counts: similar texts have similar letters."""

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[1.0, *(text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz")] for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


class ByFirstLetter:
    """Words with the same first letter are of one part of speech."""

    def tagged(self, places: Sequence[tuple[WordText, int]]) -> list[Tagged]:
        return [Tagged("", text.words[n][0].lower(), "") for text, n in places]


def search(task: Task = SST2, fields: Sequence[str] | None = None, bar: float = -1.0, **options: Any) -> Search:
    tagger: Any = options.pop("tagger", None)
    given: dict[str, Any] = {"wanted": 5, **options}
    victim: Any = Lexical()
    return Search(task, fields or task.fields, victim, Known(), Constraints(Letters(), bar, tagger), **given)


def review(text: str, label: str = "positive") -> Item:
    return Item("0", "sst2", "original", {"sentence": text}, SST2.labels, (label,))


def attack(item: Item, **options: Any) -> Attacked:
    found = list(search(**options).attacked([item], lambda _: None))
    return found[0][0]


def test_the_most_important_word_comes_first() -> None:
    """fine (0.5) before great (0.4): without it the victim is least sure."""
    made = attack(review("A fine and great film."), fooling_only=True).samples
    assert made[0].changed == (("sentence", "fine", "okay"),)
    assert made[0].fooled
    assert (made[0].before, made[0].after, made[0].answer) == (1.0, 0.3, "negative")
    # the search goes on without "okay", as that sample is done
    assert all("okay" not in s.fields["sentence"] for s in made[1:])


def test_words_that_do_not_fool_stay_replaced() -> None:
    """good lowers 0.5 to 0.45 only if it must: the one that lowers most is kept, the next word is added."""
    item = review("great fine great actor")  # 1.0 (1.35 cut): no single word is enough
    made = attack(item, fooling_only=True).samples
    assert made
    assert all(len(s.changed) >= 2 for s in made), "one word was not enough"


def test_five_samples_fill_up_with_what_lowers_the_probability() -> None:
    item = review("A fine and great film.")
    found = attack(item)
    assert len(found.samples) == 5
    assert found.reason == ""
    fooled = [s.fooled for s in found.samples]
    assert fooled == sorted(fooled, reverse=True), "those that fool the victim come first"
    assert len({s.fields["sentence"] for s in found.samples}) == 5
    only = attack(item, fooling_only=True)
    assert all(s.fooled for s in only.samples)
    assert len(only.samples) < 5
    assert only.reason == samples.NOT_FOOLED


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("he is not there", {}, samples.NO_WORD),
        ("5 + 5", {}, samples.NO_WORD),
        ("zzz qqq", {}, samples.NO_SUBSTITUTE),
        ("a great thing", {"bar": 1.01}, samples.DISSIMILAR),
        ("a fine thing", {"tagger": ByFirstLetter()}, samples.OTHER_POS),
        ("a great thing", {}, samples.NO_MORE),
    ],
)
def test_why_an_item_has_fewer(text: str, options: dict[str, Any], reason: str) -> None:
    found = attack(review(text), **options)
    assert len(found.samples) < 5
    assert found.reason == reason


def test_an_item_that_the_victim_gets_wrong() -> None:
    item = review("A fine and great film.", "negative")
    assert attack(item, fooling_only=True) == Attacked((), samples.WRONG_BEFORE)
    assert [s.fooled for s in attack(item).samples] == [False] * 5, "there was nothing to fool"


def test_the_part_of_speech_and_the_word_in_context_stay() -> None:
    made = attack(review("A great film."), tagger=ByFirstLetter()).samples
    assert {c[1:] for s in made for c in s.changed} == {("great", "grand")}
    fields = {"word": "fin", "sentence1": "a film", "sentence2": "a fine great thing"}
    item = Item("0", "wic", "original", fields, WIC.labels, ("true",))
    made = attack(item, task=WIC, fields=("sentence1", "sentence2")).samples
    assert {c[1] for s in made for c in s.changed} == {"great"}, "words that begin like the word in question stay"


def test_every_field_is_attacked() -> None:
    fields = {"sentence1": "A fine thing.", "sentence2": "A great film."}
    item = Item("0", "mrpc", "original", fields, MRPC.labels, ("equivalent",))
    made = attack(item, task=MRPC).samples
    assert {name for s in made for name, _, _ in s.changed} == {"sentence1", "sentence2"}
    made = attack(item, task=MRPC, fields=("sentence2",)).samples
    assert {s.fields["sentence1"] for s in made} == {"A fine thing."}


def test_many_items_at_a_time_are_as_one_by_one() -> None:
    """Against twenty lines of plain Python, which take items one by one."""
    draw = random.Random(3)
    items = [review(" ".join(draw.choices([*WORDS, "the", "thing"], k=6))) for _ in range(70)]
    done = list[int]()
    found = [a for some in search(fooling_only=True).attacked(items, done.append) for a in some]
    assert sum(done) == 70
    for item, got in zip(items, found, strict=True):
        assert [s.fields["sentence"] for s in got.samples] == _plainly(item, 5)


def _plainly(item: Item, wanted: int) -> list[str]:
    """The fooling texts of one item: the most similar one at each word, then the others of all words."""
    victim, words = Lexical(), item.fields["sentence"].split()
    probability = lambda some: victim._one(review(" ".join(some))).right  # noqa: E731
    if probability(words) < 0.5:
        return []
    places = [n for n in range(len(words)) if words[n] not in ("the",)]
    order = sorted(places, key=lambda n: probability(words[:n] + words[n + 1 :]))
    now, best, more, known = words, [], [], set()
    for n in order:
        if len(best) == wanted:
            break
        texts = [[*now[:n], other, *now[n + 1 :]] for other in OTHERS.get(words[n], [])]
        texts = [t for t in texts if tuple(t) not in known]
        known |= {tuple(t) for t in texts}
        like = {tuple(t): _similar(item.fields["sentence"], " ".join(t)) for t in texts}
        fooling = sorted((t for t in texts if probability(t) < 0.5), key=lambda t: -like[tuple(t)])
        best += fooling[:1]
        more += [(rank, -like[tuple(t)], t) for rank, t in enumerate(fooling[1:], 1)]
        if not fooling and texts and min(map(probability, texts)) < probability(now):
            now = min(texts, key=probability)
    rest = [t for _, _, t in sorted(more, key=lambda entry: entry[:2])]
    return [" ".join(t) for t in [*best, *rest][:wanted]]


def _similar(one: str, other: str) -> float:
    a, b = Letters().vectors([one, other])
    return float(a @ b)
