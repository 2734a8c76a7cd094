"""Texts as words that can be replaced."""

from __future__ import annotations

import pytest

from unwaver.text.english import cased
from unwaver.train.attack_words import is_word, word_text


def test_words_keep_their_places() -> None:
    text = word_text("A man isn't here, at 5; he ran-off: fine!")
    assert text.text == "A man isn't here, at 5; he ran-off: fine!"
    assert [text.words[n] for n in text.places()] == ["man", "fine"], "no stop words, numbers or parts of words"
    changed = text.with_word(1, "owl")
    assert changed.text == "An owl isn't here, at 5; he ran-off: fine!"
    assert list(changed.changes()) == [("A", "An"), ("man", "owl")]
    assert text.with_word(1, "owl", english=False).text.startswith("A owl")
    assert word_text("a an").with_word(1, "x").text == "a x", "only an article that fitted is changed"


@pytest.mark.parametrize(
    ("text", "n", "left"),
    [("the cat sat.", 1, "the sat."), ("The cat sat.", 0, "cat sat."), ("the cat.", 1, "the."), ("cat", 0, "")],
)
def test_a_word_is_deleted_with_its_space(text: str, n: int, left: str) -> None:
    assert word_text(text).without(n) == left


def test_the_window_has_the_word_in_it() -> None:
    text = word_text("(" + " ".join(f"w{n}" for n in range(40)) + ")")
    for n in (0, 3, 20, 39):
        window, start = text.window(n, 15)
        assert len(window.split()) == 15
        assert window[start:].startswith(f"w{n}")
    assert text.window(20, 15)[0] == " ".join(f"w{n}" for n in range(13, 28))
    assert word_text("(a b)").window(1) == ("(a b)", 3), "a short text is its own window"
    assert word_text("one two three").masked(1, "[M]", 60) == "one [M] three"


def test_case_and_words() -> None:
    assert [cased("sofa", old) for old in ("couch", "Couch", "COUCH", "A")] == ["sofa", "Sofa", "SOFA", "Sofa"]
    assert [is_word(w) for w in ("sofa", "the", "a1", "x", "été")] == [True, False, False, False, True]


@pytest.mark.parametrize("text", ["", "…", "5 + 5"])
def test_nothing_to_attack(text: str) -> None:
    assert word_text(text).places() == []
    assert word_text(text).text == text
