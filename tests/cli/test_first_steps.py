"""What a newcomer mistypes: each message names the file, says what is wrong with it, and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from unwaver.cli.main import main

Call = Callable[..., str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished") / "r"
    with pytest.raises(SystemExit) as ended:
        main(["run", "sample/rte/symmetric", "--model", "fake/random", "--no-report", "--out", str(place), "-q"])
    assert ended.value.code == 0
    return place


@pytest.fixture
def refused(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """What a command that exits with 2 says, beside a run r and a table own.csv."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "r")
    Path("own.csv").write_text("question,paraphrase\nIs it late?,Is it late now?\nIs it early?,Is it early now?\n")

    def call(*args: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        said = capsys.readouterr().err
        assert ended.value.code == 2, said
        return said

    return call


@pytest.mark.parametrize("command", [("show",), ("run", "--from")])
@pytest.mark.parametrize("name", ["own.csv", "r/scores.json", "r/answers.sqlite"])
def test_a_file_that_is_no_run(refused: Call, command: tuple[str, ...], name: str) -> None:
    said = refused(*command, name)
    assert f"{name}: this file is not a record of a run" in said
    assert "give the folder that `unwaver run` wrote" in said


def test_a_run_json_that_is_not_there(refused: Call) -> None:
    assert "unwaver: gone/run.json: there is no run here" in refused("run", "--from", "gone/run.json")


def test_a_folder_as_an_output_file(refused: Call) -> None:
    said = refused("gate", "r", "--bar", "tau<=0.1", "--junit", ".")
    assert "name a file in this folder" in said
    assert "make the folder" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_full_disk_is_named(refused: Call, option: str) -> None:
    assert "/dev/full: cannot be written: No space left" in refused(
        "gate", "r", "--bar", "tau<=0.1", option, "/dev/full"
    )


@pytest.mark.parametrize(("name", "says"), [("gone", "there is no such file"), (".", "this is a folder")])
def test_no_table(refused: Call, name: str, says: str) -> None:
    assert f"unwaver: {name}: {says}" in refused("agreement", "validate", "--pairs", name)
    if name == "gone":  # of a folder, the sheets in it are read
        assert f"unwaver: {name}: {says}" in refused("score", "r", "--review", name)


def test_a_wrong_alpha_in_a_bars_file(refused: Call) -> None:
    Path("bars.toml").write_text('alpha = 2\nbars = ["tau<=0.1"]\n')
    assert "bars.toml: alpha is 2" in refused("gate", "r", "--bars", "bars.toml")


def test_two_bars_to_stop_at(refused: Call) -> None:
    command = ("run", "sample/rte/symmetric", "--model", "fake/random", "--out", "s")
    said = refused(*command, "--until", "tau<=0.1", "--until", "accuracy>=0.5")
    assert "--until is given 2 times" in said
    assert not Path("s").exists()


def test_runs_that_share_no_group(refused: Call) -> None:
    with pytest.raises(SystemExit):
        main(
            [
                "run",
                "own.csv",
                "--label",
                "yes",
                "--label",
                "no",
                "--model",
                "fake/random",
                "--no-report",
                "--out",
                "o",
            ]
        )
    said = refused("compare", "r", "o")
    assert "have no group in common" in said
    assert "--common" not in said
