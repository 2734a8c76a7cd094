"""Names in words, for someone who reads one line: kinds of relations ("surface_typo" -> "typing error"), tasks and
verdicts."""

from __future__ import annotations

from typing import Literal

Level = Literal["bad", "fair", "good", "unsure", "constant", "none"]

ORDER: tuple[Level, ...] = ("bad", "constant", "fair", "unsure", "good", "none")
WORDS: dict[Level, str] = {
    "bad": "inconsistent",
    "fair": "not quite consistent",
    "good": "consistent",
    "unsure": "too few to tell",
    "constant": "always one answer",
    "none": "not measured",
}


TASKS = {
    "boolq": "BoolQ", "snli": "SNLI", "rte": "RTE", "mrpc": "MRPC", "wic": "WiC", "sst2": "SST-2",
    "ag_news": "AG News", "mnli": "MNLI", "qnli": "QNLI", "qqp": "QQP", "kornli": "KorNLI",
    "klue_nli": "KLUE-NLI", "klue_sts": "KLUE-STS", "own": "Your data",
    "yes_no": "Yes/no questions", "choice": "Multiple choice", "open": "Open questions", "preference": "Judging",
    "entailment": "Entailment", "sentiment": "Sentiment", "topic": "Topics",
}  # fmt: skip

KINDS = {
    "semantic": "reworded",
    "negational": "negated",
    "symmetric": "swapped",
    "transitive": "chained",
    "additive": "joined",
    "surface_typo": "typing error",
    "surface_case": "upper and lower case",
    "surface_space": "spaces",
    "surface_punctuation": "punctuation",
    "reverse": "fields in another order",
    "signal": "other signs around the field names",
    "fooling": "reworded several times",
    "paraphrastic": "reworded",
    "paraphrase": "reworded",
    "repeat": "asked again",
    "inverse": "from the other side",
    "inherited": "class and member",
    "contrast": "small edit, other answer",
    "options": "options in another order",
    "format": "other layout",
    "documents": "texts in another order",
    "distractor": "irrelevant sentence",
    "persona": "who asks",
    "again": "later in a conversation",
    "doubt": "doubted",
    "language": "another language",
    "padded": "padded answer",
    "politeness": "polite words",
}


def kind_in_words(kind: str) -> str:
    """kind_in_words("semantic") -> "reworded"; a kind of the user's own is its own name."""
    found = KINDS.get(kind) or KINDS.get(kind.partition("_")[0])
    return found or kind.replace("_", " ")
