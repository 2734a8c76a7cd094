"""Few-shot generation beside `generate` of transformers: the same model in float32, the same prompts, greedy.

    .venv/bin/python bench/generation.py --questions 48 --rounds 3

Strings in, texts out, model loaded before. transformers reads whole prompts in batches sorted by length, of the
size that is fastest for it on the first questions. The two take turns, and medians are compared. One JSON line;
the exit code is 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM

from unwaver.models.demo import path_of_demo
from unwaver.models.hf_causal import CausalLM, causal_lm
from unwaver.types import Request

TARGET = 1.5
NEW_TOKENS = 16
LEAST_PREFIX = 250
BATCH_SIZES = (8, 16)
TRIAL = 16  # questions on which the batch size of transformers is chosen
CLOSE = 1e-4  # the two best tokens nearer than this: either may be written

EXAMPLES = [
    ("What is kept in a bread bin?", "Bread is kept in a bread bin, where it stays soft for some days."),
    ("How many legs does a spider have?", "A spider has eight legs, two more than an insect."),
    ("Can a kettle boil milk?", "Yes, but milk burns at the bottom and is hard to clean off."),
    ("Why do people wear gloves in winter?", "People wear gloves in winter because their hands lose heat fast."),
    ("Who repairs shoes?", "A cobbler repairs shoes, with leather, glue and nails."),
    ("What happens to ice in the sun?", "Ice melts in the sun and becomes water."),
    ("Is it safe to look at the sun?", "No, looking at the sun harms the eyes, even on a cloudy day."),
    ("Where do bees keep their honey?", "Bees keep their honey in combs of wax inside the hive."),
    ("What is a ladder used for?", "A ladder is used to reach places that are too high for a person."),
    ("Do all birds fly?", "No, some birds such as penguins and ostriches do not fly at all."),
    ("What colour is a ripe lemon?", "A ripe lemon is yellow, an unripe one is green."),
    ("How is glass made?", "Glass is made from sand that is melted at a great heat and cooled."),
]  # fmt: skip
WORDINGS = [
    "What is {} for?",
    "Can you tell me, in a few words, what people use {} for?",
    "Why would anybody want to own {} these days?",
    "How old is the oldest {} that was ever found, and where was it found?",
    "If {} breaks, who repairs it?",
    "Is {} heavy?",
]
THINGS = [
    "a compass", "an umbrella", "a wooden spoon", "a bicycle pump", "a candle", "a violin", "a fishing net",
    "a pair of scissors", "a telescope", "a wheelbarrow", "an alarm clock", "a tent", "a magnet",
    "a sewing machine", "a lighthouse", "a saddle",
]  # fmt: skip


class Spent(NamedTuple):
    wall: float
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours = causal_lm(
        str(path_of_demo()),
        name="demo",
        identity="demo",
        device="cpu",
        chat=False,
        method="generate",
        max_tokens=NEW_TOKENS,
    )
    ours.load()
    theirs = AutoModelForCausalLM.from_pretrained(path_of_demo(), dtype=torch.float32).eval()
    line = side_by_side(ours, theirs, prompts()[: options.questions], options.rounds)
    print(json.dumps(line))
    return int(not line["ok"])


def prompts() -> list[str]:
    shots = "\n\n".join(f"Q: {q}\nA: {a}" for q, a in EXAMPLES)
    asked = (wording.format(thing) for thing, wording in product(THINGS, WORDINGS))
    return [f"{shots}\n\nQ: {question}\nA:" for question in asked]


def side_by_side(ours: CausalLM, theirs: Any, asked: list[str], rounds: int) -> dict[str, Any]:
    prefix = shared_tokens(ours, asked)
    assert prefix >= LEAST_PREFIX, f"the prompts share {prefix} tokens"
    write(ours, asked[:4])
    write_by_transformers(ours, theirs, asked[:4], 4)  # both are warm
    trial: dict[int, float] = {}
    for size in BATCH_SIZES:
        spent, _ = timed(partial(write_by_transformers, ours, theirs, asked[:TRIAL], size))
        trial[size] = spent.wall
    best = min(trial, key=lambda n: trial[n])
    our_times, their_times = [], []
    for _ in range(rounds):
        spent, mine = timed(lambda: write(ours, asked))
        our_times.append(spent)
        spent, other = timed(lambda: write_by_transformers(ours, theirs, asked, best))
        their_times.append(spent)
    wall, cpu = ([median(t[i] for t in times) for times in (our_times, their_times)] for i in (0, 1))
    apart = [i for i, (a, b) in enumerate(zip(mine, other, strict=True)) if a != b]
    differ = sum(not is_tie(ours, theirs, asked[i], mine[i], other[i]) for i in apart)
    return {
        "bench": f"few-shot generation / transformers, {len(asked)} questions after {prefix} shared tokens",
        "ok": wall[1] / wall[0] >= TARGET and differ == 0,
        "times_as_fast": round(wall[1] / wall[0], 2),
        "target": f">= {TARGET}",
        "by_cpu_time": round(cpu[1] / cpu[0], 2),  # far from times_as_fast: the machine had other work
        "texts_differ": differ,
        "ties": len(apart) - differ,
        "unwaver_seconds": round(wall[0], 2),
        "transformers_seconds": round(wall[1], 2),
        "transformers_batch_size": best,
        "transformers_trial_seconds": {n: round(seconds, 2) for n, seconds in trial.items()},
        "rounds": [[round(a.wall, 2), round(b.wall, 2)] for a, b in zip(our_times, their_times, strict=True)],
    }


def shared_tokens(ours: CausalLM, asked: list[str]) -> int:
    rows = ours.tokens.encode(asked)
    return next(n for n, column in enumerate(zip(*rows, strict=False)) if len(set(column)) > 1)


def timed(call: Callable[[], list[str]]) -> tuple[Spent, list[str]]:
    wall, cpu = time.perf_counter(), time.process_time()
    texts = call()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu), texts


def write(ours: CausalLM, asked: list[str]) -> list[str]:
    requests = [Request("t", (), prompt, (), ()) for prompt in asked]
    answers = dict(pair for batch in ours.answer(requests) for pair in batch)
    return [str(answers[i].text) for i in range(len(asked))]


def write_by_transformers(ours: CausalLM, theirs: Any, asked: list[str], size: int) -> list[str]:
    tokenizer = ours.tokens.tokenizer
    lengths = [len(ids) for ids in tokenizer(asked)["input_ids"]]
    order = sorted(range(len(asked)), key=lambda i: -lengths[i])
    texts = [""] * len(asked)
    for begin in range(0, len(order), size):
        some = order[begin : begin + size]
        batch = tokenizer([asked[i] for i in some], padding=True, padding_side="left", return_tensors="pt")
        with torch.inference_mode():
            out = theirs.generate(**batch, max_new_tokens=NEW_TOKENS, do_sample=False)
        new = tokenizer.batch_decode(out[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        for i, text in zip(some, new, strict=True):
            texts[i] = text
    return texts


def is_tie(ours: CausalLM, theirs: Any, prompt: str, mine: str, other: str) -> bool:
    """Whether the two texts part where the model has no likeliest token."""
    a, b = (ours.tokens.encode([prompt + text])[0] for text in (mine, other))
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    with torch.inference_mode():
        best, second = theirs(torch.tensor([a[:same]])).logits[0, -1].topk(2).values.tolist()
    return bool(best - second < CLOSE)


if __name__ == "__main__":
    sys.exit(main())
