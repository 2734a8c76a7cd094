"""The answers that a run has already, looked at before anything is asked."""

from __future__ import annotations

from unwaver.answers.shared_store import look_at
from unwaver.answers.store import Store
from unwaver.engine import folder
from unwaver.engine.prepare import Prepared


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
