"""A sentence as tokens, and edits to it that can be combined without parsing again.

A *piece* is a token of the original (its number) or new text. An edit puts pieces where a run of tokens stood; a
second edit applies to the outcome of the first if its run is still there, unbroken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from unwaver.variants.rules.classes import CAPITAL, PEOPLE

Piece = int | str
Level = Literal["clause", "phrase", "word"]


class Edit(NamedTuple):
    """Tokens start to end (excluded) become `pieces`. Of one level only words are combined."""

    tag: str
    level: Level
    start: int
    end: int
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence. `gaps` is the white space after each token, as it was written."""

    doc: Any
    gaps: tuple[str, ...]

    @property
    def end(self) -> int:
        """Where the final punctuation begins."""
        end = len(self.doc)
        while end and self.doc[end - 1].is_punct:
            end -= 1
        return end


def sentence_of(text: str, doc: Any) -> Sentence:
    """`doc` is the parse of the text with each run of white space as one space."""
    gaps, place = [], 0
    for token in doc:
        place = text.index(token.text, place) + len(token.text)
        space = re.compile(r"\s*").match(text, place)
        assert space is not None
        gaps.append(space.group())
        place = space.end()
    return Sentence(doc, tuple(gaps))


def applied(pieces: Sequence[Piece], edit: Edit) -> list[Piece] | None:
    """[0, 1, 2], edit of 1 to 2 into "x" -> [0, "x", 2]; None if the run is no longer there."""
    run = list(range(edit.start, edit.end))
    for at in range(len(pieces) - len(run) + 1):
        if pieces[at] == run[0] and list(pieces[at : at + len(run)]) == run:
            return [*pieces[:at], *edit.pieces, *pieces[at + len(run) :]]
    return None


def rendered(sentence: Sentence, pieces: Sequence[Piece]) -> str:
    """The text of the pieces: spaces, a or an, and the capital at the beginning put right."""
    words = [_word(sentence, piece, first=at == 0) for at, piece in enumerate(pieces)]
    _fix_articles(sentence, pieces, words)
    if not sentence.doc[0].text[:1].islower():
        words[0] = words[0][:1].upper() + words[0][1:]
    text = "".join(
        word + (_gap(sentence, pieces[at], pieces[at + 1]) if at + 1 < len(words) else "")
        for at, word in enumerate(words)
    )
    return text.rstrip() + (sentence.gaps[-1] if sentence.gaps else "")


def _word(sentence: Sentence, piece: Piece, *, first: bool) -> str:
    if isinstance(piece, str):
        return piece
    token = sentence.doc[piece]
    if piece == 0 and not first and _loses_capital(token):
        return str(token.lower_)
    word: str = token.text
    return word


def _loses_capital(token: Any) -> bool:
    """The, Two, Dogs, THe -> yes; I, Asian, Paris, TV, Attention (Deficit Disorder) -> no."""
    if token.lower_ in ("a", "an", "the"):
        return True
    if token.text == "I" or token.text[1:] != token.text[1:].lower() or token.lower_ in CAPITAL:
        return False
    titled = token.i + 1 < len(token.doc) and token.nbor().text[:1].isupper() and token.pos_ in ("NOUN", "ADJ")
    return bool((token.pos_ != "PROPN" or token.lower_ in PEOPLE) and not titled)


def _gap(sentence: Sentence, piece: Piece, following: Piece) -> str:
    if isinstance(piece, int) and isinstance(following, int) and following == piece + 1:
        return sentence.gaps[piece]
    if isinstance(following, int):
        token = sentence.doc[following]
        joined = following > 0 and not sentence.gaps[following - 1]
        return "" if joined and (token.is_punct or token.text.startswith(("'", "’"))) else " "
    return "" if following in (",", "'s") else " "


def _fix_articles(sentence: Sentence, pieces: Sequence[Piece], words: list[str]) -> None:
    """Where the word after "a" or "an" is another than before, the article follows it."""
    for at, piece in enumerate(pieces[:-1]):
        if not isinstance(piece, int) or pieces[at + 1] == piece + 1:
            continue
        if sentence.doc[piece].lower_ in ("a", "an"):
            article = article_for(words[at + 1])
            words[at] = article.capitalize() if words[at][0].isupper() else article


def article_for(word: str) -> str:
    """apple -> an; hour -> an; uniform -> a; one -> a."""
    lower = word.lower()
    if re.match(r"(uni([^nm]|$)|use|usu|euro|one\b|once)", lower):
        return "a"
    return "an" if re.match(r"([aeiou]|hour|honest|heir)", lower) else "a"
