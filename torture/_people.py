"""Somebody who rates, without a browser: opens a link, reads the form of a page, sends it."""

from __future__ import annotations

import http.client
import re
import sys
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

FORM = "application/x-www-form-urlencoded"


class Client:
    """One connection that is kept open. An OSError or HTTPException means that the server has gone."""

    def __init__(self, link: str):
        self.link, self.cookie = link, ""
        self._host = urlsplit(link).netloc
        self._connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._host, timeout=60)
        headers = {"cookie": self.cookie} | ({"content-type": FORM} if form is not None else {})
        try:
            self._connection.request(method, path, urlencode(form) if form is not None else None, headers)
            found = self._connection.getresponse()
            text = found.read().decode()
        except (OSError, http.client.HTTPException):
            self.hang_up()
            raise
        if given := found.headers.get("set-cookie"):
            self.cookie = given.partition(";")[0]
        return found.status, text

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def enter(self) -> None:
        """Open the link, and the instructions."""
        status, _ = self.request("GET", urlsplit(self.link).path)
        assert status == 303, status
        self.request("GET", "/")


def form_of(page: str) -> tuple[str, dict[str, str]] | None:
    """Where a page sends its form, and the hidden fields of it; None on a page without a card."""
    action = re.search(r'<form method="post" action="(/card/\d+)"', page)
    if action is None:
        return None
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return action[1], {name: unescape(value) for name, value in hidden}
