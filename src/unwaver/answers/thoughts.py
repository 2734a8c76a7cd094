"""Thoughts that models write before their answer: <think>…</think> and its kin.

    without_thought("<think>Hm.</think> Yes") -> " Yes"
    without_thought("<think>Hm, ye")          -> None: the answer never came
    is_open("Yes. <think>But")                -> True

The opening mark may be missing: some chat templates write it as the end of the prompt.
"""

from __future__ import annotations

import re

MARKS = frozenset("<[◁")  # a text without these holds no thought
_NAMES = r"(?:seed:|antml:)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad)"
_OPEN = re.compile(
    rf"<{_NAMES}>|\[think\]|◁think▷|<\|(?:begin_of_thought|thinking|start_thinking)\|>|"
    r"(?:<\|start\|>assistant)?<\|channel\|>\s*(?:analysis|commentary)\b",
    re.IGNORECASE,
)
_END = re.compile(
    rf"</{_NAMES}>|\[/think\]|◁/think▷|<\|(?:end_of_thought|/thinking|end_thinking)\|>|"
    r"<\|channel\|>\s*final\s*<\|message\|>",
    re.IGNORECASE,
)


def without_thought(text: str) -> str | None:
    """What follows the last thought; None if a thought has no end, as the answer never came."""
    after = _after(text)
    return None if after is text and _OPEN.match(text.lstrip()) else after


def is_open(text: str) -> bool:
    """Whether a thought begins that does not end, wherever that is: a text that was cut then says nothing."""
    return _OPEN.search(_after(text)) is not None


def _after(text: str) -> str:
    """The text after the last end of a thought; `text` itself if there is none."""
    end = None
    for end in _END.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    return text if end is None else text[end.end() :]
