"""Requests as Inspect's model API takes them, and what it gives, in the form of an OpenAI reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unwaver.groups.conversations import sent
from unwaver.models.openai_replies import Fault
from unwaver.models.thinking import effort_room
from unwaver.types import Request


def given_to(request: Request, settings: Mapping[str, Any], top: object) -> dict[str, Any]:
    """The arguments of `generate`. `top`: the number of most likely tokens, if probabilities are asked for."""
    from inspect_ai.model import GenerateConfig

    temperature = settings["temperature"] if request.temperature is None else request.temperature
    config: dict[str, Any] = {"temperature": temperature, "max_retries": 0}
    if top is not None:
        config |= {"temperature": None if temperature is None else 0.0, "max_tokens": 1}
        config |= {"logprobs": True, "top_logprobs": top}
    else:
        most = settings["max_tokens"]
        if request.limit is not None:
            most = request.limit + effort_room(settings)
        config |= {"max_tokens": most, "stop_seqs": settings.get("stop"), "top_p": settings.get("top_p")}
        config["reasoning_effort"] = settings.get("reasoning_effort")
        if (budget := settings.get("thinking_budget")) is not None:
            config |= {"reasoning_tokens": budget, "max_tokens": None if most is None else most + budget}
        if settings.get("seed") is not None:
            config["seed"] = settings["seed"] + request.replicate
    if request.response_format and top is None:
        config["response_schema"] = _schema(json.loads(request.response_format))
    messages = [_message(message) for message in sent(request, settings["system"])]
    tools = [_tool(tool) for tool in json.loads(request.tools)] if request.tools and top is None else []
    return {"input": messages, "tools": tools, "config": GenerateConfig(**config), "cache": False}


def _message(message: Mapping[str, Any]) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    text = message.get("content") or ""
    if message["role"] == "system":
        return ChatMessageSystem(content=text)
    if message["role"] == "tool":
        return ChatMessageTool(content=text, tool_call_id=message.get("tool_call_id"))
    if message["role"] == "assistant":
        calls = [
            ToolCall(
                id=str(call.get("id") or "call"),
                function=call["function"]["name"],
                arguments=json.loads(call["function"].get("arguments") or "{}"),
            )
            for call in message.get("tool_calls") or ()
        ]
        return ChatMessageAssistant(content=text, tool_calls=calls or None)
    return ChatMessageUser(content=text)


def _tool(tool: Mapping[str, Any]) -> Any:
    """{"type": "function", "function": {"name": …, "parameters": …}}, as Inspect has it."""
    from inspect_ai.tool import ToolInfo, ToolParams

    function = tool.get("function") or {}
    schema = function.get("parameters") or {}
    try:
        parameters = ToolParams(
            **{key: schema[key] for key in ("properties", "required") if key in schema},
        )
        return ToolInfo(
            name=function["name"], description=function.get("description") or "", parameters=parameters
        )
    except (KeyError, ValueError) as e:
        raise Fault(f"Inspect does not take the tool: {e}", setup=True) from None


def _schema(form: Mapping[str, Any]) -> Any:
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    named = form.get("json_schema")
    if not isinstance(named, Mapping) or "schema" not in named:
        raise Fault("Inspect takes a response_format with a JSON schema only", setup=True)
    try:
        schema = JSONSchema.model_validate(named["schema"])
    except ValueError as e:
        raise Fault(f"Inspect does not take the schema of response_format: {e}", setup=True) from None
    return ResponseSchema(name=str(named.get("name") or "answer"), json_schema=schema, strict=named.get("strict"))


def as_reply(output: Any) -> dict[str, Any]:
    """What a model said, as a reply of OpenAI's, which unwaver takes apart with suspicion."""
    if output.error:
        raise Fault(f"the provider answered with an error: {output.error}")
    if not output.choices:
        raise Fault("the provider answered without choices", passing=True)
    choice = output.choices[0]
    content = choice.message.content
    parts = content if isinstance(content, list) else []
    thoughts = [part.reasoning for part in parts if part.type == "reasoning" and isinstance(part.reasoning, str)]
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.function, "arguments": json.dumps(c.arguments)}}
        for c in choice.message.tool_calls or ()
    ]
    message = {"content": choice.message.text, "reasoning_content": "\n".join(thoughts), "tool_calls": calls}
    reason = str(choice.stop_reason)
    finish = "length" if reason in ("max_tokens", "model_length") else reason
    return {
        "choices": [
            {
                "message": message,
                "finish_reason": finish,
                "logprobs": choice.logprobs.model_dump() if choice.logprobs else None,
            }
        ],
        "model": output.model,
        "usage": _usage(output.usage),
    }


def _usage(usage: Any) -> dict[str, Any] | None:
    if usage is None:
        return None
    cached = usage.input_tokens_cache_read or 0
    prompt = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
    counts: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": usage.output_tokens}
    counts["prompt_tokens_details"] = {"cached_tokens": cached}
    if usage.reasoning_tokens:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counts
