"""How each number was computed: what it says, its formula, where it comes from, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unwaver.asking.prices import Price, money
from unwaver.meaning import Meaning, family_of
from unwaver.reports.source import Source
from unwaver.stats import DRAWS
from unwaver.types import Score

OURS = "unwaver"


def slug(metric: str) -> str:
    """The anchor of a metric: letters and digits of the name that declares it, or of its own."""
    found = family_of(metric)
    return "how-" + re.sub(r"[\W_]+", "-", metric if found is None else found.name).strip("-").lower()


def interval_words(s: Score, seed: int) -> str:
    """How the interval of a score was made."""
    if s.interval == "exact":
        return f"exact binomial (Clopper and Pearson), n = {s.clusters:,}"
    if s.interval == "bootstrap":
        return f"BCa bootstrap, {DRAWS:,} draws of {s.clusters:,} clusters, seed {seed}"
    if s.interval == "item bootstrap":
        how = "a group's weight is the product of its items' weights"
        return f"bootstrap with random weights on {s.clusters:,} original items ({how}), seed {seed}"
    if s.interval == "t":
        return f"Student's t, spread by leaving out each of {s.clusters:,} independent units"
    if s.interval == "sequence":
        return "confidence sequence, valid even though the answers decide how many groups are asked"
    return "none" if s.value is None else f"none: {s.clusters:,} independent units are too few"


def repeat_commands(source: Source) -> list[str]:
    """What repeats the numbers of a source: from the stored answers, and from the beginning."""
    run = source.result.run
    place = source.result.folder
    if place is None:
        return [shlex.join(map(str, run.get("command", ["unwaver", "score", source.path])))]
    commands = [
        shlex.join(["unwaver", "score", str(place)]),
        shlex.join(["unwaver", "run", "--from", f"{place}/run.json"]),
    ]
    given = [str(word) for word in run.get("command", ())]
    if given[1:2] == ["run"]:
        commands.append(shlex.join(["unwaver", *given[1:]]))
    return commands


Fact = str | tuple[tuple[str, str], ...]  # a text, or names and values


def facts(source: Source) -> list[tuple[str, Fact]]:
    """What else decides the numbers: models, versions, hashes."""
    run: Mapping[str, Any] = source.result.run
    found: list[tuple[str, Fact]] = [("run", source.path)]
    for model in run.get("models", ()):
        found.append(("model", f"{model['name']}: {model.get('identity', '')} ({model.get('method', '')})"))
        settings = model.get("settings") or {}
        if settings:
            found.append(("settings", tuple((k, _setting(v)) for k, v in settings.items())))
    if run.get("asking"):
        found += _asking(run["asking"])
    if (run.get("pilot") or {}).get("cost_of_all") is not None:
        found.append(("expected cost", _foreseen(run["pilot"])))
    for name in ("versions", "hashes"):
        if run.get(name):
            found.append((name, tuple((key, str(value)) for key, value in run[name].items())))
    config = run.get("config") or {}
    if config:
        found.append(("seed", str(config.get("seed", 0))))
    return list(dict.fromkeys(found))


def _setting(value: Any) -> str:
    """None -> "not set", True -> "yes", ["a", "b"] -> "a, b", {"a": 1} -> "a = 1"; "" -> "(empty)"."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_setting(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "none"
    return str(value) or "(empty)"


def _asking(asked: Mapping[str, Any]) -> list[tuple[str, Fact]]:
    """When the models were asked, and what that took."""
    tokens = f"{asked['tokens_in']:,} prompt and {asked['tokens_out']:,} answer tokens"
    found: list[tuple[str, Fact]] = [
        ("asked", f"{asked['began']}, {asked['seconds']:,.1f} s, {asked['calls']:,} calls, {tokens}")
    ]
    found.append(("cost", "not known" if asked.get("cost") is None else money(asked["cost"])))
    for price in asked.get("prices") or ():
        told = Price(price.get("prompt"), price.get("answer"), price["source"], price.get("date") or "")
        found.append(("price", f"{price['model']}: {replace(told, cached=price.get('cached'))}"))
    return found


def _foreseen(pilot: Mapping[str, Any]) -> str:
    """ "1.2000 (1.1000 – 1.3000), from a pilot of 20 groups"."""
    low, high = pilot.get("low"), pilot.get("high")
    between = "" if low is None or high is None else f" ({money(low)} – {money(high)})"
    return f"{money(pilot['cost_of_all'])}{between}, from a pilot of {pilot['groups']:,} groups"


def seed_of(source: Source) -> int:
    return int((source.result.run.get("config") or {}).get("seed", 0))


def used(scores: Sequence[Score]) -> list[tuple[str, Meaning | None, list[str]]]:
    """The declarations that these scores need: anchor, declaration, names of the metrics."""
    found: dict[str, dict[str, Score]] = {}
    for s in scores:
        found.setdefault(slug(s.metric), {}).setdefault(s.metric, s)
    return [(anchor, _declared(list(of.values())), list(of)) for anchor, of in found.items()]


def _declared(scores: Sequence[Score]) -> Meaning | None:
    """The declaration of metrics of one family, with the direction that they have: the agreement of a plug-in says
    itself whether lower is better."""
    meaning, better = family_of(scores[0].metric), {s.better for s in scores if s.better}
    if meaning is None or not better:
        return meaning
    return replace(meaning, better=better.pop() if len(better) == 1 else "")
