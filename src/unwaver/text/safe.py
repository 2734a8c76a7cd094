"""Make untrusted text safe to print on a terminal."""

from __future__ import annotations

import re

from unwaver.secrets import masked

# control characters (ANSI sequences begin with one) and those that turn the direction of text
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    """Text that cannot steer a terminal and holds no secret: safe("a\\x1b[31mb") -> "a�[31mb"."""
    return _UNSAFE.sub("�", masked(text))
