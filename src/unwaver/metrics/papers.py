"""The papers that metrics come from."""

from __future__ import annotations

BECEL = "Jang, Kwon and Lukasiewicz, BECEL: Benchmark for Consistency Evaluation of Language Models, COLING 2022"
CALM = "Jang, Kwon and Lukasiewicz, Accurate, yet Inconsistent? Consistency Analysis on Language Models, 2021"
PARANLU = (
    "Srikanth, Carpuat and Rudinger, How Often Are Errors in Natural Language Reasoning Due to Paraphrastic "
    "Variability?, TACL 2024"
)
SENSITIVITY = "Arakelyan, Liu and Augenstein, Semantic Sensitivities and Inconsistent Predictions, EACL 2024"
GENERATION = (
    "Raj, Rosati and Majumdar, Measuring Reliability of Large Language Models through Semantic Consistency, 2022"
)
