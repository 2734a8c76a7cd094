"""What a command writes never replaces what it reads, a store, a file of a run, or a file of somebody else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli.main import main
from unwaver.outputs import BEGINNINGS
from unwaver.paths import named_files

ITEMS = "premise,hypothesis,label\nA man sleeps.,He is awake.,contradiction\nA dog runs.,It moves.,entailment\n"
OWN = "question,paraphrase\nIs it late?,Is it late now?\nIs it early?,Is it early now?\n"
FAKE = ("--model", "fake/random", "--no-report")
BUILD = ("build", "swap", "--task", "snli", "--from", "mine.csv")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished") / "r"
    with pytest.raises(SystemExit) as ended:
        main(["run", "sample/snli/semantic", *FAKE, "--out", str(place), "-q"])
    assert ended.value.code == 0
    return place


@pytest.fixture
def here(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Any]:
    """The command line in a folder with a run r, items mine.csv and notes.txt: here("report", "r") -> (code, …)."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "r")
    Path("mine.csv").write_text(ITEMS)
    Path("own.csv").write_text(OWN)
    Path("notes.txt").write_text("mine\n")
    Path("bars.toml").write_text('["*"]\nmin = {tau = 0.0}\n')
    before = signal.getsignal(signal.SIGTERM)

    def call(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in args])
        return int(ended.value.code or 0), *capsys.readouterr()

    yield call
    signal.signal(signal.SIGTERM, before)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def link_to(name: str) -> str:
    """Other names of one file."""
    Path("hard.csv").hardlink_to(name)
    Path("soft.csv").symlink_to(name)
    Path("below").mkdir()
    Path("through").symlink_to(".")
    return name


@pytest.mark.parametrize(
    "name", ["mine.csv", "./mine.csv", "below/../mine.csv", "through/mine.csv", "hard.csv", "soft.csv"]
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_input_is_never_replaced(here: Any, tmp_path: Path, name: str, force: tuple[str, ...]) -> None:
    link_to("mine.csv")
    before = everything(tmp_path)
    code, _, told = here(*BUILD, "--out", name, *force)
    assert (code, everything(tmp_path)) == (2, before), told
    assert "is an input of the command" in told
    code, _, told = here(*BUILD, "--out", tmp_path / "mine.csv", *force)
    assert (code, everything(tmp_path)) == (2, before), told


REFUSED = {
    "store": ("report r --out r/answers.sqlite", "belongs to a run"),
    "record": ("report r --out r/run.json", "belongs to a run"),
    "groups": ("report r --out r/groups.jsonl", "belongs to a run"),
    "not there yet": ("report r --out r/seen.json", "belongs to a run"),
    "in another case": ("report r --out r/Audit.jsonl", "belongs to a run"),
    "log of the store": ("report r --out r/answers.sqlite-wal", "belongs to a run"),
    "store elsewhere": ("report r --out kept.sqlite", "a store of answers"),
    "its log": ("report r --out kept.sqlite-wal", "belongs to the store"),
    "through a link": ("report r --out link/scores.json", "belongs to a run"),
    "link to the store": ("report r --out linked.html", "belongs to a run"),
    "of another run": ("gate r --min tau=0 --junit other/scores.json", "belongs to a run"),
    "bars": ("gate r --bars bars.toml --junit bars.toml", "is an input"),
    "bars as markdown": ("gate r --bars bars.toml --markdown bars.toml --force", "is an input"),
    "one file for both": ("gate r --min tau=0 --markdown x --junit x", "name the same file"),
    "hard link to the store": ("report r --out hard.html", "a store of answers"),
    "report of others": ("report r", "part of the input"),
    "notes": ("report r --out notes.txt", "unwaver did not write this file"),
    "notes as a table": ("report r --format csv --out notes.txt", "unwaver did not write this file"),
    "notes as junit": ("gate r --min tau=0 --junit notes.txt", "unwaver did not write this file"),
    "notes as markdown": ("gate r --min tau=0 --markdown notes.txt", "unwaver did not write this file"),
    "a table of others": ("report r --format csv --out mine.csv", "unwaver did not write this file"),
    "another form of ours": ("report r --out r/table.csv", "part of the input"),
    "notes as groups": ("build swap --task snli --from mine.csv --out notes.txt", "unwaver did not write this file"),
    "picture": ("agreement validate --pairs mine.csv --plot photo.svg", "unwaver did not write this file"),
    "pictures": ("report r --format png --out pictures", "unwaver did not write this file"),
    "audit": ("build paraphrase --writer rules --task snli --from mine.csv --out theirs/g.jsonl", "did not write"),
    "its own store": ("build paraphrase --writer rules --task snli --from mine.csv --out g.sqlite", "the answer store"),
    "sheet": ("review r --out r/sheet.tsv", "a file with this name exists"),
    "second sheet": ("gate r --min tau=0 --review r/sheet.tsv --review my.tsv --junit my.tsv --force", "is an input"),
    "second sheet of build": (
        "build swap --task snli --from mine.csv --review r/sheet.tsv --review my.tsv --out my.tsv --force", "is an input"
    ),
    "second sheet of score": (
        "score r --review sheets --review my.tsv --unreadable-out my.tsv", "is an input"
    ),
    "second sheet of run": (
        "run own.csv --model fake/random --review r/sheet.tsv --review seen.json --out .", "an input of the command"
    ),
    "in a folder of sheets": ("gate r --min tau=0 --review sheets --junit sheets/a.tsv", "part of the input"),
    "task": ("build swap --from mine.csv --task my.toml --out my.toml", "is an input"),
    "bank": ("build paraphrase --task snli --from mine.csv --writer bank/own.csv --out own.csv", "is an input"),
    "bag of words": ("bow mine.csv --task snli --out theirs", "unwaver did not write this file"),
    "summary": ("train mrpc --base nothing --train-split mine.csv --out theirs", "unwaver did not write this file"),
    "study": ("study my.toml --out theirs", "unwaver did not write this file"),
    "weights": ("bow mine.csv --task snli --out weights", "unwaver did not write this file"),
    "folder": ("report r --out pictures", "Is a directory"),
    "no folder": ("gate r --min tau=0 --junit none/gate.xml", "No such file or directory"),
    "below a file": ("build swap --task snli --from mine.csv --out notes.txt/g.jsonl", "Not a directory"),
    "lock": ("report r --out r/.lock", "belongs to a run"),
    "run into its input": ("run groups.jsonl --model fake/random --out .", "an input of the command"),
    "run over files": ("run own.csv --model fake/random --out theirs", "which unwaver did not write"),
    "dry run over files": ("run own.csv --model fake/random --out theirs --dry-run", "which unwaver did not write"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(here: Any, tmp_path: Path, case: str) -> None:
    shutil.copytree("r", "other")
    shutil.copy("r/answers.sqlite", "kept.sqlite")
    Path("link").symlink_to("r")
    Path("linked.html").symlink_to("r/answers.sqlite")
    Path("hard.html").hardlink_to("r/answers.sqlite")
    Path("r/report.html").write_text("<!doctype html>\n<title>Mine</title>")
    Path("photo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    Path("r/table.csv").write_text("suite,task\n")
    Path("r/sheet.tsv").write_text("id\tverdict\nx\tok\n")
    Path("sheets").mkdir()
    for name in ("my.tsv", "sheets/a.tsv", "seen.json"):
        Path(name).write_text("id\tverdict\nx\t\n")
    Path("my.toml").write_text(TASK if case == "task" else STUDY)
    Path("groups.jsonl").write_bytes(Path("r/groups.jsonl").read_bytes())
    Path("pictures").mkdir()
    Path("pictures/01-holiday.png").write_text("not a picture")
    Path("weights").mkdir()
    Path("weights/weights.npz").write_text("mine")
    Path("theirs").mkdir()
    for name in ("scores.json", "model.json", "audit.jsonl", "summary.json", "study.json"):
        Path("theirs", name).write_text('{"mine": 1}\n')
    command, reason = REFUSED[case]
    before = everything(tmp_path)
    code, _, told = here(*command.split())
    assert code == 2, told
    assert reason in " ".join(told.split())
    assert "Traceback" not in told
    assert everything(tmp_path) == before


TASK = """
[mine]
type = "similarity"
fields = ["premise", "hypothesis"]
labels = ["contradiction", "entailment"]
segments = ["{premise}", "{hypothesis}"]
version = 1
prompt = "{premise} {hypothesis}?"
[mine.relations]
symmetric = {}
"""
STUDY = 'bases = ["nothing"]\nepochs = 1\n[tasks.mrpc]\ntrain = "mine.csv"\n[settings.single]\n'


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("report r --out x.html", "x.html"),
        ("report r --format md --out x.md", "x.md"),
        ("report r --format latex --out x.tex", "x.tex"),
        ("report r --format csv --out x.csv", "x.csv"),
        ("report r", "r/report.html"),
        ("gate r --min tau=0 --junit x.xml", "x.xml"),
        ("gate r --min tau=0 --markdown x.md", "x.md"),
        ("gate r --min tau=0 --junit r/gate.xml", "r/gate.xml"),
        ("build swap --task snli --from mine.csv --out g.jsonl", "g.jsonl"),
        ("bow mine.csv --task snli --out b", "b/model.json"),
    ],
)
def test_what_unwaver_wrote_is_written_again(here: Any, command: str, name: str) -> None:
    """And each form begins as outputs.py says."""
    assert here(*command.split())[0] == 0
    first = Path(name).read_bytes()
    assert any(form.match(first) for form in BEGINNINGS.values())
    Path(name).write_bytes(first + b"\nmore")
    code, _, told = here(*command.split())
    assert code == 0, told
    assert not Path(name).read_bytes().endswith(b"more")
    Path(name).write_bytes(b"")  # an empty file holds nothing
    assert here(*command.split())[0] == 0


def test_pictures_are_written_again(here: Any) -> None:
    pytest.importorskip("vl_convert")
    for form in ("png", "svg", "pdf"):
        for _ in range(2):
            code, _, told = here("report", "r", "--format", form, "--out", "figures")
            assert code == 0, told


def test_files_of_a_run_begin_as_outputs_says(here: Any) -> None:
    for name, form in (
        ("run.json", "run"),
        ("groups.jsonl", "groups"),
        ("scores.json", "scores"),
        ("answers.sqlite", "store"),
    ):
        assert BEGINNINGS[form].match(Path("r", name).read_bytes()), name


def test_force_replaces_what_is_not_ours(here: Any) -> None:
    assert here("report", "r", "--out", "notes.txt", "--force")[0] == 0
    assert Path("notes.txt").read_text().startswith("<!doctype html>")
    Path("notes.txt").write_text("mine")
    assert here("gate", "r", "--min", "tau=0", "--junit", "notes.txt", "--force")[0] == 0
    assert Path("notes.txt").read_text().startswith("<?xml")
    Path("notes.txt").write_text("mine")
    assert here(*BUILD, "--out", "notes.txt", "--force")[0] == 0


def test_a_link_is_followed_not_replaced(here: Any) -> None:
    Path("reports").mkdir()
    Path("latest.html").symlink_to("reports/1.html")
    assert here("report", "r", "--out", "latest.html")[0] == 0
    assert Path("latest.html").is_symlink()
    assert Path("reports/1.html").read_text().startswith("<!doctype html>")


def test_the_summary_of_a_step_grows(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("summary.md").write_text("# Others wrote this\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("summary.md").resolve()))
    for _ in range(2):
        assert here("gate", "r", "--min", "tau=0", "--markdown", "summary.md")[0] == 0
    text = Path("summary.md").read_text()
    assert text.startswith("# Others wrote this\n")
    assert text.count("## unwaver gate") == 2
    Path("summary.md").unlink()
    assert here("gate", "r", "--min", "tau=0", "--markdown", "summary.md")[0] == 0
    assert Path("summary.md").read_text().count("## unwaver gate") == 1


def test_streams(here: Any, tmp_path: Path) -> None:
    for name in ("-", "/dev/stdout"):
        code, out, told = here("report", "r", "--out", name)
        assert code == 0, told
        assert out.startswith("<!doctype html>")
        assert out.rstrip().endswith("</html>")
    assert here("report", "r", "--out", "/dev/null")[0] == 0
    assert not Path("/dev/null").is_file()
    code, out, told = here(*BUILD, "--out", "/dev/stdout", "-q")
    assert code == 0, told
    assert json.loads(out.splitlines()[0])["suite"] == "mine"
    os.mkfifo("pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_text()))
    reader.start()
    assert here("gate", "r", "--min", "tau=0", "--junit", "pipe")[0] == 0
    reader.join()
    assert "<testsuites" in heard[0]
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_standard_output_that_is_a_file(here: Any, tmp_path: Path) -> None:
    line = f"'{sys.executable}' -m unwaver.cli.main report r --out /dev/stdout > page.html"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path("page.html").read_text().startswith("<!doctype html>")


def test_a_run_beside_other_files_and_after_a_dry_run(here: Any) -> None:
    Path("project").mkdir()
    Path("project/notes.txt").write_text("mine")
    for args in (("--dry-run",), (), ()):
        code, _, told = here("run", "own.csv", *FAKE, "--label", "yes", "--label", "no", "--out", "project", *args)
        assert code == 0, told
    assert Path("project/notes.txt").read_text() == "mine"


def test_a_report_of_others_stays(here: Any) -> None:
    Path("project").mkdir()
    Path("project/report.html").write_text("<title>Mine</title>")
    code, _, told = here("run", "sample/rte", "--model", "fake/random", "--out", "project")
    assert code == 0, told
    assert Path("project/report.html").read_text() == "<title>Mine</title>"
    if "pip install" not in told:
        assert "The report was not written" in told


def test_refused_before_anything_is_asked(here: Any) -> None:
    Path("theirs").mkdir()
    Path("theirs/scores.json").write_text("mine")
    Path("asked.py").write_text(
        "from pathlib import Path\nPath('asked.txt').write_text('x')\n\ndef f(requests):\n    return []\n"
    )
    assert here("run", "own.csv", "--model", "python/asked:f", "--out", "theirs")[0] == 2
    assert not Path("asked.txt").exists()


def test_files_that_a_command_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "c.csv", "d.toml", "e"):
        Path(name).write_text("x")
    params = {"file": Path("a.csv"), "writer": "bank/b.csv", "judges": ("same=hf/e@0.5",), "map": {"x": "c.csv"},
              "train_split": ("mrpc=d.toml",), "out": "a.csv", "long": "x" * 100_000, "n": 3, "odd": "a\0b"}  # fmt: skip
    found = {path.name for path in named_files(params, outputs=("out",))}
    assert found == {"a.csv", "b.csv", "c.csv", "d.toml", "e"}
