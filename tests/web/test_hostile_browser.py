"""Markup and scripts in every text of a job: nothing runs, and no request leaves the server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from annotating import Person, Served, write_job
from browser import launched

from unwaver.people.job import KINDS
from unwaver.web.guard import HEADERS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


HOSTILE = (
    "</textarea></script><script>document.title='x'</script><img src=x onerror=\"document.title='x'\">"
    "<svg onload=document.title='x'><a href=javascript:alert(1)>a</a>{{7*7}}'\"><iframe src=http://192.0.2.1/>"
)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_and_nothing_leaves(kind: str, browser: Any, tmp_path: Path) -> None:
    """Markup and scripts in every text: of the job, of its items, of raters."""
    job = write_job(tmp_path, kind, 2, raters=2)
    text = job.read_text()
    for name in ("title", "instructions"):
        text = re.sub(rf'(?ms)^{name} = (""".*?"""|".*?")', lambda _, n=name: f"{n} = {json.dumps(HOSTILE)}", text)
    text = text.replace('because = "…"', f"because = {json.dumps(HOSTILE)}")
    text = re.sub(r"(?m)^scale = .*", f"scale = {json.dumps([HOSTILE] * 5)}", text)
    text = re.sub(r"(?m)^criteria = .*", f"criteria = {json.dumps([HOSTILE, 'b', 'label'])}", text)
    text = re.sub(r"(?m)^grades = .*", f"grades = {json.dumps(['yes', 'no', HOSTILE])}", text)
    job.write_text(text)
    groups = (tmp_path / "groups.jsonl").read_text().replace("the old house", json.dumps(HOSTILE)[1:-1])
    groups = groups.replace('"entailment"', json.dumps(HOSTILE)).replace('"task": "snli"', '"task": "own"')
    (tmp_path / "groups.jsonl").write_text(groups)
    for name in ("pairs.csv", "questions.csv"):
        head, *rows = (tmp_path / name).read_text().splitlines()
        cell = HOSTILE.replace('"', '""')
        made = [f'"Where {n}? {cell}","{cell}","{cell} b"' for n in range(2)] if "a,b" in head else []
        made = made or [f'"{cell} {n}"' for n in range(len(rows))]
        (tmp_path / name).write_text("\n".join([head, *made]) + "\n")
    with Served(job, "--raters", "2") as served:
        people = [Person(browser, served, name) for name in ("rater1", "rater2")]
        for n, person in enumerate(people):
            _says_hostile_things(person, kind, n)
        owner = Person(browser, served, "owner")
        for summary in owner.page.locator("summary").all():
            summary.click()
        answer = owner.page.goto(f"{served.address}/owner/cards")
        assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
        assert "<script>" in owner.page.inner_text("body")  # it is there, as a text
        owner.page.goto(f"{served.address}/owner/forget/2")
        for person in (*people, owner):
            assert not [line for line in person.trouble if "422" not in line]
            assert all(url.startswith(served.address) for url in person.requests)
            assert person.page.title() != "x"


def _says_hostile_things(person: Person, kind: str, n: int) -> None:
    page, served = person.page, person.served
    person.moves_on(lambda: page.click("a.button"))
    for _ in range(6):
        assert page.title() != "x"
        assert page.locator("main img, main script, main iframe, main svg").count() == 0
        if person.heading == "Thank you":
            break
        if page.locator("a.button").count():  # after the practice
            person.moves_on(lambda: page.click("a.button"))
            continue
        for box in page.locator('.choice input[type="radio"]').all():
            if box.get_attribute("value") in ("no", "wrong", "4", "Neither", "neutral", "yes")[: 5 + n]:
                box.check()
        for radio in page.locator("fieldset.choice").all():
            if not radio.locator("input:checked").count():
                radio.locator("input").first.check()
        for n_box, box in enumerate(page.locator("textarea:visible, input:not([type]):visible").all()):
            box.fill(
                f"<script>document.title='x'</script> a{n}{n_box} b{n}{n_box} c{n}{n_box} d{n}{n_box} e{n_box}"
            )
        person.moves_on(lambda: page.click("button.main"))
    page.goto(f"{served.address}/mine")
    assert page.title() != "x"
