"""The suites core and core-mini."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from unwaver.errors import DataError
from unwaver.groups import group_to_json
from unwaver.suites import check_case
from unwaver.suites.core.book import Book
from unwaver.suites.core.forms import tasks_of
from unwaver.suites.core.sizes import MINI_SHAPE, Shape, balanced, chosen, every_group
from unwaver.suites.core.table import Table, read_table
from unwaver.types import Group, Suite

VERSION = "1"  # raise it when a text, a table or the choice of groups changes
CORE, MINI = "core", "core-mini"


def core(*, core_seed: int = 0, tables: Sequence[str] = ()) -> Suite:
    """Every kind, about all tables. `tables` adds files of your own."""
    return _suite(CORE, core_seed, tuple(str(file) for file in tables))


def mini(*, core_seed: int = 0, tables: Sequence[str] = ()) -> Suite:
    """A small part with every kind and family, for a first look."""
    return _suite(MINI, core_seed, tuple(str(file) for file in tables))


def all_tables(own: Sequence[str] = ()) -> tuple[Table, ...]:
    """The tables that ship with unwaver, and those of a user's files."""
    folder = resources.files("unwaver.suites.core").joinpath("tables")
    with resources.as_file(folder) as path:
        found = [read_table(file) for file in sorted(path.glob("*.toml"))]
    for file in own:
        added = read_table(Path(file))
        if any(added.name == table.name for table in found):
            raise DataError(f"there is a table {added.name!r} already", hint="give it another name", file=file)
        found.append(added)
    return tuple(found)


@lru_cache(maxsize=4)
def _made(name: str, seed: int, own: tuple[str, ...]) -> tuple[Book, Mapping[tuple[str, str], list[Group]]]:
    shape = Shape() if name == CORE else MINI_SHAPE
    book = Book(name, all_tables(own), seed, shape.variants, shape.wordings, shape.most_of)
    by_case: dict[tuple[str, str], list[Group]] = {}
    for group in chosen(every_group(book), shape, {t.name: len(t.rows) for t in book.tables}):
        by_case.setdefault((group.task, group.kind), []).append(group)
    return book, {case: balanced(groups) for case, groups in by_case.items()}


def _suite(name: str, seed: int, own: tuple[str, ...]) -> Suite:
    book, by_case = _made(name, seed, own)
    cases = {task: tuple(k for t, k in by_case if t == task) for task, _ in by_case}

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case(name, cases, task, kind)
        return iter(by_case[task, kind])

    made = [group for case in by_case.values() for group in case]
    return Suite(
        name,
        cases,
        groups,
        lambda _: iter(()),
        lambda *_: [],
        tasks_of(book.tables),
        version=f"{VERSION}:{digest(made)}",
        balanced=True,
    )


def digest(groups: Sequence[Group]) -> str:
    """A hash of all that is asked."""
    said = json.dumps([group_to_json(group) for group in groups], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]
