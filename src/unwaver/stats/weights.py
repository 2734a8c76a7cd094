"""Weights that undo stratified sampling: problems were drawn evenly over a model's confidence, not as they come.

A problem's bin is the decile of the model's confidence in the right answer on the original. Its weight is the
share of the same model's test predictions in that bin, divided by the number of problems in it.
"""

from __future__ import annotations

import numpy as np

from unwaver.stats import Floats, Ints

BINS = 10


def confidence_bins(confidence: Floats) -> Ints:
    """[0.0, 0.95, 1.0] -> [0, 9, 9]"""
    return np.minimum(BINS - 1, np.floor(BINS * confidence)).astype(np.int64)


def published_weights(problems: Floats, test: Floats) -> Floats:
    """One weight a problem; they sum to the share of the test set that lies in bins with a problem.

    Problems at [0.1, 0.9, 0.9], test at [0.1, 0.5, 0.9, 0.9] -> [0.25, 0.25, 0.25]: 0.5 is in no bin of theirs.
    """
    bins = confidence_bins(problems)
    problems_in = np.bincount(bins, minlength=BINS)
    share_of_test = np.bincount(confidence_bins(test), minlength=BINS) / len(test)
    return np.asarray(share_of_test[bins] / problems_in[bins])
