"""Bars: one class and one grammar for the command line, bars files, `--until`, the pytest fixture and Python.

    tau<=0.10           at most 0.10                                             --max tau=0.10
    P_C>=0.85           at least 0.85                                            --min P_C=0.85
    drop(tau)<=0.02     at most 0.02 worse than in the baseline                  --max-drop tau=0.02
    drop<=0.02          the same for the leading metric of each suite/task/kind  --max-drop 0.02
    *<=0.10             the leading metric of each suite/task/kind               --max '*=0.10'

The options on the right are short forms of the same bars. A number is a fraction, 0.10 or 1e-1, or a percentage,
10 %.
A limit that equals the bar meets it, so `<` and `≤` mean `<=`, and `>` and `≥` mean `>=`. Anything else is a usage
error, never a verdict; so is a metric that exists nowhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from unwaver.errors import UsageError, near

Sign = Literal["<=", ">="]
Way = Literal["max", "min", "max_drop"]  # the short forms
Decision = Literal["pass", "fail", "undecided"]  # is a bar met?
LEADING = "*"  # the leading metric of each suite/task/kind
DROP = "drop"

_READ_AS: dict[str, Sign] = {"<=": "<=", "<": "<=", "≤": "<=", ">=": ">=", ">": ">=", "≥": ">="}
_SIGN_OF: dict[Way, Sign] = {"max": "<=", "min": ">=", "max_drop": "<="}
_COMPARISON = re.compile(r"[<>=≤≥!~:]+")
_DROP = re.compile(r"drop(?:\s*\((?P<metric>[^()]*)\))?")
_NAME = re.compile(r"[^\W\d][\w@.+-]*")
_NUMBER = re.compile(
    r"(?P<digits>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE](?P<power>[+-]?[0-9]+))?\s*(?P<percent>%?)"
)
_EXAMPLES: dict[Way, str] = {
    "max": "--max tau=0.10 or --max 'tau<=0.10'",
    "min": "--min P_C=0.85 or --min 'P_C>=0.85'",
    "max_drop": "--max-drop 0.02 or --max-drop tau=0.02",
}


@dataclass(frozen=True)
class Bar:
    """A limit for a metric, or for how much worse it is than in the baseline. It prints as it is written.

    str(Bar("tau", "<=", 0.1)) -> "tau <= 0.1"; str(Bar("tau", "<=", 0.02, drop=True)) -> "drop(tau) <= 0.02"
    """

    metric: str
    sign: Sign
    value: float
    drop: bool = False

    def __post_init__(self) -> None:
        name = f"Bar({_brief(self.metric)}, {_brief(self.sign)}, {_brief(self.value)})"
        metric_name(self.metric, name, 'Bar("tau", "<=", 0.10)')
        if self.sign not in ("<=", ">="):
            raise UsageError(f"{name}: the sign is neither <= nor >=", hint='write Bar("tau", "<=", 0.10)')
        if self.drop and self.sign != "<=":
            raise UsageError(f"{name}: {_ONE_WAY}", hint='write Bar("tau", "<=", 0.02, drop=True)')
        object.__setattr__(self, "value", fraction(self.value, name))

    @property
    def at_most(self) -> bool:
        return self.sign == "<="

    def __str__(self) -> str:
        return f"{self.subject} {self.sign} {_shortest(self.value)}"

    @property
    def subject(self) -> str:
        """What is limited: tau, drop(tau), drop."""
        if not self.drop:
            return self.metric
        return DROP if self.metric == LEADING else f"{DROP}({self.metric})"


_ONE_WAY = "a drop has an upper limit only"


def _shortest(value: float) -> str:
    """As few digits as read back the same: 0.1 -> "0.1", 1.0 -> "1", 1/3 -> "0.3333333333333333"."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


# --- reading ------------------------------------------------------------------------------------------------


def parse_bar(text: object, option: str = "--bar") -> Bar:
    """ "tau<=0.10" -> Bar("tau", "<=", 0.1); "drop(tau) <= 2 %" -> Bar("tau", "<=", 0.02, drop=True).

    `option` is what the user calls it, for messages: an option, or the place in a file.
    """
    if isinstance(text, Bar):
        return text
    if not isinstance(text, str):
        raise _invalid(text, option, "it is not a text")
    subject, sign, number = _parts(text)
    drop = _DROP.fullmatch(subject)
    metric = subject if drop is None else (LEADING if drop["metric"] is None else drop["metric"].strip())
    if wrong := _wrong_name(metric):
        raise _invalid(text, option, _about_name(subject, sign, wrong))
    if sign not in _READ_AS:
        why = f"use {_suggested(subject, number, drop=drop is not None)}"
        raise _invalid(text, option, why if sign in ("", "=") else f"{_cut(sign)} is not a comparison; {why}")
    if drop is not None and _READ_AS[sign] == ">=":
        raise _invalid(text, option, f"{_ONE_WAY}: use {_suggested(subject, number, drop=True)}")
    value = _number(number)
    if value is None:
        raise _invalid(text, option, f"{_brief(number)} is not a number")
    return Bar(metric, _READ_AS[sign], value, drop is not None)


def until_bar(text: object) -> Bar:
    """The bar of `--until`: one metric of this run, between 0 and 1."""
    bar = parse_bar(text, "--until")
    if bar.drop:
        why = "a drop needs a baseline, and --until looks only at the run that it stops"
        hint = f"finish the run, then: unwaver gate RUN --baseline OTHER --bar '{bar.subject}<=0.02'"
        raise UsageError(f"--until {_brief(text)} is not a valid bar: {why}", hint=hint)
    if bar.metric == LEADING:
        raise _invalid(text, "--until", "name one metric instead of *")
    if not 0 <= bar.value <= 1:
        why = f"{_shortest(bar.value)} is not between 0 and 1; a bar is a fraction, 0.10 is 10 %"
        raise _invalid(text, "--until", why)
    return bar


def short_bar(text: str, way: Way) -> Bar:
    """A short form: "tau=0.10" for --max -> Bar("tau", "<=", 0.1); "0.02" for --max-drop is about the leading
    metric. A comparison in the same direction is fine: --max 'tau<=0.10'."""
    option = f"--{way.replace('_', '-')}"
    where = f"{option} {_cut(text)}"
    subject, sign, number = _parts(text)
    if not sign:
        if way == "max_drop":
            return bar_of(way, LEADING, text, where)
        raise UsageError(f"{where} is not a bar: expected METRIC=NUMBER", hint=f"write {_EXAMPLES[way]}")
    if sign != "=" and _READ_AS.get(sign) != _SIGN_OF[way]:
        raise UsageError(f"{where}: {_cut(sign)} {_against(sign, way)}", hint=f"write {_EXAMPLES[way]}")
    example = "--bar 'drop(tau)<=0.02' or --max-drop tau=0.02" if _DROP.fullmatch(subject) else _EXAMPLES[way]
    return bar_of(way, subject, number, where, example)


def bar_of(way: Way, metric: str, value: Any, where: str, example: str = "max_tau=0.10") -> Bar:
    """A bar whose parts are given apart, as in max_tau=0.10; `where` is what the user calls it."""
    return Bar(metric_name(metric, where, example), _SIGN_OF[way], fraction(value, where), way == "max_drop")


def _parts(text: str) -> tuple[str, str, str]:
    """ "tau <= 0.1" -> ("tau", "<=", "0.1"), at the last comparison; without one ("tau", "", "")."""
    found = list(_COMPARISON.finditer(text))
    if not found:
        return text.strip(), "", ""
    return text[: found[-1].start()].strip(), found[-1][0], text[found[-1].end() :].strip()


def _invalid(text: object, option: str, why: str) -> UsageError:
    example = f"{option} 'tau<=0.10'" if option.startswith("--") else '"tau<=0.10"'
    hint = f"a bar is METRIC<=NUMBER or METRIC>=NUMBER, in quotes: {example}"
    return UsageError(f"{option} {_brief(text)} is not a valid bar: {why}", hint=hint)


def _about_name(subject: str, sign: str, wrong: str) -> str:
    if not sign:
        return "it compares nothing"
    if _COMPARISON.search(subject):
        return "it has more than one comparison; write each bar on its own"
    words = subject.split()
    if len(words) == 2 and words[0] == DROP and not _wrong_name(words[1]):
        return f"use {DROP}({words[1]})<=0.02"
    return wrong


def _suggested(subject: str, number: str, *, drop: bool) -> str:
    """ "tau", "0.1" -> "tau<=0.10 or tau>=0.10", with the user's own metric and number where they make sense."""
    value = _number(number)
    usual = 0.02 if drop else 0.1
    shown = f"{usual if value is None else value:.2f}"
    if value is not None and float(shown) != value:
        shown = _shortest(value)
    subject = _cut(subject)
    return f"{subject}<={shown}" if drop else f"{subject}<={shown} or {subject}>={shown}"


def _against(sign: str, way: Way) -> str:
    if sign in _READ_AS:
        told = {"max": "sets an upper limit", "min": "sets a lower limit", "max_drop": "limits how much is lost"}
        return f"contradicts --{way.replace('_', '-')}, which {told[way]}"
    return "is not a comparison that a bar can make"


def _wrong_name(name: object) -> str | None:
    """Why this cannot be the name of a metric; None if it can."""
    if name == "":
        return "it names no metric"
    if name == LEADING or (isinstance(name, str) and name != DROP and _NAME.fullmatch(name)):
        return None
    return f"{_brief(name)} cannot be the name of a metric"


def metric_name(name: Any, where: str, example: str) -> str:
    if wrong := _wrong_name(name):
        raise UsageError(f"{where}: {wrong}", hint=f"write {example}; unwaver score RUN --json lists every metric")
    return str(name)


def fraction(value: Any, where: str) -> float:
    """0.1, "0.1" and "10 %" -> 0.1."""
    number = _number(value)
    if number is None:
        raise UsageError(f"{where}: {_brief(value)} is not a number", hint="a bar is a fraction: 0.10 is 10 %")
    return number


def _number(value: Any) -> float | None:
    try:
        number = (
            _number_in(value) if isinstance(value, str) else math.nan if isinstance(value, bool) else float(value)
        )
    except (TypeError, ValueError, OverflowError):
        return None
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def _number_in(text: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return math.nan
    power = int(found["power"] or 0) - (2 if found["percent"] else 0)  # 7.3 / 100 would not be 0.073
    return float(f"{found['digits']}e{power}")


def _brief(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    """A long text as a message shows it."""
    return text if len(text) <= 80 else f"{text[:60]}…{text[-1]}"


# --- metrics that exist -------------------------------------------------------------------------------------


def check_metrics(metrics: Iterable[str], in_run: Callable[[], set[str]]) -> None:
    """A metric that neither unwaver nor this run has is bad usage: it is a slip of the pen, not a bad model."""
    from unwaver.meaning import is_known, suggestion, undeclared

    odd = [name for name in dict.fromkeys(metrics) if name != LEADING and not is_known(name)]
    if not odd or undeclared():  # packages may have metrics that they do not declare
        return
    found = in_run()
    for name in odd:
        if name not in found:
            hint = suggestion(name, found)
            if not hint.startswith("did"):
                hint = near(name, found)
            raise UsageError(f"unknown metric {name!r}", hint=hint)
