"""Tables as people have them: saved by a spreadsheet, with semicolons, in an older encoding, without a header.

    read_table(Path("fragen.csv"))     -> [Row({"Frage": "Wer schrieb Hamlet?"}, …), …]
    read_table(Path("questions.xlsx")) -> the first sheet
    read_table(Path("questions.txt"))  -> one row per line

What unwaver has to guess is told through `say`. Other formats, and what is wrong with a table: unwaver.files.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from unwaver.console import silent
from unwaver.errors import DataError
from unwaver.files import Row, Where, check_text, extension, read_bytes, read_rows, shown, table_of_text
from unwaver.sheets import OTHER_SHEETS, SHEETS, sheet_cells

Cells = list[tuple[int, list[str]]]  # the line where each row starts, and its cells
SIGNS = {".csv": ",;\t|", ".tsv": "\t,;|"}  # between cells, in the order in which they are tried
# names that tell a header from a row of data
NAMES = (
    "id", "question", "questions", "prompt", "prompts", "input", "text", "query", "original", "variant",
    "paraphrase", "label", "gold", "answer", "kind", "task", "premise", "hypothesis", "sentence",
)  # fmt: skip
LONG = 60  # characters: no name of a column is as long
_SENTENCE = re.compile(r"\S+(\s+\S+){5,}|.*\S\s+\S.*[.!…]|.*\S{2,}\s*[?？。！]", re.DOTALL)


def read_table(path: Path, *, quoting: bool = True, say: Callable[[str], None] = silent) -> list[Row]:
    """The rows of a table; JSON and columnar files are read as unwaver.files does."""
    suffix = extension(path)
    if suffix in OTHER_SHEETS:
        raise DataError(
            f"{suffix} files cannot be read",
            hint="save the sheet as .xlsx or .csv, then name that file",
            file=path,
        )
    if suffix in SHEETS:
        rows = _rows(sheet_cells(path), path, say)
    elif suffix == ".txt":
        rows = _rows(_lines(decoded(path, say)), path, say)
    elif suffix in SIGNS:
        rows = _delimited(decoded(path, say), path, suffix, quoting, say)
    else:
        return read_rows(path, quoting=quoting)
    if not rows:
        raise DataError("the file has no rows", hint="put one row below the header for each item", file=path)
    return rows


# --- bytes to text --------------------------------------------------------------------------------------------

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WESTERN = 0.3  # a text in a western language has a smaller share of letters beyond ASCII


def decoded(path: Path, say: Callable[[str], None] = silent) -> str:
    """The text of a file in UTF-8, UTF-16 or UTF-32, else in Windows-1252 if that reads as a western language."""
    data = bytes(read_bytes(path))
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None) or _without_mark(data)
    try:
        return check_text(data.decode(encoding or "utf-8"), path)
    except UnicodeDecodeError as error:
        if encoding is None and (text := _western(data)) is not None:
            say(f"{path.name} is not UTF-8: unwaver reads it as Windows-1252. If letters are wrong, save as UTF-8")
            return check_text(text, path)
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"not {(encoding or 'utf-8').upper()}: byte 0x{data[error.start]:02x} cannot be read as text",
            hint="save the file as UTF-8",
            file=path,
            line=line,
        ) from None


def _without_mark(data: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of mostly Latin text is 0."""
    start = data[:2000]
    for encoding, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if zeros and zeros.count(0) > 0.6 * len(zeros):
            return encoding
    return None


def _western(data: bytes) -> str | None:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    letters = [c for c in text if not c.isspace() and not (c.isascii() and not c.isalpha())]
    beyond = sum(not c.isascii() for c in letters)
    return text if beyond <= WESTERN * len(letters) and not re.search(r"[\x00-\x08\x0e-\x1f]", text) else None


# --- text to cells --------------------------------------------------------------------------------------------


def _delimited(text: str, path: Path, suffix: str, quoting: bool, say: Callable[[str], None]) -> list[Row]:
    text, signs = _told_sign(text, SIGNS[suffix])
    widths = {sign: _widths(text, sign, quoting) for sign in signs}
    first = text.lstrip().split("\n", 1)[0].strip()
    sign = _sign(text, first, signs, widths)
    if sign is None:
        return _rows(_lines(text), path, say)
    cells = _cells(text, sign, quoting)
    if cells and (not _has_header(cells[0][1]) or any(not any(map(str.strip, row)) for _, row in cells)):
        return _rows([(line, row) for line, row in cells if any(map(str.strip, row))], path, say)
    return table_of_text(text, path, sign, quoting)


def _sign(text: str, first: str, signs: str, widths: Mapping[str, list[int]]) -> str | None:
    """The text between cells; None if there is one column, and some of its cells hold a sign."""
    if even := [sign for sign in signs if _is_even(widths[sign]) and widths[sign][0] > 1]:
        return even[0]
    in_header = [] if _is_sentence(first) else [sign for sign in signs if widths[sign][:1] > [1]]
    if in_header:
        return in_header[0]
    if not widths[signs[0]]:  # a quote is not closed, or ends before the cell does
        return signs[0] if any(sign in first for sign in signs) or not _quotes_close(text) else None
    return signs[0] if _is_even(widths[signs[0]]) else None


def _quotes_close(text: str) -> bool:
    return all(line.count('"') % 2 == 0 for line in text.split("\n"))


def _told_sign(text: str, signs: str) -> tuple[str, str]:
    """Excel's first line "sep=;" says which sign it is."""
    found = re.match(r"\s*sep=(.)[^\S\n]*\n", text)
    if found is None:
        return text, signs
    return "\n" + text[found.end() :], found[1] + signs.replace(found[1], "")


def _cells(text: str, sign: str, quoting: bool) -> Cells:
    """Blank lines left out; [] where cells cannot be told apart."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines, delimiter=sign, quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE, strict=True
    )
    found, start = [], 1
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for cells in reader:
            if any(map(str.strip, cells)) or len(cells) > 1:
                found.append((start, cells))
            start = reader.line_num + 1
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(limit)
    return found


def _widths(text: str, sign: str, quoting: bool) -> list[int]:
    return [len(row) for _, row in _cells(text, sign, quoting)]


def _is_even(widths: Sequence[int]) -> bool:
    return len(set(widths)) == 1


def _lines(text: str) -> Cells:
    """One cell a line, without the quotes that some lines may have."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        cell = line.strip()
        if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', ""):
            cell = cell[1:-1].replace('""', '"')
        if cell:
            found.append((number, [cell]))
    return found


# --- cells to rows --------------------------------------------------------------------------------------------


def _rows(cells: Cells, path: Path, say: Callable[[str], None]) -> list[Row]:
    """The first row is the header unless it looks like data. Columns without a name and content are left out."""
    if not cells:
        return []
    width = max(len(row) for _, row in cells)
    if _has_header(cells[0][1]):
        names, data = [name.strip() for name in cells[0][1]], cells[1:]
    else:
        names, data = [f"column {n}" for n in range(1, width + 1)], cells
        say(f"{path.name} has no header: line {cells[0][0]} is the first row, {shown(cells[0][1][0])}")
    for line, row in data:
        if len(row) != len(names):
            hint = "write as many cells in each row as in the first"
            what = f"found {len(row)} cells, expected {len(names)} ({', '.join(names)})"
            raise Where(str(path), line).error(what, hint)
    keep = [n for n, name in enumerate(names) if name not in names[:n] and _is_used(n, name, data)]
    return [Row({names[n]: row[n] for n in keep}, Where(str(path), line)) for line, row in data]


def _is_used(place: int, name: str, data: Cells) -> bool:
    return name != "" or any(row[place].strip() for _, row in data)


def _has_header(first: Sequence[str]) -> bool:
    names = [name.strip() for name in first]
    if any(re.sub(r"[\s_-]+.*", "", name.casefold()) in NAMES for name in names):
        return not any(name.endswith(("?", "？")) for name in names)
    return not any(map(_is_sentence, names))


def _is_sentence(text: str) -> bool:
    """Whether a cell is not a name of a column: "Who wrote Hamlet?", "Name the author of Hamlet."."""
    return len(text) > LONG or _SENTENCE.fullmatch(text) is not None
