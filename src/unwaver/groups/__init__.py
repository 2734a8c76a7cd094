"""Groups: what a kind expects, clusters of shared originals, and groups as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from unwaver.errors import near
from unwaver.files import Where, shown
from unwaver.types import Expect, Group, Item, Role

VERSION = 1

KINDS: Mapping[str, Expect] = {
    "semantic": "same",
    "paraphrase": "same",
    "symmetric": "same",
    "reverse": "same",
    "signal": "same",
    "surface": "same",
    "negational": "different",
    "transitive": "implied",
    "additive": "implied",
    "bucket": "bucket",
    "fooling": "same",
}
# an original of which no variant could be written still counts, as not applicable; so where some are to be kept
ALONE = ("fooling",)


def expect_of(kind: str) -> Expect | None:
    """expect_of("negational") -> "different", expect_of("surface_case") -> "same", expect_of("mine") -> None."""
    return KINDS.get(kind.partition("_")[0])


def is_free_text(group: Group) -> bool:
    """Whether the answers are texts, without labels to choose from."""
    return not group.items[0].choices


def with_clusters(groups: Iterable[Group]) -> list[Group]:
    """The groups with `cluster` filled in: the id of the first of those connected by shared originals.

    Groups 1 and 2 share original a, 2 and 3 share b -> all three are cluster 1. Where groups have several
    originals, `units` are these: the id of the first item with each text.
    """
    groups = list(groups)
    first_with: dict[object, int] = {}  # original -> the first group that has it
    named: dict[object, str] = {}  # original -> the id of the first item that asks it
    parent = list(range(len(groups)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for i, group in enumerate(groups):
        for item in group.items:
            if item.role == "original":
                question = _question(item)
                named.setdefault(question, item.id)
                a, b = sorted((root(i), root(first_with.setdefault(question, i))))
                parent[b] = a  # the smaller one stays the root: the cluster is named after its first group
    found = [replace(group, cluster=groups[root(i)].id) for i, group in enumerate(groups)]
    units = [_originals(group, named) for group in groups]
    if all(len(of_group) < 2 for of_group in units):
        return found
    return [replace(group, units=of_group) for group, of_group in zip(found, units, strict=True)]


def share_items(groups: Iterable[Group]) -> bool:
    """Are groups made of several originals that other groups have too? Then no cluster is independent of the rest.

    Groups (a, b) and (c, d) -> False; (a, b) and (b, c) -> True; two groups of (a, b) are one cluster -> False.
    """
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        units = frozenset(group.units)
        if any(found.setdefault(unit, units) != units for unit in units):
            return True
    return False


def _originals(group: Group, named: Mapping[object, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(named[_question(item)] for item in group.items if item.role == "original"))


def _question(item: Item) -> object:
    return item.task, item.template, tuple(item.fields.items())


# --- groups as JSON -----------------------------------------------------------------------------------------


def group_to_json(group: Group) -> dict[str, Any]:
    """What group_from_json reads."""
    return {
        "version": VERSION,
        "id": group.id,
        "suite": group.suite,
        "task": group.task,
        "kind": group.kind,
        "expect": group.expect,
        "cluster": group.cluster,
        "tag": group.tag,
        **({} if group.keep is None else {"keep": group.keep}),
        **({} if group.epsilon is None else {"epsilon": group.epsilon}),
        **({"units": list(group.units)} if group.units else {}),
        "items": [_item_to_json(item, group.task) for item in group.items],
    }


def _item_to_json(item: Item, task: str) -> dict[str, Any]:
    return {
        "id": item.id,
        **({} if item.task == task else {"task": item.task}),
        "role": item.role,
        "fields": dict(item.fields),
        "choices": list(item.choices),
        "accepted": list(item.accepted),
        "rejected": list(item.rejected),
        "template": item.template,
        **({"judge": item.judge, "about": item.about} if item.judge else {}),
        **({"at_least": item.at_least} if item.at_least else {}),
        **({} if item.certified is None else {"certified": item.certified}),
    }


def group_from_json(
    record: Mapping[str, Any], where: Where, *, suite: str = "own", task: str = "own", kind: str = "semantic"
) -> Group:
    """A group from one line of groups.jsonl; all but the items and their texts may be left out.

    {"items": [{"text": "Is it late?"}, {"text": "Is it late now?"}]} on line 3
      -> Group("own/own/semantic/3", expect="same", items=(original, variant))
    """
    if record.get("version", VERSION) != VERSION:
        raise where.error(f'"version": found {shown(record["version"])}, expected {VERSION}', "update unwaver")
    suite, task = _text(record, "suite", suite, where), _text(record, "task", task, where)
    kind = _text(record, "kind", kind, where)
    id = _text(record, "id", f"{suite}/{task}/{kind}/{where.line}", where)
    expect = _expect(record, kind, where)
    items = record.get("items")
    if not isinstance(items, list) or not items or (len(items) < 2 and kind not in ALONE and "keep" not in record):
        raise where.error(
            f'"items": found {shown(items)}, expected a list of two or more',
            'write "items": [{"text": "the original"}, {"text": "the variant"}]',
        )
    roles = _default_roles(expect, len(items))
    return Group(
        id=id,
        suite=suite,
        task=task,
        kind=kind,
        expect=expect,
        items=tuple(
            _item(item, f"{id}/{n}", task, role, where)
            for n, (item, role) in enumerate(zip(items, roles, strict=True))
        ),
        cluster=_text(record, "cluster", "", where),
        tag=_text(record, "tag", "", where),
        keep=_keep(record, where),
        epsilon=_share(record, "epsilon", where),
        units=_texts(record, "units", where),
    )


def _expect(record: Mapping[str, Any], kind: str, where: Where) -> Expect:
    known: tuple[Expect, ...] = get_args(Expect)
    found = record.get("expect", expect_of(kind))
    if found is None:
        raise where.error(
            f'kind "{kind}" is not known, so "expect" is needed: {", ".join(known)}', near(kind, KINDS)
        )
    for expect in known:
        if expect == found:
            return expect
    raise where.error(
        f'"expect": found {shown(found)}, expected one of {", ".join(known)}', near(str(found), known)
    )


def _default_roles(expect: Expect, count: int) -> list[Role]:
    """same, 3 -> original, variant, variant; implied, 3 -> original, original, conclusion."""
    first: Role = "original"
    rest: Role = "variant"
    if expect == "implied":
        return [*[first] * (count - 1), "conclusion"]
    if expect == "bucket":  # all paraphrases of one problem: the original is not among them
        return [rest] * count
    return [first, *[rest] * (count - 1)]


def _item(record: Any, id: str, task: str, role: Role, where: Where) -> Item:
    if not isinstance(record, Mapping):
        raise where.error(f'"items": found {shown(record)}, expected an object', 'write {"text": "…"}')
    return Item(
        id=_text(record, "id", id, where),
        task=_text(record, "task", task, where),
        role=_role(record, role, where),
        fields=_fields(record, where),
        choices=_texts(record, "choices", where),
        accepted=_texts(record, "accepted", where),
        rejected=_texts(record, "rejected", where),
        template=_text(record, "template", "", where),
        judge=_text(record, "judge", "", where),
        about=_text(record, "about", "", where),
        at_least=_share(record, "at_least", where) or 0.0,
        certified=_certified(record, where),
    )


def _role(record: Mapping[str, Any], default: Role, where: Where) -> Role:
    known: tuple[Role, ...] = get_args(Role)
    found = record.get("role", default)
    for role in known:
        if role == found:
            return role
    raise where.error(f'"role": found {shown(found)}, expected one of {", ".join(known)}', near(str(found), known))


def _fields(record: Mapping[str, Any], where: Where) -> dict[str, str]:
    fields = record.get("fields")
    if fields is None and "text" in record:
        fields = {"text": record["text"]}
    if not isinstance(fields, Mapping) or not fields or not all(isinstance(f, str) for f in fields.values()):
        raise where.error(
            f'"fields": found {shown(fields)}, expected texts by name',
            'an item needs "text": "…" or "fields": {"premise": "…", "hypothesis": "…"}',
        )
    return dict(fields)


def _text(record: Mapping[str, Any], key: str, default: str, where: Where) -> str:
    value = record.get(key, default)
    if not isinstance(value, str):
        raise where.error(f'"{key}": found {shown(value)}, expected text', f'write "{key}": "…"')
    return value


def _texts(record: Mapping[str, Any], key: str, where: Where) -> tuple[str, ...]:
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise where.error(f'"{key}": found {shown(value)}, expected a list of texts', f'write "{key}": ["…"]')
    return tuple(value)


def _keep(record: Mapping[str, Any], where: Where) -> int | None:
    value = record.get("keep")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise where.error(f'"keep": found {shown(value)}, expected a whole number from 1', "leave it out for all")
    return value


def _share(record: Mapping[str, Any], key: str, where: Where) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise where.error(f'"{key}": found {shown(value)}, expected a number from 0 to 1', "correct it")
    return float(value)


def _certified(record: Mapping[str, Any], where: Where) -> bool | None:
    value = record.get("certified")
    if value is not None and not isinstance(value, bool):
        raise where.error(f'"certified": found {shown(value)}, expected true or false', "leave it out: unknown")
    return value
