"""Format kept or lost: are answers in the JSON, or calls of the tools, that were asked for?

A text where tools were offered counts as lost if another answer of its group calls a tool; if none does, no call
was wanted and the group does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unwaver.meaning import Meaning
from unwaver.metrics.block import Block, Metric
from unwaver.stats import Floats


def metrics(block: Block) -> Iterator[Metric]:
    if block.format is None or block.format.null_count() == len(block.format):
        return
    yield Metric("format_kept", format_kept)
    yield Metric("format_kept_all", format_kept_all)


def format_kept(block: Block) -> Floats:
    """Per group: the share of answers that keep the format."""
    return block.per_group(_per_answer(block), np.ones(len(block.group), dtype=bool))


def format_kept_all(block: Block) -> Floats:
    """Per group: 1 if all its answers keep the format."""
    share = format_kept(block)
    return np.where(np.isnan(share), np.nan, share == 1.0)


def _per_answer(block: Block) -> Floats:
    assert block.format is not None
    kept = block.format.fill_null(np.nan).to_numpy()
    text = kept == -1
    calls = np.bincount(block.group[kept >= 0], minlength=block.groups) > 0
    return np.where(text, np.where(calls[block.group], 0.0, np.nan), kept)


_DOCS = "docs/text.md#json-and-tool-calls"
MEANINGS = (
    Meaning(
        "format_kept",
        title="share of answers in the format asked for",
        says="Share of answers in the format that was asked for: JSON (response_format), JSON that fits its "
        "schema, or a call of a tool that was offered with arguments that fit. Text around the JSON loses the "
        "format.",
        formula="answers that keep the format / answers, by group, then over groups",
        better="high",
        docs=_DOCS,
    ),
    Meaning(
        "format_kept_all",
        title="share of groups with all answers in the format asked for",
        says="Share of groups in which every answer is in the format that was asked for.",
        formula="groups with all answers in the format / groups",
        better="high",
        docs=_DOCS,
    ),
)
