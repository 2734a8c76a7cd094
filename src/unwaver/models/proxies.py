"""The proxy before a server, by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Proxy:
    host: str
    port: int
    tls: bool = False
    authorization: str = field(default="", repr=False)


def proxy_for(url: SplitResult) -> Proxy | None:
    """The proxy that leads to an address; None for our own machine and for hosts in NO_PROXY.

    Raises ValueError where a variable holds no address of a proxy; the text does not show it, for its password.
    """
    host = url.hostname or ""
    if host in OWN_MACHINE:
        return None
    from urllib.request import getproxies, proxy_bypass

    found = getproxies()
    given = found.get(url.scheme) or found.get("all")
    if not given or proxy_bypass(f"{host}:{url.port}" if url.port else host):
        return None
    return parsed(given)


def parsed(text: str) -> Proxy:
    """ "http://me:word@proxy:3128" -> Proxy("proxy", 3128, authorization="Basic bWU6d29yZA==")."""
    address = urlsplit(text if "://" in text else f"http://{text}")
    if address.scheme not in ("http", "https"):
        raise ValueError("a proxy that does not speak HTTP")
    if not address.hostname:
        raise ValueError("a proxy without a host")
    tls = address.scheme == "https"
    allowed = ""
    if address.username is not None:
        pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
        allowed = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(address.hostname, address.port or (443 if tls else 80), tls, allowed)
