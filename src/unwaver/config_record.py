"""The configuration in a run.json, read back. It may have been cut, edited or written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from unwaver.config import Config, named_models
from unwaver.errors import DataError, UsageError, near
from unwaver.secrets import (
    MASK,
    learn_arguments,
    without_credentials,
)


def config_from(record: Mapping[str, Any], file: Path) -> Config:
    """The configuration in a run.json, checked: it may have been written by hand."""
    given = record.get("config")
    known = {f.name: str(f.type) for f in fields(Config)}
    if not isinstance(given, dict) or not {"suites", "models"} <= set(given):
        raise DataError("it holds no configuration of a run", file=file, hint="give a run.json of this version")
    for name, value in given.items():
        if name not in known:
            raise DataError(f'"config": found {name!r}, which is unknown', file=file, hint=near(name, known))
        if name == "review" and (value is None or isinstance(value, str)):  # earlier versions read one sheet
            continue
        expected, fits = TYPES[known[name]]
        if not fits(value) and not (value is None and "None" in known[name]):
            hint = "correct it, or give the option on the command line and leave --from out"
            raise DataError(f'"{name}": found {value!r}, expected {expected}', file=file, hint=hint)
    _learn_again(record, given)
    try:
        # the role of a store belongs to its address; its password is taken away by Config
        return Config(**as_options({**without_credentials(given), "store": given.get("store")}))
    except UsageError as e:
        raise DataError(e.message, file=file, hint=e.hint) from None


def as_paths(given: object) -> tuple[str, ...]:
    """One path or several, as given in Python or held by older files: "a.tsv" -> ("a.tsv",); None -> ()."""
    several = given if isinstance(given, list | tuple) else [] if given is None else [given]
    return tuple(map(str, several))


def _learn_again(record: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Folders of earlier versions may hold secrets: they are not shown again."""
    for texts in (record.get("command"), *given.values()):
        if isinstance(texts, list):
            learn_arguments([text for text in texts if isinstance(text, str)])


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and _is_texts([*value, *value.values()])


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float)


# what a run.json may hold for each type of a Config field
TYPES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "tuple[str, ...]": ("a list of texts", _is_texts),
    "tuple[float, ...]": ("a list of numbers", lambda v: isinstance(v, list) and all(map(_is_number, v))),
    "Mapping[str, str]": ("texts by name", _is_text_map),
    "int": ("a whole number", _is_whole),
    "int | None": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "float | None": ("a number", _is_number),
    "bool": ("true or false", lambda v: isinstance(v, bool)),
    "str": ("a text", lambda v: isinstance(v, str)),
    "str | None": ("a text", lambda v: isinstance(v, str)),
    "Literal['violate', 'skip']": ("violate or skip", lambda v: v in ("violate", "skip")),
    "Literal['exclude', 'keep']": ("exclude or keep", lambda v: v in ("exclude", "keep")),
}


def as_options(config: Config | Mapping[str, Any]) -> dict[str, Any]:
    values = asdict(config) if isinstance(config, Config) else dict(config)
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


# options that models or people read as text, so they must be text; a path may be any bytes


def is_masked(c: Config) -> bool:
    """Whether a secret was taken out of it, as in every run.json: it cannot be used again as it is."""
    return any(MASK in text for texts in named_models(c).values() for text in texts)


_OPTIONS = {
    "suites": "SUITES",
    "models": "--model",
    "model_args": "--model-arg",
    "writer_args": "--writer-arg",
    "labels": "--label",
    "columns": "--column",
    "judges": "--judge",
    "scorers": "--scorer",
    "signs": "--sign",
}


def option_of(name: str) -> str:
    """The option that sets a field of Config: option_of("labels") -> "--label"."""
    return _OPTIONS.get(name) or "--" + name.replace("_", "-")
