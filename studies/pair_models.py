"""Train the two small models that compare texts in the tests and docs, and report them on the test sets.

    python studies/pair_models.py paraphrase --base FOLDER --data DATA --out models/paraphrase
    python studies/pair_models.py similarity --base FOLDER --data DATA --out models/similarity

`paraphrase` tells paraphrases from near misses: PAWS-Wiki dev and MRPC train, tested on the test set of each.
`similarity` says how alike two texts are, 0 to 1: STS-B train, tested on STS-B test. The base is any encoder.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

Pair = tuple[str, str, float]
LABELS = {0: "not_equivalent", 1: "equivalent"}


def paws(data: Path, split: str) -> list[Pair]:
    table = _table(data / f"paws/paws_wiki_labeled_final_{split}.tsv.gz", "\t", quoted=False)
    return [(a, b, float(label)) for _, a, b, label in table]


def mrpc(data: Path, split: str) -> list[Pair]:
    frame = pl.read_csv(data / f"becel/mrpc/{split}.tsv", separator="\t")
    return [(a, b, float(label)) for a, b, label in frame.select("sentence1", "sentence2", "label").iter_rows()]


def stsb(data: Path, split: str) -> list[Pair]:
    table = _table(data / f"stsb/stsb-en-{split}.csv", ",", quoted=True)
    return [(a, b, float(score) / 5) for a, b, score in table]


def _table(path: Path, separator: str, *, quoted: bool) -> Iterator[tuple[str, ...]]:
    quote = '"' if quoted else None
    frame = pl.read_csv(path, has_header=False, separator=separator, quote_char=quote, infer_schema=False)
    return (tuple(cell.strip() for cell in row) for row in frame.iter_rows())


# what each model learns from, and what it is tested on
TRAIN = {
    "paraphrase": lambda data: paws(data, "dev") + mrpc(data, "train"),
    "similarity": lambda data: stsb(data, "train"),
}
TEST = {
    "paraphrase": {"PAWS-Wiki test": lambda d: paws(d, "test"), "MRPC test": lambda d: mrpc(d, "test")},
    "similarity": {"STS-B test": lambda d: stsb(d, "test")},
}


def train(kind: str, base: str, data: Path, out: Path, *, rows: int | None = None, epochs: float = 3) -> None:
    """Fine-tune `base` on pairs and leave an ordinary folder of transformers in `out`."""
    from torch.utils.data import Dataset
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    class Pairs(Dataset[dict[str, Any]]):
        def __init__(self, pairs: list[Pair]):
            texts = tokenizer([a for a, _, _ in pairs], [b for _, b, _ in pairs], truncation=True, max_length=128)
            as_label = int if kind == "paraphrase" else float
            self.rows = [
                {**{name: column[i] for name, column in texts.items()}, "labels": as_label(pair[2])}
                for i, pair in enumerate(pairs)
            ]

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, index: int) -> dict[str, Any]:
            return self.rows[index]

    tokenizer = AutoTokenizer.from_pretrained(base)
    head: dict[str, Any] = {"num_labels": 1, "problem_type": "regression", "id2label": {0: "score"}}
    if kind == "paraphrase":
        ids = {name: number for number, name in LABELS.items()}
        head = {"num_labels": 2, "id2label": LABELS, "label2id": ids}
    set_seed(0)  # the new head is drawn when the model is loaded
    # a checkpoint in float16 would be trained in it, thirty times as slow on a CPU
    model = AutoModelForSequenceClassification.from_pretrained(
        base, dtype="float32", ignore_mismatched_sizes=True, **head
    )
    pairs = TRAIN[kind](data)
    random.Random(0).shuffle(pairs)
    settings = TrainingArguments(
        output_dir=str(out),
        per_device_train_batch_size=32,
        learning_rate=1e-4,
        warmup_steps=50,
        num_train_epochs=epochs,
        lr_scheduler_type="linear",
        save_strategy="no",
        logging_steps=50,
        report_to=[],
        seed=0,
        use_cpu=True,
        train_sampling_strategy="group_by_length",
    )
    trainer = Trainer(
        model=model,
        args=settings,
        train_dataset=Pairs(pairs[:rows]),
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    trainer.train()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def report(kind: str, folder: Path, data: Path) -> dict[str, Any]:
    """{"MRPC test": {"pairs": 1725, "accuracy": …, "auc": …}} of a trained folder, by the library of the field."""
    import torch
    from scipy.stats import spearmanr
    from sklearn.metrics import f1_score, roc_auc_score
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype="float32").eval()
    found: dict[str, Any] = {}
    for name, read in TEST[kind].items():
        pairs = sorted(read(data), key=lambda pair: len(pair[0]) + len(pair[1]))
        scores: list[float] = []
        for start in range(0, len(pairs), 64):
            batch = pairs[start : start + 64]
            texts = tokenizer(
                [a for a, _, _ in batch],
                [b for _, b, _ in batch],
                truncation=True,
                max_length=128,
                padding=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                logits = model(**texts).logits
            scores += (logits.softmax(-1)[:, 1] if kind == "paraphrase" else logits[:, 0]).tolist()
        gold = [label for _, _, label in pairs]
        if kind == "paraphrase":
            said = [score >= 0.5 for score in scores]
            right = sum(a == bool(g) for a, g in zip(said, gold, strict=True)) / len(gold)
            found[name] = {
                "pairs": len(gold),
                "accuracy": round(right, 4),
                "f1": round(f1_score(gold, said), 4),
                "auc": round(roc_auc_score(gold, scores), 4),
            }
        else:
            found[name] = {"pairs": len(gold), "spearman": round(spearmanr(gold, scores).statistic, 4)}
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", choices=sorted(TRAIN))
    arguments.add_argument("--base", required=True, help="the folder or hub id of an encoder")
    arguments.add_argument("--data", type=Path, required=True, help="the folder with paws, becel and stsb")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--rows", type=int, help="train on so many pairs only")
    arguments.add_argument("--epochs", type=float, default=3)
    given = arguments.parse_args()
    train(given.kind, given.base, given.data, given.out, rows=given.rows, epochs=given.epochs)
    found = report(given.kind, given.out, given.data)
    (given.out / "report.json").write_text(json.dumps(found, indent=2))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
