"""Transitivity: labelled pairs are the edges of a graph, and two edges that meet imply a third.

With E entailment, N neutral, C contradiction; T one sense or meaning, F another:

    E(P,H), C(P,Z) -> C(Z,H)        shared_contradiction_candidate: not certain, as H is weaker than P
    N(P,H), C(P,Z) -> not E(H,Z)    shared_not_entailment
    E(P,H), E(H,Z) -> E(P,Z)        chained_entailment
    E(P,H), C(H,Z) -> C(P,Z)        chained_contradiction
    N(P,H), E(H,Z) -> not C(P,Z)    chained_not_contradiction
    N(P,H), C(H,Z) -> not E(P,Z)    chained_not_entailment
    T(A,B), T(B,C) -> T(A,C)        two labels: all that follows for similarity and for words in context;
    T(A,B), F(B,C) -> F(A,C)        of entailment and its absence only E, E -> E

People who checked what the first two rules make of SNLI kept 22 % and 56 % of it. The chained rules are never put
to pairs that share a premise. A conclusion that is an item of the source is left out: its label is known. What
follows from several pairs is there several times for NLI, each time with premises of its own; otherwise once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from unwaver.errors import UsageError, near
from unwaver.tasks import Task
from unwaver.text.refused import Refused
from unwaver.types import Group, Item
from unwaver.variants.source import Build, Source, group_of, label_refused

KIND = "transitive"
HOWS = ("auto", "shared", "chained")

E, N, C, NOT_E = "entailment", "neutral", "contradiction", "not_entailment"


class Edge(NamedTuple):
    """One labelled pair. `context` is what else it is about: the word of a word in context."""

    item: Item
    context: tuple[str, ...]
    first: str
    second: str
    label: str


class Conclusion(NamedTuple):
    """What follows from two pairs, which are named in the order in which they stand in the group."""

    a: Edge
    b: Edge
    first: str
    second: str
    accepted: tuple[str, ...]
    tag: str


Rule = Callable[[Sequence[Edge]], Iterator[Conclusion]]


def transitive(*, how: str = "auto") -> Build:
    """Kind `transitive`: two items and the conclusion that they imply.

    `how` is for NLI: "shared" (pairs with one premise), "chained" (the hypothesis of one is the premise of the
    other) or "auto", which is every rule that the labels of the task allow.
    """
    if how not in HOWS:
        raise UsageError(f"transitive: how={how} is not known", hint=near(how, HOWS))

    def build(source: Source) -> Iterator[Group | Refused]:
        source.task.check_relation(KIND)
        rules = _rules(source.task, how)
        edges, used = [], set()
        for item in source.items:
            if reason := _refused(source.task, item):
                yield Refused(reason, item.id)
            else:
                edges.append(_edge(source.task, item))
        for rule in rules:
            for conclusion in rule(edges):
                used |= {conclusion.a.item.id, conclusion.b.item.id}
                yield _group(source, conclusion)
        for edge in edges:
            if edge.item.id not in used:
                yield Refused("nothing follows from it and another item", edge.item.id)

    return build


def _refused(task: Task, item: Item) -> str | None:
    if len(item.accepted) != 1:
        return "no gold label" if not item.accepted else "the gold is not one label"
    return label_refused(task, KIND, item)


def _edge(task: Task, item: Item) -> Edge:
    *context, first, second = (item.fields[name] for name in task.fields)
    return Edge(item, tuple(context), first, second, item.accepted[0])


def _group(source: Source, found: Conclusion) -> Group:
    names = source.task.fields
    fields = dict(zip(names, (*found.a.context, found.first, found.second), strict=True))
    texts = [(edge.item.fields, edge.item.accepted) for edge in (found.a, found.b)]
    row = f"{found.a.item.id}+{found.b.item.id}"
    return group_of(source, KIND, row, [*texts, (fields, found.accepted)], tag=found.tag)


def _rules(task: Task, how: str) -> list[Rule]:
    if len(task.fields) < 2:
        raise UsageError(f"{KIND} does not hold for {task.name}: an item is one text", hint="take pairs of texts")
    labels = set(task.labels)
    if labels in ({E, N, C}, {E, NOT_E}):
        rules: dict[str, Rule] = {"chained": _chained}
        if labels == {E, N, C}:
            rules = {"shared": _shared, **rules}
        if how != "auto" and how not in rules:
            raise UsageError(f"transitive: how={how} needs the labels {E}, {N}, {C}", hint=f"{task.name}: chained")
        return [rule for name, rule in rules.items() if how in ("auto", name)]
    if task.type not in ("sense", "similarity"):
        raise UsageError(
            f"transitive: no rule is known for {task.name}, of type {task.type} with {', '.join(task.labels)}",
            hint=f"rules are known for the labels {E}, {N}, {C} and for the types similarity and sense",
        )
    if how != "auto":
        raise UsageError(f"transitive: how={how} is for NLI, {task.name} is of type {task.type}", hint="how=auto")
    yes, no = _yes_and_no(task)
    if task.type == "sense":
        return [lambda edges: _same_sense(edges, yes, no)]
    return [lambda edges: _same_meaning(edges, yes, no)]


def _yes_and_no(task: Task) -> tuple[str, str]:
    """not_equivalent, equivalent -> equivalent, not_equivalent."""
    for yes in task.labels:
        for no in task.labels:
            if no == f"not_{yes}" or (yes, no) == ("same", "different"):
                return yes, no
    raise UsageError(
        f"transitive: which label of {task.name} says that two are alike? found {', '.join(task.labels)}",
        hint="name the labels x and not_x, or same and different",
    )


# --- natural language inference -----------------------------------------------------------------------------

# labels of P,H and of H,Z -> accepted for P,Z
_CHAINED = {
    (E, E): ((E,), "chained_entailment"),
    (E, C): ((C,), "chained_contradiction"),
    (N, E): ((E, N), "chained_not_contradiction"),
    (N, C): ((N, C), "chained_not_entailment"),
}
# labels of P,A and of P,B -> accepted for A,B: in the order of the published set
_SHARED = {
    (C, E): ((C,), "shared_contradiction_candidate"),
    (N, C): ((N, C), "shared_not_entailment"),
}


def _shared(edges: Sequence[Edge]) -> Iterator[Conclusion]:
    known = _pairs(edges)
    for same_premise in _by_first(edges).values():
        for a, b in product(same_premise, repeat=2):
            if (a.label, b.label) in _SHARED and a.second != b.second:
                found = Conclusion(a, b, a.second, b.second, *_SHARED[a.label, b.label])
                if _pair(found) not in known:
                    yield found


def _chained(edges: Sequence[Edge]) -> Iterator[Conclusion]:
    known, by_premise = _pairs(edges), _by_first(edges)
    for a in edges:
        for b in by_premise.get((a.context, a.second), ()):
            if (a.label, b.label) in _CHAINED and a.first not in (b.first, b.second):
                found = Conclusion(a, b, a.first, b.second, *_CHAINED[a.label, b.label])
                if _pair(found) not in known:
                    yield found


def _pair(found: Conclusion) -> tuple[tuple[str, ...], str, str]:
    return found.a.context, found.first, found.second


def _pairs(edges: Sequence[Edge]) -> set[tuple[tuple[str, ...], str, str]]:
    return {(edge.context, edge.first, edge.second) for edge in edges}


def _by_first(edges: Sequence[Edge]) -> Mapping[tuple[tuple[str, ...], str], list[Edge]]:
    found: dict[tuple[tuple[str, ...], str], list[Edge]] = {}
    for edge in edges:
        found.setdefault((edge.context, edge.first), []).append(edge)
    return found


# --- equivalence: one sense, one meaning --------------------------------------------------------------------


def _same_sense(edges: Sequence[Edge], yes: str, no: str) -> Iterator[Conclusion]:
    """As BECEL made its set for words in context: the second sentence of a is one of b's, and only a conclusion
    that stands in the source *with its label* is left out. `swapped` are those that stand there the other way
    round: they test symmetry."""
    known = {(edge.context, edge.first, edge.second, edge.label) for edge in edges}
    seen = set()
    by_text = _by_text(edges)
    for a in edges:
        for b, other in by_text[a.context, a.second]:
            premises = ((a.first, a.second), (b.first, b.second))
            if a is b or a.label == b.label == no or (a.first, other) in premises:
                continue
            label = yes if a.label == b.label else no
            found = (a.context, a.first, other, label)
            if found not in known and found not in seen:
                seen.add(found)
                tag = "swapped" if (a.context, other, a.first, label) in known else "new"
                yield Conclusion(a, b, a.first, other, (label,), tag)


def _same_meaning(edges: Sequence[Edge], yes: str, no: str) -> Iterator[Conclusion]:
    """Neither side comes first: a and b share any of their texts. What follows from some pairs as one label and
    from others as another is left out."""
    known = {(edge.context, frozenset((edge.first, edge.second))) for edge in edges}
    found: dict[object, Conclusion] = {}
    disputed = set()
    for conclusion in _alike(edges, yes, no):
        key = (conclusion.a.context, frozenset((conclusion.first, conclusion.second)))
        if key not in known and found.setdefault(key, conclusion).accepted != conclusion.accepted:
            disputed.add(key)
    return (conclusion for key, conclusion in found.items() if key not in disputed)


def _alike(edges: Sequence[Edge], yes: str, no: str) -> Iterator[Conclusion]:
    by_text, place = _by_text(edges), {id(edge): n for n, edge in enumerate(edges)}
    for n, a in enumerate(edges):
        for mine, shared in ((a.first, a.second), (a.second, a.first)):
            for b, other in by_text[a.context, shared]:
                if n < place[id(b)] and not a.label == b.label == no and mine != other:
                    label = yes if a.label == b.label else no
                    tag = "same" if label == yes else "different"
                    yield Conclusion(a, b, mine, other, (label,), tag)


def _by_text(edges: Sequence[Edge]) -> Mapping[tuple[tuple[str, ...], str], list[tuple[Edge, str]]]:
    """Each text -> the pairs that it stands in, with the other text."""
    found: dict[tuple[tuple[str, ...], str], list[tuple[Edge, str]]] = {}
    for edge in edges:
        found.setdefault((edge.context, edge.first), []).append((edge, edge.second))
        found.setdefault((edge.context, edge.second), []).append((edge, edge.first))
    return found
