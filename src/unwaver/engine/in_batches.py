"""Which way requests of services go in a run that does not ask them one by one."""

from __future__ import annotations

from pathlib import Path

from unwaver.answers.store import Store
from unwaver.asking.by_hand import ByHand
from unwaver.asking.submitted import Submitted
from unwaver.config import Config
from unwaver.engine.folder import write_whole


def batches(config: Config, store: Store) -> ByHand | Submitted:
    if config.batch:
        return Submitted(store, config.id)
    given = [Path(path) for path in config.batch_in]
    return ByHand(Path(config.batch_out) if config.batch_out else None, given, write_whole)


def check_batches(config: Config) -> None:
    """Errors about --batch-out, before anything is read."""
    if config.batch_out:
        from unwaver.outputs import check_output

        inputs = [Path(path) for path in (*config.suites, *config.batch_in)]
        check_output(Path(config.batch_out), "batch", inputs=inputs, option="--batch-out")
