"""HELM: a run folder with `scenario_state.json` (or a folder of such), its perturbations and its references.

An instance and its perturbed forms share an id: that is the bucket, the unperturbed one its original.
Training trials and several completions are replicates. `per_instance_stats.json`, where it is there, says what
is right (exact_match, unless --metric-key names another); without it an answer is right if it is a reference
tagged correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from unwaver.errors import DataError, near
from unwaver.files import Where, read_json, shown
from unwaver.logs.common import (
    LogOptions,
    Partial,
    as_right,
    digest,
    entry,
    field_text,
    files_in,
    head,
    lines_of,
    read_document,
    table_of_entries,
    with_named_fields,
)
from unwaver.logs.ended import log_status
from unwaver.logs.foreign import unfinished_helm
from unwaver.typed import of_log

NAME = "helm"
STATE = "scenario_state.json"
PREFERRED = ("exact_match", "quasi_exact_match")
Stats = Mapping[tuple[str, str, int], Mapping[str, float]]


def looks_like(path: Path) -> bool:
    if path.is_dir():
        return next(path.rglob(STATE), None) is not None
    return path.name == STATE or ('"adapter_spec"' in (start := head(path)) and '"request_states"' in start)


def read(path: Path, options: LogOptions) -> pl.DataFrame:
    if left_out := unfinished_helm(path) if path.is_dir() else []:
        names = ", ".join(folder.name for folder in left_out[:3]) + " …" * (len(left_out) > 3)
        options.say(f"{len(left_out):,} without {STATE}, which did not finish, left out: {names}")
    files = files_in(path, STATE)
    return pl.concat([_read_run(file, options.about(file, len(files) > 1)) for file in files])


def _read_run(file: Path, options: LogOptions) -> pl.DataFrame:
    state, text = read_document(file)
    document: _Document = of_log(_Document, state, Where(str(file), 1), _HINT)
    states = document.request_states
    told = {"task": _task(file), "model": document.adapter_spec.model}
    stats = _stats(file.parent / "per_instance_stats.json")
    metric = _metric(stats, options, file)
    partial = Partial()
    places = [Where(str(file), line) for line in lines_of(text, "instance", len(states))]
    entries = [
        e
        for one, where in zip(states, places, strict=True)
        for e in _entries(one, where, stats, metric, told, options, partial)
    ]
    if states and not entries:
        hint = "each reference was a request of its own: per_instance_stats.json must say which was predicted"
        raise DataError("found no answers", file=file, line=1, hint=hint)
    partial.tell(options.say, str(metric))
    return table_of_entries(entries, file, options, suite=NAME)


_HINT = f"give the run folder of HELM, with its {STATE}"
Text = str | int | float | None


class _Adapter(msgspec.Struct):
    model: str = "unknown"


class _Document(msgspec.Struct):
    request_states: list[Any]
    adapter_spec: _Adapter = msgspec.field(default_factory=_Adapter)


class _Output(msgspec.Struct):
    text: Text = None


class _Reference(msgspec.Struct):
    output: _Output = msgspec.field(default_factory=_Output)
    tags: list[str] = []


class _Instance(msgspec.Struct):
    id: str | int
    input: _Output | str | None = None
    references: list[_Reference] = []
    perturbation: dict[str, Any] | None = None


class _Ended(msgspec.Struct):
    reason: str | None = None


class _Completion(msgspec.Struct):
    text: Text = None
    finish_reason: _Ended | str | None = None


class _Result(msgspec.Struct):
    success: bool = True
    completions: list[_Completion] = []


class _State(msgspec.Struct):
    """One request, as scenario_state.json holds it."""

    instance: _Instance
    train_trial_index: Annotated[int, msgspec.Meta(ge=0, le=10**9)] = 0
    request_mode: str | None = None
    reference_index: int | None = None
    output_mapping: dict[str, Text] | None = None
    prompt_truncated: bool | None = None
    result: _Result | None = None


class _Name(msgspec.Struct):
    name: str


class _Stat(msgspec.Struct):
    name: _Name
    mean: float | None = None


class _Stats(msgspec.Struct):
    """The metrics of one instance, as per_instance_stats.json holds them."""

    instance_id: str | int
    stats: list[_Stat]
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None


def _task(file: Path) -> str:
    """The run's name without its model: "mmlu:subject=law,model=openai_x" -> "mmlu:subject=law"."""
    try:
        name = str(read_json(file.parent / "run_spec.json")["name"])
    except (DataError, KeyError, TypeError):
        name = file.resolve().parent.name
    scenario, colon, arguments = name.partition(":")
    kept = [a for a in arguments.split(",") if a and not a.startswith(("model=", "model_deployment="))]
    return scenario + colon * bool(kept) + ",".join(kept)


# --- what is right ------------------------------------------------------------------------------------------


def _stats(file: Path) -> Stats:
    """(instance, perturbation, trial) -> metric -> mean"""
    if not file.exists():
        return {}
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    told: list[_Stats] = of_log(list[_Stats], read_json(file), Where(str(file), 1), "copy the run folder again")
    for one in told:
        key = (str(one.instance_id), _perturbation(one), one.train_trial_index)
        found.setdefault(key, {}).update({s.name.name: s.mean for s in one.stats if s.mean is not None})
    return found


def _metric(stats: Stats, options: LogOptions, file: Path) -> str | None:
    known = list(dict.fromkeys(name for means in stats.values() for name in means))
    if options.metric_key is not None and options.metric_key not in known:
        raise DataError(
            f"no metric {shown(options.metric_key)} in per_instance_stats.json",
            file=file,
            hint=near(options.metric_key, known) if known else "this file is not in the run folder",
        )
    return options.metric_key or next((name for name in PREFERRED if name in known), None)


# --- answers ------------------------------------------------------------------------------------------------


def _entries(
    raw: Any,
    where: Where,
    stats: Stats,
    metric: str | None,
    told: Mapping[str, str],
    options: LogOptions,
    partial: Partial,
) -> Iterator[dict[str, Any]]:
    state: _State = of_log(_State, raw, where, _HINT)
    instance, trial = state.instance, state.train_trial_index
    changed = _perturbation(instance)
    means = stats.get((str(instance.id), changed, trial), {})
    if state.request_mode == "calibration" or not _is_chosen(state.reference_index, means):
        return
    references = [(field_text(r.output.text), "correct" in r.tags) for r in instance.references]
    completions = state.result.completions if state.result is not None and state.result.success else []
    for n, completion in enumerate(completions or [_Completion()]):
        answer, is_choice = _mapped(completion, state)
        finish = _finish(completion)
        if state.reference_index is not None:  # scored, not written
            answer, finish = _scored(references, state.reference_index, where), ""
        made = entry(
            where,
            **told,
            group=str(instance.id),
            id=str(instance.id),
            item=changed or "original",
            prompt=field_text(instance.input.text if isinstance(instance.input, _Output) else instance.input),
            role="variant" if changed else "original",
            replicate=str(trial * len(completions) + n) if completions else str(trial),
            label=answer,
            gold=[text for text, correct in references if correct and text] or None,
            right=as_right(means.get(metric), partial) if metric is not None and n == 0 else None,
            truncated=bool(state.prompt_truncated),
            status=log_status(finish, answer, settled=is_choice),
        )
        if not completions:
            made |= {"status": "failed", "label": None, "right": None, "gold": None}
        yield with_named_fields(made, raw, options, where)


def _is_chosen(reference: int | None, means: Mapping[str, float]) -> bool:
    """Where each reference was a request of its own, the answer is the one with the predicted index."""
    return reference is None or means.get("predicted_index") == reference


def _scored(references: Sequence[tuple[str | None, bool]], number: int, where: Where) -> str | None:
    if not 0 <= number < len(references):
        what = f'"reference_index": found {number}, expected the number of one of {len(references)} references'
        raise where.error(what, _HINT)
    return references[number][0]


def _perturbation(instance: _Instance | _Stats) -> str:
    """ "" for the original; the name, and what tells two of one name apart."""
    found = instance.perturbation
    if found is None:
        return ""
    rest = {k: v for k, v in found.items() if k not in ("name", "robustness", "fairness", "computed_on")}
    return str(found.get("name", "perturbed")) + (f"/{digest(rest)}" if rest else "")


def _finish(completion: _Completion) -> str:
    """Why the text ended: {"finish_reason": {"reason": "length"}} -> "length"; "" where nothing says so."""
    found = completion.finish_reason
    return (found.reason if isinstance(found, _Ended) else found) or ""


def _mapped(completion: _Completion, state: _State) -> tuple[str | None, bool]:
    """ "B" -> the text of choice B, where the run says so; and whether it does."""
    text = field_text(completion.text)
    if state.output_mapping is not None and text in state.output_mapping:
        return field_text(state.output_mapping[text]), True
    return text, False
