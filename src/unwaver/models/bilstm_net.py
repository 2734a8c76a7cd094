"""The BiLSTM of Conneau et al. (2017), small: each text is read in both directions, the greatest value of each
unit over its words is its vector, and three layers classify (u, v, |u − v|, u · v).

Imported only where it is used: torch is heavy.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LAYER = 128  # units of a layer that classifies
DROPOUT = 0.1


class BiLstm(nn.Module):  # type: ignore[misc]
    """`pair`: it reads two texts; a second one that is missing or empty is a vector of zeros."""

    _keys_to_ignore_on_save = None  # the Trainer looks for it where a checkpoint lacks tied weights

    def __init__(self, *, words: int, labels: int, dimension: int, hidden: int, pair: bool):
        super().__init__()
        self.pair = pair
        self.embedding = nn.Embedding(words, dimension, padding_idx=0)
        self.lstm = nn.LSTM(dimension, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(
            nn.Dropout(DROPOUT),
            nn.Linear(2 * hidden * (4 if pair else 1), LAYER),
            nn.ReLU(),
            nn.Linear(LAYER, LAYER),
            nn.ReLU(),
            nn.Linear(LAYER, labels),
        )

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """The words of the first text come first, then those of the second: `token_type_ids` 0 and 1."""
        first = ((token_type_ids == 0) & (attention_mask == 1)).sum(1)
        u = self._vector(input_ids, torch.zeros_like(first), first)
        if self.pair:
            v = self._vector(input_ids, first, attention_mask.sum(1) - first)
            u = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
        return SimpleNamespace(logits=self.head(u))

    def _vector(self, ids: Any, start: Any, length: Any) -> Any:
        """Of the words of each row from `start`: packed, so that padding changes nothing."""
        most = max(1, int(length.max()))
        place = torch.arange(most, device=ids.device)
        inside = place < length[:, None]
        words = ids.gather(1, (start[:, None] + place).clamp(max=ids.shape[1] - 1)).masked_fill(~inside, 0)
        packed = pack_padded_sequence(
            self.embedding(words), length.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=most)
        greatest = states.masked_fill(~inside[:, :, None], float("-inf")).amax(1)
        return greatest.masked_fill((length == 0)[:, None], 0.0)
