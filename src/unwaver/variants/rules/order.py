"""The same words in another order: dative, particle, coordination, genitive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.classes import GIVE, MAKE, NAMED_BY_OWNER, PARTICLE_VERBS, RELATIONS
from unwaver.variants.rules.grammar import (
    children,
    has_clause,
    has_possessive_pronoun,
    is_animate,
    is_person,
    kind_of,
    lower,
    span,
)
from unwaver.variants.rules.sentence import Edit, Sentence

_FIXED = {("rock", "roll"), ("bread", "butter"), ("salt", "pepper"), ("peanut", "jelly"), ("trial", "error")}


def dative(sentence: Sentence) -> Iterator[Edit]:
    """ "gives a bone to the dog" <-> "gives the dog a bone"."""
    for verb in sentence.doc:
        if verb.pos_ != "VERB" or children(verb, "prt"):
            continue
        objects = children(verb, "dobj")
        if len(objects) != 1 or has_possessive_pronoun(list(objects[0].subtree)):
            continue
        if objects[0].i > verb.i and not has_clause(objects[0]):
            yield from _to_second(verb, objects[0])
            yield from _to_first(verb, objects[0])


def _to_first(verb: Any, thing: Any) -> Iterator[Edit]:
    for to in [*children(verb, "dative"), *children(verb, "prep"), *children(thing, "prep")]:
        fits = (lower(to) == "to" and verb.lemma_ in GIVE) or (lower(to) == "for" and verb.lemma_ in MAKE)
        people = children(to, "pobj")
        if not fits or len(people) != 1 or not is_animate(people[0]) or has_clause(people[0]):
            continue
        given = range(thing.left_edge.i, to.left_edge.i)
        if given.start != verb.i + 1 or given.stop <= thing.i or thing.pos_ == "PRON":
            continue
        if given.stop != span(thing).stop and list(thing.rights) != [to]:
            continue
        if any(t.dep_ == "prep" for t in people[0].subtree):
            continue
        person = range(to.i + 1, span(to).stop)
        yield Edit("dative", "phrase", verb.i, span(to).stop, [verb.i, *person, *given])


def _to_second(verb: Any, thing: Any) -> Iterator[Edit]:
    for person in children(verb, "dative"):
        if person.pos_ == "ADP" or verb.lemma_ not in GIVE or span(person).start != verb.i + 1:
            continue
        if span(thing).start != span(person).stop or has_clause(person) or any(descend_prep(thing)):
            continue
        pieces = [verb.i, *span(thing), "to", *span(person)]
        yield Edit("dative", "phrase", verb.i, span(thing).stop, pieces)


def descend_prep(head: Any) -> Iterator[Any]:
    return (t for t in head.subtree if t.dep_ == "prep" and lower(t) != "of")


def particle(sentence: Sentence) -> Iterator[Edit]:
    """ "picks up the ball" <-> "picks the ball up"."""
    for verb in sentence.doc:
        particles, objects = children(verb, "prt"), children(verb, "dobj")
        if len(particles) != 1 or len(objects) != 1 or objects[0].pos_ not in ("NOUN", "PROPN"):
            continue
        if (verb.lemma_.lower(), lower(particles[0])) not in PARTICLE_VERBS:
            continue
        off, thing = particles[0], span(objects[0])
        if len(thing) > 4 or any(t.dep_ in ("prep", "acl", "relcl") for t in objects[0].subtree):
            continue
        if kind_of(objects[0]) == "bare":
            continue
        if off.i == verb.i + 1 and thing.start == off.i + 1:
            yield Edit("particle", "phrase", verb.i, thing.stop, [verb.i, *thing, off.i])
        elif thing.start == verb.i + 1 and off.i == thing.stop and not children(verb, "xcomp", "advcl", "ccomp"):
            yield Edit("particle", "phrase", verb.i, off.i + 1, [verb.i, off.i, *thing])


def coordination(sentence: Sentence) -> Iterator[Edit]:
    """ "A man and a boy" -> "a boy and a man"; "singing and dancing" -> "dancing and singing"."""
    for first in sentence.doc:
        ands, others = children(first, "cc"), children(first, "conj")
        if len(ands) != 1 or len(others) != 1 or lower(ands[0]) not in ("and", "or"):
            continue
        joint, second = ands[0], others[0]
        behind = [c for c in first.rights if c.i < sentence.end and c not in (joint, second)]
        if behind or (lower(first), lower(second)) in _FIXED:
            continue
        if children(second, "cc", "conj") or children(first, "preconj") or not _alike(first, second):
            continue
        if second.right_edge != second or joint.i != first.i + 1 or second.left_edge.i != joint.i + 1:
            continue
        if first.pos_ == "NOUN" and (lower(first).endswith("ing") or lower(second).endswith("ing")):
            continue
        if has_possessive_pronoun(list(second.subtree)):
            continue
        left = _left_of_swap(first, second)
        if left is not None:
            one, other = range(left, first.i + 1), range(joint.i + 1, second.i + 1)
            yield Edit("coordination", "phrase", left, second.i + 1, [*other, joint.i, *one])


def _alike(first: Any, second: Any) -> bool:
    """Both nouns of one number; or both in -ing, which the tagger may take for a noun at the end."""
    if first.tag_ == "VBG":
        return lower(second).endswith("ing")
    return bool(first.tag_.replace("P", "") == second.tag_.replace("P", ""))


def _left_of_swap(first: Any, second: Any) -> int | None:
    """Where the first conjunct begins: its determiner moves with it if the second has one of its own."""
    if first.tag_ == "VBG":
        return int(first.i) if not list(second.children) and first.i and first.dep_ != "acl" else None
    if first.pos_ not in ("NOUN", "PROPN"):
        return None
    own = [c for c in second.lefts if c.dep_ in ("det", "nummod", "poss")]
    if own:
        return int(first.left_edge.i) if kind_of(first) in ("indefinite", "definite") else None
    if any(c.dep_ in ("amod", "nummod", "compound", "nmod") for c in [*first.lefts, *second.lefts]):
        return None
    return int(first.i)


def genitive(sentence: Sentence) -> Iterator[Edit]:
    """ "the dog's owner" <-> "the owner of the dog"."""
    for thing in sentence.doc:
        for owner in children(thing, "poss"):
            marks = children(owner, "case")
            if marks and _plainly_owned(owner, thing):
                last = marks[0].i
                pieces = ["the", *range(last + 1, thing.i + 1), "of", *range(owner.left_edge.i, owner.i + 1)]
                yield Edit("genitive", "phrase", owner.left_edge.i, thing.i + 1, pieces)
        if thing.lemma_ in RELATIONS:
            yield from _owner_first(thing)


def _plainly_owned(owner: Any, thing: Any) -> bool:
    """ "the man's hat": a definite person or animal; "a child's party" and "a men's room" are names of things."""
    words = [lower(c) for c in owner.lefts]
    return (
        is_animate(owner)
        and bool(words)
        and words[0] == "the"
        and owner.tag_ == "NN"
        and thing.lemma_.lower() not in NAMED_BY_OWNER
        and owner.right_edge.dep_ == "case"
        and not any(c.dep_ in ("compound", "nmod") for c in thing.lefts)
        and thing.left_edge == owner.left_edge
        and not children(thing, "acl", "relcl", "prep")
    )


def _owner_first(thing: Any) -> Iterator[Edit]:
    of = [c for c in thing.rights if c.dep_ == "prep"]
    if len(of) != 1 or lower(of[0]) != "of" or of[0].i != thing.i + 1 or thing.tag_ != "NN":
        return
    owners, words = children(of[0], "pobj"), [lower(c) for c in thing.lefts]
    if len(owners) != 1 or words != ["the"] or owners[0].right_edge != owners[0] or owners[0].tag_ != "NN":
        return
    if is_person(owners[0]) and kind_of(owners[0]) == "definite" and owners[0].pos_ == "NOUN":
        pieces = [*span(owners[0]), "'s", thing.i]
        yield Edit("genitive", "phrase", thing.i - 1, owners[0].i + 1, pieces)
