"""`unwaver show`: worst first, long texts cut around what differs, and files with texts, answers and agreement."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from unwaver.answers.given import complete
from unwaver.reports.listed import listed
from unwaver.reports.side_by_side import LONGEST, _parts, print_group
from unwaver.types import Group, Item

Call = Callable[..., tuple[int, str, str]]


def table(kind: str = "semantic") -> pl.DataFrame:
    """Groups with none, one and two of two variants that flip, in this order, and one that was not answered."""
    labels = {"held": "aaa", "half": "aab", "worst": "abb"}
    rows: list[dict[str, Any]] = [
        {
            "group": name,
            "kind": kind,
            "role": "variant" if k else "original",
            "item": f"{name}/{k}",
            "label": label,
        }
        for name, answers in labels.items()
        for k, label in enumerate(answers)
    ]
    missing = {"group": "lost", "kind": kind, "item": "lost/0", "label": None, "status": "failed"}
    rows += [{**missing, "role": "original"}, {**missing, "role": "variant", "item": "lost/1"}]
    return complete(
        pl.DataFrame([{"status": None, **row} for row in rows], schema_overrides={"status": pl.String})
    )


def test_worst_first_with_their_agreement() -> None:
    found = listed([table()])
    assert [(each.group, each.state, each.agreement) for each in found] == [
        ("worst", "broken", 0.0),
        ("half", "broken", 0.5),
    ]
    everything = listed([table()], everything=True)
    assert [each.group for each in everything] == ["worst", "half", "held", "lost"]
    assert [each.agreement for each in everything] == [0.0, 0.5, 1.0, None]
    assert everything[-1].state == "missing"


def test_agreement_of_a_bucket_is_that_of_its_pairs() -> None:
    rows = [
        {"group": "b", "kind": "bucket", "role": "variant", "item": str(k), "label": label, "gold": "a"}
        for k, label in enumerate("aab")
    ]
    (found,) = listed([complete(rows)])
    assert found.agreement == pytest.approx(1 / 3, abs=1e-4)


# --- texts --------------------------------------------------------------------------------------------------


def shown(before: str, after: str, label: str = "yes", longest: int | None = LONGEST) -> tuple[str, bool]:
    items = (Item("o", "t", "original", {"question": before}), Item("v", "t", "variant", {"question": after}))
    out = io.StringIO()
    console = Console(file=out, width=10_000, color_system=None, highlight=False)
    answers = {"o": [{"label": label, "status": "answered"}], "v": [{"label": "no", "status": "answered"}]}
    cut = print_group(Group("g", "s", "t", "semantic", "same", items), answers, console, longest=longest)
    return out.getvalue(), cut


@pytest.mark.parametrize("place", [0, 150, 299])
def test_a_long_text_is_cut_around_what_differs(place: int) -> None:
    words = [f"word{n}" for n in range(300)]
    other = [*words[:place], "CHANGED", *words[place + 1 :]]
    said, cut = shown(" ".join(words), " ".join(other))
    assert cut
    assert "*CHANGED*" in said
    assert "…" in said
    assert max(map(len, said.splitlines())) < LONGEST + 60
    whole, cut = shown(" ".join(words), " ".join(other), longest=None)
    assert not cut
    assert "word298" in whole


def test_a_short_text_is_not_cut() -> None:
    said, cut = shown("Is it late?", "Is it late now?")
    assert not cut
    assert "…" not in said


def test_long_answers_and_words_are_cut() -> None:
    said, cut = shown("q" * 5000, "r" * 5000, label="x" * 3000)
    assert cut
    assert len(said) < 3 * LONGEST + 300


def test_the_command_says_how_to_see_all(call: Call) -> None:
    long = "very " * 400
    Path("t.csv").write_text(
        f"group,kind,role,label,question\n1,semantic,original,yes,Is it {long}late?\n1,semantic,variant,no,Is it {long}now?\n"
    )
    code, out, _ = call("show", "t.csv")
    assert code == 0
    assert "--full shows all of them" in out
    assert out.count("very") < 200
    code, out, _ = call("show", "t.csv", "--full")
    assert out.count("very") == 800
    assert "--full" not in out


def test_the_first_wording_of_a_bucket_is_shown(call: Call) -> None:
    Path("t.csv").write_text("bucket,question,answer\nb,How much is it?,1\nb,What is the price?,2\n")
    code, out, err = call("show", "t.csv")
    assert code == 0, err
    assert "How much is it?" in out


def test_groups_of_one_name_in_two_tasks_keep_their_texts(call: Call) -> None:
    rows = [
        ("one", "b", "Is the first wording here?", "yes"),
        ("one", "b", "Second wording?", "no"),
        ("two", "b", "Quite another question?", "yes"),
        ("two", "b", "Asked once more?", "no"),
    ]
    Path("t.csv").write_text("task,bucket,question,answer\n" + "".join(",".join(row) + "\n" for row in rows))
    code, out, err = call("show", "t.csv")
    assert code == 0, err
    assert all(row[2].split()[0].strip("?") in out for row in rows)


# --- files --------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Path:
    monkeypatch.chdir(tmp_path)
    code, _, err = call(
        "run", "sample/snli", "sample/facts", "--model", "fake/random", "--replicates", "2", "--out", "r", "--no-report", "-q"
    )  # fmt: skip
    assert code == 0, err
    return tmp_path / "r"


def test_csv_has_texts_answers_and_agreement(run: Path, call: Call) -> None:
    code, out, err = call("show", "r", "--csv", "-")
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    groups = json.loads(call("show", "r", "--json", "--limit", "999")[1])
    assert len({(row["kind"], row["group"]) for row in rows}) == groups["found"] > 10  # all, whatever --limit is
    assert {row["state"] for row in rows} == {"broken"}
    assert {row["replicate"] for row in rows} == {"0", "1"}
    assert all(row["text"] and row["answer"] for row in rows)
    assert all(0 <= float(row["agreement"]) <= 1 for row in rows)
    first = groups["groups"][0]
    assert (rows[0]["group"], float(rows[0]["agreement"])) == (first["group"], first["agreement"])
    few = list(csv.DictReader(io.StringIO(call("show", "r", "--csv", "-", "--limit", "2")[1])))
    assert len({row["group"] for row in few}) == 2


def test_jsonl_and_files(run: Path, call: Call) -> None:
    code, out, err = call("show", "r", "--jsonl", "g.jsonl", "--csv", "g.csv", "--all", "--only", "sample/snli")
    assert code == 0, err
    lines = [json.loads(line) for line in Path("g.jsonl").read_text().splitlines()]
    assert f"{len(lines)} groups with " in out
    assert {line["kind"] for line in lines} == {"semantic", "negational", "symmetric", "transitive"}
    assert lines[0]["agreement"] <= lines[1]["agreement"]
    assert lines[0]["answers"][0]["text"].startswith("premise: ")
    assert len(list(csv.DictReader(io.StringIO(Path("g.csv").read_text())))) == sum(
        len(line["answers"]) for line in lines
    )
    assert call("show", "r", "--jsonl", "g.jsonl")[0] == 0  # its own file may be replaced


def test_formulas_do_not_run_in_a_spreadsheet(call: Call) -> None:
    rows = [
        {
            "group": "=1+1",
            "kind": "semantic",
            "role": "original",
            "label": "=cmd|' /C calc'!A0",
            "question": "@SUM(1)",
        },
        {"group": "=1+1", "kind": "semantic", "role": "variant", "label": "+2", "question": "-3"},
    ]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = call("show", "t.jsonl", "--csv", "-")
    assert code == 0, err
    cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "-"))]
    assert "'=cmd|' /C calc'!A0" in cells
    assert json.loads(call("show", "t.jsonl", "--jsonl", "-")[1])["answers"][0]["answer"] == "=cmd|' /C calc'!A0"


def test_no_output_over_an_input_or_the_file_of_somebody(run: Path, call: Call) -> None:
    Path("t.csv").write_text("group,kind,role,label\n1,semantic,original,a\n1,semantic,variant,b\n")
    before = Path("t.csv").read_text()
    for arguments in (
        ("show", "t.csv", "--csv", "t.csv"),
        ("show", "t.csv", "--csv", "t.csv", "--force"),
        ("show", "r", "--jsonl", "t.csv"),
        ("show", "r", "--csv", "r/groups.jsonl"),
        ("show", "r", "--csv", "r/answers.sqlite", "--force"),
    ):
        code, _, err = call(*arguments)
        assert code == 2, arguments
        assert "--csv" in err or "--jsonl" in err
    assert Path("t.csv").read_text() == before


@pytest.mark.parametrize(
    "both", [("--csv", "-", "--json"), ("--csv", "-", "--jsonl", "-"), ("--csv", "x", "--failed"), ("--jsonl", "x", "--unreadable")]
)  # fmt: skip
def test_what_cannot_be_combined(run: Path, call: Call, both: tuple[str, ...]) -> None:
    code, _, err = call("show", "r", *both)
    assert code == 2
    assert "cannot be combined" in err


@pytest.mark.parametrize("form", ["--csv", "--jsonl"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, form: str) -> None:
    rows = [
        {"group": f"g{n}", "kind": "semantic", "role": role, "label": role, "question": "Is it so? " * 40}
        for n in range(2000)
        for role in ("original", "variant")
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = f"'{sys.executable}' -m unwaver.cli.main show t.jsonl {form} - | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@given(*[st.lists(st.sampled_from("abcd"), max_size=12)] * 2)
def test_words_that_differ(old: list[str], new: list[str]) -> None:
    parts = _parts(old, new)
    assert [word for words, _ in parts for word in words] == new
    kept = [word for words, differs in parts if not differs for word in words]
    rest = iter(old)
    assert all(word in rest for word in kept)  # in their order
    assert not parts or old != new or parts == [(new, False)]


@pytest.mark.parametrize("long", [["a"] * 50_000, ["a", "b"] * 25_000, [str(n) for n in range(30_000)][::-1]])
def test_long_texts_are_not_aligned(long: list[str]) -> None:
    """The test ends at all: to align them takes minutes."""
    other = [*sorted(long), "x"][::-1]
    parts = _parts(other, long)
    assert [word for words, _ in parts for word in words] == long
