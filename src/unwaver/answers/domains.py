"""Which sets are in the domain that a model was trained on: --domain mnli=in,snli=out,anli=out.

A name stands for the set of that name, or for all sets whose names begin with it and a hyphen: anli for anli-r1,
anli-r2 and anli-r3. The longest name that fits wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from unwaver.errors import UsageError, near

if TYPE_CHECKING:
    import polars as pl

IN, OUT = "in", "out"
EXAMPLE = "--domain mnli=in,snli=out,anli=out"


def read_domains(given: Iterable[str] | Mapping[str, str] | None) -> dict[str, str]:
    """("mnli=in,snli=out", "anli=out") -> {"mnli": "in", "snli": "out", "anli": "out"}"""
    if isinstance(given, Mapping):
        pairs = [(str(name), str(domain)) for name, domain in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given or ())
        pairs = [_pair(part.strip()) for text in texts for part in text.split(",")]
    found: dict[str, str] = {}
    for name, domain in pairs:
        if domain not in (IN, OUT):
            raise UsageError(f"--domain {name}={domain}: expected {name}=in or {name}=out", hint=EXAMPLE)
        if found.setdefault(name, domain) != domain:
            raise UsageError(f"--domain: {name} is both in and out", hint="name each set once")
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, domain = (part.strip() for part in text.partition("="))
    if not name or not equals:
        raise UsageError(f"--domain {text}: expected SET=in or SET=out", hint=EXAMPLE)
    return name, domain


def domain_of(task: str, domains: Mapping[str, str]) -> str | None:
    """domain_of("anli-r1", {"anli": "out"}) -> "out"; None if no name fits."""
    fitting = [name for name in domains if task == name or task.startswith(f"{name}-")]
    return domains[max(fitting, key=len)] if fitting else None


def check_domains(domains: Mapping[str, str], tasks: Collection[str]) -> None:
    """Refuse names that fit no set with fooling rates, and sets that are given no domain."""
    domains = read_domains(domains)
    if not tasks:
        raise UsageError(
            "--domain has no effect: it divides fooling rates, and there are none",
            hint="leave --domain out, or run the suite sensitivity",
        )
    known = ", ".join(dict.fromkeys(tasks))
    for name in domains:
        if not any(domain_of(task, {name: IN}) for task in tasks):
            raise UsageError(
                f"--domain: {name} is not a set of this run, which has {known}", hint=near(name, tasks)
            )
    if loose := [task for task in dict.fromkeys(tasks) if domain_of(task, domains) is None]:
        raise UsageError(
            f"--domain does not say whether {loose[0]} is in or out of domain",
            hint=f"add {loose[0]}=in or {loose[0]}=out: the averages would leave it out",
        )


def with_domains(frame: pl.DataFrame, domains: Mapping[str, str]) -> pl.DataFrame:
    """The table with the domain of each set in a column, null for groups without fooling rates."""
    import polars as pl

    tasks = frame.filter(pl.col("kind") == "fooling")["task"].unique().to_list()
    of_set = {task: domain_of(task, domains) for task in tasks}
    column = pl.col("task").replace_strict(of_set, default=None, return_dtype=pl.String)
    return frame.with_columns(domain=pl.when(pl.col("kind") == "fooling").then(column))


def fooled_sets(frames: Iterable[pl.DataFrame]) -> list[str]:
    """The sets with fooling rates in these tables."""
    import polars as pl

    found = [t for f in frames for t in f.filter(pl.col("kind") == "fooling")["task"].unique(maintain_order=True)]
    return list(dict.fromkeys(found))
