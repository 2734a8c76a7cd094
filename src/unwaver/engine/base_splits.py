"""The base split of a set: all items that its groups were drawn from, each a group of its own (kind base_test).

They are asked with --base-accuracy. Without it they are part of the run only if the store has every answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from unwaver.answers.shared_store import look_at
from unwaver.asking.ask import make_plan
from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.engine import folder
from unwaver.engine.prepare import Chosen
from unwaver.errors import DataError, UsageError
from unwaver.groups import BASE
from unwaver.types import Group, Model, Suite, replace

NOTE = "the whole split that the groups were made from: base acc. is its accuracy, base F1 its macro-averaged F1"


def with_base(chosen: Chosen, config: Config, models: Sequence[Model], renderer: Renderer) -> Chosen:
    """The groups of the run, with those of the base splits if they are to be asked or have been."""
    if config.until is not None:
        if config.base_accuracy:
            hint = "omit one of them: --until asks some of the groups, base accuracy needs the whole split"
            raise UsageError("--base-accuracy does not work with --until", hint=hint)
        return chosen
    added: list[Group] = []
    for suite, task, kind in _sets(chosen):
        if config.base_accuracy:
            added += base_groups(suite, task, kind)
        else:
            added += _answered(suite, task, kind, config, models, renderer)
    if config.base_accuracy and not added:
        hint = "only sets of becel are made from a part of a split: unwaver run becel/snli --base-accuracy"
        raise UsageError("--base-accuracy: nothing in this run has a base split", hint=hint)
    unique = {group.id: group for group in added}
    notes = {f"{g.suite}/{g.task}/{g.kind}": [NOTE] for g in unique.values()}
    selection = replace(chosen.selection, notes={**chosen.selection.notes, **notes})
    return replace(chosen, selection=selection, groups=[*chosen.groups, *unique.values()])


def _sets(chosen: Chosen) -> Iterator[tuple[Suite, str, str]]:
    """Suite, task and kind of each set that has a base split; sets with the same one count once."""
    asked = dict.fromkeys((group.suite, group.task, group.kind) for group in chosen.groups)
    for suite in chosen.selection.suites:
        if suite.base is not None:
            yield from ((suite, task, kind) for name, task, kind in asked if name == suite.name)


def base_groups(suite: Suite, task: str, kind: str) -> list[Group]:
    """One group for each item with a known answer: becel/snli/base_test/0, …"""
    assert suite.base is not None
    split, items = suite.base(task, kind)
    place = f"{suite.name}/{task}/{BASE}_{split}"
    return [
        Group(id, suite.name, task, f"{BASE}_{split}", "same", (replace(item, id=f"{id}/original"),), cluster=id)
        for item in items
        if item.accepted
        for id in [f"{place}/{item.id}"]
    ]


def _answered(
    suite: Suite, task: str, kind: str, config: Config, models: Sequence[Model], renderer: Renderer
) -> list[Group]:
    """The groups of the base split if the store has the answers of every model to all of them, else none."""
    store = look_at(config.store or config.folder / folder.ANSWERS, bare=True)
    if store is None:
        return []
    with closing(store):
        try:
            groups = base_groups(suite, task, kind)
        except DataError:  # the file is not there, and nobody asked for it
            return []
        for some in (groups[:1], groups):  # the first item tells in most cases
            for model in models:
                keys = set(make_plan(some, model, renderer, config.replicates).requests)
                if len(store.answered(keys)) < len(keys):
                    return []
    return groups
