"""Many short runs of the command line: a process that has imported unwaver forks for each of them.

A fork saves the second that imports take; the child is a process of its own, with limits of its own, and can be
killed as any other.

    with Zygote() as zygote:
        child = zygote.start(["run", "q.csv"], folder)
        child.kill()
        child.wait()      -> -9
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY, SECONDS = 4 << 30, 600  # what a child may ask for, and the time of a processor that it may use
# what a run imports on its way; only imported, never used before the fork: threads do not survive one
NEEDED = (
    "polars", "numpy", "msgspec", "httpx", "scipy.stats", "unwaver.engine.runs", "unwaver.engine.asked",
    "unwaver.engine.load", "unwaver.engine.forecast", "unwaver.engine.stored", "unwaver.engine.folder",
    "unwaver.cli.main", "unwaver.cli.run_verb", "unwaver.cli.score_verb", "unwaver.models.openai",
    "unwaver.models.python", "unwaver.agree.comparison", "unwaver.reports.page", "unwaver.reports.terminal",
    "unwaver.metrics.score", "unwaver.suites.questions", "unwaver.suites.own_table", "unwaver.metrics.pairwise",
)  # fmt: skip


@dataclass
class Child:
    pid: int
    owner: Zygote
    code: int | None = None

    def kill(self, sign: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sign)

    def ended(self) -> bool:
        """Whether it has ended; it is not waited for."""
        if self.code is None:
            self.owner.hear(self, wait=False)
        return self.code is not None

    def wait(self) -> int:
        """Its exit code, negative for the signal that ended it."""
        if self.code is None:
            self.owner.hear(self, wait=True)
        assert self.code is not None
        return self.code


class Zygote:
    """Starts one child at a time, from another thread or process than its own."""

    def __init__(self, **environment: str):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENAI_API_KEY": "", "POLARS_MAX_THREADS": "1", **environment},
        )  # fmt: skip
        self._line()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(60)
        self._process.stdout.close()  # type: ignore[union-attr]

    def start(self, command: list[str], folder: Path, out: str = "said.txt", **environment: str | None) -> Child:
        """What it prints is appended to the file `out`; None removes a variable of the environment."""
        given = {"command": command, "folder": str(folder), "out": str(folder / out), "environment": environment}
        self._process.stdin.write(json.dumps(given) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return Child(self._line()["pid"], self)

    def run(self, command: list[str], folder: Path, out: str = "said.txt", **environment: str | None) -> int:
        return self.start(command, folder, out, **environment).wait()

    def hear(self, child: Child, wait: bool) -> None:
        import select

        if wait or select.select([self._process.stdout], [], [], 0)[0]:
            child.code = self._line()["code"]

    def _line(self) -> dict[str, Any]:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"the process that forks has ended with {self._process.wait()}")
        return dict(json.loads(line))


def _serve() -> None:
    for name in NEEDED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        given = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(given)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def _run(given: dict[str, Any]) -> None:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        out = os.open(given["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, source in ((0, null), (1, out), (2, out)):
            os.dup2(source, number)
        for name, value in given["environment"].items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        os.chdir(given["folder"])
        sys.path.insert(0, given["folder"])
        from unwaver.cli.main import main

        main(given["command"])
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except BaseException as e:
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
