"""What a run writes to its folder, and when. It replaces an earlier run only after the first new answer: a command
that cannot reach its server, or is interrupted before that, leaves the folder as it was."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from unwaver.answers.shared_store import copy_answers
from unwaver.answers.store import Asked as Row
from unwaver.answers.store import Store
from unwaver.asking.budget import Spent
from unwaver.asking.failures import Role
from unwaver.asking.panel import Respondent, links
from unwaver.asking.repeats import repeats_note
from unwaver.engine import folder
from unwaver.engine.asked import Asked
from unwaver.engine.folder import versions
from unwaver.engine.prepare import Prepared
from unwaver.errors import StoreFull
from unwaver.groups.many import few
from unwaver.models.parts import Parts
from unwaver.secrets import masked, masked_settings
from unwaver.tasks import T5
from unwaver.types import Group, Model, replace


class Recording:
    """Writes the folder of a run as it goes on. `consulted` are those that compared or rated answers so far."""

    def __init__(self, prepared: Prepared, place: Path, own: Store, spent: Spent):
        self.has_begun = False
        self.consulted: list[tuple[Role, Respondent]] = []
        self._prepared, self._place, self._own, self._spent = prepared, place, own, spent
        self._groups: Sequence[Group] = prepared.groups
        self._tasks = prepared.renderer.own_tasks
        self._groups_hash: str | None = None
        self._seen: Mapping[str, list[str]] = {}
        self._audit: Sequence[Mapping[str, Any]] | None = None
        self._linked = (0, 0)
        self._began, self._clock = datetime.now(UTC), time.monotonic()
        self._earlier: Mapping[str, Any] = {}
        if not (place / folder.RUN).exists():
            self.begin()
        else:
            from unwaver.engine.stored import read_run

            self._earlier = read_run(place).get("asking") or {}

    @property
    def everyone(self) -> list[Respondent]:
        """The models that have been asked, in the order of their numbers in the store."""
        return [*self._prepared.panel.everyone, *(respondent for _, respondent in self.consulted)]

    def begin(self) -> None:
        """Called with every answer: links what was planned since the last one (a model that compares answers, a
        second wave), and begins the folder at the first."""
        if self.has_begun and self._planned() == self._linked:
            return
        if not self.has_begun:
            self._groups_hash = folder.write_groups(self._place, self._groups, self._tasks)
        self.link()
        if not self.has_begun:
            folder.write_run(self._place, record_of(self._prepared, self._groups, self._groups_hash))
            self.has_begun = True
            self._write_asked()

    def _planned(self) -> tuple[int, int]:
        """How many models are asked, and how many answers are known to be wanted of them."""
        return len(self.everyone), sum(len(respondent.plan.keys) for respondent in self.everyone)

    def link(self) -> None:
        """Store which answers belong to which items, unless it is stored already."""
        if (planned := self._planned()) != self._linked:
            if _sum_of(links(self.everyone)) != _sum_of(self._own.each_linked()):  # nothing new needs no space
                self._own.link(links(self.everyone))
            self._linked = planned

    def asked(
        self, asked: Asked, seen: Mapping[str, list[str]], audit: Sequence[Mapping[str, Any]] | None
    ) -> None:
        """Called when everything was asked: write what is known now, or later when the recording begins."""
        if self.has_begun and asked.groups is not self._groups:
            self.guard(lambda: self._rewrite(asked.groups))
        self._groups, self._seen, self._audit = asked.groups, seen, audit
        if self.has_begun:
            self.guard(self._write_asked)

    def _rewrite(self, groups: Sequence[Group]) -> None:
        self._groups_hash = folder.write_groups(self._place, groups, self._tasks)

    def _write_asked(self) -> None:
        folder.write_seen(self._place, self._seen)
        if self._audit is not None:
            folder.write_audit(self._place, self._audit)

    def end(self, shared: Store | None) -> None:
        """Link what was added since (written variants, compared answers), and copy the answers from a shared
        store."""
        if not self.has_begun:
            return
        self.guard(self.link)
        if shared is not None:
            writer = self._prepared.writer
            asked = [*self.everyone, *([writer] if writer else [])]
            for plan in (part for respondent in asked for part in respondent.plan.parts()):
                self.guard(partial(copy_answers, self._own, shared, list(plan.requests)))

    def finish(self, came_of_it: Mapping[str, Any]) -> dict[str, Any]:
        """The content of run.json, with the outcome of the run."""
        record = record_of(self._prepared, self._groups, self._groups_hash)
        return {**record, **came_of_it, "asking": self._asking()}

    def _asking(self) -> Mapping[str, Any]:
        """When it was asked, how long that took and what it cost: all commands of this run together."""
        earlier, spent, budget = self._earlier, self._spent, self._prepared.budget
        if earlier and not spent.calls:
            return earlier
        writer = self._prepared.writer
        models = [respondent.model for respondent in [*self.everyone, *([writer] if writer else [])]]
        prices = [price.record(model.name) for model in models if (price := budget.price(model))]
        cost = [earlier.get("cost"), spent.cost if prices else None]
        sums = {name: earlier.get(name, 0) + getattr(spent, name) for name in ("calls", "tokens_in", "tokens_out")}
        return {
            "began": earlier.get("began") or f"{self._began:%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(earlier.get("seconds", 0) + time.monotonic() - self._clock, 1),
            **sums,
            "cost": None if cost == [None, None] else sum(part or 0 for part in cost),
            "prices": prices or earlier.get("prices") or [],
        }

    def guard(self, write: Callable[[], object]) -> None:
        """If the disk is full, do not fail: answers are safe, and the scores can still be shown."""
        try:
            write()
        except StoreFull as full:
            self._spent.stopped = self._spent.stopped or full.summary


def _sum_of(rows: Iterable[Row]) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes: the same for the same rows in any order. There may be
    millions."""
    hashes = array("q", map(hash, rows))
    return len(hashes), sum(hashes)


def record_of(prepared: Prepared, groups: Sequence[Group], groups_hash: str | None) -> dict[str, Any]:
    """The content of run.json: enough to repeat the run, and to score it without the model."""
    config, writer = prepared.config, prepared.writer
    forms = {
        f"{task}/{name}": form for (task, name), form in prepared.renderer.forms(groups, prepared.models).items()
    }
    return {
        "version": folder.RUN_VERSION,
        "id": config.id,
        "command": masked_settings(sys.argv),
        "config": masked_settings(asdict(replace(config, yes=False))),
        "models": [
            {
                **_model_record(name, model),
                "method": prepared.method_of(model),
                "writes": prepared.writes(model),
                "form": prepared.form_of(model),
            }
            for name, model in zip(prepared.names, prepared.models, strict=True)
        ],
        "judges": [
            _model_record(respondent.known_as, respondent.model) for respondent in prepared.panel.certifiers
        ],
        "writer": {**_model_record(writer.model.name, writer.model), **prepared.writing} if writer else None,
        "notes": _notes(prepared, groups),
        "words": {name: form.words for name, form in forms.items()},
        "prompts": {name: {"prompt": form.prompt, "words": form.words} for name, form in forms.items()},
        "hashes": {"groups.jsonl": groups_hash},
        "suites": {suite.name: suite.version for suite in prepared.chosen.selection.suites if suite.version},
        "versions": versions(),
    }


def _notes(prepared: Prepared, groups: Sequence[Group]) -> dict[str, list[str]]:
    """Notes for the reader: how the groups were made, and replicates that are identical by construction."""
    notes, replicates = dict(prepared.chosen.selection.notes), prepared.config.replicates
    if replicates > 1 or any(group.repeats for group in few(groups)):
        for name, model in zip(prepared.names, prepared.models, strict=True):
            if note := repeats_note(groups, model, replicates):
                notes[name] = [note]
    for name, model in zip(prepared.names, prepared.models, strict=True):
        if prepared.form_of(model) == T5:
            from unwaver.tasks.t5 import ours_note

            notes[name] = [*notes.get(name, ()), *ours_note(groups)]
    return notes


def _model_record(name: str, model: Model) -> dict[str, Any]:
    settings = dict(model.settings)
    if twin := Parts(model).free_text:
        settings["free_text"] = dict(twin.settings)
    shown = masked_settings(settings)
    return {"name": name, "identity": masked(model.identity), "method": model.method, "settings": shown}
