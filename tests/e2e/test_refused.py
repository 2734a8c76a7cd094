"""A command that is refused, or ends before it has anything, leaves a finished run in its folder as it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from server import Server

from unwaver.agree.entities import pipeline
from unwaver.cli.main import main

QUESTIONS = "".join(
    f"{line}\n" for line in ["question,paraphrase", *(f"Is it {n}?,Is it really {n}?" for n in range(20))]
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of free text in z, its questions beside it."""
    place = tmp_path_factory.mktemp("finished")
    (place / "q.csv").write_text(QUESTIONS)
    (place / "t.toml").write_text("[no_such_task]\nprompt = 'x'\n")
    command = [sys.executable, "-m", "unwaver.cli.main", "run", "q.csv", "--model", "fake/random", "--out", "z"]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return place


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


RUN = ("run", "q.csv", "--model", "fake/random", "--out", "z")
REFUSED: dict[str, tuple[str, ...]] = {
    "a missing package": (*RUN, "--agree", "bleu"),
    "a missing pipeline": (*RUN, "--agree", "entities"),
    "a regular expression without its package": (*RUN, "--read", "regex:a"),
    "an unknown agreement": (*RUN, "--agree", "blue"),
    "an agreement whose model is not there": (*RUN, "--agree", "entail=hf/nowhere"),
    "an encoder that is not there": (*RUN, "--agree", "bertscore=nowhere"),
    "an agreement with a wrong option": (*RUN, "--agree", "judge=fake/random,colour=red"),
    "a scorer that is not there": (*RUN, "--scorer", "bleurt=nowhere"),
    "a scorer without a name": (*RUN, "--scorer", "nowhere"),
    "an unknown judge": (*RUN, "--judge", "nobody=fake/random"),
    "a wrong way of reading": (*RUN, "--read", "nubmer"),
    "a broken regular expression": (*RUN, "--read", "regex:("),
    "a template of no task": (*RUN, "--template", "t.toml"),
    "a template that is not there": (*RUN, "--template", "nowhere.toml"),
    "a metric that is not there": (*RUN, "--until", "sigma<=0.1"),
    "a cap without prices": (*RUN, "--max-cost", "1"),
    "another run": (*RUN, "--seed", "7"),
    "an unknown model": ("run", "q.csv", "--model", "fake/other", "--out", "z"),
    "a model that is not there": ("run", "q.csv", "--model", "hf/nowhere", "--out", "z"),
    "an unknown option of the model": (*RUN, "--model-arg", "colour=red"),
    "a sheet that is not there": (*RUN, "--review", "nowhere.csv"),
    "a store that is none": (*RUN, "--store", "q.csv"),
    "a dry run of another run": (*RUN, "--seed", "7", "--dry-run"),
    "a dry run with an unknown model": ("run", "q.csv", "--model", "fake/other", "--out", "z", "--dry-run"),
    "nobody listens": (*RUN, "--agree", "judge=openai/m,base_url=http://127.0.0.1:9/v1,retries=0"),
}


@pytest.fixture
def here(finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process, beside the finished run: here("run", …) -> exit code, what it said."""
    monkeypatch.chdir(finished)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def call(*args: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        said = capsys.readouterr()
        return int(str(ended.value.code)), said.out + said.err

    return call


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_command_damages_nothing(
    here: Any, finished: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    if "package" in case or "pipeline" in case:
        pipeline.cache_clear()
        for name in ("sacrebleu.metrics.bleu", "spacy", "regex"):
            monkeypatch.setitem(sys.modules, name, None)
    before = content(finished)
    code, said = here(*REFUSED[case])
    assert code == 2, said
    after = content(finished)
    if case == "nobody listens":  # the store may keep why the call failed
        before.pop("z/answers.sqlite"), after.pop("z/answers.sqlite")
    assert after == before


def test_the_run_stays_usable(here: Any) -> None:
    for command in (("score", "z"), ("show", "z"), ("gate", "z", "--min", "Cons_exact=0")):
        code, said = here(*command)
        assert code == 0, said


def test_a_dry_run_leaves_the_groups_of_a_run(here: Any, finished: Path) -> None:
    before = content(finished)
    assert here(*RUN, "--dry-run")[0] == 0
    assert content(finished) == before


def test_a_server_that_dies_while_it_judges(unwaver: Any, tmp_path: Path) -> None:
    """What was said until then counts, and the folder can be scored."""
    (tmp_path / "q.csv").write_text(QUESTIONS)
    assert unwaver(*RUN).returncode == 0
    with Server(lambda prompt: "Yes", slow=0.1) as server:
        judge = f"judge=openai/m,base_url={server.url},concurrency=1"
        process = subprocess.Popen(
            [sys.executable, "-m", "unwaver.cli.main", *RUN, "--agree", judge],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while sum(server.answered.values()) < 4 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    for command in (("score", "z"), ("show", "z")):
        done = unwaver(*command)
        assert done.returncode in (0, 3), done.stderr
    record = json.loads((tmp_path / "z" / "run.json").read_text())
    assert record["config"]["agree"] == [judge]


def test_build_replaces_its_file_only_at_the_end(
    here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    (tmp_path / "p.csv").write_text("premise,hypothesis,label\nA man sleeps.,A man rests.,entailment\n")
    build = ("build", "paraphrase", "--writer", "rules", "--from", "p.csv", "--task", "snli", "--out", "g.jsonl")
    assert here(*build)[0] == 0
    before = content(tmp_path)
    for more in (
        ("--judge", "entail=hf/nowhere"), ("--judge", "x=1"), ("--encoder", "nowhere"), ("--judge", "entail=self"),
        ("--writer", "openai/m", "--writer-arg", "backoff=0.01"),
    ):  # fmt: skip
        code, said = here(*build, *more)
        assert code == 2, said
        after = {name: data for name, data in content(tmp_path).items() if not name.startswith("g.sqlite")}
        assert after == before, more
