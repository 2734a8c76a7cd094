"""The command line, end to end, on the sample suite and small files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import FOR_EVER, wait_for

REQUIRED = {
    "suite", "task", "kind", "metric", "value", "low", "high", "groups", "counted", "not_applicable", "unreadable",
    "failed", "not_asked", "truncated", "accuracy", "model", "method", "given",
}  # fmt: skip


def find(scores: list[dict[str, Any]], metric: str, **fields: object) -> dict[str, Any]:
    wanted = {"metric": metric, "given": None, **fields}
    return next(s for s in scores if all(s[k] == v for k, v in wanted.items()))


def calls(folder: Path) -> int:
    return int(json.loads((folder / "run.json").read_text())["spent"]["calls"])


def test_the_contract(unwaver: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample", "--model", "fake/random", "--out", "r", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["version"] == 1
    assert document == json.loads((tmp_path / "r" / "scores.json").read_text())
    for score in document["scores"]:
        assert set(score) >= REQUIRED
        assert score["counted"] + score["not_applicable"] + score["failed"] + score["not_asked"] == score["groups"]
    for name in ("run.json", "groups.jsonl", "answers.sqlite", "scores.json"):
        assert (tmp_path / "r" / name).exists()
    assert json.loads((tmp_path / "r" / "run.json").read_text())["version"] == 1
    first = json.loads((tmp_path / "r" / "groups.jsonl").read_text().split("\n")[0])
    assert first["version"] == 1


def test_the_same_command_asks_nothing_again(unwaver: Any, tmp_path: Path) -> None:
    first = unwaver("run", "sample", "--model", "fake/random", "--json")
    folder = next((tmp_path / "runs").iterdir())
    assert calls(folder) > 300
    second = unwaver("run", "sample", "--model", "fake/random", "--json")
    assert [p.name for p in (tmp_path / "runs").iterdir()] == [folder.name]
    assert calls(folder) == 0
    assert json.loads(first.stdout)["scores"] == json.loads(second.stdout)["scores"]


def test_identical_requests_are_asked_once(unwaver: Any, tmp_path: Path) -> None:
    """Reverse and signal share their originals."""
    unwaver("run", "sample/mnli", "--model", "fake/random", "--out", "r")
    assert calls(tmp_path / "r") == 8 * (1 + 1 + 10)


def test_score_and_from_repeat(unwaver: Any, tmp_path: Path, scores: Any) -> None:
    first = scores("run", "sample/snli", "--model", "fake/random", "--seed", 3, "--out", "a")
    assert scores("score", "a") == first
    again = scores("run", "--from", "a/run.json", "--out", "b")
    assert again == first
    other = scores("run", "--from", "a/run.json", "--out", "c", "--seed", 4)
    assert other != first


def test_several_models_in_one_run(scores: Any) -> None:
    found = scores("run", "sample/snli/semantic", "--model", "fake/random", "--model", "fake/constant")
    assert {s["model"] for s in found} == {"fake/random", "fake/constant"}
    constant = find(found, "tau", model="fake/constant")
    assert (constant["value"], constant["flags"]) == (0.0, ["constant"])


def test_limit_and_sample(unwaver: Any, scores: Any, tmp_path: Path) -> None:
    found = scores("run", "sample/mnli", "--model", "fake/random", "--limit", 3, "--out", "l")
    assert {s["groups"] for s in found} == {3}
    ids = [json.loads(x)["id"] for x in (tmp_path / "l" / "groups.jsonl").read_text().split("\n") if x]
    assert ids == [f"sample/mnli/{k}/{n}" for k in ("reverse", "signal") for n in range(3)]
    scores("run", "sample/mnli", "--model", "fake/random", "--sample", 3, "--seed", 5, "--out", "s")
    ids = [json.loads(x)["id"] for x in (tmp_path / "s" / "groups.jsonl").read_text().split("\n") if x]
    numbers = [i.rsplit("/", 1)[1] for i in ids]
    assert numbers[:3] == numbers[3:], "the same pairs for both kinds"
    record = json.loads((tmp_path / "s" / "run.json").read_text())["config"]
    assert (record["sample"], record["seed"]) == (3, 5)


def test_predictions_made_elsewhere(unwaver: Any, scores: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample/snli/semantic", "--dry-run", "--out", "d")
    assert done.returncode == 0, done.stderr
    groups = [json.loads(x) for x in (tmp_path / "d" / "groups.jsonl").read_text().split("\n") if x]
    items = [i for g in groups for i in g["items"]]
    assert all(len(i["segments"]) == 2 and i["prompt"] for i in items)
    labels = ["entailment" if n % 4 else "neutral" for n in range(len(items))]
    lines = [json.dumps({"id": i["id"], "label": x}) for i, x in zip(items, labels, strict=True)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    found = find(scores("run", "sample/snli/semantic", "--model", "predictions/p.jsonl"), "tau")
    broken = sum(a != b for a, b in zip(labels[::2], labels[1::2], strict=True))
    assert found["value"] == pytest.approx(broken / len(groups))
    (tmp_path / "part.jsonl").write_text("\n".join(lines[:-1]))
    done = unwaver("run", "sample/snli/semantic", "--model", "predictions/part.jsonl", "--json")
    assert done.returncode == 3
    found = find(json.loads(done.stdout)["scores"], "tau")
    assert (found["not_asked"], found["counted"]) == (1, len(groups) - 1)


def test_dry_run_counts(unwaver: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample/mnli", "--model", "fake/random", "--dry-run", "--json", "--price-in", 1)
    entry = json.loads(done.stdout)["dry_run"][0]
    assert (entry["groups"], entry["requests"], entry["unique_requests"]) == (16, 8 * 13, 8 * 12)
    assert entry["tokens"] > 0
    assert entry["cost_at_most"] > 0
    assert entry["cost_expected"] is None, "nothing is in the store"
    assert not (tmp_path / "runs").exists()


def test_budget_of_calls(unwaver: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample/snli", "--model", "fake/random", "--max-calls", 25, "--out", "r", "--json")
    assert done.returncode == 3, done.stderr
    assert calls(tmp_path / "r") == 25
    document = json.loads(done.stdout)
    assert sum(s["not_asked"] for s in document["scores"] if s["metric"] == "tau") > 0
    done = unwaver("run", "sample/snli", "--model", "fake/random", "--out", "r", "--json")
    assert done.returncode == 0


def test_two_columns_are_enough(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(
        "original,variant\nIs it late?,Is it late now?\nIs it far?,Is it a long way?\n"
    )
    done = unwaver("run", "q.csv", "--model", "fake/random", "--label", "yes", "--label", "no")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    lost = "accuracy, tau_conditioned, or transitive and additive tau."
    assert f"Without gold labels, unwaver cannot compute {lost}" in said
    assert said.lower().count("gold label") == 1


def test_a_remark_names_the_relations_without_gold_if_others_have_it(unwaver: Any, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("original,variant\nIs it late?,Is it late now?\n")
    done = unwaver("run", "q.csv", "sample/snli/semantic", "--model", "fake/random")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "q/own/semantic: without gold labels, unwaver cannot compute accuracy." in said
    assert "right answer to the original" not in said


def test_replicates(unwaver: Any, tmp_path: Path) -> None:
    done = unwaver("run", "sample/snli/semantic", "--model", "fake/constant", "--replicates", 2, "--out", "r")
    assert "its answer counts for all 2 replicates" in " ".join(done.stderr.split())
    assert calls(tmp_path / "r") == 2 * 10, "the answers count twice"


def test_shots_are_the_same_for_all_and_never_under_test(tmp_path: Path) -> None:
    from unwaver.config import Config
    from unwaver.engine.prepare import prepare

    run = prepare(Config(("sample/snli",), ("fake/random",), shots=4))
    tested = {tuple(i.fields.values()) for g in run.groups for i in g.items}
    item = run.groups[0].items[0]
    prompts = {
        run.renderer.prompt(i, run.renderer.form(i)).rsplit("\n\n", 1)[0] for g in run.groups for i in g.items
    }
    assert len(prompts) == 1
    assert run.renderer.prompt(item, run.renderer.form(item)).count("Premise:") == 5
    assert not any(all(text in next(iter(prompts)) for text in fields) for fields in tested)


def test_templates_of_your_own(unwaver: Any, scores: Any, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        '[snli]\nprompt = "{premise} => {hypothesis}?"\nwords = ["yes", "maybe", "no"]\nversion = 7\n'
    )
    (tmp_path / "m.py").write_text(
        "def answer(requests):\n"
        "    assert all(' => ' in r['prompt'] for r in requests)\n"
        "    return ['maybe' for r in requests]\n"
    )
    found = scores("run", "sample/snli/semantic", "--model", "python/m:answer", "--template", "t.toml")
    assert find(found, "tau")["value"] == 0.0
    done = unwaver("run", "sample/boolq", "--model", "python/m:answer", "--template", "t.toml")
    assert done.returncode == 2
    assert "AssertionError" in done.stderr


def test_show_and_list(unwaver: Any) -> None:
    unwaver("run", "sample", "--model", "fake/random", "--out", "r")
    done = unwaver("show", "r", "--only", "sample/snli/semantic", "--limit", 2)
    assert done.returncode == 0
    assert "expects: the same answer" in done.stdout
    assert "groups" in done.stdout
    listed = unwaver("list", "suites", "--json")
    names = {s["name"]: s["groups"] for s in json.loads(listed.stdout)["suites"]}
    assert names["sample/snli/semantic"] == 10


@pytest.mark.parametrize("args", [["--help"], ["list"], ["list", "suites"]])
def test_help_and_list_are_light(args: list[str]) -> None:
    code = f"""
import sys
from unwaver.cli.main import main
try:
    main({args!r})
except SystemExit:
    pass
heavy = [m for m in ("numpy", "polars", "scipy", "torch", "transformers", "rich", "httpx") if m in sys.modules]
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=FOR_EVER)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_done(unwaver: Any, tmp_path: Path, sign: signal.Signals) -> None:
    command = ["run", "sample", "--model", "fake/random", "--model-arg", "delay=0.05", "--out", "r"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    wait_for(lambda: answered(tmp_path / "r") >= 3, "three answers are stored")
    process.send_signal(sign)
    _, stderr = process.communicate(timeout=FOR_EVER)
    assert process.returncode == 130, stderr
    assert "run the same command again to continue" in stderr
    assert "Traceback" not in stderr
    done = answered(tmp_path / "r")
    assert done >= 3
    again = unwaver(*command[:4], "--model-arg", "delay=0", "--out", "other", "--store", "r/answers.sqlite")
    assert again.returncode == 0, again.stderr


def answered(folder: Path) -> int:
    import sqlite3

    try:
        with sqlite3.connect(f"file:{folder}/answers.sqlite?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_processes_share_one_store(tmp_path: Path) -> None:
    commands = [
        [sys.executable, "-m", "unwaver.cli.main", "run", suite, "--model", "fake/random", "--store", "all.sqlite", "--out", f"r{n}", "--json"]
        for n, suite in enumerate(["sample", "sample/snli", "sample/mnli", "sample"])
    ]  # fmt: skip
    running = [subprocess.Popen(c, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for c in commands]
    ended = [p.communicate(timeout=FOR_EVER) for p in running]
    assert [p.returncode for p in running] == [0, 0, 0, 0], [e[1] for e in ended]
    first, last = json.loads(ended[0][0])["scores"], json.loads(ended[3][0])["scores"]
    assert first == last


def test_python_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import unwaver

    monkeypatch.chdir(tmp_path)
    result = unwaver.run("sample/snli", "fake/random", limit=4)
    again = unwaver.run("sample/snli", "fake/random", limit=4)
    assert list(result) == list(again)
    assert result.folder is not None
    assert list(unwaver.score(result.folder)) == list(result)
    assert result.find("tau", kind="semantic").groups == 4
    assert "snli/semantic" in str(result)
    for name in unwaver.__all__:
        assert getattr(unwaver, name) is not None
