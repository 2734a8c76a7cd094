"""Whatever reads the output, or does not: a verb does its work and ends with its own exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli import streams
from unwaver.cli.printing import print_json

FAKE = ("--model", "fake/random")
FAILS = ("gate", "RUN", "--max", "tau=0.01")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, and one whose last calls failed."""
    place = tmp_path_factory.mktemp("output")
    for name, args in {"whole": (), "part": ("--max-calls", "8")}.items():
        done = call(place, "run", "sample/snli/semantic", *FAKE, *args, "--no-report", "--out", name)
        assert done.returncode == (3 if args else 0), done.stderr
    return place


def call(place: Path, *args: object, env: dict[str, str] | None = None, **options: Any) -> Any:
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONUNBUFFERED", "PYTHONIOENCODING")}
    names = {"RUN": "whole", "PART": "part"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(
        [sys.executable, "-m", "unwaver.cli.main", *(names.get(str(a), a) for a in args)],
        cwd=place,
        env={**plain, "COLUMNS": "100", **(env or {})},
        timeout=600,
        **options,
    )


def broken_pipe() -> int:
    """The writing end of a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


CODES = {
    "a gate that fails": (1, *FAILS),
    "the same in JSON": (1, *FAILS, "--json"),
    "a gate that is met": (0, "gate", "RUN", "--min", "tau=0"),
    "a run that lacks answers": (3, "run", "sample/snli/semantic", *FAKE, "--max-calls", "2", "--out", "NEW"),
    "scores that lack answers": (3, "score", "PART"),
    "bad usage": (2, "gate", "RUN", "--max", "tau=ten", "--json"),
    "unknown verb": (2, "gaet"),
    "a list": (0, "list"),
    "help": (0, "run", "--help"),
    "groups": (0, "show", "RUN", "--all", "--limit", "999"),
    "a table": (0, "report", "RUN", "--format", "md"),
    "an until that fails": (1, "run", "sample/snli/semantic", *FAKE, "--until", "tau<=0.01", "--out", "NEW"),
}


CLOSED = [(case, "stdout") for case in CODES]
CLOSED += [
    (case, c)
    for case in ("a gate that fails", "bad usage", "a run that lacks answers")
    for c in ("stderr", "both")
]


@pytest.mark.parametrize(("case", "closed"), CLOSED)
def test_a_reader_that_goes_away_changes_no_exit_code(made: Path, tmp_path: Path, case: str, closed: str) -> None:
    code, *args = CODES[case]
    args = [str(tmp_path / "new") if a == "NEW" else a for a in args]
    pipe = broken_pipe()
    ends = {name: pipe for name in ("stdout", "stderr") if closed in (name, "both")}
    try:
        done = call(made, *args, **ends)
    finally:
        os.close(pipe)
    assert done.returncode == code, done.stderr
    assert not done.stderr or b"Traceback" not in done.stderr
    if "run" in args and "--out" in args:
        assert {"run.json", "scores.json"} <= {p.name for p in (tmp_path / "new").iterdir()}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("gate whole --max tau=0.01 | head -1", 1),
        ("gate whole --max tau=0.01 | true", 1),
        ("gate whole --max tau=0.01 --json | head -c 1", 1),
        ("gate whole --max tau=0.01 >&-", 1),
        ("gate whole --max tau=0.01 2>&-", 1),
        ("gate whole --max tau=0.01 >&- 2>&-", 1),
        ("gate whole --max tau=0.01 <&- >&- 2>&-", 1),
        ("gate whole --max tau=0.01 2>/dev/full", 1),
        ("gate whole --max nothing 2>/dev/full >&-", 2),
        ("score part 2>&1 | head -1", 3),
        ("run sample/rte --model fake/random --out new >&- 2>&-", 0),
        ("list | true", 0),
        ("list > /dev/full", 2),
    ],
)
def test_exit_codes_in_a_shell(made: Path, line: str, code: int) -> None:
    command = f"set -o pipefail; '{sys.executable}' -m unwaver.cli.main {line}"
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=made, env=plain, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_closed_stream_gives_its_number_to_no_file(made: Path, tmp_path: Path) -> None:
    """Else what is printed would end up in the store."""
    line = (
        f"'{sys.executable}' -m unwaver.cli.main run sample/rte --model fake/random --out '{tmp_path}/r' >&- 2>&-"
    )
    assert subprocess.run(["bash", "-c", line], timeout=600, check=False).returncode == 0
    assert call(tmp_path, "score", "r").returncode == 0
    assert (tmp_path / "r" / "answers.sqlite").read_bytes()[:6] == b"SQLite"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "ascii:strict"])
@pytest.mark.parametrize("args", [FAILS, ("score", "RUN"), ("compare", "--help")])
def test_any_encoding_of_the_terminal(made: Path, encoding: str, args: tuple[str, ...]) -> None:
    done = call(made, *args, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == (1 if args is FAILS else 0), done.stderr
    text = done.stdout.decode(encoding.partition(":")[0])
    assert text.strip()
    assert not done.stderr


def test_a_run_in_the_c_locale_shows_its_table(made: Path) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = call(made, "run", "sample/snli/semantic", *FAKE, "--out", "RUN", "--no-report", env=env)
    assert done.returncode == 0, done.stderr
    assert b"snli/semantic" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_any_encoding(made: Path, tmp_path: Path, encoding: str) -> None:
    table = [
        {"group": "é – 😀", "kind": "semantic", "role": role, "label": label}
        for role, label in (("original", "ü"), ("variant", "你"))
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    done = call(tmp_path, "compare", "t.jsonl", "t.jsonl", "--json", env={"PYTHONIOENCODING": encoding})
    told = json.loads(done.stdout.decode(encoding))
    assert told == json.loads(call(tmp_path, "compare", "t.jsonl", "t.jsonl", "--json").stdout)


def test_half_a_character_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"name": "caf\udce9 \ud83d τ", "value": float("nan"), "rows": [(1.0, float("inf"))]}
    print_json(document)
    printed = capsys.readouterr().out
    assert printed.encode()
    assert json.loads(printed) == {"name": document["name"], "value": None, "rows": [[1.0, None]]}


def test_what_stands_for_a_character() -> None:
    assert "τ – 你 😀 \udce9 \ud83d".encode("ascii", streams.ERRORS) == rb"tau - \u4f60 \U0001f600 \xe9 \ud83d"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", streams.ERRORS)


# --- names that are not UTF-8 -------------------------------------------------------------------------------

ODD = os.fsdecode(b"caf\xe9")
ROWS = "text,paraphrase,label\nIs it late?,Is it late now?,yes\nIs it early?,Is it early now?,no\n"
COLUMNS = ("--column", "original=text", "--column", "variant=paraphrase", "--column", "gold=label")
LABELS = ("--label", "yes", "--label", "no")


def test_folders_and_files_of_any_name(tmp_path: Path) -> None:
    (tmp_path / f"{ODD}.csv").write_text(ROWS)
    run = ("run", f"{ODD}.csv", *COLUMNS, *LABELS, *FAKE, "--out", f"out{ODD}", "--store", f"{ODD}.sqlite")
    for args in (
        run,
        run,
        ("run", f"{ODD}.csv", *COLUMNS, *LABELS, *FAKE),
        ("run", "--from", f"out{ODD}/run.json", "--json"),
        ("show", f"out{ODD}", "--all"),
        ("score", f"out{ODD}", "--json"),
        ("gate", f"out{ODD}", "--min", "tau=0", "--junit", f"{ODD}.xml", "--markdown", f"{ODD}.md"),
        ("compare", f"out{ODD}", f"out{ODD}"),
        ("report", f"out{ODD}", "--out", f"{ODD}.html"),
        ("report", f"out{ODD}", "--format", "csv"),
        ("review", f"out{ODD}", "--out", f"{ODD}.tsv"),
    ):
        done = call(tmp_path, *map(os.fsencode, args))
        assert done.returncode == 0, (args, done.stderr)
        assert b"Traceback" not in done.stderr
        if "--json" in args:
            json.loads(done.stdout)
    assert json.loads((tmp_path / f"out{ODD}" / "run.json").read_text())["config"]["out"] == f"out{ODD}"


@pytest.mark.parametrize("option", ["--system", "--label", "--task", "--kind", "--lang", "--map", "--model-arg"])
def test_texts_that_are_not_utf8_are_bad_usage(tmp_path: Path, option: str) -> None:
    (tmp_path / "mine.csv").write_text(ROWS)
    value = b"seed=caf\xe9" if option in ("--map", "--model-arg") else b"caf\xe9"
    done = call(tmp_path, "run", "mine.csv", *COLUMNS, *LABELS, *FAKE, option, value)
    assert done.returncode == 2, done.stderr
    assert re.search(rf"{option}.* is not text in UTF-8".encode(), done.stderr), done.stderr
    assert not (tmp_path / "runs").exists()
