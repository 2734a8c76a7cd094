"""What builders read and write: labelled items of one task in, groups or refusals out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from unwaver.errors import UsageError
from unwaver.groups import expect_of
from unwaver.groups.conversations import changed_message, with_fields
from unwaver.tasks import Task
from unwaver.text.refused import Refused as Refused
from unwaver.types import Group, Item, replace


@dataclass(frozen=True)
class Source:
    """The items of one task in file order, all of them originals; `accepted` is their gold, () if not known.

    The id of an item is the name of its row: "17".
    """

    suite: str
    task: Task
    items: tuple[Item, ...]
    # rows that are conversations: builders read and change the text of one message of theirs, `message` (None: the
    # last of the user), as the field `task.modified`
    conversations: Mapping[str, Item] = field(default_factory=dict)
    message: str | None = None

    def whole(self, item: Item, row: str, kind: str) -> Item:
        """An item that a builder has made of a row, with the rest of its conversation."""
        known = {each.id for each in self.items} | self.conversations.keys()
        name = row if row in known else row.rpartition(".")[0]
        if name not in known:
            hint = "kinds that change one text can: paraphrase, surface, negate, antonym"
            raise UsageError(f"{kind} cannot be made of conversations", hint=hint)
        if name not in self.conversations:
            return item
        asked = self.conversations[name]
        texts = {**asked.fields, self.changed(asked): item.fields[self.task.modified]}
        return replace(with_fields(asked, texts), id=item.id, role=item.role, accepted=item.accepted)

    def changed(self, item: Item) -> str:
        """The field that variants of an item change."""
        if not item.messages:
            return self.task.modified
        return changed_message(item.messages, self.message) or self.task.modified


class Rewrite(NamedTuple):
    """Another text, and how it came about: ("Nobody sleeps.", "negation")."""

    text: str
    tag: str = ""


Build = Callable[[Source], Iterator[Group | Refused]]
# texts in, for each of them (aligned) the other texts or the reason why there are none
Rewriter = Callable[[Sequence[str]], Iterator[list[Rewrite] | Refused]]


def group_of(
    source: Source,
    kind: str,
    row: str,
    texts: Sequence[tuple[Mapping[str, str], tuple[str, ...]]],
    *,
    tag: str = "",
    template: str = "",
) -> Group:
    """A group of (fields, accepted): original and variants, or premises and the conclusion that is implied."""
    id = f"{source.suite}/{source.task.name}/{kind}/{row}"
    expect = expect_of(kind)
    assert expect is not None, kind
    last = len(texts) - 1
    items = []
    for n, (fields, accepted) in enumerate(texts):
        if expect == "implied":
            role = "conclusion" if n == last else "original"
        else:
            role = "variant" if n else "original"
        choices = source.task.labels
        item = Item(f"{id}/{n}", source.task.name, role, fields, choices, accepted, template=template)  # type: ignore[arg-type]
        items.append(source.whole(item, row, kind) if source.conversations else item)
    return Group(id, source.suite, source.task.name, kind, expect, tuple(items), tag=tag)


def paired(source: Source, kind: str, rewriter: Rewriter) -> Iterator[Group | Refused]:
    """One group for each text that the rewriter makes of an item's modified field.

    Items whose label the relation does not allow are refused; the variant gets the label that the relation
    implies: for a negation that of `Relation.to`, or the other one of two.
    """
    source.task.check_relation(kind)
    allowed = []
    for item in source.items:
        reason = label_refused(source.task, kind, item)
        if reason:
            yield Refused(reason, item.id)
        else:
            allowed.append(item)
    modified = source.task.modified
    for item, made in zip(allowed, rewriter([i.fields[modified] for i in allowed]), strict=True):
        if isinstance(made, Refused):
            yield made._replace(item=item.id)
            continue
        accepted = implied_label(source.task, kind, item)
        for n, rewrite in enumerate(made, 1):
            row = item.id if n == 1 else f"{item.id}.{n}"
            variant = {**item.fields, modified: rewrite.text}
            yield group_of(source, kind, row, [(item.fields, item.accepted), (variant, accepted)], tag=rewrite.tag)


def label_refused(task: Task, kind: str, item: Item) -> str | None:
    """Why the relation does not hold for an item of this label; None if it does, or the label is not known."""
    relation = task.relations.get(kind)
    if relation is None or not relation.labels or not item.accepted or set(item.accepted) <= set(relation.labels):
        return None
    return f"{kind} holds only where the label is {' or '.join(relation.labels)}"


def implied_label(task: Task, kind: str, item: Item) -> tuple[str, ...]:
    """The label of the variant: the original's if it must stay, else what the task says, or the other of two."""
    if expect_of(kind) == "same" or not item.accepted:
        return item.accepted
    relation = task.relations.get(kind)
    if relation is not None and relation.to is not None:
        return (relation.to,)
    return tuple(c for c in task.labels if c not in item.accepted) if len(task.labels) == 2 else ()


def renamed(group: Group, id: str) -> Group:
    """The group and its items under another id, with what certifiers ask about them."""

    def moved(name: str) -> str:
        return id + name.removeprefix(group.id) if name else ""

    items = tuple(replace(item, id=moved(item.id), about=moved(item.about)) for item in group.items)
    return replace(group, id=id, items=items)
