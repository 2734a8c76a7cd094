"""Secrets: what is one, and how it is kept out of everything that is written or printed.

A secret is learnt where it comes in (unwaver.secret_sources): the variables that hold keys, options named like
keys, tokens or passwords, fields of `extra` named so, passwords and keys in addresses. From then on every file
(folder.write_whole, Store), every stream (cli.streams), every error (errors.UnwaverError) and every text that is
shown (text.safe) goes through `masked`. What a server says goes through `masked_echo`, which knows the forms in
which servers show half a key. The text of an answer is kept as it came: it is data.

    remember("sk-abcdefgh1234"); masked("Bearer sk-abcdefgh1234") -> "Bearer [key]"
    masked_echo("wrong key: sk-ab*****1234") -> "wrong key: [key]"
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from unwaver.secret_forms import LEAST, bounded, forms, halves

MASK = "[key]"
HEADERS = "headers"  # the option, and the field in `extra`
LEAST_NAMED = 4  # of what is given as a password
KEY_VARIABLES = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "PGPASSWORD")
BASE_URL = "OPENAI_BASE_URL"
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
LAST_WORDS = {
    "key",
    "token",
    "signature",
    "sig",
    "pass",
}  # of a name: api_key, but not max_tokens
_OTHER = {
    "metric", "sort", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "cache", "special", "end", "start",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# keys as services make them; of the first sort only with a part that no word is: sk-bert-base-v1 is a model
KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{9,}"
    r"|(?<![A-Za-z0-9])(?:(?:gh[opsu]|hf|glpat|npm|xai|gsk|nvapi|tgp|r8|fw|pplx|dop_v1|github_pat)[-_][A-Za-z0-9]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|A(?:KI|SI)A[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,2})"
)
CREDENTIALS = re.compile(r"://[^/?#\s]*@(?!(?:[01]?\.\d+|[01])$)")  # but "http://host@0.5" ends in a threshold
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
    return bool(set(words) & _ALWAYS) or words[-1] in LAST_WORDS


def learn_arguments(arguments: Sequence[str]) -> None:
    """A command line, before anything of it can be printed."""
    text = " ".join(arguments)
    named = any(argument.startswith("--") and is_secret_name(argument) for argument in arguments)
    if named or "=" in text or ":" in text or KEY.search(text):  # nothing else can hold a secret
        from unwaver.secret_sources import learn_arguments as look

        look(arguments)


def learn_environment() -> None:
    """The variables that hold keys by themselves."""
    names = (*KEY_VARIABLES, BASE_URL, *PROXIES, *map(str.lower, PROXIES))
    if any(os.environ.get(name) for name in names):
        from unwaver.secret_sources import learn_environment as look

        look()


def has_credentials(text: str) -> bool:
    """Whether an address in it holds a user name or a password: "base_url=http://me:pw@host/v1"."""
    return any(CREDENTIALS.search(piece) for piece in re.split(r",(?=\s*\w+=)", text))
