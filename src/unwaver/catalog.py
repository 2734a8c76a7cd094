"""Everything included, on one page: name -> "module:attribute". Nothing is imported until it is asked for.

Packages of others come in by the same door: entry points in the groups `unwaver.suites`, `unwaver.models`,
`unwaver.variants`, `unwaver.metrics` and `unwaver.logs`. docs/extending.md shows them.
"""

from __future__ import annotations

SUITES = {
    "becel": "unwaver.suites.becel:suite",
    "calm": "unwaver.suites.calm:suite",
    "paranlu": "unwaver.suites.paranlu:suite",
    "sample": "unwaver.suites.sample:suite",
    "sensitivity": "unwaver.suites.sensitivity:suite",
    "truthfulqa": "unwaver.suites.truthfulqa:suite",
}

VARIANTS = {
    "swap": "unwaver.variants.swap:swap",
    "reverse": "unwaver.variants.render:reverse",
    "signal": "unwaver.variants.render:signal",
    "additive": "unwaver.variants.compose:additive",
    "transitive": "unwaver.variants.transitive:transitive",
    "negate": "unwaver.variants.negational:negate",
    "antonym": "unwaver.variants.negational:antonym",
    "paraphrase": "unwaver.variants.paraphrase:paraphrase",
    "surface_case": "unwaver.variants.surface:surface_case",
    "surface_punctuation": "unwaver.variants.surface:surface_punctuation",
    "surface_space": "unwaver.variants.surface:surface_space",
    "surface_typo": "unwaver.variants.surface:surface_typo",
    "surface_contraction": "unwaver.variants.surface:surface_contraction",
    "surface_number": "unwaver.variants.surface:surface_number",
    "surface_spelling": "unwaver.variants.surface:surface_spelling",
    "surface_options": "unwaver.variants.surface:surface_options",
}

MODELS = {
    "hf": "unwaver.models.hf:open_model",
    "openai": "unwaver.models.openai:open_model",
    "predictions": "unwaver.models.predictions:open_model",
    "python": "unwaver.models.python:open_model",
    "bow": "unwaver.models.bow:open_model",
    "fake": "unwaver.models.fake:open_model",
    "demo": "unwaver.models.demo:demo",
    "embedding": "unwaver.models.embedding:open_model",
    "bertscore": "unwaver.models.bertscore:open_model",
    "regression": "unwaver.models.regression:open_model",
}

METRICS = {
    "violation": "unwaver.metrics.violation:metrics",
    "input_format": "unwaver.metrics.input_format:metrics",
    "paraphrastic": "unwaver.metrics.paraphrastic:metrics",
    "components": "unwaver.metrics.components:metrics",
    "bucket": "unwaver.metrics.bucket:metrics",
    "fooling": "unwaver.metrics.fooling:metrics",
    "pairwise": "unwaver.metrics.pairwise:metrics",
    "accuracy": "unwaver.metrics.accuracy:metrics",
    "confidence": "unwaver.metrics.confidence:metrics",
}

# how free answers are compared: --agree
AGREEMENTS = {
    "exact": "unwaver.agree.exact:exact",
    "normalised": "unwaver.agree.exact:normalised",
    "numeric": "unwaver.agree.numeric:numeric",
    "rouge1": "unwaver.agree.overlap:rouge1",
    "bleu": "unwaver.agree.overlap:bleu",
    "entities": "unwaver.agree.entities:entities",
    "bertscore": "unwaver.agree.encoders:bertscore",
    "embedding": "unwaver.agree.encoders:embedding",
    "paraphrase": "unwaver.agree.paraphrase:paraphrase",
    "entail": "unwaver.agree.nli:entail",
    "contradict": "unwaver.agree.nli:contradict",
    "bidirectional": "unwaver.agree.nli:bidirectional",
    "judge": "unwaver.agree.judge:judge",
}

# logs of other tools, in the order in which they are tried: anything may be a table
LOGS = {
    "lm-eval": "unwaver.logs.lm_eval:read",
    "inspect": "unwaver.logs.inspect:read",
    "helm": "unwaver.logs.helm:read",
    "promptfoo": "unwaver.logs.promptfoo:read",
    "paranlu": "unwaver.logs.paranlu:read",
    "table": "unwaver.logs.table:read",
}

# what `unwaver list` says of each
ABOUT = {
    "becel": "five logical relations on seven tasks (Jang et al. 2022)",
    "calm": "meaning-free changes of the input format (Jang et al. 2021)",
    "paranlu": "1,000 reasoning problems with 7,782 paraphrases (Srikanth et al. 2024)",
    "sample": "a small set of every relation, shipped with unwaver",
    "sensitivity": "fooling rates of NLI models under paraphrase (Arakelyan et al. 2024): --writer",
    "truthfulqa": "open questions with up to six paraphrases each (Lin et al. 2022, Raj et al. 2022)",
    "swap": "symmetric: the two texts change places",
    "reverse": "CALM: the two texts in the other order, each with its indicator",
    "signal": "CALM: ten other signs instead of the colon",
    "additive": "two texts of one label, joined",
    "transitive": "conclusions from two labelled pairs",
    "negate": "negational: a negation put in or taken out (English)",
    "antonym": "negational: an adjective or adverb turned into its opposite (English)",
    "paraphrase": "semantic: said in other words by --writer, certified by --judge",
    "surface_case": "lower case, upper case, title case",
    "surface_punctuation": "marks dropped, added or changed",
    "surface_space": "more or other white space",
    "surface_typo": "one slip of the keyboard (English)",
    "surface_contraction": "do not, don't (English)",
    "surface_number": "7, seven (English)",
    "surface_spelling": "colour, color (English)",
    "surface_options": "the options in another order, or with other letters",
    "bertscore": "F1 of BERTScore by any encoder: it compares answers, it is not a model to test",
    "embedding": "cosine of mean-pooled embeddings: a judge, not a model to test",
    "fooling": "r_r@k, r_s@k, js_…, sigma_…: share of items that a paraphrase turns",
    "regression": "a model with one number as its output: a scorer, not a model to test",
    "hf": "a Hugging Face hub id or a local model folder",
    "openai": "a model on any OpenAI-compatible server: --model-arg base_url=…",
    "predictions": "a file of answers made elsewhere",
    "python": "module:function of your own",
    "bow": "a bag-of-words model that unwaver bow has trained",
    "fake": "constant, random or keyword: for tests and first steps",
    "demo": "smollm2: a small, weak language model that the demo runs",
    "violation": "tau, tau_…: share of groups that break their relation",
    "input_format": "C_R, C_S, C_S@θ: share of answers that survive a change of format",
    "paraphrastic": "P_C, VAP, PVAP, A_…: paraphrastic consistency of buckets, raw and corrected",
    "components": "var_item, var_wording, var_replicate: wording noise and sampling noise apart",
    "bucket": "Cons_lex, Cons_lex_repeat, tau: how far the answers in a bucket agree",
    "pairwise": "Cons_…: how far generated answers agree, by any notion of agreement",
    "accuracy": "accuracy, accuracy_variants",
    "lm-eval": "lm-evaluation-harness: samples_*.jsonl",
    "inspect": "Inspect: .eval and .json logs",
    "helm": "HELM: run folders with scenario_state.json",
    "promptfoo": "promptfoo: JSON output",
    "table": "csv, tsv, jsonl, json or parquet, one row an answer",
    "confidence": "entropy_…, max_prob_… of consistent and inconsistent answers",
}
