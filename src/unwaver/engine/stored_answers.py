"""The answers that a run has already, looked at before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.answers.shared_store import look_at
from unwaver.answers.store import Store
from unwaver.asking.panel import Respondent
from unwaver.engine import folder
from unwaver.engine.prepare import Prepared


def plan_known(prepared: Prepared, store: Store | None) -> None:
    """Plan what holds answers of the models, as far as these are stored."""
    panel = prepared.panel
    if store is None or not any(respondent.plan.later for respondent in panel.everyone):
        return
    from unwaver.asking.second_wave import plan_further

    words = prepared.words(prepared.groups)
    while plan_further(panel, prepared.groups, store, words, panel.everyone):
        pass


def is_complete(prepared: Prepared, store: Store, asked: Sequence[Respondent]) -> bool:
    """Whether these models have answered everything."""
    plan_known(prepared, store)
    plans = [respondent.plan for respondent in asked]
    return all(not plan.later and len(store.answered(plan.requests)) == len(plan.requests) for plan in plans)


class stored:
    """The store that a run would ask into, to look at; None if there is none."""

    def __init__(self, prepared: Prepared):
        config = prepared.config
        self._place = config.store or config.folder / folder.ANSWERS
        self._store: Store | None = None

    def __enter__(self) -> Store | None:
        self._store = look_at(self._place)
        return self._store

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()
