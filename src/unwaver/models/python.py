"""Any callable as a model: `python/module:function`.

    def function(requests: list[dict]) -> list:
        return ["neutral" for request in requests]

Each dict has `id, task, segments, prompt, choices, replicate, messages`, and `tools` and `response_format` where
they are asked for; `messages` are in OpenAI's form, and `prompt` has a conversation as plain text. Each result is
a label or a text, or a dict with `label` (name or number) or `text`, and if there are any `probs`, one for each
choice, or with `tool_calls` in OpenAI's form; None is a failed call.

A function of one prompt, `def answer(prompt: str) -> str`, a function of one conversation, `def answer(messages)`,
and `async` functions of any kind are models, too: see unwaver.models.functions.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from unwaver.answers.calls import with_calls
from unwaver.answers.labels import match_label
from unwaver.errors import ModelError, UsageError, near
from unwaver.groups.conversations import sent
from unwaver.models.predictions import log_probabilities
from unwaver.types import Answer, Batch, Request

CONCURRENCY = 8  # calls of an asynchronous function at a time
MESSAGES = "messages"  # a function whose argument is called so gets one conversation
SOON = 1.0  # seconds after which answers of single calls are handed on


class PythonModel:
    method = "python"
    reads = ("segments", "prompt", "choices")
    takes = ("tools", "response_format")

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        identity: str,
        batch: int = 64,
        deterministic: bool = False,
        *,
        per_item: bool = False,
        concurrency: int = CONCURRENCY,
        advice: str = "",
    ):
        self.name = name
        self.identity = identity
        self.settings: Mapping[str, object] = {}
        self.deterministic = deterministic
        self._function = function
        self._batch = batch
        self._per_item = per_item
        self._takes_messages = per_item and first_parameter(function) == MESSAGES
        self._advice = advice  # where nothing says what the function takes
        if per_item and is_async(function):
            self.concurrency = concurrency

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
        if not self._per_item:
            yield from self._in_batches(requests)
        elif is_async(self._function):
            yield from self._at_once(requests)
        else:
            yield from self._one_by_one(requests)

    def _in_batches(self, requests: Sequence[Request]) -> Iterator[Batch]:
        for start in range(0, len(requests), self._batch):
            part = requests[start : start + self._batch]
            results = self._call([_as_dict(r) for r in part])
            if len(results) != len(part):
                raise ModelError(
                    f"{self.name} gave {len(results)} results for {len(part)} requests",
                    hint="it must return one result for each request, in their order",
                )
            yield [
                (start + i, self._answer(result, request))
                for i, (result, request) in enumerate(zip(results, part, strict=True))
            ]

    def _one_by_one(self, requests: Sequence[Request]) -> Iterator[Batch]:
        """Handed on in batches, but soon: every batch is written to the disk."""
        done: Batch = []
        began = time.monotonic()
        for index, request in enumerate(requests):
            try:
                result = _waited(self._function(self._shown(request)))
            except (Exception, SystemExit) as e:
                raise self._failed(e, 1) from e
            done.append((index, self._answer(result, request)))
            if len(done) == self._batch or time.monotonic() - began >= SOON:
                yield done
                done, began = [], time.monotonic()
        if done:
            yield done

    def _at_once(self, requests: Sequence[Request]) -> Iterator[Batch]:
        from unwaver.models.event_loop import as_completed

        arriving = as_completed(
            lambda i: self._function(self._shown(requests[i])), len(requests), self.concurrency
        )
        with closing(arriving):
            for index, result, error in arriving:
                if error is not None:
                    raise self._failed(error, 1) from error
                yield [(index, self._answer(result, requests[index]))]

    def _shown(self, request: Request) -> str | list[dict[str, Any]]:
        """What a function of one request gets."""
        return sent(request) if self._takes_messages else request.prompt

    def close(self) -> None:
        pass

    def _call(self, asked: list[dict[str, Any]]) -> list[Any]:
        try:
            results = _waited(self._function(asked))
            if isinstance(results, str | bytes | Mapping) or results is None:
                raise TypeError(f"a list of results was expected, not {type(results).__name__}")
            return list(results)
        except (Exception, SystemExit) as e:
            raise self._failed(e, len(asked)) from e

    def _failed(self, error: BaseException, requests: int) -> ModelError:
        if isinstance(error, MemoryError):
            hint = "smaller batches need less: --model-arg batch=8; or --limit"
            return ModelError(f"{self.name} ran out of memory with {requests} requests: {error}", hint=hint)
        place = _where(error) or ("" if self._per_item else "it must return a list, one result for each request")
        hint = "; ".join(part for part in (place, self._advice) if part)
        told = f"{self.name} failed: {type(error).__name__}: {error}".partition("\nhint: ")[0]
        return ModelError(told[:500], hint=hint or None)

    def _answer(self, result: object, request: Request) -> Answer:
        if result is None:
            return Answer(error="the function gave None")
        if isinstance(result, str):
            return Answer(text=result)
        try:
            if isinstance(result, Mapping):
                if "tool_calls" in result:
                    return with_calls(result["tool_calls"], result.get("text"))
                return _from_mapping(result, request.choices)
            raise ValueError(f"a result must be text or a dict, found {type(result).__name__}")
        except ValueError as e:
            asked = request.item or " ".join(request.segments)[:60]
            hint = 'a result is a text, {"label": …} or {"text": …}, if you like with "probs"'
            raise ModelError(f"{self.name}, item {asked!r}: {e}", hint=hint) from None


def open_model(
    name: str,
    *,
    batch: int = 64,
    cache: bool = True,
    deterministic: bool = False,
    per_item: bool | None = None,
    concurrency: int = CONCURRENCY,
) -> PythonModel:
    """The function `module:function`, called with at most `batch` requests at a time; with one prompt at a time if
    it is annotated so, or with `per_item`. Of an asynchronous one, at most `concurrency` calls run at once.

    `deterministic` declares that it always gives the same result for the same request: replicates are then one
    call, counted for each of them.

    The module is looked for in the current folder, too. Identity is a hash of the source of the function's
    file and of the module; what those import is not part of it. If there is no source, or with
    cache=False, the identity is "": the caller must store no answers.
    """
    from unwaver.models.functions import BOTH_WAYS, takes_one

    check_sizes(batch, concurrency)
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"{name!r} names no function", hint="python/module:function")
    module = _import(module_name)
    function: Any = module
    for part in attribute.split("."):
        if not hasattr(function, part):
            raise ModelError(f"{module_name} has no {attribute}", hint=near(part, _public(function)))
        function = getattr(function, part)
    if not callable(function):
        raise ModelError(f"{name} is not a function but {type(function).__name__}", hint="python/module:function")
    identity = _identity(name, module, function) if cache else ""
    each = takes_one(function) if per_item is None else per_item
    more: dict[str, Any] = {"concurrency": concurrency, "advice": "" if each is not None else BOTH_WAYS}
    return PythonModel(name, function, identity, batch, deterministic, per_item=bool(each), **more)


def check_sizes(batch: int, concurrency: int) -> None:
    for name, value in (("batch", batch), ("concurrency", concurrency)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, found {value}", hint="leave it out")


def is_async(function: Any) -> bool:
    """Also of a partial, a method, and an object with `async def __call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def first_parameter(function: Any) -> str:
    """The name of the first argument, "" if it cannot be told."""
    try:
        return next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):  # of a built-in
        return ""


def _waited(result: Any) -> Any:
    if not inspect.isawaitable(result):
        return result
    from unwaver.models.event_loop import wait_for

    return wait_for(result)


def _import(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name != name.split(".")[0] and e.name != name:
            raise ModelError(f"{name} cannot be imported: {e}", hint=_where(e)) from e
        raise ModelError(
            f"there is no module {name}", hint=f"looked in {here} and in the installed packages"
        ) from None
    except SyntaxError as e:
        hint = "correct it: the file is not Python"
        raise ModelError(
            f"{name} cannot be imported: SyntaxError: {e.msg}", file=e.filename, line=e.lineno, hint=hint
        ) from e
    except (Exception, SystemExit) as e:
        raise ModelError(f"{name} cannot be imported: {type(e).__name__}: {e}", hint=_where(e)) from e


def _public(owner: object) -> list[str]:
    return [n for n in dir(owner) if not n.startswith("_")]


_NOT_THEIRS = ("importlib", f"{os.sep}asyncio{os.sep}", f"{os.sep}concurrent{os.sep}futures")


def _where(error: BaseException) -> str | None:
    """The last place in the user's own code: "raised in classify.py:12"."""
    trace, place = error.__traceback__, None
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.parent != Path(__file__).parent and not any(name in str(file) for name in _NOT_THEIRS):
            place = f"raised in {file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _identity(name: str, module: object, function: object) -> str:
    inner: Any = inspect.unwrap(function) if inspect.isfunction(function) else function
    owner = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner)
    digest = hashlib.sha256()
    for source in (owner, module):
        try:
            file = inspect.getsourcefile(source)  # type: ignore[arg-type]
            digest.update(hashlib.sha256(Path(file or "").read_bytes()).digest())
        except (TypeError, OSError):
            return ""
    return f"python:{name} sha256:{digest.hexdigest()}"


def _as_dict(request: Request) -> dict[str, Any]:
    return {
        "id": request.item,
        "task": request.task,
        "segments": list(request.segments),
        "prompt": request.prompt,
        "choices": list(request.choices),
        "replicate": request.replicate,
        "messages": sent(request),
        **({"tools": json.loads(request.tools)} if request.tools else {}),
        **({"response_format": json.loads(request.response_format)} if request.response_format else {}),
    }


def _from_mapping(result: Mapping[str, Any], choices: Sequence[str]) -> Answer:
    label, text, probs = result.get("label"), result.get("text"), result.get("probs")
    if label is None and text is None and probs is None:
        raise ValueError(f"a result needs label, text or probs, found {', '.join(map(str, result)) or 'nothing'}")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"text must be text, found {type(text).__name__}")
    if probs is not None and not isinstance(probs, list | tuple):
        probs = [float(p) for p in probs]  # an array
    logprobs = () if probs is None else log_probabilities(probs, len(choices))
    return Answer(text=text if label is None else _label(label, choices), logprobs=logprobs)


def _label(label: object, choices: Sequence[str]) -> str:
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(choices):
        return choices[label]
    found = match_label(label, choices) if isinstance(label, str) and choices else label
    if not isinstance(found, str):
        raise ValueError(f"unknown label {label!r}; choices: {', '.join(choices)}")
    return found
