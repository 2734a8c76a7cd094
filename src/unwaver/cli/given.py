"""What a command line must not hold: an option of one value twice (click takes the last), and empty values.

Numbers and places may come twice, and the last one wins: scripts and aliases set them so. Of two templates, tasks
or writers someone may well expect both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

LAST_WINS = ("out", "store", "data_dir", "device")
MAY_BE_EMPTY = ("system",)  # an empty system message is one


def check_given(ctx: click.Context, given: Mapping[str, Any], order: Sequence[click.Parameter]) -> None:
    """`given` are the texts by parameter, `order` the parameters as they were typed."""
    for each in order:
        if _is_one_text(each) and order.count(each) > 1:
            raise click.UsageError(f"{each.opts[-1]} is given {order.count(each)} times, expected once", ctx)
    for each in ctx.command.params:
        texts = given.get(each.name or "")
        for text in texts if isinstance(texts, list | tuple) else [texts]:
            if isinstance(text, str) and not text.strip() and each.name not in MAY_BE_EMPTY:
                raise _empty(each, ctx)


def _is_one_text(each: click.Parameter) -> bool:
    """Whether the parameter is an option that takes one text."""
    if not isinstance(each, click.Option) or each.multiple or each.is_flag or each.name in LAST_WINS:
        return False
    return not isinstance(each.type, click.types.IntParamType | click.types.FloatParamType)


def _empty(each: click.Parameter, ctx: click.Context) -> click.UsageError:
    is_option = isinstance(each, click.Option)
    what = each.opts[-1] if is_option else (each.metavar or each.name or "").strip("[].…").upper()
    or_none = f", or leave {what} out" if is_option and not each.required else ""
    return click.UsageError(
        f"{what} is empty, expected a value: a variable of the shell may not be set. Give a value{or_none}", ctx
    )


def given_by_hand() -> list[str]:
    """Options that stood on the command line: they win over those of --from."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    names = [name for name in context.params if context.get_parameter_source(name) is source]
    if "label_map" in names:
        names.append("map")
    return [n for n in names if n != "suites" or context.params["suites"]]
