"""A user's table: one row has an original, its variants, and perhaps the right answers.

Columns are recognised by their names, or the caller names them: {"original": "q", "variant": "q2"}.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from unwaver.answers.columns import as_text
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, Where, missing_column, shown
from unwaver.groups import KINDS, expect_of
from unwaver.groups.conversations import with_messages
from unwaver.suites.common import read_label
from unwaver.suites.conversations import SYSTEM, system_of
from unwaver.suites.fit import fitted
from unwaver.tasks import Task, known
from unwaver.types import Expect, Group, Item, Message, replace

if TYPE_CHECKING:
    from unwaver.suites.own_limited import Seen

MOST_LABELS = 20  # more different gold answers than this are taken as free text

_ORIGINAL = ("original", "text", "question", "sentence", "prompt", "input", "source")
_ROLES = {
    "gold": ("gold", "label", "answer", "gold_label"),
    "variant_gold": ("variant_gold", "variant_label", "neg_label"),
    "kind": ("kind", "relation"),
    "task": ("task",),
    "id": ("group", "id", "index"),
    "choices": ("choices", "labels"),
    "tag": ("tag",),
    "system": SYSTEM,
}
_KNOWN_ROLES = ("original", "variant", *_ROLES)


@dataclass(frozen=True)
class Options:
    suite: str
    task: str | None
    kind: str | None
    columns: Mapping[str, str | Sequence[str]]
    labels: tuple[str, ...]
    tasks: Mapping[str, Task] = field(default_factory=known)


@dataclass(frozen=True)
class _Columns:
    fields: Mapping[str, str]  # field of the task -> column
    modified: str  # the field that a variant replaces
    variants: tuple[str, ...]
    roles: Mapping[str, str]

    def cell(self, row: Row, role: str) -> Any:
        """The cell of a role, None if there is none or it is empty."""
        value = row.cells.get(self.roles[role]) if role in self.roles else None
        return None if value == "" else value


@dataclass(frozen=True)
class _Pair:
    """One row with one of its variants."""

    row: Row
    id: str
    task: str
    kind: str
    original: Mapping[str, str]
    variant: Mapping[str, str]
    columns: _Columns

    def labels(self, role: str, choices: tuple[str, ...]) -> tuple[str, ...]:
        """Those in the gold or variant_gold column; any text if there are no choices."""
        values = _as_texts(self.columns.cell(self.row, role))
        if not choices:
            return values
        column = self.columns.roles.get(role, role)
        return tuple(label for v in values for label in read_label(self.row, column, v, choices))


def table_groups(rows: Sequence[Row], options: Options) -> list[tuple[Group, Where]]:
    """A group for each original and variant, with the place of its row."""
    pairs, choices = _pairs(rows, options)
    return [(_pair_group(p, options, choices[p.task]), p.row.where) for p in _unique_ids(pairs)]


def seen_rows(rows: Sequence[Row], options: Options) -> Iterator[Seen] | None:
    """The same groups, not yet built; None if rows have choices of their own, which tell what the task is."""
    from unwaver.suites.own_limited import Seen, key_of

    pairs, choices = _pairs(rows, options)
    if any("choices" in pair.columns.roles for pair in pairs[:1]):
        return None

    def seen() -> Iterator[Seen]:
        for pair in _unique_ids(pairs):
            system = str(pair.columns.cell(pair.row, "system"))
            asked = key_of(pair.task, system, sorted(pair.original.items()))
            make = partial(_pair_group, pair, options, choices[pair.task])
            yield Seen((pair.task, pair.kind), [asked], make, pair.row.where)

    return seen()


def _pairs(rows: Sequence[Row], options: Options) -> tuple[list[_Pair], dict[str, tuple[str, ...]]]:
    """Each original with each of its variants, and the labels of each task."""
    names = tuple(dict.fromkeys(name for row in rows for name in row.cells))
    top = Where(rows[0].where.file, 1)
    roles = _roles(names, options.columns, top)
    by_task: dict[str, _Columns] = {}
    pairs: list[_Pair] = []
    for row in rows:
        task = _own_text(row, roles, "task") or options.task or "own"
        if task not in by_task:
            try:
                by_task[task] = _columns(names, roles, options.tasks.get(task), options.columns, top)
            except DataError as e:
                if task != "own" and task not in options.tasks:
                    e.hint = f"{e.hint}; {task} is not a built-in task: {near(task, options.tasks)}"
                raise
        pairs += _row_pairs(row, task, by_task[task], options)
    return pairs, {task: _choices(task, pairs, options.labels, options.tasks) for task in by_task}


def _roles(names: Sequence[str], given: Mapping[str, str | Sequence[str]], where: Where) -> dict[str, str]:
    for role, column in given.items():
        if role not in _KNOWN_ROLES:
            raise UsageError(f"no column can be the {role}", hint=near(role, _KNOWN_ROLES))
        for name in [column] if isinstance(column, str) else column:
            if name not in names:
                raise where.error(missing_column(name, names), near(name, names))
    return roles_of(names) | {role: str(column) for role, column in given.items() if role in _ROLES}


def roles_of(names: Sequence[str]) -> dict[str, str]:
    """What columns are besides texts, by their names: {"gold": "Answer", "id": "id"}."""
    plain = {plain_name(name): name for name in reversed(names)}
    found = {role: next((plain[a] for a in aliases if a in plain), None) for role, aliases in _ROLES.items()}
    return {role: column for role, column in found.items() if column is not None}


def plain_name(name: str) -> str:
    """plain_name("Gold Label") -> "gold_label"."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def _columns(
    names: Sequence[str],
    roles: Mapping[str, str],
    task: Task | None,
    given: Mapping[str, str | Sequence[str]],
    where: Where,
) -> _Columns:
    free = [name for name in names if name not in roles.values() and name != ""]
    variants = _as_list(given.get("variant", ()))
    fields = _field_columns(names, [n for n in free if n not in variants], task, given, where)
    modified = "text" if task is None else task.modified
    left = [name for name in free if name not in fields.values()]
    variants = variants or [n for n in left if is_variant(n, modified)] or (left if len(left) == 1 else [])
    if not variants:
        raise where.error(
            "no column for the variant; found: " + ", ".join(f'"{n}"' for n in names),
            'name it "variant" or "paraphrase", choose it: --column variant=NAME, or have variants made: '
            "--variants auto",
        )
    return _Columns(fields, modified, tuple(variants), roles)


def _as_list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _field_columns(
    names: Sequence[str],
    free: Sequence[str],
    task: Task | None,
    given: Mapping[str, str | Sequence[str]],
    where: Where,
) -> dict[str, str]:
    """The column of each field of the task; a file that names no built-in task has the one field "text"."""
    fields = {"text": "text"} if task is None else {name: name for name in task.fields}
    modified = "text" if task is None else task.modified
    if "original" in given:
        fields[modified] = str(given["original"])
    elif task is None or (len(fields) == 1 and modified not in names):
        fields[modified] = _original_column(names, free, where)
    for column in fields.values():
        if column not in names:
            raise where.error(missing_column(column, names), "needed: " + ", ".join(fields.values()))
    return fields


def _original_column(names: Sequence[str], free: Sequence[str], where: Where) -> str:
    plain = {plain_name(name): name for name in reversed(free)}
    for alias in _ORIGINAL:
        if alias in plain:
            return plain[alias]
    left = [name for name in free if not is_variant(name, "text")]
    if len(left) == 1 or len(free) == 2:  # of two columns the first
        return (left or free)[0]
    raise where.error(
        "no column for the original; found: " + ", ".join(f'"{n}"' for n in names),
        'name it "original" or "text", or choose it: --column original=NAME',
    )


def is_variant(name: str, modified: str) -> bool:
    """variant, variants, variant2, paraphrase_b, hypothesis_paraphrase, hypothesis_neg."""
    return plain_name(name).removeprefix(f"{modified}_").startswith(("variant", "paraphrase", "neg"))


def _row_pairs(row: Row, task: str, columns: _Columns, options: Options) -> Iterator[_Pair]:
    original = {field: _text(row, column) for field, column in columns.fields.items()}
    variants = [(column, text) for column in columns.variants for text in _variants(row, column)]
    if not variants:
        raise row.where.error(
            f'column "{columns.variants[0]}": found nothing, expected a variant', "fill the cell or drop the row"
        )
    for column, text in variants:
        guess = "negational" if re.search(r"(^|_)neg", plain_name(column)) else "semantic"
        kind = _own_text(row, columns.roles, "kind") or options.kind or guess
        name = str(columns.cell(row, "id") or row.where.line)
        yield _Pair(
            row=row,
            id=f"{options.suite}/{task}/{kind}/{name}",
            task=task,
            kind=kind,
            original=original,
            variant={**original, columns.modified: text},
            columns=columns,
        )


def _text(row: Row, column: str) -> str:
    text = row.text(column) if column in row.cells else ""
    if not text.strip():
        raise row.where.error(
            f'column "{column}": found nothing, expected a text', "fill the cell or drop the row"
        )
    return text


def _variants(row: Row, column: str) -> list[str]:
    """A cell of a .jsonl file may hold a list; an empty cell holds no variant."""
    value = row.cells.get(column)
    values = value if isinstance(value, list) else [] if value is None else [value]
    for text in values:
        if not isinstance(text, str):
            raise row.where.error(
                f'column "{column}": found {shown(text)}, expected text', "write it in double quotes"
            )
    return [text for text in values if text.strip()]


def _own_text(row: Row, roles: Mapping[str, str], role: str) -> str:
    value = row.cells.get(roles[role]) if role in roles else None
    return "" if value is None else str(value).strip()


def _choices_cell(row: Row, columns: _Columns) -> tuple[str, ...]:
    """["yes", "no"] in a .jsonl file, yes|no in a table."""
    value = columns.cell(row, "choices")
    parts = value if isinstance(value, list) else str(value or "").split("|")
    texts = ((as_text(part) or "").strip() for part in parts)
    return tuple(text for text in texts if text)


def _choices(
    task: str, pairs: Sequence[_Pair], labels: tuple[str, ...], tasks: Mapping[str, Task]
) -> tuple[str, ...]:
    """The labels of a task: its own, those given, or those seen. None: answers are free text."""
    if task in tasks:
        if labels and labels != tasks[task].labels:
            raise UsageError(
                f"{task} has labels of its own: {', '.join(tasks[task].labels)}",
                hint="leave the labels out, or give the task another name",
            )
        return tasks[task].labels
    if labels:
        return labels
    mine = [pair for pair in pairs if pair.task == task]
    seen = {label for pair in mine for role in ("gold", "variant_gold") for label in pair.labels(role, ())}
    return tuple(sorted(seen)) if 2 <= len(seen) <= MOST_LABELS else ()


def _as_texts(value: Any) -> tuple[str, ...]:
    """1 and 1.0 -> ("1",), ["a", "b"] -> ("a", "b"), None -> ()."""
    texts = ((as_text(v) or "").strip() for v in (value if isinstance(value, list) else [value]))
    return tuple(text for text in texts if text not in ("", "-"))


def _unique_ids(pairs: Iterable[_Pair]) -> Iterator[_Pair]:
    """Rows may share an id, and a row may have several variants: 7, 7.2, 7.3."""
    counts: Counter[str] = Counter()
    for pair in pairs:
        counts[pair.id] += 1
        yield pair if counts[pair.id] == 1 else replace(pair, id=f"{pair.id}.{counts[pair.id]}")


def _pair_group(pair: _Pair, options: Options, labels: tuple[str, ...]) -> Group:
    row = pair.row
    choices = _choices_cell(row, pair.columns) or labels
    expect = _pair_expect(pair.kind, row.where)
    gold = pair.labels("gold", choices)
    if pair.columns.cell(row, "variant_gold") is not None:
        variant_gold = pair.labels("variant_gold", choices)
    else:
        variant_gold = gold if expect == "same" else _other_label(pair, gold, choices, options.tasks)
    original = Item(f"{pair.id}/0", pair.task, "original", pair.original, choices, gold)
    variant = Item(f"{pair.id}/1", pair.task, "variant", pair.variant, choices, variant_gold)
    if column := pair.columns.roles.get("system"):
        system = system_of(row, column)
        original, variant = (_after(system, item, pair, options) for item in (original, variant))
    tag = _own_text(row, pair.columns.roles, "tag")
    group = Group(pair.id, options.suite, pair.task, pair.kind, expect, (original, variant), tag=tag)
    return fitted(group, row.where, options.tasks)


def _after(system: tuple[Message, ...], item: Item, pair: _Pair, options: Options) -> Item:
    """The item as a conversation that begins with a system text, if the row has one."""
    if pair.task in options.tasks or len(item.fields) > 1:
        column = pair.columns.roles["system"]
        hint = "rename the column; one text for all items: --system-file FILE"
        raise pair.row.where.error(f'column "{column}": {pair.task} has a prompt of its own', hint)
    return with_messages(item, (*system, Message("user", item.fields["text"])))


def _pair_expect(kind: str, where: Where) -> Expect:
    expect = expect_of(kind)
    if expect is None:
        raise where.error(
            f"kind: found {shown(kind)}, which is not known",
            f'to use your own kind, write a groups.jsonl in which groups have "expect"; {near(kind, KINDS)}',
        )
    if expect in ("implied", "bucket"):
        raise where.error(
            f"kind: found {kind}, but an original and a variant cannot be {kind}",
            'write a groups.jsonl, one line per group: {"items": [{"text": "…"}, {"text": "…"}, {"text": "…"}]}',
        )
    return expect


def _other_label(
    pair: _Pair, gold: tuple[str, ...], choices: tuple[str, ...], tasks: Mapping[str, Task]
) -> tuple[str, ...]:
    """The label that a negation gives: what the task says, or the other one of two."""
    task = tasks.get(pair.task)
    relation = task.relations.get(pair.kind) if task else None
    if gold and relation is not None and relation.to is not None:
        return (relation.to,)
    return tuple(c for c in choices if c not in gold) if len(choices) == 2 and len(gold) == 1 else ()
