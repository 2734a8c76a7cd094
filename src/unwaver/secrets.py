"""Secrets: what is one, and how it is kept out of everything that is written or printed.

A secret is learnt where it comes in: the variables that hold keys, options named like keys, tokens or passwords,
fields of `extra` named so, passwords and keys in addresses. From then on every file (folder.write_whole, Store),
every stream (cli.streams), every error (errors.UnwaverError) and every text that is shown (text.safe) goes through
`masked`. What a server says goes through `masked_echo`, which knows the forms in which servers show half a key.
The text of an answer is kept as it came: it is data.

    remember("sk-abcdefgh1234"); masked("Bearer sk-abcdefgh1234") -> "Bearer [key]"
    masked_echo("wrong key: sk-ab*****1234") -> "wrong key: [key]"
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from unwaver.secret_forms import LEAST, bounded, forms, halves

MASK = "[key]"
HEADERS = "headers"  # the option, and the field in `extra`
LEAST_NAMED = 4  # of what is given as a password
KEY_VARIABLES = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "PGPASSWORD")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
KEYS_BELONG = "keys come from the environment (OPENAI_API_KEY, or key_env=NAME): a command line gets written down"

_TRIVIAL = {
    "none", "null", "true", "false", "empty", "test", "dummy", "password", "passwd", "secret", "token", "bearer",
    "basic", "apikey", "default", "unused", "local", "ollama", "not-needed", "no-key", "no-key-required",
}  # fmt: skip
_ALWAYS = {
    "password", "passwd", "passphrase", "pwd", "secret", "authorization", "auth", "credential", "credentials",
    "bearer", "apikey", "cookie", "passcode",
}  # fmt: skip
_LAST = {"key", "token", "signature", "sig", "pass"}  # as the last word of a name: api_key, but not max_tokens
_OTHER = {
    "metric", "sort", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "cache", "special", "end", "start",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# keys as services make them; of the first sort only with a part that no word is: sk-bert-base-v1 is a model
_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{9,}"
    r"|(?<![A-Za-z0-9])(?:(?:gh[opsu]|hf|glpat|npm|xai|gsk|nvapi|tgp|r8|fw|pplx|dop_v1|github_pat)[-_][A-Za-z0-9]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|A(?:KI|SI)A[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,2})"
)
_BRIEF = {f"{first}{mark}" for first in ("sk", "pk", "rk", "ak") for mark in "-_"}
_NO_WORD = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}|[A-Za-z0-9]{16,}")
# names are bounded: in a long text without a sign, each letter would be looked at as often as there are letters
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>]+")
_CREDENTIALS = re.compile(r"://[^/?#\s]*@(?!(?:[01]?\.\d+|[01])$)")  # but "http://host@0.5" ends in a threshold
_PAIR = re.compile(r"""["']?([A-Za-z][\w.-]{0,100})["']?\s*[:=]\s*(?:"([^"]*)"|'([^']*)'|([^\s"',;&}]+))""")
_SCHEME = re.compile(r"(?i)(bearer|basic|token|apikey|key|digest)[\s:=]+(\S.*)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class _Known:
    """The secrets of this process, and the patterns that find them. One lock: servers are asked in threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.secrets: tuple[str, ...] = ()
        self.forms: tuple[str, ...] = ()
        self.exact: re.Pattern[str] | None = None
        self.echoes: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        with self.lock:
            if secret in self.secrets:
                return
            self.secrets = (*self.secrets, secret)
            found = {form for known in self.secrets for form in forms(known)}
            self.forms = tuple(sorted(found, key=len, reverse=True))
            self.exact = re.compile("|".join(map(bounded, self.forms)))
            parts = "|".join(halves(known) for known in self.secrets if len(known) >= LEAST)
            self.echoes = re.compile(parts) if parts else None


_known = _Known()


def forget() -> None:
    """For tests: nothing is a secret any more."""
    _known.__init__()  # type: ignore[misc]


def remember(secret: str, least: int = LEAST) -> None:
    """Mask this from now on, unless it is a stand-in: too short, one character repeated, a word like "none"."""
    secret = secret.strip()
    if len(secret) < least or secret.casefold() in _TRIVIAL or len(set(secret)) < 3 or MASK in secret:
        return
    _known.add(secret)


def masked(text: str) -> str:
    """The text without any secret, in the forms that URLs, JSON, HTML, base64 … give it."""
    if _known.exact is None or not any(form in text for form in _known.forms):
        return text
    return _known.exact.sub(MASK, text)


def masked_bytes(data: bytes) -> bytes:
    """The same for a file; one that is not text has no secret that could be read from it."""
    if _known.exact is None or not any(form.encode("utf-8", "replace") in data for form in _known.forms):
        return data
    try:
        return masked(data.decode()).encode()
    except UnicodeDecodeError:
        return data


def masked_echo(text: str) -> str:
    """What a server says, also without halves of secrets: "sk-ab***yz", "sk-ab…", "ending in wxyz"."""
    text = masked(text)
    return text if _known.echoes is None else _known.echoes.sub(MASK, text)


def masked_json(text: str) -> str:
    """JSON, or lines of it: only inside of strings, so that it stays JSON."""
    if _known.exact is None or not any(form in text for form in _known.forms):
        return text

    def cleaned(found: re.Match[str]) -> str:
        try:
            said = json.loads(found[0], strict=False)
        except ValueError:
            return masked(found[0])
        clean = masked(said)
        return found[0] if clean == said else json.dumps(clean, ensure_ascii=found[0].isascii())

    return _STRING.sub(cleaned, text)


def masked_settings(value: Any, name: str = "") -> Any:
    """Settings as they are shown: {"api_key": 12345678, "top_k": 1} -> {"api_key": "[key]", "top_k": 1}."""
    if isinstance(value, Mapping):
        return {key: masked_settings(part, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_settings(part, name) for part in value)
    if isinstance(value, str):
        return masked(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if number and is_secret_name(name) else value


# --- where secrets come in ----------------------------------------------------------------------------------


def is_secret_name(name: str) -> bool:
    """ "api_key", "X-Api-Key", "accessToken" -> True; "max_tokens", "key_env", "eos_token" -> False."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or set(words) & _OTHER:
        return False
    return bool(set(words) & _ALWAYS) or words[-1] in _LAST


def looks_like_key(text: str) -> bool:
    """ "sk-proj-4f9a…", "AKIA…", or a known secret somewhere in it."""
    return any(_keys_in(text)) or masked(text) != text


def _keys_in(text: str) -> Iterator[str]:
    for found in _KEY.findall(text):
        if found[:3].lower() not in _BRIEF or _NO_WORD.search(found[3:]):
            yield found


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
    for found in _keys_in(text):
        remember(found)


def remember_named(name: str, value: str) -> None:
    """The value of an option or field with such a name; just "key" or "token" may be something else."""
    if name.lower() in _LAST and not (len(value) >= LEAST and re.search(r"\d", value)):
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
        if digits and (long or (named and len(part) >= 12) or is_secret_name(before) or any(_keys_in(part))):
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
    learn_address(os.environ.get("OPENAI_BASE_URL", ""))
    for name in PROXIES:
        for spelt in (name, name.lower()):
            learn_address(os.environ.get(spelt, ""))


def has_credentials(text: str) -> bool:
    """Whether an address in it holds a user name or a password: "base_url=http://me:pw@host/v1"."""
    return any(_CREDENTIALS.search(piece) for piece in re.split(r",(?=\s*\w+=)", text))


def without_credentials(value: Any) -> Any:
    """Every address in it without user name and password: "http://me:pw@host/v1" -> "http://host/v1"."""
    if isinstance(value, Mapping):
        return {key: without_credentials(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_credentials(part) for part in value)
    return _CREDENTIALS.sub("://", value) if isinstance(value, str) else value
