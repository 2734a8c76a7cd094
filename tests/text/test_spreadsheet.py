"""Cells of sheets: no formula, nothing hidden, and read back exactly."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.files import Where
from unwaver.groups.from_json import group_from_json
from unwaver.groups.review import read_sheet, sheet
from unwaver.text.spreadsheet import guarded, read, written

SIGNS = "=+-@\t\r\n＝＋－＠"
HIDDEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\x00\x1b\x7f\x85\u2028\U000e0041"


@pytest.mark.parametrize("sign", list(SIGNS))
@pytest.mark.parametrize("before", ["", "'", "''", " ", "\ufeff"])
def test_a_formula_begins_with_an_apostrophe(sign: str, before: str) -> None:
    text = f"{before}{sign}cmd|' /C calc'!A0"
    assert written(text).startswith("'")
    assert read(written(text)) == text


def test_what_is_no_formula_stays() -> None:
    for text in ("a = b", "'tis", "''", "3-4", "", "C:\\users\\me", "Größe", "你好", "👩‍👩‍👧"):
        assert written(text) == guarded(text) == read(text) == text


@given(st.text(alphabet=st.characters(exclude_categories=())) | st.text(alphabet="'=u\\202e -\t\u202e\ud800aU0"))
def test_every_text_is_read_back(text: str) -> None:
    cell = written(text)
    assert read(cell) == text
    assert not any(c in HIDDEN or unicodedata.category(c) == "Cs" for c in cell)
    assert cell.lstrip(" ")[:1] not in set(SIGNS) - {""} or cell.startswith("'")


def test_a_sheet_of_hostile_texts(tmp_path: Path) -> None:
    """Ids survive; no cell is a formula or holds a hidden character."""
    ids = ["=1+1", "'=1+1", "-a", "@x", "\u202ereversed", "\\u202e", "plain", "a\tb", "＝x", "'", "a\rb"]
    texts = [
        '=HYPERLINK("http://x")',
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "a\u202eb\u2066c\u200f",
        "\x1b[31mred",
        "ok",
    ]
    groups = []
    for n, id in enumerate(ids):
        items = [{"id": f"o{n}", "text": texts[n % 8]}, {"id": id, "text": texts[(n + 1) % 8]}]
        groups.append(group_from_json({"id": f"g{n}", "items": items}, Where("f", n)))
    text = sheet(groups)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    assert len(rows) == len(ids) + 1
    for row in rows[1:]:
        assert not any(cell[:1] in SIGNS for cell in row if cell)
        assert not any(c in HIDDEN or c == "\r" for cell in row for c in cell)
    filled = [rows[0], *([*row[:-2], "ok" if n % 2 else "wrong", ""] for n, row in enumerate(rows[1:]))]
    for delimiter, name in (("\t", "sheet.tsv"), (",", "sheet.csv")):
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(filled)
        (tmp_path / name).write_text(out.getvalue())
        assert read_sheet(tmp_path / name) == {id: bool(n % 2) for n, id in enumerate(ids)}
    (tmp_path / "sheet.jsonl").write_text(
        "".join(json.dumps(dict(zip(rows[0], r, strict=True))) + "\n" for r in filled[1:])
    )
    assert set(read_sheet(tmp_path / "sheet.jsonl")) == set(ids)
