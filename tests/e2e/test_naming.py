"""Models by one grammar, by name, and what they cost: from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from server import Server

ITEMS = "premise,hypothesis,label\n" + "".join(
    f"A man {n} sleeps.,A person {n} rests.,entailment\n" for n in range(3)
)
TEXTS = "\n".join(
    json.dumps(
        {"id": f"g{n}", "kind": "semantic", "items": [{"text": f"Who is {n}?"}, {"text": f"Tell me who {n} is"}]}
    )
    for n in range(3)
)
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pairs.csv").write_text(ITEMS)
    (tmp_path / "texts.jsonl").write_text(TEXTS)
    (tmp_path / "bank.csv").write_text(
        "text,variant\n" + "".join(f"A person {n} rests.,Somebody {n} is resting.\n" for n in range(3))
    )
    return tmp_path


def named(place: Path, **models: str) -> None:
    text = "".join(f"[models.{name}]\n{lines}\n" for name, lines in models.items())
    (place / "unwaver.toml").write_text(text)


WRITTEN = ("run", "pairs.csv", "--task", "snli", "--variants", "paraphrase", "--k", 1, "--tries", 1, "--no-report")


def test_every_option_reaches_the_server_that_it_names(unwaver: Any, place: Path) -> None:
    with Server(lambda prompt: "Yes") as server:
        model = f"openai/m,base_url={server.url}" + ',extra={"top_k": 5}'
        for option, value in {
            "--model": model,
            "--agree": f"judge={model}@0.5",
            "--scorer": f"judge={model}",
        }.items():
            before = len(server.bodies)
            tested = () if option == "--model" else ("--model", "fake/random")
            suite = "sample/facts" if option == "--scorer" else "texts.jsonl"
            done = unwaver("run", suite, *tested, option, value, "--out", option[2:], "--no-report")
            assert done.returncode == 0, done.stderr
            assert len(server.bodies) > before, option
            assert server.bodies[-1]["top_k"] == 5, option
        before = len(server.bodies)
        done = unwaver(*WRITTEN, "--model", "fake/random", "--writer", model, "--judge", f"entail={model}@0.5")
        assert done.returncode == 0, done.stderr
        prompts = [body["messages"][-1]["content"] for body in server.bodies[before:]]
        assert any("ephrase" in prompt for prompt in prompts), "the writer"
        assert len(prompts) > 3, "the certifier"


def test_a_name_is_resolved_into_run_json_without_the_key(unwaver: Any, place: Path) -> None:
    secret = "sk-secret-0123456789"
    with Server(lambda prompt: "Yes") as server:
        lines = f'model = "openai/small"\nbase_url = "{server.url}"\nkey_env = "FAST_KEY"\n'
        named(place, fast=lines)
        command = ("run", "sample/snli/semantic", "--model", "@fast", "--no-report")
        done = unwaver(*command, env={"FAST_KEY": secret})
        assert done.returncode == 0, done.stderr
        (folder,) = (place / "runs").iterdir()
        text = (folder / "run.json").read_text()
        assert secret not in text
        record = json.loads(text)
        assert record["config"]["models"] == [f"openai/small,base_url={server.url},key_env=FAST_KEY"]
        sent = len(server.bodies)
        assert unwaver(*command, env={"FAST_KEY": secret}).returncode == 0
        assert len(server.bodies) == sent, "the same run"
        (place / "unwaver.toml").unlink()
        again = unwaver("run", "--from", folder, "--no-report", env={"FAST_KEY": secret})
        assert again.returncode == 0, again.stderr
        assert len(server.bodies) == sent, "run.json needs no unwaver.toml"
        named(place, fast=lines + "temperature = 0.5\n")
        assert unwaver(*command, env={"FAST_KEY": secret}).returncode == 0
        assert len(server.bodies) > sent
        assert len(list((place / "runs").iterdir())) == 2, "another unwaver.toml is another run"


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--agree", f"judge=openai/m,base_url={DEAD}", "--agree judge=openai/m,base_url="),
        ("--scorer", f"judge=openai/m,base_url={DEAD}", "--scorer judge=openai/m,base_url="),
    ],
)
def test_the_model_is_not_asked_where_a_helper_is_not_there(
    unwaver: Any, place: Path, option: str, value: str, says: str
) -> None:
    with Server(lambda prompt: "Ann") as server:
        model = f"openai/m,base_url={server.url}"
        done = unwaver("run", "sample/facts", "--model", model, option, value, "--out", "r", "--no-report")
        assert (done.returncode, server.bodies) == (2, [])
        assert f"{DEAD} cannot be reached" in done.stderr
        assert says in done.stderr
        assert not (place / "r").exists()


def test_a_certifier_and_a_writer_that_are_not_there(unwaver: Any, place: Path) -> None:
    with Server(lambda prompt: "A person rests now.") as server:
        alive, dead = f"openai/m,base_url={server.url}", f"openai/m,base_url={DEAD}"
        for writer, judge in ((alive, dead), (dead, alive)):
            options = ("--writer", writer, "--judge", f"entail={judge}@0.5")
            done = unwaver(*WRITTEN, "--model", alive, *options, "--out", "r")
            assert (done.returncode, server.bodies) == (2, []), done.stderr
            assert f"{DEAD} cannot be reached" in done.stderr
            assert "--model-arg" not in done.stderr
            built = unwaver(
                "build", "paraphrase", "--from", "pairs.csv", "--task", "snli", *options, "--out", "g.jsonl"
            )
            assert (built.returncode, server.bodies) == (2, []), built.stderr
            assert "--model-arg" not in built.stderr


def test_answers_that_are_there_need_no_server_of_a_helper(unwaver: Any, place: Path) -> None:
    with Server(lambda prompt: "Yes") as server:
        options = ("--agree", f"judge=openai/m,base_url={server.url}", "--out", "r", "--no-report")
        first = unwaver("run", "texts.jsonl", "--model", "fake/random", *options)
        assert first.returncode == 0, first.stderr
    again = unwaver("run", "texts.jsonl", "--model", "fake/random", *options)
    assert again.returncode == 0, again.stderr


# --- money and time --------------------------------------------------------------------------------------------

BUILD = (
    "build",
    "paraphrase",
    "--from",
    "pairs.csv",
    "--task",
    "snli",
    "--k",
    1,
    "--tries",
    1,
    "--out",
    "g.jsonl",
)
PRICES = ("--price-in", 1, "--price-out", 2)


def test_build_has_a_dry_run_and_caps(unwaver: Any, place: Path) -> None:
    with Server(lambda prompt: "A person rests now.") as server:
        model = f"openai/m,base_url={server.url}"
        options = ("--writer", model, "--judge", f"entail={model}@0.5")
        dry = unwaver(*BUILD, *options, *PRICES, "--dry-run", "--json")
        assert dry.returncode == 0, dry.stderr
        document = json.loads(dry.stdout)
        assert {entry["role"] for entry in document["dry_run"]} >= {"writer"}
        assert document["total"]["cost_at_most"] > 0
        assert server.bodies == []
        assert not (place / "g.jsonl").exists()
        assert "m (writer):" in unwaver(*BUILD, *options, "--dry-run").stdout
        refused = unwaver(*BUILD, *options, "--max-cost", 1)
        assert refused.returncode == 2
        assert "a cost cap needs prices" in refused.stderr
        assert server.bodies == []
        capped = unwaver(*BUILD, *options, "--max-calls", 2)
        assert capped.returncode == 3
        assert "the limit of 2 calls is reached" in capped.stderr
        assert len(server.bodies) == 2
        done = unwaver(*BUILD, *options, *PRICES, "--max-cost", 1)
        assert done.returncode == 0, done.stderr
        assert (place / "g.jsonl").exists()
    none = unwaver("build", "surface", "--from", "pairs.csv", "--task", "snli", "--out", "s.jsonl", "--dry-run")
    assert (none.returncode, none.stdout.strip()) == (0, "No model is asked.")


def test_run_json_and_the_report_say_when_and_at_what_cost(unwaver: Any, place: Path) -> None:
    with Server(lambda prompt: "Yes") as server:
        command = ("run", "sample/snli/semantic", "--model", f"openai/m,base_url={server.url}", "--out", "r")
        part = unwaver(*command, *PRICES, "--max-calls", 4, "--no-report")
        assert part.returncode == 3, part.stderr
        before = json.loads((place / "r" / "run.json").read_text())["asking"]
        assert (before["calls"], before["tokens_out"]) == (4, 4)
        whole = unwaver(*command, *PRICES)
        assert whole.returncode == 0, whole.stderr
    asking = json.loads((place / "r" / "run.json").read_text())["asking"]
    assert asking["began"] == before["began"]
    assert asking["calls"] == len(server.bodies)
    assert asking["cost"] == pytest.approx((asking["tokens_in"] + 2 * asking["tokens_out"]) / 1e6)
    assert asking["prices"][0]["source"] == "--price-in and --price-out"
    page = (place / "r" / "report.html").read_text()
    assert f"{asking['began']}, " in page
    assert f"{asking['calls']:,} calls" in page
    assert "1 in, 2 out per million tokens" in page


def test_without_a_price_the_cost_is_not_known(unwaver: Any, place: Path) -> None:
    done = unwaver("run", "sample/snli/semantic", "--model", "fake/random", "--out", "r", "--no-report")
    assert done.returncode == 0
    asking = json.loads((place / "r" / "run.json").read_text())["asking"]
    assert (asking["cost"], asking["prices"]) == (None, [])
