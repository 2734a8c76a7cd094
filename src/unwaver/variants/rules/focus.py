"""Clefts, inversion and frames: the same clause with another part of it in the light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.adverbials import last_adverbial
from unwaver.variants.rules.classes import GROUPS, LOCATION_ADVERBS, LOCATIVE, MOTIONS, NOT_DONE, PLACES
from unwaver.variants.rules.existential import FRAMES
from unwaver.variants.rules.grammar import (
    Clause,
    agrees,
    be_for,
    children,
    clause_of,
    has_clause,
    is_animate,
    is_person,
    is_thing,
    kind_of,
    lower,
    plural,
    relative_for,
    root_of,
    span,
)
from unwaver.variants.rules.sentence import Edit, Sentence
from unwaver.variants.rules.voice import object_of

_LONGEST_SUBJECT = 8
_POSTURES = {"sit", "stand", "lie", "hang"}


def _steady(clause: Clause | None) -> bool:
    return (
        clause is not None
        and kind_of(clause.head) not in ("quantified", "bare")
        and not has_clause(clause.head)
        and clause.split <= _LONGEST_SUBJECT
        and agrees(clause.head, clause.finite)
    )


def cleft(sentence: Sentence) -> Iterator[Edit]:
    """ "A man paints a house." -> "It is a man who paints a house.", "It is a house that a man paints."."""
    clause = clause_of(sentence)
    if clause is None or not _steady(clause):
        return
    it = ["it", "was" if clause.past else "is"]
    who = relative_for(clause.head, clause.finite)
    yield Edit("cleft_subject", "clause", 0, clause.end, [*it, *clause.subject, who, *clause.predicate])
    found = object_of(clause)
    if found is not None and kind_of(found) != "bare":
        pieces = [*it, *span(found), "that", *range(found.left_edge.i), *range(found.right_edge.i + 1, clause.end)]
        yield Edit("cleft_object", "clause", 0, clause.end, pieces)
    place = last_adverbial(clause)
    if place is not None and not clause.negated:
        yield Edit("cleft_adverbial", "clause", 0, clause.end, [*it, *place, "that", *range(place.start)])


def what_cleft(sentence: Sentence) -> Iterator[Edit]:
    """ "A man is painting a house." -> "What a man is painting is a house.", "What a man is doing is …"."""
    clause = clause_of(sentence)
    if clause is None or not _steady(clause) or clause.negated:
        return
    be = "was" if clause.past else "is"
    found = object_of(clause)
    if found is not None and is_thing(found) and kind_of(found) != "bare":
        others = [*range(found.left_edge.i), *range(found.right_edge.i + 1, clause.end)]
        yield Edit("what_cleft", "clause", 0, clause.end, ["what", *others, be, *span(found)])
    if clause.progressive and is_animate(clause.head) and clause.verb.lemma_.lower() not in NOT_DONE:
        doing = [*clause.subject, clause.split, "doing", be, *range(clause.verb.i, clause.end)]
        yield Edit("what_doing", "clause", 0, clause.end, ["what", *doing])


def what_subject(sentence: Sentence) -> Iterator[Edit]:
    """ "The beach is windy." -> "What is windy is the beach."."""
    clause = clause_of(sentence)
    if clause is None or not _steady(clause) or clause.commas or not is_thing(clause.head) or plural(clause.head):
        return
    if kind_of(clause.head) != "definite" or clause.head.tag_ != "NN" or not clause.copula:
        return
    if any(c.dep_ not in ("acomp", "prep") or c.pos_ == "VERB" for c in clause.rest()) or clause.negated:
        return
    yield Edit("what_subject", "clause", 0, clause.end, ["what", *clause.predicate, clause.split, *clause.subject])


def inversion(sentence: Sentence) -> Iterator[Edit]:
    """ "A man is sitting on a bench." -> "Sitting on a bench is a man."; "A dog is in the park." -> "In the …"."""
    clause = clause_of(sentence)
    if clause is None or not _steady(clause) or clause.negated or kind_of(clause.head) == "pronoun":
        return
    if clause.commas:
        return
    be = clause.split
    after = clause.doc[clause.verb.i + 1] if clause.verb.i + 1 < clause.end else None
    if after is None or after.dep_ not in ("prep", "advmod") or not _only_places(clause):
        return
    verb = clause.verb.lemma_.lower()
    if clause.progressive and verb in _POSTURES | MOTIONS:
        pieces = [*range(clause.verb.i, clause.end), be, *clause.subject]
    elif (clause.copula and _in_place(after)) or (clause.verb.i == be and verb in _POSTURES):
        pieces = [*range(be + 1, clause.end), be, *clause.subject]
    else:
        return
    yield Edit("inversion", "clause", 0, clause.end, pieces)


def _in_place(token: Any) -> bool:
    """ "in the park", "outside"; not "in a hat", "on a trip"."""
    nouns = children(token, "pobj")
    return not nouns or nouns[0].lemma_.lower() in PLACES


def _only_places(clause: Clause) -> bool:
    """Nothing follows the verb but where: no object, no other verb, no "for her"."""
    return all(_place(child) for child in clause.rest()) and not any(
        t.pos_ == "VERB" or t.tag_ in ("PRP", "PRP$") for t in clause.doc[clause.verb.i + 1 : clause.end]
    )


def _place(child: Any) -> bool:
    if child.dep_ == "prep":
        return lower(child) in LOCATIVE and bool(children(child, "pobj"))
    return child.dep_ == "advmod" and lower(child) in LOCATION_ADVERBS - {"together", "alone"}


def the_one(sentence: Sentence) -> Iterator[Edit]:
    """ "The man sleeps." -> "The man is the one who sleeps."; "The roof leaks." -> "The roof is what leaks."."""
    clause = clause_of(sentence)
    if clause is None or not _steady(clause) or kind_of(clause.head) not in ("definite", "pronoun"):
        return
    head = clause.head
    if head.lemma_.lower() in GROUPS or not (is_animate(head) or is_thing(head) or head.pos_ == "PROPN"):
        return
    if is_thing(head) and plural(head):
        return
    if not is_person(head) and not _says_how(clause):
        return
    be = be_for(clause.head, past=clause.past)
    pieces = [*clause.subject, be, *_the_one(clause.head), *clause.predicate]
    yield Edit("the_one", "clause", 0, clause.end, pieces)


def _says_how(clause: Clause) -> bool:
    """ "is red", "is in the park", "leaks"; not "is a house", "is of a face", "is sewing" (a job)."""
    complements = [c for c in clause.rest() if c.dep_ != "advmod"]
    return not clause.copula or all(
        (c.dep_ == "acomp" and c.pos_ == "ADJ") or (c.dep_ == "prep" and lower(c) in LOCATIVE) for c in complements
    )


def _the_one(head: Any) -> list[str]:
    """For a name, which may be a person's or a thing's: the one that."""
    if is_thing(head):
        return ["what"]
    return ["the", "ones" if plural(head) else "one", relative_for(head)]


def frame(sentence: Sentence) -> Iterator[Edit]:
    """ "A man sleeps." -> "It is true that a man sleeps."."""
    doc, end = sentence.doc, sentence.end
    if "".join(t.text for t in doc[end:]) not in ("", "."):
        return
    root = root_of(doc)
    existential = lower(doc[0]) == "there" and root.i == 1 and root.tag_ in ("VBZ", "VBP", "VBD")
    clause = clause_of(sentence)
    if not existential and (clause is None or kind_of(clause.head) == "bare"):
        return
    if clause is not None and not agrees(clause.head, clause.finite):
        return
    for words in FRAMES:
        yield Edit("frame", "clause", 0, end, [*words, *range(end)])


def currently(sentence: Sentence) -> Iterator[Edit]:
    """ "A man is sleeping." -> "A man is currently sleeping."."""
    clause = clause_of(sentence)
    if clause is None or not clause.progressive or clause.past or clause.negated:
        return
    if any(t.dep_ == "npadvmod" or (t.tag_ == "RB" and t.head == clause.verb) for t in clause.doc):
        return
    yield Edit("currently", "phrase", clause.split, clause.split + 1, [clause.split, "currently"])
