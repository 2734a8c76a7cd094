"""--pilot: some groups first, and what they tell of the cost of all."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from server import Raw, Server

import unwaver
from unwaver.cli.main import cli
from unwaver.errors import UsageError

GROUPS = 60
PRICES = ("--price-in", "100", "--price-out", "400")


class Clerk:
    """Answers of varying length, and its own bill; a judge on the same server costs ten times as much."""

    def __init__(self, usage: bool = True):
        self.bill, self.prompts, self.usage = 0.0, list[str](), usage

    def __call__(self, _number: int, body: dict[str, Any], _headers: dict[str, str]) -> Raw:
        prompt = body["messages"][-1]["content"]
        draw = random.Random(hashlib.sha256(prompt.encode()).digest())
        words = 1 if body["model"] == "j" else draw.randrange(2, 30)
        tokens = len(prompt) // 4, words
        self.prompts.append(prompt)
        self.bill += (10 if body["model"] == "j" else 1) * (tokens[0] * 100 + tokens[1] * 400) / 1e6
        text = "Yes" if body["model"] == "j" else " ".join([f"w{draw.randrange(9)}"] * words)
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]} if self.usage else None
        return Raw(200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    lines = [f"What is {'very ' * (n % 7)}{n}?,Tell me {'very ' * (n % 7)}what is {n}?" for n in range(GROUPS)]
    (tmp_path / "q.csv").write_text("\n".join(["question,paraphrase", *lines]) + "\n")
    return tmp_path


def ran(server: Server, *options: str, judge: bool = True, prices: tuple[str, ...] = PRICES) -> Result:
    model = f"openai/m,base_url={server.url},max_tokens=64"
    more = ["--agree", f"judge=openai/j,base_url={server.url},max_tokens=16,price_in=1000,price_out=4000"]
    command = ["run", "q.csv", "--model", model, "--out", "r", *prices, *(more if judge else []), *options]
    return CliRunner().invoke(cli, command)


def test_a_pilot_tells_what_all_cost(files: Path) -> None:
    clerk = Clerk()
    with Server(script=clerk) as server:
        first = ran(server, "--dry-run", "--pilot", "20", "--json")
        assert first.exit_code == 0, first.output
        told = json.loads(first.stdout)
        pilot, part = told["pilot"], len(clerk.prompts)
        assert pilot["groups"] == 20
        assert pilot["of"] == GROUPS
        assert pilot["calls"] == part
        assert pilot["cost"] == pytest.approx(clerk.bill)
        assert pilot["low"] <= pilot["cost_of_all"] <= pilot["high"] <= pilot["at_most"]
        assert pilot["cost_of_all"] == pytest.approx(pilot["cost"] + told["total"]["cost_expected"])
        whole = ran(server, "--json")
        assert whole.exit_code == 0, whole.output
        run = json.loads(whole.stdout)["run"]
    assert pilot["cost_of_all"] == pytest.approx(clerk.bill, rel=0.3)
    assert len(set(clerk.prompts)) == len(clerk.prompts), "nothing is asked twice"
    assert run["asking"]["cost"] == pytest.approx(clerk.bill), "the pilot is a part of the run"
    assert run["asking"]["calls"] == len(clerk.prompts)


def test_a_run_goes_on_after_its_pilot(files: Path) -> None:
    clerk = Clerk()
    with Server(script=clerk) as server:
        done = ran(server, "--pilot", "20", "--no-report")
    assert done.exit_code == 0, done.output
    assert "Pilot: 20 of 60 groups" in done.stderr
    assert "All groups: expected to cost" in done.stderr
    run = json.loads((files / "r" / "run.json").read_text())
    assert run["spent"]["cost"] == pytest.approx(clerk.bill)
    assert run["pilot"]["cost_of_all"] == pytest.approx(clerk.bill, rel=0.3)
    assert [s.counted for s in unwaver.score("r") if s.metric == "Cons_judge"] == [GROUPS]
    assert CliRunner().invoke(cli, ["report", "r", "--out", "page.html"]).exit_code == 0
    page = (files / "page.html").read_text()
    assert "from a pilot of 20 groups" in page
    assert "j: 1000 in, 4000 out per million tokens (given with the model)" in page


def test_a_pilot_grows_while_costs_vary_too_much(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.engine import pilot

    monkeypatch.setattr(pilot, "MOST", 0.5)
    monkeypatch.setattr(pilot, "ENOUGH", 1e-9)
    with Server(script=Clerk()) as server:
        done = ran(server, "--dry-run", "--pilot", "4", "--json", judge=False)
        assert json.loads(done.stdout)["pilot"]["groups"] == GROUPS // 2
        again = ran(server, "--dry-run", "--pilot", "4", "--json", judge=False)
    assert json.loads(again.stdout)["pilot"]["calls"] == 0, "its answers are there"


def test_labels_of_every_kind_are_in_a_pilot(files: Path) -> None:
    with Server() as server:
        result = unwaver.run(
            "sample",
            "openai/m",
            model_args={"base_url": server.url},
            out="r",
            pilot=5,
            price_in=1.0,
            price_out=2.0,
        )
    found = result.run["pilot"]
    kinds = {(score.suite, score.task, score.kind) for score in result}
    assert found["groups"] >= 3 * len(kinds) > 5
    assert found["cost_of_all"] == pytest.approx(result.run["spent"]["cost"], rel=0.2)


def test_a_cap_ends_a_pilot(files: Path) -> None:
    clerk = Clerk()
    with Server(script=clerk) as server:
        done = ran(server, "--dry-run", "--pilot", "20", "--max-cost", "0.2", judge=False)
        assert done.exit_code == 3, done.output
        assert "Stopped early: the cost limit of 0.2 is reached" in done.output
        assert 0 < clerk.bill <= 0.2
        more = ran(server, "--pilot", "20", "--max-cost", "0.5", "--no-report", judge=False)
    assert more.exit_code == 3
    assert "That is more than --max-cost 0.5: the run will stop early." in more.stderr.replace("\n", " ")


def test_without_usage_the_most_is_expected(files: Path) -> None:
    with Server(script=Clerk(usage=False)) as server:
        done = ran(server, "--dry-run", "--pilot", "20", "--json", judge=False)
    pilot = json.loads(done.stdout)["pilot"]
    assert pilot["cost_of_all"] == pytest.approx(pilot["at_most"], rel=1e-3)


def test_tries_that_fail_are_expected_to_go_on(files: Path) -> None:
    """Each question fails once: under a cap that costs the most it can."""
    clerk, met = Clerk(), set[str]()

    def failing(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw | str:
        prompt = body["messages"][-1]["content"]
        first = prompt not in met
        met.add(prompt)
        return "500" if first else clerk(number, body, headers)

    with Server(script=failing) as server:
        model = f"openai/m,base_url={server.url},max_tokens=64,backoff=0.001"
        command = ["run", "q.csv", "--model", model, "--out", "r", *PRICES, "--max-cost", "90", "--pilot", "20"]
        done = CliRunner().invoke(cli, [*command, "--json"])
    assert done.exit_code == 0, done.output
    run = json.loads(done.stdout)["run"]
    assert 0.5 * run["spent"]["cost"] < run["spent"]["failed_cost"] < run["spent"]["cost"]
    assert run["pilot"]["cost_of_all"] == pytest.approx(run["spent"]["cost"], rel=0.1)


def test_a_scorer_is_in_the_pilot(files: Path) -> None:
    clerk = Clerk()
    with Server(script=clerk) as server:
        options = {"model_args": {"base_url": server.url}, "scorers": (f"judge=openai/j,base_url={server.url}",)}
        result = unwaver.run("sample/facts", "openai/m", out="r", pilot=3, price_in=1.0, price_out=2.0, **options)
    assert result.run["pilot"]["cost_of_all"] == pytest.approx(result.run["spent"]["cost"], rel=0.5)
    assert len(set(clerk.prompts)) == len(clerk.prompts)


def test_a_pilot_with_a_writer(files: Path) -> None:
    """What it writes is not known: the largest possible number counts."""
    pairs = [f"A man sleeps {n} hours.,Someone rests {n} hours.,entailment" for n in range(12)]
    (files / "p.csv").write_text("\n".join(["premise,hypothesis,label", *pairs]) + "\n")
    calls = []
    for pilot in (4, None):
        with Server(lambda prompt: f"Somebody rests, {len(prompt)} h") as server:
            here = {"base_url": server.url}
            result = unwaver.run(
                "p.csv", "openai/m", task="snli", variants=("paraphrase",), kind="fooling", k=1, tries=2,
                writer="openai/w", writer_args=here, model_args=here, judges=("entail=self",), pilot=pilot,
                price_in=1.0, price_out=2.0, out=f"r{pilot}",
            )  # fmt: skip
            calls.append(len(server.bodies))
        if pilot:
            assert result.run["pilot"]["groups"] == 4
            assert result.run["pilot"]["cost_of_all"] >= 0.9 * result.run["spent"]["cost"]
    assert calls[0] == calls[1], "nothing is asked twice"


@pytest.mark.parametrize(("options", "said"), [
    ({"pilot": 0}, "--pilot is 0, expected 1 or more"),
    ({"pilot": 5}, "--pilot needs prices"),
    ({"pilot": 5, "price_in": 1.0}, "--pilot needs both prices: m has price_in and no price_out"),
    ({"max_cost": 5.0, "price_out": 1.0}, "a cost cap needs both prices: m has price_out and no price_in"),
    ({"pilot": 5, "price_in": 1.0, "until": "tau<=0.1"}, "--until asks only as many as it needs"),
])  # fmt: skip
def test_what_a_pilot_is_not_for(files: Path, options: dict[str, Any], said: str) -> None:
    with Server() as server, pytest.raises(UsageError, match=said):
        unwaver.run(
            "q.csv", "openai/m", model_args={"base_url": server.url}, out="r", labels=("a", "b"), **options
        )
    assert not server.bodies
    assert not (files / "r").exists()


def test_prices_stand_with_a_model(files: Path) -> None:
    """In the name, or in unwaver.toml; another price is the same run."""
    clerk = Clerk()
    with Server(script=clerk) as server:
        listed = f'[models.m]\nmodel = "openai/m"\nbase_url = "{server.url}"\nmax_tokens = 64\n'
        (files / "unwaver.toml").write_text(f"{listed}price_in = 100\nprice_out = 400.0\n")
        command = ["run", "q.csv", "--model", "@m", "--limit", "5", "--json", "--out", "r"]
        first = CliRunner().invoke(cli, [*command, "--max-cost", "5"])
        assert first.exit_code == 0, first.output
        assert json.loads(first.stdout)["run"]["spent"]["cost"] == pytest.approx(clerk.bill)
        calls = len(clerk.prompts)
        (files / "unwaver.toml").write_text(f"{listed}price_in = 7\n")
        assert CliRunner().invoke(cli, command).exit_code == 0
        assert len(clerk.prompts) == calls, "it is the same run"
        (files / "unwaver.toml").write_text(f"{listed}price_in = -7\n")
        refused = CliRunner().invoke(cli, command)
    assert "price_in is -7, expected 0 or more" in str(refused.exception)
