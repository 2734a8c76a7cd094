"""A job as an application: its pages, with the guard before them."""

from __future__ import annotations

from collections.abc import Collection

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from unwaver.web import annotate, owner
from unwaver.web.desk import Desk, entrance, guarded
from unwaver.web.guard import Guard
from unwaver.web.pages import page, static


def job_app(desk: Desk, hosts: Collection[str]) -> ASGIApp:
    routes = [
        Route("/in/{token}", entrance(desk)),
        Route("/static/{name:path}", static),
        Route("/", guarded(desk, annotate.home)),
        Route("/help", guarded(desk, annotate.instructions)),
        Route("/mine", guarded(desk, annotate.mine)),
        Route("/card/{number:int}", guarded(desk, annotate.card)),
        Route("/card/{number:int}", guarded(desk, annotate.send), methods=["POST"]),
        Route("/draft/{number:int}", guarded(desk, annotate.draft), methods=["POST"]),
        Route("/practice/{number:int}", guarded(desk, annotate.practice), methods=["GET", "POST"]),
        Route("/owner", guarded(desk, owner.overview, owner=True)),
        Route("/owner/aside", guarded(desk, owner.set_aside, owner=True), methods=["POST"]),
        Route("/owner/decide", guarded(desk, owner.decide, owner=True), methods=["POST"]),
        Route("/owner/forget/{rater:int}", guarded(desk, owner.forget, owner=True), methods=["GET", "POST"]),
        Route("/owner/export/{name}", guarded(desk, owner.export, owner=True)),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing})
    return Guard(app, hosts=hosts, client=desk.client)


async def _missing(_: Request, __: Exception) -> Response:
    return page("message.html", 404, title="No such page", text="", link="/", link_text="To the first page")
