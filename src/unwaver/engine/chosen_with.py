"""What some options do to the chosen groups, before anything is asked: other sources, full test sets, domains, and
variants that people judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unwaver.config import Config
from unwaver.console import Console
from unwaver.suites.select import Selection


def chosen_with(
    config: Config, selection: Selection, options: Mapping[str, Any], console: Console, writes: bool
) -> tuple[Selection, dict[str, bool]]:
    """The selection, and what people said of its variants; `options` are those of suites, `writes` says whether a
    model writes variants."""
    if config.source or config.bank:
        from unwaver.suites.paranlu_automatic import check_source

        check_source(config.source, config.bank, selection.groups)
    if config.corrected:
        from unwaver.suites.test_sets import with_test_sets

        selection = with_test_sets(selection, options, config.until)
    if config.domain:
        from unwaver.answers.domains import check_domains

        check_domains(config.domain, [group.task for group in selection.groups if group.kind == "fooling"])
    if not config.review:
        return selection, {}
    from unwaver.engine.reviews import read_reviews
    from unwaver.groups.review import check_sheets, majority

    sheets = read_reviews(config.review)
    if not writes:  # what a model writes is not known yet
        check_sheets(sheets, selection.groups, console.say)
    return selection, majority(sheets)
