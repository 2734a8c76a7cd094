"""Analyses of scores and tables: Pareto front, splits, comparison, series."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.analysis.series import series
from unwaver.analysis.split import by_column, by_partial_input, split_scores
from unwaver.analysis.two_tables import compare_tables
from unwaver.answers.given import complete
from unwaver.errors import DataError, UsageError
from unwaver.metrics.pareto import consistency_at, front, pareto


def table(*answers: str, originals: str = "", **more: Any) -> pl.DataFrame:
    rows = []
    for n, bucket in enumerate(answers):
        base = {
            "group": f"p{n}",
            "kind": "bucket",
            "gold": "1",
            **{k: v[n] if isinstance(v, list) else v for k, v in more.items()},
        }
        if originals:
            rows.append({**base, "role": "original", "label": originals[n]})
        rows += [{**base, "role": "variant", "label": a} for a in bucket]
    return complete(rows)


def value(scores: Any, metric: str) -> float | None:
    found: float | None = next(s.value for s in scores if s.metric == metric)
    return found


def test_front() -> None:
    assert front([(0.9, 0.8), (0.8, 0.9), (0.8, 0.8), (0.9, 0.8)]) == [True, True, False, True]
    assert front([]) == []


def test_pareto_by_relation() -> None:
    good, bad = unwaver.score(table("11", "10", model="good")), unwaver.score(table("00", "10", model="bad"))
    other = unwaver.score(table("00", "00", model="bad", task="other"))
    points = pareto([*good, *bad, *other])
    assert [(p.model, p.front) for p in points] == [("good", True), ("bad", False), ("bad", True)]
    assert points[0].accuracy == 0.75
    assert points[0].consistency == 0.75
    assert points[0].floor == consistency_at(0.75, 1.0) == 0.625
    assert points[0].share == pytest.approx(value(good, "PVAP"))
    assert consistency_at(0.75, points[0].share or 0) == pytest.approx(0.75)


def test_split_by_a_column() -> None:
    frame = table("11", "10", "00", level=["easy", "hard", "hard"], weight=[0.5, 0.25, 0.25])
    parts = by_column(frame, "level")
    assert parts == {"p0": "easy", "p1": "hard", "p2": "hard"}
    found = split_scores(frame, parts)
    assert {part: value(scores, "A_bucket") for part, scores in found.items()} == {"easy": 1.0, "hard": 0.25}
    assert value(found["hard"], "P_C_corrected") == 0.75
    names = {s.metric for s in found["hard"]}
    assert "A_corrected" in names
    assert not {n for n in names if n.endswith("_published") or n == "weight_mass"}


def test_a_column_must_hold_one_value_a_group() -> None:
    frame = table("10", level="x")
    with pytest.raises(DataError, match="several values in group p0"):
        by_column(frame.with_columns(level=pl.Series(["x", "y"])), "level")
    with pytest.raises(UsageError, match="no column 'levl'"):
        by_column(frame, "levl")
    with pytest.raises(DataError, match="expected text"):
        by_column(frame.with_columns(level=pl.Series([b"x", b"\xff"])), "level")
    with pytest.raises(DataError, match="lists of other things"):
        by_column(frame.with_columns(level=pl.Series([[b"x"], [b"\xff"]])), "level")


def test_split_by_a_partial_input_model() -> None:
    full = table("11", "10", "00", originals="101")
    partial = table("10", "01", "11", originals="110", model="partial")
    parts = by_partial_input(partial)
    assert parts == {"p0": "likely", "p1": "likely", "p2": "unlikely"}
    found = split_scores(full, parts)
    assert value(found["likely"], "A_bucket") == 0.75
    assert value(found["unlikely"], "A_bucket") == 0.0
    of_partial = split_scores(partial, parts)
    assert [value(of_partial[p], "A_original") for p in ("likely", "unlikely")] == [1.0, 0.0]
    with pytest.raises(DataError, match="none of the 3 groups"):
        split_scores(full, {"q0": "likely"})
    with pytest.raises(DataError, match="no answer to an original"):
        by_partial_input(table("10"))


def test_artifacts_on_the_published_predictions(data: Path) -> None:
    from types import SimpleNamespace

    from unwaver.logs.paranlu import read

    folder = data / "paranlu" / "predictions"
    full, partial = (
        read(folder / f"snli_human_d-snli-{name}.json.gz", SimpleNamespace(test=None))
        for name in ("roberta-large", "partial_input_lexical")
    )
    parts = by_partial_input(partial)
    found = split_scores(full, parts)
    assert sum(next(iter(scores)).groups for scores in found.values()) == 250
    whole = unwaver.score(full)
    weights = [next(iter(found[p])).groups / 250 for p in found]
    parts_mean = sum(w * value(found[p], "P_C") for w, p in zip(weights, found, strict=True))  # type: ignore
    assert parts_mean == pytest.approx(value(whole, "P_C"))


def test_compare_takes_shared_problems_in_any_order() -> None:
    human = table("10", "11", "00")
    automatic = table("11", "11", "00", "10")
    shuffled = pl.concat([automatic.filter(pl.col("group") == g) for g in ("p3", "p2", "p0", "p1")])
    for other in (automatic, shuffled):
        found = {d.metric: d for d in compare_tables(human, other)}
        assert (found["P_C"].first, found["P_C"].second) == (pytest.approx(5 / 6), 1.0)
        assert found["P_C"].difference == pytest.approx(-1 / 6)
        assert found["P_C"].groups == 3
        assert found["P_C"].low <= found["P_C"].difference <= found["P_C"].high  # type: ignore[operator]
    with pytest.raises(DataError, match="no problem is in both"):
        compare_tables(human, automatic.with_columns(group=pl.lit("z")))
    with pytest.raises(DataError, match="more than one model"):
        compare_tables(human, pl.concat([automatic, automatic.with_columns(model=pl.lit("m2"))]))


def test_a_model_compared_with_itself_does_not_differ() -> None:
    for d in compare_tables(table("10", "11", "01"), table("10", "11", "01")):
        assert (d.difference, d.low, d.high) == (0.0, 0.0, 0.0)


def test_series_is_ordered_by_size() -> None:
    steps = series(
        {1.0: unwaver.score(table("11", "10")), 0.1: unwaver.score(table("00", "00"))}, ["A_bucket", "P_C"]
    )
    assert [(s.size, s.values["A_bucket"][0], s.values["P_C"][0]) for s in steps] == [
        (0.1, 0.0, 1.0),
        (1.0, 0.75, 0.75),
    ]
    assert steps[0].flags == ("constant",)


# --- the command line ---------------------------------------------------------------------------------------


def written(path: Path, *answers: str, originals: str) -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["group", "kind", "role", "label", "gold", "level"])
        for n, (original, bucket) in enumerate(zip(originals, answers, strict=True)):
            for role, answer in [("original", original), *(("variant", a) for a in bucket)]:
                rows.writerow([f"p{n}", "bucket", role, answer, "1", "low" if n else "high"])
    return path


def test_commands(unwaver: Any, tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", "11", "10", "00", originals="110")
    two = written(tmp_path / "two.csv", "11", "11", "10", originals="101")
    called: dict[str, Any] = {}
    for name, args in {
        "pareto": (one, two),
        "series": (f"0.1={one}", f"1={two}"),
        "split": (one, "--by", "level"),
        "compare": (one, two),
    }.items():
        done = unwaver("analyse", name, *args, "--json")
        assert done.returncode == 0, done.stderr
        called[name] = json.loads(done.stdout)
        assert unwaver("analyse", name, *args).returncode == 0
    names = [p["model"] for p in called["pareto"]["points"]]
    assert names == [f"table ({one})", f"table ({two})"]  # told apart, as a table does not name its model
    assert [s["size"] for s in called["series"]["steps"]] == [0.1, 1.0]
    assert {s["part"] for s in called["split"]["scores"]} == {"high", "low"}
    assert called["compare"]["differences"][0]["metric"] == "P_C"


def test_commands_say_what_is_wrong(unwaver: Any, tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", "11", originals="1")
    for args, message in (
        (("split", one), "give one of --by"),
        (("split", tmp_path / "absent.csv", "--by", "x"), "no such file"),
        (("series", "many=x.csv"), "expected SIZE=PATH"),
        (("pareto", one, "--accuracy", "A_corrected"), "no model has both"),
    ):
        done = unwaver("analyse", *args)
        assert done.returncode == 2
        assert message in done.stderr


def test_every_option_is_described() -> None:
    from unwaver.cli.analyse_verb import command as analyse
    from unwaver.cli.bow_verb import command as bow

    docs = Path(__file__).parent.parent.parent / "docs"
    text = "\n".join(page.read_text(encoding="utf-8") for page in docs.glob("*.md"))
    for command in (*analyse.commands.values(), bow):
        for option in {o for p in command.params for o in p.opts if o.startswith("--")}:
            assert option in text, f"{command.name} {option}"


# --- nothing measured ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["compare t.csv t.csv", "series 1=t.csv", "compare one.csv one.csv", "split one.csv --by topic"],
)
def test_nothing_measured_is_an_error_and_not_an_empty_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    from unwaver.cli.main import cli
    from unwaver.errors import DataError

    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("group,kind,role,label,gold\na,semantic,original,x,x\na,semantic,variant,y,x\n")
    Path("one.csv").write_text(
        "group,kind,expect,role,label,status,topic\na,own,bucket,variant,,failed,u\na,own,bucket,variant,,failed,u\n"
    )
    for options in ([], ["--json"]):
        with pytest.raises(DataError, match="nothing was measured") as e:
            cli.main(["analyse", *command.split(), *options], standalone_mode=False)
        assert "unwaver score" in str(e.value.hint)


def test_a_split_of_pairs_shows_their_main_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unwaver.cli.main import cli

    monkeypatch.chdir(tmp_path)
    rows = ["a,semantic,original,x,x,easy", "a,semantic,variant,y,x,easy"]
    Path("t.csv").write_text("\n".join(["group,kind,role,label,gold,level", *rows]))
    cli.main(["analyse", "split", "t.csv", "--by", "level"], standalone_mode=False)
    assert "tau" in capsys.readouterr().out


@pytest.mark.parametrize("size", ["1M", "10k", "1,000", "0.5", "10%", "7B", "1e3"])
def test_sizes_of_a_series_as_people_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    from unwaver.cli.main import cli

    monkeypatch.chdir(tmp_path)
    rows = [f"{g},{v},x,x" for g in ("a", "b") for v in (1, 2)]
    Path("t.csv").write_text("\n".join(["bucket,variant,answer,gold", *rows]))
    cli.main(["analyse", "series", f"{size}=t.csv"], standalone_mode=False)
    assert f" {size} " in capsys.readouterr().out


def test_one_size_twice_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.cli.main import cli

    monkeypatch.chdir(tmp_path)
    for name, answer in (("a", "x"), ("b", "y")):
        rows = [f"{g},{v},{answer},x" for g in ("a", "b") for v in (1, 2)]
        Path(name).mkdir()
        Path(f"{name}/t.csv").write_text("\n".join(["bucket,variant,answer,gold", *rows]))
    for first, second in (("1M", "1m"), ("1k", "1000"), ("0.5", "50%")):
        with pytest.raises(UsageError, match=f"{second}=b/t.csv: table is in the series with this size already"):
            cli.main(["analyse", "series", f"{first}=a/t.csv", f"{second}=b/t.csv"], standalone_mode=False)


@pytest.mark.parametrize("size", ["x", "nan", "inf", "", "1Q", "-1"])
def test_what_is_not_a_size(size: str) -> None:
    from unwaver.cli.analysed import step_of

    with pytest.raises(UsageError, match="expected SIZE=PATH"):
        step_of(f"{size}=t.csv")
