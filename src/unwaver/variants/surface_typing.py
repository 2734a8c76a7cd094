"""Typing errors: two letters swapped, one dropped, one doubled, one taken for its neighbour on the keyboard, and
in German the dots left off. English is typed on QWERTY, German on QWERTZ with ü, ö, ä and ß.

First and last letter stay, and no other word comes of it. Word lists: surface_english.toml, surface_german.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from random import Random
from typing import Any

from unwaver.variants.source import Rewrite
from unwaver.variants.surface_english import is_english, number_values, word_lists, word_set

Match = re.Match[str]
SHORTEST, LONGEST = 5, 30  # letters of a word that may get an error
GERMAN = "de"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENDINGS = ("e", "n", "en", "er", "es", "em", "s", "t", "te", "ten", "st")


@dataclass(frozen=True)
class Typing:
    """How people type in a language. `kept` words get no error, `words` may not come of one; after an `articles`
    word, one with a capital is a noun and may err; `plain` has the letters whose dots can be left off."""

    rows: tuple[str, ...]
    kept: frozenset[str]
    words: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    plain: Mapping[str, str] = field(default_factory=dict)

    @property
    def letters(self) -> frozenset[str]:
        return frozenset("".join(self.rows)).union(self.plain)

    def beside(self, letter: str) -> str:
        """On QWERTY "w" -> "qe"; "" where a letter has no neighbour."""
        for row in self.rows:
            if (i := row.find(letter)) >= 0:
                return row[max(i - 1, 0) : i] + row[i + 1 : i + 2]
        return ""


@cache
def typing(lang: str) -> Typing:
    if lang != GERMAN:
        return Typing(tuple(word_lists()["typing"]["rows"]), word_set("typing", "kept") | number_values().keys())
    lists = _german()["typing"]
    kept = frozenset(f"{lists['kept']} {lists['numbers']}".split())
    return Typing(tuple(lists["rows"]), kept, _inflected(), frozenset(lists["articles"].split()), lists["plain"])


@cache
def _german() -> Mapping[str, Mapping[str, Any]]:
    text = resources.files("unwaver.variants").joinpath("surface_german.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _inflected() -> frozenset[str]:
    """Common words with the usual endings: ziehen, ziehe, zieht …"""
    words = _german()["words"]["common"].split()
    stems = {word.removesuffix("en") for word in words if word.endswith("en")} | set(words)
    return frozenset({*words, *(stem + ending for stem in stems for ending in _ENDINGS)})


def language_of(text: str, lang: str) -> str:
    """language_of("Wie heißt der höchste Berg?", "en") -> "de": a text that is German is typed as German."""
    return GERMAN if lang.lower().partition("-")[0] == GERMAN or is_german(text) else "en"


def is_german(text: str) -> bool:
    words = {word.lower() for word in _WORD.findall(text)}
    strong = len(words & _evidence())
    dotted = sum(1 for word in words if re.search("[äöüß]", word))
    return strong >= 1 and strong + dotted >= 2 and not is_english(text)


@cache
def _evidence() -> frozenset[str]:
    return frozenset(_german()["evidence"]["strong"].split())


def typo_changes(text: str, is_word: Callable[[str], bool], random: Random, lang: str = "en") -> Iterator[Rewrite]:
    """One error a variant, of each kind that the text has a place for."""
    how = typing(language_of(text, lang))
    words = [found for found in _WORD.finditer(text) if _may_err(found, how)]
    for tag, change in _ERRORS.items():
        random.shuffle(words)
        if error := next(_errors(words, change, is_word, how, random), None):
            found, word = error
            yield Rewrite(text[: found.start()] + word + text[found.end() :], tag)


# parts of an address, a name with a hyphen, a contraction
_GLUED_BEFORE = re.compile(r"[\w@#/\\.:'’-]\Z")
_GLUED_AFTER = re.compile(r"[\w@/\\'’-]|[.:]\w")


def _may_err(found: Match, how: Typing) -> bool:
    """No short word, no name, no negation, no number; letters of the keyboard only."""
    word, low = found[0], found[0].lower()
    if not SHORTEST <= len(word) <= LONGEST or not how.letters.issuperset(low):
        return False
    if _GLUED_BEFORE.search(found.string, 0, found.start()) or _GLUED_AFTER.match(found.string, found.end()):
        return False
    return (word.islower() or _is_noun(found, how)) and low not in how.kept


def _is_noun(found: Match, how: Typing) -> bool:
    """By its capital and the article before it: "die Glühbirne"."""
    before = found.string[: found.start()].rsplit(maxsplit=1)
    return found[0][1:].islower() and bool(before) and before[-1].lower() in how.articles


def _errors(
    words: list[Match],
    change: Callable[[str, int, Typing, Random], str],
    is_word: Callable[[str], bool],
    how: Typing,
    random: Random,
) -> Iterator[tuple[Match, str]]:
    for found in words:
        places = list(range(1, len(found[0]) - 2))
        random.shuffle(places)
        for place in places:
            word = change(found[0], place, how, random)
            if word != found[0] and word.lower() not in how.words and not is_word(word):
                yield found, word


def _swap(word: str, i: int, _how: Typing, _: Random) -> str:
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _drop(word: str, i: int, _how: Typing, _: Random) -> str:
    return word[:i] + word[i + 1 :]


def _double(word: str, i: int, _how: Typing, _: Random) -> str:
    return word[: i + 1] + word[i:]


def _neighbour(word: str, i: int, how: Typing, random: Random) -> str:
    beside = how.beside(word[i])
    return word[:i] + random.choice(beside) + word[i + 1 :] if beside else word


def _no_dots(word: str, i: int, how: Typing, _: Random) -> str:
    return word[:i] + how.plain.get(word[i], word[i]) + word[i + 1 :]


_ERRORS: Mapping[str, Callable[[str, int, Typing, Random], str]] = {
    "swap": _swap,
    "drop": _drop,
    "double": _double,
    "neighbour": _neighbour,
    "no_dots": _no_dots,
}


def word_test(texts: Iterable[str]) -> Callable[[str], bool]:
    """Whether a string could be a word, as the words of the texts show: each run of three letters stands in one of
    them. "walking" and "make" there make "waking" a word, while "wlaking" is none for want of "wla"."""
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    seen = {run for word in words for run in _threes(word)}
    return lambda word: all(run in seen for run in _threes(word.lower()))


def _threes(word: str) -> Iterator[str]:
    """_threes("dog") -> "^do", "dog", "og$"."""
    padded = f"^{word}$"
    return (padded[i : i + 3] for i in range(len(padded) - 2))
