"""What a check ends with: at most eight lines for someone who decides whether to ship.

fail      1 of 3 bars missed: faq, reworded: drop(tau) <= 0.05: 0.0 % → 9.5 %, worse by [6.2 – 13.4] points, …
measured  inconsistent: reworded 9.5 % [5.8 – 14.4], typing error 1.5 % [0.3 – 4.3]
broke     19 groups that held before: “How long does delivery take?” (reworded), …
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from unwaver.groups import SELF_CERTIFIED
from unwaver.meaning import leading_of
from unwaver.metrics.noise import noise_of
from unwaver.project.checking import Checked, Outcomes
from unwaver.project.frozen import FOLDER
from unwaver.project.lock import LOCK
from unwaver.reports.kinds import kind_in_words
from unwaver.result import Result
from unwaver.text.shown import interval, percent, safe
from unwaver.types import Score
from unwaver.verdicts.checks import Check, limits

NAMED, LONGEST = 3, 60  # groups in a line, characters of a question
Line = tuple[str, str]


def lines(outcomes: Outcomes, report: Sequence[str] = (), *, with_texts: bool = True) -> list[Line]:
    """A word and what it is about: [("pass", "all 3 bars are met"), ("measured", "…"), …]."""
    found = [_verdict(outcomes), *_values(outcomes)]
    found += [*_changed(outcomes, with_texts), *_noise(outcomes), _cost(outcomes)]
    if outcomes.accepted:
        entries = sum(len(checked.entries) for checked in outcomes.sources)
        found.append(("lock", f"{_groups(entries)} in {LOCK}: commit it with {FOLDER}"))
    places = [str(checked.place) for checked in outcomes.sources if checked.place is not None]
    if report:
        found.append(("report", ", ".join(report)))
    elif places:
        found.append(("answers", "; ".join(f"unwaver show {shlex.quote(place)}" for place in places)))
    return [(word, safe(text)) for word, text in found]


# --- the verdict --------------------------------------------------------------------------------------------


def _verdict(outcomes: Outcomes) -> Line:
    gate = outcomes.gate
    if outcomes.accepted and not gate.checks:
        return "accepted", "later checks are compared with this one"
    if not outcomes.is_complete:
        word = "fail" if gate.verdict == "fail" else "undecided"
        return word, f"{_lacking(outcomes)}: {outcomes.how_to_complete}"
    if not gate.checks:
        return "fail", "no bar applies to anything that was measured"
    of = len(gate.checks)
    if gate.verdict == "pass":
        met = {1: "the bar is met", 2: "both bars are met"}.get(of, f"all {of} bars are met")
        return "pass", met + _by_kept(outcomes)
    missed = [check for check in gate.checks if check.verdict == gate.verdict]
    word = "missed" if gate.verdict == "fail" else "cannot be decided"
    return gate.verdict, f"{len(missed)} of {of} bars {word}: {_check(missed[0])}{_more(len(missed) - 1)}"


def _by_kept(outcomes: Outcomes) -> str:
    """Said of a pass for which nothing was asked: the service may have changed since."""
    return "; nothing was asked (--fresh asks again)" if not _calls(outcomes) and _began(outcomes) else ""


def _lacking(outcomes: Outcomes) -> str:
    results = [checked.result for checked in outcomes.sources]
    groups, verdicts = sum(r.missing for r in results), sum(r.missing_verdicts for r in results)
    if groups:
        return f"{_groups(groups)} without an answer"
    return f"{verdicts:,} verdicts on answers are missing" if verdicts else "some calls failed"


def _check(check: Check) -> str:
    about = (
        f"{check.suite}, {kind_in_words(check.kind)}: {check.bar}" if check.kind else f"{check.where}: {check.bar}"
    )
    if check.value is None or check.low is None or check.verdict == "undecided":
        return f"{about}: {check.reason}"
    if check.baseline is None:
        return f"{about}: {percent(check.value)} % [{limits(check)}], {check.counted:,} groups"
    moved = f"{percent(check.baseline)} % → {percent(check.value)} %, worse by [{limits(check)}] points"
    return f"{about}: {moved}, {check.counted:,} groups"


def _more(count: int) -> str:
    return f"; and {count} more" if count > 0 else ""


# --- what holds, what broke ---------------------------------------------------------------------------------


def _values(outcomes: Outcomes) -> Iterator[Line]:
    several = len(outcomes.sources) > 1
    told = []
    for checked in outcomes.sources:
        scores = [leading_of(block) for block in checked.result.blocks()]
        shown = ", ".join(_score(s, checked.result) for s in scores if not s.task.startswith("average"))
        if any(SELF_CERTIFIED in s.flags for s in scores):
            shown += "; the paraphrases are certified only by the model that wrote them"
        told.append(f"{checked.source.name}: {shown}" if several else shown)
    yield "measured", f"inconsistent: {'; '.join(told)}"


def _score(s: Score, result: Result) -> str:
    models = {score.model for score in result.scores}
    about = f"{kind_in_words(s.kind)} ({s.model})" if len(models) > 1 else kind_in_words(s.kind)
    if s.value is None:
        return f"{about} not measured"
    value, low, high = s.value, s.low, s.high
    if s.better == "high":  # one scale, that of the bars and of the report: how much is inconsistent
        value, low, high = 1 - value, None if high is None else 1 - high, None if s.low is None else 1 - s.low
    return f"{about} {percent(value)} % [{interval(low, high)}]"


def _changed(outcomes: Outcomes, with_texts: bool) -> Iterator[Line]:
    if not outcomes.lock:
        if not outcomes.accepted:
            yield "baseline", "none yet: unwaver check --accept makes this run the baseline"
        return
    broke = [name for checked in outcomes.sources for name in _named(checked, "broken", with_texts)]
    fixed = [name for checked in outcomes.sources for name in _named(checked, "fixed", with_texts)]
    if broke:
        yield "broke", f"{_groups(len(broke))} that held before: {_listed(broke)}"
    else:
        yield "broke", "nothing that held before"
    found = [change for checked in outcomes.sources for change in checked.changes.values()]
    other, of = sum(len(c.answered) for c in found), sum(c.compared for c in found)
    new = sum(c.new for c in found)
    when = outcomes.lock.get("accepted", "?")
    since = f"{other:,} of {of:,} groups have answers that differ from those accepted on {when}"
    mended = f"; fixed: {_listed(fixed)}" if fixed else ""
    yield "changed", since + mended + (f"; {_groups(new)} not in the lock" if new else "")


def _named(checked: Checked, which: str, with_texts: bool) -> list[str]:
    """Groups by what is asked in them; by their ids in a log, or without texts."""
    asked = {group.id: group for group in checked.groups}
    found = []
    for key, change in checked.changes.items():
        for name in getattr(change, which):
            group = asked.get(name)
            text = " / ".join(group.items[0].fields.values()) if group and with_texts else name
            cut = text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…"
            found.append(f"“{cut}” ({kind_in_words(key[3])})" if group and with_texts else name)
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count:,} groups"


# --- noise and cost -----------------------------------------------------------------------------------------


def _noise(outcomes: Outcomes) -> Iterator[Line]:
    """Wording noise beside sampling noise: how often two answers differ between wordings, and when asked again."""
    found = [noise_of(block) for checked in outcomes.sources for block in checked.result.blocks()]
    both = [(n.gap.kind, n.disagreement) for n in found if n is not None and n.gap is not None]
    told = [f"{kind_in_words(kind)} {percent(pair[0])} %" for kind, pair in both if pair is not None]
    again = [pair[1] for _, pair in both if pair is not None]
    if told:
        same = percent(sum(again) / len(again))
        yield "noise", f"pairs of answers that differ: {', '.join(told)}; the same question asked again {same} %"


def _cost(outcomes: Outcomes) -> Line:
    if not (calls := _calls(outcomes)):
        began = _began(outcomes)
        again = "" if outcomes.gate.verdict == "pass" else "; --fresh asks again"  # a pass has said so
        return "cost", f"nothing was asked{f': the answers are from {began}{again}' if began else ''}"
    return "cost", f"{calls:,} requests{_spent(_asking(outcomes))}"


def _calls(outcomes: Outcomes) -> int:
    return sum((run.get("spent") or {}).get("calls", 0) for run in _runs(outcomes))


def _began(outcomes: Outcomes) -> str:
    return max((str(each["began"])[:10] for each in _asking(outcomes)), default="")


def _asking(outcomes: Outcomes) -> list[Any]:
    return [run["asking"] for run in _runs(outcomes) if run.get("asking")]


def _runs(outcomes: Outcomes) -> list[Any]:
    """Those that ask a model: logs do not."""
    return [checked.result.run for checked in outcomes.sources if checked.place is not None]


def _spent(asking: Sequence[Any]) -> str:
    seconds = sum(each["seconds"] for each in asking)
    costs = [each["cost"] for each in asking if each.get("cost") is not None]
    money = f", cost {sum(costs):.4g}" if costs else ""
    return f" in {seconds:,.0f} s{money}"


def as_markdown(outcomes: Outcomes, *, with_texts: bool = True) -> str:
    """A summary for a pull request: the lines, then the bars."""
    from unwaver.verdicts.gate_files import markdown

    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    rows = [f"| **{word}** | {cell(text)} |" for word, text in lines(outcomes, with_texts=with_texts)]
    bars = f"\n{markdown(outcomes.gate)}" if outcomes.gate.checks else ""
    return "\n".join(["## unwaver check", "", "| | |", "|---|---|", *rows, bars]) + "\n"
