"""analyse … --plot: what is drawn, and what is refused before the work."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unwaver.analysis.series import SeriesPoint
from unwaver.cli.analyse_verb import command as analyse
from unwaver.errors import UsageError
from unwaver.metrics.pareto import Point
from unwaver.reports import analysis_figures as figures

POINTS = [
    Point("a/b/c", "one", "m", 0.6, 0.8, 0.52, 0.4, True),
    Point("a/b/c", "two", "m", 0.5, 0.3, 0.5, None, False),
    Point("a/d/c", "one", "m", 0.6, 0.8, 0.52, 0.4, True),
]


def layers(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def test_a_panel_for_each_relation() -> None:
    one = figures.pareto_figure(POINTS[:1])
    assert one["title"]["text"] == "a/b/c"
    both = figures.pareto_figure(POINTS, "A_corrected", "P_C_pairs")
    assert [panel["title"]["text"] for panel in both["concat"]] == ["a/b/c", "a/d/c"]
    first = both["concat"][0]
    axes = layers(first, "line")[0]["encoding"]
    assert (axes["x"]["axis"]["title"], axes["y"]["axis"]["title"]) == ("A_corrected", "P_C_pairs")
    assert axes["y"]["scale"]["domain"] == [0.0, 1]  # a point below the least P_C is not left out
    assert both["concat"][1]["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0.45, 1]


def test_a_series_is_joined_in_the_order_of_sizes() -> None:
    values = {"A_bucket": (0.6, None, None), "P_C": (0.8, None, None)}
    steps = [SeriesPoint(size, "a/b/c", "m", values, ()) for size in (0.1, 1.0)]
    spec = figures.series_figure([*steps, SeriesPoint(5, "a/b/c", "m", {"P_C": (None, None, None)}, ())], *values)
    assert [row["text"] for row in spec["data"]["values"]] == ["0.1", "1"]
    assert layers(spec, "line")[1]["encoding"]["order"]["field"] == "size"
    with pytest.raises(UsageError, match="no model of the series has both A_test and P_C"):
        figures.series_figure(steps, "A_test", "P_C")


def test_only_endings_that_can_be_drawn() -> None:
    assert figures.format_of(Path("a.PNG")) == "png"
    for name in ("a.jpg", "a"):
        with pytest.raises(UsageError, match="--plot"):
            figures.format_of(Path(name))


def table(path: Path, labels: str) -> Path:
    with path.open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["group", "kind", "role", "label", "gold"])
        writer.writerows([f"g{n // 3}", "bucket", "variant", label, "1"] for n, label in enumerate(labels))
    return path


def test_the_commands_write_figures(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    one, other = table(tmp_path / "one.csv", "110100111"), table(tmp_path / "other.csv", "111110111")
    for arguments, name, beginning in (
        (["pareto", one, other], "a.svg", b"<svg"),
        (["series", f"1={one}", f"2={other}"], "b.png", b"\x89PNG"),
        (["compare", one, other], "c.pdf", b"%PDF"),
    ):
        given = [*map(str, arguments), "--plot", str(tmp_path / name)]
        done = CliRunner().invoke(analyse, given)
        assert done.exit_code == 0, done.exception
        assert (tmp_path / name).read_bytes().startswith(beginning)
        assert f"Figure: {tmp_path / name}" in done.output
        assert CliRunner().invoke(analyse, given).exit_code == 0  # its own file may be replaced
    assert ">one<" not in (tmp_path / "a.svg").read_text()
    assert "table (" in (tmp_path / "a.svg").read_text()
    (tmp_path / "mine.svg").write_text("<svg>mine</svg>")
    for name, message in (
        ("mine.svg", "did not write"),
        ("x.gif", "found the ending '.gif'"),
        ("no/a.svg", "No such"),
    ):
        done = CliRunner().invoke(analyse, ["pareto", str(one), "--plot", str(tmp_path / name)])
        assert message in str(done.exception)
    lacking = ["compare", str(one), str(other), "--consistency", "tau", "--plot", str(tmp_path / "d.svg")]
    assert "no tau in common" in str(CliRunner().invoke(analyse, lacking).exception)
