"""The report for someone who decides: one scale, examples, dates and costs, logs with titles and texts, and pages
without texts."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unwaver
from unwaver.answers.given import complete
from unwaver.metrics.meanings.pairwise import different
from unwaver.reports.advice import ENOUGH, steps
from unwaver.reports.markup import name
from unwaver.reports.opening import asked_in_words, duration
from unwaver.reports.page import page
from unwaver.reports.private import without_texts
from unwaver.reports.source import Source, read_sources
from unwaver.reports.verdict import verdicts

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")

Call = Callable[..., tuple[int, str, str]]
BOT = '''
import re

def bot(requests):
    """Misses some questions without a question mark."""
    numbers = [int(re.findall("[0-9]+", r["prompt"])[0]) for r in requests]
    return [
        f"Shop {n} has closed." if n % 3 == 0 and not r["prompt"].rstrip().endswith("?") else f"Shop {n} opens at nine."
        for n, r in zip(numbers, requests)
    ]
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Path:
    """A run of free text: typing errors and punctuation, each wording asked twice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("shop_bot.py").write_text(BOT)
    questions = [f"When does the shop number {n} open its doors?" for n in range(1, 13)]
    Path("questions.csv").write_text("question\n" + "".join(f"{text}\n" for text in questions))
    code, _, err = call(
        "run", "questions.csv", "--model", "python/shop_bot:bot", "--out", "r", "--no-report", "-q"
    )
    assert code == 0, err
    return tmp_path / "r"


def text_of(written: str) -> str:
    """What a reader sees, without the script and the style."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", written, flags=re.DOTALL)
    body = body.replace("<wbr>", "")
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def groups_of(written: str) -> dict[str, Any]:
    found = re.search(r'id="groups">([^<]*)<', written)
    assert found is not None
    document: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(found[1])))
    return document


def section(written: str, id: str) -> str:
    found = re.search(
        rf'<section id="{id}">.*?</section>|<section [^>]*id="{id}".*?</section>', written, re.DOTALL
    )
    return "" if found is None else text_of(found[0])


# --- one scale ----------------------------------------------------------------------------------------------


def bucket_table() -> dict[str, list[Any]]:
    """Buckets of three wordings: 6 of 30 have one wrong answer."""
    return {
        "group": [n for n in range(30) for _ in range(3)],
        "item": [f"{n}/{k}" for n in range(30) for k in range(3)],
        "kind": ["bucket"] * 90,
        "role": ["variant"] * 90,
        "label": ["b" if k == 2 and n < 6 else "a" for n in range(30) for k in range(3)],
        "gold": ["a"] * 90,
    }


def reverse_table() -> dict[str, list[Any]]:
    return {
        "group": [n for n in range(40) for _ in range(2)],
        "kind": ["reverse"] * 80,
        "role": ["original", "variant"] * 40,
        "label": ["b" if k and n < 10 else "a" if n % 2 else "b" for n in range(40) for k in range(2)],
        "gold": ["a"] * 80,
    }


@pytest.mark.parametrize("table", [bucket_table, reverse_table])
def test_verdict_and_table_have_the_same_number(table: Callable[[], dict[str, list[Any]]]) -> None:
    """Never 46.9 left and 53.1 right: a metric that counts what holds is shown as what breaks."""
    frame = complete(table())
    result = unwaver.score(table())
    written = page([Source("t", frame, result, {})])
    (verdict,) = verdicts(result)
    assert verdict.score.better == "high"
    shown = verdict.basis.partition("\u00a0")[0]
    row = section(written, "scores").partition("Every row")[0]
    assert f" {shown} " in row
    assert f"1 − {verdict.score.metric}" in row
    assert f" {100 * verdict.score.value:.1f} " not in row  # type: ignore[operator]


def test_figures_of_free_text_are_on_the_same_scale(shop: Path) -> None:
    figures = section(page(read_sources([shop])), "figures")
    assert "pairs of answers that disagree" in figures
    assert "that agree" not in figures


def test_none_broken_is_not_called_not_quite_consistent() -> None:
    labels = ["a", "a", "b", "b"] * 20
    table = {"group": [n // 2 for n in range(80)], "kind": ["semantic"] * 80, "role": ["original", "variant"] * 40, "label": labels}  # fmt: skip
    (found,) = verdicts(unwaver.score(table))
    assert found.level == "unsure"
    assert "none of 40" in found.said


# --- no matrix of what is the same --------------------------------------------------------------------------


def test_no_matrix_of_two_agreements_that_are_the_same(shop: Path) -> None:
    written = page(read_sources([shop]))
    assert "Do the notions of agreement agree?" not in written
    assert section(written, "figures").count("Wording noise against sampling noise") == 1


def test_equal_columns_stand_once() -> None:
    a, b = np.array([0.0, 1.0, np.nan]), np.array([0.5, 0.1, 0.2])
    kept, same = different({"normalised": a, "exact": a.copy(), "rouge1": b})
    assert list(kept) == ["normalised", "rouge1"]
    assert same == {"exact": "normalised"}


# --- settings, names, dates ---------------------------------------------------------------------------------


def test_settings_are_a_table(tmp_path: Path) -> None:
    unwaver.run("sample/snli/semantic", "fake/random,seed=3", out=str(tmp_path / "r"), limit=2)
    written = page(read_sources([tmp_path / "r"]))
    facts = re.search(r'<table class="facts">.*', written, re.DOTALL)
    assert facts is not None
    rows = re.findall(r'<table class="settings">(.*?)</table>', facts[0], re.DOTALL)
    assert any(re.search(r'<th scope="row">python</th><td>\d', row) for row in rows)
    assert "{&#x27;" not in written
    assert "{'" not in text_of(written)


def test_names_go_on_where_their_parts_meet() -> None:
    assert name("question/surface_typo") == "question/<wbr>surface_<wbr>typo"
    assert name("a<b/c") == "a&lt;b/<wbr>c"
    assert name("http://h:1/v1") == "http://<wbr>h:<wbr>1/<wbr>v1"
    assert name("2026-11-17T17:37:27Z, 0.5 s") == "2026-11-17T17:37:27Z, 0.5 s"


def test_when_and_for_how_much() -> None:
    asked = {"began": "2026-11-17T15:33:01Z", "seconds": 4.21, "calls": 560, "tokens_in": 15880, "tokens_out": 560, "cost": 0.017}  # fmt: skip
    assert asked_in_words(asked) == (
        "Asked on 2026-11-17 at 15:33 UTC, in 4.2 s: 560 requests, 16,440 tokens, cost 0.0170."
    )
    assert asked_in_words({**asked, "cost": None}).endswith("cost not known.")
    assert asked_in_words({**asked, "cost": 0.0}).endswith("cost 0.0000.")
    assert [duration(s) for s in (0.04, 59.9, 200, 7500)] == ["0.0 s", "59.9 s", "3 min 20 s", "2 h 5 min"]


def test_a_run_has_its_date_on_the_page(shop: Path) -> None:
    head = text_of(page(read_sources([shop]))).partition("were measured")[0]
    assert re.search(r"Asked on \d{4}-\d\d-\d\d at \d\d:\d\d UTC, in ", head)
    assert "cost not known" in head


# --- what broke, what to do ---------------------------------------------------------------------------------


def test_the_worst_group_of_each_relation_is_shown(shop: Path) -> None:
    said = section(page(read_sources([shop])), "broke")
    assert re.search(r"\b4 of 24 groups are broken", said)
    assert "When does the shop number 3 open its doors?" in said
    assert "Shop 3 has closed." in said
    assert "Shop 3 opens at nine." in said


def test_steps_have_commands(shop: Path) -> None:
    (source,) = read_sources([shop])
    found = steps([(source.path, source.result)], verdicts(source.result))
    commands = [step.command for step in found]
    assert f"unwaver show {shop}" in commands
    assert any("--agree judge=" in command for command in commands)
    assert any(str(ENOUGH) in step.says for step in found)


def test_labels_that_differ_need_no_judge() -> None:
    """Free text that holds, beside labels that break, is no reason to compare answers in another way."""
    result = unwaver.run("sample", "fake/keyword")
    found = steps([("r", result)], verdicts(result))
    assert any(verdict.level == "bad" for verdict in verdicts(result))
    assert not [step for step in found if "--agree" in step.command or "compared by" in step.says]


def test_nothing_broken_says_so() -> None:
    table = {"group": [0, 0, 1, 1], "kind": ["semantic"] * 4, "role": ["original", "variant"] * 2, "label": ["a", "a", "b", "b"]}  # fmt: skip
    written = page([Source("t", complete(table), unwaver.score(table), {})])
    assert "Nothing: all 2 groups that were measured hold." in section(written, "broke")


# --- logs ---------------------------------------------------------------------------------------------------


def questions() -> list[dict[str, str]]:
    return [
        {
            "id": f"c{n}-p{k}",
            "bucket": f"c{n}",
            "question": text.format(n),
            "answer": "I do not know" if k == 2 and n == 4 else f"City {n}",
            "gold": f"City {n}",
        }
        for n in range(6)
        for k, text in enumerate(("What is the capital of land {}?", "Name the capital of land {}.", "Land {}: capital?"))
    ]  # fmt: skip


def as_csv(path: Path) -> tuple[str, ...]:
    rows = [list(questions()[0]), *(list(row.values()) for row in questions())]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return ()


def as_promptfoo(path: Path) -> tuple[str, ...]:
    results = [
        {
            "vars": {"land": row["bucket"], "q": row["question"]},
            "prompt": {"raw": row["question"], "label": "{{q}}"},
            "success": row["answer"] == row["gold"],
            "provider": "openai:some-model",
            "response": {"output": row["answer"]},
        }
        for row in questions()
    ]
    document = {
        "evalId": "e",
        "results": {"version": 3, "results": results},
        "config": {"description": "capitals"},
    }
    path.write_text(json.dumps(document))
    return "--bucket", "vars.land"


def as_lm_eval(path: Path) -> tuple[str, ...]:
    lines = [
        {
            "doc_id": n,
            "doc": {"land": row["bucket"]},
            "target": row["gold"],
            "arguments": [[row["question"], {"until": ["."]}]],
            "resps": [[row["answer"]]],
            "filtered_resps": [row["answer"]],
            "filter": "none",
            "metrics": ["exact_match"],
            "exact_match": float(row["answer"] == row["gold"]),
        }
        for n, row in enumerate(questions())
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "--bucket", "doc.land"


LOGS = [
    (as_csv, "answers.csv", "answers.csv"),
    (as_promptfoo, "results.json", "openai:some-model"),
    (as_lm_eval, "m/samples_capitals.jsonl", "m"),
]


@pytest.mark.parametrize(("write", "path", "who"), LOGS)
def test_a_log_has_a_title_and_the_texts_of_broken_groups(
    write: Callable[[Path], tuple[str, ...]], path: str, who: str, call: Call, tmp_path: Path
) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    options = write(Path(path))
    code, _, err = call("report", path, *options, "--out", "log.html")
    assert code == 0, err
    written = Path("log.html").read_text()
    title = re.search(r"<title>(.*?)</title>", written)
    assert title is not None
    assert unescape(title[1]).startswith(f"unwaver: {who}: ")
    head = text_of(written).partition("measured")[0]
    assert Path(path).name in head
    assert "Date, duration and cost are not known" in head
    said = section(written, "broke")
    assert "What is the capital of land 4?" in said
    assert "Land 4: capital?" in said
    assert "I do not know" in said
    assert "Land 4: capital?" in groups_of(written)["texts"]


def test_a_table_of_groups_shows_its_questions(call: Call, tmp_path: Path) -> None:
    Path("t.csv").write_text(
        "group,kind,role,label,question\n1,semantic,original,yes,Is it late?\n1,semantic,variant,no,Is it late now?\n"
    )
    assert call("report", "t.csv", "--out", "log.html")[0] == 0
    assert "Is it late now?" in section(Path("log.html").read_text(), "broke")


# --- without texts ------------------------------------------------------------------------------------------


def texts_in(written: str, private: set[str]) -> list[str]:
    """The texts that are anywhere in the file, its packed groups included."""
    everything = (written + json.dumps(groups_of(written), ensure_ascii=False)).casefold()
    shown = unescape(everything)
    return sorted(text for text in private if text.casefold() in everything or text.casefold() in shown)


def private_texts(shop: Path) -> set[str]:
    (source,) = read_sources([shop])
    asked = {text for group in source.groups.values() for item in group.items for text in item.fields.values()}
    return asked | set(source.frame["label"].drop_nulls().to_list())


def test_without_texts_no_text_is_in_the_file(shop: Path, call: Call) -> None:
    private = private_texts(shop)
    assert len(private) > 30
    assert call("report", "r", "--out", "open.html")[0] == 0
    assert len(texts_in(Path("open.html").read_text(), private)) == len(private)
    code, _, err = call("report", "r", "--out", "private.html", "--without-texts")
    assert code == 0, err
    written = Path("private.html").read_text()
    assert texts_in(written, private) == []
    assert "4 of 24 groups are broken" in section(written, "broke")
    assert "r/question" in json.dumps(groups_of(written)) or "questions/question" in json.dumps(groups_of(written))
    said = section(Path("open.html").read_text(), "verdict")
    assert section(written, "verdict") == said  # the numbers are the same


def test_a_run_and_a_check_write_pages_without_texts(shop: Path, call: Call) -> None:
    bot = ("--model", "python/shop_bot:bot")
    code, _, err = call("run", "questions.csv", *bot, "--out", "r", "-q", "--without-texts")
    assert code == 0, err
    private = private_texts(shop)
    assert texts_in((shop / "report.html").read_text(), private) == []
    assert call("init", "--from", "questions.csv", *bot)[0] == 0
    assert call("check", "--accept", "-q")[0] == 0
    (written,) = Path("runs").glob("*/report.html")
    assert texts_in(written.read_text(), private)
    assert call("check", "-q", "--without-texts")[0] == 0
    assert texts_in(written.read_text(), private) == []  # also where nothing was asked since


def test_commands_and_system_prompts_are_left_out(shop: Path) -> None:
    (source,) = read_sources([shop])
    secret = "Never speak of the harbour"
    model = {**source.result.run["models"][0], "settings": {"system": secret, "temperature": 0.5}}
    run = {**source.result.run, "command": ["unwaver", "run", "--system", secret], "models": [model]}
    run |= {"notes": {"a/b/c": [secret]}, "failures": []}
    told = replace(source, result=replace(source.result, run=run))
    assert secret in text_of(page([told]))
    written = page([without_texts(told)])
    assert texts_in(written, {secret}) == []
    assert "(not shown)" in written
    assert "0.5" in text_of(written)


@pytest.mark.parametrize(("write", "path", "who"), LOGS)
def test_logs_without_texts(
    write: Callable[[Path], tuple[str, ...]], path: str, who: str, call: Call, tmp_path: Path
) -> None:
    """Also where a question is the name of its group or wording."""
    del who
    Path(path).parent.mkdir(exist_ok=True)
    options = write(Path(path))
    if path == "answers.csv":
        options = ("--bucket", "gold", "--variant", "question", "--answer", "answer")
    code, _, err = call("report", path, *options, "--without-texts", "--out", "log.html")
    assert code == 0, err
    private = {row[name] for row in questions() for name in ("question", "answer", "gold")}
    assert texts_in(Path("log.html").read_text(), private) == []


def test_labels_right_answers_and_prompts_are_left_out(tmp_path: Path) -> None:
    lines = [
        {
            "id": f"the aubergine {n}",
            "items": [
                {
                    "text": f"Is aubergine {n} a fruit?",
                    "choices": ["certainly", "never"],
                    "accepted": ["certainly"],
                },
                {"text": f"aubergine {n}: fruit?", "choices": ["certainly", "never"], "accepted": ["certainly"]},
            ],
        }
        for n in range(8)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    unwaver.run(str(tmp_path / "own.jsonl"), "fake/random", out=str(tmp_path / "r"))
    sources = read_sources([tmp_path / "r"])
    assert "certainly" in page(sources)
    written = page([without_texts(source) for source in sources])
    assert texts_in(written, {"certainly", "never", "fruit?"}) == []
    assert "fake/random" in written
