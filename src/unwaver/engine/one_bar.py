"""One progress bar for a run that asks in rounds: models answer, a writer writes, certifiers judge, and again.

A bar for each round would begin anew dozens of times, each with another total. How many requests there will be is
not known before the last variant is certified, so the total is what is usual: every variant is accepted as it was
first written. It grows if more are needed, and never shrinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from unwaver.asking.panel import Respondent
from unwaver.console import Progress
from unwaver.engine.prepare import Prepared
from unwaver.engine.usual import usual

Counting = Callable[[Respondent, set[str]], Progress]


@contextmanager
def one_bar(prepared: Prepared) -> Iterator[Counting]:
    """Gives a function from a model and the keys it is asked now to what hears of its progress."""
    seen: dict[int, set[str]] = {}
    with prepared.console.track("requests", usual(prepared)) as whole:

        def counting(respondent: Respondent, keys: set[str]) -> Progress:
            """Keys of an earlier round, which are looked up again, are not counted again."""
            before = seen.setdefault(id(respondent), set())
            again = len(keys & before)
            before |= keys

            def progress(done: int) -> None:
                nonlocal again
                known = min(again, done)
                again -= known
                whole(done - known)

            return progress

        yield counting
