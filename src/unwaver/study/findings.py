"""What the models of a study say: means over seeds, tests between sides at two levels, ρ, tests over models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from unwaver.stats.seeds import SeedTest
from unwaver.study.compared import Compared, GroupTest, compared
from unwaver.study.lines import SeedMean, lines_of
from unwaver.study.plan import StudyPlan
from unwaver.study.sides import Side
from unwaver.study.sizes import AcrossModels, across_models, rho_of, shares_of
from unwaver.study.work import StudyModel
from unwaver.train.base import is_text_to_text, open_base

VERSION = 2


@dataclass(frozen=True)
class Findings:
    lines: list[SeedMean]
    tests: list[Compared]
    shares: list[dict[str, Any]]
    rho: list[dict[str, Any]]
    across: list[AcrossModels] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """What study.json holds."""
        return {"version": VERSION, **asdict(self)}


def findings(plan: StudyPlan, models: Sequence[StudyModel]) -> Findings:
    lines = list(lines_of(models))
    tests = compared(plan.compare, lines, models)
    writers = {base for base in plan.bases if is_text_to_text(open_base(base)[1])}
    rho = list(rho_of(lines, plan, writers))
    return Findings(lines, tests, list(shares_of(tests, plan)), rho, list(across_models(lines, plan)))


def from_document(found: Mapping[str, Any]) -> Findings:
    """The findings of a study.json."""
    tests = [
        Compared(
            **{
                **test,
                "first": Side(**test["first"]),
                "second": Side(**test["second"]),
                "recipe": _seed_test(test["recipe"]),
                "models": test["models"] and GroupTest(**test["models"]),
            }
        )
        for test in found["tests"]
    ]
    across = [AcrossModels(**{**a, "found": _seed_test(a["found"])}) for a in found.get("across", [])]
    lines = [SeedMean(**line) for line in found["lines"]]
    return Findings(lines, tests, found["shares"], found["rho"], across)


def _seed_test(found: Mapping[str, Any]) -> SeedTest:
    return SeedTest(**{**found, "seeds": tuple(found["seeds"])})
