"""A source without texts, for private prompts: what the page is made of holds no question, answer or right answer.

Everything that is written comes from the source, so what is taken out here is nowhere on the page:

    answers and right answers   -> "answer 1", "answer 2" …: equal ones stay equal
    questions, prompts          -> none; groups and wordings keep ids that hold no text, else they get a hash
    the command, system prompts, notes of failed calls   -> none
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from unwaver.reports.source import Source
from unwaver.result import Result

_TEXTS = ("said", "text", "context", "prompt")  # columns that hold nothing but texts
_IDS = ("group", "item", "cluster")
# what a run records and a page needs; all else may hold a text
_KEPT = ("version", "id", "models", "asking", "spent", "pilot", "versions", "hashes", "until", "certification")
_KEPT_SETTINGS = ("seed", "read", "unreadable", "cut", "compare_questions", "replicates")
_NO_TEXT = ("method", "device", "dtype", "revision", "reasoning_effort", "service_tier")  # settings
_SHORT = 4  # characters below which a text may be in an id by chance


def without_texts(source: Source) -> Source:
    """The source as the page may show it to everybody."""
    names = _Names()
    frame = source.frame.drop([name for name in _TEXTS if name in source.frame.columns])
    labels = frame.get_column("label").replace_strict(
        old := frame["label"].drop_nulls().unique(maintain_order=True).to_list(),
        [names(label) for label in old],
        default=None,
        return_dtype=pl.String,
    )
    gold = pl.Series("gold", [_renamed(each, names) for each in frame["gold"].to_list()], dtype=pl.List(pl.String))
    hidden = _ids(source)
    frame = frame.with_columns(
        labels, gold, *(frame[name].cast(pl.String).map_elements(hidden, pl.String) for name in _IDS)
    )
    scores = [replace(s, given=None if s.given is None else names(s.given)) for s in source.result.scores]
    result = Result(scores, _run(source.result.run), source.result.folder)
    return replace(source, frame=frame, result=result, groups={}, is_private=True)


class _Names:
    """names("Paris") -> "answer 1"; the same text gets the same name."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return self._of.setdefault(text, f"answer {len(self._of) + 1}")


def _renamed(labels: Any, names: _Names) -> list[str] | None:
    if labels is None:
        return None
    return [names(label) for label in ([labels] if isinstance(labels, str) else labels)]


def _ids(source: Source) -> Callable[[str], str]:
    """A name for each id: its own in a run folder, unless a text of its group is in it; a hash in a log, where a
    question may be the id."""
    hidden = set(_with_a_text(source))
    known = set() if source.files or not source.groups else set(source.groups) | {
        item.id for group in source.groups.values() for item in group.items
    }  # fmt: skip

    def name(id: str) -> str:
        return id if id in known and id not in hidden else _hash(id)

    return name


def _with_a_text(source: Source) -> Iterator[str]:
    """Ids of groups and of their items that hold a text of the group."""
    answers = source.frame.group_by("group").agg(pl.col("label").drop_nulls().unique())
    said = {str(group): labels for group, labels in answers.iter_rows()}
    for group in source.groups.values():
        texts = [text for item in group.items for text in (*item.fields.values(), *item.accepted, *item.rejected)]
        own = {text.casefold() for text in (*texts, *said.get(group.id, ())) if len(text) >= _SHORT}
        for id in (group.id, *(item.id for item in group.items)):
            if any(text in id.casefold() for text in own):
                yield id


def _hash(id: str) -> str:
    return hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:12]


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: run[name] for name in _KEPT if name in run}
    if "models" in kept:
        kept["models"] = [_model(model) for model in kept["models"]]
    if run.get("config"):
        kept["config"] = {name: run["config"][name] for name in _KEPT_SETTINGS if name in run["config"]}
    if run.get("agreements"):
        kept["agreements"] = run["agreements"]
    if run.get("scorers"):
        kept["scorers"] = run["scorers"]
    return kept


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Without its system prompt: {"system": "You are …"} -> {"system": "(not shown)"}."""
    settings = model.get("settings") or {}
    return {**model, "settings": {name: _plain(name, value) for name, value in settings.items()}}


def _plain(name: str, value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) or name in _NO_TEXT else "(not shown)"
