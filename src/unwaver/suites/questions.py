"""A file of questions: one text in each row, and perhaps a right answer.

    question,topic                       read_questions(Path("questions.csv")).source.items[0].fields
    Who wrote Hamlet?,books              -> {"question": "Who wrote Hamlet?"}

The question is in the column that is named so (or prompt, input, text), else in the only column of texts. If
neither tells, `Unclear` has the candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unwaver.answers.columns import as_text
from unwaver.console import silent
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, missing_column, shown, stem
from unwaver.groups.from_lines import begins_with_group
from unwaver.suites.common import read_label
from unwaver.suites.conversations import MESSAGES, SYSTEM, Spoken
from unwaver.suites.own_table import is_variant, plain_name, roles_of
from unwaver.tables import read_table
from unwaver.tasks import Task, plain_task, task_named
from unwaver.types import Item
from unwaver.variants.source import Source

TASK = "question"
NAMES = ("question", "prompt", "input", "text", "questions", "prompts", "inputs", "texts")  # the first one wins
GOLD = (
    "gold", "label", "answer", "gold_label", "expected", "expected_answer", "expected_output", "reference",
    "reference_answer", "correct_answer", "ground_truth", "target", "ideal",
)  # fmt: skip
ROLES = (TASK, "original", "gold", "id", "system")
WORDS = 3  # a column of texts has as many words in most of its cells
ALIKE = 0.2  # share of words that a question and its rewording have in common, on average
_NO_TEXT = re.compile(r"[\d\s.,:;/+%$€£°()-]*|https?://\S*|true|false|yes|no|null|none|n/?a", re.IGNORECASE)


class Unclear(DataError):
    """Several columns may hold the question: `candidates`."""

    candidates: tuple[str, ...] = ()


class Questions(NamedTuple):
    source: Source
    notes: Sequence[str]


def read_questions(
    path: Path,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    labels: Sequence[str] = (),
    message: str | None = None,
    say: Callable[[str], None] = silent,
) -> Questions:
    """The questions of a file, each once. With `labels` they are answered by one of these, else in free text. Rows
    with messages, or with a system text beside the question, are conversations; variants change `message`."""
    task = plain_task("own", (TASK,), labels) if labels else task_named(TASK)
    rows = read_table(path, say=say)
    names = _names(rows)
    given = _given(columns or {}, names, path)
    column = given.get(TASK) or (MESSAGES if MESSAGES in names else question_column(rows, path))
    gold = given.get("gold") or _named(names, GOLD, column)
    id_column = given.get("id") or _named(names, ("id",), column)
    system = given.get("system") or _named(names, SYSTEM, column)
    spoken = Spoken(system, message) if system or MESSAGES in names else None
    items: dict[object, Item] = {}
    conversations: dict[str, Item] = {}
    ids, empty, again = Counter[str](), 0, 0
    for row in rows:
        asked = spoken.messages(row, column) if spoken else ()
        text = spoken.changed(row, asked) if spoken and asked else _text(row, column)
        if not text or (asked or text) in items:
            empty, again = empty + (not text), again + bool(text)
            continue
        name = _shown_id(row, id_column)
        ids[name] += 1
        id = name if ids[name] == 1 else f"{name}.{ids[name]}"
        accepted = _gold(row, gold, task)
        items[asked or text] = Item(id, task.name, "original", {TASK: text}, task.labels, accepted)
        if spoken and asked:
            conversations[id] = spoken.item(row, items[asked], asked)
    if not items:
        raise DataError(
            f'column "{column}" holds no text', hint="name the column: --column question=NAME", file=path
        )
    used = (column, gold, id_column, *(spoken.columns if spoken else ()))
    notes = [*_notes(names, used, empty, again), *(spoken.notes(labels) if spoken else ())]
    return Questions(Source(stem(path), task, tuple(items.values()), conversations, message), tuple(notes))


def holds_questions(path: Path, columns: Mapping[str, str | Sequence[str]]) -> bool:
    """Whether a file has questions without variants: no groups, and no column with the same in other words."""
    if begins_with_group(path):
        return False
    rows = read_table(path)
    names = _names(rows)
    if MESSAGES in names and "items" not in names:
        return True
    if "items" in names or "variant" in columns or any(is_variant(name, "text") for name in names):
        return False
    free = [name for name in names if name and name not in roles_of(names).values()]
    return len(free) != 2 or TASK in columns or not _reworded(rows, *free)


# --- which column ---------------------------------------------------------------------------------------------


def question_column(rows: Sequence[Row], path: Path) -> str:
    names = _names(rows)
    if found := _named(names, NAMES):
        return found
    texts = [name for name in names if _is_text(_values(rows, name))]
    wordy = [name for name in texts if _is_wordy(_values(rows, name))]
    gold = _named(names, GOLD)
    left = [name for name in wordy or texts if name != gold or len(wordy or texts) == 1]
    if len(left) == 1:
        return left[0]
    raise _unclear(left, names, rows, path)


def _unclear(left: Sequence[str], names: Sequence[str], rows: Sequence[Row], path: Path) -> DataError:
    if not left:
        listed = ", ".join(shown(name) for name in names)
        hint = "name the column with the questions: --column question=NAME"
        return DataError(f"no column holds texts; found: {listed}", hint=hint, file=path, line=1)
    listed = ", ".join(f"{shown(name)} ({shown(_values(rows, name)[0])})" for name in left)
    error = Unclear(
        f"{len(left)} columns may hold the question: {listed}",
        hint=f"choose one: --column question={_quoted(left[0])}",
        file=path,
        line=1,
    )
    error.candidates = tuple(left)
    return error


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.cells))


def _named(names: Sequence[str], wanted: Sequence[str], but: str = "") -> str | None:
    plain = {plain_name(name): name for name in reversed(names) if name != but}
    return next((plain[name] for name in wanted if name in plain), None)


def _given(columns: Mapping[str, str | Sequence[str]], names: Sequence[str], path: Path) -> dict[str, str]:
    """--column, where question and original mean the same."""
    found = {}
    for role, column in columns.items():
        if role not in ROLES:
            raise UsageError(f"no column can be the {role}", hint=near(role, ROLES))
        if column not in names:
            raise DataError(missing_column(str(column), names), hint=near(str(column), names), file=path, line=1)
        found[TASK if role == "original" else role] = str(column)
    return found


def _values(rows: Iterable[Row], name: str) -> list[str]:
    return [text for row in rows if (text := _cell(row, name))]


def _cell(row: Row, name: str) -> str:
    value = row.cells.get(name)
    return value.strip() if isinstance(value, str) else ""


def _is_text(values: Sequence[str]) -> bool:
    return sum(_NO_TEXT.fullmatch(value[:100]) is None for value in values) > len(values) / 2


def _is_wordy(values: Sequence[str]) -> bool:
    return sum(_length(value) >= WORDS for value in values) >= len(values) / 2


def _length(text: str) -> int:
    """Words, or characters of scripts that put no space between words, four of them for a word."""
    return max(len(text[:200].split()), sum(ord(c) > 0x2E80 for c in text[:200]) // 2)


def _reworded(rows: Sequence[Row], one: str, other: str) -> bool:
    """Whether two columns say the same in other words: they share words, and both ask or neither does."""
    pairs = [(a, b) for row in rows if (a := _cell(row, one)) and (b := _cell(row, other))]
    alike = [_share(a, b) for a, b in pairs if a.endswith(("?", "？")) == b.endswith(("?", "？"))]
    return bool(alike) and len(alike) >= len(pairs) / 2 and sum(alike) / len(pairs) >= ALIKE


def _share(one: str, other: str) -> float:
    a, b = map(_parts, (one, other))
    return len(a & b) / max(len(a | b), 1)


def _parts(text: str) -> set[str]:
    """Its words, or its characters in scripts that put no space between words."""
    spaced = _length(text) == len(text[:200].split())
    return set(re.findall(r"\w+", text.casefold()) if spaced else text)


# --- what is in a row -----------------------------------------------------------------------------------------


def _text(row: Row, column: str) -> str:
    value = row.cells.get(column)
    if value is not None and not isinstance(value, str):
        raise row.where.error(
            f'column "{column}": found {shown(value)}, expected text', "write it in double quotes"
        )
    return (value or "").strip()


def _shown_id(row: Row, column: str | None) -> str:
    value = row.cells.get(column) if column else None
    return str(row.where.line) if value in (None, "") else str(value)


def _gold(row: Row, column: str | None, task: Task) -> tuple[str, ...]:
    value: Any = row.cells.get(column) if column else None
    if column is None or value in (None, "", []):
        return ()
    if task.labels:
        return read_label(row, column, value, task.labels)
    texts = ((as_text(part) or "").strip() for part in (value if isinstance(value, list) else [value]))
    return tuple(text for text in texts if text)


def _notes(names: Sequence[str], used: Sequence[str | None], empty: int, again: int) -> Iterable[str]:
    column, gold, *_ = used
    left = [name for name in names if name not in used and name]
    told = f'the questions are in the column "{column}"' + (f', the right answers in "{gold}"' if gold else "")
    yield told + (f"; not used: {', '.join(left)}" if left else "")
    if again:
        yield f"{_rows(again)} a question of an earlier row: each question is asked once"
    if empty:
        yield f"{_rows(empty)} no question and {'was' if empty == 1 else 'were'} left out"


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"
