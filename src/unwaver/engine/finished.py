"""A run of very many groups that is finished. The same command again finds its scores where they are
stored, if it would ask the same and score it in the same way.

finished.json holds a hash of what the scores were made of: the groups, the keys of all answers, the configuration,
the models that compared or rated answers, and the code. Beside it are sizes and times of the files of the run. One
that differs, and everything is computed again. Nothing is kept of a run that lacks an answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from unwaver.asking.budget import Spent
from unwaver.engine import folder, stored
from unwaver.engine.outcome import Outcome
from unwaver.engine.unchanged import code_state, is_closed
from unwaver.errors import UnwaverError
from unwaver.result import Result
from unwaver.secrets import masked_settings
from unwaver.types import replace

if TYPE_CHECKING:
    import polars as pl

    from unwaver.engine.prepare import Prepared

FILE, VERSION = "finished.json", 1
PART = 4096  # groups that are hashed at once
_FILES = (
    folder.RUN,
    folder.GROUPS,
    folder.ANSWERS,
    f"{folder.ANSWERS}-wal",
    folder.SCORES,
    folder.AUDIT,
    folder.SEEN,
)

_encode = msgspec.msgpack.Encoder().encode


def once(prepared: Prepared, place: Path, work: Callable[[], Outcome]) -> Outcome:
    """The outcome of a run: what is stored if it was made of the same, else what `work` gives."""
    made_of = _made_of(prepared)
    if made_of is not None and _is_stored(place, made_of):
        try:
            return Outcome(_recalled(prepared, place))
        except UnwaverError:  # a damaged file: it is made again, or the error is said where it matters
            pass
    outcome = work()
    spent = outcome.result.run["spent"]
    if made_of is not None and outcome.result.is_complete and not spent["stopped"] and is_closed():
        _store(place, made_of)
    return outcome


def _made_of(prepared: Prepared) -> str | None:
    """A hash of what the scores depend on; None where that is more than can be known now."""
    config, panel = prepared.config, prepared.panel
    consulted = [(*name, model.identity, model.method, model.settings) for name, model in prepared.opened.items()]
    in_parts = config.until or config.pilot or config.batch or config.batch_out or config.batch_in
    if prepared.writer or in_parts or not all(identity for *_, identity, _, _ in consulted):
        return None
    found = hashlib.blake2b()
    for start in range(0, len(prepared.groups), PART):
        found.update(_encode(prepared.groups[start : start + PART]))
    for respondent in panel.everyone:
        found.update(respondent.plan.digest())
        if respondent.plan.later:
            return None
    settings = masked_settings(asdict(replace(config, yes=False)))
    told = [settings, consulted, prepared.names, prepared.chosen.selection.notes, code_state()]
    found.update(json.dumps(told, sort_keys=True, default=str).encode(errors="backslashreplace"))
    return found.hexdigest()


def _files(place: Path) -> dict[str, list[int] | None]:
    """Size and time of each file of a run; None: it is not there."""
    found: dict[str, list[int] | None] = {}
    for name in _FILES:
        try:
            stat = (place / name).stat()
        except OSError:
            found[name] = None
        else:
            found[name] = [stat.st_size, stat.st_mtime_ns]
    return found


def _is_stored(place: Path, made_of: str) -> bool:
    try:
        known = json.loads((place / FILE).read_text(encoding="utf-8"))
        return bool(known == _record(place, made_of))
    except (OSError, ValueError, RecursionError):  # not there, or damaged
        return False


def _record(place: Path, made_of: str) -> Mapping[str, Any]:
    return {"version": VERSION, "made_of": made_of, "files": _files(place)}


def _store(place: Path, made_of: str) -> None:
    try:
        folder.write_whole(place / FILE, json.dumps(_record(place, made_of), indent=1) + "\n")
    except UnwaverError:  # the disk is full, or the folder is read-only
        return  # the run itself is whole


class Recalled(Result):
    """Scores from scores.json. The table is made when somebody asks for it."""

    @cached_property
    def answers(self) -> pl.DataFrame:
        from unwaver.engine.load import load

        assert self.folder is not None
        return load(self.folder).frame


def _recalled(prepared: Prepared, place: Path) -> Result:
    run = folder.shown_record(stored.read_run(place), prepared.config, place)
    run["spent"] = asdict(Spent())
    found = Recalled(stored.read_scores(place / folder.SCORES), run, place, None, prepared.groups)
    del found.__dict__["answers"]  # the None that it was made with
    return found
