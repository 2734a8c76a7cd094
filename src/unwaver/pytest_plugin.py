"""A fixture for tests of models: installed with unwaver, found by pytest.

def test_model(unwaver):
    unwaver.assert_consistent("hf/my-model", "my.jsonl", bars=["tau<=0.10", "accuracy>=0.80"])

Nothing of unwaver is imported until a test uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from unwaver.bars import Way
    from unwaver.result import Result
    from unwaver.types import Model
    from unwaver.verdicts.checks import GateOutcome
    from unwaver.verdicts.placed_bars import Given


@pytest.fixture
def unwaver(tmp_path: Path) -> Consistency:
    """Asserts that a model is consistent: unwaver.assert_consistent(model, "my.jsonl", bars=["tau<=0.10"])."""
    return Consistency(tmp_path)


MOST_GROUPS = 3  # broken groups in the message of a failure


class Consistency:
    def __init__(self, folder: Path):
        self._folder = folder
        self._places: dict[str, Path] = {}

    def assert_consistent(
        self,
        model: str | Model | Callable[..., Any],
        suites: Any,
        *,
        bars: Given | Sequence[Given] = (),
        baseline: Any = None,
        max_drop: float | None = None,
        alpha: float | None = None,
        allow_undecided: bool = False,
        per_item: bool | None = None,
        base_url: str | None = None,
        **options: Any,
    ) -> Result:
        """Run the model on the suites and fail unless every bar is met: what `unwaver run` and `unwaver gate` do.

        A model and suites are what unwaver.run takes. A function is one of a prompt (`def answer(prompt: str) ->
        str`, or per_item=True) or of a list of requests; it may be asynchronous. `base_url` is the address of an
        OpenAI-compatible server. `bars` is a list such as ["tau<=0.10", "accuracy>=0.80"], one such text, or a
        TOML file; max_METRIC=X, min_METRIC=X and max_drop=X are short forms. Undecided is a failure, too, unless
        it is allowed. Other options are those of unwaver.run; answers are kept for one test alone unless `out` or
        `store` says where.
        """
        __tracebackhide__ = True
        import unwaver
        from unwaver.bars import bar_of, short_bar
        from unwaver.verdicts.gates import ALPHA, gate
        from unwaver.verdicts.placed_bars import PlacedBar, bars_from

        chosen, of_file = bars_from(() if bars is None else bars)
        ways: dict[str, Way] = {"max_": "max", "min_": "min"}
        for name in list(options):
            if name[:4] in ways and not hasattr(unwaver.Config, name):
                chosen.append(PlacedBar(bar_of(ways[name[:4]], name[4:], options.pop(name), name)))
        if max_drop is not None:
            chosen.append(PlacedBar(short_bar(str(max_drop), "max_drop")))
        options.setdefault("out", str(self._place(model, suites, options)))
        level = alpha if alpha is not None else ALPHA if of_file is None else of_file
        result = unwaver.run(suites, model, per_item=per_item, base_url=base_url, alpha=level, **options)
        outcome = gate(result, chosen, baseline=baseline, alpha=level, allow_undecided=allow_undecided)
        if not outcome.is_met:
            pytest.fail("\n".join(_failure(outcome, result)), pytrace=False)
        return result

    def _place(self, *asked: Any) -> Path:
        """A run folder for each question of this test; the same question goes on in the same folder."""
        return self._places.setdefault(repr(asked), self._folder / f"unwaver{len(self._places) or ''}")


def _failure(outcome: GateOutcome, result: Result) -> list[str]:
    """The bars that are not met, and the worst of the groups that they are about."""
    from unwaver.reports.in_python import broken_lines

    missed = [check for check in outcome.checks if check.verdict != "pass"]
    lines = [f"not consistent enough: {outcome.verdict}", *map(str, missed)]
    about = {(check.suite, check.task, check.kind) for check in missed}
    found = result.broken()
    keys = zip(found["suite"], found["task"], found["kind"], strict=True)
    theirs = found.filter([key in about for key in keys])
    if len(theirs):
        lines += ["", "broken groups:", *broken_lines(theirs, MOST_GROUPS)]
    return lines
