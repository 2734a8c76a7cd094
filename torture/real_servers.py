"""`unwaver run sample` against real servers: llama.cpp, a LiteLLM proxy before it, `transformers serve` beside it.

    python torture/real_servers.py [--short]

All three serve SmolLM2-135M. LiteLLM and transformers have an environment of their own, .venv-servers, which
`make torture` makes. What the model says is not tested: that everything arrives, is read and counted, is not asked
again, and that errors say what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import llama_cpp as llama

HERE = Path(__file__).parent
SERVERS = Path(os.environ.get("UNWAVER_SERVERS", HERE.parent / ".venv-servers")).absolute() / "bin"
KEY = "sk-proxy-0123456789abcdef"
WAIT = 600.0  # seconds until a server is up
TEXTS = ("The film was a wonderful surprise from start to end.", "I was bored and left the cinema early.")
SHORT = r"max_tokens=200,stop=.|\n"


@dataclass(frozen=True)
class Place:
    """A server, and a folder to work in."""

    name: str
    url: str
    folder: Path
    key: str = ""

    def model(self, *options: str, name: str = llama.NAME) -> str:
        return ",".join([f"openai/{name}", f"base_url={self.url}", *options])

    def unwaver(self, *args: object, out: str, key: str | None = None) -> tuple[int, dict[str, Any], str]:
        """Exit code, what `--json` prints, and what is printed to standard error."""
        done = subprocess.run(
            [sys.executable, "-m", "unwaver.cli.main", *map(str, args), "--out", out, "--json"],
            cwd=self.folder, env={**os.environ, "OPENAI_API_KEY": self.key if key is None else key},
            capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr


Found = dict[str, Any]


def labels(place: Place, short: bool) -> Found:
    """The whole sample with the defaults, then the same again."""
    sample = ["sample/boolq", "sample/sst2", "--limit", 1] if short else ["sample"]
    command = ["run", *sample, "--model", place.model()]
    code, said, err = place.unwaver(*command, out="labels")
    again, _, _ = place.unwaver(*command, out="labels")
    scores = said.get("scores", [])
    counts = {name: sum(s[name] for s in scores) for name in ("failed", "cut", "refused", "not_asked")}
    spent = said.get("run", {}).get("spent", {})
    repeated = json.loads((place.folder / "labels" / "run.json").read_text())["spent"]["calls"]
    methods = sorted({s["method"] for s in scores})
    kept = code == again == 0 and methods == ["generate"] and not any(counts.values()) and repeated == 0
    return {
        "exit": code, "calls": spent.get("calls"), "tokens_out": spent.get("tokens_out"), "methods": methods,
        **counts, "asked_again": repeated, "ok": kept and spent["calls"] > 0, "error": err[-500:],
    }  # fmt: skip


def judged(place: Place, short: bool) -> Found:
    """Free text with a system prompt, stop strings and a judge on the same server."""
    answers = place.model(r"system=Answer with one word.", SHORT)
    judge = f"judge={place.model('max_tokens=6')}"
    limit = 1 if short else 4
    code, said, err = place.unwaver(
        "run", "sample/facts", "--limit", limit, "--model", answers, "--agree", judge, out="judge"
    )
    found = [s for s in said.get("scores", []) if s["metric"] == "Cons_judge"]
    kept = code == 0 and len(found) == 1 and found[0]["counted"] == limit
    return {"exit": code, "ok": kept, "error": err[-500:]}


def cut(place: Place, _short: bool) -> Found:
    """Each answer ends after one token, and no group is scored."""
    code, said, err = place.unwaver(
        "run", "sample/facts", "--limit", 2, "--model", place.model("max_tokens=1"), out="cut"
    )
    counts = [(s["cut"], s["counted"]) for s in said.get("scores", [])]
    return {"exit": code, "ok": code == 3 and set(counts) == {(2, 0)}, "error": err[-500:]}


def written(place: Place, _short: bool) -> Found:
    """A writer, with structured output where the server has it."""
    rows = [{"text": text, "label": "positive"} for text in TEXTS]
    (place.folder / "films.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["run", "films.jsonl", "--task", "sst2", "--variants", "paraphrase", "--k", 1, "--tries", 1]
    command += ["--writer", place.model(), "--judge", f"same={place.model(SHORT)}", "--model", place.model(SHORT)]
    code, _, err = place.unwaver(*command, out="writer")
    audit = place.folder / "writer" / "audit.jsonl"
    texts = [json.loads(line)["variant"] for line in audit.read_text().splitlines()] if audit.exists() else []
    whole = len(texts) == len(TEXTS) and all(text and not text.startswith("{") for text in texts)
    return {"exit": code, "texts": len(texts), "ok": code == 0 and whole, "error": err[-500:]}


def wrong_name(place: Place, _short: bool) -> Found:
    """The server does not have the model: the run ends at the first request, and the hint is about the name."""
    model = place.model(name="no-such-model")
    code, _, err = place.unwaver("run", "sample/sst2/semantic", "--limit", 1, "--model", model, out="name")
    return {
        "exit": code,
        "ok": code == 2 and "does the server know the model no-such-model" in err,
        "error": err[-500:],
    }


def wrong_key(place: Place, _short: bool) -> Found:
    """The run ends at the first request."""
    command = ["run", "sample/sst2/semantic", "--limit", 1, "--model", place.model()]
    code, _, err = place.unwaver(*command, out="key", key="sk-wrong-0123456789abcdef")
    return {"exit": code, "ok": code == 2, "error": err[-500:]}


COMMON: tuple[Callable[[Place, bool], Found], ...] = (labels, judged, cut, written)


def lost(place: Place, behind: llama.LlamaCpp, folder: Path) -> Found:
    """The server behind a proxy dies in the middle: calls fail with a reason, the same command asks them again."""
    model = place.model("concurrency=2", "retries=4", SHORT)  # a proxy needs some seconds to try a server again
    command = ["run", "sample/sst2/semantic", "--model", model]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(place.unwaver, *command, out="lost")
        while not running.done() and not _stored(place.folder / "lost" / "answers.sqlite"):
            time.sleep(0.02)
        behind.kill()
        code, said, err = running.result()
    reasons = [failure["reason"] for failure in said.get("run", {}).get("failures", [])]
    with llama.LlamaCpp(folder, port=behind.port):
        again, said, later = place.unwaver(*command, out="lost")
    failed = sum(s["failed"] for s in said.get("scores", []))
    kept = (code, again, failed) == (3, 0, 0) and bool(reasons)
    return {"exit": code, "resumed": again, "reasons": reasons, "ok": kept, "error": (err + later)[-500:]}


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as store, contextlib.suppress(sqlite3.OperationalError):
        return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])
    return 0


@contextlib.contextmanager
def serving(command: list[str], url: str, folder: Path, env: dict[str, str]) -> Iterator[None]:
    """A foreign server that works in a folder, until the end of the block or of this process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "_guard.py"), *command], cwd=folder, stdin=subprocess.PIPE,
            stdout=log, stderr=log, env={**_bare(), "OMP_NUM_THREADS": "1", **env},
        )  # fmt: skip
    try:
        _wait_for(url, process, folder / "log")
        yield
    finally:
        process.communicate()  # closes its standard input


def _bare() -> dict[str, str]:
    """Its own environment has its own packages."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "OPENAI_API_KEY", "OPENAI_BASE_URL")}


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + WAIT
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except urllib.error.HTTPError:
            return  # it refuses, so it is there
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"{url} is not there:\n{log.read_text(errors='replace')[-3000:]}")


def _port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def litellm(before: str, folder: Path) -> Iterator[Place]:
    port = _port()
    config = folder / "litellm.json"  # YAML may be written as JSON
    config.parent.mkdir(parents=True, exist_ok=True)
    served = {"model": f"openai/{llama.NAME}", "api_base": before, "api_key": "none"}
    config.write_text(json.dumps({"model_list": [{"model_name": llama.NAME, "litellm_params": served}]}))
    command = [str(SERVERS / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    # its prices are fetched from GitHub otherwise
    env = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    # It puts "../.." of its working folder first on its path: that must be a folder of ours.
    with serving(command, f"http://127.0.0.1:{port}/health/liveliness", folder / "a" / "b", env):
        yield _place("LiteLLM", f"http://127.0.0.1:{port}/v1", folder, KEY)


@contextlib.contextmanager
def transformers_serve(folder: Path) -> Iterator[Place]:
    from unwaver.models.demo import path_of_demo

    port = _port()
    folder.mkdir(parents=True)
    (folder / llama.NAME).symlink_to(path_of_demo())  # the name of the model is what the server was given
    command = [str(SERVERS / "transformers"), "serve", llama.NAME, "--host", "127.0.0.1", "--port", str(port)]
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    with serving([*command, "--device", "cpu"], f"http://127.0.0.1:{port}/health", folder, env):
        yield _place("transformers serve", f"http://127.0.0.1:{port}/v1", folder, "")


def _place(name: str, url: str, folder: Path, key: str) -> Place:
    work = folder / "work"
    work.mkdir(parents=True)
    return Place(name, url, work, key)


def say(place: str, case: str, found: Found, began: float) -> None:
    line = {
        "attack": "real_servers",
        "case": f"{place}: {case}",
        **found,
        "seconds": round(time.monotonic() - began, 1),
    }
    if line["ok"]:
        line.pop("error", None)
    print(json.dumps(line), flush=True)


def attack(place: Place, cases: tuple[Callable[[Place, bool], Found], ...], short: bool) -> None:
    for case in cases:
        began = time.monotonic()
        say(place.name, case.__name__, case(place, short), began)


def main() -> None:
    short = "--short" in sys.argv[1:]
    if reason := llama.why_not():
        say("llama.cpp", "start", {"ok": True, "skipped": reason}, time.monotonic())
        return
    foreign = (SERVERS / "litellm").exists()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with llama.LlamaCpp(folder / "llama") as server:
            attack(_place("llama.cpp", server.url, folder / "direct", ""), COMMON, short)
            if foreign:
                with litellm(server.url, folder / "litellm") as place:
                    attack(place, (*COMMON, wrong_name, wrong_key), short)
                    began = time.monotonic()
                    say(place.name, "lost", lost(place, server, folder / "llama"), began)
        if foreign:
            with transformers_serve(folder / "transformers") as place:
                attack(place, (*COMMON, wrong_name), short)
        else:
            reason = f"there is no {SERVERS}: `make torture` sets it up"
            say("LiteLLM and transformers serve", "start", {"ok": True, "skipped": reason}, time.monotonic())


if __name__ == "__main__":
    main()
