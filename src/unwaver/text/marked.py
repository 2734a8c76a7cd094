r"""Where a text marks its answer, and LaTeX as plain text.

boxed(r"so \boxed{\frac{1}{2}}")     -> r"\frac{1}{2}"
after_hashes("6 * 7\n#### 42")       -> " 42"
after_cue("So the answer is 7.")     -> " 7."
plain_latex(r"$2\frac{1}{2}$")       -> "2 1/2"
"""

from __future__ import annotations

import re

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_CUE = re.compile(
    r"\b(?:answer|result)\b[*_`]*(?:\s*[:=：]|\s+(?:is|was|are|will\s+be)\b(?:\s*:)?)", re.IGNORECASE
)


def boxed(text: str) -> str | None:
    """What the last box holds; None without a box, or if it does not end."""
    box = None
    for box in _BOXED.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    if box is None:
        return None
    depth = 1
    for end in range(box.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[box.end() : end]
    return None


def after_hashes(text: str) -> str | None:
    """The line after the last ####."""
    _, hashes, after = text.rpartition("####")
    return first_line(after) if hashes else None


def after_cue(text: str) -> str | None:
    r"""The rest of the line after the last "answer is" or "answer:", or the next line: "answer:\n7"."""
    cue = None
    for cue in _CUE.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    return None if cue is None else first_line(text[cue.end() :])


def first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


# --- LaTeX ----------------------------------------------------------------------------------------------------

_SIGN = r"([-−]?)\s*"
_FRACTION = re.compile(
    rf"(\d?)(\s*)\\[dtc]?frac\s*(?:\{{\s*{_SIGN}(\d+)\s*\}}|{_SIGN}(\d))\s*(?:\{{\s*(\d+)\s*\}}|(\d))"
)
_TIMES = re.compile(r"\\(?:times|cdot)\b")
_SPACE = re.compile(r"(?<=\d)(?:\{,\}|\\[,;!]\s?|\\\s)(?=\d{3})")
_MARK = re.compile(r"\\([%$#&_])")
_WORDS = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|rm|operatorname)\s*\{([^{}]*)\}")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ\b)|\\degree\b")
_SIZE = re.compile(r"\\(?:left|right|displaystyle|textstyle|bigg?|Bigg?|quad|qquad)\b\.?|\\[,;!:>]|\\ |~(?=\d)")
_DELIMITER = re.compile(r"\\[()\[\]]|\$\$")
_DOLLARS = re.compile(r"(?<!\\)\$([^$\n]+?)(?<!\\)\$")
_EMPHASIS = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*|`([^`\n]+)`")


def plain_latex(text: str) -> str:
    r"""Fractions, spacing and marks as people type them; commands without such a form stay: "\sqrt{2}"."""
    text = _EMPHASIS.sub(lambda found: found[1] or found[2], text)
    text = _SPACE.sub(",", _TIMES.sub("×", _FRACTION.sub(_fraction, text)))
    text = _WORDS.sub(r" \1 ", _DEGREE.sub("°", text))
    text = _DOLLARS.sub(r" \1 ", _DELIMITER.sub(" ", text))
    return _MARK.sub(r"\1", _SIZE.sub(" ", text))


def _fraction(found: re.Match[str]) -> str:
    r""" "2\frac{1}{2}" is two and a half, not 21/2."""
    whole, gap = found[1], found[2]
    sign, part = found[3] or found[5] or "", found[4] or found[6]
    return f"{whole}{' ' if whole else gap}{sign}{part}/{found[7] or found[8]}"
