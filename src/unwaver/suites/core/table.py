"""A table of facts: a TOML file with rows, the questions that may be asked about a row, and their wordings.

    read_table(Path("capitals.toml")).rows[0]["capital"] -> "Vienna"

Every mistake in a file is reported with the place and with what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from unwaver.errors import DataError, near
from unwaver.files import read_toml
from unwaver.suites.core import wording
from unwaver.suites.core.table_file import TableRecord
from unwaver.typed import typed

LANGUAGES = ("en", "de", "zh")
LABELLED = ("sentiment", "topic", "entailment")
PREFERENCE = "preference"
FEWEST = 6  # wordings of a question in English; of another language:
FEWEST_OTHER = 2
ORDERS = ("less", "greater")  # of a pair; `same` compares for equality

Cell = Any  # text, number or list of texts
Row = Mapping[str, Cell]
Wordings = Mapping[str, tuple[str, ...]]  # by language
Sentence = Mapping[str, str]  # by language

_TEXTS = ("statement", "negation", "question", "inverse", "opposite", "hint", "joined")  # a sentence by language
_LISTS = ("open", "ask", "words", "heads", "rubric")  # a list of texts by language


@dataclass(frozen=True)
class Question:
    """What may be asked about one row, or about a pair of rows; docs/core.md explains each key."""

    name: str
    task: str = ""  # sentiment, topic, entailment, preference; "" is a fact: open, choice, yes_no
    answer: str = ""
    among: str = ""
    wrong: str = ""
    context: tuple[str, ...] = ()
    converse: str = ""
    contrast: str = ""
    near: tuple[tuple[str, str], ...] = ()
    pair: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    flipped: str = ""
    flipped_answer: str = ""
    reworded: str = ""  # column with the (last) text in other words, as often as you like
    negated: str = ""  # entailment: column with the negated hypothesis
    symmetric: tuple[str, ...] = ()
    triple: str = ""
    choice: bool = True
    choice_only: bool = False  # several answers are right in one's own words: asked with options alone
    chains_only: bool = False  # asked as part of a chain and nowhere else
    statement: Sentence = field(default_factory=dict)
    negation: Sentence = field(default_factory=dict)
    question: Sentence = field(default_factory=dict)
    inverse: Sentence = field(default_factory=dict)
    opposite: Sentence = field(default_factory=dict)
    hint: Sentence = field(default_factory=dict)
    joined: Sentence = field(default_factory=dict)  # asked about two texts with the same label
    open: Wordings = field(default_factory=dict)
    ask: Wordings = field(default_factory=dict)
    words: Wordings = field(default_factory=dict)
    heads: Wordings = field(default_factory=dict)
    rubric: Wordings = field(default_factory=dict)

    def templates(self) -> list[tuple[str, str, str]]:
        """(key, language, template) of everything that has slots."""
        single = [(key, lang, text) for key in _TEXTS for lang, text in getattr(self, key).items()]
        several = [
            (key, lang, t)
            for key in ("open", "ask", "rubric")
            for lang, ts in getattr(self, key).items()
            for t in ts
        ]
        return single + several


@dataclass(frozen=True)
class Chain:
    """Two questions of a row that imply a third: all are yes, or the last two are no with a wrong answer, the same
    in both (not where `true_only` is set)."""

    kind: str
    premises: tuple[str, str]
    conclusion: str
    true_only: bool = False


@dataclass(frozen=True)
class Table:
    name: str
    rule: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    questions: tuple[Question, ...]
    chains: tuple[Chain, ...] = ()
    case: bool = True  # whether capitals carry no meaning
    cluster: str = ""  # column with what rows have in common that are not independent
    remembered: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what is worked out once

    @cached_property
    def by_fact(self) -> Mapping[str, Row]:
        return {self.fact(row): row for row in self.rows}

    def fact(self, row: Row) -> str:
        return first(row[self.columns[0]])

    def cluster_of(self, fact: str) -> str:
        row = self.by_fact.get(fact)
        return first(row[self.cluster]) if self.cluster and row else fact

    def named(self, question: str) -> Question:
        return next(q for q in self.questions if q.name == question)

    def languages(self, question: Question) -> tuple[str, ...]:
        """Those in which the question can be asked: its wordings are there, and so are the cells."""
        sources = (question.open or question.ask, question.statement)
        return tuple(lang for lang in LANGUAGES if any(lang in source for source in sources))


def first(cell: Cell) -> str:
    """first("Rome|Roma") -> "Rome", first(7) -> "7"."""
    return str(cell).split("|", 1)[0]


def spellings(cell: Cell) -> tuple[str, ...]:
    """spellings("Rome|Roma") -> ("Rome", "Roma"); a list has none of its own."""
    return tuple(str(cell).split("|")) if not isinstance(cell, list) else ()


# --- reading --------------------------------------------------------------------------------------------------


_HINT = "docs/core.md describes the keys of a table"


def read_table(path: Path) -> Table:
    return _Reader(path).table(read_toml(path, "file", "check that line; docs/core.md has an example"))


class _Reader:
    def __init__(self, path: Path):
        self._path = path

    def _error(self, what: str, hint: str = _HINT) -> DataError:
        return DataError(what, hint=hint, file=self._path)

    def table(self, entry: Mapping[str, Any]) -> Table:
        typed(TableRecord, entry, self._path, _HINT)
        columns = tuple(entry["columns"])
        rows = tuple(self._row(n, columns, row) for n, row in enumerate(entry["rows"], 1))
        facts = [first(row[columns[0]]) for row in rows]
        if again := [fact for n, fact in enumerate(facts) if fact in facts[:n]]:
            raise self._error(
                f"two rows are about {again[0]!r}", f"column {columns[0]!r} names the fact: make it unique"
            )
        table = Table(
            name=entry["name"],
            rule=entry["rule"],
            columns=columns,
            rows=rows,
            questions=tuple(self._question(columns, q) for q in entry["questions"]),
            chains=tuple(self._chain(c) for c in entry.get("chains", ())),
            case=entry.get("case", True),
            cluster=entry.get("cluster", ""),
        )
        self._check(table)
        return table

    def _row(self, n: int, columns: Sequence[str], cells: Sequence[Cell]) -> Row:
        if len(cells) != len(columns):
            names = ", ".join(columns)
            raise self._error(f"row {n}: found {len(cells)} cells, expected {len(columns)}: {names}")
        return dict(zip(columns, cells, strict=True))

    def _question(self, columns: Sequence[str], entry: Mapping[str, Any]) -> Question:
        values: dict[str, Any] = dict(entry)
        for key in _LISTS:
            values[key] = {lang: tuple(texts) for lang, texts in values.get(key, {}).items()}
        context = values.get("context", ())
        values["context"] = (context,) if isinstance(context, str) else tuple(context)
        values["near"] = tuple((a, b) for a, b in values.get("near", ()))
        for key in ("labels", "symmetric"):
            values[key] = tuple(values.get(key, ()))
        question = Question(**values)
        named = [question.answer, question.among, question.wrong, question.flipped, question.flipped_answer]
        named += [question.triple, question.reworded, question.negated, *question.context, *question.pair.values()]
        if unknown := [c for c in named if c and c not in columns]:
            raise self._error(
                f"question {question.name!r}: there is no column {unknown[0]!r}", near(unknown[0], columns)
            )
        return question

    def _chain(self, entry: Mapping[str, Any]) -> Chain:
        premises = tuple(entry["premises"])
        return Chain(entry["kind"], premises, entry["conclusion"], entry.get("true_only", False))

    def _check(self, table: Table) -> None:
        names = [q.name for q in table.questions]
        if table.cluster and table.cluster not in table.columns:
            raise self._error(f"cluster: there is no column {table.cluster!r}", near(table.cluster, table.columns))
        for chain in table.chains:
            if chain.kind not in ("transitive", "inherited") or len(chain.premises) != 2:
                raise self._error(f"chain {chain}: expected kind transitive or inherited, and two premises")
            if unknown := [n for n in (*chain.premises, chain.conclusion) if n not in names]:
                raise self._error(f"a chain names the question {unknown[0]!r}", near(unknown[0], names))
        for question in table.questions:
            self._check_edits(table, question)
            for other in filter(None, (question.converse, question.contrast)):
                if other not in names:
                    raise self._error(
                        f"question {question.name!r} names the question {other!r}", near(other, names)
                    )
            for fact in (fact for pair in question.near for fact in pair):
                if fact not in table.by_fact:
                    raise self._error(f"{question.name}.near: there is no row {fact!r}", near(fact, table.by_fact))
            self._check_wordings(table, question)

    def _check_edits(self, table: Table, question: Question) -> None:
        """Of a text: paraphrases are lists, and an edit has a text to change and an answer."""
        where = f"question {question.name!r}"
        for column in filter(None, (question.reworded, question.among, question.wrong)):
            for row in table.rows:
                if not isinstance(row[column], list):
                    hint = f'write ["…", "…"] in column {column!r}'
                    raise self._error(f"row {table.fact(row)!r}: {column} is not a list of texts", hint)
        if question.flipped and not question.context:
            raise self._error(f"{where}: flipped without context", "name the column with the text as context")
        if question.flipped and not question.task and not question.flipped_answer:
            raise self._error(f"{where}: flipped without flipped_answer", "name the column with the new answer")

    def _check_wordings(self, table: Table, question: Question) -> None:
        where = f"question {question.name!r}"
        for key in ("open", "ask", "rubric"):
            for lang, texts in getattr(question, key).items():
                least = FEWEST if lang == "en" else FEWEST_OTHER
                if len(set(texts)) < least:
                    raise self._error(
                        f"{where}: {key}.{lang} has {len(set(texts))} wordings, expected {least} or more"
                    )
        if question.task in LABELLED:
            self._check_labels(table, question, where)
        elif question.task not in ("", PREFERENCE):
            raise self._error(
                f"{where}: unknown task {question.task!r}", near(question.task, (*LABELLED, PREFERENCE))
            )
        elif not question.task and not question.open and not question.statement:
            raise self._error(f"{where} has no wordings", 'add open.en = […] or statement.en = "…"')
        if question.statement and set(question.statement) - set(question.question):
            raise self._error(
                f"{where}: statement without question", "add question.en, the direct yes/no question"
            )
        for key, lang, template in question.templates():
            self._check_slots(table, question, f"{where}: {key}.{lang}", template, lang)

    def _check_labels(self, table: Table, question: Question, where: str) -> None:
        if len(question.labels) < 2 or not question.ask.get("en") or not question.context:
            raise self._error(f"{where}: task {question.task} needs labels, ask.en, words.en and context")
        for lang in question.ask:
            if len(question.words.get(lang, ())) != len(question.labels):
                raise self._error(
                    f"{where}: words.{lang} needs one word for each of the {len(question.labels)} labels"
                )
        for row in table.rows:
            if row[question.answer] not in question.labels:
                hint = "labels: " + ", ".join(question.labels)
                raise self._error(f"row {table.fact(row)!r}: {question.answer} is {row[question.answer]!r}", hint)

    def _check_slots(self, table: Table, question: Question, where: str, template: str, lang: str) -> None:
        for slot in wording.slots(template):
            side, dot, column = slot.partition(".")
            if dot and (not question.pair or side not in ("x", "y")):
                raise self._error(
                    f"{where}: {{{slot}}} is for pairs of rows", "use {column}; or add pair = {less = …}"
                )
            if (column if dot else slot) not in table.columns:
                raise self._error(f"{where}: there is no column {slot!r}", near(slot, table.columns))
        answer = question.answer
        if where.endswith(f"open.{lang}") and answer in wording.slots(template):
            raise self._error(f"{where}: {{{answer}}} is the answer: the question must not contain it")
