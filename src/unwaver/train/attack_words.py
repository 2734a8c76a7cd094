"""A text as words that can be replaced one by one, and which of them an attack may touch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from unwaver.text.english import article, cased, words

WINDOW = 15  # words around a replaced one, in which texts are compared: as TextFooler and BAE do
_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*")
_LETTERS = re.compile(r"[^\W\d_]{2,}")

# Function words of English, which the attacks leave alone: the list is ours. A replaced one makes another sentence
# ("not" -> "so", "all" -> "few"), not a synonym.
STOP_WORDS = words(
    "a an the this that these those some any each every either neither both all half no none such another other "
    "others same own several few fewer many much more most less least enough only just even also too very quite "
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself it its itself they them their theirs themselves one ones who whom whose which what whatever "
    "whoever whichever someone somebody something anyone anybody anything everyone everybody everything nobody "
    "nothing noone "
    "be am is are was were been being have has had having do does did doing done can cannot could may might must "
    "shall should will would ought need dare used "
    "not never nor neither hardly barely scarcely without "
    "and or but if unless until till because since although though whereas while when whenever where wherever "
    "why how than as so then thus therefore hence however whether yet still else otherwise "
    "about above across after afterwards again against along already always among amongst around at away back "
    "before behind below beneath beside besides between beyond by down during ever except for from further here "
    "in inside into like near next now of off on once onto out outside over per perhaps rather soon there through "
    "throughout to together toward towards under up upon via with within there's "
    "one two three four five six seven eight nine ten hundred thousand million first second third last former "
    "latter"
)


@dataclass(frozen=True)
class WordText:
    """The words of a text and what lies between them; words keep their places when one is replaced."""

    gaps: tuple[str, ...]  # one more than words
    words: tuple[str, ...]
    original: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        return "".join(gap + word for gap, word in zip(self.gaps, (*self.words, ""), strict=True))

    def places(self) -> list[int]:
        """Numbers of the words that may be replaced: made of letters, not a stop word, no part of "don't"."""
        return [n for n, w in enumerate(self.words) if _LETTERS.fullmatch(w) and w.lower() not in STOP_WORDS]

    def without(self, n: int) -> str:
        """The text with a word deleted, and the space before it."""
        gaps = list(self.gaps)
        gaps[n] = gaps[n].rstrip(" ") if n else gaps[n]
        gaps[n + 1] = gaps[n + 1] if n else gaps[n + 1].lstrip(" ")
        words = list(self.words)
        words[n] = ""
        return "".join(gap + word for gap, word in zip(gaps, (*words, ""), strict=True))

    def with_word(self, n: int, new: str, *, english: bool = True) -> WordText:
        """`new` in the place and the case of the word; of an English text "a" or "an" before it follows."""
        words = list(self.words)
        if english and n and self.gaps[n] == " " and words[n - 1].lower() == article(words[n]):
            words[n - 1] = cased(article(new), words[n - 1])
        words[n] = cased(new, words[n])
        return replace(self, words=tuple(words))

    def window(self, n: int, size: int = WINDOW) -> tuple[str, int]:
        """About `size` words around a word (the whole text if it is short), and where in it the word begins."""
        first, end = _around(n, size, len(self.words))
        first_gap = self.gaps[first] if first == 0 else ""
        pieces = [first_gap]
        start = 0
        for k in range(first, end):
            if k == n:
                start = sum(map(len, pieces))
            pieces += [self.words[k], self.gaps[k + 1] if k + 1 < end or end == len(self.words) else ""]
        return "".join(pieces), start

    def masked(self, n: int, mask: str, size: int) -> str:
        """About `size` words around a word, with `mask` in its place."""
        text, start = self.window(n, size)
        return text[:start] + mask + text[start + len(self.words[n]) :]

    def changes(self) -> Iterator[tuple[str, str]]:
        """(word before, word after) of all that were replaced."""
        return ((a, b) for a, b in zip(self.original, self.words, strict=True) if a != b)


def word_text(text: str, word: re.Pattern[str] = _TOKEN) -> WordText:
    """word_text("A cat, here.") -> gaps ("", " ", ", ", "."), words ("A", "cat", "here")."""
    found = list(word.finditer(text))
    ends = [0, *(m.end() for m in found)]
    starts = [*(m.start() for m in found), len(text)]
    words = tuple(m[0] for m in found)
    return WordText(tuple(text[a:b] for a, b in zip(ends, starts, strict=True)), words, words)


def _around(n: int, size: int, count: int) -> tuple[int, int]:
    """The places of `size` words with n in the middle, moved where the text ends: _around(0, 3, 9) -> (0, 3)."""
    first = max(0, min(n - size // 2, count - size))
    return first, min(count, first + size)


def is_word(text: str) -> bool:
    """Can it stand for a word: letters alone, no function word."""
    return bool(_LETTERS.fullmatch(text)) and text.lower() not in STOP_WORDS
