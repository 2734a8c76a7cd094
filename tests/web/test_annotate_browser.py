"""Every kind of job in a real browser, from the link to the export: two people at once against a server of its own,
one with the mouse, one with the keyboard alone."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from annotating import Person, Served, write_job
from axe import grave
from browser import launched

from unwaver.people.job import KINDS, SCALE
from unwaver.text.distance import jaccard_distance
from unwaver.web.guard import HEADERS

pytestmark = pytest.mark.slow
WRITTEN = ("Somebody dozes number {n}.", "He rests quietly now {n}.", "That fellow naps {n} times.")
# what each of the two says of every card: a form as people fill it in
SAYS: dict[str, tuple[str, str]] = {
    "rate": ("5", "2"),
    "validate": ("yes", "no"),
    "answer": ("True", "False"),
    "pairs": ("yes", "no"),
    "review": ("ok", "wrong"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


# --- how each of them fills in a card -----------------------------------------------------------------------


def by_mouse(person: Person, kind: str, n: int) -> None:
    page = person.page
    if kind == "write":
        for box, text in enumerate(WRITTEN):
            page.fill(f"#text{box}", text.format(n=n))
    elif kind == "validate":
        for criterion in range(3):
            page.click(f'input[name="criterion-{criterion}"][value="yes"] + span')
    else:
        chosen = page.locator(f'input[value="{SAYS[kind][0]}"] + span')
        (chosen if chosen.count() else page.locator(".choice span").first).click()
    person.moves_on(lambda: page.click("button.main"))


def by_keyboard(person: Person, kind: str, n: int) -> None:
    page = person.page
    if kind == "write":
        person.press("1")
        for text in WRITTEN:
            page.keyboard.type(text.format(n=n + 100))
            person.press("Tab")
        person.moves_on(lambda: person.press("Control+Enter"))
        return
    if kind == "validate":
        for _ in range(3):
            person.press("2", "Tab")  # "no"; then to the next question
        page.keyboard.type("it says more")  # the last Tab led to the reason
    else:
        values = [box.get_attribute("value") for box in page.query_selector_all(".choice input")]
        person.press(str(values.index(SAYS[kind][1]) + 1) if SAYS[kind][1] in values else "1")
    person.moves_on(lambda: person.press("Enter"))


def begins(person: Person, kind: str, keyboard: bool) -> None:
    """Instructions, then the practice card with what would have been right."""
    page = person.page
    assert person.heading == "Instructions"
    assert grave(page) == []
    if keyboard:
        person.tab_to("a.button")
        person.moves_on(lambda: person.press("Enter"))
    else:
        person.moves_on(lambda: page.click("a.button"))
    assert person.heading == "Practice 1 of 1: this does not count"
    assert grave(page) == []
    (by_keyboard if keyboard else by_mouse)(person, kind, 0)
    assert re.match("That is right|We would have said|For example", person.heading)
    assert grave(page) == []
    if keyboard:
        person.tab_to("a.button")
        person.moves_on(lambda: person.press("Enter"))
    else:
        person.moves_on(lambda: page.click("a.button"))
    assert person.heading == "Card 1"


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_link_to_the_export(kind: str, browser: Any, tmp_path: Path) -> None:
    with Served(write_job(tmp_path, kind), "--raters", "2") as served:
        mouse, keys = (Person(browser, served, name) for name in ("rater1", "rater2"))
        for person, keyboard in ((mouse, False), (keys, True)):
            begins(person, kind, keyboard)
            assert grave(person.page) == []
        turn = 0
        while "Thank you" not in (mouse.heading, keys.heading) or turn > 50:
            turn += 1
            by_mouse(mouse, kind, turn)
            by_keyboard(keys, kind, turn)
        cards = {"answer": 6}.get(kind, 3) + (kind != "write")
        assert turn == cards  # each of them got every card, and the known one
        assert mouse.heading == keys.heading == "Thank you"
        assert grave(mouse.page) == []
        owner = Person(browser, served, "owner")
        _owner_looks(owner, kind, tmp_path)
        replies = served.replies()
        assert len(replies) == 2 * cards
        assert not any("flag" in reply.value or "skip" in reply.value for reply in replies)
        for person in (mouse, keys, owner):
            assert person.trouble == []
            person.close()
        served.stop()
        assert "Traceback" not in "".join(served.printed)


def _owner_looks(owner: Person, kind: str, folder: Path) -> None:
    page = owner.page
    assert re.match(r"\d of \d cards have 2 replies", owner.heading)
    assert grave(page) == []
    rows = page.locator("#progress + .wide tbody tr")
    assert rows.count() == 2
    assert "rater1" in rows.nth(0).inner_text()
    names = page.locator('a[href^="/owner/export/"]').all_inner_texts()
    assert "replies.csv" in names
    for name in names:
        with page.expect_download() as found:
            page.click(f'a[href="/owner/export/{name}"]')
        found.value.save_as(folder / name)
    table = list(csv.DictReader(io.StringIO((folder / "replies.csv").read_text(encoding="utf-8"))))
    assert {row["rater"] for row in table} == {"r1", "r2"}
    if kind in SAYS:
        assert page.locator("#agreement + .wide tbody tr").count() >= 1
        assert page.locator("details").count() == {"answer": 6}.get(kind, 3)
        _owner_decides(owner, kind)
    owner.moves_on(lambda: page.click("text=Progress by card"))
    assert grave(page) == []
    assert page.locator("tbody tr").count() == {"answer": 6}.get(kind, 3)
    answer = page.goto(f"{owner.served.address}/owner")
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
    page.click('button[aria-label="Set aside rater2"]')
    page.wait_for_selector('button[aria-label="Take back rater2"]')
    page.click('button[aria-label="Take back rater2"]')
    page.wait_for_selector('button[aria-label="Set aside rater2"]')


def _owner_decides(owner: Person, kind: str) -> None:
    page = owner.page
    page.locator("summary").first.click()
    assert grave(page) == []
    value = SAYS[kind][0]
    page.locator("details").first.locator(f'button[value="{value}"]').click()
    page.wait_for_selector(f"text=decided: {value}")
    assert value in {decision["value"] for decision in owner.served.decisions().values()}


# --- what a rater can do with a card ------------------------------------------------------------------------


def ready(browser: Any, served: Served, name: str = "rater1", **options: Any) -> Person:
    """Somebody who has read the instructions; there is no practice."""
    person = Person(browser, served, name, **options)
    person.moves_on(lambda: person.page.click("a.button"))
    return person


def without_practice(path: Path) -> Path:
    path.write_text(path.read_text().partition("[[practice]]")[0])
    return path


def test_back_and_correct_skip_and_flag(browser: Any, tmp_path: Path) -> None:
    with Served(without_practice(write_job(tmp_path, "rate")), "--raters", "1") as served:
        person = ready(browser, served)
        page = person.page
        for n, words in enumerate(SCALE, 1):
            assert page.inner_text(f'label:has(input[value="{n}"])').strip() == f"{n}: {words}"
        page.fill("#flag", "the texts are the same")
        person.moves_on(lambda: page.click("button[name=skip]"))
        person.press("2")
        person.moves_on(lambda: person.press("Enter"))
        assert person.heading == "Card 3"
        person.moves_on(lambda: page.click("text=Back to the card before"))
        assert person.heading == "Card 2: your reply"
        assert page.is_checked('input[value="2"]')
        person.press("4")
        person.moves_on(lambda: person.press("Enter"))
        assert person.heading == "Your replies"
        assert grave(page) == []
        replies = served.replies()
        assert [reply.value for reply in replies] == [
            {"skip": "skipped", "flag": "the texts are the same"},
            {"value": "4"},
        ]
        assert replies[1].times == 2
        person.moves_on(lambda: page.click("text=Next card"))
        assert person.heading == "Card 3"
        owner = Person(browser, served, "owner")
        owner.moves_on(lambda: owner.page.click("text=1 note"))
        assert "the texts are the same" in owner.page.inner_text("tbody")
        assert owner.trouble == person.trouble == []


def test_differences_are_marked_on_request(browser: Any, tmp_path: Path) -> None:
    with Served(without_practice(write_job(tmp_path, "rate")), "--raters", "1") as served:
        person = ready(browser, served)
        page = person.page
        assert page.locator("mark").count() == 0
        before = page.locator("[data-diff]").all_inner_texts()
        person.press("d")
        marked = page.locator("mark").all_inner_texts()
        assert {"Somebody,", "inside"} <= set(marked)
        assert not {"the", "old"} & set(marked)
        assert page.locator("[data-diff]").all_inner_texts() == before
        assert grave(page) == []
        page.click("#differences")
        assert page.locator("mark").count() == 0


def test_the_distance_while_writing(browser: Any, tmp_path: Path) -> None:
    with Served(without_practice(write_job(tmp_path, "write", 1)), "--raters", "1") as served:
        person = ready(browser, served)
        page = person.page
        original = page.inner_text(".texts dd")
        assert page.locator(".box:visible").count() == 3
        texts = [
            original.upper() + "!",  # a copy
            original.replace("asleep", "sleeping"),  # near
            "Is the man sleeping in his old house?",
            "Does someone sleep there, at home – for how long?",
            "Ça va, l'homme dort\u00a0déjà ?",
            "...",
        ]
        for n, text in enumerate(texts):
            page.fill(f"#text{n}", text)
        assert page.locator(".box:visible").count() == 7  # one more than is filled in
        colours = []
        for n, text in enumerate(texts):
            far = jaccard_distance(text, original)
            own = min(jaccard_distance(text, other) for m, other in enumerate(texts) if m != n)
            shown = page.inner_text(f"#distance{n}")
            assert f"{_percent(far)} % of the words differ from the original" in shown, text
            assert f"{_percent(own)} % from your closest other one" in shown, text
            least = min(far, own)
            colours.append("red" if least < 0.2 else "yellow" if least < 0.4 else "green")
            assert page.get_attribute(f"#distance{n}", "data-far") == colours[-1], text
        assert {"red", "green"} <= set(colours)
        assert grave(page) == []
        page.click("button.main")
        page.wait_for_selector("#problem:visible")
        told = page.inner_text("#problem")
        assert "Paraphrase 1 has nearly the same words as the original." in told
        assert "Paraphrase 6 has no words." in told
        assert page.input_value("#text3") == texts[3]  # nothing that was typed is lost
        for n in (0, 1, 2, 5):
            page.fill(f"#text{n}", "")
        page.click("button.main")
        page.wait_for_selector("text=Write at least 3 paraphrases; there are 2.")
        page.fill("#text0", "Some other words altogether!")
        person.moves_on(lambda: page.click("button.main"))
        (reply,) = served.replies()
        assert reply.value["texts"] == ["Some other words altogether!", texts[3], texts[4]]
        assert not [line for line in person.trouble if "422" not in line]


def _percent(share: float) -> int:
    return int(100 * share + 0.5)  # as JavaScript rounds


def test_a_draft_is_there_after_the_tab_was_closed(browser: Any, tmp_path: Path) -> None:
    with Served(without_practice(write_job(tmp_path, "write", 2)), "--raters", "1") as served:
        person = ready(browser, served)
        person.page.fill("#text1", "Half a sent")
        person.page.close(run_before_unload=False)  # at once: the timer of the draft has not run
        person.open_tab()
        person.page.goto(served.links["rater1"])
        person.page.wait_for_function(
            "() => document.getElementById('text1').value !== '' || (location.reload(), false)", polling=1000
        )
        assert person.page.input_value("#text1") == "Half a sent"
        person.page.fill("#text0", "Another half")
        person.page.wait_for_selector("text=Draft kept.")
        person.page.reload()
        assert person.page.input_value("#text0") == "Another half"


def test_a_lost_connection_loses_nothing(browser: Any, tmp_path: Path) -> None:
    """The server dies while somebody writes; the page says so, waits, and sends the reply when it is back."""
    with Served(without_practice(write_job(tmp_path, "write", 2)), "--raters", "1") as served:
        person = ready(browser, served)
        for box, text in enumerate(WRITTEN):
            person.page.fill(f"#text{box}", text.format(n=1))
        served.kill()
        person.page.click("button.main")
        person.page.wait_for_selector("text=No connection to the server. Your reply is still on this page")
        assert person.page.input_value("#text0") == WRITTEN[0].format(n=1)
        assert served.replies() == []
        assert grave(person.page) == []
        person.moves_on(served.start)
        assert person.heading == "Card 2"  # the same tab, the same session
        assert len(served.replies()) == 1
        by_mouse(person, "write", 2)
        assert len(served.replies()) == 2


def test_a_new_link_in_another_tab_saves_what_is_on_the_page(browser: Any, tmp_path: Path) -> None:
    """A session has ended: the text stays, and after the link was opened again it can be sent."""
    with Served(without_practice(write_job(tmp_path, "rate", 2)), "--raters", "1") as served:
        person = ready(browser, served)
        person.press("4")
        person.context.clear_cookies()
        person.page.click("button.main")
        person.page.wait_for_selector("text=Open the link that you were given.")
        assert person.page.is_checked('input[value="4"]')
        tab = person.context.new_page()
        tab.goto(served.links["rater1"])
        person.moves_on(lambda: person.page.click("button.main"))
        assert [reply.value for reply in served.replies()] == [{"value": "4"}]


@pytest.mark.parametrize("kind", ["rate", "write", "validate", "answer"])
def test_pages_are_plain_forms(kind: str, browser: Any, tmp_path: Path) -> None:
    """Without JavaScript: the same cards, the same words about what is missing."""
    with Served(without_practice(write_job(tmp_path, kind, 1)), "--raters", "1") as served:
        person = ready(browser, served, java_script_enabled=False)
        page = person.page
        assert not page.is_visible("#differences")
        if kind == "write":
            assert page.locator(".box:visible").count() == 10  # nothing can open them later
            page.fill("#text0", "One only, of three.")
            page.click("button.main")
            assert "Write at least 3 paraphrases; there is 1." in page.inner_text("#problem")
            assert page.input_value("#text0") == "One only, of three."
            for box, text in enumerate(WRITTEN):
                page.fill(f"#text{box}", text.format(n=1))
        elif kind == "validate":
            for criterion in range(3):
                page.check(f'input[name="criterion-{criterion}"][value="no"]')
            page.click("button.main")
            assert "Say in a few words what is wrong" in page.inner_text("#problem")
            page.fill("#reason", "everything")
        else:
            page.locator(".choice input").first.check()
        page.click("button.main")
        assert page.inner_text("h1") in ("Thank you", "Card 2")
        assert len(served.replies()) == 1
