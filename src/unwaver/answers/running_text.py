"""The label in a text that is more than a label, by the rules of unwaver.answers.labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from unwaver.answers.labels import OR, WORD, Known, fold, read_label, split
from unwaver.answers.thoughts import is_open

_MARKERS = {"answer", "label", "답", "정답", "답변", "antwort", "案"}  # "answer:", "answer is"; 答案 is two words
_KOREAN_MARKERS = {"답은", "정답은"}  # "the answer is", no colon needed
_NEGATIONS = {"not", "never", "cannot", "neither", "nor"}
_FILLERS = {"a", "an", "the", "necessarily", "really", "quite", "be"}
_IS = {"is", "ist", "lautet", "是"}
_JOINS = {"or", "and", "또는", "혹은", "oder", "und", "或"}
_SEPARATORS = "/|,"
_KOREAN_ENDINGS = ("입니다", "이에요", "예요", "이다", "임")  # "거짓입니다" is one word: "(it) is false"
_NO_MARKS = {"a", "i"}  # an option's letter, or an article and a pronoun
_AFTER_A_MARK = {"is", "because", "since", "as", "or", "and", "would", "seems", "fits", "for", "here"}


def label_in(plain: str, known: Known) -> str | None:
    """The label that a text gives: "I would say yes here" -> that of the word Yes; two or none -> None."""
    cut = _cut(plain)
    return (
        _line(cut, known)
        or _beginning(cut, known, set_off=True)
        or _after_marker(cut, known)
        or _mentioned(cut, known)
    )


def is_settled(text: str, label: str, choices: Sequence[str], words: Sequence[str] = ()) -> bool:
    """Whether `label`, read from a text that was cut, would be read whatever label its last words began.

    With the words Yes, No: "Yes, becau" -> True; "Yes. <think>But" -> False. With 1 … 10: "1" -> False.
    """
    if is_open(text):
        return False
    names = [name for word in words for name in word.split(OR)]
    return all(read_label(longer, choices, words) == label for longer in _longer(text, (*names, *choices)))


def _longer(text: str, names: Iterable[str]) -> Iterator[str]:
    """The text with each name completed that its last words may have begun: "so n", ("No",) -> "so no"."""
    end = text.rstrip()
    said = list(WORD.finditer(end))
    if not said or said[-1].end() != len(end):
        return  # it ends with a mark
    tail = [fold(m[0]) for m in said]
    for name in dict.fromkeys(names):
        parts = split(name)
        for count in range(1, min(len(parts), len(tail)) + 1):
            begun, last = parts[count - 1], tail[-1]
            if tuple(tail[-count:-1]) == parts[: count - 1] and begun.startswith(last):
                rest = " ".join((begun[len(last) :], *parts[count:]))
                if rest and (end == text or rest.startswith(" ")):
                    yield end + rest


@dataclass(frozen=True)
class _Text:
    """A text cut into words, with where each begins and ends."""

    text: str
    words: list[str]
    spans: list[tuple[int, int]]

    def gap(self, i: int) -> str:
        """The text between word i - 1 and word i."""
        start = self.spans[i - 1][1] if i else 0
        return self.text[start : self.spans[i][0]] if i < len(self.spans) else self.text[start:]


def _cut(text: str) -> _Text:
    found = list(WORD.finditer(text))
    return _Text(text, [fold(m[0]) for m in found], [m.span() for m in found])


def _at(cut: _Text, i: int, known: Known) -> tuple[int, str | None] | None:
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


def _settled(cut: _Text, i: int, known: Known) -> tuple[int, str] | None:
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


def _line(cut: _Text, known: Known) -> str | None:
    """The label that is the whole first line (or the whole text)."""
    found = _settled(cut, 0, known)
    if found is None:
        return None
    ends = found[0] == len(cut.words) or "\n" in cut.gap(found[0])
    return found[1] if ends else None


def _beginning(cut: _Text, known: Known, *, set_off: bool) -> str | None:
    found = _settled(cut, 0, known)
    if found is None:
        return None
    mark = cut.gap(found[0]).strip(" \t*_`\"'")
    # "No-one was there" does not begin with the answer No
    return found[1] if not set_off or mark not in ("", "-") else None


def _after_marker(cut: _Text, known: Known) -> str | None:
    for i, word in enumerate(cut.words):
        if word in _KOREAN_MARKERS or (word in _MARKERS and not set(":：").isdisjoint(cut.gap(i + 1))):
            found = _settled(cut, i + 1, known)
        elif word in _MARKERS and not _IS.isdisjoint(cut.words[i + 1 : i + 2]):
            found = _settled(cut, i + 2, known)
        else:
            continue
        if found:
            return found[1]
    return None


def _mentioned(cut: _Text, known: Known) -> str | None:
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
