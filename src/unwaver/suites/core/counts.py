"""How many groups core has, as the tables of docs/core.md: python -m unwaver.suites.core.counts docs/core.md"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from unwaver.groups.families import FAMILIES, family_of
from unwaver.suites.core.families import KINDS
from unwaver.suites.core.suite import all_tables, core, mini
from unwaver.types import Group, Suite

_PLACE = re.compile(r"(<!-- counts of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def groups_of(suite: Suite) -> list[Group]:
    return [g for task, kinds in suite.cases.items() for kind in kinds for g in suite.groups(task, kind)]


def with_counts(page: str) -> str:
    """The page with its tables of counts as they are now."""
    made = {"kinds": kinds, "tables": tables, "sizes": sizes}
    return _PLACE.sub(lambda m: f"{m[1]}{made[m[2]]()}\n{m[3]}", page)


def sizes() -> str:
    rows = []
    for suite in (mini(), core()):
        groups = groups_of(suite)
        requests = len({item.id for group in groups for item in group.items})
        families = Counter(family_of(g.task, g.kind) for g in groups)
        rows.append([
            f"`{suite.name}`", f"{len(groups):,}", f"{requests:,}", len({g.kind for g in groups}),
            len({g.tag for g in groups}), *(f"{families[f]:,}" for f in FAMILIES), f"`{suite.version}`",
        ])  # fmt: skip
    return _table(["suite", "groups", "unique requests", "kinds", "tables", *FAMILIES, "version"], rows)


def kinds() -> str:
    small, large = (Counter((_family(g), g.kind) for g in groups_of(suite)) for suite in (mini(), core()))
    expects: dict[tuple[str, str], dict[str, None]] = {}
    for g in groups_of(core()):
        expects.setdefault((_family(g), g.kind), {})[g.expect] = None
    rows = [
        [
            k.family,
            f"`{k.name}`",
            ", ".join(expects[k.family, k.name]),
            k.reason,
            small[k.family, k.name],
            f"{large[k.family, k.name]:,}",
        ]
        for k in KINDS
    ]
    return _table(["family", "kind", "expects", "why it holds", "core-mini", "core"], rows)


def _family(group: Group) -> str:
    return family_of(group.task, group.kind)


def tables() -> str:
    counts = Counter(group.tag for group in groups_of(core()))
    rows = [[f"`{t.name}`", len(t.rows), t.rule, f"{counts[t.name]:,}"] for t in all_tables()]
    facts = sum(len(t.rows) for t in all_tables())
    return _table(
        ["table", "facts", "why they are stable", "groups in core"],
        [*rows, ["all", facts, "", f"{sum(counts.values()):,}"]],
    )


def _table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    head = list(header)
    lines: list[Iterable[object]] = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_counts(file.read_text(encoding="utf-8")), encoding="utf-8")
