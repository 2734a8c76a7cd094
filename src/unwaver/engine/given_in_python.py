"""What Python hands to `unwaver.run` and `unwaver.build`, as the configuration of a run: tables in memory become
files, functions become models, and options may be written as one writes them in Python.

    config_of("q.csv", ["bot"], {"labels": ["yes", "no"], "variants": "negate,swap", "base_url": "http://…"})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from unwaver.bound import keywords
from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.types import Model

OF_FUNCTIONS = ("per_item", "identity")  # options of functions that no other model has
_SHORT = {"model": "models", "label": "labels", "judge": "judges", "scorer": "scorers", "sign": "signs"}


def as_suites(given: Any) -> tuple[str, ...]:
    """Names and paths as texts; a table in memory becomes a file in the cache, named by what it holds."""
    if isinstance(given, str | Path):
        return (str(given),)
    if (path := getattr(given, "path", None)) is not None and hasattr(given, "groups"):  # what unwaver.build wrote
        return (str(path),)
    if isinstance(given, list | tuple) and all(isinstance(each, str | Path) for each in given):
        return tuple(map(str, given))
    from unwaver.suites.in_memory import as_file

    return (str(as_file(given)),)


def as_models(given: Any, options: Mapping[str, Any] | None = None) -> list[str | Model]:
    """Names and objects as they are, functions as models; `options` are those that functions have."""
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [
        each if isinstance(each, str) or _is_model(each) else _function(each, options or {}) for each in several
    ]


def _is_model(given: object) -> bool:
    """An object that answers; a class of such objects is not one."""
    return hasattr(given, "answer") and not isinstance(given, type)


def _function(given: object, options: Mapping[str, Any]) -> Model:
    from unwaver.models.functions import from_function

    return from_function(given, **options)


def config_and_models(suites: Any, model: Any, options: Mapping[str, Any]) -> tuple[Config, list[str | Model]]:
    """The configuration of unwaver.run(suites, model, **options), and the models with functions among them."""
    given = dict(options)
    args = dict(given.pop("model_args", None) or {})
    args |= {name: value for name in (*OF_FUNCTIONS, "base_url") if (value := given.pop(name, None)) is not None}
    several = list(model) if isinstance(model, Sequence) and not isinstance(model, str) else [model]
    functions = [each for each in several if not isinstance(each, str) and not _is_model(each)]
    models = as_models(several, _options_of_functions(args) if functions else {})
    _check_args(args, models, functions)
    named = any(isinstance(each, str) for each in models)
    if not named or functions:  # for named models they are checked where these are opened
        args = {name: value for name, value in args.items() if name not in OF_FUNCTIONS}
    names = tuple(each if isinstance(each, str) else each.name for each in models)
    config = Config(as_suites(suites), names, model_args=_texts(args), **as_fields(given, "run"))
    return config, models


def _options_of_functions(args: Mapping[str, Any]) -> dict[str, Any]:
    from unwaver.bound import bind
    from unwaver.models.functions import from_function

    known = keywords(from_function)
    return bind(from_function, {name: args[name] for name in args if name in known}, "a function", "")


def _check_args(args: Mapping[str, Any], models: Sequence[str | Model], functions: Sequence[object]) -> None:
    """Refuse options that no model takes; those of named models are checked where these are opened."""
    if any(isinstance(each, str) for each in models):
        return
    known: Iterable[str] = ()
    if functions:
        from unwaver.models.functions import from_function

        known = keywords(from_function)
    for name in args:
        if name not in known:
            what = "a function" if functions else "an object that is a model"
            hint = near(name, known) if known else "set it where the object is made"
            raise UsageError(f"{name} has no effect: {what} does not take it", hint=hint)


def _texts(args: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(name): value if isinstance(value, str | int | float) else str(value) for name, value in args.items()
    }


def as_fields(given: Mapping[str, Any], what: str, known: Iterable[str] = ()) -> dict[str, Any]:
    """Options as fields of Config: a text or a list for a tuple, a Path for a text. Unknown ones are refused."""
    types = {field.name: str(field.type) for field in fields(Config) if field.name not in ("suites", "models")}
    allowed = [name for name in types if name in known] if known else list(types)
    found = {}
    for name, value in given.items():
        name = _SHORT.get(name, name)
        if name not in allowed:
            of_model = f'; an option of the model is model_args={{"{name}": …}}' if "model_args" in allowed else ""
            raise UsageError(f"{what} has no option {name!r}", hint=near(name, allowed) + of_model)
        found[name] = _as_field(name, value, types[name])
    return found


def _as_field(name: str, value: Any, type: str) -> Any:
    if type.startswith("tuple[str"):
        several = [value] if isinstance(value, str | Path) else list(value or ())
        texts = [str(each) for each in several]
        return (
            tuple(part for text in texts for part in text.split(",") if part)
            if name == "variants"
            else tuple(texts)
        )
    if type.startswith("tuple["):
        return (value,) if isinstance(value, int | float) else tuple(value)
    return str(value) if isinstance(value, Path) else value
