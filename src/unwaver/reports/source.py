"""What a report is about: answers, groups and scores of run folders, tables and logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.metrics.block import Block, block_of
from unwaver.metrics.score import partition
from unwaver.reports.ranking import Ranked, ranked
from unwaver.result import Result
from unwaver.state import CutMode
from unwaver.types import Group, replace


@dataclass(frozen=True)
class Source:
    """One RUN. `groups` are the texts, none where only answers are known."""

    path: str
    frame: pl.DataFrame
    result: Result
    groups: Mapping[str, Group]
    files: tuple[str, ...] = ()  # of a table or logs
    is_private: bool = False  # texts were taken out: unwaver.reports.private

    @cached_property
    def blocks(self) -> list[tuple[Block, pl.DataFrame]]:
        """Each block with its rows, without those of a full test set."""
        return [(block_of(part), part.filter(pl.col("role") != "test")) for part in partition(self.frame)]

    @cached_property
    def ranked(self) -> list[Ranked]:
        """Of each block, how bad its groups are."""
        return [ranked(block) for block, _ in self.blocks]


def read_sources(paths: Sequence[Path], *, cut: CutMode | None = None, **log_options: Any) -> list[Source]:
    """Run folders one by one; logs of one tool together."""
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.engine.load import is_job, run_folder

    check_answer_options(paths, **log_options)
    form = log_options.get("format") or "auto"
    jobs = [path for path in paths if is_job(path, form)]
    places = {path: run_folder([path], form) for path in paths if path not in jobs}
    logs = [path for path in places if places[path] is None]
    found = [_of_folder(place, cut) for place in places.values() if place is not None]
    if logs:
        found.append(_of_logs(logs, log_options, cut))
    found += map(_of_job, dict.fromkeys(jobs))
    return told_apart(found)


def source_of(name: str, frame: pl.DataFrame, result: Result, groups: Iterable[Group]) -> Source:
    return Source(name, frame, result, {group.id: group for group in groups})


def source_of_result(result: Result) -> Source:
    """The source of a result that Python has, from the answers that it was computed from."""
    from unwaver.engine.load import load, name_of

    if result.answers is None:
        found = load(result)
        return source_of(name_of(result), found.frame, result, found.groups)
    return source_of(name_of(result), result.answers, result, result.groups)


def _of_folder(place: Path, cut: CutMode | None) -> Source:
    from unwaver.engine.load import load_run

    found = load_run(place, cut=cut)
    return source_of(str(place), found.frame, found.scored(), found.groups)


def _of_job(path: Path) -> Source:
    """Answers of people."""
    from unwaver.engine.load import load

    found = load(path)
    return source_of(str(path), found.frame, found.scored(), found.groups)


def _of_logs(paths: Sequence[Path], log_options: Mapping[str, Any], cut: CutMode | None) -> Source:
    from unwaver.engine.load import load

    found = load(list(paths), cut=cut, texts=True, **log_options)
    names = [str(path) for path in paths]
    result = found.scored()
    run = {**result.run, "command": ["unwaver", "score", *names]}
    read = source_of(", ".join(names), found.frame, replace(result, run=run), ())
    return replace(read, files=tuple(names))


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
