"""Reads the files of a run folder. They may be truncated, edited or written by hand, so each one is checked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unwaver.checked import (
    check,
    count,
    dict_of,
    fields,
    list_of,
    made,
    maybe,
    name,
    number,
    one_of,
    plain,
    some,
    text,
    whole,
)
from unwaver.engine.folder import AUDIT, GROUPS, RUN, RUN_VERSION, SEEN
from unwaver.errors import DataError, about_json
from unwaver.files import read_json, read_rows
from unwaver.groups.from_lines import read_groups_file
from unwaver.outputs import BEGINNINGS
from unwaver.paths import head
from unwaver.types import Group, Score

INCOMPLETE = "copy the whole run folder, or run the same command again"
_DAMAGED = "the file was cut or edited: move it away and run the same command again"


def read_run(place: Path) -> dict[str, Any]:
    """The content of run.json, given the run folder or the file."""
    path = place if place.is_file() or place.name == RUN else place / RUN
    if path.is_file() and not BEGINNINGS["run"].match(head(path) or b"") and path.name != RUN:
        hint = f"give the folder that `unwaver run` wrote, or the {RUN} in it"
        raise DataError("this file is not a record of a run", file=path, hint=hint)
    run = _read_json(path)
    if run.get("version") != RUN_VERSION:
        raise DataError(
            f"version {run.get('version')} of the run format; this unwaver reads version {RUN_VERSION}",
            file=path,
            hint="use the version of unwaver that wrote it",
        )
    check(run, _RUN, path, _DAMAGED)
    check(run, plain, path, _DAMAGED)
    return run


# what is read again; config.config_from looks at the configuration, failures.from_records at the failures
_MODEL = fields(
    {"name": text, "method": text}, {"writes": maybe(text), "form": maybe(text), "settings": maybe(dict_of(plain))}
)
_CERTIFIED = fields(
    {
        "case": text,
        "model": text,
        **dict.fromkeys(("items", "candidates", "judged", "kept"), count),
        **dict.fromkeys(("acceptance", "distance_to_original", "distance_among_variants"), maybe(number)),
        **{f"items_with_{n}": maybe(number) for n in (1, 3, 5)},
    },
    {**dict.fromkeys(("unfinished", "refused", "empty", "copies"), count), "no_verdict": dict_of(count)},
)
_CASE = fields(
    {
        "model": text,
        "case": text,
        "verdict": one_of("pass", "fail", "undecided"),
        **dict.fromkeys(("number", "asked", "groups", "clusters_asked"), count),
    }
)
_UNTIL = fields(
    {"bar": text, "alpha": number, "seed": whole, "requests": count, "saved": count, "cases": list_of(_CASE)}
)
_PRICE = fields(
    {"model": text, "source": text}, {**dict.fromkeys(("prompt", "answer", "cached"), maybe(number)), "date": text}
)
_RUN = fields(
    {"models": some(list_of(_MODEL)), "words": dict_of(list_of(text))},
    {
        "command": list_of(name),
        "judges": list_of(_MODEL),
        "writer": maybe(_MODEL),
        "certification": list_of(_CERTIFIED),
        "until": maybe(_UNTIL),
        "notes": dict_of(list_of(name)),
        "hashes": dict_of(text),
        "prompts": dict_of(fields({"prompt": text, "words": list_of(text)})),
        "versions": dict_of(text),
        "asking": fields(
            {"began": text, "seconds": number, **dict.fromkeys(("calls", "tokens_in", "tokens_out"), count)},
            {"cost": maybe(number), "prices": list_of(_PRICE)},
        ),
        "pilot": fields(
            {"groups": count, "of": count, "calls": count, "cost": number},
            dict.fromkeys(("cost_of_all", "low", "high", "at_most"), maybe(number)),
        ),
        "spent": fields(
            {}, {"stopped": maybe(name), **dict.fromkeys(("calls", "tokens_in", "tokens_out"), count)}
        ),
    },
)


def read_kept(folder: Path, groups: Iterable[Group]) -> set[str] | None:
    """The item ids of these groups, without variants that no model keeps according to audit.jsonl; None without
    that file."""
    path = folder / AUDIT
    if not path.exists() or not path.stat().st_size:
        return None
    rows = [(str(row.cells.get("id")), row.cells.get("standing") == "kept") for row in read_rows(path)]
    refused = {id for id, _ in rows} - {id for id, kept in rows if kept}
    return {item.id for group in groups for item in group.items} - refused


def read_seen(folder: Path) -> dict[str, list[str]]:
    if not (folder / SEEN).exists():
        return {}
    found = _read_json(folder / SEEN)
    check(found, fields({"seen": dict_of(list_of(text))}), folder / SEEN, _DAMAGED)
    return dict(found["seen"])


def read_groups(folder: Path) -> list[Group]:
    path = folder / GROUPS
    if not path.exists():
        raise DataError("the run has no groups", file=path, hint=INCOMPLETE)
    return read_groups_file(path)


def read_scores(path: Path) -> list[Score]:
    """The scores in a scores.json, or in what `unwaver score --json` printed."""
    hint = "use the output of `unwaver score --json`, or score the run again"
    document = read_json(path)
    check(document, fields({"scores": list_of(plain)}), path, hint)
    return [made(Score, s, path, f"scores.{n}", hint) for n, s in enumerate(document["scores"])]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            "there is no run here", file=path, hint="give the folder that `unwaver run` wrote"
        ) from None
    except json.JSONDecodeError as e:
        message = f"broken JSON: {about_json(e)}"
        raise DataError(message, file=path, line=e.lineno, hint=_DAMAGED) from None
    except (ValueError, OSError, RecursionError) as e:
        raise DataError(f"cannot be read: {e}", file=path, hint=_DAMAGED) from None
    if not isinstance(value, dict):
        raise DataError("found no JSON object", file=path, hint="give a run.json that `unwaver run` wrote")
    return value
