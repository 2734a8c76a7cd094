"""A file of questions is enough: what `unwaver run questions.csv --model …` leaves open is decided here.

    settled(Config(("questions.csv",), ("openai/m",))) -> Config(…, task="question", variants=("auto",),
                                                                 writer="openai/m", k=3)

A settled configuration is one like any other: run.json holds it, and settling it again changes nothing. `frozen`
makes the groups of a file without a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unwaver import registry
from unwaver.config import Config
from unwaver.console import Console
from unwaver.errors import UsageError
from unwaver.models import find_model, open_models
from unwaver.named_models import Named, named
from unwaver.suites.built import AUTO
from unwaver.suites.questions import TASK, Unclear, holds_questions, read_questions
from unwaver.types import Model
from unwaver.variants.auto import PARAPHRASES
from unwaver.variants.certifiers import RULES

if TYPE_CHECKING:
    from unwaver.engine.build_groups import Built

WRITING = ("logprob", "generate")  # the methods of language models
# how a model answers need not be how it writes
_OWN = ("temperature", "top_p", "max_tokens", "seed", "method", "num_beams", "stop", "no_repeat_ngram", "form")


def settled(config: Config, models: Sequence[str | Model] = (), console: Console | None = None) -> Config:
    """The configuration with what a file of questions calls for; as it is for anything else."""
    files = [Path(name) for name in config.suites if Path(name).is_file()]
    speak = console or Console()
    if not files or config.task not in (None, TASK):
        return _with_writer(config, models, speak) if config.variants == (AUTO,) else config
    if config.variants:
        config = _with_task(config, files, speak)
        return _with_writer(config, models, speak) if config.variants == (AUTO,) else config
    asked = [file for file in files if holds_questions(file, config.columns)]
    if not asked:
        return config
    if len(asked) < len(config.suites):
        other = next(name for name in config.suites if Path(name) not in asked)
        hint = f"run them separately: unwaver run {asked[0]} --model …"
        raise UsageError(f"{asked[0]} holds questions without variants, and {other} has groups", hint=hint)
    config = _with_task(replace(config, variants=(AUTO,)), files, speak)
    return _with_writer(config, models, speak)


def _with_task(config: Config, files: Sequence[Path], console: Console) -> Config:
    """With the column of the questions, where a person had to choose it. Several files may have several names."""
    for file in files:
        try:
            read_questions(file, columns=config.columns, labels=config.labels)
        except Unclear as e:
            if config.variants != (AUTO,) and config.task is None:
                return config  # items of another task
            if console.choose is None:
                raise
            column = console.choose(f"{e.message}. Which one?", e.candidates)
            config = replace(config, columns={**config.columns, TASK: column})
    return config if config.labels or config.task else replace(config, task=TASK)


def frozen(config: Config, models: Sequence[str | Model], out: Path, console: Console | None = None) -> Built:
    """Make the groups of a file of questions, have their paraphrases written and certified, and write all to `out`
    for any run to use, with an audit beside it. `models` are those that will be tested: the first that
    can write does, unless the configuration names a writer."""
    from unwaver.engine.build_groups import build

    return build(replace(settled(config, models, console), models=()), out, console)


# --- who writes -----------------------------------------------------------------------------------------------


def _with_writer(config: Config, models: Sequence[str | Model], console: Console) -> Config:
    """The model that is tested writes the paraphrases, if it can; else the rules for English do."""
    from unwaver.text.english import is_available

    if config.k is None:
        config = replace(config, k=PARAPHRASES)
    if config.writer is not None:
        return config
    for spec in models or config.models:
        if isinstance(spec, str) and _can_write(config, spec):
            return replace(config, writer=_plain(spec), writer_args=config.writer_args or _shared(config, spec))
    if config.lang == "en" and is_available():
        config = replace(config, writer=RULES)
    for line in _without_writer(config, models or config.models):
        console.say(line)
    return config


def _without_writer(config: Config, models: Sequence[str | Model]) -> list[str]:
    names = ", ".join(spec if isinstance(spec, str) else spec.name for spec in models)
    why = f"{names} cannot write paraphrases" if names else "no model is named that could write paraphrases"
    if config.writer == RULES:
        how = "unwaver uses its rules for English, which reword few short questions"
    else:
        how = "unwaver makes surface changes only (rules for English: pip install 'unwaver[english]')"
    return [f"{why}: {how}. To have a model write them: --writer openai/NAME"]


def _can_write(config: Config, spec: str) -> bool:
    """Whether it is a language model. A function of the user's own may be anything, and has to be named."""
    (model,) = open_models(replace(config, decode=()), [spec])
    with closing(model):
        return model.method in WRITING and "prompt" in model.reads


def _plain(spec: str) -> str:
    """ "openai/m,temperature=0,base_url=…" -> "openai/m,base_url=…"."""
    model, options = named(spec)
    return str(Named(model, {key: value for key, value in options.items() if key not in _OWN}))


def _shared(config: Config, spec: str) -> Mapping[str, str]:
    """What --model-arg says about where the model is."""
    known = registry.accepted(find_model(spec).make, config.model_args)
    return {key: str(value) for key, value in known.items() if key not in _OWN}
