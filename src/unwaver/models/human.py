"""People as a model: `human/JOB.toml` answers as most of them did, `human/JOB.toml,rater=r2` as one of them.

The replies of an `answer` job are read as they stand; nobody is waited for. An item without a reply is not
answered, a tie is an answer that cannot be read. Free text has no majority: name a person.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from unwaver.errors import DataError, UsageError, near
from unwaver.models.predictions import Predictions, Row
from unwaver.people.job import read_job
from unwaver.people.outcome import Outcome, answers, outcome_of
from unwaver.people.store import Database
from unwaver.types import Request

EVERYBODY = "people"
MAJORITY, PERSON = "majority", "person"  # how an answer came about


class Human(Predictions):
    method = PERSON

    def check(self, requests: Sequence[Request]) -> None:
        known = {id for id, _ in self._rows}
        if requests and not any(request.item in known for request in requests):
            job = read_job(self._path)
            raise DataError(
                f"people answered other items: {min(known)!r}, and this run has such as {requests[0].item!r}",
                hint=f"run what they were asked about, {job.source}; or score the job: unwaver score {self._path}",
                file=self._path,
            )
        super().check(requests)


def open_model(name: str, *, rater: str | None = None) -> Human:
    """The replies to the job in this file; of `rater` (r1, r2, …), or of the majority."""
    path = Path(name).expanduser()
    found = read_outcome(path)
    numbers = {found.names[person]: person for person in found.people}
    rater = None if rater == EVERYBODY else rater
    if rater is not None and rater not in numbers:
        raise UsageError(f"human/{name}: there is no rater {rater}", hint=near(rater, numbers))
    said = answers(found, None if rater is None else numbers[rater])
    if not said:
        hint = f"name one of them: human/{name},rater={min(numbers)}" if numbers else "let people answer first"
        what = "free text has no majority" if numbers else "nobody has answered yet"
        raise DataError(what, file=path, hint=hint)
    rows = {(item, 0): Row(0, one.get("label"), one.get("text"), ()) for item, one in said.items()}
    digest = hashlib.sha256(json.dumps(sorted(said.items())).encode()).hexdigest()
    model = Human(path, f"sha256:{digest}", rows)
    model.name, model.method = (EVERYBODY, MAJORITY) if rater is None else (rater, PERSON)
    return model


def people_of(path: Path) -> list[str]:
    """Models of everybody in a job: the majority, where there is one, then each person."""
    found = read_outcome(path)
    pooled = [f"human/{path}"] if answers(found) and len(found.people) > 1 else []
    return [*pooled, *(f"human/{path},rater={found.names[person]}" for person in found.people)]


def read_outcome(path: Path) -> Outcome:
    job = read_job(path)
    if job.kind != "answer":
        hint = "unwaver annotate --new answer makes one"
        raise DataError(f'people answer in a job with kind = "answer", this is "{job.kind}"', file=path, hint=hint)
    if not job.database.exists():
        hint = f"unwaver annotate {path} starts it"
        raise DataError("this job has not been started", file=path, hint=hint)
    database = Database(job.database, read_only=True)
    try:
        return outcome_of(job, database)
    finally:
        database.close()
