"""`--replicates` with deterministic models: one answer, counted for every replicate."""

from __future__ import annotations

from collections.abc import Iterable

from unwaver.types import Group, Model


def repeats_note(groups: Iterable[Group], model: Model, replicates: int) -> str | None:
    """What a reader must know about the repeats of this model; None where each replicate is asked for.

    A model may be deterministic in labels (the likeliest choice) and draw in free text.
    """
    if replicates < 2:
        return None
    kinds = {bool(item.choices) for group in groups for item in group.items if item.role != "judge"}
    writer: Model | None = getattr(model, "writer", None)
    fixed = {labels for labels in kinds if (model if labels or writer is None else writer).deterministic}
    if not fixed:
        return None
    what = "the model" if fixed == kinds else f"its {'choice of labels' if True in fixed else 'free text'}"
    note = (
        f"{what} is deterministic, so each item is asked once and its answer counts for all {replicates} "
        "replicates: repeats agree by construction"
    )
    sampled = "temperature" in (model.settings if True in fixed or writer is None else writer.settings)
    return f"{note}. To sample, add --model-arg temperature=0.7" if sampled else note
