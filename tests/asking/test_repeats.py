"""--replicates: a deterministic local model is asked once, a server every time."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from server import Server

import unwaver
from unwaver.asking.repeats import repeats_note
from unwaver.engine.folder import groups_text
from unwaver.groups import many
from unwaver.groups.many import together
from unwaver.types import Answer, Group, Item

CHOICES = ("no", "yes")


class Counting:
    """Counts what it is asked; free text is answered by `free_text`, if there is one."""

    method, reads, identity = "counting", ("segments", "prompt"), "counting"

    def __init__(self, deterministic: bool, free_text: Counting | None = None, name: str = "counting"):
        self.deterministic, self.free_text, self.name = deterministic, free_text, name
        self.settings: dict[str, object] = {"writes": name}
        self.asked: Counter[str] = Counter()

    def answer(self, requests: Any) -> Any:
        for index, request in enumerate(requests):
            self.asked["labels" if request.choices else "text"] += 1
            yield [(index, Answer(text=(request.words or request.choices or ("so",))[0]))]

    def close(self) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, choices in (("labels", CHOICES), ("text", ())):
        groups = [
            Group(g, "mine", name, "semantic", "same", tuple(
                Item(f"{g}{i}", name, "variant" if i else "original", {"text": f"{g} {i}"}, choices)
                for i in range(2)
            ))
            for g in (f"{name}-{n}" for n in range(3))
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text(groups_text(groups))
    return [str(tmp_path / "labels.jsonl"), str(tmp_path / "text.jsonl")]


@pytest.mark.parametrize(("labels", "text", "asked"), [
    (True, True, {"labels": 6, "text": 6}),
    (False, False, {"labels": 18, "text": 18}),
    (True, False, {"labels": 6, "text": 18}),
    (False, True, {"labels": 18, "text": 6}),
])  # fmt: skip
def test_labels_and_free_text_each_by_their_own(
    files: list[str], tmp_path: Path, labels: bool, text: bool, asked: dict[str, int]
) -> None:
    model = Counting(labels, Counting(text, name="writer"))
    options = {"replicates": 3, "out": str(tmp_path / "r")}
    result = unwaver.run(files, model, **options)  # type: ignore[arg-type]
    assert model.asked == asked
    assert result.missing == 0
    if labels and text:
        assert "the model is deterministic" in str(result)
    elif labels:
        assert "its choice of labels is deterministic" in str(result)
    elif text:
        assert "its free text is deterministic" in str(result)
    else:
        assert "deterministic" not in str(result)
    again = unwaver.score(str(tmp_path / "r"))
    assert again.scores == result.scores
    assert ("deterministic" in str(again)) == (labels or text)


def test_nothing_is_said_without_repeats_or_of_judges() -> None:
    judge = Item("j", "t", "judge", {"text": "x"})
    group = Group("g", "s", "t", "k", "same", (Item("i", "t", "original", {"text": "x"}, CHOICES), judge))
    model = Counting(True, Counting(False))
    assert repeats_note([group], model, 1) is None  # type: ignore[arg-type]
    assert "the model is deterministic" in str(repeats_note([group], model, 2))  # type: ignore[arg-type]


def test_one_group_of_each_form_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million groups are never in memory together."""
    monkeypatch.setattr(many, "KEPT", 8)
    items = Item("i", "t", "original", {"text": "x"}, CHOICES), Item("v", "t", "variant", {"text": "y"}, CHOICES)
    groups = together(Group(f"g{n}", "s", "t", "k", "same", items, repeats=n % 3) for n in range(20))
    monkeypatch.setattr(type(groups), "__iter__", None)
    assert "all 3 replicates" in str(repeats_note(groups, Counting(True), 1))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["generate", "logprob"])
def test_a_server_is_asked_each_time_and_nothing_is_claimed(unwaver: Any, tmp_path: Path, method: str) -> None:
    with Server(lambda prompt: "True") as server:
        done = unwaver(
            "run", "sample/snli/semantic", "--limit", 2, "--replicates", 3, "--model", "openai/m", "--out", "r",
            "--model-arg", f"base_url={server.url}", "--method", method, "--no-report",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    per_item = 3 * (1 if method == "generate" else 3)
    assert len(server.bodies) == per_item * len(server.answered) / (1 if method == "generate" else 3)
    for claim in ("same every time", "nothing new", "deterministic"):
        assert claim not in done.stdout + done.stderr


@pytest.mark.parametrize(("model", "times"), [("fake/constant", 1), ("fake/random", 3), ("python/mod:say", 3)])
def test_the_models_that_ship(unwaver: Any, tmp_path: Path, model: str, times: int) -> None:
    (tmp_path / "mod.py").write_text("def say(requests):\n    return [r['choices'][0] for r in requests]\n")
    command = ["run", "sample/snli/semantic", "--limit", 2, "--replicates", 3, "--model", model, "--out", "r"]
    done = unwaver(*command, "--no-report")
    assert done.returncode == 0, done.stderr
    db = sqlite3.connect(tmp_path / "r" / "answers.sqlite")
    assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == 4 * times
    assert db.execute("SELECT count(*) FROM asked").fetchone()[0] == 4 * 3
    assert ("counts for all 3 replicates" in " ".join(done.stdout.split())) == (times == 1)
    if model.startswith("python/"):
        declared = unwaver(*command[:-1], "d", "--model-arg", "deterministic=true", "--json")
        assert json.loads(declared.stdout)["run"]["spent"]["calls"] == 4


def test_predictions_without_replicates_count_for_each(unwaver: Any, tmp_path: Path) -> None:
    unwaver("run", "sample/snli/semantic", "--limit", 2, "--dry-run", "--out", "todo")
    groups = [json.loads(line) for line in (tmp_path / "todo" / "groups.jsonl").read_text().splitlines()]
    rows = [{"id": item["id"], "label": "neutral"} for group in groups for item in group["items"]]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["run", "sample/snli/semantic", "--limit", 2, "--replicates", 2, "--model", "predictions/p.jsonl"]
    done = unwaver(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["spent"]["calls"] == 4
