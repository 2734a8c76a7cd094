"""The replicas of one model on a Ray cluster: started, listened to, and replaced when they die.

    crew.fill()                        replicas for all seats; those that find no room wait, the others work
    crew.hand(member, handed, part)    a part of a wave for one of them
    crew.news(0.5)                     what they say, and who has died

A call that fails means that the replica is lost, whatever the reason: an answer may have been on its way. It is
ended and another takes its seat.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from unwaver.errors import ModelError
from unwaver.models.on_ray_cluster import Cluster
from unwaver.models.on_ray_replica import Handed, Recipe, Replica, Said, Trouble, Where, error_of
from unwaver.models.on_ray_work import Part

BEAT = 2.0  # seconds after which a replica says that there is no news
SILENCE = 30.0  # seconds without a word after which others get what it is working on
PLACING = 120.0  # seconds that all replicas may wait for room
SOON = 5.0  # seconds of waiting for room before replicas of other models make some
TIRED = 30.0  # seconds before a replica is tried again that could not open the model where others can
IN_FLIGHT = 2  # parts that a replica has at a time: one that it works on, one that waits
HOPELESS = 16  # deaths in a row without an answer


@dataclass(frozen=True)
class Needs:
    """What one replica takes of the cluster."""

    cpus: float
    gpus: float

    def __str__(self) -> str:
        """1 CPU and 2 GPUs"""
        told = [
            f"{n:g} {what}{'' if n == 1 else 's'}" for n, what in ((self.cpus, "CPU"), (self.gpus, "GPU")) if n
        ]
        return " and ".join(told) or "no CPU"


@dataclass(eq=False)
class Member:
    seat: int
    actor: Any
    since: float
    where: Where | None = None  # None while it waits for room
    is_ready: bool = False
    parts: dict[int, Part] = field(default_factory=dict)  # that it has, in the order in which it got them
    heard: float = 0.0
    is_doubted: bool = False
    is_beginning: bool = False  # the last part is on its way: Ray may change the order of two calls

    @property
    def is_free(self) -> bool:
        """Whether it can have another part; not beside one that a replica died of."""
        suspect = any(part.deaths for part in self.parts.values())
        return not (self.is_doubted or self.is_beginning or suspect) and len(self.parts) < IN_FLIGHT


@dataclass(frozen=True)
class Death:
    """A replica that is gone, with the parts that it had."""

    member: Member
    why: str


News = tuple[Member, Said | Death]


class Crew:
    def __init__(self, cluster: Cluster, recipes: Sequence[Recipe], needs: Needs, name: str):
        """One recipe for each seat."""
        self.cluster, self.needs, self.name = cluster, needs, name
        self.recipes = recipes
        self.members: dict[int, Member] = {}  # by seat
        self.last_used = 0.0
        self.deaths = 0  # in a row
        self._calls: dict[Any, tuple[Member, Callable[[Member, Any], Iterator[News]]]] = {}
        self._tired: dict[int, float] = {}  # seats that are tried again at a time
        self._left = time.monotonic()  # when the last news were handed on
        self._without_room: float | None = None

    @property
    def ready(self) -> list[Member]:
        return [member for member in self.members.values() if member.is_ready]

    @property
    def in_flight(self) -> bool:
        return any(member.parts for member in self.members.values())

    def fill(self) -> None:
        """A replica for each seat that has none."""
        now = time.monotonic()
        for seat in range(len(self.recipes)):
            if seat not in self.members and self._tired.get(seat, 0.0) <= now:
                self.members[seat] = self._start(seat)

    def hand(self, member: Member, part: Part, handed: Handed) -> None:
        if not member.parts:
            member.heard = time.monotonic()
        member.parts[part.number] = part
        member.is_beginning = True
        self._call(member, member.actor.begin.remote(handed), _begun)

    def news(self, seconds: float) -> Iterator[News]:
        """What has happened, after at most so many seconds."""
        now = time.monotonic()
        for member in self.members.values():
            member.heard += now - self._left  # nobody listened
        ray = self.cluster.ray()
        if self._calls:
            ready, _ = ray.wait(list(self._calls), num_returns=1, timeout=seconds)
            if ready:
                ready, _ = ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        else:
            time.sleep(seconds)
            ready = []
        self._left = time.monotonic()
        for ref in ready:
            if ref in self._calls:
                yield from self._heard(ray, ref)

    def silent(self) -> Iterator[Member]:
        """Replicas that have been silent for too long, once each, if others could take over."""
        now = time.monotonic()
        for member in self.ready:
            others = [other for other in self.ready if other is not member and not other.is_doubted]
            if others and member.parts and not member.is_doubted and now - member.heard > SILENCE:
                member.is_doubted = True
                yield member

    def check_room(self) -> float | None:
        """Seconds that all replicas have waited for room, None if one has some. Raises when that is too long."""
        if any(member.where for member in self.members.values()):
            self._without_room = None
            return None
        now = time.monotonic()
        self._without_room = self._without_room or now
        waited = now - self._without_room
        if waited > PLACING:
            raise self._no_room(f"no replica of {self.name} found room on the Ray cluster within {PLACING:.0f} s")
        return waited

    def stop(self, number: int) -> None:
        """What replicas have to do is not wanted any more, up to the part of this number."""
        for member in self.members.values():
            if member.parts:
                member.parts.clear()
                with suppress(Exception):
                    member.actor.stop.remote(number)

    def finish(self, number: int) -> None:
        for member in self.ready:
            self._call(member, member.actor.finish.remote(number), _nothing)

    def allow(self, member: Member, ticket: int, yes: bool) -> None:
        self._call(member, member.actor.allow.remote(ticket, yes), _nothing)

    def release(self) -> None:
        """End all replicas."""
        for member in list(self.members.values()):
            self._drop(member)

    # --- one replica ------------------------------------------------------------------------------------------

    def _start(self, seat: int) -> Member:
        ray = self.cluster.ray()
        options = {"num_cpus": self.needs.cpus, "num_gpus": self.needs.gpus, "max_concurrency": 8}
        actor = ray.remote(Replica).options(**options, max_restarts=0, max_task_retries=0).remote()
        member = Member(seat, actor, time.monotonic())
        self._call(member, actor.where.remote(), self._placed)
        return member

    def _call(self, member: Member, ref: Any, then: Callable[[Member, Any], Iterator[News]]) -> None:
        self._calls[ref] = member, then

    def _heard(self, ray: Any, ref: Any) -> Iterator[News]:
        member, then = self._calls.pop(ref)
        try:
            value = ray.get(ref)
        except ray.exceptions.RayError as e:
            if self.members.get(member.seat) is member:
                yield member, self._lost(member, e)
            return
        yield from then(member, value)

    def _placed(self, member: Member, where: Where) -> Iterator[News]:
        member.where, self._without_room = where, None
        self._call(member, member.actor.open.remote(self.recipes[member.seat]), self._opened)
        yield from ()

    def _opened(self, member: Member, trouble: Trouble | None) -> Iterator[News]:
        if trouble is None:
            member.is_ready = True
            self._listen(member, None)
        elif not self.ready:
            raise error_of(trouble)
        else:  # on another machine, perhaps: the run goes on without it
            self._drop(member)
            self._tired[member.seat] = time.monotonic() + TIRED
        yield from ()

    def _listen(self, member: Member, _: Any) -> None:
        member.heard, member.is_doubted = time.monotonic(), False
        self._call(member, member.actor.next.remote(BEAT), self._told)

    def _told(self, member: Member, said: Sequence[Said]) -> Iterator[News]:
        """The next news are asked for when these have been handed on: a slow driver slows replicas down."""
        for one in said:
            yield member, one
        if self.members.get(member.seat) is member:
            self._listen(member, None)

    def _lost(self, member: Member, error: Exception) -> Death:
        self._drop(member)
        if member.where is not None:
            self.deaths += 1
        why = why_dead(error)
        if member.where and (lines := self.cluster.last_lines(member.where.pid)):
            why += f": {lines}"
        return Death(member, why)

    def _drop(self, member: Member) -> None:
        if self.members.get(member.seat) is member:
            del self.members[member.seat]
        self._calls = {ref: call for ref, call in self._calls.items() if call[0] is not member}
        with suppress(Exception):
            self.cluster.ray().kill(member.actor)

    def _no_room(self, what: str) -> ModelError:
        has = self.cluster.ray().cluster_resources()
        held = ", ".join(f"{has.get(name, 0):g} {name}s" for name in ("CPU", "GPU"))
        hint = (
            "wait for others to end, start more nodes, or ask for less (--cpus-per-replica, --gpus-per-replica); "
            "what was answered is kept: run the same command again to continue"
        )
        return ModelError(f"{what}: it needs {self.needs}, the cluster has {held} in all", hint=hint)

    def hopeless(self, why: str, has_answered: bool) -> ModelError | None:
        """The reason to give up, if replicas die whatever they are asked."""
        enough = (HOPELESS if has_answered else 4) + 2 * len(self.recipes)
        if self.deaths < enough:
            return None
        hint = "what was answered is kept. Is there enough memory? Fewer replicas need less: --replicas 1"
        return ModelError(f"replicas of {self.name} died {self.deaths} times in a row: {why}", hint=hint)


def with_threads(recipe: Recipe, needs: Needs, concurrency: int | None) -> Recipe:
    return replace(recipe, threads=max(1, int(needs.cpus)), concurrency=concurrency)


def _begun(member: Member, _: Any) -> Iterator[News]:
    member.is_beginning = False
    yield from ()


def _nothing(_: Member, __: Any) -> Iterator[News]:
    yield from ()


def why_dead(error: Exception) -> str:
    """What Ray says of it, in one line."""
    text = " ".join(str(error).split())
    if type(error).__name__ == "OutOfMemoryError":
        return "Ray ended it because the memory of its machine is nearly used up"
    if "node" in text and re.search(
        r"node (?:\S+ )?(?:is dead|has died|was|died)|node failure", text, re.IGNORECASE
    ):
        return "its node is gone"
    if found := re.search(r"exit detail: ?(.*?)(?: Some common causes|$)", text):
        return f"its process ended ({found[1][:200].strip(' .')})"
    return text[:200]
