"""The file of a study, as types: docs/train.md explains each key."""

from __future__ import annotations

from typing import Annotated

import msgspec

from unwaver.typed import AboveZero, Filled

Fraction = Annotated[float, msgspec.Meta(gt=0, le=1)]
Fractions = Annotated[list[Fraction], msgspec.Meta(min_length=1)]
Two = Annotated[list[Filled], msgspec.Meta(min_length=2, max_length=2)]
ByTask = str | dict[str, str]  # one text for all tasks, or one for each of some


class Common(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a study and its settings may have."""

    recipe: str = ""
    lr: float = 0.0
    batch: AboveZero = 1
    epochs: AboveZero = 1
    length: AboveZero = 1
    patience: AboveZero = 1
    test_rows: AboveZero = 1
    fractions: Fractions = msgspec.field(default_factory=lambda: [1.0])
    form: ByTask = ""
    method: ByTask = ""


class EvaluationRecord(msgspec.Struct, forbid_unknown_fields=True):
    split: str = ""
    variants: list[Filled] = []
    suite: str = ""
    writer: str = ""
    k: AboveZero = 1
    domain: str = ""


class TaskRecord(msgspec.Struct, forbid_unknown_fields=True):
    train: str = ""
    test: str = ""
    rows: AboveZero = 1
    form: str = ""
    method: str = ""
    evaluate: list[str | EvaluationRecord] = []


class SettingRecord(Common, kw_only=True):
    multi_task: bool = False
    pool: bool = False
    tasks: list[Filled] = []
    seeds: AboveZero | dict[str, AboveZero] = 1
    variants: list[Filled] | dict[str, list[Filled]] = []
    attack: list[Filled] | dict[str, list[Filled]] = []
    start: str = ""
    share: float = 0.0
    consistency: float = 0.0
    bar: float = 0.0
    writer: str = ""
    antonyms: str = ""
    lang: str = ""
    adversarial: str = ""
    samples: AboveZero = 1
    encoder: str = ""
    masked_lm: str = ""
    head: str = ""
    vectors: str = ""
    dimension: AboveZero = 1
    victim: str = ""
    candidates: AboveZero = 1
    pos: str = ""
    fooling_only: bool = False


class CompareRecord(msgspec.Struct, forbid_unknown_fields=True):
    settings: Two | None = None
    bases: Two | None = None
    sizes: Two | None = None
    tasks: Two | None = None
    setting: str = ""
    paired: bool = False
    alpha: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1


class StudyRecord(Common, kw_only=True):
    bases: Annotated[list[Filled], msgspec.Meta(min_length=1)]
    tasks: Annotated[dict[str, TaskRecord], msgspec.Meta(min_length=1)]
    settings: Annotated[dict[str, SettingRecord], msgspec.Meta(min_length=1)]
    families: dict[str, dict[str, str]] = {}
    seeds: AboveZero = 1
    draw_by_seed: bool = False
    paired: bool = False
    limit: AboveZero = 1
    compare: list[Two | CompareRecord] = []
    base_accuracy: bool = False
