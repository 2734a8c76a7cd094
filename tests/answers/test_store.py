"""The real SQLite, several real processes."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import FOR_EVER

from unwaver.answers import store
from unwaver.answers.store import Store
from unwaver.errors import StoreError
from unwaver.types import Answer, Beside, replace

floats = st.floats(allow_nan=False)
words, counts = st.text(), st.none() | st.integers(0, 10**6)
besides = st.builds(Beside, words, words, words, counts, counts, words, words)
answers = st.builds(
    Answer,
    text=st.none() | st.text(),
    logprobs=st.lists(floats).map(tuple),
    tokens=st.lists(st.integers(0, 100)).map(tuple),
    usage=st.none() | st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    finish=st.sampled_from(["", "stop", "length"]),
    truncated=st.booleans(),
    beside=st.none() | besides,
)


@given(answers)
def test_what_goes_in_comes_out(answer: Answer) -> None:
    store = Store(Path(":memory:"))
    store.put([("k", answer)])
    found = store.answers(["k"])["k"]
    lowest = tuple(-math.inf if x == math.inf else x for x in answer.logprobs)
    assert found == replace(answer, logprobs=lowest)
    store.close()


def test_many_answers_are_read_as_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up by their keys, or the whole table read."""
    found = Store(tmp_path / "a.sqlite")
    found.put([(f"k{n}", Answer(text=str(n), logprobs=(-0.5, -math.inf))) for n in range(500)])
    wanted, others = {f"k{n}" for n in range(100, 450)}, {"none", "k", "k1000"}
    looked_up = found.answers(wanted | others), found.answered(wanted | others)
    monkeypatch.setattr(store, "MANY", 10)
    monkeypatch.setattr(Store, "select", None)
    assert (found.answers(wanted | others), found.answered(wanted | others)) == looked_up
    assert (set(looked_up[0]), looked_up[1]) == (wanted, wanted)
    assert found.answers([f"k{n}" for n in range(500)]).keys() == {f"k{n}" for n in range(500)}
    found.close()


def test_a_large_store_is_not_read_for_a_few_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Store(tmp_path / "a.sqlite")
    found.put([(f"k{n}", Answer(text="x" * 20_000)) for n in range(100)])
    monkeypatch.setattr(store, "MANY", 10)
    queries: list[str] = []
    found._db.set_trace_callback(queries.append)
    assert len(found.answered(f"k{n}" for n in range(20))) == 20
    assert all("IN (" in query or query.startswith("PRAGMA") for query in queries), queries
    found.close()


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("text", b"a", "expected texts"),
        ("finish", b"stop", "expected texts"),
        ("prompt_tokens", "many", "expected numbers of tokens"),
        ("truncated", 0.5, "expected numbers of tokens"),
        ("logprobs", "[1, 2", "expected a list of numbers"),
        ("tokens", '["a"]', "expected a list of numbers"),
    ],
)
def test_a_cell_of_a_wrong_type_is_named(tmp_path: Path, column: str, value: object, what: str) -> None:
    found = Store(tmp_path / "a.sqlite")
    found.put([(f"k{n}", Answer(text="a")) for n in range(5)])
    found.run(f"UPDATE answers SET {column} = ? WHERE key = 'k3'", value)
    with pytest.raises(StoreError, match=what):
        found.answers(f"k{n}" for n in range(5))
    found.close()


def test_an_answer_is_never_replaced_and_ends_a_failure(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    store.put([("k", Answer(error="down"))])
    assert store.failures(["k"]) == {"k": "down"}
    store.put([("k", Answer(text="first"))])
    store.put([("k", Answer(text="second"))])
    assert store.answers(["k"])["k"].text == "first"
    assert store.failures(["k"]) == {}
    store.close()


def test_it_survives_a_power_cut() -> None:
    """What the page of docs/formats.md says: WAL, and FULL where NORMAL would lose the last commits."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "a.sqlite")
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        store.close()


WRITER = """
    import sys
    from pathlib import Path
    from unwaver.answers.store import Store
    from unwaver.types import Answer, Beside
    store = Store(Path(sys.argv[1]))
    for i in range(150):
        store.put([(f"{sys.argv[2]}-{i}-{j}", Answer(text="x")) for j in range(3)] + [(f"shared-{i}", Answer(text="s"))])
        print(i, flush=True)
"""


def start_writer(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path), name], stdout=subprocess.PIPE, text=True
    )


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    writers = [start_writer(path, f"w{n}") for n in range(4)]
    for writer in writers:
        writer.communicate(timeout=FOR_EVER)
        assert writer.returncode == 0
    count = sqlite3.connect(path).execute("SELECT count(*) FROM answers").fetchone()[0]
    assert count == 4 * 150 * 3 + 150


def test_what_was_committed_survives_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "killed.sqlite"
    for attempt in range(3):
        writer = start_writer(path, f"k{attempt}")
        assert writer.stdout is not None
        seen = -1
        while seen < 10 * (attempt + 1):
            seen = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        store = Store(path)
        keys = [f"k{attempt}-{i}-{j}" for i in range(seen + 1) for j in range(3)]
        assert store.answered(keys) == set(keys)
        store.close()


def test_a_finished_store_is_read_without_leaving_traces(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    store.put([("k", Answer(text="x"))])
    store.close()
    reader = Store(tmp_path / "a.sqlite", read_only=True)
    assert reader.answers(["k"])["k"].text == "x"
    reader.close()
    assert [p.name for p in tmp_path.iterdir()] == ["a.sqlite"]


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "no.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"damaged|not an answer store"):
        Store(tmp_path / "no.sqlite")
    newer = sqlite3.connect(tmp_path / "newer.sqlite")
    newer.execute("PRAGMA user_version=99")
    newer.close()
    with pytest.raises(StoreError, match="version 99"):
        Store(tmp_path / "newer.sqlite")


def test_a_schema_with_damaged_names_is_reported(tmp_path: Path) -> None:
    """SQLite quotes the name in its message, which is then not text."""
    path = tmp_path / "a.sqlite"
    Store(path).close()
    data = path.read_bytes()
    assert b"tablefailuresfailures" in data
    named = data.replace(b"tablefailuresfailures", b"tablef\x87iluresfailures")
    path.write_bytes(named.replace(b"CREATE TABLE failures", b"CREATE TABXE failures"))
    with pytest.raises(StoreError, match="damaged"):
        Store(path).answered(["k"])


def test_many_processes_make_one_store_at_once(tmp_path: Path) -> None:
    """Switching a new file to WAL mode does not wait by itself."""
    code = (
        "import sys; from pathlib import Path; from unwaver.answers.store import Store; from unwaver.types import Answer\n"
        "store = Store(Path('s.sqlite')); store.put([(sys.argv[1], Answer(text='x'))]); store.close()"
    )
    for attempt in range(3):
        place = tmp_path / str(attempt)
        place.mkdir()
        started = [
            subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=place, stderr=subprocess.PIPE)
            for n in range(8)
        ]
        said = [process.communicate(timeout=FOR_EVER)[1] for process in started]
        assert [process.returncode for process in started] == [0] * 8, said
        store = Store(place / "s.sqlite", read_only=True)
        assert len(store.answered([str(n) for n in range(8)])) == 8
        store.close()
