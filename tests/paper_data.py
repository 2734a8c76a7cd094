"""A data folder in the layout of the published sets, with a few made-up rows in each file, and models to ask.

Sentences are made of the words that the tokeniser of tiny_encoder.py knows: "the big dog b k sleeps here".
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROWS = 18  # of a file; a training file has three times as many
Fields = dict[str, str]
Row = dict[str, object]

_WHO = ("man", "woman", "dog", "cat")
_DOES = ("runs", "sleeps", "eats", "sits")
_LIKE = ("big", "small", "red", "blue")
_WHERE = ("here", "there")
_LETTERS = "bcdefghjklmnpqrstuvwxyz"


def sentence(draw: random.Random) -> str:
    """Two letters are a name: hardly a sentence occurs twice."""
    name = f"{draw.choice(_LETTERS)} {draw.choice(_LETTERS)}"
    return f"the {draw.choice(_LIKE)} {draw.choice(_WHO)} {name} {draw.choice(_DOES)} {draw.choice(_WHERE)}"


def in_other_words(text: str) -> str:
    """The place first: "the big dog b k sleeps here" -> "here the big dog b k sleeps"."""
    *words, last = text.split()
    return " ".join([last, *words])


def negated(text: str) -> str:
    return text.replace("the ", "no ", 1) if "the " in text else f"not {text}"


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """By the ending of its name: .tsv, .csv, .jsonl or .json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".json", ".jsonl"):
        lines = "\n".join(map(json.dumps, rows))
        path.write_text(json.dumps(rows) if path.suffix == ".json" else lines)
        return
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        table.writeheader()
        table.writerows(rows)


# --- one row of each task -------------------------------------------------------------------------------------


def nli(draw: random.Random, n: int) -> tuple[Fields, int]:
    """0 entailment, 1 neutral, 2 contradiction."""
    premise = sentence(draw)
    hypothesis = (in_other_words(premise), f"{premise} is red", negated(premise))[n % 3]
    return {"premise": premise, "hypothesis": hypothesis}, n % 3


def two_way(first: str, second: str, same: int) -> Callable[[random.Random, int], tuple[Fields, int]]:
    """The label `same` where the second text says the first in other words, else its negation."""

    def row(draw: random.Random, n: int) -> tuple[Fields, int]:
        text = sentence(draw)
        return {first: text, second: negated(text) if n % 2 else in_other_words(text)}, n % 2 ^ same

    return row


def word(draw: random.Random, n: int) -> tuple[Fields, int]:
    one, other = sentence(draw), sentence(draw)
    return {"word": "the", "sentence1": one, "sentence2": other}, n % 2


def one_text(name: str, labels: int) -> Callable[[random.Random, int], tuple[Fields, int]]:
    def row(draw: random.Random, n: int) -> tuple[Fields, int]:
        """Every second row of a label is short, so that two of them joined are not longer than others."""
        text = sentence(draw) if n // labels % 2 else f"{draw.choice(_WHO)} {draw.choice(_LETTERS)}"
        return {name: f"{text} {n % labels + 1}"}, n % labels

    return row


_TASKS: Mapping[str, Callable[[random.Random, int], tuple[Fields, int]]] = {
    "boolq": two_way("passage", "question", 1),
    "snli": nli,
    "rte": two_way("sentence1", "sentence2", 0),
    "mrpc": two_way("sentence1", "sentence2", 1),
    "wic": word,
    "sst2": one_text("sentence", 2),
    "ag_news": one_text("text", 4),
}
_MODIFIED = {"boolq": "question", "snli": "hypothesis", "sst2": "sentence", "ag_news": "text"}
_NEGATED = {"boolq": (1, 0), "snli": (0, 2), "rte": (0, 1), "mrpc": (1, 0)}  # the label before and after
_SYMMETRIC = {"snli": (2,), "rte": (1,), "mrpc": (0, 1), "wic": (0, 1)}


def rows_of(task: str, seed: int, count: int = ROWS) -> list[Row]:
    draw = random.Random(f"{task}{seed}")
    made = [_TASKS[task](draw, n) for n in range(count)]
    return [{"index": n, **fields, "label": label} for n, (fields, label) in enumerate(made)]


# --- BECEL ----------------------------------------------------------------------------------------------------


def becel(place: Path) -> None:
    for task in _TASKS:
        folder = place / "becel" / task
        splits = {"train": rows_of(task, 0, 3 * ROWS), "validation": rows_of(task, 1), "test": rows_of(task, 2)}
        for name, rows in splits.items():
            write(folder / f"{name}.tsv", rows)
        base = splits["test" if task in ("snli", "mrpc", "ag_news") else "validation"]
        field = _MODIFIED.get(task, "sentence2")
        again = [{**row, f"{field}_paraphrase": in_other_words(str(row[field]))} for row in base]
        write(folder / "semantic.tsv", again)
        if task in _NEGATED:
            write(folder / "negational.tsv", list(_negations(base, field, *_NEGATED[task])))
        if task in _SYMMETRIC:
            swapped = splits["test" if task == "snli" else "train"][:ROWS]
            write(folder / "symmetric.tsv", [_swapped(r) for r in swapped if r["label"] in _SYMMETRIC[task]])
    write(place / "becel" / "wic" / "negational.tsv", _of_one_sense(place))
    _transitive(place)


def _negations(base: Iterable[Row], field: str, before: int, after: int) -> Iterable[Row]:
    for row in base:
        if row["label"] == before:
            yield {**row, f"{field}_neg": negated(str(row[field])), "neg_label": after, "tag": "negation"}


def _swapped(row: Row) -> Row:
    first, second = ("premise", "hypothesis") if "premise" in row else ("sentence1", "sentence2")
    return {**row, first: row[second], second: row[first]}


def _of_one_sense(place: Path) -> list[Row]:
    rows = rows_of("wic", 1)
    return [{**r, "sentence2_neg": negated(str(r["sentence2"])), "neg_label": r["label"], "tag": ""} for r in rows]


def _transitive(place: Path) -> None:
    """SNLI: N(P, H) and C(P, Z) of one premise imply that H does not entail Z (3). WiC: T and T imply T."""
    snli = place / "becel" / "snli"
    draw, base, drawn = random.Random(5), list[Row](), list[Row]()
    for n in range(ROWS // 2):
        premise = sentence(draw)
        neutral, contradiction = f"{premise} is blue", negated(premise)
        base.append({"index": 2 * n, "premise": premise, "hypothesis": neutral, "label": 1})
        base.append({"index": 2 * n + 1, "premise": premise, "hypothesis": contradiction, "label": 2})
        conclusion = {"premise": neutral, "hypothesis": contradiction, "label": 3}
        drawn.append({"index": n, **conclusion, "originated_idx": f"{ROWS + 2 * n}|{ROWS + 2 * n + 1}"})
    test = rows_of("snli", 2)
    write(snli / "test.tsv", [*test, *base])
    write(snli / "transitive.tsv", drawn)
    a, b, c = ([sentence(draw) for _ in range(ROWS // 2)] for _ in range(3))
    first = [*zip(a, b, strict=True), *zip(b, c, strict=True), (c[0], a[0])]  # one conclusion is a swapped row
    train: list[Row] = [{"index": 0, "word": "the", "sentence1": x, "sentence2": y, "label": 1} for x, y in first]
    write(place / "becel" / "wic" / "train.tsv", [*train, *rows_of("wic", 0, 2 * ROWS)])
    implied: list[Row] = [
        {"word": "the", "sentence1": x, "sentence2": z, "label": 1, "originated_idx": f"{n}|{n + ROWS // 2}"}
        for n, (x, z) in enumerate(zip(a, c, strict=True))
    ]
    write(place / "becel" / "wic" / "transitive.tsv", implied)


# --- CALM: the tasks that BECEL does not have -----------------------------------------------------------------


def calm(place: Path) -> None:
    for folder, split, seed in ((f, s, n) for f in ("mnli", "kornli") for n, s in enumerate(("train", "dev"))):
        name = f"{split}_matched" if split == "dev" else split
        write(
            place / folder / f"{name}.jsonl", _three_labels(folder, seed, 3 * ROWS if split == "train" else ROWS)
        )
    for split, seed, count in (("train", 0, 3 * ROWS), ("dev", 1, ROWS)):
        write(place / "klue_nli" / f"klue-nli-v1.1_{split}.json", _three_labels("klue", seed, count))
        questions = [two_way("question", "sentence", 0)(random.Random(f"q{seed}{n}"), n) for n in range(count)]
        write(place / "qnli" / f"{split}.tsv", [{**fields, "label": label} for fields, label in questions])
        pairs = [two_way("question1", "question2", 1)(random.Random(f"d{seed}{n}"), n) for n in range(count)]
        write(place / "qqp" / f"{split}.tsv", [{**fields, "is_duplicate": label} for fields, label in pairs])
        alike = rows_of("mrpc", 7 + seed, count)
        texts = [{name: row[name] for name in ("sentence1", "sentence2")} for row in alike]
        labels = [{"labels": {"binary-label": row["label"]}} for row in alike]
        write(
            place / "klue_sts" / f"klue-sts-v1.1_{split}.json",
            [{**t, **label} for t, label in zip(texts, labels, strict=True)],
        )


def _three_labels(name: str, seed: int, count: int) -> list[Row]:
    draw = random.Random(f"{name}{seed}")
    made = [nli(draw, n) for n in range(count)]
    return [{**fields, "gold_label": ("entailment", "neutral", "contradiction")[label]} for fields, label in made]


# --- ParaNLU --------------------------------------------------------------------------------------------------


def paranlu(place: Path) -> None:
    """Updates with "no" weaken; of two hypotheses the one without "no" explains. Every third problem is odd."""
    for task in ("anli", "snli", "atomic", "social"):
        draw = random.Random(task)
        problems = {f"{task}.train.{n}": _problem(task, draw, n) for n in range(ROWS)}
        write_object(place / "paranlu" / f"{task}_paraphrases_human.json", problems)
        shorter = {id: paraphrases[:2] for id, paraphrases in problems.items()}
        write_object(place / "paranlu" / f"{task}_paraphrases_automatic.json", shorter)
        for split, count in (("train", 4 * ROWS), ("dev", 2 * ROWS), ("test", 2 * ROWS)):
            some = [_original(task, draw, n) for n in range(count)]
            if task == "anli":
                art = place / "abductive_nli_art"
                rows = [{k: v for k, v in row.items() if k != "label"} for row in some]
                write(art / f"{split}.jsonl", rows)
                (art / f"{split}-labels.lst").write_text("\n".join(str(row["label"]) for row in some))
                continue
            write(place / "defeasible_nli" / f"{task}_{split}.jsonl", [_released(row) for row in some])


def paws(place: Path) -> None:
    rows = rows_of("mrpc", 11, 3 * ROWS)
    write(
        place / "paws" / "train.tsv",
        [{"id": n, **{k: v for k, v in r.items() if k != "index"}} for n, r in enumerate(rows)],
    )


def write_object(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _original(task: str, draw: random.Random, n: int) -> Row:
    first, text = sentence(draw), sentence(draw)
    if n % 3 == 2:
        text = f"never {text}"
    if task == "anli":
        good, bad = text, negated(text)
        hyp1, hyp2 = (good, bad) if n % 2 else (bad, good)
        return {"obs1": first, "obs2": sentence(draw), "hyp1": hyp1, "hyp2": hyp2, "label": 1 if n % 2 else 2}
    fields = {"hypothesis": sentence(draw), "update": text if n % 2 else negated(text), "label": n % 2}
    return fields if task == "social" else {"premise": first, **fields}


def _released(row: Row) -> Row:
    names = {name: row[name.lower()] for name in ("Premise", "Hypothesis", "Update") if name.lower() in row}
    return {**names, "UpdateType": ("weakener", "strengthener")[int(str(row["label"]))]}


def _problem(task: str, draw: random.Random, n: int) -> list[Row]:
    original = _original(task, draw, n)
    changed = ("hyp1", "hyp2") if task == "anli" else ("update",)
    ways = (in_other_words, lambda t: f"{t} 1", lambda t: t.replace("no ", "not a ").replace("the ", "a "))
    return [
        {"original_example": original, **{f"{name}_paraphrase": way(str(original[name])) for name in changed}}
        for way in ways[: 2 + n % 2]
    ]


# --- sensitivity and free text --------------------------------------------------------------------------------


def sensitivity(place: Path) -> None:
    sets = {"snli/snli_1.0_test": 11, "mnli/dev_matched": 12}
    for name, seed in {**sets, **{f"anli/R{n}/test": 20 + n for n in (1, 2, 3)}}.items():
        rows = _three_labels(name, seed, ROWS)
        write(place / f"{name}.jsonl", rows)
        worded = [
            {
                "hypothesis": row["hypothesis"],
                "variants": [
                    in_other_words(str(row["hypothesis"])),
                    f"{row['hypothesis']} 1",
                    f"2 {row['hypothesis']}",
                ],
            }
            for row in rows
        ]
        with (place.parent / "paraphrases.jsonl").open("a") as bank:
            bank.writelines(json.dumps(line) + "\n" for line in worded)


def truthfulqa(place: Path) -> None:
    shapes = (
        ("Is the earth flat?", "No; It is round", "Yes; It is flat"),
        ("Do fish fly?", "No; They swim", "Yes"),
    )
    rows = [
        {"Question": question, "Correct Answers": true, "Incorrect Answers": false}
        for question, true, false in shapes
    ]
    write(place / "truthfulqa" / "TruthfulQA_v1_817.csv", rows)
    ways = (("Would you say: {}", 0.97), ("Tell me: {}", 0.9), ("{} Or not?", 0.4))
    worded = [
        {"original question": question, "paraphrased question": way.format(question), "pp_score": score}
        for question, _, _ in shapes
        for way, score in ways
    ]
    write(place / "truthfulqa_paraphrases" / "truthfulQA-alldata.csv", worded)


def data_folder(place: Path) -> Path:
    for part in (becel, calm, paranlu, paws, truthfulqa, sensitivity):
        part(place)
    return place


# --- files and models that commands name ----------------------------------------------------------------------

NLI_RULES = """
WORDS = set("no not never".split())


def label(premise, hypothesis):
    new = set(hypothesis.split()) - set(premise.split())
    if new & WORDS:
        return 2
    return 1 if "is" in new else 0


def answer(requests, fooled):
    \"\"\"entailment, neutral or contradiction by the words that are new; "2 ..." confuses, unless it is a copy.\"\"\"
    found = []
    for request in requests:
        premise, hypothesis = (" ".join(text.lower().split()) for text in request["segments"])
        right = label(premise, hypothesis)
        copy = premise in hypothesis or hypothesis in premise
        if hypothesis.startswith("2 ") and not copy and len(hypothesis) % 3 < fooled:
            right = 2 - right if right != 1 else 0
        sure = 0.6 + len(hypothesis) % 7 / 20
        found.append({"label": right, "probs": [sure if n == right else (1 - sure) / 2 for n in range(3)]})
    return found


def drawn(requests, seed):
    \"\"\"Any label, by the letters of the texts.\"\"\"
    found = []
    for request in requests:
        number = sum(ord(c) * (i + seed) for i, c in enumerate(" ".join(request["segments"])))
        choices = len(request["choices"])
        label, sure = number % choices, 0.6 + number % 7 / 20
        found.append({"label": label, "probs": [sure if n == label else (1 - sure) / (choices - 1) for n in range(choices)]})
    return found


def unsure(requests):
    return drawn(requests, 1)


def shaky(requests):
    return drawn(requests, 2)


def strong(requests):
    return answer(requests, 1)


def weak(requests):
    return answer(requests, 2)
"""


def files(place: Path) -> None:
    """Answers of people, trees of a parser, judged pairs of answers, and answers in three patterns."""
    people(place)
    patterns(place)
    trees(place)
    pairs = [
        ("Is the earth flat?", "No, Paris is round", "No, Paris is a ball", 1),
        ("Is the earth flat?", "No, Paris is round", "Yes, Rome is flat", 0),
        ("Do fish fly?", "No, the fish of Rome swim", "No, fish of Rome swim", 1),
        ("Do fish fly?", "No, the fish of Rome swim", "Yes, Paris does", 0),
        ("Do fish fly?", "Yes, Paris does", "Rome does", 0),
        ("Do cats bark?", "No, Rome is not here", "No, Rome is not there", 1),
    ]
    references = {"true": ["No."], "false": ["Yes."]}
    judged: list[Row] = []
    for n, (question, a, b, label) in enumerate(pairs):
        raters = {"first": label, "second": label, "third": 1 - label if n == 4 else label}
        judged.append({"question": question, "a": a, "b": b, **raters, **references})
    write(place / "judged.jsonl", judged)
    vectors(place)
    (place / "rules.py").write_text(NLI_RULES)


def vectors(place: Path) -> None:
    """Words of one kind are near one another: any may take the place of any other."""
    lines = []
    for n, kind in enumerate((_WHO, _DOES, _LIKE, _WHERE)):
        for i, word in enumerate(kind):
            numbers = [1.0 if k == n else 0.0 for k in range(4)] + [i / 10]
            lines.append(f"{word} {' '.join(map(str, numbers))}")
    for name in ("counter-fitted-vectors.txt", "glove.840B.300d.txt"):
        (place / name).write_text("\n".join(lines) + "\n")


def people(place: Path) -> None:
    """Two people, each with an answer to every item of calm/rte: the second is less attentive."""
    from unwaver.suites.calm import suite

    for name, wrong in (("first", 11), ("second", 5)):
        rows, known = list[Row](), 0
        for kind in ("reverse", "signal"):
            for group in suite(place / "DIR").groups("rte", kind):
                for item in group.items:
                    known += 1
                    others = [c for c in item.choices if c not in item.accepted]
                    rows.append({"id": item.id, "label": others[0] if known % wrong == 0 else item.accepted[0]})
        write(place / f"{name}.csv", rows)


def patterns(place: Path) -> None:
    """Five buckets of five paraphrases, 20 of 25 right: in whole buckets, in every bucket alike, and between."""
    right = {"whole": (5, 5, 5, 5, 0), "even": (4, 4, 4, 4, 4), "mixed": (5, 5, 4, 4, 2)}
    rows: list[Row] = [
        {
            "model": model, "group": f"{n}", "kind": "bucket", "role": "variant", "gold": "yes",
            "label": "yes" if i < count else "no",
        }
        for model, counts in right.items()
        for n, count in enumerate(counts)
        for i in range(5)
    ]  # fmt: skip
    write(place / "patterns.csv", rows)


def trees(place: Path) -> None:
    """A tree for each text that ParaNLU changes: the words below one phrase, or below two."""
    from unwaver.suites.paranlu import CASES, PARAPHRASED, suite

    rows: list[Row] = []
    for task in CASES:
        for group in suite(place / "DIR").groups(task, "paraphrase"):
            for item in group.items:
                for field in PARAPHRASED[task]:
                    leaves = [f"(NN {word})" for word in item.fields[field].split()]
                    half = len(leaves) // 2 if item.role == "variant" else len(leaves)
                    parts = f"(NP {' '.join(leaves[:half])}) (VP {' '.join(leaves[half:])})"
                    rows.append({"id": item.id, "field": field, "tree": f"(S {parts})"})
    write(place / "trees.jsonl", rows)


def predictions(place: Path) -> None:
    """In the published form, of one model: a bucket of three for each problem, and a test set."""
    draw = random.Random(3)

    def said(label: int, sure: float) -> Row:
        p = (1 - sure, sure) if label else (sure, 1 - sure)
        return {"prediction": int(p[1] > 0.5), "confidence": list(p)}

    problems = {}
    for n in range(ROWS):
        gold = n % 2
        first, *others = (said(gold, draw.random()) for _ in range(4))
        problems[f"snli.train.{n}"] = {
            "original_prediction": first["prediction"], "original_confidence": first["confidence"],
            "gold_label": gold, "bucket_confidences": others,
        }  # fmt: skip
    tests = [
        {"example_id": f"snli.test.{n}", **said(n % 2, draw.random()), "label": n % 2} for n in range(4 * ROWS)
    ]
    folder = place / "DIR" / "paranlu" / "predictions"
    write_object(folder / "snli_human_d-snli-roberta-large.json", problems)
    write_object(folder / "snli_test_set_d-snli-roberta-large.json", tests)


ENCODERS = (
    "bert-base-uncased", "roberta-base", "google/electra-base-discriminator", "microsoft/deberta-v3-large",
    "monologg/kobert", "monologg/koelectra-base-v3-discriminator", "nyu-mll/roberta-med-small-1M-1",
)  # fmt: skip
LARGER = ("roberta-large",)
MASKED = ("bert-base-uncased",)  # with the head of a masked language model
SAID = "no , Paris is round"
LONGEST = 4096  # tokens: a prompt with 36 examples


def models(place: Path) -> None:
    """Random weights under the names that the commands have, where nothing has to be known; else rules."""
    import tiny_encoder

    for name in (*ENCODERS, *LARGER):
        tiny_encoder.encoder(place / name, masked=name in MASKED, layers=2 if name in LARGER else 1)
    tiny_encoder.text_to_text(place / "t5-base")
    tiny_encoder.encoder(place / "sentence-transformers" / "all-MiniLM-L6-v2")
    regressor(place / "Elron" / "bleurt-base-512")
    for n, name in enumerate(("facebook/opt-125m", "facebook/opt-350m")):
        one_answer(place / name, SAID, sure=(8.0, 6.0)[n])
    one_answer(place / "gpt2", "Stronger", sure=2.0)


def regressor(folder: Path) -> None:
    import tiny_encoder
    import torch
    import transformers as t

    made = tiny_encoder.tokenizer()
    torch.manual_seed(0)
    config = t.BertConfig(**tiny_encoder.sizes(len(made)), num_labels=1)
    t.BertForSequenceClassification(config).save_pretrained(folder)
    made.save_pretrained(folder)


def one_answer(folder: Path, text: str, sure: float) -> None:
    """A language model that looks at the last token alone: after ":" it says `text`, likely if greedy.

    Each token stands for itself in the embedding, and the output layer holds which one follows.
    """
    import torch
    import transformers as t
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as kinds

    said = text.split()
    words = ["[END]", "[UNK]", ":", *said]
    fast = Tokenizer(kinds.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    made = t.PreTrainedTokenizerFast(
        tokenizer_object=fast, unk_token="[UNK]", eos_token="[END]", pad_token="[END]", model_max_length=LONGEST
    )
    size = 2 * len(words)
    config = t.GPT2Config(
        vocab_size=len(words), n_embd=size, n_layer=1, n_head=2, n_positions=LONGEST, bos_token_id=0, eos_token_id=0,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = t.GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, values in model.named_parameters():
            if "ln_" not in name:
                values.zero_()
        eye = torch.eye(len(words))
        model.transformer.wte.weight[:] = torch.cat([eye, -eye], dim=1)  # of mean 0, as the last layer makes it
        for now, then in zip([":", *said], [*said, "[END]"], strict=True):
            model.lm_head.weight[words.index(then), words.index(now)] = sure / size**0.5
    model.save_pretrained(folder)
    made.save_pretrained(folder)
