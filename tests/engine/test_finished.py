"""A large run that is finished is recalled if, and only if, it would be made of the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unwaver
from unwaver.engine import finished, runs
from unwaver.engine.finished import FILE, Recalled
from unwaver.result import Result


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Runs that were computed, while ten groups are many."""
    found: list[Path] = []
    compute = runs._ask_and_score
    monkeypatch.setattr(runs, "MANY", 10)
    monkeypatch.setattr(finished, "is_closed", lambda: True)  # tests are not installed
    monkeypatch.setattr(runs, "_ask_and_score", lambda *given: found.append(given[1]) or compute(*given))
    return found


def written(path: Path, last: str = "It is late.", gold: str = "entailment") -> Path:
    with path.open("w") as file:
        for n in range(12):
            texts = [f"Case {n}.", last if n == 11 else "So it is."]
            items = [{"fields": {"premise": text, "hypothesis": "Yes."}, "accepted": [gold]} for text in texts]
            file.write(json.dumps({"task": "snli", "items": items}) + "\n")
    return path


def run(tmp_path: Path, **options: Any) -> Result:
    model = options.pop("model", "fake/random")
    return unwaver.run(str(tmp_path / "mine.jsonl"), model, out=str(tmp_path / "run"), **options)


def test_the_second_time_it_is_recalled(tmp_path: Path, computed: list[Path]) -> None:
    written(tmp_path / "mine.jsonl")
    first = run(tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    again = run(tmp_path)
    assert len(computed) == 1
    assert isinstance(again, Recalled)
    assert again.scores == first.scores
    assert (first.run["spent"]["calls"], again.run["spent"]["calls"]) == (14, 0)
    assert {key: again.run[key] for key in first.run if key != "spent"} == {
        key: json.loads(json.dumps(value)) for key, value in first.run.items() if key != "spent"
    }
    assert again.document()["scores"] == first.document()["scores"]
    assert str(again) == str(first)
    assert first.answers is not None
    assert again.answers is not None
    assert again.answers.equals(first.answers)
    assert again.broken().equals(first.broken())
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def touched(name: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        stat = (place / name).stat()
        os.utime(place / name, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))

    return change


def rewritten(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        text = (place / name).read_text()
        assert old in text
        (place / name).write_text(text.replace(old, new, 1))

    return change


CHANGES: dict[str, Callable[[Path], None]] = {
    **{name: touched(name) for name in ("run.json", "groups.jsonl", "answers.sqlite", "scores.json")},
    "no scores": lambda place: (place / "scores.json").unlink(),
    "other scores": rewritten("scores.json", '"groups": 12', '"groups": 13'),
    "not finished": lambda place: (place / FILE).unlink(),
    "damaged": lambda place: (place / FILE).write_text("[" * 10_000),
    "another version": rewritten(FILE, '"version": 1', '"version": 2'),
    "a log": lambda place: (place / "answers.sqlite-wal").write_bytes(b""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_folder_is_computed_again(tmp_path: Path, computed: list[Path], change: str) -> None:
    written(tmp_path / "mine.jsonl")
    first = run(tmp_path)
    CHANGES[change](tmp_path / "run")
    again = run(tmp_path)
    assert len(computed) == 2
    assert again.scores == first.scores
    run(tmp_path)
    assert len(computed) == 2, "then it is finished again"


def test_other_texts_and_labels_are_computed(tmp_path: Path, computed: list[Path]) -> None:
    written(tmp_path / "mine.jsonl")
    run(tmp_path)
    written(tmp_path / "mine.jsonl", gold="neutral")
    other = run(tmp_path)
    assert (len(computed), other.run["spent"]["calls"]) == (2, 0)
    written(tmp_path / "mine.jsonl", last="Something else.")
    assert run(tmp_path).run["spent"]["calls"] == 1
    assert len(computed) == 3


def test_other_settings_and_code_are_computed(
    tmp_path: Path, computed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "mine.jsonl")
    run(tmp_path)
    run(tmp_path, unreadable="skip")
    assert len(computed) == 2
    monkeypatch.setattr(finished, "code_state", lambda: "another")
    run(tmp_path, unreadable="skip")
    assert len(computed) == 3


def test_nothing_is_kept_of_a_run_that_lacks_answers(tmp_path: Path, computed: list[Path]) -> None:
    written(tmp_path / "mine.jsonl")
    run(tmp_path, max_calls=10)
    assert not (tmp_path / "run" / FILE).exists()
    assert run(tmp_path).is_complete
    assert len(computed) == 2
    run(tmp_path)
    assert len(computed) == 2


def test_failed_calls_are_asked_again(tmp_path: Path, computed: list[Path]) -> None:
    written(tmp_path / "mine.jsonl")
    run(tmp_path, model="fake/random,fail=0.3")
    run(tmp_path, model="fake/random,fail=0.3")
    assert len(computed) == 2
    assert not (tmp_path / "run" / FILE).exists()


def test_code_of_ones_own_may_have_changed(
    tmp_path: Path, computed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished, "is_closed", lambda: False)
    written(tmp_path / "mine.jsonl")
    run(tmp_path)
    run(tmp_path)
    assert len(computed) == 2


def test_a_small_run_keeps_nothing(tmp_path: Path) -> None:
    written(tmp_path / "mine.jsonl")
    run(tmp_path)
    assert not (tmp_path / "run" / FILE).exists()
