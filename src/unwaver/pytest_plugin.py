"""A fixture for tests of models: installed with unwaver, found by pytest.

def test_model(unwaver):
    unwaver.assert_consistent("hf/my-model", "my.jsonl", max_tau=0.1, min_accuracy=0.8)

Nothing of unwaver is imported until a test uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from unwaver.bars import Way
    from unwaver.result import Result
    from unwaver.types import Model


@pytest.fixture
def unwaver(tmp_path: Path) -> Consistency:
    """Asserts that a model is consistent: unwaver.assert_consistent(model, "my.jsonl", max_tau=0.1)."""
    return Consistency(tmp_path)


class Consistency:
    def __init__(self, folder: Path):
        self._folder = folder

    def assert_consistent(
        self,
        model: str | Model | Callable[..., Any],
        suites: str | Path | list[str],
        *,
        bars: str | Path | None = None,
        baseline: str | Path | None = None,
        max_drop: float | None = None,
        alpha: float | None = None,
        allow_undecided: bool = False,
        **options: Any,
    ) -> Result:
        """Run the model on the suites and fail unless every bar is met: what `unwaver run` and `unwaver gate` do.

        A model is what unwaver.run takes, or a function as for python/module:function. Bars are max_METRIC and
        min_METRIC, or a TOML file. Undecided is a failure, too, unless it is allowed. Other options are those of
        unwaver.run; answers are kept for one test alone unless `out` or `store` says where.
        """
        __tracebackhide__ = True
        import unwaver
        from unwaver.verdicts import gates as gate
        from unwaver.verdicts.paired_runs import sides_of

        chosen: list[gate.Bar] = []
        if bars is not None:
            chosen, of_file = gate.read_bars(Path(bars))
            alpha = of_file if alpha is None else alpha
        ways: dict[str, Way] = {"max_": "max", "min_": "min"}
        for name in list(options):
            if name[:4] in ways and not hasattr(unwaver.Config, name):
                chosen.append(gate.bar_of(ways[name[:4]], name[4:], options.pop(name), name))
        if max_drop is not None:
            chosen.append(gate.bar_from(str(max_drop), "max_drop"))
        options.setdefault("out", str(self._folder / "unwaver"))
        named = [str(suites)] if isinstance(suites, str | Path) else list(suites)
        alpha = 0.05 if alpha is None else alpha
        result = unwaver.run(named, _as_model(model), alpha=alpha, **options)
        assert result.folder is not None
        checks = gate.gate(
            sides_of(result.folder),
            chosen,
            baseline=sides_of(Path(baseline)) if baseline else (),
            alpha=alpha,
        )
        if not gate.is_met(checks, allow_undecided):
            lines = [gate.as_line(check) for check in checks if check.verdict != "pass"]
            pytest.fail("\n".join([f"not consistent enough: {gate.overall(checks)}", *lines]), pytrace=False)
        return result


def _as_model(model: Any) -> Any:
    """A plain function becomes a model that is never answered for from an earlier run."""
    from unwaver.types import Model

    if isinstance(model, str | Model) or not callable(model):
        return model
    from unwaver.models.python import PythonModel

    return PythonModel(getattr(model, "__name__", "function"), model, "", 64)
