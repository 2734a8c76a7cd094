"""The state of an answer, from the words of servers and tools to the status in the table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import unwaver
from unwaver.answers.given import complete
from unwaver.answers.labels import read_label
from unwaver.answers.running_text import is_settled
from unwaver.answers.table import table_of
from unwaver.answers.thoughts import is_open, without_thought
from unwaver.errors import UsageError
from unwaver.metrics.score import score_frame
from unwaver.state import MISSING, is_cut, is_refused, state_of, status_of
from unwaver.types import Answer, Beside, Group, Item

CUT = ("length", "LENGTH", "max_tokens", "MAX_TOKENS", "FinishReason.MAX_TOKENS", "model_length", "incomplete",
       "max_output_tokens", "maxTokens", "MaxTokens", "max-tokens", " length ", "model_context_window_exceeded")  # fmt: skip
REFUSED = ("content_filter", "refusal", "SAFETY", "content_filtered", "RECITATION", "guardrail_intervened",
           "FinishReason.PROHIBITED_CONTENT", "contentFilter")  # fmt: skip
ENDED = ("", "stop", "STOP", "eos", "end_turn", "stop_sequence", "END_TURN", "unknown", "null", "eos_token")


@pytest.mark.parametrize("finish", CUT)
def test_words_for_cut(finish: str) -> None:
    assert is_cut(finish)
    assert not is_refused(finish)
    assert state_of(Answer(text="Ye", finish=finish), None) == "cut"


@pytest.mark.parametrize("finish", REFUSED)
def test_words_for_refused(finish: str) -> None:
    assert is_refused(finish)
    assert state_of(Answer(text="Yes", finish=finish), "Yes") == "refused"


@pytest.mark.parametrize("finish", ENDED)
def test_words_for_the_end(finish: str) -> None:
    assert state_of(Answer(text="Yes", finish=finish), "Yes") == "whole"
    assert state_of(Answer(text=" \n", finish=finish), None) == "empty"
    assert state_of(Answer(text="hm", finish=finish), None) == "unreadable"


def test_the_order_of_states() -> None:
    assert state_of(Answer(error="no", finish="length"), None) == "failed"
    assert state_of(Answer(text="", finish="tool_calls"), None) == "tool_call"
    assert state_of(Answer(text="Yes", finish="tool_calls"), "Yes") == "whole"
    calls = Beside(tool_calls='[{"id": "1"}]')
    assert state_of(Answer(text="Let me see.", finish="stop", beside=calls), None) == "tool_call"
    # a label beside calls: tools were offered, and the calls are the answer
    assert state_of(Answer(text="Let me see.", finish="stop", beside=calls), "see()") == "whole"
    assert state_of(Answer(text="Let me see.", finish="length", beside=calls), "see()") == "cut"
    assert state_of(Answer(text="Let me", finish="length", beside=calls), None) == "tool_call"
    no = Beside(refusal="No.", tool_calls='[{"id": "1"}]')
    assert state_of(Answer(text="Yes", finish="length", beside=no), "Yes") == "refused"
    assert (
        state_of(Answer(text="Yes", finish="stop", beside=Beside(reasoning="Hm", refusal=" ")), "Yes") == "whole"
    )
    assert state_of(Answer(text="", finish="length"), None) == "cut"
    # scores of choices are complete whatever a server says of what it wrote beside them
    assert state_of(Answer(logprobs=(-1.0, -2.0), finish="length"), "a") == "whole"
    assert status_of(None, None, settled=False) == "not_asked"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>Hm.</think> Yes", " Yes"),
        ("Hm.</think>Yes", "Yes"),
        ("<think>Hm, yes", None),
        ("<thinking>a</thinking>Yes", "Yes"),
        ("<THINK>Hm", None),
        ("[THINK]a[/THINK]Yes", "Yes"),
        ("◁think▷yes", None),
        ("<|channel|>analysis<|message|>yes", None),
        ("<|channel|>analysis<|message|>no<|end|><|start|>assistant<|channel|>final<|message|>Yes", "Yes"),
        ("Yes", "Yes"),
    ],
)
def test_thoughts(text: str, answer: str | None) -> None:
    assert without_thought(text) == answer
    assert is_open(text) == (answer is None)


YES_NO = (("entailment", "not_entailment"), ("Yes", "No"))
TEN = (tuple(map(str, range(1, 11))), ())
LONG = (("true", "true but misleading", "false"), ())


@pytest.mark.parametrize(
    ("text", "asked", "settled"),
    [
        ("Yes", YES_NO, True),
        ("Yes, becau", YES_NO, True),
        ("Yes, because n", YES_NO, True),  # the beginning is set off: what follows does not matter
        ("So I would say yes, or perhaps n", YES_NO, False),
        ("Yes. <think>But", YES_NO, False),
        ("1", TEN, False),
        ("The answer is 1", TEN, False),
        ("10", TEN, True),
        ("1.", TEN, True),
        ("7", TEN, True),
        ("true", LONG, False),
        ("true but", LONG, False),
        ("true ", LONG, False),
        ("false", LONG, True),
        ("true but misleading", LONG, True),
    ],
)
def test_a_label_that_was_cut_short_is_none(text: str, asked: Any, settled: bool) -> None:
    choices, words = asked
    label = read_label(text, choices, words)
    assert label is not None
    assert is_settled(text, label, choices, words) == settled


def asked(*answers: Answer, choices: tuple[str, ...] = ("yes", "no"), **options: Any) -> pl.DataFrame:
    items = tuple(
        Item(f"i{n}", "own", "variant" if n else "original", {"text": f"t{n}"}, choices, ("yes",))
        for n in range(len(answers))
    )
    group = Group("g", "own", "own", "semantic", "same", items)
    found = {(item.id, 0): answer for item, answer in zip(items, answers, strict=True)}
    return table_of([group], found, {}, model="m", method="generate", **options)


def test_the_table_says_what_became_of_answers() -> None:
    frame = asked(
        Answer(text="yes"),
        Answer(text="Yes, becau", finish="length"),
        Answer(text="Well, as to that", finish="length"),
        Answer(text="", finish="MAX_TOKENS"),
        Answer(text="", finish="stop"),
        Answer(text="yes", finish="content_filter"),
        Answer(error="500"),
        Answer(text="<think>yes", finish="length"),
        Answer(text="<think>yes</think>", finish="length"),
    )
    assert frame["status"].to_list() == [
        "answered", "cut_read", "cut", "cut", "empty", "refused", "failed", "cut", "cut",
    ]  # fmt: skip
    assert frame["label"].to_list() == ["yes", "yes", *[None] * 7]


def test_free_text_that_was_cut_is_no_answer_unless_asked() -> None:
    answers = (
        Answer(text="Paris is the", finish="length"),
        Answer(text="", finish="length"),
        Answer(text="Paris"),
    )
    frame = asked(*answers, choices=())
    assert frame["status"].to_list() == ["cut", "cut", "answered"]
    assert frame["label"].to_list() == [None, None, "Paris"]
    assert frame["right"].to_list()[:2] == [None, None]
    kept = asked(*answers, choices=(), cut="keep")
    assert kept["status"].to_list() == ["cut_read", "unreadable", "answered"]
    assert kept["label"].to_list() == ["Paris is the", None, "Paris"]


def test_keep_takes_what_a_label_task_says() -> None:
    frame = asked(
        Answer(text="1", finish="length"), Answer(text="hm", finish="length"), choices=TEN[0], cut="keep"
    )
    assert frame["status"].to_list() == ["cut_read", "unreadable"]
    assert frame["label"].to_list() == ["1", None]


def rows(statuses: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {"group": group, "kind": "semantic", "role": "variant" if n else "original", "label": "a", "gold": "a",
         "status": status}
        for group, found in statuses.items()
        for n, status in enumerate(found)
    ]  # fmt: skip


def test_counts_of_groups_add_up() -> None:
    table = rows(
        {
            "whole": ["answered", "answered"],
            "read": ["answered", "cut_read"],
            "cut": ["answered", "cut"],
            "refused": ["cut", "refused"],
            "failed": ["failed", "refused"],
            "not asked": ["not_asked", "answered"],
            "cut, not asked": ["not_asked", "cut"],
        }
    )
    for score in unwaver.score(table):
        assert score.counted + score.not_applicable + sum(getattr(score, why) for why in MISSING) == 7
        assert (score.failed, score.refused, score.cut, score.not_asked, score.cut_read) == (1, 1, 2, 1, 1)
        assert score.missing == 5
    result = unwaver.score(table)
    assert result.missing == 5
    assert result.find("tau").counted == 2
    assert result.find("tau").accuracy == 1.0
    assert "cut, read" in str(result)
    assert "2 groups were not scored: an answer was cut at its token limit" in str(result)
    assert "the service refused an answer" in str(result)
    kept = unwaver.score(table, cut="keep")
    assert (kept.find("tau").cut, kept.find("tau").cut_read, kept.find("tau").counted) == (0, 4, 3)
    with pytest.raises(UsageError, match="cut="):
        unwaver.score(table, cut="maybe")  # type: ignore[arg-type]


def test_all_cut_is_nothing_measured() -> None:
    table = rows({f"g{n}": ["cut", "cut"] for n in range(3)})
    result = unwaver.score(table)
    assert result.find("tau").value is None
    assert result.find("tau").accuracy is None
    assert result.missing == 3
    buckets = [{**row, "kind": "paraphrase", "role": "variant"} for row in table]
    assert all(score.value is None or score.metric.startswith("P_C_floor") for score in unwaver.score(buckets))
    assert score_frame(complete(buckets)), "a bucket without any answer still has its counts"
