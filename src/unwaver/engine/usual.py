"""How many requests a run usually needs: every variant is accepted as it was first written."""

from __future__ import annotations

from unwaver.engine.prepare import Prepared


def variants_wanted(prepared: Prepared) -> int:
    """Variants that a model is to write."""
    return 0 if prepared.writer is None else sum(g.keep or 1 for g in prepared.groups if len(g.items) == 1)


def per_variant(prepared: Prepared) -> int:
    """Requests for each of them: one to the writer, one to each certifier (the writer, if there is none), and one
    to each model under test. `unwaver build` has no such model."""
    panel = prepared.panel
    return 1 + max(1, len(panel.certifiers)) + len(panel.tested) * prepared.config.replicates


def usual(prepared: Prepared) -> int:
    """The requests that are planned, and those for the variants to be written."""
    plans = [respondent.plan for respondent in prepared.panel.everyone]
    planned = sum(len(plan.requests) + sum(plan.later.values()) for plan in plans)
    return planned + variants_wanted(prepared) * per_variant(prepared)
