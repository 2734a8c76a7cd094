"""A model as the writer of paraphrases: asked until each item has enough that the certifiers accept.

What it writes is stored like any other answer, so running the same command again continues an interrupted run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Literal

from unwaver.answers.store import Store
from unwaver.asking.ask import key_maker
from unwaver.asking.audit import Unfinished
from unwaver.asking.panel import Panel, Respondent
from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.groups.certify import Read, in_play, standings
from unwaver.state import state_of
from unwaver.types import Answer, Group, Model, Request
from unwaver.variants.certifiers import Certifier, certifiers_for, with_candidates
from unwaver.variants.paraphrase import K
from unwaver.variants.source import Rewrite

PROMPT = "Rephrase the following sentence while preserving its original meaning: {text}"
TEMPLATE = "paraphrase@1"
# the settings of Arakelyan et al.: short texts, some variety
SETTINGS: Mapping[str, object] = {"temperature": 0.6, "max_tokens": 40}
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
                asked = request(group, self._renderer.modified(group), attempt)
                wanted[group.id] = key = self._key_of(asked)
                self._writer.plan.requests[key] = asked
                self._writer.plan.groups.append([key])
        if not wanted or not put(self._writer, set(wanted.values())):
            return None
        answers = self._store.answers(wanted.values())
        return [self._grown(g, answers.get(wanted[g.id]), attempt) if g.id in wanted else g for g in groups]

    def _grown(self, group: Group, answer: Answer | None, attempt: int) -> Group:
        certifiers, field = certifiers_for(group.kind, self._config.judges), self._renderer.modified(group)
        if answer is not None and (why := why_rejected(answer)):
            original = group.items[0].fields[field]
            self.unfinished.append(Unfinished(group.id, attempt, original, clean(answer.text or ""), why))
            return group
        return with_answer(group, answer, field, certifiers, self._config.encoder)

    def problem(self) -> str | None:
        """What is missing because the writer failed."""
        failed = len(self._store.failures(self._writer.plan.requests))
        return f"{failed:,} calls of the writer failed" if failed else None


def _repeats_itself(model: Model) -> bool:
    """Whether asking for another paraphrase is a waste: nothing is drawn, on this machine or by a server. Of a
    function that is assumed, too: most do not look at the number of the try."""
    return model.deterministic or model.method == "python" or model.settings.get("temperature") == 0


def request(group: Group, field: str, attempt: int) -> Request:
    """What the writer is asked about the original of a group, for the nth time."""
    text = group.items[0].fields[field]
    return Request("paraphrase", (), PROMPT.format(text=text), (), (), replicate=attempt, template=TEMPLATE)


def unfinished(group: Group, reads: Sequence[Read]) -> bool:
    """Whether another candidate is wanted: some model in play has fewer certified ones than it keeps."""
    wanted = group.keep or 1
    return any(
        in_play(group, read) and list(standings(group, read).values()).count("kept") < wanted for read in reads
    )


def why_rejected(answer: Answer) -> Literal["unfinished", "refused"] | None:
    """Why what the writer wrote is no paraphrase: it was cut at the token limit, or the service refused."""
    state = state_of(answer, None)
    return "unfinished" if state == "cut" else "refused" if state == "refused" else None


def with_answer(
    group: Group, answer: Answer | None, field: str, certifiers: Sequence[Certifier], encoder: str | None
) -> Group:
    """The group with what the writer wrote, if that is another text."""
    text = clean(answer.text or "") if answer is not None and answer.error is None else ""
    return with_candidates(group, [Rewrite(text)] if text else [], field, certifiers, encoder)


_PREFACE = re.compile(
    r"^(?:(?:sure|certainly|of course)[!.,]?\s*\n|"
    r"(?:sure|certainly|of course|here|rephrased|paraphrase)[^:\n]{0,80}:)\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:\d{1,2}[.)]|[-*•])\s+")
_AROUND = {'"': '"', "“": "”", "'": "'", "‘": "’", "**": "**"}


def clean(text: str) -> str:
    """The sentence in a chatty answer: 'Sure, here it is:\\n"A dog sleeps."' -> 'A dog sleeps.'"""
    text = text.strip()
    while (shorter := _PREFACE.sub("", text)) != text:
        text = shorter
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = _BULLET.sub("", line)
    for before, after in _AROUND.items():
        if len(line) >= len(before + after) and line.startswith(before) and line.endswith(after):
            line = line.removeprefix(before).removesuffix(after).strip()
    return " ".join(line.split())
