"""What a run costs, said before it begins; above `MOST` requests to a paid service, somebody has to agree.

A service is paid if its price is known and not 0, or if it is on another machine and no price was given: local
addresses (localhost, 127.…, 10.…, 192.168.…) are free.
"""

from __future__ import annotations

import json
from typing import Any

from unwaver.asking.ask import key_maker
from unwaver.asking.budget import Budget
from unwaver.asking.prices import is_own_server, money
from unwaver.engine import folder
from unwaver.engine.prepare import Prepared
from unwaver.engine.stored_answers import is_complete, plan_known, stored
from unwaver.errors import UsageError
from unwaver.types import Model

MOST = 1000  # requests


def agree_to_cost(prepared: Prepared) -> None:
    """Say what will be asked. Nothing is said where the run is finished: it asks nothing."""
    if _is_finished(prepared):
        return
    from unwaver.engine.forecast import forecast, parties

    entries = forecast(prepared)
    models = [party.model for party in parties(prepared, bounded=False)]
    done = _answered(prepared)
    most = max(0, sum(entry["unique_requests"] for entry in entries) - done)
    paid = [(e, model) for e, model in zip(entries, models, strict=True) if is_paid(model, prepared.budget)]
    asked = max(0, sum(entry["unique_requests"] for entry, _ in paid) - done)
    prepared.console.say(_in_words(prepared, entries, most))
    if asked <= MOST or prepared.config.yes:
        return
    names = ", ".join(dict.fromkeys(model.name for _, model in paid))
    what = f"this run may send {asked:,} requests to {names}, a paid service"
    if prepared.console.confirm is None:
        hint = "add --yes to agree (in Python: yes=True), or try some questions first (limit 20)"
        raise UsageError(what, hint=hint)
    if not prepared.console.confirm(f"{what[0].upper()}{what[1:]}. Go on?"):
        raise UsageError("nothing was asked", hint="try some questions first (limit 20)")


def is_paid(model: Model, budget: Budget) -> bool:
    price = budget.price(model)
    if price is not None:
        return bool(price.prompt or price.answer) or None in (price.prompt, price.answer)
    return is_own_server(model) is False


def _in_words(prepared: Prepared, entries: list[dict[str, Any]], most: int) -> str:
    """ "10 questions, 30 groups to ask: about 170 requests, at most 290; cost at most 0.12." """
    from unwaver.engine.forecast import total

    questions = len({tuple(group.items[0].fields.values()) for group in prepared.groups})
    what = f"{len(prepared.groups):,} groups to ask" if prepared.panel.tested else "variants to write"
    line = f"{questions:,} question{'' if questions == 1 else 's'}, {what}: "
    usual = min(most, _left(prepared))
    line += f"about {usual:,} requests, at most {most:,}" if usual < most else f"{most:,} requests"
    costs = total(entries)
    if costs["cost_expected"] is not None:
        line += f"; cost about {money(costs['cost_expected'])}"
    if costs["cost_at_most"] is not None:
        line += f"; cost at most {money(costs['cost_at_most'])}"
    elif any(is_own_server(model) is False for model in prepared.models):
        line += "; cost not known (add --price-in and --price-out, or pip install 'unwaver[prices]')"
    return f"{line}."


def _left(prepared: Prepared) -> int:
    """The usual requests (see unwaver.engine.usual), without those that are answered."""
    with stored(prepared) as store:
        plan_known(prepared, store)
        plans = [respondent.plan for respondent in prepared.panel.everyone]
        left = sum(
            len(plan.requests) + sum(plan.later.values()) - (len(store.answered(plan.requests)) if store else 0)
            for plan in plans
        )
        if prepared.writer is None:
            return left
        from unwaver.asking.paraphraser import request
        from unwaver.engine.usual import per_variant

        key_of = key_maker(prepared.writer.model)
        for group in (g for g in prepared.groups if len(g.items) == 1):
            wanted, field = group.keep or 1, prepared.renderer.modified(group)
            keys = [
                key_of(request(group, field, attempt, prepared.config, prepared.writer.model))
                for attempt in range(wanted)
            ]
            left += per_variant(prepared) * (wanted - (len(store.answered(keys)) if store else 0))
    return left


def _answered(prepared: Prepared) -> int:
    """How many answers this run has already; those of a shared store may be of others."""
    if prepared.config.store:
        return 0
    with stored(prepared) as store:
        return int(store.rows("SELECT count(*) FROM answers")[0][0]) if store else 0


def _is_finished(prepared: Prepared) -> bool:
    """Whether the run has ended well, and the file has no question that is new since then."""
    with stored(prepared) as store:
        if store is None or not is_complete(prepared, store, prepared.panel.everyone):
            return False
    place = prepared.config.folder / folder.RUN
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        return record["id"] == prepared.config.id and record["spent"]["stopped"] is None and not record["failures"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
