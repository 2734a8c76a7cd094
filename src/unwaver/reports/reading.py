"""A remark where --read finds nothing in most of the answers: a wrong field, a pattern that never matches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from unwaver.errors import UnwaverError
from unwaver.result import Result
from unwaver.text.shown import safe
from unwaver.types import Score

MOST = 0.5  # share of groups with an answer in which nothing is found, before it is said
LOOKED_AT = 200  # answers in which fields are looked for


def lines(result: Result) -> Iterator[str]:
    """One for each model, about all relations in which nothing is found."""
    way = result.run["config"]["read"]
    by_model: dict[str, list[Score]] = {}
    for s in result.leading():
        free = any(m.startswith("Cons_") for m in _metrics(result, s.task))
        if free and _asked(s) and s.unreadable >= MOST * _asked(s):
            by_model.setdefault(s.model, []).append(s)
    for model, found in by_model.items():
        names = ", ".join(dict.fromkeys(f"{s.task}/{s.kind}" for s in found))
        unread, asked = sum(s.unreadable for s in found), sum(map(_asked, found))
        show = f" (unwaver show {result.folder} shows the texts)" if result.folder else ""
        yield (
            f"{names} ({model}): --read {way} finds no answer in {unread:,} of {asked:,} groups{show}."
            f"{_there(result, model)} Run the same command again with another --read: no answer is asked twice."
        )


def _asked(score: Score) -> int:
    return score.groups - score.missing - score.not_needed


def _there(result: Result, model: str) -> str:
    """Of --read json:FIELD: which fields the answers have."""
    way, _, field = result.run["config"]["read"].partition(":")
    if way != "json" or not (texts := _texts(result, model)):
        return ""
    from unwaver.answers.json_fields import fields_in

    there = fields_in(texts)
    if there is None:
        return " The answers hold no JSON."
    if not there or not field:
        return ""
    named = ", ".join(safe(name) for name in there)
    return f" The answers have no field {field}; they have {named}."


def _texts(result: Result, model: str) -> list[str]:
    """Some answers of the model, as they came; none where the run folder is not there any more."""
    from unwaver.answers.store import Store

    numbers = [str(n) for n, known in enumerate(result.run.get("models") or ()) if known["name"] == model]
    path = result.folder / "answers.sqlite" if result.folder else None
    if path is None or not numbers or not path.exists():
        return []
    query = "SELECT a.text FROM asked JOIN answers a USING (key) WHERE a.text IS NOT NULL AND model IN"
    try:
        with closing(Store(path, read_only=True)) as store:
            return [str(text) for (text,) in store.rows(f"{query} ({','.join(numbers)}) LIMIT {LOOKED_AT}")]
    except UnwaverError:
        return []


def _metrics(result: Result, task: str) -> set[str]:
    return {s.metric for s in result.scores if s.task == task}
