"""Back ends, one file each. `open_models` goes from "provider/name" to a model with its options bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import unwaver.registry as registry  # `from unwaver import` would look for a public name first
from unwaver.config import Config, check_system
from unwaver.errors import UsageError, near
from unwaver.models.decoding import decoding
from unwaver.secrets import KEYS_BELONG, has_credentials
from unwaver.types import Model


class Found(NamedTuple):
    """Who opens a model, and what its name holds: "fake/random,seed=3" -> (…, "random", {"seed": 3})."""

    spec: str  # provider/name
    make: Callable[..., Model]
    name: str
    options: Mapping[str, object]


def open_models(config: Config, given: Sequence[str | Model]) -> list[Model]:
    """Open those that are named; objects stay what they are."""
    makers = {spec: find_model(spec) for spec in given if isinstance(spec, str)}
    for name in config.model_args if makers else ():
        if not any(registry.accepted(found.make, {name: ""}) for found in makers.values()):
            from unwaver.bound import bind

            found = next(iter(makers.values()))
            bind(found.make, {name: ""}, found.spec)  # says what is known
    ways = [decoding(name) for name in config.decode]
    if not ways:
        return [_open(config, makers[m], {}) if isinstance(m, str) else _given(config, m) for m in given]
    return [_decoding(config, m, makers, way) for m in given for way in ways]


def _given(config: Config, model: Model) -> Model:
    from unwaver.models.foreign import whole

    return on_engine(config, whole(model), None, {})


def _decoding(config: Config, model: str | Model, makers: Mapping[str, Found], way: Mapping[str, object]) -> Model:
    """The model, set to decode in this way; it writes, whatever it would do otherwise."""
    if not isinstance(model, str):
        raise UsageError("--decode needs a model by name", hint="give provider/name, or leave decode out")
    if lacking := [option for option in way if not registry.accepted(makers[model].make, {option: ""})]:
        raise UsageError(
            f"{model} has no option {lacking[0]}, which this decoding sets",
            hint="leave --decode out, or name another decoding",
        )
    return _open(config, makers[model], {"method": config.method or "generate", **way})


def find_model(spec: str, option: str = "--model ") -> Found:
    """The provider of a model and the options in its name, bound; `option` is the text before it."""
    if "," not in spec and not spec.startswith("@"):
        return Found(spec, *_provider(spec), {})
    from unwaver.bound import bind
    from unwaver.named_models import named

    model, options = named(spec, option)
    make, name = _provider(model)
    return Found(model, make, name, bind(make, options, model, f"{option}{model},"))


def _open(config: Config, found: Found, decode: Mapping[str, object]) -> Model:
    general = {name: getattr(config, name) for name in ("method", "form", "system", "device", "seed")}
    settings = registry.accepted(found.make, {**general, "map": dict(config.map) or None})
    own: Mapping[str, object] = {}
    if config.model_args:
        from unwaver.bound import bind

        own = bind(found.make, registry.accepted(found.make, config.model_args), found.spec)
    options = {**settings, **own, **found.options, **decode}
    check_system(options.get("system"))
    return on_engine(config, found.make(found.name, **options), found, options)


def on_engine(config: Config, model: Model, found: Found | None, options: Mapping[str, object]) -> Model:
    if config.engine == "local":
        return model
    from unwaver.models.on_ray import spread

    return spread(config, model, found, options)


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
    """What opens the models of a provider."""
    make: Callable[..., Model] = registry.find("models", provider)
    if registry.is_built_in("models", provider):
        return make
    from unwaver.models.foreign import guarded

    return guarded(provider, make)
