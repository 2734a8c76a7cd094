"""A replica of a model: what runs in a process of a Ray cluster. The driver hands it parts of a wave, and fetches
what has come of them.

    replica.open(recipe)           the model, opened here; or what went wrong
    replica.begin(handed)          a part to answer, after those it has
    replica.next(2.0)              what has happened since, or nothing within two seconds
    replica.allow(ticket, True)    the reply to a question ("meter")

The model works in one thread of its own. What it says waits in a queue of limited length: a driver that is busy
writing makes it wait.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, Full, Queue, SimpleQueue
from typing import Any, NamedTuple

from unwaver import __version__
from unwaver.errors import ModelError, UnwaverError
from unwaver.models.on_ray_objects import unpacked
from unwaver.models.parts import Parts
from unwaver.types import Model, Request

OUTBOX = 64  # batches that wait to be fetched
PATIENCE = 0.5  # seconds between two looks whether somebody still listens


class Where(NamedTuple):
    host: str
    pid: int


@dataclass(frozen=True)
class Recipe:
    """How to open the model, and what it has to be then. No secret is in it: keys are in the environment of the
    node (`variables` are those that must be set there)."""

    provider: str  # "" for an object of Python, which is `pickled`
    name: str
    options: Mapping[str, object]
    identity: str
    method: str
    settings: str
    folder: str
    path: tuple[str, ...]
    pickled: bytes = field(default=b"", repr=False)
    variables: tuple[str, ...] = ()
    version: str = __version__
    threads: int = 1
    concurrency: int | None = None  # the share of this replica


@dataclass(frozen=True)
class Handed:
    """A part of a wave, and what is known by now of the model and its server."""

    number: int
    requests: Sequence[Request]
    switches: frozenset[str] = frozenset()
    met: bool = False
    answered_before: bool | None = None
    metered: bool = False


class Trouble(NamedTuple):
    """An exception as values: those of other libraries need not exist where it is raised again."""

    kind: str
    message: str
    hint: str | None
    file: str | None
    line: int | None
    trace: str


class Said(NamedTuple):
    """batch: (answers, switches, met); done: seconds; failed: Trouble; meter: three arguments; tell: a text."""

    kind: str  # batch, done, failed, left, meter, tell
    number: int  # of the part, or of the question
    value: Any = None


class Replica:
    def __init__(self) -> None:
        self._model: Model | None = None
        self._inbox: SimpleQueue[Handed] = SimpleQueue()
        self._outbox: Queue[Said] = Queue(OUTBOX)
        self._permits: dict[int, bool] = {}
        self._permitted = threading.Condition()
        self._tickets = 0
        self._stopped_at = 0  # parts up to this number are not wanted any more
        self._finished_at = 0  # parts up to this number are not begun any more

    def where(self) -> Where:
        return Where(socket.gethostname(), os.getpid())

    def open(self, recipe: Recipe) -> Trouble | None:
        try:
            self._model = opened(recipe)
        except BaseException as e:
            return trouble_of(e)
        threading.Thread(target=self._work, daemon=True, name="unwaver-replica").start()
        return None

    def begin(self, handed: Handed) -> None:
        self._inbox.put(handed)

    def next(self, wait: float) -> list[Said]:
        """All that has happened, at least one thing unless nothing happens for `wait` seconds."""
        found: list[Said] = []
        with contextlib.suppress(Empty):
            found.append(self._outbox.get(timeout=wait))
            while True:
                found.append(self._outbox.get_nowait())
        return found

    def allow(self, ticket: int, yes: bool) -> None:
        with self._permitted:
            self._permits[ticket] = yes
            self._permitted.notify_all()

    def finish(self, number: int) -> None:
        """Send nothing more of the parts up to this number; what is in flight is still answered."""
        self._finished_at = max(self._finished_at, number)
        if finish := Parts(self._model).finish:
            finish()

    def stop(self, number: int) -> None:
        """Nobody wants the parts up to this number any more."""
        with self._permitted:
            self._stopped_at = max(self._stopped_at, number)
            self._permitted.notify_all()

    # --- the thread of the model --------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            handed = self._inbox.get()
            if handed.number > self._finished_at:
                self._answer(handed)
            else:
                self._say(Said("left", handed.number), handed.number)

    def _answer(self, handed: Handed) -> None:
        began, number = time.monotonic(), handed.number
        if not self._is_wanted(number):
            return
        try:
            assert self._model is not None
            self._prepare(self._model, handed)
            batches: Any = self._model.answer(handed.requests)
            with closing(batches) if hasattr(batches, "close") else contextlib.nullcontext():
                for batch in batches:
                    self._say(Said("batch", number, (batch, *self._learned())), number)
                    if not self._is_wanted(number):
                        return
        except BaseException as e:
            self._say(Said("failed", number, trouble_of(e)), number)
        else:
            self._say(Said("done", number, time.monotonic() - began), number)

    def _prepare(self, model: Model, handed: Handed) -> None:
        parts = Parts(model)
        if parts.dialect is not None:
            parts.dialect.know(handed.switches)
        if handed.met and met_by(model) is False:
            model.met = True  # type: ignore[attr-defined]
        if handed.answered_before is not None and parts.answered_before:
            parts.answered_before(handed.answered_before)
        parts.meter = self._meter(handed.number) if handed.metered else None
        parts.tell = lambda text: self._say(Said("tell", handed.number, text), handed.number)

    def _learned(self) -> tuple[frozenset[str], bool]:
        parts = Parts(self._model)
        return parts.dialect.switches if parts.dialect else frozenset(), bool(met_by(self._model))

    def _meter(self, number: int) -> Any:
        """A try that failed may be billed: the driver counts it, and says whether there is money for another."""

        def meter(tokens_in: int, tokens_out: int | None, again: bool) -> bool:
            with self._permitted:
                self._tickets += 1
                ticket = self._tickets
            self._say(Said("meter", ticket, (tokens_in, tokens_out, again)), number)
            with self._permitted:
                self._permitted.wait_for(lambda: ticket in self._permits or not self._is_wanted(number))
                return self._permits.pop(ticket, False)

        return meter

    def _is_wanted(self, number: int) -> bool:
        return number > self._stopped_at

    def _say(self, said: Said, number: int) -> None:
        """Wait for room, as long as somebody wants to hear of this part."""
        while self._is_wanted(number):
            with contextlib.suppress(Full):
                self._outbox.put(said, timeout=PATIENCE)
                return


# --- opening ----------------------------------------------------------------------------------------------------


def opened(recipe: Recipe) -> Model:
    """The model that the recipe describes; raises if it is another one here."""
    host = socket.gethostname()
    if recipe.version != __version__:
        hint = f"install unwaver {recipe.version} on all nodes"
        raise ModelError(f"{host} has unwaver {__version__}, this run has {recipe.version}", hint=hint)
    with contextlib.suppress(OSError):  # another machine need not have it
        os.chdir(recipe.folder)
    sys.path += [entry for entry in recipe.path if entry not in sys.path]
    _set_threads(recipe.threads)
    if missing := [name for name in recipe.variables if name not in os.environ]:
        hint = "set it where `ray start` is called: unwaver does not send keys through a cluster"
        raise ModelError(f"{missing[0]} is not set on {host}", hint=hint)
    model = _made(recipe)
    _check_same(recipe, model, host)
    if recipe.concurrency is not None and Parts(model).concurrency is not None:
        model.concurrency = recipe.concurrency  # type: ignore[attr-defined]
    return model


def _made(recipe: Recipe) -> Model:
    if recipe.pickled:
        return unpacked(recipe.pickled)
    from unwaver.models import find_model

    return find_model(f"{recipe.provider}/NAME").make(recipe.name, **recipe.options)


def _check_same(recipe: Recipe, model: Model, host: str) -> None:
    there = (model.identity, model.method, settings_of(model))
    if there == (recipe.identity, recipe.method, recipe.settings):
        return
    hint = "every node needs the same files of the model, at the same path, and the same code"
    raise ModelError(f"{recipe.provider}/{recipe.name} is another model on {host}", hint=hint)


def met_by(model: object) -> bool | None:
    """Whether the server behind a model has answered a request; None if there is none. A second replica need not
    find out again whether key and address are right."""
    return getattr(model, "met", None)


def settings_of(model: Model) -> str:
    return repr(sorted((name, str(value)) for name, value in model.settings.items()))


def _set_threads(threads: int) -> None:
    """Before NumPy and PyTorch are imported, and after: a process may have had another task before."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)


# --- exceptions -------------------------------------------------------------------------------------------------


def trouble_of(error: BaseException) -> Trouble:
    trace = "".join(traceback.format_exception(error))[-4000:]
    if isinstance(error, UnwaverError):
        return Trouble(type(error).__name__, error.message, error.hint, error.file, error.line, trace)
    return Trouble(type(error).__name__, str(error)[:2000], None, None, None, trace)


def error_of(trouble: Trouble) -> Exception:
    """The exception again: an error of ours as it was, one of Python by its name, any other as RuntimeError."""
    import builtins

    import unwaver.errors as errors

    kind = getattr(errors, trouble.kind, None)
    if isinstance(kind, type) and issubclass(kind, UnwaverError):
        return kind(trouble.message, hint=trouble.hint, file=trouble.file, line=trouble.line)
    found = getattr(builtins, trouble.kind, None)
    if isinstance(found, type) and issubclass(found, MemoryError | NotImplementedError | ValueError | TypeError):
        error: Exception = found(trouble.message)
    else:
        error = RuntimeError(f"{trouble.kind}: {trouble.message}")
    error.add_note(f"in a replica on Ray:\n{trouble.trace}")
    return error
