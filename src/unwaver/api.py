"""The commands as functions of Python: `unwaver.run` does what `unwaver run` does, and returns what it prints.

Options have the names of the command line with `_` for `-`: `--max-calls 100` is `max_calls=100`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from unwaver.console import Console
from unwaver.errors import UsageError

if TYPE_CHECKING:
    from unwaver.bars import Bar
    from unwaver.engine.build_groups import Built
    from unwaver.project.checking import Outcomes
    from unwaver.reports.compared import Comparisons
    from unwaver.reports.written import Form, Report
    from unwaver.result import Result
    from unwaver.state import CutMode
    from unwaver.types import Model

    AnyModel = str | Model | Callable[..., Any]


class BuildOptions(TypedDict, total=False):
    """The options of `unwaver build`, as fields of unwaver.Config."""

    limit: int | None
    sample: int | None
    seed: int
    map: Mapping[str, str]
    additive: str
    additive_cap: int | None
    signs: str | Sequence[str]
    message: str | None
    task: str | Path | None
    columns: Mapping[str, str]
    writer: str | None
    writer_args: Mapping[str, Any]
    writer_prompt: str | None
    judges: str | Sequence[str]
    k: int | None
    tries: int | None
    encoder: str | None
    lang: str
    antonyms: str | Path | None
    device: str | None
    engine: Literal["local", "ray"]
    replicas: int | None
    gpus_per_replica: float | None
    cpus_per_replica: float | None
    store: str | Path | None
    max_calls: int | None
    max_cost: float | None
    price_in: float | None
    price_out: float | None
    epsilon: float | None
    review: str | Path | Sequence[str | Path]


class RunOptions(BuildOptions, total=False):
    """The options of `unwaver run`: the fields of unwaver.Config, beside what is asked and who answers."""

    model_args: Mapping[str, Any]
    shots: int
    replicates: int
    method: str | None
    system: str | None
    system_file: str | Path | None
    tools: str | Path | None
    response_format: str | Path | None
    template: str | None
    form: str | None
    normalise: bool
    decode: str | Sequence[str]
    read: str
    unreadable: Literal["violate", "skip"]
    cut: Literal["exclude", "keep"]
    data_dir: str | Path | None
    fetch: bool
    base_accuracy: bool
    corrected: bool
    source: str | None
    min_score: float | None
    batch: bool
    batch_out: str | Path | None
    batch_in: str | Sequence[str]
    core_seed: int | None
    tables: str | Sequence[str]
    shots_from: str | Sequence[str]
    kind: str | None
    labels: str | Sequence[str]
    variants: str | Sequence[str]
    domain: Mapping[str, str]
    agree: str | Sequence[str]
    scorers: str | Sequence[str]
    compare_questions: bool
    theta: float | Sequence[float]
    until: str | Bar | None
    alpha: float
    out: str | Path | None
    pilot: int | None
    yes: bool
    bank: str | None


def run(
    suites: Any,
    model: AnyModel | Sequence[AnyModel],
    *,
    per_item: bool | None = None,
    identity: str | None = None,
    base_url: str | None = None,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Ask models about suites and score the answers: run("sample", "fake/random", limit=5).

    `suites` are names or paths, or a table in memory: a frame of Polars or pandas, an Arrow table, a Dataset, or
    rows. A model is "provider/name", a function (also an asynchronous one), or an object with the methods of
    unwaver.Model. `per_item` says whether a function takes one prompt (True) or a list of requests (False), if its
    annotations do not; `identity` names its version, so that its answers may come from an earlier run. `base_url`
    is the address of an OpenAI-compatible server. `progress` shows a bar; a notebook has one without it.
    """
    from unwaver.engine.given_in_python import config_and_models
    from unwaver.engine.runs import go

    own = {"per_item": per_item, "identity": identity, "base_url": base_url}
    config, models = config_and_models(suites, model, {**options, **own})
    return go(config, _console(progress), models).result


def compare(
    *runs: Any,
    metrics: str | Sequence[str] = (),
    common: bool = False,
    allow_different: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
    **options: Any,
) -> Comparisons:
    """Compare runs on the same groups, each one with the first: compare("runs/old", "runs/new").

    A run is a run folder, a table or a log, or the result of unwaver.run or unwaver.score. A single one with
    several models compares these. Other options are those of unwaver.score.
    """
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.logs.test_sets import shared_test_sets
    from unwaver.reports.compared import Comparisons
    from unwaver.verdicts import paired_runs

    if not runs:
        raise UsageError("there is nothing to compare", hint="unwaver.compare(old, new)")
    check_answer_options([Path(each) for each in runs if isinstance(each, str | Path)], **options)
    chosen = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    test = options.pop("test", ())
    with shared_test_sets(test) as sets:
        more = {**options, "test": sets} if test else options
        sides = [paired_runs.sides_of(each, **more) for each in runs]
    numbered = [[replace(one, path=path) for one in of] for path, of in zip(_told_apart(runs), sides, strict=True)]
    pairs = paired_runs.pairs_of(numbered)
    found = paired_runs.compare(
        pairs, metrics=chosen, common=common, allow_different=allow_different, alpha=alpha, seed=seed
    )
    return Comparisons(found, alpha)


def report(
    *runs: Any,
    out: str | Path | None = None,
    format: Form = "html",
    cut: CutMode | None = None,
    without_texts: bool = False,
    force: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Report:
    """Write a report of runs: report("runs/first"), report(result, format="latex").text

    A run is a run folder, a table or a log, or the result of unwaver.run or unwaver.score. "html" is one page, by
    default report.html in the run folder; "md", "latex" and "csv" are tables, which are returned as text if `out`
    is not given; "png", "svg" and "pdf" are the figures, in a folder.
    """
    from unwaver.reports.source import read_sources, source_of_result, told_apart
    from unwaver.reports.written import check_place, write
    from unwaver.result import Result

    if not runs:
        raise UsageError("there is nothing to report on", hint='unwaver.report("runs/first")')
    place = None if out is None else Path(out)
    paths = [Path(each) for each in runs if isinstance(each, str | Path)]
    folders = [each.folder for each in runs if isinstance(each, Result) and each.folder is not None]
    check_place([*paths, *folders], place, format, inputs=paths, force=force)
    given = [each for each in runs if not isinstance(each, str | Path)]
    results = [each if isinstance(each, Result) else _score(each, cut, options) for each in given]
    names = zip(_told_apart(given), results, strict=True)
    sources = [replace(source_of_result(each), path=name) for name, each in names]
    sources += read_sources(paths, cut=cut, **options) if paths else []
    sources = told_apart(sources)
    if without_texts:
        from unwaver.reports import private

        sources = [private.without_texts(source) for source in sources]
    return write(sources, format, place, _console(progress).track)


def _told_apart(runs: Sequence[Any]) -> list[str]:
    """The names of runs, numbered where several results have one folder or none: "result, run 2"."""
    from unwaver.engine.load import name_of

    names = [name_of(each) for each in runs]
    counts = Counter[str]()
    told = []
    for name in names:
        counts[name] += 1
        told.append(f"{name}, run {counts[name]}" if names.count(name) > 1 else name)
    return told


def _score(table: Any, cut: CutMode | None, options: Mapping[str, Any]) -> Result:
    from unwaver.engine.load import score

    return score(table, cut=cut, **options)


def build(
    variants: str | Sequence[str],
    source: Any,
    *,
    out: str | Path,
    force: bool = False,
    progress: bool | None = None,
    **options: Unpack[BuildOptions],
) -> Built:
    """Make groups from items of your own: build(["negate", "swap"], "pairs.csv", task="snli", out="groups.jsonl").

    `source` is a file or a table in memory. What it returns can be given to unwaver.run.
    """
    from unwaver.config import Config
    from unwaver.engine.build_groups import build as made
    from unwaver.engine.build_groups import check_output
    from unwaver.engine.given_in_python import as_fields, as_suites

    fields = as_fields({**options, "variants": variants}, "build", (*BuildOptions.__annotations__, "variants"))
    config = Config(as_suites(source), (), **fields)
    check_output(config, Path(out), [Path(name) for name in config.suites], force)
    return made(config, Path(out), _console(progress))


def check(
    folder: str | Path = ".",
    *,
    model: str | Sequence[str] | None = None,
    accept: bool = False,
    with_texts: bool = False,
    rebuild: bool = False,
    fresh: bool = False,
    allow_undecided: bool = False,
    with_report: bool = True,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Outcomes:
    """Do what unwaver.toml in this folder says: check().is_met. Other options override the file."""
    from unwaver.engine.given_in_python import as_fields
    from unwaver.project.checking import check_project
    from unwaver.project.file import open_project
    from unwaver.project.pages import write_pages

    chosen = as_fields(options, "check")
    if model is not None:
        chosen["models"] = (model,) if isinstance(model, str) else tuple(model)
    speak = _console(progress)
    with chdir(folder):
        project = open_project().with_settings(chosen)
        with chdir(project.folder):  # paths in the file are relative to it
            found = check_project(
                replace(project, path=Path(project.path.name)),
                speak,
                rebuild=rebuild,
                fresh=fresh,
                accept=accept,
                with_texts=with_texts,
                allow_undecided=allow_undecided,
            )
            if with_report:
                write_pages(found, speak.track)
    return found


def _console(progress: bool | None) -> Console:
    """A bar in a notebook, and where it is asked for; else silent."""
    if progress is False:
        return Console()
    from unwaver.reports.notebook import in_notebook, notebook_console

    if in_notebook():
        return notebook_console()
    if not progress:
        return Console()
    from unwaver.cli.printing import console

    return console(False)
