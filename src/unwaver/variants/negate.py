"""Negation: an English sentence with one predicate and its opposite.

    negate()(["A goat sleeps.", "There is no goat.", "is it far"]) ->
        [Rewrite("A goat does not sleep.", "negation")]
        [Rewrite("There is a goat.", "rm_negation")]
        [Rewrite("is it not far", "negation")]

Only the words that carry the negation change; what has no finite verb or no clear single predicate is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unwaver.text.english import check_language, parsed
from unwaver.text.refused import Refused
from unwaver.variants.negate_insert import inserted
from unwaver.variants.negate_questions import is_question, negated_question
from unwaver.variants.negate_remove import removed, removed_from_phrases
from unwaver.variants.source import Rewrite, Rewriter


def negate(*, lang: str = "en") -> Rewriter:
    """Inserts a negation (tag `negation`) or removes the one that is there (tag `rm_negation`)."""
    check_language(lang, "negate")

    def rewriter(texts: Sequence[str]) -> Iterator[list[Rewrite] | Refused]:
        for doc in parsed(texts):
            yield doc if isinstance(doc, Refused) else negated(doc)

    return rewriter


def negated(doc: Any) -> list[Rewrite] | Refused:
    """The opposites of a parsed sentence, the best first."""
    if is_question(doc):
        return negated_question(doc)
    made = removed(doc)
    if made == []:
        made = inserted(doc)
        made = made if isinstance(made, Refused) else [*made, *removed_from_phrases(doc)]
    return made if isinstance(made, Refused) else [r for r in dict.fromkeys(made) if r.text != doc.text]
