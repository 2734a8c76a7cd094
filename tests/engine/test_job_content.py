"""What a job can be about: everything that a run takes, or a refusal in words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from people_jobs import groups, job_file, play, written

import unwaver
from unwaver.engine.job_content import content
from unwaver.errors import DataError, UsageError
from unwaver.people.job import read_job
from unwaver.people.store import Card
from unwaver.types import Group


def cards_of(folder: Path, kind: str, source: str, **more: Any) -> list[Card]:
    return content(read_job(job_file(folder / "job.toml", kind, source, **more))).cards


@pytest.mark.parametrize("source", ["sample", "sample/snli", "sample/boolq/negational", "groups.jsonl", "own.csv"])
@pytest.mark.parametrize("kind", ["answer", "rate", "review"])
def test_suites_groups_and_tables(source: str, kind: str, tmp_path: Path) -> None:
    written(tmp_path / "groups.jsonl", groups())
    (tmp_path / "own.csv").write_text(
        "question,paraphrase,label\nIs it late?,Has it got late?,yes\nIs he in?,Is he here?,no\n"
    )
    found = cards_of(tmp_path, kind, source, limit=2)
    assert len({card.unit for card in found}) == 2


def test_choices_are_in_the_words_of_the_prompt(tmp_path: Path) -> None:
    card = cards_of(tmp_path, "answer", "sample/snli/semantic", limit=1)[0]
    assert "True, False or Neither" in card.shown["prompt"]
    assert card.shown["choices"] == ["True", "Neither", "False"]
    assert card.shown["labels"] == ["entailment", "neutral", "contradiction"]
    play(tmp_path / "job.toml", lambda card, name: {"value": "Neither"}, ("ann",))
    frame = unwaver.score(tmp_path / "job.toml").answers
    assert frame is not None
    assert set(frame["label"].to_list()) == {"neutral"}


def test_questions_are_answered_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text(
        "question,answer\nWho wrote Hamlet?,Shakespeare\nWhere is Oslo?,Norway\n"
    )
    path = job_file(tmp_path / "job.toml", "answer", "questions.csv")
    play(path, lambda card, name: {"text": "By Shakespeare"}, ("ann",))
    result = unwaver.score(path)
    assert result.find("accuracy_contains").value == 0.5
    assert len(cards_of(tmp_path, "write", "questions.csv", field="question")) == 2
    with pytest.raises(DataError, match="has questions without variants") as e:
        cards_of(tmp_path, "rate", "questions.csv")
    assert "unwaver build" in str(e.value.hint)


def test_variants_that_wait_for_a_model(tmp_path: Path) -> None:
    first = groups(1)[0]
    judge = {"id": "j", "role": "judge", "fields": {"premise": "a", "hypothesis": "b"}, "judge": "self"}
    judge |= {"choices": list(first.items[0].choices), "accepted": ["entailment"], "about": first.items[1].id}
    path = written(tmp_path / "groups.jsonl", [first])
    record = json.loads(path.read_text())
    record["items"].append({**record["items"][0], **judge})
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="1 variant waits for the verdict of a model") as e:
        cards_of(tmp_path, "answer", "groups.jsonl")
    assert "--judge" in str(e.value.hint)
    assert len(cards_of(tmp_path, "rate", "groups.jsonl")) == 1, "people can judge it"


@pytest.mark.parametrize(
    ("kind", "source", "more", "says"),
    [
        ("answer", "nothing.jsonl", {}, "there is no such file"),
        ("answer", "smaple", {}, "sample"),
        ("answer", "sample/snli/nothing", {}, "nothing"),
        ("answer", "sensitivity/mnli", {}, "needs a writer"),
        ("answer", "folder", {}, "this is a folder"),
        ("rate", "other.toml", {}, "is a job, and rate takes none"),
        ("validate", "other.toml", {}, "is a job of the kind rate"),
        ("validate", "write.toml", {}, "has not been started"),
        ("pairs", "nothing.csv", {}, "there is no such file"),
        ("pairs", "sample", {}, "there is no such file"),
        ("write", "groups.jsonl", {"field": "question"}, "has no such text"),
    ],
)
def test_what_is_refused(kind: str, source: str, more: dict[str, Any], says: str, tmp_path: Path) -> None:
    if source.startswith("sensitivity") and not os.environ.get("UNWAVER_DATA"):
        pytest.skip("UNWAVER_DATA is not set to a folder")
    written(tmp_path / "groups.jsonl", groups())
    (tmp_path / "folder").mkdir()
    job_file(tmp_path / "other.toml", "rate")
    job_file(tmp_path / "write.toml", "write", field="hypothesis")
    with pytest.raises((DataError, UsageError)) as e:
        cards_of(tmp_path, kind, source, **more)
    assert says in f"{e.value} {e.value.hint}"


def test_certified_groups_can_be_run(tmp_path: Path) -> None:
    """What a job of grades gives is what a run and a job of answers take."""
    from unwaver.people.outcome import certified_groups, read_judged

    made: list[Group] = groups(6)
    written(tmp_path / "groups.jsonl", made)
    path = play(
        job_file(tmp_path / "rate.toml", "rate"),
        lambda card, name: {"value": "5" if card.id < "semantic/4" else "1"},
    )
    (tmp_path / "kept.jsonl").write_text(certified_groups(read_judged(path), made))
    result = unwaver.run(str(tmp_path / "kept.jsonl"), "fake/random", out=str(tmp_path / "run"))
    leading = result.leading()[0]
    assert (leading.counted, leading.not_applicable) == (4, 0)
    found = cards_of(tmp_path, "answer", "kept.jsonl")
    assert {card.unit for card in found} == {f"semantic/{n}" for n in range(4)}
