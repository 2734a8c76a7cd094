"""The answers that a run has already, looked at before anything is asked."""

from __future__ import annotations

import os
from pathlib import Path

from unwaver.answers.store import Store
from unwaver.engine import folder
from unwaver.engine.prepare import Prepared


class stored:
    """The store that a run would ask into, to look at; None if there is none."""

    def __init__(self, prepared: Prepared):
        config = prepared.config
        self._path = Path(config.store) if config.store else config.folder / folder.ANSWERS
        self._store: Store | None = None

    def __enter__(self) -> Store | None:
        if self._path.exists():
            # others may be writing to it, or making it: to open the bare file is for those who may not write
            self._store = Store(self._path, read_only=not os.access(self._path, os.W_OK))
        return self._store

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()
