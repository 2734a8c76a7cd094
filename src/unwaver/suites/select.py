"""From what a user names – suites, prefixes, files – to groups, and the solved examples of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from unwaver import registry
from unwaver.errors import DataError, UsageError, near
from unwaver.files import EXTENSIONS
from unwaver.groups.many import joined, together
from unwaver.types import Group, Suite

_FILES = (*EXTENSIONS, ".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xls", ".ods", ".txt")


@dataclass(frozen=True)
class Case:
    """One suite/task/kind."""

    suite: Suite
    task: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.suite.name}/{self.task}/{self.kind}"


@dataclass(frozen=True)
class Selection:
    """The groups of a run, the notes on how they were made, and the suites they came from."""

    groups: Sequence[Group]
    notes: dict[str, list[str]]
    suites: list[Suite] = field(default_factory=list)


def select(
    names: Sequence[str],
    options: Mapping[str, Any],
    *,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Selection:
    """The groups of everything named: "becel", "becel/snli", "calm/mnli/signal", "my.jsonl".

    `limit` takes the first groups of each suite/task/kind in file order, `sample` random ones.
    """
    parts: list[Sequence[Group]] = []
    notes: dict[str, list[str]] = {}
    suites: dict[int, Suite] = {}
    for case in cases(names, {**options, "first_groups": limit}):
        found = _some(case, limit, sample, seed)
        if not found:
            raise DataError(f"{case.name} has no groups", hint="unwaver list suites shows how many each suite has")
        parts.append(found)
        suites[id(case.suite)] = case.suite
        if said := case.suite.notes(case.task, case.kind):
            notes[case.name] = said
    groups = joined(parts)
    if len(suites) > 1:
        from unwaver.suites.several import check_ids

        check_ids(groups)
    return Selection(groups, notes, list(suites.values()))


def cases(names: Sequence[str], options: Mapping[str, Any]) -> list[Case]:
    """The suite/task/kinds that the names select, each once, in the order they were named."""
    if not names:
        raise UsageError("nothing to run", hint="name a suite (unwaver list suites) or a file of your own")
    opened: dict[str, Suite] = {}
    chosen: dict[str, Case] = {}
    for name in names:
        for case in _cases_of(name, options, opened):
            chosen.setdefault(f"{id(case.suite)}/{case.name}", case)
    return list(chosen.values())


def _cases_of(name: str, options: Mapping[str, Any], opened: dict[str, Suite]) -> Iterator[Case]:
    path = Path(name)
    if path.is_file():
        suite = opened.setdefault(name, _open_own(path, options))
        yield from (Case(suite, task, kind) for task, kinds in suite.cases.items() for kind in kinds)
        return
    if options.get("variants") and not _looks_like_file(name):
        hint = "name a file of items; a suite has its variants already"
        raise UsageError(f"--variants makes groups from a file, and {name} is not a file", hint=hint)
    suite_name, _, rest = name.strip("/").partition("/")
    if path.is_dir() and (_looks_like_file(name) or suite_name not in registry.names("suites")):
        groups = path / "groups.jsonl"
        hint = f"name a file: {groups}" if groups.is_file() else "name a file in it"
        raise DataError("this is a folder, expected a suite or a file", hint=hint, file=name)
    if _looks_like_file(name):
        raise DataError("there is no such file", hint="check the path", file=name)
    if suite_name not in opened:
        make = registry.find("suites", suite_name)
        opened[suite_name] = registry.call("suites", suite_name, Suite, **registry.accepted(make, options))
    suite = opened[suite_name]
    task, _, kind = rest.partition("/")
    yield from (Case(suite, t, k) for t, k in _below(suite, task, kind))


def _open_own(path: Path, options: Mapping[str, Any]) -> Suite:
    """A file of groups, or of items that variants are made of."""
    if options.get("variants"):
        from unwaver.suites import built

        return built.suite(path, **{name: value for name, value in options.items() if value is not None})
    from unwaver.suites import own

    return own.suite(path, **registry.accepted(own.suite, options))


def _below(suite: Suite, task: str, kind: str) -> list[tuple[str, str]]:
    if task and task not in suite.cases:
        raise UsageError(f"{suite.name} has no task {task!r}", hint=near(task, suite.cases))
    if kind and kind not in suite.cases[task]:
        next(suite.groups(task, kind), None)  # an invalid relation is refused here, with the reason
        raise UsageError(f"{suite.name}/{task} has no kind {kind!r}", hint=near(kind, suite.cases[task]))
    tasks = [task] if task else list(suite.cases)
    return [(t, k) for t in tasks for k in suite.cases[t] if not kind or k == kind]


def _looks_like_file(name: str) -> bool:
    return name.startswith((".", "~", "/")) or name.lower().removesuffix(".gz").endswith(_FILES)


def _some(case: Case, limit: int | None, sample: int | None, seed: int) -> Sequence[Group]:
    groups = case.suite.groups(case.task, case.kind)
    if sample is None:
        return together(groups) if limit is None else list(islice(groups, limit))
    everything = together(groups)
    # the pairs of both kinds of a task are the same: the seed does not depend on the kind
    random, count = Random(f"{seed}/{case.task}"), min(sample, len(everything))
    if not case.suite.balanced:
        return [everything[i] for i in sorted(random.sample(range(len(everything)), count))]
    drawn = random.sample(range(len(everything)), len(everything))
    place = {i: sum(everything[j].tag == everything[i].tag for j in drawn[:n]) for n, i in enumerate(drawn)}
    return [everything[i] for i in sorted(sorted(drawn, key=place.__getitem__)[:count])]
