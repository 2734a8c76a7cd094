"""Eight processes on one PostgreSQL store, and everything that can happen to them: no answer lost, none twice.

    python torture/postgres.py [--short]

Processes are killed; all connections are ended by the server; the server crashes and comes back; the host of the
server, or of some processes, is cut off from the network and comes back (network namespaces, as root).

Each process writes down what it asks before it answers. Of a killed process the batch in flight may be asked once
more. Processes whose host was cut off for longer than others wait for a sign of life ask what they had claimed,
though others have taken it over.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

BATCH = 16
PROCESSES = 8
CUT_SECONDS = 75  # longer than others wait for a sign of life


# --- a process ---------------------------------------------------------------------------------------------------


class Writing:
    """A model that writes down what it is asked, then answers in batches."""

    name = identity = method = "m"
    reads, settings, deterministic, concurrency = ("prompt",), {}, True, BATCH  # type: ignore[var-annotated]

    def __init__(self, log: Path):
        self._log = log.open("a", buffering=1)

    def answer(self, requests: Sequence[Any]) -> Iterator[list[tuple[int, Any]]]:
        from unwaver.types import Answer

        for start in range(0, len(requests), BATCH):
            some = requests[start : start + BATCH]
            self._log.write("".join(f"{request.prompt}\n" for request in some))
            time.sleep(0.01)
            yield [(start + n, Answer(text=f"to\0 {request.prompt}")) for n, request in enumerate(some)]

    def close(self) -> None:
        self._log.close()


def work(address: str, log: Path, count: int) -> None:
    from unwaver.answers.shared_store import open_store
    from unwaver.asking.ask import Asker, Plan
    from unwaver.asking.claims import claiming
    from unwaver.types import Request

    keys = [f"k{n:06}" for n in range(count)]
    requests = {key: Request("t", (), key, (), ()) for key in keys}
    groups = [keys[n : n + 2] for n in range(0, count, 2)]
    store = open_store(address)
    model: Any = Writing(log)
    with claiming(store) as claims:
        Asker(store, claims=claims).ask(model, Plan({(key, 0): key for key in keys}, requests, groups))
    store.close()
    model.close()


# --- what happens to them ----------------------------------------------------------------------------------------


class Scene:
    """A server, the processes that use it, and what they asked."""

    def __init__(self, server: Any, name: str, count: int, seed: int):
        self.server, self.name, self.count, self.draw = server, name, count, random.Random(seed)
        self.folder = Path(tempfile.mkdtemp())
        self.url = server.new(name)
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, processes: int, within: Sequence[str] = (), url: str = "") -> None:
        for _ in range(processes):
            log = self.folder / f"{len(self.running)}.log"
            command = [*within, sys.executable, __file__, "work", url or self.url, str(log), str(self.count)]
            with log.with_suffix(".err").open("wb") as err:
                self.running.append(subprocess.Popen(command, stderr=err))

    def _rows(self, query: str) -> list[Any]:
        return list(self.server.sql(query, database=self.name))

    def answered(self) -> int:
        try:
            return int(self._rows("SELECT count(*) FROM unwaver.answers")[0][0])
        except Exception:  # the tables are not made yet, or the server is away
            return 0

    def until(self, share: float) -> None:
        while self.answered() < share * self.count and any(p.poll() is None for p in self.running):
            time.sleep(0.05)

    def kill(self, number: int) -> None:
        for n, each in enumerate(self.draw.sample(self.running, number)):
            self.until(0.1 + 0.2 * n + self.draw.uniform(0, 0.1))
            each.send_signal(signal.SIGKILL)

    def end_connections(self, times: int) -> None:
        for n in range(times):
            self.until(0.1 + 0.7 * n / times)
            query = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'"
            self.server.sql(query)

    def crash(self) -> None:
        self.until(0.3)
        self.server.stop("immediate")
        time.sleep(3)
        self.server.start()

    def result(self, case: str, most_again: int, began: float) -> dict[str, Any]:
        codes = [p.wait(timeout=900) for p in self.running]
        logs = [path.read_text().splitlines() for path in sorted(self.folder.glob("*.log"))]
        asked = Counter(key for lines in logs for key in lines)
        rows = self._rows("SELECT key, text FROM unwaver.answers")
        right = {(f"k{n:06}", f"to\ufdd00 k{n:06}") for n in range(self.count)}
        # of those who are gone by themselves
        left = self._rows("SELECT key FROM unwaver.claims") if -signal.SIGKILL not in codes else []
        failures = self._rows("SELECT * FROM unwaver.failures")
        errors = [
            p.read_text()[-400:]
            for p, code in zip(sorted(self.folder.glob("*.err")), codes, strict=True)
            if code > 0
        ]
        again = sum(asked.values()) - len(asked)
        shutil.rmtree(self.folder)
        return {
            "attack": "postgres",
            "case": case,
            "answers": len(rows),
            "lost": len(right - set(rows)),
            "twice": len(rows) - len(set(rows)),
            "asked_again": again,
            "at_most": most_again,
            "killed": codes.count(-signal.SIGKILL),
            "seconds": round(time.monotonic() - began, 1),
            "errors": errors,
            "ok": set(rows) == right and len(rows) == self.count and again <= most_again and not left
            and not failures and not errors,
        }  # fmt: skip


def attack(
    server: Any, case: str, count: int, most_again: int, happen: Callable[[Scene], None], processes: int
) -> dict[str, Any]:
    scene = Scene(server, "torture", count, seed=len(case))
    began = time.monotonic()
    try:
        scene.start(processes)
        happen(scene)
        return scene.result(case, most_again, began)
    finally:
        for each in scene.running:
            each.kill()


# --- hosts -------------------------------------------------------------------------------------------------------


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def hosts(*names: str) -> Iterator[None]:
    """Namespaces of the network. NAME is reached from here at 10.213.N.2 and from the next one at 10.214.N.2."""
    try:
        for n, name in enumerate(names):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("link", "add", f"{name}o", "type", "veth", "peer", "name", f"{name}i", "netns", name)
            ip("addr", "add", f"10.213.{n}.1/24", "dev", f"{name}o")
            ip("-n", name, "addr", "add", f"10.213.{n}.2/24", "dev", f"{name}i")
            ip("link", "set", f"{name}o", "up")
            ip("-n", name, "link", "set", f"{name}i", "up")
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            subprocess.run(["ip", "link", "del", f"{name}o"], capture_output=True)


def between(one: str, other: str) -> None:
    """A cable between two of them."""
    ip("-n", one, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", other)
    for name, number in ((one, 1), (other, 2)):
        ip("-n", name, "addr", "add", f"10.214.0.{number}/24", "dev", "cable")
        ip("-n", name, "link", "set", "cable", "up")


def cut_off(seconds: float) -> Iterator[dict[str, Any]]:
    """The host of the server, then the host of half of the processes."""
    import postgres_server

    name, far = f"uws{os.getpid() % 10_000}", f"uwc{os.getpid() % 10_000}"
    with ExitStack() as opened:
        opened.enter_context(hosts(name, far))
        between(name, far)
        server = opened.enter_context(
            postgres_server.server(listen="0.0.0.0", host="10.213.0.2", within=("ip", "netns", "exec", name))
        )

        def server_cut(scene: Scene) -> None:
            scene.until(0.2)
            ip("-n", name, "link", "set", f"{name}i", "down")
            time.sleep(seconds)
            ip("-n", name, "link", "set", f"{name}i", "up")

        yield attack(server, f"host of the server cut off for {seconds:.0f} s", 20_000, 0, server_cut, PROCESSES)

        def some_cut(scene: Scene) -> None:
            other = ["ip", "netns", "exec", far, "unshare", "--uts", "sh", "-c", 'hostname far; exec "$@"', "sh"]
            scene.start(PROCESSES // 2, other, scene.url.replace("10.213.0.2", "10.214.0.1"))
            scene.until(0.2)
            ip("-n", far, "link", "set", "cable", "down")
            time.sleep(seconds)
            ip("-n", far, "link", "set", "cable", "up")

        claimed = PROCESSES // 2 * 4096
        case = f"host of four processes cut off for {seconds:.0f} s"
        yield attack(server, case, 20_000, claimed, some_cut, PROCESSES // 2)


def cases(short: bool) -> Iterator[dict[str, Any]]:
    import postgres_server

    if told := postgres_server.missing():
        print(told, file=sys.stderr)
        return
    processes, count, kills = (3, 1_000, 1) if short else (PROCESSES, 20_000, 3)
    with postgres_server.server() as server:
        if short:

            def everything(scene: Scene) -> None:
                scene.end_connections(2)
                scene.kill(kills)

            yield attack(server, "one killed, connections ended", count, kills * BATCH, everything, processes)
            return
        yield attack(server, "undisturbed", count, 0, lambda _: None, processes)
        yield attack(server, "three killed", count, kills * BATCH, lambda scene: scene.kill(kills), processes)
        yield attack(server, "connections ended", count, 0, lambda scene: scene.end_connections(5), processes)
        yield attack(server, "server crashed", count, 0, Scene.crash, processes)

        def all_of_it(scene: Scene) -> None:
            scene.end_connections(2)
            scene.crash()
            scene.kill(kills)

        yield attack(server, "all of it", count, kills * BATCH, all_of_it, processes)
    if os.geteuid() == 0 and shutil.which("ip"):
        yield from cut_off(CUT_SECONDS)
    else:
        print("no network namespaces here: hosts are not cut off", file=sys.stderr)


def main() -> None:
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
        return
    kept = True
    for found in cases("--short" in sys.argv):
        print(json.dumps(found), flush=True)
        kept = kept and bool(found["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
