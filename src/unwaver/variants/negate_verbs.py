"""Finite verbs: which token carries the tense, and the forms that negation needs."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from unwaver.text.english import Edit, words
from unwaver.text.refused import Refused

BE = frozenset({"am", "is", "are", "was", "were", "'s", "'re", "'m", "’s", "’re", "’m"})
HAVE = frozenset({"has", "have", "had", "'ve", "’ve", "'s", "’s", "'d", "’d"})
DO = frozenset({"do", "does", "did"})
MODALS = frozenset(
    {"can", "could", "will", "would", "shall", "should", "must", "may", "might", "ca", "wo", "sha", "ought"}
)
FINITE_TAGS = frozenset({"VBZ", "VBP", "VBD", "MD"})
SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
# "A man dressed in black": a participle, though the parser may call it a past tense
_PARTICIPLES = words(
    "dressed covered seated gathered located surrounded situated lined filled based parked strewn perched clad"
)


class Predicate(NamedTuple):
    """`finite` carries the tense, `verb` the meaning: "has been seen" -> has, seen. They may be one token.

    `bare` is a participle that carries a caption ("A goat sleeping"), `imperative` a verb without a subject.
    """

    finite: Any
    verb: Any
    bare: bool = False
    imperative: bool = False

    @property
    def takes_not(self) -> bool:
        """Whether "not" may follow it: is, has (seen), will; but sleeps -> does not sleep."""
        word = self.finite.lower_
        if word in BE or word in MODALS or self.finite.tag_ == "MD":
            return True
        helps = (word in DO and self.verb.tag_ in ("VB", "VBP")) or (word in HAVE and self.verb.tag_ == "VBN")
        return bool(self.finite != self.verb and helps)


def predicate(doc: Any) -> Predicate | Refused:
    """The one verb to negate, or why there is none.

    Where the main clause has no finite verb, the only finite verb of the text will do ("Someone who plays"), or
    the participle of a caption ("A goat sleeping").
    """
    root = main_root(doc)
    if root is None:
        return Refused("the text is not one sentence")
    found = (
        _reported(root)
        or _finite_predicate(root)
        or _imperative(root)
        or _only_finite(doc)
        or _verb_in_disguise(doc)
    )
    found = found or _caption(root)
    if found is None:
        return Refused("the text has no finite verb")
    if not found.takes_not and not is_verb_form(found.verb.lower_):
        return Refused("the verb of the text is in no English dictionary")
    return found


def main_root(doc: Any) -> Any | None:
    """The head of the sentence; None if there are several sentences.

    The parser may begin a sentence in the middle of one: only one that follows a full stop counts as another.
    """
    roots = [t for t in doc if t.dep_ == "ROOT" and any(w.is_alpha for w in t.subtree)]
    others = [t.left_edge.i for t in roots[1:]]
    if any(doc[i - 1].text[-1] in ".!?;:…\n" or "\n" in doc[i - 1].text_with_ws for i in others if i > 0):
        return None
    finite = [t for t in roots if _finite_predicate(t) is not None]
    if len(finite) > 1 or not roots:
        return None
    return finite[0] if finite else roots[0]


def _finite_predicate(verb: Any) -> Predicate | None:
    if verb.pos_ not in ("VERB", "AUX"):
        return None
    helpers = [t for t in verb.lefts if t.dep_ in ("aux", "auxpass") and t.tag_ in FINITE_TAGS]
    if helpers:
        return Predicate(helpers[0], verb)
    if verb.lower_ in _PARTICIPLES:
        return None
    subject = subject_of(Predicate(verb, verb))
    if verb.tag_ == "VB":  # "A pair swim": the parser expects "swims"
        is_finite = subject is not None and not any(t.dep_ == "aux" for t in verb.lefts)
    elif verb.tag_ == "VBD" and subject is None and inflected(base_form(verb), "VBN") == verb.lower_:
        is_finite = verb.dep_ == "ROOT" and any(t.pos_ == "PROPN" for t in verb.lefts)  # "Acme Friday opened …"
    else:
        is_finite = verb.tag_ in FINITE_TAGS and verb.i > 0
    return Predicate(verb, verb) if is_finite else None


def _reported(root: Any) -> Predicate | None:
    """The verb of what was said, where that comes first: "It is late, she said"."""
    said = [
        t for t in root.lefts if t.dep_ == "ccomp" and any(s.i > t.i and s.dep_ == "nsubj" for s in root.lefts)
    ]
    return _finite_predicate(said[0]) if said else None


def _imperative(root: Any) -> Predicate | None:
    """ "Open the door", "Please open the door"; "to open" and captions without an article are none."""
    if root.tag_ != "VB" or subject_of(Predicate(root, root)) is not None:
        return None
    before = [t for t in root.doc[: root.i] if t.is_alpha]
    if all(t.lower_ in ("please", "just", "now", "then") for t in before):
        return Predicate(root, root, imperative=True)
    return None


def _only_finite(doc: Any) -> Predicate | None:
    finite = [t for t in doc if t.tag_ in FINITE_TAGS]
    if len(finite) != 1:
        return None
    verb = finite[0].head if finite[0].dep_ in ("aux", "auxpass") else finite[0]
    found = _finite_predicate(verb)
    if found is not None and subject_of(found) is None and not _follows_subject(found.finite):
        return None
    return found


def _follows_subject(finite: Any) -> bool:
    """Whether the words before a verb may be its subject, though the parser says otherwise: "The infants nap"."""
    before = finite.doc[finite.i - 1]
    plural = before.tag_ in ("NNS", "NNPS")
    return before.pos_ in ("NOUN", "PROPN", "ADJ", "ADV") and (plural or finite.tag_ not in ("VBP", "VB"))


def _verb_in_disguise(doc: Any) -> Predicate | None:
    """The one verb that the parser took for a noun: "A nurse with a lamp [crosses] a hall", "Men [perform] there".

    The article "a" before it cannot belong to a plural noun; "perform" is not a noun at all.
    """
    found = [t for t in doc[1:] if _must_be_verb(t)]
    if any(t.tag_ in FINITE_TAGS for t in doc) or len(found) != 1:
        return None
    return Predicate(found[0], found[0])


def _must_be_verb(token: Any) -> bool:
    if not is_verb_form(token.lower_) or token.doc[token.i - 1].pos_ not in ("NOUN", "PROPN", "ADJ"):
        return False
    if token.tag_ == "NN":
        before = token.doc[: token.i]
        plural = any(t.tag_ == "NNS" for t in before) and not any(t.lower_.endswith("ing") for t in before)
        return plural and not is_noun(token.lower_) and base_form(token) == token.lower_
    if token.tag_ != "NNS" or inflected(base_form(token), "VBZ") != token.lower_:
        return False
    place = token.i - 1
    while place > 0 and token.doc[place].tag_ in ("NN", "JJ", "VBG", "VBN", "CD"):
        place -= 1
    return place < token.i - 1 and token.doc[place].lower_ in ("a", "an", "another", "this", "one")


def _caption(root: Any) -> Predicate | None:
    """ "A goat sleeping": the noun has one participle, which follows it."""
    if any(t.tag_ in FINITE_TAGS for t in root.doc):
        return None
    if root.tag_ == "VBG" and any(t.pos_ in ("NOUN", "PRON", "PROPN") for t in root.lefts):
        return Predicate(root, root, bare=True)
    verbs = [t for t in root.children if t.dep_ == "acl" and t.tag_ == "VBG" and t.i > root.i]
    if root.pos_ in ("NOUN", "PRON", "PROPN") and len(verbs) == 1:
        return Predicate(verbs[0], verbs[0], bare=True)
    return None


def subject_of(found: Predicate) -> Any | None:
    """The token that heads the subject."""
    subjects = [t for t in found.verb.lefts if t.dep_ in SUBJECTS]
    return subjects[0] if subjects else None


def is_plural(noun: Any) -> bool:
    """men, they, a man and a dog -> True; a man -> False."""
    plural = noun.tag_ in ("NNS", "NNPS") or noun.lower_ in ("they", "we", "you", "i", "people", "these", "those")
    return plural or any(t.dep_ == "conj" for t in noun.children) or any(t.tag_ == "CD" for t in noun.lefts)


# --- words --------------------------------------------------------------------------------------------------


@cache
def is_verb_form(word: str) -> bool:
    """Whether a dictionary knows the word as a form of a verb: sleeps, slept -> True; xqz -> False."""
    import lemminflect

    lemmas = lemminflect.getAllLemmas(word.lower())
    return "VERB" in lemmas or "AUX" in lemmas


@cache
def is_noun(word: str) -> bool:
    """race -> True, perform -> False."""
    import lemminflect

    return "NOUN" in lemminflect.getAllLemmas(word)


def base_form(token: Any) -> str:
    """sleeps -> sleep, ran -> run, has -> have."""
    return _base(token.lower_, token.lemma_.lower())


@cache
def _base(word: str, lemma: str) -> str:
    import lemminflect

    known = lemminflect.getAllLemmas(word, upos="VERB").get("VERB") or lemminflect.getLemma(word, upos="VERB")
    return lemma if lemma in known else str(known[0])


@cache
def inflected(lemma: str, tag: str) -> str:
    """inflected("sleep", "VBZ") -> "sleeps", inflected("run", "VBD") -> "ran"."""
    import lemminflect

    forms = lemminflect.getInflection(lemma, tag=tag)
    return str(forms[0]) if forms else lemma


def cased_like(word: str, new: str) -> str:
    """cased_like("Some", "no") -> "No"."""
    return new[0].upper() + new[1:] if word[:1].isupper() else new


# --- edits --------------------------------------------------------------------------------------------------


def end_of(token: Any) -> int:
    return int(token.idx) + len(token.text)


def replaced(token: Any, text: str) -> Edit:
    return token.idx, end_of(token), text


def with_space_before(token: Any) -> int:
    """Where a token starts, with the white space before it."""
    text, start = token.doc.text, int(token.idx)
    while start > 0 and text[start - 1] == " ":
        start -= 1
    return start
