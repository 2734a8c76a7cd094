"""How bars are written: one grammar for the command line, bar files and the pytest fixture.

    --max tau=0.10     --max 'tau<=0.10'     --max 'tau <= 10 %'     --min 'P_C>=0.85'     --max-drop 0.02

What is not a bar is bad usage, never a verdict; so is a metric that exists nowhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from unwaver.errors import UsageError, near

Way = Literal["max", "min", "max_drop"]
LEADING = "*"  # the leading metric of each suite/task/kind
_SIGNS: dict[Way, tuple[str, ...]] = {
    "max": ("=", "<=", "<", "≤"),
    "min": ("=", ">=", ">", "≥"),
    "max_drop": ("=", "<=", "<", "≤"),
}
_BAR = re.compile(r"\s*(?P<metric>.*?)\s*(?P<sign>[<>=≤≥!~:]+)(?P<number>[^<>=≤≥!~:]*)", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w@.+-]*")
_EXAMPLES: dict[Way, str] = {
    "max": "--max tau=0.10 or --max 'tau<=0.10'",
    "min": "--min P_C=0.85 or --min 'P_C>=0.85'",
    "max_drop": "--max-drop 0.02 or --max-drop tau=0.02",
}


def read_bar(text: str, way: Way) -> tuple[str, float]:
    """ "tau<=0.10" -> ("tau", 0.1); of a drop the metric may be left out: "0.02" -> ("*", 0.02)."""
    where = f"--{way.replace('_', '-')} {text}"
    found = _BAR.fullmatch(text)
    if found is None:
        if way == "max_drop":
            return LEADING, fraction(text, where)
        raise UsageError(f"{where} is not a bar: expected METRIC=NUMBER", hint=f"write {_EXAMPLES[way]}")
    if found["sign"] not in _SIGNS[way]:
        raise UsageError(
            f"{where}: {found['sign']} {_against(found['sign'], way)}", hint=f"write {_EXAMPLES[way]}"
        )
    return metric_name(found["metric"], where, _EXAMPLES[way]), fraction(found["number"], where)


def _against(sign: str, way: Way) -> str:
    if any(sign in signs for signs in _SIGNS.values()):
        told = {"max": "sets an upper limit", "min": "sets a lower limit", "max_drop": "limits how much is lost"}
        return f"contradicts --{way.replace('_', '-')}, which {told[way]}"
    return "is not a comparison that a bar can make"


def metric_name(name: object, where: str, example: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        found = "it names no metric" if name == "" else f"{name!r} cannot be the name of a metric"
        raise UsageError(f"{where}: {found}", hint=f"write {example}; unwaver score RUN --json has every metric")
    return name


def fraction(value: Any, where: str) -> float:
    """0.1, "0.1" and "10 %" -> 0.1."""
    try:
        if isinstance(value, bool):
            raise ValueError
        percent = isinstance(value, str) and value.strip().endswith("%")
        number = float(value.strip().removesuffix("%")) / 100 if percent else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{where}: {value!r} is not a number", hint="a bar is a fraction: 0.10 is 10 %")
    return number


class Bar(NamedTuple):
    metric: str
    at_most: bool
    value: float

    def __str__(self) -> str:
        return f"{self.metric}{'<=' if self.at_most else '>='}{self.value:g}"


def parse_bar(text: str) -> Bar:
    """ "tau<=0.10" -> Bar("tau", True, 0.1); "P_C >= 85 %" -> Bar("P_C", False, 0.85)"""
    found = re.fullmatch(r"\s*([\w@.]+?)\s*(<=?|>=?|≤|≥)\s*([0-9.]+)\s*(%?)\s*", text)
    try:
        value = float(found[3]) / (100 if found[4] else 1) if found else -1.0
    except ValueError:
        value = -1.0
    if not found or not 0 <= value <= 1:
        hint = "use METRIC<=NUMBER or METRIC>=NUMBER, a fraction, in quotes: --until 'tau<=0.10'"
        raise UsageError(f"--until {text!r} is not a valid bar", hint=hint)
    return Bar(found[1], found[2][0] in "<≤", value)


# --- metrics that exist -------------------------------------------------------------------------------------


def check_metrics(metrics: Iterable[str], in_run: Callable[[], set[str]]) -> None:
    """A metric that neither unwaver nor this run has is bad usage: it is a slip of the pen, not a bad model."""
    from unwaver.meaning import is_known, known_names, undeclared

    odd = [name for name in dict.fromkeys(metrics) if name != LEADING and not is_known(name)]
    if not odd or undeclared():  # packages may have metrics that they do not declare
        return
    found = in_run()
    for name in odd:
        if name not in found:
            hint = near(name, found | set(known_names()))
            if not hint.startswith("did"):
                hint = near(name, found)
            raise UsageError(f"unknown metric {name!r}", hint=hint)
