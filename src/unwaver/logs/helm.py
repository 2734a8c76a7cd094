"""HELM: a run folder with `scenario_state.json` (or a folder of such), its perturbations and its references.

An instance and its perturbed forms share an id: that is the bucket, the unperturbed one its original.
Training trials and several completions are replicates. `per_instance_stats.json`, where it is there, says what
is right (exact_match, unless --metric-key names another); without it an answer is right if it is a reference
tagged correct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
from unwaver.typed import is_whole

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
    states = state.get("request_states")
    if not isinstance(states, list):
        raise DataError(f'"request_states": found {shown(states)}, expected a list', file=file, line=1, hint=_HINT)
    spec = state.get("adapter_spec")
    told = {
        "task": _task(file),
        "model": str(spec.get("model", "unknown")) if isinstance(spec, Mapping) else "unknown",
    }
    stats = _stats(file.parent / "per_instance_stats.json")
    metric = _metric(stats, options, file)
    partial = Partial()
    places = [Where(str(file), line) for line in lines_of(text, "instance", len(states))]
    entries = [
        e
        for one, where in zip(states, places, strict=True)
        for e in _entries(_checked(one, where), where, stats, metric, told, options, partial)
    ]
    if states and not entries:
        hint = "each reference was a request of its own: per_instance_stats.json must say which was predicted"
        raise DataError("found no answers", file=file, line=1, hint=hint)
    partial.tell(options.say, str(metric))
    return table_of_entries(entries, file, options, suite=NAME)


_HINT = f"give the run folder of HELM, with its {STATE}"


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
    try:
        for one in read_json(file):
            key = (str(one["instance_id"]), _perturbation(one), int(one.get("train_trial_index", 0)))
            means = {str(s["name"]["name"]): float(s["mean"]) for s in one["stats"] if s.get("mean") is not None}
            found.setdefault(key, {}).update(means)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
        message = f"found no stats of instances ({type(e).__name__} {e}), expected instance_id and stats"
        raise DataError(message, file=file, line=1, hint="copy the run folder again") from None
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


def _checked(state: Any, where: Where) -> Mapping[str, Any]:
    if isinstance(state, dict) and isinstance(state.get("instance"), dict) and "id" in state["instance"]:
        return state
    raise where.error(f"found {shown(state)}, expected a request state: an instance with an id", _HINT)


def _entries(
    state: Mapping[str, Any],
    where: Where,
    stats: Stats,
    metric: str | None,
    told: Mapping[str, str],
    options: LogOptions,
    partial: Partial,
) -> Iterator[dict[str, Any]]:
    instance = state["instance"]
    changed, trial = _perturbation(instance), _trial(state, where)
    means = stats.get((str(instance["id"]), changed, trial), {})
    reference = state.get("reference_index")
    if state.get("request_mode") == "calibration" or not _is_chosen(reference, means):
        return
    references = _references(instance)
    completions = _completions(state)
    for n, completion in enumerate(completions or [None]):
        answer, is_choice = _mapped(completion, state)
        finish = _finish(completion)
        if reference is not None:  # scored, not written
            answer, finish = references[reference][0], ""
        made = entry(
            where,
            **told,
            group=str(instance["id"]),
            id=str(instance["id"]),
            item=changed or "original",
            prompt=_asked(instance),
            role="variant" if changed else "original",
            replicate=str(trial * len(completions) + n) if completions else str(trial),
            label=answer,
            gold=[text for text, correct in references if correct and text] or None,
            right=as_right(means.get(metric), partial) if metric is not None and n == 0 else None,
            truncated=bool(state.get("prompt_truncated")),
            status=log_status(finish, answer, settled=is_choice),
        )
        if not completions:
            made |= {"status": "failed", "label": None, "right": None, "gold": None}
        yield with_named_fields(made, state, options, where)


def _trial(state: Mapping[str, Any], where: Where) -> int:
    found = state.get("train_trial_index", 0)
    if not is_whole(found):
        raise where.error(f'"train_trial_index": found {shown(found)}, expected a whole number', _HINT)
    return int(found)


def _is_chosen(reference: Any, means: Mapping[str, float]) -> bool:
    """Where each reference was a request of its own, the answer is the one with the predicted index."""
    return reference is None or means.get("predicted_index") == reference


def _asked(instance: Mapping[str, Any]) -> str | None:
    found = instance.get("input")
    return field_text(found.get("text") if isinstance(found, Mapping) else found)


def _perturbation(instance: Mapping[str, Any]) -> str:
    """ "" for the original; the name, and what tells two of one name apart."""
    found = instance.get("perturbation")
    if not isinstance(found, Mapping):
        return ""
    rest = {k: v for k, v in found.items() if k not in ("name", "robustness", "fairness", "computed_on")}
    return str(found.get("name", "perturbed")) + (f"/{digest(rest)}" if rest else "")


def _references(instance: Mapping[str, Any]) -> list[tuple[str | None, bool]]:
    found = instance.get("references")
    return [
        (field_text(r["output"].get("text")), "correct" in _listed(r.get("tags")))
        for r in _listed(found)
        if isinstance(r, Mapping) and isinstance(r.get("output"), Mapping)
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _completions(state: Mapping[str, Any]) -> list[Any]:
    result = state.get("result")
    if not isinstance(result, Mapping) or result.get("success") is False:
        return []
    found = result.get("completions")
    return list(found) if isinstance(found, list) else []


def _finish(completion: Any) -> str:
    """Why the text ended: {"finish_reason": {"reason": "length"}} -> "length"; "" where nothing says so."""
    found = completion.get("finish_reason") if isinstance(completion, Mapping) else None
    reason = found.get("reason") if isinstance(found, Mapping) else found
    return reason if isinstance(reason, str) else ""


def _mapped(completion: Any, state: Mapping[str, Any]) -> tuple[str | None, bool]:
    """ "B" -> the text of choice B, where the run says so; and whether it does."""
    text = field_text(completion.get("text")) if isinstance(completion, Mapping) else None
    mapping = state.get("output_mapping")
    if isinstance(mapping, Mapping) and text in mapping:
        return field_text(mapping[text]), True
    return text, False
