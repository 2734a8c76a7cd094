"""What the metrics of `unwaver.metrics.violation` mean."""

from __future__ import annotations

from unwaver.meaning import Meaning, Phrase
from unwaver.metrics.meanings.violation_figures import figures
from unwaver.metrics.papers import BECEL
from unwaver.metrics.violation import without_unreadable
from unwaver.types import Score

_BY_KIND = {
    "semantic": Phrase("paraphrase", "paraphrases", "changes the answer", "change the answer"),
    "paraphrase": Phrase("paraphrase", "paraphrases", "changes the answer", "change the answer"),
    "negational": Phrase("negation", "negations", "leaves the answer as it was", "leave the answer as it was"),
    "symmetric": Phrase("reversed pair", "reversed pairs", "flips", "flip"),
    "transitive": Phrase(
        "conclusion",
        "conclusions",
        "does not follow from two right answers",
        "do not follow from two right answers",
    ),
    "additive": Phrase(
        "joined text",
        "joined texts",
        "loses the answer that both parts had",
        "lose the answer that both parts had",
    ),
    "surface": Phrase("change of mere form", "changes of mere form", "changes the answer", "change the answer"),
    "": Phrase("group", "groups", "breaks its relation", "break their relation"),
}


def phrase_of(s: Score) -> Phrase:
    return _BY_KIND.get(s.kind.partition("_")[0], _BY_KIND[""])


MEANINGS = (
    Meaning(
        "tau",
        title="inconsistency",
        says="Share of groups that break their relation. An unreadable answer satisfies no relation. In free "
        "text, a group is broken if two answers to it do not agree by the first --agree.",
        formula="τ = mean over groups of [relation broken]. same: variant ≠ original. different: variant = "
        "original. implied: over groups whose originals were all answered right, conclusion not accepted. "
        "A group with several variants counts as the share of them that break it. "
        "Buckets: share of later wordings whose answer differs from the first. "
        "Free text: 1 if any pair of answers to distinct wordings is below the threshold of the agreement (mean "
        "of both directions; contradict: at or above), else 0.",
        better="low",
        paper=BECEL,
        docs="docs/methods.md#tau",
        leads=80,
        chance="tau_independent",
        chance_says="expected value if answers were independent",
        without_gold=("accuracy", "tau_conditioned", "transitive and additive tau"),
        remark=without_unreadable,
        figures=figures,
        verdict=_BY_KIND,
    ),
    Meaning(
        "tau_conditioned",
        title="inconsistency given the original's answer",
        says="τ over the groups whose original was answered right, or was answered with one given label.",
        formula="τ restricted to groups with original ∈ accepted, or original = given",
        better="low",
        paper=f"{BECEL}; over right originals: unwaver",
        docs="docs/methods.md#tau_conditioned",
    ),
    Meaning(
        "tau_independent",
        title="inconsistency of independent answers",
        says="Expected τ if originals and variants were answered independently with the same label shares. "
        "It is the chance value of τ.",
        formula="same: 1 − Σ o(l)·v(l).  different: 1 − (Σ o(l)·Σ v(l) − Σ o(l)·v(l)).  implied: 1 − Σ v(l)·a(l)",
        docs="docs/methods.md#tau_independent",
    ),
)
