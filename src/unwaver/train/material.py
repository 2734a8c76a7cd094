"""What a training reads: encoded rows, some with a variant beside them, the hold-out, and what was learnt from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unwaver.errors import UsageError
from unwaver.models.trained import in_form
from unwaver.tasks import Task
from unwaver.train.attack import Attacker
from unwaver.train.consistency import Variant, variants_of
from unwaver.train.rows import EncodedRow
from unwaver.train.samples import TaskSamples
from unwaver.train.setup import Setup, TaskData
from unwaver.types import Item


class Encoder(Protocol):
    """What makes a row of an item: RowEncoder, or one for a base of our own."""

    text_to_text: bool

    def row(self, item: Item, task: Task, number: int | None, beside: Variant | None = None) -> EncodedRow: ...


@dataclass(frozen=True)
class Material:
    """Rows to train on and to hold out; `learnt` are all items whose texts the model has seen afterwards."""

    rows: list[EncodedRow]
    held: list[EncodedRow]
    learnt: list[Item]
    attacks: Sequence[TaskSamples] = ()  # items with words substituted

    @property
    def pairs(self) -> int:
        """How many rows have a variant beside them."""
        return sum(1 for row in self.rows if row.get("variant"))


def formed(part: TaskData, items: Sequence[Item]) -> list[Item]:
    """Items in the form in which their task is trained."""
    return [in_form(item, part.task, part.form) for item in items]


def material(
    setup: Setup,
    encode: Encoder,
    seed: int,
    *,
    multi_task: bool,
    say: Callable[[str], None],
    attacker: Attacker | None = None,
) -> Material:
    """Encode every task of a setup; with several heads a row carries the number of its own."""
    rows, held, learnt = list[EncodedRow](), list[EncodedRow](), list[Item]()
    attacks = list[TaskSamples]()
    for n, part in enumerate(setup.parts):
        number = n if multi_task else None
        items, kept_out = part.divided
        if encode.text_to_text:
            _tell_of_joined_columns(part, say)
        beside = _variants(setup, part, items, seed, say)
        substitutes = list[Item]()
        if attacker is not None:
            attacks.append(attacker.samples(part.task, items))
            substitutes = attacks[-1].items
        rows += [encode.row(item, part.task, number, beside.get(k)) for k, item in enumerate(formed(part, items))]
        rows += [encode.row(item, part.task, number) for item in formed(part, substitutes)]
        held += [encode.row(item, part.task, number) for item in formed(part, kept_out)]
        learnt += [*part.data.items, *substitutes, *(variant.item for variant in beside.values())]
    return Material(rows, held, learnt, attacks)


def _tell_of_joined_columns(part: TaskData, say: Callable[[str], None]) -> None:
    """A classifier reads premise and hypothesis of δ-NLI joined anyway, a prompt has a line for each."""
    if any("" in item.fields.values() for item in part.data.items):
        say(
            f"{part.task.name}: {Path(part.data.file).name} has several fields in one column, unlike groups; "
            f"for a text-to-text model a file with {', '.join(part.task.fields)} is better"
        )


def _variants(
    setup: Setup, part: TaskData, items: Sequence[Item], seed: int, say: Callable[[str], None]
) -> dict[int, Variant]:
    names = setup.variants_of(part.task.name)
    if not names:
        return {}
    options = {"writer": setup.writer, "antonyms": setup.antonyms, "lang": setup.lang, "seed": seed}
    made = variants_of(items, part.task, names, form=part.form, share=setup.share, seed=seed, options=options)
    if not made:
        hint = "take variants that hold for this task; unwaver list variants"
        raise UsageError(f"no variant of {part.task.name} could be made", hint=hint)
    say(f"{part.task.name}: {len(made):,} of {len(items):,} items have a variant beside them")
    return made
