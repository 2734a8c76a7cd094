"""What a comparison is about where two runs differ in how they asked (system prompt, template, decoding), or in
the agreement by which free answers are compared.

    differing(first, second) -> [Difference("system prompt", "Be brief.", "Think first.")]

Such runs are compared without a word of permission, and the table says what differs. Everything else that gives
numbers another meaning stays refused (paired_runs.MEANING).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from unwaver.metrics.agreed import Notion, notions_of

SYSTEM, TEMPLATE, WORDS, AGREEMENT = "system prompt", "template", "words", "agreement"
NOT_DECODING = ("method", "system", "free_text")  # of a model's settings
SHOWN = 60  # characters of a text above a table
DEFAULT_THRESHOLD = 0.5
CONTEXT = 16  # characters before the place where two long texts part


class Difference(NamedTuple):
    """One thing that differs, in full; None is what was not given."""

    what: str
    first: Any
    second: Any


def asked_how(record: Mapping[str, Any], model: str, method: str) -> dict[str, Any]:
    """How a model was asked, by what run.json says: {"system prompt": "Be brief.", "temperature": 0.7, …}."""
    config, settings = record.get("config") or {}, _settings(record, model, method)
    system = settings["system"] if settings.get("system") is not None else config.get("system")
    return {
        SYSTEM: system,
        **_templates(record, config),
        **{name: value for name, value in settings.items() if name not in NOT_DECODING},
    }


def agreements_of(columns: Iterable[str], record: Mapping[str, Any], given: Sequence[str] | None) -> list[str]:
    """What the free answers of a run are compared by, as --agree names it, the leading one first:
    ["judge=openai/m@0.7", "exact"]. `given` is an --agree of the comparison itself, which holds for all runs."""
    told = {one["name"]: one for one in record.get("agreements") or ()} if not given else {}

    def written(notion: Notion) -> str:
        model = (told.get(notion.name) or {}).get("model")
        bar = "" if notion.threshold == DEFAULT_THRESHOLD else f"@{notion.threshold:g}"
        return f"{notion.name}{f'={model}' if model else ''}{bar}"

    return [written(notion) for notion in notions_of(columns).values()]


def agree_alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether the free answers of both runs are compared in the same way: by one leading agreement, and by the
    same model where both have an agreement. True where it is not known."""
    one, other = first.get(AGREEMENT), second.get(AGREEMENT)
    if not one or not other:
        return True
    mine, theirs = ({re.split("[=@]", text)[0]: text for text in side} for side in (one, other))
    return bool(one[0] == other[0]) and all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())


def _settings(record: Mapping[str, Any], model: str, method: str) -> Mapping[str, Any]:
    """Those of the model under test; of its twin where that wrote the free text."""
    for found in record.get("models") or ():
        if found["name"] == model and method in (found["method"], found.get("writes")):
            settings: Mapping[str, Any] = found.get("settings") or {}
            twin = settings.get("free_text")
            return twin if isinstance(twin, Mapping) and method != found["method"] else settings
    return {}


def _templates(record: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The prompts themselves, and the file of --template, which is all that runs of older versions tell."""
    found: dict[str, Any] = {TEMPLATE: config.get("template")}
    for name, form in (record.get("prompts") or {}).items():
        found[f"{TEMPLATE} ({_named(name)})"] = form["prompt"]
        found[f"{WORDS} ({_named(name)})"] = list(form["words"])
    return found


def _named(name: str) -> str:
    """ "snli/" -> "snli", "snli/options" -> "snli, options"."""
    return ", ".join(part for part in name.split("/") if part)


def differing(first: Mapping[str, Any], second: Mapping[str, Any], *, same_model: bool) -> list[Difference]:
    """What differs between two values of asked_how. Of two models, only what both have: a setting that the other
    does not know is part of what is compared."""
    if not first or not second:
        return []
    names = dict.fromkeys([*first, *second])
    both_know = all(any(_is_prompt(name) for name in side) for side in (first, second))

    def is_compared(name: str) -> bool:
        if name == TEMPLATE:
            return not both_know
        return (name in first and name in second) or (same_model and not _is_prompt(name))

    values = [(name, first.get(name), second.get(name)) for name in names if is_compared(name)]
    return [Difference(*each) for each in values if each[1] != each[2]]


def _is_prompt(name: str) -> bool:
    return name.startswith((f"{TEMPLATE} (", f"{WORDS} ("))


def heading(found: Iterable[Difference]) -> Iterator[str]:
    """Lines above a table: "system prompt: Be brief. | Think first."; the caller makes them safe to print."""
    for difference in found:
        first, second = difference.first, difference.second
        if difference.what == AGREEMENT:
            first, second = ", ".join(first or ()), ", ".join(second or ())
        one, other = shortened(_text(first), _text(second))
        yield f"{difference.what}: {one} | {other}"


def _text(value: Any) -> str:
    return "not given" if value in (None, "", [], {}) else " ".join(str(value).split())


def shortened(one: str, other: str, width: int = SHOWN) -> tuple[str, str]:
    """Both texts from where they part: shortened("a long preamble … Be brief.", "a long preamble … Be kind.", 12)
    -> ("…mble … Be b…", "…mble … Be k…")."""
    start = 0
    if max(len(one), len(other)) > width:
        shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
        shared = shared or min(len(one), len(other)) * one.startswith(other[: len(one)])
        start = max(0, shared - min(CONTEXT, width // 2)) if shared > width // 2 else 0
    return _cut(one, start, width), _cut(other, start, width)


def _cut(text: str, start: int, width: int) -> str:
    before, after = "…" * (start > 0), "…" * (len(text) > start + width)
    return f"{before}{text[start : start + width].strip()}{after}" or "…"
