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
All but the first rule are in unwaver.answers.running_text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from unwaver.answers.thoughts import MARKS, without_thought

# Underscores part words, apostrophes do not: "not_entailment" is two words, "isn't" is one. Chinese has no spaces:
# each sign is a word.
WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+(?:['’][^\W_]+)*")
OR = "|"  # between the spellings of a word: "Rome|Roma"
_SHORT = 200  # longer texts are hardly ever met twice: not remembered

Words = tuple[str, ...]
Name = TypeVar("Name", str, Words)


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: one table serves many texts
class Known:
    """Everything that stands for a label. None: it stands for two labels, so it can be no answer."""

    exact: Mapping[str, str | None]
    by_words: Mapping[Words, str | None]
    by_first: Mapping[str, tuple[Words, ...]]  # longest first: "not entailment" before "not"


def read_label(text: str | None, choices: Sequence[str], words: Sequence[str] = ()) -> str | None:
    """The label that `text` gives, None if none can be read.

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


def match_label(name: str, choices: Sequence[str]) -> str | None:
    """The choice that is called `name`, whole: "Not entailment" -> "not_entailment", "maybe" -> None."""
    known = _known(tuple(choices), ())
    return known.exact.get(_plain(name)) or known.by_words.get(split(name))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def split(text: str) -> Words:
    """ "Sci/Tech" -> ("sci", "tech"); "**Don’t know**" -> ("don't", "know")."""
    return tuple(fold(m[0]) for m in WORD.finditer(unicodedata.normalize("NFC", text)))


def fold(word: str) -> str:
    return word.casefold().replace("’", "'")


@lru_cache(maxsize=256)
def _known(choices: tuple[str, ...], words: tuple[str, ...]) -> Known:
    exact: dict[str, str | None] = {}
    by_words: dict[Words, str | None] = {}
    spelt = zip(fitting(words, choices), choices, strict=False)
    for pairs in (
        [(name, label) for word, label in spelt for name in word.split(OR)],
        [(choice, choice) for choice in choices],
    ):
        _add(exact, [(_plain(name), label) for name, label in pairs])
        _add(by_words, [(split(name), label) for name, label in pairs])
    by_first: dict[str, tuple[Words, ...]] = {}
    for form in sorted(by_words, key=len, reverse=True):
        by_first[form[0]] = (*by_first.get(form[0], ()), form)
    return Known(exact, by_words, by_first)


def fitting(words: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """The words of these choices. Words that are more than the choices name them by their first spelling:

    fitting(("Rome|Roma", "Paris|Parigi"), ("Paris",)) -> ("Paris|Parigi",)
    """
    if len(words) <= len(choices):
        return words
    by_name = {word.split(OR, 1)[0]: word for word in words}
    return tuple(by_name.get(choice, choice) for choice in choices)


def _add(known: dict[Name, str | None], named: list[tuple[Name, str]]) -> None:
    new: dict[Name, str | None] = {}
    for name, label in named:
        new[name] = label if new.get(name, label) == label else None
    for name, unique in new.items():
        if name:
            known.setdefault(name, unique)


def _read(text: str, known: Known) -> str | None:
    after = text if MARKS.isdisjoint(text) else without_thought(text)
    plain = _plain(text if after is None else after)
    if plain in known.exact:
        return known.exact[plain]
    if after is None:
        return None
    from unwaver.answers.running_text import label_in  # built on this module; a bare label needs none of it

    return label_in(plain, known)


_remembered = lru_cache(maxsize=65536)(_read)
