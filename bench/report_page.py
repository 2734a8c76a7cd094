"""A report of 100,000 groups in a browser: how long until it is painted, and how long a filter takes."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random

from unwaver.answers.table import table_of
from unwaver.metrics.score import score_frame
from unwaver.reports.page import page
from unwaver.reports.source import source_of
from unwaver.result import Result
from unwaver.types import Answer, Group, Item

GROUPS = 100_000
PAINTED, FILTERED = 2000, 200  # milliseconds
LABELS = ("entailment", "neutral", "contradiction")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FILTER = """([id, value]) => {
  const control = document.getElementById(id), start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event('change'));
  document.getElementById('list').getBoundingClientRect();
  return performance.now() - start;
}"""


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("there is no chromium: the report is not timed", file=sys.stderr)
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = Path(place) / "report.html"
        path.write_text(large(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        opened = browser.new_page()
        opened.goto(path.as_uri())
        opened.get_by_text(f"of {GROUPS:,} groups").wait_for()
        painted = opened.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        took = [
            opened.evaluate(FILTER, choice) for choice in (["state", "all"], ["state", "sure"], ["relation", "-1"])
        ]
        opened.evaluate("document.getElementById('words').value = 'not'")
        took += [opened.evaluate(FILTER, ["state", value]) for value in ("broken", "all")]
        browser.close()
    for what, ms, most in (("painted", painted, PAINTED), ("slowest filter", max(took), FILTERED)):
        line = {"bench": f"report of {GROUPS:,} groups, {what}, ms", "ms": round(ms)}
        print(json.dumps({**line, "target": f"< {most}", "ok": ms < most}))


def large() -> str:
    random = Random(0)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 8))) for _ in range(2000)]

    def text() -> str:
        return " ".join(random.choices([*words, "not"], k=10))

    groups, answers = [], {}
    for n in range(GROUPS):
        items = tuple(
            Item(f"{n}/{k}", "snli", role, {"premise": text(), "hypothesis": text()}, LABELS, (LABELS[n % 3],))
            for k, role in enumerate(("original", "variant"))
        )
        groups.append(Group(str(n), "large", "snli", "semantic", "same", items))
        for item in items:
            answers[item.id, 0] = Answer(text=random.choice(LABELS))
    frame = table_of(groups, answers, {}, model="large", method="classify")
    return page([source_of("large", frame, Result(score_frame(frame)), groups)])


if __name__ == "__main__":
    main()
