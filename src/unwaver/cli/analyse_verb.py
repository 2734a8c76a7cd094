"""unwaver analyse: one subcommand for each analysis. Everything heavy is imported when it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.analyse_cues import cues_command
from unwaver.cli.analyse_texts import distance_command, entailment_command, sizes_command
from unwaver.cli.analysed import check_measured, check_once, emit, leading, step_of, with_interval
from unwaver.cli.options import FORCE, JSON, PATH, SEED, TEST
from unwaver.cli.sections import option, section, verb, verbs
from unwaver.errors import DataError, UsageError
from unwaver.text.shown import percent, safe

if TYPE_CHECKING:
    import polars as pl

    from unwaver.types import Score


_ACCURACY, _CONSISTENCY = (
    "[default: A_bucket; with --test A_corrected]",
    "[default: P_C; with --test P_C_corrected]",
)
_PLOT = option(
    "--plot", type=PATH, metavar="FILE", help="Also draw accuracy against consistency: FILE.svg, .png or .pdf."
)


@verbs(
    "analyse",
    examples=(
        "unwaver analyse pareto runs/a runs/b",
        "unwaver analyse split answers.csv --by difficulty",
        "unwaver analyse distance sample/snli",
    ),
)
def command() -> None:
    """Analyse scores, tables of answers and paraphrases.

    No model is asked, except by `entailment` and by `distance` with --agree or --scorer.

    PATHS are run folders, tables or logs, as for `unwaver score`.
    """


for _each in (cues_command, distance_command, entailment_command, sizes_command):
    command.add_command(_each)


# --- scores -------------------------------------------------------------------------------------------------


@verb("pareto", within=command, examples=("unwaver analyse pareto runs/a runs/b",))
@click.argument("paths", nargs=-1, required=True, type=PATH)
@section(
    "What to analyse",
    option("--accuracy", metavar="METRIC", help=f"Metric for accuracy. {_ACCURACY}"),
    option("--consistency", metavar="METRIC", help=f"Metric for consistency. {_CONSISTENCY}"),
    TEST,
)
@section("Output", _PLOT, FORCE, JSON)
def pareto_command(
    paths: tuple[Path, ...],
    accuracy: str | None,
    consistency: str | None,
    test: tuple[str, ...],
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find the models that no other model beats.

    A model is on the front if no other has both higher accuracy and higher consistency.
    PATHS are run folders, scores.json files, tables or logs, with one or more models each.
    """
    from unwaver.metrics.pareto import pareto

    _check_plot(plot, force)
    accuracy, consistency = _corrected(accuracy, "A_bucket", test), _corrected(consistency, "P_C", test)
    found = _told_apart(dict(zip(map(str, paths), _all_scores(paths, test), strict=True)))
    points = pareto(found, accuracy, consistency)
    if not points:
        raise UsageError(f"no model has both {accuracy} and {consistency}", hint="unwaver score PATH --json")
    header = ("relation", "model", accuracy, consistency, "least", "PVAP", "front")
    rows = [
        (p.relation, p.model, percent(p.accuracy), percent(p.consistency), percent(p.floor), percent(p.share),
         "yes" if p.front else "")
        for p in points
    ]  # fmt: skip
    emit({"points": [asdict(p) for p in points]}, header, rows, as_json)
    measured = {(s.model, s.metric) for s in found if s.value is not None}
    for model in sorted({s.model for s in found} - {p.model for p in points}):
        lacks = accuracy if (model, accuracy) not in measured else consistency
        click.echo(f"{safe(model)} has no {lacks} and is left out", err=True)
    if plot is not None:
        from unwaver.reports.analysis_figures import pareto_figure

        _draw(pareto_figure(points, accuracy, consistency), plot, as_json)


def _corrected(name: str | None, plain: str, test: Sequence[str]) -> str:
    """The metric that was named; else the plain one, or with test sets the corrected one: they change no other."""
    return name or ({"A_bucket": "A_corrected", "P_C": "P_C_corrected"}[plain] if test else plain)


@verb("series", within=command, examples=("unwaver analyse series 0.1=runs/a 1=runs/b",))
@click.argument("steps", nargs=-1, required=True, metavar="SIZE=PATH…")
@section(
    "What to analyse",
    option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="Metric to show. Repeatable. [default: A_bucket, P_C, PVAP; with --test A_corrected, P_C_corrected]",
    ),
    TEST,
)
@section("Output", _PLOT, FORCE, JSON)
def series_command(
    steps: tuple[str, ...],
    metrics: tuple[str, ...],
    test: tuple[str, ...],
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show accuracy and consistency over training sizes.

    SIZE is a number: 0.1, 5000, 10k, 1M. PATH is a run folder, a scores.json, a table or a log.
    """
    from unwaver.analysis.series import series

    _check_plot(plot, force)
    metrics = metrics or (("A_corrected", "P_C_corrected") if test else ("A_bucket", "P_C", "PVAP"))
    sizes, texts, paths = zip(*map(step_of, steps), strict=True)
    written = dict(zip(sizes, texts, strict=True))
    models: dict[float, list[Score]] = {}
    for size, path, scores in zip(sizes, paths, _all_scores(paths, test), strict=True):
        check_once(written[size], path, models.get(size, ()), scores)
        models.setdefault(size, []).extend(scores)
    found = series(models, metrics)
    values = [value for step in found for value, *_ in step.values.values() if value is not None]
    check_measured(values, f"no model has {' or '.join(metrics)}")
    header = ("relation", "size", "model", *(m for name in metrics for m in (name, "95 % interval")), "flags")
    rows = []
    for step in found:
        cells = [c for name in metrics for c in with_interval(*step.values.get(name, (None, None, None)))]
        rows.append((step.relation, written[step.size], step.model, *cells, ", ".join(step.flags)))
    emit({"steps": [asdict(step) for step in found]}, header, rows, as_json)
    if plot is not None:
        from unwaver.reports.analysis_figures import series_figure

        _draw(series_figure(found, *_axes(metrics)), plot, as_json)


def _axes(metrics: Sequence[str]) -> tuple[str, str]:
    """The metrics to draw: the first of the accuracies and the first of the others that was named."""
    accuracy = next((m for m in metrics if m.startswith("A_") or m == "accuracy"), "A_bucket")
    return accuracy, next((m for m in metrics if m not in (accuracy, "PVAP")), "P_C")


# --- tables -------------------------------------------------------------------------------------------------

_SPLIT = ("P_C", "P_C_pairs", "PVAP", "A_original", "A_paraphrase", "P_C_corrected", "A_corrected")


@verb(
    "split",
    within=command,
    examples=(
        "unwaver analyse split answers.csv --by difficulty",
        "unwaver analyse split full.csv --partial partial.csv",
    ),
)
@click.argument("path", type=PATH)
@section(
    "What to analyse",
    option("--by", metavar="COLUMN", help="Column with one value per group."),
    option("--partial", type=PATH, metavar="PATH", help="Answers of a partial-input model."),
    TEST,
    option(
        "--weights",
        type=click.Choice(["whole", "recounted"]),
        default="whole",
        show_default=True,
        help="Corrected values: the weights of all problems, or bins counted again in each part (Table 7).",
    ),
    SEED,
)
@section("Output", JSON)
def split_command(
    path: Path, by: str | None, partial: Path | None, test: tuple[str, ...], weights: str, seed: int, as_json: bool
) -> None:
    """Score parts of the groups separately.

    Parts come from a column, or from whether a partial-input model is right.
    If a model that reads only the paraphrased part answers the original right, the item probably has an artifact.
    """
    from unwaver.analysis.split import by_column, by_partial_input, split_scores

    if (by is None) == (partial is None):
        raise UsageError("give one of --by COLUMN and --partial PATH", hint="unwaver analyse split --help")
    frame, *others = _tables([path, *([partial] if partial is not None else [])], test)
    if partial is not None:
        given = others[0]
        parts = by_partial_input(given)
        tables = [frame, given]
    else:
        parts, tables = by_column(frame, str(by)), [frame]
    if weights == "recounted" and not any((table["role"] == "test").any() for table in tables):
        hint = "add the same model's answers on the test set: --test FILE"
        raise UsageError("--weights recounted needs the test set that the bins are compared with", hint=hint)
    found = [
        (part, s)
        for table in tables
        for part, scores in split_scores(table, parts, seed=seed, recounted=weights == "recounted").items()
        for s in scores
    ]
    shown = [(part, s) for part, s in found if s.metric in _SPLIT and s.value is not None] or leading(found)
    check_measured(shown, f"no group has {', '.join(_SPLIT[:5])}")
    header = ("part", "relation", "model", "metric", "%", "95 % interval", "groups")
    rows = [
        (part, f"{s.task}/{s.kind}", s.model, s.metric, *with_interval(s.value, s.low, s.high), f"{s.counted:,}")
        for part, s in shown
    ]
    emit({"scores": [{"part": p, **asdict(s), "flags": list(s.flags)} for p, s in found]}, header, rows, as_json)


@verb("compare", within=command, examples=("unwaver analyse compare human.csv automatic.csv",))
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@section(
    "What to analyse",
    TEST,
    option("--accuracy", metavar="METRIC", help=f"--plot: the accuracy. {_ACCURACY}"),
    option("--consistency", metavar="METRIC", help=f"--plot: the consistency. {_CONSISTENCY}"),
    SEED,
)
@section("Output", _PLOT, FORCE, JSON)
def compare_command(
    first: Path,
    second: Path,
    test: tuple[str, ...],
    accuracy: str | None,
    consistency: str | None,
    seed: int,
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare two sets of paraphrases of the same problems.

    FIRST and SECOND hold, for example, human and automatic paraphrases.
    Differences are FIRST − SECOND.
    """
    from unwaver.analysis.two_tables import compare_tables

    _check_plot(plot, force)
    found = compare_tables(*_tables([first, second], test, one_model=True), seed=seed)
    check_measured(found, "no problem has a value of P_C or of accuracy in both tables")
    header = ("metric", "first", "second", "difference", "95 % interval", "groups")
    rows = [
        (
            d.metric,
            percent(d.first),
            percent(d.second),
            *with_interval(d.difference, d.low, d.high),
            f"{d.groups:,}",
        )
        for d in found
    ]
    emit({"differences": [asdict(d) for d in found]}, header, rows, as_json)
    if plot is not None:
        from unwaver.files import stem
        from unwaver.reports.analysis_figures import compare_figure

        names = stem(first) or str(first), stem(second) or str(second)
        axes = _corrected(accuracy, "A_bucket", test), _corrected(consistency, "P_C", test)
        _draw(compare_figure(found, names, *axes), plot, as_json)


# --- choosing examples --------------------------------------------------------------------------------------


@verb("aflite", within=command, examples=("unwaver analyse aflite embeddings.npz --train 20",))
@click.argument("embeddings", type=PATH)
@section(
    "How to split",
    option(
        "--models",
        type=click.IntRange(min=1),
        default=64,
        show_default=True,
        metavar="N",
        help="Linear models per round.",
    ),
    option(
        "--train",
        type=click.IntRange(min=2),
        default=5000,
        show_default=True,
        metavar="N",
        help="Training examples per model.",
    ),
    option(
        "--most",
        type=click.IntRange(min=1),
        default=500,
        show_default=True,
        metavar="N",
        help="Move at most N examples per round.",
    ),
    option(
        "--threshold",
        type=float,
        default=0.75,
        show_default=True,
        metavar="X",
        help="Examples with a higher score are easy.",
    ),
    SEED,
)
@section("Output", JSON)
def aflite_command(embeddings: Path, as_json: bool, **options: Any) -> None:
    """Split examples into easy and difficult ones (AFLite).

    EMBEDDINGS is an .npz file with the arrays `embeddings` and `labels`.
    """
    from unwaver.analysis.aflite import aflite
    from unwaver.models.arrays import NAMES, NUMBERS, read_arrays

    hint = "numpy.savez(path, embeddings=…, labels=…)"
    arrays = read_arrays(embeddings, {"embeddings": (2, NUMBERS), "labels": (1, NAMES)}, hint)
    sides = aflite(arrays["embeddings"].astype(float), arrays["labels"], **options)
    document = {"easy": sides.easy.tolist(), "difficult": sides.difficult.tolist(), "moved": list(sides.moved)}
    rows = [
        ("easy", f"{len(sides.easy):,}"),
        ("difficult", f"{len(sides.difficult):,}"),
        ("rounds", f"{len(sides.moved)}"),
    ]
    emit(document, ("side", "examples"), rows, as_json)


@verb("draw", within=command, examples=("unwaver analyse draw examples.csv --count 20",))
@click.argument("table", type=PATH)
@section(
    "What to draw",
    option(
        "--confidence",
        default="confidence",
        show_default=True,
        metavar="COLUMN",
        help="Column with the confidence, from 0 to 1.",
    ),
    option(
        "--count",
        type=click.IntRange(min=1),
        default=125,
        show_default=True,
        metavar="N",
        help="Number of examples to draw.",
    ),
    SEED,
)
@section("Output", JSON)
def draw_command(table: Path, confidence: str, count: int, seed: int, as_json: bool) -> None:
    """Draw examples evenly over ten bins of confidence, round-robin.

    Prints the number of each row, counted from 0, and its id.
    """
    import numpy as np

    from unwaver.files import read_rows
    from unwaver.stats.sampling import round_robin

    found = read_rows(table, required=(confidence,))
    values = []
    for row in found:
        try:
            values.append(float(row.cells[confidence]))
        except (TypeError, ValueError, OverflowError):
            values.append(-1.0)
        if not 0 <= values[-1] <= 1:
            raise row.where.error(f'column "{confidence}": expected a number from 0 to 1', "correct it")
    rows = [
        (str(n), str(found[n].cells.get("id", "")), f"{values[n]:.3f}")
        for n in round_robin(np.array(values), count, seed=seed)
    ]
    document = {"drawn": [{"row": int(n), "id": id, "confidence": float(c)} for n, id, c in rows]}
    emit(document, ("row", "id", "confidence"), rows, as_json)


# --- in and out ---------------------------------------------------------------------------------------------


_WRITTEN = r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"run"\s*:'  # how a scores.json begins


def _scores(path: Path) -> list[Score]:
    """Of a scores.json, or of anything that can be scored."""
    from unwaver.engine.load import score
    from unwaver.engine.stored import read_scores
    from unwaver.logs.common import head

    if not path.exists():
        raise DataError("there is no such file or folder", file=path, hint="give a run folder, scores or answers")
    document = path / "scores.json" if path.is_dir() else path
    written = document.name == "scores.json" or re.match(_WRITTEN, head(document))
    return read_scores(document) if written and document.is_file() else list(score(path))


def _told_apart(scores: Mapping[str, Sequence[Score]]) -> list[Score]:
    """All scores; a model name that several paths have gets its path added."""
    from collections import Counter

    paths_of = Counter(model for found in scores.values() for model in {s.model for s in found})
    return [
        replace(s, model=f"{s.model} ({path})") if paths_of[s.model] > 1 else s
        for path, found in scores.items()
        for s in found
    ]


def _tables(paths: Sequence[Path], test: Sequence[str], *, one_model: bool = False) -> list[pl.DataFrame]:
    """The answers of run folders, tables or logs, with the test sets of their models."""
    from unwaver.engine.load import load
    from unwaver.logs.test_sets import shared_test_sets

    with shared_test_sets(test, one_model=one_model) as sets:
        return [load(path, test=sets).frame for path in paths]


def _all_scores(paths: Sequence[Path], test: Sequence[str]) -> list[list[Score]]:
    """The scores of each path; with test sets, answers are scored again."""
    from unwaver.engine.load import score
    from unwaver.logs.test_sets import shared_test_sets

    if not test:
        return [_scores(path) for path in paths]
    with shared_test_sets(test) as sets:
        return [list(score(path, test=sets)) for path in paths]


def _check_plot(plot: Path | None, force: bool) -> None:
    """What would stop a figure is known before the work."""
    if plot is None:
        return
    from unwaver.cli.printing import inputs_of
    from unwaver.outputs import check_output
    from unwaver.reports.analysis_figures import format_of
    from unwaver.reports.pictures import vega

    check_output(plot, format_of(plot), inputs=inputs_of("plot"), force=force, option="--plot")
    vega()


def _draw(spec: dict[str, Any], plot: Path, as_json: bool) -> None:
    from unwaver.engine.folder import write_whole
    from unwaver.reports.analysis_figures import drawn

    write_whole(plot, drawn(spec, plot))
    if not as_json:
        click.echo(f"Figure: {plot}")
