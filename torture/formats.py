"""Mutated files of every format that unwaver reads, given to the commands that read them.

    python torture/formats.py                          100,000 files, a line of JSON for each format
    python torture/formats.py --short                  a few of each
    python torture/formats.py --seed 7 --files 9000    other files, and more of them
    python torture/formats.py --only "table csv" --case 17     one file again, with what the command said

A failure is exit 70, a traceback, an exit code that the command does not have, a hang above 20 s, or more than
2 GB. Workers are processes of their own: one that dies or hangs is a finding, and the next goes on after it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _formats import Command, Format, formats  # noqa: E402
from _mutations import mutated  # noqa: E402

FILES, SHORT = 100_000, 150
SECONDS, MOST_BYTES = 20, 2 << 30
LIMIT = 6 << 30  # what a process may ask for at all, so that a mistake does not take the machine with it
COMMANDS = 3  # of those that read a file, this many are tried; one of many files
CODES = {0, 2, 3}
TOOLS = Path(os.environ.get("UNWAVER_TOOLS", HERE.parent / ".venv-lm-eval")) / "bin" / "python"


@dataclass(frozen=True)
class Failure:
    what: str
    command: Command
    place: str = ""


# --- one file -----------------------------------------------------------------------------------------------


def write(files: dict[str, bytes], folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def attack(
    format: Format, files: dict[str, bytes], case: int, seed: int, folder: Path, commands: int = COMMANDS
) -> Iterator[Failure]:
    """One mutated file in the current folder, which is `folder`, and the commands that read it."""
    draw = Random(f"{seed}/{format.name}/{case}")
    target = format.targets[case % len(format.targets)]
    changed = {**files, target: mutated(target, files[target], draw)}
    reading = list(format.reading(target))
    first = reading[case % len(reading)]
    others = [c for c in reading if c != first]
    for command in [first, *draw.sample(others, min(commands - 1, len(others)))]:
        write(changed, folder)
        failure = call(command)
        if failure is not None:
            yield failure


def call(command: Command) -> Failure | None:
    start = time.process_time()  # of this process: a busy machine is no finding
    with said() as output:
        code, error = exit_of(command)
    text = output()
    if (took := time.process_time() - start) > SECONDS:
        return Failure(f"took {took:.0f} s", command)
    if error is not None:
        return Failure(f"{type(error).__name__}: {error}"[:300], command, place_of(error))
    if code == 70:
        return Failure("exit 70", command, _place_again(command))
    allowed = CODES | ({1} if command[0] in ("gate", "check") else set())
    if code not in allowed:
        return Failure(f"exit {code}: {text[-300:]}", command)
    if "Traceback (most recent call last)" in text or "panicked at" in text:
        return Failure(f"traceback: {text[-300:]}", command)
    if code == 2 and "unwaver: " not in text:
        return Failure(f"exit 2 without a reason: {text[-300:]}", command)
    return None


def exit_of(command: Command) -> tuple[int, BaseException | None]:
    from unwaver.cli.main import main

    try:
        main(list(command))
    except SystemExit as e:
        return (e.code if isinstance(e.code, int) else 0 if e.code is None else 1), None
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        return -1, e


def _place_again(command: Command) -> str:
    """Where an unforeseen error comes from: the same call, raised."""
    os.environ["UNWAVER_DEBUG"] = "1"
    try:
        with said():
            _, error = exit_of(command)
    finally:
        del os.environ["UNWAVER_DEBUG"]
    return "" if error is None else f"{place_of(error)} {type(error).__name__}: {error}"[:300]


def place_of(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "unwaver" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


@contextlib.contextmanager
def said() -> Iterator[Any]:
    """What is printed meanwhile, by Python and by libraries that write to the descriptors themselves."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        kept = os.dup(1), os.dup(2)
        streams = sys.stdout, sys.stderr
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        text = ""
        try:
            yield lambda: text
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            sys.stdout, sys.stderr = streams
            for old, new in zip(kept, (1, 2), strict=True):
                os.dup2(old, new)
                os.close(old)
            out.seek(0)
            text = out.read()


# --- a worker -----------------------------------------------------------------------------------------------


def worker(format: Format, start: int, end: int, seed: int, commands: int) -> None:
    """Cases one after the other; a line of JSON before and after each."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.chdir(folder)
        with said():
            files = dict(format.files())
        if missing := set(format.targets) - files.keys():
            raise RuntimeError(f"{format.name}: {', '.join(sorted(missing))} is not made")
        for case in range(start, end):
            _tell({"case": case, "state": "begun"})
            found = [vars(f) for f in attack(format, files, case, seed, folder, commands)]
            if (peak := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) > MOST_BYTES:
                found.append({"what": f"{peak >> 20} MB", "command": (), "place": ""})
            _tell({"case": case, "state": "done", "failures": found})
            if peak > MOST_BYTES:
                break
        os.chdir("/")


def _tell(line: dict[str, Any]) -> None:
    sys.__stdout__.write(json.dumps(line) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def python_for(format: Format) -> Path | None:
    if not format.needs or importlib.util.find_spec(format.needs):
        return Path(sys.executable)
    return TOOLS if TOOLS.exists() else None


def cases(format: Format, count: int, seed: int) -> list[dict[str, Any]]:
    """The failures of so many mutated files; a worker that dies or hangs is replaced."""
    found: list[dict[str, Any]] = []
    python, start = python_for(format), 0
    while python is not None and start < count:
        command = [str(python), str(Path(__file__)), "--worker", format.name, str(start), str(count)]
        process = subprocess.Popen([*command, "--seed", str(seed)], stdout=subprocess.PIPE, text=True)
        told: Queue[str | None] = Queue()
        reader = threading.Thread(target=_pass_on, args=(process, told), daemon=True)
        reader.start()
        state, begun = {"case": start, "state": "making"}, start
        while True:
            try:
                # commands may be tried several at a time, and the first one imports libraries
                line = told.get(timeout=(COMMANDS + 1) * SECONDS)
            except Empty:
                found.append({"case": begun, "what": f"hangs for more than {SECONDS} s"})
                break
            if line is None:
                if state["state"] != "done":
                    found.append({"case": begun, "what": f"the process died with {process.wait()}"})
                break
            state = json.loads(line)
            begun = state["case"]
            found += [{"case": begun, **failure} for failure in state.get("failures", ())]
        process.kill()
        process.wait()
        start = begun + 1
    return found


def _pass_on(process: subprocess.Popen[str], told: Queue[str | None]) -> None:
    for line in process.stdout or ():
        if line.startswith("{"):
            told.put(line)
    told.put(None)


# --- the command line ---------------------------------------------------------------------------------------


def report(format: Format, files: int, seed: int) -> bool:
    if python_for(format) is None:
        print(
            json.dumps({"attack": "formats", "case": format.name, "files": 0, "skipped": format.needs, "ok": True})
        )
        return True
    found = cases(format, files, seed)
    for failure in found[:20]:
        print(json.dumps(failure), file=sys.stderr, flush=True)
    line = {"attack": "formats", "case": format.name, "files": files, "failures": len({f["case"] for f in found})}
    print(json.dumps({**line, "seed": seed, "ok": not found}), flush=True)
    return not found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--files", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="a format; may be given several times")
    parser.add_argument("--case", type=int, help="one file again, in this process")
    parser.add_argument("--worker", nargs=3, metavar=("FORMAT", "FROM", "TO"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    known = formats()
    if given.worker:
        name, start, end = given.worker
        worker(known[name], int(start), int(end), given.seed, 1)
        return
    chosen = [known[name] for name in given.only or known]
    if given.case is not None:
        worker(chosen[0], given.case, given.case + 1, given.seed, 1)
        return
    files = given.files or (SHORT if given.short else FILES)
    kept = [report(format, -(-files // len(chosen)), given.seed) for format in chosen]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
