"""Reading tables: what is written is read, and what is wrong is said with file, line and value."""

import csv
import gzip
import io
import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.files import extension, read_rows, shown, stem

TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=20)
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=6)
COLUMNS = ("a", "b", "c")
ENDINGS = st.sampled_from(["\n", "\r\n"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def write(path: Path, text: str, *, bom: bool = False) -> Path:
    data = text.encode("utf-8-sig" if bom else "utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def values(path: Path, **options) -> list[tuple]:
    return [tuple(row.cells.values()) for row in read_rows(path, required=COLUMNS, **options)]


@given(
    rows=ROWS, ending=ENDINGS, bom=st.booleans(), suffix=st.sampled_from([".csv", ".tsv", ".csv.gz", ".tsv.gz"])
)
def test_a_quoted_table_reads_as_it_was_written(folder, rows, ending, bom, suffix):
    out = io.StringIO(newline="")
    # the csv writer of Python 3.11 leaves a lone carriage return unquoted, which no reader can tell from a line end
    quoting = csv.QUOTE_ALL if any("\r" in cell for cells in rows for cell in cells) else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter="," if "csv" in suffix else "\t", lineterminator=ending, quoting=quoting)
    writer.writerows([COLUMNS, *rows])
    assert values(write(folder / f"t{suffix}", out.getvalue(), bom=bom)) == rows


@given(
    rows=st.lists(st.tuples(*[TEXT.map(lambda t: t.translate({9: " ", 10: " ", 13: " "}))] * 3), min_size=1),
    ending=ENDINGS,
    bom=st.booleans(),
)
def test_an_unquoted_table_keeps_its_quotes(folder, rows, ending, bom):
    text = "".join("\t".join(cells) + ending for cells in [COLUMNS, *rows])
    assert values(write(folder / "u.tsv", text, bom=bom), quoting=False) == rows


@given(
    rows=ROWS,
    ending=ENDINGS,
    bom=st.booleans(),
    ascii=st.booleans(),
    suffix=st.sampled_from([".jsonl", ".jsonl.gz"]),
)
def test_json_lines_read_as_they_were_written(folder, rows, ending, bom, ascii, suffix):
    text = "".join(
        json.dumps(dict(zip(COLUMNS, cells, strict=True)), ensure_ascii=ascii) + ending for cells in rows
    )
    assert values(write(folder / f"t{suffix}", text, bom=bom)) == rows


@given(
    rows=ROWS, indent=st.sampled_from([None, 1]), bom=st.booleans(), suffix=st.sampled_from([".json", ".json.gz"])
)
def test_a_json_list_reads_as_it_was_written(folder, rows, indent, bom, suffix):
    text = json.dumps([dict(zip(COLUMNS, cells, strict=True)) for cells in rows], indent=indent)
    assert values(write(folder / f"t{suffix}", text, bom=bom)) == rows


def test_a_row_knows_the_line_where_it_starts(tmp_path):
    table = write(tmp_path / "t.tsv", 'a\tb\n"one\ntwo"\tx\n\n3\ty\n')
    assert [(row.where.line, row.text("b")) for row in read_rows(table)] == [(2, "x"), (5, "y")]
    listed = write(tmp_path / "t.json", '[\n {"a": 1},\n\n {"a":\n 2}\n]\n')
    assert [(row.where.line, row.cells["a"]) for row in read_rows(listed)] == [(2, 1), (4, 2)]
    lines = write(tmp_path / "t.jsonl", '{"a": 1}\n\n{"a": 2}\n')
    assert [(row.where.line, row.cells["a"]) for row in read_rows(lines)] == [(1, 1), (3, 2)]


def test_a_cell_may_be_longer_than_the_limit_of_csv_which_stays_as_it_was(tmp_path):
    limit = csv.field_size_limit()
    table = write(tmp_path / "t.csv", f"a,b\n{'x' * 200_000},y\n")
    assert len(read_rows(table)[0].text("a")) == 200_000
    assert csv.field_size_limit() == limit


def test_of_two_columns_with_one_name_the_first_counts_unless_it_is_needed(tmp_path):
    table = write(tmp_path / "t.tsv", "index\tindex\tlabel\n1\t2\t0\n")
    assert read_rows(table, required=("label",))[0].cells == {"index": "1", "label": "0"}
    with pytest.raises(DataError, match='column "index" occurs 2 times') as raised:
        read_rows(table, required=("index",))
    assert raised.value.line == 1


def test_names():
    assert extension(Path("a.b/X.TSV.GZ")) == ".tsv"
    assert stem(Path("a/my.pairs.csv.gz")) == "my.pairs"
    assert shown("x" * 100) == '"' + "x" * 56 + '…"'
    assert len(shown(string.printable * 3)) < 70


BAD = {
    "missing column": ("t.tsv", b"premise\tlable\na\t1\n", 1, 'no column "label"; found: "premise", "lable"', "did you mean lable?"),
    "too few cells": ("t.tsv", b"premise\tlabel\na\t1\nb\n", 3, 'column "label" is missing: 1 cells, expected 2 (premise, label)', "one tab between cells"),
    "too many cells": ("t.csv", b"premise,label\na,1,x\n", 2, 'found "x" after the last column: 3 cells, expected 2', "one comma between cells"),
    "quote never closed": ("t.tsv", b'premise\tlabel\na\t1\n"b\t2\nc\t3\n', 3, "cells cannot be told apart: unexpected end of data", "ends with one"),
    "text after a quote": ("t.tsv", b'premise\tlabel\n"a"b\t2\n', 2, "cells cannot be told apart", "doubled"),
    "empty": ("t.tsv", b"", None, "the file is empty", "expected a header and rows"),
    "only white space": ("t.jsonl", b"\xef\xbb\xbf \n\n", None, "the file is empty", "JSON objects"),
    "only a header": ("t.tsv", b"premise\tlabel\n", None, "the file has no rows", "one row below the header"),
    "not UTF-8": ("t.tsv", b"premise\tlabel\na\t1\ncaf\xe9\t2\n", 3, "not UTF-8: byte 0xe9", "save the file as UTF-8"),
    "UTF-16": ("t.csv", "premise,label\na,1\n".encode("utf-16"), 1, "not UTF-8: byte 0xff", "save the file as UTF-8"),
    "NUL": ("t.tsv", b"premise\tlabel\na\0b\t1\n", 2, "found a NUL character", "UTF-8"),
    "no gzip at all": ("t.tsv.gz", b"premise\tlabel\na\t1\n", None, "broken gzip: Not a gzipped file", "gzip -t"),
    "cut gzip": ("t.tsv.gz", gzip.compress(b"premise\tlabel\na\t1\n" * 99)[:-20], None, "broken gzip: the compressed data ends too early", "gzip -t"),
    "damaged gzip": ("t.tsv.gz", gzip.compress(b"premise\tlabel\na\t1\n")[:12] + b"\xff" * 20, None, "broken gzip: ", "again"),
    "cut JSON": ("t.jsonl", b'{"premise": "a", "label": 1}\n{"premise": "b", \n', 2, "broken JSON: ", "cut"),
    "cut text": ("t.jsonl", b'{"premise": "a", "label": 1}\n{"premise": "b\n', 2, "broken JSON: Unterminated string starting at column 13", "cut"),
    "two objects on a line": ("t.jsonl", b'{"premise": "a", "label": 1} {"premise": 2}\n', 1, "after the end", "one object per line"),
    "not an object": ("t.jsonl", b'{"premise": "a", "label": 1}\n[1, 2]\n', 2, "found [1, 2], expected an object", '{"column": "value", …}'),
    "missing key": ("t.jsonl", b'{"premise": "a", "label": 1}\n{"premise": "b"}\n', 2, 'no column "label"; found: "premise"', "premise"),
    "half a character": ("t.jsonl", b'{"premise": "\\ud83d", "label": 1}\n', 1, "found half a character, \\ud83d", "both halves"),
    "brackets without end": ("t.jsonl", b"[" * 100_000, 1, "broken JSON: ", "one plain object"),
    "endless number": ("t.jsonl", b'{"label": ' + b"1" * 5000 + b"}", 1, "broken JSON: Exceeds", "one plain object"),
    "an object instead of a list": ("t.json", b'\n{"premise": "a"}', 2, "found {, expected a list of objects", ".jsonl"),
    "a list that is cut": ("t.json", b'[\n{"premise": "a", "label": 1}\n', 3, "found the end of the file, expected , or ]", "copy it again"),
    "a list without a comma": ("t.json", b'[{"premise": "a", "label": 1}\n{"premise": 2}]', 2, 'found "{", expected , or ]', "cut"),
    "text after a list": ("t.json", b'[{"premise": "a", "label": 1}]\nx', 1, 'found "x" after the end', "one list"),
    "unknown format": ("t.xml", b"<a/>", None, "cannot tell the format of t.xml", ".tsv, .csv, .jsonl or .json"),
    "no parquet": ("t.parquet", b"PAR1", None, "cannot be read as parquet", "write it again"),
    "no arrow": ("t.arrow", b"ARROW1", None, "cannot be read as arrow", "write it again"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_told_where_and_what(tmp_path, case):
    name, data, line, message, hint = BAD[case]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as raised:
        read_rows(path, required=("premise", "label"))
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")
    assert (raised.value.file, raised.value.line) == (str(path), line)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file or directory"):
        read_rows(tmp_path / "t.tsv")
    (tmp_path / "d.tsv").mkdir()
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_rows(tmp_path / "d.tsv")


def test_a_cell_that_is_no_text(tmp_path):
    row = read_rows(write(tmp_path / "t.jsonl", '{"a": [1]}'))[0]
    with pytest.raises(DataError, match=r't\.jsonl:1: column "a": found \[1\], expected text'):
        row.text("a")
