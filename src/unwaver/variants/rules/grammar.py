"""What the constructions ask of a parse: the one clause of a sentence, kinds of noun phrases, forms of verbs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from unwaver.variants.rules.classes import ANIMALS, CLOTHING, COLLECTIVES, GROUPS, PEOPLE, THINGS
from unwaver.variants.rules.sentence import Sentence

BE = {"is", "are", "was", "were", "am"}
SUBJECTS = ("nsubj", "nsubjpass")
NEGATIVE = {
    "not",
    "n't",
    "no",
    "never",
    "nobody",
    "nothing",
    "none",
    "neither",
    "nor",
    "hardly",
    "without",
    "nowhere",
}
TO_OBJECT = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me", "who": "whom"}
TO_SUBJECT = {"him": "he", "her": "she", "them": "they", "us": "we", "me": "I"}

Kind = Literal["indefinite", "bare plural", "definite", "pronoun", "bare", "quantified"]


@dataclass(frozen=True)
class Clause:
    """A sentence that is one clause with its subject first: tokens 0 to `split` are the subject, from there to
    `end` the predicate, whose first word is finite. "A man | is sleeping ." -> split 2, end 4, verb "sleeping"."""

    head: Any  # of the subject
    split: int
    verb: Any
    end: int
    negated: bool
    commas: bool  # in the predicate: what it holds may be kept as it is, not taken apart

    @property
    def doc(self) -> Any:
        return self.verb.doc

    @property
    def finite(self) -> Any:
        return self.doc[self.split]

    @property
    def past(self) -> bool:
        return bool(self.finite.tag_ == "VBD")

    @property
    def subject(self) -> range:
        return range(self.split)

    @property
    def predicate(self) -> range:
        return range(self.split, self.end)

    @property
    def progressive(self) -> bool:
        """ "is sleeping": be directly before the verb in -ing, which is not the future "is going to"."""
        if self.finite.lower_ not in BE or self.verb.tag_ != "VBG" or self.verb.i != self.split + 1:
            return False
        following = self.doc[self.verb.i + 1] if self.verb.i + 1 < self.end else None
        to_verb = following is not None and following.tag_ == "TO"
        return not (self.verb.lower_ == "going" and to_verb)

    @property
    def copula(self) -> bool:
        return bool(self.verb.i == self.split and self.verb.lower_ in BE)

    def rest(self) -> list[Any]:
        """What depends on the verb and stands behind it."""
        return [child for child in self.verb.rights if child.i < self.end]


@lru_cache(maxsize=4)  # most rules ask for it, one after another
def clause_of(sentence: Sentence) -> Clause | None:
    """None unless the sentence is one clause without commas or the like, subject first, then a finite verb."""
    doc, end = sentence.doc, sentence.end
    verb = root_of(doc)
    subjects = [c for of in (verb, *children(verb, "aux", "auxpass")) for c in of.lefts if c.dep_ in SUBJECTS]
    if verb.pos_ not in ("VERB", "AUX") or len(subjects) != 1 or subjects[0].left_edge.i != 0:
        return None
    head, split = subjects[0], subjects[0].right_edge.i + 1
    if split > verb.i:
        return None
    middle = [doc[i] for i in range(split, verb.i)]
    if any(t.head != verb or t.dep_ not in ("aux", "auxpass", "neg", "advmod") for t in middle):
        return None
    if doc[split].tag_ not in ("VBZ", "VBP", "VBD", "MD") or not sentence.gaps[split - 1]:
        return None
    if second_clause(verb) or _stops(doc[: verb.i + 1]) or any(t.text != "," for t in _stops(doc[:end])):
        return None
    if verb.i == split and verb.tag_ == "VBD" and lower(verb) == verb.lemma_ and plural(head):
        return None  # "two men read": today or yesterday?
    if verb.i > split and lower(doc[split + 1]) in BE:  # a slip: "is is"
        return None
    if any(t.tag_ == "SYM" for t in doc[:end]):
        return None
    return Clause(head, split, verb, end, any(t.lower_ in NEGATIVE for t in doc), bool(_stops(doc[:end])))


def _stops(tokens: Any) -> list[Any]:
    return [t for t in tokens if t.is_punct and t.tag_ != "HYPH"]


def root_of(doc: Any) -> Any:
    return next(token for token in doc if token.head == token)


def second_clause(verb: Any) -> bool:
    """A verb joined to this one has a subject of its own."""
    joined = [c for c in verb.rights if c.dep_ in ("conj", "parataxis")]
    return any(c.dep_ in SUBJECTS or c.dep_ == "expl" for verb in joined for c in verb.children) or any(
        second_clause(other) for other in joined
    )


def span(token: Any) -> range:
    return range(token.left_edge.i, token.right_edge.i + 1)


def lower(token: Any) -> str:
    return str(token.lower_)


def children(token: Any, *deps: str) -> list[Any]:
    return [child for child in token.children if child.dep_ in deps]


def descends(token: Any, *deps: str) -> Iterator[Any]:
    return (t for t in token.subtree if t.dep_ in deps and t != token)


# --- noun phrases -------------------------------------------------------------------------------------------

_INDEFINITE = {"a", "an", "some", "another", "several", "many"}
_DEFINITE = {"the", "this", "that", "these", "those"}
_MASS = {"food", "water", "snow", "rain", "music", "traffic", "smoke", "laundry", "fruit", "art"}
_COLLECTIVE = {
    "feet",
    "sheep",
    "mice",
    "geese",
    "firemen",
    "policemen",
    "people",
    "police",
    "cattle",
    "clothes",
    "children",
    "men",
    "women",
    "folks",
    "kids",
}


def kind_of(head: Any) -> Kind:
    """a man, two men -> indefinite; men -> bare plural; the man, his wife -> definite; man -> bare."""
    if head.pos_ == "PRON" or head.tag_ in ("PRP", "DT", "WP", "EX"):
        if lower(head) in ("someone", "somebody", "something"):
            return "indefinite"
        return "pronoun" if lower(head) in ("he", "she", "they", "we") else "quantified"
    if head.pos_ not in ("NOUN", "PROPN"):
        return "quantified"
    determiners = [c for c in head.lefts if c.dep_ in ("det", "poss", "predet", "nummod", "quantmod")]
    words = {lower(c) for c in determiners}
    if any(lower(t) in ("only", "just", "even", "also", "not", "no") for t in head.subtree):
        return "quantified"
    if any(c.dep_ == "poss" for c in determiners) or (words & _DEFINITE and "predet" not in words):
        return "definite"
    if words & _INDEFINITE or any(c.dep_ == "nummod" for c in determiners):
        return "indefinite"
    if [lower(t) for t in head.doc[head.left_edge.i : head.left_edge.i + 2]] == ["a", "few"]:
        return "indefinite"
    if determiners:
        return "quantified"
    if any(lower(c) in ("many", "several", "few", "most", "more", "other") for c in head.lefts):
        return "indefinite" if any(lower(c) in ("many", "several") for c in head.lefts) else "quantified"
    if (head.tag_ == "NNS" and lower(head).endswith("s")) or lower(head) in _COLLECTIVE | _MASS:
        return "bare plural"
    name = head.tag_ == "NNP" and head.text[0].isupper() and lower(head) not in PEOPLE | ANIMALS
    return "definite" if name else "bare"


def plural(head: Any) -> bool:
    if any(c.dep_ == "cc" and lower(c) == "and" for c in head.children):
        return True
    if lower(head) in ("they", "we", "you", "these", "those"):
        return True
    counted = lower(head) in ("couple", "number", "pair") and named(head) != lower(head)  # "a couple of men are"
    return counted or head.tag_ in ("NNS", "NNPS") or lower(head) in _COLLECTIVE


def agrees(head: Any, finite: Any) -> bool:
    """ "men are", "man is": no for the slips "men is", "man are"; a group may be either."""
    if head.lemma_.lower() in GROUPS | {"family", "police", "lot"}:
        return True
    form = lower(finite)
    if lower(head) in ("i", "you"):
        return True
    if form in ("is", "was") or finite.tag_ == "VBZ":
        return not plural(head)
    if form in ("are", "were") or finite.tag_ == "VBP":
        return plural(head)
    return True


def be_for(head: Any, *, past: bool) -> str:
    if past:
        return "were" if plural(head) else "was"
    return "are" if plural(head) else "is"


def named(head: Any) -> str:
    """The noun that says what it is: "a group of boys" -> boy."""
    if head.lemma_.lower() in GROUPS:
        for of in head.rights:
            if of.dep_ == "prep" and lower(of) == "of":
                for inner in of.rights:
                    if inner.dep_ == "pobj":
                        return str(inner.lemma_.lower())
    return str(head.lemma_.lower())


def relative_be(head: Any, *, past: bool) -> str:
    """ "a man who is", "a group of men who are"."""
    many = head.lemma_.lower() in GROUPS and named(head) != head.lemma_.lower()
    return ("were" if past else "are") if many else be_for(head, past=past)


def is_person(head: Any) -> bool:
    return named(head) in PEOPLE or lower(head) in (*TO_OBJECT, *TO_SUBJECT, "someone", "somebody")


def is_animate(head: Any) -> bool:
    return is_person(head) or named(head) in ANIMALS


def is_thing(head: Any) -> bool:
    """Surely neither a person nor an animal."""
    return named(head) in THINGS and not is_animate(head)


def is_clothing(head: Any) -> bool:
    return head.lemma_.lower() in CLOTHING


def relative_for(head: Any, finite: Any = None) -> str:
    """ "a man who", "a group of men who are", "a group of men that is", "a group that", "a dog that"."""
    group = head.lemma_.lower() in COLLECTIVES
    alone = named(head) == head.lemma_.lower() or (finite is not None and finite.tag_ == "VBZ")
    return "who" if is_person(head) and not (group and alone) else "that"


def has_clause(head: Any) -> bool:
    """ "a man who sings", "a man singing"."""
    return any(t.dep_ in ("acl", "relcl", "advcl", "ccomp", "xcomp", "appos") for t in head.subtree if t != head)


def number_unsure(noun: Any) -> bool:
    """ "a man and a woman wearing hats": who wears them?"""
    return noun.dep_ == "conj" or bool(children(noun, "cc", "conj")) or is_slip(noun)


def refers_back(tokens: Any) -> bool:
    """ "another man", "the other one": what they differ from must come first."""
    return any(lower(t) in ("another", "other", "others", "else", "same") for t in tokens)


def is_slip(noun: Any) -> bool:
    """ "a girls", "two girl", and "a girl rides" where the parser takes the verb for a noun; not "a few girls"."""
    left = {lower(t) for t in noun.doc[noun.left_edge.i : noun.i]}
    if noun.tag_ == "NN":
        return bool({"two", "three", "four", "five", "several", "many"} & {lower(c) for c in noun.lefts})
    return noun.tag_ == "NNS" and bool({"a", "an", "one"} & left) and not {"few", "hundred", "dozen"} & left


def has_possessive_pronoun(tokens: Iterator[Any] | list[Any]) -> bool:
    return any(t.tag_ == "PRP$" or lower(t).endswith("self") or lower(t).endswith("selves") for t in tokens)


# --- forms --------------------------------------------------------------------------------------------------


# where lemminflect gives the rarer form first
_FORMS = {
    ("light", "VBN"): "lit",
    ("wake", "VBN"): "woken",
    ("spell", "VBN"): "spelled",
    ("lean", "VBN"): "leaned",
    ("bear", "VBN"): "borne",
    ("lie", "VBN"): "lain",
}


def verb_form(token: Any, tag: str) -> str | None:
    """The verb of a token in another form: "riding", VBN -> ridden; None if it is not sure which verb it is."""
    lemma = token.lemma_.lower()
    if inflected(lemma, token.tag_) != lower(token):  # spaCy takes "riding" for "rid"
        from lemminflect import getLemma

        found = getLemma(lower(token), upos="VERB", lemmatize_oov=False)
        lemma = found[0] if len(found) == 1 else None
    return None if lemma is None else inflected(lemma, tag)


@cache
def inflected(lemma: str, tag: str) -> str | None:
    """("eat", "VBN") -> eaten; ("kid", "NNS") -> kids; None if no form is known."""
    if tag in ("NN", "VB", "VBP", "JJ", "RB"):
        return lemma
    if (lemma, tag) in _FORMS:
        return _FORMS[lemma, tag]
    from lemminflect import getInflection

    forms = getInflection(lemma, tag=tag, inflect_oov=False)  # of a word that is misspelt there is no form
    return str(forms[0]) if forms else None
