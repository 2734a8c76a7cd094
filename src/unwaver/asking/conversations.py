"""Requests of items that are conversations."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.groups.conversations import plain_text
from unwaver.tasks import is_open
from unwaver.types import Item, Model, Request


def request(item: Item, model: Model, words: Sequence[str]) -> Request:
    """The messages as they are, without a template and without solved examples."""
    text = plain_text(item.messages)
    writes = is_open(item) and "prompt" in model.reads
    return Request(
        task=item.task,
        segments=(text,) if "segments" in model.reads else (),
        prompt=text if "prompt" in model.reads else "",
        choices=() if writes else item.choices,
        words=() if writes else tuple(words),
        item=item.id,
        accepted=item.accepted if "accepted" in model.reads else (),
        messages=item.messages,
        tools=item.tools,
        response_format=item.response_format,
    )


def key_part(request: Request) -> dict[str, object]:
    """What the key of an answer has of a conversation, without what is empty."""
    messages = [[m.role, m.text, m.tool_calls, m.call] for m in request.messages]
    found = {"messages": messages, "tools": request.tools, "response_format": request.response_format}
    return {name: value for name, value in found.items() if value}


def shown(item: Item) -> dict[str, object]:
    """What a person or another tool needs to answer it."""
    text = plain_text(item.messages)
    return {"segments": (text,), "prompt": text}
