"""How a model writes several paraphrases of one text.

The paper on semantic sensitivity has diverse beam search (temperature 0.3 to 0.6, at most 40 tokens), which
transformers no longer has. Ours, in its place:

    n-best sampling   each try draws a text again, one after another at temperature 0.3, 0.4, 0.5, 0.6
    n-best beams      a local model without sampling gives the n most likely texts of n beams: one group of
                      beams, as transformers has it

Where the user gives a temperature, it holds for every try. Temperature, number of beams and number of the try are
part of the key of an answer: nothing is asked twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from unwaver.config import Config
from unwaver.models.parts import Parts
from unwaver.types import Group, Model

PUBLISHED_KIND = "fooling"
TEMPERATURES = (0.3, 0.4, 0.5, 0.6)
MOST_TOKENS = 40
INSTEAD = "in place of diverse beam search, which transformers no longer has"
TRIES = 2  # for each variant that is wanted, unless said otherwise


def tries_of(config: Config) -> int:
    from unwaver.variants.paraphrase import K

    return config.tries or TRIES * (config.k or K)


def tries_for(model: Model, config: Config) -> int:
    """How many texts a writer gives of an item, at most."""
    return 1 if repeats_itself(model) and not beams_of(model, config) else tries_of(config)


def repeats_itself(model: Model) -> bool:
    """Whether asking for another paraphrase is a waste: nothing is drawn, on this machine or by a server. Of a
    function that is assumed, too: most do not look at the number of the try."""
    return model.deterministic or model.method == "python" or model.settings.get("temperature") == 0


def beams_of(model: Model, config: Config) -> int:
    """The number of beams whose texts are all taken, 0 if texts are drawn or the model has no beams."""
    return tries_of(config) if repeats_itself(model) and Parts(model).n_best else 0


def temperature_of(model: Model, config: Config, kind: str, attempt: int) -> float | None:
    """That of the nth try; None leaves it to the model."""
    if kind != PUBLISHED_KIND or repeats_itself(model) or is_given(config, "temperature"):
        return None
    return TEMPERATURES[attempt % len(TEMPERATURES)]


def is_given(config: Config, option: str) -> bool:
    """Whether the user gave this option of the writer."""
    return option in config.writer_args or re.search(rf'[,{{"]{option}"?[=:]', config.writer or "") is not None


def recorded(model: Model | None, config: Config, groups: Sequence[Group]) -> dict[str, Any]:
    """What run.json says of how the writer is asked: its prompts, and how it goes on."""
    from unwaver.asking.writing import recorded

    return {**recorded(config, groups), **(_generator(model, config, groups) if model else {})}


def _generator(model: Model, config: Config, groups: Sequence[Group]) -> dict[str, Any]:
    if beams := beams_of(model, config):
        return {"generator": {"name": "n-best beams", "beams": beams}}
    if not any(temperature_of(model, config, group.kind, 0) for group in groups):
        return {}
    return {"generator": {"name": "n-best sampling", "temperatures": list(TEMPERATURES), "note": INSTEAD}}


def said(model: Model, config: Config, kinds: Iterable[str]) -> str | None:
    """What a run says of how its writer goes on, None if there is nothing to say."""
    if beams := beams_of(model, config):
        return (
            f"{model.name} does not sample: unwaver takes the {beams} most likely texts of {beams} beams per item"
        )
    if repeats_itself(model) and tries_of(config) > 1:
        return (
            f"{model.name} is deterministic: unwaver asks it once per item. "
            "To get different paraphrases, add --writer-arg temperature=0.6"
        )
    if any(temperature_of(model, config, kind, 0) for kind in kinds):
        heats = ", ".join(f"{t:g}" for t in TEMPERATURES)
        return f"{model.name} writes by n-best sampling at temperatures {heats}, {INSTEAD}"
    return None
