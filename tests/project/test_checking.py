"""A check against what was accepted: one noisy answer fails no build, a regression does and is named."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli.main import cli
from unwaver.errors import DataError, UnwaverError, UsageError
from unwaver.project.lock import LOCK

TOML = """
[sources.answers]
log = "answers.csv"
[bars]
"*" = ["drop<=0.05"]
"""


def write(folder: Path, broken: Collection[int] = (), groups: int = 200, empty: Collection[int] = ()) -> None:
    """A table of answers: each group has an original and a variant, which say the same unless they are broken."""
    rows = ["group,kind,role,label,task"]
    for n in range(groups):
        rows.append(f"q{n},semantic,original,yes,question")
        rows.append(f"q{n},semantic,variant,{'' if n in empty else 'no' if n in broken else 'yes'},question")
    (folder / "answers.csv").write_text("\n".join(rows) + "\n")


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """check("--accept") -> (exit code, what was printed), in a folder with a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unwaver.toml").write_text(TOML)
    write(tmp_path)

    def call(*options: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(["check", *options], standalone_mode=False)
        return int(code or 0), capsys.readouterr().out

    return call


Check = Callable[..., tuple[int, str]]


def test_nothing_accepted_is_no_pass(check: Check) -> None:
    code, out = check()
    assert code == 1
    assert out.startswith("undecided")
    assert "unwaver check --accept" in out


def test_accepted_then_the_same(check: Check, tmp_path: Path) -> None:
    code, out = check("--accept")
    assert (code, out.split()[0]) == (0, "accepted")
    assert len((tmp_path / LOCK).read_text().splitlines()) == 201
    code, out = check()
    assert (code, out.split()[0]) == (0, "pass")
    assert "0 of 200 groups have answers that differ" in out
    assert len(out.splitlines()) <= 8


@pytest.mark.parametrize("noisy", [1, 2, 3])
def test_a_noisy_answer_fails_no_build(check: Check, tmp_path: Path, noisy: int) -> None:
    check("--accept")
    write(tmp_path, broken=range(noisy))
    code, out = check()
    assert (code, out.split()[0]) == (0, "pass"), out
    assert re.search(rf"broke +{noisy} group", out)


def test_a_regression_fails_and_is_named(check: Check, tmp_path: Path) -> None:
    write(tmp_path, broken=[5])
    check("--accept")
    write(tmp_path, broken=range(10, 40))
    code, out = check()
    assert (code, out.split()[0]) == (1, "fail")
    assert re.search(r"broke +30 groups that held before: q10, q11, q12 and 27 more", out)
    assert "; fixed: q5" in out
    assert "31 of 200 groups have answers that differ" in out
    assert len(out.splitlines()) <= 8


def test_few_groups_cannot_decide_unless_nothing_changed(check: Check, tmp_path: Path) -> None:
    write(tmp_path, groups=10)
    check("--accept")
    assert check()[0] == 0  # the very answers that were accepted
    write(tmp_path, groups=10, broken=[3])
    code, out = check()
    assert (code, out.split()[0]) == (1, "undecided")
    assert check("--allow-undecided")[0] == 0


def test_groups_that_the_lock_does_not_have(check: Check, tmp_path: Path) -> None:
    check("--accept")
    write(tmp_path, groups=260)
    code, out = check()
    assert code == 0
    assert "60 groups not in the lock" in out
    write(tmp_path, groups=150)
    assert check()[0] == 0  # 150 pairs still tell five points


def test_missing_answers_are_no_pass_and_not_accepted(check: Check, tmp_path: Path) -> None:
    header, *rows = (tmp_path / "answers.csv").read_text().splitlines()
    told = [f"{row},{'failed' if n < 3 else 'answered'}" for n, row in enumerate(rows)]
    (tmp_path / "answers.csv").write_text("\n".join([f"{header},status", *told]) + "\n")
    with pytest.raises(DataError, match="answers are missing"):
        check("--accept")
    assert not (tmp_path / LOCK).exists()
    code, out = check()
    assert code == 3
    assert "2 groups without an answer: make the log answers.csv again" in out


def test_an_absolute_bar_beside_a_drop(check: Check, tmp_path: Path) -> None:
    (tmp_path / "unwaver.toml").write_text(TOML.replace('"drop<=0.05"', '"drop<=0.05", "tau<=0.05"'))
    write(tmp_path, broken=range(60))
    assert check("--accept")[0] == 0
    code, out = check()
    assert (code, out.split()[0]) == (1, "fail")
    assert "tau <= 0.05: 30.0 %" in out


def test_a_drop_of_another_metric_is_in_the_lock(check: Check, tmp_path: Path) -> None:
    (tmp_path / "unwaver.toml").write_text(TOML.replace("drop<=0.05", "drop(tau)<=0.05"))
    check("--accept")
    assert check()[0] == 0
    (tmp_path / "unwaver.toml").write_text(TOML.replace("drop<=0.05", "drop(tua)<=0.05"))
    with pytest.raises(UsageError, match="tua"):
        check()


def test_files_for_ci(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("--accept")
    write(tmp_path, broken=range(40))
    summary = tmp_path / "summary.md"
    summary.write_text("of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert check("--junit", "check.xml", "--markdown", str(summary))[0] == 1
    assert "<failure" in (tmp_path / "check.xml").read_text()
    assert summary.read_text().startswith("of another step\n## unwaver check\n")
    assert "**fail**" in summary.read_text()
    assert check("--markdown", "own.md")[0] == 1
    assert check("--markdown", "own.md")[0] == 1  # ours may be replaced
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(UsageError, match="unwaver did not write"):
        check("--markdown", "notes.md")


def test_json(check: Check, tmp_path: Path) -> None:
    check("--accept")
    write(tmp_path, broken=range(40))
    code, out = check("--json")
    found = json.loads(out)
    assert (code, found["verdict"], found["complete"]) == (1, "fail", True)
    assert found["sources"][0]["changes"][0]["broken"][:2] == ["q0", "q1"]


def test_from_a_folder_below(check: Check, tmp_path: Path) -> None:
    check("--accept")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    os.chdir(tmp_path / "deep" / "down")
    assert check("--markdown", "here.md")[0] == 0
    assert (tmp_path / "deep" / "down" / "here.md").exists()


def test_without_bars_nothing_can_be_decided(check: Check, tmp_path: Path) -> None:
    (tmp_path / "unwaver.toml").write_text("[sources.answers]\nlog = 'answers.csv'\n")
    with pytest.raises(UsageError, match="no bars"):
        check()


def test_explain_asks_and_writes_nothing(check: Check, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out = check("--explain")
    assert code == 0
    assert "score the log answers.csv" in out
    assert sorted(tmp_path.rglob("*")) == before


def test_a_log_that_is_not_there(check: Check, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").unlink()
    with pytest.raises(UnwaverError, match=r"answers.csv"):
        check()


def test_another_model_takes_the_place_of_the_accepted_one(check: Check, tmp_path: Path) -> None:
    (tmp_path / "shop_bots.py").write_text(
        "def bot(requests):\n    return ['nine'] * len(requests)\n\n\n"
        "def other(requests):\n    return ['nine' if r['prompt'][0].isupper() else 'ten' for r in requests]\n"
    )
    rows = "\n".join(f"When does shop {n} open?" for n in range(60))
    (tmp_path / "questions.csv").write_text(f"question\n{rows}\n")
    (tmp_path / "unwaver.toml").write_text(
        "bars = ['drop<=0.10']\n[run]\nmodel = 'python/shop_bots:bot'\n"
        "[sources.questions]\nfrom = 'questions.csv'\nvariants = ['surface_case']\n"
    )
    assert check("--accept")[0] == 0
    assert check()[0] == 0
    code, out = check("--model", "python/shop_bots:other")
    assert (code, out.split()[0]) == (1, "fail"), out


def test_at_most_eight_lines_whatever_happens(check: Check, tmp_path: Path) -> None:
    (tmp_path / "unwaver.toml").write_text(TOML.replace('"drop<=0.05"', '"drop<=0.05", "tau<=0.05"'))
    write(tmp_path, broken=[5])
    check("--accept")
    write(tmp_path, broken=range(10, 40), groups=230)
    for options in ((), ("--accept",)):
        assert len(check(*options)[1].splitlines()) <= 8


def test_texts_only_where_they_are_wanted(check: Check, tmp_path: Path) -> None:
    for options in (("--with-texts",), ("--accept", "--with-texts", "--without-texts")):
        with pytest.raises(UsageError, match="--with-texts"):
            check(*options)
    assert not (tmp_path / LOCK).exists()
