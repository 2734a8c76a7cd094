"""unwaver review."""

from __future__ import annotations

from pathlib import Path

import click

from unwaver.cli.options import PATH, SAMPLE, SEED
from unwaver.cli.sections import option, section, verb
from unwaver.errors import DataError, UsageError


@verb(
    "review",
    examples=(
        "unwaver review groups.jsonl --sample 100 --out sheet.tsv",
        "unwaver run groups.jsonl --model fake/random --review sheet.tsv",
        "unwaver score runs/mine-1a2b3c4d --review sheet.tsv",
    ),
)
@click.argument("groups", type=PATH)
@section(
    "What to review",
    SAMPLE.but(help="Draw N variants at random. [default: all]"),
    SEED,
)
@section("Output", option("--out", required=True, type=PATH, metavar="FILE", help="Sheet to write, a .tsv file."))
def command(groups: Path, out: Path, sample: int | None, seed: int) -> None:
    """Write a sheet on which a person judges variants.

    GROUPS is a groups.jsonl or a run folder. If variants were certified (audit.jsonl is next to it), the sheet has
    only the accepted ones. Fill the column verdict with ok or wrong and, if you like, reason. Then pass the sheet
    to run, build or score with --review: wrong variants no longer count, and their share bounds the scores.
    """
    if out.suffix != ".tsv":
        raise DataError("a review sheet is a .tsv", file=out, hint="name it sheet.tsv")
    if out.exists() and out.stat().st_size:
        raise DataError(
            "a file with this name exists",
            file=out,
            hint="unwaver never overwrites a review sheet: choose another name",
        )
    from unwaver.outputs import check_output

    check_output(out, "csv", inputs=[groups])
    if sample is not None and sample < 1:
        raise UsageError(f"--sample is {sample}, expected 1 or more", hint="leave it out for all")
    from unwaver.engine.folder import GROUPS, write_whole
    from unwaver.engine.stored import read_groups_file, read_kept
    from unwaver.groups.review import sheet

    path = groups / GROUPS if groups.is_dir() else groups
    if not path.exists():
        raise DataError("there is no such file", file=path, hint="give a groups.jsonl or a run folder")
    found = read_groups_file(path)
    text = sheet(found, sample=sample, seed=seed, only=read_kept(path.parent, found))
    write_whole(out, text)
    click.echo(f"{text.count(chr(10)) - 1:,} variants to judge: {out}")
