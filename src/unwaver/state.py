"""The state of an answer: the one place that decides whether something is an answer at all.

    failed      the call failed for good
    refused     the service says that it gave no answer (content_filter, SAFETY …, or a refusal in the message)
    tool_call   the model called a tool instead of answering (calls in the message, or tool_use … and no text);
                where tools are offered, a call is an answer
    cut         the text ended at a token limit (length, max_tokens, model_length, MAX_TOKENS …)
    empty       nothing is written, and the model ended by itself
    unreadable  something is written, but no answer can be read from it
    whole       an answer

The first that holds decides. `status_of` makes of it what the table holds, under the same name; only a cut answer
has two: it counts (`cut_read`) if one label can be read from it whatever might have followed, or on request
(`--cut keep`); else it is missing, like a call that failed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, get_args

from unwaver.types import Answer

State = Literal["failed", "refused", "tool_call", "cut", "empty", "unreadable", "whole"]
Status = Literal[
    "answered", "cut_read", "unreadable", "empty", "tool_call", "cut", "refused", "failed", "not_asked",
    "not_needed",
]  # fmt: skip
CutMode = Literal["exclude", "keep"]

STATUSES: tuple[Status, ...] = get_args(Status)
# the model ended by itself, and nothing can be read: satisfies no relation, is wrong
UNREADABLE: tuple[Status, ...] = ("unreadable", "empty", "tool_call")
# there is no answer: it is compared with nothing, and its group is not scored
NO_ANSWER: frozenset[str] = frozenset({"cut", "refused", "failed", "not_asked", "not_needed"})
# nothing that could be put into a later message: what holds such an answer is not asked, and has its status
NOTHING_SAID: tuple[Status, ...] = ("empty", "tool_call")
HOLDS_NOTHING: frozenset[str] = NO_ANSWER.union(NOTHING_SAID)
# why a group is not scored, the first that holds; Score, Block and Check count each under its name
MISSING = ("failed", "refused", "cut", "not_asked")
# further columns of tables, where any score has something in them
COUNTS = (
    "base_accuracy", "base_f1",  # shares
    "answered_wrong", "too_few",  # why fooling rates do not apply
    # groups with such an answer
    "unreadable", "empty", "tool_call", "cut_read", "cut", "refused", "failed", "not_asked", "truncated",
    "partial",
)  # fmt: skip

# words that servers and other tools have for why a text ended, in small letters
_CUT = {
    "length", "max_tokens", "max_token", "max_length", "max_new_tokens", "max_output_tokens",
    "max_completion_tokens", "max_tokens_reached", "model_length", "model_context_window_exceeded",
    "context_length", "context_length_exceeded", "context_window_exceeded", "token_limit", "token_limit_reached",
    "incomplete", "truncated", "error_limit",
}  # fmt: skip
_REFUSED = {
    "content_filter", "content_filtered", "content_filtering", "refusal", "refused", "safety", "image_safety",
    "recitation", "blocklist", "blocked", "prohibited_content", "spii", "guardrail_intervened", "guardrails",
    "error_toxic", "moderation",
}  # fmt: skip
_TOOL_CALL = {"tool_calls", "tool_call", "tool_use", "function_call"}


@lru_cache(maxsize=1024)
def word_of(finish: str) -> str:
    """ "MAX_TOKENS", "FinishReason.MAX_TOKENS", "max-tokens", "maxTokens" -> "max_tokens"."""
    last = finish.strip().rpartition(".")[2]
    parted = last if last.isupper() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last)
    return re.sub(r"[\s-]+", "_", parted).lower()


def is_cut(finish: str) -> bool:
    return word_of(finish) in _CUT


def is_refused(finish: str) -> bool:
    return word_of(finish) in _REFUSED


def state_of(answer: Answer, label: str | None) -> State:
    """The state of an answer from which `label` was read (None: none could be).

    Answer(text="", finish="length") -> "cut"; Answer(text="", finish="stop") -> "empty"
    """
    if answer.error is not None:
        return "failed"
    if is_refused(answer.finish) or (answer.beside and answer.beside.refusal.strip()):
        return "refused"
    if answer.text is not None:  # scores of choices are never cut
        blank = not answer.text.strip()
        if answer.beside and answer.beside.tool_calls and (label is None or not is_cut(answer.finish)):
            return "tool_call" if label is None else "whole"
        if blank and word_of(answer.finish) in _TOOL_CALL:
            return "tool_call"
        if is_cut(answer.finish):
            return "cut"
        if blank:
            return "empty"
    return "unreadable" if label is None else "whole"


_STATUS: dict[State, Status] = {
    "failed": "failed",
    "refused": "refused",
    "tool_call": "tool_call",
    "cut": "cut",
    "empty": "empty",
    "unreadable": "unreadable",
    "whole": "answered",
}


def status_of(answer: Answer | None, label: str | None, *, settled: bool, cut: CutMode = "exclude") -> Status:
    """What the table says of an answer. `settled`: nothing that might have followed would change the label."""
    if answer is None:
        return "not_asked"
    state = state_of(answer, label)
    return _cut_status(label, settled=settled, cut=cut) if state == "cut" else _STATUS[state]


def _cut_status(label: str | None, *, settled: bool, cut: CutMode = "exclude") -> Status:
    """Of a cut answer: "Yes, becau" -> cut_read; "" -> cut; with "keep" what the text says, or unreadable."""
    if label is not None and (settled or cut == "keep"):
        return "cut_read"
    return "unreadable" if cut == "keep" else "cut"
