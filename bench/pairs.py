"""Pairs of answers that a model compares: against a bare sorted loop, and a Hugging Face pipeline pair by pair.

Short distinct pairs are those of STS-B, both directions. The pairs of a sampled run are all ordered pairs of the
answers that the demo model draws to the open questions of the sample: equal answers and pairs of them included, as
someone would compare them who keeps no list. Their ratio grows with the replicates, as the share of equal answers
does, and is another where the model is asked as a chat (the default) or with plain text: both are shown. Imports,
model load and weight hash are apart; rounds alternate.
"""

from __future__ import annotations

import csv
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
from overhead import bare
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

import unwaver
from unwaver.agree import Pair
from unwaver.agree.comparison import PairList, parse_agreement
from unwaver.answers.store import Store
from unwaver.asking.ask import Asker
from unwaver.asking.consult import planned, put
from unwaver.console import Console
from unwaver.engine.load import load_run
from unwaver.models.hf import open_model

PAIRS = 600  # unordered
REPLICATES = 8
SAMPLING = {"temperature": "0.7", "top_p": "0.9", "max_tokens": "12", "stop": "\\n"}
ROUNDS = 3
BARE_BATCHES = (16, 32, 64)
Texts = Sequence[tuple[str, str]]


def main() -> None:
    folder = os.environ["UNWAVER_MODELS"] + "/nli-minilm"
    agreement = parse_agreement(f"entail=hf/{folder}")
    model = open_model(folder, device="cpu")
    model.load()  # type: ignore[attr-defined]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    one_by_one = pipeline("text-classification", model=plain, tokenizer=tokenizer, top_k=None, device="cpu")

    def ours(pairs: Texts) -> float:
        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            work = PairList(agreement, (Pair("", a, b) for a, b in pairs if a != b), [])
            store = Store(Path(place) / "answers.sqlite")
            values, _ = work.values(lambda e: put(planned(e, model), Asker(store), Console()), Console())
            assert None not in values.values()
            store.close()
            return time.perf_counter() - start

    def by_pipeline(pairs: Texts) -> float:
        start = time.perf_counter()
        for a, b in pairs:
            one_by_one({"text": a, "text_pair": b})
        return time.perf_counter() - start

    short = distinct_pairs()
    size = min(BARE_BATCHES, key=lambda n: bare(tokenizer, plain, short[:320], n))
    by_loop: Callable[[Texts], float] = lambda pairs: bare(tokenizer, plain, pairs, size)  # noqa: E731
    kept = [compared("short distinct pairs / bare sorted loop", short, ours, by_loop, 0.9)]
    kept.append(compared("short distinct pairs / pipeline pair by pair", short, ours, by_pipeline, 1.8))
    for chat in (True, False):
        name = f"pairs of a sampled run, {'chat' if chat else 'plain text'}, / pipeline pair by pair"
        kept.append(compared(name, sampled_pairs(chat), ours, by_pipeline, 5.0))
    sys.exit(0 if all(kept) else 1)


def distinct_pairs() -> list[tuple[str, str]]:
    with Path(os.environ["UNWAVER_DATA"], "stsb", "stsb-en-test.csv").open(encoding="utf-8", newline="") as file:
        found = [(a, b) for a, b, _ in csv.reader(file) if a != b]
    return list(dict.fromkeys(pair for a, b in found[:PAIRS] for pair in ((a, b), (b, a))))


def sampled_pairs(chat: bool) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        result = unwaver.run(
            "sample/facts",
            "demo/smollm2",
            replicates=REPLICATES,
            model_args={**SAMPLING, "chat": str(chat).lower()},
            out=f"{place}/run",
        )
        assert result.folder is not None
        frame = load_run(result.folder).frame
    answers: dict[str, list[str]] = {}
    for group, text in frame.select("group", "label").iter_rows():
        if text:
            answers.setdefault(group, []).append(text)
    return [pair for texts in answers.values() for pair in permutations(texts, 2)]


def compared(
    name: str, pairs: Texts, ours: Callable[[Texts], float], theirs: Callable[[Texts], float], target: float
) -> bool:
    rounds = [(ours(pairs), theirs(pairs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    line: dict[str, Any] = {
        "bench": f"pairs per second: {name}",
        "ratio": round(other / mine, 2),
        "target": f">= {target}",
        "ok": other / mine >= target,
        "pairs": len(pairs),
        "distinct": len({pair for pair in pairs if pair[0] != pair[1]}),
        "unwaver_pairs_per_s": round(len(pairs) / mine),
        "other_pairs_per_s": round(len(pairs) / other),
        "rounds": [[round(a, 2), round(b, 2)] for a, b in rounds],
    }
    print(json.dumps(line), flush=True)
    return bool(line["ok"])


if __name__ == "__main__":
    main()
