"""What services say of themselves beside their answers, for run.json: the names and fingerprints under which a
model was served, what the server does not take, and tokens of thoughts and caches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unwaver.answers.beside_table import SCORING, TABLE
from unwaver.answers.store import Store
from unwaver.asking.panel import Respondent
from unwaver.asking.services import STOPPED, recall
from unwaver.config import Config
from unwaver.engine.first_tokens import about, first_tokens
from unwaver.engine.prepare import Prepared
from unwaver.models.dialect import Dialect
from unwaver.models.parts import Parts
from unwaver.named_models import pieces
from unwaver.secrets import masked

LIMITING = ("max_tokens", "extra", "reasoning_effort", "thinking_budget")  # options that limit tokens
MOST = 5  # names that are listed in a note


def services(
    prepared: Prepared, consulted: Sequence[tuple[str, Respondent]], store: Store
) -> list[dict[str, Any]]:
    """One entry for each of those who were asked that is a service."""
    asked = [*_asked(prepared), *((respondent.known_as, respondent) for _, respondent in consulted)]
    return [
        _service(name, respondent, dialect, store)
        for name, respondent in asked
        if (dialect := Parts(respondent.model).dialect)
    ]


def recall_dialects(prepared: Prepared, store: Store) -> None:
    """What servers do not take is known again before the first question, also by who is not asked any more."""
    for _, respondent in _asked(prepared):
        if dialect := Parts(respondent.model).dialect:
            recall(dialect, store)


def _asked(prepared: Prepared) -> list[tuple[str, Respondent]]:
    panel, writer = prepared.panel, prepared.writer
    asked = [*zip(prepared.names, panel.tested, strict=True), *((r.known_as, r) for r in panel.certifiers)]
    return [*asked, (writer.model.name, writer)] if writer else asked


def _service(name: str, respondent: Respondent, dialect: Dialect, store: Store) -> dict[str, Any]:
    columns = "served, fingerprint, cached_tokens, reasoning_tokens"
    keys = respondent.plan.requests if store.has(TABLE) else ()
    rows = store.select(f"SELECT {columns} FROM {TABLE} WHERE key IN", keys)
    how = store.select(f"SELECT how FROM {SCORING} WHERE key IN", keys) if store.has(SCORING) else ()
    return {
        "model": name,
        "server": masked(dialect.place[0]),
        "not_taken": sorted(recall(dialect, store)),
        **({"first_token": first_tokens(str(row[0]) for row in how)} if how else {}),
        "served": _counted(row[0] for row in rows),
        "fingerprints": _counted(row[1] for row in rows),
        "cached_tokens": _sum(row[2] for row in rows),
        "reasoning_tokens": _sum(row[3] for row in rows),
    }


def with_services(record: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record of a run with what its services said, and with notes of what a reader must know."""
    notes = {name: list(lines) for name, lines in record["notes"].items()}
    for service in found:
        if lines := list(_notes(service)):
            notes[service["model"]] = [*notes.get(service["model"], []), *lines]
    return {**record, "notes": notes, "services": list(found)}


def is_continued(run: Mapping[str, Any], config: Config) -> bool:
    """Whether a run that stopped because its answers were cut goes on with other limits of tokens."""
    stopped, old = run.get("spent", {}).get("stopped"), run.get("config", {})
    if not str(stopped).startswith(STOPPED) or not isinstance(old, Mapping):
        return False
    given, names = old.get("model_args"), old.get("models")
    if not isinstance(given, Mapping) or not isinstance(names, Sequence):
        return False
    if [_unlimited(name) for name in names] != [_unlimited(name) for name in config.models]:
        return False
    kept = {name: value for name, value in config.model_args.items() if name not in LIMITING}
    limits = {name: value for name, value in given.items() if name in LIMITING}
    return replace(config, models=tuple(names), model_args={**kept, **limits}).id == run.get("id")


def _unlimited(name: object) -> tuple[str, Mapping[str, str]]:
    """A model with its options, but those that limit tokens."""
    model, options = pieces(str(name))
    return model, {key: value for key, value in options.items() if key not in LIMITING}


def _notes(service: Mapping[str, Any]) -> Iterator[str]:
    if "temperature" in service["not_taken"]:
        yield "the service takes no temperature: answers are sampled, and repeats of the run may differ"
    if "room" in service["not_taken"]:
        yield "the service has no room for answers of 2,048 tokens: some were asked for with fewer"
    if "first_token" in service:
        yield from about(service["first_token"])
    if "logprobs" in service["not_taken"]:
        yield "the service gives no log-probabilities: labels are read from what the model writes"
    for name, what in (("served", "model"), ("fingerprints", "system fingerprint")):
        if len(service[name]) > 1:
            listed = [f"{value} ({count:,} answers)" for value, count in service[name].items()]
            more = [f"{len(listed) - MOST:,} more"] if len(listed) > MOST else []
            yield f"the {what} behind the service changed during the run: {', '.join([*listed[:MOST], *more])}"


def _counted(values: Iterator[Any]) -> dict[str, int]:
    """How many answers came under each name, the most frequent first; those without one are not told."""
    return dict(Counter(str(value) for value in values if value).most_common())


def _sum(values: Iterator[Any]) -> int | None:
    known = [value for value in values if isinstance(value, int)]
    return sum(known) if known else None
