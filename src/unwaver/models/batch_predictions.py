"""Results of a batch as a model: `predictions/FILE` with the file that a service has sent (--batch-out).

They are found by the question, whoever was asked: for a model under test, a judge or a writer. `--batch-in` stores
them as the answers of the model that was asked, which can then be asked for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from unwaver.errors import DataError
from unwaver.models.batch_lines import HALF, Result, question_of
from unwaver.models.openai_replies import Fault, chat_answer
from unwaver.types import Answer, Batch, Request

BATCH = 1024


class BatchPredictions:
    method = "predictions"
    reads = ("prompt", "words")
    deterministic = False  # replicates have results of their own

    def __init__(self, path: Path, identity: str, results: Mapping[str, Result]):
        self.name = path.name.split(".")[0] or path.name
        self.identity = identity
        self.settings: Mapping[str, object] = {}
        self._path = path
        self._results = {id[HALF:]: result for id, result in results.items()}
        self._asked: set[str] = set()

    @property
    def unused(self) -> int:
        """How many results no request has asked for so far."""
        return len(self._results.keys() - self._asked)

    def check(self, requests: Sequence[Request]) -> None:
        """Raise before anything is written if the file is about other questions."""
        if requests and not any(question_of(request) in self._results for request in requests):
            raise DataError(
                f"none of its {len(self._results):,} results is about a question of this run",
                hint="give the suites and options of the command that wrote the requests",
                file=self._path,
            )

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        questions = [question_of(request) for request in requests]
        self._asked.update(questions)
        found = [(n, _answer(self._results[q])) for n, q in enumerate(questions) if q in self._results]
        for begin in range(0, len(found), BATCH):
            yield found[begin : begin + BATCH]

    def close(self) -> None:
        pass


def _answer(result: Result) -> Answer:
    if result.reply is None:
        return Answer(error=result.error)
    try:
        return chat_answer(result.reply)
    except Fault as fault:
        return Answer(error=str(fault))
