"""unwaver run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import emit, print_json
from unwaver.errors import UnwaverError, UsageError
from unwaver.secrets import masked

if TYPE_CHECKING:
    from unwaver.console import Console
    from unwaver.engine.runs import Run
    from unwaver.result import Result

NOT_MET, MISSING_ANSWERS = 1, 3


_EXAMPLE = {
    "--model-arg": "temperature=0.7",
    "--map": "neutral=not_entailment",
    "--column": "original=question",
    "--writer-arg": "temperature=0.6",
}


def variant_options(command: Any) -> Any:
    """What run and build share: how variants are written, judged and kept."""
    for option in reversed(_VARIANT_OPTIONS):
        command = option(command)
    return command


_VARIANT_OPTIONS = (
    click.option("--writer", help="Who paraphrases: rules, bank/FILE, or a model (hf/PATH, openai/NAME)."),
    click.option(
        "--writer-arg", "writer_args", multiple=True, metavar="KEY=VALUE", help="An option of the writer."
    ),
    click.option(
        "--judge",
        "judges",
        multiple=True,
        metavar="KIND=…",
        help="What a paraphrase must pass: entail=self or entail=hf/PATH, same=hf/PATH@0.8, distance=0.1:0.9 …",
    ),
    click.option("--k", type=int, help="Keep so many certified paraphrases of an item. [5; a bank: what it has]"),
    click.option("--tries", type=int, help="Ask a writing model at most so often for an item. [2 × k]"),
    click.option("--encoder", type=click.Path(), help="An encoder that measures how far paraphrases are."),
    click.option("--lang", default="en", show_default=True, help="The language of negate, antonym and rules."),
    click.option("--antonyms", type=click.Path(), help="A file of antonyms. [WordNet, if there is one]"),
    click.option("--review", type=click.Path(), help="A review sheet that a person has filled in."),
    click.option("--epsilon", type=float, help="The share of wrong variants to allow for, if no review tells."),
)


def pairs(values: tuple[str, ...], option: str, example: str = "") -> dict[str, str]:
    """("a=1", "b=2") -> {"a": "1", "b": "2"}"""
    pairs = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError(
                f"{option} {value}: expected key=value", hint=f"{option} {example or _EXAMPLE[option]}"
            )
        pairs[name] = text
    return pairs


@click.command("run")
@click.argument("suites", nargs=-1)
@click.option("--model", "models", multiple=True, help="provider/name; may be given several times.")
@click.option("--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="An option of the model.")
@click.option("--data-dir", type=click.Path(), help="The folder above becel/, mnli/ … [UNWAVER_DATA]")
@click.option("--fetch", is_flag=True, help="Fetch missing data files from their public home.")
@click.option("--limit", type=int, help="The first N groups of each suite/task/kind.")
@click.option("--sample", type=int, help="N random groups of each suite/task/kind, under --seed.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out", type=click.Path(), help="Run folder. [runs/<suites>-<hash>: the same command resumes]")
@click.option("--store", type=click.Path(), help="An answer store shared by several runs and processes.")
@click.option("--shots", type=int, default=0, help="Solved examples in the prompt, the same for all items.")
@click.option("--template", type=click.Path(), help="Prompt templates of your own: .toml by task, or a text.")
@click.option("--system", help="System message for chat models.")
@click.option("--method", help="Language models: logprob (default for hf) or generate.")
@click.option("--normalise", is_flag=True, help="Divide log-probabilities by the number of tokens of a choice.")
@click.option(
    "--map", "label_map", multiple=True, metavar="MODEL=TASK", help="A classifier's label in the task's words."
)
@click.option(
    "--agree",
    multiple=True,
    metavar="NAME[=MODEL]",
    help="Free text: how answers are compared. [exact, normalised]",
)
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="NAME=MODEL",
    help="Free text: a model that says what is right: bleurt=PATH, judge=openai/NAME.",
)
@click.option(
    "--decode",
    multiple=True,
    metavar="NAME",
    help="How text is written: greedy, nucleus, sample, beam; each is run.",
)
@click.option(
    "--read",
    default="text",
    show_default=True,
    help="Free text: what of it is the answer: number, last_line, json …",
)
@click.option("--replicates", type=int, default=1, help="Ask each item so many times (sampled decoding).")
@click.option(
    "--unreadable",
    type=click.Choice(["violate", "skip"]),
    default="violate",
    show_default=True,
    help="What an answer without a label does to its group.",
)
@click.option(
    "--cut",
    type=click.Choice(["exclude", "keep"]),
    default="exclude",
    show_default=True,
    help="Answers that ended at the token limit: leave their groups out, or count them as they are.",
)
@click.option(
    "--additive",
    type=click.Choice(["disjoint", "all"]),
    default="disjoint",
    show_default=True,
    help="Which pairs of texts additive sets join.",
)
@click.option("--additive-cap", type=int, help="At most so many of all pairs.")
@click.option("--task", help="Your own file: the task its items belong to, or a task file of your own (.toml).")
@click.option("--kind", help="Your own file: the relation, semantic if not given.")
@click.option("--label", "labels", multiple=True, help="Your own file: a possible answer; give it for each.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="Your own file: original=, variant=, gold= … and the column's name.",
)
@click.option(
    "--variants",
    multiple=True,
    metavar="A,B",
    help="Your own file: make these variants of its items (unwaver list).",
)
@variant_options
@click.option("--device", help="cpu, cuda, cuda:1, mps. [the best there is]")
@click.option("--until", metavar="BAR", help="Ask until this is certain, yes or no: 'tau<=0.10'.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="--until: the chance to be wrong.")
@click.option("--max-calls", type=int, help="Stop before more requests than this are made.")
@click.option("--max-cost", type=float, help="Stop before it costs more; needs prices.")
@click.option("--price-in", type=float, help="Price of a million prompt tokens.")
@click.option("--price-out", type=float, help="Price of a million answer tokens.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked; with --out write groups.jsonl for others.")
@click.option("--from", "from_file", type=click.Path(path_type=Path), help="Repeat the run of a run.json.")
@click.option("--no-report", is_flag=True, help="Do not write report.html at the end; --json never does.")
@click.option("--json", "as_json", is_flag=True, help="Print scores.json on stdout and nothing else there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(**options: Any) -> None:
    """Ask models about suites and score the answers.

    SUITES are suites, any prefix of suite/task/kind, or files of your own. What was answered is kept: the same
    command goes on where it stopped.

    \b
    Examples:
      unwaver run sample --model fake/random
      unwaver run becel/snli calm/mnli --model hf/PATH-OR-HUB-ID --data-dir DIR
      unwaver run becel/rte --model hf/PATH --map neutral=not_entailment …
      unwaver run my.csv --model openai/NAME --model-arg base_url=http://HOST/v1
      unwaver run becel/snli --dry-run --out DIR     then: --model predictions/FILE
      unwaver run my.csv --task sst2 --variants negate,surface --model hf/PATH
      unwaver run becel/snli --model hf/PATH --until 'tau<=0.10'
      unwaver run sensitivity/snli --writer rules --model hf/NLI-MODEL --data-dir DIR
    """
    as_json, quiet = options.pop("as_json"), options.pop("quiet")
    dry_run, from_file = options.pop("dry_run"), options.pop("from_file")
    with_report = not options.pop("no_report") and not as_json
    from unwaver.engine.runs import Run

    run = Run(_config(options, from_file), console(quiet or as_json))
    if dry_run:
        _dry_run(run, as_json)
        return
    result = run.go()
    emit(result, as_json=as_json, quiet=quiet)
    if with_report:
        _report(result, quiet)
    verdicts = [case["verdict"] for case in result.run.get("until", {}).get("cases", ())]
    if "fail" in verdicts:
        raise click.exceptions.Exit(NOT_MET)
    if not result.is_complete or result.run["spent"]["stopped"]:
        raise click.exceptions.Exit(MISSING_ANSWERS)
    if "undecided" in verdicts:
        raise click.exceptions.Exit(NOT_MET)


def _report(result: Result, quiet: bool) -> None:
    """Write the report. Whatever comes of it, the run itself is done."""
    from unwaver.reports.pictures import EXTRA, installed

    if not installed():
        line = (
            f"No report was written. For one: pip install 'unwaver[{EXTRA}]', then unwaver report {result.folder}"
        )
    else:
        from unwaver.cli.report_verb import write_report

        assert result.folder is not None
        try:
            line = f"Report: {write_report(result.folder, result, quiet)}"
        except UnwaverError as e:
            click.echo(f"The report was not written: {e}", err=True)
            return
    if not quiet:
        click.echo(line)


def _config(options: dict[str, Any], from_file: Path | None) -> Any:
    from unwaver.config import Config, config_from, is_masked

    label_map = pairs(options.pop("label_map"), "--map")
    given = {
        **options,
        "model_args": pairs(options["model_args"], "--model-arg"),
        "map": label_map,
        "columns": pairs(options["columns"], "--column"),
        "variants": tuple(name for text in options["variants"] for name in text.split(",") if name),
        "writer_args": pairs(options["writer_args"], "--writer-arg"),
    }
    if from_file is None:
        return Config(**given)
    from dataclasses import replace

    from unwaver.engine.folder import read_run

    config = config_from(read_run(from_file), from_file)
    changed = _given_by_hand()
    config = replace(config, **{name: given[name] for name in changed if name in given})
    if is_masked(config):
        hint = "add the option that held it, for example --from run.json --model-arg extra=…"
        raise UsageError("a secret was left out of this run.json when it was written", file=from_file, hint=hint)
    return config


def _given_by_hand() -> list[str]:
    """Options that stood on the command line: they win over those of --from."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    names = [name for name in context.params if context.get_parameter_source(name) is source]
    if "label_map" in names:
        names.append("map")
    return [n for n in names if n != "suites" or context.params["suites"]]


def console(quiet: bool) -> Console:
    from unwaver.console import Console

    if quiet:
        return Console()
    from rich.console import Console as RichConsole

    stderr = RichConsole(stderr=True, highlight=False)
    return Console(say=lambda line: stderr.print(masked(line), markup=False), track=_tracker(stderr))


def _tracker(stderr: Any) -> Callable[[str, int], Any]:
    @contextmanager
    def track(what: str, total: int) -> Iterator[Callable[[int], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
            task = bar.add_task(masked(what), total=total)
            yield lambda done: bar.advance(task, done)

    return track


def _dry_run(run: Run, as_json: bool) -> None:
    plan = run.dry()
    from unwaver.engine.forecast import total

    together = total(plan)
    if as_json:
        print_json({"version": 1, "dry_run": plan, "total": together})
        return
    for entry in plan:
        click.echo(f"{entry['model']}:")
        for name in ("groups", "requests", "unique_requests", "already_answered", "tokens"):
            if entry[name] is not None:
                bound = "about " if name == "tokens" else "at most "
                click.echo(f"  {name.replace('_', ' '):<17} {bound * (name in entry['estimated'])}{entry[name]:,}")
        _say_cost(entry, run.budget.has_prices and entry["unique_requests"] is not None)
        if entry["groups_file"]:
            click.echo(f"  written: {entry['groups_file']}")
    if len(plan) > 1 and run.budget.has_prices:
        click.echo("all together:")
        _say_cost(together, priced=True)


def _say_cost(entry: Mapping[str, Any], priced: bool) -> None:
    if not priced:
        return
    most, expected = entry["cost_at_most"], entry["cost_expected"]
    click.echo(f"  {'cost':<17} " + ("no limit (max_tokens=none)" if most is None else f"at most {most:,.4f}"))
    if expected is not None:
        click.echo(f"  {'':<17} expected {expected:,.4f}, from the answers in the store")
