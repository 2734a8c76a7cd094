"""unwaver run --dry-run: what would be asked, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import print_json

if TYPE_CHECKING:
    from unwaver.config import Config
    from unwaver.console import Console


def print_dry_run(config: Config, speak: Console, as_json: bool) -> None:
    from unwaver.engine.forecast import dry_run

    print_plan(dry_run(config, speak), as_json)


def print_plan(plan: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    from unwaver.engine.forecast import total

    together, has_prices = total(plan), any(entry["price"] for entry in plan)
    if as_json:
        print_json({"version": 1, "dry_run": plan, "total": together})
        return
    for entry in plan:
        click.echo(f"{entry['model']}:")
        for name in ("groups", "requests", "unique_requests", "already_answered", "tokens"):
            if entry[name] is not None:
                bound = "about " if name == "tokens" else "at most "
                click.echo(f"  {name.replace('_', ' '):<17} {bound * (name in entry['estimated'])}{entry[name]:,}")
        _say_price(entry["price"])
        _say_cost(entry, entry["price"] is not None)
        if entry["groups_file"]:
            click.echo(f"  written: {entry['groups_file']}")
    if len(plan) > 1 and has_prices:
        click.echo("all together:")
        if unknown := [str(e["model"]) for e in plan if e["price"] is None and e["cost_at_most"] is None]:
            click.echo(f"  {'cost':<17} not known for {', '.join(unknown)}: add --price-in and --price-out")
            return
        _say_cost(together, priced=True)


def _say_price(record: Mapping[str, Any] | None) -> None:
    """Where a price comes from; what stands on the command line needs no telling."""
    from unwaver.asking.prices import OPTIONS, Price

    if record is not None and record["source"] != OPTIONS:
        found = Price(*(record[name] for name in ("prompt", "answer", "source", "date", "tiers")))
        click.echo(f"  {'price':<17} {found}")


def _say_cost(entry: Mapping[str, Any], priced: bool) -> None:
    if not priced:
        return
    most, expected = entry["cost_at_most"], entry["cost_expected"]
    click.echo(f"  {'cost':<17} " + ("no limit (max_tokens=none)" if most is None else f"at most {most:,.4f}"))
    if expected is not None:
        click.echo(f"  {'':<17} expected {expected:,.4f}, from the answers in the store")
