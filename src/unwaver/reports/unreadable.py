"""The texts of unreadable answers in the report, the most frequent first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unwaver.answers.unreadable import frequent, shortened
from unwaver.reports.source import Source

MOST = 30  # texts in the table; the groups below it have all


def unreadable_texts(sources: Sequence[Source], tag: Callable[..., Any]) -> Any:
    """A section with a table; nothing where every answer could be read. `tag` escapes what it is given."""
    found = sorted((each for source in sources for each in frequent(source.frame)), key=lambda each: -each.answers)
    if not found:
        return ""
    names = ("text", "answers", "of", "relation", "model")
    header = tag(
        "tr", [tag("th", name, scope="col", class_="n" if name in names[1:3] else None) for name in names]
    )
    body = [
        tag(
            "tr",
            tag("td", shortened(each.text), data_label="text"),
            tag("td", f"{each.answers:,}", class_="n", data_label="answers"),
            tag("td", f"{each.of:,}", class_="n", data_label="of"),
            tag("td", shortened(each.relation, 80), data_label="relation"),
            tag("td", shortened(each.model, 80), data_label="model"),
        )
        for each in found[:MOST]
    ]
    more = f" The first {MOST} of {len(found):,} are shown." if len(found) > MOST else ""
    says = f"Answers from which no label can be read, the most frequent texts first.{more}"
    return tag(
        "section",
        tag("h2", "Unreadable answers"),
        tag("div", tag("table", tag("thead", header), tag("tbody", body), class_="scores"), class_="wide"),
        tag("p", says, class_="note"),
        id="unreadable",
    )
