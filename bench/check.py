"""A second `unwaver check` of 200 questions to a chat service against `unwaver --help`: at most 20 times its CPU.

The two run by turns, and medians count. The second check must ask nothing and build nothing. `computed again` is a
check whose remembered verdict was removed: it asks nothing either, but scores and compares all answers.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

QUESTIONS, ROUNDS = 200, 7
MOST = 20.0  # times `unwaver --help`
TOML = """
[run]
model = "@bot"
agree = ["judge=@bot"]
[models.bot]
model = "openai/bot"
base_url = "{url}"
[sources.faq]
from = "questions.csv"
variants = ["surface_typo", "surface_punctuation", "surface_case"]
[bars]
"*" = ["drop<=0.05"]
"""


@contextmanager
def service() -> Iterator[tuple[str, list[int]]]:
    """A chat service that says yes, and how often it was asked."""
    asked: list[int] = []
    reply = json.dumps({"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version, wbufsize = "HTTP/1.1", 1 << 16

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(1)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()


def cpu(*arguments: str, code: int = 0) -> float:
    """Seconds of CPU that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "unwaver.cli.main", *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != code:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def written() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}


def main() -> None:
    with service() as (url, asked), tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        Path("unwaver.toml").write_text(TOML.format(url=url))
        rows = [f"What is the price of product number {n}?" for n in range(QUESTIONS)]
        Path("questions.csv").write_text("question\n" + "\n".join(rows) + "\n")
        cpu("check", "--accept")
        calls, files = len(asked), written()
        shown, again, computed = [], [], []
        for _ in range(ROUNDS):
            shown.append(cpu("--help"))
            again.append(cpu("check"))
            built = written() != files
            Path("runs/check.json").unlink()
            computed.append(cpu("check"))
            files = written()
        os.chdir("/")
    base = statistics.median(shown)
    ratio, whole = statistics.median(again) / base, statistics.median(computed) / base
    figures = {"ratio": round(ratio, 1), "cpu_s": round(statistics.median(again), 3), "help_cpu_s": round(base, 3)}
    asked_more = len(asked) - calls
    found = {"bench": "second check", **figures, "asked": asked_more, "built": built, "target": f"<= {MOST:g}"}
    print(json.dumps({**found, "ok": ratio <= MOST and not asked_more and not built}))
    print(json.dumps({"bench": "check, computed again", "ratio": round(whole, 1), "ok": True}))


if __name__ == "__main__":
    main()
