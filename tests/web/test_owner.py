"""The page of the owner: progress, agreement, disputes, people set aside or deleted, exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from test_annotate import FORMS, HOSTILE, SHOWN, Browser

from unwaver.people.job import KINDS, Job
from unwaver.people.store import Card
from unwaver.types import Group, Item
from unwaver.web.desk import Desk


def group(n: int) -> Group:
    items = tuple(
        Item(f"{role}{n}", "snli", role, {"premise": "Night.", "hypothesis": text})  # type: ignore[arg-type]
        for role, text in (("original", "A man sleeps."), ("variant", "A man is asleep."))
    )
    return Group(f"g{n}", "mine", "snli", "semantic", "same", items)


@pytest.fixture
def played(tmp_path: Path) -> Any:
    """A job that two people have done, with different opinions of the first card; then the owner comes."""
    desks = []

    def play(
        kind: str, forms: tuple[dict[str, Any], dict[str, Any]] | None = None, **more: Any
    ) -> tuple[Desk, Browser]:
        settings = {"raters": 2, "field": "question", **more}
        job = Job(tmp_path / "job.toml", kind, "groups.jsonl", **settings)
        desk = Desk(job, [group(n) for n in range(3)])
        desks.append(desk)
        about = {"kind": "mine/snli/semantic", "cluster": ""}
        shown = {**SHOWN[kind], "about": about}
        desk.database.add_cards([Card(f"variant{n}", f"variant{n}", shown) for n in range(3)])
        desk.database.add_rater("owner", "owner-token", owner=True)
        for n, form in enumerate(forms or (FORMS[kind], FORMS[kind])):
            desk.database.add_rater(f"Person {n}", f"token-{n}")
            browser = Browser(desk)
            browser.open(f"/in/token-{n}")
            browser.open("/")
            while "<form" in browser.page.text:
                browser.send(form)
        owner = Browser(desk)
        owner.open("/in/owner-token")
        return desk, owner

    yield play
    for desk in desks:
        desk.database.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_every_kind(kind: str, played: Any) -> None:
    _, owner = played(kind)
    assert owner.page.status_code == 200
    assert "3 of 3 cards have 2 replies" in owner.page.text
    assert "Person 0" in owner.page.text
    for name in re.findall(r'href="/owner/export/([^"]+)"', owner.page.text):
        found = owner.client.get(f"/owner/export/{name}")
        assert found.status_code == 200, name
        assert "attachment" in found.headers["content-disposition"]
        assert "Person" not in found.text


def test_agreement_and_rules(played: Any) -> None:
    _, owner = played("rate", ({"value": "5"}, {"value": "4"}))
    assert "0.0 %" in owner.page.text  # no pair of grades agrees
    assert re.search(r"mean&gt;=4 \(this job\)</td><td>3</td><td>3", owner.page.text)
    assert "α is ordinal" in owner.page.text


def test_an_agreement_that_does_not_exist_says_why(played: Any) -> None:
    _, owner = played("rate", ({"value": "5"}, {"value": "5"}))
    assert "undefined" in owner.page.text
    assert "all labels are the same" in owner.page.text
    assert "In brackets" not in owner.page.text  # there are none


def test_people_who_write_neither_agree_nor_contradict(played: Any) -> None:
    """Texts are not compared: the page does not say that nobody has replied."""
    for kind in ("write",):
        _, owner = played(kind)
        for part in ("agreement", "disputed", "No card has two replies", "nobody contradicts"):
            assert part not in owner.page.text
        assert "Somebody dozes." in owner.open("/owner/cards").text


def test_what_to_do_next(played: Any) -> None:
    _, owner = played("answer")
    assert "unwaver report job.toml" in owner.page.text


def test_the_first_page_of_the_owner_is_theirs(played: Any) -> None:
    _, owner = played("rate")
    assert "3 of 3 cards" in owner.open("/").text


def test_skipped_cards_are_no_replies(played: Any) -> None:
    _, owner = played("rate", ({"value": "5"}, {"skip": "1"}))
    assert "0 of 3 cards have 2 replies" in owner.page.text
    assert "3 of 6 replies" in owner.page.text
    assert "1 of 2" in owner.open("/owner/cards?only=open").text


def test_disputes_are_decided(played: Any) -> None:
    desk, owner = played("review", ({"value": "ok"}, {"value": "wrong", "reason": "weaker"}))
    assert owner.page.text.count("<details>") == 3
    assert 'reason: <q dir="auto">weaker</q>' in owner.page.text
    csrf = re.search(r'name="csrf" value="([^"]+)"', owner.page.text)[1]  # type: ignore[index]
    done = owner.client.post("/owner/decide", data={"csrf": csrf, "card": "1", "value": "ok"})
    assert done.status_code == 303
    assert desk.database.decisions() == {"variant0": {"value": "ok"}}
    for wrong in ({"card": "99", "value": "ok"}, {"card": "1", "value": "maybe"}, {"card": "x", "value": "ok"}):
        assert owner.client.post("/owner/decide", data={"csrf": csrf, **wrong}).status_code == 404
    made = owner.client.get("/owner/export/groups.jsonl").text.splitlines()
    assert [json.loads(line)["items"][1]["certified"] for line in made] == [True], "of the others nothing is left"


def test_people_are_set_aside_and_taken_back(played: Any) -> None:
    desk, owner = played("rate")
    csrf = re.search(r'name="csrf" value="([^"]+)"', owner.page.text)[1]  # type: ignore[index]
    for aside in ("1", "0"):
        owner.client.post("/owner/aside", data={"csrf": csrf, "rater": "2", "aside": aside})
        assert [rater.aside for rater in desk.database.raters()] == [aside == "1", False]
        assert ("(set aside)" in owner.open("/owner").text) == (aside == "1")
    assert len(desk.database.replies()) == 6


def test_people_are_deleted_only_after_a_question(played: Any) -> None:
    desk, owner = played("rate")
    asked = owner.open("/owner/forget/2")
    assert "Delete everything of Person 0?" in asked.text
    assert len(desk.database.raters()) == 2
    owner.send({})
    assert [rater.name for rater in desk.database.raters()] == ["Person 1"]
    assert len(desk.database.replies()) == 3
    assert owner.open("/owner/forget/1").status_code == 404  # the owner
    assert owner.open("/owner/forget/99").status_code == 404


def test_only_the_owner_sees_it(played: Any) -> None:
    desk, owner = played("rate")
    rater = Browser(desk)
    rater.open("/in/token-0")
    for path in ("/owner", "/owner/export/replies.csv", "/owner/forget/3"):
        assert rater.open(path).status_code == 403
    assert rater.client.post("/owner/aside", data={"rater": "3", "aside": "1"}).status_code == 403
    for path in ("/mine", "/card/1"):
        assert owner.open(path).status_code == 403
    assert owner.open("/owner/export/../../job.sqlite").status_code in (403, 404)
    assert owner.client.post("/owner/aside", data={"rater": "2", "aside": "1"}).status_code == 403  # no csrf
    assert not any(rater.aside for rater in desk.database.raters())


def test_hostile_names_and_replies(played: Any) -> None:
    desk, owner = played("review", ({"value": "ok", "flag": HOSTILE}, {"value": "wrong", "reason": HOSTILE}))
    desk.database.add_rater(HOSTILE, "another")
    page = owner.open("/owner").text
    assert "<script>alert" not in page
    assert "<img" not in page
