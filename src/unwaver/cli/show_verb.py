"""unwaver show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import print_json
from unwaver.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


@click.command("show")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--only", default="", help="Only suites, tasks or kinds that begin with this: becel/snli/symmetric.")
@click.option("--model", default="", help="Only models whose name holds this.")
@click.option("--all", "everything", is_flag=True, help="Also groups that hold.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many groups.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(folder: Path, only: str, model: str, everything: bool, limit: int, as_json: bool) -> None:
    """Show the groups of a run that broke a relation: texts and answers side by side.

    Words that differ from the original are underlined; an answer is green if right, red if wrong.

    \b
    Examples:
      unwaver show runs/sample-1a2b3c4d
      unwaver show runs/sample-1a2b3c4d --only sample/snli/negational --limit 3
    """
    from unwaver.folder import read_groups
    from unwaver.rescore import read_folder

    frames, _, _ = read_folder(folder)
    groups = {g.id: g for g in read_groups(folder)}
    names = [str(frame["model"][0]) for frame in frames]
    if not any(model in name for name in names):
        raise UsageError(f"no model has {model!r} in its name", hint="in this run: " + ", ".join(names))
    found: list[tuple[str, str, list[dict[str, Any]]]] = []
    for frame, name in zip(frames, names, strict=True):
        if model in name:
            found += _chosen(frame, only, everything)
    if as_json:
        shown = [{"group": g, "model": m, "answers": a} for g, m, a in found[:limit]]
        print_json({"version": 1, "found": len(found), "groups": shown})
        return
    _print(found, groups, limit)


def _chosen(frame: pl.DataFrame, only: str, everything: bool) -> list[Any]:
    import polars as pl

    from unwaver.scoring import broken_groups

    name = pl.concat_str([pl.col("suite"), pl.col("task"), pl.col("kind")], separator="/")
    part = frame.filter(name.str.starts_with(only))
    if part.is_empty():
        kinds = frame.select(name.unique()).to_series().sort().to_list()
        raise UsageError(f"nothing begins with {only!r}", hint="in this run: " + ", ".join(kinds))
    if not everything:
        part = part.filter(pl.col("group").is_in(broken_groups(part)))
    columns = ["item", "role", "replicate", "label", "gold", "probs", "status"]
    return [
        (rows["group"][0], rows["model"][0], rows.select(columns).to_dicts())
        for rows in part.partition_by("group", maintain_order=True)
    ]


def _print(found: list[Any], groups: dict[str, Any], limit: int) -> None:
    from rich.console import Console

    from unwaver.show import print_group, safe

    console = Console(highlight=False)
    several = len({model for _, model, _ in found}) > 1
    for group, model, answers in found[:limit]:
        if several:
            console.print(safe(model), style="dim", markup=False)
        print_group(groups[group], {a["item"]: a for a in reversed(answers)}, console)
    more = f" – the first {limit} are shown, --limit shows more" if len(found) > limit else ""
    console.print(f"{len(found):,} group{'' if len(found) == 1 else 's'}{more}", markup=False)
