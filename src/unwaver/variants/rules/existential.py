"""There is …: "A man is sleeping on a bench" <-> "There is a man sleeping on a bench"; and captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.variants.rules.classes import ANIMALS, LOCATION_ADVERBS, LOCATIVE, PEOPLE, PLACES, VERBS_AS_NOUNS
from unwaver.variants.rules.grammar import (
    Clause,
    agrees,
    be_for,
    children,
    clause_of,
    has_clause,
    is_animate,
    is_clothing,
    is_slip,
    kind_of,
    lower,
    relative_be,
    relative_for,
    root_of,
    span,
)
from unwaver.variants.rules.sentence import Edit, Sentence

# the same is said by a clause in one of these frames
FRAMES = (
    ("it", "is", "true", "that"),
    ("it", "is", "the", "case", "that"),
    ("it", "is", "a", "fact", "that"),
)


def there(sentence: Sentence) -> Iterator[Edit]:
    """ "A man is sleeping." -> "There is a man sleeping."; "A man is ill." -> "There is a man who is ill."."""
    clause = clause_of(sentence)
    if clause is None or has_clause(clause.head) or not agrees(clause.head, clause.finite):
        return
    kind = kind_of(clause.head)
    if kind not in ("indefinite", "bare plural"):
        return
    be = be_for(clause.head, past=clause.past)
    subject, predicate = list(clause.subject), list(clause.predicate)
    if not clause.negated and (_progressive_or_passive(clause) or _is_somewhere(clause)):
        yield Edit("there", "clause", 0, clause.end, ["there", be, *subject, *predicate[1:]])
    # "Dogs bark" may be about dogs in general, "There are dogs that bark" is not
    if kind == "indefinite" or clause.progressive:
        who = relative_for(clause.head, clause.finite)
        yield Edit("there_relative", "clause", 0, clause.end, ["there", be, *subject, who, *predicate])


def _progressive_or_passive(clause: Clause) -> bool:
    being = clause.verb.tag_ == "VBN" and lower(clause.doc[clause.split + 1]) == "being"
    return clause.progressive or (being and clause.verb.i == clause.split + 2)


def _is_somewhere(clause: Clause) -> bool:
    """ "is on the beach", "is outside", where nothing but places follows."""
    return clause.copula and clause.split + 1 < clause.end and _locates(clause.doc[clause.split + 1])


def _locates(token: Any) -> bool:
    return bool(token.pos_ == "ADP" and lower(token) in LOCATIVE) or lower(token) in LOCATION_ADVERBS - {
        "together"
    }


def plain(sentence: Sentence) -> Iterator[Edit]:
    """ "There is a man sleeping." -> "A man is sleeping."; "There are dogs outside." -> "Dogs are outside."."""
    doc, end = sentence.doc, sentence.end
    be = root_of(doc)
    if lower(doc[0]) != "there" or be.i != 1 or lower(be) not in ("is", "are", "was", "were"):
        return
    heads = [_noun_before(c) for c in be.rights if c.dep_ in ("attr", "nsubj")]
    if len(heads) != 1 or kind_of(heads[0]) not in ("indefinite", "bare plural") or not agrees(heads[0], be):
        return
    if any(t.is_punct and t.tag_ != "HYPH" for t in doc[:end]):
        return
    head = heads[0]
    at = next((t.i for t in doc[head.i + 1 : end] if _starts_predicate(t, head, be)), None)
    if at is None or any(t.dep_ in ("acl", "relcl") for t in doc[head.i + 1 : at]):
        return
    subject = list(range(2, at))
    if doc[at].dep_ in ("prep", "advmod") and lower(doc[at]) != "present" and _one_place(doc[at], end):
        yield Edit("adverbial", "clause", 0, end, [*range(at, end), ",", 0, 1, *subject])
        yield Edit("inversion", "clause", 0, end, [*range(at, end), 1, *subject])
    if doc[at].dep_ == "nsubj":  # who, that: the relative clause is the predicate
        yield Edit("plain", "clause", 0, end, [*subject, *range(at + 1, end)])
    else:
        yield Edit("plain", "clause", 0, end, [*subject, 1, *range(at, end)])


def _noun_before(token: Any) -> Any:
    """ "There are children playing", where the parser makes children a part of the name playing."""
    before = token.nbor(-1)
    return before if token.tag_ == "VBG" and before.tag_ == "NNS" and before.i == token.left_edge.i else token


def _one_place(token: Any, end: int) -> bool:
    """The place is all that follows, and no verb is in it."""
    if any(t.pos_ == "VERB" or is_clothing(t) for t in token.subtree):
        return False
    return bool(token.right_edge.i + 1 == end)


def _starts_predicate(token: Any, head: Any, be: Any) -> bool:
    if token.dep_ == "nsubj" and token.tag_ in ("WP", "WDT") and token.head.dep_ == "relcl":
        return bool(token.head.head == head and token.head.tag_ in ("VBG", "VBZ", "VBP", "VBD"))
    if token == head.head and token.tag_ == "VBG" and token.i == head.i + 1:
        return True
    if token.head not in (head, be) and token.head not in head.conjuncts:
        return False
    if token.tag_ == "VBG":
        return token.dep_ in ("acl", "xcomp", "advcl") and token.left_edge == token
    return lower(token) == "present" or (token.dep_ in ("prep", "advmod") and _locates(token))


# --- captions -----------------------------------------------------------------------------------------------


def caption(sentence: Sentence) -> Iterator[Edit]:
    """ "A person drying clothes" -> "A person is drying clothes", "There is a person drying clothes"."""
    doc, end = sentence.doc, sentence.end
    if not _is_caption(sentence):
        return
    found = _participle_by_tags(sentence) or _participle_by_parse(sentence)
    if found is not None:
        head, at = found
        if head.tag_ in ("NN", "NNS") and not _joined_to_noun(doc[at]) and lower(doc[at]) != "having":
            yield from _finite_forms(head, range(at), range(at, end))
        return
    head = root_of(doc)
    if _is_described(head) and kind_of(head) in ("indefinite", "bare plural") and lower(doc[0]) != "the":
        yield Edit("there", "clause", 0, end, ["there", be_for(head, past=False), *range(end)])


def _is_caption(sentence: Sentence) -> bool:
    """No finite verb but in relative clauses, no stops, and no noun that may be a verb: "a man in green walks"."""
    doc, end = sentence.doc, sentence.end
    if any(t.is_punct and t.tag_ != "HYPH" for t in doc[:end]) or any(is_slip(t) for t in doc):
        return False
    if any(t.tag_ in ("VBZ", "VBP", "VBD", "MD") and t.dep_ != "relcl" and t.head.dep_ != "relcl" for t in doc):
        return False
    plurals = [t for t in doc if t.tag_ == "NNS"]
    return not any(
        t.lemma_.lower() in VERBS_AS_NOUNS or any(c.tag_ == "NNS" for c in children(t, "compound"))
        for t in plurals
    )


def _joined_to_noun(participle: Any) -> bool:
    """ "A man sitting and a woman laughing": two subjects."""
    return any(c.tag_ != "VBG" for c in children(participle, "conj"))


def _is_described(head: Any) -> bool:
    """ "a man with a hat", "a man outside": the first word is the text's."""
    return head.left_edge.i == 0 and any(
        c.dep_ == "prep" or (c.dep_ == "advmod" and lower(c) in LOCATION_ADVERBS) for c in head.rights
    )


def _participle_by_tags(sentence: Sentence) -> tuple[Any, int] | None:
    """ "Two young men riding …" -> men, 3: parsers go astray on captions, their tags seldom do."""
    doc, end = sentence.doc, sentence.end
    at = 0
    while at < end and doc[at].tag_ in ("DT", "CD", "JJ", "NN", "NNS") and not _is_participle(doc[at], end):
        at += 1
    if at < 2 or at == end or not _is_participle(doc[at], end):
        return None
    head = doc[at - 1]
    return (head, at) if head.lemma_.lower() in PEOPLE | ANIMALS and lower(doc[0]) in _FIRST else None


_FIRST = {"a", "an", "the", "some", "two", "three", "four", "five", "six", "several"}


def _is_participle(token: Any, end: int) -> bool:
    alone = token.tag_ == "NN" and lower(token).endswith("ing") and token.i == end - 1 and token.i > 1
    return token.tag_ == "VBG" or (alone and token.nbor(-1).lemma_.lower() in PEOPLE | ANIMALS)


def _participle_by_parse(sentence: Sentence) -> tuple[Any, int] | None:
    """ "A man in red riding a bike" -> man, 4; "A child at the beach" -> child, 2."""
    doc, end, root = sentence.doc, sentence.end, root_of(sentence.doc)
    if root.tag_ == "VBG":
        subjects = [c for c in root.lefts if c.dep_ == "nsubj"]
        return (subjects[0], root.i) if len(subjects) == 1 and span(subjects[0]) == range(root.i) else None
    if root.pos_ != "NOUN" or root.left_edge.i != 0 or root.conjuncts:
        return None
    participles = [c for c in root.rights if c.dep_ in ("acl", "advcl") and c.tag_ == "VBG" and c.i < end]
    if participles:
        # "a man with his children running": who runs?
        sure = len(participles) == 1 and not any(lower(t) == "with" for t in doc[: participles[0].i])
        return (root, participles[0].i) if sure and _starts_itself(participles[0]) else None
    behind = doc[root.i + 1] if root.i + 1 < end else root
    if behind.dep_ == "prep" and behind.right_edge.i + 1 == end and is_animate(root) and in_place(behind):
        return root, behind.i
    return None


def _starts_itself(token: Any) -> bool:
    return bool(token.left_edge == token)


def in_place(preposition: Any) -> bool:
    """ "in the park"; not "in a hat", "on a trip"."""
    nouns = children(preposition, "pobj")
    return lower(preposition) in LOCATIVE and len(nouns) == 1 and nouns[0].lemma_.lower() in PLACES


def _finite_forms(head: Any, subject: range, predicate: range) -> Iterator[Edit]:
    kind = kind_of(head)
    if lower(head.doc[0]) in ("a", "an", "two", "three", "four", "five", "six", "some", "several"):
        kind = "indefinite"
    if kind not in ("indefinite", "bare plural", "definite"):
        return
    who, end, be = relative_for(head), predicate.stop, be_for(head, past=False)
    is_ = relative_be(head, past=False)
    yield Edit("finite", "clause", 0, end, [*subject, be, *predicate])
    if kind != "definite":
        yield Edit("there", "clause", 0, end, ["there", be, *subject, *predicate])
        yield Edit("there_relative", "clause", 0, end, ["there", be, *subject, who, is_, *predicate])
    yield Edit("relative", "clause", 0, end, [*subject, who, is_, *predicate])
    yield Edit("finite_currently", "clause", 0, end, [*subject, be, "currently", *predicate])
    if len(subject) <= 6:
        yield Edit("finite_cleft", "clause", 0, end, ["it", "is", *subject, who, is_, *predicate])
    for frame in FRAMES:
        yield Edit("finite_frame", "clause", 0, end, [*frame, *subject, be, *predicate])
