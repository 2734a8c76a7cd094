"""The model that training starts from: a folder, a hub id, or the folder inside an installed package."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unwaver.errors import ModelError, UsageError
from unwaver.models.hf import find_model
from unwaver.models.hf_common import folder_identity, import_torch, read_config
from unwaver.models.pretrained import pretrained
from unwaver.train.own_bases import OWN, own_config, own_identity

PACKAGE = "package/"
TEXT, CLASSIFY, CHOOSE = "text", "classify", "choose"


def open_base(name: str) -> tuple[str, dict[str, Any]]:
    """What transformers loads the base by, and its configuration: "hf/PATH-OR-ID", the same without hf/, or
    "package/NAME" for weights that come inside a Python package; "ngrams" and "bilstm" need none."""
    if name in OWN:
        return own_config(name)
    if name.startswith(PACKAGE):
        folder = _in_package(name.removeprefix(PACKAGE))
        return str(folder), read_config(folder)
    plain = name.removeprefix("hf/")
    folder = Path(plain).expanduser()
    if folder.is_dir():
        return str(folder), read_config(folder)
    return find_model(plain)


def base_identity(name: str) -> str:
    """A hash of the weights of a folder, wherever it lies; the name of a model on the hub."""
    if name in OWN:
        return own_identity(name)
    path, _ = open_base(name)
    return folder_identity(Path(path)) if Path(path).is_dir() else path


def _in_package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    places = list(found.submodule_search_locations or ()) if found else []
    for place in places:
        configs = sorted(Path(place).rglob("config.json"), key=lambda p: (len(p.parts), p))
        for config in configs:
            if any(config.parent.glob("*.safetensors")):
                return config.parent
    if found is not None:
        hint = "name another, or the folder of a model"
        raise ModelError(f"the package {name} has no model in it (config.json and *.safetensors)", hint=hint)
    raise ModelError(f"there is no package {name}", hint=f"pip install {name.replace('_', '-')}")


def is_text_to_text(config: Mapping[str, Any], head: str | None = None) -> bool:
    """Whether a base learns to write its answer. Only T5 and its kin do, unless `head` ("text" or "classify") says
    otherwise: BECEL and CALM give every other model a classification head, BART too."""
    if head == TEXT and not config.get("is_encoder_decoder"):
        told = config.get("model_type", "the base")
        hint = "leave --head out; only encoder-decoders (T5, BART) learn to write"
        raise UsageError(f"--head text: {told} is not a text-to-text model", hint=hint)
    return head == TEXT or (head is None and is_t5(config))


def is_t5(config: Mapping[str, Any]) -> bool:
    from unwaver.tasks.t5 import FAMILY

    return config.get("model_type") in FAMILY


def load_classifier(path: str, labels: Sequence[str], seed: int) -> Any:
    """The base with a new head: what a classifier has learnt of other labels is dropped."""
    from unwaver.models.hf_heads import label_options

    options = {"ignore_mismatched_sizes": True, **label_options(labels)}
    model = _load("AutoModelForSequenceClassification", path, seed, **options)
    if len(labels) == 1 or model.config.problem_type == "regression":
        # what the base has its own head for; transformers loads no kind that does not fit the number of labels
        model.config.problem_type = "regression" if len(labels) == 1 else None
    if model.config.pad_token_id is None:  # a GPT-2 finds its last word by what is not padding
        model.config.pad_token_id = load_tokenizer(path).pad_token_id
    return model


def load_multi_task(path: str, labels: Mapping[str, Sequence[str]], seed: int) -> Any:
    """A shared encoder with a new head for each task."""
    from unwaver.models.hf_heads import MultiTask

    return MultiTask(
        {task: load_classifier(path, names, seed + n) for n, (task, names) in enumerate(labels.items())}
    )


def load_text_to_text(path: str, seed: int) -> Any:
    return _load("AutoModelForSeq2SeqLM", path, seed)


def load_tokenizer(path: str) -> Any:
    tokenizer = _load("AutoTokenizer", path, 0)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _load(kind: str, path: str, seed: int, **options: Any) -> Any:
    torch = import_torch()
    if kind != "AutoTokenizer":
        options["dtype"] = torch.float32
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return pretrained(kind, path, **options)
    except (ModelError, MemoryError):
        raise
    except Exception as e:  # transformers raises many kinds for one broken folder
        first_line = str(e).strip().split("\n", 1)[0][:300]
        raise ModelError(
            f"{path} cannot be trained: {first_line}",
            hint="give an encoder or a text-to-text model: a folder that save_pretrained wrote, or a hub id",
        ) from e
