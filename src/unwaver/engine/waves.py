"""Free answers compared wave by wave, for `--until`: by the agreements of the run, each pair once.

A model that compares is asked into the store of the run, within its budget. In the end the run compares what was
asked once more, and finds every reply in the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unwaver.agree import Agreement
from unwaver.agree.comparison import Comparison
from unwaver.agree.in_parts import compared_in_parts
from unwaver.asking.ask import Asker
from unwaver.asking.consult import Consult, Enquiry, planned, put
from unwaver.asking.panel import Answers
from unwaver.asking.until import Until
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine.prepare import Prepared
from unwaver.errors import UsageError
from unwaver.metrics.agreed import not_compared, notions
from unwaver.metrics.block import Block
from unwaver.types import Group, Model


class Waves:
    """The agreements of a run that can be told from some of its answers. One that weighs words over all answers
    cannot: with the first wave it would be another than with the last."""

    def __init__(self, prepared: Prepared):
        self._config: Config = prepared.config
        self._opened: Mapping[tuple[str, str], Model] = prepared.opened
        self._agreements = [a for a in prepared.agreements if not a.needs_texts]
        self._leading = prepared.agreements[0]
        self._late = [a for a in prepared.agreements if a.needs_texts]

    def columns(self, frame: pl.DataFrame, groups: Sequence[Group], asker: Asker | None) -> pl.DataFrame:
        for agreement in self._agreements:
            if agreement.part_of:
                continue  # compared with its whole
            if agreement.parts is not None:
                [frame], _ = compared_in_parts(agreement, groups, [frame], self._consult(asker), Console())
                continue
            comparison = Comparison(agreement, groups, [frame], self._config.compare_questions)
            told, _ = comparison.values(self._consult(asker), Console())
            [frame] = comparison.frames_with(told)
        return frame

    def _consult(self, asker: Asker | None) -> Consult:
        def consult(enquiry: Enquiry) -> Answers:
            if asker is None:
                return {}
            return put(planned(enquiry, self._opened[enquiry.role, enquiry.name]), asker, Console())

        return consult

    def refuse(self, metric: str) -> None:
        for agreement in self._late:
            if _is_of(metric, agreement) or (agreement is self._leading and metric in _OF_LEADING):
                others = [f"Cons_{a.name}" for a in self._agreements if not a.part_of]
                does = "weighs words over" if agreement.compare is None else "has fields that a model compares in"
                why = f"{agreement.name} {does} all answers of the run, so it is known only at the end"
                hint = f"possible here: {', '.join(others)}" if others else "omit idf=true, or run without --until"
                raise UsageError(f"--until: {metric} cannot stop early: {why}", hint=hint)

    def lacking(self, block: Block, metric: str) -> NDArray[np.bool_]:
        """Where no model is asked, what has no value does not apply."""
        found = notions(block)
        of = [a for a in self._agreements if _is_of(metric, a)] or [self._leading]
        asked = [a.name for a in of if a.model and a.name in found]
        if not asked:
            return np.zeros(block.groups, dtype=bool)
        return np.asarray(np.any([not_compared(block, name) for name in asked], axis=0))


_OF_LEADING = ("tau", "tau_conditioned", "majority_share", "clusters", "cluster_entropy")


def _is_of(metric: str, agreement: Agreement) -> bool:
    """Whether it is one of the metrics of an agreement: Cons_judge, Cons_judge@0.5, Cons_judge_repeat."""
    name = f"Cons_{agreement.name}"
    return metric == name or metric.startswith((f"{name}@", f"{name}_"))


def until_of(prepared: Prepared) -> Until:
    """What asks only until the verdict of --until is certain; raises UsageError if a model writes variants."""
    config = prepared.config
    if prepared.writer is not None:
        hint = "write the variants first (unwaver build), or omit --until"
        raise UsageError("--until does not work with a model that writes variants", hint=hint)
    waves = Waves(prepared) if prepared.agreements else None
    groups = prepared.groups
    return Until(config, prepared.panel, groups, prepared.words(groups), prepared.console, waves)
