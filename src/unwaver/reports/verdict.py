"""Scores in words for someone who has one minute: "1 in 4 reversed pairs flips".

A sentence rests on the leading number of a suite/task/kind and model. It names the interval and the count, says so
where these are too small to conclude anything, and never calls a constant predictor good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unwaver.meaning import Phrase, context_of, leading_meaning, meaning_of
from unwaver.metrics.missing import in_words
from unwaver.reports.kinds import ORDER, TASKS, WORDS, Level
from unwaver.reports.terminal import chance_of
from unwaver.reports.terminal import percent as number
from unwaver.result import Result
from unwaver.state import MISSING
from unwaver.types import Score

# where a word begins; docs/report.md names these numbers
BAD, GOOD, WIDE = 0.10, 0.05, 0.30
MOST_VERDICTS, MOST_OF_SEVERAL = 6, 3  # of the one model, or each of several, before the rest is folded away
ACCURATE = 0.70  # from here on accuracy looks fine by itself


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
    found = [verdict(s, result) for s in result.leading() if not is_average(s)]
    keys = [sentence(v, result) for v in found]
    if len(set(keys)) < len(keys) or any(v.level == "constant" for v in found):
        from unwaver.reports.verdict_details import told_apart

        found = told_apart(found, result)
    return by_level(found)


def by_level(found: Sequence[Verdict]) -> list[Verdict]:
    """Worst first."""
    return sorted(found, key=lambda v: (ORDER.index(v.level), -(v.rate or 0)))


def sentence(v: Verdict, result: Result) -> tuple[str, ...]:
    """What tells a verdict from others, but for the kind of change."""
    s = v.score
    return s.model, s.method, s.suite, s.task, str(_declared(s, result))


def lines(result: Result, full: bool = False) -> list[tuple[str, str]]:
    """The verdict for a terminal, the words of the report: a headline for each model (("", "3 relations were
    measured: …")), then a word and a sentence for each relation. Remarks tell of models with one answer only."""
    found, said = verdicts(result), []
    models = list(dict.fromkeys(v.score.model for v in found))
    most = len(found) if full else MOST_VERDICTS if len(models) == 1 else MOST_OF_SEVERAL
    for model in models:
        own = [v for v in found if v.score.model == model]
        said.append(("", headline(own) if len(models) == 1 else f"{model} – {headline(own)}"))
        told = [v for v in own if v.level not in ("constant", "none")]
        said += [(WORDS[v.level], f"{v.subject}: {v.said}.") for v in told[:most]]
        if len(told) > most:
            said.append(("", f"and {len(told) - most} more: --full shows them"))
    return said


def is_average(s: Score) -> bool:
    return s.task.startswith("average") or s.model.startswith("average")


def verdict(s: Score, result: Result) -> Verdict:
    s = about(s, result)
    rate, low, high = rates(s)
    level = level_of(s, rate, low, high)
    subject = TASKS.get(s.task, s.task)
    if rate is None:
        return Verdict("none", subject, _unmeasured(s), "", s, None)
    said = f"{_share_phrase(rate, s, result)}{_remark(s, result, level, rate, low, high)}"
    return Verdict(level, subject, said, _basis(s, rate, low, high), s, rate)


def about(s: Score, result: Result) -> Score:
    """The score that the sentence is about, where the metric names others for it: a sentence about pairs of
    paraphrases must not count one paired with itself, as P_C does."""
    meaning = meaning_of(s.metric)
    if meaning is None or not meaning.verdict_of or s.value is None:
        return s
    context = context_of(s, result.scores, result.run)
    forms = [context.beside(name) for name in meaning.verdict_of]
    return next((form for form in forms if form is not None and form.value is not None), s)


def rates(s: Score) -> tuple[float | None, float | None, float | None]:
    """The share of what is wrong, whichever way the number points."""
    if s.better != "high":
        return s.value, s.low, s.high
    flipped = (None if x is None else 1 - x for x in (s.value, s.high, s.low))
    value, low, high = flipped
    return value, low, high


def level_of(s: Score, rate: float | None, low: float | None, high: float | None) -> Level:
    if rate is None:
        return "none"
    if {"constant", "identical"} & set(s.flags):
        return "constant"
    if low is not None and low >= BAD:
        return "bad"
    if high is not None and high <= GOOD:
        return "good"
    if low is None or high is None or high - low > WIDE or rate == 0:
        return "unsure"
    return "fair"


def one_in(rate: float) -> tuple[int, int]:
    """A share in numbers that people use: .25 -> (1, 4), .61 -> (3, 5), .29 -> (3, 10), .013 -> (1, 77)."""
    one = (1, max(1, round(1 / rate)))
    several = [(round(rate * n), n) for n in (2, 3, 4, 5, 10) if round(rate * n)]
    close = [(of, hits) for hits, of in (one, *several) if abs(hits / of - rate) <= 0.02]
    if close:
        of, hits = min(close)
        return hits, of
    return min((one, *several), key=lambda share: abs(share[0] / share[1] - rate))


def _share_phrase(rate: float, s: Score, result: Result) -> str:
    said = _declared(s, result)
    if isinstance(said, str):
        return said.format(value=number(s.value), wrong=number(rate), right=number(1 - rate))
    if rate <= 0:
        return f"none of {s.counted:,} {said.units if s.counted != 1 else said.unit} {said.happens}"
    if rate >= 1:
        return f"every {said.unit} {said.happens}" if s.counted > 1 else f"the one {said.unit} {said.happens}"
    hits, of = one_in(rate)
    if hits == of:
        return f"almost every {said.unit} {said.happens}"
    return f"{hits} in {of} {said.units} {said.happens if hits == 1 else said.happen}"


def _declared(s: Score, result: Result) -> Phrase | str:
    """What the metric declares; a metric without a sentence of its own is told by its title."""
    meaning = leading_meaning(s, context_of(s, result.scores, result.run).block)
    if meaning is None or meaning.verdict is None:
        title = s.metric if meaning is None else meaning.heading
        return f"{title.replace('{', '{{').replace('}', '}}')} is {{value}}\u00a0%"
    said = meaning.verdict
    if isinstance(said, Mapping):
        said = said.get(s.kind.partition("_")[0], said[""])
    return said(s) if callable(said) else said


def _remark(s: Score, result: Result, level: Level, rate: float, low: float | None, high: float | None) -> str:
    """What must be said with it, the most important thing only."""
    if s.flags or s.unreadable or s.cut or s.refused:
        from unwaver.reports.verdict_details import why_not

        if found := why_not(s):
            return found
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
    """All of it in one line: "7 relations were measured: 3 inconsistent, 4 consistent."."""
    return counted([v.level for v in found for _ in range(v.relations)])


def counted(levels: Sequence[Level]) -> str:
    """counted(["bad", "good"]) -> "2 relations were measured: 1 inconsistent, 1 consistent."."""
    measured = [level for level in levels if level != "none"]
    if not measured:
        return "Nothing could be measured."
    parts = [f"{measured.count(level)} {WORDS[level]}" for level in ORDER if level in measured]
    total = "1 relation was measured" if len(measured) == 1 else f"{len(measured)} relations were measured"
    return f"{total}: {', '.join(parts)}."
