"""What a server refuses: strange requests as they come over the wire, and people who are where they should not be."""

from __future__ import annotations

import csv
import io
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from annotating import Served, write_job
from itsdangerous import TimestampSigner
from test_annotate import FORMS, SHOWN, Browser

from unwaver.errors import StoreFull
from unwaver.people.job import KINDS, Job
from unwaver.people.store import Card, Database
from unwaver.web.desk import Desk
from unwaver.web.guard import MOST_BYTES
from unwaver.web.sessions import LASTS, kept_secret


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(write_job(tmp_path_factory.mktemp("job"), "rate"), "--raters", "1") as found:
        yield found


def raw(served: Served, request: bytes) -> tuple[int, bytes]:
    """The status and the whole answer, to a request that no library has made better."""
    with socket.create_connection(("127.0.0.1", int(served.port)), timeout=60) as connection:
        connection.sendall(request)
        found = b""
        while part := connection.recv(65536):
            found += part
    return int(found.split(b" ", 2)[1]), found


def get(served: Served, path: str, host: str = "127.0.0.1", method: str = "GET") -> tuple[int, bytes]:
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return raw(served, head.encode("latin-1"))


@pytest.mark.parametrize(
    "path",
    [
        "/static/../job.sqlite",
        "/static/../../../../../etc/passwd",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/style.css%00.py",
        "/static/%00",
        "/static/",
        "/static/templates/base.html",
        "//etc/passwd",
        "/job.sqlite",
        "/job.secret",
        "/card/99999999999999999999999999",
        f"/card/{'9' * 5000}",
        "/card/1%00",
        "/owner/forget/99999999999999999999999999",
        "/in/",
        "/in/%00",
        "/in/..%2f..%2fjob.sqlite",
        "/in/x%0d%0aSet-Cookie:%20a=b",
        "/owner/export/..%2fjob.sqlite",
        "http://192.0.2.1/owner",
    ],
)
def test_path_tricks(path: str, served: Served) -> None:
    status, answer = get(served, path)
    assert status in (400, 401, 404), answer[:300]
    assert b"SQLite format" not in answer
    assert b"root:" not in answer
    assert b"import annotations" not in answer
    assert b"\r\nset-cookie" not in answer.lower()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "192.0.2.1"])
def test_other_hosts(host: str, served: Served) -> None:
    assert get(served, "/", host)[0] in (400, 421)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST"])
def test_other_methods(method: str, served: Served) -> None:
    status, answer = get(served, "/mine", method=method)
    assert status in (400, 405), answer[:300]


def post(served: Served, head: str, body: bytes) -> int:
    text = f"POST /card/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{head}\r\n"
    return raw(served, text.encode() + body)[0]


FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def test_bodies_that_are_too_large(served: Served) -> None:
    assert post(served, f"{FORM}Content-Length: {MOST_BYTES + 1}\r\n", b"a=1") == 413  # before it is sent
    chunk = b"%x\r\n%s\r\n" % (MOST_BYTES + 1, b"x" * (MOST_BYTES + 1))
    assert post(served, f"{FORM}Transfer-Encoding: chunked\r\n", chunk + b"0\r\n\r\n") == 413


@pytest.mark.parametrize("length", ["-1", "abc", "1e3", "١"])
def test_lengths_that_are_none(length: str, served: Served) -> None:
    assert post(served, f"{FORM}Content-Length: {length}\r\n", b"a=1") in (400, 413)


@pytest.mark.parametrize(
    "body", [b"&".join(b"a%d=1" % n for n in range(300)), b"%ff%fe=%00", b"\xff\xfe", b"csrf=" + b"a" * 9000, b""]
)
def test_forms_that_are_none(body: bytes, served: Served) -> None:
    assert post(served, f"{FORM}Content-Length: {len(body)}\r\n", body) == 401  # and nothing breaks


def test_the_server_is_whole_after_all_that(served: Served) -> None:
    assert get(served, "/in/" + served.links["rater1"].rpartition("/")[2])[0] == 303
    assert served.replies() == []


# --- people who are where they should not be ----------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    found = _desk(tmp_path, "rate")
    yield found
    found.database.close()


def _desk(folder: Path, kind: str, cards: list[Card] | None = None, **more: Any) -> Desk:
    job = Job(folder / "job.toml", kind, "g.jsonl", **{"raters": 2, "field": "question", **more})
    found = Desk(job)
    found.database.add_cards(cards or [Card(f"c{n}", f"c{n}", SHOWN[kind]) for n in range(3)])
    found.database.add_rater("owner", "owner-token", owner=True)
    for name in ("Ann", "Bob"):
        found.database.add_rater(name, f"token-{name}")
    return found


def entered(desk: Desk, name: str) -> Browser:
    found = Browser(desk)
    found.open(f"/in/token-{name}")
    found.open("/")
    return found


def test_a_session_that_is_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = entered(desk, "Ann")
    now = TimestampSigner(b"a").get_timestamp()
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now + LASTS + 5)
    page = ann.client.post(ann.action, data={**ann.hidden, "value": "5"})
    assert page.status_code == 401
    assert "Open the link" in page.text
    assert desk.database.replies() == []


def test_a_form_sent_twice_is_one_reply(desk: Desk) -> None:
    ann = entered(desk, "Ann")
    action, form = ann.action, {**ann.hidden, "value": "5"}
    for _ in range(3):  # the answer was lost, and the browser sends it again
        assert ann.client.post(action, data=form).status_code == 303
    (reply,) = desk.database.replies()
    assert (reply.value, reply.times) == ({"value": "5"}, 1)
    assert ann.client.post(action, data={**form, "value": "1"}).status_code == 409


def test_a_ticket_of_somebody_else(desk: Desk) -> None:
    ann, bob = entered(desk, "Ann"), entered(desk, "Bob")
    stolen = {"csrf": bob.hidden["csrf"], "ticket": ann.hidden["ticket"], "value": "5"}
    for path in (ann.action, bob.action, ann.action.replace("card", "draft")):
        assert bob.client.post(path, data=stolen).status_code == 404
    forged = {**bob.hidden, "ticket": bob.hidden["ticket"][:-2] + "xx", "value": "5"}
    assert bob.client.post(bob.action, data=forged).status_code == 404
    assert desk.database.replies() == []


def test_people_who_were_set_aside_save_nothing_more(desk: Desk) -> None:
    ann = entered(desk, "Ann")
    desk.database.set_aside(2, True)
    page = ann.client.post(ann.action, data={**ann.hidden, "value": "5"})
    assert page.status_code == 409
    assert "nothing left for you" in page.text
    assert desk.database.replies() == []
    assert "nothing left for you" in ann.open("/").text


def test_people_who_were_deleted_are_out(desk: Desk) -> None:
    ann = entered(desk, "Ann")
    desk.database.forget(2)
    assert ann.open("/").status_code == 401
    assert ann.open("/in/token-Ann").status_code == 401


def test_a_full_disk_is_told_in_words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = entered(desk, "Ann")

    def full(*_: Any, **__: Any) -> None:
        raise StoreFull("no more replies can be saved", file="/some/where/job.sqlite", hint="free some disk space")

    monkeypatch.setattr("unwaver.web.annotate.save", full)
    page = ann.client.post(ann.action, data={**ann.hidden, "value": "5"})
    assert page.status_code == 503
    assert "send your reply again later" in page.text
    assert "/some/where" not in page.text
    assert page.headers["content-security-policy"]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_blind(kind: str, tmp_path: Path) -> None:
    """Nothing in the source of a page tells the right answer, the kind of a group, a check, or another person."""
    about = {"kind": "suite-KIND/task", "cluster": "CLUSTER"}
    cards = [
        Card(
            f"ID-{n}",
            f"ID-{n}",
            {**SHOWN[kind], "about": about, "items": ["ITEM"]},
            known="GOLD" if n == 2 else None,
        )
        for n in range(4)
    ]
    desk = _desk(tmp_path, kind, cards, check_every=2)
    ann, bob = entered(desk, "Ann"), entered(desk, "Bob")
    seen = []
    for person in (ann, bob):
        while "<form" in person.page.text:
            seen.append(person.page.text)
            person.send({**FORMS[kind], "flag": "MY-NOTE"})
        seen += [person.page.text, person.open("/help").text]
    for text in seen:
        for word in ("KIND", "CLUSTER", "ID-", "ITEM", "GOLD", "Ann", "Bob", "MY-NOTE", "check"):
            assert word not in re.sub(r'name="(ticket|csrf)" value="[^"]*"', "", text), word
    mine = ann.open("/mine").text
    assert "Bob" not in mine
    desk.database.close()


def test_the_list_of_replies_does_not_tell_which_side_was_the_variant(tmp_path: Path) -> None:
    shown = {"original": "ORIGINAL", "variant": "VARIANT", "context": {}}
    desk = _desk(tmp_path, "rate", [Card(f"c{n}", f"c{n}", shown) for n in range(16)])
    ann = entered(desk, "Ann")
    while "<form" in ann.page.text:
        ann.send({"value": "3"})
    rows = re.findall("ORIGINAL|VARIANT", ann.open("/mine").text)
    assert len(rows) == 16
    assert 2 < rows.count("VARIANT") < 14
    desk.database.close()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t="])
def test_formulas_in_exports(start: str, tmp_path: Path) -> None:
    text = f"{start}HYPERLINK(1)"
    desk = _desk(tmp_path, "review")
    ann = entered(desk, "Ann")
    ann.send({"value": "wrong", "reason": text, "flag": text})
    owner = Browser(desk)
    owner.open("/in/owner-token")
    for name, delimiter in (("replies.csv", ","), ("review-r1.tsv", "\t")):
        found = owner.client.get(f"/owner/export/{name}").text
        cells = [cell for row in csv.reader(io.StringIO(found), delimiter=delimiter) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t") or re.match("-[^0-9]", cell)]
        assert any("HYPERLINK" in cell for cell in cells)
    desk.database.close()


def test_a_secret_that_is_too_short_is_made_anew(tmp_path: Path) -> None:
    """A server that was killed while it wrote the first one must not sign with nothing."""
    (tmp_path / "job.secret").write_bytes(b"")
    assert len(kept_secret(tmp_path / "job.secret")) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["job.secret"]
    assert Database  # the file of replies is not touched
