"""unwaver explain: what a metric means, from its declaration."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

import click

from unwaver import registry
from unwaver.cli import completion
from unwaver.cli.options import JSON
from unwaver.cli.printing import print_json
from unwaver.cli.sections import section, verb
from unwaver.errors import UsageError

_BETTER = {"low": "lower values", "high": "higher values", "": "neither lower nor higher values"}
_WIDTH = 100  # where the terminal does not say


@verb("explain", examples=("unwaver explain tau", "unwaver explain P_C Cons_rouge1", "unwaver explain"))
@click.argument("metrics", metavar="[METRIC]...", nargs=-1, shell_complete=completion.metrics)
@section("Output", JSON)
def command(metrics: tuple[str, ...], as_json: bool) -> None:
    """Explain metrics: what they measure, formula, chance value, paper.

    METRIC is a name as in a table or in scores.json. Without one, all metrics are listed with their titles. For a
    family of metrics, such as violation in `unwaver list metrics`, its metrics are listed.
    """
    from unwaver.meaning import is_known, meanings, suggestion

    named: list[str] = []
    families = False
    for name in metrics:
        if found := _family(name) if not is_known(name) else []:
            named, families = [*named, *found], True
        elif not is_known(name):
            near = suggestion(name, also=registry.names("metrics"))
            hint = f"{near} " * near.startswith("did") + "unwaver explain lists every metric"
            raise UsageError(f"unknown metric {name!r}", hint=hint)
        else:
            named.append(name)
    explained = [_facts(name) for name in named or [meaning.name for meaning in meanings()]]
    if as_json:
        print_json({"version": 1, "metrics": explained})
    elif metrics and not families:
        click.echo("\n\n".join(_page(facts) for facts in explained))
    else:
        wide = max(len(facts["name"]) for facts in explained)
        for facts in explained:
            click.echo(f"{facts['name']:<{wide}}  {facts['title']}")
        click.echo("unwaver explain METRIC shows what a metric measures, its formula and its paper")


def _family(name: str) -> list[str]:
    """The metrics of a family: those that its file declares."""
    from unwaver.meaning import of_entry

    if name not in registry.names("metrics"):
        return []
    if not (found := [meaning.name for meaning in of_entry(name)]):
        hint = "its package has no MEANINGS for it: see docs/extending.md"
        raise UsageError(f"the metrics of {name} are not declared, so there is nothing to explain", hint=hint)
    return found


def _facts(name: str) -> dict[str, Any]:
    """What a declaration says, as --json prints it."""
    from unwaver.meaning import meaning_of

    meaning = meaning_of(name)
    assert meaning is not None
    return {
        "name": meaning.name,
        "title": meaning.title,
        "says": meaning.says,
        "of": _values(name),
        "formula": meaning.formula,
        "better": _better(name) or meaning.better,
        "chance": meaning.chance_says or ("computed for each row of a table" if meaning.chance else None),
        "leads": meaning.leads is not None,
        "beside": list(meaning.beside),
        "paper": meaning.paper,
        "docs": meaning.docs,
    }


def _better(name: str) -> str:
    """Of the agreement of an installed package, which the declaration of its family does not know."""
    from unwaver import registry
    from unwaver.meaning import family_of

    family = family_of(name)
    agreement = ((family.values_in(name) if family else None) or {}).get("agreement", "")
    if agreement not in registry.names("agreements") or registry.is_built_in("agreements", agreement):
        return ""
    if name.endswith("_joint"):  # pairs that agree, whatever that is
        return ""
    from unwaver.agree.plug_ins import better_of

    return better_of(agreement)


def _values(name: str) -> dict[str, str]:
    """What the catalogue says about the parts of a name: Cons_rouge1 -> {"rouge1": "ROUGE-1 F …"}."""
    from unwaver.about_names import about_name
    from unwaver.catalog import SECTIONS
    from unwaver.meaning import family_of

    family = family_of(name)
    values = (family.values_in(name) if family else None) or {}
    sections = {part: f"{part}s" for part in values if f"{part}s" in SECTIONS}
    return {
        values[part]: about_name(section, values[part])
        for part, section in sections.items()
        if values[part] in registry.names(section)
    }


def _page(facts: dict[str, Any]) -> str:
    lines = {
        **facts["of"],
        "formula": facts["formula"],
        "better": _BETTER[facts["better"]],
        "chance": facts["chance"] or "none",
        "beside it": ", ".join(facts["beside"]),
        "paper": facts["paper"] or "none",
        "docs": facts["docs"],
    }
    shown = {name: text for name, text in lines.items() if text}
    wide = max(map(len, shown)) + 2
    width = max(shutil.get_terminal_size((_WIDTH, 24)).columns, wide + 20)
    return "\n".join(
        [
            f"{facts['title']} ({facts['name']})",
            "",
            *textwrap.wrap(facts["says"], width),
            "",
            *(line for name, text in shown.items() for line in _folded(f"{name:<{wide}}", text, width)),
        ]
    )


def _folded(start: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=start, subsequent_indent=" " * len(start)) or [start]
