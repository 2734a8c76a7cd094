"""The Ray cluster of a run: the one at RAY_ADDRESS, or one on this machine that is started and ended here.

A cluster that unwaver starts has a temporary folder and a token of its own, listens on the loopback address only,
sends no usage reports, and ignores other clusters on the machine. It starts when the first question is asked and
ends when the last model is closed. A process beside it (on_ray_watch) ends it if this one is killed.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from unwaver.errors import ModelError, missing_extra
from unwaver.models import on_ray_watch

ADDRESS = "RAY_ADDRESS"
LONGEST = 24  # characters of the folder for temporary files: Ray's sockets are deep below, and 107 are allowed
STORE = 128 * 2**20  # bytes for objects in flight; requests and answers are small
CONNECT = 5.0  # seconds
_TOKEN = secrets.token_hex(32)  # one for all clusters of this process: Ray keeps the first


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def address() -> str:
    """Where a cluster is running; "" if one is to be started."""
    given = os.environ.get(ADDRESS, "").strip()
    return "" if given == "local" else given


def check_installed() -> None:
    if find_spec("ray") is None:
        raise missing_extra("ray", "ray")


def import_ray() -> Any:
    check_installed()
    try:
        import ray
    except ImportError as e:
        raise missing_extra("ray", "ray") from e
    return ray


def is_running() -> bool:
    """Whether this process is part of a cluster already."""
    return "ray" in sys.modules and bool(import_ray().is_initialized())


class Cluster:
    """One for the process. `members` are the models that are open, started or not."""

    def __init__(self) -> None:
        self.members: weakref.WeakSet[Any] = weakref.WeakSet()
        self.folder: Path | None = None  # of a cluster that was started here
        self._ray: Any = None
        self._is_mine = False
        self._printing: Any = None
        self._watch: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def ray(self) -> Any:
        """The library, connected."""
        if self._ray is None or not self._ray.is_initialized():
            if where := address():
                self._connect(where)
            elif import_ray().is_initialized():  # in Python, somebody else did
                self._ray = import_ray()
            else:
                self._start()
        return self._ray

    def leave(self, member: object) -> None:
        self.members.discard(member)
        if not self.members:
            self.end()

    def end(self) -> None:
        ray, self._ray = self._ray, None
        if ray is not None and self._is_mine:
            self._is_mine = False
            with suppress(Exception), _signals_kept():
                ray.shutdown()
            worker: Any = import_module("ray._private.worker")
            worker.print_to_stdstream = self._printing or worker.print_to_stdstream
        self._end_watch()

    def last_lines(self, pid: int, most: int = 3) -> str:
        """What a replica has written last on its standard error, where its log is at hand."""
        if self.folder is None:
            return ""
        for log in self.folder.glob(f"session_2*/logs/worker-*-{pid}.err"):
            with suppress(OSError):
                lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
                kept = [line for line in lines if line and not line.startswith(("[", ":"))]
                return " | ".join(kept[-most:])[-500:]
        return ""

    def _start(self) -> None:
        parent = tempfile.gettempdir()
        self.folder = Path(
            tempfile.mkdtemp(prefix="unwaver-ray-", dir="/tmp" if len(parent) > LONGEST else parent)
        )
        self._begin_watch(self.folder)
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(_TOKEN)
        surroundings = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # which means: the loopback address, on any system
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a replica without GPUs sees none
            "RAY_DISABLE_IMPORT_WARNING": "1",
        }
        settings = {
            "address": "local",
            "num_cpus": cores(),
            "include_dashboard": False,
            "object_store_memory": STORE,
            "_temp_dir": str(self.folder),
        }
        try:
            with _environment(surroundings), _loopback():
                self._init(settings)
        except BaseException as e:
            self.end()
            if not isinstance(e, Exception) or isinstance(e, ModelError):
                raise
            hint = "try `ray start --head` by hand, or leave --engine out"
            raise ModelError(f"Ray cannot be started: {_first_line(e)}", hint=hint) from e

    def _connect(self, where: str) -> None:
        _check_there(where)
        try:
            with _environment({"RAY_USAGE_STATS_ENABLED": "0"}):
                self._init({"address": where})
        except ModelError:
            raise
        except Exception as e:
            hint = (
                f"is {ADDRESS} right, and is this machine a node of the cluster (ray start --address=HOST:PORT)? "
                "From elsewhere use ray://HOST:10001. All nodes need the same versions of Python and Ray"
            )
            raise ModelError(f"the Ray cluster at {where} cannot be used: {_first_line(e)}", hint=hint) from e

    def _init(self, settings: Mapping[str, Any]) -> None:
        ray = import_ray()
        with _signals_kept():
            ray.init(**settings, log_to_driver=False, logging_level=logging.CRITICAL)
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        worker: Any = import_module("ray._private.worker")
        if hasattr(worker, "print_to_stdstream"):  # of dead workers: standard output is ours, as for --json
            self._printing = worker.print_to_stdstream
            worker.print_to_stdstream = _nothing
        self._ray, self._is_mine = ray, True

    def _begin_watch(self, folder: Path) -> None:
        command = [sys.executable, "-I", "-S", on_ray_watch.__file__, str(folder)]
        nowhere: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        self._watch = subprocess.Popen(command, stdin=subprocess.PIPE, **nowhere)

    def _end_watch(self) -> None:
        watch, self._watch, self.folder = self._watch, None, None
        if watch is None or watch.stdin is None:
            return
        watch.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            watch.wait(2 * on_ray_watch.SECONDS)


def _check_there(where: str) -> None:
    """A wrong address is known in seconds: Ray itself would try for minutes."""
    place = urlsplit(where if "//" in where else f"//{where}")
    try:
        if place.hostname is None or place.port is None:
            return  # "auto", for one
        socket.create_connection((place.hostname, place.port), CONNECT).close()
    except (OSError, ValueError) as e:
        hint = f"is the cluster running? Unset {ADDRESS} to run on this machine alone"
        raise ModelError(f"no Ray cluster answers at {where}: {_first_line(e)}", hint=hint) from None


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """What processes that are started meanwhile inherit; this one has it no longer than that."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _loopback() -> Iterator[None]:
    """As the variable of the same name, which is read when Ray is imported: that may have been long ago."""
    import_ray()
    from ray._private import ray_constants

    before, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
    _read_again()
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _read_again() -> None:
    """Ray has read how to prove who it is when it was imported; a version without tokens has nothing to read."""
    try:
        core: Any = import_module("ray._raylet")
        core.Config.initialize("")
        core.AuthenticationTokenLoader.instance().reset_cache()
    except AttributeError:
        pass


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes over SIGTERM and the printing of uncaught errors: both are ours again afterwards."""
    main = threading.current_thread() is threading.main_thread()
    handler, hook = signal.getsignal(signal.SIGTERM), sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = hook
        if main and handler is not None:
            signal.signal(signal.SIGTERM, handler)


def _nothing(*_: object, **__: object) -> None:
    pass


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0][:300]


CLUSTER = Cluster()
