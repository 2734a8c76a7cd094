"""Groups with their texts and answers, worst first: what `unwaver show` prints and writes to files."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unwaver.metrics.agreed import broken_by, decides, field_notions, leading
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.bucket import among_wordings
from unwaver.metrics.pairwise import mean_agreement
from unwaver.metrics.paraphrastic import within
from unwaver.metrics.score import partition
from unwaver.metrics.violation import tau
from unwaver.reports.ranking import BROKEN, HELD, ranked, worst_first
from unwaver.stats import Floats
from unwaver.text.shown import safe_json
from unwaver.text.spreadsheet import written
from unwaver.types import Group, Item

STATES = ("held", "broken", "does not apply", "missing")
BLOCK = ("suite", "task", "kind", "model", "method")
ANSWER = ("item", "role", "replicate", "text", "answer", "status", "right", "gold")
_COLUMNS = ("item", "role", "replicate", "label", "gold", "right", "probs", "status")
_OPTIONAL = ("said", "prompt")


@dataclass(frozen=True)
class Listed:
    """One group as one model answered it. `agreement` is how far its answers agree, from 0 to 1; None where that
    cannot be said."""

    suite: str
    task: str
    kind: str
    expect: str
    model: str
    method: str
    group: str
    state: str
    agreement: float | None
    answers: list[dict[str, Any]]
    fields: tuple[str, ...] = ()  # of JSON answers and tool calls: those that differ, "json.price"

    @property
    def relation(self) -> str:
        return f"{self.suite}/{self.task}/{self.kind}"


def listed(frames: Sequence[pl.DataFrame], everything: bool = False) -> list[Listed]:
    """Broken groups, or all of them, worst first."""
    parts = [part for frame in frames for part in partition(frame)]
    blocks = [block_of(part) for part in parts]
    found = [ranked(block) for block in blocks]
    place = np.concatenate([np.full(len(r.bad), n) for n, r in enumerate(found)]) if found else np.empty(0, int)
    number = np.concatenate([np.arange(len(r.bad)) for r in found]) if found else np.empty(0, int)
    rows, agreements = [_rows_by_group(part) for part in parts], [agreement_of(block) for block in blocks]
    fields = [[(name, broken_by(b, by) > 0) for name, by in field_notions(b).items()] for b in blocks]
    chosen = []
    for at in worst_first(found).tolist():
        n, group = int(place[at]), int(number[at])
        state = int(found[n].state[group])
        if state != BROKEN and not everything:
            continue
        name, answers = rows[n][group]
        value = float(agreements[n][group])
        agreement = round(value, 4) if state in (HELD, BROKEN) and value == value else None
        b = blocks[n]
        told = (b.suite, b.task, b.kind, b.expect, b.model, b.method, name, STATES[state])
        chosen.append(
            Listed(*told, agreement, answers, tuple(f for f, is_broken in fields[n] if is_broken[group]))
        )
    return chosen


def agreement_of(block: Block) -> Floats:
    """Per group, from 0 to 1: free text by the agreement that leads, wordings of a bucket by the share of pairs
    with the same answer, other relations by the share of variants that keep them."""
    if decides(block):
        mean, notion = mean_agreement(block, leading(block).name), leading(block)
        return 1 - mean if notion.low else mean
    if block.expect != "bucket":
        return np.asarray(1 - tau(block))
    same = among_wordings(block)
    return np.where(np.isnan(same), 1 - 4 * within(block), same)


def _rows_by_group(part: pl.DataFrame) -> list[tuple[str, list[dict[str, Any]]]]:
    """The answers of each group, in the order in which a block numbers them."""
    columns = [*_COLUMNS, *(name for name in _OPTIONAL if name in part.columns)]
    own = part.filter(pl.col("role") != "test")
    split = own.partition_by("group", maintain_order=True)
    return [(str(rows["group"][0]), _named(rows.select(columns).to_dicts())) for rows in split]


def _named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items of a table that names none are told apart by role and place: original 1, variant 1, variant 2."""
    if all(row["item"] for row in rows):
        return rows
    seen: Counter[tuple[str, int]] = Counter()
    for row in rows:
        place = row["role"], row["replicate"]
        seen[place] += 1
        row["item"] = row["item"] or f"{row['role']} {seen[place]}"
    return rows


def group_of(found: Listed, known: Mapping[str, Group]) -> Group:
    """The group with its texts; of a log one made of its prompts, or of the names of its wordings."""
    if found.group in known:
        return known[found.group]
    asked = {row["item"]: row for row in found.answers}
    items = tuple(Item(id, found.task, row["role"], _fields(row)) for id, row in asked.items())
    return Group(found.group, found.suite, found.task, found.kind, found.expect, items)  # type: ignore[arg-type]


def _fields(row: Mapping[str, Any]) -> dict[str, str]:
    return {"prompt": row["prompt"]} if row.get("prompt") else {"wording": str(row["item"])}


# --- files --------------------------------------------------------------------------------------------------


def records(found: Sequence[Listed], known: Mapping[str, Group]) -> Iterator[dict[str, Any]]:
    """One object for each group."""
    for each in found:
        texts = {item.id: _text(item.fields) for item in group_of(each, known).items}
        yield {
            "version": 1,
            "state": each.state,
            "agreement": each.agreement,
            **{name: getattr(each, name) for name in BLOCK},
            "group": each.group,
            "expect": each.expect,
            **({"fields": list(each.fields)} if each.fields else {}),
            "answers": [_answer(row, texts) for row in each.answers],
        }


def _text(fields: Mapping[str, str]) -> str:
    """{"question": "Who?"} -> "Who?"; of several fields each with its name, one below the other."""
    if len(fields) == 1:
        return next(iter(fields.values()))
    return "\n".join(f"{name}: {text}" for name, text in fields.items())


def _answer(row: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    said = row["label"] if row["label"] is not None else row.get("said")
    made = {name: row.get(name) for name in ANSWER}
    return {**made, "text": texts.get(row["item"]), "answer": said}


def as_jsonl(found: Sequence[Listed], known: Mapping[str, Group]) -> str:
    lines = (json.dumps(record, ensure_ascii=False) for record in records(found, known))
    return "".join(safe_json(line) + "\n" for line in lines)


def as_csv(found: Sequence[Listed], known: Mapping[str, Group]) -> str:
    """One line for each answer. What a spreadsheet could take for a formula begins with an apostrophe; characters
    that are hidden or steer a terminal are spelled."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("state", "agreement", *BLOCK, "group", "expect", *ANSWER))
    for record in records(found, known):
        first = [
            record["state"],
            record["agreement"],
            *(record[n] for n in BLOCK),
            record["group"],
            record["expect"],
        ]
        for answer in record["answers"]:
            writer.writerow([_cell(value) for value in (*first, *(answer[name] for name in ANSWER))])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " | ".join(map(str, value))
    return written(value) if isinstance(value, str) else value
