"""unwaver show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.options import CUT, JSON, PATH, UNREADABLE_OUT, log_options
from unwaver.cli.printing import print_json
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from unwaver.asking.failures import Reason
    from unwaver.engine.load import Loaded
    from unwaver.state import CutMode
    from unwaver.types import Group


@verb(
    "show",
    examples=(
        "unwaver show runs/sample-1a2b3c4d",
        "unwaver show runs/sample-1a2b3c4d --only sample/snli/negational --limit 3",
        "unwaver show runs/sample-1a2b3c4d --failed",
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
        help="Show at most N groups.",
    ),
    UNREADABLE_OUT,
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
    cut: CutMode | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the broken groups of a run: texts and answers side by side.

    FOLDER is a run folder, a table of answers, or a log of another tool. Words that differ from the original are
    underlined. Right answers are green, wrong answers red.
    """
    from unwaver.asking.failures import as_records, from_records
    from unwaver.metrics import missing
    from unwaver.reports import notion

    run = _loaded(folder, cut, options)
    frames = _of_models(run.frames, model)
    if failed and run.place is None:
        raise UsageError("--failed is for run folders", hint="leave it out: the failed calls of a log are counted")
    if failed:
        _show_failed(folder, _items_of(run.groups, only), model, limit, as_json)
        return
    reasons = [r for r in from_records(run.run.get("failures", [])) if r.role != "model" or model in r.model]
    parts = [_about(frame, only) for frame in frames]
    if unreadable_out is not None:
        from unwaver.cli.unreadable_answers import write

        write(unreadable_out, parts)
    if unreadable:
        from unwaver.cli.unreadable_answers import show

        show(parts, limit, as_json)
        return
    found: list[tuple[str, str, list[dict[str, Any]]]] = [g for part in parts for g in _chosen(part, everything)]
    lacking = missing.counts_of(parts)
    if as_json:
        shown = [{"group": g, "model": m, "answers": a} for g, m, a in found[:limit]]
        told = {"found": len(found), "missing": lacking, "groups": shown, "failures": as_records(reasons)}
        print_json({"version": 1, **told})
        return
    if found or sum(lacking.values()) < sum(part["group"].n_unique() for part in parts):
        _print(found, {group.id: group for group in run.groups or _groups_of(parts)}, limit)
    lines = [*notion.lines_of_frames(parts), *missing.lines_of_frames(parts, run.run)]
    _print_remarks([*lines, *_why(reasons, folder)])


def _loaded(path: Path, cut: CutMode | None, options: dict[str, Any]) -> Loaded:
    """A run folder, or the answers in a table or log. What is neither is told as what it is not: a run."""
    from unwaver.engine.answer_options import check_answer_options
    from unwaver.engine.load import load, load_run
    from unwaver.errors import DataError
    from unwaver.logs import is_log_folder

    is_run = (path / "run.json").exists() or path.name == "run.json" or not path.exists()
    check_answer_options([path] if path.exists() else [], **options)
    if is_run or (path.is_dir() and not is_log_folder(path)):
        return load_run(path, cut=cut)
    try:
        return load([path], cut=cut, **options)
    except DataError:
        if path.is_dir() or any(value not in (None, (), False) for value in options.values()):
            raise
        load_run(path, cut=cut)  # says that it is no run
        raise


def _groups_of(frames: Iterable[pl.DataFrame]) -> Iterator[Group]:
    """The groups of a table or log, which has names of wordings and no texts."""
    from unwaver.types import Group, Item

    for frame in frames:
        for rows in frame.filter(frame["role"] != "test").partition_by("group", maintain_order=True):
            first = rows.row(0, named=True)
            items = {row["item"]: row for row in rows.iter_rows(named=True)}
            yield Group(
                first["group"],
                first["suite"],
                first["task"],
                first["kind"],
                first["expect"],
                tuple(Item(id, first["task"], row["role"], {"wording": id}) for id, row in items.items()),
            )


def _of_models(frames: Sequence[pl.DataFrame], model: str) -> list[pl.DataFrame]:
    """The answers of the models whose name holds this text."""
    names = [str(frame["model"][0]) for frame in frames]
    found = [frame for frame, name in zip(frames, names, strict=True) if model in name]
    if not found:
        raise UsageError(f"no model has {model!r} in its name", hint="in this run: " + ", ".join(names))
    return found


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


def _about(frame: pl.DataFrame, only: str) -> pl.DataFrame:
    """The rows of suites, tasks and kinds that begin with `only`."""
    import polars as pl

    name = pl.concat_str([pl.col("suite"), pl.col("task"), pl.col("kind")], separator="/")
    part = frame.filter(name.str.starts_with(only))
    if part.is_empty():
        kinds = frame.select(name.unique()).to_series().sort().to_list()
        raise UsageError(f"no suite/task/kind starts with {only!r}", hint="in this run: " + ", ".join(kinds))
    return part


def _chosen(part: pl.DataFrame, everything: bool) -> list[Any]:
    import polars as pl

    from unwaver.metrics.broken import broken_groups

    if not everything:
        part = part.filter(pl.col("group").is_in(broken_groups(part)))
    columns = ["item", "role", "replicate", "label", "gold", "right", "probs", "status"]
    columns += ["said"] if "said" in part.columns else []
    return [
        (rows["group"][0], rows["model"][0], rows.select(columns).to_dicts())
        for rows in part.partition_by("group", maintain_order=True)
    ]


def _print(found: list[Any], groups: dict[str, Any], limit: int) -> None:
    from rich.console import Console

    from unwaver.reports.side_by_side import print_group
    from unwaver.text.shown import safe

    console = Console(highlight=False)
    several = len({model for _, model, _ in found}) > 1
    for group, model, answers in found[:limit]:
        if several:
            console.print(safe(model), style="dim", markup=False)
        by_item: dict[str, list[Any]] = {}
        for answer in answers:
            by_item.setdefault(answer["item"], []).append(answer)
        print_group(groups[group], by_item, console)
    more = f" – the first {limit} are shown; --limit N shows more" if len(found) > limit else ""
    console.print(f"{len(found):,} group{'' if len(found) == 1 else 's'}{more}", markup=False)


def _print_remarks(remarks: Sequence[str]) -> None:
    """What a list of groups does not tell."""
    from rich.console import Console

    from unwaver.text.shown import safe

    console = Console(highlight=False)
    for line in remarks:
        console.print(safe(line), style="yellow", markup=False, soft_wrap=True)
