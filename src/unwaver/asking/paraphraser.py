"""A model as the writer of paraphrases: asked until each item has enough that the certifiers accept.

What it writes is stored like any other answer, so running the same command again continues an interrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from unwaver.answers.store import Store
from unwaver.asking.ask import key_maker
from unwaver.asking.audit import Rejected, Unfinished
from unwaver.asking.generator import (
    MOST_TOKENS,
    PUBLISHED_KIND,
    beams_of,
    is_given,
    temperature_of,
    tries_for,
)
from unwaver.asking.panel import Panel, Respondent
from unwaver.asking.render import Renderer
from unwaver.asking.rounds import reads
from unwaver.asking.writing import SCHEMA, prompt_for, token_limit, why_copy, written
from unwaver.config import Config
from unwaver.groups.certify import Read, in_play, standings
from unwaver.models.parts import Parts
from unwaver.state import state_of
from unwaver.types import Answer, Group, Model, Request
from unwaver.variants.certifiers import certifiers_for, with_candidates
from unwaver.variants.source import Rewrite


class Written:
    """The rounds of a writer: each asks for one more candidate of every item that needs one."""

    def __init__(self, writer: Respondent, config: Config, panel: Panel, renderer: Renderer, store: Store):
        self._writer, self._config = writer, config
        self._panel, self._renderer, self._store = panel, renderer, store
        self.tries = tries_for(writer.model, config)
        self._key_of = key_maker(writer.model)
        self.unfinished: list[Unfinished] = []

    def round(
        self,
        attempt: int,
        groups: Sequence[Group],
        awaiting: Set[str],
        put: Callable[[Respondent, set[str]], bool],
    ) -> list[Group] | None:
        """The groups with what was written this time; None if nothing was wanted, or it had to stop."""
        words = self._renderer.words(groups)
        told = [reads(self._panel, tested, self._store, words)[0] for tested in self._panel.tested_or_none]
        wanted: dict[str, str] = {}
        further: set[str] = set()
        for group in groups:
            if group.id in awaiting and unfinished(group, told):
                wanted[group.id], *others = self._planned(group, attempt)
                further.update(others)
        if not wanted or not put(self._writer, {*wanted.values(), *further}):
            return None
        answers = self._store.answers(wanted.values())
        return [self._grown(g, answers.get(wanted[g.id]), attempt) if g.id in wanted else g for g in groups]

    def _planned(self, group: Group, attempt: int) -> list[str]:
        """The key of the request for this candidate; where one search gives all of them, then those of the
        others, so that it is done once."""
        field, model, plan = self._renderer.modified(group), self._writer.model, self._writer.plan
        last = self.tries if beams_of(model, self._config) else attempt + 1
        asked = {
            self._key_of(each): each
            for n in range(attempt, last)
            for each in [request(group, field, n, self._config, model)]
        }
        if next(iter(asked)) not in plan.requests:
            plan.requests.update(asked)
            plan.groups.append(list(asked))
        return list(asked)

    def _grown(self, group: Group, answer: Answer | None, attempt: int) -> Group:
        field = self._renderer.modified(group)
        original = group.items[0].fields[field]
        text = "" if answer is None or answer.error is not None else written(answer.text or "", original)
        others = [item.fields[field] for item in group.items if item.role == "variant"]
        if answer is not None and (why := why_rejected(answer, text, original, others)):
            self.unfinished.append(Unfinished(group.id, attempt, original, text, *why))
            return group
        judges = certifiers_for(group.kind, self._config.judges, self._config.writer)
        return with_candidates(group, [Rewrite(text)] if text else [], field, judges, self._config.encoder)

    def problem(self) -> str | None:
        """What is missing because the writer failed."""
        failed = len(self._store.failures(self._writer.plan.requests))
        return f"{failed:,} calls of the writer failed" if failed else None


def request(group: Group, field: str, attempt: int, config: Config, model: Model) -> Request:
    """What the writer is asked about the original of a group, for the nth time; its other fields are the
    context."""
    fields = group.items[0].fields
    text, prompt = fields[field], prompt_for(config, group.kind)
    context = {name: value for name, value in fields.items() if name != field}
    server = Parts(model).concurrency is not None  # a model behind it may think before it writes
    limit = MOST_TOKENS if group.kind == PUBLISHED_KIND and not server else token_limit(text, server=server)
    return Request(
        "paraphrase",
        (),
        prompt.fill(text, context, config.lang),
        (),
        (),
        replicate=attempt,
        template=prompt.name,
        limit=None if is_given(config, "max_tokens") else limit,
        schema=SCHEMA,
        temperature=temperature_of(model, config, group.kind, attempt),
        beams=beams_of(model, config),
    )


def unfinished(group: Group, reads: Sequence[Read]) -> bool:
    """Whether another candidate is wanted: some model in play has fewer certified ones than it keeps."""
    wanted = group.keep or 1
    return any(
        in_play(group, read) and list(standings(group, read).values()).count("kept") < wanted for read in reads
    )


def why_rejected(answer: Answer, text: str, original: str, others: Sequence[str]) -> tuple[Rejected, str] | None:
    """Why a reply of the writer is not a candidate: it was cut at the token limit, refused by the service, is
    empty, or says nothing new."""
    state = state_of(answer, None)
    if state == "cut":
        return "unfinished", "the writer was cut at its token limit"
    if state == "refused":
        return "refused", "the service of the writer refused"
    if state == "tool_call":
        return "empty", "the writer called a tool"
    if answer.error is not None:
        return None
    if not text:
        return "empty", "the writer wrote nothing"
    copy = why_copy(text, original, others)
    return ("copy", copy) if copy else None
