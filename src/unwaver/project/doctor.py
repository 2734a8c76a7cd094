"""`unwaver doctor`: is everything here that a check needs? Extras, keys, servers, and one test question each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from unwaver.config import Config
from unwaver.errors import UnwaverError
from unwaver.models import find_model, open_models
from unwaver.named_models import named
from unwaver.project.file import Project
from unwaver.text.shown import safe
from unwaver.types import Request

Standing = Literal["ok", "missing", "failed"]
QUESTION = "Reply with the single word: ready"
SHOWN = 60  # characters of a reply
EXTRA, ALL = "extra ", "all"


@dataclass(frozen=True)
class Finding:
    """One line. `needed` says whether a check fails without it: an extra may not be needed at all."""

    about: str
    standing: Standing
    said: str
    hint: str = ""
    needed: bool = True


def in_short(packages: Sequence[Finding]) -> Iterator[Finding]:
    """All extras in two lines: what is installed, and what is not."""
    lists: tuple[tuple[Standing, str, str], ...] = (
        ("ok", "extras", ""),
        ("missing", "extras not installed", "only if you need one: pip install 'unwaver[NAME]'"),
    )
    for standing, about, hint in lists:
        names = [each.about.removeprefix(EXTRA) for each in packages if each.standing == standing]
        if names := [name for name in names if name != ALL]:
            yield Finding(about, standing, ", ".join(names), hint, needed=False)


def extras() -> Iterator[Finding]:
    """The extras of the package, each with what is lacking."""
    wanted: dict[str, list[str]] = {}
    for line in metadata.requires("unwaver") or ():
        found = re.match(r"(?P<name>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]", line)
        if found and found["extra"] != "dev" and found["name"] != "unwaver":
            wanted.setdefault(found["extra"], []).append(found["name"])
    for extra, packages in wanted.items():
        lacking = [package for package in packages if not _is_installed(package)]
        said = f"lacks {', '.join(lacking)}" if lacking else "installed"
        hint = f"pip install 'unwaver[{extra}]'" if lacking else ""
        yield Finding(f"{EXTRA}{extra}", "missing" if lacking else "ok", said, hint, needed=False)


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def models_of(project: Project | None, given: Sequence[str]) -> list[str]:
    """The models that a check would ask, each once: those under test, writers, judges and agreements."""
    found = list(given)
    for source in project.sources if project and not given else ():
        settings = source.settings
        found += settings.get("models", ())
        found += [settings["writer"]] if settings.get("writer") else []
        for texts in ("judges", "agree", "scorers"):
            found += [text.partition("=")[2] for text in settings.get(texts, ()) if "=" in text]
    return [spec for spec in dict.fromkeys(found) if spec.startswith("@") or "/" in spec]


def look_at(spec: str) -> Iterator[Finding]:
    """The key and the server of a model, and its answer to one question."""
    try:
        model, options = named(spec)
        find_model(spec)
    except UnwaverError as e:
        yield Finding(spec, "failed", e.summary, e.hint or "")
        return
    if model.startswith("openai/"):
        yield _key(spec, options.get("key_env", "OPENAI_API_KEY"), "base_url" in options)
    yield _asked(spec)


def _key(spec: str, variable: str, elsewhere: bool) -> Finding:
    if os.environ.get(variable):
        return Finding(spec, "ok", f"{variable} is set")
    hint = f"export {variable}=…, or name another variable: key_env=NAME"
    return Finding(spec, "missing", f"{variable} is not set", hint, needed=not elsewhere)


def _asked(spec: str) -> Finding:
    try:
        (model,) = open_models(Config((), (spec,)), [spec])
        with closing(model):
            request = Request("question", (QUESTION,), QUESTION, (), (), limit=None)
            answer = next(iter(batch[0][1] for batch in model.answer([request]) if batch), None)
    except UnwaverError as e:
        return Finding(spec, "failed", e.summary, e.hint or "")
    if answer is None or answer.error:
        return Finding(spec, "failed", f"no answer: {answer.error if answer else 'nothing came back'}")
    text = safe(" ".join((answer.text or "").split()))
    return Finding(spec, "ok", f"answers: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" if text else "answers")
