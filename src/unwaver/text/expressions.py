r"""The one mathematical expression that a text gives as its answer, as LaTeX; nothing if that is not certain.

    expression_of(r"So \boxed{\frac{\sqrt{3}}{2}}")   -> Expression(r"\frac{\sqrt{3}}{2}")
    expression_of("The area is $2\pi$ cm.")           -> Expression(r"2\pi", unit of length)
    expression_of("sqrt(2)/2")                        -> Expression(r"\sqrt{2}/2")
    expression_of("I think so")                       -> None

Only commands and letters that are known to be mathematics pass, so that no word is taken for a product of letters
and a parser gets nothing large: long texts, high powers and factorials of large numbers are left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from unwaver.text.marked import after_cue, after_hashes, boxed
from unwaver.text.units import Unit, unit_after

LONGEST = 300  # characters of an expression


class Expression(NamedTuple):
    latex: str
    unit: Unit | None = None


def expression_of(text: str) -> Expression | None:
    if len(text) > 20_000:
        return None
    part = next((p for p in (boxed(text), after_hashes(text), after_cue(text)) if p is not None), None)
    return _expression(_from_prose(text) if part is None else _from_prose(part))


_DELIMITED = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$([^$\n]+)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_LEAD = re.compile(
    r"\s*(?:(?:so|thus|hence|therefore)[,\s]+)?(?:it\s+is|it's|we\s+get|this\s+is|that\s+is)\s*:?\s+", re.I
)
_HARMLESS = re.compile(
    r"(?:\b(?:the|a|an|is|are|it|its|so|thus|hence|therefore|then|we|get|have|answer|result|final|value|area|length|sum"
    r"|total|solution|solutions|probability|of|this|that|equals|equal|gives|which|finally|volume|product|expression)\b"
    r"|[\s.,;:!*])*",
    re.IGNORECASE,
)


def _from_prose(text: str) -> str | None:
    """What stands between the marks of mathematics, if that is once; a text without them as it is."""
    found = list(_DELIMITED.finditer(text))
    if not found:
        return _LEAD.sub("", text)
    if len(found) > 1:
        return None
    match = found[0]
    before, after = text[: match.start()], text[match.end() :]
    inner = next(group for group in match.groups() if group)
    unit = unit_after(after)
    if not _HARMLESS.fullmatch(before) or not _HARMLESS.fullmatch(after[unit[1] :] if unit else after):
        return None
    return f"{inner} {after[: unit[1]]}" if unit else inner


_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}\s*\.?\s*$")
_SPACING = re.compile(
    r"\\(?:left|right|displaystyle|quad|qquad|bigg?|Bigg?)(?![a-zA-Z])|\\[,;!:> ]|\{,\}(?!\d{3})"
)
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})((?:(?:,|\{,\}|\\,|\\!)\d{3})+)(?![\d,])")
_PLAIN = (
    (re.compile(r"[−–]"), "-"),
    (re.compile(r"[×⋅·]"), r"\\cdot "),
    (re.compile(r"÷"), "/"),
    (re.compile(r"≤"), r"\\le "),
    (re.compile(r"≥"), r"\\ge "),
    (re.compile(r"∞"), r"\\infty "),
    (re.compile(r"∪"), r"\\cup "),
    (re.compile(r"²"), "^{2}"),
    (re.compile(r"³"), "^{3}"),
    (re.compile(r"π|(?<![\\a-zA-Z])pi(?![a-zA-Z])"), r"\\pi "),
    (re.compile(r"√\s*(\d+|[a-z])(?!\w)"), r"\\sqrt{\1}"),
    (re.compile(r"√\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\a-zA-Z])sqrt\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\a-zA-Z])(sin|cos|tan|log|ln|exp)(?![a-zA-Z])"), r"\\\1 "),
    (re.compile(r"\\[dtc]frac"), r"\\frac"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\*"), r"\\cdot "),
    (re.compile(r"\^\(([^()]*)\)"), r"^{\1}"),
    (re.compile(r"\^(-?\d+)"), r"^{\1}"),
)
_COMMANDS = re.compile(
    r"frac|sqrt|pi|cdot|times|infty|cup|cap|in|leq?|geq?|lt|gt|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln|exp"
    r"|alpha|beta|gamma|theta|lambda|mu|phi|emptyset|varnothing"
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)|\\([{}|])")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORDS = frozenset(
    ("is", "of", "or", "to", "in", "it", "no", "so", "an", "at", "we", "by", "as", "be", "if", "on", "do")
)
_MARKS = re.compile(r"[\w\s+\-/^(){}\[\].,;=<>|!'\\]*")
# 1010_2; 2^3^2 and 1/2x, which people read in two ways; \log, whose base is not known; [5]; and what is large
_REFUSED = re.compile(
    r"\d_|\^\{[^{}]*\}\s*\^|/\s*\d+(?:\.\d+)?\s*[a-zA-Z\\(]|\\log(?!\s*_)|\[[^,\]]*\]$"
    r"|\d{25}|\^\s*\{?\s*\(?-?\d{4}|\^\s*\{[^{}]*\^|\d{4}\s*!|!\s*!|\^\s*\{?[^{}\s]*!"
)


def _expression(text: str | None) -> Expression | None:
    if text is None or len(text) > LONGEST or ".." in text:  # 0.333... is not 0.333
        return None
    text, unit = _without_unit(text.strip())
    if _THOUSANDS.search(text) and re.search(r"[(\[]|\\\{", text):  # (1,234) may be a point
        return None
    text = _SPACING.sub(" ", _THOUSANDS.sub(_joined, text)).strip().rstrip(".").strip()
    for pattern, form in _PLAIN:
        text = pattern.sub(form, text)
    text = " ".join(text.split())
    return Expression(text, unit) if text and _is_mathematics(text) else None


def _joined(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"\D", "", found[2])


def _without_unit(text: str) -> tuple[str, Unit | None]:
    r""" "2\pi \text{ cm}" -> ("2\pi ", a length); other words stay, and make that nothing is read."""
    words = _TEXT.search(text)
    if words:
        found = unit_after(f" {words[1].strip()}")
        if found and found[1] == len(words[1].strip()) + 1:
            return text[: words.start()], found[0]
    for start in (m.start() for m in re.finditer(r"(?<=[\d})\]iI]) (?=[a-zA-Zµ°])", text)):
        found = unit_after(text, start)
        if found and len(text[start : found[1]].strip()) > 1 and not text[found[1] :].strip(" ."):
            return text[:start], found[0]
    return text, None


def _is_mathematics(text: str) -> bool:
    if not _MARKS.fullmatch(text) or _REFUSED.search(text) or text.count("{") > 40:
        return False
    if any(name and not _COMMANDS.fullmatch(name) for name, _ in _COMMAND.findall(text)):
        return False
    left = _COMMAND.sub(" ", text)
    if "\\" in left:
        return False
    letters = _LETTERS.findall(left)
    return all(len(word) <= 2 and word.lower() not in _WORDS and word.isascii() for word in letters)
