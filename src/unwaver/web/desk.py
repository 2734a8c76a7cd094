"""What all pages of a job share: the database, the sessions, and who may open a page."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from unwaver.people.job import Job
from unwaver.people.store import Database, Rater
from unwaver.types import Group
from unwaver.web.pages import form_of, page
from unwaver.web.sessions import COOKIE, FIELD, Session, Sessions, kept_secret, link_of

Form = dict[str, list[str]]


class Desk:
    """One job. Each thread of the server has its own connection to the database."""

    def __init__(
        self,
        job: Job,
        groups: Sequence[Group] = (),
        *,
        secure: bool = False,
        clock: Callable[[], float] = time.time,
    ):
        self.job, self.groups, self.clock = job, list(groups), clock
        secret = kept_secret(secret_of(job))
        # a browser sends a cookie to every port of a machine: each job has one of its own
        own = hashlib.sha256(b"cookie" + secret).hexdigest()[:8]
        self.sessions = Sessions(secret, secure=secure, cookie=f"{COOKIE}_{own}")
        self._threads, self._turn = threading.local(), threading.Lock()

    @property
    def database(self) -> Database:
        if not hasattr(self._threads, "database"):
            self._threads.database = Database(self.job.database, turn=self._turn)
        found: Database = self._threads.database
        return found

    def client(self, request: Request) -> str | None:
        """Who sends a request, for the limit of requests."""
        session = self.sessions.of(request)
        return f"rater {session.who}" if session else None


def secret_of(job: Job) -> Path:
    return job.path.with_suffix(".secret")


@dataclass(frozen=True)
class Visit:
    """A request of somebody who may make it. A form that was sent is one of ours."""

    desk: Desk
    request: Request
    form: Form
    session: Session
    rater: Rater

    @property
    def csrf(self) -> str:
        return self.desk.sessions.csrf(self.session)


Handler = Callable[[Visit], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


def entrance(desk: Desk) -> Endpoint:
    """/in/TOKEN: the link of one person."""

    async def enter(request: Request) -> Response:
        return await run_in_threadpool(_enter, desk, request.path_params["token"])

    return enter


def _enter(desk: Desk, token: str) -> Response:
    rater = desk.database.rater_with(token)
    if rater is None:
        return _unknown()
    response = RedirectResponse("/owner" if rater.owner else "/", status_code=303)
    desk.sessions.begin(response, rater.id, rater.token)
    return response


def guarded(desk: Desk, handler: Handler, *, owner: bool = False) -> Endpoint:
    """Only for people with a link; of the owner, or of the raters."""

    async def endpoint(request: Request) -> Response:
        form = await form_of(request) if request.method == "POST" else {}
        return await run_in_threadpool(_admit, desk, handler, request, form, owner)

    return endpoint


def _admit(desk: Desk, handler: Handler, request: Request, form: Form, owner: bool) -> Response:
    session = desk.sessions.of(request)
    rater = desk.database.rater(session.who) if session else None
    if session is None or rater is None or link_of(rater.token) != session.link:
        return _unknown()
    if rater.owner and request.url.path == "/":
        return RedirectResponse("/owner", status_code=303)
    if rater.owner != owner:
        return page("message.html", 403, title="Not for you", text="This page is for somebody else.", link=None)
    if request.method == "POST" and not desk.sessions.is_own_form(session, form.get(FIELD, [""])[0]):
        text = "This form was not made for you, or it is too old. Open the page again and send it once more."
        return page("message.html", 403, title="Not sent", text=text, link="/", link_text="Open the page again")
    return handler(Visit(desk, request, form, session, rater))


def _unknown() -> Response:
    text = "Open the link that you were given. If it does not work any more, ask for a new one."
    return page("message.html", 401, title="Who are you?", text=text, link=None)
