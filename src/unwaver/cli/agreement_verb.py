"""unwaver agreement: do agreement functions see what people see?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from unwaver.cli.run_verb import pairs as options_from
from unwaver.errors import DataError, UsageError

if TYPE_CHECKING:
    from unwaver.agree import Agreement
    from unwaver.judged import JudgedPairs
    from unwaver.stats import Estimate
    from unwaver.validate import Validity

_PATH = click.Path(path_type=Path)
FREE = ("exact", "normalised", "numeric", "rouge1", "bleu", "entities")  # agreements that need no model


@click.group("agreement")
def command() -> None:
    """How two free answers are compared, and whether that is what people would say.

    \b
    Examples:
      unwaver agreement validate --pairs judged.csv
      unwaver agreement validate --pairs judged.csv --agree entail=hf/PATH --run runs/mine-1a2b3c4d
    """


@command.command("validate")
@click.option("--pairs", "path", required=True, type=_PATH, help="A table: question, a, b, label.")
@click.option("--agree", multiple=True, metavar="NAME[=MODEL]", help="What to validate. [all that need no model]")
@click.option("--column", multiple=True, metavar="FIELD=COLUMN", help="A column of another name: label=verdict.")
@click.option(
    "--cut", type=float, default=0.5, show_default=True, help="A label of so much or more says: the same."
)
@click.option("--run", "run_path", type=_PATH, help="A run whose consistency is corrected by what is found.")
@click.option("--store", type=_PATH, help="Where what models say is kept. [beside the pairs]")
@click.option("--plot", type=_PATH, help="Write the correlations as a picture: .svg, .png or .pdf.")
@click.option("--device", help="cpu, cuda …")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def validate_command(
    path: Path,
    agree: tuple[str, ...],
    column: tuple[str, ...],
    cut: float,
    run_path: Path | None,
    store: Path | None,
    plot: Path | None,
    device: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Compare agreement functions with people's judgements of pairs.

    PAIRS is a .csv, .tsv or .jsonl with the columns question, a, b and label (1: the two say the same, 0: they do
    not; or a grade, with --cut). Pairs of one question are not independent: intervals draw questions.

    \b
    Examples:
      unwaver agreement validate --pairs judged.csv
      unwaver agreement validate --pairs sts.csv --cut 4 --agree rouge1 --agree entail=hf/PATH
      unwaver agreement validate --pairs judged.jsonl --column label=verdict --plot matrix.svg
    """
    from unwaver.agreeing import parse_agreement
    from unwaver.judged import read_pairs
    from unwaver.validate import spearman_matrix, validate

    picture = _format(plot) if plot else None
    judged = read_pairs(path, options_from(column, "--column"))
    labels = [pair.label for pair in judged.pairs]
    if len({label >= cut for label in labels}) < 2:
        raise UsageError(
            f"all labels are {'at or above' if labels[0] >= cut else 'below'} {cut:g}",
            hint="give pairs of both sorts, or another --cut",
        )
    agreements = [parse_agreement(text) for text in agree or FREE]
    values = _values(agreements, judged, path, store, device)
    clusters = [pair.cluster for pair in judged.pairs]
    found = {
        a.name: validate(
            values[a.name], labels, clusters, threshold=a.threshold, better=a.better, cut=cut, seed=seed
        )
        for a in agreements
    }
    matrix: dict[str, Sequence[float | None]] = {**values, **judged.accuracies(), "people": labels}
    corrected = _corrected(run_path, agreements, values, judged, cut, seed) if run_path else []
    if plot and picture:
        _draw(plot, picture, matrix, path)
    document = {
        "pairs": len(judged.pairs),
        "empty": judged.empty,
        "clusters": len(set(clusters)),
        "same": sum(label >= cut for label in labels),
        "columns": judged.columns,
        "agreements": {name: _entry(validity) for name, validity in found.items()},
        "spearman": {"names": list(matrix), "matrix": spearman_matrix(matrix)},
        "corrected": corrected,
    }
    if as_json:
        click.echo(json.dumps({"version": 1, **document}, ensure_ascii=False))
        return
    _print(document, found, plot)


def _format(plot: Path) -> Literal["svg", "png", "pdf"]:
    """By the name of the file; said before anything is asked."""
    from unwaver.report.pictures import vega

    format = plot.suffix.removeprefix(".")
    if format not in ("svg", "png", "pdf"):
        raise UsageError(f"--plot {plot}: unknown kind of picture", hint="name it matrix.svg, .png or .pdf")
    vega()
    return format  # type: ignore[return-value]


def _draw(
    plot: Path, format: Literal["svg", "png", "pdf"], columns: Mapping[str, Sequence[float | None]], path: Path
) -> None:
    import numpy as np

    from unwaver.folder import write_whole
    from unwaver.metrics.pairwise import correlations
    from unwaver.report.pictures import bytes_of
    from unwaver.types import Figure

    spec = correlations({name: np.array(column, dtype=np.float64) for name, column in columns.items()})
    figure = Figure("agreement", path.name, "Spearman's ρ over judged pairs", "Cons_<agreement>", spec)
    write_whole(plot, bytes_of(figure, format))


def _values(
    agreements: Sequence[Agreement], judged: JudgedPairs, path: Path, place: Path | None, device: str | None
) -> dict[str, list[float | None]]:
    """Of each agreement, one value a pair. What models say is kept in a store: a second time nothing is asked."""
    from unwaver.agreeing import PairList
    from unwaver.ask import ask
    from unwaver.cli.run_verb import console
    from unwaver.config import Config
    from unwaver.models import open_judge
    from unwaver.panel import Respondent, answers_of
    from unwaver.store import Store

    config = Config((), (), device=device)
    found: dict[str, list[float | None]] = {}
    speak = console(quiet=False)
    for agreement in agreements:
        work = PairList(agreement, judged.to_compare(agreement), judged.texts)
        if agreement.compare is not None:
            with speak.track(agreement.name, len(work.pairs)) as progress:
                values = work.compared(progress)
        else:
            texts = {"texts": work.texts} if agreement.needs_texts else {}
            comparer = Respondent(open_judge(config, agreement.model, {**agreement.options, **texts}))
            work.plan(comparer)
            store = Store(place or path.with_name(path.name + ".sqlite"))
            try:
                with speak.track(agreement.name, len(comparer.plan.requests)) as progress:
                    ask(comparer.model, comparer.plan, store, progress=progress)
                values = work.read(answers_of(comparer.plan.keys, store))
            finally:
                comparer.model.close()
                store.close()
        found[agreement.name] = judged.values(agreement, values)
    return found


def _corrected(
    place: Path,
    agreements: Sequence[Agreement],
    values: Mapping[str, Sequence[float | None]],
    judged: JudgedPairs,
    cut: float,
    seed: int,
) -> list[dict[str, Any]]:
    """The consistency of a run as people would have seen it, for each agreement that it was compared by."""
    import numpy as np
    import polars as pl

    from unwaver.block import block_of
    from unwaver.metrics.pairwise import agreeing_shares
    from unwaver.metrics.pairwise import agreements as compared_by
    from unwaver.rescore import read_folder, run_folder
    from unwaver.scoring import partition
    from unwaver.validate import called_same, corrected

    folder = run_folder([place])
    if folder is None:
        raise DataError("this is no run folder", file=place, hint="give the folder of a run of free text")
    people = np.array([pair.label >= cut for pair in judged.pairs])
    clusters = np.array([pair.cluster for pair in judged.pairs])
    lines: list[dict[str, Any]] = []
    for block in map(block_of, partition(pl.concat(read_folder(folder)[0]))):
        for agreement in agreements:
            threshold = compared_by(block).get(agreement.name)
            if threshold is None:
                continue
            seen, identical = agreeing_shares(block, agreement.name, threshold, agreement.better)
            told = np.array(values[agreement.name], dtype=np.float64)
            # identical texts are certain on both sides: the errors are those on texts that differ
            known = ~np.isnan(told) & np.array([pair.a not in pair.b for pair in judged.pairs])
            estimate = corrected(
                seen,
                block.cluster.tolist(),
                called_same(told[known], threshold, agreement.better),
                people[known],
                clusters[known].tolist(),
                identical=identical,
                seed=seed,
            )
            plain = float(np.nanmean(seen)) if not np.isnan(seen).all() else None
            case = f"{block.suite}/{block.task}/{block.kind}"
            lines.append(
                {
                    "case": case,
                    "model": block.model,
                    "method": block.method,
                    "agreement": agreement.name,
                    "threshold": threshold,
                    "seen": plain,
                    "corrected": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "questions": int((~np.isnan(seen)).sum()),
                    "judged_pairs": int(known.sum()),
                }
            )
    if not lines:
        hint = "unwaver run … --agree with what is validated here"
        raise UsageError("none of these agreements was used in the run", file=place, hint=hint)
    return lines


def _entry(validity: Validity) -> dict[str, Any]:
    entry = asdict(validity)
    for name in ("confusion", "best_confusion"):
        found = getattr(validity, name)
        if found is not None:
            shares = {"sensitivity": found.sensitivity, "specificity": found.specificity}
            entry[name] = {**found._asdict(), **shares}
    return entry


def _print(document: Mapping[str, Any], found: Mapping[str, Validity], plot: Path | None) -> None:
    from rich.console import Console

    from unwaver.show import percent, print_rows

    console = Console(highlight=False)
    dropped = f", {document['empty']:,} with an empty text left out" if document["empty"] else ""
    console.print(
        f"{document['pairs']:,} pairs of {document['clusters']:,} questions, "
        f"{document['same']:,} of them the same to people{dropped}",
        markup=False,
    )
    header = ["agreement", "pairs", "ρ", "95 % interval", "AUC", "κ", "at", "best κ", "at"]
    rows = [
        [
            name,
            f"{v.pairs:,}",
            _number(v.spearman.value),
            _interval(v.spearman),
            _number(v.auc.value),
            _number(v.kappa),
            f"{v.threshold:g}",
            _number(v.best_kappa),
            "–" if v.best_threshold is None else f"{v.best_threshold:.2g}",
        ]
        for name, v in found.items()
    ]
    print_rows([header, *rows], console)
    console.print("At these thresholds (says same or different / people: same or different):", markup=False)
    header = ["agreement", "same/same", "same/diff.", "diff./same", "diff./diff.", "sens.", "spec."]
    rows = [
        [
            name,
            *(f"{int(count):,}" for count in v.confusion),
            percent(v.confusion.sensitivity),
            percent(v.confusion.specificity),
        ]
        for name, v in found.items()
    ]
    print_rows([header, *rows], console)
    if document["corrected"]:
        header = ["relation", "model", "agreement", "seen %", "corrected %", "95 % interval", "questions"]
        lines = [
            [
                c["case"],
                f"{c['model']} ({c['method']})",
                f"{c['agreement']}@{c['threshold']:g}",
                percent(c["seen"]),
                percent(c["corrected"]),
                "–" if c["low"] is None else f"{percent(c['low'])} – {percent(c['high'])}",
                f"{c['questions']:,}",
            ]
            for c in document["corrected"]
        ]
        console.print("Consistency as people would have seen it (Rogan and Gladen):", markup=False)
        print_rows([header, *lines], console)
    console.print(
        "ρ: Spearman with the labels. AUC: a pair that is the same to people has the better value. κ: Cohen's, at "
        "the threshold of the agreement and at the one that is best for these very pairs.",
        style="dim",
        markup=False,
    )
    if plot is not None:
        console.print(f"Correlations: {plot}", markup=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(e: Estimate) -> str:
    return "–" if e.low is None or e.high is None else f"{e.low:.2f} – {e.high:.2f}"
