"""Mutated files of every format, in this process: no exit 70, no traceback (torture/formats.py is the long form)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

TORTURE = Path(__file__).parent.parent / "torture"
EACH = 3


def attacks() -> Any:
    sys.path.insert(0, str(TORTURE))
    try:
        spec = importlib.util.spec_from_file_location("torture_formats", TORTURE / "formats.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look it up
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(TORTURE))


FORMATS = attacks()
# what takes seconds to import, or another environment, is left to the long form
LIGHT = [format for format in FORMATS.formats().values() if not format.heavy and not format.needs]


@pytest.mark.parametrize("format", LIGHT, ids=lambda format: format.name)
def test_mutated(format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNWAVER_DEBUG", raising=False)
    with capfd.disabled():
        with FORMATS.said():
            files = dict(format.files())
        found = [f for case in range(EACH) for f in FORMATS.attack(format, files, case, 14, tmp_path)]
    assert found == []


@pytest.mark.parametrize("name", ["table csv", "run.json", "lm-eval"])
def test_sound_files_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """Else the mutations of what is refused anyway would show nothing."""
    monkeypatch.chdir(tmp_path)
    format = FORMATS.formats()[name]
    with capfd.disabled():
        with FORMATS.said():
            files = dict(format.files())
        for command in format.commands[:3]:
            FORMATS.write(files, tmp_path)
            with FORMATS.said():
                assert FORMATS.exit_of(command) in ((0, None), (1, None))
