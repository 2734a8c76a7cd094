"""The pictures of docs/people.md: `python docs/make_people_pictures.py`. Needs Playwright, chromium and Pillow.

The jobs of the page, half done by three people who are played, served on this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_screenshots import NARROW, WIDE, save
from playwright.sync_api import sync_playwright

PAGE = Path(__file__).with_name("people.md")
WRITE = """
kind = "write"
from = "questions.csv"
field = "question"
raters = 1
instructions = "Say the question in your own words, each time differently."
"""
SERVER = ("-m", "unwaver.cli.main", "annotate")


def main() -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        os.chdir(place)
        sys.path.insert(0, place)
        played()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with_page(browser, "rate.toml", "--new-link", "owner", lambda page: page, "people-owner", WIDE, "light")
        Path("more.toml").write_text(Path("rate.toml").read_text().replace("[[practice]]", "[[checks]]"))
        with_page(browser, "more.toml", "--rater", "ann", card, "people-rate", WIDE, "light")
        Path("questions.csv").write_text("question\nWhich of the two numbers is even?\n")
        Path("write.toml").write_text(WRITE)
        with_page(browser, "write.toml", "--rater", "ann", paraphrases, "people-write-phone", NARROW, "dark")
        browser.close()


def played() -> None:
    """Run the blocks of the page that make and play the jobs."""
    blocks = re.findall(r"^```(\w*)[ \t]*(\S*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for language, file, text in blocks:
        if file:
            Path(file).write_text(text)
        elif language == "python":
            exec(text, names)


def with_page(
    browser: Any, job: str, option: str, name: str, prepare: Any, picture: str, size: Any, colours: str
) -> None:
    """Serve the job, open the link of this person, and save what is there after `prepare`."""
    link = ""
    if option == "--new-link":
        done = subprocess.run([sys.executable, *SERVER, job, option, name], capture_output=True, text=True)
        link = done.stdout.strip().rpartition("/in/")[2]
    command = [sys.executable, *SERVER, job, *([option, name] if not link else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = ""
        for line in server.stdout:
            told += line
            if line.startswith("Ctrl-C"):
                break
        (address,) = re.findall(r"(http://\S+?)(?:/in/\S+)?$", told.splitlines()[0])
        if not link:
            (link,) = re.findall(rf"{name}: \S+/in/(\S+)", told)
        context = browser.new_context(viewport=size, color_scheme=colours, device_scale_factor=1)
        page = context.new_page()
        page.goto(f"{address}/in/{link}")
        prepare(page)
        page.wait_for_timeout(500)
        save(picture, page.screenshot())
        context.close()
        server.terminate()


def card(page: Any) -> None:
    if start := page.query_selector("main a.button, main form button"):
        start.click()
    page.keyboard.press("4")


def paraphrases(page: Any) -> None:
    card(page)
    boxes = page.query_selector_all("textarea")
    for box, text in zip(
        boxes, ("Which number can be divided by two?", "Which one of the two numbers is even?", ""), strict=False
    ):
        box.fill(text)


if __name__ == "__main__":
    main()
