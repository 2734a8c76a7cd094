"""BECEL (Jang et al. 2022): five relations on seven tasks, from DIR/becel/<task>/<relation>.tsv.

The original and the variant come from one row. Symmetric files hold the swapped text, so there the original is
the row swapped back. Transitive rows name the two base rows they follow from in `originated_idx`, as "i|j".
Additive files (as the authors' README describes them: text_1, text_2, merged_text, label – for SST-2
sentence_1, sentence_2, merged_sentence) are read where present; else the set is built by the paper's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from unwaver.errors import UsageError
from unwaver.files import Row, read_rows, shown, whole
from unwaver.groups.clusters import with_clusters
from unwaver.suites import check_case
from unwaver.suites.common import gold, task_fields
from unwaver.suites.library import Library, library
from unwaver.tasks import Task, built_in
from unwaver.types import Group, Item, Suite
from unwaver.variants.compose import CAP, PUBLISHED, WAYS, additive_pairs, length_limit
from unwaver.variants.compose import additive as additive_builder
from unwaver.variants.source import Source, group_of
from unwaver.variants.swap import swapped

CASES = {
    "boolq": ("semantic", "negational"),
    "snli": ("semantic", "negational", "symmetric", "transitive"),
    "rte": ("semantic", "negational", "symmetric"),
    "mrpc": ("semantic", "negational", "symmetric"),
    "wic": (
        "semantic",
        "semantic_negated",
        "symmetric",
        "transitive",
        "transitive_new",
        "transitive_swapped",
    ),
    "sst2": ("semantic", "additive"),
    "ag_news": ("semantic", "additive"),
}

# the split that semantic, negational and additive sets were made from
_BASE = {
    "boolq": "validation",
    "snli": "test",
    "rte": "validation",
    "mrpc": "test",
    "wic": "validation",
    "sst2": "validation",
    "ag_news": "test",
}
_TRANSITIVE_BASE = {"snli": "test", "wic": "train"}
_SYMMETRIC_BASE = {"snli": "test", "rte": "train", "mrpc": "train", "wic": "train"}


def base_of(task: str, kind: str) -> str:
    """The split that a set was made from: base_of("rte", "symmetric") -> "train"."""
    relation = kind.partition("_")[0]
    return {"transitive": _TRANSITIVE_BASE, "symmetric": _SYMMETRIC_BASE}.get(relation, _BASE)[task]


Read = Callable[[str, str, tuple[str, ...]], list[Row]]  # task, file, required columns
_Plan = Mapping[str, Any]  # options of the additive builder


def suite(
    data_dir: Path | None = None,
    *,
    fetch: bool = False,
    say: Callable[[str], None] | None = None,
    additive: str = "disjoint",
    additive_cap: int | None = None,
    seed: int = 0,
) -> Suite:
    """`additive` is how pairs are made where the file is absent: "disjoint" (each text in at most one pair) or
    "all" (every pair, at most `additive_cap` of them, 50,000 by default, drawn under the seed). "published" is
    "all" with lengths of the evaluation set, also where there is a training file: most likely the paper's 53K."""
    if additive not in WAYS:
        raise UsageError(f"additive={additive} is not known", hint=f"additive is {', '.join(WAYS)}")
    if additive_cap is not None and additive_cap < 1:
        raise UsageError(f"additive_cap={additive_cap} leaves no pairs", hint="give 1 or more")
    plan = {"how": additive, "cap": CAP if additive_cap is None else additive_cap, "seed": seed}
    files = library(data_dir, fetch=fetch, say=say)

    @lru_cache(maxsize=4)  # wic/train is the base of three kinds
    def read(task: str, name: str, required: tuple[str, ...]) -> list[Row]:
        return read_rows(files.find(f"becel/{task}/{name}"), required=required)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case("becel", CASES, task, kind)
        return iter(with_clusters(_groups(built_in()[task], kind, read, files, plan)))

    def examples(task: str) -> Iterator[Item]:
        check_case("becel", CASES, task, "semantic")
        return _examples(built_in()[task], read, files)

    def notes(task: str, kind: str) -> list[str]:
        check_case("becel", CASES, task, kind)
        return _notes(built_in()[task], kind, read, files, plan)

    def base(task: str, kind: str) -> tuple[str, Iterator[Item]]:
        split = base_of(task, kind)
        rows = read(task, split, (*built_in()[task].fields, "label"))
        return split, (_original(built_in()[task], str(n), row) for n, row in enumerate(rows))

    return Suite("becel", CASES, groups, examples, notes, base=base)


def _groups(task: Task, kind: str, read: Read, files: Library, plan: _Plan) -> Iterable[Group]:
    if kind == "semantic":
        return _paired(task, kind, "semantic", "paraphrase", read)
    if kind in ("negational", "semantic_negated"):
        return _paired(task, kind, "negational", "neg", read)
    if kind == "symmetric":
        return _symmetric(task, read)
    if kind == "additive":
        return _additive(task, read, files, plan)
    return _transitive(task, kind, read)


# --- a row holds original and variant -----------------------------------------------------------------------


def _paired(task: Task, kind: str, name: str, suffix: str, read: Read) -> Iterator[Group]:
    column = f"{task.modified}_{suffix}"
    variant_label = "neg_label" if kind == "negational" else "label"
    required = (*task.fields, column, "label", variant_label)
    for n, row in enumerate(read(task.name, name, tuple(dict.fromkeys(required)))):
        fields = task_fields(row, task)
        variant = {**fields, task.modified: row.text(column)}
        texts = (fields, gold(row, "label", task.labels)), (variant, gold(row, variant_label, task.labels))
        yield _group(task, kind, str(n), texts, tag=row.cells.get("tag") or "")


def _symmetric(task: Task, read: Read) -> Iterator[Group]:
    for n, row in enumerate(read(task.name, "symmetric", (*task.fields, "label"))):
        variant, label = task_fields(row, task), gold(row, "label", task.labels)
        yield _group(task, "symmetric", str(n), ((swapped(variant), label), (variant, label)))


Text = tuple[dict[str, str], tuple[str, ...]]  # fields, accepted labels


def _group(task: Task, kind: str, row: str, texts: Sequence[Text], tag: str = "") -> Group:
    """Original and variant; or two originals and the conclusion."""
    return group_of(Source("becel", task, ()), kind, row, texts, tag=tag)


# --- transitive ---------------------------------------------------------------------------------------------


def _transitive(task: Task, kind: str, read: Read) -> Iterator[Group]:
    base = read(task.name, _TRANSITIVE_BASE[task.name], (*task.fields, "label"))
    swaps = set() if kind == "transitive" else {_swap_of(row, task) for row in base}
    for n, row in enumerate(read(task.name, "transitive", (*task.fields, "label", "originated_idx"))):
        conclusion = task_fields(row, task)
        is_swap = (*conclusion.values(), row.cells["label"]) in swaps
        if kind == "transitive" or is_swap == (kind == "transitive_swapped"):
            origin = [base[i] for i in _origin(row, base)]
            texts = [(task_fields(o, task), gold(o, "label", task.labels)) for o in origin]
            _check_origin(row, conclusion, [fields for fields, _ in texts])
            yield _group(task, kind, str(n), [*texts, (conclusion, _implied(row, task))])


def _swap_of(row: Row, task: Task) -> tuple[object, ...]:
    return (*swapped(task_fields(row, task)).values(), row.cells["label"])


def _origin(row: Row, base: Sequence[Row]) -> tuple[int, int]:
    found = row.text("originated_idx")
    numbers = [number for part in found.split("|") if (number := whole(part)) is not None]
    if len(numbers) != 2 or found.count("|") != 1 or max(numbers) >= len(base):
        raise row.where.error(
            f'column "originated_idx": found {shown(found)}, expected i|j with 0 ≤ i, j ≤ {len(base) - 1}',
            hint=f"i and j are rows, from 0, of {base[0].where.file}",
        )
    return numbers[0], numbers[1]


def _check_origin(row: Row, conclusion: dict[str, str], originals: Sequence[dict[str, str]]) -> None:
    """Another edition of the base file has other rows at these places: the texts tell.

    One known text is enough: row 486 of snli/transitive ends its premise in a stray "/".
    """
    known = {text for fields in originals for text in fields.values()}
    column = list(conclusion)[-1]
    if not known & set(list(conclusion.values())[-2:]):
        raise row.where.error(
            f'column "{column}": found {shown(conclusion[column])}, expected a text of the base rows '
            f"{row.cells['originated_idx']}",
            hint="the base file (snli/test, wic/train) is not the edition that this set was made from",
        )


def _implied(row: Row, task: Task) -> tuple[str, ...]:
    """SNLI has a label 3, "not entailment", which two labels satisfy."""
    if task.name == "snli" and row.cells["label"] in ("3", 3):
        return task.labels[1:]
    return gold(row, "label", task.labels)


# --- additive -----------------------------------------------------------------------------------------------


def _additive(task: Task, read: Read, files: Library, plan: _Plan) -> Iterator[Group]:
    if files.find_optional(f"becel/{task.name}/additive") is not None:
        yield from _additive_file(task, read)
        return
    source = _base(task, read)
    limit, _ = _length_limit(source, read, files, plan)
    build = additive_builder(limit=limit, **plan)
    yield from (made for made in build(source) if isinstance(made, Group))


def _additive_file(task: Task, read: Read) -> Iterator[Group]:
    name = task.modified
    columns = (f"{name}_1", f"{name}_2", f"merged_{name}")
    for n, row in enumerate(read(task.name, "additive", (*columns, "label"))):
        label = gold(row, "label", task.labels)
        yield _group(task, "additive", str(n), [({name: row.text(column)}, label) for column in columns])


def _base(task: Task, read: Read) -> Source:
    rows = read(task.name, _BASE[task.name], (*task.fields, "label"))
    return Source("becel", task, tuple(_original(task, str(n), row) for n, row in enumerate(rows)))


def _original(task: Task, id: str, row: Row) -> Item:
    accepted = gold(row, "label", task.labels)
    return Item(id, task.name, "original", task_fields(row, task), task.labels, accepted)


def _additive_note(task: Task, read: Read, files: Library, plan: _Plan) -> str:
    source = _base(task, read)
    limit, limit_file = _length_limit(source, read, files, plan)
    made = additive_pairs(source, limit=limit, **plan)
    if plan["how"] == "disjoint":
        how = f"{len(made.pairs):,} disjoint pairs (each text in at most one)"
    elif len(made.pairs) == made.possible:
        how = f"all {made.possible:,} pairs"
    else:
        how = f"{len(made.pairs):,} of {made.possible:,} pairs, drawn"
    base = f"becel/{task.name}/{_BASE[task.name]}"
    return (
        f"no additive file: built from {base}: {how}, under seed {plan['seed']}, of texts with one label; joined "
        f"by a space, at most {limit:g} tokens (white space), the 75 % quantile of lengths in {limit_file}"
    )


def _length_limit(source: Source, read: Read, files: Library, plan: _Plan) -> tuple[float, str]:
    name, field = source.task.name, source.task.modified
    published = plan["how"] == PUBLISHED
    if published or files.find_optional(f"becel/{name}/train") is None:
        limit = length_limit([item.fields[field] for item in source.items])
        why = f"--additive {PUBLISHED}" if published else "as there is no training file"
        return limit, f"becel/{name}/{_BASE[name]} itself, {why}"
    train = read(name, "train", source.task.fields)
    return length_limit([row.text(field) for row in train]), f"becel/{name}/train"


# --- examples and notes -------------------------------------------------------------------------------------


def _examples(task: Task, read: Read, files: Library) -> Iterator[Item]:
    """From the training file; else from validation, unless the sets were made from it; else from their base."""
    if files.find_optional(f"becel/{task.name}/train") is not None:
        name = "train"
    elif _BASE[task.name] != "validation" and files.find_optional(f"becel/{task.name}/validation") is not None:
        name = "validation"
    else:
        name = _BASE[task.name]
    for n, row in enumerate(read(task.name, name, (*task.fields, "label"))):
        item = _original(task, f"becel/{task.name}/{name}/{n}", row)
        if item.accepted:
            yield item


def _notes(task: Task, kind: str, read: Read, files: Library, plan: _Plan) -> list[str]:
    if kind == "additive":
        if files.find_optional(f"becel/{task.name}/additive") is not None:
            return ["the published additive file"]
        return [_additive_note(task, read, files, plan)]
    if kind == "semantic_negated":
        return ["from wic/negational.tsv, whose negations keep the sense of the word: the label must stay"]
    if kind.startswith("transitive") and task.name == "wic":
        return ["695 of the 3,162 conclusions are a training pair swapped and test symmetry: transitive_swapped"]
    return []
