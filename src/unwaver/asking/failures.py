"""Why calls failed: alike reasons together, with their number and one example.

What a server says of one request and of the next differs in numbers and ids. A reason is the message without them:

    "… answered 400: 5,012 tokens are too many", "… answered 400: 4,977 tokens are too many"
    -> 2 calls: "… answered 400: # tokens are too many"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unwaver.answers.store import Asked, Store
    from unwaver.asking.panel import Respondent

Role = Literal["model", "judge", "agreement", "scorer", "writer"]
MOST = 3  # reasons of one model that are shown beside the scores

# ids of requests, of accounts: a run of letters and digits that has both, or hexadecimal numbers with dashes
_ID = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])[\w-]{8,}\b")
_NUMBER = re.compile(r"\d[\d.,:]*(?<=\d)|\d")
_STATUS = re.compile(r"(?:answered|status) [1-9]\d\d\b")
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Failed:
    """A call that failed for good: who was asked, about which item, and what went wrong."""

    role: Role
    model: str
    item: str
    error: str


@dataclass(frozen=True)
class Reason:
    """Calls of one model that failed for the same reason."""

    role: Role
    model: str
    reason: str
    calls: int
    example: str
    item: str


def reason_of(error: str) -> str:
    """The message without what differs from call to call; addresses and statuses stay."""
    kept = [*_ADDRESS.finditer(error), *_STATUS.finditer(error)]
    parts, end = [], 0
    for found in sorted(kept, key=lambda m: m.start()):
        if found.start() >= end:
            parts += [_without_numbers(error[end : found.start()]), found[0]]
            end = found.end()
    return "".join([*parts, _without_numbers(error[end:])])


def _without_numbers(text: str) -> str:
    return _NUMBER.sub("#", _ID.sub("#", text))


def grouped(calls: Iterable[Failed]) -> list[Reason]:
    """Reasons by model, the most frequent first."""
    found: dict[tuple[Role, str, str], list[Failed]] = {}
    for call in calls:
        found.setdefault((call.role, call.model, reason_of(call.error)), []).append(call)
    reasons = [
        Reason(role, model, reason, len(same), same[0].error, same[0].item)
        for (role, model, reason), same in found.items()
    ]
    order = list(dict.fromkeys((r.role, r.model) for r in reasons))
    return sorted(reasons, key=lambda r: (order.index((r.role, r.model)), -r.calls))


def of_respondents(asked: Sequence[tuple[Role, str, Respondent]], store: Store) -> Iterator[Failed]:
    """The failed calls of those that a run has asked."""
    for role, name, respondent in asked:
        items = {key: item for (item, _), key in respondent.plan.keys.items()}
        for key, error in store.failures(respondent.plan.requests).items():
            yield Failed(role, name, items.get(key, ""), error)


def of_folder(linked: Iterable[Asked], names: Sequence[tuple[Role, str]], store: Store) -> list[Failed]:
    """The failed calls that a run folder knows of; `names` are those that were asked, by number."""
    found: dict[int, dict[str, str]] = {}
    for number, item, _, key in linked:
        found.setdefault(number, {}).setdefault(key, item)
    calls = []
    for number, items in sorted(found.items()):
        role, name = names[number] if number < len(names) else ("judge", "")
        calls += [Failed(role, name, items[key], error) for key, error in store.failures(items).items()]
    return calls


def as_records(reasons: Iterable[Reason]) -> list[dict[str, Any]]:
    """What run.json, scores.json and --json hold."""
    return [asdict(reason) for reason in reasons]


def from_records(records: object) -> list[Reason]:
    """Those of a run.json, which may have been written by hand: what is not a reason is left out."""
    types = {"role": str, "model": str, "reason": str, "calls": int, "example": str, "item": str}
    return [
        Reason(**{name: record[name] for name in types})
        for record in (records if isinstance(records, list) else ())
        if isinstance(record, Mapping) and all(isinstance(record.get(name), kind) for name, kind in types.items())
    ]


def total(reasons: Iterable[Reason]) -> int:
    return sum(reason.calls for reason in reasons)


def in_words(reasons: Sequence[Reason], most: int = MOST) -> list[str]:
    """A line for each reason: "small: 9 calls failed: http://… answered 400: too long"."""
    lines = []
    for role, model in dict.fromkeys((r.role, r.model) for r in reasons):
        own = [r for r in reasons if (r.role, r.model) == (role, model)]
        who = model if role == "model" else f"{model} ({role})"
        lines += [f"{who}: {_calls(r.calls)} failed: {r.example}" for r in own[:most]]
        if others := own[most:]:
            lines.append(f"{who}: {_calls(total(others))} failed for {len(others):,} other reasons")
    return lines


def in_short(reasons: Sequence[Reason]) -> str:
    """All in one line, by the most frequent reason: "12 calls failed: http://… answered 400: too long"."""
    if not reasons:
        return ""
    first = max(reasons, key=lambda r: r.calls)
    others = f" ({first.calls:,} of them)" if len(reasons) > 1 else ""
    return f"{_calls(total(reasons))} failed: {first.example}{others}"


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"
