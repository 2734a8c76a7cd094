"""Models on Ray: a cluster on this machine, replicas that die, and the same scores as without it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from server import Raw, Server
from waiting import wait_for

import unwaver
from unwaver.answers.store import Store
from unwaver.config import Config
from unwaver.engine.runs import go
from unwaver.errors import ModelError, UnwaverError, UsageError
from unwaver.models import on_ray_cluster, on_ray_watch

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="ray is not installed")

TWO: dict[str, Any] = {"engine": "ray", "replicas": 2}

BOT = """
import os
from pathlib import Path
HERE = Path(__file__).parent

def note(requests):
    with (HERE / "log.txt").open("a") as log:
        log.write("".join(f"{os.getpid()} {r['id']}\\n" for r in requests))

def answer(requests: list[dict]) -> list:
    note(requests)
    return [f"answer {sum(r['prompt'].encode()) % 3}" for r in requests]

def dies_once(requests: list[dict]) -> list:
    note(requests)
    if any("Who is 30?" in r["prompt"] for r in requests) and not (HERE / "died").exists():
        (HERE / "died").touch()
        os._exit(9)
    return [f"answer {sum(r['prompt'].encode()) % 3}" for r in requests]

def dies_of_one(requests: list[dict]) -> list:
    note(requests)
    if any("Who is 3?" in r["prompt"] for r in requests):
        os._exit(9)
    return [f"answer {sum(r['prompt'].encode()) % 3}" for r in requests]

def breaks(requests: list[dict]) -> list:
    raise ValueError("I cannot")

def slow(requests: list[dict]) -> list:
    import time
    note(requests)
    time.sleep(0.2)
    return ["yes" for r in requests]
"""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One cluster for all tests in this file: it stays as long as somebody is a member."""

    class Somebody:
        _crew = None

    somebody = Somebody()
    on_ray_cluster.CLUSTER.members.add(somebody)
    yield
    on_ray_cluster.CLUSTER.leave(somebody)


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of functions, found in the current folder; its name is new, because Python keeps modules."""
    name = f"bot_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(BOT)
    monkeypatch.chdir(tmp_path)
    return f"python/{name}:"


def questions(folder: Path, count: int) -> Path:
    groups = [
        {"id": f"g{n}", "kind": "semantic", "items": [{"text": f"Who is {n}?"}, {"text": f"Tell me who {n} is"}]}
        for n in range(count)
    ]
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, groups)))
    return path


def asked(folder: Path) -> list[tuple[int, str]]:
    lines = (folder / "log.txt").read_text().split()
    return [(int(pid), item) for pid, item in zip(lines[::2], lines[1::2], strict=True)]


def both(suite: str | Path, model: Any, folder: Path, **options: Any) -> tuple[Any, Any]:
    """The result without Ray and with it."""
    config = {"suites": (str(suite),), "models": (model,), **options}
    local = go(Config(**config, out=str(folder / "local")))
    return local, go(Config(**{**config, **TWO}, out=str(folder / "ray")))


# --- the same scores ----------------------------------------------------------------------------------------------


def test_scores_are_those_of_a_local_run_and_either_resumes_the_other(tmp_path: Path) -> None:
    local, spread = both("sample", "fake/random", tmp_path)
    assert list(spread.result) == list(local.result)
    assert spread.frame.equals(local.frame)
    assert spread.result.run["config"]["engine"] == "ray"
    again = go(Config(("sample",), ("fake/random",), out=str(tmp_path / "ray")))
    assert again.result.run["spent"]["calls"] == 0


def closeness(local: Any, spread: Any) -> tuple[int, int]:
    """(answers, answers with another label because the two best are nearly the same); asserts that all others are
    the same, and log-probabilities within 1e-5."""
    ties = 0
    ours, theirs = (
        sorted(frame.frame.to_dicts(), key=lambda r: (r["item"], r["replicate"])) for frame in (local, spread)
    )
    for a, b in zip(ours, theirs, strict=True):
        first, second = a.get("logprobs") or [], b.get("logprobs") or []
        assert second == pytest.approx(first, rel=1e-5)
        if a["label"] != b["label"]:
            best, next_best = sorted(first, reverse=True)[:2]
            assert abs(best - next_best) < 1e-4 * abs(best)
            ties += 1
    return len(ours), ties


@pytest.mark.parametrize("method", ["logprob", "generate"])
def test_a_language_model_answers_the_same(tmp_path: Path, method: str) -> None:
    folder = tiny.saved(tmp_path / "lm")
    local, spread = both("sample/sst2", f"hf/{folder}", tmp_path, method=method)
    count, ties = closeness(local, spread)
    assert count > 20
    if not ties:
        assert [(s.metric, s.kind, s.counted) for s in spread.result] == [
            (s.metric, s.kind, s.counted) for s in local.result
        ]


# --- death --------------------------------------------------------------------------------------------------------


def test_a_replica_that_dies_costs_only_its_parts(tmp_path: Path, bot: str) -> None:
    suite = questions(tmp_path, 60)
    result = unwaver.run(suite, f"{bot}dies_once", out=tmp_path / "ray", model_args={"batch": 4}, **TWO)
    assert result.is_complete
    assert (tmp_path / "died").exists()
    times = Counter(item for _, item in asked(tmp_path))
    assert len(times) == 120
    assert max(times.values()) <= 2
    assert sum(n > 1 for n in times.values()) <= 2 * 64, "the parts in flight at most"
    assert len({pid for pid, _ in asked(tmp_path)}) >= 2
    assert os.getpid() not in {pid for pid, _ in asked(tmp_path)}
    (tmp_path / "log.txt").unlink()
    local = unwaver.run(suite, f"{bot}dies_once", out=tmp_path / "local")
    assert list(local) == list(result)


def test_a_request_that_kills_every_replica_is_a_failed_call(tmp_path: Path, bot: str, capfd: Any) -> None:
    suite = questions(tmp_path, 4)
    result = unwaver.run(suite, f"{bot}dies_of_one", out=tmp_path / "ray", model_args={"batch": 1}, **TWO)
    assert capfd.readouterr() == ("", ""), "Ray says nothing itself"
    assert not result.is_complete
    store = Store(tmp_path / "ray" / "answers.sqlite")
    keys = {key for (key,) in store.rows("SELECT key FROM failures")}
    [why] = store.failures(keys).values()
    store.close()
    assert "the replica died 3 times while it answered this request" in why
    assert next(s for s in result if s.metric == "tau").counted == 3


def test_replicas_that_always_die_end_the_run(tmp_path: Path, bot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.models.on_ray_crew import Crew

    monkeypatch.setattr(
        Crew, "hopeless", lambda self, why, has: ModelError(f"died: {why}") if self.deaths > 1 else None
    )
    suite = tmp_path / "one.jsonl"
    suite.write_text(questions(tmp_path, 4).read_text().splitlines()[3])
    with pytest.raises(ModelError, match="died: its process ended"):
        unwaver.run(suite, f"{bot}dies_of_one", out=tmp_path / "ray", **TWO)


def test_an_error_of_the_model_is_the_same_error(tmp_path: Path, bot: str) -> None:
    suite = questions(tmp_path, 3)
    told = []
    for options in ({}, TWO):
        with pytest.raises(ModelError) as caught:
            unwaver.run(suite, f"{bot}breaks", out=tmp_path / f"r{len(told)}", **options)
        told.append((caught.value.message, caught.value.hint))
    assert told[0] == told[1]
    assert "ValueError: I cannot" in told[1][0]


# --- everybody who answers ----------------------------------------------------------------------------------------


def test_judges_and_scorers_are_on_the_engine(tmp_path: Path, bot: str) -> None:
    judge = bot.removeprefix("python/").removesuffix(":") + "_judge"
    (tmp_path / f"{judge}.py").write_text(BOT.replace("log.txt", "judged.txt"))
    suite = questions(tmp_path, 4)
    options: dict[str, Any] = {"agree": f"judge=python/{judge}:slow", "scorers": f"judge=python/{judge}:slow"}
    result = unwaver.run(suite, f"{bot}answer", out=tmp_path / "ray", **options, **TWO)
    assert result.is_complete
    pids = {int(pid) for pid in (tmp_path / "judged.txt").read_text().split()[::2]}
    assert pids
    assert os.getpid() not in pids
    assert not pids & {pid for pid, _ in asked(tmp_path)}, "another model, other replicas"


def test_a_function_of_python_is_sent_to_the_replicas(tmp_path: Path) -> None:
    suffix, here = "!", os.getpid()

    def reply(prompt: str) -> str:
        return f"{prompt[:3]}{suffix}{os.getpid() == here}"

    unwaver.run(questions(tmp_path, 3), reply, out=tmp_path / "r", **TWO)
    store = Store(tmp_path / "r" / "answers.sqlite")
    texts = {text for (text,) in store.rows("SELECT text FROM answers")}
    store.close()
    assert texts == {"Who!False", "Tel!False"}


def test_what_cannot_be_sent_is_named(tmp_path: Path) -> None:
    import threading

    lock = threading.Lock()

    def locked(prompt: str) -> str:
        with lock:
            return prompt

    with pytest.raises(ModelError, match="locked cannot be sent to a replica") as caught:
        unwaver.run(questions(tmp_path, 3), locked, out=tmp_path / "r", **TWO)
    assert "python/module:function" in str(caught.value.hint)


def test_a_server_is_met_once_and_asked_within_one_limit(tmp_path: Path) -> None:
    with Server(lambda prompt: "yes", slow=0.02) as server:
        model = f"openai/m,base_url={server.url},concurrency=3"
        result = unwaver.run(questions(tmp_path, 40), model, out=tmp_path / "r", engine="ray", replicas=2)
        assert result.is_complete
        assert server.most_working <= 3
        assert len(server.bodies) == 80
        server.bodies.clear()

    def refuse(number: int, body: Any, headers: Any) -> Raw:
        return Raw(401, {"error": {"message": "wrong key"}})

    with Server(script=refuse) as server:
        with pytest.raises(ModelError, match="wrong key"):
            unwaver.run(questions(tmp_path, 40), f"openai/m,base_url={server.url}", out=tmp_path / "s", **TWO)
        assert len(server.bodies) == 1, "one request found out"


def test_a_cost_limit_holds_over_all_replicas(tmp_path: Path) -> None:
    """Every second try fails in a way that may be billed."""

    def broken(number: int, body: Any, headers: Any) -> Raw | None:
        return Raw(500, {"error": {"message": "busy"}}) if number % 2 else None

    with Server(lambda prompt: "yes", script=broken) as server:
        model = f"openai/m,base_url={server.url},max_tokens=10,price_in=1000,price_out=1000,backoff=0.01"
        result = unwaver.run(questions(tmp_path, 40), model, out=tmp_path / "r", max_cost=3.0, **TWO)
    spent = result.run["spent"]
    assert "cost limit of 3" in spent["stopped"]
    assert 0 < spent["failed_cost"] < spent["cost"] <= 3.0


def test_what_a_server_does_not_take_is_learned_by_all(tmp_path: Path) -> None:
    def picky(number: int, body: Any, headers: Any) -> Raw | None:
        if "max_tokens" not in body:
            return None
        text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return Raw(400, {"error": {"message": text, "param": "max_tokens", "code": "unsupported_parameter"}})

    with Server(lambda prompt: "yes", script=picky) as server:
        model = f"openai/m,base_url={server.url}"
        result = unwaver.run(questions(tmp_path, 60), model, out=tmp_path / "r", **TWO)
        assert result.is_complete
        refused = sum("max_tokens" in body for body in server.bodies)
    assert refused <= 2, "the first replica tells the other"


def test_replicas_of_an_idle_model_make_room(tmp_path: Path, bot: str) -> None:
    """Each needs the whole machine: the judge gets it when the model has answered."""
    suite = questions(tmp_path, 3)
    cores = float(on_ray_cluster.cores())
    options: dict[str, Any] = {"engine": "ray", "replicas": 1, "cpus_per_replica": cores}
    result = unwaver.run(suite, f"{bot}answer", out=tmp_path / "r", agree="judge=fake/random", **options)
    assert result.is_complete


# --- wrong use ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replicas": 2}, "--replicas needs --engine ray"),
        ({"cpus_per_replica": 1.0}, "--cpus-per-replica needs --engine ray"),
        ({"engine": "rya"}, "unknown engine"),
        ({"engine": "ray", "replicas": 0}, "--replicas is 0, expected 1 or more"),
        ({"engine": "ray", "gpus_per_replica": -1.0}, "--gpus-per-replica is -1.0, expected 0 or more"),
        ({"engine": "ray", "cpus_per_replica": float("nan")}, "--cpus-per-replica is nan"),
        ({"engine": "ray", "gpus_per_replica": 1.5}, "above 1 it must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Config(("sample",), ("fake/random",), **options)


def test_the_engine_is_no_part_of_what_a_run_is() -> None:
    plain = Config(("sample",), ("fake/random",))
    assert Config(("sample",), ("fake/random",), **TWO, cpus_per_replica=0.5).id == plain.id


def test_more_than_the_machine_has_is_an_error_before_anything_starts() -> None:
    code = (
        "import unwaver\n"
        "unwaver.run('sample', 'fake/random', engine='ray', replicas=2, cpus_per_replica=1000.0, out='never')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "2 replicas with 1000 CPUs each need 2000, this machine has" in done.stderr
    assert not Path("never").exists()


def test_a_cluster_that_is_not_there_is_named(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = on_ray_cluster.Cluster()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(ModelError, match="no Ray cluster answers at "):
        cluster._connect(on_ray_cluster.address())


def test_without_the_extra_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray_cluster, "find_spec", lambda name: None)
    with pytest.raises(UnwaverError) as caught:
        go(Config(("sample/snli",), ("fake/random",), out="never", **TWO))
    assert "pip install 'unwaver[ray]'" in str(caught.value.hint)


# --- how it ends --------------------------------------------------------------------------------------------------


def started(tmp_path: Path, bot: str) -> subprocess.Popen[str]:
    """A run in another process that has some answers already."""
    suite = questions(tmp_path, 400)
    command = [
        sys.executable,
        "-m",
        "unwaver",
        "run",
        str(suite),
        "--model",
        f"{bot}slow",
        "--model-arg",
        "batch=2",
    ]
    command += ["--engine", "ray", "--replicas", "2", "--out", str(tmp_path / "r"), "-q", "--no-report"]
    temporary = tmp_path / "t"
    temporary.mkdir()
    nowhere = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, text=True, start_new_session=True, **nowhere)
    wait_for(lambda: (tmp_path / "log.txt").exists() or process.poll() is not None, "a replica is asked")
    assert process.poll() is None, process.communicate()
    wait_for(lambda: len(asked(tmp_path)) > 40, "some are answered")
    return process


def of_session(leader: int) -> list[int]:
    """Processes in the session of a run: those of its cluster are."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(stat.parent.name))
    return found


def folders(pid: int) -> set[str]:
    """Folders of clusters in which a process has open files."""
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            parts = str(file.readlink()).split("/")
        except OSError:
            continue
        found |= {"/".join(parts[: n + 1]) for n, part in enumerate(parts) if part.startswith("unwaver-ray-")}
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes through /proc")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_was_stopped(tmp_path: Path, bot: str, sign: signal.Signals) -> None:
    process = started(tmp_path, bot)
    [folder] = folders(process.pid)
    assert len(of_session(process.pid)) > 3, "the cluster"
    process.send_signal(sign)
    _, err = process.communicate()
    assert process.returncode == (130 if sign == signal.SIGINT else -signal.SIGKILL), err
    if sign == signal.SIGINT:
        assert err.splitlines()[-2:] == [
            "unwaver: interrupted",
            "         finished work is saved: run the same command again to continue",
        ], err
        assert "Traceback" not in err
    wait_for(lambda: not of_session(process.pid), "all processes of the cluster have ended")
    wait_for(lambda: not list(on_ray_watch.using(folder)), "nobody uses the folder")
    wait_for(lambda: not Path(folder).exists(), "the folder is removed")
    store = Store(tmp_path / "r" / "answers.sqlite")
    kept = len(list(store.rows("SELECT key FROM answers")))
    store.close()
    assert kept > 10
