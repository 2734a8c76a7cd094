"""The questions of the side-by-side bench: contexts and continuations, the same strings for both sides."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from unwaver.tasks import task_named
from unwaver.tasks.prompts import fill
from unwaver.types import Request

GROUPS = 60
SHOTS = 5

DEFEASIBLE = """Premise: {premise}
Hypothesis: {hypothesis}
Update: {update}
Does the update make the hypothesis More or Less likely?
Answer:"""

Group = list[Mapping[str, str]]


@dataclass(frozen=True)
class Case:
    name: str
    requests: list[Request]
    target: float  # how many times as fast as lm-eval it must be

    def pairs(self) -> list[tuple[str, str]]:
        """(context, continuation) as lm-eval takes them."""
        return [(r.prompt, f" {word}") for r in self.requests for word in r.words]

    def first(self, count: int) -> Case:
        return Case(self.name, self.requests[:count], self.target)


def cases(data: Path) -> dict[str, Callable[[], Case]]:
    return {
        "delta-snli": lambda: _delta_snli(data, 0, 1.5),
        "boolq": lambda: _boolq(data, 0, 1.5),
        "delta-snli-5": lambda: _delta_snli(data, SHOTS, 3.0),
        "boolq-5": lambda: _boolq(data, SHOTS, 3.0),
    }


def _delta_snli(data: Path, shots: int, target: float) -> Case:
    """Buckets of ParaNLU: premise and hypothesis stay, the update is said in several ways."""
    with gzip.open(data / "paranlu" / "snli_paraphrases_human.json.gz", "rt", encoding="utf-8") as f:
        buckets = list(json.load(f).values())
    groups, labels = [], []
    for bucket in buckets[: GROUPS + shots]:
        original = bucket[0]["original_example"]
        fixed = {name: original[name] for name in ("premise", "hypothesis")}
        groups.append([{**fixed, "update": each["update_paraphrase"]} for each in bucket])
        labels.append("More" if original["update_type"] == "strengthener" else "Less")
    return _case("delta-snli", DEFEASIBLE, ("More", "Less"), groups, labels, shots, target)


def _boolq(data: Path, shots: int, target: float) -> Case:
    """Semantic groups of BECEL: one passage, one question said in two ways."""
    form = task_named("boolq").form
    with (data / "becel" / "boolq" / "semantic.tsv").open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))[: GROUPS + shots]
    groups: list[Group] = [
        [
            {"passage": r["passage"], "question": r[column].rstrip("?")}
            for column in ("question", "question_paraphrase")
        ]
        for r in rows
    ]
    return _case(
        "boolq", form.prompt, form.words, groups, [form.words[int(r["label"])] for r in rows], shots, target
    )


def _case(
    name: str,
    template: str,
    words: tuple[str, ...],
    groups: list[Group],
    labels: list[str],
    shots: int,
    target: float,
) -> Case:
    """The last groups serve as solved examples, so that the groups under test are the same with and without."""
    solved = "".join(
        f"{fill(template, group[0])} {label}\n\n"
        for group, label in zip(groups[GROUPS:], labels[GROUPS:], strict=True)
    )
    prompts = [solved + fill(template, item) for group in groups[:GROUPS] for item in group]
    return Case(
        name if not shots else f"{name}-{shots}",
        [Request("bench", (), prompt, words, words) for prompt in prompts],
        target,
    )
