"""unwaver agreement: do agreement functions see what people see?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from unwaver.cli import completion
from unwaver.cli.options import DEVICE, FORCE, JSON, PATH, SEED, STORE
from unwaver.cli.printing import console, inputs_of, print_json
from unwaver.cli.run_verb import pairs as options_from
from unwaver.cli.sections import option, section, verb, verbs
from unwaver.errors import UsageError
from unwaver.text.shown import interval, percent

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from unwaver.agree import Agreement
    from unwaver.agree.human_pairs import JudgedPairs
    from unwaver.asking.consult import Consult, Enquiry
    from unwaver.asking.panel import Answers
    from unwaver.console import Console as Speak
    from unwaver.stats.human_validity import Validity

FREE = ("exact", "normalised", "numeric", "rouge1", "bleu", "entities")  # agreements that need no model


@verbs("agreement", examples=("unwaver agreement validate --pairs judged.csv",))
def command() -> None:
    """Validate agreements of free text against human judgements."""


@verb(
    "validate",
    within=command,
    examples=(
        "unwaver agreement validate --pairs judged.csv",
        "unwaver agreement validate --pairs sts.csv --cut 4 --agree rouge1",
        "unwaver agreement validate --pairs judged.csv --plot matrix.svg",
    ),
)
@click.argument("job", type=PATH, required=False, metavar="[FILE]")
@section(
    "What people say",
    option(
        "--pairs", "pairs", type=PATH, metavar="FILE", help="FILE by name: a table, or a job of the kind pairs."
    ),
    option(
        "--column",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Column of another name: label=verdict. Repeatable.",
    ),
    option(
        "--rater",
        "raters",
        multiple=True,
        metavar="COLUMN",
        help="Column with the labels of one of several people. Repeatable. [default: label]",
    ),
    option(
        "--cut",
        type=float,
        default=0.5,
        show_default=True,
        metavar="X",
        help="Labels of X or more mean that the two answers are equivalent.",
    ),
)
@section(
    "What to validate",
    option(
        "--agree",
        multiple=True,
        metavar="NAME[=MODEL]",
        shell_complete=partial(completion.names, "agreements"),
        help="Agreement to validate. Repeatable. [default: all that need no model]",
    ),
    option("--run", "run_path", type=PATH, metavar="DIR", help="Run whose consistency to correct by the result."),
    DEVICE,
    SEED,
)
@section(
    "Output",
    STORE.but(help="Answer store of models. [default: next to the pairs]"),
    option("--plot", type=PATH, metavar="FILE", help="Draw the correlations: .svg, .png or .pdf."),
    FORCE,
    JSON,
)
def validate_command(
    job: Path | None,
    pairs: Path | None,
    agree: tuple[str, ...],
    column: tuple[str, ...],
    raters: tuple[str, ...],
    cut: float,
    run_path: Path | None,
    store: str | None,
    plot: Path | None,
    force: bool,
    device: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Compare agreements with people's judgements of pairs of answers.

    FILE is a .csv, .tsv or .jsonl with the columns question, a, b and label: 1 if the two answers say the same, 0
    if not, or a grade with --cut; or JOB.toml, a job in which people judge pairs (unwaver annotate). Pairs for one
    question are not independent, so intervals resample questions. If several people judged the pairs, --rater
    names the column of each: their mean is the label, and Fleiss' kappa and Krippendorff's alpha say how far they
    agree.
    """
    path = _given(job, pairs)
    from unwaver.agree.comparison import parse_agreements
    from unwaver.agree.human_pairs import corrected_run, mean_of_directions, read_pairs
    from unwaver.outputs import check_output
    from unwaver.stats.human_validity import spearman_matrix, validate

    picture = _format(plot) if plot else None
    if plot and picture:
        check_output(plot, picture, inputs=inputs_of("plot"), force=force, option="--plot")
    judged = read_pairs(path, options_from(column, "--column", "label=verdict"), raters)
    labels = [pair.label for pair in judged.pairs]
    _check_both_sorts(labels, cut)
    agreements = parse_agreements(agree or FREE)
    place = store or path.with_name(path.name + ".sqlite")
    speak = console(quiet=False)
    consult = asking(place, device, speak)
    told = {a.name: judged.compared(a, consult, speak) for a in agreements}
    values = {name: [mean_of_directions(several) for several in of_pairs] for name, of_pairs in told.items()}
    clusters = [pair.cluster for pair in judged.pairs]
    found = {
        a.name: validate(
            values[a.name], labels, clusters, threshold=a.threshold, better=a.better, cut=cut, seed=seed
        )
        for a in agreements
    }
    matrix: dict[str, Sequence[float | None]] = {**values, **judged.accuracies(), "people": labels}
    frames = _frames(run_path, agreements) if run_path else []
    corrected = corrected_run(frames, agreements, told, judged, cut, seed) if frames else []
    if plot and picture:
        _draw(plot, picture, matrix, path)
    document = {
        "pairs": len(judged.pairs),
        "empty": judged.empty,
        "unlabelled": judged.unlabelled,
        "tied": judged.tied,
        "raters": _of_raters(judged, cut, seed),
        "clusters": len(set(clusters)),
        "same": sum(label >= cut for label in labels),
        "columns": judged.columns,
        "agreements": {name: _entry(validity) for name, validity in found.items()},
        "spearman": {"names": list(matrix), "matrix": spearman_matrix(matrix)},
        "corrected": corrected,
    }
    if as_json:
        print_json({"version": 1, **document})
        return
    _print(document, found, plot)


def _given(job: Path | None, pairs: Path | None) -> Path:
    if job is not None and pairs is not None:
        raise UsageError("FILE and --pairs are both given", hint="give one of them")
    path = job or pairs
    if path is None:
        raise UsageError("--pairs is missing: which pairs people judged", hint="--pairs judged.csv, or JOB.toml")
    return path


def _of_raters(judged: JudgedPairs, cut: float, seed: int) -> dict[str, Any] | None:
    if not judged.raters:
        return None
    from unwaver.agree.human_raters import between_raters

    clusters, ratings = zip(*judged.ratings, strict=True)
    return between_raters(ratings, clusters, judged.raters, cut, seed, judged.kinds)


def asking(place: str | Path, device: str | None, speak: Speak) -> Consult:
    """Ask the model of an agreement. What it says is kept in the store at `place`: nothing is asked twice."""

    def consult(enquiry: Enquiry) -> Answers:
        from unwaver.answers.shared_store import open_store
        from unwaver.asking.ask import Asker
        from unwaver.asking.claims import claiming
        from unwaver.asking.consult import planned, put, written
        from unwaver.asking.failures import grouped, in_words, of_respondents
        from unwaver.config import Config
        from unwaver.models.helpers import open_consulted

        option = written(enquiry.role, enquiry.name)
        model = open_consulted(Config((), (), device=device), enquiry.model, enquiry.options, option)
        respondent = planned(enquiry, model)
        with closing(model), closing(open_store(place)) as store, claiming(store, speak.say) as claims:
            asker = Asker(store, claims=claims, say=speak.say, waiting=speak.waiting)
            said = put(respondent, asker, speak)
            for line in in_words(grouped(of_respondents([(enquiry.role, enquiry.name, respondent)], store))):
                speak.say(line)
            return said

    return consult


def _frames(path: Path, agreements: Sequence[Agreement]) -> Sequence[pl.DataFrame]:
    """The answers of a run that was compared by the same models."""
    from unwaver.agree.comparison import check_same_question
    from unwaver.engine.load import load
    from unwaver.errors import DataError

    run = load(path)
    if run.config is None:
        raise DataError("not a run folder", file=path, hint="give the folder of a run of free text")
    for agreement in agreements:
        check_same_question(agreement, run.config.agree, path)
    return run.frames


def _check_both_sorts(labels: Sequence[float], cut: float) -> None:
    if len({label >= cut for label in labels}) < 2:
        raise UsageError(
            f"all labels are {'at or above' if labels[0] >= cut else 'below'} {cut:g}",
            hint="add pairs with the other label, or change --cut",
        )


def _format(plot: Path) -> Literal["svg", "png", "pdf"]:
    """By the name of the file; said before anything is asked."""
    from unwaver.reports.pictures import vega

    format = plot.suffix.removeprefix(".")
    if format not in ("svg", "png", "pdf"):
        raise UsageError(f"--plot {plot}: unknown picture format", hint="name it matrix.svg, .png or .pdf")
    vega()
    return format  # type: ignore[return-value]


def _draw(
    plot: Path, format: Literal["svg", "png", "pdf"], columns: Mapping[str, Sequence[float | None]], path: Path
) -> None:
    import numpy as np

    from unwaver.engine.folder import write_whole
    from unwaver.metrics.meanings.pairwise import correlations
    from unwaver.reports.pictures import bytes_of
    from unwaver.types import Figure

    spec = correlations({name: np.array(column, dtype=np.float64) for name, column in columns.items()})
    figure = Figure("agreement", path.name, "Spearman's ρ over judged pairs", "Cons_<agreement>", spec)
    write_whole(plot, bytes_of(figure, format))


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

    screen = Console(highlight=False)
    reasons = {
        "empty": "a text is empty",
        "unlabelled": "no label",
        "tied": "people are divided",
    }
    dropped = "".join(f"; {document[name]:,} left out: {why}" for name, why in reasons.items() if document[name])
    screen.print(
        f"{document['pairs']:,} pairs of {document['clusters']:,} questions, "
        f"people judged {document['same']:,} of them equivalent{dropped}",
        markup=False,
    )
    if document["raters"]:
        from unwaver.agree.human_raters import in_words

        screen.print(in_words(document["raters"]), markup=False, highlight=False)
    _print_agreements(found, screen)
    if document["corrected"]:
        screen.print("Consistency corrected by people's judgements (Rogan and Gladen):", markup=False)
        _print_corrected(document["corrected"], screen)
    screen.print(
        "ρ: Spearman correlation with the labels. AUC: probability that an equivalent pair has the better value. "
        "κ: Cohen's kappa at the threshold of the agreement, and at the best threshold for these pairs.",
        style="dim",
        markup=False,
    )
    if plot is not None:
        screen.print(f"Correlations: {plot}", markup=False, soft_wrap=True)


def _print_agreements(found: Mapping[str, Validity], screen: Console) -> None:
    from unwaver.reports.terminal import print_rows

    header = ["agreement", "pairs", "ρ", "95 % interval", "AUC", "κ", "at", "best κ", "at"]
    rows = [
        [
            name,
            f"{v.pairs:,}",
            _number(v.spearman.value),
            interval(v.spearman.low, v.spearman.high, _number),
            _number(v.auc.value),
            _number(v.kappa),
            f"{v.threshold:g}",
            _number(v.best_kappa),
            "–" if v.best_threshold is None else _bar(v.best_threshold),
        ]
        for name, v in found.items()
    ]
    print_rows([header, *rows], screen)
    screen.print(
        "Counts at these thresholds (the agreement says same or different / people say same or different):",
        markup=False,
    )
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
    print_rows([header, *rows], screen)


def _print_corrected(corrected: Sequence[Mapping[str, Any]], screen: Console) -> None:
    from unwaver.reports.terminal import print_rows

    header = ["relation", "agreement", "seen", "corrected", "95 % interval", "sens.", "spec.", "questions"]
    for model, method in dict.fromkeys((c["model"], c["method"]) for c in corrected):
        screen.print(f"{model} ({method})", markup=False)
        rows = [
            [
                c["case"],
                f"{c['agreement']}@{c['threshold']:g}",
                percent(c["seen"]),
                percent(c["corrected"]),
                interval(c["low"], c["high"]),
                percent(c["sensitivity"]),
                percent(c["specificity"]),
                f"{c['questions']:,}",
            ]
            for c in corrected
            if (c["model"], c["method"]) == (model, method)
        ]
        print_rows([header, *rows], screen)
    for c in corrected:
        for said in filter(None, (c["reason"], c["warning"])):
            screen.print(f"{c['case']}, {c['agreement']}: {said}", style="yellow", markup=False)
    screen.print(
        "Here sens. and spec. are measured on texts that differ, at the threshold of the run.",
        style="dim",
        markup=False,
    )


def _bar(threshold: float) -> str:
    """0.61749 -> 0.6174: a threshold is a value that occurs, which must not fall below what is shown."""
    return f"{floor(threshold * 10_000) / 10_000:g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
