"""Reading tables: .tsv, .csv, .jsonl, .json (a list of objects), plain or .gz, UTF-8 with or without BOM.

    read_rows(Path("pairs.tsv"), required=("premise", "label")) -> [Row({"premise": …, "label": "0"}, …), …]

Whatever is wrong with a file becomes a DataError with the file and the line. A file is read as a whole, so
that a bad row at its end is known before any model is asked.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from unwaver.errors import DataError, about_json, near
from unwaver.unpack import TooMuch, gunzipped

EXTENSIONS = (".tsv", ".csv", ".jsonl", ".json")
_HALVES = re.compile("[\ud800-\udfff]")  # how Python holds bytes of a name that are not UTF-8
_SIGNS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}


class Where(msgspec.Struct, frozen=True, gc=False):
    """A place in a file, for messages: the line is the physical one, from 1, where the row starts."""

    file: str
    line: int

    def error(self, message: str, hint: str | None = None) -> DataError:
        return DataError(message, hint=hint, file=self.file, line=self.line)


@dataclass(frozen=True, slots=True)
class Row:
    """One row by column name: cells of .tsv and .csv are text, those of .jsonl and .json any JSON value."""

    cells: Mapping[str, Any]
    where: Where

    def text(self, column: str) -> str:
        value = self.cells[column]
        if not isinstance(value, str):
            raise self.where.error(
                f'column "{column}": found {shown(value)}, expected text', hint="put the text in double quotes"
            )
        return value


def read_rows(path: Path, *, required: Sequence[str] = (), quoting: bool = True) -> list[Row]:
    """All rows of a file. `required` columns must be there, once; of other columns with one name the first counts.

    `quoting=False` is for sets written without csv quoting, where a double quote is a character like others.
    """
    suffix = extension(path)
    if suffix not in EXTENSIONS:
        if path.is_file() and (found := _columnar_rows(path, required)):
            return found
        if path.is_dir():
            raise DataError("this is a folder, expected a file", hint="name a file in it", file=path)
        if not path.exists():
            raise DataError("there is no such file", hint="check the path", file=path)
        raise DataError(
            f"cannot tell the format of {path.name}",
            hint="name it .tsv, .csv, .jsonl or .json, or one of these with .gz, or .parquet or .arrow",
            file=path,
        )
    text = read_text(path)
    if suffix == ".jsonl":
        rows = _json_rows(_json_lines(text, path), text, path, required)
    elif suffix == ".json":
        rows = _json_rows(_json_list(text, path), text, path, required)
    else:
        rows = table_of_text(text, path, "," if suffix == ".csv" else "\t", quoting, required)
    if not rows:
        raise DataError("the file has no rows", hint="put one row below the header for each item", file=path)
    return rows


def _columnar_rows(path: Path, required: Sequence[str]) -> list[Row]:
    from unwaver.columnar import COLUMNAR, read_columnar

    return _json_rows(read_columnar(path), "", path, required) if path.suffix in COLUMNAR else []


def read_json(path: Path) -> Any:
    """The one value of a .json file, plain or .gz."""
    text = read_text(path)
    value, end = decode(text, path)
    _check_end(text, end, text.count("\n", 0, end) + 1, path)
    return value


def read_toml(path: Path, what: str, hint: str) -> dict[str, Any]:
    """A file of settings; `what` it is, and a `hint` of how it is written, go into errors."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"there is no such {what}", file=path, hint="check the path") from None
    except (OSError, UnicodeDecodeError, RecursionError) as e:  # nested too deeply
        raise DataError(f"the {what} cannot be read: {e}", file=path, hint="check the path") from None
    except tomllib.TOMLDecodeError as e:
        line = re.search(r"at line (\d+)", str(e))
        raise DataError(f"no TOML: {e}", file=path, line=int(line[1]) if line else None, hint=hint) from None


def extension(path: Path) -> str:
    """extension(Path("a.TSV.gz")) -> ".tsv"."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def stem(path: Path) -> str:
    """stem(Path("data/pairs.csv.gz")) -> "pairs"; a byte that is not UTF-8 becomes �."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return _HALVES.sub("�", Path(name).stem)


def shown(value: object) -> str:
    """A value as a message shows it, cut when long: shown("a b") -> '"a b"'."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # nested too deeply, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    text = text.encode(errors="backslashreplace").decode()  # half a character cannot be printed
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]


def whole(text: str) -> int | None:
    """The whole number that a text is: whole("17") -> 17; "-1", "²" and a text of thousands of digits -> None."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def missing_column(column: str, columns: Iterable[str]) -> str:
    return f'no column "{column}"; found: ' + ", ".join(f'"{c}"' for c in columns)


def _column_hint(column: str, columns: Iterable[str], required: Sequence[str]) -> str:
    hint = near(column, columns)
    return hint if hint.startswith("did") else "needed: " + ", ".join(required)


# --- text ---------------------------------------------------------------------------------------------------


def read_text(path: Path) -> str:
    return check_text(_utf8(read_bytes(path), path), path)


def _utf8(data: bytes | bytearray, path: Path, first: int = 1) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"not UTF-8: byte 0x{data[error.start]:02x} cannot be read as text",
            hint="save the file as UTF-8",
            file=path,
            line=data.count(b"\n", 0, error.start) + first,
        ) from None


def check_text(text: str, path: Path, first: int = 1) -> str:
    """The text, which holds something, and no NUL character; `first` is the number of its first line."""
    if "\0" in text:
        raise DataError(
            "found a NUL character, expected text",
            hint="save the file as UTF-8 without NUL characters (a UTF-16 file has them, or a damaged one)",
            file=path,
            line=text.count("\n", 0, text.index("\0")) + first,
        )
    if not text.strip():
        raise DataError("the file is empty", hint="expected a header and rows, or JSON objects", file=path)
    return text


def read_bytes(path: Path) -> bytes | bytearray:
    """What a file holds, unpacked if its name ends with .gz."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", hint="check the path", file=path) from None
    if not path.name.lower().endswith(".gz"):
        return data
    try:
        return gunzipped(data)
    except TooMuch as error:
        raise DataError(str(error), hint="unpack it yourself if you trust it, or split it", file=path) from None
    except (EOFError, zlib.error) as error:
        raise DataError(
            f"broken gzip: {error}", hint="copy or download the file again; `gzip -t` tests it", file=path
        ) from None


# --- .tsv and .csv ------------------------------------------------------------------------------------------


def table_of_text(text: str, path: Path, delimiter: str, quoting: bool, required: Sequence[str] = ()) -> list[Row]:
    lines = _split_cells(text, path, delimiter, quoting)
    header_line, header = lines[0]
    columns = [name.strip() for name in header]
    other = next((sign for sign in ",\t;" if sign in columns[0] and sign != delimiter), None)
    if len(columns) == 1 and other is not None:
        hint = {",": "name it .csv", "\t": "name it .tsv"}.get(other, f"save it with {_SIGNS[delimiter]}s")
        raise DataError(
            f"found one column, {shown(columns[0])}, expected a {_SIGNS[delimiter]} between cells",
            hint=f"there are {_SIGNS[other]}s: {hint}",
            file=path,
            line=header_line,
        )
    _check_header(columns, required, Where(str(path), header_line))
    keep = [i for i, name in enumerate(columns) if name not in columns[:i]]
    names = [columns[i] for i in keep]
    rows = []
    for line, cells in lines[1:]:
        where = Where(str(path), line)
        if len(cells) != len(columns):
            raise _wrong_width(cells, columns, delimiter, where)
        values = cells if len(keep) == len(cells) else [cells[i] for i in keep]
        rows.append(Row(dict(zip(names, values, strict=True)), where))
    return rows


def _split_cells(text: str, path: Path, delimiter: str, quoting: bool) -> list[tuple[int, list[str]]]:
    """(line where the row starts, its cells), blank lines left out."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=True,  # else a quote that is never closed swallows the rest of the file
    )
    rows = []
    start = 1
    limit = csv.field_size_limit(sys.maxsize)  # the limit belongs to the process: put it back
    try:
        for cells in reader:
            if cells:
                rows.append((start, cells))
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"cells cannot be told apart: {error}",
            hint='a cell that starts with a double quote ends with one, and quotes in it are doubled: "a ""b"" c"',
            file=path,
            line=start,
        ) from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _check_header(columns: Sequence[str], required: Sequence[str], where: Where) -> None:
    for name in required:
        if name not in columns:
            raise where.error(missing_column(name, columns), hint=_column_hint(name, columns, required))
        if columns.count(name) > 1:
            raise where.error(
                f'column "{name}" occurs {columns.count(name)} times', hint="rename one of the columns"
            )


def _wrong_width(cells: Sequence[str], columns: Sequence[str], delimiter: str, where: Where) -> DataError:
    if len(cells) < len(columns):
        message = f'column "{columns[len(cells)]}" is missing: '
    else:
        message = f"found {shown(cells[len(columns)])} after the last column: "
    message += f"{len(cells)} cells, expected {len(columns)} ({', '.join(columns)})"
    return where.error(
        message, hint=f"one {_SIGNS[delimiter]} between cells; put a cell that holds one in double quotes"
    )


# --- .jsonl and .json ---------------------------------------------------------------------------------------


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that hold something, with their numbers, one after the other: a large file is never in
    memory as a whole, unless it is packed."""
    packed = path.name.lower().endswith(".gz")
    try:
        with io.BytesIO(read_bytes(path)) if packed else path.open("rb") as file:
            empty = True
            for number, line in enumerate(file, 1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if line.strip():
                    empty = False
                    yield number, line
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", hint="check the path", file=path) from None
    if empty:
        check_text("", path)


def json_row(line: bytes, where: Where) -> Row:
    """The object on one line of a .jsonl file."""
    path = Path(where.file)
    text = check_text(_utf8(line, path, where.line), path, where.line)
    return _json_rows(_json_lines(text.rstrip("\n"), path, where.line), text, path, ())[0]


def _json_lines(text: str, path: Path, first: int = 1) -> Iterator[tuple[int, Any]]:
    for line, record in enumerate(text.split("\n"), first):
        if record.strip():
            value, end = _decode(record, _skip(record, 0), line, path)
            _check_end(record, end, line, path)
            yield line, value


def _json_list(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    """(line, object) for each object of a list; decoded one by one because json.loads forgets the lines."""
    position = _skip(text, 0)
    if text[position] != "[":
        raise DataError(
            f"found {text[position]}, expected a list of objects: [",
            hint='write [{"column": "value"}, …], or one object per line in a .jsonl file',
            file=path,
            line=text.count("\n", 0, position) + 1,
        )
    position, line, counted = _skip(text, position + 1), 1, 0
    while text[position : position + 1] != "]":
        line, counted = line + text.count("\n", counted, position), position
        record, position = _decode(text, position, line, path)
        yield line, record
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "]":
            found = shown(text[position : position + 1]) if position < len(text) else "the end of the file"
            raise DataError(
                f"broken JSON: found {found}, expected , or ]",
                hint="the file may be cut: copy it again",
                file=path,
                line=text.count("\n", 0, position) + 1,
            )
    _check_end(text, position + 1, text.count("\n", 0, position) + 1, path)


_SPACE = re.compile(r"[ \t\r\n]*")


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _check_end(text: str, end: int, line: int, path: Path) -> None:
    rest = text[end:].strip()
    if rest:
        raise DataError(
            f"broken JSON: found {shown(rest)} after the end",
            hint="a .jsonl file has one object per line, a .json file one list of objects",
            file=path,
            line=line,
        )


def decode(text: str, path: Path) -> tuple[Any, int]:
    """The JSON value at the beginning of a text, and where it ends."""
    value, end = _decode(text, _skip(text, 0), 1, path)
    if half := _HALF.search(text):
        _check_surrogates(value, Where(str(path), text.count("\n", 0, half.start()) + 1))
    return value, end


def _decode(text: str, position: int, line: int, path: Path) -> tuple[Any, int]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise DataError(
            f"broken JSON: {about_json(error)}",
            hint="the file may be cut, or a quote or a comma is missing",
            file=path,
            line=line + text.count("\n", position, error.pos),
        ) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets without end
        raise DataError(f"broken JSON: {error}", hint="expected one plain object", file=path, line=line) from None
    return value, end


def _json_rows(records: Iterable[tuple[int, Any]], text: str, path: Path, required: Sequence[str]) -> list[Row]:
    may_be_broken = _HALF.search(text) is not None
    rows = []
    for line, record in records:
        where = Where(str(path), line)
        if not isinstance(record, dict):
            raise where.error(f"found {shown(record)}, expected an object", hint='write {"column": "value", …}')
        if may_be_broken:
            _check_surrogates(record, where)
        for name in required:
            if name not in record:
                raise where.error(missing_column(name, record), hint=_column_hint(name, record, required))
        rows.append(Row(record, where))
    return rows


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _check_surrogates(record: Any, where: Where) -> None:
    """JSON can spell half a character ("\\ud83d"), which no file, database or model can take."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise where.error(
            f"found half a character, \\u{ord(error.object[error.start]):04x}, expected text",
            hint="write the character itself, or both halves",
        ) from None
