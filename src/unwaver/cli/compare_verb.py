"""unwaver compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unwaver.cli.options import ALLOW_DIFFERENT, COMMON, JSON, PATH, SEED, answer_options
from unwaver.cli.printing import print_json
from unwaver.cli.sections import option, section, verb


@verb(
    "compare",
    examples=(
        "unwaver compare runs/old runs/new",
        "unwaver compare runs/base runs/large --metric tau --metric accuracy",
        "unwaver compare old.csv new.csv --common",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=PATH)
@section(
    "What to compare",
    option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="Metric to compare. Repeatable. [default: the leading metric of each relation]",
    ),
    COMMON,
    ALLOW_DIFFERENT,
    option(
        "--alpha",
        type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        metavar="X",
        help="Significance level for corrected p values.",
    ),
    SEED,
)
@answer_options
@section(
    "Output",
    option(
        "--limit",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        metavar="N",
        help="Name at most N groups that broke and N that were fixed.",
    ),
    JSON.but(help="Print one JSON document with all changed groups on stdout."),
)
def command(
    paths: tuple[Path, ...],
    metrics: tuple[str, ...],
    common: bool,
    allow_different: bool,
    alpha: float,
    limit: int,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare runs on the same groups, each one with the first. No model is asked.

    PATHS are run folders, tables, logs or jobs of people, as for `unwaver score`. A path with several models
    compares these. If each path has the same several models, unwaver compares model by model. Tests are McNemar's
    exact test or a permutation test by cluster, with Holm's correction over the whole table.
    """
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.logs.test_sets import shared_test_sets
    from unwaver.verdicts.paired_runs import compare, document, pairs_of, sides_of

    check_answer_options(paths, **options)
    with shared_test_sets(options.pop("test")) as sets:
        pairs = pairs_of([sides_of(path, test=sets, **options) for path in paths])
    found = compare(pairs, metrics=metrics, common=common, allow_different=allow_different, alpha=alpha, seed=seed)
    if as_json:
        print_json(document(found, alpha))
        return
    from rich.console import Console

    from unwaver.reports.compared import print_comparisons

    print_comparisons(found, alpha, limit, Console(highlight=False))
