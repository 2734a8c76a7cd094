"""One job carried all the way, as in docs/people.md: 20 items, three people who grade the variants, the groups that
their grades keep, a scored run, people who answer the same groups, and both in one report."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.testclient import TestClient

from unwaver.people.templates import template
from unwaver.web.app import job_app
from unwaver.web.desk import Desk
from unwaver.web.opened import invite, open_job

RATERS = ("ann", "bob", "cy")
Say = Callable[[str, str], str]  # from the name of a person and the text of a page, what they choose


class Visitor:
    """Somebody with a link, who sends forms as they stand on the page."""

    def __init__(self, desk: Desk, token: str):
        self.client = TestClient(job_app(desk, {"testserver"}), follow_redirects=True)
        self.page = self.client.get(f"/in/{token}")

    def open(self, path: str) -> str:
        self.page = self.client.get(path)
        while self.page.status_code == 429:  # faster than any person
            time.sleep(1)
            self.page = self.client.get(path)
        assert self.page.status_code == 200, self.page.text
        return self.page.text

    def send(self, **form: str) -> str:
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.page.text)
        (action,) = re.findall(r'<form method="post" action="([^"]+)"', self.page.text)
        data = {**{name: unescape(value) for name, value in hidden}, **form}
        self.page = self.client.post(action, data=data)
        if self.page.status_code == 429:  # of the form, or of the page after it
            time.sleep(1)
            return self.open("/")
        assert self.page.status_code == 200, self.page.text
        return self.page.text


def play(path: Path, say: Say) -> dict[str, str]:
    """Three people open their links and do the whole job; then the owner takes everything out."""
    job, groups, _ = open_job(path)
    tokens = invite(job, RATERS)
    desk = Desk(job, groups)
    for name in RATERS:
        visitor = Visitor(desk, tokens[name])
        for number in range(1, len(job.practice) + 1):
            visitor.open(f"/practice/{number}")
            visitor.send(value=job.practice[number - 1].answer)
        visitor.open("/")
        while "<form" in visitor.page.text:
            visitor.send(value=say(name, unescape(visitor.page.text)))
        assert "Thank you" in visitor.page.text
    owner = Visitor(desk, tokens["owner"])
    names = re.findall(r'href="/owner/export/([^"]+)"', owner.page.text)
    found = {name: owner.client.get(f"/owner/export/{name}").text for name in names}
    desk.database.close()
    return found


def items(path: Path) -> None:
    """20 questions with a paraphrase each; every fourth paraphrase is none."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "paraphrase", "label"))
        for n in range(20):
            other = f"Is {n} the best of all numbers?" if n % 4 == 3 else f"Can {n} be divided by two?"
            writer.writerow((f"Is {n} an even number?", other, "no" if n % 2 else "yes"))


def similar(name: str, page: str) -> str:
    """Two of three people see which paraphrases are none."""
    if "best of all" in page:
        return {"ann": "1", "bob": "2", "cy": "4"}[name]
    return "5" if "asleep" in page or name != "bob" else "4"


def even(name: str, page: str) -> str:
    """Bob is wrong about one wording; the others are always right."""
    if "Is snow white?" in page:  # the card with a known answer
        return "yes"
    (number,) = {int(n) for n in re.findall(r"(?:Is|Can) (\d+) ", page)}
    is_even = number % 2 == 0
    if name == "bob" and number == 4 and "Can 4" in page:
        is_even = False
    return "yes" if is_even else "no"


def test_from_items_to_people_beside_a_model(tmp_path: Path, call: Any) -> None:
    items(tmp_path / "items.csv")

    # three people grade 20 variants
    code, text, _ = call("annotate", "--new", "rate")
    assert (code, text) == (0, template("rate"))
    Path("rate.toml").write_text(text.replace('"groups.jsonl"', '"items.csv"'))
    graded = play(Path("rate.toml"), similar)
    Path("kept.jsonl").write_text(graded["groups.jsonl"])
    code, out, err = call("review", "rate.toml", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["rules"]["mean>=4"] == {"kept": 15, "of": 20}
    assert found["agreement"][0]["krippendorff_alpha"]["level"] == "ordinal"

    # the groups that their grades keep, in a scored run
    code, out, err = call("run", "kept.jsonl", "--model", "fake/random", "--out", "run", "--json", "--no-report")
    assert code == 0, err
    (tau, *_) = [score for score in json.loads(out)["scores"] if score["metric"] == "tau"]
    assert (tau["counted"], tau["not_applicable"]) == (15, 0)

    # three people answer the same groups
    _, text, _ = call("annotate", "--new", "answer")
    Path("answer.toml").write_text(text.replace('"groups.jsonl"', '"kept.jsonl"'))
    play(Path("answer.toml"), even)
    code, out, err = call("score", "answer.toml", "--json")
    assert code == 0, err
    values = {s["model"]: s["value"] for s in json.loads(out)["scores"] if s["metric"] == "tau"}
    assert values == pytest.approx({"people": 0.0, "r1": 0.0, "r2": 1 / 15, "r3": 0.0})

    # people beside a model, in one command each
    code, out, err = call("report", "answer.toml", "run", "--format", "md")
    assert code == 0, err
    rows = [line.split(" | ")[1] for line in out.splitlines()[2:]]
    assert sorted(rows) == ["fake/random (fake)", "people (majority)", "r1 (person)", "r2 (person)", "r3 (person)"]
    code, out, err = call("report", "answer.toml", "run", "--out", "beside.html")
    assert code == 0, err
    assert "people" in Path("beside.html").read_text()
    code, out, err = call("compare", "human/answer.toml,rater=people", "run", "--json")
    assert code == 0, err
    (row,) = [row for c in json.loads(out)["comparisons"] for row in c["rows"]]
    assert row["first"] == 0.0
    assert row["second"] == pytest.approx(tau["value"])
    code, out, err = call("run", "kept.jsonl", "--model", "human/answer.toml", "--model", "fake/random", "--json")
    assert code == 0, err
    assert {score["model"] for score in json.loads(out)["scores"]} == {"people", "fake/random"}


def test_from_questions_to_a_validated_bank(tmp_path: Path, call: Any) -> None:
    """People write paraphrases, others validate them, and the bank that comes out is a writer of `build`."""
    questions = [f"Which river flows through city number {n}?" for n in range(3)]
    Path("questions.csv").write_text("\n".join(["question", *questions]))
    _, text, _ = call("annotate", "--new", "write")
    Path("write.toml").write_text(text.partition("[[practice]]")[0])
    job, groups, count = open_job(Path("write.toml"))
    assert count == 3
    tokens, desk = invite(job, ("ann",)), Desk(job, groups)
    ann = Visitor(desk, tokens["ann"])
    ann.open("/")
    while "<form" in ann.page.text:
        (n,) = re.findall(r"city number (\d)\?", ann.page.text)[:1]
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', ann.page.text))
        (action,) = re.findall(r'<form method="post" action="([^"]+)"', ann.page.text)
        texts = [f"Name the stream of town {n}.", f"What water runs by place {n}?", f"{n}: its waterway, please"]
        ann.page = ann.client.post(action, data={**hidden, "texts": texts})
    desk.database.close()

    Path("validate.toml").write_text(
        'kind = "validate"\nfrom = "write.toml"\ncriteria = ["meaning"]\nraters = 1\n'
    )
    job, groups, count = open_job(Path("validate.toml"))
    assert count == 9
    tokens, desk = invite(job, ("Ann", "bob")), Desk(job, groups)
    own = Visitor(desk, tokens["Ann"])
    assert "Thank you" in own.open("/"), "nobody validates their own text"
    bob = Visitor(desk, tokens["bob"])
    bob.open("/")
    while "<form" in bob.page.text:
        good = "waterway" not in bob.page.text
        bob.send(**{"criterion-0": "yes" if good else "no", "reason": "" if good else "no question"})
    owner = Visitor(desk, tokens["owner"])
    exports = re.findall(r'href="/owner/export/([^"]+)"', owner.page.text)
    assert exports == ["bank.jsonl", "audit.jsonl", "replies.csv"]
    Path("bank.jsonl").write_text(owner.client.get("/owner/export/bank.jsonl").text)
    audit = [json.loads(line) for line in owner.client.get("/owner/export/audit.jsonl").text.splitlines()]
    assert [line["kept"] for line in audit].count(True) == 6
    desk.database.close()

    made = ("--from", "questions.csv", "--task", "question", "--writer", "bank/bank.jsonl", "--out", "made.jsonl")
    code, _, err = call("build", "paraphrase", *made)
    assert code == 0, err
    found = [json.loads(line) for line in Path("made.jsonl").read_text().splitlines()]
    assert len(found) == 3
    variants = [item["fields"]["question"] for group in found for item in group["items"][1:]]
    assert "Name the stream of town 0." in variants
    assert not any("waterway" in text for text in variants)
