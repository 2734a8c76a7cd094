"""Several processes that ask into one store: each request is asked once, and the cost cap is common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from unwaver.asking import ledger
from unwaver.asking.ask import Asker
from unwaver.asking.claims import claiming


@contextmanager
def sharing(asker: Asker) -> Iterator[Asker]:
    """The asker with claims, and with a ledger where there is a cost cap."""
    with claiming(asker.store, asker.say) as claims, ExitStack() as opened:
        capped = asker.budget.max_cost is not None
        own = opened.enter_context(ledger.sharing(asker.store, claims.worker)) if capped else None
        yield replace(asker, claims=claims, ledger=own)
