"""Back ends, one file each. `open_models` goes from "provider/name" to a model with its options bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unwaver import registry
from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.types import Model


def open_models(config: Config) -> list[Model]:
    if not config.models:
        raise UsageError("no model given", hint="add --model hf/PATH, openai/NAME or fake/random")
    makers = [_provider(spec) for spec in config.models]
    for name in config.model_args:
        if not any(name in registry.accepted(make, {name: ""}) for make, _ in makers):
            registry.bind(makers[0][0], {name: ""}, config.models[0])  # says what is known
    general = {"method": config.method, "system": config.system, "device": config.device, "seed": config.seed}
    models = []
    for (make, name), spec in zip(makers, config.models, strict=True):
        own = registry.bind(make, registry.accepted(make, config.model_args), spec)
        settings = registry.accepted(make, {**general, "map": dict(config.map) or None})
        models.append(make(name, **{**settings, **own}))
    return models


def _provider(spec: str) -> tuple[Callable[..., Model], str]:
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
    return registry.find("models", provider), name
