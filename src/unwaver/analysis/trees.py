"""Syntactic distance: normalised edit distance of constituency trees cut at level 3 (Bandel et al. 2022).

    "(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ runs))))"   as any parser writes it; words are dropped

Level 0 is the top of the sentence; a ROOT or TOP around it does not count. An edit inserts, deletes or renames one
node (Zhang and Shasha 1989); the distance is divided by the number of nodes of both trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from unwaver.errors import DataError

LEVEL = 3
_AROUND = ("", "ROOT", "TOP", "S1")


@dataclass(frozen=True)
class Tree:
    label: str
    children: tuple[Tree, ...] = ()

    @property
    def size(self) -> int:
        return 1 + sum(child.size for child in self.children)


def syntactic_distance(one: str, other: str, level: int = LEVEL) -> float:
    """From 0 to 1, of two bracketed trees."""
    a, b = cut(parse(one), level), cut(parse(other), level)
    return edit_distance(a, b) / (a.size + b.size)


def parse(text: str) -> Tree:
    """parse("(S (NP (NN dogs)) (VP (VBP run)))") -> S over NP over NN, and VP over VBP."""
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    opened = False
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append(("", []))
        elif token == ")":
            if len(stack) == 1:
                raise _broken(text, "a bracket is closed that was never opened")
            label, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
        elif opened:  # what follows "(" is a label; any other word is a word of the sentence
            stack[-1] = (token, [])
        opened = token == "("
    if len(stack) > 1 or len(stack[0][1]) != 1:
        raise _broken(text, "a bracket is never closed" if len(stack) > 1 else "expected one tree")
    (tree,) = stack[0][1]
    while tree.label in _AROUND and len(tree.children) == 1:
        (tree,) = tree.children
    return tree


def _broken(text: str, what: str) -> DataError:
    return DataError(f"{what}: {text[:60]}", hint="write a tree as (S (NP (NN dogs)) (VP (VBP run)))")


def cut(tree: Tree, level: int) -> Tree:
    """The nodes down to this level, the root being level 0."""
    return Tree(tree.label, tuple(cut(child, level - 1) for child in tree.children) if level else ())


def edit_distance(one: Tree, other: Tree) -> int:
    """The least number of nodes to insert, delete or rename: edit_distance(a(b c), a(c)) -> 1."""
    a, b = _Postorder(one), _Postorder(other)
    distance = [[0] * len(b.labels) for _ in a.labels]
    for i in a.key_roots:
        for j in b.key_roots:
            _fill(distance, a, b, i, j)
    return distance[-1][-1]


class _Postorder:
    """Labels children first, the leftmost leaf below each node, and the roots that need a table of their own."""

    def __init__(self, tree: Tree):
        self.labels: list[str] = []
        self.leftmost: list[int] = []
        for _ in self._visit(tree):
            pass
        self.key_roots = sorted({leaf: node for node, leaf in enumerate(self.leftmost)}.values())

    def _visit(self, tree: Tree) -> Iterator[None]:
        first = len(self.labels)
        for child in tree.children:
            yield from self._visit(child)
        self.labels.append(tree.label)
        self.leftmost.append(first)


def _fill(distance: list[list[int]], a: _Postorder, b: _Postorder, i: int, j: int) -> None:
    """Distances of all pairs of subtrees on the left paths of i and j, from those of their forests."""
    first_a, first_b = a.leftmost[i], b.leftmost[j]
    rows, columns = i - first_a + 2, j - first_b + 2
    forest = [[x + y if x == 0 or y == 0 else 0 for y in range(columns)] for x in range(rows)]
    for x in range(1, rows):
        for y in range(1, columns):
            m, n = first_a + x - 1, first_b + y - 1
            edited = min(forest[x - 1][y], forest[x][y - 1]) + 1
            if a.leftmost[m] == first_a and b.leftmost[n] == first_b:
                renamed = forest[x - 1][y - 1] + (a.labels[m] != b.labels[n])
                distance[m][n] = forest[x][y] = min(edited, renamed)
            else:
                kept = forest[a.leftmost[m] - first_a][b.leftmost[n] - first_b] + distance[m][n]
                forest[x][y] = min(edited, kept)
