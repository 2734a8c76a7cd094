"""A tiny random encoder and a tiny text-to-text model, saved as folders, and tables that they can learn."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = [
    "a",
    "the",
    "man",
    "woman",
    "dog",
    "cat",
    "runs",
    "sleeps",
    "eats",
    "sits",
    "not",
    "no",
    "never",
    "here",
    "there",
    "red",
    "blue",
    "big",
    "small",
    "is",
]
SIGNS = [".", ":", ";", "#", "!", "@", "~", "-", "[", "]", "{", "}", "(", ")", "<", ">", "1", "2", "sentence"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")

# a task that is like MRPC
OWN_TASK = """
[dup]
type = "similarity"
fields = ["sentence1", "sentence2"]
labels = ["not_equivalent", "equivalent"]
words = ["No", "Yes"]
segments = ["{sentence1}", "{sentence2}"]
version = 1
prompt = "{sentence1} {sentence2} Same? Answer:"
[dup.relations]
symmetric = {}
"""


def tokenizer(more: Sequence[str] = ()) -> Any:
    """Words, signs, and letters for all that is neither; `more` words of one token each."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *dict.fromkeys([*WORDS, *SIGNS, *LETTERS, *more]), *(f"##{c}" for c in LETTERS)]
    fast = Tokenizer(models.WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    fast.normalizer = normalizers.BertNormalizer()
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{n.lower()}_token": f"[{n}]" for n in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    return PreTrainedTokenizerFast(tokenizer_object=fast, model_max_length=64, **names)


def sizes(vocabulary: int, layers: int = 2) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,  # a wide start learns in a few epochs
    }


def encoder(folder: Path, family: str = "bert", masked: bool = False, layers: int = 2) -> str:
    """The weights of an encoder without a head; `masked`: with the head of a masked language model."""
    import torch
    import transformers as t

    made = tokenizer()
    torch.manual_seed(0)
    if family == "roberta":
        size = {**sizes(len(made)), "max_position_embeddings": 66, "pad_token_id": 0, "type_vocab_size": 1}
        model = t.RobertaModel(t.RobertaConfig(**size))
    elif masked:
        model = t.BertForMaskedLM(t.BertConfig(**sizes(len(made))))
    else:
        model = t.BertModel(t.BertConfig(**sizes(len(made), layers)))
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)


def text_to_text(folder: Path) -> str:
    """A T5 that has a token for each label of MRPC and RTE."""
    import torch
    import transformers as t

    made = tokenizer(("_", "equivalent", "entailment"))
    made.eos_token = "[SEP]"
    torch.manual_seed(0)
    size = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": len(made)}
    t.T5ForConditionalGeneration(
        t.T5Config(**size, pad_token_id=0, eos_token_id=3, decoder_start_token_id=0)
    ).save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)


def bart(folder: Path) -> str:
    """An encoder-decoder that is no T5."""
    import torch
    import transformers as t

    made = tokenizer()
    made.eos_token = "[SEP]"
    torch.manual_seed(0)
    size = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 1, "vocab_size": len(made), "init_std": 0.2}
    heads = {f"{part}_attention_heads": 4 for part in ("encoder", "decoder")}
    widths = {f"{part}_ffn_dim": 64 for part in ("encoder", "decoder")}
    ids = {"pad_token_id": 0, "eos_token_id": 3, "bos_token_id": 2, "decoder_start_token_id": 3}
    t.BartForConditionalGeneration(
        t.BartConfig(**size, **heads, **widths, **ids, max_position_embeddings=66, forced_eos_token_id=None)
    ).save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)


def causal(folder: Path) -> str:
    """A GPT-2, whose tokeniser has no padding, as the published one."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = tokenizer()
    plain = PreTrainedTokenizerFast(
        tokenizer_object=words.backend_tokenizer, eos_token="[SEP]", unk_token="[UNK]", model_max_length=64
    )
    torch.manual_seed(0)
    shape = {"vocab_size": len(words), "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=3, eos_token_id=3)).save_pretrained(folder)
    plain.save_pretrained(folder)
    return str(folder)


def sentences(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    who, does, where = ("man", "woman", "dog", "cat"), ("runs", "sleeps", "eats", "sits"), ("here", "there")
    made = [
        f"the {draw.choice(('big', 'small', 'red', 'blue'))} {draw.choice(who)} {draw.choice(does)}"
        for _ in range(count)
    ]
    return [f"{text} {draw.choice(where)}" for text in made]


def rte(folder: Path) -> list[dict[str, str]]:
    """Writes mrpc.csv of that folder as rte.csv, with the labels of RTE; gives the rows of mrpc.csv."""
    rows = list(csv.DictReader((folder / "mrpc.csv").read_text().splitlines()))
    labels = {"equivalent": "entailment", "not_equivalent": "not_entailment"}
    with (folder / "rte.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["sentence1", "sentence2", "label"])
        table.writerows([r["sentence1"], r["sentence2"], labels.get(r["label"], r["label"])] for r in rows)
    return rows


def pairs(path: Path, count: int = 120, seed: int = 0, without: Path | None = None) -> Path:
    """mrpc-like: the second sentence is the first (equivalent), or has "never" in it. None is of the file `without`."""
    known = set(without.read_text().splitlines()) if without else set()
    draw, rows = random.Random(seed), []
    for text in sentences(10 * count if without else count, seed):
        same = draw.random() < 0.5
        row = [text, text, "equivalent"] if same else [text, text.replace("the", "never a"), "not_equivalent"]
        rows += [row] if ",".join(row) not in known else []
    with path.open("w", newline="") as f:
        csv.writer(f).writerows([["sentence1", "sentence2", "label"], *rows[:count]])
    return path


def nli(path: Path, count: int = 120, seed: int = 1) -> Path:
    """snli-like, three labels; every premise stands in three rows."""
    with path.open("w", newline="") as f:
        write = csv.writer(f)
        write.writerow(["premise", "hypothesis", "label"])
        for n, text in enumerate(
            dict.fromkeys(f"{t} {n % 2 + 1}" for n, t in enumerate(sentences(count // 3, seed)))
        ):
            write.writerow([text, text, "entailment"])
            write.writerow([text, text.replace("the", "no"), "contradiction"])
            write.writerow([text, f"{text} is {'red' if n % 2 else 'blue'}", "neutral"])
    return path


def trained_masked_lm(folder: Path, steps: int = 100) -> str:
    """A masked language model that has learnt which words stand where in `sentences`: a second or two."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    made = tokenizer()
    torch.manual_seed(0)
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = BertForMaskedLM(BertConfig(**sizes(len(made), layers=1), **still))
    rows = made(sentences(256), return_tensors="pt")["input_ids"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        ids = rows[torch.randperm(len(rows))[:32]]
        place = torch.randint(1, ids.shape[1] - 1, (len(ids), 1))
        labels = torch.full_like(ids, -100).scatter(1, place, ids.gather(1, place))
        loss = model(input_ids=ids.scatter(1, place, made.mask_token_id), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)


# words of one kind lie close together, others apart
_DIRECTIONS = {
    "man": (1, 0, 0, 0), "woman": (0.9, 0.436, 0, 0), "dog": (0.8, -0.6, 0, 0), "cat": (0.6, -0.8, 0, 0),
    "runs": (0, 0, 1, 0), "sleeps": (0, 0, 0.9, 0.436), "eats": (0, 0, 0.8, -0.6), "sits": (0, 0, 0.6, -0.8),
    "big": (0, 1, 0, 0), "small": (0, 0.9, 0, 0.436), "red": (0, 0.6, 0, 0.8), "here": (0.5, 0.5, 0.5, 0.5),
}  # fmt: skip


def word_vectors(path: Path) -> str:
    lines = [f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in _DIRECTIONS.items()]
    path.write_text(f"{len(lines)} 4\n" + "".join(lines), encoding="utf-8")
    return str(path)
