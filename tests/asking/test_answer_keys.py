"""Keys of answers: those of plain requests never change, and a conversation has a key made of its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from unwaver.asking.ask import key_maker, make_plan
from unwaver.errors import DataError
from unwaver.groups.conversations import conversation
from unwaver.types import Answer, Batch, Group, Message, Request, replace


class Reader:
    """A model that reads prompts."""

    name = identity = "reader"
    method, settings, deterministic = "generate", {"max_tokens": 16}, False
    reads: tuple[str, ...] = ("prompt",)

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        yield [(n, Answer("")) for n in range(len(requests))]

    def close(self) -> None: ...


PLAIN = Request("snli", ("A", "B"), "A? B.", ("yes", "no"), ("Yes", "No"), item="1", template="snli@1")


def test_keys_of_plain_requests_stay() -> None:
    """Stores of earlier runs are found by these."""
    assert key_maker(Reader())(PLAIN) == "e518e1b755f30683ec26703db938215cd61d01cad40ac922fd4df0f69dfe0216"
    assert (
        key_maker(Reader())(replace(PLAIN, replicate=1, temperature=0.5))
        == "75a56f6346aa2600a993a4e5c9a48f2d4784c689ec373493ada1a3ff1b5bfb0f"
    )


def test_a_conversation_has_a_key_of_its_own() -> None:
    key, user = key_maker(Reader()), Message("user", "A? B.")
    asked = [
        PLAIN,
        replace(PLAIN, messages=(user,)),
        replace(PLAIN, messages=(replace(user, role="system"), user)),
        replace(PLAIN, messages=(replace(user, call="1"),)),
        replace(PLAIN, messages=(replace(user, tool_calls="[]"),)),
        replace(PLAIN, tools="[1]"),
        replace(PLAIN, response_format="[1]"),
    ]
    assert len({key(request) for request in asked}) == len(asked)


def test_a_model_that_reads_no_prompt_has_the_key_of_what_it_reads() -> None:
    model = Reader()
    model.reads = ("segments",)
    assert key_maker(model)(PLAIN) == key_maker(model)(replace(PLAIN, messages=(Message("user", "x"),)))


def test_a_suite_cannot_await_an_answer_of_another_group() -> None:
    asked = conversation("a", "t", "original", [Message("user", "{answer of elsewhere}")])
    group = Group("g", "s", "t", "semantic", "same", (asked,))
    with pytest.raises(DataError, match="no item with this id before"):
        make_plan([group], Reader(), lambda item, model: PLAIN)
