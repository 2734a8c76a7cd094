"""1,000 runs of the whole sample in `unwaver view`: the first page of a server that has just started, that page
again, the list sorted by a score, and the list in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import unwaver

RUNS, MOST = 1000, 1000  # milliseconds
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def make(place: Path) -> None:
    """A thousand folders with files of one real run: each has its own record, and a link to scores and answers."""
    first = place / "0000"
    unwaver.run("sample", "fake/random", out=str(first))
    record = json.loads((first / "run.json").read_text())
    for n in range(1, RUNS):
        folder = place / f"{n:04}"
        folder.mkdir()
        for name in ("scores.json", "groups.jsonl", "answers.sqlite"):
            os.link(first / name, folder / name)
        asking = {**record["asking"], "began": f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}T12:00:00Z", "cost": n / 1000}
        (folder / "run.json").write_text(json.dumps({**record, "asking": asking}))


@contextmanager
def server(place: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "unwaver.cli.main", "view", str(place), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, "unwaver view printed no link"
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def milliseconds(opener: urllib.request.OpenerDirector, address: str, mark: str) -> float:
    start = time.perf_counter()
    text = opener.open(address).read().decode()
    took = 1000 * (time.perf_counter() - start)
    assert mark in text, f"{address}: no {mark}"
    return took


def in_browser(link: str) -> float | None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("there is no chromium: the list is not timed in a browser", file=sys.stderr)
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        page.goto(link)
        page.goto(link.split("/in/")[0] + "/?sort=run")
        took = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        browser.close()
    return float(took)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        with server(Path(name)) as link:
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            base = link.split("/in/")[0]
            found = {"first page": milliseconds(opener, link, f"{RUNS:,} runs")}
            found["first page again"] = milliseconds(opener, base, f"{RUNS:,} runs")
            found["sorted by consistency"] = milliseconds(opener, f"{base}/?sort=consistency", f"{RUNS:,} runs")
            whole = time.perf_counter()
            while "still being read" in opener.open(f"{base}/?sort=consistency").read().decode():
                time.sleep(0.5)
            whole = 1000 * (time.perf_counter() - whole)
            found["sorted, all scores read"] = milliseconds(opener, f"{base}/?sort=accuracy", f"{RUNS:,} runs")
            took = in_browser(link)
            if took is not None:
                found["in a browser"] = took
    for what, ms in found.items():
        line = {"bench": f"view of {RUNS:,} runs, {what}, ms", "ms": round(ms)}
        print(json.dumps({**line, "target": f"< {MOST}", "ok": ms < MOST}))


if __name__ == "__main__":
    main()
