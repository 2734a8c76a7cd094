"""Files that anybody may have written: packed ones are bounded, headers are not believed, types are checked."""

from __future__ import annotations

import gzip
import io
import json
import math
import resource
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unwaver
from unwaver import unpack
from unwaver.answers.store import Store
from unwaver.asking.audit import as_text
from unwaver.engine.stored import read_run, read_seen
from unwaver.errors import DataError, StoreError
from unwaver.files import read_rows
from unwaver.models import predictions
from unwaver.models.arrays import NAMES, NUMBERS, read_arrays

# --- packed files -------------------------------------------------------------------------------------------


def bomb(path: Path, megabytes: int) -> Path:
    """A gzip file of zeros: a thousandth of what it holds."""
    path.write_bytes(gzip.compress(b"0" * (8 << 20), 1) * (megabytes // 8))
    return path


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.json.gz", "t.tsv.gz"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, name: str) -> None:
    path = bomb(tmp_path / name, 200)
    for read in (read_rows, unwaver.score, predictions.open_model):
        with pytest.raises(DataError, match="it unpacks to more than 150 times its"):
            read(str(path) if read is predictions.open_model else path)  # type: ignore[operator]


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    """Two gigabytes in two megabytes, with less than one gigabyte to work with."""
    path = bomb(tmp_path / "t.csv.gz", 2000)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    code = "import sys, pathlib\nfrom unwaver.files import read_rows\nread_rows(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, preexec_fn=limited
    )
    assert "it unpacks to more than" in done.stderr.splitlines()[-2]


def test_a_great_file_that_shrinks_like_text_stops_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "MOST_BYTES", 1 << 20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(np.random.default_rng(0).bytes(2 << 20)))
    with pytest.raises(DataError, match="it unpacks to more than"):
        read_rows(path)


def test_members_one_after_the_other_and_what_shrinks_much_but_is_small(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n" * 100_000))
    assert len(read_rows(path)) == 100_000


# --- arrays -------------------------------------------------------------------------------------------------

WANTED = {"embeddings": (2, NUMBERS), "labels": (1, NAMES)}


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{"embeddings": np.zeros((4, 2)), "labels": np.arange(4), **arrays})
    return path


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "objects": ({"labels": np.array([{}, 1, 2, 3], dtype=object)}, "expected"),
    "one dimension": ({"embeddings": np.zeros(4)}, "found 1 dimensions, expected 2"),
    "texts": ({"embeddings": np.array([["a"]])}, "found values of type <U1, expected numbers"),
    "complex": ({"embeddings": np.zeros((4, 2), complex)}, "found values of type complex128"),
    "not finite": ({"embeddings": np.full((4, 2), math.nan)}, "found a value that is not finite"),
    "records": ({"labels": np.zeros(4, dtype=[("a", "i4")])}, "expected"),
}


@pytest.mark.parametrize("case", list(ARRAYS))
def test_odd_arrays(tmp_path: Path, case: str) -> None:
    arrays, message = ARRAYS[case]
    with pytest.raises(DataError, match=message) as e:
        read_arrays(saved(tmp_path / "e.npz", **arrays), WANTED, "hint")
    assert (e.value.file, e.value.hint) == (str(tmp_path / "e.npz"), "hint")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -2), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (4, 2), }",
        "{'descr': '<f8'}",
        "{" * 500,
        "__import__('os').system('touch ran')",
    ],
)
def test_a_header_that_lies(tmp_path: Path, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)
    with zipfile.ZipFile(tmp_path / "e.npz", "w") as archive:
        archive.writestr("embeddings.npy", content)
    with pytest.raises(DataError):
        read_arrays(tmp_path / "e.npz", {"embeddings": (2, NUMBERS)}, "hint")
    assert not (tmp_path / "ran").exists()


def test_arrays_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="it unpacks to more than"):
        read_arrays(saved(tmp_path / "e.npz", labels=np.arange(4000)), WANTED, "hint")


# --- our own files ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    unwaver.run("sample/snli/semantic", "fake/random", out=str(place / "run"))
    return place / "run"


ODD: dict[str, Any] = {
    "models": [[], {}, 3, [3], [{"name": 1, "method": "x"}], [{"name": "a"}], [{"name": "\ud800", "method": "x"}]],
    "words": [None, [], {"a": 1}, {"a": [1]}, {"a": [None]}],
    "command": [3, "x", [1]],
    "certification": [True, {}, [1], [{}], [{"case": 3}]],
    "notes": [[], {"a": "b"}, {"a": [1]}, 3],
    "spent": [3, [], {"calls": "x"}, {"stopped": 3}],
    "versions": [3, {"a": {}}],
    "until": [3, {}, {"bar": 1}],
    "more": [math.inf, math.nan, {"deep": [1e999]}],
}


@pytest.mark.parametrize("name", list(ODD))
def test_odd_values_in_run_json(run: Path, tmp_path: Path, name: str) -> None:
    whole = json.loads((run / "run.json").read_text())
    for value in ODD[name]:
        (tmp_path / "run.json").write_text(json.dumps({**whole, name: value}))
        with pytest.raises(DataError, match=r"found .* expected") as e:
            read_run(tmp_path)
        assert (e.value.file, bool(e.value.hint)) == (str(tmp_path / "run.json"), True)


def test_odd_values_in_seen_json(tmp_path: Path) -> None:
    for value in ([], {"0": 1}, {"0": [1]}, {"0": [None]}, {"0": {"a": 1}}):
        (tmp_path / "seen.json").write_text(json.dumps({"version": 1, "seen": value}))
        with pytest.raises(DataError, match=r'"seen.*": found'):
            read_seen(tmp_path)


CELLS: list[tuple[str, Any]] = [
    ("text", b"\xff"),
    ("logprobs", "{}"),
    ("logprobs", '["a"]'),
    ("logprobs", "[[1]]"),
    ("logprobs", "[1e999]"),
    ("logprobs", 5),
    ("tokens", "[true]"),
    ("prompt_tokens", "many"),
    ("finish", b"\xff"),
    ("truncated", "no"),
]


@pytest.mark.parametrize(("column", "value"), CELLS)
def test_odd_cells_in_a_store(run: Path, tmp_path: Path, column: str, value: Any) -> None:
    (tmp_path / "answers.sqlite").write_bytes((run / "answers.sqlite").read_bytes())
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        db.execute(f"UPDATE answers SET {column} = ?", (value,))
    db.close()
    store = Store(tmp_path / "answers.sqlite", read_only=True)
    keys = [key for *_, key in store.linked()]
    try:
        with pytest.raises(StoreError, match="damaged, or it is not an answer store"):
            store.answers(keys)
    finally:
        store.close()


ENDLESS = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT x AS model, 'a' AS item, 0 AS replicate, 'k' AS key FROM c"
)


def test_a_view_in_place_of_a_table(run: Path, tmp_path: Path) -> None:
    """A database that computes its rows, without end perhaps, is no store of ours; neither is one without tables."""
    for statements in (
        ["ALTER TABLE asked RENAME TO moved", f"CREATE VIEW asked AS {ENDLESS}"],
        ["CREATE TRIGGER t BEFORE INSERT ON answers BEGIN DELETE FROM answers; END"],
        ["DROP TABLE asked"],
        ["UPDATE asked SET replicate = 'first' WHERE item = (SELECT min(item) FROM asked)"],
        ["UPDATE asked SET item = x'ff' WHERE item = (SELECT min(item) FROM asked)"],
    ):
        (tmp_path / "answers.sqlite").write_bytes((run / "answers.sqlite").read_bytes())
        with sqlite3.connect(tmp_path / "answers.sqlite") as db:
            for statement in statements:
                db.execute(statement)
        db.close()
        with pytest.raises(StoreError, match="damaged, or it is not an answer store"):
            Store(tmp_path / "answers.sqlite", read_only=True).linked()


def test_scores_of_another_type(run: Path, tmp_path: Path, unwaver: Any) -> None:
    whole = json.loads((run / "scores.json").read_text())
    for name, value in {
        "value": "x",
        "groups": None,
        "suite": 3,
        "flags": "a",
        "better": "up",
        "low": math.nan,
    }.items():
        changed = {**whole, "scores": [{**whole["scores"][0], name: value}]}
        (tmp_path / "scores.json").write_text(json.dumps(changed))
        done = unwaver("analyse", "pareto", tmp_path / "scores.json")
        assert done.returncode == 2
        assert f"scores.0.{name}" in done.stderr or '"scores' in done.stderr


def test_bytes_in_json_that_are_no_characters(tmp_path: Path) -> None:
    """Half a character is refused in every JSON file, with its line."""
    path = tmp_path / "snli_human_m.json"
    path.write_text('{\n"snli.\\ud800": {"bucket_confidences": []}}')
    with pytest.raises(DataError, match="half a character") as e:
        unwaver.score(path)
    assert e.value.line == 2


def test_zip_members_of_inspect(tmp_path: Path) -> None:
    from unwaver.logs import inspect

    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", io.BytesIO(b" " * (100 << 20)).getvalue())
    with pytest.raises(DataError, match="it unpacks to more than 150 times"):
        inspect._check_zip(path)


def test_a_run_of_an_older_unwaver_lacks_counts(run: Path, tmp_path: Path) -> None:
    """Within a version fields are added: what is new may be missing."""
    whole = json.loads((run / "run.json").read_text())
    old = {
        "case": "a/b/c",
        "model": "m",
        "items": 1,
        "candidates": 2,
        "judged": 0,
        "accepted": 0,
        "acceptance": None,
    }
    old |= {"kept": 2, "distance_to_original": 0.1, "distance_among_variants": None}
    old |= dict.fromkeys(("items_with_1", "items_with_3", "items_with_5"))
    (tmp_path / "run.json").write_text(json.dumps({**whole, "certification": [old]}))
    assert "2 candidates" in as_text(read_run(tmp_path)["certification"][0])
