"""The models that certify variants, opened."""

from __future__ import annotations

from collections.abc import Set

from unwaver.config import Config
from unwaver.engine.prepare import Chosen, writes
from unwaver.errors import UsageError
from unwaver.groups import WRITER
from unwaver.models import helpers
from unwaver.types import Model
from unwaver.variants.certifiers import SELF, certifiers_for, option_of


def certifiers(config: Config, chosen: Chosen, names: Set[str]) -> dict[str, Model]:
    """By the names that items know them by: `names`, and those that judge what is still to be written."""
    if writes(config):
        kinds = {group.kind for group in chosen.groups}
        names |= {j.model for kind in kinds for j in certifiers_for(kind, config.judges, config.writer) if j.model}
        names |= {f"embedding/{config.encoder}"} if config.encoder else set()
    return {name: _certifier(config, name) for name in sorted(names - {SELF})}


def _certifier(config: Config, name: str) -> Model:
    if name != WRITER:
        return helpers.open_consulted(config, name, option=option_of(name, config.judges))
    if not writes(config):
        hint = "name a judge: --judge entail=hf/PATH; or use the file that unwaver build wrote"
        raise UsageError("these variants wait for a verdict of the model that wrote them", hint=hint)
    return helpers.open_writer(config, {"temperature": 0.0})
