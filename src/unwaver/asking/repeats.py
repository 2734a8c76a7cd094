"""Replicates, and repeats of originals, with deterministic models: one answer, counted for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from unwaver.groups.many import few
from unwaver.models.parts import way_of
from unwaver.types import Group, Model


def repeats_note(groups: Sequence[Group], model: Model, replicates: int) -> str | None:
    """What a reader must know about the repeats of this model; None if each replicate is asked for.

    A model may be deterministic in labels (the most likely choice) and draw in free text.
    """
    groups = few(groups)
    replicates = max([replicates, *(1 + group.repeats for group in groups)])
    if replicates < 2:
        return None
    items = (item for group in groups for item in group.items if item.role != "judge")
    kinds = {bool(item.choices): way_of(model, item) for item in items}
    fixed = {labels: way for labels, way in kinds.items() if way.deterministic}
    if not fixed:
        return None
    part = "choice of labels" if True in fixed else "free text"
    what = "the model" if len(fixed) == len(kinds) else f"its {part}"
    note = (
        f"{what} is deterministic, so each item is asked once and its answer counts for all {replicates} "
        "replicates: repeats agree by construction"
    )
    sampled = "temperature" in fixed.get(True, fixed.get(False, model)).settings
    return f"{note}. To sample, add --model-arg temperature=0.7" if sampled else note
