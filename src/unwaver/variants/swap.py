"""Symmetry: the two texts of an item change places."""

from __future__ import annotations

from collections.abc import Mapping


def swapped(fields: Mapping[str, str]) -> dict[str, str]:
    """The last two fields swapped: {"word": "w", "sentence1": "a", "sentence2": "b"} -> w, b, a."""
    a, b = list(fields)[-2:]
    return {**fields, a: fields[b], b: fields[a]}
