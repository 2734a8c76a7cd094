"""The first sheet of an Excel workbook (.xlsx) as rows of texts, without another library.

    sheet_cells(Path("questions.xlsx")) -> [(1, ["question", "topic"]), (2, ["Who wrote Hamlet?", "books"])]

A workbook is a zip of XML files. A formula counts as the value that it had when the file was saved,
a date as the number that Excel keeps.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree as XML

from unwaver.errors import DataError
from unwaver.unpack import TooMuch, check_size

SHEETS = (".xlsx", ".xlsm")
OTHER_SHEETS = (".xls", ".xlsb", ".ods", ".numbers")
WIDEST = 16_384  # columns that Excel can have
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_ID = re.compile(r"\}id$")


# a password is a RuntimeError, an unknown compression a NotImplementedError
_BROKEN = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    LookupError,
    ValueError,
    XML.ParseError,
    EOFError,
    RuntimeError,
)


def sheet_cells(path: Path) -> list[tuple[int, list[str]]]:
    """(number of the row, its cells as far as the widest row goes); empty rows are left out."""
    try:
        with zipfile.ZipFile(path) as book:
            shared = _shared(book)
            rows = list(_rows(_xml(book, _first_sheet(book)), shared))
    except FileNotFoundError:
        raise DataError("there is no such file", hint="check the path", file=path) from None
    except TooMuch as e:
        raise DataError(str(e), hint="save the sheet as .csv", file=path) from None
    except _BROKEN as e:
        why = "it is protected by a password" if "password" in str(e) or "encrypted" in str(e) else str(e)
        raise DataError(
            f"cannot be read as an Excel workbook: {why}", hint="save it again as .xlsx or as .csv", file=path
        ) from None
    width = max((len(cells) for _, cells in rows), default=0)
    return [(number, [*cells, *[""] * (width - len(cells))]) for number, cells in rows]


def _xml(book: zipfile.ZipFile, name: str) -> XML.Element:
    info = book.getinfo(name)
    check_size(info.file_size, max(info.compress_size, 1))
    data = book.read(info)
    if b"<!DOCTYPE" in data[:4096]:  # Excel writes none; entities in one could grow without end
        raise ValueError("it has a document type declaration")
    return XML.parse(BytesIO(data)).getroot()


def _first_sheet(book: zipfile.ZipFile) -> str:
    """The path of the first sheet that is not hidden."""
    sheets = [e for e in _xml(book, "xl/workbook.xml").iter() if _tag(e) == "sheet"]
    seen = [sheet for sheet in sheets if sheet.get("state", "visible") == "visible"] or sheets
    wanted = next((value for name, value in seen[0].attrib.items() if _ID.search(name)), "")
    links = {link.get("Id"): link.get("Target", "") for link in _xml(book, "xl/_rels/workbook.xml.rels")}
    target = links[wanted]
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _shared(book: zipfile.ZipFile) -> list[str]:
    """The texts that cells point to."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    return [_said(entry) for entry in _xml(book, "xl/sharedStrings.xml") if _tag(entry) == "si"]


def _said(entry: XML.Element) -> str:
    """The text of an entry: its parts, in whatever fonts, without readings of Japanese characters."""
    if _tag(entry) == "rPh":
        return ""
    own = (entry.text or "") if _tag(entry) == "t" else ""
    return own + "".join(map(_said, entry))


def _tag(element: XML.Element) -> str:
    return element.tag.removeprefix(_MAIN).removeprefix(_STRICT)


def _rows(sheet: XML.Element, shared: list[str]) -> Iterator[tuple[int, list[str]]]:
    number = 0
    for row in (e for e in sheet.iter() if _tag(e) == "row"):
        number = int(row.get("r") or number + 1)
        cells: list[str] = []
        for cell in (e for e in row if _tag(e) == "c"):
            place = _column(cell.get("r") or "")
            if place >= WIDEST:
                raise ValueError(f"it has too many columns (cell {cell.get('r')})")
            cells += [""] * ((len(cells) if place < 0 else place) - len(cells))
            cells.append(_value(cell, shared))
        if any(text.strip() for text in cells):
            yield number, cells


def _column(name: str) -> int:
    """ "A1" -> 0, "AB7" -> 27; -1 if a cell does not say."""
    found = 0
    for letter in re.match(r"[A-Z]{0,3}", name)[0]:  # type: ignore[index]
        found = 26 * found + ord(letter) - 64
    return found - 1


def _value(cell: XML.Element, shared: list[str]) -> str:
    sort = cell.get("t", "n")
    if sort == "inlineStr":
        return _said(cell)
    value = next((e.text or "" for e in cell if _tag(e) == "v"), "")
    if sort == "s":
        return shared[int(value)]
    if sort == "b":
        return "TRUE" if value == "1" else "FALSE"
    return value.removesuffix(".0") if sort == "n" else value
