"""Batches by hand: `--batch-out FILE` writes requests instead of asking them, `--batch-in FILE` reads results.

The same command writes what is missing and reads what has come, for models under test, judges and writers: the
results of one step bring the requests of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unwaver.asking.delivered import deliver
from unwaver.console import Progress
from unwaver.errors import DataError
from unwaver.models.batch_lines import ANTHROPIC, HALF, Result, id_of, line_of, read_results
from unwaver.models.parts import Parts, way_of
from unwaver.types import Answer, Model, Request

if TYPE_CHECKING:
    from unwaver.asking.ask import Asker, Plan


class ByHand:
    """The requests of a run that a person puts into a batch, and their results."""

    def __init__(self, out: Path | None, given: Sequence[Path], write: Callable[[Path, str], None]):
        self._out, self._given, self._put = out, given, write
        self._results: dict[str, Result] = {}
        for path in given:
            for id, result in read_results(path).items():
                if id[:HALF] not in self._results or self._results[id[:HALF]].reply is None:
                    self._results[id[:HALF]] = result
        self._known: set[str] = set()  # beginnings of keys that belong to this run
        self._lines: dict[str, str] = {}
        self._missing = 0

    def ask(self, asker: Asker, model: Model, plan: Plan, keys: Sequence[str], progress: Progress) -> bool:
        """Store the results of these requests and note what is still missing; say whether to go on."""
        self._known |= {key[:HALF] for key in plan.requests}
        there = [key for key in keys if key[:HALF] in self._results]
        answers = [(key, read(model, plan.requests[key], self._results[key[:HALF]])) for key in there]
        if answers:
            deliver(asker, model, plan, answers, progress)
        good = {key for key, answer in answers if answer.error is None}
        left = [key for key in keys if key not in good]
        if self._out is None:
            self._missing += len(left) - (len(there) - len(good))  # failed ones are told as failed
        else:
            self._write(asker, model, plan, left)
        return asker.spent.stopped is None

    def _write(self, asker: Asker, model: Model, plan: Plan, left: Sequence[str]) -> None:
        """Note the requests, as many as the budget allows."""
        anthropic = str(self._out).endswith(ANTHROPIC)
        for key in asker.affordable(left, plan, model) if left else ():
            body = body_of(model, plan.requests[key])
            self._lines[key] = line_of(id_of(key, plan.requests[key]), body, anthropic=anthropic)

    def close(self, asker: Asker) -> None:
        """Write the file; say what to do next where answers are missing."""
        if self._results and not self._known & self._results.keys():
            raise DataError(
                f"none of its {len(self._results):,} results belongs to this run",
                file=self._given[0],
                hint="give the command that wrote the requests, with --batch-in in place of --batch-out",
            )
        if self._out is not None and self._lines:
            self._put(self._out, "".join(f"{line}\n" for line in self._lines.values()))
            asker.spent.stopped = asker.spent.stopped or (
                f"{len(self._lines):,} requests are in {self._out}: submit it as a batch, then run the same "
                "command with --batch-in RESULTS"
            )
        elif self._missing:
            asker.spent.stopped = asker.spent.stopped or (
                f"{self._missing:,} requests have no result: --batch-out FILE writes them"
            )


def body_of(model: Model, request: Request) -> dict[str, object]:
    """The body of a request in a batch."""
    batch = Parts(way_of(model, request)).batch
    assert batch is not None
    return batch.body(request)


def read(model: Model, request: Request, result: Result) -> Answer:
    """The answer in a result; a failed one says why."""
    if result.reply is None:
        return Answer(error=result.error)
    batch = Parts(way_of(model, request)).batch
    assert batch is not None
    return batch.answer(request, result.reply)
