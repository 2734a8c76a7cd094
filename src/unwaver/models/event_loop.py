"""Asynchronous functions, called from code that is not.

One event loop in a thread of its own serves the whole process: it works where a loop is running already, as in a
notebook, and a client that a function keeps open belongs to one loop from run to run.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import Any

Arrived = tuple[int, Any, BaseException | None]  # index, result, or what went wrong instead


class _Loop:
    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="unwaver-event-loop")
        self.thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """At the end of the process; a loop that is still busy then is left alone."""
        if self.process == os.getpid() and self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(timeout=1)
            if not self.thread.is_alive():
                self.loop.close()


_lock = threading.Lock()
_running: list[_Loop] = []


def the_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process; a forked process has none of its parent's threads."""
    with _lock:
        if not _running or _running[0].process != os.getpid() or not _running[0].thread.is_alive():
            _running[:] = [_Loop()]
        return _running[0].loop


def wait_for(awaitable: Any) -> Any:
    """The result of one awaitable."""

    async def waiting() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(waiting(), the_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def as_completed(call: Callable[[int], Any], count: int, concurrency: int) -> Generator[Arrived, None, None]:
    """The results of call(0), call(1), … as they arrive, with at most `concurrency` of them at a time. Closing the
    iterator cancels what is in flight."""
    arrived: SimpleQueue[Arrived | None] = SimpleQueue()
    todo = iter(range(count))

    async def work() -> None:
        for index in todo:
            try:
                arrived.put((index, await call(index), None))
            except asyncio.CancelledError:
                raise
            except BaseException as e:
                arrived.put((index, None, e))

    async def everyone() -> None:
        try:
            await asyncio.gather(*(work() for _ in range(min(concurrency, count))))
        finally:
            arrived.put(None)

    future = asyncio.run_coroutine_threadsafe(everyone(), the_loop())
    try:
        while (one := arrived.get()) is not None:
            yield one
        future.result()
    finally:
        future.cancel()
