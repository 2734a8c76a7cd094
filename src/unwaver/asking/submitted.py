"""`--batch`: requests are submitted as batches of the server and collected by the same command later.

What will be submitted is stored before it is sent, with a mark that the batch carries. The command after one that
was killed in between finds the batch by its mark, so nothing is submitted twice. A batch counts against the cost
cap from its submission on, whoever collects it.

    batches  mark -> server, model, run, number of requests, cost, who submits it, file and batch of the server
    batched  key -> mark of the batch that has the request
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.answers.store import Store
from unwaver.asking.by_hand import body_of, read
from unwaver.asking.delivered import deliver, worst
from unwaver.asking.worker import machine, process, started
from unwaver.console import Progress
from unwaver.errors import DataError
from unwaver.models.batch_lines import HALF, Result, id_of, line_of, results_of
from unwaver.models.openai_batches import OpenAIBatch, Uncertain
from unwaver.models.openai_replies import printable
from unwaver.models.parts import Parts
from unwaver.types import Model

if TYPE_CHECKING:
    from unwaver.asking.ask import Asker, Plan

PART = 10_000  # requests of a batch; OpenAI takes 50,000
SCHEMA = """CREATE TABLE IF NOT EXISTS batches (
    mark TEXT PRIMARY KEY, server TEXT NOT NULL, model TEXT NOT NULL, run TEXT NOT NULL, requests INTEGER NOT NULL,
    cost REAL NOT NULL, process TEXT NOT NULL, file TEXT, batch TEXT
) WITHOUT ROWID"""
KEYS = "CREATE TABLE IF NOT EXISTS batched (key TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID"
_OVER = ("completed", "expired", "cancelled", "failed")
_ENDED = {"expired": "the batch expired before this request was answered", "cancelled": "the batch was cancelled"}


class Submitted:
    """The batches of a run."""

    def __init__(self, store: Store, run: str):
        self._store, self._run = store, run
        self._collected: set[str] = set()  # keys that this command has seen the end of
        self._waiting: list[str] = []

    def ask(self, asker: Asker, model: Model, plan: Plan, keys: Sequence[str], progress: Progress) -> bool:
        """Collect what is done, submit what is in no batch; say whether to go on."""
        batch = Parts(model).batch
        assert batch is not None
        self._store.atomically(_make)
        rows = list(self._rows(batch))
        asker.purse.hold(sum(row["cost"] for row in self._rows(None)))
        for row in rows:
            self._advance(asker, model, plan, batch, row, progress)
        there = {key for (key,) in self._store.select("SELECT key FROM batched WHERE key IN", keys)}
        fresh = [key for key in keys if key not in there and key not in self._collected]
        while fresh and not asker.spent.stopped:
            part = list(asker.affordable(fresh[:PART], plan, model))
            if not part:
                break
            intended = self._intend(part, batch, worst(asker, model, plan, part))
            if intended is not None:
                self._send(model, plan, batch, intended)
            fresh = fresh[len(part) :]
        return asker.spent.stopped is None

    def close(self, asker: Asker) -> None:
        if self._waiting:
            told = "; ".join(dict.fromkeys(self._waiting))
            next_step = "run the same command again to collect the answers"
            asker.spent.stopped = asker.spent.stopped or f"{told}: {next_step}"

    # --- what is stored -----------------------------------------------------------------------------------------

    def _rows(self, batch: OpenAIBatch | None) -> Iterator[dict[str, Any]]:
        columns = ("mark", "server", "model", "run", "requests", "cost", "process", "file", "batch")
        for row in self._store.rows(f"SELECT {', '.join(columns)} FROM batches ORDER BY mark"):
            if batch is None or tuple(row[1:3]) == batch.place:
                yield dict(zip(columns, row, strict=True))

    def _intend(self, keys: Sequence[str], batch: OpenAIBatch, cost: float) -> dict[str, Any] | None:
        """Store what will be submitted, before anything is sent; None if another process has it already."""
        mark = hashlib.sha256("\n".join([self._run, process(), *keys]).encode()).hexdigest()[:HALF]
        row = (mark, *batch.place, self._run, len(keys), cost, process(), None, None)

        def write(db: Any) -> bool:
            taken = [k for k in keys if list(db.execute("SELECT 1 FROM batched WHERE key = ?", (k,)))]
            if taken:
                return False
            db.execute("INSERT INTO batches VALUES (?,?,?,?,?,?,?,?,?)", row)
            db.executemany("INSERT INTO batched VALUES (?,?)", [(key, mark) for key in keys])
            return True

        if not self._store.atomically(write):
            return None
        return next(found for found in self._rows(batch) if found["mark"] == mark)

    def _keys(self, mark: str) -> list[str]:
        return sorted(key for (key,) in self._store.select("SELECT key FROM batched WHERE mark IN", [mark]))

    def _note(self, row: dict[str, Any], column: str, value: str) -> None:
        row[column] = value
        statement = f"UPDATE batches SET {column} = ? WHERE mark = ?"
        self._store.atomically(lambda db: db.execute(statement, (value, row["mark"])))

    def _forget(self, mark: str) -> None:
        def write(db: Any) -> None:
            db.execute("DELETE FROM batched WHERE mark = ?", (mark,))
            db.execute("DELETE FROM batches WHERE mark = ?", (mark,))

        self._store.atomically(write)

    # --- submitting ---------------------------------------------------------------------------------------------

    def _advance(
        self,
        asker: Asker,
        model: Model,
        plan: Plan,
        batch: OpenAIBatch,
        row: dict[str, Any],
        progress: Progress,
    ) -> None:
        """Bring a batch one step on: find or submit it, or collect it if it is done."""
        if row["batch"] is None:
            if _is_alive(row["process"]):
                self._waiting.append(f"another process submits {row['requests']:,} requests")
                return
            if (found := batch.find(row["mark"])) is not None:
                self._note(row, "batch", found)
            elif set(self._keys(row["mark"])) <= plan.requests.keys():
                self._send(model, plan, batch, row)
                return
            else:
                self._waiting.append(f"{row['requests']:,} requests of the run {row['run']} were never submitted")
                return
        self._collect(asker, model, plan, batch, row, progress)

    def _send(self, model: Model, plan: Plan, batch: OpenAIBatch, row: dict[str, Any]) -> None:
        if row["file"] is None:
            requests = {key: plan.requests[key] for key in self._keys(row["mark"])}
            lines = [line_of(id_of(key, r), body_of(model, r)) for key, r in requests.items()]
            self._note(row, "file", batch.upload("".join(f"{line}\n" for line in lines)))
        try:
            self._note(row, "batch", batch.submit(row["file"], {"unwaver": row["mark"], "run": self._run}))
        except Uncertain:
            self._waiting.append(f"the server has not confirmed a batch with {row['requests']:,} requests")
        else:
            self._waiting.append(f"batch {row['batch']} with {row['requests']:,} requests was submitted")

    # --- collecting ---------------------------------------------------------------------------------------------

    def _collect(
        self,
        asker: Asker,
        model: Model,
        plan: Plan,
        batch: OpenAIBatch,
        row: dict[str, Any],
        progress: Progress,
    ) -> None:
        found = batch.state(row["batch"])
        state = str(found.get("status"))
        if state not in _OVER:
            counts = found.get("request_counts")
            done = counts.get("completed") if isinstance(counts, dict) else None
            how = f", {done:,} of {row['requests']:,} done" if isinstance(done, int) else ""
            self._waiting.append(f"batch {row['batch']} is not finished ({state}{how})")
            return
        results = self._results(batch, found)
        keys = [key for key in self._keys(row["mark"]) if key in plan.requests]
        missing = _ENDED.get(state) or f"the batch ended ({state}{_why(found)}) without a result of this request"
        answers = [
            (key, read(model, plan.requests[key], results.get(key[:HALF], Result(None, missing)))) for key in keys
        ]
        for begin in range(0, len(answers), 1000):
            deliver(asker, model, plan, answers[begin : begin + 1000], progress)
        self._collected |= set(keys)
        if len(keys) == row["requests"]:  # else another run on this store wants the rest
            self._forget(row["mark"])

    def _results(self, batch: OpenAIBatch, found: Mapping[str, Any]) -> dict[str, Result]:
        results: dict[str, Result] = {}
        for name in ("error_file_id", "output_file_id"):
            file = found.get(name)
            if isinstance(file, str) and file:
                results |= _parsed(batch.content(file))
        return results


def _make(db: Any) -> None:
    db.execute(SCHEMA)
    db.execute(KEYS)


def _parsed(text: str) -> dict[str, Result]:
    """By the beginnings of keys; a line that cannot be read is a request without a result."""
    records = []
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("custom_id"), str):
            records.append((0, {"response": None, **record}))
    try:
        return {id[:HALF]: result for id, result in results_of(records, Path("results")).items()}
    except DataError:  # none
        return {}


def _why(found: Mapping[str, Any]) -> str:
    """ ": invalid model" where the server says why a batch failed as a whole."""
    errors = found.get("errors")
    listed = errors.get("data") if isinstance(errors, dict) else None
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    return f": {printable(str(first['message']))}" if first.get("message") else ""


def _is_alive(who: str) -> bool:
    """Whether the process that wrote a row is still at work, on this machine; not this one, which knows better."""
    place, _, rest = who.rpartition(" ")[0].rpartition(" ")
    pid, began = rest, who.rpartition(" ")[2]
    if who == process() or place != machine() or not pid.isdigit():
        return False
    return started(int(pid)) == began
