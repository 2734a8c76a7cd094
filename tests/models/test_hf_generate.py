"""Written texts: whatever is shared, stopped or drawn, they are those of transformers on whole prompts."""

from __future__ import annotations

import functools
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny
import torch

from unwaver.asking.ask import key_maker
from unwaver.errors import ModelError
from unwaver.models import hf_generate
from unwaver.models.hf_causal import CausalLM, causal_lm
from unwaver.models.hf_generate import Generated, Sampler, TextGenerator, end_ids, row_batches, shared_chains
from unwaver.models.hf_text import Options
from unwaver.models.prefix import Path
from unwaver.types import Request

FAMILIES = ["llama", "gpt2", "gpt_neo", "gemma2", "mistral", "neox", "qwen3", "granite", "bloom", "mamba"]
BY_ROWS = {
    "llama": 96,
    "gpt2": 96,
    "gpt_neo": 32,
    "gemma2": 8,
    "mistral": 8,
    "neox": 96,
    "qwen3": 96,
    "granite": 96,
}
NEW = 6


@functools.cache
def model(family: str) -> Any:
    return tiny.model(family)


def generator(family: str = "llama", budget: int = 64, **options: Any) -> TextGenerator:
    given = {"method": "generate", "max_tokens": NEW, "device": "cpu", **options}
    return TextGenerator(torch, model(family), tiny.tokenizer(), Options(**given), budget)


def write(engine: TextGenerator, prompts: list[Path], draws: list[str] | None = None) -> list[Generated]:
    names = draws or [str(i) for i in range(len(prompts))]
    pairs = [pair for batch in engine.write(prompts, names) for pair in batch]
    assert sorted(i for i, _ in pairs) == list(range(len(prompts)))
    return [text for _, text in sorted(pairs, key=lambda p: p[0])]


def slow(family: str, prompt: Path, **options: Any) -> Generated:
    """One prompt, by transformers."""
    ids = torch.tensor([prompt])
    ends = end_ids(model(family), tiny.tokenizer())
    given = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 1, "eos_token_id": ends, **options}
    with torch.inference_mode():
        out = model(family).generate(ids, attention_mask=torch.ones_like(ids), **given)[0, len(prompt) :].tolist()
    end = next((n for n, token in enumerate(out) if token in ends), None)
    text = tiny.tokenizer().decode(out[:end], skip_special_tokens=True)
    return Generated(text, len(out) if end is None else end + 1, "length" if end is None else "stop")


def some_prompts(seed: int, shared: int = 70, count: int = 5) -> list[Path]:
    """Two beginnings with questions of several lengths after them, a prompt within another, and loose ones."""
    draw = random.Random(seed)

    def tokens(n: int) -> Path:
        return tuple(draw.randrange(2, 262) for _ in range(n))

    beginnings = [tokens(shared) for _ in range(2)]
    found = [b + tokens(draw.randrange(1, 18)) for b in beginnings for _ in range(count)]
    return [*found, found[0] + (5,), found[0], found[0], tokens(3), tokens(40), (7,)]


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_texts_are_those_of_transformers(family: str) -> None:
    engine = generator(family)
    assert engine.reader is not None
    assert engine.reader.window == BY_ROWS.get(family, 0)
    prompts = some_prompts(1)
    assert write(engine, prompts) == [slow(family, p) for p in prompts]


short_prompts = st.builds(
    lambda a, b: a + b,
    st.sampled_from([(), (5,), (5, 6, 7, 8), tuple(range(5, 21)), (5, 6, 7, 90, 91, 92)]),
    st.lists(st.integers(2, 261), min_size=1, max_size=10).map(tuple),
)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neo"])
@settings(max_examples=15, deadline=None)
@given(prompts=st.lists(short_prompts, min_size=1, max_size=9), budget=st.sampled_from([1, 20, 60, 4096]))
def test_however_beginnings_are_shared(family: str, prompts: list[Path], budget: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf_generate, "SHARE_FROM", 2)
        assert write(generator(family, budget), prompts) == [slow(family, p) for p in prompts]


def test_a_shared_beginning_is_read_once() -> None:
    engine, read = generator(budget=4096), []
    prompts = some_prompts(2, count=8)
    hook = engine.model.get_input_embeddings().register_forward_hook(
        lambda module, args, out: read.append(args[0].shape[0] * args[0].shape[1])
    )
    write(engine, prompts)
    hook.remove()
    widest_rest = 18 * len(prompts)
    assert 2 * 70 < sum(read) < 2 * 70 + 2 * 40 + widest_rest + NEW * len(prompts) < sum(map(len, prompts)) / 1.5


def test_the_draws_do_not_depend_on_what_is_shared() -> None:
    prompts = some_prompts(3)
    engine = generator(temperature=1.2, top_p=0.95)
    together = write(engine, prompts)
    engine.reader = None
    assert write(engine, prompts) == together
    assert len({t.text for t in together}) > len(prompts) // 2
    alone = [write(engine, [p], [str(i)])[0] for i, p in enumerate(prompts)]
    assert alone == together


# Options


@pytest.mark.parametrize("family", ["llama", "bloom"])
@pytest.mark.parametrize("size", [1, 2])
def test_no_repeated_ngrams(family: str, size: int) -> None:
    prompts = [p for p in some_prompts(4) if len(p) > 3]
    texts = write(generator(family, no_repeat_ngram=size), prompts)
    assert texts == [slow(family, p, no_repeat_ngram_size=size) for p in prompts]
    assert size == 2 or texts != write(generator(family), prompts)


def test_beams() -> None:
    prompts = some_prompts(5)
    engine = generator(num_beams=3)
    assert engine.reader is None
    texts = write(engine, prompts)
    assert texts == [slow("llama", p, num_beams=3) for p in prompts]
    assert texts != write(generator(), prompts)


def stops_in(texts: list[Generated]) -> list[str]:
    """Strings that really occur in some of the texts, of one character and of two, which may be of two tokens."""
    pieces = (t.text[n : n + size] for t in texts for size in (1, 2) for n in range(len(t.text) - size))
    counts = Counter(p for p in pieces if "\ufffd" not in p)
    return [next(s for s, _ in counts.most_common() if len(s) == size) for size in (1, 2)]


@pytest.mark.parametrize(("family", "beams"), [("llama", 1), ("gpt2", 1), ("bloom", 1), ("llama", 2)])
def test_stop_strings(family: str, beams: int) -> None:
    prompts = some_prompts(6, shared=64)
    whole = write(generator(family, max_tokens=12, num_beams=beams), prompts)
    stops = stops_in(whole)
    found = write(generator(family, max_tokens=12, num_beams=beams, stop=stops), prompts)
    assert any(any(s in t.text for s in stops) for t in whole)
    for text, full in zip(found, whole, strict=True):
        places = [full.text.find(s) for s in stops if s in full.text]
        assert not any(s in text.text for s in stops)
        if beams == 1:
            assert text.text == (full.text[: min(places)] if places else full.text)
            assert text.finish == ("stop" if places else full.finish)
            assert text.tokens < full.tokens or text == full or full.text.endswith(tuple(stops))


@pytest.mark.parametrize("family", ["llama", "bloom"])
def test_a_batch_ends_when_all_rows_have_stopped(family: str) -> None:
    prompts: list[Path] = [(9, 10, 11, 12), (9, 10, 13)]
    heads = []
    whole = write(generator(family, max_tokens=40), prompts)
    first = sorted({t.text[:1] for t in whole if t.text})
    engine = generator(family, max_tokens=40, stop=first)
    hook = engine.model.get_output_embeddings().register_forward_hook(lambda *_: heads.append(1))
    texts = write(engine, prompts)
    hook.remove()
    assert [t.text for t in texts] == ["", ""]
    assert {t.finish for t in texts} == {"stop"}
    assert len(heads) <= 4  # a character may take several tokens


def test_rows_that_have_stopped_do_not_disturb_the_others() -> None:
    """Most rows end at once, so that the batch shrinks while a few go on."""
    prompts: list[Path] = [(n, n + 1, n + 2) for n in range(2, 60)]
    plain = write(generator(max_tokens=10, budget=4096), prompts)
    often = Counter(t.text[:1] for t in plain).most_common(30)
    stops = [s for s, _ in often if s and s != "\ufffd"]
    found = write(generator(max_tokens=10, budget=4096, stop=stops), prompts)
    assert 0 < sum(t.tokens == 10 for t in found) < len(prompts) / 2
    for text, full in zip(found, plain, strict=True):
        places = [full.text.find(s) for s in stops if s in full.text]
        assert text.text == (full.text[: min(places)] if places else full.text)


# Sampling


def whole_sort(probabilities: Any, uniform: float, top_p: float) -> int:
    ordered, tokens = probabilities.sort(descending=True, stable=True)
    cumulative = ordered.cumsum(-1)
    last = min(int(torch.searchsorted(cumulative, top_p)), len(tokens) - 1)
    place = int(torch.searchsorted(cumulative, uniform * float(cumulative[last]), right=True))
    return int(tokens[min(place, last)])


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 9999),
    uniform=st.floats(0, 1, exclude_max=True),
    top_p=st.sampled_from([1e-9, 0.3, 0.9, 0.999, 0.9999999, 1.0]),
    sharp=st.sampled_from([0.0, 1.0, 5.0, 50.0]),
)
def test_only_likely_tokens_are_sorted_and_the_draw_is_the_same(
    seed: int, uniform: float, top_p: float, sharp: float
) -> None:
    logits = torch.randn(20_000, generator=torch.Generator().manual_seed(seed)).double() * sharp
    probabilities = logits.softmax(-1)
    found = Sampler(torch, ["x"], 1.0, top_p)._draw(probabilities, uniform)
    assert found == whole_sort(probabilities, uniform, top_p)


# What is planned

paths = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=30)


@settings(deadline=None)
@given(prompts=paths, budget=st.integers(1, 80), room=st.integers(1, 9), window=st.integers(8, 40))
def test_batches_hold_every_prompt_once_and_no_more_than_they_may(
    prompts: list[Path], budget: int, room: int, window: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf_generate, "SHARE_FROM", 2)
        batches = list(row_batches(prompts, range(len(prompts)), room, budget, window))
    rows = [row for batch in batches for row in batch]
    assert sorted(i for i, _ in rows) == list(range(len(prompts)))
    for i, chain in rows:
        assert all(b - a >= 2 for a, b in zip((0, *chain), chain, strict=False))
        assert max(chain, default=0) < len(prompts[i])
    for batch in batches:
        rest = max(len(prompts[i]) - max(chain, default=0) for i, chain in batch)
        kept = max(max(chain, default=0) for _, chain in batch)
        assert len(batch) == 1 or (len(batch) * (rest + room) <= budget and kept + rest + room <= window)
    kept = Counter(prompts[i][:n] for i, chain in rows for n in chain)
    assert all(count > 1 for count in kept.values()), "what only one prompt begins with is not kept"


@settings(deadline=None)
@given(prompts=paths)
def test_a_beginning_that_was_left_does_not_come_back(prompts: list[Path]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf_generate, "SHARE_FROM", 2)
        order = list(shared_chains(prompts, range(len(prompts))))
    left: set[Path] = set()
    before: set[Path] = set()
    for i, chain in order:
        now = {prompts[i][:n] for n in chain}
        assert not now & left
        left |= before - now
        before = now


def test_chains_of_two_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_generate, "SHARE_FROM", 2)
    prompts = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 7), (1, 2, 9, 9, 9), (8,)]
    assert list(shared_chains(prompts, range(4))) == [(3, ()), (2, (2,)), (0, (2, 5)), (1, (2, 5))]


# Settings and keys

REQUEST = Request("t", (), "Is it?", ("yes", "no"), ("Yes", "No"))


def lm(**options: Any) -> CausalLM:
    return causal_lm("nowhere", name="tiny", identity="i", device="cpu", **options)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "78b2b03f593cb7bc"),
        ({"method": "generate"}, "731e5789f62f06ab"),
        ({"method": "generate", "temperature": 0.7, "top_p": 0.9, "seed": 3}, "739345ba10f8c092"),
    ],
)
def test_answers_of_earlier_versions_are_still_found(options: dict[str, Any], key: str) -> None:
    assert key_maker(lm(**options))(REQUEST)[:16] == key


def test_options_are_in_the_settings_when_they_matter() -> None:
    plain = dict(lm(method="generate").settings)
    assert plain == {
        "method": "generate", "system": None, "chat": True, "dtype": "float32", "max_tokens": 16, "temperature": 0.0
    }  # fmt: skip
    off = lm(method="generate", num_beams=1, stop=None, no_repeat_ngram=0, top_p=0.5, seed=9)
    assert off.settings == plain
    on = lm(method="generate", num_beams=4, stop="b|a", no_repeat_ngram=2)
    assert on.settings == {**plain, "num_beams": 4, "stop": ["a", "b"], "no_repeat_ngram": 2}
    assert lm(num_beams=4, stop="b|a", no_repeat_ngram=2).settings == lm().settings
    assert on.deterministic


def test_a_model_says_how_it_decodes() -> None:
    assert lm().decoding == lm(temperature=1.0).decoding == lm(method="generate").decoding == ""
    assert lm(method="generate", temperature=0.7, top_p=0.9).decoding == "nucleus top_p 0.9 temperature 0.7"
    assert lm(method="generate", num_beams=4).decoding == "beam num_beams 4"
    assert lm(method="generate", num_beams=4).method == "generate"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 0}, "num_beams is 0"),
        ({"num_beams": 2, "temperature": 0.5}, "beams are kept by their probability, nothing is drawn"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram is -1"),
        ({"temperature": float("nan")}, "temperature is nan"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        lm(method="generate", **options)
