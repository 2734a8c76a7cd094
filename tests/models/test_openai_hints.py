"""What to do about a refusal. Most of these are the words of real servers."""

from __future__ import annotations

from typing import Any

import pytest
from server import Raw, Server

from unwaver.models.openai_hints import Hints

HINTS = Hints("smollm9", "MY_KEY", has_key=True, azure=False, extra=("top_k",))


@pytest.mark.parametrize(
    ("status", "says", "hint"),
    [
        (401, "", "is the key in the environment variable MY_KEY right?"),
        (404, "no", "does the server know the model smollm9?"),
        # LiteLLM and transformers serve have no status of their own for an unknown model
        (400, "/chat/completions: Invalid model name passed in model=smollm9.", "know the model smollm9?"),
        (400, "Server is pinned to 'smollm2'; requested 'smollm9'.", "know the model smollm9?"),
        (400, "The requested model does not exist", "know the model smollm9?"),
        (422, "Unexpected fields in the request: {'top_k'}", "change top_k in extra"),
        (400, "temperature of smollm9 must be at most 1", "set another temperature"),
        (400, "max_tokens is too large", "--model-arg max_tokens=none"),
        # a wrong key, as LiteLLM without a database says it
        (400, "No connected db.", "the key in MY_KEY"),
        (400, "request (1231 tokens) exceeds the available context size (1024 tokens)", "check the settings"),
        (400, "This model's maximum context length is 1024 tokens", "check the settings"),
        (400, "", "check the settings"),
    ],
)
def test_a_hint_is_about_what_the_server_says(status: int, says: str, hint: str) -> None:
    assert hint in (HINTS.of(status, says) or "")


@pytest.mark.parametrize("status", [200, 429, 500, 503])
def test_other_statuses_have_none(status: int) -> None:
    assert HINTS.of(status, "model smollm9") is None


def test_the_name_of_a_model_is_a_word_and_not_a_pattern() -> None:
    odd = Hints("a.b/(c", "K", has_key=False, azure=False, extra=("m",))
    assert "know the model a.b/(c?" in (odd.of(400, "model a.b/(c: no") or "")
    assert "check the settings" in (odd.of(400, "some model xa.b/(c: no") or ""), "another model"
    assert "change m in extra" in (odd.of(400, "m: no such field") or "")
    assert "change m in extra" not in (odd.of(400, "my prompt") or "")


def test_without_a_key_and_on_azure() -> None:
    hints = Hints("gpt", "K", has_key=False, azure=True, extra=())
    assert hints.of(403, "") == "put a key into the environment variable K"
    assert "is there a deployment gpt?" in (hints.of(404, "") or "")


@pytest.mark.parametrize("status", [400, 404, 405, 422, 500, 501])
def test_a_chat_server_that_is_asked_for_log_probabilities(status: int, call: Any) -> None:
    """Whatever it says to /completions: it is asked for those of a chat, and writes where it has none of these."""
    said = Raw(status, {"error": {"message": "only chat"}})
    with Server(script=lambda _, body, __: said if "prompt" in body else None) as server:
        model = f"openai/m,base_url={server.url},retries=0"
        code, out, err = call("run", "sample/rte", "--limit", "1", "--model", model, "--method", "logprob")
    assert code == 0, err
    assert "labels are read from what the model writes" in " ".join(out.split())
