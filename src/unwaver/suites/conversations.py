"""Rows of a file that are conversations: with `messages`, or with a system text beside the question.

{"messages": [{"role": "user", "content": "Is it late?"}], "answer": "yes"}

system,question
Be brief.,Is it late?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unwaver.files import Row, shown
from unwaver.groups.conversations import (
    awaited,
    changed_message,
    fields_of,
    format_from_json,
    messages_from_json,
    names_of,
    tools_from_json,
)
from unwaver.types import Item, Message, replace

MESSAGES = "messages"
SYSTEM = ("system", "system_prompt", "system_message")
_MORE = ("tools", "response_format")


@dataclass(frozen=True)
class Spoken:
    """How rows are read: `system` is the column with system texts, `message` what variants change."""

    system: str | None
    message: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        return (MESSAGES, *([self.system] if self.system else ()), *_MORE)

    def messages(self, row: Row, column: str) -> tuple[Message, ...]:
        """() if there is no question in the row."""
        before = system_of(row, self.system)
        if (given := row.cells.get(MESSAGES)) not in (None, ""):
            found = messages_from_json(given, row.where)
            if ids := awaited(Item("", "", "original", {}, messages=found)):
                hint = "write both items in one group, as a line of groups.jsonl"
                raise row.where.error(f"{{answer of {ids[0]}}}: a row is asked alone, without other items", hint)
            if before and any(m.role == "system" for m in found):
                hint = "leave one of them out"
                raise row.where.error(f'found a system message, and "{self.system}" beside the messages', hint)
            return (*before, *found)
        question = row.cells.get(column)
        if not isinstance(question, str) or not question.strip():
            return ()
        return (*before, Message("user", question.strip()))

    def changed(self, row: Row, messages: Sequence[Message]) -> str:
        """The text that variants change."""
        name = changed_message(messages, self.message)
        if name is None:
            listed = ", ".join(names_of(messages))
            raise row.where.error(
                f"there is no message {shown(self.message)}", f"--message takes one of: {listed}"
            )
        return fields_of(messages)[name]

    def item(self, row: Row, item: Item, messages: tuple[Message, ...]) -> Item:
        return replace(
            item,
            fields=fields_of(messages),
            messages=messages,
            tools=tools_from_json(row.cells.get("tools"), row.where),
            response_format=format_from_json(row.cells.get("response_format"), row.where),
        )

    def notes(self, labels: Sequence[str]) -> Iterator[str]:
        changed = f'the message "{self.message}"' if self.message else "the last message of the user"
        yield f"conversations are sent as they are; variants change {changed}"
        if labels:
            listed = ", ".join(labels)
            yield f"nothing is added that lists the labels ({listed}): the conversations must ask for them"


def system_of(row: Row, column: str | None) -> tuple[Message, ...]:
    """The system text of a row as a message, () if it has none."""
    text = row.cells.get(column) if column else None
    if text is None or (isinstance(text, str) and not text.strip()):
        return ()
    if not isinstance(text, str):
        raise row.where.error(
            f'column "{column}": found {shown(text)}, expected text', "write it in double quotes"
        )
    return (Message("system", text),)
