"""Rounds: what has to be asked next because of what was answered, until nothing more follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unwaver.answers.store import Store
from unwaver.asking.panel import Panel, Respondent
from unwaver.groups import is_plain
from unwaver.groups.certify import Read, Reading, needed
from unwaver.tasks import Words
from unwaver.types import Group, Item

Put = Callable[[Respondent, set[str]], bool]


def certify(
    panel: Panel, groups: Sequence[Group], store: Store, words: Words, put: Put, asked: Sequence[Respondent]
) -> None:
    """Ask originals, then judges about candidates, then the variants that were kept; each key once."""
    tried: set[str] = set()
    while True:
        calls = {r: keys - tried for r, keys in wanted(panel, groups, store, words, asked).items()}
        calls = {r: keys for r, keys in calls.items() if keys}
        if not calls:
            return
        for respondent, keys in calls.items():
            tried |= keys
            if not put(respondent, keys):
                return


def go_on(
    panel: Panel, groups: Sequence[Group], store: Store, words: Words, put: Put, asked: Sequence[Respondent]
) -> None:
    """Ask what holds answers that have come, wave after wave."""
    from unwaver.asking.second_wave import plan_further

    plain = [group for group in groups if is_plain(group)]
    while further := plan_further(panel, plain, store, words, asked):
        for respondent, keys in further.items():
            if not put(respondent, keys):
                return
    others = [group for group in groups if not is_plain(group)]
    while others and plan_further(panel, others, store, words, asked):
        certify(panel, others, store, words, put, asked)


def wanted(
    panel: Panel, groups: Sequence[Group], store: Store, words: Words, asked: Sequence[Respondent]
) -> dict[Respondent, set[str]]:
    """The keys that are needed as far as can be told now and are not answered."""
    found: dict[Respondent, set[str]] = {respondent: set() for respondent in asked}
    tested_or_none: list[Respondent | None] = [r for r in asked if r in panel.tested]
    for tested in tested_or_none or [None]:
        for read in reads(panel, tested, store, words):
            items = [item for group in groups for item in needed(group, read)]
            for respondent in [*([tested] if tested else []), *panel.certifiers]:
                found[respondent] |= panel.keys(respondent, items)
    answered = {r: store.answered(keys) for r, keys in found.items()}
    return {r: keys - answered[r] for r, keys in found.items()}


def reads(panel: Panel, tested: Respondent | None, store: Store, words: Words) -> list[Read]:
    """How the answers of a model under test and of the certifiers read, one function for each replicate."""
    from unwaver.answers.table import label_reader

    words = tested.spoken(words) if tested else words
    told = label_reader(panel.answers(tested, store), words, panel.normalise, cut=panel.cut)

    def of(replicate: int) -> Read:
        def read(item: Item) -> Reading:
            return told(item, replicate)

        return read

    return [of(replicate) for replicate in range(panel.replicates)]
