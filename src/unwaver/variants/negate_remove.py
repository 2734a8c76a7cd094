"""A statement whose negation is taken out: "is not" -> "is", "does not sleep" -> "sleeps", "no dog" -> "a dog"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unwaver.text.english import Edit, article, edited, in_capitals, words
from unwaver.text.refused import Refused
from unwaver.variants.negate_verbs import (
    cased_like,
    end_of,
    inflected,
    is_plural,
    main_root,
    replaced,
    with_space_before,
)
from unwaver.variants.source import Rewrite

NOT = frozenset({"not", "n't", "n’t", "nt"})
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}
_SOME = {"nobody": "somebody", "nothing": "something", "none": "some", "nowhere": "somewhere"}
_POSITIVE = {
    "any": "some",
    "anything": "something",
    "anyone": "someone",
    "anybody": "somebody",
    "anywhere": "somewhere",
    "either": "too",
}
_DROPPED = frozenset({"yet", "anymore", "ever"})
# nouns that take no "a": "with no hair" -> "with hair"
_MASS = words(
    "exercise hair water food snow grass furniture money traffic music sand rain ice clothing smoke light"
    " equipment makeup luggage facial jewelry mud dirt gear shade fun wind work help information evidence tax"
    " meat fruit bread wine beer milk coffee tea air sun fire footwear headgear underwear sunlight"
    " electricity power room space time reason doubt progress trouble weather noise violence"
    " damage interest sense proof way"
)


def removed(doc: Any) -> list[Rewrite] | Refused:
    """The sentence without its negation, [] if its main clause has none."""
    root = main_root(doc)
    if root is None:
        return Refused("the text is not one sentence")
    negations = [t for t in doc if _negates(t, root)]
    if not negations:
        return []
    others = [t for t in doc if t.lower_ in NOT or t.lower_ in ("never", "only", "merely")]
    if len(negations) > 1 or len([t for t in others if t not in negations]) > 0:
        return Refused("the sentence has several negations, or not only one")
    edits = _without(negations[0], root)
    if edits is None:
        return Refused(f'the negation "{negations[0].text}" is of a form that cannot be taken out safely')
    return [Rewrite(edited(doc.text, in_capitals(doc.text, edits)), "rm_negation")]


def removed_from_phrases(doc: Any) -> list[Rewrite]:
    """Negations below the main clause: "A man with no hat sleeps" -> "A man with a hat sleeps"."""
    made = []
    for token in doc:
        before = doc[token.i - 1].lower_ if token.i else ""
        if token.lower_ == "no" and token.dep_ == "det" and token.head.dep_ == "pobj" and before in ("with", "in"):
            made.append(Rewrite(edited(doc.text, list(some_noun(token))), "rm_negation"))
    return made


def _negates(token: Any, root: Any) -> bool:
    """Whether a word negates the main clause: its verb, a helper, its subject or its object."""
    word, head = token.lower_, token.head
    if token.i == 0 and word == "not":  # Not all men …
        return True
    if word in NOT or word == "never":
        return head == root or (head.head == root and head.dep_ in ("aux", "auxpass"))
    if word == "no" and token.dep_ in ("det", "neg"):
        longer = head.lower_ == "longer" and head.head == root
        return longer or (head.head == root and head.dep_ in ("nsubj", "nsubjpass", "dobj", "attr"))
    return word in _SOME and head == root and token.dep_ in ("nsubj", "nsubjpass", "dobj", "attr")


def _without(token: Any, root: Any) -> list[Edit] | None:
    """The edits that take a negation out; None if they are not known."""
    word = token.lower_
    if word in NOT and token.i == 0:
        return [_dropped(token)]
    if word in NOT:
        edits = _without_not(token, root)
        return None if edits is None else [*edits, *_positive_words(token)]
    if word == "never":
        return [_dropped(token), *_positive_words(token)]
    if word == "no" and token.head.lower_ == "longer":
        return [(token.idx, end_of(token.head), "still")]
    if word in _SOME:
        return [replaced(token, cased_like(token.text, _SOME[word]))]
    if token.head.lower_ == "one":
        return [(token.idx, end_of(token.head), cased_like(token.text, "someone"))]
    return list(some_noun(token))


def _without_not(token: Any, root: Any) -> list[Edit] | None:
    if token.i == 0:
        return None
    helper = token.doc[token.i - 1]
    if helper.lower_ in ("do", "does", "did") and helper != root and helper.head == root:
        return _without_do(helper, token, root)
    if helper.lower_ == "ai":  # ain't
        return None
    if helper.lower_ in _WHOLE and token.lower_ != "not":
        return [(helper.idx, end_of(token), cased_like(helper.text, _WHOLE[helper.lower_]))]
    return [_dropped(token)]


def _without_do(helper: Any, token: Any, root: Any) -> list[Edit]:
    """does not sleep -> sleeps, did not sleep -> slept; Do not sleep. -> Sleep."""
    imperative = not any(t.dep_ in ("nsubj", "nsubjpass", "expl") for t in root.lefts)
    tag = {"does": "VBZ", "did": "VBD"}.get(helper.lower_, "VB")
    verb = root.text if tag == "VB" else inflected(root.lemma_, tag)
    start = token.doc[token.i + 1].idx
    between = [(helper.idx, start, "")]
    return [*between, replaced(root, cased_like(helper.text, verb) if imperative else verb)]


def _dropped(token: Any) -> Edit:
    """The edit that deletes a word with the white space before it, or after it at the start of a text."""
    if token.i > 0:
        return with_space_before(token), end_of(token), ""
    after = token.doc[1]
    return token.idx, after.idx + 1, after.text[0].upper()


def some_noun(no: Any) -> Iterator[Edit]:
    """no dogs -> dogs, no dog -> a dog, no water -> water; "No dogs sleep" -> "Some dogs sleep"."""
    noun, after = no.head, no.doc[no.i + 1]
    if is_plural(noun) or noun.lemma_.lower() in _MASS:
        is_subject = noun.dep_ in ("nsubj", "nsubjpass")
        yield replaced(no, cased_like(no.text, "some")) if is_subject else (no.idx, after.idx, "")
    else:
        yield replaced(no, cased_like(no.text, article(after.text)))


def _positive_words(token: Any) -> Iterator[Edit]:
    """any -> some and the like, where no negation is left to carry them."""
    doc = token.doc
    for word in doc[token.i + 1 :]:
        if word.lower_ in _POSITIVE and word.dep_ not in ("cc", "preconj"):
            singular = word.lower_ == "any" and word.head.tag_ == "NN" and word.head.lemma_ not in _MASS
            new = article(doc[word.i + 1].text) if singular and word.head != word else _POSITIVE[word.lower_]
            yield replaced(word, cased_like(word.text, new))
        elif word.lower_ in _DROPPED and word.dep_ == "advmod":
            yield with_space_before(word), end_of(word), ""
