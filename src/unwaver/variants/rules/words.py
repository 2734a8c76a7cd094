"""Synonyms: from the curated list, and from WordNet where a lemma has one sense for its part of speech."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from unwaver.variants.lexicon import Pos, synonyms, synset_count
from unwaver.variants.rules.classes import NOT_ELDERLY, NOT_LARGE, ONE_SENSE_BUT, OUTFITS
from unwaver.variants.rules.grammar import children, inflected, is_animate, is_slip, kind_of, lower
from unwaver.variants.rules.sentence import Edit, Sentence

Entries = Mapping[str, tuple[str, ...]]  # word or phrase -> what may stand for it


@cache
def curated() -> Mapping[str, Entries]:
    """synonyms.toml by section: curated()["noun"]["couch"] -> ("sofa",)."""
    text = resources.files("unwaver.variants").joinpath("synonyms.toml").read_text(encoding="utf-8")
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    table = tomllib.loads(text)
    for section, sets in table["both"].items():
        for words in sets:
            for word in words:
                _add(sections, section, word, [w for w in words if w != word])
    for section, sets in table["one_way"].items():
        for word, *others in sets:
            _add(sections, section, word, others)
    return sections


def _add(sections: dict[str, dict[str, tuple[str, ...]]], section: str, word: str, others: list[str]) -> None:
    entries = sections.setdefault(section, {})
    entries[word] = (*entries.get(word, ()), *others)


def word(sentence: Sentence) -> Iterator[Edit]:
    for token in sentence.doc[: sentence.end]:
        for section, condition in _SECTIONS.items():
            if token.lemma_.lower() in curated().get(section, {}) and condition(token):
                for other in curated()[section][token.lemma_.lower()]:
                    yield from _replaced(token, other)


def _replaced(token: Any, other: str) -> Iterator[Edit]:
    """The first word of the replacement takes the form, for a noun the last: "works out", "police officers"."""
    tag = "VBD" if token.tag_ == "VBD" else token.tag_
    words = other.split(" ")
    changes = -1 if token.pos_ in ("NOUN", "PROPN") else 0
    form = inflected(words[changes], tag)
    if form is None:
        return
    words[changes] = form
    yield Edit("synonym", "word", token.i, token.i + 1, [" ".join(words)])


def _noun(token: Any) -> bool:
    """ "the bike"; not "dirt bike", "bike shop", "children's", "Man United"."""
    if token.tag_ not in ("NN", "NNS") or token.dep_ in ("compound", "nmod", "npadvmod"):
        return False
    if (token.text[0].isupper() and token.i) or children(token, "compound", "nmod"):
        return False
    if is_slip(token) or (token.tag_ == "NNS" and children(token, "case")):
        return False
    if lower(token) in ("guy", "guys") and any(lower(c) in ("good", "bad") for c in token.lefts):
        return False
    return token.i == 0 or "-" not in token.nbor(-1).text


def _verb(token: Any) -> bool:
    return (
        token.pos_ == "VERB"
        and token.tag_ != "VBN"
        and not children(token, "prt", "dobj", "ccomp", "xcomp", "acomp")
    )


def _verb_transitive(token: Any) -> bool:
    objects = children(token, "dobj")
    if (
        token.pos_ != "VERB"
        or token.tag_ == "VBN"
        or len(objects) != 1
        or children(token, "prt", "xcomp", "dative")
    ):
        return False
    return objects[0].left_edge.i == token.i + 1 and objects[0].pos_ in ("NOUN", "PROPN")


def _adjective(token: Any) -> bool:
    compound = token.dep_ == "amod" and children(token.head, "compound")
    if token.lemma_ == "big" and token.head.lemma_.lower() in NOT_LARGE:
        return False
    return token.tag_ == "JJ" and token.dep_ in ("amod", "acomp") and not compound and not list(token.children)


def _adjective_person(token: Any) -> bool:
    if not _adjective(token):
        return False
    if token.dep_ == "amod":
        if token.lemma_ in ("young", "little") and token.head.lemma_ not in ("boy", "girl", "kid", "child"):
            return False
        return is_animate(token.head) and not (token.lemma_ == "old" and token.head.lemma_ in NOT_ELDERLY)
    subjects = children(token.head, "nsubj")
    # "the man is little" is about size, "a little boy" about age; "an old friend" about neither
    return bool(subjects) and is_animate(subjects[0]) and token.lemma_ not in ("little", "young", "old")


def _adverb(token: Any) -> bool:
    """ "plays outside"; not "outside the house", "the outside", "looks inside"."""
    return (
        token.head.lemma_ not in ("look", "peer", "go", "come", "put")
        and token.pos_ == "ADV"
        and token.dep_ == "advmod"
        and not list(token.children)
    )


_SECTIONS = {
    "noun": _noun,
    "verb": _verb,
    "verb_transitive": _verb_transitive,
    "adjective": _adjective,
    "adjective_person": _adjective_person,
    "adverb": _adverb,
}


def phrase(sentence: Sentence) -> Iterator[Edit]:
    """ "next to" -> "beside"; "is waiting for" -> "is awaiting"."""
    doc = sentence.doc
    for first in doc[: sentence.end]:
        if lower(first) not in _first_words() and first.lemma_.lower() not in _first_words():
            continue
        for stop in range(first.i + 1, min(first.i + _LONGEST_PHRASE, sentence.end) + 1):
            yield from _phrases(doc[first.i : stop])


_LONGEST_PHRASE = 4


@cache
def _first_words() -> frozenset[str]:
    return frozenset(p.split(" ")[0] for section in ("phrase", "verb_phrase") for p in curated()[section])


def _phrases(tokens: Any) -> Iterator[Edit]:
    first, words = tokens[0], [lower(t) for t in tokens]
    for other in curated()["phrase"].get(" ".join(words), ()):
        if _phrase_fits(tokens):
            yield Edit("synonym", "word", first.i, first.i + len(words), [other])
    if first.pos_ == "VERB" and first.tag_ != "VBN":
        for other in curated()["verb_phrase"].get(" ".join([first.lemma_.lower(), *words[1:]]), ()):
            yield from _verb_phrase(tokens, other)


def _phrase_fits(tokens: Any) -> bool:
    last = tokens[-1]
    if last.pos_ == "ADP" and last.dep_ == "prep" and not children(last, "pobj", "pcomp"):
        return False
    return not any(t.dep_ == "prt" for t in tokens)


def _verb_phrase(tokens: Any, other: str) -> Iterator[Edit]:
    first = tokens[0]
    if children(first, "prt") or first.dep_ == "amod":
        return
    words = other.split(" ")
    form = inflected(words[0], first.tag_)
    if form is not None:
        pieces = [" ".join([form, *words[1:]])]
        yield Edit("synonym", "word", first.i, first.i + len(tokens), pieces)


# --- counts -------------------------------------------------------------------------------------------------


def pair(sentence: Sentence) -> Iterator[Edit]:
    """ "Two dogs" <-> "a pair of dogs"."""
    for number in sentence.doc:
        noun = number.head
        if lower(number) != "two" or number.dep_ != "nummod" or noun.tag_ != "NNS" or noun.left_edge != number:
            continue
        if kind_of(noun) == "indefinite" and not list(number.children) and is_animate(noun) and not noun.conjuncts:
            yield Edit("pair", "word", number.i, number.i + 1, ["a pair of"])


def someone(sentence: Sentence) -> Iterator[Edit]:
    """ "A person" -> "someone"."""
    for noun in sentence.doc[1:]:
        if noun.text == "person" and [lower(c) for c in noun.lefts] == ["a"] and not list(noun.rights):
            yield Edit("someone", "word", noun.i - 1, noun.i + 1, ["someone"])


def many(sentence: Sentence) -> Iterator[Edit]:
    """ "many dogs" -> "a lot of dogs"."""
    for quantity in sentence.doc:
        noun = quantity.head
        if lower(quantity) != "many" or quantity.dep_ != "amod" or list(quantity.children):
            continue
        if noun.tag_ == "NNS" and noun.left_edge == quantity:
            yield Edit("many", "word", quantity.i, quantity.i + 1, ["a lot of"])


def state(sentence: Sentence) -> Iterator[Edit]:
    """ "is sleeping" -> "is asleep"; "is sitting on" -> "is seated on"; "wearing a suit" -> "dressed in …"."""
    for verb in sentence.doc[1:]:
        if verb.tag_ != "VBG" or verb.dep_ not in ("ROOT", "acl"):
            continue
        if children(verb, "prt", "conj", "xcomp", "npadvmod", "advmod", "neg"):
            continue
        who = verb.head if verb.dep_ == "acl" else next(iter(children(verb, "nsubj")), None)
        if who is None or not is_animate(who):
            continue
        if lower(verb) in _STATES and _STATES[lower(verb)](verb):
            yield Edit("state", "word", verb.i, verb.i + 1, [_STATE_WORDS[lower(verb)]])


def _sits(verb: Any) -> bool:
    following = verb.nbor() if verb.i + 1 < len(verb.doc) else verb
    return following.dep_ == "prep" and lower(following) in _SEATS


def _wears(verb: Any) -> bool:
    objects = children(verb, "dobj")
    return len(objects) == 1 and objects[0].lemma_.lower() in OUTFITS and not children(objects[0], "cc")


def _sleeps(verb: Any) -> bool:
    return not children(verb, "dobj")


_STATES = {"sitting": _sits, "wearing": _wears, "sleeping": _sleeps}
_STATE_WORDS = {"sitting": "seated", "wearing": "dressed in", "sleeping": "asleep"}
_SEATS = {"on", "in", "at", "near", "next", "beside", "behind", "under", "around", "outside", "inside"}


# --- WordNet ------------------------------------------------------------------------------------------------

_LIKE = 0.6  # cosine of word vectors: keeps out what WordNet lists but nobody says
# adjectives and verbs of one synset mean the same only loosely: giant, gargantuan
_POS: Mapping[str, Pos] = {"NOUN": "n", "ADV": "r"}
_SHORTEST = 5  # letters: shorter words are rarely of one sense, whatever WordNet says


def one_sense(sentence: Sentence) -> Iterator[Edit]:
    """A lemma with one sense, by another of its synset that has one sense too: backpack -> rucksack."""
    for token in sentence.doc[: sentence.end]:
        lemma = token.lemma_.lower()
        if (
            token.pos_ not in _POS
            or not token.is_alpha
            or len(lemma) < _SHORTEST
            or lemma.endswith("ing")
            or lemma in ONE_SENSE_BUT
        ):
            continue
        if (token.text[0].isupper() and token.i) or any(lemma in entries for entries in curated().values()):
            continue
        if token.pos_ == "NOUN" and (not _noun(token) or (token.tag_ == "NNS" and lower(token) == lemma)):
            continue
        for other in _unambiguous(lemma, _POS[token.pos_]):
            if _alike(token.vocab[lemma], token.vocab[other]):
                yield from (edit._replace(tag="one_sense") for edit in _replaced(token, other))


def _alike(one: Any, other: Any) -> bool:
    return bool(one.has_vector and other.has_vector and one.similarity(other) >= _LIKE)


@cache
def _unambiguous(lemma: str, pos: Pos) -> tuple[str, ...]:
    """Of single words; one that begins alike is a spelling: flapjack, flapjacks."""
    found = [w for w in synonyms(lemma, pos) if w.isalpha() and w.islower() and synset_count(w, pos) == 1]
    return tuple(w for w in found if w[:4] != lemma[:4])
