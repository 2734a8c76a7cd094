"""The generator of the sensitivity protocol: temperatures of the tries, beams of a model that draws nothing, and
nothing asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server

import unwaver as package

PAIRS = [
    ("A dog runs.", "An animal is running around.", "entailment"),
    ("A man sits.", "A man stands.", "neutral"),
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "data" / "snli" / "snli_1.0_test.jsonl"
    place.parent.mkdir(parents=True)
    rows = [json.dumps({"sentence1": p, "sentence2": h, "gold_label": label}) for p, h, label in PAIRS]
    place.write_text("\n".join(rows))
    return tmp_path / "data"


def run(data: Path, writer: str, **options: Any) -> Any:
    """The model says entailment to everything: the first item is in play, and every candidate is certified."""
    given = {"writer": writer, "data_dir": str(data), "out": "r", **options}
    return package.run("sensitivity/snli", "fake/constant,label=entailment", **given)


def told() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("r/run.json").read_text())["writer"]
    return found


def test_every_try_is_drawn_at_the_next_temperature(data: Path) -> None:
    asked: list[tuple[float, int]] = []

    def script(number: int, body: dict[str, Any], headers: dict[str, str]) -> Raw | None:
        asked.append((body["temperature"], body["seed"]))
        text = f"Creature number {len(asked)} moves quickly near place {len(asked) * 7}."
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return Raw(200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    with Server(script=script) as server:
        options = {"writer_args": {"base_url": server.url}, "k": 5}
        result = run(data, "openai/w", **options)
        assert [heat for heat, _ in asked] == [0.3, 0.4, 0.5, 0.6, 0.3], "five are certified: no further try"
        assert len({seed for _, seed in asked}) == 5
        assert result.find("r_r@5").counted == 1
        again = run(data, "openai/w", **options)
        assert len(asked) == 5, "nothing is asked twice"
        assert [s.value for s in again] == [s.value for s in result]
        run(data, "openai/w", **{**options, "k": 3, "out": "s", "store": "r/answers.sqlite"})
        assert len(asked) == 5, "fewer variants need no other requests"
    assert told()["generator"]["name"] == "n-best sampling"
    assert "diverse beam search" in told()["generator"]["note"]


@pytest.mark.slow
def test_a_model_that_draws_nothing_gives_its_likeliest_texts(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import tiny_encoder

    place = tiny_encoder.text_to_text(data.parent / "t5")
    searches: list[tuple[int, int]] = []
    search = transformers.T5ForConditionalGeneration.generate

    def counted(self: Any, ids: Any, **options: Any) -> Any:
        config = options["generation_config"]
        searches.append((len(ids), config.num_return_sequences))
        assert config.max_new_tokens == 40
        return search(self, ids, **options)

    monkeypatch.setattr(transformers.T5ForConditionalGeneration, "generate", counted)
    options = {"writer_args": {"temperature": "0"}, "k": 2, "tries": 6}
    result = run(data, f"hf/{place}", **options)
    assert searches == [(1, 6)], "one search for all tries of the item that is in play"
    assert told()["generator"] == {"name": "n-best beams", "beams": 6}
    run(data, f"hf/{place}", **options)
    assert searches == [(1, 6)], "nothing is asked twice"
    records = [json.loads(line) for line in Path("r/audit.jsonl").read_text().splitlines()]
    assert len(records) > 1, "more than one text was looked at"
    assert result.find("r_r@1").groups == 2
