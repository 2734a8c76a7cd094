"""unwaver run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unwaver.cli import completion
from unwaver.cli.given import given_by_hand as given_by_hand
from unwaver.cli.options import ENGINE, variant_options
from unwaver.cli.printing import console, emit
from unwaver.cli.run_options import (
    FREE_TEXT,
    HOW_TO_ASK,
    MONEY_AND_TIME,
    OUTPUT,
    VARIANTS,
    WHAT_TO_ASK,
    WHOM_TO_ASK,
    YOUR_OWN_FILE,
)
from unwaver.cli.sections import verb
from unwaver.errors import UsageError

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
            raise UsageError(f"{option} {name} is given twice", hint="give it once")
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
@WHAT_TO_ASK
@WHOM_TO_ASK
@HOW_TO_ASK
@YOUR_OWN_FILE
@VARIANTS
@variant_options
@FREE_TEXT
@MONEY_AND_TIME
@ENGINE
@OUTPUT
def command(**options: Any) -> None:
    """Ask models about suites and score the answers.

    SUITES are suites, prefixes of suite/task/kind such as becel/snli, or files of your own. unwaver keeps every
    answer: to continue an interrupted run, run the same command again.
    """
    as_json, quiet, full = options.pop("as_json"), options.pop("quiet"), options.pop("full")
    dry_run, from_file = options.pop("dry_run"), options.pop("from_file")
    with_report = not options.pop("no_report") and not as_json
    unreadable_out, without_texts = options.pop("unreadable_out"), options.pop("without_texts")
    if without_texts and not with_report:
        click.echo("--without-texts has no effect: this run writes no report", err=True)
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
    emit(result, as_json=as_json, quiet=quiet, full=full)
    if with_report:
        from unwaver.cli.report_verb import after_run

        after_run(outcome, quiet, without_texts)
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
        raise UsageError(f"{option} is given {len(given)} times, expected once", hint=hint)
    return given[0] if given else None


def _config(options: dict[str, Any], from_file: Path | None) -> Any:
    from unwaver.config import Config
    from unwaver.config_record import config_from, is_masked

    if options["domain"]:
        from unwaver.answers.domains import read_domains

        options["domain"] = read_domains(options["domain"])
    label_map = pairs(options.pop("label_map"), "--map")
    given = {
        **options,
        "domain": options["domain"] or {},
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
    changed = given_by_hand()
    changed += ["system"] if "system_file" in changed else []  # the text of the file takes its place
    config = replace(config, **{name: given[name] for name in changed if name in given})
    if is_masked(config):
        hint = "add the option with the secret again, for example --from run.json --model-arg extra=…"
        raise UsageError("this run.json lacks a secret: unwaver never writes one", file=from_file, hint=hint)
    return config
