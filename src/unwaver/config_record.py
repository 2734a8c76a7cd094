"""The configuration in a run.json, read back. It may have been cut, edited or written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

from unwaver.config import Config, named_models
from unwaver.errors import DataError, UsageError, near
from unwaver.secret_sources import without_credentials
from unwaver.secrets import (
    MASK,
    learn_arguments,
)
from unwaver.typed import typed


def config_from(record: Mapping[str, Any], file: Path) -> Config:
    """The configuration in a run.json, checked: it may have been written by hand."""
    given = record.get("config")
    known = get_type_hints(Config)
    if not isinstance(given, dict) or not {"suites", "models"} <= set(given):
        raise DataError("it holds no configuration of a run", file=file, hint="give a run.json of this version")
    for name, value in given.items():
        if name not in known:
            raise DataError(f'"config": found {name!r}, which is unknown', file=file, hint=near(name, known))
        if name == "review" and (value is None or isinstance(value, str)):  # earlier versions read one sheet
            continue
        hint = "correct it, or give the option on the command line and leave --from out"
        typed(known[name], value, file, hint, name, halves=True)
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


def read_system(config: Config) -> None:
    """Put the text of the file into the configuration: run.json holds it, and needs the file no more. One line end
    after the text is an editor's."""
    if config.system is not None:
        raise UsageError("--system and --system-file cannot be combined", hint="give one of them")
    path = Path(str(config.system_file))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("the system message is not UTF-8", file=path, hint="save the file as UTF-8") from None
    except OSError as e:
        hint = "name a file with the text: --system-file prompt.txt"
        raise DataError(f"the system message cannot be read: {e.strerror}", file=path, hint=hint) from None
    if not text.strip():
        hint = "write the text into it; for an empty message: --system ''"
        raise DataError("the system message is empty", file=path, hint=hint)
    object.__setattr__(config, "system", text.removesuffix("\n").removesuffix("\r"))
    object.__setattr__(config, "system_file", None)


def _learn_again(record: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Folders of earlier versions may hold secrets: they are not shown again."""
    for texts in (record.get("command"), *given.values()):
        if isinstance(texts, list):
            learn_arguments([text for text in texts if isinstance(text, str)])


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
