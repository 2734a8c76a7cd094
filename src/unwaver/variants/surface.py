"""Changes that carry no meaning: case, marks, space, typing errors, contractions, numbers, spelling, options.

Every builder makes one group of an item: the original and all variants of its kind that differ from it. The field
that changes is the task's modified one; for `options` none does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import factorial
from random import Random

from unwaver.errors import UsageError
from unwaver.tasks import OPTIONS, Task
from unwaver.text.refused import Refused
from unwaver.types import Group, Item, replace
from unwaver.variants.source import Build, Rewrite, Source, group_of, label_refused
from unwaver.variants.surface_english import contraction_changes, number_changes, spelling_changes
from unwaver.variants.surface_marks import case_changes, punctuation_changes, space_changes
from unwaver.variants.surface_typing import typo_changes, word_test

Change = Callable[[Item, str], Iterable[Rewrite]]  # an item and its modified text -> other texts


def surface_case() -> Build:
    """Lower case, upper case, Every Word With A Capital."""
    return _text_builder("surface_case", case_changes, "no letters whose case could change")


def surface_punctuation() -> Build:
    """The final mark dropped, added or doubled; quotes straight or curly; the comma before "and" in a list."""
    return _text_builder("surface_punctuation", punctuation_changes, "no mark that could change")


def surface_space() -> Build:
    """Spaces doubled, spaces as tabs, a space before, a line end after."""
    return _text_builder("surface_space", space_changes, "no place for a space")


def surface_contraction() -> Build:
    """ "do not" and "don't", "it is" and "it's", in both directions."""
    return _text_builder("surface_contraction", contraction_changes, "nothing to contract or to expand")


def surface_number() -> Build:
    """ "7" and "seven", "1,000" and "1000", in both directions."""
    return _text_builder(
        "surface_number", number_changes, "no English sentence with a number that can be written differently"
    )


def surface_spelling() -> Build:
    """American and British spelling."""
    return _text_builder("surface_spelling", spelling_changes, "no word with two spellings")


def surface_typo(*, seed: int = 0, lang: str = "en") -> Build:
    """One typing error in one longer word, of four kinds (German: five); no word of the source comes of it."""

    def build(source: Source) -> Iterator[Group | Refused]:
        is_word = word_test(text for item in source.items for text in item.fields.values())

        def change(item: Item, text: str) -> Iterable[Rewrite]:
            return typo_changes(text, is_word, Random(f"{seed}/{item.id}"), lang)

        return text_groups(source, "surface_typo", change, "no word in which an error would be harmless")

    return build


def _text_builder(kind: str, changes: Callable[[str], Iterable[Rewrite]], reason: str) -> Build:
    return lambda source: text_groups(source, kind, lambda _, text: changes(text), reason)


def text_groups(source: Source, kind: str, change: Change, reason: str) -> Iterator[Group | Refused]:
    source.task.check_relation(kind)
    for item in source.items:
        made = _variants(source.task, kind, item, change) or Refused(reason)
        if isinstance(made, Refused):
            yield made._replace(item=item.id)
            continue
        texts = [{**item.fields, source.task.modified: rewrite.text} for rewrite in made]
        tag = " ".join(rewrite.tag for rewrite in made)
        yield group_of(source, kind, item.id, [(f, item.accepted) for f in (item.fields, *texts)], tag=tag)


def _variants(task: Task, kind: str, item: Item, change: Change) -> list[Rewrite] | Refused:
    """The texts that differ from the original and from one another."""
    if reason := label_refused(task, kind, item):
        return Refused(reason)
    text = item.fields[task.modified]
    if not text.strip():
        return Refused("the text is empty")
    found: dict[str, Rewrite] = {}
    for rewrite in change(item, text):
        if rewrite.text != text and word_survives(task, item, rewrite.text):
            found.setdefault(rewrite.text, rewrite)
    return list(found.values())


def word_survives(task: Task, item: Item, text: str, field: str | None = None) -> bool:
    """A word in context must stay readable. Its form may differ from the word ("went", go; "clung", cling), so
    every word with its first letter has to stay."""
    if task.type != "sense":
        return True
    first = item.fields[task.fields[0]][:1].lower()
    before, after = (
        [w.lower() for w in re.findall(r"[\w'’]+", t) if w[0].lower() == first]
        for t in (item.fields[field or task.modified], text)
    )
    return before == after


# --- options ------------------------------------------------------------------------------------------------


def options(*, permutations: int = 2, seed: int = 0) -> Build:
    """The question with lettered options: the original has the labels in the task's order, the variants have them
    in other orders (`permutations` of them, drawn for each item), or a, b, c and 1, 2, 3 for letters.

    `choices` holds the order of the options, so the letter at place i stands for choices[i], and answers are
    compared as labels.
    """
    if permutations < 1:
        raise UsageError(f"options: permutations={permutations}", hint="give 1 or more")

    def build(source: Source) -> Iterator[Group | Refused]:
        kind = "options"
        source.task.check_relation(kind)
        if source.conversations:
            hint = "conversations are sent as they are: write their options in other orders yourself, as groups"
            raise UsageError("the options of a conversation cannot be put into another order", hint=hint)
        others = _other_marks(source.task)
        for item in source.items:
            if reason := label_refused(source.task, kind, item):
                yield Refused(reason, item.id)
                continue
            labels = source.task.labels
            orders = [labels, *_orders(labels, permutations, Random(f"{seed}/{item.id}"))]
            views = [("options", order) for order in orders] + [(form, labels) for form in others]
            group = group_of(source, kind, item.id, [(item.fields, item.accepted)] * len(views))
            items = (replace(i, template=t, choices=c) for i, (t, c) in zip(group.items, views, strict=True))
            yield replace(group, items=tuple(items))

    return build


def _other_marks(task: Task) -> list[str]:
    """The forms with other marks than capitals, but for those whose marks are words of the answers already."""
    words = {word.lower() for word in (*task.labels, *task.form.words)}
    capitals = task.form_named("options").words
    if words & {mark.lower() for mark in capitals}:
        raise UsageError(
            f"the answers of {task.name} are letters already: {', '.join(task.labels)}",
            hint="this variant makes options of labels that are words",
        )
    return [name for name, marks in OPTIONS.items() if name != "options" and not words & set(marks)]


def _orders(labels: Sequence[str], count: int, random: Random) -> list[tuple[str, ...]]:
    """Different orders, none of them the given one: all there are, if they are fewer than asked for."""
    orders: dict[tuple[str, ...], None] = {}
    while len(orders) < min(count, factorial(len(labels)) - 1):
        order = tuple(random.sample(labels, len(labels)))
        if order != tuple(labels):
            orders[order] = None
    return list(orders)
