"""Texts of others in the cells of a spreadsheet: no formula is run, nothing is hidden, and each can be read back.

written("=1+1") -> "'=1+1"              a formula begins with an apostrophe
written("a\u202eb") -> "a\\u202eb"       what steers the direction of text, and control characters, are spelled
read(written(text)) == text             for every text, also "'=1+1" and "\\u202e"
"""

from __future__ import annotations

import re

# what spreadsheets take for the beginning of a formula, after apostrophes, spaces and what cannot be seen
_FORMULA = re.compile(r"'*[\s\u200b\ufeff]*[\t\r\n=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2212]")
# control characters but tab and newline, marks of direction, what has no width, tags, half characters
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e007f]|\\(?=u[0-9a-f]{4}|U[0-9a-f]{8})"
)
_SPELLED = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")


def written(text: str) -> str:
    """The text as it stands in a cell."""
    return "'" * _is_formula(text) + _HIDDEN.sub(_spelled, text)


def guarded(text: str) -> str:
    """The text with an apostrophe before it, if a spreadsheet could take it for a formula."""
    return "'" * _is_formula(text) + text


def read(cell: str) -> str:
    """The text that `written` made a cell of; a cell of others is as it is."""
    text = _SPELLED.sub(lambda found: _character(int(found[1] or found[2], 16)), cell)
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"
