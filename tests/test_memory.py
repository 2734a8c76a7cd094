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

from unwaver.cli.main import main
from unwaver.cli.memory import out_of_memory

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
