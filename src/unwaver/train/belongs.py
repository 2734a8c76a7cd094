"""Options of `unwaver train` that belong to another one, refused without it: a training takes too long to find out
afterwards that an option had no effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields

from unwaver import registry
from unwaver.errors import UsageError
from unwaver.suites.built import names_of
from unwaver.train.attack import BAE, RECIPES, TEXTFOOLER
from unwaver.train.own_bases import BILSTM
from unwaver.train.setup import Setup

_ADVERSARIAL = (
    "samples", "bar", "encoder", "masked_lm", "attack", "victim", "candidates", "pos", "fooling_only",
)  # fmt: skip
_OF_RECIPES = ("victim", "candidates", "pos", "fooling_only")
_BUILDERS = {"writer": "paraphrase", "antonyms": "antonym", "lang": "negate"}


def check_options(setups: Sequence[Setup]) -> None:
    """Refuse an option that none of the models to be trained makes use of."""
    missing = [_missing(setup) for setup in setups]
    for name in sorted(set.intersection(*map(set, missing))):
        option, needed = "--" + name.replace("_", "-"), missing[0][name]
        raise UsageError(f"{option} has no effect without {needed}", hint=f"add {needed}, or leave {option} out")


def _missing(setup: Setup) -> dict[str, str]:
    """Options that were given without the one that they belong to: {"samples": "--adversarial synonym"}."""
    defaults = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(setup)}
    given = {name for name, default in defaults.items() if getattr(setup, name) != default}
    found: dict[str, str] = {}
    if not setup.adversarial:
        found |= dict.fromkeys(_ADVERSARIAL, "--adversarial")
    else:
        if setup.adversarial not in ("masked-lm", BAE):
            found["masked_lm"] = "--adversarial masked-lm or bae"
        if setup.adversarial not in RECIPES:
            found |= dict.fromkeys(_OF_RECIPES, "--adversarial bae or textfooler")
    if setup.base != BILSTM and setup.adversarial != TEXTFOOLER:
        found["vectors"] = "--base bilstm or --adversarial textfooler"
    if not setup.test_split:
        found["test_rows"] = "--test-split"
    variants = [name for names in setup.variants.values() for name in names]
    if not variants:
        found["share"] = "--variants"
    builders = [registry.find("variants", name) for name in names_of(variants)] if variants else []
    for name, variant in _BUILDERS.items():
        if not any(registry.accepted(make, {name: ""}) for make in builders):
            found[name] = f"--variants {variant}"
    return {name: needed for name, needed in found.items() if name in given}
