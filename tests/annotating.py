"""`unwaver annotate` as a process of its own, with a small job of any kind, and people at their windows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from unwaver.groups import group_to_json
from unwaver.people.store import Database, Reply
from unwaver.people.templates import template
from unwaver.types import Group, Item

LABELS = ("entailment", "neutral", "contradiction")
ORIGINAL, VARIANT = "Man {n} is sleeping in the old house.", "Somebody, man {n}, sleeps inside the old house."


def groups(count: int) -> list[Group]:
    def item(n: int, role: str, text: str) -> Item:
        fields = {"premise": f"Night number {n} is dark.", "hypothesis": text.format(n=n)}
        return Item(f"{n}/{role}", "snli", role, fields, LABELS, LABELS[:1])  # type: ignore[arg-type]

    return [
        Group(
            f"g{n}",
            "mine",
            "snli",
            "semantic",
            "same",
            (item(n, "original", ORIGINAL), item(n, "variant", VARIANT)),
        )
        for n in range(1, count + 1)
    ]


def write_job(folder: Path, kind: str, count: int = 3, raters: int = 2, **more: Any) -> Path:
    """The job that --new prints, for `count` cards (groups of `answer`), with its source beside it."""
    made = groups(count)
    lines = [json.dumps(group_to_json(group), ensure_ascii=False) for group in made]
    (folder / "groups.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = ["question", *(f'"Is man {n} asleep, in the old house?"' for n in range(1, count + 1))]
    (folder / "questions.csv").write_text("\n".join(questions) + "\n", encoding="utf-8")
    pairs = ["question,a,b", *(f"Where is man {n}?,In the house.,At home {n}." for n in range(1, count + 1))]
    (folder / "pairs.csv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    text = re.sub(r"(?m)^raters = \d+", f"raters = {raters}", template(kind)).replace(
        'title = ""', 'title = "Trial"'
    )
    for name, value in more.items():
        text = re.sub(rf"(?m)^(# )?{name} = .*", f"{name} = {json.dumps(value)}", text, count=1)
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return path


class Served:
    """The server, from its first line to its end. `links` are those that it has ever printed, by name."""

    def __init__(self, job: Path, *options: str):
        self.job, self.links, self.port = job, {}, ""
        self.start(*options)

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "unwaver.cli.main", "annotate", self.job.name, *options]
        if "--port" not in options:
            # not the usual ones: another test may take one of these while this server is down
            command += ["--port", self.port or "0"]
        self.process = subprocess.Popen(
            command,
            cwd=self.job.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        assert self.process.stdout is not None
        self.printed: list[str] = []
        for line in self.process.stdout:
            self.printed.append(line)
            if found := re.fullmatch(r"  (.+): (https?://\S+/in/\S+)\n", line):
                self.links[found[1]] = found[2]
            if found := re.search(r"(http://[^/\s]+:(\d+))$", line):
                self.address, self.port = found[1], found[2]
            if line.startswith("Ctrl-C"):
                return
        self._ended()
        raise AssertionError("".join(self.printed))

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def stop(self) -> int:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self._ended()

    def _ended(self) -> int:
        assert self.process.stdout is not None
        self.printed += list(self.process.stdout)
        self.process.stdout.close()
        return self.process.wait(timeout=300)

    def replies(self) -> list[Reply]:
        with closing(Database(self.job.with_suffix(".sqlite"), read_only=True)) as found:
            return found.replies()

    def decisions(self) -> dict[str, dict[str, Any]]:
        with closing(Database(self.job.with_suffix(".sqlite"), read_only=True)) as found:
            return found.decisions()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


class Person:
    """A window of its own. `trouble` is what no page may do: errors, requests elsewhere, dialogs."""

    def __init__(self, browser: Any, served: Served, name: str, **options: Any):
        self.served, self.trouble, self.requests = served, [], []
        options = {"viewport": {"width": 1000, "height": 800}, "reduced_motion": "reduce", **options}
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(120_000)
        self.open_tab()
        self.page.goto(served.links[name])

    def open_tab(self) -> None:
        self.page = self.context.new_page()
        on = self.page.on
        on("console", lambda m: self.trouble.append(f"{m.type}: {m.text}") if m.type != "log" else None)
        on("pageerror", lambda e: self.trouble.append(f"error {e}"))
        on("dialog", lambda d: (self.trouble.append(f"dialog {d.message}"), d.dismiss()))
        on("request", self._request)

    def _request(self, request: Any) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.served.address, "data:")):
            self.trouble.append(f"request {request.url}")

    @property
    def heading(self) -> str:
        return str(self.page.inner_text("h1"))

    def moves_on(self, act: Callable[[], Any]) -> None:
        """Do something that leads to another page."""
        before = self.heading
        act()
        self.page.wait_for_function("before => document.querySelector('h1')?.innerText !== before", arg=before)
        self.page.wait_for_load_state()

    def tab_to(self, selector: str) -> None:
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"no key leads to {selector} on {self.page.url}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def close(self) -> None:
        self.context.close()
