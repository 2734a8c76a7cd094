"""Reading a label out of what a language model wrote.

The rules, in order; the first that gives a label decides. With the labels entailment, not_entailment and the
words Yes, No:

    the whole answer        "yes"  "**Yes.**"  "not entailment"  "Not_Entailment": case and marks aside
    its first line          "Yes\\n\\nText: another question the model went on to invent … No"
    its beginning, set off  "No, because the text says so and yes is wrong"
    after "answer:"         "The text says no such thing. So the answer is: Yes"
    the only one mentioned  "I would say yes here"          "it is not entailment" -> not_entailment
    an option's letter      "B", "(b)", "B. True"; the article of "A cat sleeps, so B" is none
    its beginning           "No information in the text makes a yes likely"

None (unreadable): nothing mentioned, two labels mentioned ("some say yes, some say no"), a question given
back ("Yes or No?"), a negated mention ("that is not True" says neither True nor False), a thought without an end.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from unwaver.answers.thoughts import MARKS, is_open, without_thought

# Underscores part words, apostrophes do not: "not_entailment" is two words, "isn't" is one.
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MARKERS = {"answer", "label", "답", "정답", "답변"}  # "answer:" and "answer is"
_KOREAN_MARKERS = {"답은", "정답은"}  # "the answer is", no colon needed
_NEGATIONS = {"not", "never", "cannot", "neither", "nor"}
_FILLERS = {"a", "an", "the", "necessarily", "really", "quite", "be"}
_JOINS = {"or", "and", "또는", "혹은"}
_SEPARATORS = "/|,"
_KOREAN_ENDINGS = ("입니다", "이에요", "예요", "이다", "임")  # "거짓입니다" is one word: "(it) is false"
_NO_MARKS = {"a", "i"}  # an option's letter, or an article and a pronoun
_AFTER_A_MARK = {"is", "because", "since", "as", "or", "and", "would", "seems", "fits", "for", "here"}
_SHORT = 200  # longer texts are hardly ever met twice: not remembered

Words = tuple[str, ...]
Name = TypeVar("Name", str, Words)


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: one table serves many texts
class _Known:
    """Everything that stands for a label. None: it stands for two labels, so it can be no answer."""

    exact: Mapping[str, str | None]
    by_words: Mapping[Words, str | None]
    by_first: Mapping[str, tuple[Words, ...]]  # longest first: "not entailment" before "not"


def read_label(text: str | None, choices: Sequence[str], words: Sequence[str] = ()) -> str | None:
    """The label that `text` gives, None where none can be read.

    read_label("No.", ("entailment", "not_entailment"), ("Yes", "No")) -> "not_entailment". A word goes
    before a label of the same spelling, since words are what the model was asked for.
    """
    if not text:
        return None
    known = _known(tuple(choices), tuple(words))
    return _remembered(text, known) if len(text) <= _SHORT else _read(text, known)


def read_labels(
    texts: Iterable[str | None], choices: Sequence[str], words: Sequence[str] = ()
) -> list[str | None]:
    """read_label for many texts; each distinct text is read once: ["Yes", "Yes", "hm"] -> [.., .., None]."""
    read: dict[str | None, str | None] = {}
    labels = []
    for text in texts:
        if text not in read:
            read[text] = read_label(text, choices, words)
        labels.append(read[text])
    return labels


def is_settled(text: str, label: str, choices: Sequence[str], words: Sequence[str] = ()) -> bool:
    """Whether `label`, read from a text that was cut, would be read whatever label its last words began.

    With the words Yes, No: "Yes, becau" -> True; "Yes. <think>But" -> False. With 1 … 10: "1" -> False.
    """
    if is_open(text):
        return False
    return all(read_label(longer, choices, words) == label for longer in _longer(text, (*words, *choices)))


def _longer(text: str, names: Iterable[str]) -> Iterator[str]:
    """The text with each name completed that its last words may have begun: "so n", ("No",) -> "so no"."""
    end = text.rstrip()
    said = list(_WORD.finditer(end))
    if not said or said[-1].end() != len(end):
        return  # it ends with a mark
    tail = [_fold(m[0]) for m in said]
    for name in dict.fromkeys(names):
        parts = _split(name)
        for count in range(1, min(len(parts), len(tail)) + 1):
            begun, last = parts[count - 1], tail[-1]
            if tuple(tail[-count:-1]) == parts[: count - 1] and begun.startswith(last):
                rest = " ".join((begun[len(last) :], *parts[count:]))
                if rest and (end == text or rest.startswith(" ")):
                    yield end + rest


def match_label(name: str, choices: Sequence[str]) -> str | None:
    """The choice that is called `name`, whole: "Not entailment" -> "not_entailment", "maybe" -> None."""
    known = _known(tuple(choices), ())
    return known.exact.get(_plain(name)) or known.by_words.get(_split(name))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _split(text: str) -> Words:
    """ "Sci/Tech" -> ("sci", "tech"); "**Don’t know**" -> ("don't", "know")."""
    return tuple(_fold(m[0]) for m in _WORD.finditer(unicodedata.normalize("NFC", text)))


def _fold(word: str) -> str:
    return word.casefold().replace("’", "'")


@lru_cache(maxsize=256)
def _known(choices: tuple[str, ...], words: tuple[str, ...]) -> _Known:
    exact: dict[str, str | None] = {}
    by_words: dict[Words, str | None] = {}
    for names in (words, choices):
        pairs = list(zip(names, choices, strict=False))
        _add(exact, [(_plain(name), label) for name, label in pairs])
        _add(by_words, [(_split(name), label) for name, label in pairs])
    by_first: dict[str, tuple[Words, ...]] = {}
    for form in sorted(by_words, key=len, reverse=True):
        by_first[form[0]] = (*by_first.get(form[0], ()), form)
    return _Known(exact, by_words, by_first)


def _add(known: dict[Name, str | None], named: list[tuple[Name, str]]) -> None:
    new: dict[Name, str | None] = {}
    for name, label in named:
        new[name] = label if new.get(name, label) == label else None
    for name, unique in new.items():
        if name:
            known.setdefault(name, unique)


@dataclass(frozen=True)
class _Text:
    """A text cut into words, with where each begins and ends."""

    text: str
    words: list[str]
    spans: list[tuple[int, int]]

    def gap(self, i: int) -> str:
        """What stands between word i - 1 and word i."""
        start = self.spans[i - 1][1] if i else 0
        return self.text[start : self.spans[i][0]] if i < len(self.spans) else self.text[start:]


def _cut(text: str) -> _Text:
    found = list(_WORD.finditer(text))
    return _Text(text, [_fold(m[0]) for m in found], [m.span() for m in found])


def _read(text: str, known: _Known) -> str | None:
    after = text if MARKS.isdisjoint(text) else without_thought(text)
    plain = _plain(text if after is None else after)
    if plain in known.exact:
        return known.exact[plain]
    if after is None:
        return None
    cut = _cut(plain)
    return (
        _line(cut, known)
        or _beginning(cut, known, set_off=True)
        or _after_marker(cut, known)
        or _mentioned(cut, known)
    )


_remembered = lru_cache(maxsize=65536)(_read)


def _at(cut: _Text, i: int, known: _Known) -> tuple[int, str | None] | None:
    """The longest label that begins at word i, as (number of words, label)."""
    if i >= len(cut.words):
        return None
    word = cut.words[i]
    if word in _NO_MARKS and _goes_on(cut, i):
        return None
    for form in known.by_first.get(word, ()):
        if tuple(cut.words[i : i + len(form)]) == form:
            return len(form), known.by_words[form]
    for ending in _KOREAN_ENDINGS:
        stem = (word.removesuffix(ending),)
        if word.endswith(ending) and stem in known.by_words:
            return 1, known.by_words[stem]
    return None


def _goes_on(cut: _Text, i: int) -> bool:
    """Whether a letter is a word of a sentence: "A cat sleeps" -> True; "A", "A) True", "A is right" -> False."""
    return i + 1 < len(cut.words) and cut.gap(i + 1).isspace() and cut.words[i + 1] not in _AFTER_A_MARK


def _settled(cut: _Text, i: int, known: _Known) -> tuple[int, str] | None:
    """The label at word i, unless another is offered beside it: "Yes or No", "Yes/No" -> None."""
    found = _at(cut, i, known)
    if found is None or found[1] is None:
        return None
    after = i + found[0]
    rival = None
    if after < len(cut.words) and cut.words[after] in _JOINS:
        rival = _at(cut, after + 1, known)
    elif any(mark in cut.gap(after) for mark in _SEPARATORS):
        rival = _at(cut, after, known)
    return (found[0], found[1]) if rival is None or rival[1] == found[1] else None


def _line(cut: _Text, known: _Known) -> str | None:
    """The label that is the whole first line (or the whole text)."""
    found = _settled(cut, 0, known)
    if found is None:
        return None
    ends = found[0] == len(cut.words) or "\n" in cut.gap(found[0])
    return found[1] if ends else None


def _beginning(cut: _Text, known: _Known, *, set_off: bool) -> str | None:
    found = _settled(cut, 0, known)
    if found is None:
        return None
    mark = cut.gap(found[0]).strip(" \t*_`\"'")
    # "No-one was there" does not begin with the answer No
    return found[1] if not set_off or mark not in ("", "-") else None


def _after_marker(cut: _Text, known: _Known) -> str | None:
    for i, word in enumerate(cut.words):
        if word in _KOREAN_MARKERS or (word in _MARKERS and ":" in cut.gap(i + 1)):
            found = _settled(cut, i + 1, known)
        elif word in _MARKERS and cut.words[i + 1 : i + 2] == ["is"]:
            found = _settled(cut, i + 2, known)
        else:
            continue
        if found:
            return found[1]
    return None


def _mentioned(cut: _Text, known: _Known) -> str | None:
    """The only label mentioned; of several, the one the text begins with."""
    labels: set[str | None] = set()
    i = 0
    while i < len(cut.words):
        found = _at(cut, i, known)
        if found and not _negated(cut.words, i):
            labels.add(found[1])
        i += found[0] if found else 1
    if len(labels) == 1:
        return labels.pop()
    return _beginning(cut, known, set_off=False)


def _negated(words: list[str], i: int) -> bool:
    """not True, isn't the same -> True"""
    before = i - 1
    while before >= 0 and words[before] in _FILLERS:
        before -= 1
    return before >= 0 and (words[before] in _NEGATIONS or words[before].endswith("n't"))
