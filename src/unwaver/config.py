"""The configuration of a run: what `unwaver run` was asked for, and what run.json holds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from unwaver.errors import UsageError
from unwaver.secrets import KEYS_BELONG, has_credentials, learn_arguments, learn_environment


@dataclass(frozen=True)
class Config:
    """Everything a run is made from; run.json holds it, and `unwaver run --from run.json` repeats it."""

    suites: tuple[str, ...]
    models: tuple[str, ...]
    model_args: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    shots: int = 0
    replicates: int = 1
    method: str | None = None
    system: str | None = None
    system_file: str | None = None  # read at once: its text becomes `system`
    tools: str | None = None  # a file with tools that are offered with every item that names none
    response_format: str | None = None  # the same with the format of the answer
    template: str | None = None
    form: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    normalise: bool = False
    decode: tuple[str, ...] = ()
    read: str = "text"
    unreadable: Literal["violate", "skip"] = "violate"
    cut: Literal["exclude", "keep"] = "exclude"
    # how the groups are found or made
    data_dir: str | None = None
    fetch: bool = False
    additive: str = "disjoint"
    additive_cap: int | None = None
    base_accuracy: bool = False
    corrected: bool = False
    source: str | None = None  # of paraphrases in paranlu: human, automatic
    bank: str | None = None
    signs: tuple[str, ...] = ()  # of CALM's kind signal
    min_score: float | None = None  # of paraphrases in truthfulqa
    core_seed: int | None = None  # of the facts and wordings in core
    tables: tuple[str, ...] = ()  # of facts, added to core
    shots_from: tuple[str, ...] = ()
    task: str | None = None
    kind: str | None = None
    labels: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    message: str | None = None  # of a conversation, which variants change; None: the last of the user
    writer: str | None = None
    writer_args: Mapping[str, str] = field(default_factory=dict)
    writer_prompt: str | None = None
    judges: tuple[str, ...] = ()
    k: int | None = None
    tries: int | None = None
    encoder: str | None = None
    lang: str = "en"
    antonyms: str | None = None
    review: tuple[str, ...] = ()
    epsilon: float | None = None
    domain: Mapping[str, str] = field(default_factory=dict)
    agree: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()
    compare_questions: bool = False
    theta: tuple[float, ...] = ()  # of C_S@θ
    # when it stops
    until: str | None = None
    alpha: float = 0.05
    # where it runs; none of these changes an answer
    device: str | None = None
    engine: str = "local"
    replicas: int | None = None
    gpus_per_replica: float | None = None
    cpus_per_replica: float | None = None
    out: str | None = None
    store: str | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    pilot: int | None = None
    batch: bool = False  # submit requests as batches of the server
    batch_out: str | None = None  # write them to this file instead
    batch_in: tuple[str, ...] = ()  # read results from these files
    yes: bool = False  # many requests to a paid service are all right

    PLACE = (
        *["device", "out", "store", "max_calls", "max_cost", "price_in", "price_out", "pilot", "yes", "replicas"],
        *["cut", "unreadable", "fetch", "base_accuracy", "corrected", "agree", "scorers", "cpus_per_replica"],
        *["compare_questions", "theta", "read", "until", "alpha", "domain", "engine", "gpus_per_replica"],
        *["batch", "batch_out", "batch_in"],
    )

    def __post_init__(self) -> None:
        if self.review != ():
            from unwaver.config_record import as_paths

            object.__setattr__(self, "review", as_paths(self.review))
        if self.system_file is not None:
            from unwaver.config_record import read_system

            read_system(self)
        if any("@" in text for texts in named_models(self).values() for text in texts):
            from unwaver.named_models import resolve_names

            resolve_names(self)
        _learn_secrets(self)
        if self.store and ":/" in self.store:
            from unwaver.store_address import kept_apart

            object.__setattr__(self, "store", kept_apart(self.store))
        _check_config(self)

    @property
    def id(self) -> str:
        """A hash of what decides the answers: the same command finds the same folder and goes on there."""
        settings = {k: v for k, v in asdict(self).items() if k not in self.PLACE}
        # folders of earlier versions keep their ids
        for later in _LATER:
            if settings[later] in (None, (), []):
                del settings[later]
        if len(self.review) < 2:
            settings["review"] = self.review[0] if self.review else None
        if (
            self.model_args
            or self.writer_args
            or any("," in t for texts in named_models(self).values() for t in texts)
        ):
            from unwaver.named_models import deciding

            settings = deciding(settings)
        return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:8]

    @property
    def folder(self) -> Path:
        if self.out:
            return Path(self.out)
        names = "+".join(re.sub(r"[^\w.-]+", "-", Path(s).name if Path(s).is_file() else s) for s in self.suites)
        return Path("runs") / f"{names[:60]}-{self.id}"


_LATER = (
    "source", "bank", "signs", "min_score", "shots_from", "tools", "response_format", "message", "system_file",
    "core_seed", "tables",
)  # fmt: skip
_NUMBERS = (
    "limit", "sample", "shots", "k", "tries", "pilot", "theta", "epsilon", "alpha", "replicates", "additive_cap",
    "max_calls", "max_cost", "price_in", "price_out", "engine", "replicas", "gpus_per_replica", "cpus_per_replica",
)  # fmt: skip
_TEXTS = ("system", "task", "kind", "labels", "columns", "map", "model_args", "writer_args", "lang", "variants")


def _check_texts(c: Config) -> None:
    for name in _TEXTS:
        value = getattr(c, name)
        parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
        for part in [parts] if isinstance(parts, str) else parts or ():
            try:
                str(part).encode()
            except UnicodeEncodeError:
                option = name.removesuffix("s").replace("_", "-") if name != "variants" else name
                raise UsageError(
                    f"--{option} {part!r} is not text in UTF-8",
                    hint="write it in UTF-8, or set the terminal and the script to UTF-8",
                ) from None


def _check_config(c: Config) -> None:
    _check_texts(c)
    if any(getattr(c, name) != getattr(Config, name) for name in _NUMBERS):
        from unwaver.config_numbers import check_numbers

        check_numbers(c)
    if c.until is not None:
        from unwaver.bars import until_bar

        bar = until_bar(c.until)
        if not isinstance(c.until, str):  # Python may give a Bar; run.json holds its text
            object.__setattr__(c, "until", str(bar))
    check_system(c.system)
    if c.limit is not None and c.sample is not None:
        raise UsageError("--limit and --sample cannot be combined", hint="give one of them")
    if c.batch and (c.batch_out or c.batch_in):
        raise UsageError("--batch cannot be combined with --batch-out and --batch-in", hint="give one of them")
    if (c.batch or c.batch_out or c.batch_in) and (c.until or c.pilot):
        raise UsageError("a batch cannot be combined with --until and --pilot", hint="leave one of them out")
    if c.form and c.template:
        raise UsageError("--form and --template cannot be combined", hint="give one of them")
    if c.unreadable not in ("violate", "skip"):
        raise UsageError(f"unreadable={c.unreadable!r}", hint="known: violate, skip")
    if c.cut not in ("exclude", "keep"):
        raise UsageError(f"cut={c.cut!r}", hint="known: exclude, keep")
    for option, texts in named_models(c).items():
        if any(map(has_credentials, texts)):
            raise UsageError(f"{option} holds a user name or password", hint=KEYS_BELONG)


def check_system(text: object) -> None:
    """Refuse "@FILE", which other tools read from the file: it would be sent as it is."""
    if isinstance(text, str) and text.startswith("@"):
        hint = f"to read the system message from a file: --system-file {text[1:] or 'FILE'}"
        raise UsageError(f"the system message is {text!r}, which looks like a file", hint=hint)


def named_models(c: Config) -> dict[str, list[str]]:
    """Everything that may name a model or where it is, by the option that gives it."""
    return {
        "--model": [*c.models],
        **{f"--model-arg {name}": [str(value)] for name, value in c.model_args.items()},
        "--writer": [c.writer or ""],
        **{f"--writer-arg {name}": [str(value)] for name, value in c.writer_args.items()},
        "--judge": [*c.judges],
        "--agree": [*c.agree],
        "--scorer": [*c.scorers],
        "--encoder": [c.encoder or ""],
    }


def _learn_secrets(c: Config) -> None:
    learn_environment()
    if c.model_args or c.writer_args:
        from unwaver.secret_sources import learn

        learn("", (c.model_args, c.writer_args))
    named = named_models(c)
    learn_arguments([text for option in ("--model", "--judge", "--agree", "--scorer") for text in named[option]])
