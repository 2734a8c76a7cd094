"""The part of a Block about wordings: which answers are to the same words, asked again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from unwaver.metrics.block import Bools, Codes
    from unwaver.stats import Floats


class Wordings:
    """Columns of a Block, and what they say of wordings."""

    groups: int
    trials: int
    group: Codes
    trial: Codes
    target: Bools
    code: Codes
    right: Floats
    item: pl.Series

    @cached_property
    def wording(self) -> Codes:
        """Per row: the number of its wording. Replicates of an item are one wording; without item ids the nth
        variant of one trial is the nth of another."""
        if self.trials == self.groups:  # no replicates: every row is a wording
            return np.arange(len(self.group))
        from unwaver.metrics.block import codes_of

        if (self.item != "").all():
            return codes_of(pl.Series(self.group).cast(pl.String) + "/" + self.item)[0]
        rows = pl.DataFrame({"group": self.group, "trial": self.trial, "target": self.target})
        place = pl.int_range(pl.len()).over("trial", "target")
        names = rows.select(pl.concat_str("group", "target", place, separator="/")).to_series()
        return codes_of(names)[0]

    @cached_property
    def alone(self) -> Bools:
        """Per row: its trial has the original only, while another trial of the group has variants. It was asked
        again for the noise of sampling: the answer is not compared with those to variants."""
        with_variant = np.bincount(self.trial, weights=self.target, minlength=self.trials) > 0
        varied = np.bincount(self.group, weights=self.target, minlength=self.groups) > 0
        return np.asarray(~with_variant[self.trial] & varied[self.group])

    def per_wording(self, rows: Bools) -> tuple[Floats, Codes, Codes]:
        """Of each wording that has such rows: the share that was right, its group, and the number of rows."""
        codes, first, place = np.unique(self.wording[rows], return_index=True, return_inverse=True)
        count = np.bincount(place, minlength=len(codes))
        share = np.bincount(place, weights=self.right[rows], minlength=len(codes)) / count
        return share, self.group[rows][first], count

    def wordings(self, rows: Bools) -> Codes:
        """Per group: how many wordings have such rows. Two paraphrases asked three times each -> 2"""
        first = np.unique(self.wording[rows], return_index=True)[1]
        return np.bincount(self.group[rows][first], minlength=self.groups)

    @cached_property
    def first_of_target(self) -> Codes:
        """The label code of the first variant or conclusion of each group; -1 unreadable or none."""
        codes = np.full(self.groups, -1)
        targets = np.flatnonzero(self.target)[::-1]
        codes[self.group[targets]] = self.code[targets]
        return codes
