"""`form` and `method` of a study: by setting, by task or for all; and T5's form for models that start from others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoder

from unwaver.console import Console
from unwaver.errors import DataError, UnwaverError, UsageError
from unwaver.study.plan import StudyPlan, read_plan
from unwaver.study.work import work

TRAINING = "lr = 5e-3\nbatch = 8\nepochs = 6\npatience = 6\nlength = 64\nlimit = 4\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables for MRPC and RTE, and two random models that write: `t5`, and `encoder`, which cannot."""
    place = tmp_path_factory.mktemp("study")
    tiny_encoder.pairs(place / "mrpc.csv")
    rows = tiny_encoder.rte(place)
    groups = [
        {
            "id": f"g{n}",
            "kind": "semantic",
            "task": "rte",
            "items": [{"fields": {"sentence1": r["sentence1"], "sentence2": r["sentence2"]}}] * 2,
        }
        for n, r in enumerate(rows[:4])
    ]
    (place / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))
    tiny_encoder.text_to_text(place / "t5")
    tiny_encoder.encoder(place / "encoder")
    return place


def plan_of(place: Path, text: str, base: str = "t5") -> StudyPlan:
    path = place / "plan.toml"
    tasks = "".join(f'[tasks.{name}]\ntrain = "{place / name}.csv"\n' for name in ("mrpc", "rte"))
    tasks += f'evaluate = ["{place / "own.jsonl"}"]\n'
    top, _, settings = text.rpartition("---\n")
    path.write_text(f'bases = ["{place / base}"]\n{TRAINING}{top}{tasks}{settings}')
    return read_plan(path)


def forms(plan: StudyPlan, place: Path) -> dict[str, dict[str, str]]:
    """{"single": {"mrpc": "t5", …}, …}"""
    found: dict[str, dict[str, str]] = {}
    for job in plan.jobs(place / "out", None, "cpu"):
        for part in job.setup.parts:
            found.setdefault(job.condition.setting, {})[part.task.name] = part.form
    return found


def test_a_setting_goes_before_a_task_and_a_task_before_the_study(place: Path) -> None:
    settings = '[settings.one]\n[settings.two]\nform = "t5"\n[settings.three]\nform = { rte = "calm" }\n'
    plan = plan_of(place, f'form = "plain"\nmethod = "logprob"\n---\n{settings}')
    assert forms(plan, place) == {
        "one": {"mrpc": "plain", "rte": "plain"},
        "two": {"mrpc": "t5", "rte": "t5"},
        "three": {"mrpc": "plain", "rte": "calm"},
    }
    assert plan.method_of(plan.settings["one"], "rte") == "logprob"
    methods = '[settings.one]\nmethod = "generate"\n[settings.two]\nmethod = { rte = "generate" }\n'
    plan = plan_of(place, f'method = {{ mrpc = "logprob" }}\n---\n{methods}')
    found = [plan.method_of(plan.settings[s], t) for s in ("one", "two") for t in ("mrpc", "rte")]
    assert found == ["generate", "generate", "logprob", "generate"]


@pytest.mark.parametrize(
    ("start", "more", "form"),
    [
        ("", "", "t5"),
        ("", 'form = "plain"\n', "plain"),
        ('form = "plain"\n', "", "plain"),
        ('form = "plain"\n', 'form = "t5"\n', "t5"),
        ('head = "classify"\n', "", "plain"),
    ],
)
def test_what_starts_from_a_t5_goes_on_in_its_form(place: Path, start: str, more: str, form: str) -> None:
    settings = (
        f'[settings.first]\ntasks = ["mrpc"]\n{start}[settings.then]\ntasks = ["rte"]\nstart = "first/mrpc"\n'
    )
    plan = plan_of(place, f"---\n{settings}{more}")
    assert forms(plan, place)["then"] == {"rte": form}


def test_an_encoder_stays_plain(place: Path) -> None:
    settings = '[settings.first]\ntasks = ["mrpc"]\n[settings.then]\ntasks = ["rte"]\nstart = "first/mrpc"\n'
    assert forms(plan_of(place, f"---\n{settings}", "encoder"), place)["then"] == {"rte": "plain"}


@pytest.mark.slow
def test_a_study_of_a_t5_writes_or_gives_probabilities_as_its_plan_says(place: Path) -> None:
    settings = (
        '[settings.first]\ntasks = ["mrpc"]\n[settings.writes]\ntasks = ["rte"]\nstart = "first/mrpc"\n'
        '[settings.scores]\ntasks = ["rte"]\nstart = "first/mrpc"\nmethod = "logprob"\n'
    )
    out = place / "out"
    plan = plan_of(place, f"---\n{settings}")
    models = work(plan, out, Console(), data_dir=None, device="cpu")
    about = {m.condition.setting: json.loads((m.folder / "unwaver.json").read_text()) for m in models}
    assert about["writes"]["tasks"]["rte"]["form"] == "t5"
    assert about["writes"]["scores"]["rte"]["held_out"]["accuracy"] > 0.6
    runs = {m.condition.setting: json.loads((m.runs[0] / "run.json").read_text()) for m in models if m.runs}
    assert {name: run["models"][0]["method"] for name, run in runs.items()} == {
        "writes": "generate, T5's form",
        "scores": "logprob, T5's form",
    }
    assert all("rte/t5" in run["prompts"] for run in runs.values())
    before = {m.folder: (m.folder / "unwaver.json").stat().st_mtime_ns for m in models}
    again = work(plan, out, Console(), data_dir=None, device="cpu")
    assert {m.folder: (m.folder / "unwaver.json").stat().st_mtime_ns for m in again} == before, "all is there"


@pytest.mark.slow
def test_the_command_too_starts_from_each_seed_in_its_form(place: Path, tmp_path: Path) -> None:
    from unwaver.train.finetune import train
    from unwaver.train.setup import Setup

    quick: dict[str, Any] = {"lr": 5e-3, "batch": 8, "epochs": 1, "length": 64, "device": "cpu"}
    split = {"*": str(place / "mrpc.csv")}
    train(Setup(("mrpc",), str(place / "t5"), train_split=split, **quick), tmp_path / "first", [0])
    then = Setup(("rte",), f"{tmp_path}/first/seed{{seed}}", train_split={"*": str(place / "rte.csv")}, **quick)
    assert then.parts[0].form == "t5"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('---\n[settings.a]\nmethod = "guess"\n', "settings.a.method: found 'guess'"),
        ('---\n[settings.a]\nform = { snli = "t5" }\n', "settings.a.form: snli is not a task of this study"),
        ('---\n[settings.a]\nform = "t7"\n', "unknown form 't7'"),
        ("---\n[settings.a]\nmethod = 3\n", "settings.a.method"),
        ('---\n[settings.a]\nhead = "both"\n', "settings.a.head: found 'both'"),
        ('method = "guess"\n---\n[settings.a]\n', "method: found 'guess'"),
    ],
)
def test_what_a_plan_says_wrong(place: Path, text: str, says: str) -> None:
    with pytest.raises(UnwaverError, match=says) as caught:
        plan_of(place, text)
    assert isinstance(caught.value, DataError | UsageError)


def test_a_method_for_a_model_that_classifies_is_said_before_training(place: Path, tmp_path: Path) -> None:
    plan = plan_of(place, '---\n[settings.a]\ntasks = ["rte"]\nmethod = "generate"\n', "encoder")
    with pytest.raises(UsageError, match=r"method generate: .*encoder is trained to classify"):
        work(plan, tmp_path / "out", Console(), data_dir=None, device="cpu")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_bases_without_weights_are_studied_too(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        'bases = ["ngrams", "bilstm"]\nepochs = 1\n[tasks.rte]\n'
        f'train = "{place / "rte.csv"}"\nevaluate = ["{place / "own.jsonl"}"]\n[settings.single]\n'
    )
    models = work(read_plan(path), tmp_path / "out", Console(), data_dir=None, device="cpu")
    assert [m.base for m in models] == ["ngrams", "bilstm"]
    before = [(m.runs[0] / "scores.json").stat().st_mtime_ns for m in models]
    again = work(read_plan(path), tmp_path / "out", Console(), data_dir=None, device="cpu")
    assert [(m.runs[0] / "scores.json").stat().st_mtime_ns for m in again] == before, "nothing is asked twice"
