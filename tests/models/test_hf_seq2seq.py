"""Text-to-text models, on a tiny random T5: the batch must give what one prompt and one choice at a time give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny
import torch

from unwaver.models.hf_seq2seq import TextToText, text_to_text
from unwaver.types import Answer, Model, Request

PROMPTS = ["is it so?", "is it so, or is it not?", "a", "", "no and no and no"]
WORDS = ("no", "nobody", "a")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    from transformers import T5Config, T5ForConditionalGeneration

    place: Path = tmp_path_factory.mktemp("t5")
    tokenizer = tiny.tokenizer(eos_after=True)
    tokenizer.save_pretrained(place)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, initializer_factor=3.0,
        decoder_start_token_id=0, pad_token_id=1, eos_token_id=1,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(place)
    return str(place)


def opened(folder: str, **options: Any) -> TextToText:
    return text_to_text(folder, name="tiny", identity="i", device="cpu", **options)


def request(prompt: str, *words: str, replicate: int = 0) -> Request:
    return Request("t", (), prompt, words, words, replicate=replicate)


def ask(model: TextToText, *requests: Request) -> list[Answer]:
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[i] for i in range(len(requests))]


def slow(model: TextToText, prompt: str, word: str) -> float:
    _, lm = model._loaded  # type: ignore[misc]
    ids = torch.tensor([model.tokens.tokenizer(prompt)["input_ids"]])
    target = model.tokens.encode_bare([word])[0]
    with torch.inference_mode():
        logits = lm(input_ids=ids, decoder_input_ids=torch.tensor([[0, *target[:-1]]])).logits[0]
    return sum(float(logits[i].log_softmax(-1)[t]) for i, t in enumerate(target))


def test_batches_equal_one_by_one(folder: str) -> None:
    model = opened(folder)
    assert isinstance(model, Model)
    answers = ask(model, *(request(p, *WORDS) for p in PROMPTS))
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        assert answer.logprobs == pytest.approx([slow(model, prompt, w) for w in WORDS], rel=1e-4, abs=1e-4)
        assert answer.tokens == (1, 5, 1)
        assert not answer.truncated


def test_a_long_prompt_is_cut_and_says_so(folder: str) -> None:
    long, short = ask(opened(folder), request("x" * 300, "no"), request("x", "no"))
    assert long.truncated
    assert not short.truncated


def test_what_cannot_be_scored(folder: str) -> None:
    empty, good = ask(opened(folder), request("a", "", "b"), request("a", "b"))
    assert empty.error == "a choice has no tokens"
    assert good.error is None


def test_free_text_is_written_beside_choices(folder: str) -> None:
    scored, written = ask(opened(folder), request("a", "no", "yes"), request("another"))
    assert scored.logprobs
    assert [written] == ask(opened(folder, method="generate", max_tokens=64), request("another"))


def test_greedy_text_is_that_of_transformers(folder: str) -> None:
    model = opened(folder, method="generate", max_tokens=6)
    answers = ask(model, *(request(p) for p in PROMPTS))
    _, lm = model._loaded  # type: ignore[misc]
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        ids = torch.tensor([model.tokens.tokenizer(prompt)["input_ids"]])
        new = lm.generate(ids, do_sample=False, max_new_tokens=6)[0, 1:].tolist()
        assert answer.text == model.tokens.tokenizer.decode(new, skip_special_tokens=True)
        assert answer.finish in ("stop", "length")


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ({"num_beams": 3}, {"num_beams": 3}),
        ({"no_repeat_ngram": 1}, {"no_repeat_ngram_size": 1}),
        ({"num_beams": 2, "no_repeat_ngram": 2}, {"num_beams": 2, "no_repeat_ngram_size": 2}),
    ],
)
def test_beams_and_no_repeated_ngrams(folder: str, options: dict[str, int], theirs: dict[str, int]) -> None:
    model = opened(folder, method="generate", max_tokens=6, **options)
    answers = ask(model, *(request(p) for p in PROMPTS))
    _, lm = model._loaded  # type: ignore[misc]
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        ids = torch.tensor([model.tokens.tokenizer(prompt)["input_ids"]])
        new = lm.generate(ids, do_sample=False, max_new_tokens=6, **theirs)[0, 1:].tolist()
        assert answer.text == model.tokens.tokenizer.decode(new, skip_special_tokens=True)


def test_a_text_ends_before_a_stop_string(folder: str) -> None:
    whole = ask(opened(folder, method="generate", max_tokens=12), *(request(p) for p in PROMPTS))
    stop = next(c for a in whole for c in (a.text or "")[1:] if c != "\ufffd")
    cut = ask(opened(folder, method="generate", max_tokens=12, stop=[stop]), *(request(p) for p in PROMPTS))
    for short, long in zip(cut, whole, strict=True):
        assert short.text == (long.text or "").split(stop)[0]
        assert short.finish == ("stop" if stop in (long.text or "") else long.finish)


def test_sampled_text_does_not_depend_on_the_batch(folder: str) -> None:
    model = opened(folder, method="generate", temperature=1.0, max_tokens=6)
    requests = [request(p, replicate=r) for p in PROMPTS for r in range(2)]
    together = [a.text for a in ask(model, *requests)]
    assert together == [ask(model, r)[0].text for r in requests]
    assert together[0] != together[1]
    assert not model.deterministic


def test_count_tokens_loads_no_weights(folder: str) -> None:
    model = opened(folder)
    assert model.count_tokens([request("ab no", "no", "nobody")]) == 3 + 1 + 5
    assert model._loaded is None
