"""Rounds in which a model writes variants, others certify them, and the models under test answer them."""

from __future__ import annotations

from unwaver.asking.generator import said
from unwaver.asking.panel import Respondent
from unwaver.asking.paraphraser import Written
from unwaver.engine.asked import Rounds


def write(rounds: Rounds, writer: Respondent) -> None:
    """Ask the writer until every group has its variants, or its tries are used up."""
    prepared, spent = rounds.prepared, rounds.asker.spent
    written = Written(writer, prepared.config, prepared.panel, prepared.renderer, rounds.asker.store)
    rounds.unfinished = written.unfinished
    if line := said(writer.model, prepared.config, {group.kind for group in rounds.groups}):
        prepared.console.say(line)
    awaiting = {group.id for group in rounds.groups if len(group.items) == 1 and group.items[0].role != "test"}
    for attempt in range(written.tries):
        grown = written.round(attempt, rounds.groups, awaiting, rounds.put)
        if grown is None:
            break
        rounds.groups = prepared.reviewed(grown)
        prepared.panel.plan(rounds.groups)
        rounds.ask_panel()
    spent.stopped = spent.stopped or written.problem()
