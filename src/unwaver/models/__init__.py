"""Back ends, one file each. `open_models` goes from "provider/name" to a model with its options bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import unwaver.registry as registry  # `from unwaver import` would look for a public name first
from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.models.decoding import decoding
from unwaver.secrets import KEYS_BELONG, has_credentials
from unwaver.types import Model


def open_models(config: Config, given: Sequence[str | Model]) -> list[Model]:
    """Open those that are named; objects stay what they are."""
    makers = {spec: _provider(spec) for spec in given if isinstance(spec, str)}
    for name in config.model_args if makers else ():
        if not any(registry.accepted(make, {name: ""}) for make, _ in makers.values()):
            spec, (make, _) = next(iter(makers.items()))
            registry.bind(make, {name: ""}, spec)  # says what is known
    ways = [decoding(name) for name in config.decode]
    if not ways:
        return [_open(config, m, *makers[m], {}) if isinstance(m, str) else _whole(m) for m in given]
    return [_decoding(config, m, makers, way) for m in given for way in ways]


def _decoding(config: Config, model: str | Model, makers: Mapping[str, Any], way: Mapping[str, object]) -> Model:
    """The model, set to decode in this way; it writes, whatever it would do otherwise."""
    if not isinstance(model, str):
        raise UsageError("--decode needs a model by name", hint="give provider/name, or leave decode out")
    make, name = makers[model]
    if lacking := [option for option in way if not registry.accepted(make, {option: ""})]:
        raise UsageError(
            f"{model} has no option {lacking[0]}, which this decoding sets",
            hint="leave --decode out, or name another decoding",
        )
    return _open(config, model, make, name, {"method": config.method or "generate", **way})


def open_consulted(config: Config, spec: str, options: Mapping[str, object] | None = None) -> Model:
    """A model that judges variants or compares answers: with the device and the label map of the run."""
    make, name = _provider(spec)
    general = {"device": config.device, "map": dict(config.map) or None}
    given = options or {}
    known = registry.accepted(make, dict.fromkeys(given, ""))  # None is an answer here: max_tokens=none
    return make(name, **{**registry.accepted(make, general), **{name: given[name] for name in known}})


def model_options(spec: str, given: Mapping[str, str]) -> dict[str, object]:
    """Those of the given that this model takes, as what they are: {"timeout": "5"} -> {"timeout": 5.0}."""
    make, _ = _provider(spec)
    return registry.bind(make, registry.accepted(make, given), spec)


def open_writer(config: Config, settings: Mapping[str, object]) -> Model:
    """The model that writes paraphrases; `settings` hold where --writer-arg says nothing."""
    spec = config.writer or ""
    make, name = _provider(spec)
    general = {"method": "generate", "device": config.device, "seed": config.seed}
    own = registry.bind(make, config.writer_args, spec)
    return make(name, **{**registry.accepted(make, {**general, **settings}), **own})


def _open(config: Config, spec: str, make: Callable[..., Model], name: str, decode: Mapping[str, object]) -> Model:
    general = {"method": config.method, "system": config.system, "device": config.device, "seed": config.seed}
    settings = registry.accepted(make, {**general, "map": dict(config.map) or None})
    own = registry.bind(make, registry.accepted(make, config.model_args), spec)
    return make(name, **{**settings, **own, **decode})


def _provider(spec: str) -> tuple[Callable[..., Model], str]:
    if has_credentials(spec):
        raise UsageError("the name of a model holds a user name or password", hint=KEYS_BELONG)
    provider, slash, name = spec.partition("/")
    if provider not in registry.names("models") or not slash or not name:
        known = registry.names("models")
        if Path(spec).exists():
            hint = f"for a local model folder: hf/{spec}"
        elif provider in known:
            hint = f"write {provider}/NAME"
        else:
            hint = near(provider, known) + " (provider/name: hf/PATH-OR-ID, openai/NAME, fake/random …)"
        raise UsageError(f"unknown model {spec!r}", hint=hint)
    return _guarded(provider), name


def _guarded(provider: str) -> Callable[..., Model]:
    """What opens the models of a provider. One of an installed package that fails, or gives no model, is named."""
    make: Callable[..., Model] = registry.find("models", provider)
    if registry.is_built_in("models", provider):
        return make

    @wraps(make)
    def opened(*arguments: Any, **options: Any) -> Model:
        model: Model = registry.guarded("models", provider, make, object)(*arguments, **options)
        if missing := _missing(model):
            raise registry.broken("models", provider, f"gave {model!r:.60}, which has no {', '.join(missing)}")
        return model

    return opened


def _whole(model: Model) -> Model:
    if missing := _missing(model):
        hint = "an object that answers has the attributes of unwaver.Model; or give provider/name"
        raise UsageError(f"{model!r:.60} is not a model: it has no {', '.join(missing)}", hint=hint)
    return model


def _missing(model: object) -> list[str]:
    return [name for name in _MINIMUM if not hasattr(model, name)]


_MINIMUM = ("name", "identity", "method", "settings", "reads", "deterministic", "answer", "close")
