"""Give a key in every way there is, let the server echo it in every way, and look for it in everything.

Each case is a call of the command line against a server on the loopback, in an empty folder. What is looked
through: standard output and error, every file (in answers.sqlite all but the text of answers, in report.html also
what is packed), and what show, score, gate, compare and report print and write afterwards. What is looked for: the
key, its beginning and its end, and its forms in URLs, JSON and base64.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from server import Raw, Server

KEY = "sk-Vq83hTz0_LmXw41Rb7c"
HARD = "Tz0/Lm+Xw=41Rb&7cVq83h"  # differs in URLs, HTML and headers
NAME = "hf_Zq83hTz0LmXw41Rb7c"  # might be the name of a variable
BASIC = base64.b64encode(f"me:{KEY}".encode()).decode()
Echo = Callable[[str], Raw | None]
QUICK = ["--model-arg", "retries=0", "--model-arg", "timeout=20"]
LABELS = ["sample/snli/semantic", "--limit", "3"]
TEXTS = ["q.csv", "--column", "original=question", "--column", "variant=paraphrase"]


@dataclass(frozen=True)
class Case:
    """`args` may hold {url}, {host} and {key}; `echo` is what the server answers to whom it sees the key of."""

    name: str
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=lambda: {"OPENAI_API_KEY": "{key}"})
    echo: Echo | None = None
    key: str = KEY
    verb: str = "run"
    suite: list[str] = field(default_factory=lambda: LABELS)
    model: str = "openai/small"
    at: str = "{url}"
    fails: bool | None = None  # must it end with exit code 2?
    later: bool = False  # the first two requests are answered well, so that the rest are failed calls


def body(text: str, status: int = 400, **headers: str) -> Raw:
    return Raw(status, {"error": {"message": text}}, headers)


def said(text: str = "True", finish: str = "stop", **more: object) -> Raw:
    return Raw(200, {"choices": [{"message": {"content": text}, "finish_reason": finish}], **more})


HALVES = {
    "stars": lambda k: f"Incorrect API key provided: {k[:8]}*************{k[-4:]}.",
    "dots": lambda k: f"key {k[:7]}...{k[-6:]} is not valid",
    "ellipsis": lambda k: f"key {k[:5]}…{k[-3:]} is not valid",
    "end": lambda k: f"the key ending in {k[-6:]} has expired",
    "begin": lambda k: f"no such key: {k[:-5]}",
    "redacted": lambda k: f"{k[:8]}[REDACTED]{k[-8:]}",
    "crosses": lambda k: f"{k[:8]}XXXXXXXX{k[-6:]}",
}
ECHOES: dict[str, Echo] = {
    "401": lambda k: body(f"wrong key {k}", 401),
    "403 header": lambda k: body(f"Authorization: Bearer {k}", 403),
    "400": lambda k: body(f"unknown field {k}"),
    "500": lambda k: body(f"crash while reading {k}", 500),
    "429": lambda k: body(f"quota of {k} is spent; insufficient_quota", 429),
    "text body": lambda k: Raw(400, f"{'x' * 190} {k}".encode()),
    "html": lambda k: Raw(200, f"<html>{k}".encode(), {"Content-Type": "text/html"}),
    "content type": lambda k: Raw(200, b"<html>", {"Content-Type": f"text/html+{quote(k)}"}),
    "encoding": lambda k: Raw(200, b"{}", {"Content-Encoding": quote(k)}),
    "cut JSON": lambda k: Raw(200, f'{{"choices": "{k}'.encode()),
    "no completion": lambda k: Raw(200, {"error": f"key {k}"}),
    "redirect": lambda k: Raw(307, b"", {"Location": f"http://evil/{quote(k)}"}),
    "finish": lambda k: said(finish=f"stopped for {k}"),
    "text": lambda k: said(f"The key is {k}."),
    "model": lambda k: said(model=k, id=k, system_fingerprint=k),
    "in URLs": lambda k: body(f"GET /v1?key={quote(k, safe='')}&k2={quote(k)}"),
    "in base64": lambda k: body("Basic " + base64.b64encode(f"user:{k}".encode()).decode()),
    "in JSON": lambda k: body(json.dumps({"headers": json.dumps({"k": k})})),
    "in capitals": lambda k: body(k.upper()),
    **{f"half, {name}": (lambda k, half=half: body(half(k), 401)) for name, half in HALVES.items()},
}
NO_KEY: dict[str, str] = {}
AT_USER = "http://me:{key}@{host}/v1"
AT_PATH = "http://{host}/{key}/v1"
AT_QUERY = "http://{host}/v1?api_key={key}"
STORES = {
    "password": "postgresql://me:{key}@127.0.0.1:1/db",
    "password alone": "postgresql://:{key}@127.0.0.1:1/db",
    "parameter": "postgresql://me@127.0.0.1:1/db?sslmode=disable&password={key}",
    "of a key": "postgresql://127.0.0.1:1/db?sslpassword={key}",
    "in a variable": "postgresql://me@127.0.0.1:1/db",
    "not encoded": "postgresql://me:{key}@127.0.0.1:1/db",
    "wrong parameter": "postgresql://me:{key}@127.0.0.1:1/db?nonsense=1",
    "another kind": "mysql://me:{key}@127.0.0.1:1/db",
}
EXTRAS = {
    "api_key": '{{"api_key": "{key}"}}',
    "header": '{{"headers": {{"Authorization": "Bearer {key}"}}}}',
    "list": '{{"tools": [{{"auth": {{"token": "{key}"}}}}]}}',
    "broken": '{{"api_key": "{key}"',
    "basic": '{{"proxy_authorization": "Basic ' + BASIC + '"}}',
}


def cases() -> Iterator[Case]:
    yield Case("variable")
    yield Case("variable, hard", key=HARD)
    yield Case("variable with its scheme", env={"OPENAI_API_KEY": f"Basic {BASIC}"})
    yield Case("key_env", ["--model-arg", "key_env=MINE"], {"MINE": "{key}"}, ECHOES["400"])
    for name, echo in ECHOES.items():
        yield Case(f"echo: {name}", echo=echo)
        if name.startswith(("4", "in")):
            yield Case(f"echo, hard: {name}", echo=echo, key=HARD)
        if name.startswith(("4", "5", "half", "in", "cut")):
            yield Case(f"echo in a failed call: {name}", echo=echo, later=True, fails=False)
    yield Case(
        "echo with UNWAVER_DEBUG", env={"OPENAI_API_KEY": "{key}", "UNWAVER_DEBUG": "1"}, echo=ECHOES["401"]
    )
    for name, at in {"user": AT_USER, "query": AT_QUERY}.items():
        yield Case(f"address: {name}", env=NO_KEY, at=at, fails=True)
        yield Case(f"address in a variable: {name}", env={"OPENAI_BASE_URL": at}, at="", fails=True)
        yield Case(f"address, dry run: {name}", ["--dry-run"], NO_KEY, at=at, fails=True)
    yield Case("address: path", env=NO_KEY, at=AT_PATH)
    yield Case("address: path, echo", env=NO_KEY, at=AT_PATH, echo=ECHOES["400"])
    yield Case("address in a variable: path", env={"OPENAI_BASE_URL": AT_PATH}, at="")
    yield Case("address: as the model", env=NO_KEY, model=AT_USER, at="", fails=True)
    yield Case("address: in the model's name", env=NO_KEY, model=f"openai/{AT_USER}", fails=True)
    yield Case("the model's name", env=NO_KEY, model="openai/{key}", fails=True)
    yield Case("the model's name, in the variable", model="openai/x-{key}", fails=True)
    yield Case("the name of the variable", ["--model-arg", "key_env={key}"], NO_KEY, fails=True)
    yield Case("the name of the variable, odd", ["--model-arg", "key_env={key}"], NO_KEY, key=NAME, fails=True)
    for name, extra in EXTRAS.items():
        yield Case(f"extra: {name}", ["--model-arg", f"extra={extra}"], NO_KEY, fails=name == "broken")
    yield Case(
        "extra, dry run as JSON", ["--model-arg", f"extra={EXTRAS['header']}", "--dry-run", "--json"], NO_KEY
    )
    yield Case("extra and an echo", ["--model-arg", f"extra={EXTRAS['api_key']}"], NO_KEY, ECHOES["finish"])
    yield Case("an option there is not", ["--model-arg", "api_key={key}"], NO_KEY, fails=True)
    yield Case("another option there is not", ["--api-key", "{key}"], NO_KEY, fails=True)
    yield Case("a wrong option", ["--model-arg", "backoff={key}"], fails=True)
    yield Case("the system text", ["--system", "Say {key}."])
    yield Case("the data", suite=["secret.csv", *TEXTS[1:]])
    yield Case("a proxy", env={"HTTP_PROXY": "http://me:{key}@{host}"}, at="http://model.invalid/v1",
               echo=ECHOES["400"])  # fmt: skip
    for option in ("--agree", "--scorer"):
        for name, at in {"user": AT_USER, "query": AT_QUERY, "path": AT_PATH}.items():
            judge = f"judge=openai/j,base_url={at},retries=0"
            yield Case(
                f"{option}: {name}", [option, judge], NO_KEY, suite=TEXTS, fails=None if name == "path" else True
            )
        judge = f"judge=openai/j,base_url={{url}},extra={EXTRAS['api_key']}"
        yield Case(f"{option}: extra", [option, judge], NO_KEY, suite=TEXTS)
        yield Case(f"{option}: as JSON", [option, judge, "--json"], NO_KEY, suite=TEXTS)
    yield Case("--judge: user", ["--variants", "surface", "--judge", f"same=openai/j,base_url={AT_USER}"], NO_KEY,
               suite=TEXTS, fails=True)  # fmt: skip
    writer = ["--variants", "paraphrase", "--task", "sst2", "--k", "1", "--tries", "1", "--writer", "openai/w"]
    for name, given in {"user": f"base_url={AT_USER}", "extra": f"extra={EXTRAS['api_key']}"}.items():
        args = [*writer, "--writer-arg", "base_url={url}", "--writer-arg", given]
        yield Case(f"--writer-arg: {name}", args, NO_KEY, suite=["s.csv"], fails=True if name == "user" else None)
        built = ["paraphrase", "--from", "s.csv", "--out", "g.jsonl", *args[2:]]
        yield Case(f"build: {name}", built, NO_KEY, verb="build", suite=[], model="", at="",
                   fails=True if name == "user" else None)  # fmt: skip
    judge = f"judge=openai/j,base_url={{url}},extra={EXTRAS['header']}"
    pairs = ["validate", "--pairs", "pairs.csv", "--agree", judge]
    yield Case("agreement validate", pairs, NO_KEY, verb="agreement", suite=[], model="", at="")
    for name, place in STORES.items():
        env = {"PGPASSWORD": "{key}"} if name == "in a variable" else NO_KEY
        yield Case(f"store: {name}", ["--store", place], env, key=HARD if "encoded" in name else KEY, fails=True)
    built = ["validate", "--pairs", "pairs.csv", "--agree", "judge=fake/random", "--store", STORES["password"]]
    yield Case("store: agreement validate", built, NO_KEY, verb="agreement", suite=[], model="", at="", fails=True)
    train = ["--tasks", "rte", "--base", AT_USER, "--out", "t"]
    yield Case("train", train, NO_KEY, verb="train", suite=[], model="", at="", fails=True)
    yield Case("a word there is not", ["x"], NO_KEY, verb="{key}", suite=[], model="", at="", fails=True)


def needles(key: str) -> list[bytes]:
    forms = [key, key[:8], key[-6:], quote(key, safe=""), quote(key), json.dumps(key)[1:-1], key.upper()]
    for before in (b"", b"x", b"xx"):
        skip = {0: 0, 1: 2, 2: 3}[len(before)]
        coded = base64.b64encode(before + key.encode()).decode()
        forms.append(coded[skip : skip + 4 * (len(key) // 4)])
    return [form.encode() for form in dict.fromkeys(forms)]


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix == ".sqlite":
            yield name, without_texts(path)
        elif not path.name.endswith(("-wal", "-shm")):
            data = path.read_bytes()
            yield name, data
            for packed in re.findall(rb'id="groups">([A-Za-z0-9+/=]+)<', data):
                yield f"{name}, packed", zlib.decompress(base64.b64decode(packed))


def without_texts(path: Path) -> bytes:
    """A store without the texts of answers, which are kept as they came."""
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(copy)) as clean:
        db.backup(clean)
        clean.execute("UPDATE answers SET text = NULL")
        clean.commit()
        clean.execute("VACUUM")
    data = copy.read_bytes()
    copy.unlink()
    return data


def prepare(folder: Path, key: str) -> None:
    questions = "".join(f"{n},What is {n}?,Say what {n} is.\n" for n in range(3))
    (folder / "q.csv").write_text(f"id,question,paraphrase\n{questions}")
    (folder / "pairs.csv").write_text("question,a,b,label\nq,one,two,0\nq,one,One!,1\nr,x,y,0\nr,z,z.,1\n")
    (folder / "s.csv").write_text("id,sentence,label\n1,The film is good.,positive\n2,A bad film.,negative\n")
    if key:
        (folder / "secret.csv").write_text(
            f"id,question,paraphrase\n1,What is {key}?,Say {key}.\n2,Why?,How come?\n"
        )


AFTER = [
    ["show", "r", "--all"],
    ["show", "r", "--failed", "--json"],
    ["score", "r", "--json"],
    ["gate", "r", "--max", "tau=0.5", "--junit", "j.xml", "--markdown", "m.md"],
    ["report", "r", "--format", "latex", "--out", "t.tex"],
    ["report", "r", "--format", "md", "--out", "t.md"],
    ["run", "--from", "r/run.json", "--out", "r"],
]

Call = Callable[[list[str], dict[str, str], Path], tuple[int, bytes]]


def in_a_process(args: list[str], env: dict[str, str], folder: Path) -> tuple[int, bytes]:
    clean = {
        k: v for k, v in os.environ.items() if k not in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "UNWAVER_DEBUG")
    }
    done = subprocess.run(
        [sys.executable, "-m", "unwaver.cli.main", *args],
        capture_output=True, cwd=folder, env={**clean, "COLUMNS": "60", **env}, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def attack(case: Case, folder: Path, call: Call = in_a_process, *, after: bool = True) -> dict[str, Any]:
    """One case: where was the key found, and did it end as it must?"""
    prepare(folder, case.key if case.name == "the data" else "")

    def script(number: int, _body: object, _headers: object) -> Raw | None:
        return case.echo(case.key) if case.echo and not (case.later and number < 2) else None

    found: list[str] = []
    with Server(lambda prompt: "True" if "True" in prompt else f"It is {len(prompt)}.", script=script) as server:
        places = {
            "url": server.url,
            "host": server.url.removeprefix("http://").removesuffix("/v1"),
            "key": case.key,
        }
        env = {name: value.format(**places) for name, value in case.env.items()}
        args = [*case.suite, *case.args]
        if case.model:
            args += ["--model", case.model, *QUICK, "--out", "r"]
        if case.at:
            args += ["--model-arg", f"base_url={case.at}"]
        filled = [argument.format(**places) for argument in [case.verb, *args]]
        calls = [filled, *(AFTER if after and case.verb == "run" else [])]
        code = None
        for words in calls:
            ended, printed = call(words, env, folder)
            code = ended if code is None else code
            found += [f"printed by {words[0]}" for needle in needles(case.key) if needle in printed]
            if ended == 70 or (b"Traceback" in printed and "UNWAVER_DEBUG" not in env):
                found.append(f"{words[0]} failed: {printed[-200:]!r}")
            if not (folder / "r" / "run.json").exists():
                break
    data_file = {"secret.csv"}
    for name, data in files_of(folder):
        if name not in data_file:
            found += [name for needle in needles(case.key) if needle in data]
    as_it_must = case.fails is None or (code == 2) == case.fails
    found = list(dict.fromkeys(found))
    return {"attack": "keys", "case": case.name, "exit": code, "found": found, "ok": not found and as_it_must}


def main() -> None:
    short = "--short" in sys.argv
    for number, case in enumerate(cases()):
        if short and number % 8:
            continue
        folder = Path(tempfile.mkdtemp())
        try:
            print(json.dumps(attack(case, folder, after=not short)), flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
