"""What must be said beside the numbers: caveats of a metric, constant predictors, missing answers, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from unwaver.meaning import contexts, family_of
from unwaver.result import Result


def remarks(result: Result) -> list[str]:
    """Lines below a table."""
    if not _is_plain(result):
        from unwaver.reports.caveats import all_remarks

        return all_remarks(result)
    return [*of_metrics(result), *notes(result.run.get("notes", {}))]


def _is_plain(result: Result) -> bool:
    """Whether every answer is there and known to be right or wrong, of labels, and about variants that nobody had
    to certify."""
    special = ("certification", "agreements", "scorers", "until", "failures")
    if any(result.run.get(name) for name in special):
        return False
    if (result.run.get("config") or {}).get("read", "text") != "text":
        return False
    odd = ("flags", "missing", "not_needed", "cut_read", "epsilon")
    return all(
        s.accuracy is not None and not s.metric.startswith("Cons_") and not any(getattr(s, name) for name in odd)
        for s in result.scores
    )


def of_metrics(result: Result) -> Iterator[str]:
    """What the declarations of the metrics say."""
    for context in contexts(result.scores, result.run):
        meaning = family_of(context.score.metric)
        if meaning is not None and meaning.remark is not None:
            yield from meaning.remark(context)


def notes(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Each note once, with all that it is about: {"a/b/c": [x], "a/b/d": [x]} -> "a/b: x"."""
    about: dict[str, list[str]] = {}
    for name, said in found.items():
        for note in said:
            about.setdefault(note, []).append(name)
    lines = []
    for note, names in about.items():
        shared = "/".join(p[0] for p in zip(*(n.split("/") for n in names), strict=False) if len(set(p)) == 1)
        lines.append(f"{shared or ', '.join(names)}: {note}")
    return lines
