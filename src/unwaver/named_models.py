"""How a model is named, wherever one is: --model, --writer, --judge, --agree, --scorer.

    provider/name,key=value,…    a value in braces is JSON; one in quotes is a text with any characters
    @name,key=value,…            [models.name] in unwaver.toml, with the options there

A comma separates options only before a key and =, and never inside braces, quotes or a path that exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unwaver.errors import UnwaverError, UsageError

if TYPE_CHECKING:
    from unwaver.config import Config

_CUT = re.compile(r",(?=\s*\w[\w.*]*=)")  # a key may be the path of a field: address.city=exact
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_QUOTED = re.compile(r"'.*?'(?=$|,\s*\w[\w.*]*=)", re.DOTALL)
_OBJECT = re.compile(r'\{\s*["}]')
_THRESHOLD = re.compile(r"""(?P<before>.*)@(?P<bar>[^@/,={}\s"']*)""", re.DOTALL)
_BY_NAME = re.compile(r"(?P<kind>\w+=)?(?P<named>@[A-Za-z_].*)", re.DOTALL)
_NUMBER = re.compile(r"[\d.]*")
EXAMPLE = """openai/NAME,temperature=0.7,extra={"top_k": 5}"""


class Named(NamedTuple):
    """A model with its options, all as texts; an object is JSON."""

    model: str
    options: dict[str, str]

    def __str__(self) -> str:
        """What `named` reads again: "openai/m,timeout=5"."""
        return self.model + "".join(f",{key}={_written(value)}" for key, value in self.options.items())


def named(text: str, option: str = "--model ") -> Named:
    """named("openai/m,timeout=5") -> Named("openai/m", {"timeout": "5"}); "@fast" is looked up in unwaver.toml.
    `option` is written before the text in messages."""
    model, options = pieces(text, option)
    if model.startswith("@"):
        from unwaver.models_file import from_file

        found = from_file(model[1:], option)
        return Named(found.model, {**found.options, **options})
    return Named(model, options)


def pieces(text: str, option: str = "") -> tuple[str, dict[str, str]]:
    """pieces("judge=openai/x,timeout=5") -> ("judge=openai/x", {"timeout": "5"})"""
    end = _end(text, 0, text, option)
    first, options = text[:end], dict[str, str]()
    while end < len(text):
        equals = text.index("=", end)
        key = text[end + 1 : equals].strip()
        end = _end(text, equals + 1, text, option)
        if key in options:
            raise UsageError(f"{option}{text}: {key} is given twice", hint=f"give {key} once")
        options[key] = _value(key, text[equals + 1 : end], f"{option}{text}")
    return first, options


def with_threshold(text: str) -> tuple[str, str | None]:
    """with_threshold("same=hf/x@0.7") -> ("same=hf/x", "0.7"); "same=@fast" and a path that exists have none."""
    found = _THRESHOLD.fullmatch(text)
    if found is None or _exists(text):
        return text, None
    before, bar = found["before"], found["bar"]
    if (not before or before.endswith("=")) and not (bar and _NUMBER.fullmatch(bar)):
        return text, None  # the name of a model
    return before, bar


def resolved(text: str, option: str) -> str:
    """The text with what a name stands for: "entail=@fast@0.8" -> "entail=openai/m,base_url=http://…@0.8"."""
    found = _BY_NAME.fullmatch(text)
    if found is None:
        return text
    kind = found["kind"] or ""
    body, bar = with_threshold(found["named"]) if kind else (found["named"], None)
    return f"{kind}{named(body, f'{option}{kind}')}" + ("" if bar is None else f"@{bar}")


_NAMING = {"models": "--model ", "writer": "--writer ", "judges": "--judge ", "agree": "--agree "}
_NAMING |= {"scorers": "--scorer "}


def resolve_names(config: Config) -> None:
    """What @name stands for is part of a configuration: where unwaver.toml changes, it is another run."""
    for name, option in _NAMING.items():
        given = getattr(config, name)
        if isinstance(given, str):
            object.__setattr__(config, name, resolved(given, option))
        elif given:
            object.__setattr__(config, name, tuple(resolved(text, option) for text in given))


# options of a model that change no answer: what it costs, how fast it is asked, and where it runs
PLACE = {"price_in", "price_out", "price_cached", "concurrency", "timeout", "retries", "backoff", "rpm", "tpm"}
PLACE |= {"device", "batch_tokens"}


def deciding(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the answers: "openai/m,rpm=60,seed=1" -> "openai/m,seed=1", wherever a model is named."""

    def plain(text: str) -> str:
        model, threshold = with_threshold(text)
        name, options = pieces(model) if "," in model else (model, {})
        left = {key: value for key, value in options.items() if key not in PLACE}
        return text if left == options else f"{Named(name, left)}{'@' if threshold else ''}{threshold or ''}"

    found = dict(settings)
    for name in _NAMING.keys() & settings.keys():
        if value := settings[name]:
            found[name] = plain(value) if isinstance(value, str) else tuple(map(plain, value))
    for name in ("model_args", "writer_args"):
        found[name] = {key: value for key, value in settings[name].items() if key not in PLACE}
    return found


def renamed(error: UnwaverError, written: str) -> UnwaverError:
    """The error with a hint for the option that was used: "--model-arg x=1" -> "--judge entail=hf/m,x=1"."""
    if written and error.hint:
        error.hint = error.hint.replace("--model-arg ", written)
    return error


def as_text(value: object) -> str | None:
    """A value of TOML as the text of an option: True -> "true", a table -> JSON; None for another sort."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):  # dates
            return None
    return str(value) if isinstance(value, str | int | float) else None


# --- where a value ends -----------------------------------------------------------------------------------------


def _end(text: str, start: int, whole: str, option: str) -> int:
    """Where the value ends that begins here: at a comma before the next option, or at the end of the text."""
    cuts = [found.start() for found in _CUT.finditer(text, start)]
    for end in [len(text), *reversed(cuts)] if cuts else ():
        if "," in text[start:end] and _exists(text[start:end]):
            return end
    after = _closed(text, start)
    if after is None:
        mark = text[start]
        raise UsageError(
            f"{option}{whole}: found {mark} without the {'}' if mark == '{' else mark} that closes it",
            hint=f"for example {EXAMPLE}",
        )
    return next((cut for cut in cuts if cut >= after and not _inside_braces(text[after:cut])), len(text))


def _closed(text: str, start: int) -> int | None:
    """The end of the quotes or braces that begin here, `start` if there are none, None if they stay open."""
    if text.startswith('"', start):
        found = _STRING.match(text, start)
        return found.end() if found else None
    if text.startswith("'", start):
        found = _QUOTED.match(text, start)
        return found.end() if found else start  # an apostrophe
    if not text.startswith("{", start):
        return start
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        depth = 0
        for place in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                return place + 1
    return None


def _inside_braces(before: str) -> bool:
    return before.count("{") > before.count("}")


def _value(key: str, text: str, where: str) -> str:
    """What an option says: without quotes around it; an object must be JSON."""
    if (found := _STRING.fullmatch(text)) is not None:
        try:
            return str(json.loads(found[0], strict=False))
        except ValueError as e:
            raise UsageError(f"{where}: {key} is not a JSON string: {e}", hint=f"for example {EXAMPLE}") from None
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if _OBJECT.match(text) and text.endswith("}"):
        try:
            json.loads(text, strict=False)
        except (ValueError, RecursionError) as e:
            raise UsageError(f"{where}: {key} is not JSON: {e}", hint=f"for example {EXAMPLE}") from None
    return text


def _written(value: str) -> str:
    """The value as it can be read again: in quotes where it holds marks of the grammar."""
    if _OBJECT.match(value) and "@" not in value:
        try:
            if isinstance(json.loads(value, strict=False), dict):
                return value
        except (ValueError, RecursionError):
            pass
    plain = not value.startswith(("'", '"')) and not re.search(r"[{}@]", value) and not _CUT.search(value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _exists(text: str) -> bool:
    """Whether it names a path: hf/FOLDER, bleurt=FOLDER, predictions/FILE."""
    places = [text, re.sub(r"^\w+=", "", text)]
    for place in dict.fromkeys(p for text in places for p in (text, text.partition("/")[2]) if p):
        try:
            if Path(place).expanduser().exists():
                return True
        except (OSError, ValueError, RuntimeError):  # too long, or no home
            continue
    return False
