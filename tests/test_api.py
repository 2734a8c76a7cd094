"""The commands as functions of Python: same names, same options, same numbers, and something to work with."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.api import BuildOptions, RunOptions
from unwaver.cli.main import cli, main
from unwaver.errors import DataError, UnwaverError, UsageError

VERBS = ("run", "score", "show", "report", "compare", "gate", "build", "check")
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">\x1b[31m\u202e'


def steady(prompt: str) -> str:
    return "yes"


def torn(prompt: str) -> str:
    return "no" if re.search(r"call it \d*[02468]\?", prompt) else "yes"


ROWS = [{"question": f"Is {n}?", "paraphrase": f"Would you call it {n}?", "label": "yes"} for n in range(40)]
LABELS = {"labels": ["yes", "no"]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def results() -> tuple[unwaver.Result, unwaver.Result]:
    return unwaver.run(ROWS, steady, **LABELS, out="old"), unwaver.run(ROWS, torn, **LABELS, out="new")


def test_every_function_has_a_command_of_its_name_and_a_signature() -> None:
    for name in VERBS:
        function = getattr(unwaver, name)
        assert name in cli.commands or cli.get_command(None, name), name  # type: ignore[arg-type]
        assert inspect.getdoc(function), name
        parameters = inspect.signature(function).parameters.values()
        assert all(p.annotation is not inspect.Parameter.empty for p in parameters), name


def test_importing_costs_nothing() -> None:
    code = (
        "import sys, unwaver\nfor name in ('run', 'check', 'Result', 'UnwaverError'): getattr(unwaver, name)\n"
        "print(sorted({'polars', 'numpy', 'rich', 'click', 'asyncio', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_the_typed_options_are_those_of_a_run() -> None:
    known = {field.name for field in fields(unwaver.Config)} - {"suites", "models"}
    assert set(inspect.get_annotations(RunOptions)) == known
    command = cli.get_command(None, "build")  # type: ignore[arg-type]
    assert command is not None
    given = {"label_map": "map"}
    options = {given.get(str(p.name), str(p.name)) for p in command.params}
    rest = {"variants", "file", "out", "force", "as_json", "quiet", "dry_run", "help"}
    assert set(inspect.get_annotations(BuildOptions)) == options - rest


def test_options_may_be_written_as_python_does() -> None:
    listed = unwaver.run(ROWS, torn, labels=["yes", "no"], out=Path("a"), limit=4)
    assert listed.run["config"]["labels"] == ("yes", "no")
    one = unwaver.run("sample/snli/semantic", "fake/random", limit=2, out="b", theta=0.5, agree=())
    assert one.run["config"]["theta"] == (0.5,)
    assert unwaver.run("sample/snli/semantic", ["fake/random"], limit=2, out="b").folder == Path("b")


def test_options_are_checked_with_a_hint() -> None:
    with pytest.raises(UsageError, match="run has no option 'limt'") as e:
        unwaver.run("sample", "fake/random", limt=3)  # type: ignore[call-arg]
    assert str(e.value.hint).startswith("did you mean limit?")
    with pytest.raises(UsageError, match="no option 'concurrency'") as e:
        unwaver.run("sample", steady, concurrency=3)  # type: ignore[call-arg]
    assert 'model_args={"concurrency": …}' in str(e.value.hint)
    with pytest.raises(UsageError, match="build has no option 'replicates'"):
        unwaver.build("negate", ROWS, task="snli", out="g.jsonl", replicates=2)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="has no effect: an object that is a model"):
        unwaver.run("sample/snli", _Object(), base_url="http://127.0.0.1:1")  # type: ignore[arg-type]


class _Object:
    name, identity, method, settings, reads, deterministic = "m", "", "m", {}, ("prompt",), True

    def answer(self, requests: Any) -> Any:
        raise AssertionError

    def close(self) -> None: ...


def test_base_url_is_an_option_of_the_model() -> None:
    with pytest.raises(UnwaverError) as e:
        unwaver.run(ROWS, "openai/m", base_url="http://127.0.0.1:9/v1", model_args={"retries": 0}, **LABELS)
    assert "http://127.0.0.1:9/v1" in str(e.value)


# --- a result ---------------------------------------------------------------------------------------------------


def test_scores_as_a_frame(results: Any) -> None:
    frame = results[1].frame()
    assert isinstance(frame, pl.DataFrame)
    assert len(frame) == len(results[1])
    (tau,) = frame.filter((pl.col("metric") == "tau") & pl.col("given").is_null())["value"]
    assert tau == results[1].find("tau").value == 0.5
    assert frame.schema["value"] == pl.Float64
    assert frame.schema["base_f1"] == pl.Float64  # also where there is none
    assert frame.schema["flags"] == pl.List(pl.String)
    assert unwaver.Result([]).frame().columns == frame.columns
    assert repr(unwaver.Result([])) == "no scores"


def test_frames_become_pandas_with_nothing_but_pandas(results: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    for table in (results[1].frame().to_pandas(), results[1].to_pandas(), results[1].broken().to_pandas()):
        assert isinstance(table, pandas.DataFrame)
        assert len(table) > 0
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas is not installed") as e:
        results[1].to_pandas()
    assert "pip install pandas" in str(e.value)


def test_broken_groups_as_a_frame(results: Any) -> None:
    old, new = results
    assert len(old.broken()) == 0
    assert old.broken().columns == new.broken().columns
    broken = new.broken()
    assert broken["group"].n_unique() == 20
    first = broken.row(1, named=True)
    assert (first["role"], first["text"], first["answer"], first["right"]) == (
        "variant", "Would you call it 0?", "no", False,
    )  # fmt: skip
    assert broken["agreement"].to_list() == sorted(broken["agreement"])
    assert set(broken["state"]) == {"broken"}


def test_the_worst_group_comes_first() -> None:
    rows = [
        {"group": name, "kind": "semantic", "role": role, "label": label}
        for name, labels in (("half", "yyn"), ("whole", "ynn"), ("fine", "yyy"))
        for role, label in zip(("original", "variant", "variant"), labels, strict=True)
    ]
    found = unwaver.score(rows).broken()
    assert found["group"].unique(maintain_order=True).to_list() == ["whole", "half"]
    assert found["agreement"].unique(maintain_order=True).to_list() == [0.0, 0.5]
    with pytest.raises(UsageError, match="no answers"):
        unwaver.Result([]).broken()


def test_a_result_keeps_its_answers_when_the_folder_has_others() -> None:
    first = unwaver.run(ROWS, torn, **LABELS, out="same")

    def torn_again(prompt: str) -> str:
        return "yes"

    torn_again.__name__ = "torn"  # defined again, as in a notebook
    second = unwaver.run(ROWS, torn_again, **LABELS, out="same")
    assert first.broken()["group"].n_unique() == 20
    compared = unwaver.compare(first, second)
    assert (len(compared.fixed), len(compared.broken)) == (20, 0)
    assert "torn (same, run 2) against torn (same, run 1)" in str(compared)
    assert unwaver.gate(first, "tau<=0.1").verdict == "fail"


# --- the other commands -----------------------------------------------------------------------------------------


def test_compare(results: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = unwaver.compare(*results)
    by_folder = unwaver.compare("old", "new")
    assert found[0].rows == by_folder[0].rows
    assert len(found.broken) == 20
    assert found.rows[0].verdict == "worse"
    assert found.frame()["difference"].to_list() == [0.5]
    with pytest.raises(SystemExit):
        main(["compare", "old", "new", "--json"])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(by_folder.document()))
    assert "worse" in repr(found)
    assert ".broken" in str(found)
    with pytest.raises(UsageError, match="only one run"):
        unwaver.compare("old")
    with pytest.raises(UsageError, match="nothing to compare"):
        unwaver.compare()


def test_gate_takes_results_tables_and_text_bars(results: Any) -> None:
    assert not unwaver.gate(results[1], "tau<=0.10")
    assert unwaver.gate(results[0], ["tau<=0.20", "accuracy>=0.8"]).is_met
    table = [
        {"group": n, "kind": "semantic", "role": role, "label": "a"}
        for n in range(60)
        for role in ("original", "variant")
    ]
    assert unwaver.gate(unwaver.score(table), ["tau<=0.1"]).verdict == "pass"
    assert unwaver.gate(table, ["tau<=0.1"]).verdict == "pass"
    assert repr(unwaver.gate(results[1], "tau<=0.10")).startswith("fail\n")


def test_report(results: Any) -> None:
    pytest.importorskip("vl_convert")
    page = unwaver.report(results[1])
    assert page.path == Path("new/report.html")
    assert Path(page).read_text().startswith("<!doctype html>")
    assert str(page) == repr(page) == "new/report.html"
    table = unwaver.report("new", format="csv")
    assert table.text is not None
    assert table.text.startswith("suite,task,kind,metric")
    assert str(table) == table.text
    both = unwaver.report(*results, out="both.html")
    assert both.path.exists()
    figures = unwaver.report(results[1], format="svg", out="figures")
    assert figures.paths
    assert "data:image/svg+xml;base64," in figures._repr_html_()
    Path("notes.html").write_text("mine")
    with pytest.raises(UsageError, match="did not write"):
        unwaver.report("new", out="notes.html")
    assert unwaver.report("new", out="notes.html", force=True).path == Path("notes.html")
    with pytest.raises(UsageError, match="no report of format 'htm'"):
        unwaver.report("new", format="htm")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not written to a file"):
        _ = table.path


def test_show(results: Any) -> None:
    found = unwaver.show(results[1], limit=2)
    assert len(found) == 20
    assert str(found).count("Would you call it") == 2
    assert "the first 2 are shown" in str(found)
    assert found.frame()["group"].n_unique() == 20
    assert unwaver.show("new").frame().equals(found.frame())
    assert len(unwaver.show("new", everything=True)) == 40
    assert len(unwaver.show("old")) == 0
    for odd in ({"only": "becel"}, {"model": "gpt"}, {"limit": 0}):
        with pytest.raises(UsageError):
            unwaver.show("new", **odd)
    with pytest.raises(DataError):
        unwaver.show("nowhere")


def test_build_and_run_what_was_built() -> None:
    rows = [{"premise": "A man walks.", "hypothesis": "A man moves.", "label": "entailment"}]
    built = unwaver.build(["surface_case", "surface_typo"], rows, task="snli", out="groups.jsonl")
    assert built.kinds == {"surface_case": 1, "surface_typo": 1}
    assert built.path == Path("groups.jsonl")
    assert "written: groups.jsonl" in repr(built)
    result = unwaver.run(built, "fake/random", out="built")
    assert {s.kind for s in result} == {"surface_case", "surface_typo"}
    Path("mine.jsonl").write_text("notes")
    with pytest.raises(UsageError, match="did not write"):
        unwaver.build("surface_case", rows, task="snli", out="mine.jsonl")


PROJECT = """
[run]
model = "fake/constant"
labels = ["yes", "no"]
[sources.faq]
from = "faq.csv"
[bars]
"*" = ["tau<=0.10"]
"""


def test_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tmp_path / "project" / "below"
    project.mkdir(parents=True)
    (project.parent / "unwaver.toml").write_text(PROJECT)
    lines = [f"Is {n}?,Would you call it {n}?" for n in range(80)]
    (project.parent / "faq.csv").write_text("\n".join(["question,paraphrase", *lines]) + "\n")
    found = unwaver.check(project, with_report=False)
    assert Path.cwd() == tmp_path  # a function of Python leaves the working folder alone
    assert found
    assert found.is_met
    assert repr(found).startswith("pass ")
    assert found.sources[0].result.broken().is_empty()
    again = unwaver.check(project.parent, model="fake/random", with_report=False)
    assert not again
    assert again.gate.verdict == "fail"
    with pytest.raises(UnwaverError, match=r"there is no unwaver\.toml"):
        unwaver.check(tmp_path)


# --- in a notebook ----------------------------------------------------------------------------------------------


def test_a_notebook_shows_model_verdict_and_notes(results: Any) -> None:
    page = results[1]._repr_html_()
    assert "torn (python)" in page
    assert "1 relation was measured: 1 inconsistent." in page
    assert "1 in 2 paraphrases" in page
    assert "Run folder: new" in page
    rows = [{"group": 1, "kind": "semantic", "role": role, "label": "a"} for role in ("original", "variant")]
    assert "Without gold labels, unwaver cannot compute" in unwaver.score(rows)._repr_html_()
    for shown in (unwaver.compare(*results), unwaver.gate(results[1], "tau<=0.1"), unwaver.show(results[1])):
        assert "<table>" in shown._repr_html_()


def test_hostile_texts_are_inert_in_a_notebook() -> None:
    rows = [
        {
            "group": f"{HOSTILE}{n}",
            "kind": "semantic",
            "role": role,
            "label": label,
            "task": HOSTILE,
            "model": HOSTILE,
        }
        for n in range(3)
        for role, label in (("original", HOSTILE), ("variant", "a"))
    ]
    result = unwaver.score(rows)
    shown = [result, unwaver.show(result), unwaver.gate(result, "tau<=0.1"), unwaver.compare(result, result)]
    for each in shown:
        page = each._repr_html_()
        assert "<script" not in page
        assert "<img" not in page
        assert "\x1b" not in page + str(each)
        assert "\u202e" not in page + str(each)
    assert "&lt;script&gt;" in result._repr_html_()
