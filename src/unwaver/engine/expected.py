"""What a run is expected to cost, from the groups that are asked already: those of a pilot, or of an earlier run.

The unit is a group with everything that is asked on its account: one answer of a model calls for more questions to
a judge than another. Groups are taken by suite, task and kind, and by the length of what is known of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, Union

from unwaver.answers.store import Store
from unwaver.asking.budget import Budget
from unwaver.asking.consult import ask_about
from unwaver.asking.panel import Respondent
from unwaver.asking.paying import reported
from unwaver.engine.asked import Asked
from unwaver.engine.prepare import Prepared
from unwaver.groups import is_free_text, is_plain
from unwaver.models.limits import byte_count
from unwaver.stats.totals import Total, Unit, total
from unwaver.types import Answer, Group, Model, Request, replace

if TYPE_CHECKING:
    import polars as pl

    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer

Requests = Mapping[str, Request]  # by key
Asks: TypeAlias = Union[Respondent, "Agreement", "Scorer", None]


@dataclass(frozen=True)
class Sample:
    """The groups that an estimate is made from, and the table of their answers."""

    prepared: Prepared
    store: Store
    groups: Set[str]

    @cached_property
    def frames(self) -> list[pl.DataFrame]:
        from unwaver.engine.road import tabulated
        from unwaver.engine.runs import evidence_of

        part = only(self.prepared, self.groups)
        return tabulated(evidence_of(part, Asked(part.groups), self.store))


@dataclass(frozen=True)
class Bill:
    """What one party has taken for requests, as a run counts it: what the server reported, else the most."""

    model: Model
    budget: Budget
    answers: Mapping[str, Answer]

    def of(self, requests: Requests) -> float:
        return sum(
            self._one(request, self.answers[key]) for key, request in requests.items() if key in self.answers
        )

    def _one(self, request: Request, answer: Answer) -> float:
        price = self.budget.price(self.model)
        if price is None:
            return 0.0
        cost = reported(price, answer)
        return (self.budget.worst(self.model, request) or 0.0) if cost is None else cost


def finished(prepared: Prepared, store: Store) -> set[str]:
    """The groups of which models under test and certifiers have said all that is needed."""
    panel, words = prepared.panel, prepared.words(prepared.groups)
    to_certify = [group for group in prepared.groups if not is_plain(group)]
    from unwaver.asking.rounds import wanted as wanted_now

    wanted = wanted_now(panel, to_certify, store, words, panel.everyone) if to_certify else {}
    missing: set[str] = set().union(*wanted.values())
    for respondent in panel.everyone:
        plain = panel.keys(respondent, (item for g in prepared.groups if is_plain(g) for item in g.items))
        missing |= plain - store.answered(plain)
    missing -= store.failures(missing).keys()
    return {
        group.id
        for group in prepared.groups
        if not any(panel.keys(r, group.items) & missing or _later(r, group) for r in panel.everyone)
    }


def _later(respondent: Respondent, group: Group) -> int:
    """Requests that hold answers which are not there yet."""
    later = respondent.plan.later
    return sum(later.get(item.id, 0) for item in group.items) if later else 0


def units_of_respondent(prepared: Prepared, respondent: Respondent, bill: Bill, sample: Set[str]) -> list[Unit]:
    """A unit for each group; a request that several groups share belongs to the first of them."""
    seen: set[str] = set()
    units = []
    for group in prepared.groups:
        keys = prepared.panel.keys(respondent, group.items) - seen
        seen |= keys
        own = {key: respondent.plan.requests[key] for key in keys}
        open_keys = keys - bill.answers.keys()
        later = _later(respondent, group)
        left = (len(open_keys) + later) / (len(keys) + later) if keys else 0.0
        size = sum(map(_length, own.values())) if not group.items[0].messages else length(group)
        units.append(Unit(stratum(group), size, bill.of(own) if group.id in sample else None, left))
    return units


def units_of_requests(requests: Requests, bill: Bill) -> list[Unit]:
    """Where it is known what will be asked: a unit for each request."""
    return [
        Unit("", _length(request), bill.of({key: request}) if key in bill.answers else None)
        for key, request in requests.items()
    ]


def units_of_groups(
    prepared: Prepared, asked: Mapping[str, Requests], bill: Bill, failed: Set[str], sample: Set[str]
) -> list[Unit]:
    """A unit for each group of free text; `asked` is what is asked about the answers of those that have them."""
    units = []
    for group in filter(is_free_text, prepared.groups):
        about = asked.get(group.id)
        told = group.id in sample and about is not None and about.keys() <= bill.answers.keys() | failed
        units.append(Unit(stratum(group), length(group), bill.of(about or {}) if told else None))
    return (
        units if any(u.value for u in units) else []
    )  # groups in which nothing had to be asked tell nothing alone


def asked_about(
    prepared: Prepared, about: Agreement | Scorer, model: Model, frames: Sequence[pl.DataFrame]
) -> dict[str, Requests]:
    """What an agreement or a scorer asks about the answers of each group in the frames."""
    parts = [frame.partition_by("group", as_dict=True) for frame in frames]
    found: dict[str, Requests] = {}
    for group in filter(is_free_text, prepared.groups):
        rows = [part[group.id,] for part in parts if (group.id,) in part]
        if len(rows) < len(frames):
            continue
        respondent = Respondent(model)
        asked = requests_about(about, [group], rows, prepared.config.compare_questions)
        ask_about(respondent, asked.items())
        found[group.id] = respondent.plan.requests
    return found


def requests_about(
    about: Agreement | Scorer, groups: Sequence[Group], frames: Sequence[pl.DataFrame], with_questions: bool
) -> Mapping[str, Request]:
    """What an agreement or a scorer asks about the answers in the frames, by name; `with_questions`, an agreement
    also asks about the wordings."""
    from unwaver.agree import Agreement
    from unwaver.agree.comparison import Comparison
    from unwaver.agree.scorers import Rating

    if isinstance(about, Agreement):
        return Comparison(about, groups, frames, with_questions).requests
    return Rating(about, groups, frames).requests


def only(prepared: Prepared, groups: Iterable[str]) -> Prepared:
    """The run with some of its groups."""
    wanted = set(groups)
    chosen = [group for group in prepared.groups if group.id in wanted]
    return replace(prepared, chosen=replace(prepared.chosen, groups=chosen))


def estimate(prepared: Prepared, asks: Asks, requests: Requests, bill: Bill, sample: Sample) -> Total | None:
    """What one party is still to cost; None if nothing is known to tell it from. `asks` is who it is."""
    if asks is None:
        return total(units_of_requests(requests, bill))
    if isinstance(asks, Respondent):
        return total(units_of_respondent(prepared, asks, bill, sample.groups))
    about = asked_about(prepared, asks, bill.model, sample.frames)
    keys = {key for known in about.values() for key in known}
    whole = replace(bill, answers=sample.store.answers(keys))
    failed = sample.store.failures(keys - whole.answers.keys()).keys()
    units = units_of_groups(prepared, about, whole, failed, sample.groups)
    return total(units) if units else None


def stratum(group: Group) -> str:
    return f"{group.suite}/{group.task}/{group.kind}"


def length(group: Group) -> int:
    """Of its texts, in bytes."""
    return sum(byte_count(text) for item in group.items for text in item.fields.values())


def _length(request: Request) -> int:
    return byte_count(request.prompt) + sum(map(byte_count, request.segments))
