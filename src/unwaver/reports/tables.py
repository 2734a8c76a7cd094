"""The table of scores for papers and spreadsheets: Markdown, LaTeX, csv."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from unwaver.reports.source import Source
from unwaver.reports.terminal import ARROW, chance_of, count_cell, count_title, percent, shown_scores
from unwaver.state import COUNTS
from unwaver.text.shown import interval, safe
from unwaver.text.spreadsheet import guarded
from unwaver.types import Score

_NAMES = (
    "relation",
    "model",
    "metric",
    "%",
    "95 % interval",
    "chance",
    "accuracy",
    "counted",
    "n/a",
    "unreadable",
)
_WORDS = 3  # of these columns the first hold words, the others numbers
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "↓": r"$\downarrow$", "↑": r"$\uparrow$", "–": "--", "θ": r"$\theta$",
}  # fmt: skip


def markdown(sources: Sequence[Source]) -> str:
    names, *rows = _rows(sources)
    lines = [names, ["---"] * _WORDS + ["---:"] * (len(names) - _WORDS), *rows]
    return "".join("| " + " | ".join(map(_markdown_cell, line)) + " |\n" for line in lines)


def _markdown_cell(text: str) -> str:
    """A cell that is text and nothing else: no markup, no column, no line of its own."""
    text = re.sub(r"\s+", " ", safe(text))
    return re.sub(r"([\\`*\[\]<>|!&])", r"\\\1", text)


def latex(sources: Sequence[Source]) -> str:
    """Booktabs tables: every main number, and where there are several relations, tasks by relations."""
    names, *rows = _rows(sources)
    metric = names.index("metric")
    lines = [[_latex_metric(c) if n == metric else _latex_cell(c) for n, c in enumerate(row)] for row in rows]
    whole = _tabular("l" * _WORDS + "r" * (len(names) - _WORDS), [[_latex_cell(name) for name in names], *lines])
    return "\n".join([whole, *_by_task(sources)])


def _tabular(columns: str, rows: Sequence[Sequence[str]]) -> str:
    header, *lines = [" & ".join(row) + r" \\" for row in rows]
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}", ""])


def _by_task(sources: Sequence[Source]) -> Iterator[str]:
    """For each model a table with a row per task and a column a relation: the main metric, in percent."""
    leading = [s for source in sources for s in source.result.leading()]
    for model in dict.fromkeys((s.suite, s.model, s.method) for s in leading):
        scores = [s for s in leading if (s.suite, s.model, s.method) == model]
        tasks, kinds = (list(dict.fromkeys(getattr(s, name) for s in scores)) for name in ("task", "kind"))
        if len(scores) < 2 or len(kinds) < 2:
            continue
        cells = {(s.task, s.kind): percent(s.value) for s in scores}
        metrics = {
            kind: dict.fromkeys(s.metric + ARROW[s.better] for s in scores if s.kind == kind) for kind in kinds
        }
        header = [f"{_latex_cell(kind)} ({', '.join(map(_latex_metric, metrics[kind]))})" for kind in kinds]
        rows = [[task, *(cells.get((task, kind), "") for kind in kinds)] for task in tasks]
        yield f"% {_comment(' '.join(model))}: the leading metric of each task and relation, in percent"
        yield _tabular("l" + "r" * len(kinds), [["task", *header], *[list(map(_latex_cell, row)) for row in rows]])


def _comment(text: str) -> str:
    return re.sub(r"\s+", " ", safe(text))


def _latex_metric(text: str) -> str:
    """ "tau ↓" -> "$\\tau$ $\\downarrow$", "P_C_pairs" -> "$P_{C,\\mathrm{pairs}}$", "r_r@5" -> "$r_r@5$"; names
    that are words stay as they are."""
    name, space, rest = text.partition(" ")
    if found := re.fullmatch(r"tau(?:_(\w+))?", name):
        below = "" if found[1] is None else rf"_{{\mathrm{{{_latex_cell(found[1])}}}}}"
        symbol = rf"$\tau{below}$"
    elif re.fullmatch(r"[A-Zr]_[A-Za-z](@[\w.]+)?", name):
        symbol = f"${name}$"
    elif found := re.fullmatch(r"([A-Z])_(?:([A-Z])_)?(\w+)", name):
        below = f"{found[2]}," if found[2] else ""
        symbol = rf"${found[1]}_{{{below}\mathrm{{{_latex_cell(found[3])}}}}}$"
    else:
        symbol = _latex_cell(name)
    return symbol + _latex_cell(space + rest)


def _latex_cell(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in re.sub(r"\s+", " ", safe(text)))


def as_csv(sources: Sequence[Source]) -> str:
    """Every score with all its fields, as in scores.json."""
    out = io.StringIO()
    names = list(Score.__dataclass_fields__)
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for source in sources:
        for s in source.result.scores:
            row = {name: _csv_cell(value) for name, value in asdict(s).items()}
            writer.writerow({**row, "flags": " ".join(s.flags)})
    return out.getvalue()


def _csv_cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula begins with an apostrophe."""
    return guarded(safe(value)) if isinstance(value, str) else value


def _rows(sources: Sequence[Source]) -> list[list[str]]:
    """Header first; counts of what went wrong only where something did."""
    found = [(source, s) for source in sources for s in shown_scores(source.result)]
    further = [c for c in COUNTS if c != "unreadable" and any(getattr(s, c) for _, s in found)]
    names = [*_NAMES, *(count_title(c) for c in further)]
    return [names, *([*_row(source, s), *(count_cell(s, c) for c in further)] for source, s in found)]


def _row(source: Source, s: Score) -> list[str]:
    return [
        f"{s.suite}/{s.task}/{s.kind}",
        f"{s.model} ({s.method})",
        s.metric + ARROW[s.better],
        percent(s.value),
        interval(s.low, s.high),
        percent(chance_of(source.result, s)),
        percent(s.accuracy),
        f"{s.counted:,}",
        f"{s.not_applicable:,}",
        f"{s.unreadable:,}",
    ]


WRITERS = {"md": markdown, "latex": latex, "csv": as_csv}
