"""Texts and numbers as they are shown: untrusted text cannot steer a terminal, and holds no secret."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from unwaver.secrets import masked


def percent(value: float | None) -> str:
    """0.125 -> "12.5"; undefined -> "–"."""
    return "–" if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None, shown: Callable[[float], str] = percent) -> str:
    """interval(0.091, 0.168) -> "9.1 – 16.8"; undefined -> "–"."""
    return "–" if low is None or high is None else f"{shown(low)} – {shown(high)}"


def p_value(p: float | None) -> str:
    """0.0321 -> "0.032", 0.0004 -> "<.001"."""
    return "–" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


# control characters (ANSI sequences begin with one) and those that turn the direction of text
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


# of these, and of half characters, JSON escapes the first 32 alone
_RAW_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_json(text: str) -> str:
    """JSON that means the same and cannot steer a terminal."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def safe(text: str) -> str:
    """Text that cannot steer a terminal and holds no secret: safe("a\\x1b[31mb") -> "a�[31mb"."""
    return _UNSAFE.sub("�", masked(text))


def escaped(text: str) -> str:
    """Safe text without anything that HTML reads, and without half characters: escaped("a < b") -> "a &lt; b"."""
    return html.escape(safe(text).encode("utf-8", "replace").decode(), quote=True)


def cut(text: str, most: int = 300) -> str:
    """cut("a long text", 7) -> "a long…"."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
