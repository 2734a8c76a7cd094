"""Distance of dependency trees, unwaver's own: for texts without constituency trees. It is not the syntactic
distance of the papers, and has a name of its own.

    "A dog runs." -> TEXT over ROOT over nsubj (over det), punct

A tree is cut at level 3, TEXT being level 0, and compared as constituency trees are (unwaver.analysis.trees): the
least number of nodes to insert, delete or rename, divided by the number of nodes of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unwaver.analysis.trees import LEVEL, Tree, cut, edit_distance
from unwaver.text.refused import Refused


def dependency_distances(pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """For each pair of texts; None if one of them is no English sentence that can be parsed."""
    from unwaver.text.english import parsed

    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    trees = {text: _tree(doc) for text, doc in zip(texts, parsed(texts), strict=True)}
    return [_distance(trees[a], trees[b]) for a, b in pairs]


def _distance(one: Tree | None, other: Tree | None) -> float | None:
    if one is None or other is None:
        return None
    return edit_distance(one, other) / (one.size + other.size)


def _tree(doc: Any) -> Tree | None:
    if isinstance(doc, Refused):
        return None
    return cut(
        Tree("TEXT", tuple(_below(token) for token in doc if token.head is token or token.dep_ == "ROOT")), LEVEL
    )


def _below(token: Any) -> Tree:
    return Tree(token.dep_, tuple(_below(child) for child in token.children))
