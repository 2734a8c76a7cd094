"""What a shell offers when Tab is pressed. Names come from the catalogue, so that nothing heavy is imported.

A name of several parts is offered part by part. Where one name is left, its parts come along, so that the shell
adds no space after it:

    be          -> becel, becel/rte, becel/snli, …
    becel/      -> becel/rte, becel/snli, …
    becel/snli  -> becel/snli, becel/snli/semantic, becel/snli/negational, …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Parts = Mapping[str, Any]  # {"becel": {"snli": {"semantic": {}}}}


def suites(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Suites, their tasks and relations; or files."""
    from unwaver import registry

    first = incomplete.partition("/")[0]
    fitting = [name for name in registry.names("suites") if name.startswith(first)]
    opened = fitting if len(fitting) == 1 or "/" in incomplete else []
    tree = {name: _tasks_and_kinds(name) if name in opened else {} for name in fitting}
    return [_files(incomplete), *map(CompletionItem, by_parts(tree, incomplete))]


def models(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Providers; names where a provider has few; folders and files of those that take a path."""
    from unwaver import registry
    from unwaver.models.fake import KINDS

    provider, slash, rest = incomplete.partition("/")
    if slash and provider in _WITH_PATHS:
        return [CompletionItem(f"{provider}/{path}") for path in _paths(rest)]
    known: dict[str, Any] = {name: {} for name in registry.names("models")}
    known["fake"], known["demo"] = {kind: {} for kind in KINDS}, {"smollm2": {}}
    if slash:
        return [CompletionItem(name) for name in by_parts(known, incomplete)]
    fitting = [name for name in known if name.startswith(provider)]
    only = by_parts(known, fitting[0] + "/") if len(fitting) == 1 else []
    return [CompletionItem(name) for name in only or [f"{name}/" for name in fitting]]


def sections(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The sections of the catalogue."""
    from unwaver.catalog import SECTIONS

    return [CompletionItem(name) for name in SECTIONS if name.startswith(incomplete)]


def metrics(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Metrics by the names that a table shows."""
    from unwaver.meaning import known_names

    return [CompletionItem(name) for name in known_names() if name.startswith(incomplete)]


def names(section: str, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Names of one section of the catalogue: partial(names, "variants")."""
    from unwaver import registry

    return [CompletionItem(name) for name in registry.names(section) if name.startswith(incomplete)]


def tasks(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Tasks by name, or a task file."""
    return [_files(incomplete), *names("tasks", _, __, incomplete)]


_WITH_PATHS = ("hf", "predictions", "bow", "embedding", "bertscore", "regression")
_MOST = 200  # entries of a folder


def by_parts(tree: Parts, incomplete: str) -> list[str]:
    """by_parts({"a": {"b": {}, "c": {}}}, "a/") -> ["a/b", "a/c"]; "" -> ["a", "a/b", "a/c"]."""
    *done, last = incomplete.split("/")
    for part in done:
        tree = tree.get(part, {})
    before = "".join(f"{part}/" for part in done)
    fitting = [name for name in tree if name.startswith(last)]
    found = [before + name for name in fitting]
    if len(fitting) == 1:
        found += [f"{found[0]}/{name}" for name in tree[fitting[0]]]
    return found


def _files(incomplete: str) -> CompletionItem[str]:
    """Goes before other items: bash forgets what came before it, and offers files only if nothing else fits."""
    return CompletionItem(incomplete, type="file")


def _tasks_and_kinds(name: str) -> Parts:
    """Tasks and relations of a suite; nothing of one that cannot be opened: a shell shows no errors."""
    from unwaver import registry

    try:
        make = registry.find("suites", name)
        suite = make(**registry.accepted(make, {"writer": "fake/nobody"}))
        return {task: {kind: {} for kind in kinds} for task, kinds in suite.cases.items()}
    except Exception:
        return {}


def _paths(start: str) -> Iterable[str]:
    """ "mod" -> ["models", "models/mrpc", "models/snli"]: entries of a folder, and those of a single one."""
    folder, slash, last = start.rpartition("/")
    before = folder + slash
    found = [before + name for name in _entries(Path(before or ".")) if name.startswith(last)]
    if len(found) == 1:
        found += [f"{found[0]}/{name}" for name in _entries(Path(found[0]))]
    return found


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))[:_MOST]
    except OSError:
        return []
