"""A statement with one predicate, negated: "is" -> "is not", "sleeps" -> "does not sleep", "a dog" -> "no dog"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.text.english import Edit, edited, in_capitals, words
from unwaver.text.refused import Refused
from unwaver.variants.negate_verbs import (
    Predicate,
    base_form,
    cased_like,
    end_of,
    is_plural,
    predicate,
    replaced,
    subject_of,
    with_space_before,
)
from unwaver.variants.source import Rewrite

_ANY = {
    "some": "any",
    "something": "anything",
    "someone": "anyone",
    "somebody": "anybody",
    "somewhere": "anywhere",
    "sometimes": "ever",
}
_KEPT = _ANY.keys() - {"sometimes"}  # these may stay in a second wording
_NONE = {"someone": "no one", "somebody": "nobody", "something": "nothing"}
_NOT_ALL = frozenset({"everyone", "everybody", "everything", "all", "every", "many", "much"})
# "Only one man is not …" and "Few men are not …" are not opposites of the sentence without "not"
_LIMITS = frozenset({"only", "just", "few", "fewer", "least", "less", "hardly", "barely", "almost", "nearly"})
_HALF_NEGATIVE = frozenset({"hardly", "barely", "rarely", "seldom", "scarcely", "nor", "neither"})
_GROUPS = words(
    "group couple team number crowd family pair bunch lot band class trio majority variety staff police crew"
    " audience duo gang set line row public lots dozens hundreds rest half most all some many"
)
_REASONS = frozenset({"because", "so", "since", "therefore", "thus", "although", "though"})
_MAYBE = frozenset({"maybe", "perhaps", "possibly", "probably", "likely"})
# after "there is": an amount is denied with "not", anything else with "no"
_AMOUNTS = words(
    "many much several multiple various numerous more less fewer enough plenty lots only just exactly about"
    " around over at all both every each most too so such almost nearly approximately"
)
_A_LOT = frozenset({"lot", "bunch", "couple", "few", "number", "handful", "variety", "dozen", "hundred", "little"})
# adverbs of time stay before the helper, others follow it: "recently did not hire", "did not slowly climb"
_STAY = words(
    "also recently currently now later then soon today yesterday tonight finally initially originally"
    " eventually previously apparently reportedly clearly obviously certainly probably perhaps maybe instead"
    " meanwhile"
)
_SINGULAR = {"are": "is", "were": "was"}
_OPPOSITE = {"still": "no longer", "sometimes": "never"}
_FULL = {"ve": "have", "ll": "will", "d": "would"}


def inserted(doc: Any) -> list[Rewrite] | Refused:
    """The sentence with a negation, the best wording first."""
    found = predicate(doc)
    if isinstance(found, Refused):
        return found
    if reason := _unclear(doc, found):
        return Refused(reason)
    texts = [edited(doc.text, in_capitals(doc.text, edits)) for edits in _wordings(doc, found)]
    return [Rewrite(text, "negation") for text in dict.fromkeys(texts)]


def _unclear(doc: Any, found: Predicate) -> str | None:
    """Why a negation of this predicate would not give the opposite."""
    if doc.text[: found.finite.idx].endswith("-"):
        return "the verb is part of a word with a hyphen"
    if any(t.lower_ in _HALF_NEGATIVE for t in doc):
        return "the sentence is half negative: hardly, rarely, neither"
    if any(t.lower_ in _REASONS and t.dep_ in ("mark", "cc", "advmod") for t in doc):
        return "the sentence gives a reason: because, so, since"
    if any(t.lower_ in _MAYBE for t in doc):
        return "the sentence leaves open whether it is so: maybe, probably"
    subject = subject_of(found)
    if subject is not None and _is_limited(subject):
        return "the subject is limited: only, few, at least"
    if _is_existential(found):
        return None
    if subject is not None and not _agrees(subject, found):
        return "subject and verb do not agree"
    joins = any(t.dep_ == "cc" for t in found.verb.children)
    if joins and not found.takes_not and not _joined_verbs(found.verb):
        return "what the verb is joined to is not clear"
    for verb in _joined_verbs(found.verb):
        if subject_of(Predicate(verb, verb)) is not None:
            return "the sentence has several main clauses"
        if found.takes_not and _is_finite(verb) and any(t.dep_ == "cc" for t in found.verb.children):
            return "the sentence has several finite verbs"
    return None


def _is_limited(subject: Any) -> bool:
    """Only one man, at least two men, few men; but not: a few men."""
    words = [t for t in subject.subtree if t.i <= subject.i]
    return any(
        t.lower_ in _LIMITS and not (t.lower_ == "few" and t.i > 0 and t.doc[t.i - 1].lower_ == "a") for t in words
    )


def _agrees(subject: Any, found: Predicate) -> bool:
    """Whether a verb in the present is of its subject's number; a group of people may be of either."""
    finite = found.finite
    wrong_tags = {"NN": ("VBP", "VB"), "NNS": ("VBZ",)}.get(subject.tag_, ())
    wrong_words = {"NN": ("have", "do"), "NNS": ("has", "does")}.get(subject.tag_, ())
    if finite.lower_ not in wrong_words and (found.takes_not or finite.tag_ not in wrong_tags):
        return True
    several = any(t.dep_ in ("conj", "appos") for t in subject.children)
    return several or subject.lower_ in _GROUPS or any(t.tag_ == "CD" for t in subject.lefts)


def _joined_verbs(verb: Any) -> list[Any]:
    """The verbs that "and", "or" or "but" join to this one."""
    joined = [t for t in verb.children if t.dep_ == "conj" and t.pos_ in ("VERB", "AUX")]
    return [*joined, *(other for t in joined for other in _joined_verbs(t))]


def _is_finite(verb: Any) -> bool:
    return verb.tag_ in ("VBZ", "VBP", "VBD") or any(t.tag_ in ("VBZ", "VBP", "VBD", "MD") for t in verb.lefts)


# --- the wordings -------------------------------------------------------------------------------------------


def _wordings(doc: Any, found: Predicate) -> Iterator[list[Edit]]:
    """Lists of edits, each of which gives an opposite of the sentence."""
    if found.bare:
        yield [_before(_adverb_before(found.verb) or found.verb, "not ")]
        return
    if found.imperative:
        yield _prohibition(found)
        return
    frequency = next((t for t in found.verb.children if t.lower_ in _OPPOSITE and 0 < t.i < _limit(found)), None)
    if frequency is not None:
        yield [replaced(frequency, _OPPOSITE[frequency.lower_])]
        return
    existential = _existential(doc, found)
    if existential is not None:
        yield from existential
        return
    quantified = _quantified_subject(found)
    if quantified is not None:
        yield quantified
        if subject_starts(found).lower_ in ("many", "much"):
            return
    polarity = _polarity(doc, found)
    kept = [edit for edit in polarity if doc.text[edit[0] : edit[1]].lower() not in _KEPT]
    for plain in _plain(found):
        with_any = [[*plain, *polarity], [*plain, *kept]]
        # "does not wait by some gate" is as good as "by any gate", "does not have some gate" is not
        yield from reversed(with_any) if _only_in_phrases(doc, polarity) else with_any


def _limit(found: Predicate) -> int:
    """Where the words that go with the verb end: "He is still [asleep]", "He still sleeps"."""
    return int(found.finite.i) + 2 if found.verb == found.finite else int(found.verb.i)


def _only_in_phrases(doc: Any, polarity: list[Edit]) -> bool:
    """Whether each "some" to be changed follows a preposition."""
    changed = [t for t in doc if any(t.idx == start and t.lower_ in _ANY for start, _, _ in polarity)]
    return all("prep" in (t.head.dep_, t.head.head.dep_) for t in changed)


def _plain(found: Predicate) -> Iterator[list[Edit]]:
    """ "is" -> "is not"; "sleeps" -> "does not sleep", and so for the verbs that are joined to it."""
    if found.takes_not:
        yield [_not_after(found)]
        if (singular := _SINGULAR.get(found.finite.lower_)) and _is_one_group(subject_of(found)):
            yield [replaced(found.finite, f"{singular} not")]
        return
    joined = [(v.idx, end_of(v), base_form(v)) for v in _joined_verbs(found.verb) if v.tag_ == found.finite.tag_]
    for helper in _helpers(found):
        first = _adverb_before(found.finite)
        rest = [replaced(found.finite, base_form(found.finite)), *joined]
        yield [_before(first or found.finite, f"{helper} not "), *rest]


def _is_one_group(subject: Any | None) -> bool:
    """Whether the verb may be singular or plural: "A group of men are", "A group of men is"."""
    return subject is not None and subject.tag_ == "NN" and subject.lower_ in ("group", "team", "band", "crowd")


def _helpers(found: Predicate) -> list[str]:
    """does, do or did; "They put" may be either of the last two."""
    finite, subject = found.finite, subject_of(found)
    plural = subject is not None and is_plural(subject)
    same = base_form(finite) == finite.lower_
    if finite.tag_ in ("VBZ", "NNS"):
        return ["does"]
    if finite.tag_ != "VBD":
        return ["do"]
    is_past = not (same and plural) or any(t.lower_ in ("just", "yesterday", "ago", "last") for t in finite.doc)
    return ["did"] if is_past else ["do", "did"]


def _adverb_before(finite: Any) -> Any | None:
    """The first of the adverbs right before a verb that go with it: "A man [slowly] walks"."""
    first = None
    place = finite.i - 1
    while place > 0 and finite.doc[place].dep_ == "advmod" and finite.doc[place].head == finite:
        if finite.doc[place].lower_ in _STAY:
            break
        first = finite.doc[place]
        place -= 1
    return first


def _not_after(found: Predicate) -> Edit:
    finite = found.finite
    if finite.text[0] in "'’" and (full := _FULL.get(finite.lower_[1:])):
        had = full == "would" and (finite.tag_ != "MD" or found.verb.tag_ == "VBN")
        return replaced(finite, f" {'had' if had else full} not")
    after = finite.doc[finite.i + 1] if finite.i + 1 < len(finite.doc) else None
    if after is not None and after.lower_ in ("rather", "better"):
        return end_of(after), end_of(after), " not"
    return end_of(finite), end_of(finite), "not" if finite.lower_ == "can" else " not"


def _prohibition(found: Predicate) -> list[Edit]:
    """ "Open it." -> "Do not open it."."""
    verb = found.verb
    if verb.lower_ == "let" and (us := [t for t in verb.doc if t.lower_ in ("'s", "’s") and t.i == verb.i + 1]):
        return [(end_of(us[0]), end_of(us[0]), " not")]
    return [replaced(verb, cased_like(verb.text, "do") + " not " + verb.lower_)]


def _before(token: Any, text: str) -> Edit:
    return token.idx, token.idx, text


# --- there is -----------------------------------------------------------------------------------------------


def _is_existential(found: Predicate) -> bool:
    there = [t for t in found.verb.lefts if t.dep_ == "expl" and t.lower_ == "there"]
    return bool(there) and found.verb.lemma_ == "be"


def _existential(doc: Any, found: Predicate) -> list[list[Edit]] | None:
    """ "There is a goat" -> "There is no goat", "There is not a goat"; None in another sentence."""
    if not _is_existential(found):
        return None
    place = found.verb.i + 1
    while place < len(doc) and doc[place].pos_ == "ADV" and doc[place].lower_ not in _AMOUNTS:
        place += 1
    if place >= len(doc):
        return None
    first = doc[place]
    some = [replaced(first, _ANY[first.lower_])] if first.lower_ in _ANY else []
    with_not = [_not_after(found), *some, *(e for e in _polarity(doc, found) if e not in some)]
    if first.tag_ == "CD" and first.lower_ not in ("one", "1"):
        return [with_not, [_before(first, "no ")]]
    with_no = _no_instead(doc, first)
    return [with_not] if with_no is None else [[with_no], with_not]


def _no_instead(doc: Any, first: Any) -> Edit | None:
    """The edit that makes a noun phrase negative from its first word on; None where "no" does not fit."""
    word, after = first.lower_, doc[first.i + 1] if first.i + 1 < len(doc) else None
    if word in _NONE:
        return replaced(first, _NONE[word])
    if word in ("a", "an", "some", "any"):
        plural = word in ("a", "an") and doc[first.i - 1].lower_ in ("are", "were", "'re")
        if after is None or after.lower_ in _A_LOT or plural or _is_joined(first):
            return None
        return replaced(first, "no")
    if word == "more" and any(t.lower_ == "than" for t in doc[first.i :]):
        return _before(first, "no ")
    is_amount = first.pos_ in ("NUM", "DET", "PRON", "ADP", "PROPN", "ADV") or word in _AMOUNTS
    return None if is_amount or _is_joined(first) else _before(first, "no ")


def _is_joined(first: Any) -> bool:
    """Whether "and" joins another noun phrase, which "no" would not deny: "a man and a dog", "a man and food"."""
    noun = first if first.pos_ in ("NOUN", "PROPN") else first.head
    others = [t for t in noun.children if t.dep_ == "conj"]
    return bool(others) and (first.pos_ == "DET" or any(t.pos_ in ("DET", "NUM") for t in others[0].lefts))


# --- the subject --------------------------------------------------------------------------------------------


def subject_starts(found: Predicate) -> Any:
    subject = subject_of(found)
    return found.finite if subject is None else subject.left_edge


def _quantified_subject(found: Predicate) -> list[Edit] | None:
    """ "Someone sleeps" -> "No one sleeps", "Some goats nap" -> "No goats nap", "All men …" -> "Not all men …"."""
    subject = subject_of(found)
    if subject is None:
        return None
    first = subject.left_edge
    if subject.lower_ in _NONE and first == subject:
        return [replaced(subject, cased_like(subject.text, _NONE[subject.lower_]))]
    if first.lower_ == "some" and first.i < found.finite.i:
        none_of = first.i + 1 < len(first.doc) and first.doc[first.i + 1].lower_ == "of"
        return [replaced(first, cased_like(first.text, "none" if none_of else "no"))]
    if first.lower_ in _NOT_ALL and first.i == 0:
        return [replaced(first, cased_like(first.text, "not") + " " + first.lower_)]
    return None


# --- words that a negation changes --------------------------------------------------------------------------


def _polarity(doc: Any, found: Predicate) -> list[Edit]:
    """What correct English changes in the scope of a negation: some -> any, too -> either, also and already go."""
    frequent = any(t.lower_ == "always" for t in found.verb.children)  # "not always something" is right
    edits = [
        (token.idx, doc[token.i + 1].idx, "")
        for token in found.verb.lefts
        if token.lower_ == "already" and 0 < token.i < found.finite.i
    ]
    for token in doc[found.finite.i + 1 :]:
        if token.lower_ in _ANY and _in_scope(token, found.verb) and not frequent:
            edits.append(replaced(token, cased_like(token.text, _ANY[token.lower_])))
        elif token.head == found.verb and token.lower_ in ("also", "already"):
            edits.append((with_space_before(token), end_of(token), ""))
        elif token.head == found.verb and token.lower_ == "too" and token.dep_ == "advmod":
            edits.append(replaced(token, "either"))
    return edits


def _in_scope(token: Any, verb: Any) -> bool:
    """Whether only objects and prepositions stand between a word and the verb, no other clause."""
    while token != verb:
        if (
            token.dep_ in ("relcl", "acl", "advcl", "ccomp", "parataxis", "attr", "nsubj", "nsubjpass")
            or token.head == token
        ):
            return False
        token = token.head
    return True
