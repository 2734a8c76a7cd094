"""A job as an application: its pages, with the guard before them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from unwaver.errors import StoreError
from unwaver.web import annotate, owner
from unwaver.web.desk import Desk, entrance, guarded
from unwaver.web.guard import PER_SECOND, Guard
from unwaver.web.pages import page, static


class _Number(Convertor[int]):
    """A number that SQLite can hold."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", _Number())


def job_app(desk: Desk, hosts: Collection[str], per_second: float = PER_SECOND) -> ASGIApp:
    routes = [
        Route("/in/{token}", entrance(desk)),
        Route("/static/{name:path}", static),
        Route("/", guarded(desk, annotate.home)),
        Route("/help", guarded(desk, annotate.instructions)),
        Route("/mine", guarded(desk, annotate.mine)),
        Route("/card/{number:number}", guarded(desk, annotate.card)),
        Route("/card/{number:number}", guarded(desk, annotate.send), methods=["POST"]),
        Route("/draft/{number:number}", guarded(desk, annotate.draft), methods=["POST"]),
        Route("/practice/{number:number}", guarded(desk, annotate.practice), methods=["GET", "POST"]),
        Route("/owner", guarded(desk, owner.overview, owner=True)),
        Route("/owner/cards", guarded(desk, owner.cards, owner=True)),
        Route("/owner/aside", guarded(desk, owner.set_aside, owner=True), methods=["POST"]),
        Route("/owner/decide", guarded(desk, owner.decide, owner=True), methods=["POST"]),
        Route("/owner/forget/{rater:number}", guarded(desk, owner.forget, owner=True), methods=["GET", "POST"]),
        Route("/owner/export/{name}", guarded(desk, owner.export, owner=True)),
    ]
    handlers: dict[Any, Any] = {404: _missing, 405: _missing, 500: _broken, StoreError: _not_kept}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, hosts=hosts, client=desk.client, per_second=per_second)


async def _missing(_: Request, e: HTTPException) -> Response:
    text = "There is nothing at this address." if e.status_code == 404 else "This cannot be done here."
    headers = dict(e.headers or {})
    found = page("message.html", e.status_code, title="No such page", text=text, link="/", link_text="First page")
    found.headers.update(headers)
    return found


async def _not_kept(_: Request, e: StoreError) -> Response:
    """What SQLite says is for whoever runs the server; people learn what they can do."""
    logging.getLogger("uvicorn.error").error(str(e))
    text = "The server cannot save at the moment. What you saved before is not lost. Keep this page open, tell "
    text += "the person who gave you the link, and send your reply again later."
    return page("message.html", 503, title="Not saved", text=text, link="/", link_text="Try again")


async def _broken(_: Request, __: Exception) -> Response:
    text = "Something is wrong with the server. What you saved before is not lost. Tell the person who gave you "
    return page("message.html", 500, title="An error", text=f"{text}the link.", link="/", link_text="Try again")
