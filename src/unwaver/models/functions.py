"""Functions of Python as models: what a function takes, and what it is called.

    def answer(prompt: str) -> str                    one prompt, one answer
    def answer(messages: list[dict]) -> str           one conversation, one answer; the name says so
    async def answer(prompt: str) -> str              the same, several at once
    def answer(requests: list[dict]) -> list          all at once: see unwaver.models.python

Which of them a function is follows from its annotations or from `per_item`. It is never called to find out: a call
may cost money.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from unwaver.errors import UsageError
from unwaver.models.python import CONCURRENCY, MESSAGES, PythonModel, check_sizes

BOTH_WAYS = (
    "for a function of one prompt, write def answer(prompt: str) -> str or add per_item=True; for a function of a "
    "list of requests, write def answer(requests: list[dict]) -> list or add per_item=False"
)
_TEXT = re.compile(r"(builtins\.)?str")
_MANY = re.compile(r"(\w+\.)*([Ll]ist|Sequence|Iterable|[Tt]uple|Iterator|Generator)\b.*", re.DOTALL)


def from_function(
    model: object,
    *,
    per_item: bool | None = None,
    identity: str | None = None,
    deterministic: bool = False,
    batch: int = 64,
    concurrency: int = CONCURRENCY,
) -> PythonModel:
    """A function, method or callable object as a model.

    unwaver cannot know whether a function has changed, so its answers are never taken from an earlier run, unless
    `identity` names its version.
    """
    if not callable(model) or inspect.isclass(model):
        hint = 'give "provider/name", a function, or an object with the attributes of unwaver.Model'
        raise UsageError(f"{model!r:.60} is not a model", hint=hint)
    name = name_of(model)
    check_sizes(batch, concurrency)
    each = takes_one(model) if per_item is None else per_item
    if each is None:
        raise UsageError(f"{name} does not say whether it takes one prompt or a list of requests", hint=BOTH_WAYS)
    check_call(model, name)
    known_as = "" if identity is None else f"python:{name} {identity}"
    return PythonModel(name, model, known_as, batch, deterministic, per_item=each, concurrency=concurrency)


def takes_one(function: Callable[..., Any]) -> bool | None:
    """Whether a function takes one prompt (True) or a list of requests (False); None if it does not say so.

    (prompt: str) -> True; (prompt) -> str: True; (requests: list[dict]) -> False; (requests) -> False; (x) -> None
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a built-in
        return None
    hints = _hints(function)
    first = next(iter(signature.parameters.values()), None)
    if first is None:
        return None
    if first.name == MESSAGES:
        return True
    for name, raw in ((first.name, first.annotation), ("return", signature.return_annotation)):
        found = _is_one(hints.get(name, raw))
        if found is not None:
            return found
    return False if first.name == "requests" else None


def _hints(function: Any) -> dict[str, Any]:
    """The annotations as types, where they can be had."""
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function)
    except Exception:  # an annotation may name anything
        return {}


def _is_one(annotation: Any) -> bool | None:
    if annotation is inspect.Parameter.empty or annotation is None:
        return None
    if isinstance(annotation, str):
        text = annotation.strip("\"' ")
        return True if _TEXT.fullmatch(text) else False if _MANY.fullmatch(text) else None
    origin = typing.get_origin(annotation) or annotation
    while hasattr(origin, "__supertype__"):  # NewType
        origin = origin.__supertype__
    if not isinstance(origin, type):
        return None
    if issubclass(origin, str):
        return True
    return False if issubclass(origin, Iterable) and not issubclass(origin, dict) else None


def check_call(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that cannot be called with one argument, before anything is asked."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind("")
    except TypeError as e:
        hint = "a function that answers takes one argument; functools.partial or a lambda binds the others"
        raise UsageError(f"{name} cannot be called with one argument: {e}", hint=hint) from None


def name_of(function: Any) -> str:
    """answer -> "answer", a method -> "Bot.reply", an object -> "Bot", partial(answer, depth=2) ->
    "answer(depth=2)", a lambda -> "lambda (line 12)"."""
    if isinstance(function, partial):
        bound = [f"{key}={value}" for key, value in function.keywords.items() if isinstance(value, int | float)]
        return name_of(function.func) + (f"({', '.join(bound)})" if bound else "")  # a text may be a key
    if inspect.ismethod(function):
        owner = function.__self__
        return f"{(owner if inspect.isclass(owner) else type(owner)).__name__}.{function.__name__}"
    name = str(getattr(function, "__name__", type(function).__name__))
    if name != "<lambda>":
        return name
    code = function.__code__
    file = Path(code.co_filename).name
    in_file = file.endswith(".py") and "ipykernel" not in code.co_filename
    return f"lambda ({f'{file}:' if in_file else 'line '}{code.co_firstlineno})"
