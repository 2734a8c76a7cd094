"""`unwaver annotate` as a stranger types it: every error says what to do next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from annotating import Served, write_job

from unwaver.cli.main import main
from unwaver.people.job import KINDS
from unwaver.people.store import Database

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """What a command that exits with 2 says, beside a job of kind rate."""
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path, "rate")

    def call(*args: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["annotate", *args])
        said = capsys.readouterr().err
        assert ended.value.code == 2, said
        lines = said.strip().splitlines()
        assert len(lines) >= 2, f"no next step: {said}"
        return " ".join(said.split())

    return call


def change(old: str, new: str) -> None:
    path = Path("job.toml")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "rate"', 'kind = "rat"', "did you mean rate?"),
        ('kind = "rate"', 'kind = "survey"', "expected rate, write"),
        ('kind = "rate"', "", "kind is missing"),
        ("raters = 2", "ratters = 2", "did you mean raters?"),
        ("raters = 2", "raters = 0", "a whole number of 1 or more"),
        ("raters = 2", 'raters = "2"', "a whole number of 1 or more"),
        ("raters = 2", "raters = ", "job.toml:"),
        ('from = "groups.jsonl"', 'from = "group.jsonl"', "group.jsonl"),
        ('from = "groups.jsonl"', 'from = "nothing"', "nothing"),
        ('semantic = "mean>=4"', 'semantic = "mean=>4"', "did you mean"),
        ('answer = "5"', 'answer = "9"', "expected 1, 2, 3, 4, 5"),
        ('variant = "A man is asleep."', 'varient = "x"', "has no variant"),
    ],
)
def test_mistakes_in_the_file(old: str, new: str, said: str, refused: Refused) -> None:
    change(old, new)
    assert said in refused("job.toml")
    assert not Path("job.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "JOB is missing"),
        (("missing.toml",), "missing.toml"),
        ((".",), "."),
        (("job.toml", "--raters", "0"), "expected 1 to 1000"),
        (("job.toml", "--raters", "-1"), "expected 1 to 1000"),
        (("job.toml", "--raters", "many"), "--raters"),
        (("job.toml", "--rater", "a/b"), "a name has up to 60 letters"),
        (("job.toml", "--rater", "<b>"), "a name has up to 60 letters"),
        (("job.toml", "--rater", ""), "--rater is empty"),
        (("job.toml", "--rater", "x" * 61), "a name has up to 60 letters"),
        (("job.toml", "--rater", "a\nb"), "a name has up to 60 letters"),
        (("job.toml", "--rater", "Owner"), "the person who runs the job"),
        (("job.toml", "--port", "99999"), "65535"),
        (("job.toml", "--host", "no.such.host.invalid"), "cannot be used"),
        (("job.toml", "--proxy", "https://a.example"), "without https://"),
        (("job.toml", "--new-link", "ann"), "has not been started"),
        (("--new", "survey"), "survey"),
        (("job.sqlite",), "job.toml"),
    ],
)
def test_mistakes_on_the_command_line(arguments: tuple[str, ...], said: str, refused: Refused) -> None:
    assert said in refused(*arguments)


def test_replies_of_another_kind_are_not_mixed(refused: Refused) -> None:
    database = Database(Path("job.sqlite"))
    database.set_meta("kind", "pairs")
    database.close()
    assert "holds a job of kind pairs" in refused("job.toml")


def test_a_file_that_is_not_of_replies(refused: Refused) -> None:
    Path("job.sqlite").write_text("this is not a database, but it is long enough to look at " * 40)
    assert "start a new job" in refused("job.toml")
    assert Path("job.sqlite").read_text().startswith("this is not")


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(refused: Refused, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "you may write to" in refused("job.toml")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_new_prints_starts_as_it_is(kind: str, tmp_path: Path) -> None:
    write_job(tmp_path, kind)
    new = [sys.executable, "-m", "unwaver.cli.main", "annotate", "--new", kind]
    (tmp_path / "job.toml").write_bytes(subprocess.run(new, capture_output=True, check=True).stdout)
    with Served(tmp_path / "job.toml", "--raters", "1") as served:
        assert list(served.links) == ["owner", "rater1"]


@pytest.mark.slow
def test_links_are_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = write_job(tmp_path, "rate")
    odd = ("Åsa Öberg", "x@example.org", "李雷")
    with Served(job, "--raters", "1", *(word for name in odd for word in ("--rater", name))) as served:
        assert set(served.links) == {"owner", "rater1", *odd}
        first, port = dict(served.links), served.port
        with Served(job) as second:  # two servers on one job
            assert second.port != port
            assert second.links == {}
            assert "4 people have a link" in "".join(second.printed)
        assert served.stop() == 0
        served.port = ""
        served.start("--rater", "rater1", "--rater", "new")
        assert "rater1 has a link already" in "".join(served.printed)
        assert set(served.links) == {*first, "new"}
        assert served.links["rater1"] == first["rater1"]
        with pytest.raises(SystemExit):
            main(["annotate", str(job), "--port", served.port])
        assert "leave --port out" in " ".join(capsys.readouterr().err.split())
        with pytest.raises(SystemExit):
            main(["annotate", str(job), "--new-link", "ratr1"])
        assert "did you mean rater1?" in capsys.readouterr().err
        with pytest.raises(SystemExit) as ended:
            main(["annotate", str(job), "--new-link", "rater1"])
        assert ended.value.code == 0
        assert f"rater1: {served.address}/in/" in capsys.readouterr().out


def test_a_plain_start_imports_no_web() -> None:
    code = (
        "import sys, unwaver.cli.main as m\n"
        "try: m.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([n for n in ('starlette', 'uvicorn', 'jinja2', 'itsdangerous', 'anyio') if n in sys.modules])\n"
        "print([n for n in sys.modules if n.startswith(('unwaver.web', 'unwaver.people'))])"
    )
    for words in (["--help"], ["annotate", "--help"], ["list", "models"], ["show", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.stdout.splitlines()[-2:] == ["[]", "[]"], (words, done.stderr)
