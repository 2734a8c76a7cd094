"""Two replicas on Ray with one core each against one replica with one core: label scoring with the demo model.

    .venv/bin/python bench/ray_replicas.py --questions 240 --rounds 3

Both are loaded before and take turns on the same requests; medians are compared, and log-probabilities with those
of a model in this process. One JSON line; the exit code is 1 when the target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from statistics import median

from unwaver.config import Config
from unwaver.models import open_models
from unwaver.models.on_ray_cluster import cores
from unwaver.types import Answer, Model, Request

TARGET = 1.7
CLOSE = 1e-5  # of log-probabilities, relative
THINGS = ["a compass", "an umbrella", "a candle", "a violin", "a tent", "a magnet", "a saddle", "a ladder"]
PLACES = ["in the kitchen", "behind the old school at the end of the road", "on a boat", "under the stairs"]
PEOPLE = [
    "A man",
    "A woman in a red coat",
    "The child",
    "Somebody whom nobody has seen before",
    "My uncle",
    "A cook",
]
CLAIMS = ["{} holds something.", "{} is asleep.", "{} is glad to have found what everybody was looking for."]


def requests(count: int) -> list[Request]:
    found = []
    for n, (thing, place, who, claim) in enumerate(product(THINGS, PLACES, PEOPLE, CLAIMS)):
        said = f"{who} keeps {thing} {place}."
        prompt = f"{said}\nQuestion: Is it true that: {claim.format(who)} yes, no or maybe?\nAnswer:"
        found.append(
            Request("nli", (said,), prompt, ("yes", "no", "maybe"), ("yes", "no", "maybe"), item=f"g{n}/0")
        )
    return found[:: max(1, len(found) // count)][:count]


def timed(model: Model, asked: list[Request]) -> tuple[float, dict[int, Answer]]:
    began = time.perf_counter()
    found = {index: answer for batch in model.answer(asked) for index, answer in batch}
    return time.perf_counter() - began, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=240)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    name = "two Ray replicas with one core each"
    if cores() < 2:
        print(json.dumps({"bench": name, "ok": True, "skipped": "it takes two cores"}))
        return 0
    asked = requests(given.questions)
    # half a CPU of Ray's account each, so that both crews fit; a replica computes in one thread
    on_ray = {"engine": "ray", "cpus_per_replica": 0.5, "gpus_per_replica": 0.0, "device": "cpu"}
    crews = {n: open_models(Config((), (), replicas=n, **on_ray), ["demo/smollm2"])[0] for n in (1, 2)}
    seconds: dict[int, list[float]] = {1: [], 2: []}
    answers = {}
    try:
        for model in crews.values():
            timed(model, asked[:64])
            timed(model, asked[:64])  # the second replica may have come when the first had answered
        for _ in range(given.rounds):
            for n, model in crews.items():
                took, answers[n] = timed(model, asked)
                seconds[n].append(took)
    finally:
        for model in crews.values():
            model.close()
    (here,) = open_models(Config((), (), device="cpu"), ["demo/smollm2"])
    _, own = timed(here, asked)
    worst = max(
        abs(a - b) / abs(a)
        for found in answers.values()
        for i in own
        for a, b in zip(own[i].logprobs, found[i].logprobs, strict=True)
    )
    ratio = median(seconds[1]) / median(seconds[2])
    line = {
        "bench": name, "requests": len(asked), "one": round(median(seconds[1]), 2),
        "two": round(median(seconds[2]), 2), "ratio": round(ratio, 2), "target": TARGET,
        "logprobs_differ_by": worst,
        "ok": ratio >= TARGET and worst < CLOSE,
    }  # fmt: skip
    print(json.dumps(line))
    return 0 if line["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
