"""What became of the candidates for variants: who was kept, who was rejected, and why."""

from __future__ import annotations

from typing import Any

from unwaver.answers.store import Store
from unwaver.asking.audit import audit, of_groups, summary
from unwaver.asking.rounds import reads
from unwaver.asking.until import by_case
from unwaver.engine.asked import Asked
from unwaver.engine.prepare import Prepared
from unwaver.groups import has_candidates
from unwaver.variants.certifiers import certifiers_for


def certification(
    prepared: Prepared, asked: Asked, store: Store
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A record of every candidate, and a summary for each model and suite/task/kind."""
    records: list[dict[str, Any]] = []
    summaries: list[dict[str, Any]] = []
    words = prepared.words(asked.groups)
    for respondent, name in zip(prepared.panel.tested_or_none, prepared.names or [""], strict=True):
        read = reads(prepared.panel, respondent, store, words)[0]
        for case, groups in by_case(asked.groups).items():
            judges = certifiers_for(groups[0].kind, prepared.config.judges, prepared.config.writer)
            unfinished = of_groups(asked.unfinished, groups)
            records += [*audit(groups, read, judges, name), *(u.record(name) for u in unfinished)]
            if any(has_candidates(group) for group in groups):
                judged = bool(judges and prepared.config.writer)
                summaries.append({"model": name, "case": case, **summary(groups, read, unfinished, judged)})
    return records, summaries
