"""Word vectors from a text file of the user: GloVe, word2vec or fastText (.vec, .txt, also .gz).

    the 0.418 0.24968 -0.41242 …      a word and its numbers on each line; a first line "400000 300" is optional

Binary files are refused: they may be pickles, which can run code.
"""

from __future__ import annotations

import array
import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from unwaver.errors import DataError
from unwaver.unpack import TooMuch, check_size, inflated

EXPECTED = "expected a word and its numbers on each line, as in GloVe's .txt and fastText's .vec files"
CONVERT = 'save them as text first; gensim: vectors.save_word2vec_format("vectors.txt", binary=False)'
MOST_NUMBERS = 10_000  # of one word
MOST_BYTES = 16 << 30  # that a .gz may unpack to
PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A row for each word; of two rows of one word the first counts."""

    words: tuple[str, ...]
    rows: np.ndarray

    @cached_property
    def place(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.words)}

    @cached_property
    def unit_rows(self) -> np.ndarray:
        """Rows of length 1; a row of zeros stays one."""
        lengths = np.linalg.norm(self.rows, axis=1, keepdims=True)
        return np.asarray(self.rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def read_vectors(
    path: Path, *, wanted: Callable[[str], bool] | None = None, progress: Callable[[int], None] | None = None
) -> WordVectors:
    """All words, or those that are `wanted`; `progress` hears how many bytes of the file were read."""
    words: dict[str, None] = {}
    numbers = array.array("f")
    width, declared, seen = 0, 0, 0
    for line, text in _lines(path, progress or (lambda _: None)):
        if line == 1 and (found := _header(text)):
            declared, width = found
            continue
        if not text.strip():
            continue
        width = width or len(text.split()) - 1
        word, row = _row(text, width, path, line)
        seen += 1
        if word not in words and (wanted is None or wanted(word)):
            words[word] = None
            numbers.extend(row)
    if not seen:
        raise DataError("the file has no word vectors", file=path, hint=EXPECTED)
    if declared > seen:
        hint = "copy or download the file again; it may be cut off"
        raise DataError(f"found {seen:,} words, the first line says {declared:,}", file=path, hint=hint)
    return WordVectors(tuple(words), np.array(numbers, dtype=np.float32).reshape(-1, width))


def check_vectors(path: Path) -> None:
    """What is wrong with the first line, before hours of work: no file, a binary one, no numbers."""
    width = 0
    for line, text in _lines(path, lambda _: None):
        if line == 1 and (found := _header(text)):
            width = found[1]
            continue
        _row(text, width or len(text.split()) - 1, path, line)
        return
    raise DataError("the file has no word vectors", file=path, hint=EXPECTED)


def _header(text: str) -> tuple[int, int] | None:
    """ "400000 300" -> (400000, 300); None of a line that is a word already."""
    cells = text.split()
    if len(cells) == 2 and all(cell.isascii() and cell.isdigit() for cell in cells) and int(cells[1]) > 1:
        return int(cells[0]), int(cells[1])
    return None


def _row(text: str, width: int, path: Path, line: int) -> tuple[str, list[float]]:
    """A word may hold spaces, its numbers come last."""
    if not 1 <= width <= MOST_NUMBERS:
        raise DataError(f"found {max(width, 0):,} numbers after the word", file=path, line=line, hint=EXPECTED)
    cells = text.rsplit(None, width)
    if len(cells) != width + 1:
        found = f"found {len(text.split()) - 1} numbers, expected {width} as in the lines before"
        raise DataError(found, file=path, line=line, hint="copy or download the file again; it may be cut off")
    try:
        row = [float(cell) for cell in cells[1:]]
    except ValueError as e:
        wrong = str(e).rpartition(": ")[2][:40]
        raise DataError(f"found {wrong}, expected a number", file=path, line=line, hint=EXPECTED) from None
    if not math.isfinite(math.fsum(row)) or max(map(abs, row)) > 1e30:
        raise DataError("found a value that is not finite", file=path, line=line, hint=EXPECTED)
    return cells[0], row


# --- lines --------------------------------------------------------------------------------------------------


def _lines(path: Path, progress: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    rest, number = b"", 0
    try:
        for piece in _unpacked(path, progress):
            if not number and not rest and _is_binary(piece):
                raise DataError("the file is binary, expected word vectors as text", file=path, hint=CONVERT)
            *whole, rest = (rest + piece).split(b"\n")
            if len(rest) > 100 * MOST_NUMBERS:
                raise DataError("a line is too long", file=path, line=number + len(whole) + 1, hint=EXPECTED)
            for each in whole:
                number += 1
                yield number, _decoded(each, path, number)
    except (zlib.error, EOFError, TooMuch) as e:
        hint = "copy or download the file again"
        raise DataError(f"cannot be unpacked: {e}", file=path, hint=hint) from None
    except OSError as e:
        hint = "check the path of --vectors"
        raise DataError(f"cannot be read: {e.strerror or e}", file=path, hint=hint) from None
    if rest:
        yield number + 1, _decoded(rest, path, number + 1)


def _unpacked(path: Path, progress: Callable[[int], None]) -> Iterator[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)

        def pieces() -> Iterator[bytes]:
            while piece := file.read(PIECE):
                progress(len(piece))
                yield piece

        yield from _bounded(inflated(pieces()), path.stat().st_size) if packed else pieces()


def _bounded(pieces: Iterable[bytes], packed: int) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        check_size(size, packed, MOST_BYTES)
        if piece:
            yield piece


def _is_binary(piece: bytes) -> bool:
    return b"\0" in piece[:65536] or piece.startswith((b"\x80", b"PK\x03\x04", b"\x93NUMPY"))


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8").removeprefix("\ufeff").strip("\r")
    except UnicodeDecodeError:
        raise DataError("the line is not UTF-8", file=path, line=number, hint=CONVERT) from None
