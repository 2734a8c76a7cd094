"""Results with many lines, shortened for a terminal: the leading number of each relation, or, of many relations, a
line for each family: all semantic ones together, all symmetric ones …

The number of a family is the mean over its relations, which are about different tasks, so it has no interval; the
worst of them is named with its own. Averages over sets are not relations: those over items have a line of their
own.
"""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.metrics.score import ONE_LABEL
from unwaver.reports.terminal import ARROW, MOST_LINES, count_title, percent, rows, tables
from unwaver.reports.verdict import rates
from unwaver.result import Result
from unwaver.state import COUNTS
from unwaver.text.shown import interval, safe
from unwaver.types import Score

Lines = list[list[str]]


def shortened(result: Result) -> tuple[list[tuple[str, Lines]], str]:
    """The tables with their titles, and a line that says what was left out."""
    parts = list(tables(result))
    every = sum(len(rows(part)) - 1 for _, part in parts)
    leading = [(title, part, part.leading()) for title, part in parts]
    short = [(title, rows(part, scores)) for title, part, scores in leading]
    lines = sum(len(scores) for _, _, scores in leading)
    if lines > MOST_LINES:
        families = [(title, table_of_families(scores)) for title, _, scores in leading]
        if sum(len(table) - 1 for _, table in families) < lines:
            return families, f"{lines:,} relations by family; --full shows every line"
    more = every - lines
    return short, f"{more:,} more numbers; --full shows every line" if more else ""


def family_of(kind: str) -> str:
    """ "surface_typo" -> "surface"."""
    return kind.partition("_")[0] or kind


def table_of_families(scores: Sequence[Score]) -> Lines:
    """Header first; families in order of appearance, those last whose numbers follow from one label."""
    found: dict[tuple[str, str], list[Score]] = {}
    for s in scores:
        if not s.task.startswith("average"):
            found.setdefault((family_of(s.kind), s.metric), []).append(s)
    wide = [c for c in COUNTS if any(isinstance(n := getattr(s, c), int) and n for s in scores)]
    header = ["family", "metric", "rel.", "mean %", "worst", "%", "95 % interval", "groups", "n/a"]
    telling = sorted(found.items(), key=lambda each: all(_is_one_label(s) for s in each[1]))
    body = [[*_line(*key, of), *(f"{sum(getattr(s, c) for s in of):,}" for c in wide)] for key, of in telling]
    for s in scores:
        if s.task.startswith("average") and not s.task.endswith(("_plain", "_published")):
            counts = (f"{getattr(s, c):,}" for c in wide)
            body.append([*_average(s), f"{s.counted:,}", f"{s.not_applicable:,}", *counts])
    return [header + [count_title(c) for c in wide], *body]


def _is_one_label(s: Score) -> bool:
    """A number that follows from one label given to everything, or no number."""
    return s.value is None or ONE_LABEL in s.flags


def _average(s: Score) -> list[str]:
    return [s.task, s.metric + ARROW[s.better], "–", "–", "–", percent(s.value), interval(s.low, s.high)]


def _line(family: str, metric: str, scores: Sequence[Score]) -> list[str]:
    known = [s for s in scores if s.value is not None]
    mean = sum(s.value or 0.0 for s in known) / len(known) if known else None
    worst = max(known, key=lambda s: rates(s)[0] or 0.0, default=None)
    told = ["–", "–", "–"]
    if worst is not None:
        told = [safe(_name(worst, scores)), percent(worst.value), interval(worst.low, worst.high)]
    groups, lacking = sum(s.counted for s in scores), sum(s.not_applicable for s in scores)
    of = f"{len(scores)}" if len(known) == len(scores) else f"{len(known)} of {len(scores)}"
    return [
        safe(family),
        metric + ARROW[scores[0].better],
        of,
        percent(mean),
        *told,
        f"{groups:,}",
        f"{lacking:,}",
    ]


def _name(s: Score, scores: Sequence[Score]) -> str:
    """What tells the relation from the others of its family."""
    if len({other.kind for other in scores}) == 1:
        return s.task
    return s.kind if len({other.task for other in scores}) == 1 else f"{s.task}/{s.kind}"
