"""A node of a Ray cluster dies, or is cut off, in the middle of a run: same scores, and nothing is asked twice but
what was in flight there.

    python torture/ray_nodes.py [--short]

killed   two nodes on this machine, one replica each; one node is killed. With UNWAVER_DATA and UNWAVER_MODELS this
         is becel/snli with nli-minilm, else and with --short a function of Python
cut      two network namespaces as two hosts (needs root and `ip`): the worker's link goes down, later comes back,
         and the host joins the cluster again
stops    SIGTERM and SIGKILL of the driver with a cluster of its own: no process and no folder is left
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"  # nodes by hand, on addresses that nobody else reaches

from unwaver.models import on_ray_watch

SLOW = """
import os, time
def slow(requests: list[dict]) -> list:
    time.sleep(SECONDS * len(requests))
    return [f"answer {sum(r['prompt'].encode()) % 3}" for r in requests]
"""
FOR_EVER = 1200.0
HEAD, WORKER, NET = "uwhead", "uwwork", "10.213.77"


# --- the driver, in a process of its own -------------------------------------------------------------------


def drive(suite: str, model: str, out: str, options: dict[str, Any]) -> None:
    """Run, and print what was handed out: how often each request, and what was in flight where somebody died."""
    import unwaver
    from unwaver.models.on_ray import Spread
    from unwaver.models.on_ray_crew import Crew

    times: dict[str, int] = {}
    lost: set[str] = set()
    replicas: set[int] = set()
    holds: dict[int, list[str]] = {}
    real_hand, real_lost, real_silent, hand_out = Crew.hand, Crew._lost, Crew.silent, Spread._hand_out

    def name(request: Any) -> str:
        return f"{request.item} {request.replicate}"

    def hand(self: Any, member: Any, part: Any, handed: Any) -> None:
        holds[part.number] = [name(request) for request in handed.requests]
        replicas.add(member.where.pid)
        for one in holds[part.number]:
            times[one] = times.get(one, 0) + 1
        real_hand(self, member, part, handed)

    def in_flight(member: Any) -> None:
        lost.update(one for number in member.parts for one in holds[number])

    def died(self: Any, member: Any, error: Exception) -> Any:
        in_flight(member)
        return real_lost(self, member, error)

    def silent(self: Any) -> Any:
        for member in real_silent(self):
            in_flight(member)
            yield member

    def when_both_are_there(self: Any, work: Any, crew: Any) -> None:
        if replicas or len(crew.ready) == 2:
            hand_out(self, work, crew)

    Crew.hand, Crew._lost, Crew.silent = hand, died, silent  # type: ignore[method-assign]
    Spread._hand_out = when_both_are_there  # type: ignore[method-assign]
    result = unwaver.run(suite, model, out=out, engine="ray", replicas=2, cpus_per_replica=1.0, **options)
    twice = {one for one, count in times.items() if count > 1}
    told = {
        "requests": len(times), "twice": len(twice), "in_flight": len(lost), "only_in_flight": twice <= lost,
        "replicas": len(replicas), "complete": result.is_complete,
    }  # fmt: skip
    print(json.dumps(told), flush=True)


def driver(folder: Path, arguments: list[Any], address: str, within: list[str]) -> subprocess.Popen[str]:
    command = [*within, sys.executable, __file__, "--drive", json.dumps(arguments)]
    environment = {**os.environ, "RAY_ADDRESS": address}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def answered(out: Path) -> int:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{out}/answers.sqlite?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
    return 0


def wait_for(condition: Any, process: subprocess.Popen[str] | None = None) -> None:
    until = time.monotonic() + FOR_EVER
    while not condition():
        if time.monotonic() > until or (process is not None and process.poll() is not None):
            raise RuntimeError("it never happened, or the run ended before it")
        time.sleep(0.1)


def scores(out: Path) -> list[dict[str, Any]]:
    return json.loads((out / "scores.json").read_text())["scores"]


def same(one: Any, other: Any) -> bool:
    """Shares of labels are the same; entropies and the like are computed from rounded probabilities."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5)
    if isinstance(one, dict | list) and type(one) is type(other) and len(one) == len(other):
        pairs = [(one[k], other[k]) for k in one] if isinstance(one, dict) else zip(one, other, strict=True)
        return all(same(a, b) for a, b in pairs)
    return bool(one == other)


def ended(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    out, _ = process.communicate(timeout=FOR_EVER)
    told = json.loads(out.splitlines()[-1])
    told["same_scores"] = same(scores(folder / "ray"), scores(folder / "local"))
    told["ok"] = bool(told["complete"] and told["same_scores"] and told["only_in_flight"] and told["in_flight"])
    return told


def work(folder: Path, short: bool, seconds: float) -> tuple[str, str, dict[str, Any]]:
    """What is asked: suite, model, options."""
    data, models = os.environ.get("UNWAVER_DATA"), os.environ.get("UNWAVER_MODELS")
    if data and models and not short:
        return "becel/snli", f"hf/{models}/nli-minilm", {"limit": 400, "data_dir": data}
    return own_work(folder, 150, seconds)


def own_work(folder: Path, groups: int, seconds: float) -> tuple[str, str, dict[str, Any]]:
    (folder / "slow_bot.py").write_text(SLOW.replace("SECONDS", str(seconds)))
    lines = [
        {"id": f"g{n}", "kind": "semantic", "items": [{"text": f"Who is {n}?"}, {"text": f"Tell me who {n} is"}]}
        for n in range(groups)
    ]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return str(folder / "q.jsonl"), "python/slow_bot:slow", {"model_args": {"batch": 8}}


def locally(folder: Path, suite: str, model: str, options: dict[str, Any]) -> None:
    code = "import json, sys, unwaver; s, m, o, k = json.loads(sys.argv[1]); unwaver.run(s, m, out=o, **k)"
    arguments = json.dumps([suite, model, str(folder / "local"), options])
    subprocess.run([sys.executable, "-c", code, arguments], cwd=folder, check=True)


# --- attacks -----------------------------------------------------------------------------------------------


def killed(folder: Path, short: bool) -> dict[str, Any]:
    from ray.cluster_utils import Cluster

    suite, model, options = work(folder, short, 0.0)  # here a function need not be slow
    locally(folder, suite, model, options)
    work(folder, short, 0.02)
    whole = answered(folder / "local")
    temporary = os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="uwt-")
    (Path(temporary) / "ray").mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **QUIET})
    try:
        other = cluster.add_node(num_cpus=1, **QUIET)
        process = driver(folder, [suite, model, str(folder / "ray"), options], cluster.address, [])
        wait_for(lambda: answered(folder / "ray") > whole // 4, process)
        cluster.remove_node(other, allow_graceful=False)
        return {**ended(process, folder), "suite": suite if suite.startswith("becel") else "own"}
    finally:
        cluster.shutdown()
        on_ray_watch.clean(temporary)


QUIET: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 128 * 2**20}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def network() -> bool:
    """Two hosts with one wire between them; False where this machine does not allow it."""
    try:
        for host, number in ((HEAD, 1), (WORKER, 2)):
            ip("netns", "add", host)
            ip("link", "add", f"{host}v", "type", "veth", "peer", "name", f"{host}w") if number == 1 else None
        ip("link", "set", f"{HEAD}v", "netns", HEAD)
        ip("link", "set", f"{HEAD}w", "netns", WORKER)
        for host, link, number in ((HEAD, f"{HEAD}v", 1), (WORKER, f"{HEAD}w", 2)):
            ip("-n", host, "addr", "add", f"{NET}.{number}/24", "dev", link)
            ip("-n", host, "link", "set", link, "up")
            ip("-n", host, "link", "set", "lo", "up")
        return True
    except (OSError, subprocess.CalledProcessError):
        no_network()
        return False


def no_network() -> None:
    for host in (HEAD, WORKER):
        with suppress(OSError, subprocess.CalledProcessError):
            ip("netns", "del", host)


def node(host: str, number: int, temporary: str, *more: str) -> subprocess.Popen[bytes]:
    ray = str(Path(sys.executable).with_name("ray"))
    command = ["ip", "netns", "exec", host, ray, "start", "--block", "--num-cpus=1", f"--temp-dir={temporary}"]
    command += [f"--node-ip-address={NET}.{number}", "--object-store-memory=134217728", *more]
    nowhere: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    return subprocess.Popen(command, **nowhere)


def cut(folder: Path) -> dict[str, Any]:
    if not network():
        return {"ok": True, "skipped": "this machine allows no network namespaces"}
    suite, model, options = own_work(folder, 3000, 0.0)  # another module, with the same answers
    locally(folder, suite, model, options)
    own_work(folder, 3000, 0.02)
    homes = [tempfile.mkdtemp(prefix="uwt-") for _ in range(3)]
    address = f"{NET}.1:6379"
    nodes = [node(HEAD, 1, homes[0], "--head", "--port=6379", "--include-dashboard=false")]
    try:
        time.sleep(8)
        nodes.append(node(WORKER, 2, homes[1], f"--address={address}"))
        time.sleep(8)
        process = driver(
            folder, [suite, model, str(folder / "ray"), options], address, ["ip", "netns", "exec", HEAD]
        )
        wait_for(lambda: answered(folder / "ray") > 600, process)
        ip("-n", WORKER, "link", "set", f"{HEAD}w", "down")
        at_cut = answered(folder / "ray")
        wait_for(lambda: answered(folder / "ray") > at_cut + 1500, process)  # the run goes on without it
        ip("-n", WORKER, "link", "set", f"{HEAD}w", "up")
        on_ray_watch.clean(homes[1])  # Ray gives up a node that was declared dead: it joins as a new one
        nodes.append(node(WORKER, 2, homes[2], f"--address={address}"))
        told = ended(process, folder)
        return {**told, "came_back": told["replicas"] >= 3, "ok": told["ok"] and told["replicas"] >= 3}
    finally:
        for each in nodes:
            with suppress(OSError):
                os.killpg(each.pid, signal.SIGKILL)
        for home in homes:
            on_ray_watch.clean(home)
        no_network()


def stops(folder: Path, sign: signal.Signals) -> dict[str, Any]:
    suite, model, _ = own_work(folder, 2000, 0.05)
    command = [sys.executable, "-m", "unwaver", "run", suite, "--model", model, "--model-arg", "batch=4", "-q"]
    command += ["--engine", "ray", "--replicas", "2", "--out", str(folder / "ray"), "--no-report"]
    nowhere: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    before = set(Path(tempfile.gettempdir()).glob("unwaver-ray-*"))
    process = subprocess.Popen(command, cwd=folder, text=True, **nowhere)
    wait_for(lambda: answered(folder / "ray") > 40, process)
    mine = [str(path) for path in set(Path(tempfile.gettempdir()).glob("unwaver-ray-*")) - before]
    process.send_signal(sign)
    code = process.wait()
    until = time.monotonic() + 60
    left = mine
    while left and time.monotonic() < until:
        left = [path for path in mine if Path(path).exists() or list(on_ray_watch.using(path))]
        time.sleep(0.2)
    kept = answered(folder / "ray")
    expected = 130 if sign == signal.SIGTERM else -sign
    return {
        "signal": sign.name,
        "kept": kept,
        "left": len(left),
        "ok": not left and kept > 40 and code == expected,
    }


def main() -> None:
    if "--drive" in sys.argv:
        drive(*json.loads(sys.argv[-1]))
        return
    short = "--short" in sys.argv
    attacks: list[tuple[str, Any]] = [("killed", lambda f: killed(f, short))]
    if not short:
        attacks += [
            ("cut", cut),
            ("stops", lambda f: stops(f, signal.SIGTERM)),
            ("stops", lambda f: stops(f, signal.SIGKILL)),
        ]
    good = True
    for name, attack in attacks:
        folder = Path(tempfile.mkdtemp(prefix="unwaver-torture-"))
        began = time.monotonic()
        try:
            found = attack(folder)
        except Exception as e:
            found = {"ok": False, "error": f"{type(e).__name__}: {e}"[:300]}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(
            json.dumps(
                {"attack": "ray_nodes", "case": name, "seconds": round(time.monotonic() - began, 1), **found}
            ),
            flush=True,
        )
        good = good and bool(found["ok"])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
