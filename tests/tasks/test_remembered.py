"""A file of groups remembers the task that it was made with: nobody has to name it again to ask the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import unwaver as package
from unwaver.config import Config
from unwaver.engine.build_groups import build
from unwaver.errors import DataError, UsageError
from unwaver.tasks import built_in, plain_task
from unwaver.tasks.own import read_entry
from unwaver.tasks.remembered import digest, entry_of, remembering

TASK = '''
[tickets]
fields = ["subject", "body"]
labels = ["refund", "other"]
words = ["Refund", "Other"]
prompt = """
Subject: {subject}
{body}
Is this about Refund or Other?
Answer:"""
[tickets.relations]
semantic = {}
surface = {}
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(TASK)
    Path("tickets.csv").write_text("subject,body,label\nA,I want my money back.,refund\nB,Where is it?,other\n")
    build(Config(("tickets.csv",), (), task="my.toml", variants=("surface_case",)), Path("groups.jsonl"))
    return tmp_path


def prompts(suite: str, **options: Any) -> list[str]:
    """What a model that reads prompts is asked."""
    seen: list[str] = []

    class Reads:
        name = identity = "reads"
        method, reads, deterministic = "generate", ("prompt",), True
        settings: ClassVar[dict[str, object]] = {}

        def answer(self, requests: Any) -> Any:
            seen.extend(request.prompt for request in requests)
            yield [(n, package.Answer(text="Refund")) for n in range(len(requests))]

        def close(self) -> None:
            pass

    package.run(suite, Reads(), out=f"run{len(list(Path().iterdir()))}", **options)
    return sorted(seen)


def test_forgetting_the_task_changes_no_prompt(place: Path) -> None:
    Path("my.toml").rename("away.toml")
    forgotten = prompts("groups.jsonl")
    assert all(prompt.endswith("Is this about Refund or Other?\nAnswer:") for prompt in forgotten)
    assert forgotten == prompts("groups.jsonl", task="away.toml")
    assert forgotten == prompts(str(sorted(place.glob("run*"))[0] / "groups.jsonl")), "so does that of a run"


def test_another_task_is_refused(place: Path) -> None:
    with pytest.raises(UsageError, match="--task is snli, and these groups are of the task tickets") as raised:
        prompts("groups.jsonl", task="snli")
    assert "leave --task out" in str(raised.value.hint)
    Path("my.toml").write_text(TASK.replace("Is this about", "Is it about"))
    with pytest.raises(UsageError, match="another prompt, labels or relations than the task tickets"):
        prompts("groups.jsonl", task="my.toml")
    build(Config(("pairs.csv",), (), task="mrpc", variants=("swap",)), _pairs())
    with pytest.raises(UsageError, match="--task is snli, and these groups are of the task mrpc"):
        prompts("pairs.jsonl", task="snli")
    assert prompts("pairs.jsonl", task="mrpc") == prompts("pairs.jsonl")


def _pairs() -> Path:
    Path("pairs.csv").write_text("sentence1,sentence2,label\nA man sleeps.,A man is asleep.,1\n")
    return Path("pairs.jsonl")


def test_a_part_of_the_file(place: Path) -> None:
    first, *rest = Path("groups.jsonl").read_text().splitlines()
    Path("head.jsonl").write_text(first + "\n")
    assert prompts("head.jsonl")
    Path("tail.jsonl").write_text("\n".join(rest) + "\n")
    with pytest.raises(DataError, match="the definition of the task tickets is missing") as raised:
        prompts("tail.jsonl")
    assert "--task my.toml" in str(raised.value.hint)
    assert prompts("tail.jsonl", task="my.toml")


def test_a_definition_that_was_edited(place: Path) -> None:
    lines = [json.loads(line) for line in Path("groups.jsonl").read_text().splitlines()]
    lines[0]["task_definition"]["prompt"] = "{body}?"
    Path("edited.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match="which was edited"):
        prompts("edited.jsonl")
    lines[0]["task_definition"]["prompt"] = 7
    Path("broken.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match="task_definition"):
        prompts("broken.jsonl")


def test_files_of_hand_may_leave_the_task_to_the_option(place: Path) -> None:
    pair = [{"subject": "A", "body": body} for body in ("One.", "Two.")]
    rows = [{"items": [{"fields": f} for f in pair]}, {"task": "tickets", "items": [{"fields": f} for f in pair]}]
    Path("hand.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert all("Subject: A" in prompt for prompt in prompts("hand.jsonl", task="my.toml"))


def test_every_task_survives_the_journey() -> None:
    for name, task in built_in().items():
        assert read_entry("own", entry_of(task)) == read_entry("own", entry_of(read_entry("own", entry_of(task))))
        assert entry_of(read_entry("own", entry_of(task))) == entry_of(task), name
        assert digest(read_entry("own", entry_of(task))) == digest(task)


def test_plain_tasks_are_not_remembered() -> None:
    remember = remembering({"own": plain_task("own", ["a", "b"], ["x", "y"]), "mine": built_in()["snli"]})
    assert remember("own") == {}
    assert set(remember("mine")) == {"task_hash", "task_definition"}
    assert set(remember("mine")) == {"task_hash"}
