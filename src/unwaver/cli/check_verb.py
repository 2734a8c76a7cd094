"""unwaver check."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import FORCE, JSON, MAX_CALLS, MAX_COST, PATH, PRICE_IN, PRICE_OUT, QUIET, YES
from unwaver.cli.printing import console, inputs_of, print_json
from unwaver.cli.run_options import FREE_TEXT, HOW_TO_ASK, WHOM_TO_ASK
from unwaver.cli.run_verb import given_by_hand, pairs
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UnwaverError, UsageError

if TYPE_CHECKING:
    from unwaver.project.checking import Outcomes
    from unwaver.project.file import Project
    from unwaver.project.remembered import State, Told

NOT_MET, MISSING_ANSWERS = 1, 3
_NO_LOCK = "--with-texts has no effect without --accept, which writes the lock"


@verb(
    "check",
    examples=(
        "unwaver check",
        "unwaver check --accept",
        "unwaver check --fresh --junit check.xml --markdown check.md",
    ),
)
@section(
    "What to do",
    option(
        "--accept", is_flag=True, help="Make this run the baseline: write unwaver.lock.jsonl, to be committed."
    ),
    option("--with-texts", is_flag=True, help="With --accept: also write questions and answers to the lock."),
    option("--rebuild", is_flag=True, help="Make the groups again, for a source that has changed."),
    option("--fresh", is_flag=True, help="Ask everything again, for a service that may have changed."),
    option("--explain", is_flag=True, help="Print what would be done, and do nothing."),
    option("--allow-undecided", is_flag=True, help="Exit with 0 if more groups are needed to decide."),
)
@WHOM_TO_ASK
@HOW_TO_ASK
@FREE_TEXT
@section("Money", MAX_CALLS, MAX_COST, PRICE_IN, PRICE_OUT, YES)
@section(
    "Output",
    option("--junit", type=PATH, metavar="FILE", help="Write JUnit XML to this file."),
    option("--markdown", type=PATH, metavar="FILE", help="Write a Markdown summary to this file."),
    option("--without-texts", is_flag=True, help="Show no question and no answer, for private prompts."),
    option("--no-report", is_flag=True, help="Do not write report.html."),
    FORCE,
    JSON,
    QUIET,
)
def command(
    accept: bool,
    with_texts: bool,
    rebuild: bool,
    fresh: bool,
    explain: bool,
    allow_undecided: bool,
    junit: Path | None,
    markdown: Path | None,
    without_texts: bool,
    no_report: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Do what unwaver.toml says: ask, compare with what was accepted, and decide.

    unwaver makes the groups once, keeps them in unwaver.groups, and asks nothing twice. Options given here
    override the file. `unwaver init` writes the file.

    Exit codes: 0 pass, 1 fail or undecided, 2 invalid input, 3 answers are missing.
    """
    if with_texts and (without_texts or not accept):
        what = "--with-texts and --without-texts cannot be combined" if without_texts else _NO_LOCK
        raise UsageError(what, hint="unwaver check --accept --with-texts writes texts to the lock")
    files = _outputs(junit, markdown, force)
    if told := _recalled(quiet):
        _print(told.lines)
        raise click.exceptions.Exit(told.code)
    from unwaver.project.checking import check_project
    from unwaver.project.file import open_project
    from unwaver.project.pages import write_pages
    from unwaver.project.remembered import listening, state_of
    from unwaver.project.said import lines

    project = overridden(open_project(), options)
    _go_to(project.folder, quiet or as_json)
    project = replace(project, path=Path(project.path.name))
    if explain:
        _explain(project, as_json)
        return
    before = state_of(project) if _repeatable(AGAIN) else None
    speak, remarks = listening(console(quiet or as_json))
    outcomes = check_project(
        project,
        speak,
        rebuild=rebuild,
        fresh=fresh,
        accept=accept,
        with_texts=with_texts,
        allow_undecided=allow_undecided,
    )
    track = console(quiet).track
    reports = [] if no_report else [str(path) for path in write_pages(outcomes, track, without_texts)]
    _write(outcomes, files, with_texts=not without_texts)
    if as_json:
        print_json(_document(outcomes, without_texts))
    else:
        _print(lines(outcomes, reports, with_texts=not without_texts))
    if before is not None:
        with suppress(UnwaverError):  # a full disk: the verdict is said
            _remember(project, before, outcomes, remarks)
    raise click.exceptions.Exit(_code(outcomes))


def _code(outcomes: Outcomes) -> int:
    return MISSING_ANSWERS if not outcomes.is_complete else 0 if outcomes.is_met else NOT_MET


# --- the same check again -----------------------------------------------------------------------------------

PLAIN = frozenset({"quiet", "yes"})
AGAIN = PLAIN | {"accept", "fresh", "rebuild", "with_texts"}  # options after which a plain check may follow


def _repeatable(options: frozenset[str]) -> bool:
    """Whether the command line has none but these options."""
    return options.issuperset(given_by_hand())


def _recalled(quiet: bool) -> Told | None:
    """What the last check said, if nothing has changed since."""
    from unwaver.models_file import find_file
    from unwaver.project.remembered import recall

    file = find_file() if _repeatable(PLAIN) else None
    if file is None or (told := recall(file)) is None:
        return None
    _go_to(file.parent, quiet)
    for line in () if quiet else told.remarks:
        click.echo(line, err=True)
    return told


def _remember(project: Project, before: State, outcomes: Outcomes, remarks: list[str]) -> None:
    """Keep what the next check will say. After one that asked or accepted something it says something else, which
    is computed here from what is stored."""
    from unwaver.project.checking import check_project
    from unwaver.project.pages import write_pages
    from unwaver.project.remembered import Told, asked_nothing, listening, remember, same_inputs, state_of
    from unwaver.project.said import lines

    after = state_of(project)
    if after is None or not outcomes.is_complete:
        return
    if outcomes.accepted or not same_inputs(before, after) or not asked_nothing(outcomes):
        before, (speak, remarks) = after, listening()
        outcomes = check_project(project, speak)
    reports = [str(path) for path in write_pages(outcomes)]
    after = state_of(project)
    if after is not None and same_inputs(before, after) and asked_nothing(outcomes):
        remember(project, after, Told(lines(outcomes, reports), remarks, _code(outcomes)))


def overridden(project: Project, options: dict[str, Any]) -> Project:
    """The project with what stands on the command line in place of what the file says."""
    named = [name for name in given_by_hand() if name in options or name == "map"]
    options = {**options, "map": options["label_map"]}
    texts = {"model_args": "--model-arg", "map": "--map"}
    chosen = {n: pairs(options[n], texts[n]) if n in texts else options[n] for n in named if n != "label_map"}
    return project.with_settings(chosen)


def _go_to(folder: Path, quiet: bool) -> None:
    """Paths in the file are relative to its folder."""
    if folder.resolve() != Path.cwd():
        os.chdir(folder)
        if not quiet:
            click.echo(f"unwaver.toml is in {folder}", err=True)


# --- files --------------------------------------------------------------------------------------------------


def _outputs(junit: Path | None, markdown: Path | None, force: bool) -> dict[str, Path]:
    """Where the summaries go, checked before anything is asked and before the folder changes."""
    from unwaver.outputs import check_output, is_step_summary

    inputs = inputs_of("junit", "markdown")
    if junit:
        check_output(junit, "junit", inputs=inputs, force=force, option="--junit")
    if markdown and not is_step_summary(markdown):
        check_output(markdown, "check markdown", inputs=inputs, force=force, option="--markdown")
    found = {"junit": junit, "markdown": markdown}
    return {name: path if str(path) == "-" else path.absolute() for name, path in found.items() if path}


def _write(outcomes: Outcomes, files: dict[str, Path], *, with_texts: bool) -> None:
    from unwaver.engine.folder import write_whole
    from unwaver.outputs import append, is_step_summary
    from unwaver.project.said import as_markdown
    from unwaver.verdicts.gate_files import junit

    if "junit" in files:
        write_whole(files["junit"], junit(outcomes.gate))
    if "markdown" in files:
        text = as_markdown(outcomes, with_texts=with_texts)
        (append if is_step_summary(files["markdown"]) else write_whole)(files["markdown"], text)


# --- what is printed ----------------------------------------------------------------------------------------


def _print(lines: Iterable[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.text import Text

    screen = Console(highlight=False)
    styles = {"pass": "bold green", "fail": "bold red", "undecided": "bold yellow", "accepted": "bold green"}
    for word, text in lines:
        screen.print(Text(f"{word:<10}", style=styles.get(word, "bold")) + Text(text), soft_wrap=True)


def _explain(project: Project, as_json: bool) -> None:
    from unwaver.project.plan import plan, plan_lines

    found = plan(project)
    if as_json:
        print_json({"version": 1, "plan": found})
        return
    for line in plan_lines(found):
        click.echo(line)


def _document(outcomes: Outcomes, without_texts: bool) -> dict[str, Any]:
    from unwaver.project.said import lines

    return {
        **outcomes.gate.document(),
        "accepted": outcomes.accepted,
        "complete": outcomes.is_complete,
        "said": [" ".join(line) for line in lines(outcomes, with_texts=not without_texts)],
        "sources": [
            {
                "source": checked.source.name,
                "folder": None if checked.place is None else str(checked.place),
                "changes": [
                    {**dict(zip(("source", "model", "task", "kind"), key, strict=True)), **asdict(change)}
                    for key, change in checked.changes.items()
                ],
                "scores": [asdict(score) for score in checked.result.leading()],
            }
            for checked in outcomes.sources
        ],
    }
