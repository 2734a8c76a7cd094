"""Where a server is and what goes with every request: address, query, key and headers.

https://host/v1                                          /v1/chat/completions, Authorization: Bearer KEY
https://x.openai.azure.com?api-version=2024-10-21        /openai/deployments/MODEL/chat/completions?api-version=…,
                                                         api-key: KEY
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from unwaver.errors import ModelError, UsageError
from unwaver.secret_sources import learn, learn_address, looks_like_key
from unwaver.secrets import KEYS_BELONG, is_secret_name

PUBLIC_API = "https://api.openai.com/v1"
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
VERSION = "api-version"
OWN_HEADERS = {
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "content-type",
    "te",
}
_HEADERS_SHOWN = """headers='{"X-Team": "evals"}'; "$NAME" takes a value from the environment variable NAME"""


@dataclass(frozen=True)
class Address:
    """`query` goes with every request; `azure`: the key is sent as Azure wants it."""

    url: SplitResult
    azure: bool = False

    @property
    def base(self) -> str:
        """ "https://host/v1", as messages show it."""
        return f"{self.url.scheme}://{self.url.netloc}{self.url.path}"

    @property
    def whole(self) -> str:
        """With its query: what answers are stored under."""
        return self.base + (f"?{self.url.query}" if self.url.query else "")

    @property
    def server(self) -> str:
        """Who shares limits: whatever the API version, and however the host is written."""
        return f"{self.url.scheme}://{self.url.netloc.lower()}{self.url.path}"

    def target(self, path: str) -> str:
        """ "/chat/completions" -> "/v1/chat/completions", as it is sent."""
        query = f"?{self.url.query}" if self.url.query else ""
        return quote(self.url.path + path, safe="/%:@!$&'()*+,;=~-._") + query


def address_of(base_url: str | None, name: str, api_version: str | None) -> Address:
    """The server at `base_url`, else at OPENAI_BASE_URL, else the public API; `name` is the model's."""
    if base_url is not None and not base_url.strip():
        raise _no_address()  # an empty variable of a script: not a wish for the public API
    url = _url(base_url or os.environ.get("OPENAI_BASE_URL") or PUBLIC_API)
    learn_address(url.geturl())
    query = _query(url, api_version)
    host = url.hostname or ""
    versioned = any(key == VERSION for key, _ in query)
    path = url.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if versioned:
        path = _deployment(path, name)
    # kept as it was written: what parse_qsl gives back may differ in its encoding
    text = url.query if len(query) == len(parse_qsl(url.query, keep_blank_values=True)) else urlencode(query)
    return Address(url._replace(path=path, query=text), versioned or host.endswith(AZURE_HOSTS))


def _url(text: str) -> SplitResult:
    """Anything that might be a key is refused without being shown."""
    try:
        url = urlsplit(text.strip())
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        usable = usable and not re.search(r"\s", url.netloc)
        (url.hostname or "").encode("idna")
    except ValueError:
        usable = False
    if not usable or not url.netloc.isprintable():
        raise _no_address()
    if "@" in url.netloc:
        raise UsageError("base_url holds a user name or password", hint=KEYS_BELONG)
    if url.fragment:
        raise UsageError("base_url has a part after #", hint="leave it out")
    return url


def _query(url: SplitResult, api_version: str | None) -> list[tuple[str, str]]:
    found = parse_qsl(url.query, keep_blank_values=True)
    if not url.query.isascii() or not url.query.isprintable() or (url.query and not found):
        raise UsageError(
            "base_url has a part after ? that cannot be sent", hint=f"write it as ?{VERSION}=2024-10-21"
        )
    for name, value in found:
        if is_secret_name(name) or looks_like_key(value) or re.search(r"[A-Za-z0-9]{20,}", value):
            raise UsageError(
                "base_url has a part after ? that may be a key",
                hint="leave it out; a key belongs in the environment variable OPENAI_API_KEY",
            )
    given = [value for name, value in found if name == VERSION]
    if api_version is None:
        return found
    if not re.fullmatch(r"[A-Za-z0-9._-]+", api_version):
        raise UsageError("api_version is not a version", hint="api_version=2024-10-21")
    if given and given != [api_version]:
        raise UsageError(
            f"base_url has {VERSION}={given[0]} and api_version is {api_version}", hint="give one of them"
        )
    return found if given else [*found, (VERSION, api_version)]


def _deployment(path: str, name: str) -> str:
    """Azure: "" and "/openai" -> "/openai/deployments/NAME"; any longer path is complete."""
    if path.endswith("/deployments"):
        return f"{path}/{quote(name, safe='')}"
    if path == "" or path.endswith("/openai"):
        return f"{path.removesuffix('/openai')}/openai/deployments/{quote(name, safe='')}"
    return path


def _no_address() -> UsageError:
    return UsageError("base_url is not an address", hint="--model-arg base_url=http://localhost:8000/v1")


def key_in(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"the key in {variable} has characters that no key has", hint="was it copied whole?")
    return key


def headers_of(key: str, azure: bool, more: str | Mapping[str, object] | None) -> dict[str, str]:
    """What goes with every request; headers that the user gives replace our own."""
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip, deflate", "User-Agent": "unwaver"}
    if key.lower().startswith(("bearer ", "basic ")):
        headers["Authorization"] = key
    elif key:
        headers |= {"api-key": key} if azure else {"Authorization": f"Bearer {key}"}
    given = _given(more)
    taken = {name.lower() for name in given}
    return {**{name: value for name, value in headers.items() if name.lower() not in taken}, **given}


def _given(more: str | Mapping[str, object] | None) -> dict[str, str]:
    """Values are treated as secrets, and no message shows them."""
    learn("headers", more)
    try:
        found = json.loads(more) if isinstance(more, str) else more or {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        raise UsageError("headers is not a JSON object", hint=_HEADERS_SHOWN)
    return {name: _value(name, value) for name, value in found.items()}


def _value(name: object, value: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise UsageError("headers has a name that is not the name of a header", hint=_HEADERS_SHOWN)
    if name.lower() in OWN_HEADERS:
        raise UsageError(f"headers cannot hold {name}", hint="unwaver sets it itself")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"headers: the value of {name} is not text", hint=_HEADERS_SHOWN)
    text = str(value).strip()
    if text.startswith("$"):
        variable = text[1:].strip("{}")
        if variable not in os.environ:
            raise UsageError(f"headers: {name} names an environment variable that is not set", hint=_HEADERS_SHOWN)
        text = os.environ[variable].strip()
    if not text.isascii() or not text.isprintable():
        raise UsageError(f"headers: the value of {name} has characters that no header has", hint=_HEADERS_SHOWN)
    return text
