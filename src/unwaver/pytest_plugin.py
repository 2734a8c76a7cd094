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
    from unwaver.verdicts.placed_bars import Given


@pytest.fixture
def unwaver(tmp_path: Path) -> Consistency:
    """Asserts that a model is consistent: unwaver.assert_consistent(model, "my.jsonl", bars=["tau<=0.10"])."""
    return Consistency(tmp_path)


class Consistency:
    def __init__(self, folder: Path):
        self._folder = folder

    def assert_consistent(
        self,
        model: str | Model | Callable[..., Any],
        suites: str | Path | list[str],
        *,
        bars: Given | Sequence[Given] = (),
        baseline: str | Path | None = None,
        max_drop: float | None = None,
        alpha: float | None = None,
        allow_undecided: bool = False,
        **options: Any,
    ) -> Result:
        """Run the model on the suites and fail unless every bar is met: what `unwaver run` and `unwaver gate` do.

        A model is what unwaver.run takes, or a function as for python/module:function. `bars` is a list such
        as ["tau<=0.10", "accuracy>=0.80"], or a TOML file; max_METRIC=X, min_METRIC=X and max_drop=X are short
        forms. Undecided is a failure, too, unless it is allowed. Other options are those of unwaver.run; answers
        are kept for one test alone unless `out` or `store` says where.
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
        options.setdefault("out", str(self._folder / "unwaver"))
        named = [str(suites)] if isinstance(suites, str | Path) else list(suites)
        level = alpha if alpha is not None else ALPHA if of_file is None else of_file
        result = unwaver.run(named, _as_model(model), alpha=level, **options)
        outcome = gate(result, chosen, baseline=baseline, alpha=level, allow_undecided=allow_undecided)
        if not outcome.is_met:
            lines = [str(check) for check in outcome.checks if check.verdict != "pass"]
            pytest.fail("\n".join([f"not consistent enough: {outcome.verdict}", *lines]), pytrace=False)
        return result


def _as_model(model: Any) -> Any:
    """A plain function becomes a model that is never answered for from an earlier run."""
    from unwaver.types import Model

    if isinstance(model, str | Model) or not callable(model):
        return model
    from unwaver.models.python import from_function

    return from_function(model)
