"""Waiting without a stopwatch: a test fails where something never happens, not where a machine is busy."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FOR_EVER = 600.0  # seconds: nothing that works takes so long, whatever else the machine does


def wait_for(condition: Callable[[], Any], what: str, every: float = 0.02) -> None:
    """Look until it is so: wait_for(lambda: path.exists(), "the store is there")."""
    until = time.monotonic() + FOR_EVER
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"never: {what}")
        time.sleep(every)


def ends(function: Callable[[], Any], what: str) -> None:
    """Call a function that must not wait for something that never comes."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(FOR_EVER)
    if thread.is_alive():
        raise AssertionError(f"never ends: {what}")


@contextmanager
def no_endless_work(seconds: float = 60.0) -> Iterator[None]:
    """For what takes milliseconds, or hours if it is done wrongly: seconds of this process, not of the clock."""

    def stop(*_: object) -> None:
        raise AssertionError(f"not done after {seconds:g} s of work")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
