"""The table of scores for papers and spreadsheets: Markdown, LaTeX, csv."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import asdict

from unwaver.reports.source import Source
from unwaver.reports.terminal import ARROW, chance_of, count_cell, count_title, percent, shown_scores
from unwaver.state import COUNTS
from unwaver.text.shown import safe
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
    """A booktabs table."""
    names, *rows = _rows(sources)
    columns = "l" * _WORDS + "r" * (len(names) - _WORDS)
    lines = [" & ".join(map(_latex_cell, row)) + r" \\" for row in rows]
    header = " & ".join(map(_latex_cell, names)) + r" \\"
    parts = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}", ""])


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
        "–" if s.low is None or s.high is None else f"{percent(s.low)} – {percent(s.high)}",
        percent(chance_of(source.result, s)),
        percent(s.accuracy),
        f"{s.counted:,}",
        f"{s.not_applicable:,}",
        f"{s.unreadable:,}",
    ]


WRITERS = {"md": markdown, "latex": latex, "csv": as_csv}
