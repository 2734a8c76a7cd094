"""Bad input of many kinds, each with what a user is told and the exit code. No traceback may reach anybody.

Most cases call the command line in this process (`here`); those about processes, pipes and disks start one.
Every case of a table runs with --json, so both forms of the message are looked at: one JSON document on stdout,
two lines for people on stderr.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from server import Raw, Server
from waiting import FOR_EVER

from unwaver.cli.main import main

FAKE = ("--model", "fake/random")
PAIR = '{"items": [{"text": "Is it late?"}, {"text": "Is it late now?"}]}\n'


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process: here("run", "sample") -> Done, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    before = signal.getsignal(signal.SIGTERM)

    def call(*args: object) -> Done:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in args])
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    yield call
    signal.signal(signal.SIGTERM, before)


def check(done: Any, *parts: str, code: int = 2, file: str | None = None, line: int | None = None) -> None:
    """The exit code, a message for people with all of the parts and a hint, and the same as one JSON document."""
    shown = " ".join(done.stderr.split())
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "this is a bug in unwaver" not in done.stderr
    for part in parts:
        assert part in shown
    if done.stdout:
        document = json.loads(done.stdout)
        assert set(document) == {"version", "error"}
        error = document["error"]
        assert set(error) == {"message", "hint", "file", "line"}
        assert error["hint"], "every message says what to do"
        assert (error["file"], error["line"]) == (file, line)
        assert done.stderr.startswith("unwaver: ")


@dataclass(frozen=True)
class Case:
    args: str  # in which RUN stands for run … --model fake/random
    parts: tuple[str, ...]
    files: dict[str, bytes | str] = field(default_factory=dict)
    file: str | None = None
    line: int | None = None


def put(folder: Path, files: dict[str, bytes | str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def becel(content: bytes | str, name: str = "semantic.tsv") -> dict[str, bytes | str]:
    return {f"d/becel/snli/{name}": content}


HEAD = "premise\thypothesis\tlabel\thypothesis_paraphrase\n"
SEMANTIC = "d/becel/snli/semantic.tsv"
TABLE = "group,kind,role,label\n"

CASES: dict[str, Case] = {
    # what is asked for
    "unknown suite": Case("RUN becl", ("unknown suite 'becl'", "did you mean becel")),
    "unknown task": Case("RUN becel/snl", ("becel has no task 'snl'", "did you mean snli?")),
    "unknown kind": Case("RUN becel/snli/semantics", ("becel/snli has no semantics", "did you mean semantic")),
    "invalid relation": Case("RUN becel/sst2/symmetric", ("symmetric does not hold for sst2: an item is one text", "valid for sst2: semantic, negational")),
    "wic negational": Case("RUN becel/wic/negational", ("negating a sentence keeps the sense of the word", "semantic_negated")),
    "nothing": Case("RUN", ("nothing to run", "name a suite (unwaver list suites) or a file")),
    "no model": Case("run sample", ("no model given", "add --model")),
    "unknown command": Case("rnu sample", ("unknown command 'rnu'; did you mean run?", "unwaver --help")),
    "unknown option": Case("run sample --modle fake/random", ("No such option '--modle'", "--model", "unwaver run --help")),
    "option without value": Case("run sample --model", ("'--model' requires an argument", "--help")),
    "missing argument": Case("show", ("Missing argument 'FOLDER'", "unwaver show --help")),
    "unknown room": Case("list sutes", ("unwaver list has no section 'sutes'", "did you mean suites", "known: suites, tasks, models")),
    "folder for a suite": Case("RUN mine", ("this is a folder", "name a file: mine/groups.jsonl"), {"mine/groups.jsonl": PAIR}, "mine"),
    "no such file": Case("RUN mine.csv", ("mine.csv: there is no such file", "check the path"), {}, "mine.csv"),
    "no such format": Case("RUN mine.log", ("cannot tell the format of mine.log", "name it .tsv, .csv, .jsonl or .json"), {"mine.log": "a"}, "mine.log"),
    "limit 0": Case("RUN sample --limit 0", ("--limit is 0, expected 1 or more", "leave it out for all")),
    "limit no number": Case("RUN sample --limit ten", ("'ten' is not a valid integer", "unwaver run --help")),
    "limit and sample": Case("RUN sample --limit 2 --sample 2", ("--limit and --sample cannot be combined", "give one")),
    "cost cap without prices": Case("RUN sample --max-cost 1", ("a cost cap needs prices", "--price-in and --price-out")),
    "negative price": Case("RUN sample --price-in -1", ("--price-in is -1.0, expected 0 or more", "leave it out")),
    "too many shots": Case("run sample/snli --model python/json:dumps --shots 999", ("--shots 999: only", "take fewer")),
    # models
    "unknown provider": Case("run sample --model hg/x", ("unknown model 'hg/x'", "did you mean hf?", "provider/name")),
    "unknown fake": Case("run sample --model fake/rnd", ("unknown fake rnd", "random")),
    "a path for a model": Case("run sample --model ./m", ("unknown model './m'", "for a local model folder: hf/./m"), {"m/config.json": "{}"}),
    "model-arg without =": Case("RUN sample --model-arg seed", ("--model-arg seed: expected key=value", "--model-arg temperature=0.7")),
    "unknown model-arg": Case("RUN sample --model-arg sed=1", ("fake/random has no option 'sed'", "did you mean seed?")),
    "wrong type of model-arg": Case("RUN sample --model-arg delay=soon", ("delay=soon: expected a number", "--model-arg delay=")),
    "map without =": Case("RUN sample --map neutral", ("--map neutral: expected key=value", "--map neutral=not_entailment")),
    "no model folder": Case("run sample --model hf/./m", ("there is no model folder ./m", "check the path")),
    "no config": Case("run sample --model hf/m", ("the model folder has no config.json", "save_pretrained"), {"m/model.safetensors": "x"}, "m"),
    "broken config": Case("run sample --model hf/m", ("broken JSON: Expecting value", "copy or download"), {"m/config.json": '{\n"a":'}, "m/config.json", 2),
    "config is a list": Case("run sample --model hf/m", ("found no JSON object", "save_pretrained"), {"m/config.json": "[]"}, "m/config.json"),
    "no weights": Case("run sample --model hf/m", ("holds no weights (*.safetensors", "save_pretrained"), {"m/config.json": "{}"}, "m"),
    "neither classifier nor LM": Case("run sample --model hf/m", ("(architecture: BertModel)", "…ForSequenceClassification, …ForMultipleChoice, …ForCausalLM"), {"m/config.json": '{"architectures": ["BertModel"]}', "m/model.safetensors": "x"}),
    "credentials in a URL": Case("run sample --model openai/m --model-arg base_url=http://me:secret-word@h/v1", ("--model-arg base_url holds a user name or password", "OPENAI_API_KEY")),
    "no address": Case("run sample --model openai/m --model-arg base_url=localhost", ("base_url is not an address", "base_url=http://")),
    "empty address": Case("run sample --model openai/m --model-arg base_url=", ("base_url is not an address", "base_url=http://")),
    # published sets
    "no data": Case("RUN becel/snli/semantic --data-dir d", ("not found: becel/snli/semantic", "save it as", "--data-dir DIR or set UNWAVER_DATA", "--fetch"), {"d/x": ""}, SEMANTIC),
    "no data folder": Case("RUN becel/snli/semantic --data-dir d", ("no folder d", "save it as"), {}, SEMANTIC),
    "missing column": Case("RUN becel/snli/semantic --data-dir d", ('no column "hypothesis_paraphrase"; found: "premise", "hypothesis", "label"', "did you mean hypothesis?"), becel("premise\thypothesis\tlabel\na\tb\t0\n"), SEMANTIC, 1),
    "wrong label": Case("RUN becel/snli/semantic --data-dir d", ('column "label": found "7", expected 0 entailment, 1 neutral, 2 contradiction', "as its number or its name"), becel(HEAD + "a\tb\t0\tc\na\tb\t7\tc\n"), SEMANTIC, 3),
    "wrong number of cells": Case("RUN becel/snli/semantic --data-dir d", ('column "hypothesis_paraphrase" is missing: 3 cells, expected 4', "one tab between cells"), becel(HEAD + "a\tb\t0\n"), SEMANTIC, 2),
    "empty file": Case("RUN becel/snli/semantic --data-dir d", ("the file is empty", "expected a header and rows"), becel(""), SEMANTIC),
    "header alone": Case("RUN becel/snli/semantic --data-dir d", ("the file has no rows", "one row below the header"), becel(HEAD), SEMANTIC),
    "cut gzip": Case("RUN becel/snli/semantic --data-dir d", ("broken gzip: the compressed data ends too early", "copy or download the file again"), becel(gzip.compress(HEAD.encode() * 50)[:40], "semantic.tsv.gz"), SEMANTIC + ".gz"),
    "no gzip": Case("RUN becel/snli/semantic --data-dir d", ("broken gzip: Not a gzipped file", "`gzip -t`"), becel(HEAD, "semantic.tsv.gz"), SEMANTIC + ".gz"),
    "not UTF-8": Case("RUN becel/snli/semantic --data-dir d", ("not UTF-8: byte 0xe9", "save the file as UTF-8"), becel(HEAD.encode() + b"caf\xe9\tb\t0\tc\n"), SEMANTIC, 2),
    "NUL": Case("RUN becel/snli/semantic --data-dir d", ("found a NUL character", "without NUL characters"), becel(HEAD + "a\tb\0\t0\tc\n"), SEMANTIC, 2),
    # tables of one's own
    "no variant": Case("RUN q.csv --task sst2", ('no column for the variant; found: "text", "size", "colour"', "--column variant=NAME, or have variants made: --variants auto"), {"q.csv": "text,size,colour\na,b,c\n"}, "q.csv", 1),
    "no original": Case("RUN q.csv", ('3 columns may hold the question: "x" ("a"), "y" ("b"), "z" ("c")', "--column question=x"), {"q.csv": "x,y,z\na,b,c\n"}, "q.csv", 1),
    "column that is not there": Case("RUN q.csv --column original=q", ('no column "q"; found: "a", "b"',), {"q.csv": "a,b\n1,2\n"}, "q.csv", 1),
    "unknown role of a column": Case("RUN q.csv --column orignal=a", ("no column can be the orignal", "did you mean original?"), {"q.csv": "a,b\n1,2\n"}),
    "quote never closed": Case("RUN q.csv", ("cells cannot be told apart", "double quote"), {"q.csv": 'original,variant\n"a,b\n'}, "q.csv", 2),
    "empty cell": Case("RUN q.csv", ('column "variant": found nothing, expected a variant', "fill the cell or drop the row"), {"q.csv": "original,variant\na,b\nc,\n"}, "q.csv", 3),
    "task by a near name": Case("RUN q.csv --task snlii", ("no column for the original", "snlii is not a built-in task: did you mean snli"), {"q.csv": "premise,hypothesis,variant,label\na,b,c,0\n"}, "q.csv", 1),
    "unknown kind of one's own": Case("RUN q.csv --kind semntic", ('kind: found "semntic"', "did you mean semantic"), {"q.csv": "original,variant\na,b\n"}, "q.csv", 2),
    "label that is none": Case("RUN q.csv --task snli", ('column "label": found "entails", expected 0 entailment', "as its number or its name"), {"q.csv": "premise,hypothesis,variant,label\na,b,c,entails\n"}, "q.csv", 2),
    # groups of one's own
    "groups: bad JSON": Case("RUN g.jsonl", ("broken JSON: Expecting ',' delimiter", "the file may be cut"), {"g.jsonl": PAIR + '{"items": [{"text": "a"}\n'}, "g.jsonl", 2),
    "groups: no object": Case("RUN g.jsonl", ("found [1, 2], expected an object", "write {"), {"g.jsonl": PAIR + "[1, 2]\n"}, "g.jsonl", 2),
    "groups: unknown expect": Case("RUN g.jsonl", ('"expect": found "sme", expected one of bucket, different, implied, same', "did you mean same?"), {"g.jsonl": PAIR.replace("]}", '], "expect": "sme"}')}, "g.jsonl", 1),
    "groups: unknown kind": Case("RUN g.jsonl", ('kind "mine" is not known, so "expect" is needed', "semantic"), {"g.jsonl": PAIR.replace("]}", '], "kind": "mine"}')}, "g.jsonl", 1),
    "groups: missing items": Case("RUN g.jsonl", ('found {"id": "x"}, expected an object with "items"', 'write "items"'), {"g.jsonl": PAIR + '{"id": "x"}\n'}, "g.jsonl", 2),
    "groups: one item": Case("RUN g.jsonl", ('"items": found a list of 1, expected one of two or more',), {"g.jsonl": '{"items": [{"text": "a"}]}\n'}, "g.jsonl", 1),
    "groups: empty text": Case("RUN g.jsonl", ("found nothing, expected a text", "leave the group out"), {"g.jsonl": '{"items": [{"text": "a"}, {"text": " "}]}\n'}, "g.jsonl", 1),
    "groups: duplicate ids": Case("RUN g.jsonl", ('"id": found "1", which line 1 has too', "an id of its own"), {"g.jsonl": PAIR.replace("{", '{"id": "1", ', 1) * 2}, "g.jsonl", 2),
    "groups: a choice twice": Case("RUN g.jsonl", ('"choices": found x, x, expected each once',), {"g.jsonl": '{"items": [{"text": "a", "choices": ["x", "x"]}, {"text": "b"}]}\n'}, "g.jsonl", 1),
    "groups: choices in one item": Case("RUN g.jsonl", ('"choices": found 0 in one item and 2 in another', "all items of a group"), {"g.jsonl": '{"items": [{"text": "a", "choices": ["x", "y"]}, {"text": "b"}]}\n'}, "g.jsonl", 1),
    # templates
    "template missing": Case("RUN sample --template t.toml", ("the template cannot be read: No such file", "check --template"), {}, "t.toml"),
    "template no TOML": Case("RUN sample --template t.toml", ("no TOML: Invalid value", "write [task]"), {"t.toml": "[snli]\nprompt = = 1\n"}, "t.toml", 2),
    "template of no task": Case("RUN sample/snli --template t.toml", ("[snlii] in the template is not a task", "did you mean snli?"), {"t.toml": '[snlii]\nprompt = "{premise}"\n'}, "t.toml"),
    "template with a strange key": Case("RUN sample/snli --template t.toml", ('"snli": found {"promt": "{premise}"}, expected a table without "promt"', "did you mean prompt?"), {"t.toml": '[snli]\npromt = "{premise}"\n'}, "t.toml"),
    "template without a field": Case("RUN sample/snli --template t.toml", ('"snli.prompt": found "Well?", expected a text with a field',), {"t.toml": '[snli]\nprompt = "Well?"\n'}, "t.toml"),
    "template with words that are none": Case("RUN sample/snli --template t.toml", ('"snli.words.0": found 1, expected a text', 'words = ["…", "…"]'), {"t.toml": "[snli]\nwords = [1, 2, 3]\n"}, "t.toml"),
    "template with too few words": Case("RUN sample/snli --template t.toml", ("the template gives 2 words for the 3 labels of snli", "one word for each of: entailment, neutral, contradiction"), {"t.toml": '[snli]\nwords = ["a", "b"]\n'}),
    "template with an unknown field": Case("run sample/snli --model python/json:dumps --template t.toml", ("the template asks for {tense}, which the item does not have", "fields here: premise, hypothesis"), {"t.toml": '[snli]\nprompt = "{premise} {tense}"\n'}),
    # predictions
    "predictions missing": Case("run sample/snli/semantic --model predictions/p.jsonl", ("no such file", "predictions/FILE"), {}, "p.jsonl"),
    "predictions: unknown label": Case("run sample/snli/semantic --model predictions/p.jsonl", ("unknown label 'neutrall'", "choices: 0 entailment, 1 neutral, 2 contradiction"), {"p.jsonl": '{"id": "sample/snli/semantic/0/0", "label": 0}\n{"id": "sample/snli/semantic/0/1", "label": "neutrall"}\n'}, "p.jsonl", 2),
    "predictions: duplicate id": Case("run sample/snli/semantic --model predictions/p.jsonl", ("id 'a', replicate 0 was answered before, in line 1", "one row for each id"), {"p.jsonl": '{"id": "a", "label": 0}\n' * 2}, "p.jsonl", 2),
    "predictions: bad JSON": Case("run sample/snli/semantic --model predictions/p.jsonl", ("not JSON: Expecting value at column 8", "one JSON object per line"), {"p.jsonl": '{"id": "a", "label": 0}\n{"id": \n'}, "p.jsonl", 2),
    "predictions: no id": Case("run sample/snli/semantic --model predictions/p.csv", ("no column id; columns found: name, label", "the item's id"), {"p.csv": "name,label\na,0\n"}, "p.csv", 1),
    "predictions: empty": Case("run sample/snli/semantic --model predictions/p.jsonl", ("no predictions in it", "one row for each answer"), {"p.jsonl": "\n"}, "p.jsonl"),
    "predictions: of other items": Case("run sample/snli/semantic --model predictions/p.jsonl", ("none of its 1 ids is in this run: found 'a', expected such as 'sample/snli/semantic/0/0'", "--dry-run --out DIR"), {"p.jsonl": '{"id": "a", "label": 0}\n'}, "p.jsonl"),
    # score and show
    "score: missing path": Case("score r", ("there is no such file or folder", "give a run folder or a table"), {}, "r"),
    "score: no run": Case("score r", ("there is no run here", "the folder that `unwaver run` wrote"), {"r/x": ""}, "r/run.json"),
    "score: missing column": Case("score t.csv", ('no column "role"; found: "group", "kind", "label"', "needed: group, kind, role, label"), {"t.csv": "group,kind,label\n1,semantic,a\n"}, "t.csv", 1),
    "score: unknown role": Case("score t.csv", ('column "role": found "origin", expected original, variant, conclusion', "did you mean original?"), {"t.csv": TABLE + "1,semantic,original,a\n1,semantic,origin,a\n"}, "t.csv", 3),
    "score: unknown kind": Case("score t.csv", ('kind "negation" is not known, so a column "expect" is needed', "did you mean negational"), {"t.csv": TABLE + "1,negation,original,a\n1,negation,variant,a\n"}, "t.csv", 2),
    "score: unknown status": Case("score t.csv", ('column "status": found "lost", expected answered, cut_read, unreadable, empty, tool_call, cut, refused, failed, not_asked',), {"t.csv": "group,kind,role,label,status\n1,semantic,original,a,lost\n"}, "t.csv", 2),
    "score: probs": Case("score t.csv", ('column "probs": found "high", expected a list of numbers',), {"t.csv": "group,kind,role,label,probs\n1,semantic,original,a,high\n"}, "t.csv", 2),
    "score: replicate": Case("score t.csv", ('column "replicate": found "x", expected a whole number',), {"t.csv": "group,kind,role,label,replicate\n1,semantic,original,a,x\n"}, "t.csv", 2),
    "score: no group": Case("score t.csv", ('column "group": found nothing', "drop the row"), {"t.csv": TABLE + ",semantic,original,a\n"}, "t.csv", 2),
    "score: empty": Case("score t.csv", ("the file has no rows",), {"t.csv": TABLE}, "t.csv"),
    "score: no parquet": Case(
        "score t.parquet", ("not a parquet table", "write the file again"), {"t.parquet": "x"}, "t.parquet"
    ),
    "show: no run": Case("show t.csv", ("there is no run here", "`unwaver run`"), {}, "t.csv/run.json"),
    "show: limit 0": Case("show r --limit 0", ("0 is not in the range", "unwaver show --help")),
    # run.json
    "from: missing": Case("run --from r/run.json", ("there is no run here",), {}, "r/run.json"),
    "from: cut": Case("run --from r/run.json", ("broken JSON: Expecting", "was cut or edited"), {"r/run.json": '{"version": 1,\n "config": {'}, "r/run.json", 2),
    "from: newer": Case("run --from r/run.json", ("version 9 of the run format; this unwaver reads version 1", "the version of unwaver that wrote it"), {"r/run.json": '{"version": 9}'}, "r/run.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_user_is_told(here: Any, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    put(tmp_path, case.files)
    args = [a for word in case.args.split(" ") for a in (("run", *FAKE) if word == "RUN" else (word,))]
    if args[-1] != "--model":
        args.append("--json")
    done = here(*args)
    check(done, *case.parts, file=case.file, line=case.line)
    assert done.stdout or args[-1] == "--model"
    assert not (tmp_path / "runs").exists(), "nothing is written before all is known to be well"
    assert "secret-word" not in done.stderr + done.stdout


def test_there_are_many_kinds() -> None:
    assert len(CASES) >= 80


# --- run folders --------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder, to be copied."""
    import unwaver

    folder = tmp_path_factory.mktemp("finished") / "r"
    unwaver.run("sample/snli/semantic", "fake/random", out=str(folder))
    return folder


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        record = json.loads((folder / "run.json").read_text())
        change(record)
        (folder / "run.json").write_text(json.dumps(record))

    return edit


def written(name: str, content: bytes | str) -> Callable[[Path], None]:
    return lambda folder: put(folder, {name: content})


def sql(statement: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with contextlib.closing(sqlite3.connect(folder / "answers.sqlite")) as db, db:
            db.execute(statement)

    return change


def smashed(folder: Path) -> None:
    with (folder / "answers.sqlite").open("r+b") as f:
        f.seek(4096)
        f.write(os.urandom(8192))


FOLDERS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...], str, int | None]] = {
    "no groups": (lambda r: (r / "groups.jsonl").unlink(), ("the run has no groups", "copy the whole run folder"), "groups.jsonl", None),
    "groups cut": (lambda r: os.truncate(r / "groups.jsonl", 300), ("broken JSON: ", "may be cut"), "groups.jsonl", 1),
    "groups empty": (written("groups.jsonl", ""), ("the file is empty",), "groups.jsonl", None),
    "groups not UTF-8": (written("groups.jsonl", b"\xff\xfe"), ("not UTF-8",), "groups.jsonl", 1),
    "groups edited": (written("groups.jsonl", "[1]\n"), ("found [1], expected an object",), "groups.jsonl", 1),
    "no answers": (lambda r: (r / "answers.sqlite").unlink(), ("the run has no answers", "run the same command again"), "answers.sqlite", None),
    "store is no store": (written("answers.sqlite", "hello " * 200), ("damaged, or it is not an answer store (file is not a database)", "move the file away"), "answers.sqlite", None),
    "store cut": (lambda r: os.truncate(r / "answers.sqlite", 6000), ("the answer store is damaged",), "answers.sqlite", None),
    "store smashed": (smashed, ("the answer store is damaged",), "answers.sqlite", None),
    "store without a table": (sql("DROP TABLE answers"), ("no such table: answers", "what it held will be asked again"), "answers.sqlite", None),
    "store with a strange cell": (sql("UPDATE answers SET logprobs = '[1,'"), ("the answer store is damaged",), "answers.sqlite", None),
    "newer store": (sql("PRAGMA user_version=7"), ("the answer store has version 7, this unwaver reads version 1", "the unwaver that wrote it"), "answers.sqlite", None),
    "run.json: no configuration": (edited(lambda d: d.pop("config")), ("holds no configuration of a run", "of this version"), "run.json", None),
    "run.json: unknown setting": (edited(lambda d: d["config"].update(limmit=3)), ("found 'limmit', which is unknown", "did you mean limit"), "run.json", None),
    "run.json: limit a text": (edited(lambda d: d["config"].update(limit="five")), ('"limit": found "five", expected a whole number',), "run.json", None),
    "run.json: limit 0": (edited(lambda d: d["config"].update(limit=0)), ("--limit is 0, expected 1 or more",), "run.json", None),
    "run.json: suites a text": (edited(lambda d: d["config"].update(suites="sample")), ('"suites": found "sample", expected a list of texts',), "run.json", None),
    "run.json: models numbers": (edited(lambda d: d["config"].update(models=[3])), ('"models.0": found 3, expected a text',), "run.json", None),
    "run.json: map a list": (edited(lambda d: d["config"].update(map=[])), ('"map": found [], expected texts by name',), "run.json", None),
    "run.json: no price": (edited(lambda d: d["config"].update(price_in=float("nan"))), ("expected numbers that are finite",), "run.json", None),
    "run.json: a pilot in words": (edited(lambda d: d.update(pilot={"groups": "many"})), ('"pilot.groups": found "many"',), "run.json", None),
    "run.json: no models": (edited(lambda d: d.update(models=[])), ('"models": found [], expected a list of 1 or more', "run the same command again"), "run.json", None),
    "run.json: a model without name": (edited(lambda d: d.update(models=[{}])), ('"models.0": found {}, expected an object with "name"',), "run.json", None),
    "run.json: no words": (edited(lambda d: d.pop("words")), ('expected an object with "words"',), "run.json", None),
    "run.json: a list": (written("run.json", "[]"), ("found no JSON object",), "run.json", None),
    "run.json: not UTF-8": (written("run.json", b"\xff\xfe"), ("cannot be read",), "run.json", None),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_damaged_run_folders(here: Any, finished: Path, tmp_path: Path, name: str) -> None:
    damage, parts, file, line = FOLDERS[name]
    shutil.copytree(finished, tmp_path / "r")
    damage(tmp_path / "r")
    for verb in ("score", "show"):
        check(here(verb, "r", "--json"), *parts, file=f"r/{file}", line=line)
    if name.startswith("run.json"):
        check(here("run", "--from", "r/run.json", "--out", "s", "--json"), *parts, file=f"r/{file}", line=line)
    if file == "answers.sqlite" and name != "no answers":
        again = here("run", "sample/snli/semantic", *FAKE, "--out", "r", "--json")
        check(again, *parts, file=f"r/{file}", line=line)


def test_another_run_is_not_overwritten(here: Any, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "r")
    before = (tmp_path / "r" / "groups.jsonl").read_bytes()
    for args in (["sample/rte"], ["sample/snli/semantic", "--seed", "3"], ["sample/rte", "--dry-run"]):
        done = here("run", *args, *FAKE, "--out", "r", "--json")
        check(done, "this folder holds a different run", "choose another --out", file="r")
    assert (tmp_path / "r" / "groups.jsonl").read_bytes() == before


def test_show_says_what_there_is(here: Any, finished: Path, tmp_path: Path) -> None:
    check(
        here("show", finished, "--only", "becel", "--json"),
        "no suite/task/kind starts with 'becel'",
        "in this run: sample/snli/semantic",
    )
    check(
        here("show", finished, "--model", "gpt", "--json"),
        "no model has 'gpt' in its name",
        "in this run: fake/random",
    )


def test_from_takes_a_file_of_any_name(here: Any, finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "run.json", tmp_path / "mine.json")
    done = here("run", "--from", "mine.json", "--out", "s", "-q")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "s" / "run.json").read_text())["config"]["suites"] == ["sample/snli/semantic"]


# --- what must work -----------------------------------------------------------------------------------------


def test_bom_crlf_and_gzip_work(here: Any, tmp_path: Path) -> None:
    text = "\ufefforiginal,variant,gold\r\nIs it late?,Is it late now?,yes\r\nIs it far?,Is it a long way?,no\r\n"
    put(tmp_path, {"q.csv.gz": gzip.compress(text.encode())})
    done = here("run", "q.csv.gz", *FAKE, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"][0]["groups"] == 2


def test_texts_cannot_steer_the_terminal(here: Any, tmp_path: Path) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07 \u202eback\u2066 \x9b2J\r"
    items = [{"text": f"Is it {evil}?"}, {"text": "Is it?"}]
    put(
        tmp_path,
        {"g.jsonl": json.dumps({"id": f"a{evil}", "task": f"t{evil}", "tag": evil, "items": items}) + "\n"},
    )
    put(tmp_path, {"q.csv": f'"{evil}",b,c,d\n1,2,3,4\n'})
    outputs = [
        here("run", "g.jsonl", *FAKE, "--out", "r"),
        here("show", "r", "--all"),
        here("run", "q.csv", *FAKE),
    ]
    assert [done.returncode for done in outputs] == [0, 0, 2]
    assert "red" in outputs[1].stdout
    assert "no column holds texts" in outputs[2].stderr
    for text in [done.stdout + done.stderr for done in outputs]:
        assert not set(text) & set("\x1b\x07\x9b\r\u202e\u2066")


def test_options_that_change_nothing_are_named(here: Any) -> None:
    done = here("run", "sample/snli/semantic", *FAKE, "--shots", "2", "--system", "Be brief.")
    assert done.returncode == 0
    assert "fake/random does not read prompts: --shots, --system has no effect on it" in done.stderr


def test_what_was_not_asked_is_not_blamed_on_gold(here: Any) -> None:
    done = here("run", "sample/snli/semantic", *FAKE, "--max-calls", "1")
    assert done.returncode == 3
    assert "Stopped early: the limit of 1 calls is reached" in done.stdout
    assert "Without gold" not in done.stdout


def test_nothing_at_all_shows_the_help(here: Any) -> None:
    done = here()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: unwaver")


def test_failure_as_json_in_a_process_of_its_own(unwaver: Any) -> None:
    done = unwaver("run", "nothing.csv", "--json", *FAKE)
    error = {"message": "there is no such file", "hint": "check the path", "file": "nothing.csv", "line": None}
    assert json.loads(done.stdout) == {"version": 1, "error": error}
    assert done.stdout.count("\n") == 1
    check(done, "nothing.csv: there is no such file", file="nothing.csv")


# --- code of one's own --------------------------------------------------------------------------------------

CODE = """
number = 1
def boom(requests):
    raise RuntimeError("no luck")
def leave(requests):
    raise SystemExit(5)
def short(requests):
    return ["entailment"]
def nothing(requests):
    return None
def numbers(requests):
    return [3 for r in requests]
def strange(requests):
    return [{"label": "maybe"} for r in requests]
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("code")
    put(
        folder,
        {
            "bad_code.py": CODE,
            "bad_syntax.py": "x = 1\ndef f(:\n",
            "bad_import.py": "import nonesuch\n",
            "bad_exit.py": "raise SystemExit(5)\n",
        },
    )
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("bad_nowhere:f", ("there is no module bad_nowhere", "looked in")),
        ("bad_code", ("'bad_code' names no function", "python/module:function")),
        ("bad_code:bom", ("bad_code has no bom", "did you mean boom")),
        ("bad_code:number", ("bad_code:number is not a function but int", "python/module:function")),
        ("bad_code:boom", ("bad_code:boom failed: RuntimeError: no luck", "raised in bad_code.py:4")),
        ("bad_code:leave", ("bad_code:leave failed: SystemExit: 5", "raised in bad_code.py:6")),
        ("bad_code:short", ("gave 1 results for 20 requests", "one result for each request, in their order")),
        ("bad_code:nothing", ("a list of results was expected, not NoneType", "one result for each request")),
        ("bad_code:numbers", ("a result must be text or a dict, found int", 'a result is a text, {"label"')),
        ("bad_code:strange", ("unknown label 'maybe'; choices: entailment, neutral", "a result is a text")),
        (
            "bad_import:f",
            ("bad_import cannot be imported: No module named 'nonesuch'", "raised in bad_import.py:1"),
        ),
        ("bad_exit:f", ("bad_exit cannot be imported: SystemExit: 5", "raised in bad_exit.py:1")),
    ],
)
def test_python_models(here: Any, code: Path, name: str, parts: tuple[str, ...]) -> None:
    check(here("run", "sample/snli/semantic", "--model", f"python/{name}", "--json"), *parts)


def test_python_model_with_a_syntax_error(here: Any, code: Path) -> None:
    done = here("run", "sample/snli/semantic", "--model", "python/bad_syntax:f", "--json")
    check(done, "bad_syntax cannot be imported: SyntaxError", file=str(code / "bad_syntax.py"), line=2)


# --- servers ------------------------------------------------------------------------------------------------


def ask(here: Any, url: str) -> Done:
    return here("run", "sample/snli/semantic", "--model", "openai/m", "--model-arg", f"base_url={url}", "--model-arg", "backoff=0.01", "--json")  # fmt: skip


def test_server_that_answers_html(here: Any) -> None:
    with Server(script=lambda *_: "html") as server:
        check(
            ask(here, server.url),
            "answered HTML (status 200, text/html): <!doctype html>",
            "base_url usually ends in /v1",
        )


def test_server_that_does_not_know_the_model(here: Any) -> None:
    with Server(script=lambda *_: Raw(404, {"error": {"message": "no such model\x1b[31m"}})) as server:
        done = ask(here, server.url)
    check(done, "answered 404: no such model", "does the server know the model m?")
    assert "\x1b" not in done.stderr


def test_server_that_is_not_running(here: Any) -> None:
    with socket.socket() as held:  # bound and not listening: nobody else can answer there
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        check(ask(here, url), f"{url} cannot be reached", "is the server running?")


# --- Hugging Face models ------------------------------------------------------------------------------------


@pytest.fixture
def copied(nli_model: Path, tmp_path: Path) -> Path:
    shutil.copytree(nli_model, tmp_path / "m", copy_function=shutil.copyfile)
    return tmp_path / "m"


def nli(here: Any, suite: str, model: object, *more: object) -> Done:
    return here("run", suite, "--model", f"hf/{model}", "--limit", "1", "--json", *more)


def test_labels_that_do_not_match(here: Any, nli_model: Path) -> None:
    done = nli(here, "sample/rte/semantic", nli_model)
    parts = ("(entailment, neutral, contradiction) do not match those of rte (entailment, not_entailment)",)
    check(done, *parts, "--map neutral=not_entailment --map contradiction=not_entailment")
    maps = ("--map", "neutral=not_entailment", "--map", "contradiction=not_entailment")
    check(
        nli(here, "sample/rte/semantic", nli_model, *maps[:2]), *parts, "each: --map contradiction=not_entailment"
    )
    assert nli(here, "sample/rte/semantic", nli_model, *maps).returncode == 0


def test_damaged_weights(here: Any, copied: Path) -> None:
    os.truncate(copied / "model.safetensors", 5000)
    check(
        nli(here, "sample/snli/semantic", "m"),
        "m cannot be loaded: Error while deserializing header",
        "copy or download it again",
    )


def test_missing_weights(here: Any, copied: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if not name.startswith("classifier")}
    save_file(kept, copied / "model.safetensors", metadata={"format": "pt"})
    check(
        nli(here, "sample/snli/semantic", "m"),
        "m lacks 2 of its weights: classifier.bias",
        "is it a trained classifier",
    )


def test_no_tokeniser(here: Any, copied: Path) -> None:
    """Transformers makes one without words, to which every text is the same."""
    (copied / "tokenizer.json").unlink()
    check(nli(here, "sample/snli/semantic", "m"), "m has no vocabulary", "model and tokeniser")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("--device", "abacus"), ("device abacus cannot be used here", "try --device cpu")),
        (("--model-arg", "dtype=int3"), ("unknown dtype int3", "known: auto, bfloat16, float16, float32")),
        (("--method", "generate"), ("is a classifier: it has no method generate", "leave --method out")),
    ],
)
def test_options_of_a_classifier(
    here: Any, nli_model: Path, args: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    check(nli(here, "sample/snli/semantic", nli_model, *args), *parts)


def test_hub_id_without_network(unwaver: Any, nli_model: Path, tmp_path: Path) -> None:
    """It says so after one try (transformers alone makes six a file), and a model in the cache works all the same."""
    cached = tmp_path / "hub" / "models--me--nli"
    put(cached, {"refs/main": "abc123", "snapshots/x": ""})
    (cached / "snapshots" / "abc123").symlink_to(nli_model)
    # a server that hangs up at once stands for the network that is not there, and counts how often it is tried
    tried: list[object] = []

    def hang_up(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = listening.accept()
                tried.append(peer)
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=hang_up, args=[listening], daemon=True).start()
        env = {
            "HF_ENDPOINT": f"http://127.0.0.1:{listening.getsockname()[1]}",
            "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_HUB_OFFLINE": "",
        }
        done = unwaver("run", "sample/snli/semantic", "--model", "hf/nobody/nothing", "--json", env=env)
        assert 1 <= len(tried) <= 3
        check(
            done,
            "nobody/nothing is not a local folder, and the hub cannot be reached",
            "give the path of a model folder",
        )
        args = ("run", "sample/snli/semantic", "--limit", "2", "--model", "hf/me/nli", "--out", "r", "--json")
        done = unwaver(*args, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["models"][0]["identity"] == "hub:me/nli@abc123"


def test_a_hub_id_that_is_none(here: Any) -> None:
    check(
        here("run", "sample", "--model", "hf/two words", "--json"),
        "two words is neither a folder nor a hub id",
        "owner/name",
    )


# --- disks and pipes ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A small disk of its own, which only root can have."""
    place.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True).returncode
    ):
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def answered(folder: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(folder / "answers.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {key for (key,) in db.execute("SELECT key FROM answers")}


@pytest.mark.parametrize("kind", ["tmpfs", "limit"])
def test_full_disk_in_the_middle_of_a_run(unwaver: Any, tmp_path: Path, kind: str) -> None:
    command = ("run", "sample", *FAKE, "--json", "--model-arg", "delay=0.0001")
    with contextlib.ExitStack() as stack:
        options: dict[str, Any] = {}
        disk = tmp_path / "disk"
        if kind == "tmpfs":
            stack.enter_context(mounted(disk, "size=380k"))
        else:
            options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (180_000, 180_000))
        done = unwaver(*command, "--out", "disk/r", **options)
        assert done.returncode == 3, done.stderr
        assert "Traceback" not in done.stderr
        document = json.loads(done.stdout)
        assert "no more answers can be saved" in document["run"]["spent"]["stopped"]
        leading = [s for s in document["scores"] if s["metric"] in ("tau", "C_R")]
        assert 0 < sum(s["not_asked"] for s in leading) < sum(s["groups"] for s in leading)
        again = unwaver(*(c for c in command if c != "--json"), "--out", "disk/r", **options)  # as people see it
        assert again.returncode == 3
        told = again.stdout + again.stderr
        assert (
            "Stopped early: disk/r/answers.sqlite: no more answers can be saved" in told
            or "the disk is full" in told
        )
        shutil.copytree(disk / "r", tmp_path / "elsewhere")
    kept = answered(tmp_path / "elsewhere")
    assert kept
    done = unwaver(*command, "--out", "elsewhere")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"]["spent"]["stopped"] is None
    everything = answered(tmp_path / "elsewhere")
    assert kept < everything
    assert document["run"]["spent"]["calls"] == len(everything) - len(kept), "nothing is asked again"


def test_full_disk_before_and_after(unwaver: Any, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as disk:
        done = unwaver("run", "sample", *FAKE, "--out", "disk/r", "--json")
        check(
            done,
            "the disk is full",
            "free some space, then run the same command again",
            code=3,
            file="disk/r/groups.jsonl",
        )
        done = unwaver("run", "sample/snli/semantic", *FAKE, "--out", "disk/s", "--json")
        assert done.returncode == 3
        assert list(disk.glob("*/.*")) == [], "no half-written files stay"


def test_read_only_folders(here: Any, finished: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=4m") as disk:
        shutil.copytree(finished, disk / "r")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        run = ("run", "sample/snli/semantic", *FAKE, "--json")
        check(
            here(*run, "--out", "disk/new"), "cannot be written: Read-only file system", "--out", file="disk/new"
        )
        check(
            here(*run, "--out", "disk/new", "--dry-run"),
            "cannot be written: Read-only file system",
            file="disk/new",
        )
        refused = here(*run, "--out", "disk/r")  # run.json is replaced only when there are new answers
        check(refused, "the answer store cannot be opened", "--out", file="disk/r/answers.sqlite")
        check(
            here(*run, "--out", "x", "--store", "disk/s.sqlite"),
            "cannot be opened",
            "--store",
            file="disk/s.sqlite",
        )
        assert here("show", "disk/r").returncode == 0
        done = here("score", "disk/r", "--unreadable", "skip", "--json")
        assert done.returncode == 0, "an archive can be scored"
        assert json.loads(done.stdout)["scores"]


def test_out_below_a_file(here: Any, tmp_path: Path) -> None:
    put(tmp_path, {"file": "x"})
    run = ("run", "sample/snli/semantic", *FAKE, "--json")
    check(here(*run, "--out", "file/r"), "cannot be written: Not a directory", "--out", file="file/r")
    check(here(*run, "--out", "file"), "cannot be written: File exists", "--out", file="file")
    check(here(*run, "--out", "file/r", "--dry-run"), "cannot be written: Not a directory", file="file/r")
    check(here(*run, "--out", "x", "--store", "none/s.sqlite"), "cannot be opened", file="none/s.sqlite")


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("list suites | head -1", 0, ""),
        ("show RUN --all --limit 999 | head -1", 0, ""),
        ("list > /dev/full", 2, "No space left on device"),
        ("show RUN --json > /dev/full", 2, "No space left on device"),
        ("list >&-", 0, ""),
        ("show RUN --only nothing --json >&-", 2, "no suite/task/kind starts with"),
    ],
)
def test_output_that_goes_nowhere(finished: Path, command: str, code: int, told: str) -> None:
    line = (
        f"'{sys.executable}' -m unwaver.cli.main {command.replace('RUN', str(finished))}; exit ${{PIPESTATUS[0]}}"
    )
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}  # a user's Python holds output back
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=FOR_EVER, env=plain)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert told in done.stderr
    assert bool(done.stderr) == bool(told)
    assert done.returncode == code, done.stderr


def test_numbers_are_never_cut_by_a_narrow_terminal(
    here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        f"{n},wic,transitive_swapped,{role},{label},yes,implied"
        for n in range(7)
        for role, label in (("original", "yes"), ("original", "yes"), ("conclusion", "" if n == 3 else "no"))
    ]
    put(tmp_path, {"t.csv": "\n".join(["group,task,kind,role,label,gold,expect", *rows]) + "\n"})
    monkeypatch.setenv("COLUMNS", "60")
    done = here("score", "t.csv")
    assert done.returncode == 0, done.stderr
    first = next(line for line in done.stdout.split("\n") if "tau ↓" in line)  # below the name of the relation
    assert first.split() == ["tau", "↓", "100.0", "59.0", "–", "100.0", "100.0", "100.0", "7", "0"]
    assert "unreadable" in done.stdout
