"""The commands by section, as `unwaver --help` lists them. The file of a command is NAME_verb.py."""

from __future__ import annotations

HELP = {
    "In a project": {
        "init": "Write unwaver.toml for your questions and your model.",
        "check": "Do what unwaver.toml says: ask, compare, decide.",
        "doctor": "Check that extras, keys and servers are available.",
    },
    "Measure": {
        "run": "Ask models about suites and score the answers.",
        "score": "Score a run folder, a table or logs of other tools.",
        "show": "Show broken groups: texts and answers side by side.",
        "report": "Write a report: verdict, scores, figures, every group.",
        "view": "Look at all runs in a browser.",
    },
    "Compare and decide": {
        "compare": "Compare runs on the same groups, with tests.",
        "gate": "Check a run against bars: pass, fail or undecided, for CI.",
        "analyse": "Pareto front, splits, distances of paraphrases, …",
    },
    "Prepare": {
        "build": "Make groups from your own items: negations, paraphrases, …",
        "annotate": "Let people rate, write and answer in a browser.",
        "review": "Write a sheet on which a person judges variants, or compare sheets.",
        "agreement": "Validate agreements of free text against human judgements.",
    },
    "Train": {
        "train": "Fine-tune models on tasks, over seeds.",
        "study": "Train, evaluate and compare models as planned in a file.",
        "bow": "Train a bag-of-words model.",
    },
    "Look up": {
        "list": "List what you can name: suites, tasks, models, metrics, …",
        "explain": "Explain a metric: what it measures, formula, chance, paper.",
    },
}
VERBS = {name: about for verbs in HELP.values() for name, about in verbs.items()}
EXAMPLES = (
    "unwaver run sample --model demo/smollm2",
    "unwaver show runs/sample-1a2b3c4d",
    "unwaver gate runs/sample-1a2b3c4d --max tau=0.10",
)
