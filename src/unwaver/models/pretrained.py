"""The one place that calls transformers' from_pretrained: for configurations, tokenisers and models.

A model folder may bring Python code (`auto_map` in its JSON files). Asked without an answer, transformers puts the
question to standard input and runs the code after a `y`. Here the answer is always given: no, unless the user said
trust_remote_code=true, which only `hf` and `regression` offer. Weights in pickle files are read as weights alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unwaver.errors import ModelError

MOST_LAYERS = 10_000  # far more than any model has


def pretrained(kind: str, path: str | Path, *, trust_remote_code: bool | None = None, **options: Any) -> Any:
    """pretrained("AutoTokenizer", folder); `kind` is one of transformers' Auto classes.

    trust_remote_code=None: whoever asks does not offer it. What a broken folder raises – dozens of kinds – is an
    OSError or a ValueError here; only a lack of memory stays what it is.
    """
    import transformers

    if "Model" in kind:
        _check_layers(Path(path) / "config.json")
    try:
        return getattr(transformers, kind).from_pretrained(
            path, trust_remote_code=trust_remote_code is True, **options
        )
    except (OSError, MemoryError):
        raise
    except Exception as e:
        if isinstance(e, ValueError) and "trust_remote_code" in str(e):
            raise _brings_code(path, offered=trust_remote_code is not None) from e
        if isinstance(e, ValueError) or (isinstance(e, RuntimeError) and "memory" in str(e).lower()):
            raise
        raise ValueError(str(e).strip() or type(e).__name__) from e


def _check_layers(config: Path) -> None:
    """Layers are made one by one, before weights are looked for: a damaged number takes all time and memory."""
    try:
        found = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):  # of the hub, or damaged: transformers says what is wrong
        return
    left: list[Any] = [found]
    while left:
        part = left.pop()
        for name, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, dict):  # of a part of the model
                left.append(value)
            elif type(value) in (int, float) and value > MOST_LAYERS and "layer" in str(name):
                raise ValueError(f'config.json: "{name}" is {value}, expected at most {MOST_LAYERS}')


def untrained(kind: str, config: Any, **options: Any) -> Any:
    """A model of this configuration with random weights."""
    import transformers

    return getattr(transformers, kind).from_config(config, trust_remote_code=False, **options)


def _brings_code(path: str | Path, *, offered: bool) -> ModelError:
    hint = (
        "read the code; if you trust it: --model-arg trust_remote_code=true"
        if offered
        else "give a model of a kind that transformers knows, without auto_map in its JSON files"
    )
    return ModelError(f"{path} cannot be loaded: it contains code, which unwaver does not run", hint=hint)
