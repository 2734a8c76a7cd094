"""unwaver review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unwaver.cli.options import JSON, PATH, SAMPLE, SEED
from unwaver.cli.printing import print_json
from unwaver.cli.sections import option, section, verb
from unwaver.errors import DataError, UsageError

if TYPE_CHECKING:
    from unwaver.people.agreement import Agreement

    _Agreed = tuple[list[Agreement], str, dict[str, tuple[int, int]]]  # with a title, and what rules keep


@verb(
    "review",
    examples=(
        "unwaver review groups.jsonl --sample 100 --out sheet.tsv",
        "unwaver run groups.jsonl --model fake/random --review sheet.tsv",
        "unwaver review ann.tsv bob.tsv",
    ),
)
@click.argument("files", type=PATH, nargs=-1, required=True)
@section(
    "What to review",
    SAMPLE.but(help="Draw N variants at random. [default: all]"),
    SEED,
)
@section(
    "Output",
    option("--out", type=PATH, metavar="FILE", help="Sheet to write, a .tsv file."),
    JSON.but(help="Print agreement as one JSON document on stdout."),
)
def command(files: tuple[Path, ...], out: Path | None, sample: int | None, seed: int, as_json: bool) -> None:
    """Write a sheet on which a person judges variants, or compare sheets.

    With --out, FILES is a groups.jsonl or a run folder. If variants were certified (audit.jsonl is beside it), the
    sheet has only the accepted ones. Fill the column verdict with ok or wrong and, if you like, reason. Then pass
    the sheet to run, build or score with --review: wrong variants no longer count, and their share bounds the
    scores.

    Without --out, FILES are sheets of several people, or a job (JOB.toml): unwaver prints how far they agree, as
    Cohen's kappa (two people), Fleiss' kappa and Krippendorff's alpha. With a groups.jsonl, also by kind.
    """
    if out is None:
        if sample is not None:
            raise UsageError("--sample has no effect without --out", hint="add --out sheet.tsv")
        _print_agreement(files, seed, as_json)
        return
    if as_json or len(files) > 1:
        what = (
            "--json has no effect with --out"
            if as_json
            else f"--out writes a sheet for one file, not {len(files)}"
        )
        raise UsageError(what, hint="leave --out out for the agreement of several sheets")
    _write_sheet(files[0], out, sample, seed)


def _write_sheet(groups: Path, out: Path, sample: int | None, seed: int) -> None:
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
    from unwaver.engine.stored import read_kept
    from unwaver.groups.from_lines import read_groups_file
    from unwaver.groups.review import sheet

    path = groups / GROUPS if groups.is_dir() else groups
    if not path.exists():
        raise DataError("there is no such file", file=path, hint="give a groups.jsonl or a run folder")
    found = read_groups_file(path)
    text = sheet(found, sample=sample, seed=seed, only=read_kept(path.parent, found))
    write_whole(out, text)
    click.echo(f"{text.count(chr(10)) - 1:,} variants to judge: {out}")


# --- how far people agree -------------------------------------------------------------------------------------


def _print_agreement(files: tuple[Path, ...], seed: int, as_json: bool) -> None:
    from unwaver.people.agreement import as_json as entry

    found, title, rules = _of_job(files) if files[0].suffix == ".toml" else _of_sheets(files, seed)
    if as_json:
        kept = {rule: {"kept": count, "of": of} for rule, (count, of) in rules.items()}
        print_json({"version": 1, "agreement": [entry(each) for each in found], "rules": kept})
        return
    from rich.console import Console

    from unwaver.people.agreement import HEADER, notes, row
    from unwaver.reports.terminal import print_rows

    screen = Console(highlight=False)
    screen.print(title, markup=False, soft_wrap=True)
    names = [" ".join(filter(None, (each.criterion, each.kind))) or "all" for each in found]
    print_rows([["", *HEADER], *([name, *row(each)] for name, each in zip(names, found, strict=True))], screen)
    if rules:
        print_rows(
            [["rule", "keeps", "of"], *([rule, f"{n:,}", f"{of:,}"] for rule, (n, of) in rules.items())], screen
        )
    screen.print(" ".join(notes(found)), style="dim", markup=False)


def _of_job(files: tuple[Path, ...]) -> _Agreed:
    from unwaver.people.figures import agreements, kept_by, said_of
    from unwaver.people.outcome import JUDGING, read_judged, rules_in_words, verdicts
    from unwaver.people.rules import presets_for

    if len(files) > 1:
        raise UsageError(f"{files[0]} is a job, which is read by itself", hint="give one job, or several sheets")
    found = read_judged(files[0], (*JUDGING, "pairs", "answer"))
    aside = sorted(found.aside)
    rows = agreements(found.job, found.cards, found.replies, aside)
    if not rows:
        hint = f"unwaver annotate {files[0]} serves it"
        raise DataError("nobody has said anything in this job yet that can be compared", file=files[0], hint=hint)
    cards = sum(card.known is None for card in found.cards)
    who = "person" if len(found.people) == 1 else "people"
    title = f"{len(found.people)} {who} on {cards:,} cards of {files[0]}"
    rules = {}
    if found.job.kind in JUDGING:
        kept = verdicts(found).values()
        rules = kept_by(said_of(found.cards, found.replies, aside), presets_for(found.job.kind))
        rules |= {f"{rules_in_words(found)} (this job)": (sum(kept), len(kept))}
    return rows, title, rules


def _of_sheets(files: tuple[Path, ...], seed: int) -> _Agreed:
    from unwaver.engine.folder import GROUPS
    from unwaver.groups.from_lines import read_groups_file
    from unwaver.groups.review import check_sheets, read_sheets
    from unwaver.people.sheets import agreement_of_sheets

    places = [path / GROUPS if (path / GROUPS).is_file() else path for path in files]
    sources = [path for path in places if path.suffix == ".jsonl"]
    sheets = [path for path in places if path not in sources]
    for path in places:
        if not path.exists():
            raise DataError(
                "there is no such file", file=path, hint="give review sheets, and the groups if you like"
            )
    if not sheets:
        hint = "--out sheet.tsv writes a sheet; or name the sheets that people filled in"
        raise UsageError("--out is missing", hint=hint)
    groups = [group for path in sources for group in read_groups_file(path)]
    read = read_sheets(sheets)
    if groups:
        check_sheets(read, groups, lambda line: click.echo(line, err=True))
    title = f"{len(read)} sheets: {', '.join(map(str, read))}"
    return agreement_of_sheets(read, groups, seed), title, {}
