"""The address of an answer store in a PostgreSQL database. Its password is kept apart from it, at the door.

What is recorded, printed and handed on is the address without password: "postgresql://me:pw@db.lab/answers" ->
"postgresql://me@db.lab/answers". `password_of` knows the rest, in this process alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from unwaver.errors import UsageError
from unwaver.secrets import LEAST_NAMED, remember

EXAMPLE = "postgresql://HOST/DATABASE"
ENCODED = "write / ? # and @ in a password as %2F %3F %23 %40, or leave it out and set PGPASSWORD or use ~/.pgpass"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of one letter it is a drive
_SECRET = ("password", "sslpassword")  # parameters of libpq
_apart: dict[str, dict[str, str]] = {}


def is_address(place: str | Path) -> bool:
    """Whether this is no path: "postgresql://db.lab/answers" -> True, "all.sqlite" -> False."""
    return _SCHEME.match(str(place)) is not None


def kept_apart(address: str) -> str:
    """The address without its password, which is remembered for `password_of` and taken from the command line as
    it is recorded. An error if this is no address of a PostgreSQL database."""
    scheme, slashes, rest = address.partition("://")
    if scheme not in ("postgresql", "postgres") or not slashes:
        raise _unknown(address)
    place, mark, query = rest.partition("?")
    user, at, where = _parted(place)
    name, _, password = user.partition(":")
    found = {"password": unquote(password)} if password else {}
    kept = []
    for pair in query.split("&") if mark else ():
        parameter, _, value = pair.partition("=")
        if unquote(parameter) in _SECRET:
            found[unquote(parameter)] = unquote(value)
        else:
            kept.append(pair)
    plain = f"postgresql://{name}{at}{where}" + ("?" + "&".join(kept) if kept else "")
    if plain != address:
        sys.argv[:] = [argument.replace(address, plain) for argument in sys.argv]
    if found:
        _apart[plain] = found
        _remember([password, *found.values()], plain)
    return plain


def learn_password(address: str) -> None:
    """Mask it from now on, whatever is wrong with the address."""
    try:
        kept_apart(address)
    except UsageError:
        user = address.partition("://")[2].rpartition("@")[0]
        _remember([user.partition(":")[2]], "")


def _remember(secrets: Iterable[str], plain: str) -> None:
    """All but those that are also the name of the role, the host …: the address could not be read any more."""
    for secret in secrets:
        if secret not in plain:
            remember(secret, LEAST_NAMED)


def password_of(address: str) -> Mapping[str, str]:
    """What `kept_apart` took out of it: {"password": "pw"}."""
    return _apart.get(address, {})


def _parted(place: str) -> tuple[str, str, str]:
    """User with password, "@", and host with database. A password may hold "@": the last one ends it."""
    before, slash, after = place.partition("/")
    if "@" in after and ":" in before:  # me:p/w@host: libpq would take "p" for a port, and say so
        raise UsageError(
            "the password in the --store address has special characters that are not percent-encoded", hint=ENCODED
        )
    user, at, host = before.rpartition("@")
    return user, at, host + slash + after


def _unknown(address: str) -> UsageError:
    scheme = address.partition(":")[0]
    if scheme in ("postgresql", "postgres"):  # a Path has lost a slash
        return UsageError(
            "the --store address has only one slash after postgresql:", hint=f"pass it as a string: {EXAMPLE}"
        )
    hint = f"use a file such as all.sqlite, or {EXAMPLE}"
    return UsageError(f"--store does not support {scheme}: addresses", hint=hint)
