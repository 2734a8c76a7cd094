"""All the likeliest texts of a beam search: those of transformers, one search for all requests of a prompt."""

from __future__ import annotations

import functools
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny
import torch

from unwaver.asking.ask import key_maker
from unwaver.models.hf_causal import CausalLM, causal_lm
from unwaver.models.hf_generate import TextGenerator, end_ids
from unwaver.models.hf_text import Options
from unwaver.types import Answer, Request

PROMPTS = [(5, 6, 7, 8), (9, 10), (5, 6, 7, 8, 11, 12, 13)]
BEAMS, NEW = 4, 6


@functools.cache
def model(family: str) -> Any:
    if family != "t5":
        return tiny.model(family)
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tiny.tokenizer()), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        initializer_factor=3.0, decoder_start_token_id=0, pad_token_id=1, eos_token_id=1,
    )  # fmt: skip
    return T5ForConditionalGeneration(config).eval()


def generator(family: str, **options: Any) -> TextGenerator:
    given = Options(**{"method": "generate", "max_tokens": 64, "device": "cpu", **options})
    return TextGenerator(torch, model(family), tiny.tokenizer(), given, 256)


def asked(prompt: int, place: int, **more: Any) -> Request:
    return Request("p", (), str(prompt), (), (), replicate=place, limit=NEW, **{"beams": BEAMS, **more})


def answered(engine: TextGenerator, requests: list[tuple[int, Request]]) -> list[Answer]:
    prompts = [PROMPTS[n] for n, _ in requests]
    pairs = engine.answers([r for _, r in requests], prompts, [False] * len(requests))
    found = dict(pair for batch in pairs for pair in batch)
    return [found[i] for i in range(len(requests))]


def by_transformers(family: str, prompt: tuple[int, ...], beams: int = BEAMS) -> list[str]:
    ids, ends = torch.tensor([prompt]), end_ids(model(family), tiny.tokenizer())
    with torch.inference_mode():
        out = model(family).generate(
            ids, attention_mask=torch.ones_like(ids), num_beams=beams, num_return_sequences=BEAMS,
            max_new_tokens=NEW, do_sample=False, pad_token_id=1, eos_token_id=ends,
        )  # fmt: skip
    start = 1 if family == "t5" else len(prompt)
    rows = [row[start:] for row in out.tolist()]
    ends_at = [next((n for n, token in enumerate(row) if token in ends), None) for row in rows]
    return [
        tiny.tokenizer().decode(row[:end], skip_special_tokens=True)
        for row, end in zip(rows, ends_at, strict=True)
    ]


@pytest.mark.parametrize("family", ["t5", "llama", "gpt2"])
def test_the_texts_are_those_of_transformers(family: str) -> None:
    requests = [(n, asked(n, place)) for place in range(BEAMS) for n in range(len(PROMPTS))]
    texts = [answer.text for answer in answered(generator(family), requests)]
    expected = {n: by_transformers(family, prompt) for n, prompt in enumerate(PROMPTS)}
    assert texts == [expected[n][request.replicate] for n, request in requests]
    assert len(set(texts)) > len(PROMPTS), "a test of equal texts would show nothing"


def test_one_search_for_all_texts_of_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, calls = generator("llama"), []
    search = model("llama").generate
    monkeypatch.setattr(model("llama"), "generate", lambda ids, **kw: calls.append(len(ids)) or search(ids, **kw))
    alone = answered(engine, [(0, asked(0, 2))])
    assert calls == [1]
    assert answered(engine, [(0, asked(0, place)) for place in range(BEAMS)])[2] == alone[0]
    assert calls == [1, 1]


def test_more_beams_than_texts() -> None:
    found = answered(generator("llama", num_beams=6), [(0, asked(0, place)) for place in range(BEAMS)])
    assert [answer.text for answer in found] == by_transformers("llama", PROMPTS[0], beams=6)


def test_the_temperature_of_a_request() -> None:
    """It stands in for that of the model, and draws of other requests are not disturbed."""
    own = {"beams": 0}
    cold = answered(generator("llama", temperature=0.3), [(0, asked(0, 1, **own))])
    hot = answered(generator("llama", temperature=5.0), [(0, asked(0, 1, **own))])
    mixed = [(0, asked(0, 1, temperature=0.3, **own)), (0, asked(0, 1, temperature=5.0, **own))]
    assert answered(generator("llama", temperature=0.6), mixed) == [*cold, *hot]
    assert cold != hot


def test_temperature_and_beams_are_part_of_the_key() -> None:
    lm: CausalLM = causal_lm("x", name="m", identity="i", method="generate", temperature=0.6, device="cpu")
    key = key_maker(lm)
    plain = Request("p", (), "a", (), (), replicate=1)
    ways = [plain, asked(0, 1), asked(0, 2), asked(0, 1, beams=5)]
    heats = [Request("p", (), "a", (), (), replicate=1, temperature=t) for t in (0.3, 0.4)]
    keys = {key(each) for each in (*ways, *heats)}
    assert len(keys) == 6
    assert key(Request("p", (), "a", (), (), replicate=1, limit=40)) == key(plain), "keys of before are the same"
