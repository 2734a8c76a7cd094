"""Scores in words for someone who has one minute: "1 in 4 reversed pairs flips".

A sentence rests on the leading number of a suite/task/kind and model. It names the interval and the count, says so
where these are too small to conclude anything, and never calls a constant predictor good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unwaver.metrics.missing import in_words
from unwaver.reports.terminal import chance_of
from unwaver.reports.terminal import percent as number
from unwaver.result import Result
from unwaver.state import MISSING
from unwaver.types import Score

Level = Literal["bad", "fair", "good", "unsure", "constant", "none"]

# where a word begins; docs/report.md names these numbers
BAD, GOOD, WIDE = 0.10, 0.05, 0.30
ACCURATE = 0.70  # from here on accuracy looks fine by itself
ORDER: tuple[Level, ...] = ("bad", "constant", "fair", "unsure", "good", "none")
WORDS: dict[Level, str] = {
    "bad": "inconsistent",
    "fair": "not quite consistent",
    "good": "consistent",
    "unsure": "too few to tell",
    "constant": "always one answer",
    "none": "not measured",
}


@dataclass(frozen=True)
class Verdict:
    """`said` is the sentence, `basis` the numbers that it rests on, `rate` the share of what is wrong."""

    level: Level
    subject: str
    said: str
    basis: str
    score: Score
    rate: float | None
    relations: int = 1


def verdicts(result: Result) -> list[Verdict]:
    """One for each suite/task/kind and model, worst first; a constant predictor is told once a task."""
    found: list[Verdict] = []
    always: dict[tuple[str, ...], list[Verdict]] = {}
    for s in result.leading():
        if _is_average(s):
            continue
        own = verdict(s, result)
        if own.level == "constant" and "constant" in s.flags:
            always.setdefault((s.model, s.method, s.suite, s.task), []).append(own)
        else:
            found.append(own)
    found += [_always_one_answer(own) for own in always.values()]
    return sorted(found, key=lambda v: (ORDER.index(v.level), -(v.rate or 0)))


def _always_one_answer(found: Sequence[Verdict]) -> Verdict:
    said = (
        "it gives one and the same answer to everything: where that looks consistent, it is not by understanding"
    )
    basis = ", ".join(f"{v.score.kind} {number(v.rate)}\u00a0%" for v in found)
    return Verdict("constant", found[0].subject, said, f"inconsistent: {basis}", found[0].score, None, len(found))


def _is_average(s: Score) -> bool:
    return s.task.startswith("average") or s.model.startswith("average")


def verdict(s: Score, result: Result) -> Verdict:
    s = _of_distinct_pairs(s, result)
    rate, low, high = _rates(s)
    level = _level(s, rate, low, high)
    subject = _task_name(s.task)
    if rate is None:
        return Verdict("none", subject, _unmeasured(s), "", s, None)
    said = f"{_share_phrase(rate, s)}{_remark(s, result, level, rate, low, high)}"
    return Verdict(level, subject, said, _basis(s, rate, low, high), s, rate)


def _of_distinct_pairs(s: Score, result: Result) -> Score:
    """A sentence about pairs of paraphrases (or of repeats) must not count one paired with itself, as P_C does."""
    if s.metric != "P_C" or s.value is None:
        return s
    block = (s.suite, s.task, s.kind, s.model, s.method)
    same = [o for o in result.scores if (o.suite, o.task, o.kind, o.model, o.method) == block]
    forms = [o for name in ("P_C_pairs", "P_C_repeats") for o in same if o.metric == name and o.value is not None]
    return forms[0] if forms else s


def _rates(s: Score) -> tuple[float | None, float | None, float | None]:
    """The share of what is wrong, whichever way the number points."""
    if s.better != "high":
        return s.value, s.low, s.high
    flipped = (None if x is None else 1 - x for x in (s.value, s.high, s.low))
    value, low, high = flipped
    return value, low, high


def _level(s: Score, rate: float | None, low: float | None, high: float | None) -> Level:
    if rate is None:
        return "none"
    if {"constant", "identical"} & set(s.flags):
        return "constant"
    if low is not None and low >= BAD:
        return "bad"
    if high is not None and high <= GOOD:
        return "good"
    if low is None or high is None or high - low > WIDE:
        return "unsure"
    return "fair"


def _task_name(task: str) -> str:
    known = {
        "boolq": "BoolQ", "snli": "SNLI", "rte": "RTE", "mrpc": "MRPC", "wic": "WiC", "sst2": "SST-2",
        "ag_news": "AG News", "mnli": "MNLI", "qnli": "QNLI", "qqp": "QQP", "kornli": "KorNLI",
        "klue_nli": "KLUE-NLI", "klue_sts": "KLUE-STS", "own": "Your data",
    }  # fmt: skip
    return known.get(task, task)


# what happens in one unit of what is counted, by metric or kind: (unit, several units, happens, happen)
_BY_METRIC = {
    "C_R": ("swap of the two texts", "swaps of the two texts", "changes the answer", "change the answer"),
    "C_S": ("item", "items", "changes its answer with a mere sign", "change their answer with a mere sign"),
    "P_C_pairs": (
        "pair of paraphrases",
        "pairs of paraphrases",
        "is right in one wording and wrong in the other",
        "are right in one wording and wrong in the other",
    ),
    "P_C_repeats": (
        "pair of repeats",
        "pairs of repeats",
        "is right once and wrong once",
        "are right once and wrong once",
    ),
    "Cons_lex": ("pair of wordings", "pairs of wordings", "gets different answers", "get different answers"),
    "Cons_lex_repeat": (
        "pair of repeats",
        "pairs of repeats",
        "gets different answers",
        "get different answers",
    ),
    "r_r": (
        "right answer",
        "right answers",
        "is changed by one of {k} paraphrases",
        "are changed by one of {k} paraphrases",
    ),
    "accuracy": ("answer", "answers", "is wrong", "are wrong"),
}
_BY_METRIC["P_C"] = _BY_METRIC["P_C_pairs"]
_BY_KIND = {
    "semantic": ("paraphrase", "paraphrases", "changes the answer", "change the answer"),
    "paraphrase": ("paraphrase", "paraphrases", "changes the answer", "change the answer"),
    "negational": ("negation", "negations", "leaves the answer as it was", "leave the answer as it was"),
    "symmetric": ("reversed pair", "reversed pairs", "flips", "flip"),
    "transitive": (
        "conclusion",
        "conclusions",
        "does not follow from two right answers",
        "do not follow from two right answers",
    ),
    "additive": (
        "joined text",
        "joined texts",
        "loses the answer that both parts had",
        "lose the answer that both parts had",
    ),
    "surface": ("change of mere form", "changes of mere form", "changes the answer", "change the answer"),
}
_OTHER = ("group", "groups", "breaks its relation", "break their relation")


def _words(s: Score) -> tuple[str, str, str, str]:
    metric, _, k = s.metric.partition("@")
    if metric in _BY_METRIC:
        unit, units, happens, happen = _BY_METRIC[metric]
        return unit, units, happens.format(k=k), happen.format(k=k)
    if metric.startswith("Cons_"):
        unit, units = "pair of answers", "pairs of answers"
        name = metric.removeprefix("Cons_")
        return unit, units, f"disagrees ({name})", f"disagree ({name})"
    return _BY_KIND.get(s.kind.partition("_")[0], _OTHER)


def one_in(rate: float) -> tuple[int, int]:
    """A share in numbers that people use: .25 -> (1, 4), .61 -> (3, 5), .29 -> (3, 10), .013 -> (1, 77)."""
    one = (1, max(1, round(1 / rate)))
    several = [(round(rate * n), n) for n in (2, 3, 4, 5, 10) if round(rate * n)]
    close = [(of, hits) for hits, of in (one, *several) if abs(hits / of - rate) <= 0.02]
    if close:
        of, hits = min(close)
        return hits, of
    return min((one, *several), key=lambda share: abs(share[0] / share[1] - rate))


def _share_phrase(rate: float, s: Score) -> str:
    unit, units, happens, happen = _words(s)
    if s.metric.startswith("Cons_") and s.metric not in _BY_METRIC:
        name = s.metric.removeprefix("Cons_")
        return f"answers to the same question agree {number(1 - rate)}\u00a0% on average ({name})"
    if rate <= 0:
        return f"none of {s.counted:,} {units if s.counted != 1 else unit} {happens}"
    if rate >= 1:
        return f"every {unit} {happens}" if s.counted > 1 else f"the one {unit} {happens}"
    hits, of = one_in(rate)
    if hits == of:
        return f"almost every {unit} {happens}"
    return f"{hits} in {of} {units} {happens if hits == 1 else happen}"


def _remark(s: Score, result: Result, level: Level, rate: float, low: float | None, high: float | None) -> str:
    """What must be said with it, the most important thing only."""
    if "identical" in s.flags:
        return " – but no answer ever depends on the wording, right or wrong: it may never have reached the model"
    if s.counted and s.unreadable > 0.05 * s.groups:
        return f" – {s.unreadable:,} of {s.groups:,} groups hold an answer that cannot be read"
    if s.counted and s.cut + s.refused > 0.05 * s.groups:
        why = in_words({"cut": s.cut, "refused": s.refused})
        return f" – {s.cut + s.refused:,} of {s.groups:,} groups are left out ({why})"
    if level == "unsure":
        if low is None or high is None:
            return f" – too few ({s.counted:,}) to conclude anything"
        return f" – too few to be sure: anything from {number(low)} to {number(high)}\u00a0% fits"
    accurate = s.accuracy is not None and s.accuracy >= ACCURATE
    if level == "bad" and accurate and low is not None and low > 1 - (s.accuracy or 0):
        return f"; accuracy ({number(s.accuracy)}\u00a0%) would not have told you"
    chance = chance_of(result, s)
    if level == "bad" and chance is not None and rate >= (chance if s.better != "high" else 1 - chance):
        return "; that is no better than chance"
    return ""


def _basis(s: Score, rate: float, low: float | None, high: float | None) -> str:
    interval = "no interval" if low is None or high is None else f"{number(low)} – {number(high)}"
    accuracy = "" if s.accuracy is None else f", accuracy {number(s.accuracy)}\u00a0%"
    groups = "group" if s.counted == 1 else "groups"
    return f"{number(rate)}\u00a0% [{interval}], {s.counted:,} {groups}{accuracy}"


def _unmeasured(s: Score) -> str:
    if s.missing + s.not_needed == s.groups:
        return f"not measured: answers are missing ({in_words({name: getattr(s, name) for name in MISSING})})"
    return f"not measured: {s.metric} applies to none of {s.groups:,} groups"


def headline(found: Sequence[Verdict]) -> str:
    """All of it in one line: "Of 7 measured, 3 inconsistent, 2 with one answer to everything …"."""
    measured = [v for v in found if v.level != "none"]
    if not measured:
        return "Nothing could be measured."
    counts = [(level, sum(v.relations for v in measured if v.level == level)) for level in ORDER]
    parts = [f"{count} {WORDS[level]}" for level, count in counts if count]
    relations = sum(v.relations for v in measured)
    total = "1 relation was measured" if relations == 1 else f"{relations} relations were measured"
    return f"{total}: {', '.join(parts)}."
