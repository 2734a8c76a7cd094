"""A PostgreSQL server for tests: its own folder, a socket and a port of the loopback. It can be stopped and started.

The programs are those of `pgserver`; as root they run as nobody.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


def programs() -> Path | None:
    """The folder of the programs. The package is not imported: that warns, and makes folders."""
    found = importlib.util.find_spec("pgserver")
    places = [Path(place) / "pginstall" for place in (found.submodule_search_locations or ())] if found else []
    return next((place for place in places if (place / "bin" / "postgres").exists()), None)


def missing() -> str:
    """Why there can be no server here; "" if there can be one."""
    if programs() is None:
        return "pgserver is not installed, which brings a PostgreSQL server"
    return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    def __init__(self, place: Path, listen: str = "127.0.0.1", host: str = "", within: Sequence[str] = ()):
        """`host` is where it is found, if not where it listens; `within` is a command to start it by: ("ip",
        "netns", "exec", "name")."""
        self.place, self.port, self.host, self._listen = place, free_port(), host or listen, listen
        self._within, self._user, home = tuple(within), None, programs()
        assert home is not None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self._user = "nobody"
            if not all(folder.stat().st_mode & 0o001 for folder in (home, *home.parents)):
                home = Path(shutil.copytree(home, place / "pginstall", symlinks=True))
            place.chmod(0o755)
            shutil.chown(place, self._user)
        self._programs = home / "bin"
        # --no-sync: only the making of the folder; commits are synced
        self._call("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", self.data)
        self.trust()
        self.start()

    @property
    def data(self) -> Path:
        return self.place / "data"

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@{self.host}:{self.port}/{database}"

    def trust(self, way: str = "trust") -> None:
        """Who may log in over the network: anybody, or with "scram-sha-256" who knows a password."""
        (self.data / "pg_hba.conf").write_text(f"local all all trust\nhost all all 0.0.0.0/0 {way}\n")

    def start(self) -> None:
        options = f"-h {self._listen} -p {self.port} -k {self.place}"
        log = self.place / "log"
        self._call("pg_ctl", "-w", "-D", self.data, "-o", options, "-l", log, "start", within=self._within)

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-w", "-D", self.data, "-m", mode, "stop")

    def reload(self) -> None:
        self._call("pg_ctl", "-D", self.data, "reload")

    def sql(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Do it as the owner of the server, over the socket; the rows of the last statement."""
        rows: list[Any] = []
        where = {"host": str(self.place), "port": self.port, "user": "postgres", "dbname": database}
        with psycopg.connect(**where, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)  # type: ignore[call-overload]
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def new(self, name: str) -> str:
        """A new database; its address."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', f'CREATE DATABASE "{name}"')
        return self.url(name)

    def _call(self, program: str, *arguments: object, within: Sequence[str] = ()) -> None:
        command = [*within, *(["setpriv", *self._as_user()] if within else []), str(self._programs / program)]
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                [*command, *map(str, arguments)], stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd="/",
                user=None if within else self._user, timeout=120,
            )  # fmt: skip
            said.seek(0)
            assert done.returncode == 0, said.read()

    def _as_user(self) -> list[str]:
        return [f"--reuid={self._user}", "--clear-groups"] if self._user else []


@contextmanager
def server(**options: Any) -> Iterator[PostgresServer]:
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp" if os.name == "posix" else None))
    started = None
    try:
        started = PostgresServer(place, **options)
        yield started
    finally:
        if started is not None and (started.data / "postmaster.pid").exists():
            started.stop("immediate")
        shutil.rmtree(place, ignore_errors=True)
