"""Mutations of files: `mutated(name, data, draw)` gives other bytes, by what the name says the file is.

Half of them keep the format and put odd values in it (another type, a huge number, half a character, a missing
key), half of them damage bytes.
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import sqlite3
import struct
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 3 * 10**8, 2**31, 2**53 + 1, 2**62, 2**63, 2**64, -(2**63), -(2**63) - 1,
    10**30, 10**400, 0.5, -0.5, 1e308, -1e308, 1e-300, math.nan, math.inf, -math.inf,
    "", " ", "0", "1", "-1", "2", "1.5", "1e999", "nan", "inf", "3e8", str(2**63), "9" * 5000, "true", "null", "x",
    "a/b", "../x", "/dev/null", "[]", "{}", "[1", "original", "variant", "same", "kept", "\ud800", "a\udfffb",
    "\u202e", "\x1b[31m", "\x01", "é", "𝔘", "ﬁ", "x" * 70_000, "=1+1", "'", '"', "a\tb", "a\nb", ",", "%s", "{x}",
    [], {}, [[]], [None], [[1], "a", None], {"a": None}, {"": {}}, [1, 2], ["a"], ["a", "b"], [0.5, 0.5],
    [math.nan, 1.0], [True], {"version": 2}, {"text": 1}, [{"a": [{}]}], [[[[[[]]]]]],
]  # fmt: skip
Change = Callable[[Any, Random], Any]


def deep(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def odd(draw: Random) -> Any:
    return copy.deepcopy(draw.choice(ODD)) if draw.random() < 0.97 else deep(draw.choice([50, 300, 900]))


# --- trees of values ----------------------------------------------------------------------------------------


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of every value below."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        found.append((value, key))
        _places(value[key], found)
    return found


def change_tree(tree: Any, draw: Random) -> Any:
    """The tree with one to three changes."""
    tree = copy.deepcopy(tree)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        places = _places(tree, [])
        if not places or draw.random() < 0.02:
            return odd(draw)
        _change_place(*draw.choice(places), places, draw)
    return tree


def _change_place(holder: Any, key: Any, places: list[tuple[Any, Any]], draw: Random) -> None:
    value = holder[key]
    way = draw.random()
    if way < 0.6:
        holder[key] = odd(draw)
    elif way < 0.7:
        del holder[key]
    elif way < 0.76:
        holder[key] = draw.choice([[value], {"value": value}, str(value), json.dumps(str(value))])
    elif way < 0.82:
        other, at = draw.choice(places)
        if at in other if isinstance(other, dict) else at < len(other):
            holder[key] = copy.deepcopy(other[at])
    elif way < 0.88 and isinstance(holder, list):
        holder.insert(draw.randrange(len(holder) + 1), copy.deepcopy(value))
    elif way < 0.94 and isinstance(holder, dict):
        holder[str(odd(draw))[:50]] = holder.pop(key)
    elif isinstance(value, list | dict):
        value.clear()
    else:
        holder[key] = odd(draw)


# --- formats ------------------------------------------------------------------------------------------------


def change_json(data: bytes, draw: Random) -> bytes:
    return json.dumps(change_tree(json.loads(data), draw), indent=draw.choice([None, 1])).encode()


def change_jsonl(data: bytes, draw: Random) -> bytes:
    rows = [json.loads(line) for line in data.decode().splitlines()]
    if draw.random() < 0.25:  # one field of every row
        name, value = draw.choice(list(rows[0])), odd(draw)
        rows = [{**row, name: copy.deepcopy(value)} for row in rows]
    else:
        rows = change_tree(rows, draw)
    rows = rows if isinstance(rows, list) else [rows]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return text.encode(errors="replace").decode()


def change_csv(data: bytes, draw: Random, delimiter: str = ",") -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))
    for _ in range(draw.choice([1, 1, 2, 4])):
        row = draw.randrange(len(rows))
        column = draw.randrange(len(rows[row])) if rows[row] else 0
        _change_cell(rows, row, column, draw)
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=draw.choice(["\n", "\r\n"])).writerows(rows)
    return out.getvalue().encode()


def _change_cell(rows: list[list[str]], row: int, column: int, draw: Random) -> None:
    way = draw.random()
    if way < 0.55 and rows[row]:
        rows[row][column] = _cell(odd(draw))
    elif way < 0.7:  # a whole column
        value = _cell(odd(draw))
        for other in rows[1:]:
            other[column : column + 1] = [value]
    elif way < 0.78:
        rows.insert(row, list(rows[row]))
    elif way < 0.84 and len(rows) > 1:
        del rows[row]
    elif way < 0.9:
        for other in rows:
            del other[column : column + 1]
    elif way < 0.95:
        rows[0][column:column] = [_cell(odd(draw))]
    else:
        other_row = draw.randrange(len(rows))
        rows[row], rows[other_row] = rows[other_row], rows[row]


def change_toml(data: bytes, draw: Random) -> bytes:
    tree = change_tree(tomllib.loads(data.decode()), draw)
    if not isinstance(tree, dict):
        tree = {"x": tree}
    return "".join(f"{json.dumps(str(k))} = {_toml(v)}\n" for k, v in tree.items()).encode(errors="replace")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return "2020-01-01"  # TOML has no null, but dates
    if isinstance(value, float):
        return (
            "nan" if math.isnan(value) else ("-inf" if value < 0 else "inf") if math.isinf(value) else repr(value)
        )
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode().replace("\x7f", "")


def change_sqlite(data: bytes, draw: Random) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.sqlite"
        path.write_bytes(data)
        db = sqlite3.connect(path)
        try:
            for _ in range(draw.choice([1, 1, 2])):
                _change_database(db, draw)
            db.commit()
            db.execute("PRAGMA journal_mode=DELETE")
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            pass
        finally:
            db.close()
        return path.read_bytes()


_SQL_ODD: list[Any] = [
    v for v in ODD if isinstance(v, str | float | None) or (isinstance(v, int) and abs(v) < 2**63)
]
_SQL_ODD += [
    b"\x00\xff",
    b"",
    "[null]",
    "[1, 2, 3]",
    '["a", "b"]',
    "[NaN, 1]",
    "[1e999, -1]",
    "{",
    '{"a": 1}',
    "[[1], [2]]",
]


def _change_database(db: sqlite3.Connection, draw: Random) -> None:
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = draw.choice(names)
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    column, way = draw.choice(columns), draw.random()
    if way < 0.6:
        some = draw.choice(["", f" WHERE {columns[-1]} = (SELECT min({columns[-1]}) FROM {table})"])
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{some}", (draw.choice(_SQL_ODD),))
    elif way < 0.66:
        db.execute(f"DROP TABLE {table}")
    elif way < 0.72:
        db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    elif way < 0.78:
        db.execute(f"ALTER TABLE {table} RENAME TO moved")
        made = draw.choice(["moved", "(SELECT 1)", "(SELECT *, 1 AS more FROM moved)"])
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM {made}")
    elif way < 0.84:
        db.execute(f"PRAGMA user_version = {draw.choice([0, 2, -1, 99])}")
    elif way < 0.9:
        db.execute(f"DELETE FROM {table}")
    else:
        db.execute(
            f"CREATE TRIGGER t{draw.randrange(9)} BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'no'); END"
        )


def change_zip(data: bytes, draw: Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(members))
    if draw.random() < 0.1:
        del members[name]
    else:
        members[name] = mutated(name, members[name], draw)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def change_npy(data: bytes, draw: Random) -> bytes:
    """Another type, shape or header."""
    import numpy as np

    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    way = draw.random()
    if way < 0.35:  # the header says something else than the data
        old = data[10 : 10 + struct.unpack("<H", data[8:10])[0]].decode()
        shape = draw.choice(["(1000000000000,)", "(3,)", "()", "(-1, 2)", "(2, 1000000, 1000000)", "3", "'a'"])
        kind = draw.choice(
            ["'|O'", "'<f8'", "'<U4'", "'<M8[s]'", "[('a', '<i4')]", "'<c16'", "'|V5'", "3", "'zz'"]
        )
        order = draw.choice(["False", "True", "None"])
        new = draw.choice([
            f"{{'descr': {kind}, 'fortran_order': False, 'shape': {array.shape}, }}",
            f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}",
            "{'descr': '<f8'}", "[]", "__import__('os')", "{" * 200, old[: len(old) // 2],
        ])  # fmt: skip
        header = new.encode() + b"\n"
        return data[:8] + struct.pack("<H", len(header)) + header + data[10 + len(old.encode()) :]
    out = io.BytesIO()
    flat = array.ravel()
    made: list[Callable[[], Any]] = [
        lambda: array.astype(str), lambda: array.astype(complex), lambda: array > 0, lambda: flat,
        lambda: array[:0],
        lambda: array[None], lambda: np.array(3), lambda: np.full(array.shape, math.nan),
        lambda: array.astype("f2"),
        lambda: np.full(array.shape, np.inf), lambda: np.array(["a"] * len(flat)).reshape(array.shape),
        lambda: array[:1], lambda: np.concatenate([array, array]), lambda: np.zeros(array.shape),
        lambda: np.full(array.shape, 2**62), lambda: np.full(array.shape, -1), lambda: array.astype("M8[s]"),
        lambda: np.zeros(array.shape, dtype=[("a", "i4")]), lambda: np.zeros(array.shape, "S3"),
    ]  # fmt: skip
    try:
        changed = draw.choice(made)()
    except (ValueError, TypeError, IndexError):
        changed = np.zeros(0)
    np.lib.format.write_array(out, np.asarray(changed), allow_pickle=False)
    return out.getvalue()


def change_safetensors(data: bytes, draw: Random) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    if draw.random() < 0.3:
        return struct.pack("<Q", draw.choice([0, 1, length - 1, length + 8, 2**31, 2**62, 2**64 - 1])) + data[8:]
    header = json.dumps(change_tree(json.loads(data[8 : 8 + length]), draw)).encode()
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


def change_parquet(data: bytes, draw: Random) -> bytes:
    import datetime
    import decimal

    import polars as pl

    frame = pl.read_parquet(io.BytesIO(data))
    n = frame.height
    day = datetime.date(2020, 1, 1)
    made: list[Callable[[], Any]] = [
        lambda: [day] * n, lambda: [datetime.datetime(2020, 1, 1)] * n, lambda: [datetime.time(1)] * n,
        lambda: [datetime.timedelta(1)] * n, lambda: [decimal.Decimal("1.5")] * n, lambda: [b"\xff\x00"] * n,
        lambda: [{"a": 1}] * n, lambda: [[["x"]]] * n, lambda: [[None]] * n, lambda: [[]] * n, lambda: [None] * n,
        lambda: [{"a": None}] * n, lambda: [[{"a": 1}]] * n, lambda: [math.nan] * n, lambda: [2**62] * n,
        lambda: pl.Series([2**64 - 1] * n, dtype=pl.UInt64), lambda: [-1] * n, lambda: [0.5] * n,
        lambda: [True] * n,
        lambda: [""] * n, lambda: [[b"a"]] * n, lambda: [[day]] * n, lambda: [[1, None]] * n,
        lambda: [["a", "b"]] * n,
        lambda: pl.Series(["a"] * n, dtype=pl.Categorical), lambda: pl.Series(["a"] * n, dtype=pl.Enum(["a"])),
        lambda: pl.Series([[1.0, 2.0]] * n, dtype=pl.Array(pl.Float64, 2)), lambda: [3 * 10**8] * n,
        lambda: [None, *[1] * (n - 1)], lambda: [1e300] * n, lambda: ["x" * 70_000] * n, lambda: ["\u202e"] * n,
        lambda: pl.Series([1] * n, dtype=pl.Int8), lambda: pl.Series([10**30] * n, dtype=pl.Int128),
    ]  # fmt: skip
    for _ in range(draw.choice([1, 1, 2])):
        name, way = draw.choice(frame.columns), draw.random()
        if way < 0.75:
            frame = frame.with_columns(pl.Series(name, draw.choice(made)(), strict=False))
        elif way < 0.85 and frame.width > 1:
            frame = frame.drop(name)
        elif way < 0.9:
            frame = frame.clear()
        else:
            frame = frame.rename({name: f"{name}x"})
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def change_lines(data: bytes, draw: Random) -> bytes:
    lines = data.decode(errors="replace").split("\n")
    at = draw.randrange(len(lines))
    lines[at : at + draw.choice([0, 1])] = [_cell(odd(draw))]
    return "\n".join(lines).encode()


# --- bytes --------------------------------------------------------------------------------------------------


def change_bytes(data: bytes, draw: Random) -> bytes:
    found = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 5, 20])):
        if not found:
            return draw.randbytes(draw.choice([0, 1, 9]))
        at, way = draw.randrange(len(found)), draw.random()
        size = draw.choice([1, 1, 4, 16, 200])
        if way < 0.35:
            found[at] ^= 1 << draw.randrange(8)
        elif way < 0.5:
            found[at : at + size] = draw.randbytes(min(size, len(found) - at))
        elif way < 0.6:
            del found[at:]
        elif way < 0.7:
            del found[at : at + size]
        elif way < 0.8:
            found[at:at] = draw.choice(
                [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b'"', b"{", b"]", draw.randbytes(9)]
            )
        elif way < 0.9:
            found[at:at] = found[at : at + size * 4]
        else:
            found[at : at + 8] = struct.pack("<q", draw.choice([0, -1, 2**31, 2**62, 255]))
    return bytes(found)


_BY_NAME: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": change_json,
    ".jsonl": change_jsonl,
    ".csv": change_csv,
    ".tsv": lambda data, draw: change_csv(data, draw, "\t"),
    ".toml": change_toml,
    ".sqlite": change_sqlite,
    ".npz": change_zip,
    ".xlsx": change_zip,
    ".npy": change_npy,
    ".eval": change_zip,
    ".safetensors": change_safetensors,
    ".parquet": change_parquet,
}


def mutated(name: str, data: bytes, draw: Random) -> bytes:
    if name.endswith(".gz") and draw.random() < 0.7:
        return gzip.compress(mutated(name.removesuffix(".gz"), gzip.decompress(data), draw), 1, mtime=0)
    change = _BY_NAME.get(Path(name).suffix, change_lines)
    if draw.random() < 0.65:
        try:
            return change(data, draw)
        except Exception:  # what cannot be changed by its structure is damaged
            return change_bytes(data, draw)
    return change_bytes(data, draw)
