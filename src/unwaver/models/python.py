"""Any callable as a model: `python/module:function`.

    def function(requests: list[dict]) -> list:
        return ["neutral" for request in requests]

Each dict has `id, task, segments, prompt, choices, replicate`. Each result is a label or a text, or a dict with
`label` (name or number) or `text`, and if there are any `probs`, one for each choice; None is a failed call.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unwaver.answers.labels import match_label
from unwaver.errors import ModelError, UsageError, near
from unwaver.models.predictions import log_probabilities
from unwaver.types import Answer, Batch, Request

Function = Callable[[list[dict[str, Any]]], Any]


class PythonModel:
    method = "python"
    reads = ("segments", "prompt", "choices")

    def __init__(self, name: str, function: Function, identity: str, batch: int, deterministic: bool = False):
        self.name = name
        self.identity = identity
        self.settings: Mapping[str, object] = {}
        self.deterministic = deterministic
        self._function = function
        self._batch = batch

    def answer(self, requests: Sequence[Request]) -> Iterator[Batch]:
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

    def close(self) -> None:
        pass

    def _call(self, asked: list[dict[str, Any]]) -> list[Any]:
        try:
            results = self._function(asked)
            if isinstance(results, str | bytes | Mapping) or results is None:
                raise TypeError(f"a list of results was expected, not {type(results).__name__}")
            return list(results)
        except MemoryError as e:
            hint = "smaller batches need less: --model-arg batch=8; or --limit"
            raise ModelError(f"{self.name} ran out of memory with {len(asked)} requests: {e}", hint=hint) from e
        except (Exception, SystemExit) as e:
            hint = _where(e) or (
                "it must return a list, one result for each request; a function of one prompt is annotated: "
                "def answer(prompt: str) -> str"
            )
            raise ModelError(f"{self.name} failed: {type(e).__name__}: {e}"[:500], hint=hint) from e

    def _answer(self, result: object, request: Request) -> Answer:
        if result is None:
            return Answer(error="the function gave None")
        if isinstance(result, str):
            return Answer(text=result)
        try:
            if isinstance(result, Mapping):
                return _from_mapping(result, request.choices)
            raise ValueError(f"a result must be text or a dict, found {type(result).__name__}")
        except ValueError as e:
            asked = request.item or " ".join(request.segments)[:60]
            hint = 'a result is a text, {"label": …} or {"text": …}, if you like with "probs"'
            raise ModelError(f"{self.name}, item {asked!r}: {e}", hint=hint) from None


def open_model(name: str, *, batch: int = 64, cache: bool = True, deterministic: bool = False) -> PythonModel:
    """The function `module:function`, called with at most `batch` requests at a time.

    `deterministic` declares that it always gives the same result for the same request: replicates are then one
    call, counted for each of them.

    The module is looked for in the current folder, too. Identity is a hash of the source of the function's
    file and of the module; what those import is not part of it. Where there is no source, or with
    cache=False, the identity is "": the caller must store no answers.
    """
    if batch < 1:
        raise UsageError(f"batch must be at least 1, found {batch}")
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
        raise ModelError(f"{name} is no function but {type(function).__name__}", hint="python/module:function")
    if inspect.iscoroutinefunction(function):
        raise ModelError(f"{name} is asynchronous", hint="wrap it: asyncio.run inside a plain function")
    identity = _identity(name, module, function) if cache else ""
    return PythonModel(name, _of_requests(function), identity, batch, deterministic)


def from_function(model: object) -> PythonModel:
    """A function as a model: of one prompt where its first parameter is annotated as str, else of a list of
    requests. Its answers are never taken from an earlier run, since nothing tells whether the function changed."""
    if not callable(model):
        hint = 'give "provider/name", a function, or an object with the attributes of unwaver.Model'
        raise UsageError(f"{model!r:.60} is not a model", hint=hint)
    name = getattr(model, "__name__", type(model).__name__)
    if inspect.iscoroutinefunction(model):
        raise ModelError(f"{name} is asynchronous", hint="wrap it: asyncio.run inside a plain function")
    return PythonModel(name, _of_requests(model), "", 64)


def _of_requests(function: Callable[..., Any]) -> Function:
    """A function of one prompt (its first parameter is annotated as str) as one of a list of requests."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a built-in
        return function
    if not parameters or parameters[0].annotation not in (str, "str"):
        return function
    return lambda requests: [function(request["prompt"]) for request in requests]


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


def _where(error: BaseException) -> str | None:
    """The last place in the user's own code: "raised in classify.py:12"."""
    trace, place = error.__traceback__, None
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file != Path(__file__) and "importlib" not in str(file):
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
