"""From the rows of a table to what can be asked about them: answers, claims (statements with a truth), sources.

a row of capitals -> Source(open), Source(choice), Source(yes_no) about the claim "Paris is the capital of France"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from unwaver.suites.core import instructions, wording
from unwaver.suites.core.asked import Asked, Source, number
from unwaver.suites.core.table import LANGUAGES, Question, Row, Table, first, spellings
from unwaver.variants.around import draw

YES, NO = "yes", "no"
OPTIONS = 4  # of a multiple-choice question
Cells = Mapping[str, Mapping[str, Any]]  # by language: what stands in the slots


# --- answers --------------------------------------------------------------------------------------------------


def answers(table: Table, question: Question) -> dict[str, tuple[str, ...]]:
    """Every possible answer of a question with its spellings in all languages: {"Vienna": ("Vienna", "Wien")}."""
    if question.name in table.remembered:
        known: dict[str, tuple[str, ...]] = table.remembered[question.name]
        return known
    found: dict[str, dict[str, None]] = {}
    for row in table.rows:
        names = found.setdefault(first(row[question.answer]), {})
        for lang in LANGUAGES:
            cell = wording.localised(row, lang)[question.answer]
            names.update(dict.fromkeys(spellings(cell)))
        for other in (*_listed(row, question.among), *_listed(row, question.wrong)):
            found.setdefault(first(other), {}).update(dict.fromkeys(spellings(other)))
    table.remembered[question.name] = {name: tuple(names) for name, names in found.items()}
    return dict(table.remembered[question.name])


def _listed(row: Row, column: str) -> Sequence[str]:
    return row[column] if column else ()


def choices_of(table: Table, question: Question, row: Row) -> tuple[str, ...]:
    """The closed set of answers for a row: of the row where it has one (`among`), else of the table. Names that
    the question mentions are no answers: in "The month after March is April" only April is one."""
    right = first(row[question.answer])
    if question.among:
        possible = {right, *(first(other) for other in row[question.among])}
        return tuple(a for a in answers(table, question) if a in possible)
    mentioned = {
        str(wording.localised(row, lang)[slot]).split("|")[0]
        for lang, texts in question.open.items()
        for slot in wording.slots(texts[0])
    }
    return tuple(a for a in answers(table, question) if a == right or a not in mentioned)


def wrong_answers(table: Table, question: Question, row: Row, seed: object) -> list[str]:
    """Answers that are wrong for this row, in drawn order."""
    listed = _listed(row, question.wrong) or choices_of(table, question, row)
    return draw(f"{seed}/wrong/{table.name}/{table.fact(row)}/{question.name}", [
        first(a) for a in listed if first(a) != first(row[question.answer])
    ])  # fmt: skip


def shown(table: Table, question: Question, row: Row, answer: str, lang: str) -> str:
    """An answer as it is written in a language."""
    for listed in filter(None, (question.wrong, question.among)):
        names = [first(a) for a in row[listed]]
        if answer in names and f"{listed}_{lang}" in row:
            return first(row[f"{listed}_{lang}"][names.index(answer)])
    for other in table.rows:
        if first(other[question.answer]) == answer:
            return first(wording.localised(other, lang)[question.answer])
    return answer


# --- claims ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A statement about a fact, and whether it is true."""

    table: Table
    question: Question
    fact: str
    cells: Cells
    truth: bool
    context: Mapping[str, tuple[tuple[str, str], ...]]

    def said(self, side: str, lang: str) -> str:
        """said("negation", "en") -> "Paris is not the capital of France"."""
        return wording.fill(getattr(self.question, side)[lang], self.cells[lang])

    def asked(self, lang: str, n: int, side: str = "statement", truth: bool | None = None) -> Asked:
        """In frame n of the language; the frame after the last is inverted. Another `side` has its own `truth`."""
        frames = instructions.FRAMES[lang]
        frame, side = (frames[n], side) if n < len(frames) else (instructions.INVERTED, "inverse")
        text = self._framed(frame, side, lang)
        return self.posed(text, self.truth if truth is None else truth, lang)

    def _framed(self, frame: str, side: str, lang: str) -> str:
        if "{Q}" in frame:
            return frame.replace("{Q}", self.said("question", lang))
        said = self.said(side, lang)
        return frame.replace("{S}", wording.sentence(said)).replace("{s}", said)

    def posed(self, text: str, truth: bool, lang: str = "en") -> Asked:
        return Asked(
            self.table.name, self.fact, "yes_no", text, instructions.YES_NO[lang], (YES, NO),
            (YES if truth else NO,), "" if lang == "en" else lang, lang,
            context=self.context.get(lang, ()), kept=_names(self.cells[lang]),
        )  # fmt: skip

    def source(self, seed: object) -> Source:
        counts = {lang: len(instructions.FRAMES[lang]) for lang in self.question.statement}
        counts["en"] += bool(self.question.inverse.get("en"))
        start = number(f"{seed}/frame/{self.table.name}/{self.fact}/{self.question.name}", 2)
        return Source(
            self.table.name, self.fact, "yes_no", self.question.name, counts, self.asked, start, self.table.case
        )


def _names(cells: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(part for cell in cells.values() if isinstance(cell, str | int) for part in spellings(cell))


def contexts(question: Question, row: Row, langs: Sequence[str]) -> dict[str, tuple[tuple[str, str], ...]]:
    """The texts before a question, by language, each with its head."""
    found = {}
    for lang in langs if question.context else ():
        cells = wording.localised(row, lang)
        heads = question.heads.get(lang) or ("",) * len(question.context)
        found[lang] = tuple((head, first(cells[name])) for head, name in zip(heads, question.context, strict=True))
    return found


def claims(table: Table, question: Question, row: Row, seed: object, said: str = "") -> list[Claim]:
    """The true claim about a row, and a false one, which gives the wrong answer `said` or one that is drawn."""
    langs = tuple(question.statement)
    found = []
    for right in (True, False):
        cells = {}
        wrong = [said] if said else wrong_answers(table, question, row, seed)
        if not right and not wrong:
            continue
        for lang in langs:
            own = dict(wording.localised(row, lang))
            if not right:
                own[question.answer] = shown(table, question, row, wrong[0], lang)
            cells[lang] = own
        found.append(Claim(table, question, table.fact(row), cells, right, contexts(question, row, langs)))
    return found


def is_pair_true(question: Question, x: Row, y: Row) -> bool:
    (how, column), *_ = question.pair.items()
    a, b = x[column], y[column]
    if how == "same":
        return first(a) == first(b)
    return bool(a < b if how == "less" else a > b)


def pair_claim(table: Table, question: Question, x: Row, y: Row) -> Claim:
    cells = {}
    for lang in question.statement:
        sides = {"x": wording.localised(x, lang), "y": wording.localised(y, lang)}
        cells[lang] = {f"{side}.{name}": cell for side, row in sides.items() for name, cell in row.items()}
    fact = f"{table.fact(x)}-{table.fact(y)}"
    return Claim(table, question, fact, cells, is_pair_true(question, x, y), {})


def pairs(table: Table, question: Question, seed: object) -> Iterator[tuple[Row, Row]]:
    """Ordered pairs of rows that differ where an order is asked for, true and false ones in turn."""
    found = [
        (x, y)
        for x in table.rows
        for y in table.rows
        if x is not y and ("same" in question.pair or _differ(question, x, y))
    ]
    drawn = draw(
        f"{seed}/pairs/{table.name}/{question.name}", found, lambda p: (table.fact(p[0]), table.fact(p[1]))
    )
    true = [p for p in drawn if is_pair_true(question, *p)]
    false = [p for p in drawn if not is_pair_true(question, *p)]
    for both in zip(true, false, strict=False):
        yield from both


def _differ(question: Question, x: Row, y: Row) -> bool:
    return any(x[column] != y[column] for column in question.pair.values())


# --- sources --------------------------------------------------------------------------------------------------


def open_source(table: Table, question: Question, row: Row, seed: object) -> Source:
    counts = {lang: len(texts) for lang, texts in question.open.items()}
    place = contexts(question, row, tuple(counts))

    def make(lang: str, n: int) -> Asked:
        cells = wording.localised(row, lang)
        return Asked(
            table.name, table.fact(row), "open", wording.fill(question.open[lang][n], cells),
            question.hint.get(lang) or instructions.SHORT[lang], choices_of(table, question, row),
            (first(row[question.answer]),), open_template(table, question), lang,
            context=place.get(lang, ()), kept=_names(cells),
        )  # fmt: skip

    return Source(
        table.name,
        table.fact(row),
        "open",
        question.name,
        counts,
        make,
        _start(table, question, row, seed, 3),
        table.case,
    )


def open_template(table: Table, question: Question) -> str:
    return f"open.{table.name}.{question.name}"


def _start(table: Table, question: Question, row: Row, seed: object, among: int) -> int:
    return number(f"{seed}/start/{table.name}/{table.fact(row)}/{question.name}", among)


def choice_source(table: Table, question: Question, row: Row, seed: object) -> Source | None:
    wrong = wrong_answers(table, question, row, seed)[: OPTIONS - 1]
    if len(wrong) < 2 or not question.choice:
        return None
    right = first(row[question.answer])
    order = draw(f"{seed}/options/{table.name}/{table.fact(row)}/{question.name}", [right, *wrong])
    plain = open_source(table, question, row, seed)

    def make(lang: str, n: int) -> Asked:
        asked = plain.make(lang, n)
        return Asked(
            asked.table, asked.fact, "choice", asked.question, instructions.LETTER[lang], tuple(order), (right,),
            f"letters{len(order)}", lang, context=asked.context, kept=asked.kept,
            options=tuple(shown(table, question, row, a, lang) for a in order),
        )  # fmt: skip

    return Source(
        table.name, table.fact(row), "choice", question.name, plain.counts, make, plain.first, table.case
    )


def labelled_source(table: Table, question: Question, row: Row, seed: object) -> Source:
    counts = {lang: len(texts) for lang, texts in question.ask.items() if _has_texts(question, row, lang)}
    counts["en"] *= 1 + len(_listed(row, question.reworded))
    make = partial(labelled, table, question, row)
    return Source(
        table.name,
        table.fact(row),
        question.task,
        question.name,
        counts,
        make,
        _start(table, question, row, seed, 3),
    )


def _has_texts(question: Question, row: Row, lang: str) -> bool:
    return lang == "en" or all(row.get(f"{name}_{lang}") for name in question.context)


def labelled(table: Table, question: Question, row: Row, lang: str, n: int) -> Asked:
    """A text, or two, to be labelled: a review, a line of news, premise and hypothesis. After the last question
    the first follows with the (last) text in other words."""
    again, n = divmod(n, len(question.ask[lang]))
    if again:
        row = {**row, question.context[-1]: row[question.reworded][again - 1]}
    texts, cells = contexts(question, row, (lang,))[lang], wording.localised(row, lang)
    return Asked(
        table.name, table.fact(row), question.task, wording.fill(question.ask[lang][n], cells),
        instructions.one_of(question.words[lang], lang), question.labels, (row[question.answer],),
        label_template(table, lang), lang, context=texts,
    )  # fmt: skip


def label_template(table: Table, lang: str) -> str:
    return f"{table.name}.{lang}"


def sources(table: Table, seed: object) -> Iterator[Source]:
    """Everything that can be asked about single rows."""
    makers: dict[str, Callable[..., Source | None]] = {"open": open_source, "choice": choice_source}
    for question in table.questions:
        if question.task == "preference" or question.pair or question.chains_only:
            continue
        for row in table.rows:
            if question.task:
                yield labelled_source(table, question, row, seed)
                continue
            for task, make in makers.items() if question.open else ():
                if question.choice_only and task == "open":
                    continue
                if made := make(table, question, row, seed):
                    yield made
            if question.statement:
                both = claims(table, question, row, seed)
                yield both[
                    number(f"{seed}/truth/{table.name}/{table.fact(row)}/{question.name}", len(both))
                ].source(seed)
