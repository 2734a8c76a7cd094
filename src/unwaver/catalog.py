"""Everything that can be added to unwaver, on one page: name -> ("module:attribute", one line about it).

Nothing is imported until it is used. Installed packages add names of their own through entry points, one group for
each section: `unwaver.suites`, `unwaver.tasks` … docs/extending.md shows how. To add something to unwaver itself,
write its file and one line here.
"""

from __future__ import annotations

Section = dict[str, tuple[str, str]]

SUITES: Section = {
    "becel": ("unwaver.suites.becel:suite", "five logical relations on seven tasks (Jang et al. 2022)"),
    "calm": ("unwaver.suites.calm:suite", "meaning-free changes of the input format (Jang et al. 2021)"),
    "core": (
        "unwaver.suites.core.suite:core",
        "18 relations on facts, texts and verdicts, for any chat model; shipped with unwaver",
    ),
    "core-mini": ("unwaver.suites.core.suite:mini", "a small part of core with every kind, for a first look"),
    "paranlu": (
        "unwaver.suites.paranlu:suite",
        "1,000 reasoning problems with 7,782 paraphrases (Srikanth et al. 2024)",
    ),
    "sample": ("unwaver.suites.sample:suite", "a small set of every relation, shipped with unwaver"),
    "sensitivity": (
        "unwaver.suites.sensitivity:suite",
        "fooling rates of NLI models under paraphrase (Arakelyan et al. 2024): --writer",
    ),
    "truthfulqa": (
        "unwaver.suites.truthfulqa:suite",
        "open questions with up to six paraphrases each (Lin et al. 2022, Raj et al. 2022)",
    ),
}

# what an item asks: --task, and the task of a suite. Each is a table of built_in.toml
_BUILT_IN = "unwaver.tasks:BUILT_IN"
TASKS: Section = {
    "boolq": (_BUILT_IN, "a yes/no question about a passage"),
    "snli": (_BUILT_IN, "does the premise entail the hypothesis: entailment, neutral, contradiction"),
    "mnli": (_BUILT_IN, "as snli, on texts of several genres"),
    "rte": (_BUILT_IN, "does the first text entail the second: entailment, not_entailment"),
    "mrpc": (_BUILT_IN, "do two sentences mean the same"),
    "paws": (_BUILT_IN, "as mrpc, on pairs with nearly the same words"),
    "wic": (_BUILT_IN, "does a word have the same sense in two sentences"),
    "sst2": (_BUILT_IN, "sentiment of a sentence: negative, positive"),
    "ag_news": (_BUILT_IN, "topic of a news text: World, Sports, Business, Sci/Tech"),
    "qnli": (_BUILT_IN, "does a sentence contain the answer to a question"),
    "qqp": (_BUILT_IN, "do two questions ask the same"),
    "kornli": (_BUILT_IN, "as snli, in Korean"),
    "klue-nli": (_BUILT_IN, "as snli, in Korean (KLUE)"),
    "klue-sts": (_BUILT_IN, "do two Korean sentences mean the same (KLUE)"),
    "anli": (_BUILT_IN, "abduction: which of two hypotheses explains two observations"),
    "delta-snli": (_BUILT_IN, "defeasible: does an update weaken or strengthen the hypothesis (SNLI)"),
    "delta-atomic": (_BUILT_IN, "defeasible: as delta-snli (ATOMIC)"),
    "delta-social": (_BUILT_IN, "defeasible: as delta-snli, without a premise (Social Chemistry)"),
    "same_meaning": (_BUILT_IN, "do two texts mean the same: the question that certifiers ask an encoder"),
    "anli-r1": (_BUILT_IN, "as snli: adversarial NLI, round 1"),
    "anli-r2": (_BUILT_IN, "as snli: adversarial NLI, round 2"),
    "anli-r3": (_BUILT_IN, "as snli: adversarial NLI, round 3"),
    "question": (_BUILT_IN, "a question or prompt of your own, asked as it is and answered in free text"),
    "facts": (_BUILT_IN, "a short question with one right answer, in free text"),
    "truthfulqa": (_BUILT_IN, "a question with true and false reference answers, in free text"),
}

MODELS: Section = {
    "hf": ("unwaver.models.hf:open_model", "a Hugging Face hub id or a local model folder"),
    "openai": (
        "unwaver.models.openai:open_model",
        "a model on any OpenAI-compatible server: openai/NAME,base_url=…",
    ),
    "inspect": (
        "unwaver.models.through_inspect:open_model",
        "a model of any provider that Inspect knows: inspect/anthropic/NAME, inspect/google/NAME …",
    ),
    "predictions": ("unwaver.models.predictions:open_model", "a file of answers made elsewhere"),
    "human": ("unwaver.models.human:open_model", "people who answered a job: their majority, or one: rater=r1"),
    "python": ("unwaver.models.python:open_model", "module:function of your own"),
    "bow": ("unwaver.models.bow:open_model", "a bag of words that unwaver bow or train --base ngrams has trained"),
    "fake": ("unwaver.models.fake:open_model", "constant, random, keyword or oracle: for tests and first steps"),
    "demo": ("unwaver.models.demo:demo", "smollm2: a small, weak language model that the demo runs"),
    "embedding": (
        "unwaver.models.embedding:open_model",
        "cosine of mean-pooled embeddings: it compares texts, it is not a model to test",
    ),
    "bertscore": (
        "unwaver.models.bertscore:open_model",
        "F1 of BERTScore by any encoder: it compares answers, it is not a model to test",
    ),
    "regression": (
        "unwaver.models.regression:open_model",
        "a model with one number as its output: a scorer, not a model to test",
    ),
}

VARIANTS: Section = {
    "auto": (
        "unwaver.variants.auto:auto",
        "three certified paraphrases, two surface changes, and the original asked again twice",
    ),
    "swap": ("unwaver.variants.swap:swap", "symmetric: the two texts are swapped"),
    "reverse": (
        "unwaver.variants.render:reverse",
        "CALM: the two texts in the other order, each with its indicator",
    ),
    "signal": ("unwaver.variants.render:signal", "CALM: ten other signs instead of the colon"),
    "additive": ("unwaver.variants.compose:additive", "two texts with the same label, joined"),
    "transitive": ("unwaver.variants.transitive:transitive", "conclusions from two labelled pairs"),
    "negate": ("unwaver.variants.negational:negate", "negational: a negation added or removed (English)"),
    "antonym": (
        "unwaver.variants.negational:antonym",
        "negational: an adjective or adverb turned into its opposite (English)",
    ),
    "paraphrase": (
        "unwaver.variants.paraphrase:paraphrase",
        "semantic: paraphrases by --writer, certified by --judge",
    ),
    "surface_case": ("unwaver.variants.surface:surface_case", "lower case, upper case, title case"),
    "surface_punctuation": (
        "unwaver.variants.surface:surface_punctuation",
        "punctuation dropped, added or changed",
    ),
    "surface_space": ("unwaver.variants.surface:surface_space", "more or other white space"),
    "surface_typo": ("unwaver.variants.surface:surface_typo", "one typing error (English, German)"),
    "surface_contraction": ("unwaver.variants.surface:surface_contraction", "do not, don't (English)"),
    "surface_number": ("unwaver.variants.surface:surface_number", "7, seven (English)"),
    "surface_spelling": ("unwaver.variants.surface:surface_spelling", "colour, color (English)"),
    "distractor": ("unwaver.variants.around:distractor", "a true sentence about something else, before or after"),
    "doubt": (
        "unwaver.variants.around:doubt",
        "a second turn that doubts the model's own answer, which must stay",
    ),
    "politeness": ("unwaver.variants.around:politeness", "polite words before or after the text"),
    "options": (
        "unwaver.variants.surface:options",
        "the options in another order, or with other letters",
    ),
}

# certifiers, which accept or refuse a candidate for a variant: --judge
JUDGES: Section = {
    "entail": (
        "unwaver.variants.certifiers:entail",
        "entail=MODEL: an NLI model, or self, says that original and variant entail each other",
    ),
    "same": (
        "unwaver.variants.certifiers:same",
        "same=MODEL@0.8: a pair classifier or embedding/PATH gives the same meaning at least this probability",
    ),
    "distance": ("unwaver.variants.certifiers:distance", "distance=0.1:0.9: lexical distance from the original"),
    "length": (
        "unwaver.variants.certifiers:length",
        "length=0.5:2: words of the variant per word of the original",
    ),
}

# how two free answers are compared: --agree
AGREEMENTS: Section = {
    "exact": ("unwaver.agree.exact:exact", "the same text"),
    "normalised": ("unwaver.agree.exact:normalised", "the same text apart from case, punctuation and articles"),
    "numeric": ("unwaver.agree.numeric:numeric", "the same number"),
    "math": ("unwaver.agree.mathematics:math", "the same mathematical expression (math-verify)"),
    "json": (
        "unwaver.agree.json_answers:json",
        "the same JSON, field by field: json,fields=price+city,price=0.01",
    ),
    "tool": ("unwaver.agree.tools:tool", "the same calls of tools, with the same arguments"),
    "rouge1": ("unwaver.agree.overlap:rouge1", "F1 of shared words (ROUGE-1)"),
    "bleu": ("unwaver.agree.overlap:bleu", "BLEU of one answer against the other"),
    "entities": ("unwaver.agree.entities:entities", "share of named entities that both answers mention"),
    "bertscore": ("unwaver.agree.encoders:bertscore", "bertscore=PATH: F1 of BERTScore by any encoder"),
    "embedding": ("unwaver.agree.encoders:embedding", "embedding=PATH: cosine of mean-pooled embeddings"),
    "paraphrase": (
        "unwaver.agree.paraphrase:paraphrase",
        "paraphrase=MODEL: probability that they are paraphrases",
    ),
    "entail": ("unwaver.agree.nli:entail", "entail=MODEL: probability that one answer entails the other"),
    "contradict": (
        "unwaver.agree.nli:contradict",
        "contradict=MODEL: probability that they contradict each other",
    ),
    "bidirectional": (
        "unwaver.agree.nli:bidirectional",
        "bidirectional=MODEL: each answer entails the other",
    ),
    "judge": ("unwaver.agree.judge:judge", "judge=MODEL: a model is asked whether the two answers say the same"),
}

# what of a free text is the answer: --read
READERS: Section = {
    "text": ("unwaver.answers.extract:text", "the whole text, without white space around it"),
    "first_line": ("unwaver.answers.extract:first_line", "the first line that is not blank"),
    "last_line": ("unwaver.answers.extract:last_line", "the last line that is not blank"),
    "letter": ("unwaver.answers.extract:letter", "the letter of an option: (b) Rome -> B"),
    "number": ("unwaver.answers.extract:number", "the number that is given as the answer: #### 1,000 -> 1000"),
    "json": ("unwaver.answers.extract:json_value", "the first JSON object; json:a.b.0 is a value in it"),
    "regex": (
        "unwaver.answers.extract:regex_match",
        "regex:PATTERN: the last match, its first group if it has one",
    ),
}

# is a free answer right: --scorer
SCORERS: Section = {
    "bleurt": (
        "unwaver.agree.scorers:regression",
        "bleurt=PATH: a regression model finds it closer to a right reference; any other NAME=PATH works the same",
    ),
    "judge": ("unwaver.agree.scorers:judge", "judge=MODEL: a model is asked whether the answer is right"),
}

# how the next token is chosen: --decode
DECODINGS: Section = {
    "greedy": ("unwaver.models.decoding:greedy", "the most likely token: temperature 0"),
    "nucleus": (
        "unwaver.models.decoding:nucleus",
        "drawn from the most likely tokens that make up top_p: top_p 0.9, temperature 0.7",
    ),
    "sample": ("unwaver.models.decoding:sample", "drawn from all tokens: temperature 1"),
    "beam": ("unwaver.models.decoding:beam", "the most likely text of a beam search: num_beams 4"),
}

# families of metrics that are about some groups only: by what is expected of a group or by its kind, or about free
# text, repeats or a format. All others are tried on every group
ABOUT_ONLY: dict[str, tuple[str, ...]] = {
    "violation": ("same", "different", "implied"),
    "confidence": ("same", "different", "implied"),
    "base_split": ("base",),
    "input_format": ("reverse", "signal"),
    "paraphrastic": ("bucket", "free text"),
    "components": ("bucket", "free text"),
    "bucket": ("bucket",),
    "fooling": ("fooling",),
    "pairwise": ("free text",),
    "wording": ("repeats",),
    "kept_format": ("format",),
    "profile": (),
}
METRICS: Section = {
    "violation": ("unwaver.metrics.violation:metrics", "tau, tau_…: share of groups that break their relation"),
    "input_format": (
        "unwaver.metrics.input_format:metrics",
        "C_R, C_S, C_S@θ: share of answers that stay the same when the format changes",
    ),
    "paraphrastic": (
        "unwaver.metrics.paraphrastic:metrics",
        "P_C, VAP, PVAP, A_…: paraphrastic consistency of buckets and free text, raw and corrected",
    ),
    "components": (
        "unwaver.metrics.components:metrics",
        "var_item, var_wording, var_replicate: wording noise and sampling noise, separated",
    ),
    "bucket": (
        "unwaver.metrics.bucket:metrics",
        "Cons_lex, Cons_lex_repeat, tau: how far the answers in a bucket agree",
    ),
    "fooling": (
        "unwaver.metrics.fooling:metrics",
        "r_r@k, r_s@k, js_…, sigma_…: share of items whose answer a paraphrase changes",
    ),
    "pairwise": (
        "unwaver.metrics.pairwise:metrics",
        "Cons_…: how far generated answers agree, by any notion of agreement",
    ),
    "wording": (
        "unwaver.metrics.wording:metrics",
        "wording_share, Cons_…_gap: with repeats, wording noise and sampling noise",
    ),
    "kept_format": (
        "unwaver.metrics.kept_format:metrics",
        "format_kept, format_kept_all: share of answers in the format that was asked for",
    ),
    "accuracy": ("unwaver.metrics.accuracy:metrics", "accuracy, accuracy_variants"),
    "confidence": (
        "unwaver.metrics.confidence:metrics",
        "entropy_…, max_prob_… of consistent and inconsistent answers",
    ),
    "base_split": ("unwaver.metrics.base_split:metrics", "macro_f1 of a whole base split"),
    "profile": ("unwaver.metrics.profile:metrics", "held: share of groups that hold, by family (core)"),
}

# logs of other tools, in the order in which they are tried: anything may be a table
LOGS: Section = {
    "lm-eval": ("unwaver.logs.lm_eval:read", "lm-evaluation-harness: samples_*.jsonl"),
    "inspect": ("unwaver.logs.inspect:read", "Inspect: .eval and .json logs"),
    "helm": ("unwaver.logs.helm:read", "HELM: run folders with scenario_state.json"),
    "promptfoo": ("unwaver.logs.promptfoo:read", "promptfoo: JSON output"),
    "paranlu": (
        "unwaver.logs.paranlu:read",
        "ParaNLU: published prediction files, with those of the full test set",
    ),
    "becel": ("unwaver.logs.becel:read", "BECEL: prediction files of the authors (original_preds, …)"),
    "table": ("unwaver.logs.table:read", "csv, tsv, jsonl, json or parquet, one row per answer"),
}

SECTIONS: dict[str, Section] = {
    "suites": SUITES,
    "tasks": TASKS,
    "models": MODELS,
    "variants": VARIANTS,
    "judges": JUDGES,
    "agreements": AGREEMENTS,
    "readers": READERS,
    "scorers": SCORERS,
    "decodings": DECODINGS,
    "metrics": METRICS,
    "logs": LOGS,
}
