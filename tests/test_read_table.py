"""Tables as people have them: encodings, signs between cells, Excel, no header; each as it is read."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from unwaver.errors import DataError
from unwaver.tables import read_table

ROWS = [{"Frage": "Wer schrieb „Hamlet“?", "Thema": "Bücher"}, {"Frage": "Wo ist Köln?", "Thema": "Städte"}]
GERMAN = "Frage;Thema\nWer schrieb „Hamlet“?;Bücher\nWo ist Köln?;Städte\n"


def cells(path: Path, said: list[str] | None = None) -> list[dict[str, str]]:
    return [dict(row.cells) for row in read_table(path, say=([] if said is None else said).append)]


def put(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV"])
def test_signs_between_cells(tmp_path: Path, sign: str, name: str) -> None:
    assert cells(put(tmp_path / name, GERMAN.replace(";", sign))) == ROWS


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_encodings(tmp_path: Path, encoding: str) -> None:
    said: list[str] = []
    assert cells(put(tmp_path / "t.csv", GERMAN.encode(encoding)), said) == ROWS
    assert [line for line in said if "is not UTF-8: unwaver reads it as Windows-1252" in line] == said
    assert len(said) == (encoding == "cp1252")


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "cp1251", "koi8-r"])
def test_other_encodings_are_not_guessed(tmp_path: Path, encoding: str) -> None:
    text = (
        "вопрос\nКто написал «Гамлета»?\n"
        if encoding in ("cp1251", "koi8-r")
        else "質問\n誰がハムレットを書いた?\n"
    )
    with pytest.raises(DataError, match="not UTF-8: byte") as raised:
        cells(put(tmp_path / "t.csv", text.encode(encoding, "replace")))
    assert raised.value.hint == "save the file as UTF-8"


def test_line_ends_blank_lines_and_rows_of_signs(tmp_path: Path) -> None:
    text = "Frage;Thema\r\n\r\nWer schrieb „Hamlet“?;Bücher\r\n;\r\nWo ist Köln?;Städte\r\n \r\n;\r\n"
    assert cells(put(tmp_path / "t.csv", text)) == ROWS


def test_the_sign_that_excel_writes_down(tmp_path: Path) -> None:
    assert cells(put(tmp_path / "t.csv", "sep=;\r\n" + GERMAN)) == ROWS


def test_gzip(tmp_path: Path) -> None:
    assert cells(put(tmp_path / "t.csv.gz", gzip.compress(GERMAN.encode("utf-16")))) == ROWS


def test_columns_without_a_name(tmp_path: Path) -> None:
    text = "Frage;Thema;;\nWer schrieb „Hamlet“?;Bücher;;\nWo ist Köln?;Städte;;\n;;;\n"
    assert cells(put(tmp_path / "t.csv", text)) == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "question\nWho wrote Hamlet, and when?\nIs it late?\n",
        'question\n"Who wrote Hamlet, and when?"\nIs it late?\n',
        'question\nWho wrote Hamlet, and when?\n"Is it late?"\n',
    ],
)
def test_one_column_with_commas(tmp_path: Path, text: str) -> None:
    found = cells(put(tmp_path / "t.csv", text))
    assert found == [{"question": "Who wrote Hamlet, and when?"}, {"question": "Is it late?"}]


def test_one_column_with_quotes(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", 'question\n"To be" - who said it, and when?\nIs it late?\n')
    assert cells(path) == [{"question": '"To be" - who said it, and when?'}, {"question": "Is it late?"}]
    with pytest.raises(DataError, match="cells cannot be told apart"):
        cells(put(tmp_path / "u.csv", 'question\n"To be\nIs it late?\n'))


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.tsv"])
def test_no_header(tmp_path: Path, name: str) -> None:
    said: list[str] = []
    found = cells(put(tmp_path / name, "Who wrote Hamlet, and when?\nIs it late?\n"), said)
    assert found == [{"column 1": "Who wrote Hamlet, and when?"}, {"column 1": "Is it late?"}]
    assert said == [f'{name} has no header: line 1 is the first row, "Who wrote Hamlet, and when?"']


def test_no_header_in_several_columns(tmp_path: Path) -> None:
    found = cells(put(tmp_path / "t.csv", "1,Who wrote Hamlet?,books\n2,Where is Oslo?,places\n"))
    assert found[0] == {"column 1": "1", "column 2": "Who wrote Hamlet?", "column 3": "books"}
    assert len(found) == 2


@pytest.mark.parametrize("header", ["question", "Frage", "My question text", "ID", "q1"])
def test_a_header_is_one(tmp_path: Path, header: str) -> None:
    assert cells(put(tmp_path / "t.csv", f"{header}\nWho wrote Hamlet?\n")) == [{header: "Who wrote Hamlet?"}]


def test_a_row_of_another_width_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="3 cells, expected 2") as raised:
        cells(put(tmp_path / "t.csv", "question,topic\nWho wrote Hamlet, and when?,books\n"))
    assert raised.value.line == 2


# --- Excel --------------------------------------------------------------------------------------------------

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(
    path: Path, rows: Sequence[str], *, shared: Sequence[str] = (), sheets: str = "", extra: str = ""
) -> Path:
    """A workbook with these rows, as XML, in its second file of sheets."""
    sheets = sheets or '<sheet name="a" sheetId="1" r:id="rId2"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>{sheets}</sheets></workbook>'
        )
        links = "".join(
            f'<Relationship Id="rId{n}" Target="{t}"/>'
            for n, t in ((1, "worksheets/x.xml"), (2, "/xl/worksheets/y.xml"))
        )
        book.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        book.writestr("xl/worksheets/x.xml", f'<worksheet xmlns="{_MAIN}"><sheetData/></worksheet>')
        book.writestr(
            "xl/worksheets/y.xml",
            f'{extra}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>',
        )
        if shared:
            said = "".join(f"<si>{text}</si>" for text in shared)
            book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{_MAIN}">{said}</sst>')
    return path


def inline(number: int, *texts: str) -> str:
    told = "".join(
        f'<c r="{chr(65 + n)}{number}" t="inlineStr"><is><t>{escape(t)}</t></is></c>' for n, t in enumerate(texts)
    )
    return f'<row r="{number}">{told}</row>'


def test_excel(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "t.xlsx", [inline(1, *ROWS[0]), inline(3, *ROWS[0].values()), inline(4, *ROWS[1].values())]
    )
    assert cells(path) == ROWS
    assert [row.where.line for row in read_table(path)] == [3, 4]


def test_excel_with_shared_texts_gaps_numbers_and_fonts(tmp_path: Path) -> None:
    shared = [
        "<t>question</t>",
        "<t>n</t>",
        "<r><t>Who wrote </t></r><r><rPr/><t>Hamlet?</t></r><rPh><t>x</t></rPh>",
    ]
    rows = [
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>',
        '<row r="2"><c r="A2" t="s"><v>2</v></c><c r="C2"><v>7.0</v></c></row>',
        '<row r="3"><c r="A3" t="str"><f>A2</f><v>Where?</v></c><c r="C3" t="b"><v>1</v></c></row>',
        '<row r="4"><c r="A4"/></row>',
    ]
    found = cells(workbook(tmp_path / "t.xlsx", rows, shared=shared))
    assert found == [{"question": "Who wrote Hamlet?", "n": "7"}, {"question": "Where?", "n": "TRUE"}]


def test_excel_skips_hidden_sheets(tmp_path: Path) -> None:
    sheets = '<sheet name="h" sheetId="1" state="hidden" r:id="rId1"/><sheet name="a" sheetId="2" r:id="rId2"/>'
    path = workbook(tmp_path / "t.xlsx", [inline(1, "question"), inline(2, "Who?")], sheets=sheets)
    assert cells(path) == [{"question": "Who?"}]


def test_excel_without_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the file has no rows"):
        cells(workbook(tmp_path / "t.xlsx", [inline(1, "question")]))


@pytest.mark.parametrize(
    "damage",
    ["no zip", "no sheet", "document type", "far cell", "bad index"],
)
def test_a_damaged_workbook(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "t.xlsx"
    if damage == "no zip":
        put(path, "question\nWho?\n")
    elif damage == "no sheet":
        workbook(path, [], sheets='<sheet name="a" sheetId="1" r:id="rId9"/>')
    elif damage == "document type":
        workbook(path, [inline(1, "&a;")], extra='<!DOCTYPE a [<!ENTITY a "b">]>')
    elif damage == "far cell":
        workbook(path, ['<row r="1"><c r="ZZZ1"><v>1</v></c></row>'])
    else:
        workbook(path, ['<row r="1"><c r="A1" t="s"><v>5</v></c></row>'], shared=["<t>a</t>"])
    with pytest.raises(DataError, match="cannot be read as an Excel workbook") as raised:
        cells(path)
    assert raised.value.hint == "save it again as .xlsx or as .csv"


@pytest.mark.parametrize("name", ["t.xls", "t.ods", "t.numbers"])
def test_other_spreadsheets_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="files cannot be read") as raised:
        cells(put(tmp_path / name, "x"))
    assert "save the sheet as .xlsx or .csv" in str(raised.value.hint)


def test_a_workbook_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        cells(tmp_path / "gone.xlsx")
