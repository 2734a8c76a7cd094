"""Items that are conversations: how they are made, read from OpenAI's format, and shown as texts.

messages_from_json([{"role": "user", "content": "Is it late?"}], where) -> (Message("user", "Is it late?"),)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec

from unwaver.errors import DataError, near
from unwaver.files import Where, shown
from unwaver.typed import Wrong, typed
from unwaver.types import Group, Item, Message, Request, Role, Speaker, replace

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


class Part(msgspec.Struct, frozen=True, gc=False):
    type: Literal["text"]
    text: str


class MessageRecord(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Annotated[tuple[Part, ...], msgspec.Meta(min_length=1)] | None = None
    tool_calls: list[Any] | None = None
    tool_call_id: str = ""


class Format(msgspec.Struct, frozen=True):
    type: str


_MESSAGE = '{"role": "user", "content": "…"}'
_ONLY_TEXTS = 'unwaver sends texts only: leave this item out, or write {"type": "text", "text": "…"}'
_TOOLS = 'write "tools": [{"type": "function", "function": {"name": "…", "parameters": {…}}}]'
_FORMAT = 'write "response_format": {"type": "json_object"}, or one of type json_schema with its schema'


def hint_of_message(wrong: Wrong, name: str) -> str:
    if name == "role":
        return near(str(wrong.found), SPEAKERS)
    if name == "type" or (name == "content" and isinstance(wrong.found, Mapping)):
        return _ONLY_TEXTS
    if "without" in wrong.expected:
        return f"remove it: models get {', '.join(_KEYS)}"
    return f'write "messages": [{_MESSAGE}]' if name == "messages" else f"write {_MESSAGE}"


def messages_from_json(value: object, where: Where) -> tuple[Message, ...]:
    def hint(wrong: Wrong) -> str:
        return hint_of_message(wrong, next(name for name in reversed(wrong.at.split(".")) if not name.isdecimal()))

    kind = Annotated[tuple[MessageRecord, ...], msgspec.Meta(min_length=1)]
    return messages_of(typed(kind, value, where, hint, "messages", halves=True, infinite=True), where)


def messages_of(records: Sequence[MessageRecord], where: Where) -> tuple[Message, ...]:
    messages = tuple([_message(each, n, where) for n, each in enumerate(records)])
    check_order(messages, where)
    return messages


def check_order(messages: Sequence[Message], where: Where) -> None:
    """A conversation has a question and ends where the model speaks."""
    if not any(m.role == "user" for m in messages):
        raise where.error('"messages": none of them is by the user', 'add {"role": "user", "content": "…"}')
    if messages[-1].role == "assistant":
        hint = 'remove it: the model writes it; a right answer belongs in "accepted" or "answer"'
        raise where.error('"messages": the last one is by the assistant', hint)


def _message(record: MessageRecord, number: int, where: Where) -> Message:
    role = _SAME_AS.get(record.role, record.role)
    calls, call, content = record.tool_calls, record.tool_call_id, record.content
    if calls is not None and role != "assistant":
        hint = "only a message of the assistant has tool_calls"
        raise where.error(f'"messages.{number}.tool_calls": found {shown(calls)} in a message of the {role}', hint)
    if (role == "tool") != bool(call):
        hint = 'write "tool_call_id": "…" in each message of a tool, and in no other'
        raise where.error(f'"messages.{number}.tool_call_id": found {shown(call)} in one of the {role}', hint)
    if content is None and not calls:
        hint = 'write "content": "…"'
        raise where.error(f'"messages.{number}.content": found null, expected a text', hint)
    text = content if isinstance(content, str) else "\n".join([part.text for part in content or ()])
    return Message(role, text, compact(calls) if calls else "", call)  # type: ignore[arg-type]


def tools_from_json(value: object, where: Where) -> str:
    """ "" if there are none."""
    found = typed(list[dict[str, Any]] | None, value, where, _TOOLS, "tools", halves=True, infinite=True)
    return compact(found) if found else ""


def format_from_json(value: object, where: Where) -> str:
    """ "" if there is none."""
    typed(Format | None, value, where, _FORMAT, "response_format", halves=True, infinite=True)
    return "" if value is None else compact(value)
