"""Families of relations: what a profile has a line for."""

from __future__ import annotations

from collections.abc import Mapping

JUDGING = "judging"
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "wording": ("paraphrase", "surface", "distractor"),
    "logic": ("negational", "symmetric", "inverse", "transitive", "inherited", "additive", "contrast"),
    "format": ("options", "format", "documents"),
    "conversation": ("persona", "again", "doubt"),
    "language": ("language",),
    JUDGING: ("padded",),
}
PROFILED = ("core", "core-mini")  # suites whose results end with a profile


def family_of(task: str, kind: str) -> str:
    """family_of("open", "paraphrase") -> "wording"; everything about a judge is "judging"."""
    if task == "preference":
        return JUDGING
    return next((family for family, kinds in FAMILIES.items() if kind in kinds), "")
