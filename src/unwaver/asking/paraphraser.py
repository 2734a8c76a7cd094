"""A model as the writer of paraphrases: asked until each item has enough that the certifiers accept.

What it writes is stored like any other answer, so running the same command again continues an interrupted run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set

from unwaver.answers.store import Store
from unwaver.asking.ask import key_maker
from unwaver.asking.audit import Rejected, Unfinished
from unwaver.asking.panel import Panel, Respondent
from unwaver.asking.render import Renderer
from unwaver.asking.writing import SCHEMA, prompt_for, token_limit, why_copy, written
from unwaver.config import Config
from unwaver.groups.certify import Read, in_play, standings
from unwaver.models.parts import Parts
from unwaver.state import state_of
from unwaver.types import Answer, Group, Model, Request
from unwaver.variants.certifiers import certifiers_for, with_candidates
from unwaver.variants.paraphrase import K
from unwaver.variants.source import Rewrite

TRIES = 2  # for each variant that is wanted, unless said otherwise


def tries_of(config: Config) -> int:
    return config.tries or TRIES * (config.k or K)


def tries_for(model: Model, config: Config) -> int:
    """How often the writer is asked about an item, at most."""
    return 1 if _repeats_itself(model) else tries_of(config)


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
        """The groups with what was written this time; None where nothing was wanted, or it had to stop."""
        words = self._renderer.words(groups)
        reads = [self._panel.reads(tested, self._store, words)[0] for tested in self._panel.tested_or_none]
        wanted: dict[str, str] = {}
        for group in groups:
            if group.id in awaiting and unfinished(group, reads):
                asked = request(group, self._renderer.modified(group), attempt, self._config, self._writer.model)
                wanted[group.id] = key = self._key_of(asked)
                self._writer.plan.requests[key] = asked
                self._writer.plan.groups.append([key])
        if not wanted or not put(self._writer, set(wanted.values())):
            return None
        answers = self._store.answers(wanted.values())
        return [self._grown(g, answers.get(wanted[g.id]), attempt) if g.id in wanted else g for g in groups]

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


def _repeats_itself(model: Model) -> bool:
    """Whether asking for another paraphrase is a waste: nothing is drawn, on this machine or by a server. Of a
    function that is assumed, too: most do not look at the number of the try."""
    return model.deterministic or model.method == "python" or model.settings.get("temperature") == 0


def request(group: Group, field: str, attempt: int, config: Config, model: Model) -> Request:
    """What the writer is asked about the original of a group, for the nth time; its other fields are the
    context."""
    fields = group.items[0].fields
    text, prompt = fields[field], prompt_for(config, group.kind)
    context = {name: value for name, value in fields.items() if name != field}
    limit = None if _has_limit(config) else token_limit(text, server=Parts(model).concurrency is not None)
    return Request(
        "paraphrase",
        (),
        prompt.fill(text, context, config.lang),
        (),
        (),
        replicate=attempt,
        template=prompt.name,
        limit=limit,
        schema=SCHEMA,
    )


def _has_limit(config: Config) -> bool:
    """Whether the user said how long the writer may write."""
    return (
        "max_tokens" in config.writer_args or re.search(r'[,{"]max_tokens"?[=:]', config.writer or "") is not None
    )


def unfinished(group: Group, reads: Sequence[Read]) -> bool:
    """Whether another candidate is wanted: some model in play has fewer certified ones than it keeps."""
    wanted = group.keep or 1
    return any(
        in_play(group, read) and list(standings(group, read).values()).count("kept") < wanted for read in reads
    )


def why_rejected(answer: Answer, text: str, original: str, others: Sequence[str]) -> tuple[Rejected, str] | None:
    """Why what the writer wrote is no candidate: it was cut at the token limit, refused by the service, is empty,
    or says nothing new."""
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
