"""Templates of our own, with everything in them escaped, and the files they need."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from unwaver.text.shown import cut, safe

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
MOST_FIELDS = 200


@lru_cache(maxsize=1)
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a page with a hole is an error, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["asset"] = asset
    found.filters["shown"] = shown
    return found


def shown(text: object, most: int = 300) -> str:
    """A text of others, cut, without what hides or turns text; the template escapes it."""
    return cut(safe(str(text)).encode("utf-8", "replace").decode(), most)


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_environment().get_template(name).render(**values), status_code=status)


@lru_cache(maxsize=32)
def asset(name: str) -> str:
    """The address of a file with the hash of its content, so that a new version is loaded anew."""
    return f"/static/{name}?{sha256((_HERE / 'static' / name).read_bytes()).hexdigest()[:12]}"


async def static(request: Request) -> Response:
    """A file of ours, by its plain name: nothing above or below the folder."""
    name = request.path_params["name"]
    path = _HERE / "static" / name
    if path.suffix not in _TYPES or path.name != name or not path.is_file():
        return PlainTextResponse("There is no such file.", status_code=404)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


async def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form; nothing where it is not one, or has more fields than any of ours."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    try:
        text = (await request.body()).decode("ascii")
        return parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError:
        return {}
