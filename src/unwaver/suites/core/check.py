"""Check files of tables while they are written: python -m unwaver.suites.core.check FILE…"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from unwaver.errors import UnwaverError
from unwaver.suites.core.book import Book
from unwaver.suites.core.quality import problems, text_of
from unwaver.suites.core.sizes import every_group
from unwaver.suites.core.suite import all_tables
from unwaver.suites.core.table import read_table


def main(files: list[str]) -> int:
    """Print what is wrong with the files, how many groups of each kind they give, and some items as they read."""
    try:
        found = tuple(read_table(Path(file)) for file in files) or all_tables()
        groups = list(every_group(Book("core", found)))
    except UnwaverError as e:
        print(e, file=sys.stderr)
        return 2
    wrong = list(problems(groups))
    shown = Counter[tuple[str, str]]()
    for group in groups:
        shown[group.task, group.kind] += 1
        if shown[group.task, group.kind] == 1:
            for item in group.items:
                text = "\n".join(f"{m.role}: {m.text}" for m in item.messages) or text_of(item)
                print(f"--- {group.task}/{group.kind} {item.role} -> {', '.join(item.accepted)}\n{text}")
    for (task, kind), count in sorted(shown.items()):
        print(f"{task}/{kind}: {count} groups")
    for line in wrong[:10]:
        print(f"problem: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
