"""Paraphrases without a model: one construction of English at a time, then two, from a parse of the sentence.

    rules()(["A man is painting a house."])
      -> [Rewrite("There is a man painting a house.", "there"), Rewrite("A house is being …", "passive"), …]

Each construction is a function from a Sentence to edits, one file for each family of them. What they are not sure
of they leave alone: a wrong paraphrase is worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product

from unwaver.text.english import check_language, parsed
from unwaver.text.refused import Refused
from unwaver.variants.rules import adverbials, existential, focus, modifiers, order, voice, words
from unwaver.variants.rules.sentence import Edit, Piece, Sentence, applied, rendered, sentence_of
from unwaver.variants.source import Rewrite, Rewriter

__all__ = ["rules"]

MOST = 12  # texts from one
Rule = Callable[[Sentence], Iterator[Edit]]

# the most natural first: this is the order of the outputs
RULES: tuple[Rule, ...] = (
    existential.plain,
    existential.there,
    existential.caption,
    words.word,
    words.phrase,
    voice.passive,
    voice.active,
    order.dative,
    order.particle,
    modifiers.clothing,
    adverbials.front,
    adverbials.back,
    modifiers.relative,
    modifiers.located,
    modifiers.reduced,
    words.pair,
    words.someone,
    words.many,
    words.state,
    words.one_sense,
    order.coordination,
    order.genitive,
    focus.currently,
    modifiers.adjective,
    focus.inversion,
    focus.the_one,
    focus.cleft,
    focus.what_cleft,
    focus.what_subject,
)


def rules(*, lang: str = "en") -> Rewriter:
    """A writer for English sentences that needs no model; the tag of a text is its rule, or two joined by "+"."""
    check_language(lang, "rules")

    def rewrite(texts: Sequence[str]) -> Iterator[list[Rewrite] | Refused]:
        plain = [" ".join(text.split()) for text in texts]
        for text, doc in zip(texts, parsed(plain), strict=True):
            if isinstance(doc, Refused):
                yield doc
            else:
                reason = _refusal(text, doc)
                yield Refused(reason) if reason else _rewritten(text, doc)

    return rewrite


def _refusal(text: str, doc: object) -> str | None:
    if any(unicodedata.category(c) in ("So", "Sk", "Cs") for c in text):
        return "the text has an emoji or another sign"
    if len(list(doc.sents)) > 1:  # type: ignore[attr-defined]
        return "the text is more than one sentence"
    return None


def _rewritten(text: str, doc: object) -> list[Rewrite] | Refused:
    bare = text.strip()
    before, after = text[: text.index(bare)], text[text.index(bare) + len(bare) :]
    sentence = sentence_of(bare, doc)
    found: dict[str, str] = {bare: ""}
    for pieces, tag in _outcomes(sentence):
        other = rendered(sentence, pieces)
        if not _COLLISION.search(other):
            found.setdefault(other, tag)
        if len(found) > MOST:
            break
    made = [Rewrite(before + other + after, tag) for other, tag in found.items() if other != bare]
    return made or Refused("no rule applies")


def _outcomes(sentence: Sentence) -> Iterator[tuple[list[Piece], str]]:
    """One edit each, then two together; frames, which fit nearly every sentence, come last."""
    edits = [edit for rule in RULES for edit in rule(sentence)]
    if _is_question(sentence):
        edits = [edit for edit in edits if edit.level == "word"]
    frames = list(focus.frame(sentence))
    yield from _once(sentence, edits)
    yield from _twice(sentence, _pairs(edits))
    yield from _once(sentence, frames)
    yield from _twice(sentence, product(edits, frames))


def _is_question(sentence: Sentence) -> bool:
    """With a question mark or without: "is it raining"."""
    first = sentence.doc[0]
    return "?" in sentence.doc.text or first.pos_ == "AUX" or first.tag_ in ("WP", "WRB", "WDT", "MD")


def _once(sentence: Sentence, edits: Sequence[Edit]) -> Iterator[tuple[list[Piece], str]]:
    for edit in edits:
        pieces = applied(range(len(sentence.doc)), edit)
        if pieces is not None:
            yield pieces, edit.tag


def _pairs(edits: Sequence[Edit]) -> Iterator[tuple[Edit, Edit]]:
    """All pairs, those of two early edits first."""
    pairs = sorted(combinations(range(len(edits)), 2), key=sum)
    return ((edits[one], edits[other]) for one, other in pairs)


def _twice(sentence: Sentence, pairs: Iterable[tuple[Edit, Edit]]) -> Iterator[tuple[list[Piece], str]]:
    for one, other in pairs:
        if not _combine(one, other):
            continue
        wide, narrow = (one, other) if one.end - one.start >= other.end - other.start else (other, one)
        once = applied(range(len(sentence.doc)), wide)
        twice = applied(once, narrow) if once is not None else None
        if twice is not None:
            yield twice, f"{one.tag}+{other.tag}"


def _combine(one: Edit, other: Edit) -> bool:
    if one.level == other.level:
        return one.level == "word"
    if {one.tag, other.tag} in _APART or (one.start == other.start and "adjective" in (one.tag, other.tag)):
        return False  # "a little girl" is young, "a girl who is little" is small
    return not (_RELATIVES & set(one.pieces) and _RELATIVES & set(other.pieces))  # "the man who is old who is ill"


_RELATIVES = {"who", "that"}
_APART = (
    {"currently", "inversion"},
    {"state", "what_doing"},
    {"there", "adjective"},
    {"there", "clothing"},
    {"finite", "relative"},
    {"finite_currently", "relative"},
    {"plain", "relative"},
    {"plain", "clothing"},
    {"plain", "located"},
    {"finite", "located"},
    {"finite_currently", "located"},
)
_COLLISION = re.compile(r"\b(is|are|was|were) who\b")  # two edits that each found the same verb
