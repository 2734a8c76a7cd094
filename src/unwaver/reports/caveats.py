"""Remarks on runs that are not plain: answers that are missing, free text, variants that somebody certified."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.asking.failures import from_records, in_words
from unwaver.groups import SELF_CERTIFIED
from unwaver.meaning import leading_meaning, leading_of
from unwaver.metrics import missing
from unwaver.metrics.score import ONE_LABEL
from unwaver.reports import reading, self_certified
from unwaver.reports.remarks import notes, of_metrics
from unwaver.result import Result
from unwaver.text.shown import percent
from unwaver.types import Score


def all_remarks(result: Result) -> list[str]:
    """Lines below a table, whatever the run has."""
    leading = result.leading()
    return [
        *_about_constants(result),
        *of_metrics(result),
        *_about_variants(result),
        *_about_one_label(leading),
        *_about_free_text(result),
        *_about_seen(result),
        *(self_certified.lines(result.scores) if any(SELF_CERTIFIED in s.flags for s in leading) else ()),
        *_about_gold(result),
        *_about_failures(result, leading),
        *(missing.lines(result) if any(s.cut or s.refused or s.cut_read for s in result.scores) else ()),
        *_about_groups_not_asked(result, leading),
        *(reading.lines(result) if (result.run.get("config") or {}).get("read", "text") != "text" else ()),
        *notes(result.run.get("notes", {})),
    ]


def _about_constants(result: Result) -> list[str]:
    constant: dict[str, dict[str, None]] = {}
    for s in result.scores:
        if "constant" in s.flags:
            constant.setdefault(s.model, {})[s.task] = None
    return [
        f"{model} gives the same answer to every item of {', '.join(tasks)}: consistent, but without understanding"
        for model, tasks in constant.items()
    ]


def _about_one_label(leading: Sequence[Score]) -> list[str]:
    """Where 0 or 100 % is the work of one label."""
    found: dict[str, dict[str, None]] = {}
    for s in leading:
        if ONE_LABEL in s.flags and "constant" not in s.flags:
            found.setdefault(s.model, {})[f"{s.task}/{s.kind}"] = None
    return [
        f"{model} gives one and the same answer to every item of {', '.join(kinds)}: 0.0 and 100.0 % there follow "
        "from that alone"
        for model, kinds in found.items()
    ]


def _about_failures(result: Result, leading: Sequence[Score]) -> list[str]:
    lines = []
    if failed := sum(s.failed for s in leading):
        again = " Run the same command again to ask them." if result.folder else ""
        groups = "group" if failed == 1 else "groups"
        lines.append(f"{failed:,} {groups} could not be scored: calls failed.{again}")
    if records := result.run.get("failures"):
        lines += in_words(from_records(records))
    return lines


def _about_groups_not_asked(result: Result, leading: Sequence[Score]) -> list[str]:
    lines = []
    not_needed = sum(s.not_needed for s in leading)
    if not_asked := sum(s.not_asked for s in leading) - not_needed:
        lines.append(f"{not_asked:,} groups could not be scored: not every item was asked or answered.")
    if until := result.run.get("until"):
        from unwaver.asking.until import as_lines

        lines += as_lines(until)
    elif not_needed:
        lines.append(f"{not_needed:,} groups were not asked: a verdict was certain without them.")
    return lines


def _about_free_text(result: Result) -> list[str]:
    if not result.run.get("agreements") and not any(s.metric.startswith("Cons_") for s in result.scores):
        return []
    from unwaver.metrics.noise import how_to_measure
    from unwaver.reports.notion import about_agreements, lines

    return [*lines(result), *how_to_measure(result.blocks(), result.run), *about_agreements(result)]


def _about_variants(result: Result) -> list[str]:
    """How the variants were certified, and what wrong ones among them would do to the numbers."""
    from unwaver.asking.audit import as_text

    lines = [
        f"{found['case']} ({found['model']}): {as_text(found)}" for found in result.run.get("certification", ())
    ]
    for s in result.leading():
        if s.epsilon:
            lines.append(
                f"{s.suite}/{s.task}/{s.kind}: if {percent(s.epsilon)} % of the variants are wrong, {s.metric} on "
                f"the right ones lies between {percent(s.bound_low)} and {percent(s.bound_high)} %"
            )
    return lines


def _about_seen(result: Result) -> list[str]:
    """Groups that a model was trained on say nothing of what it does with others."""
    apart: dict[str, list[str]] = {}
    for s in result.leading():
        if "seen_in_training" in s.flags:
            apart.setdefault(s.model, []).append(f"{s.task}/{s.kind}")
    return [
        f"{', '.join(names)}: groups with a text that {model} was trained on, scored separately (seen_in_training)"
        for model, names in apart.items()
    ]


def _about_gold(result: Result) -> list[str]:
    """What cannot be computed because the right answers are not known."""
    leading = [(leading_of(block), block) for block in result.blocks()]
    without = [(s, b) for s, b in leading if s.accuracy is None and s.groups > s.missing + s.not_needed]
    meanings = [meaning for s, block in without if (meaning := leading_meaning(s, block)) is not None]
    lost = list(dict.fromkeys(name for meaning in meanings for name in meaning.without_gold))
    if not lost:
        return []
    *first, last = lost
    listed = f"{', '.join(first)}{',' * (len(first) > 1)} or {last}" if first else last
    line = f"without gold labels, unwaver cannot compute {listed}."
    if len(without) == len(leading):
        return [line[0].upper() + line[1:]]
    names = dict.fromkeys(f"{s.suite}/{s.task}/{s.kind}" for s, _ in without)
    return [f"{', '.join(names)}: {line}"]
