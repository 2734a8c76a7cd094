"""unwaver run --dry-run: what would be asked, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli.printing import print_json

if TYPE_CHECKING:
    from unwaver.config import Config
    from unwaver.console import Console

MISSING_ANSWERS = 3


def print_dry_run(config: Config, speak: Console, as_json: bool) -> None:
    from unwaver.engine.forecast import dry_run
    from unwaver.engine.prepare import settle

    config = settle(config, (), speak)
    if config.pilot:
        _print_pilot(config, speak, as_json)
    else:
        print_plan(dry_run(config, speak), as_json)


def _print_pilot(config: Config, speak: Console, as_json: bool) -> None:
    """The pilot is asked, and its answers are kept; a cap may end it."""
    from dataclasses import asdict

    from unwaver.engine.pilot import pilot_only

    plan, pilot, spent = pilot_only(config, speak)
    told = {"pilot": {**asdict(pilot), "stopped": spent.stopped, "folder": str(config.folder)}}
    print_plan(plan, as_json, told)
    if not as_json:
        click.echo("\n".join(pilot.in_words(config.max_cost)))
        if spent.stopped:
            click.echo(f"Stopped early: {spent.stopped}.")
        click.echo(f"Its answers are in {config.folder}: the same command without --dry-run continues from there.")
    if spent.stopped:
        raise click.exceptions.Exit(MISSING_ANSWERS)


def print_plan(plan: Sequence[Mapping[str, Any]], as_json: bool, more: Mapping[str, Any] | None = None) -> None:
    from unwaver.engine.forecast import total

    together, has_prices = total(plan), any(entry["price"] for entry in plan)
    if as_json:
        print_json({"version": 1, "dry_run": plan, "total": together, **(more or {})})
        return
    for entry in plan:
        click.echo(f"{entry['model']}:")
        for name in ("groups", "requests", "unique_requests", "already_answered", "tokens"):
            if entry[name] is not None:
                bound = "about " if name == "tokens" and "requests" not in entry["estimated"] else "at most "
                click.echo(f"  {name.replace('_', ' '):<17} {bound * (name in entry['estimated'])}{entry[name]:,}")
        _say_price(entry["price"])
        _say_cost(entry, entry["price"] is not None)
        if entry["groups_file"]:
            kept = "" if entry["groups_written"] else " (of the run in this folder, unchanged)"
            click.echo(f"  {'groups' if kept else 'written'}: {entry['groups_file']}{kept}")
    if len(plan) > 1 and has_prices:
        click.echo("all together:")
        if unknown := [str(e["model"]) for e in plan if e["price"] is None and e["cost_at_most"] is None]:
            click.echo(f"  {'cost':<17} not known for {', '.join(unknown)}: add --price-in and --price-out")
            return
        _say_cost(together, priced=True)


def _say_price(record: Mapping[str, Any] | None) -> None:
    """Where a price comes from; what is given on the command line needs no telling, unless a half is missing."""
    from unwaver.asking.prices import OPTIONS, Price

    if record is not None and (record["source"] != OPTIONS or None in (record["prompt"], record["answer"])):
        found = Price(*(record[name] for name in ("prompt", "answer", "source", "date", "tiers", "cached")))
        click.echo(f"  {'price':<17} {found}")


def _say_cost(entry: Mapping[str, Any], priced: bool) -> None:
    if not priced:
        return
    from unwaver.asking.prices import money

    most, expected = entry["cost_at_most"], entry["cost_expected"]
    click.echo(f"  {'cost':<17} " + ("no limit (max_tokens=none)" if most is None else f"at most {money(most)}"))
    if expected is not None:
        margin = entry.get("cost_margin")
        about = f" ± {money(margin)}" if margin else ""
        click.echo(f"  {'':<17} expected {money(expected)}{about}, from the answers in the store")
