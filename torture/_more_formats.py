"""Formats of projects, of people and of spreadsheets; see _formats.py."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

Files = Mapping[str, bytes]


def workbook(rows: list[list[Any]]) -> bytes:
    """A small .xlsx file with one sheet."""
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>' for cell in row) + "</row>"
        for row in rows
    )
    space = "http://schemas.openxmlformats.org"
    main, office = f"{space}/spreadsheetml/2006/main", f"{space}/officeDocument/2006/relationships"
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{space}/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return out.getvalue()


def spreadsheet() -> Files:
    rows = [[f"Is it late at {n}?", f"Has it got late by {n}?", ("yes", "no")[n % 2]] for n in range(5)]
    return {"q.xlsx": workbook([["question", "paraphrase", "gold"], *rows])}


def becel_predictions() -> Files:
    row = {"original_preds": [0, 1, 2, 1], "paraphrase_preds": [0, 1, 1, 1], "labels": [0, 1, 2, 0]}
    joined = {"first_preds": [0, 1], "second_preds": [1, 1], "transitive_preds": [1, 0], "labels": [3, 0]}
    joined |= {"first_labels": [0, 1], "second_labels": [1, 0]}
    return {
        "snli-semantic.json": json.dumps(row, indent=1).encode(),
        "snli-transitive.json": json.dumps(joined, indent=1).encode(),
    }


TOML = b"""
alpha = 0.1
runs = "made"
[run]
model = "@bot"
agree = ["exact"]
limit = 4
[models.bot]
model = "fake/random"
seed = 3
[sources.faq]
from = "q.csv"
label = ["yes", "no"]
[bars]
faq = ["tau<=0.90", "drop<=0.5"]
"""


def _within(make: Callable[[Path], None]) -> Files:
    """What a function leaves in a folder that is the current one meanwhile."""
    place, here = Path("making").absolute(), Path.cwd()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    os.chdir(place)
    try:
        make(place)
    finally:
        os.chdir(here)
    kept = (path for path in place.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    found = {str(path.relative_to(place)): path.read_bytes() for path in kept}
    shutil.rmtree(place)
    return found


def project() -> Files:
    def make(place: Path) -> None:
        from unwaver.cli.main import main

        (place / "unwaver.toml").write_bytes(TOML)
        lines = [f"Is it late at {n}?,Has it got late by {n}?,{('yes', 'no')[n % 2]}" for n in range(5)]
        (place / "q.csv").write_text("\n".join(["question,paraphrase,gold", *lines]) + "\n")
        try:
            main(["check", "--accept"])
        except SystemExit as e:
            if e.code not in (0, 1, 3):
                raise RuntimeError(f"unwaver check ends with {e.code}") from None

    return {name: data for name, data in _within(make).items() if not name.startswith("made/")}


def people() -> Files:
    """A job of pairs with what two people said."""

    def make(place: Path) -> None:
        sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
        from people_jobs import groups, job_file, play, written

        written(place / "groups.jsonl", groups(3))
        job = job_file(place / "job.toml", "rate", raters=2, title="Trial", scale=["no", "a bit", "yes", "x", "y"])
        play(job, lambda _, who: {"value": "4" if who == "ann" else "5"}, ("ann", "bob"))
        with closing(sqlite3.connect(place / "job.sqlite")) as db:
            db.execute("PRAGMA journal_mode=DELETE")

    return _within(make)


def conversations() -> Files:
    """Groups with messages, tools and formats, one with a second turn about the model's own answer."""
    late = {"role": "user", "content": "Is it late?"}
    call = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Is it late?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "23:00", "tool_call_id": "c1"},
    ]
    again = [late, {"role": "assistant", "content": "{answer of q}"}, {"role": "user", "content": "Are you sure?"}]
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    groups = [
        {"items": [{"messages": asked, "tools": [tool]}, {"messages": [late], "tools": [tool]}]},
        {"kind": "doubt", "expect": "same", "items": [{"id": "q", "messages": [late]}, {"messages": again}]},
        {"items": [{"messages": [late], "response_format": form}, {"messages": [late]}]},
    ]
    return {"talks.jsonl": "".join(json.dumps(group) + "\n" for group in groups).encode()}


FACTS = b"""
name = "flags"
rule = "colours of national flags, which are fixed by law"
columns = ["country", "colour", "wrong"]
cluster = "country"
rows = [
  ["Ireland", "green", ["blue", "black", "red"]],
  ["Italy", "red|rosso", ["blue", "black", "yellow"]],
  ["Belgium", "black", ["green", "white", "blue"]],
]

[[questions]]
name = "colour"
answer = "colour"
wrong = "wrong"
choice_only = true
near = [["Ireland", "Italy"]]
open.en = [
  "which of these colours is in the flag of {country}?",
  "which colour does the flag of {country} have?",
  "please choose the colour that is in the flag of {country}.",
  "the flag of {country} contains the colour ___.",
  "a child paints the flag of {country}. Which of these colours does it need?",
  "if you look at the flag of {country}, which of these colours do you see?",
]
statement.en = "the flag of {country} contains the colour {colour}"
negation.en = "the flag of {country} does not contain the colour {colour}"
question.en = "does the flag of {country} contain the colour {colour}"
inverse.en = "{colour} is a colour in the flag of {country}"
"""


def core_table() -> Files:
    return {"facts.toml": FACTS}
