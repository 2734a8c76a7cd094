"""A whole run (store, scoring and files included) against a bare loop that only tokenises and forwards.

Both read the same unique inputs in batches sorted by length; imports, model load and weight hash are apart.
Then the same run again: it must not call the model.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from unwaver.config import Config
from unwaver.engine.prepare import prepare
from unwaver.engine.runs import go
from unwaver.models.hf import open_model
from unwaver.types import Batch, Request

GROUPS = 2600
PAIRS = 5000
ROUNDS = 3
MOST = 1.10
BARE_BATCHES = (16, 32, 64)


class Counting:
    """A model that counts what it is asked."""

    def __init__(self, model: Any):
        self._model, self.asked = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        self.asked += len(requests)
        return self._model.answer(requests)  # type: ignore[no-any-return]

    def close(self) -> None:
        pass


def main() -> None:
    folder = os.environ["UNWAVER_MODELS"] + "/nli-minilm"
    model = Counting(open_model(folder))
    model.load()
    config = Config(("becel/snli/semantic",), (f"hf/{folder}",), limit=GROUPS, max_calls=PAIRS)
    pairs = [
        r.segments for r in list(prepare(config, models=[model]).panel.tested[0].plan.requests.values())[:PAIRS]
    ]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    best = min(BARE_BATCHES, key=lambda size: bare(tokenizer, plain, pairs[:640], size))
    runs, loops = [], []
    for _ in range(ROUNDS):
        runs.append(whole(config, model))
        loops.append(bare(tokenizer, plain, pairs, best))
    ratio = statistics.median(runs) / statistics.median(loops)
    figures = {"run_s": round(statistics.median(runs), 1), "bare_loop_s": round(statistics.median(loops), 1)}
    line = {"bench": f"run / bare loop, {PAIRS} SNLI pairs", "ratio": round(ratio, 3), **figures}
    print(json.dumps({**line, "bare_batch": best, "target": "<= 1.10", "ok": ratio <= MOST}))
    warm(config, model)


def whole(config: Config, model: Counting) -> float:
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        go(_in(config, out), models=[model])
        return time.perf_counter() - start


def warm(config: Config, model: Counting) -> None:
    from unwaver.types import replace

    with tempfile.TemporaryDirectory() as out:
        small = replace(_in(config, out), limit=100, max_calls=None)
        go(small, models=[model])
        before = model.asked
        go(small, models=[model])
        calls = model.asked - before
    print(json.dumps({"bench": "model calls of a warm re-run", "calls": calls, "target": "0", "ok": calls == 0}))


def _in(config: Config, out: str) -> Config:
    from unwaver.types import replace

    return replace(config, out=str(Path(out) / "run"))


def bare(tokenizer: Any, model: Any, pairs: Sequence[tuple[str, ...]], size: int) -> float:
    start = time.perf_counter()
    encoded = tokenizer([p[0] for p in pairs], [p[1] for p in pairs])["input_ids"]
    order = sorted(range(len(pairs)), key=lambda i: -len(encoded[i]))
    with torch.inference_mode():
        for begin in range(0, len(order), size):
            some = order[begin : begin + size]
            batch = tokenizer(
                [pairs[i][0] for i in some], [pairs[i][1] for i in some], padding=True, return_tensors="pt"
            )
            model(**batch).logits.softmax(-1).tolist()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
