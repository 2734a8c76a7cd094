"""The probabilities of a chat server against unwaver's own: llama.cpp and transformers with the same weights."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import llama_cpp as llama
import pytest

from unwaver.answers.table import softmax
from unwaver.models import openai
from unwaver.models.demo import demo
from unwaver.types import Answer, Model, Request

pytestmark = pytest.mark.slow

THINGS = ["sparrow", "horse", "rose", "hammer", "lemon", "river", "piano", "whale", "candle", "bicycle"]
CLAIMS = ["an animal", "a plant", "a tool", "alive", "made by people", "yellow", "heavy", "food", "fast", "quiet"]
REQUESTS = [
    Request("q", (), f"Is a {thing} {claim}?\nAnswer with Yes or No.\nAnswer:", ("true", "false"), ("Yes", "No"))
    for thing, claim in product(THINGS, CLAIMS)
]


def probabilities(model: Model) -> tuple[list[list[float]], list[Answer]]:
    found = dict(pair for batch in model.answer(REQUESTS) for pair in batch)
    given = [found[n] for n in range(len(REQUESTS))]
    shares = [softmax(answer.logprobs) for answer in given]
    model.close()
    return [share for share in shares if share is not None], given


@pytest.fixture
def server(tmp_path: Path) -> llama.LlamaCpp:
    if reason := llama.why_not():
        pytest.skip(reason)
    try:
        return llama.LlamaCpp(tmp_path / "server", weights=llama.plain_weights(tmp_path / "plain.gguf"))
    except llama.NoServer as e:
        pytest.skip(str(e))


def test_the_same_weights_give_the_same_probabilities(server: llama.LlamaCpp) -> None:
    with server:
        chat = openai.open_model(llama.NAME, base_url=server.url, method="logprob", backoff=0.01)
        theirs, given = probabilities(chat)
    ours, _ = probabilities(demo(method="logprob"))
    assert len(ours) == len(theirs) == 100
    differences = [abs(a[0] - b[0]) for a, b in zip(ours, theirs, strict=True)]
    print(f"mean difference {sum(differences) / 100:.4f}, greatest {max(differences):.4f}")
    assert sum(differences) / 100 <= 0.02
    assert max(differences) <= 0.05
    sure = [(a, b) for a, b in zip(ours, theirs, strict=True) if abs(a[0] - a[1]) > 0.1]
    assert len(sure) > 50
    assert all((a[0] > a[1]) == (b[0] > b[1]) for a, b in sure)
    for answer in given:
        assert answer.beside is not None
        assert 0 <= json.loads(answer.beside.scoring)["other"] < 1
