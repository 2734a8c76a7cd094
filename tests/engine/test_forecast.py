"""What a dry run says of requests that are not known yet."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from unwaver.config import Config
from unwaver.engine.forecast import dry_run, parties
from unwaver.engine.prepare import prepare

GROUPS = 300


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(tmp_path)
    lines = [f"What is {'ü' * (n % 40)} {n}?,Tell me of {n}" for n in range(GROUPS)]
    (tmp_path / "q.csv").write_text("\n".join(["question,paraphrase", *lines]) + "\n", encoding="utf-8")
    here = "base_url=http://127.0.0.1:9/v1"
    return Config(
        ("q.csv",), (f"openai/m,{here}",), agree=(f"judge=openai/j,{here}",), price_in=1.0, price_out=1.0
    )


def test_a_few_long_requests_stand_for_those_of_all_groups(config: Config) -> None:
    """An answer may have thousands of tokens: a request for each group would fill the memory."""
    with closing(prepare(config)) as prepared:
        judge = next(party for party in parties(prepared) if party.role == "agreement")
        assert judge.more == 2 * GROUPS
        assert len(judge.further) <= 5
        longest = max(len(request.prompt.encode()) for _, request in judge.further)
        questions = [len("\n".join(group.items[0].fields.values()).encode()) for group in prepared.groups]
        assert longest >= 2 * 8 * 2048 + max(questions)


def test_prompts_have_their_solved_examples(tmp_path: Path) -> None:
    dry_run(Config(("sample/snli/semantic",), ("fake/random",), shots=2, limit=2, out=str(tmp_path / "out")))
    lines = (tmp_path / "out" / "groups.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [item["prompt"] for line in lines for item in json.loads(line)["items"]]
    assert [prompt.count("Answer:") for prompt in prompts] == [3] * 4


def test_what_depends_on_answers_can_be_left_out(config: Config) -> None:
    with closing(prepare(config)) as prepared:
        assert [party.more for party in parties(prepared, bounded=False)] == [0, 0]
