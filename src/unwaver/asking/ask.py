"""Asking: unique requests -> what the store lacks -> waves of complete groups -> model -> store.

The order of the groups is kept from wave to wave, so that an interrupted run has whole groups and no bias
towards short texts; inside a wave the model sorts by length as it likes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from unwaver.answers.store import Store
from unwaver.asking.budget import Budget, Spent
from unwaver.asking.claims import Claims
from unwaver.asking.ledger import Ledger
from unwaver.asking.paying import Worst, finishing, pay
from unwaver.console import Progress
from unwaver.models.parts import Parts, way_of
from unwaver.state import CutMode
from unwaver.types import Answer, Group, Item, Model, Request, replace

if TYPE_CHECKING:
    from unwaver.asking.by_hand import ByHand
    from unwaver.asking.prices import Price
    from unwaver.asking.purse import Purse
    from unwaver.asking.services import Service
    from unwaver.asking.submitted import Submitted

KEY_VERSION = 1
WAVE = 4096

Render = Callable[[Item, Model], Request]


@dataclass(eq=False)
class Plan:
    """What a run has to ask one model: a key for each item and replicate, and one request for each key.

    That of very many groups is made of parts (see unwaver.asking.long_plan)."""

    keys: MutableMapping[tuple[str, int], str] = field(default_factory=dict)
    requests: MutableMapping[str, Request] = field(default_factory=dict)
    groups: list[list[str]] = field(default_factory=list)  # the keys of each group
    # items that hold answers which are not there yet, with how many requests they will be
    later: dict[str, int] = field(default_factory=dict)

    def parts(self) -> Iterator[Plan]:
        """The plan in parts that are asked one after the other."""
        yield self

    def digest(self) -> bytes:
        """A hash of all keys, in their order."""
        return hashlib.sha256("".join(self.keys.values()).encode()).digest()


def make_plan(
    groups: Sequence[Group],
    model: Model,
    render: Render,
    replicates: int = 1,
    *,
    chosen: Callable[[Item], bool] = lambda _: True,
    plan: Plan | None = None,
    key_of: Callable[[Request], str] | None = None,
) -> Plan:
    """The requests of the chosen items; an earlier plan is added to. A judge is asked once, not in replicates."""
    key_of = key_of or key_maker(model)
    plan = Plan() if plan is None else plan
    planned, requests = plan.keys, plan.requests
    for group in groups:
        keys = []
        several = replicates > 1 or group.repeats
        for item in group.items:
            if (item.id, 0) in planned or not chosen(item):
                continue
            if item.messages and _is_later(item, group):
                repeats = way_of(model, item).deterministic
                plan.later.setdefault(item.id, 1 if repeats else group.times(item, replicates))
                continue
            request = render(item, model)
            for replicate in range(group.times(item, replicates) if several else 1):
                numbered = replicated(request, replicate, model) if replicate else request
                key = key_of(numbered)
                planned[item.id, replicate] = key
                requests.setdefault(key, numbered)
                keys.append(key)
        if keys:
            plan.groups.append(keys)
    return plan


def _is_later(item: Item, group: Group) -> bool:
    from unwaver.groups.conversations import awaited, check_awaited

    if ids := awaited(item):
        check_awaited(group)
    return bool(ids)


def replicated(request: Request, replicate: int, model: Model) -> Request:
    """The request as it is asked once more. One answer counts for every replicate of a model that cannot answer
    otherwise."""
    if replicate == 0 or way_of(model, request).deterministic:
        return request
    return replace(request, replicate=replicate)


def key_maker(model: Model) -> Callable[[Request], str]:
    """The key of an answer: model, settings, task, what the model reads, choices and the replicate number.

    A model without an identity (code whose source is not to be had) is never answered from an earlier run.
    """
    made: dict[int, tuple[Model, Callable[[Request], str]]] = {}  # the model is held: its id is not given again

    def key(request: Request) -> str:
        way = way_of(model, request)
        if id(way) not in made:
            made[id(way)] = way, _key_of(way)
        return made[id(way)][1](request)

    return key


def _key_of(model: Model) -> Callable[[Request], str]:
    identity = model.identity or f"once:{uuid4()}"
    start = hashlib.sha256(_canonical([KEY_VERSION, identity, model.method, dict(model.settings)]))
    has_prompt = "prompt" in model.reads
    reads = (*model.reads, "template") if has_prompt else model.reads

    def key(request: Request) -> str:
        digest = start.copy()
        is_plain = request.temperature is None and not request.beams
        way: tuple[object, ...] = () if is_plain else (request.temperature, request.beams)
        if has_prompt and (request.messages or request.tools or request.response_format):
            from unwaver.asking.conversations import key_part

            way = (*way, key_part(request))
        if way:
            texts = [getattr(request, name) for name in reads]
            digest.update(_canonical([request.task, texts, request.choices, request.replicate, *way]))
        else:
            said = ", ".join([_WRITTEN.get(name, _listed)(getattr(request, name)) for name in reads])
            task, choices = _often_listed(request.task), _often_listed(request.choices)
            digest.update(f"[{task}, [{said}], {choices}, {request.replicate:d}]".encode())
        return digest.hexdigest()

    return key


def _listed(value: str | tuple[str, ...]) -> str:
    """A text or texts as _canonical writes them, in half the time: ("a", "é") -> '["a", "\\u00e9"]'."""
    return _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"


_often_listed = lru_cache(maxsize=1024)(_listed)  # what many requests have in common
_WRITTEN: dict[str, Callable[[Any], str]] = dict.fromkeys(("choices", "words", "template"), _often_listed)


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode  # one for all: half the time


_quoted = json.encoder.encode_basestring_ascii


def _canonical(value: object) -> bytes:
    return _encode(value).encode()


@dataclass
class Asker:
    """Puts requests to models and their answers into a store, within one budget for all of them.

    `arrived` is called whenever there are new answers, before they are stored.
    """

    store: Store
    budget: Budget = field(default_factory=Budget)
    spent: Spent = field(default_factory=Spent)
    arrived: Callable[[], None] = lambda: None
    claims: Claims | None = None  # where other processes may use the store
    ledger: Ledger | None = None  # and share the cost cap
    say: Callable[[str], None] = lambda _: None
    cut: CutMode = "exclude"
    waiting: Callable[[str], None] = lambda _: None  # hears what a model waits for
    batches: ByHand | Submitted | None = None  # where requests of services go, if they are not asked one by one

    def __post_init__(self) -> None:
        self.option = ""  # the text before an option of the model that is asked, if not --model-arg
        self.services: dict[int, Service] = {}  # they hold their models: no id is given again
        self.is_over = False  # no more money: not even what has been set aside

    @cached_property
    def purse(self) -> Purse:
        from unwaver.asking.purse import Purse

        return Purse(self.budget, self.spent, self.ledger)

    def ask(
        self, model: Model, plan: Plan, only: Set[str] | None = None, progress: Progress = lambda _: None
    ) -> bool:
        """Put every request that the store has no answer for to the model, and commit each batch as it arrives;
        say whether to go on. `only` are the keys that are wanted, if not all.

        Closing early (Ctrl-C, a full disk) loses at most the batch in flight.
        """
        Parts(model).tell = self.waiting
        return all(self._ask_part(model, part, only, progress, n) for n, part in enumerate(plan.parts()))

    def _ask_part(self, model: Model, plan: Plan, only: Set[str] | None, progress: Progress, number: int) -> bool:
        wanted = plan.requests.keys() if only is None else only
        known = self.store.answered(wanted)
        if number == 0 and (tell := Parts(model).answered_before):
            tell(bool(known or self.store.answered(plan.requests.keys() - wanted)))
        progress(len(known))
        service = self._service(model, plan, known)
        if self.spent.stopped:
            return False
        groups = _fresh(plan, wanted - known)
        if self.batches is not None and Parts(model).batch is not None:
            return self.batches.ask(self, model, plan, [key for keys in groups for key in keys], progress)
        waves: Any = self.claims.waves(groups, model, progress) if self.claims else _waves(groups)
        capped = self.budget.max_cost is not None
        Parts(model).meter = partial(self.purse.try_again, price=self.budget.price(model)) if capped else None
        with closing(waves):
            for wave in waves:
                remaining = wave
                while remaining and not self.spent.stopped:
                    # the first answers of a service go before the others: they may be worth nothing
                    first = service.left if service else 0
                    now = self.affordable(remaining[: first or None], plan, model)
                    if now:
                        self._ask_wave(model, now, plan, progress, service)
                    remaining = remaining[len(now) :]
                if self.spent.stopped:
                    break
        return self.spent.stopped is None

    def _service(self, model: Model, plan: Plan, known: Set[str]) -> Service | None:
        """Who looks after a service; None for any other model."""
        if (dialect := Parts(model).dialect) is None:
            return None
        from unwaver.asking.services import Service

        if id(model) not in self.services:
            option = self.option or "--model-arg "
            self.services[id(model)] = Service(model, dialect, self.store, self.say, self.cut, option)
        return self.services[id(model)].begin(plan.requests, known, self.spent)

    def _ask_wave(
        self, model: Model, keys: Sequence[str], plan: Plan, progress: Progress, service: Service | None
    ) -> None:
        self.spent.calls += len(keys)
        requests = [plan.requests[key] for key in keys]
        price = self.budget.price(model)
        batches: Any = model.answer(requests)
        with closing(batches):
            for batch in batches:
                answers = [(keys[index], answer) for index, answer in batch]
                if any(answer.error is None for _, answer in answers):
                    self.arrived()
                self.store.put(answers)
                for index, answer in batch:
                    self.pay(model, price, requests[index], answer)
                if service:
                    service.arrived(plan.requests, answers)
                progress(len(answers))
                if self.is_over and not finishing(model):
                    break
        if service:
            service.end(self.spent)
        if self.budget.max_cost is not None:  # after an error all that was set aside may be billed
            self.purse.settled()

    def pay(self, model: Model, price: Price | None, request: Request, answer: Answer) -> None:
        """Count what an answer took; without usage, all that it can have cost."""
        if answer.usage is not None:
            self.spent.tokens_in += answer.usage[0]
            self.spent.tokens_out += answer.usage[1]
        if price is not None:
            self.is_over |= pay(price, self.budget, self.spent, self.purse, model, request, answer)

    def affordable(self, keys: Sequence[str], plan: Plan, model: Model) -> Sequence[str]:
        """As many of the keys, from the first, as fit into what is left of the budget whatever they cost."""
        budget, spent = self.budget, self.spent
        left = len(keys) if budget.max_calls is None else min(len(keys), budget.max_calls - spent.calls)
        if budget.max_cost is not None:
            if not spent.calls:
                budget.check(model, plan.requests[keys[0]])
            fitting = self.purse.reserve(Worst(budget, model, [plan.requests[key] for key in keys[:left]]))
            if fitting == 0 and left:  # while some fit, their real cost will be known and more may fit then
                together = ", together with other processes on the store" if self.purse.is_shared else ""
                spent.stopped = f"the cost limit of {budget.max_cost:g} is reached{together}"
            left = fitting
        if budget.max_calls is not None and spent.calls + left >= budget.max_calls and left < len(keys):
            spent.stopped = f"the limit of {budget.max_calls} calls is reached"
        return keys[:left]


def _fresh(plan: Plan, wanted: Set[str]) -> list[list[str]]:
    """The wanted keys of each group, each key once."""
    if not wanted:
        return []
    seen: set[str] = set()
    groups = []
    for keys in plan.groups:
        fresh = [k for k in dict.fromkeys(keys) if k in wanted and k not in seen]
        seen.update(fresh)
        if fresh:
            groups.append(fresh)
    return groups


def _waves(groups: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Group by group, in waves of about WAVE keys."""
    wave: list[str] = []
    for keys in groups:
        wave += keys
        if len(wave) >= WAVE:
            yield wave
            wave = []
    if wave:
        yield wave
