"""Label scoring beside lm-evaluation-harness: the same model in float32, the same contexts and continuations.

    UNWAVER_DATA=../shared/data .venv-lm-eval/bin/python bench/lm_eval_side_by_side.py --cases boolq --rounds 3

Request time only: strings in, log-probabilities out, model loaded before. lm-eval runs at the batch size that
is fastest for it on the first items of the case. The two take turns, and medians are compared. One JSON line
a case; the exit code is 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from lm_eval_cases import Case, cases

from unwaver.models.demo import path_of_demo
from unwaver.models.hf_causal import CausalLM, causal_lm

# "auto" becomes 64 on a CPU, after trials of its own that would count as request time: 64 is kinder to it.
BATCH_SIZES = (1, 4, 8, 16, 32, 64)
LOGITS = 4e9  # bytes: larger batches are not tried, lm-eval keeps logits and their softmax at every position
TRIAL_TOKENS = 12_000  # on which lm-eval's batch size is chosen, about
CLOSE = 1e-4  # lm-eval's two best nearer than this: no argmax to agree on
TOLERANCE = 1e-3

Values = list[tuple[float, ...]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=None)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    data = Path(os.environ.get("UNWAVER_DATA", "../shared/data"))
    model = str(path_of_demo())
    ours = causal_lm(model, name="demo", identity="demo", device="cpu", chat=False)
    ours.load()
    theirs = _harness(model)
    missed = False
    for name, make in cases(data).items():
        if options.cases is None or name in options.cases:
            line = side_by_side(make(), ours, theirs, options.rounds)
            missed |= not line["ok"]
            print(json.dumps(line), flush=True)
    return int(missed)


def side_by_side(case: Case, ours: CausalLM, theirs: Any, rounds: int) -> dict[str, Any]:
    length = ours.count_tokens(case.requests) // len(case.requests)
    trial = case.first(max(TRIAL_TOKENS // length, 16))
    _ask_ours(ours, case.first(8))
    _ask_theirs(theirs, case.first(8), 4)  # both are warm
    fitting = [n for n in BATCH_SIZES if n * length * theirs.vocab_size * 8 < LOGITS]
    sizes = {size: _timed(lambda size=size: _ask_theirs(theirs, trial, size))[0].wall for size in fitting}
    best = min(sizes, key=lambda size: sizes[size])
    our_times, their_times = [], []
    for _ in range(rounds):
        spent, mine = _timed(lambda: _ask_ours(ours, case))
        our_times.append(spent)
        spent, other = _timed(lambda: _ask_theirs(theirs, case, best))
        their_times.append(spent)
    wall, cpu = ([median(t[i] for t in times) for times in (our_times, their_times)] for i in (0, 1))
    apart = max(abs(a - b) for x, y in zip(mine, other, strict=True) for a, b in zip(x, y, strict=True))
    differ = sum(_disagree(x, y) for x, y in zip(mine, other, strict=True))
    return {
        "case": case.name,
        "ok": wall[1] / wall[0] >= case.target and differ == 0 and apart <= TOLERANCE,
        "times_as_fast": round(wall[1] / wall[0], 2),
        "target": case.target,
        "unwaver_seconds": round(wall[0], 2),
        "lm_eval_seconds": round(wall[1], 2),
        "by_cpu_time": round(cpu[1] / cpu[0], 2),  # far from times_as_fast: the machine had other work
        "items": len(case.requests),
        "argmax_differs": differ,
        "largest_difference": float(f"{apart:.2g}"),
        "lm_eval_batch_size": best,
        "lm_eval_trial_seconds": {size: round(seconds, 2) for size, seconds in sizes.items()},
        "rounds": [[round(a.wall, 2), round(b.wall, 2)] for a, b in zip(our_times, their_times, strict=True)],
    }


def _disagree(mine: tuple[float, ...], other: tuple[float, ...]) -> bool:
    best, second = sorted(other, reverse=True)[:2]
    return best - second >= CLOSE and mine.index(max(mine)) != other.index(best)


class Spent(NamedTuple):
    wall: float
    cpu: float


def _timed(call: Callable[[], Values]) -> tuple[Spent, Values]:
    wall, cpu = time.perf_counter(), time.process_time()
    values = call()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu), values


def _ask_ours(model: CausalLM, case: Case) -> Values:
    answers = dict(pair for batch in model.answer(case.requests) for pair in batch)
    return [answers[i].logprobs for i in range(len(case.requests))]


def _harness(model: str) -> Any:
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=1)


def _ask_theirs(harness: Any, case: Case, batch_size: int) -> Values:
    from lm_eval.api.instance import Instance

    harness.batch_size_per_gpu = batch_size
    asked = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(case.pairs())]
    flat = iter(value for value, _ in harness.loglikelihood(asked, disable_tqdm=True))
    return [tuple(next(flat) for _ in r.words) for r in case.requests]


if __name__ == "__main__":
    sys.exit(main())
