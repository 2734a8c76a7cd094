"""Where and when: "A man sleeps in the park." <-> "In the park, a man sleeps."."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.classes import LOCATION_ADVERBS, LOCATIVE, NO_MOVE, PLACES, TIMES
from unwaver.variants.rules.grammar import (
    SUBJECTS,
    Clause,
    children,
    clause_of,
    has_possessive_pronoun,
    lower,
    root_of,
    second_clause,
    span,
)
from unwaver.variants.rules.sentence import Edit, Sentence

_WHEN = {"in", "on", "at", "during", "before", "after"}
_GOALS = {"to", "into", "onto", "at", "from", "toward", "towards"}
_SURE = {"in", "on", "at", "near", "inside", "outside", "behind", "under", "beside", "next", "along", "by"}


def last_adverbial(clause: Clause) -> range | None:
    """The place or time that ends the clause and belongs to its verb: "A man sleeps in the park." -> 3 to 6."""
    rest = clause.rest()
    if not rest or clause.copula or clause.commas or clause.verb.lemma_.lower() in NO_MOVE:
        return None
    if any(c.dep_ in ("advcl", "xcomp", "ccomp", "conj", "prt", "dative", "acomp", "oprd", "agent") for c in rest):
        return None
    last = rest[-1]
    where = span(last)
    if where.stop != clause.end or has_possessive_pronoun(list(last.subtree)):
        return None
    if last.dep_ == "advmod":
        return where if lower(last) in LOCATION_ADVERBS - {"together", "alone"} and len(where) == 1 else None
    if last.dep_ == "npadvmod":
        return where if last.lemma_.lower() in TIMES else None
    return where if last.dep_ == "prep" and _movable(last, clause) else None


def _movable(preposition: Any, clause: Clause) -> bool:
    objects = children(preposition, "pobj")
    if len(objects) != 1 or any(t.dep_ in ("acl", "relcl", "advcl", "pcomp") for t in preposition.subtree):
        return False
    noun = objects[0].lemma_.lower()
    if noun in TIMES:
        return lower(preposition) in _WHEN
    if lower(preposition) not in (LOCATIVE if preposition.i == clause.verb.i + 1 else _SURE):
        return False
    # "a hat in the park": with a noun before it, only a place is surely not a part of that noun
    return noun in PLACES


def belongs_to_verb(child: Any, clause: Clause) -> bool:
    """ "throws a ball at a wall", "eats a sandwich in the park"; not "sews up a hole in a dress"."""
    if child.dep_ == "advmod":
        return lower(child) in LOCATION_ADVERBS or lower(child).endswith("ly")
    if child.dep_ == "npadvmod":
        return child.lemma_.lower() in TIMES
    return lower(child) in _GOALS or _movable(child, clause)


def front(sentence: Sentence) -> Iterator[Edit]:
    clause = clause_of(sentence)
    if clause is None or clause.negated:
        return
    place = last_adverbial(clause)
    if place is not None:
        yield Edit("adverbial", "clause", 0, clause.end, [*place, ",", *range(place.start)])


def back(sentence: Sentence) -> Iterator[Edit]:
    """ "Outside, a man sleeps." -> "A man sleeps outside."."""
    doc, end, verb = sentence.doc, sentence.end, root_of(sentence.doc)
    commas = [t.i for t in doc[:end] if t.is_punct and t.tag_ != "HYPH"]
    subjects = [c for c in verb.lefts if c.dep_ in SUBJECTS]
    if len(commas) != 1 or doc[commas[0]].text != "," or len(subjects) != 1 or second_clause(verb):
        return
    first, comma = doc[0], commas[0]
    moved = first if first.head == verb else first.head
    if moved.head != verb or span(moved) != range(comma) or subjects[0].left_edge.i != comma + 1:
        return
    if moved.dep_ not in ("prep", "advmod", "npadvmod") or has_possessive_pronoun(list(moved.subtree)):
        return
    if moved.dep_ == "advmod" and lower(moved) not in LOCATION_ADVERBS:
        return
    if any(c.dep_ in ("advcl", "conj", "ccomp", "xcomp") for c in verb.rights):
        return
    yield Edit("adverbial", "clause", 0, end, [*range(comma + 1, end), *range(comma)])
