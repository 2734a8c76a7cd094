"""Options that change nothing in this run or build, said in one line each: which option, and when it matters.

    --alpha has no effect: it belongs to --until

An option that a suite, a builder or a model takes is an argument of the function that opens it: what none of those
named here takes has no effect. A permission that was not needed (--force) gets no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unwaver.registry as registry
from unwaver.agree.comparison import parse_agreements
from unwaver.asking.repeats import repeats_note
from unwaver.config import Config
from unwaver.config_record import option_of
from unwaver.errors import UsageError
from unwaver.groups import is_free_text
from unwaver.groups.from_lines import holds_groups
from unwaver.groups.many import few
from unwaver.models import find_model
from unwaver.models.parts import Parts
from unwaver.types import Model

if TYPE_CHECKING:
    from unwaver.engine.prepare import Prepared

METHODS = ("logprob", "generate", "classify")
_OWN = "it describes a file of your own, and {suites} is not one"
_WRITES = "it is for paraphrases, which the variant paraphrase and the suite sensitivity make"
_SIGNAL = "none of these groups is of the kind signal, as in calm and the variant signal"
_PUBLISHED = "it is for published data, and {suites} needs none"
# when an option of suites and builders matters
_SUITES = {
    "task": _OWN,
    "kind": _OWN,
    "labels": _OWN,
    "columns": _OWN,
    "writer": _WRITES,
    "judges": _WRITES,
    "k": _WRITES,
    "encoder": _WRITES,
    "lang": "it is for the variants negate, antonym, paraphrase and surface_typo",
    "antonyms": "it is for the variant antonym",
    "signs": _SIGNAL,
    "min_score": "it is for the suite truthfulqa",
    "core_seed": "it is for the suites core and core-mini",
    "tables": "it is for the suites core and core-mini",
    "data_dir": _PUBLISHED,
    "fetch": _PUBLISHED,
}
_OF_VARIANTS = {
    "kind": "each variant has a relation of its own",
    "labels": "the items have the labels of their task",
}
_OF_GROUPS = {
    "labels": "the groups in this file have their choices",
    "columns": "it is for a table, and this is a file of groups",
    "judges": "the groups in this file name who certifies them",
}
_BUDGET = ("store", "pilot", "max_calls", "max_cost", "price_in", "price_out")


def tell(prepared: Prepared) -> None:
    """Say what has no effect, before anything is asked."""
    for line in lines(prepared):
        prepared.console.say(line)


def lines(prepared: Prepared) -> Iterator[str]:
    for name, why in {
        **dict(_of_suites(prepared)),
        **dict(_of_run(prepared)),
        **dict(_of_models(prepared)),
        **dict(_of_conversations(prepared)),
    }.items():
        yield f"{option_of(name)} has no effect: {why}"
    yield from _on_models(prepared)


def _given(config: Config, names: Iterable[str]) -> list[str]:
    """Those that were given another value than the default."""
    plain = Config((), ())
    return [name for name in names if getattr(config, name) != getattr(plain, name)]


def _of_conversations(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Conversations are sent as they are, and other items have no messages."""
    config = prepared.config
    asked = [item for group in few(prepared.groups) for item in group.items if item.role != "judge"]
    spoken = [item for item in asked if item.messages]
    if config.message and not (spoken and config.variants):
        yield "message", "it is for variants of conversations: rows with messages or a system column"
    if not asked or len(spoken) < len(asked):
        return
    for name in _given(config, ["template", "shots", "shots_from", "form"]):
        yield name, "conversations are sent as they are, without a template and solved examples"
    if config.system is not None and all(any(m.role == "system" for m in item.messages) for item in spoken):
        yield "system", "every conversation has a system message of its own"


# --- suites, files and builders ---------------------------------------------------------------------------------


def _of_suites(prepared: Prepared) -> Iterator[tuple[str, str]]:
    config, groups = prepared.config, few(prepared.groups)
    openers = [taken for name in config.suites for taken in _openers(name, config)]
    for name in _given(config, _SUITES):
        if not any(name in taken for taken in openers):
            yield name, _reason(name, config)
    if not config.variants and not _no_file(config):
        if config.kind and all(group.kind != config.kind for group in groups):
            yield "kind", "every row names its relation"
        if config.task and ".toml" not in config.task and all(group.task != config.task for group in groups):
            yield "task", "every row names its task"
    joins = any(group.kind == "additive" for group in groups)
    for name in _given(config, ["additive", "additive_cap"]):
        if not joins:
            yield name, "none of these groups is additive"
        elif name == "additive_cap" and config.additive != "all":
            yield name, "it belongs to --additive all"
    signs = any(group.kind == "signal" for group in groups)
    for name in _given(config, ["signs", "theta"] if not signs else []):
        yield name, _SIGNAL


def _openers(name: str, config: Config) -> Iterator[Mapping[str, Any]]:
    """The arguments of what opens a suite or a file, and of the builders that make variants of it."""
    from unwaver.suites import built, own

    path = Path(name)
    if not path.is_file():
        yield registry.accepted(registry.find("suites", name.strip("/").partition("/")[0]), _ANY)
    elif config.variants:
        yield {"task": "", "columns": "", **({"labels": ""} if config.task in (None, "question") else {})}
        for variant in built.names_of(config.variants):
            yield registry.accepted(registry.find("variants", variant), _ANY)
    elif holds_groups(path):
        yield {"task": "", "kind": ""}
    else:
        yield registry.accepted(own.suite, _ANY)


_ANY = dict.fromkeys(_SUITES, "")


def _no_file(config: Config) -> bool:
    return not any(Path(name).is_file() for name in config.suites)


def _reason(name: str, config: Config) -> str:
    files = [Path(suite) for suite in config.suites if Path(suite).is_file()]
    if files and config.variants and name in _OF_VARIANTS:
        return _OF_VARIANTS[name]
    if files and not config.variants and name in _OF_GROUPS and any(map(holds_groups, files)):
        return _OF_GROUPS[name]
    return _SUITES[name].format(suites=", ".join(config.suites))


# --- what belongs to another option -----------------------------------------------------------------------------


def _of_run(prepared: Prepared) -> Iterator[tuple[str, str]]:
    config = prepared.config
    given = set(_given(config, Config.__dataclass_fields__))
    if "alpha" in given and config.until is None:
        yield "alpha", "it belongs to --until"
    for name in ("writer_args", "tries"):
        if name in given and prepared.writer is None:
            yield name, "it is for a model that writes: --writer openai/NAME"
    asked = prepared.models or prepared.panel.certifiers or prepared.writer
    for name in _BUDGET if not asked else ():
        if name in given:
            yield name, "no model is asked"
    free = any(map(is_free_text, few(prepared.groups)))
    for name in ("agree", "scorers", "read"):
        if name in given and not free:
            yield name, "all items have labels to choose from, so no answer is free text"
    if "compare_questions" in given and not (free and any(a.model for a in parse_agreements(config.agree))):
        yield "compare_questions", "no agreement asks a model"
    if "normalise" in given and all(model.method != "logprob" for model in prepared.models):
        yield "normalise", "it is for --method logprob, and no model here answers that way"


# --- models -----------------------------------------------------------------------------------------------------


def _of_models(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Options that no model takes; of a method, also one that no model could take."""
    config = prepared.config
    for name, specs, why in (
        ("method", _tested(prepared), "none of these models has a choice of methods"),
        ("device", [*_tested(prepared), *_consulted(config)], "no model here runs on a device of this machine"),
        ("map", [*_classifiers(prepared), *_consulted(config)], "no model here has labels of its own"),
    ):
        if not _given(config, [name]) or any(_takes(spec, name) for spec in specs):
            continue
        if name == "method" and config.method not in METHODS:
            hint = "language models: --method logprob or --method generate; leave it out for the model's own"
            raise UsageError(f"--method {config.method}: unknown method", hint=hint)
        yield name, why


def _tested(prepared: Prepared) -> list[str]:
    """What names each model under test; one for each decoding."""
    return [spec for spec in prepared.config.models for _ in prepared.config.decode or ("",)]


def _classifiers(prepared: Prepared) -> list[str]:
    models = zip(_tested(prepared), prepared.models, strict=False)  # build has none
    return [spec for spec, model in models if model.method not in ("logprob", "generate")]


def _consulted(config: Config) -> list[str]:
    """Everyone else who may be asked: writer, certifiers, agreements, scorers."""
    from unwaver.agree.scorers import parse_scorers
    from unwaver.variants.certifiers import is_model, parse_certifier

    return [
        *([config.writer] if config.writer and is_model(config.writer) else []),
        *(certifier.model for certifier in map(parse_certifier, config.judges)),
        *(agreement.model for agreement in parse_agreements(config.agree)),
        *(scorer.model for scorer in parse_scorers(config.scorers)),
        *([f"embedding/{config.encoder}"] if config.encoder else []),
    ]


def _takes(spec: str, option: str) -> bool:
    try:
        make: Callable[..., Any] = find_model(spec).make
    except UsageError:  # an object of the caller's, or "self"
        return False
    return bool(registry.accepted(make, {option: ""}))


def _on_models(prepared: Prepared) -> Iterator[str]:
    """What one model makes nothing of, while another may."""
    config = prepared.config
    prompting = [option_of(name) for name in _given(config, ["template", "shots", "system"])]
    for spec, model in zip(_tested(prepared), prepared.models, strict=True):
        if prompting and "prompt" not in model.reads:
            yield f"{model.name} does not read prompts: {', '.join(prompting)} has no effect on it"
        elif config.system is not None and not _takes(spec, "system"):
            yield f"{model.name} takes no system message: --system has no effect on it"
        if without := _without_tools(prepared, model):
            yield without
        if note := repeats_note(prepared.groups, model, config.replicates):
            yield f"{model.name}: {note}"


def _without_tools(prepared: Prepared, model: Model) -> str:
    """Tools and formats that a model is not told of."""
    asked = [
        words
        for name, words in (("tools", "tools"), ("response_format", "a response format"))
        if name not in Parts(model).takes
        and any(getattr(item, name) for group in few(prepared.groups) for item in group.items)
    ]
    return (
        f"{model.name} takes no {' and no '.join(a.removeprefix('a ') for a in asked)}: not sent" if asked else ""
    )
