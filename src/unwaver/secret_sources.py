"""Where secrets come in: options and fields by their names, addresses, headers, variables, command lines.

learn("api_key", "abcdefgh1234")                  -> masked from now on
learn_address("https://me:s3cret@host/v1?key=…")  -> the password, and the key in the query
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from unwaver.secret_forms import LEAST
from unwaver.secrets import (
    BASE_URL,
    CREDENTIALS,
    HEADERS,
    KEY,
    KEY_VARIABLES,
    LAST_WORDS,
    LEAST_NAMED,
    PROXIES,
    is_secret_name,
    masked,
    remember,
)

_BRIEF = ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ak-", "ak_")
_NO_WORD = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}|[A-Za-z0-9]{16,}")

# names are bounded: in a long text without a sign, each letter would be looked at as often as there are letters
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>]+")
_PAIR = re.compile(r"""["']?([A-Za-z][\w.-]{0,100})["']?\s*[:=]\s*(?:"([^"]*)"|'([^']*)'|([^\s"',;&}]+))""")
_SCHEME = re.compile(r"(?i)(bearer|basic|token|apikey|key|digest)[\s:=]+(\S.*)")


def learn(name: str, value: object) -> None:
    """An option or a field by its name; JSON and addresses in it are looked into."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if name == HEADERS:
                _learn_header(part)
            learn(str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            learn(name, part)
    elif isinstance(value, bool) or value is None:
        return
    else:
        _learn_text(name, str(value))


def _learn_header(value: object) -> None:
    """Of headers every value is a secret, whatever its name; "$NAME" is where a value comes from."""
    text = str(value).strip()
    if text.startswith("$"):
        text = os.environ.get(text[1:].strip("{}"), "")
    remember_header(text)


def _learn_text(name: str, text: str) -> None:
    if is_secret_name(name):
        remember_named(name, text)
    elif name == "key_env":
        learn_variable(text)
    elif name == HEADERS:  # also where the JSON is broken
        for _, *values in _PAIR.findall(text):
            _learn_header("".join(values))
    learn_text(text)
    if "{" in text:
        with contextlib.suppress(ValueError, RecursionError):  # broken: the pairs in it were found
            learn(name, json.loads(text))


def learn_text(text: str) -> None:
    """A text that somebody typed: addresses, name=value, "name": "value", and what is made like a key."""
    for piece in re.split(r",(?=\s*\w+=)", text):  # "base_url=http://h/v1,key_env=NAME" holds no key
        for address in _ADDRESS.findall(piece):
            learn_address(address)
    if re.search(r"""\{\s*["']""", text) or not re.search(
        r"\s", text
    ):  # not in sentences: "Password: please guess"
        for name, *values in _PAIR.findall(text):
            if is_secret_name(name):
                remember_named(name, "".join(values))
    for found in keys_in(text):
        remember(found)


def remember_named(name: str, value: str) -> None:
    """The value of an option or field with such a name; just "key" or "token" may be something else."""
    if name.lower() in LAST_WORDS and not (len(value) >= LEAST and re.search(r"\d", value)):
        return
    remember_header(value)


def remember_header(value: str) -> None:
    """A secret as headers have it: "Bearer X" -> X; "Basic dTpwdw==" -> also the password in it."""
    remember(value, LEAST_NAMED)
    if found := _SCHEME.fullmatch(value.strip()):
        remember(found[2], LEAST_NAMED)
        if found[1].lower() == "basic":
            with contextlib.suppress(ValueError, binascii.Error):
                remember(base64.b64decode(found[2], validate=True).decode().partition(":")[2], LEAST_NAMED)
    for part in re.split(r";\s*", value)[1:]:  # cookies
        remember(part.partition("=")[2])


def learn_variable(name: str) -> None:
    """The variable that holds a key. If there is none of that name, somebody may have given the key itself."""
    if name in os.environ:
        if len(os.environ[name].strip()) >= LEAST:
            remember_header(os.environ[name])
    elif is_odd_variable(name):
        remember(name)


def is_odd_variable(name: str) -> bool:
    """Rather a key than the name of a variable: "sk_live_8Fa…", "hf_aBc…"; not "MY_KEY", "my_key"."""
    mixed = re.search(r"[a-z]", name) and re.search(r"\d", name)
    return looks_like_key(name) or bool(len(name) >= 12 and (mixed or "_" not in name) and re.search(r"\d", name))


def learn_address(text: str) -> None:
    """Passwords, keys in the query, and parts of the path that are made like a key."""
    try:
        url = urlsplit(text)
        user, password = url.username, url.password
    except ValueError:
        return
    if url.scheme in ("postgresql", "postgres"):
        from unwaver.store_address import learn_password

        learn_password(text)
        return
    if password:
        remember(unquote(password), LEAST_NAMED)
        remember(password, LEAST_NAMED)
    if user and (not password or looks_like_key(user)):
        remember(unquote(user))
    for name, value in parse_qsl(url.query):
        if is_secret_name(name):
            remember_header(value)
    for part in _keys_in_path(url):
        remember(part)


def _keys_in_path(url: SplitResult) -> Iterator[str]:
    before = ""
    for raw in url.path.split("/"):
        part = unquote(raw)
        long = re.search(r"[A-Za-z0-9]{20,}", part)
        named = any(word in part.lower() for word in ("secret", "token", "apikey", "passw")) or is_secret_name(
            part
        )
        digits = re.search(r"\d", part) and re.search(r"[A-Za-z]", part)
        if digits and (long or (named and len(part) >= 12) or is_secret_name(before) or any(keys_in(part))):
            yield part
        before = part


def learn_arguments(arguments: Sequence[str]) -> None:
    """A command line, before anything of it can be printed."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        name = argument.lstrip("-")
        if argument.startswith("--") and is_secret_name(name) and "=" not in name:
            remember_named(name, following)
        learn_text(argument)
        for piece in re.split(r",(?=\s*[\w-]+=)", argument):
            option, equals, value = piece.partition("=")
            if equals:
                _learn_text(option.strip().lstrip("-"), value)


def learn_environment() -> None:
    """The variables that hold keys by themselves."""
    for name in KEY_VARIABLES:
        if len(value := os.environ.get(name, "").strip()) >= LEAST:
            remember_header(value)
    learn_address(os.environ.get(BASE_URL, ""))
    for name in PROXIES:
        for spelt in (name, name.lower()):
            learn_address(os.environ.get(spelt, ""))


def looks_like_key(text: str) -> bool:
    """ "sk-proj-4f9a…", "AKIA…", or a known secret somewhere in it."""
    return any(keys_in(text)) or masked(text) != text


def keys_in(text: str) -> Iterator[str]:
    for found in KEY.findall(text):
        if found[:3].lower() not in _BRIEF or _NO_WORD.search(found[3:]):
            yield found


def without_credentials(value: Any) -> Any:
    """Every address in it without user name and password: "http://me:pw@host/v1" -> "http://host/v1"."""
    if isinstance(value, Mapping):
        return {key: without_credentials(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_credentials(part) for part in value)
    return CREDENTIALS.sub("://", value) if isinstance(value, str) else value
