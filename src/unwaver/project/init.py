"""`unwaver init` writes unwaver.toml for a file of questions, groups or a log, and what a team needs beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unwaver.errors import DataError, UsageError
from unwaver.files import stem
from unwaver.models import find_model
from unwaver.models_file import KEY_HINT
from unwaver.named_models import pieces
from unwaver.secret_sources import looks_like_key
from unwaver.secrets import has_credentials, is_secret_name
from unwaver.stats import binomial

WORKFLOW = Path(".github/workflows/unwaver.yml")
IGNORED = "runs/"
BARS = (0.02, 0.05, 0.10, 0.15, 0.20, 0.25, 0.40)  # points that answers may lose before a check fails
MODEL = "bot"


@dataclass(frozen=True)
class Found:
    """What a file is: questions without variants, groups or a table with variants, or a log of another tool."""

    path: Path
    is_log: bool
    is_questions: bool
    rows: int


def look_at(path: Path) -> Found:
    from unwaver.answers.schema import REQUIRED
    from unwaver.logs import format_of
    from unwaver.suites.questions import holds_questions
    from unwaver.tables import read_table

    if not path.exists():
        raise DataError("there is no such file", file=path, hint="--from questions.csv: a table, groups or a log")
    if path.is_dir() or format_of(path) not in ("table", "groups"):
        return Found(path, is_log=True, is_questions=False, rows=0)
    rows = read_table(path)
    if set(REQUIRED) <= {name for row in rows for name in row.cells}:  # a table of answers
        return Found(path, is_log=True, is_questions=False, rows=0)
    return Found(path, is_log=False, is_questions=holds_questions(path, {}), rows=len(rows))


def bar_for(rows: int) -> float:
    """The smallest drop that this many questions can show: with one noisy answer in a hundred, at least one, the
    check must still pass. bar_for(200) -> 0.05, bar_for(30) -> 0.15."""
    noisy = max(1, round(rows / 100))
    limit = binomial(min(noisy, rows), rows, 0.90)[1] if rows else 1.0  # one-sided 95 %
    return next((bar for bar in BARS if bar >= limit), BARS[-1])


@dataclass(frozen=True)
class Choices:
    """What init asks for. `model` is as for --model."""

    source: Found
    model: str | None = None
    agree: str | None = None  # how to compare answers in free text; None: the model itself does, if it writes
    folder: Path = Path()


def toml_text(choices: Choices) -> str:
    """The whole file, with comments that say what can be changed."""
    found = choices.source
    name = re.sub(r"[^\w-]+", "-", stem(found.path)).strip("-_") or "source"
    given = _relative(found.path, choices.folder)
    parts = [_HEAD]
    if choices.model is not None:
        parts += [_models(choices)]
    if found.is_log:
        parts.append(f"[sources.{name}]\nlog = {_quoted(given)}\n")
    elif found.is_questions:
        parts.append(f"[sources.{name}]\nfrom = {_quoted(given)}\n{_AUTO}")
    else:
        parts.append(f"[sources.{name}]\nfrom = {_quoted(given)}\n")
    bar = bar_for(found.rows) if found.rows else 0.05
    parts.append(_BARS.format(bar=f"{bar:g}", points=f"{100 * bar:g}"))
    return "\n".join(parts)


def _models(choices: Choices) -> str:
    model, options = pieces(choices.model or "")
    _check_no_key(model, options)
    find_model(choices.model or "")  # a mistyped provider or option is found now, not by the first check
    run = [f'model = "@{MODEL}"']
    if choices.source.is_questions:
        judge = f"judge=@{MODEL}" if _writes(model) else "normalised"
        run.append(f"agree = [{_quoted(choices.agree or judge)}]   # how two answers are compared")
    lines = ["[run]", *run, "", f"[models.{MODEL}]", f"model = {_quoted(model)}"]
    lines += [f"{key} = {_value(text)}" for key, text in options.items()]
    return "\n".join(lines) + "\n"


def _writes(model: str) -> bool:
    """Whether it can be asked if two answers mean the same: others answer with labels, or with anything."""
    return model.partition("/")[0] in ("openai", "azure", "demo")


def _check_no_key(model: str, options: Mapping[str, str]) -> None:
    secret = [k for k, v in options.items() if looks_like_key(v) or has_credentials(v) or is_secret_name(k)]
    if (secret and secret != ["key_env"]) or looks_like_key(model):
        raise UsageError(f"--model: {', '.join(secret) or 'its name'} holds a key or a password", hint=KEY_HINT)


def _relative(path: Path, folder: Path) -> str:
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(path)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _value(text: str) -> str:
    """A number or truth as TOML has it, else a text."""
    return text if re.fullmatch(r"-?\d+(\.\d+)?|true|false", text) else _quoted(text)


_HEAD = """\
# What `unwaver check` does: ask the sources below, compare with unwaver.lock.jsonl, and decide by the bars.
# Commit this file, unwaver.groups/ and unwaver.lock.jsonl. `unwaver check --explain` says what would be done.
"""
_AUTO = """\
variants = "auto"           # three paraphrases, two surface changes, and the original again twice
# writer = "openai/NAME"    # who writes the paraphrases, if not the model itself
# judge = ["same=openai/NAME"]   # who certifies them, if not the writer
"""
_BARS = """\
[bars]
"*" = ["drop<={bar}"]       # at most {points} points worse than what was accepted, for every relation
"""


# --- beside the file ----------------------------------------------------------------------------------------


def ignored(folder: Path) -> str | None:
    """The text of .gitignore with runs/ in it; None if it is there already."""
    path = folder / ".gitignore"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if any(line.strip().strip("/") == IGNORED.strip("/") for line in text.splitlines()):
        return None
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{IGNORED}\n"


def workflow_text(key_env: str | None) -> str:
    env = f"\n          {key_env}: ${{{{ secrets.{key_env} }}}}" if key_env else ""
    return _WORKFLOW.replace("{env}", env)


_WORKFLOW = """\
# Written by unwaver init. The check fails if answers are less consistent than the accepted ones.
name: unwaver
on:
  pull_request:
  workflow_dispatch:  # asks everything again: finds a service that changed under the same name
  # schedule: [{cron: "0 6 * * 1"}]  # the same every Monday
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - uses: actions/cache@v4
        with:
          path: runs
          key: unwaver-${{ github.run_id }}
          restore-keys: unwaver-
      - run: pip install 'unwaver[openai,report]'
      - run: unwaver check --yes $FRESH --junit unwaver.xml --markdown "$GITHUB_STEP_SUMMARY"
        env:
          FRESH: ${{ github.event_name != 'pull_request' && '--fresh' || '' }}{env}
"""
