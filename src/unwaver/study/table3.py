"""Adversarial training as BECEL prints it (Table 3): a row for each recipe, a column for each task, and in a cell
inconsistency on paraphrases with the difference to the model that was attacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unwaver.reports.terminal import percent
from unwaver.study.compared import ALPHA, seed_test
from unwaver.study.findings import Findings
from unwaver.study.lines import SeedMean
from unwaver.study.plan import Setting, StudyPlan, folder_name
from unwaver.train.attack import RECIPES

KIND, METRIC = "semantic", "tau"
Case = tuple[str, str]  # suite, task


def adversarial_tables(found: Findings, plan: StudyPlan) -> Iterator[tuple[str, list[list[str]]]]:
    """One table for each base and fraction, in a study of the paper's recipes that asks about paraphrases."""
    settings = [s for s in plan.settings.values() if s.training.get("adversarial")]
    if not any(s.training["adversarial"] in RECIPES for s in settings):
        return
    lines = [line for line in found.lines if (line.kind, line.metric) == (KIND, METRIC)]
    for base in plan.bases:
        for fraction in plan.fractions:
            some = [line for line in lines if (line.base, line.fraction) == (base, fraction)]
            cases = list(dict.fromkeys((x.suite, x.task) for s in settings for x in some if x.setting == s.name))
            if cases:
                yield _title(base, fraction, plan), _table(some, settings, cases, found, plan)


def _title(base: str, fraction: float, plan: StudyPlan) -> str:
    which = f" · {folder_name(base)}" if len(plan.bases) > 1 else ""
    which += f" · {fraction:g} of the data" if len(plan.fractions) > 1 else ""
    return (
        f"adversarial training{which}: semantic τ in %, (difference in points) "
        f"* p < {ALPHA:g} over seeds, ** after Holm"
    )


def _table(
    lines: Sequence[SeedMean], settings: Sequence[Setting], cases: Sequence[Case], found: Findings, plan: StudyPlan
) -> list[list[str]]:
    by_place = {(line.setting, line.suite, line.task): line for line in lines}
    header = ["setting", "recipe", "against", *(_case_name(case, cases) for case in cases)]
    rows, plain = [], list[list[str]]()
    for setting in settings:
        other = _against(setting, plan, {line.setting for line in lines})
        cells = [
            _cell(by_place.get((setting.name, *case)), by_place.get((other or "", *case)), found) for case in cases
        ]
        rows.append([setting.name, setting.training["adversarial"], other or "–", *cells])
        if other and not any(row[0] == other for row in plain):
            values = [_value(by_place.get((other, *case))) for case in cases]
            plain.append([other, "–", "–", *values])
    return [header, *plain, *rows]


def _case_name(case: Case, cases: Sequence[Case]) -> str:
    """The task, with its suite where a task stands in several."""
    return case[1] if sum(other[1] == case[1] for other in cases) == 1 else f"{case[1]}·{case[0]}"


def _against(setting: Setting, plan: StudyPlan, there: set[str]) -> str | None:
    """The setting whose models were attacked, else the first that trains on the rows as they are."""
    if setting.victim in there:
        return setting.victim
    return next((s.name for s in plan.settings.values() if s.is_plain and s.name in there), None)


def _value(line: SeedMean | None) -> str:
    return "–" if line is None or line.value is None else percent(line.value)


def _cell(line: SeedMean | None, other: SeedMean | None, found: Findings) -> str:
    """ "7.9 (-5.3)*": as the paper prints it, with the stars after the difference."""
    if line is None or line.value is None:
        return "–"
    if other is None or other.value is None:
        return percent(line.value)
    known = next(
        (t for t in found.tests if (t.first, t.second) == (other.side, line.side) and _same_case(t, line)), None
    )
    test = known.recipe if known else seed_test(other, line)
    stars = "*" * ((test is not None and test.p is not None and test.p < ALPHA) + _holds(known))
    return f"{percent(line.value)} ({100 * (line.value - other.value):+.1f}){stars}"


def _same_case(test: object, line: SeedMean) -> bool:
    return all(getattr(test, name) == getattr(line, name) for name in ("suite", "task", "kind", "metric"))


def _holds(test: object) -> bool:
    """By Holm's correction, which only tests of `compare` have."""
    p = getattr(test, "p_holm", None)
    return p is not None and p < ALPHA
