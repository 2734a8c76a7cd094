"""The one place that calls transformers' from_pretrained: for configurations, tokenisers and models.

A model folder may bring Python code (`auto_map` in its JSON files). Asked without an answer, transformers puts the
question to standard input and runs the code after a `y`. Here the answer is always given: no, unless the user said
trust_remote_code=true, which only `hf` and `regression` offer. Weights in pickle files are read as weights alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unwaver.errors import ModelError


def pretrained(kind: str, path: str | Path, *, trust_remote_code: bool | None = None, **options: Any) -> Any:
    """pretrained("AutoTokenizer", folder); `kind` is one of transformers' Auto classes.

    trust_remote_code=None: whoever asks does not offer it. What a broken folder raises – dozens of kinds – is an
    OSError or a ValueError here; only a lack of memory stays what it is.
    """
    import transformers

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
