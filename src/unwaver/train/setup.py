"""What `unwaver train` was asked for, checked, and the data it leads to."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from unwaver.errors import UsageError, near
from unwaver.models.hf import form_of
from unwaver.models.hf_common import import_torch, pick_device
from unwaver.models.trained import PLAIN, check_form, read_trained
from unwaver.models.word_vectors import check_vectors
from unwaver.suites.library import library
from unwaver.tasks import CALM, T5, Task, open_task
from unwaver.tasks.choice import CHOICE, check_choice
from unwaver.tasks.paranlu_names import TASKS
from unwaver.train.attack import KEEP, RECIPES, Attack, check_attack
from unwaver.train.base import CHOOSE, CLASSIFY, TEXT, base_identity, open_base
from unwaver.train.consistency import checked
from unwaver.train.data import Labelled, drawn, held_out, labelled
from unwaver.train.own_bases import BILSTM, OWN, check_own, file_hash
from unwaver.train.pool import check_pool
from unwaver.train.recipes import Recipe, recipe_for
from unwaver.types import Item, replace

TRAIN, ALL = "train", "*"
BY_TASK = ("form", "train_split", "test_split", "rows", "variants", "attack")


@dataclass(frozen=True)
class Setup:
    """One model for several seeds: of one task, or of several that share an encoder (`multi_task`) or all of it
    (`pool`).

    `form`, `train_split`, `test_split`, `rows` and `variants` hold for the tasks by name, or for all as "*".
    """

    tasks: tuple[str, ...]
    base: str
    multi_task: bool = False
    recipe: str = "small"
    head: str | None = None  # "classify", "text" or "choose"; None: as the base's architecture has it
    form: Mapping[str, str] = field(default_factory=dict)
    train_split: Mapping[str, str] = field(default_factory=dict)
    test_split: Mapping[str, str] = field(default_factory=dict)
    fraction: float = 1.0
    rows: Mapping[str, int] = field(default_factory=dict)
    test_rows: int | None = None
    # pairs of an item and a variant of it
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    share: float = 1.0
    consistency: float = 0.0
    writer: str | None = None
    antonyms: str | None = None
    lang: str = "en"
    # label-preserving substitutions of words
    adversarial: str | None = None
    samples: int = 5
    bar: float = 0.8
    encoder: str | None = None
    masked_lm: str | None = None
    attack: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # fields, by task
    victim: str | None = None
    candidates: int = 50
    pos: str = KEEP
    fooling_only: bool = False
    # instead of what the recipe says
    lr: float | None = None
    batch: int | None = None
    epochs: int | None = None
    length: int | None = None
    patience: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    # whether each seed draws its own rows and hold-out, and the seed of the draw
    draw_by_seed: bool = False
    draw: int = 0
    pool: bool = False  # several sets with the same labels, one head
    # a file of word vectors, for bases without weights and for neighbours of words; or how many numbers each has
    vectors: str | None = None
    dimension: int | None = None
    start_form: str | None = None  # of a start that is not trained yet: the form that it will be trained in
    # where it runs; none of these changes the weights
    data_dir: str | None = None
    device: str | None = None

    PLACE = ("data_dir", "device", "test_split", "test_rows", "start_form")
    # not in the id of a model that has them as they always were, so that models of earlier versions are known
    LATER: ClassVar[Mapping[str, Any]] = {
        "head": None, "draw": 0, "pool": False, "vectors": None, "dimension": None, "attack": {}, "victim": None,
        "candidates": 50, "pos": KEEP, "fooling_only": False,
    }  # fmt: skip

    def __post_init__(self) -> None:
        if not self.tasks:
            raise UsageError("no task to train", hint="name one: unwaver train mrpc --base … --out …")
        if self.pool:
            check_pool([task_and_form(name)[0] for name in self.tasks], self.multi_task)
        elif len(self.tasks) > 1 and not self.multi_task:
            hint = "add --multi-task, or --pool for sets with the same labels"
            raise UsageError("several tasks in one model need heads of their own", hint=hint)
        self._check_numbers()
        self._check_names()
        check_own(self)
        if self.consistency and not any(self.variants.values()):
            raise UsageError("a consistency loss needs pairs", hint="add --variants swap, or reverse, signal …")

    def _check_numbers(self) -> None:
        for name, value, low, high, hint in (
            ("consistency", self.consistency, 0, 1e6, "0 is off, 1 weighs as much as the labels"),
            ("share", self.share, 1e-9, 1, "0.5 is every second item"),
            ("bar", self.bar, -1, 1, "a cosine: 0.8 keeps texts that are very similar"),
            ("test-rows", 1 if self.test_rows is None else self.test_rows, 1, math.inf, "leave it out for all"),
        ):
            if not low <= value <= high:
                raise UsageError(f"--{name} is {value:g}", hint=hint)

    def _check_names(self) -> None:
        if self.head not in (None, CLASSIFY, TEXT, CHOOSE):
            raise UsageError(f"--head {self.head}", hint=near(self.head, (CLASSIFY, TEXT, CHOOSE)))
        if self.head == CHOOSE and (self.multi_task or self.form):
            other = "--multi-task" if self.multi_task else "--form"
            hint = f"leave {other} out: one head scores every alternative, in a form of its own"
            raise UsageError(f"--head choose and {other} cannot be combined", hint=hint)
        known = [task_and_form(task)[0].name for task in self.tasks]
        for option in BY_TASK:
            for name in getattr(self, option):
                if name != ALL and name not in known:
                    told = "--" + option.replace("_", "-")
                    raise UsageError(f"{told}: {name} is not trained here", hint=near(name, known))

    def variants_of(self, task: str) -> tuple[str, ...]:
        return self.variants.get(task, self.variants.get(ALL, ()))

    def of(self, table: Mapping[str, str], task: str, otherwise: str | None) -> str | None:
        return table.get(task, table.get(ALL, otherwise))

    def at(self, seed: int) -> Setup:
        """For one seed: with the rows that it draws, where seeds draw their own."""
        return replace(self, draw=seed) if self.draw_by_seed and self.draw != seed else self

    @cached_property
    def parts(self) -> list[TaskData]:
        """The data of each task, drawn and divided; what is wrong with files is said here, before any training."""
        files = library(Path(self.data_dir).expanduser() if self.data_dir else None)
        found = []
        for name in self.tasks:
            task, form = self.task_in_form(name)
            split = self.of(self.train_split, task.name, TRAIN) or TRAIN
            rows = self.rows.get(task.name, self.rows.get(ALL))
            read = labelled(task, split, files, self.columns)
            data = drawn(read, fraction=self.fraction, rows=rows, seed=self.draw)
            test = self.of(self.test_split, task.name, None)
            tested = labelled(task, test, files, self.columns) if test else None
            if tested is not None and self.test_rows is not None:
                tested = drawn(tested, rows=self.test_rows)
            found.append(TaskData(task, form, data, tested, self.draw))
            found[-1].check()
        if len({part.task.name for part in found}) < len(found):
            raise UsageError("a task is named twice", hint="name each once")
        return found

    def task_in_form(self, name: str) -> tuple[Task, str]:
        """A task and the form that it is trained in: the one asked for, or by the head, the base and the task."""
        task, usual = task_and_form(name)
        asked = self.of(self.form, task.name, None)
        form = check_form(asked or usual)
        task.form_named("" if form == PLAIN else form)
        if self.head == CHOOSE:
            check_choice(task)
            return task, CHOICE
        return task, form if asked or not self._is_t5 else T5

    @cached_property
    def _is_t5(self) -> bool:
        """Whether the base reads tasks as T5 was trained to; what has learnt another form goes on with that. With
        {seed} in its name, the first seed tells."""
        if self.head in (CLASSIFY, CHOOSE):
            return False
        if self.start_form is not None:
            return self.start_form == T5
        path, config = open_base(self.base.replace("{seed}", "0"))
        return form_of(config, read_trained(Path(path)), None) == T5

    def check(self) -> None:
        """Say what is wrong now, not when the training begins; a base that is trained first is not there yet."""
        for part in self.parts:
            if names := self.variants_of(part.task.name):
                checked(names, part.form, self.share, {"writer": self.writer})
        if self.asked_attack is not None:
            check_attack(self.asked_attack, [part.task for part in self.parts])
        if self.device not in (None, "cpu"):
            pick_device(import_torch(), self.device)
        if self.vectors:
            check_vectors(Path(self.vectors).expanduser())
        family = "" if "{seed}" in self.base else str(open_base(self.base)[1].get("model_type", ""))
        if family == BILSTM and self.base not in OWN:
            hint = "begin again: --base bilstm"
            raise UsageError("a BiLSTM cannot be trained further", file=self.base, hint=hint)
        self.recipe_of(family)

    @property
    def asked_attack(self) -> Attack | None:
        if not self.adversarial:
            return None
        names = (f.name for f in fields(Attack) if f.name not in ("way", "fields"))
        return Attack(self.adversarial, fields=self.attack, **{name: getattr(self, name) for name in names})

    def recipe_of(self, family: str) -> Recipe:
        changed = {name: getattr(self, name) for name in ("lr", "batch", "epochs", "length", "patience")}
        return recipe_for(self.recipe, [part.task.name for part in self.parts], family, **changed)

    def id(self, seed: int) -> str:
        """A hash of what decides the weights: only what belongs to it is gone on with."""
        if self.at(seed) is not self:
            return self.at(seed).id(seed)
        known = asdict(self)
        without = (*self.PLACE, "draw_by_seed", *(k for k, usual in self.LATER.items() if known[k] == usual))
        settings = {k: v for k, v in known.items() if k not in without}
        rows = [
            [part.form, *((tuple(i.fields.values()), i.accepted) for i in part.data.items)] for part in self.parts
        ]
        if self.vectors:
            settings["vectors"] = file_hash(self.vectors)
        settings["base"] = base_identity(self.base.replace("{seed}", str(seed)))
        if self.asked_attack is not None and self.adversarial in RECIPES:
            settings |= self.asked_attack.identity([part.task for part in self.parts], seed)
        told = json.dumps([settings, rows, seed], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class TaskData:
    """One task of a model: its data, and the form it is read in."""

    task: Task
    form: str
    data: Labelled
    test: Labelled | None
    draw: int = 0

    def check(self) -> None:
        if self.test is None:
            return
        known = {tuple(item.fields.values()) for item in self.data.items}
        if all(tuple(item.fields.values()) in known for item in self.test.items):
            raise nothing_unseen(self.task)

    @cached_property
    def divided(self) -> tuple[list[Item], list[Item]]:
        return held_out(self.data, self.draw)


def nothing_unseen(task: Task) -> UsageError:
    hint = "give --test-split a split that is not trained on"
    return UsageError(f"all rows of the test set of {task.name} were trained on", hint=hint)


def task_and_form(name: str) -> tuple[Task, str]:
    """The task that is meant and the form it is usually trained in: "mrpc", "calm/mrpc" (in CALM's form),
    "paranlu/snli" (delta-snli), "my.toml"."""
    suite, slash, rest = name.partition("/")
    if slash and suite == "calm":
        return open_task(rest), CALM
    if slash and suite == "becel":
        return open_task(rest), PLAIN
    if slash and suite == "paranlu":
        return open_task(TASKS.get(rest, rest)), PLAIN
    return open_task(name), PLAIN


def as_json(setup: Setup) -> dict[str, Any]:
    return {key: value for key, value in asdict(setup).items() if value not in (None, (), {})}
