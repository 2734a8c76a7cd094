"""Semantic sensitivity of NLI models (Arakelyan et al. 2024): does a paraphrase of the hypothesis turn the label?

SNLI test, MNLI matched dev and the three rounds of ANLI test, from their published files. The paraphrases come
from --writer; each counts once the model under test says that it and the original entail one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from unwaver.errors import UsageError
from unwaver.files import EXTENSIONS, Row, extension, read_rows, shown
from unwaver.suites import check_case
from unwaver.suites.common import is_quoted, read_label
from unwaver.suites.library import Library, library
from unwaver.tasks import built_in
from unwaver.text.refused import Refused
from unwaver.types import Group, Item, Suite
from unwaver.variants.bank import open_bank
from unwaver.variants.paraphrase import BANK, K, paraphrase, shown_writer
from unwaver.variants.source import Source

KIND = "fooling"
CASES = dict.fromkeys(("snli", "mnli", "anli-r1", "anli-r2", "anli-r3"), (KIND,))


class _Place(NamedTuple):
    folders: tuple[str, ...]
    name: str  # a regular expression of the file's name, or of its path
    home: str  # what is missing if there is none


_PLACES = {
    "snli": _Place(("snli", "becel/snli"), r"(^|_)test\.", "snli/snli_1.0_test.jsonl"),
    "mnli": _Place(("mnli",), r"(?<![a-z])(dev|validation)_?matched", "mnli/dev_matched.jsonl"),
    **{
        f"anli-r{n}": _Place(
            ("anli_adversarial", "anli", f"anli/R{n}", f"anli_v1.0/R{n}"),
            rf"(r{n}.*test|^test\.)",
            f"anli/R{n}/test.jsonl",
        )
        for n in (1, 2, 3)
    },
}
_PREMISE = ("premise", "sentence1", "context")
_HYPOTHESIS = ("hypothesis", "sentence2", "statement")
_LABEL = ("gold_label", "label")
_SHORT = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def suite(
    data_dir: Path | None = None,
    *,
    fetch: bool = False,
    say: Callable[[str], None] | None = None,
    writer: str | None = None,
    judges: Sequence[str] = (),
    k: int | None = None,
    encoder: str | None = None,
    lang: str = "en",
) -> Suite:
    files = library(data_dir, fetch=fetch, say=say)

    @lru_cache(maxsize=5)
    def source(task: str) -> Source:
        return Source("sensitivity", built_in()[task], tuple(_items(task, files)))

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case("sensitivity", CASES, task, kind)
        found = source(task)  # a missing file is said first
        if writer is None:
            hint = "--writer rules, --writer bank/FILE, or a model: --writer hf/PATH"
            raise UsageError("sensitivity needs a writer of paraphrases", hint=hint)
        build = paraphrase(
            kind=KIND, writer=writer, judges=judges, k=_k(found, writer, k), encoder=encoder, lang=lang
        )
        return (each for each in build(found) if not isinstance(each, Refused))

    def examples(task: str) -> Iterator[Item]:
        return iter(source(task).items)

    def notes(task: str, kind: str) -> list[str]:
        check_case("sensitivity", CASES, task, kind)
        by = ", ".join(judges) or "entail=self"
        found = source(task)
        named = shown_writer(writer or "", found.task)
        return [f"paraphrases by {named}, judged by {by}; k = {_k(found, writer or '', k)}"]

    return Suite("sensitivity", CASES, groups, examples, notes)


def _k(source: Source, writer: str, k: int | None) -> int:
    """Five, as published; a bank with fewer variants of each item has that many."""
    if k is not None:
        return k
    if not writer.startswith(BANK):
        return K
    bank = open_bank(writer.removeprefix(BANK), source.task)
    return max(1, min(K, max((len(bank.of(item)) for item in source.items), default=0)))


def _items(task: str, files: Library) -> Iterator[Item]:
    """The pairs that have a gold label, named after their row."""
    for n, row in enumerate(_rows(task, files)):
        names = [_column(row, known) for known in (_PREMISE, _HYPOTHESIS, _LABEL)]
        label = row.cells[names[2]]
        labels = built_in()[task].labels
        accepted = read_label(row, names[2], _SHORT.get(str(label), label), labels)
        if accepted:
            fields = {"premise": row.text(names[0]), "hypothesis": row.text(names[1])}
            yield Item(str(n), task, "original", fields, labels, accepted)


def _rows(task: str, files: Library) -> list[Row]:
    place = _PLACES[task]
    found = [p for p in files.files_in(place.folders) if extension(p) in EXTENSIONS]
    found = [p for p in found if re.search(place.name, p.name.lower())]
    if not found:
        raise files.missing(place.home, f"a file like {place.home} in {' or '.join(place.folders)}")
    order = (".jsonl", ".json", ".tsv", ".csv")
    path = min(found, key=lambda p: (_rank(p, place.folders), order.index(extension(p)), p.name))
    rows = read_rows(path, quoting=is_quoted(task, path))
    number = task[-1]
    if task.startswith("anli") and "tag" in rows[0].cells:  # three rounds in one file
        rows = [row for row in rows if str(row.cells["tag"]).lower().startswith(f"r{number}")]
    return rows


def _rank(path: Path, folders: Sequence[str]) -> int:
    return next((n for n, folder in enumerate(folders) if str(path.parent).endswith(folder)), len(folders))


def _column(row: Row, known: Sequence[str]) -> str:
    for name in known:
        if name in row.cells:
            return name
    raise row.where.error(
        f"no column {' or '.join(known)}; found: {shown(', '.join(row.cells))}", "name the columns as published"
    )
