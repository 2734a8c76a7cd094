"""Free text end to end: an unstable server, hostile and empty outputs, each pair once, nothing lost."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from server import Server

QUICK = ["--model-arg", "timeout=3", "--model-arg", "backoff=0.01"]
WORDINGS = 4
# what a model may write: nothing, too much, what steers a terminal, other directions, other scripts
HOSTILE = {
    "empty": ["", "  \n ", "", ""],
    "partly": ["An answer.", "", "An answer.", "Another."],
    "long": ["word " * 10_000, "word " * 9_999 + "end", "x" * 50_000, "short"],
    "control": ["a\x1b[31mred\x1b[0m", "a\x00b", "\x07bell\x08", "a\x1b]0;title\x07"],
    "right-to-left": ["שלום עולם", "مرحبا بالعالم", "\u202etxet desrever", "שלום עולם"],
    "emoji": ["👩‍👩‍👧‍👦 yes", "e\u0301", "é", "\ufeffyes"],
    "markup": ["<script>alert(1)</script>", "</script>", "{{7*7}}", "[bold]x[/bold]"],
    "numbers": ["1,200", "1200.0", "twelve hundred", "٣٤"],
}


def written(folder: Path) -> None:
    groups = [{"items": [{"text": f"{name} wording {n}"} for n in range(WORDINGS)]} for name in HOSTILE]
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, groups)))


def says(prompt: str) -> str:
    if "consistent, Yes or No" in prompt:
        return "Yes" if len(prompt) % 2 else "No"
    name, n = re.search(r"(\S+) wording (\d)", prompt).groups()  # type: ignore[union-attr]
    return HOSTILE[name][int(n)]


def test_hostile_outputs_of_an_unstable_server(unwaver: Any, tmp_path: Path) -> None:
    written(tmp_path)
    names = ["exact", "normalised", "numeric", "rouge1", "bleu", "entities"]
    with Server(says, faults=0.2, kinds=("429", "500", "html", "cut", "drop"), seed=5) as server:
        judge = "judge=openai/small"
        command = ["run", "own.jsonl", "--model", "openai/small", "--model-arg", f"base_url={server.url}", *QUICK,
                   "--out", "run", *(f"--agree={name}" for name in [*names, judge])]  # fmt: skip
        env = {"OPENAI_BASE_URL": server.url}
        done = unwaver(*command, "--json", env=env)
        assert done.returncode == 0, done.stderr
        asked = len(server.bodies)
        shown = unwaver(*command, env=env)
        assert len(server.bodies) == asked, "a warm re-run asks nothing"
    document = json.loads(done.stdout)
    scores = {s["metric"]: s for s in document["scores"]}
    for name in [*names, "judge"]:
        score = scores[f"Cons_{name}"]
        assert (score["groups"], score["failed"], score["not_asked"]) == (len(HOSTILE), 0, 0)
        assert score["counted"] + score["not_applicable"] == len(HOSTILE)
    assert scores["Cons_exact"]["not_applicable"] == 1, "a question without answers"
    assert scores["Cons_exact"]["unreadable"] == 2, "questions with an empty answer"
    with sqlite3.connect(tmp_path / "run" / "answers.sqlite") as db:
        texts = {text for (text,) in db.execute("SELECT text FROM answers")}
    for outputs in HOSTILE.values():
        assert set(outputs) <= texts, "raw, never edited"
    for printed in (shown.stdout, unwaver("show", "run", "--all", "--limit", "99").stdout):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", printed)
    judge_says = next(a for a in document["run"]["agreements"] if a["name"] == "judge")
    assert judge_says["own_pairs"] > 0
    assert "gives the same verdict in both orders for" in " ".join(shown.stdout.split())
    again = unwaver("score", "run", "--json")
    assert json.loads(again.stdout)["scores"] == document["scores"]


def test_each_pair_once(unwaver: Any, tmp_path: Path, nli_model: Path) -> None:
    """n outputs make at most n(n-1) directed pairs; equal ones and empty ones none; the second run none at all."""
    texts = ["A dog runs.", "A dog is running.", "A dog runs.", "", "Nobody runs."]
    (tmp_path / "own.jsonl").write_text(json.dumps({"items": [{"text": f"What {n}?"} for n in range(5)]}))
    (tmp_path / "said.py").write_text(
        f"TEXTS = {texts!r}\n\ndef answer(items):\n    return [TEXTS[int(i['prompt'][-2])] for i in items]\n"
    )
    model = f"hf/{nli_model}"
    command = ["run", "own.jsonl", "--model", "python/said:answer", "--agree", f"entail={model}", "--agree",
               f"contradict={model}", "--agree", f"bidirectional={model}", "--device", "cpu", "--out", "r", "--json"]  # fmt: skip
    done = unwaver(*command)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    answers, questions = 3 * 2, 5 * 4  # three distinct texts, and five wordings, both directions
    assert document["run"]["spent"]["calls"] == 5 + answers, "three agreements, one model, asked once"
    assert [a["pairs"] for a in document["run"]["agreements"]] == [answers] * 3
    with_questions = json.loads(unwaver(*command, "--compare-questions").stdout)["run"]
    assert with_questions["spent"]["calls"] == questions, "and the questions only where that is asked for"
    assert [a["pairs"] for a in with_questions["agreements"]] == [answers + questions] * 3
    scores = {s["metric"]: s["value"] for s in document["scores"]}
    assert scores["clusters"] == 2
    assert scores["majority_share"] == 0.75
    assert json.loads(unwaver(*command).stdout)["run"]["spent"]["calls"] == 0


@pytest.fixture
def tiny_causal(tmp_path: Path) -> Path:
    """A random language model with the demo model's parts: small enough to write in a second."""
    transformers = pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.manual_seed(0)  # one whose sampled answers are empty at times
    pieces = ["</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    fast = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, []))
    fast.pre_tokenizer, fast.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=fast, eos_token="</s>", pad_token="</s>")
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.4}
    config = transformers.GPT2Config(vocab_size=len(pieces), bos_token_id=0, eos_token_id=0, **sizes)
    folder = tmp_path / "tiny"
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("way", ["greedy", "nucleus"])
def test_a_language_model_writes_beside_labels(unwaver: Any, tmp_path: Path, tiny_causal: Path, way: str) -> None:
    """One command, one model: labels by log-probability, open questions in free text, in one table."""
    command = ["run", "sample/snli/semantic", "sample/facts", "--model", f"hf/{tiny_causal}", "--limit", 3,
               "--device", "cpu", "--model-arg", "max_tokens=8", "--cut", "keep", "--out", way]  # fmt: skip
    if way == "nucleus":
        command += ["--model-arg", "temperature=0.9", "--replicates", 2]
    done = unwaver(*command, "--json")
    assert done.returncode == 0, done.stderr
    methods = {s["task"]: s["method"] for s in json.loads(done.stdout)["scores"]}
    assert methods["snli"] == "logprob"
    assert methods["facts"].startswith("generate")
    shown = unwaver("score", way, env={"COLUMNS": "120"}).stdout
    assert shown.count("relation ") == 1, "one table"
    narrow = unwaver("score", way, env={"COLUMNS": "60"}).stdout
    if way == "nucleus":
        first, counts = narrow.split("relation ")[1:]
        numbers = re.findall(r"^  \w\S+", first.partition("facts/paraphrase")[2], re.MULTILINE)
        assert len(numbers) == 12  # with the gap to repeats, wording_share and P_C
        assert "unreadable" in shown
        assert "unreadable" in counts
        lines = [line for line in counts.splitlines() if re.match(r" *facts/paraphrase +\d", line)]
        assert len(lines) == 1, "what went wrong is said once of a relation"
    again = json.loads(unwaver("score", way, "--json").stdout)
    assert again["scores"] == json.loads(done.stdout)["scores"]
