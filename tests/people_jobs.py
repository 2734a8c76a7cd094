"""Jobs that people have done, without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unwaver.engine.job_content import content, keep_cards
from unwaver.groups import group_to_json
from unwaver.people.job import read_job
from unwaver.people.queue import next_card, save
from unwaver.people.store import Card, Database
from unwaver.types import Group, Item

CHOICES = ("entailment", "neutral", "contradiction")
Say = Callable[[Card, str], dict[str, Any]]


def groups(count: int = 4, choices: tuple[str, ...] = CHOICES, kind: str = "semantic") -> list[Group]:
    task = "snli" if choices == CHOICES else "rests"

    def item(n: int, role: str, text: str) -> Item:
        fields = {"premise": f"Man {n} sleeps.", "hypothesis": text}
        return Item(f"{kind}/{n}/{role}", task, role, fields, choices, choices[:1])  # type: ignore[arg-type]

    expect = "different" if kind == "negational" else "same"
    return [
        Group(
            f"{kind}/{n}",
            "mine",
            task,
            kind,
            expect,  # type: ignore[arg-type]
            (item(n, "original", "He rests."), item(n, "variant", "He is resting.")),
            cluster=f"{kind}/{n}",
        )
        for n in range(count)
    ]


def written(path: Path, given: Sequence[Group]) -> Path:
    path.write_text("".join(json.dumps(group_to_json(group)) + "\n" for group in given))
    return path


def job_file(path: Path, kind: str, source: str = "groups.jsonl", **more: Any) -> Path:
    values = {"kind": kind, "from": source, **more}
    path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in values.items()))
    return path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


def opened(path: Path, people: Sequence[str]) -> Database:
    """The database of a job with its cards, and these people."""
    job = read_job(path)
    keep_cards(job, content(job))
    database = Database(job.database)
    known = {rater.name for rater in database.raters()}
    for name in people:
        if name not in known:
            database.add_rater(name, f"token of {name}")
    return database


def play(path: Path, say: Say, people: Sequence[str] = ("ann", "bob", "cy"), most: int | None = None) -> Path:
    """Each person does all that the job has for them, or `most` cards."""
    job, database = read_job(path), opened(path, people)
    for rater in database.raters():
        for _ in range(10_000 if most is None else most):
            card = next_card(database, job, rater.id, 0.0) if rater.name in people else None
            if card is None:
                break
            save(database, job, rater.id, card, say(card, rater.name), times=0, seconds=2.0, now=0.0)
    database.close()
    return path
