"""The most likely texts of a beam search, one for each request: a request says which of them it wants.

Requests of one prompt share one search. It is that of transformers, with one group of beams.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from unwaver.models.hf_common import length_batches
from unwaver.models.prefix import Path
from unwaver.types import Batch, Request

if TYPE_CHECKING:
    from unwaver.models.hf_generate import TextGenerator

MOST_PROMPTS = 64  # in a batch


def n_best(
    writer: TextGenerator, requests: Sequence[Request], prompts: Sequence[Path], truncated: Sequence[bool]
) -> Iterator[Batch]:
    """The replicate of a request is the place of its text, 0 the most likely; `writer` has as many beams as texts
    are asked for, at least."""
    searched: dict[Path, list[int]] = {}
    for place, prompt in enumerate(prompts):
        searched.setdefault(prompt, []).append(place)
    each = list(searched)
    sizes = [(len(prompt) + writer.options.max_tokens) * writer.options.num_beams for prompt in each]
    for batch in length_batches(sizes, writer.budget, MOST_PROMPTS):
        texts = writer.whole([each[k] for k in batch], [""] * len(batch), range(len(batch)))
        for n, k in enumerate(batch):
            found = texts[n * writer.returned : (n + 1) * writer.returned]
            yield [
                (place, writer.answer(found[requests[place].replicate], each[k], truncated[place]))
                for place in searched[each[k]]
            ]
