"""Ends what is left of a Ray cluster when the process that started it is gone, and removes the cluster's folder.

    python on_ray_watch.py FOLDER          reads its standard input to the end, which is when that process ended

Ray ends most of its processes itself. Some of them outlive a driver that was killed (SIGKILL) by a minute or more.
This script imports nothing but the standard library: it runs beside every run on Ray.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SECONDS = 15.0  # for processes to end


def using(folder: str) -> Iterator[int]:
    """Processes with an open file in the folder, as every process of the cluster has: its log."""
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) in (os.getpid(), os.getppid()):  # who started it, if it lives: it has a log, too
            continue
        with suppress(OSError):
            for file in (process / "fd").iterdir():
                if str(file.readlink()).startswith(folder + "/"):
                    yield int(process.name)
                    break


def clean(folder: str, seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and (left := list(using(folder))):
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    sys.stdin.buffer.read()
    clean(sys.argv[1])
