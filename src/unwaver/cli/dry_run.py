"""unwaver run --dry-run: what would be asked, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import print_json

if TYPE_CHECKING:
    from unwaver.config import Config
    from unwaver.console import Console


def print_dry_run(config: Config, speak: Console, as_json: bool) -> None:
    from unwaver.engine.forecast import dry_run, total
    from unwaver.engine.prepare import budget_of

    plan, has_prices = dry_run(config, speak), budget_of(config).has_prices
    together = total(plan)
    if as_json:
        print_json({"version": 1, "dry_run": plan, "total": together})
        return
    for entry in plan:
        click.echo(f"{entry['model']}:")
        for name in ("groups", "requests", "unique_requests", "already_answered", "tokens"):
            if entry[name] is not None:
                bound = "about " if name == "tokens" else "at most "
                click.echo(f"  {name.replace('_', ' '):<17} {bound * (name in entry['estimated'])}{entry[name]:,}")
        _say_cost(entry, has_prices and entry["unique_requests"] is not None)
        if entry["groups_file"]:
            click.echo(f"  written: {entry['groups_file']}")
    if len(plan) > 1 and has_prices:
        click.echo("all together:")
        _say_cost(together, priced=True)


def _say_cost(entry: Mapping[str, Any], priced: bool) -> None:
    if not priced:
        return
    most, expected = entry["cost_at_most"], entry["cost_expected"]
    click.echo(f"  {'cost':<17} " + ("no limit (max_tokens=none)" if most is None else f"at most {most:,.4f}"))
    if expected is not None:
        click.echo(f"  {'':<17} expected {expected:,.4f}, from the answers in the store")
