"""Causal models: the fast way to score must give what the slow way gives, for every kind of model."""

from __future__ import annotations

import functools
import random
from pathlib import Path
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
from unwaver.models.hf_causal import CausalLM, causal_lm
from unwaver.models.hf_prefix import Scorer, Want, attention_window
from unwaver.types import Answer, Model, Request

FAMILIES = ["llama", "gpt2", "gpt_neo", "gemma2", "mistral", "neox", "qwen3", "granite", "bloom", "mamba"]
SHARING = {"llama", "gpt2", "gpt_neo", "gemma2", "mistral", "neox", "qwen3", "granite"}


@functools.cache
def scorer(family: str, budget: int = 64) -> Scorer:
    return Scorer(torch, tiny.model(family), budget)


def scores(engine: Scorer, wants: list[Want]) -> list[float]:
    found = dict(pair for part in engine.logprobs(wants) for pair in part)
    assert sorted(found) == list(range(len(wants)))
    return [found[i] for i in range(len(wants))]


def check(engine: Scorer, wants: list[Want]) -> None:
    slow = [tiny.slow_logprob(engine.model, w.context, w.continuation) for w in wants]
    assert scores(engine, wants) == pytest.approx(slow, rel=1e-4, abs=1e-4)


token = st.integers(0, 261)
beginnings = st.sampled_from([(), (5,), tuple(range(5)), tuple(range(9, 39)), tuple(range(9, 29)) + (7,) * 20])
contexts = st.builds(lambda a, b: a + b, beginnings, st.lists(token, min_size=1, max_size=9).map(tuple))
continuations = st.lists(st.sampled_from([3, 4, 200]), min_size=1, max_size=3).map(tuple)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, deadline=None)
@given(wants=st.lists(st.builds(Want, contexts, continuations), min_size=1, max_size=16))
def test_fast_equals_slow(family: str, wants: list[Want]) -> None:
    check(scorer(family), wants)


@pytest.mark.parametrize("family", FAMILIES)
def test_fast_equals_slow_in_a_wave_of_groups(family: str) -> None:
    """Kept beginnings of two lengths, several rows on each, choices that begin or equal one another."""
    draw = random.Random(1)
    wants = []
    for _task in range(2):
        shots = tuple(draw.randrange(262) for _ in range(30))
        for _ in range(5):
            passage = tuple(draw.randrange(262) for _ in range(20))
            for _ in range(3):
                question = tuple(draw.randrange(262) for _ in range(draw.randrange(6)))
                prompt = shots + passage + question
                wants += [Want(prompt, c) for c in ((3,), (4,), (3, 4), (3, 4, 5), (3,))]
    check(scorer(family), wants)


def test_sharing_is_used_where_it_is_exact() -> None:
    assert {family for family in FAMILIES if scorer(family).shares} == SHARING
    assert attention_window(scorer("gemma2").model.config) == 8


def test_a_model_that_cannot_share_is_found_out() -> None:
    lm = tiny.model("llama")
    inner = lm.forward
    lm.forward = lambda input_ids, attention_mask=None, position_ids=None, past_key_values=None, **rest: inner(
        input_ids, **rest
    )
    assert not Scorer(torch, lm, 64).shares


def test_the_head_computes_only_what_is_wanted() -> None:
    engine, widths = scorer("llama"), []
    hook = engine.model.get_output_embeddings().register_forward_hook(
        lambda module, args, out: widths.append(out.shape[-2])
    )
    scores(engine, [Want(tuple(range(2, 40)), (5,)), Want(tuple(range(2, 40)), (6,))])
    hook.remove()
    assert widths == [1]


# From texts to answers


def ask(model: CausalLM, *requests: Request) -> list[Answer]:
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[i] for i in range(len(requests))]


def request(prompt: str, *words: str, replicate: int = 0) -> Request:
    return Request("t", (), prompt, words, words, replicate=replicate)


def opened(folder: str, **options: Any) -> CausalLM:
    return causal_lm(folder, name="tiny", identity="i", device="cpu", **options)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.saved(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def with_bos(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.saved(tmp_path_factory.mktemp("bos"), bos=True)


CHAT = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[me]\n{% endif %}"


@pytest.fixture(scope="module")
def with_chat(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.saved(tmp_path_factory.mktemp("chat"), bos=True, chat=CHAT)


def slow_answer(model: CausalLM, text: str, rest: str) -> tuple[float, int]:
    """As lm-evaluation-harness splits it: whole[len(context):]."""
    model.load()
    (_, lm), tokenizer = model._loaded, model.tokens.tokenizer  # type: ignore[misc]
    special = not text.startswith("<s>")
    before = tokenizer(text, add_special_tokens=special)["input_ids"]
    after = tokenizer(text + rest, add_special_tokens=special)["input_ids"][len(before) :]
    return tiny.slow_logprob(lm, tuple(before), tuple(after)), len(after)


def test_a_choice_is_continued_after_a_space(plain: str) -> None:
    model = opened(plain)
    (answer,) = ask(model, request("Is it? Answer:", "a", "no", "nobody"))
    expected = [slow_answer(model, "Is it? Answer:", rest) for rest in (" a", " no", " nobody")]
    assert answer.logprobs == pytest.approx([e[0] for e in expected], rel=1e-4, abs=1e-4)
    assert answer.tokens == tuple(e[1] for e in expected) == (1, 1, 5)


def test_spaces_at_the_end_of_a_prompt_go_with_the_choice(plain: str) -> None:
    model = opened(plain)
    (answer,) = ask(model, request("Answer: \n", "no"))
    assert (answer.logprobs[0], answer.tokens[0]) == pytest.approx(
        slow_answer(model, "Answer:", " \n no"), rel=1e-4, abs=1e-4
    )


def test_the_beginning_token_comes_once(with_bos: str, with_chat: str) -> None:
    assert opened(with_bos).tokens.encode(["ab"]) == [(0, *opened(with_bos).tokens.encode_bare(["ab"])[0])]
    chat = opened(with_chat).tokens
    (ids,) = chat.encode([chat.render(request("ab"))])
    assert ids.count(0) == 1
    assert ids[0] == 0


def test_nothing_is_put_after_a_prompt(tmp_path: Path) -> None:
    model = opened(tiny.saved(tmp_path, bos=True, eos_after=True))
    assert model.tokens.lead == (0,)
    assert model.tokens.encode(["ab"])[0][-1] != 1


def test_chat_template_and_system_text(with_chat: str, with_bos: str) -> None:
    model = opened(with_chat, system="Be brief.")
    text = "<s>[system]Be brief.\n[user]Is it?\n[me]\n"
    assert model.tokens.render(request("Is it?")) == text
    (answer,) = ask(model, request("Is it?", "no"))
    assert (answer.logprobs[0], answer.tokens[0]) == pytest.approx(
        slow_answer(model, text, "no"), rel=1e-4, abs=1e-4
    )
    assert opened(with_chat, chat=False).tokens.render(request("Is it?")) == "Is it?"
    assert opened(with_bos, system="Be brief.").tokens.render(request("Is it?")) == "Be brief.\n\nIs it?"
    with pytest.raises(ModelError, match="has no chat template"):
        _ = opened(with_bos, chat=True).tokens


def test_a_chat_template_that_refuses_is_an_error_with_a_hint(tmp_path: Path) -> None:
    folder = tiny.saved(tmp_path, chat="{{ raise_exception('no system role') }}")
    with pytest.raises(ModelError, match="no system role") as e:
        ask(opened(folder, system="x"), request("a", "b"))
    assert "chat=false" in (e.value.hint or "")


def test_an_empty_prompt_starts_with_the_beginning_token(plain: str) -> None:
    model = opened(plain)
    (answer,) = ask(model, request("", "no"))
    model.load()
    expected = tiny.slow_logprob(model._loaded[1], (0,), model.tokens.encode_bare([" no"])[0])  # type: ignore[index]
    assert answer.logprobs[0] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_a_long_prompt_is_cut_on_the_left_and_says_so(plain: str) -> None:
    model = opened(plain)
    long = "x" * 40 + "y" * 80
    cut, short = ask(model, request(long, "no", "nobody"), request("y", "no", "nobody"))
    ids = model.tokens.encode([long])[0][-(96 + 1 - 5) :]
    lm = model._loaded[1]  # type: ignore[index]
    expected = [tiny.slow_logprob(lm, ids, c) for c in model.tokens.encode_bare([" no", " nobody"])]
    assert cut.truncated
    assert not short.truncated
    assert cut.logprobs == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_what_cannot_be_scored_is_a_failed_answer(plain: str, with_chat: str) -> None:
    huge, good = ask(opened(plain), request("a", "x" * 99), request("a", "b"))
    assert huge.error == "a choice has 100 tokens, the model reads 96"
    assert good.error is None
    (empty,) = ask(opened(with_chat), request("a", "", "b"))
    assert empty.error == "the choice '' has no tokens"


@pytest.mark.parametrize("method", ["logprob", "generate"])
def test_free_text_is_written_beside_choices(plain: str, method: str) -> None:
    """With more tokens than a label needs, and under the key of the model that writes alone."""
    mixed = opened(plain, method=method)
    free = [request(f"number {n}") for n in range(12)]
    chosen, *written = ask(mixed, request("a", "no", "yes"), *free)
    assert bool(chosen.logprobs) is (method == "logprob")
    alone = opened(plain, method="generate", max_tokens=64)
    assert written == ask(alone, *free)
    assert max(answer.usage[1] for answer in written if answer.usage) > 16
    assert [key_maker(mixed)(r) for r in free] == [key_maker(alone)(r) for r in free]
    assert key_maker(mixed)(request("a", "b")) == key_maker(opened(plain, method=method, max_tokens=16))(
        request("a", "b")
    )
    assert alone.free_text is None
    short = opened(plain, method="generate", max_tokens=5)
    assert max(a.usage[1] for a in ask(short, *free) if a.usage) == 5


def test_batches_do_not_change_answers(plain: str) -> None:
    requests = [request(f"{'passage ' * 5}{i % 3} question {i}:", "no", "a", "nobody") for i in range(12)]
    small, large = (ask(opened(plain, batch_tokens=n), *requests) for n in (1, 4096))
    for a, b in zip(small, large, strict=True):
        assert a.logprobs == pytest.approx(b.logprobs, rel=1e-4, abs=1e-4)


def test_equal_requests_and_none_at_all(plain: str) -> None:
    a, b = ask(opened(plain), request("q", "no"), request("q", "no"))
    assert a == b
    assert list(opened(plain).answer([])) == []


def test_it_is_a_model_and_loads_late(plain: str) -> None:
    model = opened(plain)
    assert isinstance(model, Model)
    assert model.reads == ("prompt", "words")
    assert model.deterministic
    assert model.count_tokens([request("ab no", "no", "nobody")]) == 2 + 1 + 5
    assert model._loaded is None
    model.load()
    assert next(model._loaded[1].parameters()).dtype == torch.float32  # type: ignore[index]
    model.close()
    assert model._loaded is None


def test_settings_hold_what_can_change_an_answer(plain: str) -> None:
    assert opened(plain, batch_tokens=7, seed=3).settings == opened(plain).settings
    written = opened(plain, method="generate", temperature=0.5, seed=3, top_p=0.9)
    assert written.settings == {
        "method": "generate",
        "system": None,
        "chat": True,
        "dtype": "float32",
        "max_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 3,
    }
    assert not written.deterministic


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "unknown method guess"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"batch_tokens": 0}, "batch_tokens is 0"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        opened("nowhere", **options)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        opened(str(tmp_path)).load()


def test_damaged_weights(tmp_path: Path) -> None:
    folder = tiny.saved(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ModelError, match="cannot be loaded"):
        opened(folder).load()


def test_weights_that_are_missing(tmp_path: Path) -> None:
    """transformers would fill them with random numbers."""
    from safetensors.torch import load_file, save_file

    folder = tiny.saved(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 of its weights: model\.layers\.1\.mlp\.up_proj\.weight"):
        opened(folder).load()


def test_a_tokenizer_without_its_vocabulary(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    folder = tiny.saved(tmp_path)
    empty = Tokenizer(models.WordLevel({"<s>": 0}, unk_token="<s>"))
    PreTrainedTokenizerFast(tokenizer_object=empty, unk_token="<s>").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="has no vocabulary"):
        opened(folder).load()


def test_out_of_memory_says_what_to_do(plain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(plain)
    model.load()

    def full(*args: object, **kwargs: object) -> None:
        raise torch.OutOfMemoryError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(model._loaded[1], "forward", full)  # type: ignore[index]
    with pytest.raises(ModelError) as e:
        ask(model, request("a", "b"))
    assert "batch_tokens" in (e.value.hint or "")


# Generation


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_greedy_text_is_that_of_transformers(tmp_path: Path, family: str) -> None:
    model = opened(tiny.saved(tmp_path, family), method="generate", max_tokens=12)
    prompts = ["ab", "is it so, or is it not so?", "no", "q" * 30]
    answers = ask(model, *(request(p) for p in prompts))
    _, lm = model._loaded  # type: ignore[misc]
    tokenizer = model.tokens.tokenizer
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        out = lm.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12, pad_token_id=1
        )
        new = out[0, ids.shape[1] :].tolist()
        assert answer.text == tokenizer.decode(new, skip_special_tokens=True)
        assert answer.usage == (ids.shape[1], len(new))
        assert answer.finish == ("stop" if new[-1] == 1 else "length")


def test_sampled_text_depends_on_seed_and_replicate_not_on_the_batch(plain: str) -> None:
    model = opened(plain, method="generate", temperature=1.0, seed=1)
    requests = [request("ab", replicate=r) for r in range(6)] + [
        request("no and no", replicate=r) for r in range(3)
    ]
    together = [a.text for a in ask(model, *requests)]
    alone = [ask(model, r)[0].text for r in requests]
    assert together == alone
    assert len(set(together)) > 6
    other = opened(plain, method="generate", temperature=1.0, seed=2)
    assert [a.text for a in ask(other, *requests)] != together


def test_variants_do_not_share_their_random_numbers(plain: str) -> None:
    """With one stream for all prompts, prompts with like predictions would agree by construction."""
    from unwaver.models.hf_generate import Sampler, draw_name

    even = torch.zeros(40, 50)
    names = [draw_name(0, 0, f"prompt {i}") for i in range(40)]
    drawn = Sampler(torch, names, 1.0, 1.0)(None, even).argmax(-1).tolist()
    assert len(set(drawn)) > 20


def test_top_p_leaves_out_the_tail() -> None:
    from unwaver.models.hf_generate import Sampler

    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(400, 1)
    names = [str(i) for i in range(400)]
    all_of_them = Sampler(torch, names, 1.0, 1.0)(None, scores).argmax(-1).bincount(minlength=4) / 400
    assert all_of_them.tolist() == pytest.approx([0.5, 0.3, 0.15, 0.05], rel=0, abs=0.08)
    nucleus = Sampler(torch, names, 1.0, 0.6)(None, scores).argmax(-1).bincount(minlength=4) / 400
    assert nucleus.tolist() == pytest.approx([0.625, 0.375, 0, 0], rel=0, abs=0.08)


def test_few_shot_texts_in_a_chat_are_those_of_transformers(with_chat: str) -> None:
    model = opened(with_chat, method="generate", max_tokens=8, batch_tokens=64)
    shots = "Q: is it so? A: no, it is not. Q: or is it? A: it may be so. "
    prompts = [shots + end for end in ("Q: no? A:", "Q: a? A:", "Q: is it? A:", "")]
    answers = ask(model, *(request(p) for p in prompts))
    _, lm = model._loaded  # type: ignore[misc]
    assert model._generator is not None
    assert model._generator.reader is not None
    for prompt, answer in zip(prompts, answers, strict=True):
        (ids,) = model.tokens.encode([model.tokens.render(request(prompt))])
        assert 64 < len(ids) < 96 - 8
        whole = torch.tensor([ids])
        out = lm.generate(whole, attention_mask=torch.ones_like(whole), do_sample=False, max_new_tokens=8)
        assert answer.text == model.tokens.tokenizer.decode(out[0, len(ids) :].tolist(), skip_special_tokens=True)


def test_a_long_prompt_leaves_room_to_write(plain: str) -> None:
    (answer,) = ask(opened(plain, method="generate", max_tokens=10), request("x" * 200))
    assert answer.truncated
    assert answer.usage is not None
    assert answer.usage[0] == 86
