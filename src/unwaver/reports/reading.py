"""A remark where --read finds nothing in most of the answers: a wrong field, a pattern that never matches."""

from __future__ import annotations

from collections.abc import Iterator

from unwaver.result import Result

MOST = 0.5  # share of groups with an answer in which nothing is found, before it is said


def lines(result: Result) -> Iterator[str]:
    way = result.run["config"]["read"]
    for s in result.leading():
        asked = s.groups - s.missing - s.not_needed
        if asked and s.unreadable >= MOST * asked and any(m.startswith("Cons_") for m in _metrics(result, s.task)):
            show = f" (unwaver show {result.folder} shows the texts)" if result.folder else ""
            yield (
                f"{s.task}/{s.kind} ({s.model}): --read {way} finds no answer in {s.unreadable:,} of {asked:,} "
                f"groups{show}. Run the same command again with another --read: no answer is asked twice."
            )


def _metrics(result: Result, task: str) -> set[str]:
    return {s.metric for s in result.scores if s.task == task}
