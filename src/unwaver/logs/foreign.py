"""Files and folders that look like a log, but cannot be read: another tool's, or a run that did not finish."""

from __future__ import annotations

import re
from pathlib import Path

from unwaver.errors import DataError
from unwaver.logs.common import head

_DEEPEVAL = (("testCases", "test_cases"), ("metricsData", "metrics_data", "actualOutput", "actual_output"))
_YAML = re.compile(r"(---\s*)?(evalId:|version: \d+\s+timestamp:|results:\s+version:)")
HELM_SPEC, HELM_STATE = "run_spec.json", "scenario_state.json"


def refuse_foreign(path: Path) -> None:
    """Say what a file is that no reader is for."""
    if path.suffix == ".json" and _is_deepeval(head(path)):
        hint = "write its answers to a table: a row for each, with the columns bucket, variant, answer and gold"
        raise DataError("this is a result of DeepEval, which unwaver does not read", file=path, hint=hint)
    if path.is_file() and _is_other_promptfoo(path):
        hint = "write JSON: promptfoo eval --output results.json, or promptfoo export eval latest -o results.json"
        raise DataError(
            f"this is promptfoo's {path.suffix[1:]}, which unwaver does not read", file=path, hint=hint
        )


def _is_deepeval(start: str) -> bool:
    return all(any(f'"{name}"' in start for name in names) for names in _DEEPEVAL)


def _is_other_promptfoo(path: Path) -> bool:
    """A table with a column for each provider and prompt ("[openai:gpt-4o] Answer: {{q}}"), or YAML."""
    if path.suffix in (".yaml", ".yml"):
        return _YAML.match(head(path)) is not None
    first = head(path).partition("\n")[0] if path.suffix == ".csv" else ""
    return re.search(r'(^|,)"?\[[^\]"]+\] ', first) is not None


def refuse_unfinished(path: Path) -> None:
    """Say what a folder is that holds a run of HELM without answers."""
    if path.is_dir() and (found := unfinished_helm(path)):
        hint = "run helm-run again, or give the folder of a run that has it"
        message = f"this run of HELM did not finish: it has no {HELM_STATE}"
        raise DataError(message, file=found[0], hint=hint)


def unfinished_helm(path: Path) -> list[Path]:
    """The run folders below a folder that have a specification and no answers."""
    return sorted(s.parent for s in path.rglob(HELM_SPEC) if not (s.parent / HELM_STATE).exists())
