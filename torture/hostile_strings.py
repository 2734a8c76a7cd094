"""Hostile strings wherever text comes from outside: questions, labels, ids, tags, kinds, answers, error messages,
names of models, replies of people. Nothing of them runs, nothing leaves, and no escape code reaches the terminal.

    python torture/hostile_strings.py [--short] [--strings N]

terminal   every command that prints them, into a pipe and into a terminal
exports    csv, tsv, Markdown, LaTeX: no cell that a spreadsheet takes for a formula, no markup, no command
report     the page in a real browser, opened and used; its network log names no other host
view       every page of the list of runs, the same way
annotate   people who read and send them, the same way
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]

from _listening import Listening, Sent, chat, response  # noqa: E402
from _strings import ADDRESS, hostile_strings  # noqa: E402

STRINGS, SHORT = 1000, 60
KINDS = 25  # strings that are names of relations: each is a row of every table
# what our own colours use; everything else that steers a terminal is a finding
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]")
FORMULA = re.compile(r"[\s\u200b\ufeff]*[=+\-@\t\r＝＋－＠]")
NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?")
MARKUP = re.compile(r"(?<!\\)<(script|img|svg|iframe|a |style|link|object|embed|base|form|meta)", re.I)
COMMANDS = re.compile(r"\\(input|include|immediate|write|def|catcode|openout|read)\b")
LINKS = re.compile(r"(?<!\\)\]\((https?:|//|javascript:)")


def groups(strings: list[str]) -> list[dict[str, Any]]:
    """A group for each string, which is in every text of it. In files, half characters are refused."""
    strings = [text.encode("utf-8", "replace").decode() for text in strings]
    made = []
    for n, text in enumerate(strings):
        other = strings[(n * 7 + 1) % len(strings)]
        group = {
            "id": f"{n} {text[:200]}",
            "kind": strings[n][:80] if n < KINDS and strings[n].strip() else "semantic",
            "expect": "same",
            "tag": other[:100],
            "cluster": f"{text[:100]} {n}",
            "items": [
                {"text": f"{n} {text}", "accepted": [text or "x"], "rejected": ["no"]},
                {"text": f"{other} {n}"},
            ],
        }
        made.append(group)
    return made


class Echo:
    """Answers with the string of the question, fails with some, calls itself by others."""

    def __init__(self, strings: list[str]):
        self._strings, self._count = strings, 0

    def __call__(self, body: dict[str, Any]) -> Sent:
        self._count += 1
        prompt = body["messages"][-1]["content"]
        text = self._strings[len(prompt) % len(self._strings)]
        if self._count % 9 == 5:
            return Sent(response(json.dumps({"error": {"message": text}}).encode(), "400 Bad Request"))
        answer = json.loads(chat(text if self._count % 2 else prompt).partition(b"\r\n\r\n")[2])
        answer["model"], answer["system_fingerprint"] = text[:300], text[:300]
        if self._count % 13 == 0:
            answer["choices"][0]["message"]["refusal"] = text
        return Sent(response(json.dumps(answer).encode()))


class Place:
    """A folder with two runs of the same strings; what commands print is looked at as it comes."""

    def __init__(self, folder: Path, strings: list[str]):
        self.folder, self.strings = folder, strings
        self.problems: list[str] = []
        self.printed = self.commands = 0
        lines = [json.dumps(group) for group in groups(strings)]
        (folder / "groups.jsonl").write_text("\n".join(lines) + "\n")

    def run(self) -> None:
        with Listening(Echo(self.strings)) as server:
            model = f"openai/m,base_url={server.url},concurrency=4,retries=0"
            for out in ("runs/one", "runs/two"):
                self.call("run", "groups.jsonl", "--model", model, "--out", out, "--agree", "rouge1", codes=(0, 3))

    def call(self, *command: str, codes: tuple[int, ...] = (0,), into: str = "") -> str:
        """What it prints into a pipe, and then into a terminal; `into` is a file that it must write anew."""
        whole = [sys.executable, "-m", "unwaver.cli.main", *command]
        place = {"cwd": self.folder, "env": {**os.environ, "OPENAI_API_KEY": "", "TERM": "xterm-256color"}}
        done = subprocess.run(whole, capture_output=True, stdin=subprocess.DEVNULL, **place)  # type: ignore[call-overload]
        if done.returncode not in codes:
            self.problem(
                f"{command[:2]} ends with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-300:]}"
            )
        self._looked_at(command, done.stdout + done.stderr, coloured=False)
        if into:
            (self.folder / into).unlink(missing_ok=True)
        self._looked_at(command, in_terminal(whole, **place), coloured=True)
        self.commands += 2
        return str(done.stdout.decode("utf-8", "replace"))

    def _looked_at(self, command: tuple[str, ...], said: bytes, coloured: bool) -> None:
        self.printed += len(said)
        text = said.decode("utf-8", "backslashreplace")
        if coloured:
            text = COLOUR.sub("", text).replace("\r\n", "\n")
            text = re.sub(r"\x1b\[(\?25[lh]|\d*[AK]|\d*G)|\r", "", text)  # progress draws over its line
        if found := STEERS.search(text):
            at = text[max(0, found.start() - 30) : found.end() + 30]
            self.problem(f"{' '.join(command[:3])}{' in a terminal' * coloured}: {at!r}")

    def problem(self, text: str) -> None:
        self.problems.append(text)


def in_terminal(command: list[str], **place: Any) -> bytes:
    """What a command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, **place)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    process.wait()
    return b"".join(parts)


def terminal(place: Place) -> None:
    run = "runs/one"
    place.call("score", run, codes=(0, 3))
    place.call("score", run, "--json", codes=(0, 3))
    place.call("show", run, "--all", "--limit", "5000", "--full")
    for option in ("--unreadable", "--failed", "--json"):
        place.call("show", run, option)
    place.call("show", run, "--all", "--csv", "-")
    place.call("compare", run, "runs/two", codes=(0, 2, 3))
    place.call("gate", run, "--min", "Cons_rouge1=0.5", codes=(0, 1, 3))
    place.call("analyse", "distance", "groups.jsonl", codes=(0, 2))
    place.call("explain", place.strings[0][:100].replace("\x00", "") or "x", codes=(0, 2))
    place.call("run", "groups.jsonl", "--model", "fake/random", "--dry-run", "--out", "dry", codes=(0, 2))
    place.call("run", f"{place.strings[1][:60]}.csv".replace("\x00", ""), "--model", "fake/random", codes=(2,))


def exports(place: Place) -> None:
    for form in ("md", "latex", "csv"):
        text = place.call("report", "runs/one", "runs/two", "--format", form)
        if form == "csv":
            _cells(place, "report csv", text, ",")
        elif found := (COMMANDS if form == "latex" else MARKUP).search(text):
            place.problem(f"report {form}: {text[max(0, found.start() - 40) : found.end() + 40]!r}")
        elif form == "md" and LINKS.search(text):
            place.problem("report md has a link")
    place.call("show", "runs/one", "--all", "--csv", "groups.csv", into="groups.csv")
    _cells(place, "show csv", (place.folder / "groups.csv").read_text(), ",")
    place.call("review", "groups.jsonl", "--out", "sheet.tsv", into="sheet.tsv")
    _cells(place, "review sheet", (place.folder / "sheet.tsv").read_text(), "\t")


def _cells(place: Place, name: str, text: str, sign: str) -> None:
    csv.field_size_limit(1 << 30)
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign):
        for cell in row:
            if FORMULA.match(cell) and not NUMBER.fullmatch(cell.strip()):
                place.problem(f"{name}: a formula: {cell[:80]!r}")
                return
            if name == "review sheet" and STEERS.search(cell):
                place.problem(f"{name}: {cell[:80]!r}")
                return


# --- in a browser -------------------------------------------------------------------------------------------


@contextmanager
def chromium(log: Path) -> Iterator[Any]:
    """A browser that writes down every address it looks up or asks."""
    import browser

    browser.FLAGS = [*browser.FLAGS, f"--log-net-log={log}", "--net-log-capture-mode=IncludeSensitive"]
    with browser.launched() as found:
        yield found


def asked_elsewhere(log: Path) -> list[str]:
    """What a network log has about the address in the strings; a browser's own services are not our matter."""
    return sorted(set(re.findall(rf'"([^"]*{re.escape(ADDRESS)}[^"]*)"', log.read_text(errors="replace"))))


class Watched:
    """A window; `trouble` is what no page may do."""

    def __init__(self, browser: Any, base: str, **options: Any):
        self.trouble: list[str] = []
        self.context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
        self.context.set_default_timeout(300_000)
        self.page = self.context.new_page()
        self.context.on("page", lambda page: self.trouble.append(f"another page: {page.url}"))
        own = (base, "data:", "blob:")
        self.context.on("request", lambda r: r.url.startswith(own) or self.trouble.append(f"request {r.url}"))
        self.page.on("dialog", lambda d: (self.trouble.append(f"dialog {d.message}"), d.dismiss()))
        self.page.on("pageerror", lambda e: self.trouble.append(f"error {e}"))

    def look(self) -> None:
        self.page.wait_for_timeout(100)
        if self.page.title() == "pwned" or self.page.inner_text("body") == "pwned":
            self.trouble.append(f"something ran on {self.page.url}")
        asked = ", ".join(f"{name}*='203.0.113']" for name in ("img[src", "link[href", "form[action"))
        bad = f"{asked}, iframe, object, embed, base, "
        bad += "meta[http-equiv=refresh], [onerror], [onload], [ontoggle], [onmouseover], a[href^=javascript]"
        if count := self.page.locator(bad).count():
            self.trouble.append(f"{count} hostile elements on {self.page.url}")

    def open_all(self, most: int = 200) -> None:
        for summary in self.page.locator("summary:visible").all()[:most]:
            summary.click()
        self.look()


# opens the nth group that is listed, if there are so many: rows come and go with what is typed
CLICK = """n => {
    const shown = [...document.querySelectorAll('.case')].filter(each => each.offsetParent !== null);
    if (shown[n]) shown[n].click();
    return Boolean(shown[n]);
}"""


def report(place: Place, browser: Any) -> dict[str, Any]:
    path = place.folder / "runs" / "one" / "report.html"
    tab = Watched(browser, path.as_uri())
    tab.page.goto(path.as_uri())
    tab.page.wait_for_selector("html[data-ready]")
    tab.open_all()
    seen = 0
    for n in range(0, len(place.strings), max(1, len(place.strings) // 60)):
        tab.page.fill("#words", place.strings[n].replace("\x00", "")[:200])
        tab.page.wait_for_timeout(250)
        for at in range(3):
            seen += bool(tab.page.evaluate(CLICK, at))
            tab.look()
    tab.page.fill("#words", "")
    tab.page.wait_for_timeout(250)
    for _ in range(min(300, len(place.strings))):  # group after group, by key
        tab.page.keyboard.press("ArrowDown")
        tab.page.keyboard.press("Enter")
    tab.look()
    tab.context.close()
    place.problems += tab.trouble
    return {"groups_opened": seen}


def view(place: Place, browser: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "unwaver.cli.main", "view", "runs", "--port", "0"]
    process = subprocess.Popen(command, cwd=place.folder, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+", process.stdout.readline())  # type: ignore[union-attr]
        assert found is not None
        base = found[0].split("/in/")[0]
        tab = Watched(browser, base)
        tab.page.goto(found[0])
        done, waiting = set[str](), ["/", "/leaderboard"]
        while waiting and len(done) < 40:
            if (path := waiting.pop(0)) in done:
                continue
            done.add(path)
            tab.page.goto(base + path)
            tab.open_all(40)
            links = tab.page.locator("a[href^='/']").evaluate_all("all => all.map(a => a.getAttribute('href'))")
            waiting += [link for link in links if not re.search(r"csv|json|download", link)]
            ids = sorted({link.split("/")[2].split("?")[0] for link in links if link.startswith("/run/")})
            if len(ids) == 2:
                waiting.append(f"/compare?run={ids[0]}&run={ids[1]}&allow=1")
        tab.context.close()
        place.problems += tab.trouble
        return {"pages": len(done)}
    finally:
        process.terminate()
        process.wait(60)


def annotate(place: Place, browser: Any) -> dict[str, Any]:
    """Cards with ten strings in each text, so that all are shown; the replies hold the next ones."""
    from annotating import Served, write_job

    folder = place.folder / "people"
    folder.mkdir()
    texts = [text.replace("\x00", "\\0").encode("utf-8", "replace").decode() for text in place.strings]
    ten = [" ".join(texts[n : n + 10]) for n in range(0, len(texts), 10)]
    job = write_job(folder, "pairs", len(ten), raters=1)
    job.write_text(job.read_text().partition("[[practice]]")[0])
    with (folder / "pairs.csv").open("w", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(["question", "a", "b"])
        sheet.writerows([text, f"{text} {n}", ten[n - 1]] for n, text in enumerate(ten))
    with Served(job, "--raters", "1") as served:
        tab = Watched(browser, served.address)
        tab.page.goto(served.links["rater1"])
        saved = 0
        while saved < len(ten):
            tab.look()
            if tab.page.locator("button.main").count():
                for choice in tab.page.locator("fieldset.choice").all():
                    choice.locator("input").first.check()
                for box in tab.page.locator("textarea:visible, input:not([type]):visible").all():
                    box.fill(texts[(saved * 13) % len(texts)][:300])
                tab.page.click("button.main")
                saved += 1
            elif tab.page.locator("a.button").count():
                tab.page.click("a.button")
            else:
                break
            tab.page.wait_for_load_state()
        owner = Watched(browser, served.address)
        owner.page.goto(served.links["owner"])
        owner.open_all()
        for path in ("/owner/cards", "/owner"):
            owner.page.goto(served.address + path)
            owner.open_all()
        for each in (tab, owner):
            each.context.close()
            place.problems += each.trouble
        said = "".join(served.printed)
        place.problems += ["annotate prints what steers a terminal"] if STEERS.search(COLOUR.sub("", said)) else []
    place.call("review", "people/job.toml", codes=(0, 2, 3))
    return {"cards": saved}


def findings(count: int) -> Iterator[dict[str, Any]]:
    strings = hostile_strings(count)
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name), strings)
        place.run()
        for part in (terminal, exports):
            part(place)
            more = {"commands": place.commands, "bytes_printed": place.printed}
            yield {"attack": "hostile_strings", "case": part.__name__, "strings": count, **more, **_told(place)}
        log = Path(name) / "net.json"
        with chromium(log) as browser:
            parts: tuple[Callable[[Place, Any], dict[str, Any]], ...] = (report, view, annotate)
            for each in parts:
                more = each(place, browser)
                yield {
                    "attack": "hostile_strings",
                    "case": each.__name__,
                    "strings": count,
                    **more,
                    **_told(place),
                }
        place.problems += [f"the browser asked {url}" for url in asked_elsewhere(log)]
        lines = log.read_text(errors="replace").count("\n")
        yield {
            "attack": "hostile_strings",
            "case": "network log",
            "lines": lines,
            **_told(place),
        }


def _told(place: Place) -> dict[str, Any]:
    found, place.problems = place.problems, []
    return {"problems": found[:8], "ok": not found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--strings", type=int)
    given = parser.parse_args()
    kept = True
    for line in findings(given.strings or (SHORT if given.short else STRINGS)):
        print(json.dumps(line), flush=True)
        kept = kept and bool(line["ok"])
    sys.exit(not kept)


if __name__ == "__main__":
    main()
