"""What the metrics of `unwaver.metrics.confidence` mean, and their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unwaver.meaning import Meaning
from unwaver.metrics import charts
from unwaver.metrics.block import Block
from unwaver.metrics.confidence import measures
from unwaver.metrics.papers import BECEL, CALM
from unwaver.metrics.violation import applies, violated
from unwaver.types import Figure, Score


def figures(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    known = [b for b in blocks if b.expect != "bucket" and b.probs.null_count() < len(b.probs)]
    who = list(dict.fromkeys((b.model, b.method) for b in known))
    for model, method in who:
        of = charts.label(f" · {model}" if len(who) > 1 else "", 60)
        yield from _of_model([b for b in known if (b.model, b.method) == (model, method)], of)
    yield from _side_by_side(scores)


_FAMILY = "Confidence of consistent and inconsistent answers"


def _side_by_side(scores: Sequence[Score]) -> Iterator[Figure]:
    """CALM's Figures 2 and 3: the mean entropy of each model's inconsistent answers."""
    found = charts.chosen(scores, "entropy_inconsistent")
    models = list(dict.fromkeys((s.model, s.method) for s in found))[: charts.MOST_SERIES]
    if len(models) < 2:
        return
    shown = [s for s in found if (s.model, s.method) in models]
    same_name = len({model for model, _ in models}) < len(models)
    rows = charts.rows_of(
        shown,
        name=charts.relation_of,
        colour=lambda s: charts.label(f"{s.model}, {s.method}" if same_name else s.model),
    )
    for row, s in zip(rows, shown, strict=True):
        row["says"] = f"{row['name']}, {row['colour']}: {s.value:.2f} bits, {s.counted:,} groups"
    says = "Mean entropy of inconsistent answers to variants, by model. Lower is more certain."
    spec = charts.bars(rows, "", "mean entropy, bits", format=".1f")
    yield Figure(_FAMILY, "How unsure the models were", says, "entropy_inconsistent", spec)


def _of_model(known: Sequence[Block], of: str) -> Iterator[Figure]:
    for measure, title, axis in (
        ("max_prob", f"How sure the model was{of}", "greatest probability"),
        ("entropy", f"How unsure the model was{of}", "entropy, bits"),
    ):
        rows = list(_boxes(known, measure))
        if not rows:
            continue
        says = "Consistent and inconsistent answers to variants. Box: half of them, line: median."
        form = "%" if measure == "max_prob" else ".1f"
        spec = charts.boxes(rows, axis, domain=(0, 1) if measure == "max_prob" else None, format=form)
        yield Figure(_FAMILY, title, says, f"{measure}_inconsistent", spec)


def _boxes(blocks: Sequence[Block], measure: str) -> Iterator[dict[str, object]]:
    names = charts.names_of(blocks)
    for block in blocks:
        values = measures(block)[measure]
        for inconsistent, state in ((False, "consistent"), (True, "inconsistent")):
            rows = applies(block) & (violated(block) == inconsistent) & ~np.isnan(values)
            if not rows.any():
                continue
            name = names[charts.block_key(block)]
            found = charts.box(values[rows])
            says = f"{name}, {state}: median {found['middle']:.2f}, half in {found['q1']:.2f} – {found['q3']:.2f}"
            yield {"name": name, "colour": state, "says": f"{says}, {int(rows.sum()):,} answers", **found}


# --- what they mean ---------------------------------------------------------------------------------------------


_FOUND: list[Meaning] = []
for _state in ("consistent", "inconsistent"):
    _FOUND.append(
        Meaning(
            f"entropy_{_state}",
            title=f"entropy of {_state} answers",
            says=f"How uncertain the model was in its {_state} answers to variants, in bits.",
            formula="−Σ p·log₂ p over the class probabilities; averaged in a group, then over groups",
            paper=f"{CALM}; {BECEL}",
            docs="docs/methods.md#metrics",
            figures=figures,
        )
    )
    _FOUND.append(
        Meaning(
            f"entropy_normalised_{_state}",
            title=f"normalised entropy of {_state} answers",
            says=f"How uncertain the model was in its {_state} answers to variants, from 0 (certain) to 1 "
            "(all labels equally likely). It can be compared between tasks with different numbers of labels.",
            formula="−Σ p·log₂ p / log₂ K with K labels; averaged in a group, then over groups",
            paper=CALM,
            docs="docs/methods.md#metrics",
        )
    )
    _FOUND.append(
        Meaning(
            f"max_prob_{_state}",
            title=f"confidence of {_state} answers",
            says=f"Highest class probability in {_state} answers to variants.",
            formula="max p; averaged in a group, then over groups",
            paper=f"{CALM}; {BECEL}",
            docs="docs/methods.md#metrics",
            figures=figures,
        )
    )

MEANINGS = tuple(_FOUND)
