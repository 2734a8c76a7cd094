"""unwaver run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli import completion
from unwaver.cli.options import (
    ADDITIVE,
    ADDITIVE_CAP,
    CUT,
    DATA_DIR,
    DEVICE,
    JSON,
    LIMIT,
    MAX_CALLS,
    MAX_COST,
    PATH,
    PILOT,
    PRICE_IN,
    PRICE_OUT,
    QUIET,
    SAMPLE,
    SEED,
    TASK,
    UNREADABLE,
    UNREADABLE_OUT,
    variant_options,
)
from unwaver.cli.printing import console, emit
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UnwaverError, UsageError

if TYPE_CHECKING:
    from unwaver.engine.runs import Outcome

NOT_MET, MISSING_ANSWERS = 1, 3


_EXAMPLE = {
    "--model-arg": "temperature=0.7",
    "--map": "neutral=not_entailment",
    "--column": "original=question",
    "--writer-arg": "temperature=0.6",
}


def pairs(values: tuple[str, ...], option: str, example: str = "") -> dict[str, str]:
    """("a=1", "b=2") -> {"a": "1", "b": "2"}"""
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError(
                f"{option} {value}: expected key=value", hint=f"{option} {example or _EXAMPLE[option]}"
            )
        if name in pairs and option != "--map":
            raise UsageError(f"{option} {name} is there twice", hint="give it once")
        # a label may mean one of this task and one of that
        pairs[name] = f"{pairs[name]}|{text}" if name in pairs else text
    return pairs


@verb(
    "run",
    examples=(
        "unwaver run sample --model demo/smollm2",
        "unwaver run becel/snli calm/mnli --model hf/PATH-OR-HUB-ID --data-dir DIR",
        "unwaver run my.csv --model openai/NAME,base_url=http://HOST/v1",
    ),
)
@click.argument("suites", nargs=-1, shell_complete=completion.suites)
@section(
    "What to ask",
    DATA_DIR,
    option("--fetch", is_flag=True, help="Download missing data files from their public source."),
    LIMIT,
    SAMPLE,
    SEED,
    ADDITIVE,
    ADDITIVE_CAP,
    option(
        "--base-accuracy",
        is_flag=True,
        help="Also ask the whole split that a set was made from, for its accuracy.",
    ),
    option(
        "--source",
        type=click.Choice(["human", "automatic"]),
        default=None,
        help="ParaNLU: who wrote the paraphrases. [default: human]",
    ),
    option("--bank", type=click.Path(), metavar="FILE", help="ParaNLU: file of automatic paraphrases."),
    option("--corrected", is_flag=True, help="ParaNLU: also ask the full test set, and report corrected values."),
    option("--from", "from_file", type=PATH, metavar="FILE", help="Repeat the run described by a run.json."),
)
@section(
    "Whom to ask",
    option(
        "--model",
        "models",
        multiple=True,
        metavar="PROVIDER/NAME",
        shell_complete=completion.models,
        help="Model to ask, with options (fake/random,seed=3), or @NAME from unwaver.toml. Repeatable.",
    ),
    option(
        "--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="Option of all models. Repeatable."
    ),
    option(
        "--map",
        "label_map",
        multiple=True,
        metavar="MODEL=TASK",
        help="Translate a classifier's label into a label of the task. Repeatable.",
    ),
    DEVICE,
)
@section(
    "How to ask",
    option(
        "--shots", type=int, default=0, metavar="N", help="Put N solved examples into each prompt. [default: 0]"
    ),
    option(
        "--template", type=click.Path(), metavar="FILE", help="Your own prompt template: text, or .toml by task."
    ),
    option(
        "--form",
        metavar="NAME",
        help="Layout of the prompts: plain, calm, t5 or target-only. [default: as the model was trained]",
    ),
    option("--system", metavar="TEXT", help="System message for chat models."),
    option("--method", metavar="NAME", help="Language models: logprob or generate. [default: the model's own]"),
    option("--normalise", is_flag=True, help="Divide a choice's log-probability by its number of tokens."),
    option(
        "--decode",
        multiple=True,
        metavar="NAME",
        shell_complete=partial(completion.names, "decodings"),
        help="Decoding: greedy, nucleus, sample or beam. Repeatable; each one is run.",
    ),
    option("--replicates", type=int, default=1, metavar="N", help="Ask each item N times. [default: 1]"),
    UNREADABLE.but(
        default="violate",
        show_default=True,
        help="Groups with an answer without a label: count them as broken, or skip them.",
    ),
    CUT.but(
        default="exclude",
        show_default=True,
        help="Groups with an answer that hit the token limit: leave them out, or count them.",
    ),
)
@section(
    "Your own file",
    TASK,
    option("--kind", metavar="RELATION", help="Relation within its groups. [default: semantic]"),
    option("--label", "labels", multiple=True, metavar="TEXT", help="One possible answer. Repeatable."),
    option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        help="Name of the column with the original, the variant, gold, … Repeatable.",
    ),
)
@section(
    "Variants",
    option(
        "--variants",
        multiple=True,
        metavar="A,B",
        shell_complete=partial(completion.names, "variants"),
        help="Make these variants of the items of your own file; `unwaver list variants` shows the names.",
    ),
)
@variant_options
@section(
    "Free text",
    option(
        "--agree",
        multiple=True,
        metavar="NAME[=MODEL]",
        shell_complete=partial(completion.names, "agreements"),
        help="How to compare two answers. Repeatable; the first one decides which groups are broken (tau). "
        "[default: normalised, exact]",
    ),
    option(
        "--compare-questions",
        is_flag=True,
        help="Let agreements that ask a model compare the wordings of each question, too: Cons_judge_questions.",
    ),
    option(
        "--scorer",
        "scorers",
        multiple=True,
        metavar="NAME=MODEL",
        shell_complete=partial(completion.names, "scorers"),
        help="Model that decides whether an answer is right: bleurt=PATH, judge=openai/NAME. Repeatable.",
    ),
    option(
        "--read",
        default="text",
        show_default=True,
        metavar="NAME",
        shell_complete=partial(completion.names, "readers"),
        help="Part of the text that is the answer: number, last_line, json, …",
    ),
)
@section(
    "Money and time",
    option("--dry-run", is_flag=True, help="Show what would be asked; with --out, also write groups.jsonl."),
    option(
        "--until",
        multiple=True,
        metavar="BAR",
        help="Stop as soon as it is certain whether this bar is met: 'tau<=0.10'.",
    ),
    option(
        "--alpha", type=float, default=0.05, show_default=True, metavar="X", help="Error probability of --until."
    ),
    PILOT,
    MAX_CALLS,
    MAX_COST,
    PRICE_IN,
    PRICE_OUT,
)
@section(
    "Output",
    option("--out", type=click.Path(), metavar="DIR", help="Run folder. [default: runs/<suites>-<hash>]"),
    option("--store", type=click.Path(), metavar="FILE", help="Answer store shared by several runs."),
    option("--no-report", is_flag=True, help="Do not write report.html. --json implies it."),
    UNREADABLE_OUT,
    JSON.but(help="Print scores.json on stdout and nothing else."),
    QUIET,
)
def command(**options: Any) -> None:
    """Ask models about suites and score the answers.

    SUITES are suites, prefixes of suite/task/kind such as becel/snli, or files of your own. unwaver keeps every
    answer: to continue an interrupted run, run the same command again.
    """
    as_json, quiet = options.pop("as_json"), options.pop("quiet")
    dry_run, from_file = options.pop("dry_run"), options.pop("from_file")
    with_report = not options.pop("no_report") and not as_json
    unreadable_out = options.pop("unreadable_out")
    options["until"] = _only(options["until"], "--until")
    config, speak = _config(options, from_file), console(quiet or as_json)
    if dry_run:
        from unwaver.cli.dry_run import print_dry_run

        print_dry_run(config, speak, as_json)
        return
    from unwaver.engine.runs import go

    if unreadable_out is not None:
        from unwaver.cli.unreadable_answers import check

        check(unreadable_out)
    outcome = go(config, speak)
    result = outcome.result
    if unreadable_out is not None:
        from unwaver.cli.unreadable_answers import write

        write(unreadable_out, [outcome.frame])
    emit(result, as_json=as_json, quiet=quiet)
    if with_report:
        _report(outcome, quiet)
    verdicts = [case["verdict"] for case in result.run.get("until", {}).get("cases", ())]
    if "fail" in verdicts:
        raise click.exceptions.Exit(NOT_MET)
    if not result.is_complete or result.run["spent"]["stopped"]:
        raise click.exceptions.Exit(MISSING_ANSWERS)
    if "undecided" in verdicts:
        raise click.exceptions.Exit(NOT_MET)


def _only(given: tuple[str, ...], option: str) -> str | None:
    """("tau<=0.10",) -> "tau<=0.10"; a second one would be dropped in silence."""
    if len(given) > 1:
        hint = "give one; unwaver gate checks several: --bar 'tau<=0.10' --bar 'accuracy>=0.8'"
        raise UsageError(f"{option} is there {len(given)} times, expected once", hint=hint)
    return given[0] if given else None


def _report(outcome: Outcome, quiet: bool) -> None:
    """Write the report. Whatever comes of it, the run itself is done."""
    from unwaver.reports.pictures import EXTRA, installed

    place = outcome.result.folder
    if not installed():
        line = f"No report was written. For one: pip install 'unwaver[{EXTRA}]', then unwaver report {place}"
    else:
        from unwaver.cli.report_verb import write_report

        assert place is not None
        try:
            line = f"Report: {write_report(place, outcome, quiet)}"
        except UnwaverError as e:
            click.echo(f"The report was not written: {e}", err=True)
            return
    if not quiet:
        click.echo(line)


def _config(options: dict[str, Any], from_file: Path | None) -> Any:
    from unwaver.config import Config
    from unwaver.config_record import config_from, is_masked

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

    from unwaver.engine.stored import read_run

    config = config_from(read_run(from_file), from_file)
    changed = _given_by_hand()
    config = replace(config, **{name: given[name] for name in changed if name in given})
    if is_masked(config):
        hint = "add the option with the secret again, for example --from run.json --model-arg extra=…"
        raise UsageError("this run.json lacks a secret: unwaver never writes one", file=from_file, hint=hint)
    return config


def _given_by_hand() -> list[str]:
    """Options that stood on the command line: they win over those of --from."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    names = [name for name in context.params if context.get_parameter_source(name) is source]
    if "label_map" in names:
        names.append("map")
    return [n for n in names if n != "suites" or context.params["suites"]]
