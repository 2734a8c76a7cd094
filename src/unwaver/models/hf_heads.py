"""Several tasks in one model: a shared encoder, and for each task the head that its architecture has.

    config.json, model.safetensors …    an ordinary encoder of transformers
    heads.safetensors                   "snli.classifier.weight" …
    unwaver.json                        which tasks there are, with their labels

Nothing in it is code: the heads are those of transformers' own …ForSequenceClassification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from unwaver.models.pretrained import pretrained
from unwaver.models.trained import HEADS

Labels = Mapping[str, Sequence[str]]


class MultiTask(nn.Module):  # type: ignore[misc]
    """`classifiers` are one for each task, in the order of the numbers in a batch; the encoder of the first is
    that of all. Only what is not shared twice is registered, so that weights are saved once."""

    _keys_to_ignore_on_save = None  # the Trainer looks for it where a checkpoint lacks tied weights

    def __init__(self, classifiers: Mapping[str, Any]):
        super().__init__()
        first = next(iter(classifiers.values()))
        self.names = list(classifiers)
        self.config = first.config
        self.encoder = first.base_model
        for model in classifiers.values():
            setattr(model, model.base_model_prefix, self.encoder)
        self.heads = nn.ModuleList([_head(model) for model in classifiers.values()])
        self.widest = max(model.config.num_labels for model in classifiers.values())
        object.__setattr__(self, "classifiers", list(classifiers.values()))  # not registered: the parts are

    def forward(self, task: Any, **inputs: Any) -> Any:
        """Logits, one row an input; columns that a task has no label for are as small as can be."""
        logits: Any = None
        for number in task.unique().tolist():
            rows = task == number
            part = self.classifiers[number](**{name: value[rows] for name, value in inputs.items()}).logits
            if logits is None:
                logits = part.new_full((len(task), self.widest), torch.finfo(part.dtype).min)
            logits[rows, : part.shape[1]] = part
        return SimpleNamespace(logits=logits)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Each tensor once: a BART reads and writes with one table of words, and safetensors refuses copies."""
        found = super().state_dict(*args, **kwargs)
        once: dict[int, str] = {}
        for name, tensor in list(found.items()):
            if once.setdefault(tensor.data_ptr(), name) != name and tensor.numel():
                del found[name]
        return found

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        self.encoder.save_pretrained(folder)
        weights = {
            f"{name}.{key}": value.contiguous()
            for name, head in zip(self.names, self.heads, strict=True)
            for key, value in head.state_dict().items()
        }
        save_file(weights, folder / HEADS, metadata={"format": "pt"})


def _head(model: Any) -> Any:
    """All of a classifier but its encoder."""
    return nn.ModuleDict({name: part for name, part in model.named_children() if name != model.base_model_prefix})


def label_options(labels: Sequence[str]) -> dict[str, Any]:
    """How a configuration of transformers says them."""
    return {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: n for n, label in enumerate(labels)},
    }


def load_heads(path: str, labels: Labels, **options: Any) -> MultiTask:
    """A model that `MultiTask.save` wrote."""
    from safetensors.torch import load_file

    weights = load_file(Path(path) / HEADS)
    classifiers = {}
    for task, names in labels.items():
        model, found = pretrained(
            "AutoModelForSequenceClassification", path, output_loading_info=True, **label_options(names), **options
        )
        head = _head(model)
        if missing := sorted(set(found["missing_keys"]) - set(head.state_dict())):
            raise KeyError(f"the encoder lacks {len(missing)} of its weights: {missing[0]} …")
        own = {k.removeprefix(f"{task}."): v for k, v in weights.items() if k.startswith(f"{task}.")}
        head.load_state_dict(own)  # strict: a missing weight is an error
        classifiers[task] = model
    return MultiTask(classifiers)
