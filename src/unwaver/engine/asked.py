"""The second step of a run: ask every planned request. If a model writes variants, also ask it to write them, and
ask the certifiers and the models under test about what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unwaver.answers.store import Store
from unwaver.asking.ask import Asker
from unwaver.asking.failures import Reason, Role, grouped, of_respondents
from unwaver.asking.panel import Respondent
from unwaver.engine.prepare import Prepared
from unwaver.errors import StoreFull
from unwaver.groups import is_plain
from unwaver.groups.many import few
from unwaver.types import Group

if TYPE_CHECKING:
    from unwaver.asking.audit import Unfinished
    from unwaver.engine.one_bar import Counting

Put = Callable[[Respondent, set[str] | None], bool]


@dataclass(frozen=True)
class Asked:
    """The groups after asking. Their answers are in the store.

    `groups` include the variants that a model wrote; `unfinished` are its replies that gave no variant; `full` is
    the error if the disk is full.
    """

    groups: Sequence[Group]
    unfinished: Sequence[Unfinished] = ()
    full: StoreFull | None = None


def ask(prepared: Prepared, asker: Asker) -> Asked:
    """Ask as far as budget and disk allow. If it stops early, `asker.spent.stopped` has the reason."""
    rounds = Rounds(prepared, asker)
    full: StoreFull | None = None
    try:
        if prepared.until:
            prepared.until.ask(asker)
        else:
            rounds.all()
        if asker.batches is not None:
            asker.batches.close(asker)
    except StoreFull as error:
        full, asker.spent.stopped = error, error.summary
    return Asked(rounds.groups, rounds.unfinished, full)


class Rounds:
    """Groups that gain variants in each round. If the disk is full, `groups` still holds all finished rounds."""

    def __init__(self, prepared: Prepared, asker: Asker):
        self.prepared, self.asker = prepared, asker
        self.groups: Sequence[Group] = prepared.groups
        self.unfinished: Sequence[Unfinished] = ()
        self._counting: Counting | None = None

    def all(self) -> None:
        more = any(respondent.plan.later for respondent in self.prepared.panel.everyone)
        if self.prepared.writer is None and not more and all(map(is_plain, few(self.groups))):
            self.ask_panel()
            return
        from unwaver.engine.one_bar import one_bar

        with one_bar(self.prepared) as self._counting:
            self._in_rounds()

    def _in_rounds(self) -> None:
        self.ask_panel()
        writer = self.prepared.writer
        if writer is not None and not self.asker.spent.stopped:
            from unwaver.engine.written_rounds import write

            write(self, writer)

    def ask_panel(self) -> None:
        words = self.prepared.words(self.groups)
        self.prepared.panel.ask(self.groups, self.asker.store, words, self.put)

    def put(self, respondent: Respondent, keys: set[str] | None) -> bool:
        """Ask one model for the answers with these keys, or all that are planned; return whether to go on."""
        if self._counting:
            counted = set(respondent.plan.requests) if keys is None else keys
            return respondent.put(self.asker, keys, self._counting(respondent, counted))
        count = len(respondent.plan.requests if keys is None else keys)
        with self.prepared.console.track(respondent.model.name, count) as progress:
            return respondent.put(self.asker, keys, progress)


def failures(prepared: Prepared, store: Store, consulted: Sequence[tuple[Role, Respondent]] = ()) -> list[Reason]:
    """The reasons of failed calls, over all models that were asked."""
    if not store.has_failures():
        return []
    panel, writer = prepared.panel, prepared.writer
    asked: list[tuple[Role, str, Respondent]] = [
        *(("model", name, r) for name, r in zip(prepared.names, panel.tested, strict=True)),
        *(("judge", r.known_as, r) for r in panel.certifiers),
        *((role, r.known_as, r) for role, r in consulted),
    ]
    if writer is not None:
        asked.append(("writer", writer.model.name, writer))
    return grouped(of_respondents(asked, store))
