"""Everything included, on one page: name -> "module:attribute". Nothing is imported until it is asked for.

Packages of others come in by the same door: entry points in the groups `unwaver.suites`, `unwaver.models` and
`unwaver.metrics`. docs/extending.md shows one of each.
"""

from __future__ import annotations

SUITES = {
    "becel": "unwaver.suites.becel:suite",
    "calm": "unwaver.suites.calm:suite",
    "sample": "unwaver.suites.sample:suite",
}

MODELS = {
    "hf": "unwaver.models.hf:open_model",
    "openai": "unwaver.models.openai:open_model",
    "predictions": "unwaver.models.predictions:open_model",
    "python": "unwaver.models.python:open_model",
    "fake": "unwaver.models.fake:open_model",
    "demo": "unwaver.models.demo:demo",
}

METRICS = {
    "violation": "unwaver.metrics.violation:metrics",
    "input_format": "unwaver.metrics.input_format:metrics",
    "accuracy": "unwaver.metrics.accuracy:metrics",
    "confidence": "unwaver.metrics.confidence:metrics",
}

# what `unwaver list` says of each
ABOUT = {
    "becel": "five logical relations on seven tasks (Jang et al. 2022)",
    "calm": "meaning-free changes of the input format (Jang et al. 2021)",
    "sample": "a small set of every relation, shipped with unwaver",
    "hf": "a Hugging Face hub id or a local model folder",
    "openai": "a model on any OpenAI-compatible server: --model-arg base_url=…",
    "predictions": "a file of answers made elsewhere",
    "python": "module:function of your own",
    "fake": "constant, random or keyword: for tests and first steps",
    "demo": "smollm2: a small, weak language model that the demo runs",
    "violation": "tau, tau_…: share of groups that break their relation",
    "input_format": "C_R, C_S, C_S@θ: share of answers that survive a change of format",
    "accuracy": "accuracy, accuracy_variants",
    "confidence": "entropy_…, max_prob_… of consistent and inconsistent answers",
}
