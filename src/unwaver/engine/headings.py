"""Names of models that would be headed alike in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def told_apart(heads: Sequence[tuple[str, str]], specs: Sequence[str]) -> list[str]:
    """Two equal names with one method get what the --model option says: "m (openai/m,seed=1)", or that alone where
    it begins with the name: "fake/random,seed=3". The same option given twice is numbered: "fake/random (2)"."""
    alike, given = Counter(heads), Counter[tuple[str, str]]()
    found = []
    for (name, method), spec in zip(heads, specs, strict=True):
        if alike[name, method] > 1:
            name = spec if spec.startswith(name) else f"{name} ({spec})"
        given[name, method] += 1
        found.append(name if given[name, method] == 1 else f"{name} ({given[name, method]})")
    return found
