"""unwaver show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import CUT, FORCE, JSON, PATH, UNREADABLE_OUT, log_options
from unwaver.cli.printing import inputs_of, print_json
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UsageError

if TYPE_CHECKING:
    from unwaver.asking.failures import Reason
    from unwaver.engine.load import Loaded
    from unwaver.reports.listed import Listed
    from unwaver.state import CutMode
    from unwaver.types import Group


@verb(
    "show",
    examples=(
        "unwaver show runs/sample-1a2b3c4d",
        "unwaver show runs/sample-1a2b3c4d --only sample/snli/negational --limit 3",
        "unwaver show runs/sample-1a2b3c4d --all --csv groups.csv",
    ),
)
@click.argument("folder", type=PATH)
@section(
    "What to show",
    option("--only", default="", metavar="PREFIX", help="Only this part of suite/task/kind: sample/snli."),
    option("--model", default="", metavar="TEXT", help="Only models whose name contains this text."),
    option("--all", "everything", is_flag=True, help="Also show groups that hold."),
    option("--unreadable", is_flag=True, help="Show the texts of unreadable answers instead of groups."),
    option("--failed", is_flag=True, help="Show failed calls and their reasons instead of groups."),
    CUT,
)
@section(
    "Output",
    option(
        "--limit",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        metavar="N",
        help="Show at most N groups. Files have all of them unless this is given.",
    ),
    option("--full", is_flag=True, help="Do not cut long texts."),
    option("--csv", "csv_out", type=PATH, metavar="FILE", help="Write texts, answers and agreement; - prints."),
    option("--jsonl", "jsonl_out", type=PATH, metavar="FILE", help="The same, one JSON object for each group."),
    UNREADABLE_OUT,
    FORCE,
    JSON,
)
@log_options
def command(
    folder: Path,
    only: str,
    model: str,
    everything: bool,
    failed: bool,
    unreadable: bool,
    unreadable_out: Path | None,
    limit: int,
    full: bool,
    csv_out: Path | None,
    jsonl_out: Path | None,
    force: bool,
    cut: CutMode | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the broken groups of a run, worst first: texts and answers side by side.

    FOLDER is a run folder, a table of answers, a log of another tool, or a job of people. Words that differ from
    the original are underlined. Right answers are green, wrong answers red.
    """
    from rich.console import Console as RichConsole

    from unwaver.asking.failures import as_records, from_records
    from unwaver.metrics import missing
    from unwaver.reports import notion
    from unwaver.reports.listed import listed
    from unwaver.reports.shown_groups import about, of_models, print_listed

    outputs = {form: path for form, path in (("csv", csv_out), ("jsonl", jsonl_out)) if path is not None}
    _check_outputs(outputs, force, "--failed" if failed else "--unreadable" if unreadable else "", as_json)
    run = _loaded(folder, cut, options)
    frames = of_models(run.frames, model)
    if failed and run.place is None:
        raise UsageError("--failed is for run folders", hint="leave it out: the failed calls of a log are counted")
    if failed:
        _show_failed(folder, _items_of(run.groups, only), model, limit, as_json)
        return
    reasons = [r for r in from_records(run.run.get("failures", [])) if r.role != "model" or model in r.model]
    parts = [about(frame, only) for frame in frames]
    if unreadable_out is not None:
        from unwaver.cli.unreadable_answers import write

        write(unreadable_out, parts)
    if unreadable:
        from unwaver.cli.unreadable_answers import show

        show(parts, limit, as_json)
        return
    found, known = listed(parts, everything), {group.id: group for group in run.groups}
    lacking = missing.counts_of(parts)
    if outputs:
        _write(found if not _is_given("limit") else found[:limit], known, outputs)
        return
    if as_json:
        shown = [_as_json(each) for each in found[:limit]]
        told = {"found": len(found), "missing": lacking, "groups": shown, "failures": as_records(reasons)}
        print_json({"version": 1, **told})
        return
    if found or sum(lacking.values()) < sum(part["group"].n_unique() for part in parts):
        print_listed(found, known, limit, full, RichConsole(highlight=False))
    lines = [*notion.lines_of_frames(parts), *missing.lines_of_frames(parts, run.run)]
    if "people" in run.run:
        lines = [*notion.lines_of_frames(parts), *(line for of in run.run["notes"].values() for line in of)]
    if run.run.get("services"):
        from unwaver.engine.first_tokens import letters_of

        lines = [*lines, *letters_of(run.run)]
    _print_remarks([*lines, *_why(reasons, folder)])


def _loaded(path: Path, cut: CutMode | None, options: dict[str, Any]) -> Loaded:
    """A run folder, or the answers in a table or log. What is neither is told as what it is not: a run."""
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.engine.load import is_job, load, load_run
    from unwaver.errors import DataError
    from unwaver.logs import is_log_folder

    if is_job(path):
        check_answer_options([path], **options)
        return load(path)
    is_run = (path / "run.json").exists() or path.name == "run.json" or not path.exists()
    check_answer_options([path] if path.exists() else [], **options)
    if is_run or (path.is_dir() and not is_log_folder(path)):
        return load_run(path, cut=cut)
    try:
        return load([path], cut=cut, texts=True, **options)
    except DataError:
        if path.is_dir() or any(value not in (None, (), False) for value in options.values()):
            raise
        load_run(path, cut=cut)  # says that it is no run
        raise


def _items_of(groups: Iterable[Group], only: str) -> set[str] | None:
    """The items of what was chosen, None for all."""
    if not only:
        return None
    return {i.id for g in groups if f"{g.suite}/{g.task}/{g.kind}".startswith(only) for i in g.items}


def _show_failed(place: Path, items: set[str] | None, model: str, limit: int, as_json: bool) -> None:
    """The reasons of failed calls, the most frequent first, each with an example."""
    from unwaver.asking.failures import as_records, grouped, total
    from unwaver.engine.load import failed_calls

    calls = [
        call
        for call in failed_calls(place)
        if (items is None or call.item in items) and (call.role != "model" or model in call.model)
    ]
    reasons = grouped(calls)
    if as_json:
        print_json({"version": 1, "failed": total(reasons), "failures": as_records(reasons)})
        return
    from rich.console import Console

    from unwaver.text.shown import safe

    console = Console(highlight=False)
    for reason in reasons[:limit]:
        who = reason.model if reason.role == "model" else f"{reason.model} ({reason.role})"
        console.print(f"{safe(who)}: {reason.calls:,} × {safe(reason.reason)}", markup=False, soft_wrap=True)
        console.print(f"  for example {safe(reason.item)}: {safe(reason.example)}", markup=False, soft_wrap=True)
    more = f" – the first {limit} reasons are shown; --limit N shows more" if len(reasons) > limit else ""
    console.print(f"{total(reasons):,} call{'' if total(reasons) == 1 else 's'} failed{more}", markup=False)


def _why(reasons: Sequence[Reason], place: Path) -> list[str]:
    from unwaver.asking.failures import in_words

    again = f"unwaver show {place} --failed lists the reasons. To retry, run the same command again."
    return [*in_words(reasons), again] if reasons else []


def _as_json(found: Listed) -> dict[str, Any]:
    about: dict[str, Any] = {"relation": found.relation, "state": found.state, "agreement": found.agreement}
    if found.fields:
        about["fields"] = list(found.fields)
    return {"group": found.group, "model": found.model, **about, "answers": found.answers}


# --- files --------------------------------------------------------------------------------------------------


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _check_outputs(outputs: dict[str, Path], force: bool, instead: str, as_json: bool) -> None:
    """Errors about --csv and --jsonl, before anything is read."""
    from unwaver.outputs import check_output
    from unwaver.paths import STDOUT

    named = [f"--{form}" for form in outputs]
    if named and instead:
        raise UsageError(f"{named[0]} and {instead} cannot be combined", hint="--unreadable-out FILE writes texts")
    printed = [f"--{form}" for form, path in outputs.items() if str(path) in STDOUT] + ["--json"] * as_json
    if (named and len(printed) > 1) or (named and as_json):
        both = " and ".join(dict.fromkeys([*printed, *named][:2]))
        raise UsageError(f"{both} cannot be combined", hint="write one of them to a file of its own")
    inputs = inputs_of("csv_out", "jsonl_out", "unreadable_out")
    for form, path in outputs.items():
        check_output(path, f"listed {form}", inputs=inputs, force=force, option=f"--{form}")


def _write(found: Sequence[Listed], known: Mapping[str, Group], outputs: Mapping[str, Path]) -> None:
    from unwaver.engine.folder import write_whole
    from unwaver.paths import is_stream
    from unwaver.reports.listed import as_csv, as_jsonl

    for form, path in outputs.items():
        write_whole(path, (as_csv if form == "csv" else as_jsonl)(found, known))
        if not is_stream(path):
            groups = "1 group" if len(found) == 1 else f"{len(found):,} groups"
            click.echo(f"{groups} with {sum(len(each.answers) for each in found):,} answers: {path}")


# --- what is printed ----------------------------------------------------------------------------------------


def _print_remarks(remarks: Sequence[str]) -> None:
    """What a list of groups does not tell."""
    from rich.console import Console

    from unwaver.text.shown import safe

    console = Console(highlight=False)
    for line in remarks:
        console.print(safe(line), style="yellow", markup=False, soft_wrap=True)
