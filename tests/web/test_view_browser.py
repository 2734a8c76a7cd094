"""`unwaver view` in a real browser: 1,000 runs, two compared, a run under way, and hostile strings; nothing leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from axe import grave
from browser import launched

import unwaver
from unwaver.reports.pictures import installed

pytestmark = pytest.mark.slow
HOSTILE = "<script>alert(1)</script>\"'><img src=//x.example/ onerror=alert(2)>\u202egnp.exe\n=cmd()"
SIZES = (1400, 400)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@contextmanager
def server(*folders: Path) -> Iterator[str]:
    """A server in a process of its own, as people start it; its link."""
    command = [sys.executable, "-m", "unwaver.cli.main", "view", *map(str, folders), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.endswith("Stopped.\n")
    assert err == ""


class Tab:
    """A page that notes what it should not do."""

    def __init__(self, browser: Any, link: str, width: int = 1400, colours: str = "light"):
        self.base = link.split("/in/")[0]
        self.trouble: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
        self.context.set_default_timeout(300_000)
        self.context.on(
            "request", lambda r: r.url.startswith((f"{self.base}/", "blob:")) or self.trouble.append(r.url)
        )
        self.page = self.context.new_page()
        self.page.on("dialog", lambda d: (self.trouble.append(f"dialog {d.message}"), d.dismiss()))
        self.page.on("pageerror", lambda e: self.trouble.append(f"error {e}"))
        self.page.on(
            "console", lambda m: m.type == "error" and "status of 4" not in m.text and self.trouble.append(m.text)
        )
        self.page.goto(link)

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)

    def looks_right(self) -> None:
        assert grave(self.page) == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), self.page.url
        assert self.trouble == []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browser") / "runs"
    for name, suite in (("random", "sample/snli"), ("keyword", "sample/snli"), ("other", "sample/rte")):
        model = "fake/keyword" if name == "keyword" else "fake/random"
        unwaver.run(suite, model, out=str(place / name))
    return place


def test_a_thousand_runs(browser: Any, made: Path, tmp_path: Path) -> None:
    record, scores = (
        json.loads((made / "random" / "run.json").read_text()),
        (made / "random" / "scores.json").read_text(),
    )
    for n in range(1000):
        place = tmp_path / f"run-{n:04}"
        place.mkdir()
        (place / "scores.json").write_text(scores.replace("fake/random", f"model-{n % 7}"))
        asking = {**record["asking"], "began": f"2026-01-{n % 28 + 1:02}T12:00:00Z", "cost": n / 100}
        models = [{**record["models"][0], "name": f"model-{n % 7}"}]
        (place / "run.json").write_text(json.dumps({**record, "models": models, "asking": asking}))
    with server(tmp_path) as link:
        tab = Tab(browser, link)
        assert tab.page.inner_text("h1").startswith("1,000 runs")
        assert tab.page.locator("tbody tr").count() == 50
        tab.page.fill("#q", "run-012")
        tab.page.press("#q", "Enter")
        assert tab.page.inner_text("h1").startswith("10 runs of 1,000")
        tab.page.click("thead a:has-text('Cost')")
        first = tab.page.inner_text("tbody tr:first-child th")
        assert first == "run-0120"
        assert "q=run-012&sort=cost" in tab.page.url
        again = Tab(browser, link)
        again.page.goto(tab.page.url)  # a bookmark
        assert again.page.inner_text("tbody tr:first-child th") == first
        tab.open("/?sort=run&page=20")
        assert tab.page.inner_text("tbody tr:last-child th") == "run-0999"
        tab.looks_right()


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_page_can_be_used(width: int, colours: str, browser: Any, made: Path) -> None:
    with server(made) as link:
        tab = Tab(browser, link, width, colours)
        tab.looks_right()
        for name in ("random", "keyword"):
            tab.page.check(f"tr:has(bdi:text-is('{name}')) input")
        tab.page.click("text=Compare marked runs")
        assert "Newly broken:" in tab.page.inner_text("main")
        text = tab.page.inner_text("main")  # the newer one is the first in the list
        names = ("fake/keyword (keyword)", "fake/random (random)")
        assert any(f"{one} against {other}" in text for one, other in (names, names[::-1]))
        tab.looks_right()
        with tab.page.expect_download() as download:
            tab.page.click("main >> text=csv")
        assert download.value.suggested_filename == "newly-broken.csv"
        tab.open("/leaderboard")
        tab.page.get_by_text("fake/keyword").first.wait_for()
        tab.looks_right()
        tab.page.click("text=by relation")
        tab.looks_right()
        tab.open("/run/nothing")
        assert "There is no such run" in tab.page.inner_text("h1")
        tab.looks_right()
        if installed():
            tab.open("/")
            tab.page.click("bdi:text-is('random')")
            tab.page.wait_for_selector("html[data-ready]")  # its own script runs, under its own policy
            assert "of 30 groups" in tab.page.inner_text("#count")
            tab.looks_right()
            tab.page.click("text=All runs")
            assert tab.page.inner_text("h1").startswith("3 runs")


def test_with_the_keyboard_alone(browser: Any, made: Path) -> None:
    with server(made) as link:
        tab = Tab(browser, link)
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        tab.page.keyboard.press("Enter")
        seen = []
        for _ in range(40):
            tab.page.keyboard.press("Tab")
            name = tab.page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
            )
            if name.startswith(("Compare random", "Compare keyword")):
                tab.page.keyboard.press("Space")
            seen.append(name)
            if name == "Compare marked runs":
                break
        assert seen[-1] == "Compare marked runs"
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/compare?run=*")
        assert "Comparison of 2 runs" in tab.page.inner_text("h1")


def test_a_wrong_token(browser: Any, made: Path) -> None:
    with server(made) as link:
        tab = Tab(browser, f"{link.split('/in/')[0]}/in/wrong")
        for path in ("/", "/leaderboard"):
            tab.open(path)
            assert "This page needs the link" in tab.page.inner_text("h1")
            assert "random" not in tab.page.content()
        tab.looks_right()


def test_progress_follows_by_itself(browser: Any, made: Path, tmp_path: Path) -> None:
    runs = Path(shutil.copytree(made, tmp_path / "runs"))
    place = runs / "random"
    record = json.loads((place / "run.json").read_text())
    begun = {
        name: value for name, value in record.items() if name not in ("spent", "agreements", "failures", "asking")
    }
    (place / "run.json").write_text(json.dumps(begun))
    (place / "scores.json").rename(place / "later")
    who = {"pid": os.getpid(), "host": socket.gethostname(), "since": "2026-11-17 12:00:00"}
    (place / ".lock").write_text(json.dumps(who))
    with closing(sqlite3.connect(place / "answers.sqlite")) as db:
        rows = db.execute("SELECT * FROM answers").fetchall()
        db.execute("DELETE FROM answers")
        db.commit()
    with server(runs) as link:
        listed, one = Tab(browser, link), Tab(browser, link)
        one.page.click("bdi:text-is('random')")
        assert "random is under way" in one.page.inner_text("h1")
        assert f"0 of {len(rows)} requests" in one.page.inner_text("main")
        marked = one.page.evaluate("document.body.dataset.here = 'still'")
        assert marked == "still"
        with closing(sqlite3.connect(place / "answers.sqlite")) as db:
            db.executemany(f"INSERT INTO answers VALUES ({','.join('?' * len(rows[0]))})", rows[:20])
            db.commit()
        for tab in (one, listed):
            tab.page.get_by_text(f"20 of {len(rows)} requests").wait_for()
        assert one.page.evaluate("document.body.dataset.here") == "still"  # not loaded again
        one.looks_right()
        with closing(sqlite3.connect(place / "answers.sqlite")) as db:
            db.executemany(f"INSERT INTO answers VALUES ({','.join('?' * len(rows[0]))})", rows[20:])
            db.commit()
        (place / "run.json").write_text(json.dumps(record))
        (place / "later").rename(place / "scores.json")
        (place / ".lock").unlink()
        listed.page.wait_for_selector("tr:has(bdi:text-is('random')) .badge.bad")
        one.page.wait_for_selector("h1:not(:has-text('is under way'))")


def test_hostile_strings_are_inert(browser: Any, made: Path, tmp_path: Path) -> None:
    runs = Path(shutil.copytree(made, tmp_path / "runs"))
    text = json.dumps(HOSTILE)[1:-1]
    for name in ("random", "keyword"):
        for file in ("run.json", "scores.json", "groups.jsonl"):
            path = runs / name / file
            found = path.read_text().replace(f"fake/{name}", f"{name}{text}").replace('"sample/snli"', f'"{text}"')
            path.write_text(found.replace('hypothesis": "', f'hypothesis": "{text}'))
    record = json.loads((runs / "keyword" / "run.json").read_text())
    (runs / "keyword" / "run.json").write_text(json.dumps({**record, "spent": {"stopped": HOSTILE}}))
    (runs / "other" / "run.json").write_text(json.dumps({"version": HOSTILE}))
    (runs / "random").rename(runs / HOSTILE.replace("/", "∕"))
    with server(runs) as link:
        tab = Tab(browser, link, 400)
        addresses = [a.get_attribute("href") for a in tab.page.locator("th[role=rowheader] a").all()]
        assert len(addresses) == 3
        ids = [address.removeprefix("/run/") for address in addresses if "other" not in address]
        for path in ("/", "/leaderboard", *addresses, f"/compare?run={ids[0]}&run={ids[1]}&allow=1"):
            tab.open(path)
            tab.page.wait_for_timeout(200)
            tab.looks_right()
            assert tab.page.locator("img[src*=example]").count() == 0
        assert "<script>alert(1)</script>" in tab.page.inner_text("main")
