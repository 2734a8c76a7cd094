"""Adversarial samples: what an attack makes of an item, why it made fewer than were wanted, and how both are kept.

adversarial.jsonl    beside the weights of a model, a line for each sample
.seed0.attack.jsonl  beside the folder while it is made, a line for each item: an attack that is interrupted
                     goes on after the last of them
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unwaver.tasks import Task
from unwaver.types import Item, replace

SAMPLES = "adversarial.jsonl"
VERSION = 1

# why an item has fewer samples than were wanted
NO_WORD = "no word to attack"
NO_SUBSTITUTE = "no substitute"
OTHER_POS = "part of speech"
DISSIMILAR = "similarity"
SENSE = "word in context"
NOT_FOOLED = "victim not fooled"
WRONG_BEFORE = "victim wrong before"
NO_MORE = "no further substitute"


@dataclass(frozen=True)
class Sample:
    """An item with words substituted. `changed` has (field, word before, word after) of each; `before` and `after`
    are the victim's probabilities of the label, `answer` what it says now."""

    fields: Mapping[str, str]
    changed: tuple[tuple[str, str, str], ...]
    similarity: float | None = None
    before: float | None = None
    after: float | None = None
    answer: str | None = None
    fooled: bool | None = None


@dataclass(frozen=True)
class Attacked:
    """The samples of one item; `reason` says why there are fewer than were wanted, "" if there are not."""

    samples: tuple[Sample, ...]
    reason: str = ""


@dataclass(frozen=True)
class TaskSamples:
    """The samples of a task's items as items with their labels, counted, and as lines of adversarial.jsonl."""

    task: str
    items: list[Item]
    counts: Mapping[str, Any]
    lines: list[str]


def as_items(items: Sequence[Item], attacked: Sequence[Attacked]) -> list[Item]:
    """Samples have the label of their item."""
    return [
        replace(item, fields=dict(sample.fields))
        for item, found in zip(items, attacked, strict=True)
        for sample in found.samples
    ]


# --- counted ------------------------------------------------------------------------------------------------


def counted(attacked: Sequence[Attacked], wanted: int) -> dict[str, Any]:
    """{"items": 9, "samples": 35, "wanted": 5, "complete": 5, "fooled": 12, "fewer": {"similarity": 4}}: `fewer`
    has the reasons of items with fewer samples than wanted, the most frequent first."""
    samples = [sample for found in attacked for sample in found.samples]
    fooled = [sample.fooled for sample in samples if sample.fooled is not None]
    reasons = Counter(found.reason for found in attacked if len(found.samples) < wanted)
    return {
        "items": len(attacked),
        "samples": len(samples),
        "wanted": wanted,
        "complete": sum(len(found.samples) >= wanted for found in attacked),
        **({"fooled": sum(fooled)} if fooled else {}),
        "fewer": dict(reasons.most_common()),
    }


def told(counts: Mapping[str, Any]) -> list[str]:
    """["35 samples of 9 items, 12 fool the victim", "all 5 samples: 5 items; fewer: 4 (similarity 4)"]."""
    fooled = f", {counts['fooled']:,} fool the victim" if "fooled" in counts else ""
    fewer = sum(counts["fewer"].values())
    why = f"; fewer: {fewer:,} ({reasons_of(counts)})" if fewer else ""
    return [
        f"{counts['samples']:,} samples of {counts['items']:,} items{fooled}",
        f"all {counts['wanted']} samples: {counts['complete']:,} items{why}",
    ]


def reasons_of(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{reason} {n:,}" for reason, n in counts["fewer"].items())


# --- written ------------------------------------------------------------------------------------------------


def lines_of_samples(
    recipe: str, task: Task, items: Sequence[Item], attacked: Sequence[Attacked]
) -> Iterator[str]:
    for item, found in zip(items, attacked, strict=True):
        for sample in found.samples:
            line = {
                "task": task.name,
                "item": item.id,
                "recipe": recipe,
                "label": item.accepted[0],
                "fields": sample.fields,
                "original": item.fields,
                "changed": [dict(zip(("field", "from", "to"), c, strict=True)) for c in sample.changed],
                **{k: v for k, v in asdict(sample).items() if k not in ("fields", "changed") and v is not None},
            }
            yield json.dumps(line, ensure_ascii=False) + "\n"


class Kept:
    """What was attacked so far, in a file of one training; one of another training is thrown away."""

    def __init__(self, path: Path | None, id: str = ""):
        self._path, self._id = path, id

    def read(self, task: str) -> list[Attacked]:
        """The first items of the task, as far as whole lines go."""
        found: list[Attacked] = []
        for line in self._lines():
            if line["task"] == task and line["item"] == len(found):
                samples = (Sample(**{**s, "changed": tuple(map(tuple, s["changed"]))}) for s in line["samples"])
                found.append(Attacked(tuple(samples), line["reason"]))
        return found

    def add(self, task: str, first: int, attacked: Iterable[Attacked]) -> None:
        if self._path is None:
            return
        whole = self._whole()
        if not whole:
            whole = json.dumps({"version": VERSION, "id": self._id}).encode() + b"\n"
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(whole)
        with self._path.open("r+b") as f:
            f.truncate(len(whole))
            f.seek(len(whole))
            for n, found in enumerate(attacked, first):
                line = {"task": task, "item": n, **asdict(found)}
                f.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
            f.flush()
            os.fsync(f.fileno())

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self._whole().split(b"\n")[1:-1]:
            yield json.loads(line.decode("utf-8", "surrogatepass"))

    def _whole(self) -> bytes:
        """The whole lines of this training, nothing of another one; a kill may have cut the last."""
        try:
            found = self._path.read_bytes() if self._path else b""
            first = json.loads(found.split(b"\n", 1)[0] or b"null")
        except (OSError, ValueError):
            return b""
        mine = isinstance(first, dict) and (first.get("version"), first.get("id")) == (VERSION, self._id)
        return found[: found.rfind(b"\n") + 1] if mine else b""
