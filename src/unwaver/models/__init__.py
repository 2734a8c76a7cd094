"""Back ends, one file each. `open_models` goes from "provider/name" to a model with its options bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from unwaver import registry
from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.types import Model


def open_models(config: Config, given: Sequence[str | Model]) -> list[Model]:
    """Open those that are named; objects stay what they are."""
    if not given:
        raise UsageError("no model given", hint="add --model hf/PATH, openai/NAME or fake/random")
    makers = {spec: _provider(spec) for spec in given if isinstance(spec, str)}
    for name in config.model_args if makers else ():
        if not any(registry.accepted(make, {name: ""}) for make, _ in makers.values()):
            spec, (make, _) = next(iter(makers.items()))
            registry.bind(make, {name: ""}, spec)  # says what is known
    return [_open(config, m, *makers[m]) if isinstance(m, str) else m for m in given]


def _open(config: Config, spec: str, make: Callable[..., Model], name: str) -> Model:
    general = {"method": config.method, "system": config.system, "device": config.device, "seed": config.seed}
    settings = registry.accepted(make, {**general, "map": dict(config.map) or None})
    own = registry.bind(make, registry.accepted(make, config.model_args), spec)
    return make(name, **{**settings, **own})


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
