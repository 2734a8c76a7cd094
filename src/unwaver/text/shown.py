"""Numbers as a table shows them."""

from __future__ import annotations


def percent(value: float | None) -> str:
    """0.125 -> "12.5"; undefined -> "–"."""
    return "–" if value is None else f"{100 * value:.1f}"


def p_value(p: float | None) -> str:
    """0.0321 -> "0.032", 0.0004 -> "<.001"."""
    return "–" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"
