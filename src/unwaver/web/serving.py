"""A server on this machine, until Ctrl-C."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from unwaver.errors import UsageError
from unwaver.web.guard import host_of

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
PORT = 8765


def is_loopback(host: str) -> bool:
    """is_loopback("127.0.0.1") -> True; is_loopback("0.0.0.0") -> False"""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_for(host: str, proxy: str | None = None) -> set[str]:
    """The names that the server answers for. On all addresses of the machine, its own names and addresses too."""
    found = {*LOOPBACK, host}
    if proxy:
        found.add(host_of(proxy))
    if host in ("0.0.0.0", "::"):
        found |= {socket.gethostname(), socket.getfqdn(), *_addresses()}
    return {name.lower() for name in found}


def _addresses() -> set[str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return set()


def bound(host: str, port: int | None, before: int | None = None) -> socket.socket:
    """A socket on this port; where none is given, on the one used before or the first free one from `PORT` up."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    usual = [*([before] if before else []), *range(PORT, PORT + 20), 0]
    for tried in [port] if port is not None else usual:
        # asyncio sends pages at once only on sockets that are said to be TCP; else each waits 40 ms for an ACK
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host.strip("[]"), tried))
        except OSError as e:
            found.close()
            if port is None and tried:
                continue
            hint = "leave --port out for a free one" if port is not None else "check --host"
            raise UsageError(f"{host}:{tried} cannot be used: {e.strerror or e}", hint=hint) from None
        found.listen(128)
        return found
    raise AssertionError  # port 0 is always free


def serve(app: ASGIApp, listening: socket.socket, ready: Callable[[str], None], *, proxied: bool = False) -> None:
    """Until Ctrl-C or SIGTERM; `ready` gets the address once it can be opened. What headers say of where a request
    came from is believed only behind a proxy."""
    import uvicorn

    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, proxy_headers=proxied)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(address)

    Server(config).run(sockets=[listening])
