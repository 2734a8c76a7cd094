"""What machines do to a run: it ends with a reason and loses nothing, and the same command goes on later.

    python torture/bad_days.py [--short]

signals   SIGTERM and SIGHUP at random moments, again and again until the run ends
disk      a small file system (tmpfs, as root) that is full at random points of a run, and has room again
folder    two processes at once on one run folder: one works, the other says who does
store     eight processes on one store: see torture/claims.py and torture/postgres.py
machine   a read-only folder, a clock that goes back, no HOME, LANG=C, closed streams
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _listening import Listening
from _zygote import Zygote
from kills import BATCH, Case, reply, scores

DISK_FULL, SIGNALS, PAIRS = 50, 60, 20
SIZE = 12 << 20  # bytes of the small file system


def line(case: str, problems: list[str], **more: Any) -> dict[str, Any]:
    return {"attack": "bad_days", "case": case, **more, "problems": problems[:5], "ok": not problems}


@contextmanager
def case_in(folder: Path, zygote: Zygote, name: str = "labels") -> Iterator[tuple[Case, float]]:
    with Listening(reply) as server:
        case = Case(name, folder, server, zygote)
        yield case, case.undisturbed()


# --- signals ------------------------------------------------------------------------------------------------


def signals(count: int, zygote: Zygote) -> Iterator[dict[str, Any]]:
    for sign in (signal.SIGTERM, signal.SIGHUP):
        with tempfile.TemporaryDirectory() as place, case_in(Path(place), zygote, "texts") as (case, took):
            draw, number = random.Random(int(sign)), 0
            while case.found.kills < count:
                case.campaign(f"run{number}", count - case.found.kills, took, draw, sign, 130)
                number += 1
            told = {key: value for key, value in case.line(0).items() if key in ("requests", "twice", "at_most")}
            yield line(sign.name, case.found.problems, signals=case.found.kills, runs=case.found.ended, **told)


# --- a full disk --------------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    try:
        with small_disk(folder, 1 << 20):
            return True
    except (subprocess.CalledProcessError, OSError):
        return False


def free_on(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_bsize


def disk(count: int, zygote: Zygote) -> dict[str, Any]:
    """The disk has room for a random part of what a run writes; then there is room again."""
    draw, problems, codes, reasons = random.Random(1), [], [], set[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not can_mount(folder):
            return line("disk full", [], skipped="tmpfs cannot be mounted here")
        with small_disk(folder, SIZE), case_in(folder, zygote) as (case, _):
            shutil.rmtree(folder / "whole")
            (folder / "said.txt").unlink()
            before = free_on(folder)
            case.forget()
            zygote.run(case.command("once"), folder, "/dev/null")
            needs = before - free_on(folder)
            shutil.rmtree(folder / "once")
            for _ in range(count):
                case.forget()
                left = draw.randrange(0, round(1.05 * needs))
                fill(folder / "filler", free_on(folder) - left)
                code = zygote.run(case.command("run"), folder, "/dev/shm/bad_days.txt")
                said = Path("/dev/shm/bad_days.txt")
                text = said.read_text()
                said.unlink()
                codes.append(code)
                if code not in (0, 2, 3):
                    problems.append(f"{left} bytes left: exit {code}: {text[-300:]}")
                if code == 2:
                    reasons.add(next((t for t in text.splitlines() if t.startswith("unwaver: ")), text)[-90:])
                (folder / "filler").unlink()
                problems += whole(folder / "run", left)
                if (code := zygote.run(case.command("run"), folder, "/dev/null")) != 0:
                    problems.append(f"{left} bytes left: then exit {code}")
                elif scores(folder / "run") != case.scores:
                    problems.append(f"{left} bytes left: other scores")
                if (twice := case.asked().total() - len(case.asked())) > BATCH:
                    problems.append(f"{left} bytes left: {twice} asked twice")
                shutil.rmtree(folder / "run", ignore_errors=True)
    counts = {str(code): codes.count(code) for code in sorted(set(codes))}
    return line("disk full", problems, points=count, needs_bytes=needs, exit_codes=counts, reasons=sorted(reasons))


def fill(path: Path, size: int) -> None:
    with path.open("wb") as file:
        step = bytes(1 << 16)
        try:
            while size > 0:
                size -= file.write(step[: min(size, len(step))])
            file.flush()
        except OSError:
            pass


def whole(out: Path, left: int) -> list[str]:
    if not (out / "answers.sqlite").exists():
        return []
    with closing(sqlite3.connect(out / "answers.sqlite")) as db:
        found = db.execute("PRAGMA integrity_check").fetchone()[0]
    return [] if found == "ok" else [f"{left} bytes left: integrity_check: {found}"]


# --- two on one folder --------------------------------------------------------------------------------------


def folder(count: int, zygote: Zygote) -> dict[str, Any]:
    draw, problems, refused = random.Random(1), [], 0
    with tempfile.TemporaryDirectory() as place, case_in(Path(place), zygote) as (case, took), Zygote() as other:
        for n in range(count):
            case.forget()
            first = zygote.start(case.command(f"run{n}"), case.folder, "first.txt")
            time.sleep(draw.uniform(0, 0.3 * took) if n % 2 else 0)
            second = other.start(case.command(f"run{n}"), case.folder, "second.txt")
            codes = first.wait(), second.wait()
            refused += codes.count(2)
            if sorted(codes) not in ([0, 0], [0, 2]):
                problems.append(f"exit codes {codes}")
            if sorted(codes) == [0, 2]:
                said = (case.folder / ("second.txt" if codes[1] == 2 else "first.txt")).read_text()
                if "another process is using this run folder" not in said:
                    problems.append(said[-300:])
            if scores(case.folder / f"run{n}") != case.scores:
                problems.append(f"run{n} has other scores")
            if (most := max(case.asked().values())) > 1:
                problems.append(f"run{n}: a request was asked {most} times")
    return line("two on one folder", problems, pairs=count, refused=refused)


# --- odd machines -------------------------------------------------------------------------------------------

BACK = """
import time, itertools
_real, _calls = time.time, itertools.count()
time.time = lambda: _real() - 3600 * (next(_calls) // 20)   # an hour back with every twentieth look
time.time_ns = lambda: int(time.time() * 1e9)
"""


def shell(folder: Path, command: list[str], redirect: str = "", **environment: str | None) -> tuple[int, str]:
    """A process of its own, started by a shell that may close its streams."""
    given = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
    words = ['exec "$0" "$@"' + redirect, sys.executable, "-m", "unwaver.cli.main", *command]
    done = subprocess.run(["/bin/sh", "-c", *words], cwd=folder, env=given, capture_output=True)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def machine(zygote: Zygote) -> Iterator[dict[str, Any]]:
    odd: dict[str, tuple[str, dict[str, str | None]]] = {
        "no HOME": ("", {"HOME": None, "XDG_CACHE_HOME": None}),
        "a HOME that is not there": ("", {"HOME": "/nowhere/at/all"}),
        "LANG=C": ("", {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        "stdin closed": (" <&-", {}),
        "stdout closed": (" >&-", {}),
        "stderr closed": (" 2>&-", {}),
        "all streams closed": (" <&- >&- 2>&-", {}),
        "a clock that goes back": ("", {"PYTHONPATH": "clock"}),
        "no TMPDIR": ("", {"TMPDIR": "/nowhere"}),
    }
    with tempfile.TemporaryDirectory() as place, case_in(Path(place), zygote) as (case, _):
        clock = case.folder / "clock"
        clock.mkdir()
        (clock / "sitecustomize.py").write_text(BACK)
        path = os.environ.get("PYTHONPATH", "")
        for n, (name, (redirect, environment)) in enumerate(odd.items()):
            if "PYTHONPATH" in environment:
                environment["PYTHONPATH"] = f"{clock}:{path}"
            problems = odd_run(case, f"run{n}", redirect, environment)
            yield line(name, problems)
        yield line("a read-only folder", read_only(case))


def odd_run(case: Case, out: str, redirect: str, environment: dict[str, str | None]) -> list[str]:
    problems = []
    code, said = shell(case.folder, case.command(out), redirect, **environment)
    if code != 0 or "Traceback" in said:
        problems.append(f"run ends with {code}: {said[-300:]}")
    elif scores(case.folder / out) != case.scores:
        problems.append("other scores")
    for command in (["score", out], ["show", out, "--all"], ["report", out, "--out", f"{out}.html"], ["--help"]):
        code, said = shell(case.folder, command, redirect, **environment)
        if code != 0 or "Traceback" in said:
            problems.append(f"{command[0]} ends with {code}: {said[-300:]}")
    return problems


def read_only(case: Case) -> list[str]:
    """A finished run on a file system that cannot be written: it can be read, and a run says what is wrong."""
    disk = case.folder / "disk"
    disk.mkdir()
    if not can_mount(disk):
        return []
    problems = []
    with small_disk(disk, SIZE):
        shutil.copytree(case.folder / "whole", disk / "whole")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for command in (
            ["score", "disk/whole"],
            ["show", "disk/whole"],
            ["report", "disk/whole", "--out", "r.html"],
        ):
            code, said = shell(case.folder, command)
            if code != 0:
                problems.append(f"{command[0]} ends with {code}: {said[-300:]}")
        for command in (case.command("disk/new"), case.command("disk/whole"), ["report", "disk/whole"]):
            code, said = shell(case.folder, command)
            if code != 2 or not re.search(r"(?i)read-only|you may write to", said) or "Traceback" in said:
                problems.append(f"{command[0]} ends with {code}: {said[-300:]}")
    return problems


def findings(short: bool) -> Iterator[dict[str, Any]]:
    with Zygote() as zygote:
        yield from signals(4 if short else SIGNALS, zygote)
        yield disk(4 if short else DISK_FULL, zygote)
        yield folder(2 if short else PAIRS, zygote)
        if not short:
            yield from machine(zygote)


def main() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by what is started here
    kept = True
    for found in findings("--short" in sys.argv):
        print(json.dumps(found), flush=True)
        kept = kept and bool(found["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
