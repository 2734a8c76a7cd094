"""Why an answer in another tool's log ended, as a status of the table."""

from __future__ import annotations

from unwaver.state import Status, status_of
from unwaver.types import Answer


def log_status(finish: str, label: str | None, *, settled: bool = False) -> Status:
    """Of an answer in another tool's log, which has a text: "max_tokens" -> cut, "content_filter" -> refused."""
    status = status_of(Answer(text=label or "", finish=finish), label, settled=settled)
    return "unreadable" if label is None and status == "empty" else status  # there may be a text without a label
