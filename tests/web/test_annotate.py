"""The pages of a job, from the link to the last card; and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

import httpx
from starlette.testclient import TestClient

from unwaver.people.job import KINDS, Job, read_job
from unwaver.people.store import Card, Database
from unwaver.people.templates import template
from unwaver.web.app import job_app
from unwaver.web.desk import Desk

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 777 * 3 }}"
SHOWN: dict[str, dict[str, Any]] = {
    "rate": {"original": "A man sleeps.", "variant": "A man is asleep.", "context": {}},
    "validate": {"original": "A man sleeps.", "variant": "A man is asleep.", "label": "yes"},
    "review": {"original": "A man sleeps.", "variant": "A man is asleep.", "expected": "the same meaning"},
    "write": {"text": "A man sleeps.", "field": "question", "context": {"premise": "It is night."}},
    "answer": {"prompt": "Does he sleep?", "choices": ["yes", "no"]},
    "pairs": {"question": "Who?", "one": "He does.", "other": "Him."},
}
FORMS: dict[str, dict[str, Any]] = {
    "rate": {"value": "4"},
    "validate": {"criterion-0": "yes", "criterion-1": "yes", "criterion-2": "yes"},
    "review": {"value": "ok"},
    "write": {"texts": ["Somebody dozes.", "He rests now.", "The fellow naps."]},
    "answer": {"value": "no"},
    "pairs": {"value": "no"},
}


class Browser:
    """A client with its own cookies, that sends forms as they stand on the page."""

    def __init__(self, desk: Desk):
        self.client = TestClient(job_app(desk, {"testserver"}), follow_redirects=False)
        self.page: httpx.Response = httpx.Response(200)

    def open(self, path: str) -> httpx.Response:
        self.page = self.client.get(path)
        while self.page.status_code == 303:
            self.page = self.client.get(self.page.headers["location"])
        return self.page

    @property
    def hidden(self) -> dict[str, str]:
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.page.text)
        return {name: unescape(value) for name, value in found}

    @property
    def action(self) -> str:
        return re.search(r'<form method="post" action="([^"]+)"', self.page.text)[1]  # type: ignore[index]

    def send(self, form: dict[str, Any], **hidden: str) -> httpx.Response:
        self.page = self.client.post(self.action, data={**self.hidden, **form, **hidden})
        if self.page.status_code == 303:
            self.open(self.page.headers["location"])
        return self.page


Start = Callable[..., tuple[Desk, list[Browser]]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A job with some cards, and people who have opened their links and read the instructions."""
    desks = []

    def begin(
        kind: str, cards: list[Card] | None = None, raters: int = 1, **more: Any
    ) -> tuple[Desk, list[Browser]]:
        job = Job(tmp_path / "job.toml", kind, "groups.jsonl", **{"raters": 2, "field": "question", **more})
        desk = Desk(job)
        desks.append(desk)
        desk.database.add_cards(cards or [Card(f"c{n}", f"c{n}", SHOWN[kind]) for n in range(3)])
        found = []
        for n in range(raters):
            desk.database.add_rater(f"r{n}", f"token-{n}")
            browser = Browser(desk)
            assert browser.open(f"/in/token-{n}").status_code == 200
            browser.open("/")
            found.append(browser)
        return desk, found

    yield begin
    for desk in desks:
        desk.database.close()


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_link_to_the_last_card(kind: str, start: Start) -> None:
    desk, (one, other) = start(kind, raters=2)
    for browser in (one, other):
        for _ in range(3):
            assert "<form" in browser.page.text
            assert browser.send(FORMS[kind]).status_code == 200
        assert "Thank you" in browser.page.text
    assert len(desk.database.replies()) == 6
    assert all(reply.seconds is not None for reply in desk.database.replies())
    assert one.open("/mine").text.count(">change</a>") == 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "write"])
def test_instructions_and_practice_come_first(kind: str, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(template(kind))
    desk = Desk(read_job(tmp_path / "job.toml"))
    desk.database.add_cards([Card("c", "c", SHOWN[kind])])
    desk.database.add_rater("r", "token")
    browser = Browser(desk)
    assert "Instructions" in browser.open("/in/token").text
    assert 'href="/practice/1"' in browser.page.text
    browser.open("/practice/1")
    assert "this does not count" in browser.page.text
    known = desk.job.practice[0].answer
    form = {"value": known}
    if kind == "validate":
        form = {f"criterion-{n}": known for n in range(3)} | {"reason": "because"}
    assert "That is right" in browser.send(form).text
    assert "<form" in browser.open("/").text
    assert not desk.database.replies()
    desk.database.close()


def test_a_reply_that_is_none_yet_is_told_and_kept(start: Start) -> None:
    _, (browser,) = start("write")
    found = browser.send({"texts": ["A man sleeps!", "He rests now."]})
    assert found.status_code == 422
    assert "Write at least 3 paraphrases; there are 2." in found.text
    assert "He rests now." in found.text  # what was typed is still there
    assert browser.send(FORMS["write"]).status_code == 200


def test_back_and_correct(start: Start) -> None:
    desk, (browser,) = start("rate")
    browser.send({"value": "2"})
    browser.open("/mine")
    browser.open("/card/1")
    if "checked" not in browser.page.text:
        browser.open(f"/card/{desk.database.card(desk.database.replies()[0].card).number}")  # type: ignore[union-attr]
    assert re.search(r'value="2" checked', browser.page.text)
    browser.send({"value": "5"})
    (reply,) = desk.database.replies()
    assert (reply.value, reply.times) == ({"value": "5"}, 2)


def test_a_list_shows_where_prompts_differ(start: Start) -> None:
    """Not the examples that all begin with, and both ends of a long one."""
    asked = (
        "Who wrote it, and " + "then " * 30 + "when?",
        "Who wrote it, and " + "then " * 30 + "why?",
        "Is it so?",
    )
    shown = [{"prompt": f"Q: One?\nA: yes\n\nQ: {text}\nA:", "choices": ["yes", "no"]} for text in asked]
    _, (browser,) = start("answer", [Card(f"c{n}", f"c{n}", each) for n, each in enumerate(shown)])
    for _ in shown:
        browser.send({"value": "no"})
    assert "Your replies" in browser.page.text  # the last page leads there, and says how far one is
    assert "3 done" in browser.page.text
    rows = re.findall(r'<td class="text-cell" dir="auto">(.*?)</td>', browser.open("/mine").text)
    assert not any("One?" in row for row in rows)
    assert {row.rpartition(" ")[2] for row in rows} == {"when?", "why?", "so?"}


def test_skip_and_flag(start: Start) -> None:
    desk, (browser,) = start("rate")
    browser.send({"skip": "1"})
    browser.send({"value": "3", "flag": "odd"})
    assert [reply.value for reply in desk.database.replies()] == [
        {"skip": "skipped"},
        {"value": "3", "flag": "odd"},
    ]


def test_drafts_are_there_again(start: Start) -> None:
    _, (browser,) = start("write")
    number = browser.action.rpartition("/")[2]
    typed = {**browser.hidden, "texts": ["Half a sent"]}
    assert browser.client.post(f"/draft/{number}", data=typed).status_code == 204
    assert "Half a sent" in browser.open("/").text


def test_sides_are_drawn_for_each_person(start: Start) -> None:
    cards = [Card(f"c{n}", f"c{n}", {"question": "?", "one": "FIRST", "other": "SECOND"}) for n in range(12)]
    _, browsers = start("pairs", cards, raters=2)
    sides = []
    for browser in browsers:
        for _ in range(12):
            sides.append(browser.page.text.index("FIRST") < browser.page.text.index("SECOND"))
            browser.send({"value": "yes"})
    assert 3 < sum(sides) < 21


# --- refused ------------------------------------------------------------------------------------------------


def test_wrong_tokens_and_no_session(start: Start) -> None:
    desk, _ = start("rate")
    stranger = Browser(desk)
    for path in ("/in/token-9", "/", "/mine", "/card/1", "/help"):
        assert stranger.open(path).status_code == 401, path
    assert stranger.client.post("/card/1", data={"value": "5"}).status_code == 401
    assert not desk.database.replies()


def test_a_new_link_ends_the_old_sessions(start: Start) -> None:
    desk, (browser,) = start("rate")
    desk.database.new_token("r0", "another")
    assert browser.open("/").status_code == 401
    assert browser.open("/in/token-0").status_code == 401
    assert browser.open("/in/another").status_code == 200


def test_forms_without_the_secret_of_the_session(start: Start) -> None:
    desk, (one, other) = start("rate", raters=2)
    for sent in ("", "x", other.hidden["csrf"]):
        page = one.client.post(one.action, data={**one.hidden, "value": "5", "csrf": sent})
        assert page.status_code == 403, sent
    assert not desk.database.replies()


def test_a_form_that_was_sent_already(start: Start) -> None:
    desk, (browser,) = start("rate")
    action, form = browser.action, {**browser.hidden, "value": "5"}
    browser.send({"value": "5"})
    again = browser.client.post(action, data={**form, "value": "1"})
    assert again.status_code == 409
    assert "sent before" in again.text
    assert [reply.value for reply in desk.database.replies()] == [{"value": "5"}]


def test_the_card_of_somebody_else(start: Start) -> None:
    desk, (one, other) = start("rate", raters=2, cards=[Card("c", "c", SHOWN["rate"])])
    action = one.action
    page = other.client.post(action, data={**one.hidden, "csrf": other.hidden.get("csrf", ""), "value": "5"})
    assert page.status_code in (403, 404)
    one.send({"value": "5"})
    assert other.open("/card/1").status_code == 404  # another's reply is not seen
    other.open("/")
    tampered = {**other.hidden, "value": "1"}
    assert other.client.post("/card/999", data=tampered).status_code == 404
    assert {reply.rater for reply in desk.database.replies()} == {1}


@pytest.mark.parametrize(
    "path", ["/card/x", "/card/-1", "/in/", "/static/../../job.sqlite", "/job.sqlite", "/%2e%2e/"]
)
def test_path_tricks(path: str, start: Start) -> None:
    _, (browser,) = start("rate")
    assert browser.client.get(path).status_code in (401, 404)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_texts_are_shown_as_texts(kind: str, start: Start) -> None:
    shown = {n: HOSTILE if isinstance(v, str) else v for n, v in SHOWN[kind].items()}
    if kind == "answer":
        shown["choices"] = [HOSTILE, "no"]
    _, (browser,) = start(kind, [Card("c", "c", shown)], title=HOSTILE, instructions=HOSTILE)
    for page in (browser.page.text, browser.open("/help").text):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "2331" not in page
    browser.open("/")
    form = {
        n: v if isinstance(v, list) or v in ("yes", "no", "4", "ok") else HOSTILE for n, v in FORMS[kind].items()
    }
    form["flag"] = HOSTILE
    browser.send(form)
    assert "<script>alert" not in browser.open("/mine").text


def test_nobody_sees_names_or_right_answers(start: Start) -> None:
    cards = [Card("check/1", "check/1", SHOWN["rate"], known="1-known-answer"), Card("c", "c", SHOWN["rate"])]
    _, browsers = start("rate", cards, raters=2, check_every=2)
    for browser in browsers:
        seen = [browser.page.text]
        while "<form" in browser.page.text:
            seen.append(browser.send({"value": "4"}).text)
        seen.append(browser.open("/mine").text)
        assert not any(word in text for text in seen for word in ("known", "r0", "r1", "check/"))


def test_a_killed_server_goes_on_where_it_was(start: Start) -> None:
    desk, (browser,) = start("rate")
    browser.send({"value": "4"})
    cookie = dict(browser.client.cookies)
    again = Browser(Desk(desk.job))
    again.client.cookies.update(cookie)
    assert "<form" in again.open("/").text
    again.send({"value": "5"})
    assert len(Database(desk.job.database, read_only=True).replies()) == 2


def test_two_jobs_on_one_machine_do_not_end_each_others_sessions(tmp_path: Path) -> None:
    """A browser sends its cookies to every port of a machine."""
    names = set()
    for name in ("one", "other"):
        desk = Desk(Job(tmp_path / f"{name}.toml", "rate", "groups.jsonl"))
        desk.database.add_rater("r", "token")
        names |= set(Browser(desk).client.get("/in/token").cookies)
        desk.database.close()
    assert len(names) == 2
