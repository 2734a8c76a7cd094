"""Verdicts that need more words: those that would read the same, and those that lack answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from unwaver.metrics.missing import in_words
from unwaver.reports.kinds import kind_in_words
from unwaver.reports.verdict import Verdict, sentence
from unwaver.result import Result
from unwaver.text.shown import percent
from unwaver.types import Score


def told_apart(found: Sequence[Verdict], result: Result) -> list[Verdict]:
    """With the kind of change where one sentence would stand for several ("question, reworded"), and one verdict
    for all relations of a task in which a model gives one answer."""
    always: dict[tuple[str, ...], list[Verdict]] = {}
    others: list[Verdict] = []
    for v in found:
        s = v.score
        if v.level == "constant" and "constant" in s.flags:
            always.setdefault((s.model, s.method, s.suite, s.task), []).append(v)
        else:
            others.append(v)
    return _by_kind(others, result) + [_always_one_answer(own) for own in always.values()]


def _by_kind(found: Sequence[Verdict], result: Result) -> list[Verdict]:
    keys = [sentence(v, result) for v in found]
    alike = Counter(keys)
    words = Counter((key, kind_in_words(v.score.kind)) for key, v in zip(keys, found, strict=True))
    told = []
    for key, v in zip(keys, found, strict=True):
        kind = v.score.kind
        if alike[key] > 1:
            said = kind_in_words(kind) if words[key, kind_in_words(kind)] == 1 else kind
            v = replace(v, subject=f"{v.subject}, {said}")
        told.append(v)
    return told


def _always_one_answer(found: Sequence[Verdict]) -> Verdict:
    said = "it gives the same answer to everything, so consistency does not show understanding"
    basis = ", ".join(f"{v.score.kind} {percent(v.rate)}\u00a0%" for v in found)
    return Verdict("constant", found[0].subject, said, f"inconsistent: {basis}", found[0].score, None, len(found))


def why_not(s: Score) -> str:
    """What keeps a number from being taken as it is: answers that ignore the wording, or are not there."""
    if "identical" in s.flags:
        return " – but no answer depends on the wording, not even a wrong one: it may never have reached the model"
    if s.counted and s.unreadable > 0.05 * s.groups:
        return f" – {s.unreadable:,} of {s.groups:,} groups hold an answer that cannot be read"
    if s.counted and s.cut + s.refused > 0.05 * s.groups:
        why = in_words({"cut": s.cut, "refused": s.refused})
        return f" – {s.cut + s.refused:,} of {s.groups:,} groups are left out ({why})"
    return ""
