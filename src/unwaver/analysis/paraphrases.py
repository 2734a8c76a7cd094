"""How far are the paraphrases of a set from their originals? Mean distances by suite/task/kind.

Trees and vectors are not made here: a file gives them, one row for each item (and field, where several change).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from unwaver.analysis.trees import syntactic_distance
from unwaver.errors import DataError
from unwaver.files import read_rows, shown
from unwaver.text.distance import cosine_similarity, jaccard_distance, lexical_distance
from unwaver.typed import is_number
from unwaver.types import Group, Item

Annotations = Mapping[tuple[str, str], Mapping[str, Any]]  # (item, field) -> tree, vector


@dataclass(frozen=True)
class Distances:
    """Means over paraphrases; of a paraphrase with several changed fields, over these. None: nothing was given."""

    relation: str
    paraphrases: int
    lexical: float
    jaccard: float
    syntactic: float | None
    similarity: float | None  # of vectors


def distances(groups: Sequence[Group], given: Annotations | None = None) -> list[Distances]:
    """For groups with an original and variants of it."""
    return [_distances(relation, pairs, given or {}) for relation, pairs in pairs_by_relation(groups).items()]


def pairs_by_relation(groups: Sequence[Group]) -> dict[str, list[tuple[Item, Item]]]:
    """Each original with each of its variants, by suite/task/kind."""
    by_relation: dict[str, list[tuple[Item, Item]]] = {}
    for group in groups:
        original = next((item for item in group.items if item.role == "original"), None)
        pairs = [(original, item) for item in group.items if original is not None and item.role == "variant"]
        by_relation.setdefault(f"{group.suite}/{group.task}/{group.kind}", []).extend(pairs)
    return {relation: pairs for relation, pairs in by_relation.items() if pairs}


def _distances(relation: str, pairs: Sequence[tuple[Item, Item]], given: Annotations) -> Distances:
    fields = changed_fields(pairs)
    texts = [[(a.fields[name], b.fields[name]) for name in fields] for a, b in pairs]
    notes = [[(_given(given, a, name), _given(given, b, name)) for name in fields] for a, b in pairs]
    return Distances(
        relation,
        len(pairs),
        fmean(fmean(lexical_distance(*pair) for pair in of) for of in texts),
        fmean(fmean(jaccard_distance(*pair) for pair in of) for of in texts),
        _mean_of(notes, "tree", syntactic_distance),
        _mean_of(notes, "vector", cosine_similarity),
    )


def changed_fields(pairs: Sequence[tuple[Item, Item]]) -> list[str]:
    """The fields that some paraphrase changes: ["hyp1", "hyp2"] of α-NLI, ["update"] of δ-NLI."""
    names = pairs[0][0].fields
    changed = [name for name in names if any(a.fields[name] != b.fields.get(name) for a, b in pairs)]
    return changed or list(names)


def _given(given: Annotations, item: Item, field: str) -> Mapping[str, Any]:
    return given.get((item.id, field)) or given.get((item.id, ""), {})


def _mean_of(notes: Sequence[Sequence[Any]], name: str, measure: Any) -> float | None:
    """Over the paraphrases for which both sides are given; None if there is none."""
    found = []
    for of in notes:
        values = [measure(a[name], b[name]) for a, b in of if a.get(name) and b.get(name)]
        if len(values) == len(of) and not any(map(math.isnan, values)):
            found.append(fmean(values))
    return fmean(found) if found else None


def read_annotations(path: Path) -> Annotations:
    """Rows with `id` (of an item), `field` where several change, and `tree` or `vector`."""
    found = {}
    length = 0
    for row in read_rows(path, required=("id",)):
        tree, vector = row.cells.get("tree"), row.cells.get("vector")
        if tree:
            try:
                syntactic_distance(row.text("tree"), row.text("tree"))
            except DataError as e:
                raise row.where.error(e.message, e.hint) from None
        if vector and not (isinstance(vector, list) and all(map(is_number, vector))):
            message = f'column "vector": found {shown(vector)}, expected a list of numbers'
            raise row.where.error(message, "use a .jsonl file")
        if vector and len(vector) != (length := length or len(vector)):
            raise row.where.error(
                f'column "vector": found {len(vector)} numbers, expected {length} as above',
                "use one encoder for all",
            )
        found[str(row.cells["id"]), str(row.cells.get("field") or "")] = {"tree": tree, "vector": vector}
    return found


@dataclass(frozen=True)
class Sizes:
    """How many paraphrases problems have (Table 2 of ParaNLU); `deviation` is that of a sample (n − 1)."""

    relation: str
    originals: int
    paraphrases: int
    mean: float
    deviation: float | None
    least: int
    most: int


def sizes(groups: Sequence[Group]) -> list[Sizes]:
    """By suite/task/kind, over groups with an original or a variant."""
    counts: dict[str, list[int]] = {}
    for group in groups:
        if any(item.role in ("original", "variant") for item in group.items):
            count = sum(item.role == "variant" for item in group.items)
            counts.setdefault(f"{group.suite}/{group.task}/{group.kind}", []).append(count)
    return [
        Sizes(name, len(n), sum(n), fmean(n), stdev(n) if len(n) > 1 else None, min(n), max(n))
        for name, n in counts.items()
    ]
