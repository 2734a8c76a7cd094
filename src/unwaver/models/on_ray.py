"""Models on Ray (`--engine ray`): replicas in processes of a cluster answer, on this machine or on many.

    model = spread(config, model, found, options)        the same model, to everybody who asks it

The model that was opened here stays what everybody sees: its identity, its settings, and therefore the keys of its
answers. Only `answer` is done elsewhere. Replicas open the model by the same name and options and check that it is
the same one. A model that is an object of Python is pickled.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import unwaver.registry as registry
from unwaver.config import Config
from unwaver.errors import UsageError
from unwaver.models import Found
from unwaver.models.limits import most_tokens
from unwaver.models.on_ray_cluster import CLUSTER, Cluster, address, check_installed, cores, is_running
from unwaver.models.on_ray_crew import IN_FLIGHT, SOON, Crew, Death, Member, Needs, with_threads
from unwaver.models.on_ray_objects import packed
from unwaver.models.on_ray_replica import Handed, Recipe, Said, error_of, met_by, settings_of
from unwaver.models.on_ray_work import FIRST, Part, Sizes, Work
from unwaver.models.parts import Meter, Parts
from unwaver.types import Batch, Model, Request, replace

TICK = 0.5  # seconds between two looks at who has died
PATIENCE = 2.0  # seconds before a person is told what is waited for
PROBES = 2  # requests that go before all others to a server that was not met yet
LOOKED_UP = ("predictions", "human")  # providers that read answers from a file: there is nothing to spread


class Spread:
    """A model whose replicas answer."""

    def __init__(self, model: Model, recipe: Recipe, needs: Needs, seats: int, cluster: Cluster = CLUSTER):
        self._model, self._recipe, self._needs, self._seats = model, recipe, needs, seats
        self._cluster = cluster
        self._crew: Crew | None = None
        self._sizes = Sizes(4 * (self._share(0) or FIRST // 4))
        self._answered_before: bool | None = None
        self._is_finishing = self._has_answered = False
        self._met = met_by(model)
        self._last = 0  # the number of the last part that was handed out
        self.tell: Any = None
        cluster.members.add(self)

    def __getattr__(self, name: str) -> Any:
        """What the model has beyond the minimum, it still has."""
        value = getattr(self._model, name)
        return {"finish": self._finish, "answered_before": self._know}.get(name, value)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def method(self) -> str:
        return self._model.method

    @property
    def settings(self) -> Mapping[str, object]:
        return self._model.settings

    @property
    def reads(self) -> tuple[str, ...]:
        return self._model.reads

    @property
    def deterministic(self) -> bool:
        return self._model.deterministic

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        """Batches as they come from any replica. Closing the iterator drops what is in flight."""
        if not requests:
            return
        self._is_finishing = False
        work, crew, told = Work(requests, self._sizes), self._gathered(), False
        began = time.monotonic()
        try:
            while not work.is_over and (crew.in_flight or not self._is_finishing):
                crew.fill()
                self._hand_out(work, crew)
                told = self._say_waiting(crew, began, told)
                yield from self._heard(work, crew)
        finally:
            self._said("", told)
            crew.stop(self._last)
            crew.last_used = time.monotonic()

    def close(self) -> None:
        crew, self._crew = self._crew, None
        try:
            if crew is not None:
                crew.release()
        finally:
            self._cluster.leave(self)
            self._model.close()

    # --- what is asked ----------------------------------------------------------------------------------------

    def _hand_out(self, work: Work, crew: Crew) -> None:
        if self._is_finishing:
            return
        alone = self._met is False  # a wrong key or address costs as many requests as without replicas
        if alone and crew.in_flight:
            return
        for _ in range(IN_FLIGHT):
            for member in sorted(crew.ready, key=lambda member: len(member.parts)):
                if not member.is_free:
                    continue
                part = work.take(len(crew.ready), PROBES if alone else None, alone=not member.parts)
                if part is None:
                    continue
                self._last = part.number
                crew.hand(member, part, self._handed(part, work))
                if alone:
                    return

    def _handed(self, part: Part, work: Work) -> Handed:
        parts = Parts(self._model)
        return Handed(
            part.number,
            [work.requests[index] for index in part.indices],
            switches=parts.dialect.switches if parts.dialect else frozenset(),
            met=bool(self._met),
            answered_before=self._answered_before,
            metered=self._meter is not None,
        )

    # --- what is heard ----------------------------------------------------------------------------------------

    def _heard(self, work: Work, crew: Crew) -> Iterator[Batch]:
        """One batch of everything that has come, and then what went wrong, if anything did."""
        batch: Batch = []
        trouble: Exception | None = None
        for member, news in crew.news(TICK):
            if isinstance(news, Death):
                batch += self._mourn(work, news)
                trouble = trouble or crew.hopeless(news.why, self._has_answered)
            elif news.kind == "failed" and news.number in member.parts:
                trouble = trouble or error_of(news.value)
            else:
                batch += self._noted(work, crew, member, news)
        for member in crew.silent():
            for part in member.parts.values():
                work.give_back(part, died=False)
        if batch:
            crew.deaths, self._has_answered = 0, True
            yield batch
        if trouble is not None:
            raise trouble

    def _noted(self, work: Work, crew: Crew, member: Member, said: Said) -> Batch:
        if said.kind == "meter":
            crew.allow(member, said.number, self._meter(*said.value) if self._meter else False)
        elif said.kind == "tell":
            self._said(said.value)
        part = member.parts.get(said.number)
        if part is None:  # of a wave that nobody wants any more
            return []
        if said.kind == "batch":
            answers, switches, met = said.value
            self._learn(switches, met)
            return work.answered(part, answers)
        if said.kind in ("done", "left"):
            del member.parts[said.number]
            if said.kind == "done":
                work.done(part, said.value)
                self._met = None if self._met is False else self._met  # it was tried: all may go on
        return []

    def _learn(self, switches: frozenset[str], met: bool) -> None:
        self._met = True if met else self._met
        dialect = Parts(self._model).dialect
        if dialect is not None and switches - dialect.switches:
            dialect.know(switches)

    def _mourn(self, work: Work, death: Death) -> Batch:
        """Hand the parts of a dead replica to others; it worked on the first, which may have killed it."""
        failed: Batch = []
        for n, part in enumerate(death.member.parts.values()):
            lost = self._billed(part, work)
            failed += work.fail(lost, f"the replica died, and the cost limit allows no second try: {death.why}")
            failed += [
                (index, replace(answer, error=f"{answer.error}: {death.why}"))
                for index, answer in work.give_back(part, died=n == 0)
            ]
        return failed

    def _billed(self, part: Part, work: Work) -> list[int]:
        """What was sent to a server and got lost may be billed: it counts. Those for which no money is left."""
        if self._meter is None:
            return []
        meter: Meter = self._meter
        return [i for i in work.open_of(part) if not meter(*most_tokens(self._model, work.requests[i]), True)]

    # --- who answers --------------------------------------------------------------------------------------------

    def _gathered(self) -> Crew:
        if self._crew is None:
            self._said(f"starting Ray for {self.name}")
            ray = self._cluster.ray()
            needs = self._settled_needs(ray)
            recipes = [with_threads(self._recipe, needs, self._share(seat)) for seat in range(self._seats)]
            self._crew = Crew(self._cluster, recipes, needs, self.name)
            self._said("")
        self._make_room(self._crew, everybody=False)
        return self._crew

    def _settled_needs(self, ray: Any) -> Needs:
        """With a GPU each, where nobody said anything and the cluster has some."""
        if self._needs.gpus >= 0:
            return self._needs
        return replace(self._needs, gpus=1.0 if ray.cluster_resources().get("GPU", 0) >= 1 else 0.0)

    def _make_room(self, crew: Crew, *, everybody: bool) -> None:
        """Replicas of other models are idle now: where there is no room beside them, those that were idle longest
        end."""
        resources = self._cluster.ray().cluster_resources()
        others = [each._crew for each in self._cluster.members if each is not self and each._crew is not None]
        idle = sorted((other for other in others if other.members), key=lambda other: other.last_used)
        missing = len(crew.recipes) - len(crew.members)
        while idle and missing and (everybody or not _fits([*idle, crew], crew, missing, resources)):
            idle.pop(0).release()

    def _say_waiting(self, crew: Crew, began: float, told: bool) -> bool:
        """Say why nothing happens, while no replica is ready."""
        waited = crew.check_room()
        if waited is not None and waited > SOON:
            self._make_room(crew, everybody=True)
        if crew.ready:
            self._said("", told)
            return False
        if time.monotonic() - began > PATIENCE:
            what = "to load" if waited is None else f"to find room for {crew.needs}"
            self._said(f"waiting for a replica of {self.name} {what}")
            return True
        return told

    def _share(self, seat: int) -> int | None:
        """Of the requests that all replicas may have in flight together: 8 for three -> 3, 3, 2."""
        whole = model_concurrency(self._model)
        return None if whole is None else whole // self._seats + (seat < whole % self._seats)

    # --- what the model can do beyond answering ----------------------------------------------------------------

    @property
    def _meter(self) -> Meter | None:
        return self.__dict__.get("meter")

    def _finish(self) -> None:
        self._is_finishing = True
        if self._crew is not None:
            self._crew.finish(self._last)

    def _know(self, answered_before: bool) -> None:
        self._answered_before = answered_before

    def _said(self, what: str, told: bool = True) -> None:
        if told and self.tell is not None:
            self.tell(what)


def _fits(crews: Sequence[Crew], mine: Crew, missing: int, resources: Mapping[str, float]) -> bool:
    cpus = sum(len(crew.members) * crew.needs.cpus for crew in crews) + missing * mine.needs.cpus
    gpus = sum(len(crew.members) * crew.needs.gpus for crew in crews) + missing * mine.needs.gpus
    return cpus <= resources.get("CPU", 0.0) + 1e-6 and gpus <= resources.get("GPU", 0.0) + 1e-6


def model_concurrency(model: Model) -> int | None:
    return Parts(model).concurrency


# --- opening --------------------------------------------------------------------------------------------------


def spread(config: Config, model: Model, found: Found | None, options: Mapping[str, object]) -> Model:
    """The model on the engine of the configuration; `found` is None for an object of Python."""
    provider = found.spec.partition("/")[0] if found else ""
    if provider in LOOKED_UP:
        return model
    check_installed()
    seats = _seats(config, model, options)
    needs = _needs(config, model, found, seats)
    given = {**options, **{name: options[name] / seats for name in ("rpm", "tpm") if options.get(name)}}  # type: ignore[operator]
    recipe = Recipe(
        provider,
        _absolute(found.name) if found else model.name,
        given,
        model.identity,
        model.method,
        settings_of(model),
        str(Path.cwd()),
        tuple(entry for entry in sys.path if entry),
        pickled=b"" if found else packed(model),
        variables=_variables(provider, options),
    )
    return Spread(model, recipe, needs, seats)


def _seats(config: Config, model: Model, options: Mapping[str, object]) -> int:
    """As many replicas as asked for, unless they would have less than one request each."""
    limits = [model_concurrency(model), options.get("rpm"), options.get("tpm")]
    return min([config.replicas or 1, *(max(1, int(limit)) for limit in limits if isinstance(limit, int | float))])


def _needs(config: Config, model: Model, found: Found | None, seats: int) -> Needs:
    is_service = Parts(model).dialect is not None
    is_computed = found is not None and bool(registry.accepted(found.make, {"device": ""}))
    gpus = config.gpus_per_replica
    if gpus is None:  # -1: one, if the cluster has some
        gpus = -1.0 if is_computed and not (config.device or "").startswith("cpu") else 0.0
    cpus = config.cpus_per_replica
    if cpus is None:
        cpus = 0.0 if is_service else 1.0 if address() else _part_of(cores(), seats)
    if cpus * seats > cores() + 1e-6 and not address() and not is_running():
        message = f"{seats} replicas with {cpus:g} CPUs each need {cpus * seats:g}, this machine has {cores()}"
        hint = f"--replicas {max(1, int(cores() / cpus))}, fewer --cpus-per-replica, or a cluster: RAY_ADDRESS"
        raise UsageError(message, hint=hint)
    return Needs(cpus, gpus)


def _part_of(cores: int, seats: int) -> float:
    """8 cores for 3 replicas -> 2; 2 for 3 -> 0.6666: Ray takes four digits."""
    return float(cores // seats) if cores >= seats else int(1e4 * cores / seats) / 1e4


def _absolute(name: str) -> str:
    """A file or folder by its whole path: a replica may be elsewhere."""
    with suppress(OSError, ValueError, RuntimeError):
        path = Path(name).expanduser()
        if path.exists():
            return str(path.absolute())
    return name


def _variables(provider: str, options: Mapping[str, object]) -> tuple[str, ...]:
    name = str(options.get("key_env") or "OPENAI_API_KEY")
    return (name,) if provider == "openai" and name in os.environ else ()
