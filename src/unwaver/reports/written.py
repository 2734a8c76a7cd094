"""Reports as files: one page, a table for papers, or the figures."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unwaver.console import Track, untracked
from unwaver.errors import UsageError, near
from unwaver.reports.source import Source
from unwaver.text.shown import escaped

if TYPE_CHECKING:
    from unwaver.engine.runs import Outcome

Form = Literal["html", "md", "latex", "csv", "png", "svg", "pdf"]
TABLES, PICTURES = ("md", "latex", "csv"), ("png", "svg", "pdf")
REPORT = "report.html"
MOST_PICTURES = 6  # in the output of a cell
_SHOWN = {".png": "image/png", ".svg": "image/svg+xml"}


@dataclass(frozen=True, repr=False)
class Report(os.PathLike[str]):
    """What was written: `path`, or `paths` if there are several, and the `text` of a table."""

    paths: tuple[Path, ...] = ()
    text: str | None = None

    @property
    def path(self) -> Path:
        if not self.paths:
            raise UsageError("this report was not written to a file", hint='give out="report.md", or use .text')
        return self.paths[0]

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.text if self.text is not None and not self.paths else "\n".join(map(str, self.paths))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from unwaver.text.displayed import framed

        if not self.paths:
            return framed(f"<pre>{escaped(self.text or '')}</pre>")
        pictures = [path for path in self.paths if path.suffix in _SHOWN and path.is_file()][:MOST_PICTURES]
        return framed(*(f"<p>{escaped(str(path))}</p>" for path in self.paths), *map(_picture, pictures))


def _picture(path: Path) -> str:
    """The picture itself, so that a notebook can be moved; one in a page of its own runs no script."""
    import base64

    data = base64.b64encode(path.read_bytes()).decode("ascii")
    white = "background: white; max-width: 100%"  # its text is dark
    return (
        f'<p><img src="data:{_SHOWN[path.suffix]};base64,{data}" alt="{escaped(path.stem)}" style="{white}"></p>'
    )


def check_place(
    paths: Sequence[Path], out: Path | None, form: str, *, inputs: Iterable[Path], force: bool
) -> None:
    """An error unless the report on these paths may be written there."""
    from unwaver.outputs import check_output, check_pictures

    if form not in ("html", *TABLES, *PICTURES):
        known = ["html", *TABLES, *PICTURES]
        raise UsageError(f"there is no report of format {form!r}", hint=near(form, known))
    given = list(inputs)
    if form in PICTURES:
        check_pictures(out or Path("figures"), form, inputs=given, force=force)
    elif out is not None:
        check_output(out, form, inputs=given, force=force)
    elif form == "html":
        of_run = len(paths) == 1 and (paths[0] / "run.json").exists()
        place = paths[0] / REPORT if of_run else Path(REPORT)
        check_output(place, form, inputs=given, force=force, option="the report")


def write(sources: Sequence[Source], form: Any, out: Path | None = None, track: Track = untracked) -> Report:
    """Write the sources in this form. A table without `out` is only a text."""
    if form in TABLES:
        return _table(sources, form, out)
    if form in PICTURES:
        return Report(tuple(_write_pictures(sources, form, out)))
    return Report((write_page(sources, out or _place(sources), track),))


def write_page(sources: Sequence[Source], path: Path, track: Track = untracked) -> Path:
    from unwaver.engine.folder import write_whole
    from unwaver.reports.page import page

    write_whole(path, page(sources, track))
    return path


def write_page_of_run(
    place: Path, outcome: Outcome, track: Track = untracked, without_texts: bool = False
) -> Path:
    """The page of a run that has just ended, in its folder, from what the run has in memory. A page that was made
    of the same stays."""
    from unwaver.engine.folder import write_whole
    from unwaver.outputs import check_output
    from unwaver.reports.page import page
    from unwaver.reports.source import source_of

    path = place / REPORT
    check_output(path, "html", option="the report")
    mark = f'<meta name="unwaver-made-of" content="{_made_of(outcome, without_texts)}">'
    if path.is_file() and mark in _beginning(path):
        return path
    source = source_of(str(place), outcome.frame, outcome.result, outcome.groups)
    if without_texts:
        from unwaver.reports import private

        source = private.without_texts(source)
    write_whole(path, page([source], track).replace("<title>", f"{mark}<title>", 1))
    return path


def _made_of(outcome: Outcome, without_texts: bool) -> str:
    """A hash of all that a page shows. Answers never change: what was asked, and the hash of the groups, stand for
    the table. Of `run`, what it took this time is not on the page."""
    run = {**outcome.result.run, "spent": outcome.result.run["spent"]["stopped"]}
    code = max(file.stat().st_mtime_ns for file in Path(__file__).parent.rglob("*"))
    made_of = [{**outcome.result.document(), "run": run}, without_texts, code]
    text = json.dumps(made_of, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def _beginning(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(4000)


def is_without_texts(path: Path) -> bool:
    """Whether this page was written --without-texts."""
    from unwaver.reports.markup import WITHOUT_TEXTS

    return WITHOUT_TEXTS in _beginning(path)


def _place(sources: Sequence[Source]) -> Path:
    folder = sources[0].result.folder
    return folder / REPORT if len(sources) == 1 and folder is not None else Path(REPORT)


def _table(sources: Sequence[Source], form: str, out: Path | None) -> Report:
    from unwaver.engine.folder import write_whole
    from unwaver.reports.tables import WRITERS

    text = WRITERS[form](list(sources))
    if out is None:
        return Report(text=text)
    write_whole(out, text)
    return Report((out,), text)


def _write_pictures(sources: Sequence[Source], form: Any, out: Path | None) -> list[Path]:
    from unwaver.engine.folder import open_place, write_whole
    from unwaver.reports.page import all_figures
    from unwaver.reports.pictures import bytes_of
    from unwaver.result import Result

    place = open_place(out or Path("figures"))
    figures = all_figures(sources, Result([s for source in sources for s in source.result.scores]))
    written = []
    families = [figure.family for figure in figures]
    for number, figure in enumerate(figures, 1):
        is_only = families.count(figure.family) == 1 or figure.title == figure.family
        told = figure.family if is_only else f"{figure.family} {figure.title}"
        name = re.sub(r"[^a-z0-9]+", "-", told.lower()).strip("-")[: 40 if is_only else 100]
        path = place / f"{number:02d}-{name}.{form}"
        write_whole(path, bytes_of(figure, form))
        written.append(path)
    return written
