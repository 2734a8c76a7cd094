"""Functions as models: what a function takes is read from it, never found out by a call."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NewType

import pytest

import unwaver
from unwaver.errors import ModelError, UnwaverError, UsageError
from unwaver.models import python
from unwaver.models.functions import from_function, name_of, takes_one
from unwaver.types import Request

Prompt = NewType("Prompt", str)


def requests(count: int) -> list[Request]:
    return [Request("t", (f"{n}",), f"prompt {n}", ("a", "b"), (), f"id{n}") for n in range(count)]


def texts(model: Any, count: int = 3) -> list[str]:
    found = {index: answer.text for batch in model.answer(requests(count)) for index, answer in batch}
    return [found[n] for n in range(count)]


def of_text(prompt: str) -> str:
    return prompt.upper()


def of_text_by_return(prompt) -> str:  # type: ignore[no-untyped-def]
    return f"{prompt}"


def of_many(requests: list[dict[str, Any]]) -> list[str]:
    return [request["prompt"] for request in requests]


def of_unknown(prompt):  # type: ignore[no-untyped-def]
    raise AssertionError("called to find out")


class Bot:
    def __call__(self, prompt: str) -> str:
        return "called"

    def reply(self, prompt: str) -> str:
        return "replied"

    @classmethod
    def made(cls, prompt: str) -> str:
        return "made"


class AsyncBot:
    async def __call__(self, prompt: str) -> str:
        await asyncio.sleep(0)
        return "waited"


def annotated(prompt: Annotated[str, "a question"]) -> object: ...
def new_type(prompt: Prompt) -> object: ...
def quoted(prompt: "str") -> object: ...  # noqa: UP037
def sequence(items: Sequence[Any]) -> object: ...
def odd(prompt: bytes | int) -> object: ...
def two(prompt: str, system: str) -> str: ...  # type: ignore[empty-body]
def none() -> str: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "one"),
    [
        (of_text, True), (of_text_by_return, True), (annotated, True), (new_type, True), (quoted, True),
        (Bot(), True), (Bot().reply, True), (Bot.made, True), (functools.partial(two, system="x"), True),
        (of_many, False), (sequence, False), (lambda requests: [], False),
        (of_unknown, None), (odd, None), (lambda prompt: "", None), (len, None), (none, None),
    ],
)  # fmt: skip
def test_what_a_function_takes(function: Any, one: bool | None) -> None:
    assert takes_one(function) is one


@pytest.mark.parametrize("function", [of_unknown, odd, lambda x: x, print])
def test_a_function_that_does_not_say_is_refused_with_both_ways(function: Any) -> None:
    with pytest.raises(UsageError) as e:
        from_function(function)
    hint = str(e.value.hint)
    assert "def answer(prompt: str) -> str" in hint
    assert "per_item=True" in hint
    assert "requests: list[dict]" in hint


def test_per_item_decides() -> None:
    assert texts(from_function(lambda prompt: prompt[-1], per_item=True)) == ["0", "1", "2"]
    assert texts(from_function(lambda x: [r["id"] for r in x], per_item=False)) == ["id0", "id1", "id2"]


def test_functions_answer() -> None:
    assert texts(from_function(of_text), 1) == ["PROMPT 0"]
    assert texts(from_function(of_many), 2) == ["prompt 0", "prompt 1"]
    assert texts(from_function(Bot()), 1) == ["called"]
    assert texts(from_function(Bot().reply), 1) == ["replied"]


@pytest.mark.parametrize("function", [two, none, type("C", (), {})])
def test_what_cannot_be_called_with_one_argument_is_refused_before_it_is_called(function: Any) -> None:
    with pytest.raises(UsageError):
        from_function(function, per_item=True)


def test_names() -> None:
    assert name_of(of_text) == "of_text"
    assert name_of(Bot()) == "Bot"
    assert name_of(Bot().reply) == "Bot.reply"
    assert name_of(Bot.made) == "Bot.made"
    assert name_of(functools.partial(two, system="my-secret")) == "two"
    assert name_of(functools.partial(of_text, depth=2)) == "of_text(depth=2)"
    assert name_of(lambda x: x).startswith("lambda (test_functions.py:")


# --- asynchronous ones ----------------------------------------------------------------------------------------


def counting(most: list[int]) -> Any:
    running = 0

    async def bot(prompt: str) -> str:
        nonlocal running
        running += 1
        most.append(running)
        await asyncio.sleep(0.002)
        running -= 1
        return prompt

    return bot


def test_an_asynchronous_function_runs_several_at_once_and_no_more() -> None:
    most: list[int] = []
    model = from_function(counting(most), concurrency=3)
    assert texts(model, 20) == [f"prompt {n}" for n in range(20)]
    assert max(most) == 3
    assert model.concurrency == 3


def test_it_works_where_a_loop_is_running() -> None:
    async def cell() -> list[str]:
        return texts(from_function(counting([])), 5)

    assert len(asyncio.run(cell())) == 5


def test_a_client_belongs_to_one_loop_from_run_to_run() -> None:
    loops = set()

    async def bot(prompt: str) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return prompt

    for _ in range(3):
        texts(from_function(bot), 2)
    assert len(loops) == 1


def test_other_asynchronous_forms() -> None:
    async def of_many_at_once(requests: list[dict[str, Any]]) -> list[str]:
        await asyncio.sleep(0)
        return [r["id"] for r in requests]

    async def of_one(prompt: str) -> str:
        return "inner"

    assert texts(from_function(of_many_at_once), 2) == ["id0", "id1"]
    assert texts(from_function(AsyncBot()), 2) == ["waited", "waited"]
    assert texts(from_function(functools.partial(of_one)), 1) == ["inner"]
    assert texts(from_function(lambda prompt: of_one(prompt), per_item=True), 1) == ["inner"]


def test_an_asynchronous_function_that_fails_names_its_place_and_stops_the_others() -> None:
    asked: list[str] = []

    async def failing(prompt: str) -> str:
        asked.append(prompt)
        if prompt == "prompt 3":
            raise ValueError("no more")
        await asyncio.sleep(0.01)
        return prompt

    with pytest.raises(ModelError, match="failing failed: ValueError: no more") as e:
        texts(from_function(failing, concurrency=2), 400)
    assert "test_functions.py" in str(e.value.hint)
    assert len(asked) < 400


def test_closing_early_cancels_what_is_in_flight() -> None:
    ended = threading.Event()

    async def slow(prompt: str) -> str:
        if prompt == "prompt 0":
            return "first"
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return "never"

    batches = from_function(slow, concurrency=2).answer(requests(5))
    assert next(batches)[0][1].text == "first"
    batches.close()  # type: ignore[attr-defined]
    assert ended.wait(60)


def test_asynchronous_functions_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_bot.py").write_text(
        "async def answer(prompt: str) -> str:\n    return prompt[-1]\n\ndef plain(prompt):\n    return prompt[-1]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert texts(python.open_model("slow_bot:answer", concurrency=2)) == ["0", "1", "2"]
    assert texts(python.open_model("slow_bot:plain", per_item=True)) == ["0", "1", "2"]
    with pytest.raises(ModelError) as e:
        texts(python.open_model("slow_bot:plain"))
    assert "per_item=True" in str(e.value.hint)
    sys.modules.pop("slow_bot", None)


@pytest.mark.parametrize("options", [{"batch": 0}, {"concurrency": 0}])
def test_sizes_are_at_least_one(options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be at least 1, found 0"):
        from_function(of_text, **options)


# --- in a run -------------------------------------------------------------------------------------------------


def test_a_function_is_answered_for_from_an_earlier_run_only_by_its_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []

    def bot(prompt: str) -> str:
        asked.append(prompt)
        return "yes"

    rows = [{"question": "Is it late?", "paraphrase": "Has it got late?"}]

    def calls(**options: Any) -> int:
        asked.clear()
        unwaver.run(rows, bot, labels=("yes", "no"), out="run", **options)
        return len(asked)

    assert [calls(), calls()] == [2, 2]
    assert [calls(identity="v1"), calls(identity="v1"), calls(identity="v2")] == [2, 0, 2]


def test_one_function_given_twice_is_two_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = unwaver.run("sample/snli/semantic", [of_many, of_many, Bot().reply], limit=2, out="run")
    assert list(dict.fromkeys(s.model for s in result)) == ["of_many", "of_many (2)", "Bot.reply"]


def test_options_that_a_function_does_not_take_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnwaverError, match="base_url has no effect: a function does not take it"):
        unwaver.run("sample/snli", of_text, base_url="http://127.0.0.1:1/v1")
    with pytest.raises(UnwaverError, match="per_item"):
        unwaver.run("sample/snli", "fake/random", per_item=True)
    mixed = unwaver.run(
        "sample/snli/semantic", [lambda p: "yes", "fake/random"], per_item=True, model_args={"seed": 3}, limit=1
    )
    assert len({s.model for s in mixed}) == 2
