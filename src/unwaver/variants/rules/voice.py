"""Active and passive: "A man paints a house." <-> "A house is painted by a man."."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.adverbials import belongs_to_verb
from unwaver.variants.rules.classes import INTERSECTIVE, INTRANSITIVE, NO_OBJECT, NO_PASSIVE, PARTICLE_VERBS
from unwaver.variants.rules.grammar import (
    BE,
    TO_OBJECT,
    TO_SUBJECT,
    Clause,
    agrees,
    be_for,
    children,
    clause_of,
    descends,
    has_clause,
    has_possessive_pronoun,
    is_animate,
    kind_of,
    lower,
    plural,
    refers_back,
    span,
    verb_form,
)
from unwaver.variants.rules.sentence import Edit, Piece, Sentence

_TAIL = {"prep", "advmod", "npadvmod"}


def object_of(clause: Clause) -> Any:
    """The direct object if it can be moved as it stands; None if that would not be safe."""
    objects = children(clause.verb, "dobj")
    if clause.verb.lemma_.lower() in INTRANSITIVE:
        return None
    if clause.negated or clause.commas or len(objects) != 1 or children(clause.verb, "dative", "oprd", "expl"):
        return None
    found, particles = objects[0], children(clause.verb, "prt")
    if found.left_edge.i != clause.verb.i + 1 + len(particles) or found.right_edge.i >= clause.end:
        return None
    if refers_back(found.subtree) or lower(found) in INTERSECTIVE:  # "paints a house blue"
        return None
    if any((clause.verb.lemma_.lower(), lower(p)) not in PARTICLE_VERBS for p in particles):
        return None
    if any(p.i > found.i for p in particles) or found.lemma_.lower() in NO_OBJECT:
        return None
    if kind_of(found) in ("quantified", "pronoun") or found.tag_ not in ("NN", "NNS", "NNP"):
        return None
    if has_possessive_pronoun(list(found.subtree)) or not _compact(found):
        return None
    tail = [c for c in clause.rest() if c not in (found, *particles)]
    if any(c.dep_ not in _TAIL or c.i < found.i or has_possessive_pronoun(list(c.subtree)) for c in tail):
        return None
    if not all(belongs_to_verb(c, clause) for c in tail):
        return None
    return found


def _compact(head: Any) -> bool:
    """Behind the noun only what surely belongs to it: "of …", "and …"; not "in the park"."""
    for t in head.rights:
        if t.dep_ == "prep" and lower(t) != "of":
            return False
        if t.dep_ not in ("prep", "cc", "conj") or has_clause(head):
            return False
    return not any(lower(t) != "of" for t in descends(head, "prep"))


def passive(sentence: Sentence) -> Iterator[Edit]:
    clause = clause_of(sentence)
    if (
        clause is None
        or clause.verb.lemma_.lower() in NO_PASSIVE
        or kind_of(clause.head) in ("quantified", "bare")
    ):
        return
    found = object_of(clause)
    if found is None or (kind_of(found) == "bare" and found.tag_ == "NNP") or has_clause(clause.head):
        return
    if not agrees(clause.head, clause.finite):
        return
    participle = verb_form(clause.verb, "VBN")
    auxiliaries = _passive_auxiliaries(clause, found)
    if participle is None or auxiliaries is None:
        return
    particles: list[Piece] = [p.i for p in children(clause.verb, "prt")]
    tail = range(found.right_edge.i + 1, clause.end)
    start: list[Piece] = [*span(found), *auxiliaries, participle, *particles]
    agent: list[Piece] = ["by", *_as_object(clause)]
    yield Edit("passive", "clause", 0, clause.end, [*start, *tail, *agent])


def _as_object(clause: Clause) -> list[Piece]:
    if clause.split == 1 and lower(clause.head) in TO_OBJECT:
        return [TO_OBJECT[lower(clause.head)]]
    return list(clause.subject)


def _passive_auxiliaries(clause: Clause, found: Any) -> list[Piece] | None:
    """paints -> is; is painting -> is being; has painted -> has been; can paint -> can be."""
    finite, verb = clause.finite, clause.verb
    be = be_for(found, past=clause.past)
    if finite == verb:
        return [be]
    if verb.i != clause.split + 1:
        return None
    if clause.progressive:
        return [be, "being"]
    if finite.tag_ == "MD" and verb.tag_ == "VB":
        return [finite.i, "be"]
    if lower(finite) in ("has", "have", "had") and verb.tag_ == "VBN":
        return ["had" if clause.past else "have" if plural(found) else "has", "been"]
    return None


def active(sentence: Sentence) -> Iterator[Edit]:
    """ "The ball is being thrown by a boy." -> "A boy is throwing the ball."; without a "by": "Someone is …"."""
    clause = clause_of(sentence)
    if (
        clause is None
        or clause.negated
        or clause.commas
        or clause.head.dep_ != "nsubjpass"
        or clause.verb.tag_ != "VBN"
    ):
        return
    if kind_of(clause.head) in ("quantified", "bare") or has_clause(clause.head):
        return
    if any(c.dep_ not in (*_TAIL, "agent") for c in clause.rest()):
        return
    agents = children(clause.verb, "agent")
    if any(refers_back(by.subtree) for by in agents):
        return
    actors = [n for by in agents for n in children(by, "pobj")]
    if len(agents) > 1 or (agents and (len(actors) != 1 or not is_animate(actors[0]))):
        return
    if clause.verb.lemma_.lower() in ("hold", "do", "bear", "make"):
        return
    if not agents and [lower(clause.doc[i]) for i in range(clause.split + 1, clause.verb.i)] != ["being"]:
        return
    if agents and (has_possessive_pronoun(list(agents[0].subtree)) or has_clause(actors[0])):
        return
    verb = _active_verb(clause, plural(actors[0]) if agents else False)
    if verb is None:
        return
    by = span(agents[0]) if agents else range(0)
    actor: list[Piece] = ["someone"] if not agents else _subject_form(actors[0], list(by)[1:])
    tail = [i for i in range(clause.verb.i + 1, clause.end) if i not in by]
    pieces = [*actor, *verb, *_as_object(clause), *tail]
    yield Edit("active", "clause", 0, clause.end, pieces)


def _subject_form(head: Any, tokens: list[int]) -> list[Piece]:
    return [TO_SUBJECT[lower(head)]] if len(tokens) == 1 and lower(head) in TO_SUBJECT else list(tokens)


def _active_verb(clause: Clause, many: bool) -> list[Piece] | None:
    """is painted -> paints; is being painted -> is painting; has been painted -> has painted."""
    middle = [lower(clause.doc[i]) for i in range(clause.split, clause.verb.i)]
    past = clause.past
    if len(middle) == 1 and middle[0] in BE:
        form = verb_form(clause.verb, "VBD" if past else "VBP" if many else "VBZ")
        return [form] if form else None
    if len(middle) == 2 and middle[0] in BE and middle[1] == "being":
        form = verb_form(clause.verb, "VBG")
        return [("were" if many else "was") if past else ("are" if many else "is"), form] if form else None
    if len(middle) == 2 and middle[1] == "be":
        form = verb_form(clause.verb, "VB")
        return [clause.split, form] if form else None
    if len(middle) == 2 and middle[1] == "been":
        return ["had" if past else "have" if many else "has", clause.verb.i]
    return None
