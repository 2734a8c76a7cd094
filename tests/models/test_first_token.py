"""Probabilities of labels from the first token of a chat, where a server does not score choices."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from server import Raw, Server

from unwaver.errors import ModelError
from unwaver.models import openai
from unwaver.models.first_token import LEAST, asked, first_token, marks_of, with_options
from unwaver.models.openai_replies import NoScores
from unwaver.types import Answer, Message, Request

YES_NO = Request("t", (), "Is it?\nAnswer:", ("true", "false"), ("Yes", "No"))
NLI = Request("t", (), "Is it?\nAnswer:", ("e", "n", "c"), ("entailment", "neutral", "contradiction"))


def reply(top: dict[str, float], **message: Any) -> dict[str, Any]:
    """A chat reply whose first token has these probabilities."""
    likely = [{"token": token, "logprob": math.log(p)} for token, p in top.items()]
    first = {**likely[0], "top_logprobs": likely}
    said = {"role": "assistant", "content": likely[0]["token"], **message}
    choice = {"message": said, "finish_reason": "length", "logprobs": {"content": [first]}}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}


def scored(top: dict[str, float], request: Request = YES_NO, **message: Any) -> tuple[list[float], dict[str, Any]]:
    answer = first_token(reply(top, **message), request, marks_of(request))
    assert answer.text is None
    assert answer.usage == (9, 1)
    assert answer.beside is not None
    return [math.exp(x) for x in answer.logprobs], json.loads(answer.beside.scoring)


def test_tokens_that_differ_in_case_and_space_are_added_up() -> None:
    found, how = scored({"Yes": 0.4, " yes": 0.2, "\u0120YES": 0.05, "No": 0.2, "\u2581no": 0.05, "The": 0.05})
    assert found == pytest.approx([0.65, 0.25])
    assert how == {"top": 6, "other": pytest.approx(0.1), "token": "Yes"}


@pytest.mark.parametrize(
    ("top", "bound"),
    [
        ({"Yes": 0.6, "The": 0.3, "A": 0.02}, 0.02),  # the least of the most likely ones
        ({"Yes": 0.6, "The": 0.3, "A": 0.09}, 0.01),  # what they leave of 1
        ({"Yes": 0.6, "The": 0.4}, LEAST),  # nothing is left: rounding
    ],
)
def test_a_label_outside_the_top_gets_an_upper_bound(top: dict[str, float], bound: float) -> None:
    found, how = scored(top)
    assert found == pytest.approx([0.6, bound], rel=1e-3)
    assert how["outside"] == ["false"]
    assert how["other"] == pytest.approx(0.4)


def test_no_label_in_the_top_is_an_unreadable_answer() -> None:
    answer = first_token(reply({"The": 0.6, "I": 0.3}), YES_NO, marks_of(YES_NO))
    assert (answer.text, answer.logprobs, answer.finish) == ("The", (), "")


def test_a_label_that_the_server_splits_is_known_by_its_beginning() -> None:
    request = Request("t", (), "Is it?", ("p", "n"), ("Positive", "Negative"))
    assert scored({"Pos": 0.5, "Neg": 0.3, "P": 0.1}, request)[0] == pytest.approx([0.5, 0.3])
    assert scored({"Positive": 0.5, "Pos": 0.2, "Neg": 0.1}, request)[0] == pytest.approx([0.5, 0.1])


@pytest.mark.parametrize(
    ("words", "letters"),
    [
        (("Yes", "No"), False),
        (("1", "2"), False),
        (("A", "B", "C"), False),
        (("True", "Neither", "False"), False),
        (("Weaker", "Stronger"), True),  # We|aker
        (("Not at all", "Yes"), True),
        (("yes", "Yes"), True),  # they begin alike
        (("아니요", "예"), True),
    ],
)
def test_labels_of_several_tokens_are_letters(words: tuple[str, ...], letters: bool) -> None:
    assert bool(marks_of(Request("t", (), "?", words, words)).letters) is letters


def test_letters_are_asked_for_and_stored() -> None:
    marks = marks_of(NLI)
    assert asked(NLI, marks).prompt.split("\n") == [
        "Is it?", "A. entailment", "B. neutral", "C. contradiction", "Answer with the letter of the right option.",
        "Answer:",
    ]  # fmt: skip
    found, how = scored({"B": 0.5, "a": 0.25, " C": 0.125}, NLI)
    assert found == pytest.approx([0.25, 0.5, 0.125])
    assert how["letters"] == {"A": "e", "B": "n", "C": "c"}


def test_solved_examples_are_answered_by_letters_too() -> None:
    prompt = "Text: x\nAnswer: Weaker\n\nText: Answer: Weaker than y\nAnswer:"
    assert with_options(prompt, ("Weaker", "Stronger"), ("A", "B")).startswith(
        "Text: x\nAnswer: A\n\nText: Answer: Weaker than y\nA. Weaker\nB. Stronger\n"
    )


def test_options_go_to_the_last_message_of_the_user() -> None:
    turns = (Message("system", "S"), Message("user", "One?"), Message("assistant", "1"), Message("user", "Two?"))
    request = Request("t", (), "", ("weak", "strong"), (), messages=turns)
    told = asked(request, marks_of(request)).messages
    assert told[:3] == turns[:3]
    assert told[3].text.startswith("Two?\nA. weak\nB. strong\n")


@pytest.mark.parametrize(
    ("top", "message"),
    [
        ({"<think>": 0.9, "Yes": 0.1}, {"content": ""}),
        ({"<|channel|>": 0.9, "Yes": 0.1}, {"content": ""}),
        ({"Okay": 0.9, "Yes": 0.1}, {"content": "", "reasoning_content": "Okay"}),
        ({"Okay": 0.9, "Yes": 0.1}, {"content": None, "reasoning": "Okay"}),
        ({"Okay": 0.9, "Yes": 0.1}, {"content": ""}),  # kept back
        ({"Okay": 0.9, "Yes": 0.1}, {"content": "Yes"}),
    ],
)
def test_the_first_token_of_a_thought_is_none(top: dict[str, float], message: dict[str, Any]) -> None:
    with pytest.raises(NoScores, match="thinks before it answers"):
        first_token(reply(top, **message), YES_NO, marks_of(YES_NO))


def test_an_answer_that_ends_at_once_is_empty_and_a_refusal_is_refused() -> None:
    ended = {"message": {"content": ""}, "finish_reason": "stop", "logprobs": {"content": []}}
    assert first_token({"choices": [ended]}, YES_NO, marks_of(YES_NO)) == Answer(text="", finish="stop")
    special = reply({"<|im_end|>": 0.5, "Yes": 0.3}, content="")
    assert first_token(special, YES_NO, marks_of(YES_NO)).logprobs
    kept = {"message": {"content": None, "refusal": "I can't"}, "finish_reason": "stop"}
    answer = first_token({"choices": [kept]}, YES_NO, marks_of(YES_NO))
    assert answer.beside is not None
    assert answer.beside.refusal == "I can't"


# --- asking a server


@pytest.fixture
def opened() -> Iterator[Callable[..., openai.OpenAIModel]]:
    models = []

    def open_one(server: Server, **options: Any) -> openai.OpenAIModel:
        settings = {"method": "logprob", "backoff": 0.01, "wait": lambda *_: None, **options}
        models.append(openai.open_model("m", base_url=server.url, **settings))
        return models[-1]

    yield open_one
    for model in models:
        model.close()


def answers(model: openai.OpenAIModel, requests: list[Request]) -> list[Answer]:
    found = dict(pair for batch in model.answer(requests) for pair in batch)
    return [found[n] for n in range(len(requests))]


def chats_only(instead: Raw, top: dict[str, float] | None = None, **message: Any) -> Any:
    """A server that says `instead` to completions, and gives these probabilities in chats."""

    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw | None:
        if "prompt" in body:
            return instead
        return None if top is None or not body.get("logprobs") else Raw(200, reply(top, **message))

    return script


ABSENT = Raw(404, {"error": {"message": "no such route"}})
OTHERS = {
    "no such address": ABSENT,
    "it fails": Raw(500, {"error": {"message": "boom"}}),
    "echo is ignored": Raw(200, {"choices": [{"text": "x", "logprobs": {"content": []}}]}),
    "it refuses": Raw(400, {"error": {"message": "echo is not supported"}}),
}


@pytest.mark.parametrize("instead", OTHERS.values(), ids=OTHERS.keys())
def test_a_chat_server_is_asked_for_the_first_token(opened: Any, instead: Raw) -> None:
    with Server(script=chats_only(instead, {"Yes": 0.7, "No": 0.2})) as server:
        model = opened(server)
        given = answers(model, [YES_NO] * 5)
        assert model.decoding == "first token"
        assert model.dialect.switches == {"echo"}
    assert [[math.exp(x) for x in a.logprobs] for a in given] == [pytest.approx([0.7, 0.2])] * 5
    assert sum("prompt" in body for body in server.bodies) <= 3, "learned at the first request"
    chat = server.bodies[-1]
    assert (chat["max_tokens"], chat["logprobs"], chat["top_logprobs"], chat["temperature"]) == (1, True, 20, 0)


@pytest.mark.parametrize(
    ("top", "message"),
    [(None, {}), ({"<think>": 0.9, "Yes": 0.1}, {"content": ""})],
    ids=["no scores", "thoughts"],
)
def test_a_chat_server_without_them_writes(opened: Any, top: Any, message: Any) -> None:
    with Server(script=chats_only(ABSENT, top, **message)) as server:
        model = opened(server)
        given = answers(model, [YES_NO] * 5)
        assert [a.text for a in given] == ["Yes"] * 5
        assert model.dialect.switches == {"echo", "logprobs"}
        assert model.decoding == "answered by generate"
    assert len(server.bodies) == 2 + 5, "one try of each way"


def test_a_cost_cap_is_for_scoring_and_not_for_writing(opened: Any) -> None:
    with Server(script=chats_only(ABSENT)) as server:
        model = opened(server)
        model.meter = lambda _in, _out, again: again
        with pytest.raises(ModelError, match="without top_logprobs"):
            answers(model, [YES_NO])


def test_thoughts_that_were_asked_for_need_no_try(opened: Any) -> None:
    with Server(script=chats_only(ABSENT, {"Yes": 1.0})) as server:
        answers(opened(server, reasoning_effort="low"), [YES_NO])
    assert not any(body.get("top_logprobs") for body in server.bodies)


def test_a_server_that_gives_five_tokens_and_needs_sixteen(opened: Any) -> None:
    def script(_number: int, body: dict[str, Any], _headers: object) -> Raw:
        if "prompt" in body:
            return ABSENT
        if body["top_logprobs"] > 5:
            return Raw(400, {"error": {"message": "top_logprobs must be at most 5"}})
        if body["max_tokens"] < 16:
            return Raw(400, {"error": {"message": "max_tokens must be at least 16"}})
        return Raw(200, reply({"Yes": 0.7, "No": 0.2}))

    with Server(script=script) as server:
        given = answers(opened(server), [YES_NO] * 3)
    assert all(a.logprobs for a in given)
    assert len(server.bodies) == 1 + 2 + 3


def test_an_unknown_model_is_told_by_the_chat(opened: Any) -> None:
    said = Raw(404, {"error": {"message": "no model m"}})
    with Server(script=lambda *_: said) as server, pytest.raises(ModelError, match="no model m"):
        answers(opened(server), [YES_NO])


def test_top_logprobs_is_in_the_key_only_where_it_is_given(opened: Any) -> None:
    with Server() as server:
        assert opened(server).settings == {"method": "logprob", "system": None}
        assert opened(server, top_logprobs=100).settings["top_logprobs"] == 100
        assert "top_logprobs" not in opened(server, method="generate", top_logprobs=100).settings
