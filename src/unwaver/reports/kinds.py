"""The name of a relation in words, for someone who reads one line: "surface_typo" -> "typing error"."""

from __future__ import annotations

KINDS = {
    "semantic": "reworded",
    "negational": "negated",
    "symmetric": "swapped",
    "transitive": "chained",
    "additive": "joined",
    "surface_typo": "typing error",
    "surface_case": "upper and lower case",
    "surface_space": "spaces",
    "surface_punctuation": "punctuation",
    "reverse": "fields in another order",
    "signal": "other signs around the field names",
    "fooling": "reworded several times",
    "paraphrastic": "reworded",
    "repeat": "asked again",
}


def kind_in_words(kind: str) -> str:
    """kind_in_words("semantic") -> "reworded"; a kind of the user's own is its own name."""
    found = KINDS.get(kind) or KINDS.get(kind.partition("_")[0])
    return found or kind.replace("_", " ")
