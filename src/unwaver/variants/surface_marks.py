"""Changes of case, punctuation and space: the words stay what they are, in any language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from unwaver.variants.source import Rewrite

# --- case ---------------------------------------------------------------------------------------------------


def case_changes(text: str) -> Iterator[Rewrite]:
    """ "A dog." -> "a dog.", "A DOG.", "A Dog."."""
    ways: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "title": _title}
    for tag, change in ways.items():
        changed = change(text)
        # "ß".upper() is "SS" and "ı".upper() is "I": letters that do not come back are not changed at all
        if len(changed) == len(text) and changed.lower() == text.lower():
            yield Rewrite(changed, tag)


def _title(text: str) -> str:
    """_title("don't look now") -> "Don't Look Now"."""
    return re.sub(r"(?<!\S)\W*\w", lambda start: start[0].upper(), text)


# --- space --------------------------------------------------------------------------------------------------


def space_changes(text: str) -> Iterator[Rewrite]:
    """ "a dog" -> "a  dog", "a\\tdog", " a dog", "a dog\\n"."""
    yield Rewrite(text.replace(" ", "  "), "double")
    yield Rewrite(text.replace(" ", "\t"), "tab")
    yield Rewrite(f" {text}", "leading")
    yield Rewrite(f"{text}\n", "newline")


# --- punctuation --------------------------------------------------------------------------------------------

_FINAL = re.compile(r"(?P<start>.*[^\s.!?。！？…।])(?P<mark>\s*[.!?。！？।])(?P<end>\s*)", re.DOTALL)
_ABBREVIATION = re.compile(r"\w\.\w+$")  # of "U.S." the last mark is part of the word
_ASKS = re.compile(
    r"(who|whom|whose|what|when|where|why|which|how|is|are|am|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|shall|should|may|might|must"
    r"|wer|wen|wem|wessen|wie|wo|woher|wohin|wann|warum|wieso|weshalb|welche[nmrs]?)\b",
    re.IGNORECASE,
)
# which mark ends a sentence in a script; others are left alone
_MARKS = {
    "LATIN": ".",
    "GREEK": ".",
    "CYRILLIC": ".",
    "HANGUL": ".",
    "DIGIT": ".",
    "CJK": "。",
    "HIRAGANA": "。",
    "KATAKANA": "。",
}


def punctuation_changes(text: str) -> Iterator[Rewrite]:
    """ "A dog." -> "A dog", "A dog..", and quotes and the comma before "and" where there are any."""
    final = _FINAL.fullmatch(text)
    if final and not _ABBREVIATION.search(final["start"]):
        yield Rewrite(final["start"] + final["end"], "dropped")
    if final:
        yield Rewrite(final["start"] + 2 * final["mark"] + final["end"], "doubled")
    else:
        yield Rewrite(_with_mark(text), "added")
    yield Rewrite(_curly(text), "curly")
    yield Rewrite(text.translate(_STRAIGHT), "straight")
    yield Rewrite(_SERIAL_COMMA.sub(r"\1 \2", text), "comma_dropped")
    yield Rewrite(_NO_SERIAL_COMMA.sub(r"\1, \2", text), "comma_added")


def _with_mark(text: str) -> str:
    """ "a dog" -> "a dog.", "is it a dog" -> "is it a dog?"; a text that ends in no letter stays as it is."""
    bare = text.rstrip()
    if not bare or not bare[-1].isalnum():
        return text
    script = unicodedata.name(bare[-1], "").split(" ")[0].split("-")[0]
    mark = "?" if script == "LATIN" and _ASKS.match(bare) else _MARKS.get(script, "")
    return bare + mark + text[len(bare) :]


# " inside a word is a letter in Hebrew; after a digit it is inches; `` and '' are quotes of another kind
_NO_QUOTES = re.compile(r"\w\"\w|\d[\"']|``|''|[„“”‘’«»]")
_APOSTROPHE = re.compile(r"(?<=\w)'|'(?=(?:s|t|d|m|re|ve|ll|em|tis|twas)\b)|'(?=\d)")
_STRAIGHT = str.maketrans("“”‘’", "\"\"''")


def _curly(text: str) -> str:
    """'He said "it\\'s me"' -> 'He said “it’s me”'; quotes that are not in pairs stay as they are."""
    if _NO_QUOTES.search(text) or text.count('"') % 2:
        return text
    text = _APOSTROPHE.sub("’", text)
    quotes = iter("“”" * (text.count('"') // 2))
    return re.sub('"', lambda _: next(quotes), text)


# single words only: in "my brother, a cook, and I" the commas say who is meant
_SERIAL_COMMA = re.compile(r"(?<![\w'’-])([a-z]+, [a-z]+), ((?:and|or) [a-z]+)\b")
_NO_SERIAL_COMMA = re.compile(r"(?<![\w'’-])([a-z]+, [a-z]+, [a-z]+) ((?:and|or) [a-z]+)\b")
