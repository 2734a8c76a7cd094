"""The prediction files of BECEL's authors: one JSON object with lists of predictions, row by row.

    original_preds, paraphrase_preds                  semantic; the same way negation_preds and symmetric_preds
    first_preds, second_preds, merged_preds, labels   additive
    first_preds, second_preds, transitive_preds, first_labels, second_labels, labels   transitive

`original_preds` may stand for both premises of a conclusion, as pairs. Labels are numbers, as in the published
files; of SNLI's transitive set, 3 ("not entailment") accepts 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from unwaver.answers.given import complete
from unwaver.errors import DataError
from unwaver.files import Where, read_json, shown, stem
from unwaver.logs.common import LogOptions, head
from unwaver.suites.becel import CASES
from unwaver.typed import of_log

# the list of what was changed, and the relation that it is about
_CHANGED = {
    "paraphrase_preds": "semantic",
    "semantic_preds": "semantic",
    "negation_preds": "negational",
    "negational_preds": "negational",
    "symmetric_preds": "symmetric",
    "transitive_preds": "transitive",
    "merged_preds": "additive",
    "additive_preds": "additive",
}
_NOT_ENTAILMENT = "3"
Label = str | float | None
Pair = Annotated[list[Label], msgspec.Meta(min_length=2, max_length=2)]  # the two premises of a conclusion


def looks_like(path: Path) -> bool:
    start = head(path).lstrip()
    return start.startswith("{") and ('"original_preds"' in start or '"first_preds"' in start)


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    """The table of one file; suite, task and relation are those of the published set."""
    del options
    found: dict[str, Any] = of_log(
        dict[str, Any], read_json(path), Where(str(path), 1), "give one file per relation"
    )
    lists: dict[str, list[Any]] = {
        name: of_log(_kind_of(name, part), part, Where(str(path), 1), "a label or its number for each row", name)
        for name, part in found.items()
        if name.endswith(("_preds", "labels"))
    }
    changed = [name for name in _CHANGED if name in lists]
    if len(changed) != 1:
        known = ", ".join(_CHANGED)
        told = f"found {', '.join(changed)}" if changed else f"found {shown(', '.join(lists) or found)}"
        raise DataError(
            f"{told}, expected one of {known}", hint="give one file for each relation", file=path, line=1
        )
    kind = _CHANGED[changed[0]]
    originals = _originals(lists, path)
    if kind in ("transitive", "additive") and len(originals) != 2:
        hint = "first_preds and second_preds, or original_preds as pairs"
        raise DataError(f"{kind}: the predictions on both originals are missing", hint=hint, file=path, line=1)
    columns = [*originals, lists[changed[0]]]
    gold = _gold(lists, kind, len(columns), path)
    lengths = {len(column) for column in (*columns, *(g for g in gold if g is not None))}
    if len(lengths) > 1:
        message = f"lists of {', '.join(map(str, sorted(lengths)))} entries, expected the same number in all"
        raise DataError(message, hint="one entry for each row of the set", file=path, line=1)
    rows = list(_rows(columns, gold, kind, path))
    if not rows:
        raise DataError("the lists are empty", hint="one entry for each row of the set", file=path, line=1)
    frame = pl.DataFrame(rows, schema_overrides={"label": pl.String, "gold": pl.List(pl.String)})
    name = stem(path)
    task = next((task for task in CASES if name.lower().replace("-", "_").startswith(task)), "own")
    told_by = {"suite": "becel", "task": task, "kind": kind, "model": name, "method": "predictions"}
    return complete(frame.with_columns(**{column: pl.lit(value) for column, value in told_by.items()}))


def _kind_of(name: str, given: Any) -> Any:
    """The type of a list: originals of conclusions may be pairs, all of them."""
    pairs = name == "original_preds" and isinstance(given, list) and given and isinstance(given[0], list)
    return list[Pair] if pairs else list[Label]


def _originals(lists: Mapping[str, list[Any]], path: Path) -> list[list[Any]]:
    if "first_preds" in lists and "second_preds" in lists:
        return [lists["first_preds"], lists["second_preds"]]
    found = lists.get("original_preds")
    if found is None:
        hint = "original_preds, or first_preds and second_preds"
        raise DataError("the predictions on the originals are missing", hint=hint, file=path, line=1)
    if found and isinstance(found[0], list):
        return [[pair[0] for pair in found], [pair[1] for pair in found]]
    return [found]


def _gold(lists: Mapping[str, list[Any]], kind: str, count: int, path: Path) -> list[list[Any] | None]:
    """The right labels of each column of predictions."""
    labels = lists.get("labels")
    if kind == "additive":  # one label for both texts and the two joined
        return [labels] * count
    if kind == "transitive":
        own = [lists.get("first_labels"), lists.get("second_labels")]
        if labels is None or None in own:
            hint = "τ is over groups with both originals right: add first_labels, second_labels and labels"
            raise DataError("transitive: the right labels are missing", hint=hint, file=path, line=1)
        return [*own, labels]
    return [labels, lists.get("neg_labels") if kind == "negational" else labels]


def _rows(
    columns: list[list[Any]], gold: list[list[Any] | None], kind: str, path: Path
) -> Iterator[dict[str, Any]]:
    roles = ["original"] * (len(columns) - 1) + ["conclusion" if len(columns) == 3 else "variant"]
    for n in range(len(columns[0])):
        for role, column, right in zip(roles, columns, gold, strict=True):
            accepted = None if right is None else _label(right[n], path)
            both = kind == "transitive" and role == "conclusion" and accepted == _NOT_ENTAILMENT
            yield {
                "group": str(n),
                "role": role,
                "label": _label(column[n], path),
                "gold": ["1", "2"] if both else None if accepted is None else [accepted],
            }


def _label(value: str | float | None, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if float(value).is_integer():
        return str(int(value))
    raise DataError(f"found the prediction {value}, expected a label or its number", hint="correct it",
                    file=path, line=1)  # fmt: skip
