"""Bases that need no weights: `ngrams`, a bag of n-grams trained as fastText trains one, and `bilstm`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.errors import UsageError
from unwaver.types import Model

if TYPE_CHECKING:
    from unwaver.train.setup import Setup

NGRAMS, BILSTM = "ngrams", "bilstm"
OWN = (NGRAMS, BILSTM)
RECIPES = ("small", "paranlu")  # by which they are trained
_TOLD = {NGRAMS: "a bag of n-grams, unwaver's own, trained as fastText trains one", BILSTM: "a BiLSTM"}
# what a bag of n-grams has no use for, with the reason
_NOT_OF_NGRAMS = {
    "batch": "it learns from one text at a time",
    "length": "it reads whole texts",
    "patience": "all epochs are trained, as in fastText",
    "consistency": "it learns from labels only; --variants adds variants as rows",
    "head": "it classifies",
}


def check_own(setup: Setup) -> None:
    """Refuse options that these bases have no use for; of other bases, options that are only for these."""
    if setup.base not in OWN:
        if setup.dimension is not None:
            hint = "leave it out: a pretrained model has its own"
            raise UsageError(f"--dimension is for --base {' and --base '.join(OWN)}", hint=hint)
        return
    if setup.multi_task:
        hint = "train them one by one, or --pool sets with the same labels"
        raise UsageError(f"--base {setup.base} has one head, --multi-task needs several", hint=hint)
    if setup.base == NGRAMS:
        for name, reason in _NOT_OF_NGRAMS.items():
            if getattr(setup, name):
                raise UsageError(
                    f"--{name} has no effect with --base ngrams: {reason}", hint=f"leave --{name} out"
                )
    if setup.dimension is not None and (setup.dimension < 1 or setup.vectors):
        reason = "the word vectors decide it" if setup.vectors else f"found {setup.dimension}, expected 1 or more"
        raise UsageError(f"--dimension: {reason}", hint="leave it out")


def own_config(name: str) -> tuple[str, dict[str, Any]]:
    return name, {"model_type": name}


def own_identity(name: str) -> str:
    return f"unwaver:{name}:1"


def told(base: str, vectors: str | None) -> str:
    """For the card: "a BiLSTM with the word vectors of glove.txt"."""
    if base != BILSTM:
        return _TOLD[base]
    return f"{_TOLD[base]} with " + (
        f"the word vectors of {Path(vectors).name}" if vectors else "random word vectors"
    )


def file_hash(path: str) -> str:
    with Path(path).expanduser().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- trained folders ----------------------------------------------------------------------------------------


def model_name(folder: Path) -> str:
    """How a trained folder is named as a model: hf/FOLDER, or bow/FOLDER for a bag of n-grams."""
    is_bag = (folder / "model.json").is_file() and (folder / "weights.npz").is_file()
    return f"{'bow' if is_bag else 'hf'}/{folder}"


def open_trained(folder: Path, device: str | None) -> Model:
    if model_name(folder).startswith("bow/"):
        from unwaver.models import bow

        return bow.open_model(str(folder))
    from unwaver.models import hf

    return hf.open_model(str(folder), device=device)


def identity_of(folder: Path) -> str:
    """Of a trained model, as a run records it."""
    if model_name(folder).startswith("bow/"):
        return open_trained(folder, None).identity
    from unwaver.models.hf_common import folder_identity

    return folder_identity(folder)
