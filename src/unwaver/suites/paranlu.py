"""ParaNLU (Srikanth et al. 2024): 1,000 problems of abduction (α-NLI) and defeasible inference (δ-NLI), each with
up to nine paraphrases written by people, from DIR/paranlu/<task>_paraphrases_human.json.

    anli      which of two hypotheses explains two observations? Both hypotheses are paraphrased.
    snli, atomic, social    does an update strengthen or weaken the hypothesis? The update is paraphrased.

A group is a bucket: the original and its paraphrases, all with one right answer. Solved examples come from files
of the tasks themselves, in DIR/abductive_nli_art and DIR/defeasible_nli.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from unwaver.errors import DataError
from unwaver.files import Row, Where, extension, read_json, read_rows, read_text, shown
from unwaver.suites import check_case
from unwaver.suites.library import Library, library
from unwaver.tasks import Task, task_named
from unwaver.tasks.paranlu_names import TASKS as TASKS
from unwaver.types import Group, Item, Role, Suite

Problems = dict[str, list[dict[str, Any]]]
Labelled = tuple[int, dict[str, str], tuple[str, ...]]  # number of the row, fields, right answer
CASES = dict.fromkeys(TASKS, ("paraphrase",))
PARAPHRASED = {"anli": ("hyp1", "hyp2"), "snli": ("update",), "atomic": ("update",), "social": ("update",)}


def suite(
    data_dir: Path | None = None,
    *,
    fetch: bool = False,
    say: Callable[[str], None] | None = None,
    source: str = "human",
    bank: str | None = None,
    seed: int = 0,
) -> Suite:
    """`source` is "human", or "automatic": paraphrases of the file `bank`, or of DIR/paranlu."""
    files = library(data_dir, fetch=fetch, say=say)

    @lru_cache(maxsize=1)
    def human(task: str) -> Problems:
        return read_problems(files.find(f"paranlu/{task}_paraphrases_human"), task)

    @lru_cache(maxsize=1)
    def problems(task: str) -> Problems:
        if source == "human":
            return human(task)
        from unwaver.suites.paranlu_automatic import automatic_problems

        path = Path(bank) if bank else _first(files, (f"paranlu/{task}_paraphrases_automatic",))
        return automatic_problems(path, human(task), PARAPHRASED[task], seed)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case("paranlu", CASES, task, kind)
        return (_group(task, id, paraphrases, source) for id, paraphrases in problems(task).items())

    def examples(task: str) -> Iterator[Item]:
        check_case("paranlu", CASES, task, "paraphrase")
        return _abductive_examples(files) if task == "anli" else _defeasible_examples(task, files)

    def notes(task: str, kind: str) -> list[str]:
        check_case("paranlu", CASES, task, kind)
        drawn = ["drawn evenly over the confidence of a RoBERTa model, so harder than the test set of the task"]
        if source == "human":
            return drawn
        lost = len(human(task)) - len(problems(task))
        return [*drawn, f"automatic paraphrases; {lost:,} of {len(human(task)):,} problems have none"]

    return Suite("paranlu", CASES, groups, examples, notes)


# --- problems -----------------------------------------------------------------------------------------------


def read_problems(path: Path, task: str) -> dict[str, list[dict[str, Any]]]:
    """The paraphrased problems of each original, by its id, checked."""
    found = read_json(path)
    if not isinstance(found, dict) or not found:
        hint = '{"id of the original": [{"original_example": {…}, …}, …]}'
        raise DataError(f"found {shown(found)}, expected paraphrases by id", hint=hint, file=path, line=1)
    text = read_text(path)
    for id, paraphrases in found.items():
        where = Where(str(path), text.count("\n", 0, max(0, text.find(f'"{id}"'))) + 1)
        if not isinstance(paraphrases, list) or not paraphrases:
            raise where.error(f"{id}: found {shown(paraphrases)}, expected a list of paraphrases", "leave it out")
        for n, paraphrase in enumerate(paraphrases):
            _check(paraphrase, task, f"{id}, paraphrase {n}", where)
    return found


def _check(paraphrase: object, task: str, what: str, where: Where) -> None:
    original = paraphrase.get("original_example") if isinstance(paraphrase, dict) else None
    if not isinstance(paraphrase, dict) or not isinstance(original, dict):
        raise where.error(f"{what}: found {shown(paraphrase)}, expected a paraphrase", 'it has "original_example"')
    new = tuple(f"{name}_paraphrase" for name in PARAPHRASED[task])
    for texts, names in ((original, task_named(TASKS[task]).fields), (paraphrase, new)):
        for name in names:
            if not isinstance(texts.get(name), str) or not texts[name].strip():
                raise where.error(f'{what}: "{name}" is {shown(texts.get(name))}, expected a text', "fill it in")
    known = (1, 2) if task == "anli" else (0, 1)
    if original.get("label") not in known:
        found = shown(original.get("label"))
        raise where.error(f'{what}: "label" is {found}, expected {known[0]} or {known[1]}', "correct it")


def _group(task: str, id: str, paraphrases: list[dict[str, Any]], source: str = "human") -> Group:
    name = f"paranlu/{task}/paraphrase/{id}"
    form = task_named(TASKS[task])
    original = paraphrases[0]["original_example"]
    fields = {field: original[field] for field in form.fields}
    accepted = _accepted(form, original["label"])
    items = [_item(f"{name}/0", form, "original", fields, accepted)]
    for n, paraphrase in enumerate(paraphrases, 1):
        changed = {field: paraphrase[f"{field}_paraphrase"] for field in PARAPHRASED[task]}
        number = f"{n}" if source == "human" else f"{source}/{n}"
        items.append(_item(f"{name}/{number}", form, "variant", {**fields, **changed}, accepted))
    return Group(name, "paranlu", task, "paraphrase", "bucket", tuple(items), cluster=name)


def _item(id: str, task: Task, role: Role, fields: Mapping[str, str], accepted: tuple[str, ...]) -> Item:
    return Item(id, task.name, role, fields, task.labels, accepted)


def _accepted(task: Task, label: int) -> tuple[str, ...]:
    """α-NLI counts its hypotheses from 1, and so are its labels named; δ-NLI counts its classes from 0."""
    return (str(label),) if task.name == "anli" else (task.labels[label],)


# --- solved examples and test sets ----------------------------------------------------------------------------

_ART = ("abductive_nli_art/train", "abductive_nli_art/dev")
_DELTA = ("{}_train", "{}_dev", "{}_dev_part_paranlu_analysis", "{}_test")


def full_test_set(
    task: str, data_dir: Path | None = None, *, fetch: bool = False, say: Callable[[str], None] | None = None
) -> Iterator[Item]:
    """The full test set of a task, for corrected values: α-NLI 3,059 items, δ-SNLI 1,837, δ-ATOMIC 4,138."""
    check_case("paranlu", CASES, task, "paraphrase")
    files = library(data_dir, fetch=fetch, say=say)
    if task == "anli":
        found = _abductive(_first(files, ("abductive_nli_art/test",)))
    else:
        found = _defeasible_rows(task, _first(files, (f"defeasible_nli/{task}_test",)))
    form = task_named(TASKS[task])
    return (_item(f"paranlu/{task}/test/{n}", form, "test", fields, gold) for n, fields, gold in found)


def _first(files: Library, names: Sequence[str], wanted: int = 0) -> Path:
    path = next((p for name in names if (p := files.find_optional(name)) is not None), None)
    if path is None:
        raise files.missing(f"{names[wanted]}.jsonl", " or ".join(f"{name}.jsonl" for name in names))
    return path


def _abductive_examples(files: Library) -> Iterator[Item]:
    form = task_named("anli")
    for n, fields, gold in _abductive(_first(files, _ART, 1)):
        yield _item(f"paranlu/anli/example/{n}", form, "original", fields, gold)


def _defeasible_examples(task: str, files: Library) -> Iterator[Item]:
    """From the first of these files that has the fields apart; of δ-SOCIAL the hypothesis is all there is before
    the update, so that the training form (sentence1, sentence2) serves too."""
    path = _first(files, [f"defeasible_nli/{name.format(task)}" for name in _DELTA], 1)
    form = task_named(TASKS[task])
    for n, fields, gold in _defeasible_rows(task, path):
        yield _item(f"paranlu/{task}/example/{n}", form, "original", fields, gold)


def _abductive(path: Path) -> Iterator[Labelled]:
    """The labels, 1 or 2 a line, stand in a file of their own."""
    rows = read_rows(path, required=task_named("anli").fields)
    labels_path = path.with_name(f"{path.name.partition('.')[0]}-labels.lst")
    labels = read_text(labels_path).split()
    if len(labels) != len(rows) or not set(labels) <= {"1", "2"}:
        message = f"found {len(labels)} labels, expected 1 or 2 for each of the {len(rows)} rows of {path.name}"
        raise DataError(message, hint="take both files from one release", file=labels_path)
    for n, (row, label) in enumerate(zip(rows, labels, strict=True)):
        yield n, {name: row.text(name) for name in task_named("anli").fields}, (label,)


def _defeasible_rows(task: str, path: Path) -> Iterator[Labelled]:
    form = task_named(TASKS[task])
    for n, row in enumerate(read_rows(path)):
        fields, label = _defeasible(row, form) if extension(path) != ".csv" else _joined(row)
        if label is not None and fields["update"].strip():
            yield n, fields, (form.labels[label],)


def _defeasible(row: Row, form: Task) -> tuple[dict[str, str], int | None]:
    """A row of the released δ-NLI; writers could say that no update of the kind is possible."""
    for name in ("Hypothesis", "Update", "UpdateType"):
        if name not in row.cells:
            raise row.where.error(f'no "{name}"; found: {", ".join(row.cells)}', hint="expected a file of δ-NLI")
    fields = {name: str(row.cells.get(name.capitalize()) or "") for name in form.fields}
    known = row.cells["UpdateType"] in form.labels and not row.cells.get("UpdateTypeImpossible")
    return fields, form.labels.index(row.cells["UpdateType"]) if known else None


def _joined(row: Row) -> tuple[dict[str, str], int | None]:
    """{"sentence1": " A rule.", "sentence2": "An update.", "label": "1"}; only if there is no premise."""
    fields = {"hypothesis": row.text("sentence1").strip(), "update": row.text("sentence2").strip()}
    return fields, int(row.cells["label"]) if row.cells["label"] in ("0", "1") else None
