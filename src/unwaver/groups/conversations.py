"""Items that are conversations: how they are made, read from OpenAI's format, and shown as texts.

messages_from_json([{"role": "user", "content": "Is it late?"}], where) -> (Message("user", "Is it late?"),)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from unwaver.errors import DataError, near
from unwaver.files import Where, shown
from unwaver.types import Group, Item, Message, Request, Role, Speaker

ANSWER_OF = re.compile(r"\{answer of ([^{}\n]+)\}")
SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
_SAME_AS: Mapping[str, Speaker] = {"developer": "system"}  # OpenAI's newer name
_KEYS = ("role", "content", "tool_calls", "tool_call_id")


def conversation(
    id: str,
    task: str,
    role: Role,
    messages: Sequence[Message],
    *,
    choices: Sequence[str] = (),
    accepted: Sequence[str] = (),
    **more: Any,
) -> Item:
    """An item that asks with messages; its fields are their texts. `more` are other fields of Item."""
    return Item(
        id, task, role, fields_of(messages), tuple(choices), tuple(accepted), messages=tuple(messages), **more
    )


def fields_of(messages: Sequence[Message]) -> dict[str, str]:
    """The texts by speaker: {"system": …, "user": …, "assistant": …, "user_2": …}."""
    return dict(zip(names_of(messages), map(said, messages), strict=True))


def names_of(messages: Sequence[Message]) -> list[str]:
    """user, assistant, user -> ["user", "assistant", "user_2"]."""
    seen: dict[str, int] = {}
    names = []
    for message in messages:
        number = seen[message.role] = seen.get(message.role, 0) + 1
        names.append(message.role if number == 1 else f"{message.role}_{number}")
    return names


def said(message: Message) -> str:
    """The text, and after it the calls of tools."""
    return "\n".join(part for part in (message.text, message.tool_calls) if part)


def last_of_user(messages: Sequence[Message]) -> str:
    """The name of the message that variants change if they are not told which."""
    names = [name for name, m in zip(names_of(messages), messages, strict=True) if m.role == "user"]
    return names[-1]


def with_messages(item: Item, messages: tuple[Message, ...]) -> Item:
    """The item as this conversation."""
    return replace(item, fields=fields_of(messages), messages=messages)


def changed_message(messages: Sequence[Message], name: str | None = None) -> str | None:
    """The message that variants change, by its name: `name`, or the last of the user. None if there is no such."""
    if not name:
        return last_of_user(messages)
    return name if name in names_of(messages) else None


def with_fields(item: Item, fields: Mapping[str, str]) -> Item:
    """The item with other texts; those of a conversation are put into its messages."""
    if not item.messages:
        return replace(item, fields=fields)
    before = fields_of(item.messages)
    messages = tuple(
        message if fields[name] == before[name] else replace(message, text=fields[name])
        for name, message in zip(names_of(item.messages), item.messages, strict=True)
    )
    return replace(item, fields=fields_of(messages), messages=messages)


# --- as plain text ----------------------------------------------------------------------------------------------


def plain_text(messages: Sequence[Message]) -> str:
    """For models that read one text. One question, alone or after a system text, is asked as it is;
    a longer conversation is a script that ends in "Assistant:"."""
    if [m.role for m in messages] in (["user"], ["system", "user"]):
        return "\n\n".join(map(said, messages))
    return "\n\n".join([*(f"{m.role.capitalize()}: {said(m)}" for m in messages), "Assistant:"])


def question_of(item: Item) -> str:
    """What is asked, as one text: for judges and other readers of the answer."""
    if item.messages:
        return plain_text(item.messages).removesuffix("\n\nAssistant:")
    return "\n".join(item.fields.values())


# --- as models get them -----------------------------------------------------------------------------------------


def sent(request: Request, system: object = None) -> list[dict[str, Any]]:
    """The messages of a request, or its prompt as the only one. `system` is a text for all requests: it comes
    first unless the conversation has a system message of its own."""
    found = messages_to_json(request.messages) or [{"role": "user", "content": request.prompt}]
    if system is not None and not has_system(request):
        found.insert(0, {"role": "system", "content": str(system)})
    return found


def prompt_after(request: Request, system: str | None) -> str:
    """The same as one text, for models without roles."""
    return request.prompt if not system or has_system(request) else f"{system}\n\n{request.prompt}"


def has_system(request: Request) -> bool:
    return any(m.role == "system" for m in request.messages)


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each system text moved to the beginning of the next message of the user, or to the end of the last one."""
    kept: list[dict[str, Any]] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "system":
            waiting.append(message["content"])
            continue
        if message["role"] == "user" and waiting:
            message = {**message, "content": "\n\n".join([*waiting, message["content"]])}
            waiting = []
        kept.append(dict(message))
    if waiting:
        last = max((n for n, m in enumerate(kept) if m["role"] == "user"), default=None)
        if last is None:
            return [{"role": "user", "content": "\n\n".join(waiting)}, *kept]
        kept[last]["content"] = "\n\n".join([kept[last]["content"], *waiting])
    return kept


# --- answers that messages hold ---------------------------------------------------------------------------------


def awaited(item: Item) -> list[str]:
    """The items whose answers stand in the messages, each once."""
    return list(dict.fromkeys(id for m in item.messages for id in ANSWER_OF.findall(m.text)))


def filled(messages: Sequence[Message], answers: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages with answers in place of {answer of ITEM}; an answer is never read as a template."""

    def text_of(found: re.Match[str]) -> str:
        return answers[found[1]]

    return tuple(replace(m, text=ANSWER_OF.sub(text_of, m.text)) if "{" in m.text else m for m in messages)


def shown_fields(item: Item) -> Mapping[str, str]:
    """The texts for people: an answer that a message holds is named in words."""
    if not item.messages or not awaited(item):
        return item.fields
    return {name: ANSWER_OF.sub("(its own answer)", text) for name, text in item.fields.items()}


def check_awaited(group: Group, where: Where | None = None) -> None:
    """Refuse {answer of ITEM} unless ITEM stands before it in the group."""
    before: list[str] = []
    for item in group.items:
        for id in awaited(item) if item.messages else ():
            if id not in before:
                what = f"{{answer of {id}}}: there is no item with this id before {shown(item.id)} in its group"
                hint = f"the items before it: {', '.join(before)}" if before else "put that item before it"
                raise where.error(what, hint) if where else DataError(what, hint=hint)
        before.append(item.id)


# --- as JSON, in OpenAI's form ----------------------------------------------------------------------------------


def to_json(item: Item) -> dict[str, Any]:
    """What an item has beside its fields, as group_from_json reads it."""
    return {
        **({"messages": messages_to_json(item.messages)} if item.messages else {}),
        **({"tools": json.loads(item.tools)} if item.tools else {}),
        **({"response_format": json.loads(item.response_format)} if item.response_format else {}),
    }


def messages_to_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """As services and chat templates read them."""
    return [
        {
            "role": m.role,
            "content": m.text,
            **({"tool_calls": json.loads(m.tool_calls)} if m.tool_calls else {}),
            **({"tool_call_id": m.call} if m.call else {}),
        }
        for m in messages
    ]


def compact(value: object) -> str:
    """JSON as items hold it: keys stay in their order, since a model may see it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def messages_from_json(value: object, where: Where) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        hint = 'write "messages": [{"role": "user", "content": "…"}]'
        raise where.error(f'"messages": found {shown(value)}, expected a list of messages', hint)
    messages = tuple(_message(each, n, where) for n, each in enumerate(value))
    check_order(messages, where)
    return messages


def check_order(messages: Sequence[Message], where: Where) -> None:
    """A conversation has a question and ends where the model speaks."""
    if not any(m.role == "user" for m in messages):
        raise where.error('"messages": none of them is by the user', 'add {"role": "user", "content": "…"}')
    if messages[-1].role == "assistant":
        hint = 'remove it: the model writes it; a right answer belongs in "accepted" or "answer"'
        raise where.error('"messages": the last one is by the assistant', hint)


def _message(record: object, number: int, where: Where) -> Message:
    place = f'"messages"[{number}]'
    if not isinstance(record, Mapping):
        hint = 'write {"role": "user", "content": "…"}'
        raise where.error(f"{place}: found {shown(record)}, expected an object", hint)
    for key in record:
        if key not in _KEYS:
            raise where.error(f'{place}: "{key}" is not sent to models', f"remove it; {near(str(key), _KEYS)}")
    role = _speaker(record.get("role"), place, where)
    calls = record.get("tool_calls")
    if calls is not None and (role != "assistant" or not isinstance(calls, list)):
        hint = "only a message of the assistant has tool_calls, as a list"
        raise where.error(f'{place} "tool_calls": found {shown(calls)} in a message of the {role}', hint)
    call = record.get("tool_call_id", "")
    if not isinstance(call, str) or (role == "tool") != bool(call):
        hint = 'write "tool_call_id": "…" in each message of a tool, and in no other'
        raise where.error(f'{place} "tool_call_id": found {shown(call)} in a message of the {role}', hint)
    content = record.get("content")
    text = "" if content is None and calls else _content(content, place, where)
    return Message(role, text, compact(calls) if calls else "", call)


def _speaker(value: object, place: str, where: Where) -> Speaker:
    named = _SAME_AS.get(value, value) if isinstance(value, str) else value
    for role in SPEAKERS:
        if role == named:
            return role
    raise where.error(
        f'{place} "role": found {shown(value)}, expected one of {", ".join(SPEAKERS)}', near(str(value), SPEAKERS)
    )


def _content(value: object, place: str, where: Where) -> str:
    """A text, or the texts of a list of parts, one a line."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        hint = 'write "content": "…"'
        raise where.error(f'{place} "content": found {shown(value)}, expected text or a list of text parts', hint)
    return "\n".join(_parts(value, place, where))


def _parts(parts: Sequence[object], place: str, where: Where) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
            yield part["text"]
            continue
        kind = part.get("type") if isinstance(part, Mapping) else part
        hint = 'unwaver sends texts only: leave this item out, or write {"type": "text", "text": "…"}'
        raise where.error(f'{place} "content": found a part of type {shown(kind)}', hint)


def tools_from_json(value: object, where: Where) -> str:
    """ "" if there are none."""
    if value is None:
        return ""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        hint = 'write "tools": [{"type": "function", "function": {"name": "…", "parameters": {…}}}]'
        raise where.error(f'"tools": found {shown(value)}, expected a list of tools', hint)
    return compact(value) if value else ""


def format_from_json(value: object, where: Where) -> str:
    """ "" if there is none."""
    if value is None:
        return ""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        hint = 'write "response_format": {"type": "json_object"}, or one of type json_schema with its schema'
        raise where.error(f'"response_format": found {shown(value)}, expected an object with a type', hint)
    return compact(value)
