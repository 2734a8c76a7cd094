"""What a request says of its answer beyond the settings of the model: how long it may be, and in what structure.

Structured output (`response_format` with a JSON schema) is asked for until the server refuses it; from then on the
model answers in plain text, which whoever asked has to be able to read, too. The `response_format` and the tools
of an item are what is measured: they are always sent.
"""

from __future__ import annotations

import json
import re

from unwaver.models.limits import LIMITS
from unwaver.types import Request

_ABOUT_SCHEMA = re.compile(r"response.?format|json.?schema|structured|\bschema\b|\bgrammar\b", re.IGNORECASE)


def shaped(body: dict[str, object], request: Request, *, plain: bool, thoughts: int = 0) -> dict[str, object]:
    """The body with the limit of the request, and room for thoughts before it, and its temperature in place of the
    model's; and with its schema unless `plain`."""
    if request.limit is not None:
        body |= {name: request.limit + thoughts for name in LIMITS if name in body}
    if request.temperature is not None and "temperature" in body:
        body["temperature"] = request.temperature
    if request.schema and not plain and "response_format" not in body:
        schema = {"name": request.task or "answer", "strict": True, "schema": json.loads(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.response_format:
        body["response_format"] = json.loads(request.response_format)
    if request.tools:
        body["tools"] = json.loads(request.tools)
    return body


def refuses_schema(message: str) -> bool:
    """Whether a refusal is about structured output: "response_format is not supported" -> True."""
    return _ABOUT_SCHEMA.search(message) is not None
