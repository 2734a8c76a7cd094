"""`--dry-run`: what a run would ask, and the cost: at most (every request at its token limit), and expected from
the answers in the store. No request is sent.

Requests that depend on future answers (pairs of answers, paraphrases that a model writes) are bounded from the
plan: the highest possible number, each with the highest possible length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.answers.store import Store
from unwaver.asking.ask import key_maker
from unwaver.asking.budget import Budget
from unwaver.asking.consult import ask_about
from unwaver.asking.panel import Respondent
from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.engine.asked import Asked
from unwaver.engine.at_work import at_work
from unwaver.engine.expected import Asks, Bill, Sample, estimate, finished
from unwaver.engine.prepare import Prepared, check_place, choose, prepare, settle
from unwaver.engine.stored_answers import is_complete, plan_known, stored
from unwaver.errors import UsageError
from unwaver.groups import is_free_text
from unwaver.groups.conversations import question_of
from unwaver.models.decoding import LONG
from unwaver.models.limits import byte_count, most_tokens, token_limit
from unwaver.models.parts import Parts, way_of
from unwaver.types import Answer, Group, Item, Model, Request, replace

if TYPE_CHECKING:
    import polars as pl

    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer
    from unwaver.asking.prices import Price

COSTS = ("cost_at_most", "cost_expected")
STEP = 32  # bytes
BYTES = 8  # of a token, for texts that are not there yet: about twice the usual


@dataclass
class Party:
    """Someone who is asked: `requests` are known, `further` are (how many at most, the longest such request)."""

    role: str
    name: str
    model: Model
    requests: dict[str, Request]
    asked: int  # with equal requests counted each time
    further: list[tuple[int, Request]] = field(default_factory=list)
    asks: Asks = None  # whose requests depend on the groups; None if all are known

    @property
    def more(self) -> int:
        return sum(count for count, _ in self.further)


def parties(prepared: Prepared, *, bounded: bool = True) -> list[Party]:
    """Everyone who would be asked, in the order in which it happens; `bounded`: with the most that depends on
    answers."""
    panel = prepared.panel
    with stored(prepared) as store:
        plan_known(prepared, store)
    names = [*prepared.names, *(respondent.known_as for respondent in panel.certifiers)]
    found = [
        Party("judge" if r.known_as else "model", name, r.model, dict(r.plan.requests), len(r.plan.keys), asks=r)
        for name, r in zip(names, panel.everyone, strict=True)
    ]
    for party, respondent in zip(found, panel.everyone, strict=True):
        if respondent.plan.later:
            party.further += _later(prepared, respondent)
    grown = _written(prepared, found) if prepared.writer else list(prepared.groups)
    frames = _frames(prepared)
    about = grown if bounded else []
    for agreement in prepared.agreements:
        if agreement.model:
            found.append(_agreement(prepared, agreement, about, frames))
    for scorer in prepared.scorers:
        found.append(_scorer(prepared, scorer, about, frames))
    return found


def _frames(prepared: Prepared) -> list[pl.DataFrame] | None:
    """The answers that agreements and scorers will be asked about, where all of them are there."""
    if not (prepared.agreements or prepared.scorers) or prepared.writer:
        return None
    from unwaver.engine.road import tabulated
    from unwaver.engine.runs import evidence_of

    with stored(prepared) as store:
        if store is None or not is_complete(prepared, store, prepared.panel.tested):
            return None
        return tabulated(evidence_of(prepared, Asked(prepared.groups), store))


def check_costs(prepared: Prepared) -> None:
    """Refuse a cost cap that cannot hold or allows nothing, before the first call, and a pilot without a use."""
    everyone, budget = parties(prepared), prepared.budget
    if prepared.config.pilot and prepared.config.until:
        why = "--pilot tells what all groups cost, and --until asks only as many as it needs"
        raise UsageError(why, hint="leave one of them out")
    _check_prices(prepared, everyone)
    with stored(prepared) as store:
        for party in everyone:
            known = store.answered(party.requests) if store else set()
            open_requests = (request for key, request in party.requests.items() if key not in known)
            first = next(chain(open_requests, (request for count, request in party.further if count)), None)
            if first is not None:
                _check_cap(budget, party, first)


def _check_cap(budget: Budget, party: Party, request: Request) -> None:
    """Refuse a cap, with a hint for the option that named the party."""
    from unwaver.asking.consult import written
    from unwaver.named_models import renamed

    if isinstance(party.asks, Respondent):
        option = party.asks.option
    elif party.role == "writer":
        option = "--writer-arg "
    else:
        option = f"{written(party.role, party.name)}MODEL,"
    try:
        budget.check(party.model, request)
    except UsageError as e:
        raise renamed(e, option) from None


def _check_prices(prepared: Prepared, everyone: Sequence[Party]) -> None:
    """Refuse a cap if it is not known what somebody costs, and say which prices were looked up."""
    from unwaver.asking.prices import OPTIONS, is_free, needed

    prices = [(party, prepared.budget.price(party.model)) for party in everyone]
    what = "--pilot" if prepared.budget.max_cost is None else "a cost cap"
    if not any(price for _, price in prices):
        raise needed(what=what)
    for party, price in prices:
        if price is None and not is_free(party.model):
            raise needed(party.name, what)
        if price is not None and None in (price.prompt, price.answer):
            raise needed(party.name, what, price)
        if price is not None and price.source != OPTIONS:
            prepared.console.say(f"{party.name}: {price}")


def dry_run(config: Config, console: Console | None = None) -> list[dict[str, Any]]:
    """What would be asked, one entry per model; with `out` the groups are written for others to answer."""
    config = settle(config, (), console)
    if not config.models:
        check_place(config)
        chosen = choose(config, console or Console())
        written = _shown_groups(config, chosen.groups, Renderer(chosen.selection, config))
        asked = sum(group.times(item, config.replicates) for group in chosen.groups for item in group.items)
        entry: dict[str, Any] = {"model": "(no model)", "groups": len(chosen.groups), "requests": asked}
        unknown = dict.fromkeys(("unique_requests", "already_answered", "tokens", "price", *COSTS))
        return [{**entry, **unknown, "estimated": [], **written}]
    with closing(prepare(config, console)) as prepared:
        written = _shown_groups(config, prepared.groups, prepared.renderer)
        return [{**entry, **written} for entry in forecast(prepared)]


def dry_build(config: Config, console: Console | None = None) -> list[dict[str, Any]]:
    """What `unwaver build` would ask of writer and judges."""
    from unwaver.engine.prepare import prepare_asking

    with closing(prepare_asking(settle(config, (), console), console, ())) as prepared:
        return [{**entry, **NOT_WRITTEN} for entry in forecast(prepared)]


NOT_WRITTEN: Mapping[str, Any] = {"groups_file": None, "groups_written": False}


def _shown_groups(config: Config, groups: Sequence[Group], renderer: Renderer) -> Mapping[str, Any]:
    """Write groups.jsonl for others to answer; that of a finished run stays, with what its writer wrote."""
    if not config.out:
        return NOT_WRITTEN
    place = folder.open_folder(Path(config.out), config)
    is_new = not (place / folder.RUN).exists()
    if is_new:
        with at_work(place):
            folder.write_groups(place, groups, renderer.own_tasks, renderer.shown)
    return {"groups_file": str(place / folder.GROUPS), "groups_written": is_new}


def forecast(prepared: Prepared, pilot: Set[str] | None = None) -> list[dict[str, Any]]:
    """One entry for each party. Beside one that has a price, a model on this machine costs nothing. What to expect
    is told from the groups of a pilot, else from all that are answered."""
    from unwaver.asking.prices import is_free

    with stored(prepared) as store:
        everyone = parties(prepared)
        sample = _sample(prepared, store, pilot) if store else None
        entries = [_entry(prepared, party, store, sample) for party in everyone]
    if any(entry["price"] for entry in entries):
        for entry, party in zip(entries, everyone, strict=True):
            if entry["price"] is None and is_free(party.model):
                entry.update(cost_at_most=0.0, cost_expected=0.0, cost_margin=0.0)
    return entries


def _sample(prepared: Prepared, store: Store, pilot: Set[str] | None) -> Sample:
    done = finished(prepared, store)
    return Sample(prepared, store, done if pilot is None else done & pilot)


def expectation(prepared: Prepared, pilot: Set[str]) -> tuple[float, float] | None:
    """What is still to pay after a pilot, and by how much that may be off; None if it cannot be told."""
    with stored(prepared) as store:
        assert store is not None
        sample, found = _sample(prepared, store, pilot), [(0.0, 0.0)]
        for party in parties(prepared, bounded=False):
            if prepared.budget.price(party.model):
                known = store.answers(party.requests)
                left = [request for key, request in party.requests.items() if key not in known]
                cost, margin = _expected(prepared, party, left, known, sample, None)
                if cost is None or margin is None:
                    return None
                found.append((cost, margin))
    return sum(cost for cost, _ in found), sum(margin for _, margin in found)


def total(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of them cost together. Where nothing is known to expect from, the most is expected. Margins are
    added: where a model writes more, a judge reads more."""
    most = [entry["cost_at_most"] for entry in entries]
    told = [entry["cost_expected"] for entry in entries]
    expected = [limit if cost is None else cost for limit, cost in zip(most, told, strict=True)]
    sums: dict[str, Any] = {
        "cost_at_most": None if None in most else sum(most),
        "cost_expected": None if None in expected or not any(c is not None for c in told) else sum(expected),
    }
    margins = [entry.get("cost_margin") for entry in entries]
    if sums["cost_expected"] and None not in margins:
        sums["cost_margin"] = sum(margin for margin in margins if margin is not None)
    return sums


def _entry(prepared: Prepared, party: Party, store: Store | None, sample: Sample | None) -> dict[str, Any]:
    known = store.answers(party.requests) if store else {}
    left = [request for key, request in party.requests.items() if key not in known]
    tokens, estimated = estimated_tokens(party.model, list(party.requests.values()))
    tokens += sum(count * estimated_tokens(party.model, [request])[0] for count, request in party.further)
    if party.more or party.role == "writer":
        estimated = ["requests", "unique_requests", "tokens"]
    budget = prepared.budget
    price = budget.price(party.model)
    at_most = _at_most(party, left, budget) if price else None
    expected, margin = _expected(prepared, party, left, known, sample, at_most) if price else (None, None)
    return {
        "model": party.name if party.role == "model" else f"{party.name} ({party.role})",
        "role": party.role,
        "groups": sum(group.items[0].role != "test" for group in prepared.groups),
        "requests": party.asked + party.more,
        "unique_requests": len(party.requests) + party.more,
        "already_answered": len(known),
        "tokens": tokens,
        "price": price.record(party.model.name) if price else None,
        "cost_at_most": at_most,
        "cost_expected": expected,
        "cost_margin": margin,
        "estimated": estimated,
    }


def _at_most(party: Party, left: Iterable[Request], budget: Budget) -> float | None:
    """Every request that is not answered yet at its token limit; None if there is no limit."""
    costs = [(1, budget.worst(party.model, request)) for request in left]
    costs += [(count, budget.worst(party.model, request)) for count, request in party.further]
    return (
        None if any(cost is None for _, cost in costs) else sum(n * cost for n, cost in costs if cost is not None)
    )


def _expected(
    prepared: Prepared,
    party: Party,
    left: Sequence[Request],
    known: Mapping[str, Answer],
    sample: Sample | None,
    most: float | None,
) -> tuple[float | None, float | None]:
    """What is expected, and by how much that may be off; None if it cannot be told."""
    if prepared.writer:  # what it will write is not known, so nothing is that others are asked about it
        return _by_mean(party, left, known, prepared.budget.price(party.model)), None
    if sample is None:
        return None, None
    found = estimate(prepared, party.asks, party.requests, Bill(party.model, prepared.budget, known), sample)
    if found is None:
        return None, None
    margin = found.margin if math.isfinite(found.margin) else None
    return found.value if most is None else min(found.value, most), margin


def _by_mean(
    party: Party, left: Sequence[Request], known: Mapping[str, Answer], price: Price | None
) -> float | None:
    """As much for each as such requests took on average: labels and free text apart. None if none is known."""
    assert price is not None
    usages: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for key, answer in known.items():
        if answer.usage is not None:
            usages[bool(party.requests[key].choices)].append(answer.usage)
    counts = {kind: sum(bool(request.choices) == kind for request in left) for kind in usages}
    for count, request in party.further:
        counts[bool(request.choices)] += count
    if not any(usages.values()) or any(counts[kind] and not usages[kind] for kind in usages):
        return 0.0 if not any(counts.values()) else None
    return sum(
        counts[kind] * sum(price.cost(*usage) for usage in found) / len(found)
        for kind, found in usages.items()
        if found
    )


def estimated_tokens(model: Model, requests: Sequence[Request]) -> tuple[int, list[str]]:
    """Prompt tokens, counted by the model's own tokeniser or else estimated at four characters each."""
    if count := Parts(model).count_tokens:
        return count(requests), []
    characters = sum(len(r.prompt) + sum(map(len, r.segments)) for r in requests)
    return characters // 4, ["tokens"]


# --- texts that are not there yet ------------------------------------------------------------------------------


def _longest_text(model: Model, request: Request, number: int = 0) -> str:
    """A text as long as the model's answers can be."""
    limit = token_limit(way_of(model, request).settings) or most_tokens(model, request)[1] or LONG
    return f"{number} ".ljust(BYTES * limit, "x")


def _later(prepared: Prepared, respondent: Respondent) -> Iterator[tuple[int, Request]]:
    """Requests that hold answers of the model, each with the longest that it can write."""
    from unwaver.groups.conversations import awaited, filled

    later = dict(respondent.plan.later)
    for group in prepared.groups:
        items = {item.id: item for item in group.items}
        for item in group.items:
            if count := later.pop(item.id, 0):
                asked = {id: prepared.renderer(items[id], respondent.model) for id in awaited(item)}
                texts = {id: _longest_text(respondent.model, request) for id, request in asked.items()}
                whole = replace(item, messages=filled(item.messages, texts))
                yield count, prepared.renderer(whole, respondent.model)


def _stand_in(text: str) -> str:
    """A text of at least this length: a few of them stand for those of all groups, each with long answers."""
    return "x" * (STEP * math.ceil(byte_count(text) / STEP))


def _answers_of(prepared: Prepared, group: Group) -> Iterator[tuple[Respondent, Item, int]]:
    """For each model and item, in how many ways it can be answered."""
    for tested in prepared.panel.tested:
        for item in group.items:
            if item.role != "judge":
                repeats = way_of(tested.model, prepared.renderer(item, tested.model)).deterministic
                yield tested, item, 1 if repeats else group.times(item, prepared.config.replicates)


def _agreement(prepared: Prepared, agreement: Agreement, groups: Sequence[Group], frames: Any) -> Party:
    from unwaver.agree import Pair
    from unwaver.agree.comparison import QUESTIONS, Comparison, asked_about, pair_id
    from unwaver.agree.pairs import distinct, to_compare

    model, with_questions = prepared.opened["agreement", agreement.name], prepared.config.compare_questions
    if frames is not None:
        requests = Comparison(agreement, prepared.groups, frames, with_questions).requests
        return _exact("agreement", agreement.name, model, requests)
    request_of, about = asked_about(agreement), asked_about(agreement, QUESTIONS)
    respondent, longest, wanted = Respondent(model), Counter[Pair](), list[Pair]()
    for group in filter(is_free_text, groups):
        question = question_of(group.items[0])
        if with_questions:
            wordings = distinct([question_of(i) for i in group.items if i.role != "judge"])
            wanted += to_compare(question, wordings, agreement.symmetric, agreement.compares_identical)
        for tested in prepared.panel.tested:
            ways = [(item, n) for who, item, n in _answers_of(prepared, group) if who is tested]
            count = _pairs(sum(n for _, n in ways), agreement)
            text = _longest_text(tested.model, prepared.renderer(ways[0][0], tested.model))
            longest[Pair(_stand_in(question), text, text)] += count
    ask_about(respondent, ((pair_id(agreement, pair, QUESTIONS), about(pair)) for pair in wanted))
    further, plan = [(count, request_of(pair)) for pair, count in longest.items()], respondent.plan
    return Party("agreement", agreement.name, model, dict(plan.requests), len(plan.keys), further, agreement)


def _pairs(texts: int, agreement: Agreement) -> int:
    """How many pairs there are of this many texts."""
    both = comb(texts, 2) * (1 if agreement.symmetric else 2)
    return both + (texts if agreement.compares_identical else 0)


def _scorer(prepared: Prepared, scorer: Scorer, groups: Sequence[Group], frames: Any) -> Party:
    from unwaver.agree.scorers import Rating
    from unwaver.answers.references import Referenced

    model = prepared.opened["scorer", scorer.name]
    if frames is not None:
        return _exact("scorer", scorer.name, model, Rating(scorer, prepared.groups, frames).requests)
    further = []
    for group in filter(is_free_text, groups):
        for tested, item, count in _answers_of(prepared, group):
            text = _longest_text(tested.model, prepared.renderer(item, tested.model))
            if item.accepted:
                answer = Referenced(text, item.accepted, item.rejected)
                question = question_of(item)
                further += [(count, request) for request in scorer.asks(question, answer)]
    return Party("scorer", scorer.name, model, {}, 0, further, scorer)


def _exact(role: str, name: str, model: Model, requests: Mapping[str, Request]) -> Party:
    """All answers are there, so what is asked about them is known."""
    respondent = Respondent(model)
    ask_about(respondent, requests.items())
    return Party(role, name, model, dict(respondent.plan.requests), len(respondent.plan.keys))


def _written(prepared: Prepared, found: list[Party]) -> list[Group]:
    """Add what a writer is asked, and what its paraphrases ask of others, to the parties: all tries, each as long
    as it can be. Gives the groups with these paraphrases."""
    from unwaver.asking.generator import tries_for
    from unwaver.asking.paraphraser import request

    assert prepared.writer is not None
    model, tries = prepared.writer.model, tries_for(prepared.writer.model, prepared.config)
    awaiting = [group for group in prepared.groups if len(group.items) == 1]
    asked = [
        request(g, prepared.renderer.modified(g), attempt, prepared.config, model)
        for g in awaiting
        for attempt in range(tries)
    ]
    grown = {group.id: _with_longest(prepared, group, tries) for group in awaiting}
    written = [item for group in grown.values() for item in group.items[1:]]
    for party, respondent in zip(found, prepared.panel.everyone, strict=True):
        party.further += [_further(prepared, item, party.model) for item in written if respondent.answers(item)]
    key_of = key_maker(model)
    found.append(Party("writer", model.name, model, {key_of(r): r for r in asked}, len(asked)))
    return [grown.get(group.id, group) for group in prepared.groups]


def _with_longest(prepared: Prepared, group: Group, tries: int) -> Group:
    """The group with as many variants as the writer may write, each as long as it can be."""
    from unwaver.asking.paraphraser import request
    from unwaver.variants.certifiers import certifiers_for, with_candidates
    from unwaver.variants.source import Rewrite

    assert prepared.writer is not None
    field = prepared.renderer.modified(group)
    config, model = prepared.config, prepared.writer.model
    longest = request(group, field, 0, config, model)
    texts = [Rewrite(_longest_text(model, longest, n)) for n in range(tries)]
    certifiers = [c for c in certifiers_for(group.kind, config.judges, config.writer) if c.model]
    return with_candidates(group, texts, field, certifiers, config.encoder)


def _further(prepared: Prepared, item: Item, model: Model) -> tuple[int, Request]:
    """How often an item is asked, and the request."""
    return 1 if item.role == "judge" else prepared.config.replicates, prepared.renderer(item, model)
