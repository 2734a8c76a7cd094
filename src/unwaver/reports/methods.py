"""How each number was computed: what it says, its formula, where it comes from, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unwaver.reports.source import Source
from unwaver.stats import DRAWS
from unwaver.types import Score

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
OURS = "unwaver"


@dataclass(frozen=True)
class Method:
    """`pattern` matches the whole name of a metric; the first that does explains it."""

    pattern: str
    says: str
    formula: str
    source: str


METHODS = (
    Method(
        "tau",
        "Share of groups that break their relation; lower is better. An unreadable answer satisfies no relation.",
        "τ = mean over groups of [relation broken]. same: variant ≠ original. different: variant = original. "
        "implied: over groups whose originals were all answered right, conclusion not accepted. "
        "A group with several variants is worth the share of them that break it. "
        "Buckets: share of later wordings whose answer differs from the first.",
        BECEL,
    ),
    Method(
        "tau_conditioned",
        "τ over the groups whose original was answered right, or was answered with one given label.",
        "τ restricted to groups with original ∈ accepted, or original = given",
        f"{BECEL}; over right originals: {OURS}",
    ),
    Method(
        "tau_independent",
        "What τ would be were originals and variants answered independently with the same shares of labels.",
        "same: 1 − Σ o(l)·v(l).  different: 1 − (Σ o(l)·Σ v(l) − Σ o(l)·v(l)).  implied: 1 − Σ v(l)·a(l)",
        OURS,
    ),
    Method("C_R", "Share of answers that stay when the two texts change places.", "C_R = 1 − τ of reverse", CALM),
    Method(
        r"C_S(@.*)?",
        "Share of items whose answer survives at least a share θ of ten signs; θ = 1 unless named.",
        "p = share of the ten predictions equal to the original one; C_S = mean of [p ≥ θ]",
        CALM,
    ),
    Method(
        r"P_C(_pairs|_floor|_independent|_corrected|_corrected_published)?",
        "How probable it is that two paraphrases of one problem are both answered right or both wrong.",
        "P_C = mean of θ² + (1 − θ)², θ the share of a bucket answered right. P_C_pairs: over distinct pairs, "
        "1 − 2·θ(1 − θ)·n/(n − 1). P_C_floor = 1 − 2·A(1 − A), A = mean θ, and P_C_independent = "
        "1 − 2·A(1 − A)(1 − mean 1/n): what P_C_pairs and P_C would be if answers were independent. Buckets with "
        "one judged wording do not apply. Corrected: under weights that undo how "
        "buckets were drawn.",
        PARANLU,
    ),
    Method(
        "VAP|Var_R|PVAP",
        "Variance of right and wrong: within buckets, in all, and the share of it that is due to wording.",
        "VAP = mean θ(1 − θ); Var_R = A(1 − A); PVAP = VAP / Var_R",
        PARANLU,
    ),
    Method(
        r"A_.*|weight_mass",
        "Accuracy on originals, on paraphrases pooled, as the mean over buckets, on the test set, or corrected.",
        "A_bucket = mean θ; A_paraphrase = right paraphrases / paraphrases; A_corrected = Σ w·θ / Σ w",
        PARANLU,
    ),
    Method(
        r"var_.*|wording_share|P_C_repeats",
        "Where the variance of right and wrong comes from: problem, wording, or a repeat of one wording.",
        "Method of moments with equal weights for problems and for wordings of a problem; see docs/methods.md",
        OURS,
    ),
    Method(
        r"r_r@.*",
        "Share of items answered right where some of k certified paraphrases changes the label.",
        "@k = 1 − C(m − f, k) / C(m, k) for an item with m paraphrases, f of them changing; mean over items",
        SENSITIVITY,
    ),
    Method(
        r"r_s@.*",
        "Share of items answered right where some of k certified paraphrases gives the opposite label.",
        "@k = 1 − C(m − f, k) / C(m, k) for an item with m paraphrases, f of them opposed; mean over items",
        SENSITIVITY,
    ),
    Method(
        r"(js|ks|sigma|embedding_distance|overlap_exact|overlap_fuzzy|length)_.*",
        "What paraphrases are like that flip an answer, and those that do not.",
        "js = ½D(P‖M) + ½D(Q‖M), base 2; ks = greatest distance of the two distribution functions; "
        "σ = standard deviation of the class probabilities",
        SENSITIVITY,
    ),
    Method(
        r"Cons_lex(_repeat)?",
        "Share of pairs of wordings (or of repeats of one wording) with exactly the same answer.",
        "mean over ordered pairs of answers, by bucket, then over buckets: a, a, b → 2 of 6",
        GENERATION,
    ),
    Method(
        r"Cons_.*|clusters|cluster_entropy|majority_share",
        "How far generated answers to wordings of one question agree, under a notion of agreement f.",
        "Cons = mean of f(y_i, y_j) over ordered pairs i ≠ j, by question, then over questions; @t: share ≥ t",
        GENERATION,
    ),
    Method(
        r"accuracy.*",
        "Share of right answers: to originals, to variants, or by references where answers are free text.",
        "mean of [label ∈ accepted], in each group and then over groups; an unreadable answer is wrong",
        "–",
    ),
    Method(
        r"(entropy|max_prob)_.*",
        "How sure the model was on the changed input, where its answer held and where it did not.",
        "entropy = −Σ p·log₂ p, bits; max_prob = max p; averaged in a group, then over groups",
        f"{CALM}; {BECEL}",
    ),
)


def method_of(metric: str) -> Method | None:
    return next((m for m in METHODS if re.fullmatch(m.pattern, metric)), None)


def slug(metric: str) -> str:
    """The anchor of a metric: letters and digits of its method, or of its own name."""
    found = method_of(metric)
    return (
        "how-"
        + re.sub(r"\W+", "-", metric if found is None else found.pattern.replace("_", "-")).strip("-").lower()
    )


def interval_words(s: Score, seed: int) -> str:
    """How the interval of a score was made."""
    if s.interval == "exact":
        return f"exact binomial (Clopper and Pearson), n = {s.clusters:,}"
    if s.interval == "bootstrap":
        return f"BCa bootstrap, {DRAWS:,} draws of {s.clusters:,} clusters, seed {seed}"
    if s.interval == "item bootstrap":
        how = "a group's weight is the product of its items' weights"
        return f"bootstrap with random weights on {s.clusters:,} original items ({how}), seed {seed}"
    if s.interval == "t":
        return f"Student's t, spread by leaving out each of {s.clusters:,} independent units"
    if s.interval == "sequence":
        return "confidence sequence, valid even though the answers decide how many groups are asked"
    return "none" if s.value is None else f"none: {s.clusters:,} independent units are too few"


def repeat_commands(source: Source) -> list[str]:
    """What repeats the numbers of a source: from the stored answers, and from the beginning."""
    run = source.result.run
    place = source.result.folder
    if place is None:
        return [shlex.join(map(str, run.get("command", ["unwaver", "score", source.path])))]
    commands = [
        shlex.join(["unwaver", "score", str(place)]),
        shlex.join(["unwaver", "run", "--from", f"{place}/run.json"]),
    ]
    given = [str(word) for word in run.get("command", ())]
    if given[1:2] == ["run"]:
        commands.append(shlex.join(["unwaver", *given[1:]]))
    return commands


def facts(source: Source) -> list[tuple[str, str]]:
    """What else decides the numbers: models, versions, hashes."""
    run: Mapping[str, Any] = source.result.run
    found = [("run", source.path)]
    for model in run.get("models", ()):
        found.append(("model", f"{model['name']}: {model.get('identity', '')} ({model.get('method', '')})"))
        settings = model.get("settings") or {}
        if settings:
            found.append(("settings", ", ".join(f"{k} = {v}" for k, v in settings.items())))
    found.append(("versions", _listed(run.get("versions", {}))))
    if run.get("hashes"):
        found.append(("hashes", _listed(run["hashes"])))
    config = run.get("config") or {}
    if config:
        found.append(("seed", str(config.get("seed", 0))))
    return found


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} {v}" for k, v in values.items())


def seed_of(source: Source) -> int:
    return int((source.result.run.get("config") or {}).get("seed", 0))


def used(scores: Sequence[Score]) -> list[tuple[str, Method | None, list[str]]]:
    """The methods that these scores need: anchor, method, names of the metrics."""
    found: dict[str, tuple[Method | None, list[str]]] = {}
    for s in scores:
        _, names = found.setdefault(slug(s.metric), (method_of(s.metric), []))
        if s.metric not in names:
            names.append(s.metric)
    return [(anchor, method, names) for anchor, (method, names) in found.items()]
