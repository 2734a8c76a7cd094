"""A lack of memory is said as what it is: what was being done, and what needs less. Exit 2, no traceback."""

from __future__ import annotations

import errno
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unwaver
from unwaver.cli.main import main
from unwaver.cli.memory import _DOING, out_of_memory

ROOT = Path(unwaver.__file__).parent
TABLE = "group,kind,role,label\n" + "".join(
    f"{n},semantic,{r},yes\n" for n in range(9) for r in ("original", "variant")
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    before = signal.getsignal(signal.SIGTERM)

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        return int(ended.value.code or 0), *capsys.readouterr()

    yield run
    signal.signal(signal.SIGTERM, before)


def fill(*_: object, **__: object) -> Any:
    return np.zeros(1 << 55, dtype=np.int8)  # 32 petabytes


@pytest.mark.parametrize(
    ("place", "args", "doing"),
    [
        ("unwaver.files.read_text", ("score", "t.csv"), "reading a file"),
        ("unwaver.metrics.score.estimate", ("score", "t.csv"), "computing scores"),
        (
            "unwaver.suites.sample.expect_of",
            ("run", "sample", "--model", "fake/random"),
            "making the groups",
        ),
        ("unwaver.models.fake.Fake.answer", ("run", "sample", "--model", "fake/random"), ""),
    ],
)
def test_a_lack_of_memory_is_no_bug(
    call: Any, monkeypatch: pytest.MonkeyPatch, place: str, args: tuple[str, ...], doing: str
) -> None:
    monkeypatch.setattr(place, fill)
    code, out, told = call(*args, "--json")
    assert code == 2, told
    assert told.startswith("unwaver: out of memory")
    assert doing in told
    assert "Traceback" not in told
    assert "bug" not in told
    error = json.loads(out)["error"]
    assert "--limit" in error["hint"]


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("a shape is wrong"), False),
        (ValueError("memory"), False),
    ],
)
def test_what_is_a_lack_of_memory(error: Exception, is_memory: bool) -> None:
    assert (out_of_memory(error) is not None) == is_memory


def _exists(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_every_room_says_what_it_does() -> None:
    """Also after files have moved. `text` says nothing: whoever calls it does; nor does `cli`, which calls all."""
    assert [name for name in _DOING if not _exists(name)] == []
    rooms = {place.parent.name for place in ROOT.glob("*/__init__.py")}
    assert rooms - _DOING.keys() == {"cli", "text"}


@pytest.mark.parametrize(
    ("module", "doing"),
    [
        ("unwaver.asking.ask", "asking a model"),
        ("unwaver.asking.render", "writing the prompts"),
        ("unwaver.answers.store", "reading the answers"),
        ("unwaver.verdicts.paired_runs", "comparing runs"),
        ("unwaver.stats.paired", "comparing runs"),
        ("unwaver.stats.units", "computing intervals"),
        ("unwaver.reports.page", "writing the report"),
        ("unwaver.files", "reading a file"),
        ("unwaver.text.numbers", "computing scores"),
        ("unwaver_agree_plugin", "computing scores"),
    ],
)
def test_the_deepest_room_says_it(module: str, doing: str) -> None:
    """The room that called it is the metrics'."""
    inner = {"__name__": module}
    exec("def work(): raise MemoryError", inner)
    outer = {"__name__": "unwaver.metrics.score", "work": inner["work"]}
    exec("def call(): work()", outer)
    with pytest.raises(MemoryError) as raised:
        outer["call"]()  # type: ignore[operator]
    found = out_of_memory(raised.value)
    assert found is not None
    assert found.summary == f"out of memory while {doing}"
