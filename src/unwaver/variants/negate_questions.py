"""Yes/no questions, with or without a question mark: "is it bad to …" -> "is it not bad to …"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.text.english import Edit, edited, words
from unwaver.text.refused import Refused
from unwaver.variants.negate_remove import NOT, some_noun
from unwaver.variants.negate_verbs import end_of, is_verb_form, replaced, with_space_before
from unwaver.variants.source import Rewrite

_BE = frozenset({"is", "are", "was", "were", "am"})
_DO = frozenset({"do", "does", "did"})
_OTHER = words("has have had can could will would shall should must may might ca wo")
_PRONOUNS = frozenset({"it", "he", "she", "they", "you", "we", "i", "there", "anyone", "someone", "everyone"})
_NONE = {"any": "no", "anyone": "no one", "anybody": "nobody", "anything": "nothing"}
_ASKING = frozenset({"who", "what", "where", "when", "why", "how", "which", "whose", "whom"})
_SUBJECTS = ("nsubj", "nsubjpass", "csubj", "expl")


def is_question(doc: Any) -> bool:
    """A text that ends in "?" or begins like a yes/no question; "Do not go." and "Have a seat." do not."""
    first, second = doc[0].lower_, doc[1] if len(doc) > 1 else doc[0]
    if doc.text.rstrip().endswith("?") or (first in _ASKING and doc[0].tag_ in ("WP", "WRB", "WDT", "WP$")):
        return True
    if first in _BE or first in ("does", "did", "can", "could", "will", "would", "has", "should"):
        return second.lower_ not in NOT or doc[0].lower_ in _BE
    if first in ("do", "have", "had"):  # "Do the dishes." has no other verb
        tags = ("VB", "VBP") if first == "do" else ("VBN",)
        verbs = [t for t in doc[2:] if t.tag_ in tags and doc[t.i - 1].lower_ != "to"]
        ever = any(t.lower_ == "ever" for t in doc)
        return (bool(verbs) or ever) and second.lower_ not in NOT
    return first in ("must", "may", "might") and second.pos_ in ("DET", "NOUN", "PROPN", "PRON")


def negated_question(doc: Any) -> list[Rewrite] | Refused:
    """The opposite questions, the best first."""
    helper = doc[0]
    if helper.lower_ in _ASKING or helper.lower_ not in _BE | _DO | _OTHER:
        return Refused("the question is none to be answered with yes or no")
    if any(t.text[-1] in "?.!" for t in doc[:-1] if t.pos_ == "PUNCT"):
        return Refused("the text is not one sentence")
    if (edits := _without_negation(doc)) is not None:
        return [Rewrite(edited(doc.text, edits), "rm_negation")]
    texts = [edited(doc.text, edits) for edits in _wordings(doc)]
    if not texts:
        return Refused("where the subject of the question ends is not clear")
    return [Rewrite(text, "negation") for text in dict.fromkeys(texts)]


def _without_negation(doc: Any) -> list[Edit] | None:
    """ "isn't it …", "is it not …", "is there no …" without their negation; None if there is none."""
    if len(doc) < 3:
        return None
    if doc[1].lower_ in NOT and doc[1].lower_ != "not":
        whole = {"ca": "can", "wo": "will"}.get(doc[0].lower_, doc[0].text)
        return [(0, end_of(doc[1]), whole if doc[0].text.islower() else whole.capitalize())]
    if doc[1].lower_ in _PRONOUNS and doc[2].lower_ == "no":
        return list(some_noun(doc[2])) if doc[2].dep_ == "det" else None
    if doc[1].lower_ in _PRONOUNS and doc[2].lower_ in NOT:
        return [(with_space_before(doc[2]), end_of(doc[2]), "")]
    return None


def _wordings(doc: Any) -> Iterator[list[Edit]]:
    ever = next((t for t in doc if t.lower_ == "ever" and t.dep_ == "advmod"), None)
    if ever is not None and doc[1].lower_ in _NONE:  # has anyone ever … -> has no one ever …
        yield [replaced(doc[1], _NONE[doc[1].lower_])]
        return
    if ever is not None:
        yield [replaced(ever, "never")]
        return
    if doc[1].lower_ == "there" and doc[0].lower_ in _BE:
        yield from _existential(doc)
        return
    place = _place_of_not(doc)
    if place is None:
        return
    not_edit = (doc[place].idx, doc[place].idx, "not ")
    yield [not_edit, *_changed(doc, place)]
    verb = doc[place]
    if verb.lower_ == "still" and place + 1 < len(doc):
        yield [replaced(verb, "not")]
    if verb.lower_ in ("have", "need", "contain", "carry", "cost", "give") and doc[0].lower_ in _DO:
        yield from _no_object(doc, verb)


def _existential(doc: Any) -> Iterator[list[Edit]]:
    if len(doc) < 3:
        return
    first = doc[2]
    if first.lower_ in ("a", "an", "any", "some"):
        yield [replaced(first, "no")]
    elif first.pos_ in ("NOUN", "ADJ") or (first.lower_ == "more" and doc[3:4].text == "than"):
        yield [(first.idx, first.idx, "no ")]
    yield [(first.idx, first.idx, "not "), *_changed(doc, 2)]


def _no_object(doc: Any, verb: Any) -> Iterator[list[Edit]]:
    """does it have a tail -> does it have no tail."""
    if verb.i + 1 >= len(doc):
        return
    first = doc[verb.i + 1]
    if first.lower_ in ("a", "an", "any", "some"):
        yield [replaced(first, "no")]
    elif first.pos_ in ("NOUN", "ADJ"):
        yield [(first.idx, first.idx, "no ")]


def _changed(doc: Any, place: int) -> Iterator[Edit]:
    """some -> any after the negation; "still" before it goes."""
    for token in doc[place:]:
        if token.lower_ == "some" and token.dep_ == "det":
            yield replaced(token, "any")


def _place_of_not(doc: Any) -> int | None:
    """The token before which "not" stands: the one after the subject.

    Questions in lower case, full of names, are often parsed wrong: signs in the words come before the parse, and
    the question is left alone where neither is clear.
    """
    if doc[1].lower_ in _PRONOUNS:
        clause = len(doc) > 2 and (doc[2].tag_ in ("MD", "VBZ", "VBP", "VBD") or doc[2].pos_ in ("PART", "CCONJ"))
        return None if len(doc) < 3 or clause else 2
    place = _before_predicate(doc) if doc[0].lower_ in _BE else _before_verb(doc)
    if place is None or place < 2 or doc[place].pos_ in ("CCONJ", "PUNCT", "PART"):
        return None
    return place


_PREDICATES = words(
    "same part still really considered based related made allowed able different supposed required equal"
    " similar located"
)


def _before_predicate(doc: Any) -> int | None:
    """is the spleen [part] of the gut; is a pony [the] same as a foal; is tea [grown] in japan."""
    for token in doc[2:]:
        if token.lower_ in _PREDICATES and (token.lower_ != "part" or doc[token.i + 1 : token.i + 2].text == "of"):
            before = doc[token.i - 1]
            return int(before.i) if before.lower_ in ("the", "a") and before.i > 1 else int(token.i)
    root = doc[0] if doc[0].dep_ == "ROOT" else doc[0].head
    if root.i > 1 and root.tag_ in ("VBN", "VBG") and (place := _first_helper(root)) is not None:
        return place
    phrases = [t.i for t in doc[2:] if t.lower_ in ("a", "an", "the") and doc[t.i - 1].pos_ not in _GOES_ON]
    if phrases:
        return int(phrases[-1])
    participles = [
        t.i for t in doc[2:] if t.tag_ == "VBN" and t.dep_ in ("acl", "ROOT") and doc[t.i - 1].pos_ in _ENDS_PHRASE
    ]
    if len(participles) == 1:
        return int(participles[0])
    compared = [t.i for t in doc[2:] if t.tag_ == "JJR" and doc[t.i + 1 : t.i + 2].text == "than"]
    if compared:
        return int(compared[0])
    return _after_subject(doc[0])


_ENDS_PHRASE = ("NOUN", "PROPN", "NUM", "PRON", "X")
_GOES_ON = ("ADP", "CCONJ", "SCONJ", "DET", "VERB", "AUX", "ADV", "PUNCT", "PART")  # before an article


def _before_verb(doc: Any) -> int | None:
    """do gulls [sleep] at sea."""
    root = doc[0].head
    if root.i > 1 and root.pos_ in ("VERB", "AUX") and (place := _first_helper(root)) is not None:
        return place
    tags = ("VBN",) if doc[0].lower_ in ("has", "have", "had") else ("VB", "VBP")
    verbs = [t for t in doc[2:] if t.tag_ in tags and doc[t.i - 1].lower_ != "to"]
    if verbs:
        return int(verbs[0].i)
    # "does a robin hop": a noun to the parser
    return int(root.i) if root.i > 2 and is_verb_form(root.lower_) and root.tag_ == "NN" else None


def _first_helper(verb: Any) -> int | None:
    """Of a verb and its helpers, the first after the subject: is the dog [being] fed."""
    subjects = [t for t in verb.lefts if t.dep_ in _SUBJECTS and t.i > 0]
    if not subjects:
        return None
    after = [t for t in verb.lefts if t.i > subjects[-1].right_edge.i and t.pos_ != "PUNCT"]
    return int(min([verb.i, *(t.left_edge.i for t in after)]))


def _after_subject(be: Any) -> int | None:
    """is [the spleen] part of the gut -> "part"."""
    subjects = [t for t in be.rights if t.dep_ in _SUBJECTS]
    if not subjects:
        return None
    after = [t for t in be.rights if t.i > subjects[0].right_edge.i and t.pos_ != "PUNCT"]
    if after:
        return int(after[0].left_edge.i)
    places = [
        t.i
        for t in subjects[0].rights
        if t.dep_ == "prep" and t.lower_ in ("in", "on", "under", "at", "after", "before")
    ]
    return int(places[0]) if len(places) == 1 else None
