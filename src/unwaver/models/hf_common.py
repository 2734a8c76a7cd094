"""What all Hugging Face back ends share: device, weights, and batches of similar length."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any, TypeVar

from unwaver.errors import ModelError, UnwaverError, about_json, missing_extra
from unwaver.models.trained import ABOUT, what_is_learnt

Part = TypeVar("Part")
Done = TypeVar("Done")
Kind = TypeVar("Kind")

MOST_WORKERS = 8  # batches at a time on a CPU: each takes memory of its own
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.gguf")
_SAVED = "give a folder that save_pretrained wrote, model and tokeniser"


def import_torch() -> Any:
    # Tokenisers fork-warn when their thread pool was used before; we never fork with work under way.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        import torch
        import transformers
    except ImportError as e:
        raise missing_extra(e.name or "torch", "hf") from e
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch


def pick_device(torch: Any, device: str | None) -> str:
    """The device asked for, else CUDA, else Apple's MPS, else the CPU."""
    if device is None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as e:
        first_line = str(e).split("\n", 1)[0]
        raise ModelError(f"device {device} cannot be used here: {first_line}", hint="try --device cpu") from e
    return device


def pick_dtype(torch: Any, device: str, dtype: str | None) -> Any:
    """float32 on a CPU whatever the checkpoint stores; elsewhere what the checkpoint stores ("auto")."""
    if dtype is None:
        return torch.float32 if device == "cpu" else "auto"
    known = {"float32", "float16", "bfloat16", "auto"}
    if dtype not in known:
        raise ModelError(f"unknown dtype {dtype}", hint="known: " + ", ".join(sorted(known)))
    return "auto" if dtype == "auto" else getattr(torch, dtype)


def folder_identity(folder: Path) -> str:
    """A hash of the weights, the configuration and the tokeniser of a local model folder."""
    weights = sorted(p for pattern in WEIGHT_FILES for p in folder.glob(pattern))
    if not weights:
        raise ModelError(
            f"the model folder holds no weights ({', '.join(WEIGHT_FILES)})",
            hint=_SAVED,
            file=folder,
        )
    digest = hashlib.sha256()
    for path in [*sorted(folder.glob("*.json")), *weights]:
        if path.name == ABOUT:  # scores stand in it too, which change no answer
            digest.update(what_is_learnt(path))
            continue
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as f:
            digest.update(hashlib.file_digest(f, "sha256").digest())
    return "sha256:" + digest.hexdigest()


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        inside = sorted(p.parent for p in folder.glob("*/config.json"))
        hint = f"a model is in it: {inside[0]}" if inside else _SAVED
        if (folder / "weights.npz").is_file():
            hint = f"it is a bag of words: bow/{folder}"
        raise ModelError("the model folder has no config.json", hint=hint, file=folder) from None
    except json.JSONDecodeError as e:
        message = f"broken JSON: {about_json(e)}"
        raise ModelError(message, file=path, line=e.lineno, hint="copy or download the folder again") from None
    except (ValueError, OSError, RecursionError) as e:
        raise ModelError(f"cannot be read: {e}", file=path, hint="copy or download the folder again") from None
    if not isinstance(config, dict):
        raise ModelError("found no JSON object, expected the configuration of a model", file=path, hint=_SAVED)
    return config


def folder_errors(model: type[Kind]) -> type[Kind]:
    """A class decorator: what a damaged model folder does to PyTorch and transformers – dozens of kinds of errors,
    when it is opened and when it is asked – becomes a ModelError. A lack of memory stays what it is."""
    for name in ("__init__", "check", "count_tokens", "load", "answer", "tokens", "hidden"):
        method = vars(model).get(name)
        if callable(method):
            setattr(model, name, (_lazily if isgeneratorfunction(method) else _at_once)(method))
    return model


def _at_once(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **options: Any) -> Any:
        with _explained(self):
            return method(self, *args, **options)

    return called


def _lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        with _explained(self):
            yield from method(self, *args, **options)

    return called


@contextmanager
def _explained(model: Any) -> Iterator[None]:
    try:
        yield
    except (UnwaverError, MemoryError, NotImplementedError):
        raise
    except Exception as e:
        first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0][:300]
        if "memory" in first_line.lower():
            raise
        name = getattr(model, "name", "the model")
        raise ModelError(
            f"{name} cannot be asked: {type(e).__name__} {first_line}",
            hint="configuration, tokeniser and weights may not belong together: copy or download the folder again",
        ) from e


def check_vocabulary(tokenizer: Any, path: str) -> None:
    """Without its files a tokeniser may load all the same, and then every word is unknown to it."""
    if len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
        raise ModelError(f"{path} has no vocabulary: the files of its tokeniser are missing", hint=_SAVED)


def length_batches(lengths: Sequence[int], budget: int, most: int = 256) -> Iterator[list[int]]:
    """Indices in batches of similar length, longest first: one that does not fit in memory shows at once.

    A batch holds at most `budget` tokens after padding and at most `most` rows, and at least one row:
    length_batches([3, 9, 4, 8], 18) -> [1, 3], [2, 0].
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        widest = lengths[batch[0]] if batch else lengths[index]
        if batch and (len(batch) >= most or widest * (len(batch) + 1) > budget):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def token_limit(tokenizer: Any, config: Any, unknown: int = 512) -> int:
    """How many tokens a text may have; `unknown` where neither says."""
    limit = int(getattr(tokenizer, "model_max_length", 0) or 0)
    positions = getattr(config, "max_position_embeddings", None)
    if positions:
        # RoBERTa and its kin number positions from padding_idx + 1
        offset = (
            (config.pad_token_id or 0) + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        )
        limit = min(limit or positions, positions - offset)
    return limit if 0 < limit < 10**6 else unknown


def in_threads(
    do: Callable[[Part], Done], parts: Iterable[Part], torch: Any, device: str
) -> Iterator[tuple[Part, Done]]:
    """Each part with what is done of it, in order. On a CPU several are done at a time, one core each: a batch of
    a small encoder is too small to keep several cores busy."""
    threads = torch.get_num_threads()
    workers = min(threads, MOST_WORKERS)
    if device != "cpu" or workers < 2:
        yield from ((part, do(part)) for part in parts)
        return
    pool = ThreadPoolExecutor(workers, "unwaver", torch.set_num_threads, (threads // workers,))
    try:
        running: deque[tuple[Part, Future[Done]]] = deque()
        for part in parts:
            running.append((part, pool.submit(do, part)))
            if len(running) > workers:  # one waits, so that none is idle
                first, done = running.popleft()
                yield first, done.result()
        while running:
            first, done = running.popleft()
            yield first, done.result()
    finally:
        pool.shutdown(cancel_futures=True)
