"""How a secret may look in a file or a reply: encoded, escaped, or with its middle left out."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

LEAST = 8  # characters; shorter ones are stand-ins such as "EMPTY"
# what stands for the hidden part of a key
_GAP = r"(?:[*•●∙·…✱＊#█]+|\.{2,}|[xX]{3,}|_{3,}|-{3,}|\[[^\]\n]{0,24}\]|<[^>\n]{0,24}>|\(\.{3}\))+"
_STARS = r"(?:[*•●…✱＊█]{1,}|\.{3,}|[xX]{4,})"
_ENDS = r"(?i:(?:begin|start|end)\w*\s+(?:in|with)\s+[\"'`]?)"


def forms(secret: str) -> Iterator[str]:
    """The secret as it may stand in a file: encoded for URLs, JSON, HTML, Markdown, LaTeX, headers."""
    once = json.dumps(secret)[1:-1]
    encoded = [quote(secret, safe=""), quote(secret), quote_plus(secret)]
    plain = [secret, html.escape(secret), html.escape(secret, quote=False), repr(secret)[1:-1]]
    found = [*plain, *encoded, *(re.sub(r"%..", lambda m: m[0].lower(), e) for e in encoded)]
    found += [once, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(once)[1:-1]]
    found += [_marked(secret, "|<>&`*_[]\\~!#@:", "&#{};"), re.sub(r"([#$%&_{}])", r"\\\1", secret)]
    if len(secret) >= LEAST:
        data = secret.encode("utf-8", "replace")
        found += [secret.lower(), secret.upper(), data.hex(), *_in_base64(data)]
    yield from (form for form in dict.fromkeys(found) if len(form) >= min(len(secret), LEAST))


def _marked(text: str, marks: str, form: str) -> str:
    return "".join(form.format(ord(c)) if c in marks else c for c in text)


def _in_base64(data: bytes) -> Iterator[str]:
    """Its part that is the same whatever stands before and after it: in "user:secret", for one."""
    ways: Iterable[Callable[[bytes], bytes]] = (base64.b64encode, base64.urlsafe_b64encode)
    for encode in ways:
        for before, skip in ((0, 0), (1, 2), (2, 3)):
            whole = encode(bytes(before) + data).decode()
            yield whole[skip : (before + len(data)) * 8 // 6]


def bounded(form: str) -> str:
    """Short ones only as words of their own: "1234" is not in "12345"."""
    escaped = re.escape(form)
    return escaped if len(form) >= LEAST else rf"(?<!\w){escaped}(?!\w)"


def halves(secret: str) -> str:
    """Its beginning and end with stars or dots between them, or one of both; more than half of it alone."""
    size, most = len(secret), max(LEAST, (len(secret) + 1) // 2)
    begins = "|".join(re.escape(secret[:n]) for n in range(size - 1, 2, -1))
    last = "|".join(re.escape(secret[-n:]) for n in range(size - 1, 0, -1))
    ends = "|".join(re.escape(secret[-n:]) for n in range(size - 1, 2, -1))
    long = "|".join(
        [re.escape(secret[:n]) for n in range(size - 1, most - 1, -1)]
        + [re.escape(secret[-n:]) for n in range(size - 1, most - 1, -1)]
    )
    parts = [f"(?:{begins}){_GAP}(?:{last})?", f"{_STARS}(?:{ends})", f"{_ENDS}(?:{begins}|{ends})"]
    return "|".join([*parts, long] if long else parts)
