"""A real browser: Debian's chromium, driven by Playwright. What is not there is skipped, and the skip says so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def launched() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=300_000)
        except sync_api.Error as e:  # a stub of a package that is not there, a library that is missing
            pytest.skip(f"{path} does not start: {str(e).splitlines()[0]}")
        yield browser
        browser.close()


class Opened:
    """A page that notes everything it should not do: requests, errors, dialogs, other pages."""

    def __init__(self, browser: Any, path: Path, **options: Any):
        self.trouble: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.context.set_default_timeout(300_000)  # a busy machine is no reason to fail
        self.page = self.context.new_page()
        self.context.on("page", lambda page: self.trouble.append(f"page {page.url}"))
        on = self.page.on
        on("console", lambda m: self.trouble.append(f"{m.type}: {m.text}"))
        on("pageerror", lambda e: self.trouble.append(f"error {e}"))
        on("dialog", self._dialog)
        on("request", lambda r: self._request(r.url, path))
        self.page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-ready]", timeout=600_000)

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _request(self, url: str, path: Path) -> None:
        if url != path.as_uri():
            self.trouble.append(f"request {url}")

    def close(self) -> None:
        self.context.close()
