"""A bag of words as in the ParaNLU paper: hashed n-grams of up to four words and a linear model, in seconds.

    unwaver bow TRAIN.csv --task delta-snli --out MODEL             fits one exactly
    unwaver train paranlu/snli --base ngrams --out MODEL            trains one as fastText does
    unwaver run paranlu/snli --model bow/MODEL (or bow/MODEL/seed0)

With `fields` it reads only those fields of the task – the update without what is updated – and is the
partial-input model that finds artifacts. A folder holds model.json and weights.npz; nothing in it is code.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from unwaver.errors import DataError, ModelError, UsageError, near
from unwaver.files import Row, read_bytes, read_json, read_rows, read_text, shown, whole
from unwaver.models.absolute import absolute_hint
from unwaver.models.arrays import NUMBERS, read_arrays
from unwaver.models.ngrams import MEAN, Descent, fit_ngrams, words_of
from unwaver.models.trained import Trained, read_trained
from unwaver.stats import Ints
from unwaver.stats.linear import Linear, fit
from unwaver.stats.sampling import training_shares
from unwaver.tasks import Task, open_task
from unwaver.tasks.prompts import fill
from unwaver.typed import Count, typed
from unwaver.types import Answer, Batch, Request

VERSION = 1
LONGEST = 4  # words in an n-gram
COLUMNS = 1 << 18
BATCH = 1024
LENGTH = "length"  # how n-grams are weighted, unless as in unwaver.models.ngrams


class Bow:
    method, reads, deterministic = "bow", ("segments",), True

    def __init__(
        self,
        linear: Linear,
        about: Mapping[str, Any],
        name: str = "bow",
        identity: str = "bow",
        trained: Trained | None = None,
    ):
        self.name, self.identity, self.trained = name, identity, trained
        self.settings: Mapping[str, object] = {}
        self.about = about
        self._linear = linear

    def check(self, requests: Sequence[Request]) -> None:
        """Raise now if the questions are not those of the task that it was trained on."""
        labels, segments = tuple(self.about["labels"]), self.about["segments"]
        for task, choices, count in {(r.task, r.choices, len(r.segments)) for r in requests}:
            if sorted(choices) != sorted(labels) or count <= max(segments):
                raise ModelError(
                    f"{self.name} was trained on {self.about['task']} ({', '.join(labels)}), and this is {task} "
                    f"({', '.join(choices) or 'free text'})",
                    hint="train one on this task: unwaver bow --help, or unwaver train --base ngrams",
                )

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        place = {label: n for n, label in enumerate(self.about["labels"])}
        for start in range(0, len(requests), BATCH):
            some = requests[start : start + BATCH]
            texts = [self._text(r.segments) for r in some]
            logs = self._linear.log_probabilities(features(texts, self.about.get("features", LENGTH)))
            yield [
                (start + n, Answer(logprobs=tuple(float(row[place[choice]]) for choice in r.choices)))
                for n, (r, row) in enumerate(zip(some, logs, strict=True))
            ]

    def close(self) -> None:
        pass

    def _text(self, segments: Sequence[str]) -> str:
        return " ".join(segments[n] for n in self.about["segments"])


class _About(msgspec.Struct):
    version: int
    task: str
    labels: list[str]
    segments: Annotated[list[Count], msgspec.Meta(min_length=1)]
    features: Literal["length", "mean"] = "length"


def open_model(name: str) -> Bow:
    place = Path(name)
    hint = absolute_hint("bow", name, "make one with unwaver bow")
    try:
        about = read_json(place / "model.json")
        if isinstance(about, dict) and about.get("version", VERSION) != VERSION:
            raise ModelError(f"version {about['version']} of a bag of words, expected {VERSION}", file=place)
        typed(_About, about, place / "model.json", hint)
        raw = read_bytes(place / "weights.npz")
        arrays = read_arrays(place / "weights.npz", {"weights": (2, NUMBERS), "bias": (1, NUMBERS)}, hint)
    except DataError as e:
        raise ModelError(f"not a bag-of-words model: {e.message}", file=e.file, hint=hint) from None
    weights, bias = (arrays[name].astype(np.float64) for name in ("weights", "bias"))
    linear = Linear(weights, bias)
    if weights.shape != (COLUMNS, len(about["labels"])) or bias.shape != weights.shape[1:]:
        raise ModelError("model.json and weights.npz do not belong together", file=place, hint="train it again")
    identity = hashlib.sha256(raw + json.dumps(about, sort_keys=True).encode()).hexdigest()
    trained = read_trained(place)
    whole = place.resolve()
    shown = place.name if trained is None else f"{whole.parent.name}/{whole.name}"  # all are called seed0, seed1 …
    return Bow(linear, about, shown, f"bow:{identity}", trained)


# --- features -----------------------------------------------------------------------------------------------


def features(texts: Sequence[str], form: str = LENGTH) -> Any:
    """One row per text: how often each n-gram of words occurs, hashed into COLUMNS columns. Rows have length 1, or
    with the form MEAN the sum 1."""
    from scipy.sparse import csr_matrix

    columns: list[int] = []
    ends = [0]
    for text in texts:
        columns += [zlib.crc32(gram.encode()) % COLUMNS for gram in ngrams(text)]
        ends.append(len(columns))
    matrix = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(texts), COLUMNS))
    matrix.sum_duplicates()
    if form == MEAN:
        length = np.asarray(matrix.sum(axis=1)).ravel()
    else:
        length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return csr_matrix(matrix.multiply(1 / np.maximum(length, 1)[:, None]))


def ngrams(text: str) -> Iterator[str]:
    """ngrams("A dog runs.") -> "a", "a dog", "a dog runs", …: words in lower case, signs apart from them"""
    words = words_of(text)
    for start in range(len(words)):
        for size in range(1, min(LONGEST, len(words) - start) + 1):
            yield " ".join(words[start : start + size])


# --- training -----------------------------------------------------------------------------------------------


def train(
    paths: Sequence[Path],
    task: str,
    *,
    fields: Sequence[str] = (),
    penalty: float = 1.0,
    share: float = 1.0,
    seed: int = 0,
    descent: Descent | None = None,
) -> Bow:
    """Train on files of a task, or on a share of them: examples with one context (the first segment) stay
    together, and a smaller share is part of a larger one. `descent` trains as fastText does."""
    if not 0 < share <= 1:
        raise UsageError(f"share is {share}, expected more than 0 and at most 1", hint="0.1 is a tenth")
    form = open_task(task)
    segments = chosen_segments(form, fields)
    everything = [row for path in paths for row in training_rows(path, form)]
    solved = [
        everything[n] for n in training_shares([texts[0] for texts, _ in everything], [share], seed=seed)[share]
    ]
    classes = np.array([label for _, label in solved], dtype=np.int64)
    if len(set(classes)) < 2:
        raise DataError("all examples have one label", hint="give files with several", file=paths[0])
    texts = [" ".join(texts[n] for n in segments) for texts, _ in solved]
    how: dict[str, Any] = {"penalty": penalty}
    if descent is None:
        linear = _fitted(features(texts), classes, len(form.labels), penalty)
    else:
        linear, how = by_descent(texts, classes, len(form.labels), descent, seed)
    about = {
        "version": VERSION,
        "task": task,
        "labels": list(form.labels),
        "fields": list(fields or form.fields),
        "segments": segments,
        "examples": len(solved),
        **how,
        "share": share,
        "seed": seed,
    }
    return Bow(linear, about)


def _fitted(matrix: Any, classes: Any, count: int, penalty: float) -> Linear:
    """Columns that no example has keep the weight 0, so they need not be fitted."""
    used = np.unique(matrix.indices)
    found = fit(matrix[:, used], classes, count, penalty=penalty)
    weights = np.zeros((COLUMNS, count))
    weights[used] = found.weights
    return Linear(weights, found.bias)


def by_descent(
    texts: Sequence[str],
    classes: Ints,
    count: int,
    how: Descent,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Linear, dict[str, Any]]:
    """Trained as fastText trains one, and what model.json says of it."""
    matrix = features(texts, MEAN)
    used = np.unique(matrix.indices)
    found = fit_ngrams(matrix[:, used].tocsr(), classes, count, how, seed, progress)
    weights = np.zeros((COLUMNS, count))
    weights[used] = found.weights
    return Linear(weights, found.bias), {"like": "fasttext", "features": MEAN, **asdict(how)}


def save(model: Bow, place: Path) -> None:
    """Write model.json and weights.npz."""
    place.mkdir(parents=True, exist_ok=True)
    linear = model._linear
    np.savez_compressed(
        place / "weights.npz", weights=linear.weights.astype(np.float32), bias=linear.bias.astype(np.float32)
    )
    (place / "model.json").write_text(json.dumps(dict(model.about), indent=1) + "\n", encoding="utf-8")


def chosen_segments(task: Task, fields: Sequence[str]) -> list[int]:
    """Which segments hold these fields: delta-snli, ["update"] -> [1]; none given means all."""
    for name in fields:
        if name not in task.fields:
            raise UsageError(f"{task.name} has no field {name!r}", hint=near(name, task.fields))
    held = [re.findall(r"\{(\w+)\}", segment) for segment in task.form.segments]
    chosen = [n for n, names in enumerate(held) if not fields or set(names) & set(fields)]
    mixed = [name for n in chosen for name in held[n] if fields and name not in fields]
    if mixed:
        raise UsageError(
            f"{task.name} puts {', '.join(mixed)} into one segment with {', '.join(fields)}",
            hint="add " + " ".join(f"--fields {name}" for name in mixed),
        )
    return chosen


def training_rows(path: Path, task: Task) -> Iterator[tuple[tuple[str, ...], int]]:
    """(segments, class) of each labelled row.

    Columns are the fields of the task in any case, or sentence1 and sentence2 for its two segments; and a label,
    by name or number. Labels may stand in a file of their own, one a line: train.jsonl and train-labels.lst.
    """
    rows = read_rows(path)
    labels = _separate_labels(path, rows)
    for n, row in enumerate(rows):
        cells = {name.lower(): value for name, value in row.cells.items()}
        label = labels[n] if labels else _label_cell(cells, row)
        if label is None or cells.get("updatetypeimpossible"):
            continue
        yield _segments(cells, task, row), _class(label, task, row)


def _separate_labels(path: Path, rows: Sequence[Row]) -> list[str] | None:
    beside = path.with_name(f"{path.name.partition('.')[0]}-labels.lst")
    if any("label" in row.cells for row in rows[:1]) or not beside.exists():
        return None
    labels = read_text(beside).split()
    if len(labels) != len(rows):
        message = f"found {len(labels)} labels, expected one for each of the {len(rows)} rows of {path.name}"
        raise DataError(message, hint="take both files from one release", file=beside)
    return labels


def _label_cell(cells: Mapping[str, Any], row: Row) -> Any:
    for name in ("label", "gold_label", "updatetype"):
        if name in cells:
            return None if cells[name] in ("", None) else cells[name]
    raise row.where.error(
        f"no column label; found: {', '.join(row.cells)}", "expected label, gold_label or UpdateType"
    )


def _class(label: Any, task: Task, row: Row) -> int:
    text = str(label).strip()
    if text in task.labels:
        return task.labels.index(text)
    number = whole(text)
    if number is not None and number < len(task.labels) and not any(name.isdecimal() for name in task.labels):
        return number
    known = ", ".join(f"{n} {name}" for n, name in enumerate(task.labels))
    raise row.where.error(f"found label {shown(label)}, expected one of {known}", f"is it a file of {task.name}?")


def _segments(cells: Mapping[str, Any], task: Task, row: Row) -> tuple[str, ...]:
    if all(name in cells for name in task.fields):
        texts = {name: str(cells[name]) for name in task.fields}
        return tuple(fill(segment, texts) for segment in task.form.segments)
    if len(task.form.segments) == 2 and "sentence1" in cells and "sentence2" in cells:
        return str(cells["sentence1"]).strip(), str(cells["sentence2"]).strip()
    needed = ", ".join(task.fields)
    raise row.where.error(
        f"found columns {', '.join(row.cells)}, expected {needed}",
        "or sentence1 and sentence2",
    )
