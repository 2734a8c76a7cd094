"""--max-cost against a server that bills as much as it may: every token that the request allows, every try."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

import unwaver as package
from unwaver.errors import UsageError

PRICE_IN, PRICE_OUT = 100.0, 1000.0  # for a million tokens
PRICES = {"price_in": PRICE_IN, "price_out": PRICE_OUT}
WORDS = "Which of the days of the week comes after"


class Biller:
    """A server's till. Prompt tokens are bytes, and answers are as long as they may be."""

    def __init__(self, faults: Callable[[int], str | None] = lambda _: None, usage: str = "real", longer: int = 1):
        self.faults, self.usage, self.longer = faults, usage, longer
        self.bill, self.calls = 0.0, 0
        self.lock = threading.Lock()

    def __call__(self, number: int, body: dict[str, Any], _headers: dict[str, str]) -> Raw | str | None:
        texts = [m["content"] for m in body["messages"]] if "messages" in body else [body["prompt"]]
        tokens_in = sum(len(text.encode()) for text in texts)
        most = body.get("max_tokens", body.get("max_completion_tokens", 10_000))
        tokens_out = self.longer * most
        fault = self.faults(number)
        with self.lock:
            self.calls += 1
            if fault not in ("429",):
                self.bill += (tokens_in * PRICE_IN + tokens_out * PRICE_OUT) / 1e6
        if fault is not None:
            return fault
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        if "prompt" in body:
            text = body["prompt"]
            logs = {"tokens": [text], "token_logprobs": [-1.0], "text_offset": [0]}
            choice: dict[str, Any] = {"text": text, "logprobs": logs, "finish_reason": "stop"}
        else:
            choice = {"message": {"content": f"Yes {number}"}, "finish_reason": "stop"}
        reply = {"choices": [choice], "usage": usage if self.usage == "real" else None}
        return Raw(200, reply)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    lines = [f"{WORDS} day {n}?,Tell me: {WORDS} day {n}?" for n in range(40)]
    (tmp_path / "q.csv").write_text("\n".join(["question,paraphrase", *lines]) + "\n")
    labelled = [f"{line},yes" for line in lines]
    (tmp_path / "labels.csv").write_text("\n".join(["question,paraphrase,label", *labelled]) + "\n")
    return tmp_path


def capped(till: Biller, cap: float, suite: str = "q.csv", out: str = "r", **options: Any) -> Any:
    """A run with a cap; the judge, if any, is asked at the same server."""
    with Server(script=till, hang=0.2) as server:
        usual = {"base_url": server.url, "backoff": "0.001", "timeout": "5", "max_tokens": "64"}
        model_args = {**usual, **options.pop("model_args", {})}
        agree = tuple(a.format(url=server.url) for a in options.pop("agree", ()))
        scorers = tuple(s.format(url=server.url) for s in options.pop("scorers", ()))
        return package.run(
            suite, "openai/m", model_args=model_args, out=out, max_cost=cap, agree=agree, scorers=scorers,
            **PRICES, **options,
        )  # fmt: skip


CASES: dict[str, dict[str, Any]] = {
    "free text": {},
    "free text with a limit": {"model_args": {"max_tokens": "200"}},
    "labels": {"suite": "labels.csv", "labels": ("yes", "no")},
    "log-probabilities": {"suite": "labels.csv", "labels": ("yes", "no"), "method": "logprob"},
    "another name of the limit": {"model_args": {"max_tokens": "none", "extra": '{"max_completion_tokens": 90}'}},
    "both names": {"model_args": {"max_tokens": "5", "extra": '{"max_completion_tokens": 90}'}},
    "a system message": {"system": "Be brief. " * 30},
    "replicates": {"replicates": 3, "model_args": {"temperature": "1"}},
    "a judge": {"agree": ("judge=openai/j,base_url={url},max_tokens=40",)},
    "one at a time": {"model_args": {"concurrency": "1"}},
    "many at a time": {"model_args": {"concurrency": "32"}},
}


@pytest.mark.parametrize("usage", ["real", "none"])
@pytest.mark.parametrize("case", CASES)
def test_the_cap_holds(files: Path, case: str, usage: str) -> None:
    for cap in (0.45, 1.7):
        till = Biller(usage=usage)
        result = capped(till, cap, out=f"r{cap}", **CASES[case])
        assert till.bill <= cap
        spent = result.run["spent"]
        assert till.bill <= spent["cost"] * (1 + 1e-9), "nothing that was billed is left out"
        assert spent["cost"] <= cap
        if spent["stopped"]:
            assert "cost limit" in spent["stopped"]
            assert till.bill > 0


@pytest.mark.parametrize("fault", ["500", "hang", "drop", "html", "empty"])
@pytest.mark.parametrize("share", [2, 3])
def test_tries_that_fail_may_be_billed_too(files: Path, fault: str, share: int) -> None:
    if fault == "hang" and share == 2:
        return
    till = Biller(faults=lambda number: fault if number > 3 and number % share == 0 else None)
    result = capped(till, 0.9)
    assert 0 < till.bill <= 0.9
    assert till.bill <= result.run["spent"]["cost"] * (1 + 1e-9)


def test_a_server_that_is_too_busy_bills_nothing(files: Path) -> None:
    till = Biller(faults=lambda number: "429" if number % 2 else None)
    result = capped(till, 50.0)
    assert result.run["spent"]["stopped"] is None
    assert result.run["spent"]["cost"] == pytest.approx(till.bill)


def test_a_server_that_ignores_the_limit_is_noticed(files: Path) -> None:
    """The real figure counts, and nothing more is sent."""
    till = Biller(longer=20)
    result = capped(till, 20.0, model_args={"concurrency": "4"})
    spent = result.run["spent"]
    assert "more than the" in spent["stopped"]
    assert spent["cost"] == pytest.approx(till.bill)
    assert till.calls <= 1 + 4


@pytest.mark.parametrize(("options", "said"), [
    ({"model_args": {"max_tokens": "none"}}, "no limit"),
    ({"model_args": {"max_tokens": "none", "extra": '{"top_k": 5}'}}, "no limit"),
    ({"agree": ("judge=openai/j,base_url={url},max_tokens=none",)}, "no limit"),
    ({"suite": "sample/facts", "scorers": ("judge=openai/j,base_url={url},max_tokens=none",)}, "no limit"),
    ({"cap": 0.01}, r"one request to m may cost 0\.0\d+"),
    ({"cap": 0.0}, r"one request to m may cost 0\.0\d+"),
    ({"cap": 0.2, "agree": ("judge=openai/j,base_url={url},max_tokens=2000",)}, "one request to j may cost"),
])  # fmt: skip
def test_a_cap_that_cannot_hold_ends_before_the_first_call(
    files: Path, options: dict[str, Any], said: str
) -> None:
    till = Biller()
    with pytest.raises(UsageError, match=said) as refused:
        capped(till, options.pop("cap", 1.0), **options)
    assert till.calls == 0
    assert "max_tokens" in str(refused.value.hint)
    assert not (files / "r").exists()


def test_what_is_answered_needs_no_money(files: Path) -> None:
    till = Biller()
    with Server(script=till) as server:
        options = {"model_args": {"base_url": server.url, "max_tokens": "64"}, "out": "r", **PRICES}
        package.run("q.csv", "openai/m", max_cost=100.0, **options)
        calls = till.calls
        assert package.run("q.csv", "openai/m", max_cost=0.0001, **options).run["spent"]["calls"] == 0
    assert till.calls == calls == 80


# --- the dry run


def command(server: Server, *options: str, suite: str = "q.csv", out: str = "r") -> list[str]:
    prices = ["--price-in", str(PRICE_IN), "--price-out", str(PRICE_OUT)]
    args = ["--model-arg", f"base_url={server.url}", "--model-arg", "max_tokens=64"]
    model = ["--model", "openai/m", *args, "--out", out]
    return [sys.executable, "-m", "unwaver.cli.main", "run", suite, *model, *prices, *options]


def forecast(files: Path, server: Server, *options: str, suite: str = "q.csv") -> dict[str, Any]:
    asked = command(server, *options, "--dry-run", suite=suite)
    done = subprocess.run(asked, cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if "--json" in options else {"text": done.stdout}


def test_the_dry_run_says_how_much_it_is_at_most_and_what_to_expect(files: Path) -> None:
    with Server(lambda prompt: "a few words") as server:
        judge = f"judge=openai/j,base_url={server.url}"
        told = forecast(files, server, "--agree", judge, "--json")
        assert [entry["role"] for entry in told["dry_run"]] == ["model", "agreement"]
        most = [entry["cost_at_most"] for entry in told["dry_run"]]
        assert told["total"] == {"cost_at_most": pytest.approx(sum(most)), "cost_expected": None}
        assert "at most" in forecast(files, server, "--agree", judge)["text"]
        assert not server.bodies
        args = {"base_url": server.url, "max_tokens": "64"}
        options = {"model_args": args, "agree": (judge,), "out": "r", **PRICES}
        spent = package.run("q.csv", "openai/m", max_calls=20, **options).run["spent"]
        assert spent["cost"] < sum(most)
        told = forecast(files, server, "--agree", judge, "--json")
        model, agreement = told["dry_run"]
        assert model["already_answered"] == 20
        assert model["cost_expected"] == pytest.approx(spent["cost"] * 60 / 20, rel=0.1)
        assert model["cost_at_most"] == pytest.approx(most[0] * 60 / 80, rel=0.1)
        assert agreement["cost_expected"] is None
        assert told["total"]["cost_expected"] == pytest.approx(model["cost_expected"] + agreement["cost_at_most"])
        assert "expected" in forecast(files, server, "--agree", judge)["text"]
        package.run("q.csv", "openai/m", **options)
        told = forecast(files, server, "--agree", judge, "--json")
        assert told["total"] == {"cost_at_most": 0, "cost_expected": 0}
        assert told["dry_run"][1]["requests"] == told["dry_run"][1]["already_answered"]


@pytest.mark.parametrize(("suite", "more"), [
    ("q.csv", ("--agree", "judge=openai/j,base_url=URL")),
    ("q.csv", ("--agree", "judge=openai/j,base_url=URL", "--replicates", "2", "--model-arg", "temperature=1")),
    ("sample/facts", ("--scorer", "judge=openai/j,base_url=URL")),
    ("sample/snli/semantic", ("--method", "logprob")),
])  # fmt: skip
def test_no_run_costs_more_than_its_dry_run_says(files: Path, suite: str, more: tuple[str, ...]) -> None:
    till = Biller()
    with Server(script=till) as server:
        options = [o.replace("URL", server.url) for o in (*more, "--limit", "6")]
        told = forecast(files, server, *options, "--json", suite=suite)
        subprocess.run(command(server, *options, "--json", suite=suite), cwd=files, capture_output=True)
    assert 0 < till.bill <= told["total"]["cost_at_most"]
    times = 3 if "logprob" in more else 1
    assert till.calls <= times * sum(entry["requests"] for entry in told["dry_run"])


def paraphrased(files: Path, server: Server, **options: Any) -> dict[str, Any]:
    """A run in which one model writes, another judges and a third is tested, all at one server."""
    pairs = [f"A man sleeps {n} hours.,Someone rests {n} hours.,entailment" for n in range(5)]
    (files / "p.csv").write_text("\n".join(["premise,hypothesis,label", *pairs]) + "\n")
    here = {"base_url": server.url}
    return {
        "task": "snli", "variants": ("paraphrase",), "kind": "fooling", "k": 1, "tries": 3,
        "writer": "openai/w", "writer_args": here, "model_args": {**here, "max_tokens": "16"}, "judges": ("entail=self",),
        "out": "r", **PRICES, **options,
    }  # fmt: skip


class Scribe(Biller):
    """Says what a label task wants to hear, and writes something new each time."""

    def __call__(self, number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw | str | None:
        reply = super().__call__(number, body, headers)
        assert isinstance(reply, Raw)
        asked = body["messages"][-1]["content"]
        text = f"Somebody rests {number} h." if asked.startswith("Rephrase") else "True"
        reply.body["choices"][0]["message"]["content"] = text  # type: ignore[index]
        return reply


def test_writers_and_what_they_write_are_in_both_figures(files: Path) -> None:
    from unwaver.config import Config
    from unwaver.engine.forecast import dry_run

    till = Scribe()
    with Server(script=till) as server:
        options = paraphrased(files, server)
        entries = dry_run(Config(("p.csv",), ("openai/m",), **options))
        assert [entry["role"] for entry in entries] == ["model", "writer"]
        assert till.calls == 0
        result = package.run("p.csv", "openai/m", **options)
        most = sum(entry["cost_at_most"] for entry in entries)
        assert 0 < till.bill <= most
        assert till.calls <= sum(entry["requests"] for entry in entries)
        assert result.run["spent"]["cost"] == pytest.approx(till.bill)
        after = dry_run(Config(("p.csv",), ("openai/m",), **options))
        assert all(entry["cost_expected"] is not None for entry in after)


@pytest.mark.parametrize("cap", [0.2, 0.5, 1.0])
def test_the_cap_holds_for_writers(files: Path, cap: float) -> None:
    till = Scribe()
    with Server(script=till) as server:
        options = paraphrased(files, server, max_cost=cap)
        options["writer_args"] = {**options["writer_args"], "max_tokens": "40"}
        result = package.run("p.csv", "openai/m", **options)
    assert 0 < till.bill <= cap
    assert result.run["spent"]["cost"] == pytest.approx(till.bill)


def test_a_writer_without_a_limit_is_refused(files: Path) -> None:
    with Server() as server:
        options = paraphrased(files, server, max_cost=5.0)
        options["writer_args"] = {**options["writer_args"], "max_tokens": "none"}
        with pytest.raises(UsageError, match="cannot be enforced for w"):
            package.run("p.csv", "openai/m", **options)
    assert not server.bodies


@pytest.mark.parametrize(("options", "option"), [
    ({}, "--model-arg max_tokens="),
    ({"agree": ("judge=openai/j,base_url={url},max_tokens=9999",)}, "--agree judge=MODEL,max_tokens="),
    ({"suite": "sample/facts", "scorers": ("judge=openai/j,base_url={url},max_tokens=9999",)},
     "--scorer judge=MODEL,max_tokens="),
])  # fmt: skip
def test_a_cap_that_is_too_low_names_the_option_of_who_costs_most(
    files: Path, options: dict[str, Any], option: str
) -> None:
    with pytest.raises(UsageError, match="is too low") as refused:
        capped(Biller(), 1.0 if options else 0.01, **options)
    assert option in str(refused.value.hint)


# --- making groups


def built(files: Path, server: Server, *options: str) -> subprocess.CompletedProcess[str]:
    pairs = [f"A man sleeps {n} hours.,Someone rests {n} hours.,entailment" for n in range(5)]
    (files / "p.csv").write_text("\n".join(["premise,hypothesis,label", *pairs]) + "\n")
    writer = ["--writer", f"openai/w,base_url={server.url},max_tokens=60", "--k", "1", "--tries", "3"]
    judge = ["--judge", f"entail=openai/j,base_url={server.url},max_tokens=20"]
    prices = ["--price-in", str(PRICE_IN), "--price-out", str(PRICE_OUT)]
    command = ["build", "paraphrase", "--from", "p.csv", "--task", "snli", "--out", "g.jsonl"]
    whole = [sys.executable, "-m", "unwaver.cli.main", *command, *writer, *judge, *prices, *options]
    return subprocess.run(whole, cwd=files, capture_output=True, text=True)


def test_the_cap_of_build_holds_and_a_second_one_goes_on(files: Path) -> None:
    till = Scribe()
    with Server(script=till) as server:
        told = json.loads(built(files, server, "--dry-run", "--json").stdout)
        assert till.calls == 0
        refused = built(files, server, "--max-cost", "0.01")
        assert (refused.returncode, till.calls) == (2, 0)
        assert "--judge entail=openai/j" in refused.stderr.replace("\n", "")
        stopped = built(files, server, "--max-cost", "0.4")
        assert stopped.returncode == 3, stopped.stderr
        assert "the cost limit of 0.4 is reached" in stopped.stderr
        assert "other processes" not in stopped.stderr
        assert 0 < till.bill <= 0.4
        assert not (files / "g.jsonl").exists()
        again = built(files, server, "--max-cost", "5")
        assert again.returncode == 0, again.stderr
    assert till.bill <= told["total"]["cost_at_most"]
    assert (files / "g.jsonl").exists()


# --- several processes


def test_processes_on_one_store_share_the_cap(files: Path) -> None:
    till = Biller()
    cap = 2.0
    with Server(script=till) as server:
        shared = ["--store", "s.sqlite", "--max-cost", str(cap), "--json"]
        working = [
            subprocess.Popen(
                command(server, *shared, out=f"r{n}"),
                cwd=files, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            for n in range(3)
        ]  # fmt: skip
        said = [p.communicate(timeout=120)[1].decode() for p in working]
    assert [p.returncode for p in working] == [3, 3, 3], said
    assert 0 < till.bill <= cap
    spent = [json.loads((files / f"r{n}" / "run.json").read_text())["spent"]["cost"] for n in range(3)]
    assert sum(spent) == pytest.approx(till.bill)
