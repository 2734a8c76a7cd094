"""What a run writes into its folder, and when. An earlier run in the folder is replaced only when the first new
answer has come: a command that cannot reach its server or is interrupted before that leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unwaver.answers.store import Store
from unwaver.asking.panel import Respondent, links
from unwaver.engine import folder


class Recording:
    """`record` writes groups.jsonl and gives what run.json holds; `everyone` has been asked so far."""

    def __init__(
        self,
        place: Path,
        own: Store,
        record: Callable[[], dict[str, Any]],
        everyone: Callable[[], Sequence[Respondent]],
    ):
        self.has_begun = False
        self.record: dict[str, Any] = {}
        self._place, self._own, self._make, self._everyone = place, own, record, everyone
        self._linked = (0, 0)
        if not (place / folder.RUN).exists():
            self.begin()

    def begin(self) -> None:
        """The first answer of a run is there, or of a model that compares answers."""
        if self.has_begun and len(self._everyone()) == self._linked[0]:
            return
        if not self.has_begun:
            self.record.update(self._make())
        self.link()
        if not self.has_begun:
            folder.write_run(self._place, self.record)
            self.has_begun = True

    def link(self) -> None:
        """Say which answers belong to which items, if that is not yet said."""
        everyone = self._everyone()
        planned = len(everyone), sum(len(respondent.plan.keys) for respondent in everyone)
        if planned != self._linked:
            rows = list(links(everyone))
            if set(rows) != set(self._own.linked()):  # nothing new needs no space
                self._own.link(rows)
            self._linked = planned
