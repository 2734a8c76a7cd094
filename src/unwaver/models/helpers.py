"""Models that are not under test: they write paraphrases, certify them, or compare and rate answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import unwaver.registry as registry  # as in unwaver.models
from unwaver.bound import bind, keywords
from unwaver.config import Config
from unwaver.errors import UnwaverError, UsageError, near
from unwaver.models import Found, find_model, on_engine
from unwaver.named_models import renamed
from unwaver.types import Model


def open_consulted(
    config: Config, spec: str, options: Mapping[str, object] | None = None, option: str = "--judge …="
) -> Model:
    """A model that judges variants or compares answers: with the device and the label map of the run. `option` is
    the text before the model on the command line."""
    found = find_model(spec, option)
    general = {"device": config.device, "map": dict(config.map) or None}
    given = {**found.options, **(options or {})}
    known = registry.accepted(found.make, dict.fromkeys(given, ""))  # None is an answer here: max_tokens=none
    settings = {**registry.accepted(found.make, general), **{name: given[name] for name in known}}
    return _opened(config, found, settings, f"{option}{found.spec},")


def open_writer(config: Config, settings: Mapping[str, object]) -> Model:
    """The model that writes paraphrases; `settings` hold where neither its name nor --writer-arg says anything."""
    _check_writer(config.writer or "")
    found = find_model(config.writer or "", "--writer ")
    general = {"method": "generate", "device": config.device, "seed": config.seed}
    own = bind(found.make, config.writer_args, found.spec, "--writer-arg ")
    known = registry.accepted(found.make, {**general, **settings})
    return _opened(config, found, {**known, **own, **found.options}, "--writer-arg ")


def _check_writer(writer: str) -> None:
    """What is not the name of a model was perhaps meant to be one of the two writers that are not models."""
    provider, known = writer.partition("/")[0], registry.names("models")
    if provider not in known:
        meant = near(provider, [*known, "rules", "bank"])
        hint = f"{meant} A writer is rules, bank/FILE or a model: hf/PATH, openai/NAME"
        raise UsageError(f"--writer {writer}: unknown writer", hint=hint)


def _opened(config: Config, found: Found, settings: Mapping[str, object], written: str) -> Model:
    try:
        return on_engine(config, found.make(found.name, **settings), found, settings)
    except UnwaverError as e:
        raise renamed(e, written) from e.__cause__


def shared_options(
    make: Callable[..., Any], what: str, spec: str, given: Mapping[str, str], option: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of an agreement or scorer, and those of the model it asks: judge=openai/NAME,rubric=…,base_url=…"""
    found = find_model(spec, option)
    written = f"{option}{found.spec},"
    own = registry.accepted(make, given)
    rest = {key: value for key, value in given.items() if key not in own}
    of_model = registry.accepted(found.make, rest)
    if unknown := [key for key in rest if key not in of_model]:
        known = [*keywords(make), *keywords(found.make)]
        hint = near(unknown[0], known)
        message = f"{written}{unknown[0]}: neither {what} nor {found.spec} has an option {unknown[0]!r}"
        raise UsageError(message, hint=hint)
    bound = bind(found.make, of_model, found.spec, written)
    return bind(make, own, what, written), {**found.options, **bound}
