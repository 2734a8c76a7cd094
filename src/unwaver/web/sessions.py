"""Who is there: a link with a random token, then a signed cookie, and forms that nobody else can send.

The secret that signs is kept beside the data, readable by its owner alone, so that people stay logged in when the
server starts anew. A new link ends the sessions of the old one: a session holds the beginning of its token's hash.
"""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

COOKIE, FIELD = "unwaver", "csrf"
LASTS = 7 * 24 * 3600  # seconds
_SIZE = 32  # bytes of a token or secret


@dataclass(frozen=True)
class Session:
    """`who` is the number of a person, `link` the beginning of the hash of the token that let them in, `nonce`
    what tells two sessions of one person apart."""

    who: int
    link: str
    nonce: str


def new_token() -> str:
    return secrets.token_urlsafe(_SIZE)


def link_of(hashed: str) -> str:
    """The beginning of the hash of a token, by which a session knows its link."""
    return hashed[:16]


def kept_secret(path: Path) -> bytes:
    """The secret in this file; a new one, for its owner's eyes only, where there is none."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        found = None
    if found is not None and len(found) == _SIZE:
        return found
    new = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(_SIZE))
        file.flush()
        os.fsync(file.fileno())
    # whole or not at all: a server that is killed here leaves no short secret, which could be guessed
    new.replace(path)
    return path.read_bytes()


class Sessions:
    """`cookie` tells servers on one machine apart: a browser does not look at the port."""

    def __init__(self, secret: bytes, *, secure: bool = False, cookie: str = COOKIE):
        self._secret, self._secure, self._cookie = secret, secure, cookie
        self._signer = URLSafeTimedSerializer(secret, salt="session")

    def begin(self, response: Response, who: int, hashed: str) -> None:
        """`hashed` is the hash of the token in the link."""
        value = self._signer.dumps([who, link_of(hashed), secrets.token_urlsafe(9)])
        assert isinstance(value, str)
        response.set_cookie(
            self._cookie, value, max_age=LASTS, httponly=True, samesite="lax", secure=self._secure, path="/"
        )

    def end(self, response: Response) -> None:
        response.delete_cookie(self._cookie, httponly=True, samesite="lax", secure=self._secure, path="/")

    def of(self, request: Request) -> Session | None:
        """None without a cookie, with one that is too old, and with one that this server has not signed."""
        try:
            who, link, nonce = self._signer.loads(request.cookies.get(self._cookie, ""), max_age=LASTS)
        except (BadSignature, ValueError, TypeError):
            return None
        return Session(who, link, nonce) if isinstance(who, int) else None

    def ticket(self, *what: object) -> str:
        """What a page was made for, so that it comes back as it was."""
        return str(URLSafeSerializer(self._secret, salt="ticket").dumps(what))

    def read_ticket(self, text: str) -> list[Any] | None:
        try:
            found = URLSafeSerializer(self._secret, salt="ticket").loads(text)
        except (BadSignature, ValueError, TypeError):
            return None
        return found if isinstance(found, list) else None

    def csrf(self, session: Session) -> str:
        """What every form of this session carries."""
        return hmac.new(self._secret, f"form {session.who} {session.nonce}".encode(), sha256).hexdigest()

    def is_own_form(self, session: Session, sent: str) -> bool:
        return hmac.compare_digest(self.csrf(session).encode(), sent.encode(errors="replace"))
