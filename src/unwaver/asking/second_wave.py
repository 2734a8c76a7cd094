"""Requests that hold the model's own answers: {answer of ITEM} in a message.

They are planned when those answers are there. The key of such a request is made of its messages with the answers
in them: a run that goes on finds in the store what it has asked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unwaver.answers.store import Store
from unwaver.answers.table import label_reader
from unwaver.answers.thoughts import without_thought
from unwaver.asking.ask import key_maker
from unwaver.asking.panel import Panel, Respondent, check_requests
from unwaver.groups.certify import Reading
from unwaver.groups.conversations import awaited, filled
from unwaver.models.parts import way_of
from unwaver.state import HOLDS_NOTHING
from unwaver.tasks import Words
from unwaver.types import Answer, Group, Item, Request, replace

NOTHING: Literal[False] = False
Said = str | Literal[False] | None


def plan_further(
    panel: Panel, groups: Sequence[Group], store: Store, words: Words, asked: Sequence[Respondent]
) -> dict[Respondent, set[str]]:
    """Add the requests of these groups whose answers have come to the plans; give their keys."""
    found = {r: _Further(panel, r, words).planned(groups, store) for r in asked if r.plan.later}
    return {respondent: keys for respondent, keys in found.items() if keys}


@dataclass(frozen=True)
class _Further:
    """What one model can be asked now."""

    panel: Panel
    respondent: Respondent
    words: Words

    def planned(self, groups: Sequence[Group], store: Store) -> set[str]:
        plan = self.respondent.plan
        waiting = [group for group in groups if any(item.id in plan.later for item in group.items)]
        answers = self.panel.answers(self.respondent, store, waiting)
        spoken = self.respondent.spoken(self.words)
        told = label_reader(answers, spoken, self.panel.normalise, cut=self.panel.cut)
        new: set[str] = set()

        def said(item: Item, replicate: int) -> Said:
            words = spoken.get((item.task, item.template), ())
            return said_by(item, told(item, replicate), answers.get((item.id, replicate)), words)

        for group in waiting:
            items = {item.id: item for item in group.items}
            for item in [item for item in group.items if item.id in plan.later]:
                places = range(group.times(item, self.panel.replicates))
                new |= self._add(item, {r: {id: said(items[id], r) for id in awaited(item)} for r in places})
        if new:
            check_requests(self.respondent.model, list(plan.requests.values()))
        return new

    def _add(self, item: Item, answers: dict[int, dict[str, Said]]) -> set[str]:
        """Plan the item for each replicate whose answers are there, if it is not planned yet."""
        plan, model = self.respondent.plan, self.respondent.model
        key_of, keys, left = key_maker(model), list[str](), 0
        repeats_itself = way_of(model, item).deterministic
        for replicate, texts in answers.items():
            if (item.id, replicate) in plan.keys or NOTHING in texts.values():
                continue
            whole = {id: text for id, text in texts.items() if isinstance(text, str)}
            if len(whole) < len(texts):
                left += 1
                continue
            request = self._request(item, whole, 0 if repeats_itself else replicate)
            key = plan.keys[item.id, replicate] = key_of(request)
            plan.requests.setdefault(key, request)
            keys.append(key)
        if keys:
            plan.groups.append(keys)
        plan.later[item.id] = min(left, 1) if repeats_itself else left
        if not left:
            del plan.later[item.id]
        return set(keys)

    def _request(self, item: Item, texts: dict[str, str], replicate: int) -> Request:
        whole = replace(item, messages=filled(item.messages, texts))
        request = self.panel.render(whole, self.respondent.model)
        return replace(request, replicate=replicate) if replicate else request


def said_by(item: Item, reading: Reading, answer: Answer | None, words: Sequence[str]) -> Said:
    """An answer as a message of the assistant, without thoughts; None if it may still come, NOTHING if it came and
    there is nothing to go on from."""
    if answer is None or answer.error is not None:
        return None
    if reading.status in HOLDS_NOTHING:
        return NOTHING
    if answer.text is not None:
        return (without_thought(answer.text) or "").strip() or NOTHING
    if reading.label is None:
        return NOTHING
    return words[item.choices.index(reading.label)] if len(words) == len(item.choices) else reading.label
