"""Word vectors from text files, and what is said of broken ones."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest

from unwaver.errors import DataError
from unwaver.models.word_vectors import check_vectors, read_vectors

LINES = "cat 1 0\ndog 0.8 0.6\ntwo words 0 2\ncat 9 9\n"


@pytest.mark.parametrize("header", ["", "4 2\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_words_and_numbers(tmp_path: Path, header: str, packed: bool) -> None:
    path = tmp_path / ("v.txt.gz" if packed else "v.txt")
    text = (header + LINES).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    check_vectors(path)
    read = list[int]()
    found = read_vectors(path, progress=read.append)
    assert found.words == ("cat", "dog", "two words"), "of two rows of one word the first counts"
    assert found.rows.tolist() == np.array([[1, 0], [0.8, 0.6], [0, 2]], dtype=np.float32).tolist()
    assert found.unit_rows[2].tolist() == [0, 1]
    assert found.place["dog"] == 1
    assert sum(read) == path.stat().st_size
    assert read_vectors(path, wanted=lambda word: word == "dog").words == ("dog",)


def test_a_last_line_without_an_end_and_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"\xef\xbb\xbfcat 1 0\r\n\r\ndog 0 1")
    assert read_vectors(path).words == ("cat", "dog")


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (b"", None, "no word vectors"),
        (b"\n\n", None, "no word vectors"),
        (b"cat 1 0\ndog 1\n", 2, "found 1 numbers, expected 2"),
        (b"cat 1 0\ndog 1 x\n", 2, "found 'x', expected a number"),
        (b"cat 1 0\ndog 1 nan\n", 2, "not finite"),
        (b"cat 1 0\ndog 1 1e300\n", 2, "not finite"),
        (b"cat\n", 1, "found 0 numbers"),
        (b"3 2\ncat 1 0\n", None, "found 1 words, the first line says 3"),
        (b"cat 1 0\n\xff\xfe 1 0\n", 2, "not UTF-8"),
        (pickle.dumps({"cat": [1.0]}), None, "binary"),
        (b"PK\x03\x04rest", None, "binary"),
        (b"\x1f\x8bnot packed at all", None, "cannot be unpacked"),
    ],
)
def test_a_broken_file_says_where(tmp_path: Path, content: bytes, line: int | None, told: str) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as error:
        read_vectors(path)
    assert error.value.file == str(path)
    assert error.value.line == line
    assert error.value.hint


def test_a_missing_file_and_a_table_are_noticed_by_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        check_vectors(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        check_vectors(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("word,number\n")
    with pytest.raises(DataError, match="found 0 numbers after the word"):
        check_vectors(table)
