"""The command line: build, run --variants, review, score --review, sensitivity."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import beta
from waiting import FOR_EVER, wait_for

from unwaver.cli.main import main

PAIRS = """id,premise,hypothesis,label
a,A man sleeps on a bench.,A man is resting.,entailment
b,A woman reads a book.,A woman is swimming.,contradiction
c,Two dogs run in a field.,The dogs are brothers.,neutral
d,A boy eats an apple.,A boy is eating.,entailment
"""
TASK = '[mood]\nfields = ["post"]\nlabels = ["calm", "angry"]\nprompt = "Post: {post}\\nCalm or angry?"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "my.toml").write_text(TASK)
    (tmp_path / "posts.csv").write_text("text,label\nI am fine.,calm\nI hate it.,angry\n")
    bank = {"a": ["A man rests.", "Someone rests."], "b": ["A lady swims."], "d": ["A boy eats.", "The boy eats."]}
    lines = [json.dumps({"id": id, "variants": variants}) for id, variants in bank.items()]
    (tmp_path / "bank.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "posts.jsonl").write_text('{"post": "I am fine.", "variants": ["Fine I am.", "I feel fine."]}\n')
    return tmp_path


def groups_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def find(scores: list[dict[str, Any]], metric: str, **fields: object) -> dict[str, Any]:
    wanted = {"metric": metric, "given": None, **fields}
    return next(s for s in scores if all(s[k] == v for k, v in wanted.items()))


def refused(done: Any, *texts: str) -> None:
    """One short message, no trace of the program's insides."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.startswith("unwaver: ")
    assert "Traceback" not in done.stderr
    for text in texts:
        assert text in done.stderr, done.stderr


PARAPHRASE = ("--from", "pairs.csv", "--task", "snli", "--writer", "bank/bank.jsonl")


# --- build --------------------------------------------------------------------------------------------------


def test_build_says_what_was_made_and_what_was_not(unwaver: Any, place: Path) -> None:
    done = unwaver("build", "swap", "reverse", "--from", "pairs.csv", "--task", "snli", "--out", "g.jsonl")
    assert done.returncode == 0, done.stderr
    assert "symmetric" in done.stdout
    assert "written: g.jsonl" in done.stdout
    assert "3 × symmetric holds only where the label is contradiction" in " ".join(
        (done.stdout + done.stderr).split()
    )
    assert [g["kind"] for g in groups_in(place / "g.jsonl")] == ["symmetric"] + ["reverse"] * 4


def test_build_as_json(unwaver: Any, place: Path) -> None:
    done = unwaver("build", "swap,paraphrase", *PARAPHRASE, "--out", "g.jsonl", "--json")
    document = json.loads(done.stdout)
    assert document["version"] == 1
    assert document["build"]["groups"] == {"symmetric": 1, "semantic": 3}
    assert document["build"]["file"] == "g.jsonl"
    notes = document["build"]["notes"]["pairs/snli/semantic"]
    assert any("1 × the bank has no variant of it" in note for note in notes)


def test_groups_with_judges_are_read_back_and_run(unwaver: Any, scores: Any, place: Path) -> None:
    judge = ("--judge", "entail=fake/random", "--judge", "length=0.3:1", "--k", 1)
    done = unwaver("build", "paraphrase", *PARAPHRASE, *judge, "--out", "groups.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    built = json.loads(done.stdout)["build"]["certification"][0]
    groups = groups_in(place / "groups.jsonl")
    assert {i["role"] for g in groups for i in g["items"]} == {"original", "variant", "judge"}
    assert (place / "audit.jsonl").exists()
    found = scores("run", "groups.jsonl", "--model", "fake/keyword", "--out", "r")
    run = json.loads((place / "r" / "run.json").read_text())
    assert run["judges"][0]["name"] == "fake/random"
    assert {k: run["certification"][0][k] for k in ("judged", "acceptance")} == {
        k: built[k] for k in ("judged", "acceptance")
    }
    assert scores("score", "r") == found
    assert find(found, "tau")["groups"] == 3
    shown = unwaver("show", "r", "--all")
    assert shown.returncode == 0, shown.stderr
    assert "judge" not in shown.stdout
    assert "not asked" not in shown.stdout


def test_the_same_build_asks_nothing_again(unwaver: Any, place: Path) -> None:
    command = ("build", "paraphrase", *PARAPHRASE, "--judge", "entail=fake/random", "--out", "groups.jsonl")
    assert unwaver(*command).returncode == 0
    first, before = (place / "groups.jsonl").read_bytes(), stored(place / "groups.sqlite")
    assert before > 0
    assert unwaver(*command).returncode == 0
    assert stored(place / "groups.sqlite") == before
    assert (place / "groups.jsonl").read_bytes() == first


def stored(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error:
        return 0


def keys(path: Path) -> set[str]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return {key for (key,) in db.execute("SELECT key FROM answers")}


def test_build_refuses_with_a_reason(unwaver: Any, place: Path) -> None:
    common = ("--from", "pairs.csv", "--task", "snli", "--out", "g.jsonl")
    refused(unwaver("build", "sawp", *common), "unknown variant 'sawp'", "did you mean swap")
    refused(unwaver("build", "swap", "--from", "none.csv", *common[2:]), "none.csv", "no such file")
    refused(
        unwaver("build", "swap", "--from", "pairs.csv", "--task", "snil", "--out", "g.jsonl"),
        "unknown task",
        "snli",
    )
    refused(unwaver("build", "paraphrase", *common), "paraphrases need a writer", "--writer rules")
    refused(unwaver("build", "paraphrase", *common, "--writer", "bank/none.jsonl"), "there is no such bank")
    refused(
        unwaver("build", "paraphrase", *PARAPHRASE, "--out", "g.jsonl", "--judge", "entail=self"),
        "a model under test",
    )
    refused(
        unwaver("build", "paraphrase", *PARAPHRASE, "--out", "g.jsonl", "--judge", "near=1"), "unknown certifier"
    )
    refused(unwaver("build", "paraphrase", *PARAPHRASE, "--out", "g.jsonl", "--k", 0), "--k is 0")
    refused(unwaver("build", "additive", *common), "merging two pairs breaks entailment")
    refused(unwaver("build", "swap", "--from", "posts.csv", *common[2:]), "premise", "--column premise=NAME")
    refused(unwaver("build", "swap", *common, "--column", "claim=x"), "no column can be the claim")
    refused(unwaver("build", "swap", *common[:4], "--out", "no/such/folder/g.jsonl"), "no/such/folder")
    refused(unwaver("build", "swap", *common, "--epsilon", 2), "--epsilon")
    assert not (place / "g.jsonl").exists()
    done = unwaver("build", "sawp", *common, "--json")
    assert "unknown variant" in json.loads(done.stdout)["error"]["message"]


def test_an_own_task(unwaver: Any, scores: Any, place: Path) -> None:
    options = ("--task", "my.toml", "--writer", "bank/posts.jsonl")
    done = unwaver("build", "paraphrase", "--from", "posts.csv", *options, "--out", "groups.jsonl")
    assert done.returncode == 0, done.stderr
    found = scores("run", "groups.jsonl", "--task", "my.toml", "--model", "fake/random", "--out", "r")
    assert find(found, "tau", task="mood")["groups"] == 1
    assert scores("run", "posts.csv", "--variants", "paraphrase", *options, "--model", "fake/random")
    (place / "my.toml").write_text(TASK + "colour = 3\n")
    refused(
        unwaver("build", "paraphrase", "--from", "posts.csv", *options, "--out", "g.jsonl"), "my.toml", "'colour'"
    )
    (place / "my.toml").write_text(TASK + TASK.replace("mood", "other"))
    refused(
        unwaver("build", "paraphrase", "--from", "posts.csv", *options, "--out", "g.jsonl"),
        "2 tasks",
        "my.toml:mood",
    )


# --- run --variants -----------------------------------------------------------------------------------------


def test_variants_on_the_way(scores: Any, unwaver: Any, place: Path) -> None:
    command = ("run", "pairs.csv", "--task", "snli", "--variants", "swap,reverse", "--variants", "paraphrase")
    command += ("--writer", "bank/bank.jsonl", "--model", "fake/random", "--out", "r")
    found = scores(*command)
    assert {(s["task"], s["kind"]) for s in found} == {("snli", k) for k in ("symmetric", "reverse", "semantic")}
    assert scores("score", "r") == found
    dry = unwaver(*command[:-2], "--dry-run", "--json")
    assert json.loads(dry.stdout)["dry_run"][0]["groups"] == 1 + 4 + 3
    refused(unwaver("run", "pairs.csv", "--variants", "swap", "--model", "fake/random"), "the task", "--task")


def test_epsilon_bounds_the_score(scores: Any, place: Path) -> None:
    command = ("run", "pairs.csv", "--task", "snli", "--variants", "reverse", "--model", "fake/random")
    tau = find(scores(*command, "--epsilon", 0.1, "--out", "r"), "tau")
    assert tau["epsilon"] == 0.1
    assert tau["bound_low"] == pytest.approx(max(0, (tau["value"] - 0.1) / 0.9))
    assert tau["bound_high"] == pytest.approx(min(1, tau["value"] / 0.9))
    assert find(scores(*command, "--out", "s"), "tau")["bound_low"] is None


WRITER = """
CALLS = 0

def said_same(requests):
    # the function is also asked whether what it wrote means the same
    return ["Yes"] * len(requests) if requests[0]["choices"] else None

def write(requests):
    return said_same(requests) or [None if "swimming" in r["prompt"] else "Sure: " + r["prompt"].rpartition(": ")[2] + " Indeed." for r in requests]

def good(requests):
    return said_same(requests) or [r["prompt"].rpartition(": ")[2] + " Indeed. \\N{CAT}" for r in requests]
"""


def test_a_function_as_the_writer(unwaver: Any, place: Path) -> None:
    (place / "writer.py").write_text(WRITER)
    command = (
        "run",
        "pairs.csv",
        "--task",
        "snli",
        "--variants",
        "paraphrase",
        "--model",
        "fake/random",
        "--k",
        2,
        "--writer-arg",
        "deterministic=true",
    )
    done = unwaver(*command, "--writer", "python/writer:good", "--out", "r", "--json")
    assert done.returncode == 0, done.stderr
    items = [i for g in groups_in(place / "r" / "groups.jsonl") for i in g["items"] if i["role"] != "judge"]
    assert [i["fields"]["hypothesis"] for i in items][1] == "A man is resting. Indeed. 🐈"
    spent = json.loads(done.stdout)["run"]["spent"]["calls"]
    assert spent == 4 + 4 + 4 + 4, "originals, one text each, whether it means the same, variants"
    again = unwaver(*command, "--writer", "python/writer:good", "--out", "r", "--json")
    assert json.loads(again.stdout)["run"]["spent"]["calls"] == 0
    assert json.loads(again.stdout)["scores"] == json.loads(done.stdout)["scores"]
    assert unwaver("score", "r").returncode == 0


def test_a_writer_that_fails_ends_with_3(unwaver: Any, place: Path) -> None:
    (place / "writer.py").write_text(WRITER)
    command = ("run", "pairs.csv", "--task", "snli", "--variants", "paraphrase", "--model", "fake/random")
    declared = ("--writer-arg", "deterministic=true")
    done = unwaver(*command, "--writer", "python/writer:write", *declared, "--out", "r")
    assert done.returncode == 3, done.stderr
    assert "1 calls of the writer failed" in done.stdout + done.stderr
    items = [i for g in groups_in(place / "r" / "groups.jsonl") for i in g["items"]]
    assert "A man is resting. Indeed." in [i["fields"].get("hypothesis") for i in items]
    refused(unwaver(*command, "--writer", "pyhton/x"), "pyhton")


# --- review -------------------------------------------------------------------------------------------------


def fill(path: Path, verdicts: dict[str, str]) -> None:
    with path.open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t"))
    for row in rows:
        row["verdict"] = verdicts.get(row["id"], "")
    with path.open("w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)


def test_a_filled_sheet_removes_variants_and_bounds_the_rest(unwaver: Any, scores: Any, place: Path) -> None:
    command = ("run", "pairs.csv", "--task", "snli", "--variants", "reverse", "--model", "fake/random")
    before = find(scores(*command, "--out", "r"), "tau")
    done = unwaver("review", "r", "--out", "sheet.tsv")
    assert done.returncode == 0, done.stderr
    assert "4 variants to judge: sheet.tsv" in done.stdout
    ids = [f"pairs/snli/reverse/{x}/1" for x in "abcd"]
    fill(place / "sheet.tsv", {ids[0]: "wrong", ids[1]: "ok", ids[2]: "ok"})
    after = find(scores("score", "r", "--review", "sheet.tsv"), "tau")
    assert (before["counted"], after["counted"], after["not_applicable"]) == (4, 3, 1)
    assert after["epsilon"] == pytest.approx(beta.ppf(0.975, 2, 2))
    run_again = find(scores(*command, "--out", "again", "--review", "sheet.tsv"), "tau")
    assert {k: v for k, v in run_again.items() if k != "model"} == {k: v for k, v in after.items() if k != "model"}
    fill(place / "sheet.tsv", dict.fromkeys(ids, "ok") | {ids[0]: "wrong"})
    after = find(scores("score", "r", "--review", "sheet.tsv"), "tau")
    assert (after["epsilon"], after["bound_low"], after["bound_high"]) == (0.0, after["value"], after["value"])


def test_several_sheets_decide_together(unwaver: Any, scores: Any, place: Path) -> None:
    command = ("run", "pairs.csv", "--task", "snli", "--variants", "reverse", "--model", "fake/random")
    assert unwaver(*command, "--out", "r").returncode == 0
    (place / "sheets").mkdir()
    ids = [f"pairs/snli/reverse/{x}/1" for x in "abcd"]
    said = (("wrong", "ok", "wrong", "ok"), ("ok", "ok", "wrong", "ok"), ("ok", "", "ok", ""))
    names = [f"sheets/{n}.tsv" for n in range(3)]
    for name, verdicts in zip(names, said, strict=True):
        assert unwaver("review", "r", "--out", name).returncode == 0
        fill(place / name, dict(zip(ids, verdicts, strict=True)))
    several = [part for name in names for part in ("--review", name)]
    after = find(scores("score", "r", *several), "tau")
    assert (after["counted"], after["not_applicable"]) == (3, 1), "two of three call the third wrong"
    assert find(scores("score", "r", "--review", "sheets"), "tau") == after
    again = find(scores(*command, "--out", "again", *several), "tau")
    assert {k: v for k, v in again.items() if k != "model"} == {k: v for k, v in after.items() if k != "model"}
    tied = find(scores("score", "r", *several[:4]), "tau")
    assert tied["not_applicable"] == 2, "a tie is wrong"
    config = json.loads((place / "again" / "run.json").read_text())["config"]
    assert config["review"] == names
    repeated = find(scores("run", "--from", "again/run.json", "--out", "third"), "tau")
    assert repeated["counted"] == 3
    (place / "sheets" / "1.tsv").write_text("id\tverdict\nelsewhere/1\tok\n")
    refused(unwaver("score", "r", *several), "sheets/1.tsv", "elsewhere/1")
    refused(unwaver(*command, "--out", "x", "--review", "sheets"), "1.tsv", "elsewhere/1")
    refused(unwaver("score", "r", "--review", "."), "pairs.csv")


def test_review_lists_what_judges_kept(unwaver: Any, place: Path) -> None:
    judge = ("--judge", "entail=fake/random")
    assert unwaver("build", "paraphrase", "swap", *PARAPHRASE, *judge, "--out", "groups.jsonl").returncode == 0
    assert unwaver("review", "groups.jsonl", "--out", "sheet.tsv").returncode == 0
    listed = {row.split("\t")[0] for row in (place / "sheet.tsv").read_text().splitlines()[1:]}
    kept = {r["id"] for r in groups_in(place / "audit.jsonl") if r["standing"] == "kept"}
    assert listed == kept | {"pairs/snli/symmetric/b/1"}


def test_review_refuses_with_a_reason(unwaver: Any, place: Path) -> None:
    assert unwaver("build", "reverse", "--from", "pairs.csv", "--task", "snli", "--out", "g.jsonl").returncode == 0
    refused(unwaver("review", "none.jsonl", "--out", "s.tsv"), "none.jsonl", "no such file")
    refused(unwaver("review", "g.jsonl", "--out", "s.csv"), "a review sheet is a .tsv")
    refused(unwaver("review", "g.jsonl", "--out", "s.tsv", "--sample", 0), "--sample is 0")
    assert unwaver("review", "g.jsonl", "--out", "s.tsv", "--sample", 2).returncode == 0
    refused(unwaver("review", "g.jsonl", "--out", "s.tsv"), "a file with this name exists")
    run = ("run", "g.jsonl", "--model", "fake/random", "--out", "r")
    assert unwaver(*run).returncode == 0
    text = (place / "s.tsv").read_text()
    (place / "s.tsv").write_text(text.replace("\t\t\n", "\tperhaps\t\n", 1))
    refused(unwaver("score", "r", "--review", "s.tsv"), "s.tsv:2", "perhaps", "expected ok or wrong")
    (place / "s.tsv").write_text("id\tverdict\nelsewhere/1\tok\n")
    refused(unwaver("score", "r", "--review", "s.tsv"), "elsewhere/1")
    refused(unwaver(*run[:-1], "other", "--review", "s.tsv"), "elsewhere/1", "unwaver review")
    refused(unwaver("score", "r", "--review", "none.tsv"), "none.tsv")
    refused(unwaver("reveiw", "g.jsonl"), "review")


def test_ctrl_c_while_judging(unwaver: Any, place: Path) -> None:
    (place / "judge.py").write_text("import time\n\ndef slow(requests):\n    time.sleep(3600)\n    return []\n")
    command = ["build", "paraphrase", *PARAPHRASE, "--judge", "entail=python/judge:slow", "--out", "groups.jsonl"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unwaver.cli.main", *command], cwd=place, stderr=subprocess.PIPE, text=True
    )
    wait_for((place / "groups.sqlite").exists, "the store of the build is there")
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=FOR_EVER)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert not (place / "groups.jsonl").exists()


# --- sensitivity --------------------------------------------------------------------------------------------


def sensitivity(data: Path, nli_model: Path, *more: object) -> list[object]:
    bank = f"bank/{data / 'becel' / 'snli' / 'semantic.tsv'}"
    return ["run", "sensitivity/snli", "--writer", bank, "--data-dir", data, "--model", f"hf/{nli_model}",
            "--device", "cpu", *more]  # fmt: skip


def test_dry_run(unwaver: Any, data: Path, nli_model: Path, tmp_path: Path) -> None:
    done = unwaver(*sensitivity(data, nli_model, "--limit", 60, "--dry-run", "--json"))
    (entry,) = json.loads(done.stdout)["dry_run"]
    assert entry["groups"] == 60
    assert 60 < entry["unique_requests"] <= 60 * 4
    assert not (tmp_path / "runs").exists()
    refused(unwaver("run", "sensitivity/snli", "--model", "fake/random", "--data-dir", data), "needs a writer")


def test_killed_in_the_middle(unwaver: Any, data: Path, tmp_path: Path) -> None:
    """A fake that takes its time, so that there is something to kill; a real one is in test_real_models.py."""
    bank = f"bank/{data / 'becel' / 'snli' / 'semantic.tsv'}"
    command = ["run", "sensitivity/snli", "--writer", bank, "--data-dir", data, "--limit", 300]
    command += ["--model", "fake/random", "--model-arg", "delay=0.004"]
    whole = unwaver(*command, "--out", "whole", "--json")
    assert whole.returncode == 0, whole.stderr
    total = json.loads(whole.stdout)["run"]["spent"]["calls"]
    path = tmp_path / "killed" / "answers.sqlite"
    for until in (100, 350):  # among the originals, among the judges
        process = subprocess.Popen(
            [sys.executable, "-m", "unwaver.cli.main", *map(str, command), "--out", "killed"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and stored(path) < until:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    kept = stored(path)
    assert 350 <= kept < total
    last = unwaver(*command, "--out", "killed", "--json")
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout)["run"]["spent"]["calls"] == total - kept, "what had arrived was asked again"
    assert keys(tmp_path / "whole" / "answers.sqlite") == keys(path)
    assert json.loads(last.stdout)["scores"] == json.loads(whole.stdout)["scores"]
    found = find(json.loads(last.stdout)["scores"], "r_r@1")
    assert found["counted"] > 0
    assert found["failed"] == found["not_asked"] == 0
    texts = [(tmp_path / d / "audit.jsonl").read_text() for d in ("whole", "killed")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge", "entails=self"], "unknown certifier 'entails=self'"),
        (["--agree", "rouge"], "unknown agreement 'rouge'"),
        (["--agree", "entail"], "the agreement entail asks a model"),
    ],
)
def test_a_typo_is_told_before_anything_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["run", "sample/snli", "--model", "fake/random", "--out", "out", *options])
    assert left.value.code == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(("judge", "accepted"), [("length=0.6:2", 4), ("length=0.1:9", 5)])
def test_a_candidate_that_passes_without_a_model_counts_as_judged(
    place: Path, unwaver: Any, judge: str, accepted: int
) -> None:
    """Also where no candidate of the item, or of any item, was rejected."""
    command = ("--task", "snli", "--writer", "bank/bank.jsonl", "--judge", judge)
    done = unwaver(
        "run", "pairs.csv", "--variants", "paraphrase", *command, "--model", "fake/random", "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((place / "r/run.json").read_text())["certification"]
    assert {name: found[name] for name in ("items", "candidates", "judged", "accepted", "kept")} == {
        "items": 3,
        "candidates": 5,
        "judged": 5,
        "accepted": accepted,
        "kept": accepted,
    }
    assert found["items_with_3"] == 0.0
    assert len(groups_in(place / "r/audit.jsonl")) == 5
    built = unwaver("build", "paraphrase", *command, "--from", "pairs.csv", "--out", "made.jsonl")
    assert (
        f"5 candidates of 3 items, {20 * accepted:.1f} % of 5 judged were accepted" in built.stdout + built.stderr
    )
