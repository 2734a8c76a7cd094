"""Results as tables, for people. Texts of data and models are never trusted here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from unwaver.meaning import Meaning, context_of, family_of, leading_meaning, meaning_of
from unwaver.reports.remarks import remarks
from unwaver.result import Result, method_names
from unwaver.state import COUNTS
from unwaver.text.shown import interval, safe
from unwaver.text.shown import p_value as p_value
from unwaver.text.shown import percent as percent
from unwaver.types import Score

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLUMNS = 8  # of the short table, before the counts of what went wrong
# columns of words
LEFT = (
    "relation", "metric", "model", "agreement", "part", "side", "id", "flags", "bar", "verdict", "is", "text",
    "word", "label", "family", "worst", "rule", "",
)  # fmt: skip
MOST_LINES = 18  # of a result, before they are shortened
HELD = "held"  # the metric of a profile, which is a table of its own
MOST_TITLES = 4  # of metrics beside the leading ones, in the legend
_TITLES = {"cut_read": "cut, read", "base_accuracy": "base acc.", "base_f1": "base F1"}
ARROW = {"low": " ↓", "high": " ↑", "": ""}


def rows(result: Result, scores: Sequence[Score] | None = None) -> list[list[str]]:
    """The short table, header first: one line for each suite/task/kind and model, numbers in percent."""
    scores = shown_scores(result) if scores is None else scores
    wide = _optional_columns(scores)
    header = ["relation", "metric", "%", "95 % interval", "chance", "acc.", "groups", "n/a"]
    body = [_row(s, result) + [count_cell(s, c) for c in wide] for s in scores]
    return [header + [count_title(c) for c in wide], *body]


def shown_scores(result: Result) -> list[Score]:
    """The scores of the short table: what leads, and what its declaration puts beside it."""
    return [s for leading in result.leading() for s in (leading, *_companions(result, leading))]


def _companions(result: Result, leading: Score) -> list[Score]:
    context = context_of(leading, result.scores, result.run)
    meaning = leading_meaning(leading, context.block)
    if meaning is None:
        return []
    names = [*(meaning.beside if meaning.choose is None else meaning.choose(context))]
    if context.beside("wording_share") is not None and not any(name.endswith("_gap") for name in names):
        names += ["Cons_lex", "Cons_lex_repeat", "Cons_lex_gap", "wording_share"]  # with repeats, of any relation
    found = [context.beside(name) for name in dict.fromkeys(names) if name != leading.metric]
    return [s for s in found if s is not None]


def _optional_columns(scores: Sequence[Score]) -> list[str]:
    return [c for c in COUNTS if any(getattr(s, c) for s in scores)]


def count_title(name: str) -> str:
    """cut_read -> "cut, read", not_asked -> "not asked"."""
    return _TITLES.get(name) or name.replace("_", " ")


def count_cell(s: Score, name: str) -> str:
    value = getattr(s, name)
    return f"{value:,}" if isinstance(value, int) else percent(value)


def _row(s: Score, result: Result) -> list[str]:
    chance = chance_of(result, s)
    return [
        safe(f"{s.task}/{s.kind}"),
        s.metric + ARROW[s.better],
        percent(s.value),
        interval(s.low, s.high),
        percent(chance),
        percent(s.accuracy),
        f"{s.counted:,}",
        f"{s.not_applicable:,}",
    ]


def chance_of(result: Result, s: Score) -> float | None:
    """What answers that say nothing would give; None for a metric that declares no such value."""
    meaning = family_of(s.metric)
    if meaning is None or meaning.chance is None:
        return None
    context = context_of(s, result.scores, result.run)
    return context.value(meaning.chance) if isinstance(meaning.chance, str) else meaning.chance(context)


def print_result(result: Result, console: Console, *, full: bool = True) -> None:
    """One table for each suite and model, then what a reader must know. Of many lines, unless `full`, the leading
    ones, or a line for each family of relations."""
    from rich.text import Text

    held = [s for s in result.scores if s.metric == HELD]
    if held:
        result = Result([s for s in result.scores if s.metric != HELD], result.run, result.folder)
    parts, short = [(title, rows(part)) for title, part in tables(result)], ""
    if not full and sum(len(lines) - 1 for _, lines in parts) > MOST_LINES:
        from unwaver.reports.families import shortened

        parts, short = shortened(result)
    for title, lines in parts:
        console.print(Text(safe(title), style="bold"))
        for table in _fitting(lines, console):
            console.print(table, crop=False)
    for line in (*([short] if short else ()), *remarks(result)):
        console.print(Text(safe(line), style="yellow"))
    if held:
        from unwaver.reports.profile import print_profile

        print_profile(held, console)


def tables(result: Result) -> Iterator[tuple[str, Result]]:
    """One for each suite and model; one for each method where a case was asked in several ways."""
    parts: dict[tuple[str, str, str], list[Score]] = {}
    for suite in dict.fromkeys(s.suite for s in result.scores):
        own = [s for s in result.scores if s.suite == suite]
        names = method_names(((s.task, s.kind), s.model, s.method) for s in own)
        for s in own:
            parts.setdefault((suite, s.model, names[s.model, s.method]), []).append(s)
    for (suite, model, method), scores in parts.items():
        yield f"{suite} · {model} ({method})", Result(scores, result.run, result.folder)


def _fitting(lines: Sequence[Sequence[str]], console: Console) -> list[Table]:
    """One table, with less space between columns where that makes it fit, else as `reports.narrow` has it."""
    for tight in (False, True):
        table = table_of(lines, tight=tight)
        if width_of(table, console) <= console.width:
            return [table]
    from unwaver.reports.narrow import fitting

    return fitting(lines, console)


def width_of(table: Table, console: Console) -> int:
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def table_of(lines: Sequence[Sequence[str]], *, tight: bool = False) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    header, *body = lines
    space = (0, 0) if tight else (0, 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=space, collapse_padding=True, show_edge=not tight)
    for name in header:
        left = name in LEFT
        table.add_column(Text(name), justify="left" if left else "right", no_wrap=True)
    for line in body:
        table.add_row(*[Text(cell) for cell in line])
    return table


def print_rows(lines: Sequence[Sequence[str]], console: Console) -> None:
    """Any table, header first."""
    from unwaver.reports.narrow import fitted

    console.print(fitted([[safe(cell) for cell in line] for line in lines], console), crop=False)


def legend(result: Result) -> list[str]:
    """What the numbers of the short table are, for who sees it the first time."""
    leading = _meanings(s.metric for s in result.leading())
    if not leading:
        return []
    families = [family_of(m.name) for m in leading]
    beside = _meanings(s.metric for s in shown_scores(result) if family_of(s.metric) not in families)
    titles = ", ".join(m.heading for m in beside[:MOST_TITLES]) + " …" * (len(beside) > MOST_TITLES)
    return [
        *(f"{m.heading}: {m.summary[:1].lower()}{m.summary[1:]}." for m in leading),
        *([f"Also shown: {titles}"] if titles else []),
        *chances(m.name for m in leading),
        f"More: unwaver explain {leading[0].name}",
    ]


def _meanings(metrics: Iterable[str]) -> list[Meaning]:
    return [meaning for name in dict.fromkeys(metrics) if (meaning := meaning_of(name)) is not None]


def chances(metrics: Iterable[str]) -> list[str]:
    """What the column "chance" says, once for all metrics that have the same in it."""
    names: dict[str, list[str]] = {}
    for m in _meanings(metrics):
        if m.chance_says:
            names.setdefault(m.chance_says, []).append(m.name)
    if len(names) < 2:
        return [f"chance: {says}." for says in names]
    return [f"chance of {', '.join(own)}: {says}." for says, own in names.items()]
