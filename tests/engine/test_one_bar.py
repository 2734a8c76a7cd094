"""Progress of a run in rounds: one bar, whose total does not jump."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console as RichConsole
from server import Server

from unwaver.cli.printing import _Bar
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine.runs import go

QUESTIONS = 6


class Tracks:
    """Every bar of a run: its name, its total, and how far it came."""

    def __init__(self) -> None:
        self.bars: list[tuple[str, int, list[int]]] = []

    @contextmanager
    def __call__(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        self.bars.append((what, total, done))
        yield done.append


def chat(prompt: str) -> str:
    """Of the paraphrases it accepts those that ask politely."""
    if found := re.search(r"Reply with nothing but the rephrased text: (.*)", prompt, re.DOTALL):
        chat.written += 1  # type: ignore[attr-defined]
        polite = "Please say: " if chat.written % 3 else "Say: "  # type: ignore[attr-defined]
        return f"{polite}{found[1]} ({chat.written})"  # type: ignore[attr-defined]
    if "Do the two texts mean the same?" in prompt:
        return "Yes" if "Please" in prompt else "No"
    return "It is so."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    chat.written = 0  # type: ignore[attr-defined]
    rows = [f"What is the largest city of country number {n}?" for n in range(QUESTIONS)]
    Path("q.csv").write_text("question\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_one_bar_while_a_model_writes(place: Path) -> None:
    tracks = Tracks()
    with Server(chat) as server:
        model = f"openai/m,base_url={server.url},concurrency=1"
        config = Config(
            ("q.csv",), (model,), variants=("paraphrase",), writer=model, k=3, task="question", out="r"
        )
        go(config, Console(track=tracks))
        asked = len(server.bodies)
    (name, total, done), *compared = tracks.bars
    assert name == "requests"
    assert sum(done) == asked  # each request counts once, whatever the rounds look up again
    assert min(done) >= 0
    assert total <= asked  # some variants were rejected, so more was needed
    assert {name for name, *_ in compared} == {"normalised", "exact"}


def test_plain_groups_have_a_bar_for_each_model(place: Path) -> None:
    tracks = Tracks()
    go(Config(("sample/snli",), ("fake/random", "fake/constant"), out="r"), Console(track=tracks))
    assert [name for name, *_ in tracks.bars] == ["fake/random", "fake/constant"]
    assert all(sum(done) == total for _, total, done in tracks.bars)


def test_a_total_that_was_too_low_grows() -> None:
    out = io.StringIO()
    bar = _Bar(RichConsole(file=out, force_terminal=True, width=120, highlight=False))
    with bar.track("requests", 10) as progress:
        for _ in range(3):
            progress(5)
    shown = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)/(\d+)", out.getvalue())]
    assert all(done <= total for done, total in shown)
    assert shown[-1] == (15, 15)
