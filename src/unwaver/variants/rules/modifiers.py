"""What stands beside a noun: "a man wearing a hat" <-> "a man who is wearing a hat" <-> "a man in a hat"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.classes import CAPITAL, INTERSECTIVE, NO_PARTICIPLE, NOT_ELDERLY, RESULTS
from unwaver.variants.rules.existential import in_place
from unwaver.variants.rules.grammar import (
    BE,
    children,
    is_animate,
    is_clothing,
    is_person,
    kind_of,
    lower,
    number_unsure,
    relative_be,
    relative_for,
    root_of,
    span,
)
from unwaver.variants.rules.sentence import Edit, Sentence


def _past(sentence: Sentence) -> bool:
    """The tense of the main verb or its first auxiliary."""
    root = root_of(sentence.doc)
    return root.tag_ == "VBD" or any(t.tag_ == "VBD" for t in children(root, "aux", "auxpass"))


def relative(sentence: Sentence) -> Iterator[Edit]:
    """ "a man wearing a hat" -> "a man who is wearing a hat"."""
    for verb in sentence.doc:
        noun = verb.head
        if verb.dep_ != "acl" or verb.tag_ not in ("VBG", "VBN") or verb.left_edge != verb:
            continue
        if (
            number_unsure(noun)
            or verb.lemma_ in NO_PARTICIPLE
            or noun.pos_ != "NOUN"
            or not _right_behind(noun, verb)
        ):
            continue
        if not is_animate(noun) and (verb.tag_ == "VBG" or verb.lemma_ not in RESULTS):
            continue
        be = relative_be(noun, past=_past(sentence))
        yield Edit("relative", "phrase", verb.i, verb.i + 1, [relative_for(noun), be, verb.i])


def _right_behind(noun: Any, verb: Any) -> bool:
    """Only "of …" stands between: else the participle may belong to another noun."""
    between = noun.doc[noun.i + 1 : verb.i]
    return len(between) == 0 or (
        lower(between[0]) == "of" and span(between[0]).stop == verb.i and is_animate(noun)
    )


def located(sentence: Sentence) -> Iterator[Edit]:
    """ "the people at the beach" -> "the people who are at the beach"."""
    for place in sentence.doc:
        noun = place.head
        if place.dep_ != "prep" or noun.pos_ != "NOUN" or place.i != noun.i + 1 or not is_animate(noun):
            continue
        if noun.dep_ != "nsubj" or list(noun.rights) != [place] or not in_place(place) or number_unsure(noun):
            continue
        if kind_of(noun) != "bare":
            be = relative_be(noun, past=_past(sentence))
            yield Edit("located", "phrase", place.i, place.i + 1, [relative_for(noun), be, place.i])


def reduced(sentence: Sentence) -> Iterator[Edit]:
    """ "a man who is wearing a hat" -> "a man wearing a hat"."""
    for who in sentence.doc[:-2]:
        verb = who.head
        be = sentence.doc[who.i + 1]
        if who.tag_ not in ("WP", "WDT") or verb.dep_ != "relcl" or who.dep_ not in ("nsubj", "nsubjpass"):
            continue
        if not list(verb.rights):  # "the man who is injured"
            continue
        if lower(be) in BE and verb.tag_ in ("VBG", "VBN") and verb.i == be.i + 1 and verb.head.i == who.i - 1:
            yield Edit("reduced", "phrase", who.i, verb.i + 1, [verb.i])


def clothing(sentence: Sentence) -> Iterator[Edit]:
    """ "a man in a red shirt" <-> "a man wearing a red shirt"."""
    for token in sentence.doc:
        noun = token.head
        if noun.pos_ != "NOUN" or not is_person(noun) or token.i != noun.i + 1 or kind_of(noun) == "bare":
            continue
        if token.dep_ == "prep" and lower(token) == "in" and _clothes(token, "pobj"):
            yield Edit("clothing", "phrase", token.i, token.i + 1, ["wearing"])
            be = relative_be(noun, past=_past(sentence))
            if not number_unsure(noun):
                yield Edit("clothing", "phrase", token.i, token.i + 1, ["who", be, "wearing"])
        if token.dep_ == "acl" and lower(token) == "wearing" and _clothes(token, "dobj"):
            yield Edit("clothing", "phrase", token.i, token.i + 1, ["in"])


def _clothes(token: Any, dep: str) -> bool:
    found = children(token, dep)
    return len(found) == 1 and is_clothing(found[0]) and len(list(token.children)) == 1


def adjective(sentence: Sentence) -> Iterator[Edit]:
    """ "a blind man" -> "a man who is blind"."""
    for noun in sentence.doc:
        if noun.pos_ != "NOUN" or not noun.i or any(c.is_punct for c in noun.children):
            continue
        adjectives = children(noun, "amod")
        if len(adjectives) != 1 or adjectives[0].i != noun.i - 1 or list(noun.rights):
            continue
        found = adjectives[0]
        if lower(found) == "old" and noun.lemma_.lower() in NOT_ELDERLY:
            continue
        if lower(found) not in INTERSECTIVE or len(list(found.children)) or children(noun, "compound", "nmod"):
            continue
        if found.text[0].isupper() and found.i and lower(found) not in CAPITAL:
            continue
        if not (is_animate(noun) or is_clothing(noun)) or noun.dep_ in (
            "attr",
            "appos",
            "conj",
            "compound",
            "poss",
        ):
            continue
        if kind_of(noun) == "bare" or number_unsure(noun):
            continue
        be = relative_be(noun, past=_past(sentence))
        yield Edit("adjective", "phrase", found.i, noun.i + 1, [noun.i, relative_for(noun), be, found.i])
