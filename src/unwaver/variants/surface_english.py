"""Changes that know English: contractions, numbers and spelling. Word lists: surface_english.toml.

What a rule is not sure of stays as it is: a change that is not made costs one item, a wrong one costs the result.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from unwaver.text.english import cased
from unwaver.variants.source import Rewrite

Match = re.Match[str]


@cache
def word_lists() -> Mapping[str, Any]:
    text = resources.files("unwaver.variants").joinpath("surface_english.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def word_set(table: str, name: str) -> frozenset[str]:
    return frozenset(word_lists()[table][name].split())


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def is_english(text: str) -> bool:
    """Words speak for it and none against: "7 dogs in a park" -> True, "7 Zwerge im Wald", "7 dwarfs" -> False."""
    words = {word.lower() for word in _WORD.findall(text)}
    strong, weak, foreign = (len(words & word_set("evidence", name)) for name in ("strong", "weak", "foreign"))
    return 2 * strong + weak - 3 * foreign >= 2


def _before(found: Match) -> str:
    """What stands before, up to a space: _before(7 in "the 7 dogs") -> "the"."""
    parts = found.string[: found.start()].rsplit(maxsplit=1)
    return parts[-1] if parts else ""


def _after(found: Match) -> str:
    parts = found.string[found.end() :].split(maxsplit=1)
    return parts[0] if parts else ""


def _begins(found: Match) -> bool:
    """At the beginning of a sentence."""
    return not (before := _before(found)) or before[-1] in ".!?:"


# --- contractions -------------------------------------------------------------------------------------------

_SUBJECTS = frozenset({"i", "you", "he", "she", "it", "we", "they", "there", "this", "that", "the", "anyone"})
_HELPERS = frozenset({"to", "may", "might", "could", "would", "should", "must", "will", "can", "shall", "not"})
_CLAUSE = frozenset({"that", "because", "if", "but", "so", "although", "since", "though", "says", "said", "think"})
_ASKS_BEFORE = frozenset({"why", "how", "when", "where", "what"})
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

_NT = re.compile(
    r"\b(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|could|would|should|must|might|need)( ?)n['’]t\b", re.I
)
_NOT = re.compile(
    r"\b(?:(do|does|did|is|are|was|were|has|have|had|could|would|should|must|will|can) not|cannot)\b(?!-)", re.I
)
_ADVERB = r"not|also|just|still|always"
_REST = r"an?|the|very|so|too|in|on|at|from|with|under|near|[a-z]{2,}ing"
# before these words "is" and "are" may lean on the word before them: not in "I know where you are."
_LEANS = rf"(?= (?:{_ADVERB}|{_REST})\b)"
_IS = rf"(?= (?:(?:{_ADVERB}) )?(?:{_REST})\b)"  # "it's not been seen" has no "is"
_SHORT = re.compile(
    r"\b(?:(I) ?['’](m)|(you|we|they) ?['’](re)|(I|you|we|they) ?['’](ve)|(I|you|he|she|it|we|they) ?['’](ll)"
    rf"|(he|she|it|that|there) ?['’](s){_IS})\b",
    re.I,
)
_LONG = re.compile(
    rf"\b(?:(I) (am){_LEANS}|(you|we|they) (are){_LEANS}|(he|she|it|there) (is){_LEANS}"
    r"|(I|you|he|she|it|we|they) (will)(?= [a-z]))\b",
    re.I,
)
_ENDINGS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}
_SHORTENED = {"am": "m", "are": "re", "will": "ll", "is": "s"}


def contraction_changes(text: str) -> Iterator[Rewrite]:
    """ "It is late and I don't mind" -> "It is late and I do not mind", "It's late …"; questions turn words round
    ("Don't you mind?"), so there they stay."""
    yield Rewrite(_NT.sub(_expanded_not, _SHORT.sub(_expanded, text)), "expanded")
    yield Rewrite(_LONG.sub(_contracted, _NOT.sub(_contracted_not, text)), "contracted")


def _expanded_not(found: Match) -> str:
    stem = _STEMS.get(found[1].lower(), found[1])
    first = _begins(found) and found[1].lower() != "do"  # "Don't go." is an order, "Isn't it late" a question
    turned = _bare(_after(found)) in _SUBJECTS or _bare(_before(found)) in _ASKS_BEFORE
    if first or turned or _in_question(found) or found[1].isupper():
        return found[0]
    full = "cannot" if stem.lower() == "can" else f"{stem} not"
    return cased(full, found[1])


def _contracted_not(found: Match) -> str:
    verb = found[1] or found[0][:3]
    if _bare(_before(found)) in _HELPERS or verb.isupper():
        return found[0]
    short = {"can": "can't", "will": "won't"}.get(verb.lower(), f"{verb}n't")
    return cased(_apostrophe(short, found.string), verb)


def _expanded(found: Match) -> str:
    word, ending = (part for part in found.groups() if part is not None)
    return f"{word} {_ENDINGS[ending.lower()]}" if ending.islower() else found[0]


def _contracted(found: Match) -> str:
    word, verb = (part for part in found.groups() if part is not None)
    before = _bare(_before(found))
    # "the men behind you are running" has no "you're"
    if verb.isupper() or not (_begins(found) or before in _CLAUSE or _before(found)[-1] in ",;"):
        return found[0]
    return _apostrophe(f"{word}'{_SHORTENED[verb.lower()]}", found.string)


def _apostrophe(word: str, text: str) -> str:
    """In the way of the text: it’s where it has ’ and no '."""
    return word.replace("'", "’") if "’" in text and "'" not in text else word


def _bare(word: str) -> str:
    return word.strip(".,;:!?\"“”()'’").lower()


def _in_question(found: Match) -> bool:
    end = re.search(r"[.!?]", found.string[found.end() :])
    return end is not None and end[0] == "?"


# --- numbers ------------------------------------------------------------------------------------------------


@cache
def number_values() -> Mapping[str, int]:
    """zero -> 0 … ninety-nine -> 99."""
    small, tens = word_lists()["numbers"]["small"].split(), word_lists()["numbers"]["tens"].split()
    values = {word: n for n, word in enumerate(small)}
    for n, ten in enumerate(tens, 2):
        values[ten] = 10 * n
        values |= {f"{ten}-{unit}": 10 * n + u for u, unit in enumerate(small[1:10], 1)}
    return values


@cache
def _names_of_values() -> Mapping[int, str]:
    return {n: word for word, n in number_values().items()}


_DIGITS = re.compile(r"(?<![^\s\"“])(?:0|[1-9]\d?)(?=[,;.!?\"”]*(?:\s|$))")
_SEPARATED = re.compile(r"(?<![\w.,/:-])\d{1,3}(?:,\d{3})+(?![\w,/:-]|\.\d)")
_UNSEPARATED = re.compile(r"(?<!\S)[1-9]\d{3,8}(?=\s+[a-z])")
_YEARS = range(1100, 2100)


def number_changes(text: str) -> Iterator[Rewrite]:
    """ "7 dogs" -> "seven dogs", "seven dogs" -> "7 dogs", "1,000" -> "1000", "1000 dogs" -> "1,000 dogs"; dates,
    times, years and what is a name ("room 7") stay."""
    if not is_english(text):
        return
    yield Rewrite(_DIGITS.sub(_in_words, text), "digits_to_words")
    yield Rewrite(_number_words().sub(_in_digits, text), "words_to_digits")
    yield Rewrite(_SEPARATED.sub(lambda found: found[0].replace(",", ""), text), "separators_dropped")
    yield Rewrite(_UNSEPARATED.sub(_separated, text), "separators_added")


@cache
def _number_words() -> re.Pattern[str]:
    """Without one ("no one", "one day") and zero."""
    values = sorted(number_values(), key=len, reverse=True)
    return re.compile(
        rf"(?<![\w'’-])(?:{'|'.join(w for w in values if w not in ('one', 'zero'))})(?![\w'’-])", re.I
    )


def _in_words(found: Match) -> str:
    numbering = _begins(found) and found.string[found.end() : found.end() + 1] == "."
    if numbering or not _is_amount(found):
        return found[0]
    word = _names_of_values()[int(found[0])]
    return word[0].upper() + word[1:] if _begins(found) else word


def _in_digits(found: Match) -> str:
    capital = found[0][0].isupper() and not _begins(found)
    return found[0] if capital or not _is_amount(found) else str(number_values()[found[0].lower()])


def _separated(found: Match) -> str:
    is_year = int(found[0]) in _YEARS
    return found[0] if is_year or not _is_amount(found) else f"{int(found[0]):,}"


def _is_amount(found: Match) -> bool:
    """Not a date or time, not a part of another number, not the number of a room or a page."""
    rest = found.string[found.end() :]
    if found.string.islower() and _bare(_after(found)) not in word_set("numbers", "counted"):
        return False  # without capitals a name cannot be told: "modern warfare 2", "five guys"
    ended = bool(re.match(r"[,;.!?\"”]", rest))  # what comes after is another part of the sentence
    return _fits_before(_before(found)) and (ended or _fits_after(_after(found), rest))


def _fits_before(before: str) -> bool:
    word = _bare(before)
    if not before:
        return True
    if not before[0].isalpha() or {word, before.lower()} & _names_before():
        return False
    if before[-1] in ".!?:;":
        return True
    return before[0].islower() or (before.isalpha() and word in _function_words())


def _fits_after(after: str, rest: str) -> bool:
    word = _bare(after)
    if not after:
        return True
    if {word, after.lower()} & _names_after() or re.match(r"\s+and (a )?(half|quarter|third)\b", rest, re.I):
        return False
    return after[0].islower() and (len(word) > 1 or word == "a")


@cache
def _names_before() -> frozenset[str]:
    return (
        word_set("numbers", "names")
        | word_set("numbers", "months")
        | word_set("numbers", "parts")
        | number_values().keys()
    )


@cache
def _names_after() -> frozenset[str]:
    return (
        word_set("numbers", "after")
        | word_set("numbers", "months")
        | word_set("numbers", "parts")
        | number_values().keys()
    )


@cache
def _function_words() -> frozenset[str]:
    return word_set("evidence", "strong") | word_set("evidence", "weak")


# --- spelling -----------------------------------------------------------------------------------------------


@cache
def spelling() -> Mapping[str, str]:
    """American -> British: color -> colour, organizing -> organising."""
    lists = word_lists()["spelling"]
    found = {f"{w}{e}": f"{w[:-2]}our{e}" for w in lists["our"] for e in lists["our_endings"]}
    found |= {f"{w}z{e}": f"{w}s{e}" for w in lists["ize"] for e in lists["ize_endings"]}
    found |= {f"{w}ization{s}": f"{w}isation{s}" for w in lists["ization"] for s in ("", "s")}
    found |= {f"{w}l{e}": f"{w}ll{e}" for w in lists["l"] for e in lists["l_endings"]}
    return found | dict(line.split() for line in lists["pairs"].split("\n") if line)


@cache
def _american() -> Mapping[str, str]:
    return {british: american for american, british in spelling().items()}


def spelling_changes(text: str) -> Iterator[Rewrite]:
    """ "a gray harbor" -> "a grey harbour"; names ("Pearl Harbor") stay."""
    yield Rewrite(_respelled(text, spelling()), "british")
    yield Rewrite(_respelled(text, _american()), "american")


def _respelled(text: str, other: Mapping[str, str]) -> str:
    def respelled(found: Match) -> str:
        word = found[0]
        if word.lower() not in other or _may_be_name(found):
            return word
        return cased(other[word.lower()], word)

    return _WORD.sub(respelled, text)


def _may_be_name(found: Match) -> bool:
    """By its capital; in a text without capitals a few words are never sure: "jean grey", "guitar center"."""
    if found.string.islower():
        return found[0] in word_set("spelling", "in_names")
    return found[0][0].isupper() and not found[0].isupper() and not _begins(found)
