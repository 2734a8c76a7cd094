"""Groups made from a user's own items: unwaver run FILE --task TASK --variants negate,swap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from unwaver import registry
from unwaver.console import silent
from unwaver.errors import UsageError, near
from unwaver.groups.clusters import with_clusters
from unwaver.suites import check_case, questions
from unwaver.suites.from_table import read_source
from unwaver.tasks import Task, known, open_task
from unwaver.text.refused import Refused
from unwaver.types import Group, Item, Suite, replace
from unwaver.variants.auto import USUAL
from unwaver.variants.paraphrase import is_model, shown_writer
from unwaver.variants.source import Build, Source, renamed

PARAPHRASED = ("semantic", "fooling")  # the kinds that a writer makes
AUTO = "auto"
WRITTEN = ("paraphrase", AUTO)  # the variants that may need a writer
_TOGETHER = ("additive", "transitive")  # builders that need more than one item at a time


@dataclass
class Made:
    """What a builder has made of a source."""

    variant: str
    groups: list[Group] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def __str__(self) -> str:
        """ "negate: 12 groups of 10 items; refused: 4 × no finite verb"."""
        items = len({tuple(group.items[0].fields.values()) for group in self.groups})
        text = f"{self.variant}: {_number(len(self.groups), 'group')} of {_number(items, 'item')}"
        reasons = Counter(r.reason for r in self.refused).most_common()
        if reasons:
            text += "; refused: " + ", ".join(f"{count:,} × {reason}" for reason, count in reasons[:5])
        if len(reasons) > 5:
            text += f", {sum(count for _, count in reasons[5:]):,} × other reasons"
        return text


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def suite(
    path: Path,
    *,
    task: str | None = None,
    variants: Sequence[str] = (),
    columns: Mapping[str, str | Sequence[str]] | None = None,
    quoting: bool | None = None,
    labels: Sequence[str] = (),
    message: str | None = None,
    first_groups: int | None = None,
    say: Callable[[str], None] = silent,
    **options: Any,
) -> Suite:
    """`labels` are for questions, which have none of their own; `message` is what changes in a conversation.
    With `first_groups`, a builder stops when it has made that many. `options` go to the builders that take them:
    writer, judges, k, encoder, lang, antonyms, seed …"""
    if task is None and not labels:
        hint = "add --task question, or the task of your items: " + ", ".join(known())
        raise UsageError("--variants needs the task of the items", hint=hint)
    told: Sequence[str] = ()
    if task in (None, questions.TASK):
        source, told = questions.read_questions(path, columns=columns, labels=labels, message=message, say=say)
    else:
        assert task is not None
        source = read_source(path, open_task(task), columns=columns, quoting=quoting, say=say)
    made = [_tried(name, options, source, variants, first_groups) for name in names_of(variants)]
    if first_groups is not None and _share_a_kind(made):  # then their groups are named after one another
        made = [_tried(name, options, source, variants) for name in names_of(variants)]
    chosen = source.task
    return _suite(source, made, {} if chosen.name in known() else {chosen.name: chosen}, options, told)


def names_of(variants: Sequence[str]) -> list[str]:
    """ "surface" stands for all builders of that family."""
    known = registry.names("variants")
    found: list[str] = []
    for name in variants:
        below = [n for n in known if n == name or n.startswith(f"{name}_")]
        if not below:
            raise UsageError(f"unknown variant {name!r}", hint=near(name, known))
        found += [n for n in below if n not in found]
    if not found:
        raise UsageError("no variants named", hint="known: " + ", ".join(known))
    return found


def builder(name: str, options: Mapping[str, Any]) -> Build:
    make = registry.find("variants", name)
    if name == "additive":
        options = {**options, "how": options.get("additive"), "cap": options.get("additive_cap")}
    build: Build = registry.call("variants", name, Callable, **registry.accepted(make, options))
    return registry.guarded("variants", name, build, Iterable)


def _tried(
    name: str, options: Mapping[str, Any], source: Source, named: Sequence[str], most: int | None = None
) -> Made:
    """What one builder makes. Of a family (surface), one that does not fit the task leaves the others alone; one
    that was named itself is an error."""
    try:
        return _first(name, builder(name, options), source, most)
    except UsageError as e:
        if name in named:
            raise
        return Made(name, refused=[Refused(e.message)] * len(source.items))


def _share_a_kind(made: Sequence[Made]) -> bool:
    kinds = [kind for each in made for kind in {group.kind for group in each.groups}]
    return len(set(kinds)) < len(kinds)


def _first(name: str, build: Build, source: Source, most: int | None) -> Made:
    """What a builder makes, or the first groups of each kind of it."""
    if most is None or name in _TOGETHER or not registry.is_built_in("variants", name):
        return _made(name, build, source)
    if name != AUTO:
        return _made(name, build, source, most)
    # of each item it makes the changes that it can: so many items are looked at that the usual ones are enough
    count = most
    while True:
        made = _made(name, build, replace(source, items=source.items[:count]))
        kinds = Counter(group.kind for group in made.groups)
        if count >= len(source.items) or all(kinds[kind] >= most for kind in USUAL):
            return made
        count *= 4


def _made(name: str, build: Build, source: Source, most: int | None = None) -> Made:
    made = Made(name)
    for each in build(source):
        if isinstance(each, Refused):
            made.refused.append(each)
        else:
            made.groups.append(each)
            if len(made.groups) == most:
                break
    return made


def unique(groups: Sequence[Group]) -> list[Group]:
    """Two builders of one kind may use one name: 7, 7.2, 7.3."""
    taken: set[str] = set()
    found = []
    for group in groups:
        name, number = group.id, 1
        while name in taken:
            number += 1
            name = f"{group.id}.{number}"
        taken.add(name)
        found.append(group if name == group.id else renamed(group, name))
    return found


def in_turn(parts: Sequence[Sequence[Group]]) -> list[Group]:
    """One group of each builder in turn, so that --limit takes some of each: [1, 2, 3], [4] -> 1, 4, 2, 3"""
    return [group for row in zip_longest(*parts) for group in row if group is not None]


def _speaks(each: Made, kind: str, first: bool) -> bool:
    """Whether a builder tells of its work at this kind; one that makes several kinds does so at the first."""
    if each.variant == AUTO or not each.groups:
        return first
    return any(group.kind == kind for group in each.groups)


def _suite(
    source: Source,
    made: Sequence[Made],
    tasks: Mapping[str, Task],
    options: Mapping[str, Any],
    told: Sequence[str] = (),
) -> Suite:
    by_builder: dict[str, dict[str, list[Group]]] = {}  # of each kind, what each builder made
    named = iter(unique([group for each in made for group in each.groups]))
    for each in made:
        for group in islice(named, len(each.groups)):
            by_builder.setdefault(group.kind, {}).setdefault(each.variant, []).append(group)
    cases = {kind: with_clusters(in_turn(list(parts.values()))) for kind, parts in by_builder.items()}
    name = source.task.name
    if not cases:
        hint = "fix what the reasons name, or choose other variants: unwaver list variants"
        raise UsageError("no variant could be made: " + "; ".join(map(str, made)), hint=hint)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case(source.suite, kinds, task, kind)
        return iter(cases[kind])

    def examples(task: str) -> Iterator[Item]:
        return (item for item in source.items if item.accepted and task == name)

    def notes(task: str, kind: str) -> list[str]:
        check_case(source.suite, kinds, task, kind)
        first = kind == kinds[name][0]  # which also says what came to nothing
        said = [str(each) for each in made if _speaks(each, kind, first)]
        writer = options.get("writer")
        if writer and any(each.variant in WRITTEN and each.groups for each in made) and kind in PARAPHRASED:
            said = [] if is_model(writer) else said
            said.append(f"written by {shown_writer(writer, source.task)}")
        elif first and not writer and any(each.variant == AUTO for each in made):
            said.append(
                "no paraphrases: no model in this run can write them. To name one, add --writer openai/NAME"
            )
        return [*(told if first else ()), *said]

    kinds = {name: tuple(cases)}
    return Suite(source.suite, kinds, groups, examples, notes, tasks)
