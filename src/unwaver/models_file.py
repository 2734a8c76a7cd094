"""Models with names of their own: `@fast` is the table [models.fast] of unwaver.toml.

    [models.fast]
    model = "openai/small"
    base_url = "http://127.0.0.1:8000/v1"
    key_env = "FAST_KEY"
    extra = {top_k = 5}

The file is looked for in the working folder and above it, up to a folder with .git or the home folder. Keys are
refused: the file is made to be shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from unwaver.errors import DataError, UsageError
from unwaver.files import read_toml
from unwaver.named_models import Named, as_text, pieces
from unwaver.secret_sources import is_odd_variable, learn, looks_like_key
from unwaver.secrets import has_credentials, is_secret_name
from unwaver.typed import typed

FILE = "unwaver.toml"
KEY_HINT = 'put the key into an environment variable and name that: key_env = "NAME"'


class ModelEntry(msgspec.Struct):
    """[models.NAME]; other keys are options of the model."""

    model: str


def from_file(name: str, option: str) -> Named:
    """from_file("fast", "--model ") -> Named("openai/small", {"key_env": "FAST_KEY", …})"""
    path = find_file()
    if path is None:
        hint = f'write {FILE} with [models.{name}] and model = "openai/NAME" below it'
        raise UsageError(f"{option}@{name}: there is no {FILE} in this folder or above it", hint=hint)
    known = _models(path)
    if name not in known:
        listed = "known: " + ", ".join(f"@{one}" for one in sorted(known)) if known else f"add [models.{name}]"
        raise UsageError(f"{option}@{name}: this file has no [models.{name}]", file=path, hint=listed)
    return _entry(path, name, known[name])


def find_file() -> Path | None:
    """The nearest unwaver.toml, from the working folder up to a folder with .git or the home folder."""
    try:
        here, home = Path.cwd(), Path.home()
    except (OSError, RuntimeError):  # the folder is gone, or there is no home
        return None
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / ".git").exists() or folder == home:
            return None
    return None


Option = str | bool | int | float | dict[str, Any]


def _models(path: Path) -> Mapping[str, Any]:
    found = read_toml(path, "file", 'a model is [models.NAME] with model = "openai/NAME" below it')
    models: Mapping[str, Any] = typed(dict[str, Any], found.get("models", {}), path, "[models.NAME]", "models")
    return models


def _entry(path: Path, name: str, entry: object) -> Named:
    where = f"[models.{name}]"
    if isinstance(entry, dict):
        check_no_key(path, where, entry)
    hint = "an option has a name and a text, a number, true, false or a table"
    given: Mapping[str, Any] = typed(dict[str, Option], entry, path, hint, f"models.{name}")
    needed = f'{where} needs model = "provider/name"'
    model, inline = pieces(typed(ModelEntry, entry, path, needed, f"models.{name}").model)
    if model.startswith("@"):
        raise DataError(f"{where}: model names another name, {model}", file=path, hint='model = "provider/name"')
    options = dict(inline)
    for key, value in given.items():
        if key == "model":
            continue
        text = as_text(value)
        if text is None or not re.fullmatch(r"\w+", key):
            raise DataError(f"{where}: cannot read the option {key}", file=path, hint=hint)
        options[key] = text
    _check_options(path, where, model, options)
    return Named(model, options)


def check_no_key(path: Path, where: str, entry: Mapping[str, Any]) -> None:
    learn("", entry)  # whatever goes wrong, no key is shown
    if found := _key_in("", entry):
        raise DataError(f"{where}: {found} holds a key or a password", file=path, hint=KEY_HINT)


def _key_in(name: str, value: object) -> str | None:
    """The name of an option that is, or looks like, a secret: at any depth."""
    if isinstance(value, Mapping):
        return next((found for key, part in value.items() if (found := _key_in(str(key), part))), None)
    if isinstance(value, list):
        return next((found for part in value if (found := _key_in(name, part))), None)
    if isinstance(value, bool) or value in ("", None):
        return None
    text = str(value)
    if name not in ("model", "key_env") and re.match(r"[^,{]+/[^,]*,\s*\w+=", text):  # a model with its options
        return _key_in(name, pieces(text)[1])
    secret = is_odd_variable(text) if name == "key_env" else looks_like_key(text) or has_credentials(text)
    return name if secret or is_secret_name(name) else None


def _check_options(path: Path, where: str, model: str, options: Mapping[str, str]) -> None:
    """Before anything is asked; an unknown provider is said where the model is opened."""
    from unwaver import registry
    from unwaver.bound import bind

    provider = model.partition("/")[0]
    if provider not in registry.names("models"):
        return
    try:
        bind(registry.find("models", provider), options, model, f"{where} ")
    except UsageError as e:
        raise DataError(f"{where}: {e.message}", file=path, hint=e.hint) from None
