"""`unwaver view` as an application: all runs below some folders, for one person on this machine.

The link holds a random token that is stored nowhere; it opens a session. Pages are for reading only: there is
nothing to send but what is to be shown.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from unwaver.errors import UnwaverError
from unwaver.web import view_pages
from unwaver.web.guard import Guard
from unwaver.web.pages import page, static
from unwaver.web.serving import hosts_for
from unwaver.web.sessions import Sessions, link_of, new_token
from unwaver.web.view_content import Kept
from unwaver.web.view_progress import Speed
from unwaver.web.view_runs import Runs

COOKIE = "unwaver_view"
Handler = Callable[["Viewer", Request], Response]


@dataclass
class Viewer:
    """What all pages share. `token` is in the link; the port is part of the cookie's name, as a browser sends the
    cookies of one port to every other."""

    folders: Sequence[Path]
    port: int = 0
    token: str = field(default_factory=new_token)

    def __post_init__(self) -> None:
        self.runs = Runs(self.folders)
        self.sessions = Sessions(secrets.token_bytes(32), cookie=f"{COOKIE}_{self.port}")
        self.kept, self.speed = Kept(), Speed()

    @property
    def hashed(self) -> str:
        return sha256(self.token.encode()).hexdigest()

    def is_link(self, token: str) -> bool:
        return hmac.compare_digest(sha256(token.encode(errors="replace")).hexdigest(), self.hashed)

    def is_known(self, request: Request) -> bool:
        session = self.sessions.of(request)
        return session is not None and session.link == link_of(self.hashed)


def view_app(viewer: Viewer) -> ASGIApp:
    pages: dict[str, Handler] = {
        "/": view_pages.runs,
        "/progress": view_pages.progress,
        "/run/{id}": view_pages.run,
        "/run/{id}/broken.{form}": view_pages.broken,
        "/compare": view_pages.compared,
        "/compare/broken.{form}": view_pages.newly_broken,
        "/leaderboard": view_pages.leaderboard,
    }
    routes = [
        Route("/in/{token}", _entrance(viewer)),
        Route("/static/{name:path}", static),
        *(Route(path, _guarded(viewer, handler)) for path, handler in pages.items()),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing})
    return Guard(app, hosts=hosts_for("127.0.0.1"), client=lambda r: "viewer" if viewer.is_known(r) else None)


def _entrance(viewer: Viewer) -> Callable[[Request], object]:
    """/in/TOKEN: the link that the command prints."""

    async def enter(request: Request) -> Response:
        if not viewer.is_link(request.path_params["token"]):
            return _unknown()
        response = RedirectResponse("/", status_code=303)
        viewer.sessions.begin(response, 0, viewer.hashed)
        return response

    return enter


def _guarded(viewer: Viewer, handler: Handler) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        if not viewer.is_known(request):
            return _unknown()
        return await run_in_threadpool(_explained, viewer, handler, request)

    return endpoint


def _explained(viewer: Viewer, handler: Handler, request: Request) -> Response:
    """What is wrong with a run is told on a page, and the server goes on."""
    try:
        return handler(viewer, request)
    except UnwaverError as e:
        return view_pages.refused(e.message, e.hint or "", 422)
    except Exception as e:  # a file that nobody foresaw
        hint = "UNWAVER_DEBUG=1 unwaver report RUN shows where."
        return view_pages.refused(f"unexpected {type(e).__name__}: {e}", hint, 500)


def _unknown() -> Response:
    text = (
        "Open the link that unwaver view printed when it started; after that, this address works in the same "
        "browser. If the server was started again, it printed a new link."
    )
    return page("message.html", 401, title="This page needs the link", text=text, link=None)


async def _missing(_: Request, __: Exception) -> Response:
    return view_pages.missing()
