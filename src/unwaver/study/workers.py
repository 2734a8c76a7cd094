"""Several models of a study at a time, each trained and evaluated in a process of its own.

A small encoder uses one core well and two badly, and a process gives back all its memory when it ends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple

from unwaver.errors import ModelError, UnwaverError

Do = Callable[..., None]  # of a module, so that another process finds it by its name
Arguments = tuple[Any, ...]


class _Running(NamedTuple):
    process: Any
    ears: connection.Connection
    arguments: Arguments


def side_by_side(do: Do, calls: Sequence[Arguments], workers: int, done: Callable[[Arguments], None]) -> None:
    """do(*arguments) for each of the calls, at most this many at a time; the first error ends all."""
    context = get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // workers)
    waiting, running = list(reversed(calls)), dict[Any, _Running]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                arguments = waiting.pop()
                ears, mouth = context.Pipe(duplex=False)
                process = context.Process(target=_in_process, args=(do, arguments, threads, mouth))
                process.start()
                mouth.close()
                running[process.sentinel] = _Running(process, ears, arguments)
            for sentinel in connection.wait(list(running)):
                ended = running.pop(sentinel)
                _check(ended)
                done(ended.arguments)
    finally:
        for left in running.values():
            left.process.terminate()
        for left in running.values():
            left.process.join()


def _check(ended: _Running) -> None:
    ended.process.join()
    try:
        raise ended.ears.recv()
    except EOFError:  # nothing was said: it went well, or it was killed
        pass
    if ended.process.exitcode:
        raise ModelError(
            f"a process of the study ended with {ended.process.exitcode}",
            hint="-9 means out of memory: use fewer --workers, then run the same command again to continue",
        )


def _in_process(do: Do, arguments: Arguments, threads: int, mouth: connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the parent ends the others
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    try:
        do(*arguments)
    except UnwaverError as e:
        mouth.send(e)


def _end_with_parent() -> None:
    """Two processes must never train one model: an orphan beside a study that was started again."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
