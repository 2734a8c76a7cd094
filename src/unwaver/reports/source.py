"""What a report is about: answers, groups and scores of run folders, tables and logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.engine import folder
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.score import partition
from unwaver.result import Result
from unwaver.state import CutMode
from unwaver.types import Group


@dataclass(frozen=True)
class Source:
    """One RUN. `groups` are the texts, none where only answers are known."""

    path: str
    frame: pl.DataFrame
    result: Result
    groups: Mapping[str, Group]

    @cached_property
    def blocks(self) -> list[tuple[Block, pl.DataFrame]]:
        """Each block with its rows, without those of a full test set."""
        return [(block_of(part), part.filter(pl.col("role") != "test")) for part in partition(self.frame)]


def read_sources(paths: Sequence[Path], *, cut: CutMode | None = None, **log_options: Any) -> list[Source]:
    """Run folders one by one; logs of one tool together."""
    from unwaver.engine.load import run_folder

    places = {path: run_folder([path], log_options.get("format") or "auto") for path in paths}
    logs = [path for path in places if places[path] is None]
    found = [_of_folder(place, cut) for place in places.values() if place is not None]
    if logs:
        found.append(_of_logs(logs, log_options, cut or "exclude"))
    return told_apart(found)


def of_run(place: Path, result: Result) -> Source:
    """A run folder whose scores are known already."""
    from unwaver.engine.load import read_folder

    return Source(str(place), pl.concat(read_folder(place)[0]), result, _groups(place))


def _of_folder(place: Path, cut: CutMode | None) -> Source:
    from unwaver.engine.load import read_folder, scored

    frames, record, config = read_folder(place, cut=cut)
    return Source(str(place), pl.concat(frames), scored(frames, record, config, place), _groups(place))


def _groups(place: Path) -> dict[str, Group]:
    return {group.id: group for group in folder.read_groups(place)}


def _of_logs(paths: Sequence[Path], log_options: Mapping[str, Any], cut: CutMode) -> Source:
    from unwaver.answers.table import complete
    from unwaver.engine.load import versions
    from unwaver.logs import options_from, read_logs
    from unwaver.metrics.score import score_frame

    answers, notes = read_logs(paths, options_from(dict(log_options)))
    frame = complete(answers, cut)
    names = [str(path) for path in paths]
    run = {"versions": versions(), "notes": notes, "cut": cut, "command": ["unwaver", "score", *names]}
    return Source(", ".join(names), frame, Result(score_frame(frame), run), {})


def told_apart(sources: Sequence[Source]) -> list[Source]:
    """A model that several runs have gets the path added, where both are about the same."""
    blocks = Counter(
        key
        for source in sources
        for key in {(s.suite, s.task, s.kind, s.model, s.method) for s in source.result.scores}
    )
    twice = {key[3] for key, count in blocks.items() if count > 1}
    return [_renamed(source, twice) for source in sources]


def _renamed(source: Source, models: set[str]) -> Source:
    if not models:
        return source

    def name(model: str) -> str:
        return f"{model} ({source.path})" if model in models else model

    scores = [replace(s, model=name(s.model)) for s in source.result.scores]
    frame = source.frame.with_columns(pl.col("model").replace({m: name(m) for m in models}))
    return replace(source, frame=frame, result=Result(scores, source.result.run, source.result.folder))
