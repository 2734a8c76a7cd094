"""The tasks of ParaNLU: name in the suite and in ids -> built-in task. δ-SNLI is another task than SNLI."""

from __future__ import annotations

TASKS = {"anli": "anli", "snli": "delta-snli", "atomic": "delta-atomic", "social": "delta-social"}
