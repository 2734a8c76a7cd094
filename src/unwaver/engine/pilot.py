"""`--pilot N`: ask some groups first, with everything that is asked on their account, and say what all will cost.

N groups are drawn over all suites, tasks and kinds, at least `LEAST` of each, and over short and long texts. More
follow while what is expected may be off by more than `ENOUGH`, up to `MOST` of all groups. Their answers are those
of the run: nothing is asked twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from unwaver.asking.ask import Asker
from unwaver.asking.budget import Spent
from unwaver.asking.consult import Enquiry, planned, put
from unwaver.asking.prices import money
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.engine.asked import ask
from unwaver.engine.at_work import at_work
from unwaver.engine.expected import Sample, finished, length, only, requests_about, stratum
from unwaver.engine.forecast import expectation, forecast, total
from unwaver.engine.prepare import Prepared, prepare
from unwaver.engine.reached import reach
from unwaver.engine.runs import stores
from unwaver.stats.totals import spread_out
from unwaver.types import Group, replace

if TYPE_CHECKING:
    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer

LEAST = 3  # groups of each suite, task and kind
ENOUGH = 0.1  # of what is expected
MOST = 0.1  # of the groups, where more than N are asked
GROWTH = 1.5
ONLY = "only the pilot was asked"


@dataclass(frozen=True)
class Pilot:
    """What came of it. All groups, the pilot included, are expected to cost `cost_of_all`, `low` to `high` with a
    probability of 95 %; None if that is not known."""

    groups: int
    of: int
    calls: int
    cost: float
    cost_of_all: float | None
    low: float | None
    high: float | None
    at_most: float | None

    def in_words(self, cap: float | None) -> list[str]:
        lines = [f"Pilot: {self.groups:,} of {self.of:,} groups, {self.calls:,} calls, cost {money(self.cost)}."]
        if self.cost_of_all is None:
            return [*lines, "What all groups will cost is not known: too few were answered."]
        between = "" if self.low is None or self.high is None else f" ({money(self.low)} – {money(self.high)})"
        most = "" if self.at_most is None else f", at most {money(self.at_most)}"
        lines.append(f"All groups: expected to cost {money(self.cost_of_all)}{between}{most}.")
        if cap is not None and self.cost_of_all > cap:
            lines.append(f"That is more than --max-cost {cap:g}: the run will stop early.")
        return lines


def piloted(prepared: Prepared, asker: Asker) -> dict[str, Any]:
    """Ask the pilot of a run, and say what it tells; what run.json holds of it."""
    found, _ = ask_pilot(prepared, asker)
    for line in found.in_words(prepared.budget.max_cost):
        prepared.console.say(line)
    return asdict(found)


def pilot_only(config: Config, console: Console) -> tuple[list[dict[str, Any]], Pilot, Spent]:
    """`--dry-run --pilot N`: what is still to ask, and what came of the pilot. Its answers stay in the folder."""
    with closing(prepare(config, console)) as prepared:
        config = prepared.config
        reach(prepared)
        place = folder.open_folder(config.folder, config)
        with at_work(place):
            folder.open_folder(place, config)
            with stores(prepared, place) as (asker, recording):
                found, entries = ask_pilot(prepared, asker)
            spent = asker.spent
            if recording.has_begun and spent.calls:
                outcome = {"pilot": asdict(found), "spent": asdict(replace(spent, stopped=spent.stopped or ONLY))}
                folder.write_run(place, recording.finish(outcome))
    return [{**entry, "groups_file": None} for entry in entries], found, spent


def ask_pilot(prepared: Prepared, asker: Asker) -> tuple[Pilot, list[dict[str, Any]]]:
    """Ask groups until it is known what all cost, or enough of them are asked; also give what is left to ask."""
    everyone, size = len(prepared.groups), prepared.config.pilot or 1
    strata = len({stratum(group) for group in prepared.groups})
    wanted = min(everyone, max(size, LEAST * strata))
    most = max(wanted, round(MOST * everyone))
    queue, drawn, before = _in_order(prepared), set[str](), replace(asker.spent)
    while True:
        drawn |= set(islice(queue, wanted - len(drawn)))
        _ask(only(prepared, drawn), asker)
        if asker.spent.stopped or wanted == most or _is_known(expectation(prepared, drawn), asker.spent):
            break
        wanted = min(most, round(GROWTH * wanted))
    entries = forecast(prepared, drawn)
    done = finished(prepared, asker.store) & drawn
    return _pilot(prepared, len(done), before, asker.spent, total(entries)), entries


def _in_order(prepared: Prepared) -> Iterator[str]:
    """The ids of the groups, in an order of which any beginning has suites, tasks, kinds and lengths like all."""
    strata: dict[str, list[Group]] = {}
    for group in prepared.groups:
        strata.setdefault(stratum(group), []).append(group)
    placed = []
    for name, groups in strata.items():
        start = random.Random(f"{prepared.config.seed} {name}").random()
        for place, index in enumerate(spread_out([length(group) for group in groups], start)):
            share = -1.0 if place < LEAST else (place + 0.5) / len(groups)
            placed.append((share, place, name, groups[index].id))
    return (id for *_, id in sorted(placed))


def _ask(part: Prepared, asker: Asker) -> None:
    """Everything that is asked about some groups and costs money; what is free can wait."""
    groups = ask(part, asker).groups
    part = replace(part, chosen=replace(part.chosen, groups=groups))  # with what a model wrote
    sample = Sample(part, asker.store, {group.id for group in groups})
    for (role, name), model in part.opened.items():
        if part.budget.price(model) is not None and not asker.spent.stopped:
            consulted: Sequence[Agreement | Scorer] = part.agreements if role == "agreement" else part.scorers
            about = next(one for one in consulted if one.name == name)
            requests = requests_about(about, groups, sample.frames, part.config.compare_questions)
            kind: Literal["agreement", "scorer"] = "agreement" if role == "agreement" else "scorer"
            put(planned(Enquiry(kind, name, about.model, {}, requests), model), asker, part.console)


def _is_known(told: tuple[float, float] | None, spent: Spent) -> bool:
    """Whether what all groups cost is known well enough."""
    return told is not None and told[1] <= ENOUGH * (told[0] + spent.cost)


def _pilot(prepared: Prepared, done: int, before: Spent, spent: Spent, told: dict[str, Any]) -> Pilot:
    """Tries that fail are expected to go on as they began: answers cost more by the same factor."""
    cost, failed = spent.cost - before.cost, spent.failed_cost - before.failed_cost
    factor = cost / (cost - failed) if cost > failed else 1.0
    expected, margin, most = told["cost_expected"], told.get("cost_margin"), told["cost_at_most"]
    calls, of = spent.calls - before.calls, len(prepared.groups)
    at_most = None if most is None else cost + most
    if expected is None or done == 0:
        return Pilot(done, of, calls, cost, None, None, None, at_most)
    middle, off = factor * expected, None if margin is None else factor * margin
    low = None if off is None else cost + max(0.0, middle - off)
    high = None if off is None else cost + middle + off
    return Pilot(done, of, calls, cost, cost + middle, low, high, at_most)
