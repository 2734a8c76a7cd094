"""The verdict of the last check. If nothing that it was made from has changed, the next check says it again.

runs/check.json holds the lines of the verdict beside a hash of each file that they depend on: unwaver.toml, the
lock, the sources, their groups, answers and scores, files and model folders named in settings, the code of unwaver
and the list of installed packages. One that differs, and everything is computed again. What a verdict depends on
must be known in full: for a suite from a data folder, a model of the hub or code of one's own nothing is kept.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from unwaver.console import Console
from unwaver.engine.unchanged import code_state, hash_of, is_closed

if TYPE_CHECKING:
    from unwaver.config import Config
    from unwaver.project.checking import Outcomes
    from unwaver.project.file import Project, Source

FILE, VERSION, RUNS = "check.json", 1, "runs"
_LOADED = re.compile(r"(?:^|=)(?:hf|embedding|bertscore|regression)/([^,@]+)")  # models by folder or hub id
_WRITTEN = ("run.json", "scores.json", "report.html")  # by every check
_OF_A_RUN = ("groups.jsonl", "answers.sqlite", "answers.sqlite-wal", "audit.jsonl", "seen.json", *_WRITTEN)
State = Mapping[str, str | None]  # a hash by file; None: it is not there


class Told(NamedTuple):
    """What a check ends with: the lines of its verdict, those on stderr, and its exit code."""

    lines: Sequence[tuple[str, str]]
    remarks: Sequence[str]
    code: int


def recall(file: Path) -> Told | None:
    """The verdict of the last check of this unwaver.toml, if a check would say the same now."""
    try:
        runs = tomllib.loads(file.read_text(encoding="utf-8")).get("runs", RUNS)
        found = json.loads((file.parent / runs / FILE).read_text(encoding="utf-8"))
        files = found["files"]
        if found["version"] != VERSION or found["code"] != code_state():
            return None
        if any(hash_of(file.parent / name) != known for name, known in files.items()):
            return None
        return Told([(word, text) for word, text in found["lines"]], found["remarks"], int(found["exit"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # not there, or damaged: it is made again
        return None


def remember(project: Project, state: State, told: Told) -> None:
    from unwaver.engine.folder import write_whole

    record = {"version": VERSION, "exit": told.code, "lines": told.lines, "remarks": told.remarks}
    record |= {"code": code_state(), "files": state}
    write_whole(project.folder / project.runs / FILE, json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def listening(console: Console | None = None) -> tuple[Console, list[str]]:
    """A console, and the lines that it has said."""
    console, said = console or Console(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        console.say(line)

    return replace(console, say=say), said


def asked_nothing(outcomes: Outcomes) -> bool:
    """Whether the next check finds everything where it is."""
    spent = [checked.result.run.get("spent") or {} for checked in outcomes.sources]
    return outcomes.is_complete and not any(one.get("calls") for one in spent)


# --- what a verdict depends on ------------------------------------------------------------------------------


def state_of(project: Project) -> State | None:
    """A hash of each file that the verdict depends on; None if it may depend on more than files."""
    from unwaver.errors import UnwaverError
    from unwaver.project.lock import LOCK

    try:
        found = [_files_of(project, source) for source in project.sources]
    except UnwaverError:  # the check says what is wrong
        return None
    if None in found or not is_closed():
        return None
    files = {project.path, project.folder / LOCK, *(path for of in found for path in of or ())}
    return {str(path): hash_of(path) for path in sorted(files)}


def same_inputs(one: State, other: State) -> bool:
    """Whether two states differ at most in what a check writes itself."""
    changed = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    return all(name.endswith(_WRITTEN) for name in changed)


def _files_of(project: Project, source: Source) -> list[Path] | None:
    """The files and folders of a source, whether they are there or not; None where it depends on more."""
    from unwaver.paths import named_files
    from unwaver.project.checking import run_config
    from unwaver.project.frozen import Places, is_file

    given, named = project.folder / source.given, named_files(source.settings)
    if source.is_log:
        return [given, *named]
    if is_file(project, source):
        places = Places.of(project, source)
        config, own = run_config(project, source, places.groups), [given, places.groups, places.record]
    elif source.given.partition("/")[0] == "sample":
        config, own = run_config(project, source, None), []
    else:
        return None
    models = _model_folders(config)
    if not all(path.is_dir() for path in models):
        return None  # the hub may have another version of it tomorrow
    return [*own, *named, *models, *(project.folder / config.folder / name for name in _OF_A_RUN)]


def _model_folders(config: Config) -> list[Path]:
    """Where local models are, by whatever option names them: "entail=hf/FOLDER@0.7" -> FOLDER."""
    from unwaver.config import named_models
    from unwaver.named_models import resolved

    texts = [resolved(text, option) for option, named in named_models(config).items() for text in named if text]
    return [Path(found[1]).expanduser() for text in texts for found in _LOADED.finditer(text)]
