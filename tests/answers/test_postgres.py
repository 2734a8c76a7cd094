"""The answer store in a PostgreSQL database: the contents of the file, whatever happens to the connection."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'unwaver[postgres]'")

import postgres_server  # noqa: E402

from unwaver import secrets, store_address  # noqa: E402
from unwaver.answers import dialect_table, postgres, postgres_session, store_errors  # noqa: E402
from unwaver.answers.postgres import PostgresStore  # noqa: E402
from unwaver.answers.shared_store import copy_answers, look_at, open_store  # noqa: E402
from unwaver.answers.store import Store  # noqa: E402
from unwaver.asking.budget import Budget, Spent  # noqa: E402
from unwaver.asking.claims import claiming  # noqa: E402
from unwaver.asking.ledger import sharing  # noqa: E402
from unwaver.asking.purse import Purse  # noqa: E402
from unwaver.asking.worker import EXPIRY, Worker  # noqa: E402
from unwaver.errors import StoreError, StoreFull, UsageError  # noqa: E402
from unwaver.types import Answer, Beside  # noqa: E402

if told := postgres_server.missing():
    pytest.skip(told, allow_module_level=True)

PASSWORD = "Vq83hTz0LmXw"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.PostgresServer]:
    with postgres_server.server() as started:
        started.new("work")
        started.sql(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
        yield started


@pytest.fixture
def url(server: Any) -> str:
    server.sql("DROP SCHEMA IF EXISTS unwaver CASCADE", database="work")
    return str(server.url("work"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    secrets.forget()
    yield
    secrets.forget()


def kill_all(server: Any, url: str) -> None:
    """What an administrator does to all connections of a database."""
    name = url.rpartition("/")[2]
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


def contents(store: Store) -> dict[str, list[Any]]:
    columns = {
        "answers": "key, text, logprobs, tokens, prompt_tokens, completion_tokens, finish, truncated",
        "failures": "key, error",
        "beside": "key, reasoning, refusal, tool_calls, cached_tokens, reasoning_tokens, served, fingerprint",
        "dialects": "server, model, switch",
    }
    return {
        table: sorted(store.rows(f"SELECT {names} FROM {table}"), key=repr) if store.has(table) else []
        for table, names in columns.items()
    }


# --- the same contents ---------------------------------------------------------------------------------------------

KEYS = st.sampled_from([f"k{n}" for n in range(6)])
TEXTS = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    [
        "a\0b",
        "\0",
        "\ufdd0",
        "\ufdd00",
        "\ufdd0\0\ufdd0",
        "\ud800",
        "\U0010ffff",
        "%s ? %% \\",
        "'; DROP TABLE answers",
    ]
)
NUMBERS = st.integers(0, 2**62)
BESIDES = st.builds(
    Beside, TEXTS, TEXTS, TEXTS, st.none() | NUMBERS, st.none() | NUMBERS, TEXTS, TEXTS
)  # fmt: skip
ANSWERS = st.builds(
    Answer,
    text=st.none() | TEXTS,
    logprobs=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=3).map(tuple),
    tokens=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    usage=st.none() | st.tuples(NUMBERS, NUMBERS),
    finish=TEXTS,
    truncated=st.booleans(),
    beside=st.none() | BESIDES,
)
FAILURES = st.builds(Answer, error=TEXTS.filter(bool))
BATCHES = st.lists(st.tuples(KEYS, ANSWERS | FAILURES), max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(BATCHES, max_size=4), known=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=2))
def test_the_same_steps_give_the_same_contents(store: Store, steps: Any, known: Any) -> None:
    known = [tuple(postgres_session.decoded(t.encode("utf-8", "replace").decode()) for t in row) for row in known]

    def empty(db: Any) -> None:
        for table in ("answers", "failures", "beside", "dialects"):
            db.execute(f"DELETE FROM {table}")

    store.atomically(empty)
    with closing(Store(Path(":memory:"))) as file:
        for each in (file, store):
            for batch in steps:
                each.put(batch)
            if known:
                dialect_table.learn(each, known)
        keys = [f"k{n}" for n in range(7)]
        assert contents(store) == contents(file)
        assert repr(sorted(store.answers(keys).items())) == repr(sorted(file.answers(keys).items()))
        assert store.answered(keys) == file.answered(keys)
        assert store.failures(keys) == file.failures(keys)
        assert store.has_failures() == file.has_failures()
        assert sorted(dialect_table.learned(store)) == sorted(dialect_table.learned(file))


def test_an_answer_comes_back_as_it_was(store: Store) -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000)]))
    given = {
        "every": Answer(text=every, finish="a\0b"),
        "large": Answer(text="ä\0" * 2_000_000),
        "numbers": Answer(logprobs=(-0.1, float("-inf"), 5e-324), tokens=(1, 2, 3), usage=(2**62, 0)),
        "beside": Answer(text="", beside=Beside("think\0ing", "", "[]", None, 7, "m\ufdd0", "f")),
    }
    store.put(list(given.items()))
    assert store.answers(given) == given


@pytest.mark.parametrize("what", ["select", "delete"])
def test_no_row_is_compared_with_every_key(store: Store, monkeypatch: Any, what: str) -> None:
    """Whatever the server knows of the tables: 20,000 keys took it a minute where it takes 7 s."""
    sent = []
    translated = postgres_session.translated
    monkeypatch.setattr(postgres_session, "translated", lambda said: sent.append(said) or translated(said))
    if what == "select":
        store.select("SELECT key FROM answers WHERE key IN", ["k1", "k2"])
    else:
        store.atomically(lambda db: db.executemany("DELETE FROM answers WHERE key = ?", [["k1"], ["k2"]]))
    (statement,) = [said for said in sent if "answers" in said]
    store.run("SET plan_cache_mode TO force_generic_plan")
    store.run(f"PREPARE chosen(text[]) AS {statement.replace('?', '$1')}")
    connection = store._session._connection  # type: ignore[attr-defined]
    plan = "\n".join(line for (line,) in connection.execute("EXPLAIN EXECUTE chosen('{k1,k2}')"))
    assert "answers" in plan
    assert "= ANY" not in plan, plan


def test_an_answer_that_is_there_is_kept(store: Store) -> None:
    store.put([("a", Answer(error="no")), ("b", Answer(text="first"))])
    assert store.failures(["a", "b"]) == {"a": "no"}
    store.put([("a", Answer(text="now")), ("b", Answer(text="second"))])
    store.put([("b", Answer(error="no"))])
    assert {key: a.text for key, a in store.answers("ab").items()} == {"a": "now", "b": "first"}
    assert store.failures(["a"]) == {}


def test_all_or_nothing(store: Store) -> None:
    def broken(db: Any) -> None:
        db.executemany("INSERT INTO failures VALUES (?,?)", [("a", "x")])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.atomically(broken)
    with pytest.raises(RuntimeError), store.transaction() as db:
        broken(db)
    assert not store.has_failures()
    store.put([("b", Answer(text="goes on"))])


def test_a_run_folder_gets_a_copy(store: Store, tmp_path: Path) -> None:
    store.put(
        [("a", Answer(text="x\0", beside=Beside("r"))), ("b", Answer(error="no")), ("c", Answer(text="of others"))]
    )
    dialect_table.learn(store, [("s", "m", "seed")])
    with closing(Store(tmp_path / "own.sqlite")) as own:
        copy_answers(own, store, ["a", "b"])
        assert own.answers("abc") == store.answers("ab")
        assert own.failures("b") == {"b": "no"}
        assert dialect_table.learned(own) == [("s", "m", "seed")]


# --- lost connections ----------------------------------------------------------------------------------------------


def test_a_killed_connection_is_taken_up_again(server: Any, url: str, store: Store) -> None:
    for n, use in enumerate(
        [store.has_failures, store.clock, lambda: store.answered("x"), lambda: store.has("beside")]
    ):
        kill_all(server, url)
        use()
        kill_all(server, url)
        store.put([(f"k{n}", Answer(text="t"))])
    assert len(store.answered([f"k{n}" for n in range(9)])) == 4


def test_in_the_middle_of_a_transaction_all_of_it_is_done_again(server: Any, url: str, store: Store) -> None:
    times = []

    def work(db: Any) -> int:
        times.append(1)
        db.execute("INSERT INTO failures VALUES (?, ?)", ("a", str(len(times))))
        if len(times) < 3:
            kill_all(server, url)
        assert store.failures(["a"]) == {"a": str(len(times))}, "reads inside see what was written inside"
        return len(times)

    assert store.atomically(work) == 3
    assert store.failures(["a"]) == {"a": "3"}


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_whose_answer_is_lost(
    server: Any, url: str, store: Store, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """Nobody knows whether it was done: nothing is lost, and nothing is there twice."""
    real, times = postgres_session.Session.commit, []

    def commit(self: Any) -> None:
        times.append(1)
        if len(times) == 1:
            if done:
                real(self)
            kill_all(server, url)
            self._connection.execute("SELECT 1")
        real(self)

    monkeypatch.setattr(postgres_session.Session, "commit", commit)
    store.put([("a", Answer(text="once")), ("b", Answer(error="no"))])
    assert len(times) == 2
    assert store.rows("SELECT key, text FROM answers") == [("a", "once")]
    assert store.failures("ab") == {"b": "no"}


def test_a_claim_whose_commit_was_lost_is_ones_own(server: Any, url: str, store: Store, monkeypatch: Any) -> None:
    with claiming(store) as claims:
        real, times = postgres_session.Session.commit, []

        def commit(self: Any) -> None:
            real(self)
            times.append(1)
            if len(times) == 1:
                kill_all(server, url)
                self._connection.execute("SELECT 1")

        monkeypatch.setattr(postgres_session.Session, "commit", commit)
        queue, theirs = [["a", "b"], ["c"]], set[str]()
        assert sorted(claims._take(queue, theirs, 9, lambda _: None)) == ["a", "b", "c"]
        assert (queue, theirs) == ([], set())
        assert len(times) == 2


def test_what_is_set_aside_is_set_aside_once(server: Any, url: str, store: Store, monkeypatch: Any) -> None:
    with claiming(store) as claims, sharing(store, claims.worker) as ledger:
        purse = Purse(Budget(max_cost=10.0), Spent(), ledger)
        kill_all(server, url)
        assert purse.reserve([4.0, 4.0, 4.0]) == 2
        kill_all(server, url)
        other = Purse(Budget(max_cost=10.0), Spent(), None)
        other._ledger = ledger
        assert store.rows("SELECT spent, reserved FROM spending") == [(0.0, 8.0)]
        kill_all(server, url)
        purse.settled()
        assert store.rows("SELECT spent, reserved FROM spending") == [(0.0, 0.0)]


def test_a_server_that_restarts_is_waited_for(server: Any, url: str, store: Store) -> None:
    store.put([("a", Answer(text="before"))])
    server.stop()
    late = threading.Timer(1.0, server.start)
    late.start()
    try:
        store.put([("b", Answer(text="after"))])
    finally:
        late.join()
    assert store.answered("ab") == {"a", "b"}


def test_one_that_stays_away_is_said(server: Any, url: str, store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0.5)
    server.stop()
    try:
        with pytest.raises(StoreError, match="cannot be reached"):
            store.put([("b", Answer(text="after"))])
        monkeypatch.setattr(postgres, "BUSY_SECONDS", 1e9)  # nor is it waited for again
        with pytest.raises(StoreError, match="cannot be reached"):
            store.put([("b", Answer(text="after"))])
        with pytest.raises(StoreError, match="cannot be reached"):
            open_store(url)
    finally:
        server.start()
    store.put([("b", Answer(text="it is back"))])
    assert store.answered("b") == {"b"}


# --- several processes ---------------------------------------------------------------------------------------------


def test_eight_make_the_tables_at_once(url: str) -> None:
    def come(n: int) -> None:
        with closing(open_store(url)) as store:
            store.put([(str(n), Answer(text="t"))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(come, range(8)))
    with closing(open_store(url)) as store:
        assert store.answered(map(str, range(9))) == set(map(str, range(8)))
        assert store.rows("SELECT name, value FROM meta") == [("version", "1")]


def test_claims_of_two_are_apart(url: str, store: Store) -> None:
    with claiming(store) as one, closing(open_store(url)) as second, claiming(second) as other:
        assert one.worker.everyone() == {one.worker.id, other.worker.id}
        theirs = set[str]()
        mine = one._take([["a"], ["b"]], theirs, 1, lambda _: None)
        rest = other._take([["a"], ["b"]], theirs, 9, lambda _: None)
        assert sorted(mine + rest) == ["a", "b"]
        assert theirs == set(mine)
        second.put([(mine[0], Answer(text="by whom ever"))])
        assert store.rows("SELECT key FROM claims") == [(rest[0],)]


def put_worker(store: Store, seen: float, where: str = "elsewhere") -> None:
    store.run("INSERT INTO workers VALUES (?,?,?,?,?,?)", "other", where, "host", 1, "x", store.clock()[0] - seen)


def test_who_lives_by_the_clock_of_the_server(store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres, "CLOCK", "SELECT extract(epoch FROM clock_timestamp())::float8, 0.0::float8")
    monkeypatch.setattr(time, "time", lambda: 0.0)  # this machine's clock is wrong
    with claiming(store) as claims:
        put_worker(store, 5.0)
        assert claims.worker.living(["other"]) == {"other"}
        store.run("DELETE FROM workers WHERE id = 'other'")
        put_worker(store, EXPIRY + 5.0)
        assert claims.worker.living(["other"]) == set()


def test_whoever_was_cut_off_with_others_gives_them_time(
    server: Any, url: str, store: Store, monkeypatch: Any
) -> None:
    monkeypatch.setattr(postgres, "CLOCK", "SELECT extract(epoch FROM clock_timestamp())::float8, 0.0::float8")
    with claiming(store) as claims:
        put_worker(store, EXPIRY + 5.0)
        kill_all(server, url)
        assert claims.worker.living(["other"]) == {"other"}
        with closing(store.another()) as second:
            assert second.clock()[1] > 0


def test_a_worker_renews_its_row(server: Any, url: str, store: Store) -> None:
    worker = Worker(store)
    store.run("DELETE FROM workers")
    kill_all(server, url)
    worker._renew_once()
    assert worker.everyone() == {worker.id}
    assert len(store.rows("SELECT id FROM workers")) == 1
    worker.close()
    assert store.rows("SELECT id FROM workers") == []


def test_puts_go_on_beside_one_another_but_not_beside_claims(url: str, store: Store, monkeypatch: Any) -> None:
    with closing(open_store(url)) as second:
        second.run("SET lock_timeout TO '100ms'")

        def beside(db: Any) -> None:
            second.put([("b", Answer(text="t"))])

        store.atomically(beside, alone=False)
        with pytest.raises(StoreError, match="another process has held the answer store"):
            store.atomically(beside)
        assert store.answered("ab") == {"b"}


def test_settings_of_the_session(store: Store, server: Any, url: str) -> None:
    server.sql("ALTER ROLE postgres SET synchronous_commit = off")
    with closing(open_store(url)) as first, closing(first.another()) as second:
        for each in (first, second):
            assert each.rows("SHOW synchronous_commit") == [("on",)]
            assert each.rows("SHOW idle_in_transaction_session_timeout") == [("1min",)]
    server.sql("ALTER ROLE postgres RESET synchronous_commit")


# --- what is refused -----------------------------------------------------------------------------------------------


def refused(address: str, match: str, kind: type[StoreError] = StoreError) -> StoreError:
    with pytest.raises(kind, match=match) as e:
        open_store(address)
    assert e.value.hint
    assert e.value.file
    return e.value


def test_another_version(server: Any, url: str, store: Store) -> None:
    store.run("UPDATE meta SET value = '99'")
    told = refused(url, 'has version "99", this unwaver reads version 1')
    assert "another database" in str(told.hint)


@pytest.mark.parametrize(
    ("statements", "match"),
    [
        (
            [
                "ALTER TABLE unwaver.answers RENAME TO a2",
                "CREATE VIEW unwaver.answers AS SELECT * FROM unwaver.a2",
            ],
            "a view",
        ),
        (
            [
                "CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                "CREATE TRIGGER odd BEFORE INSERT ON unwaver.answers FOR EACH ROW EXECUTE FUNCTION public.f()",
            ],
            "a trigger",
        ),
        (["CREATE RULE r AS ON INSERT TO unwaver.answers DO INSTEAD NOTHING"], "a rule"),
    ],
)
def test_what_is_not_ours(server: Any, url: str, store: Store, statements: list[str], match: str) -> None:
    server.sql(*statements, database=url.rpartition("/")[2])
    assert "damaged" in str(refused(url, match))


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("ALTER TABLE unwaver.answers DROP COLUMN finish", "finish"),
        ("ALTER TABLE unwaver.answers ALTER prompt_tokens TYPE TEXT", "damaged"),
        ("ALTER TABLE unwaver.answers ALTER logprobs TYPE BIGINT USING 7", "damaged"),
        ("UPDATE unwaver.answers SET logprobs = '{'", "damaged"),
        ("DROP TABLE unwaver.answers", "answers"),
    ],
)
def test_wrong_columns_are_explained(server: Any, url: str, store: Store, statement: str, match: str) -> None:
    store.put([("a", Answer(text="t", logprobs=(-1.0,), usage=(1, 2)))])
    server.sql(statement, database=url.rpartition("/")[2])
    with pytest.raises(StoreError, match=match) as e:
        store.answers("a")
    assert "another database" in str(e.value.hint)


def test_tables_of_others_stay(server: Any) -> None:
    url = server.new("others")
    server.sql("CREATE TABLE public.answers (x int)", "INSERT INTO public.answers VALUES (1)", database="others")
    with closing(open_store(url)) as store:
        store.put([("a", Answer(text="t"))])
    assert server.sql("SELECT * FROM public.answers", database="others") == [(1,)]
    url = server.new("others")
    server.sql("CREATE SCHEMA unwaver", "CREATE TABLE unwaver.answers (x int)", database="others")
    refused(url, "of other origin")


def test_rights(server: Any) -> None:
    """The first who comes makes the tables; all others need rights on them and no more."""
    url = server.new("rights")
    guest = url.replace("postgres@", "guest@")
    assert "GRANT CREATE ON DATABASE" in str(refused(guest, "the role has no permission").hint)
    assert look_at(guest) is None
    open_store(url).close()
    assert "GRANT USAGE ON SCHEMA unwaver" in str(refused(guest, "the role has no permission").hint)
    server.sql("GRANT USAGE ON SCHEMA unwaver TO guest", database="rights")
    server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA unwaver TO guest", database="rights")
    with closing(open_store(guest)) as store, pytest.raises(StoreError, match="the role has no permission"):
        store.put([("a", Answer(text="t"))])
    looked = look_at(guest)
    assert looked is not None
    with closing(looked):
        assert looked.answered("a") == set()
    server.sql("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA unwaver TO guest", database="rights")
    with closing(open_store(guest)) as store, claiming(store) as claims, sharing(store, claims.worker):
        store.put([("a", Answer(text="t", beside=Beside("r")))])
        dialect_table.learn(store, [("s", "m", "seed")])
        assert store.answered("a") == {"a"}


def test_a_server_that_takes_no_writes(server: Any) -> None:
    url = server.new("standby")
    server.sql("ALTER DATABASE standby SET default_transaction_read_only = on")
    assert "primary" in str(refused(url, "is read-only").hint)
    assert look_at(url) is None


def test_who_looks_writes_nothing(url: str, store: Store) -> None:
    looked = look_at(url)
    assert looked is not None
    with closing(looked), pytest.raises(StoreError, match="is read-only"):
        looked.put([("a", Answer(text="t"))])


def test_a_full_disk(store: Store) -> None:
    def full(_: Any) -> None:
        raise psycopg.errors.DiskFull("could not extend file: No space left on device")

    with pytest.raises(StoreFull, match="those saved so far are safe"):
        store.atomically(full)
    store.put([("a", Answer(text="t"))])


def test_another_encoding(server: Any) -> None:
    server.sql("DROP DATABASE IF EXISTS latin")
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    assert "UTF8" in str(refused(server.url("latin"), "encoding LATIN1").hint)


def test_wrong_addresses(server: Any) -> None:
    assert "createdb" in str(refused(server.url("none"), "the database does not exist").hint)
    assert "role" in str(refused(server.url(user="nobody"), "refuses the connection").hint).lower()
    refused("postgresql://no-such-host.invalid/db", "unknown host")
    refused(f"postgresql://127.0.0.1:{postgres_server.free_port()}/db", "cannot be reached")
    refused("postgresql:///db?host=/no/such/folder", "cannot be reached")
    refused("postgresql://host/db?nonsense=1", "the address of the store is not valid")
    refused("postgresql://host:port/db", "unknown host")


# --- passwords -----------------------------------------------------------------------------------------------------


@pytest.fixture
def closed(server: Any) -> Iterator[Any]:
    """The server lets nobody in without a password."""
    server.sql("DROP DATABASE IF EXISTS closed", "CREATE DATABASE closed OWNER guest")
    server.trust("scram-sha-256")
    server.reload()
    time.sleep(0.2)
    yield server
    server.trust()
    server.reload()
    time.sleep(0.2)


def test_ways_of_libpq(closed: Any, tmp_path: Path, monkeypatch: Any) -> None:
    plain = closed.url("closed", "guest")
    told = refused(plain, "refuses the connection")
    assert "PGPASSWORD" in str(told.hint)
    told = refused(closed.url("closed", "guest", "wrong-one"), "password authentication failed")
    assert "wrong-one" not in str(told) + repr(told.__cause__)
    ways: list[Callable[[], str]] = []

    def in_the_address() -> str:
        return closed.url("closed", "guest", PASSWORD)

    def as_a_parameter() -> str:
        return f"{plain}?password={PASSWORD}&connect_timeout=9"

    def in_the_environment() -> str:
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        return plain

    def in_a_file() -> str:
        monkeypatch.delenv("PGPASSWORD")
        file = tmp_path / "pgpass"
        file.write_text(f"*:*:*:guest:{PASSWORD}\n")
        file.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(file))
        return plain

    def by_a_service() -> str:
        monkeypatch.delenv("PGPASSFILE")
        file = tmp_path / "services"
        file.write_text(
            f"[team]\nhost={closed.host}\nport={closed.port}\ndbname=closed\nuser=guest\npassword={PASSWORD}\n"
        )
        monkeypatch.setenv("PGSERVICEFILE", str(file))
        return "postgresql:///?service=team"

    ways = [in_the_address, as_a_parameter, in_the_environment, in_a_file, by_a_service]
    for way in ways:
        store_address._apart.clear()
        with closing(open_store(way())) as store:
            assert isinstance(store, PostgresStore)
            assert PASSWORD not in store.address
            store.put([(way.__name__, Answer(text="t"))])
            with closing(store.another()) as second:
                assert way.__name__ in second.answered([way.__name__])


@pytest.mark.parametrize(
    ("given", "plain", "apart"),
    [
        ("postgresql://h/d", "postgresql://h/d", {}),
        ("postgres://me@h/d", "postgresql://me@h/d", {}),
        ("postgresql://me:pw@h:1/d?sslmode=require", "postgresql://me@h:1/d?sslmode=require", {"password": "pw"}),
        ("postgresql://me:p%40w%2F@h/d", "postgresql://me@h/d", {"password": "p@w/"}),
        ("postgresql://me:p@w:x@h/d", "postgresql://me@h/d", {"password": "p@w:x"}),
        ("postgresql://me@h/d?password=pw", "postgresql://me@h/d", {"password": "pw"}),
        ("postgresql://h/d?sslpassword=k&a=b", "postgresql://h/d?a=b", {"sslpassword": "k"}),
        ("postgresql://me:@/d?host=/tmp", "postgresql://me@/d?host=/tmp", {}),
        ("postgresql://postgres:postgres@h/d", "postgresql://postgres@h/d", {"password": "postgres"}),
        ("postgresql://a:1,b:2/d", "postgresql://a:1,b:2/d", {}),
        ("postgresql://", "postgresql://", {}),
    ],
)
def test_a_password_is_kept_apart(given: str, plain: str, apart: dict[str, str], monkeypatch: Any) -> None:
    store_address._apart.clear()
    monkeypatch.setattr(sys, "argv", ["unwaver", "run", f"--store={given}", given])
    assert store_address.kept_apart(given) == plain
    assert store_address.password_of(plain) == apart
    assert sys.argv == ["unwaver", "run", f"--store={plain}", plain]
    assert store_address.kept_apart(plain) == plain
    assert store_address.password_of(plain) == apart, "also when it comes again"


@pytest.mark.parametrize(
    "given", ["postgresql://me:p/Secret9w@h/d", "mysql://me:Secret9w@h/d", "sqlite:///x.db", "postgresql:/h/d", "POSTGRESQL://h/d",
              "postgresql+psycopg://me:Secret9w@h/d", "http://me:Secret9w@h"],
)  # fmt: skip
def test_no_such_address(given: str) -> None:
    secrets.learn_arguments([given])
    with pytest.raises(UsageError) as e:
        open_store(given)
    assert "Secret9w" not in str(e.value)
    assert "postgresql://HOST/DATABASE" in str(e.value.hint) or "%2F" in str(e.value.hint)
    assert "Secret9w" not in secrets.masked(f"elsewhere: {given}")


def test_paths_are_no_addresses() -> None:
    for path in ("all.sqlite", "./a:b/x", "C:/x.sqlite", "/tmp/x.sqlite", "postgresql.sqlite"):
        assert not store_address.is_address(path)


def test_what_waits_for_a_lock_is_patient() -> None:
    assert f"lock_timeout TO '{store_errors.BUSY_SECONDS:.0f}s'" in postgres_session._SETTINGS


def test_without_psycopg(monkeypatch: Any) -> None:
    for name in [name for name in sys.modules if name.startswith("unwaver.answers.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    told = refused("postgresql://127.0.0.1:1/x", "needs psycopg")
    assert "unwaver[postgres]" in str(told.hint)
