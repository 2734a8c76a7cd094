"""The run folder: run.json, groups.jsonl, answers.sqlite, scores.json. Each is described in docs/formats.md.

Files are written beside their place and moved there whole, so that a kill never leaves half a file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
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
from unwaver.errors import DataError, StoreFull, UsageError
from unwaver.files import read_json, read_rows
from unwaver.groups import group_from_json, group_to_json
from unwaver.outputs import is_stream, write_stream
from unwaver.secrets import masked, masked_bytes, masked_json
from unwaver.types import Group, Item, Score

RUN_VERSION = 1
RUN, GROUPS, ANSWERS, SCORES = "run.json", "groups.jsonl", "answers.sqlite", "scores.json"
AUDIT, SEEN = "audit.jsonl", "seen.json"
INCOMPLETE = "copy the whole run folder, or run the same command again"
_DAMAGED = "the file was cut or edited: move it away and run the same command again"


def open_place(folder: Path) -> Path:
    """Make the folder, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise _unwritable(folder, e) from e
    return folder


def open_folder(folder: Path, run_id: str) -> Path:
    """Make the folder, or check that what is there belongs to this run."""
    open_place(folder)
    if (folder / RUN).exists():
        found = read_run(folder).get("id")
        if found != run_id:
            raise UsageError(
                "this folder holds another run: other suites, models or settings",
                file=folder,
                hint="choose another --out, or leave it out: unwaver then finds the folder by itself",
            )
    return folder


def write_run(folder: Path, run: Mapping[str, Any]) -> None:
    write_whole(folder / RUN, json.dumps(run, ensure_ascii=False, indent=1) + "\n")


def read_run(place: Path) -> dict[str, Any]:
    """The record of a run, from its folder or a run.json itself."""
    path = place if place.is_file() else place / RUN
    run = _read_json(path)
    if run.get("version") != RUN_VERSION:
        raise DataError(
            f"version {run.get('version')} of a run, this unwaver reads version {RUN_VERSION}",
            file=path,
            hint="use the unwaver that wrote it",
        )
    check(run, _RUN, path, _DAMAGED)
    check(run, plain, path, _DAMAGED)
    return run


# what is read again; config.config_from looks at the configuration, failures.from_records at the failures
_MODEL = fields({"name": text, "method": text}, {"writes": maybe(text), "settings": maybe(dict_of(plain))})
_CERTIFIED = fields(
    {
        "case": text,
        "model": text,
        **dict.fromkeys(("items", "candidates", "judged", "kept"), count),
        **dict.fromkeys(("acceptance", "distance_to_original", "distance_among_variants"), maybe(number)),
        **{f"items_with_{n}": maybe(number) for n in (1, 3, 5)},
    },
    {"unfinished": count, "refused": count, "no_verdict": dict_of(count)},
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
        "versions": dict_of(text),
        "spent": fields(
            {}, {"stopped": maybe(name), **dict.fromkeys(("calls", "tokens_in", "tokens_out"), count)}
        ),
    },
)


def write_groups(
    folder: Path, groups: Iterable[Group], rendered: Callable[[Item], Mapping[str, Any]] | None = None
) -> str:
    """Write groups.jsonl and give its hash; `rendered` adds what models read, for others to answer."""

    text = masked_json(groups_text(groups, rendered))
    write_whole(folder / GROUPS, text)
    return "sha256:" + hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def groups_text(groups: Iterable[Group], rendered: Callable[[Item], Mapping[str, Any]] | None = None) -> str:
    """What groups.jsonl holds."""

    def line(group: Group) -> str:
        record = group_to_json(group)
        if rendered:
            for item, written in zip(group.items, record["items"], strict=True):
                written.update(rendered(item))
        return json.dumps(record, ensure_ascii=False)

    return "".join(line(g) + "\n" for g in groups)


def read_kept(folder: Path, groups: Iterable[Group]) -> set[str] | None:
    """The ids of these groups without the variants that an audit says no model keeps; None where none tells."""
    path = folder / AUDIT
    if not path.exists() or not path.stat().st_size:
        return None
    rows = [(str(row.cells.get("id")), row.cells.get("standing") == "kept") for row in read_rows(path)]
    refused = {id for id, _ in rows} - {id for id, kept in rows if kept}
    return {item.id for group in groups for item in group.items} - refused


def write_audit(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_whole(folder / AUDIT, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))


def write_seen(folder: Path, seen: Mapping[str, list[str]]) -> None:
    """Which groups each model (by its number) was trained on; no file where there are none."""
    known = {number: groups for number, groups in seen.items() if groups}
    if known:
        write_whole(folder / SEEN, json.dumps({"version": 1, "seen": known}, ensure_ascii=False) + "\n")


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


def read_groups_file(path: Path) -> list[Group]:
    return [group_from_json(row.cells, row.where) for row in read_rows(path)]


def write_scores(folder: Path, document: Mapping[str, Any]) -> None:
    write_whole(folder / SCORES, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_scores(path: Path) -> list[Score]:
    """The scores in a scores.json, or in what `unwaver score --json` printed."""
    hint = "give what `unwaver score --json` printed, or score the run again"
    document = read_json(path)
    check(document, fields({"scores": list_of(plain)}), path, hint)
    return [made(Score, s, path, f"scores.{n}", hint) for n, s in enumerate(document["scores"])]


def write_whole(path: Path, text: str | bytes) -> None:
    """All of it or nothing, whatever happens meanwhile.

    A name that is not UTF-8 is written as JSON spells it: the byte e9 -> \\udce9.
    """
    data = _without_secrets(path, text)
    if is_stream(path):
        write_stream(path, data)
        return
    if path.is_symlink():  # else the link would be replaced, not what it leads to
        path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_file() and path.read_bytes() == data:
            return  # nothing new, and perhaps no space for it
        with beside.open("wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(path)
    except OSError as e:
        with suppress(OSError):  # a read-only folder
            beside.unlink(missing_ok=True)
        raise _unwritable(path, e) from e


def _without_secrets(path: Path, text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return masked_bytes(text)
    return (masked_json(text) if path.suffix in (".json", ".jsonl") else masked(text)).encode(
        errors="backslashreplace"
    )


def _unwritable(path: Path, error: OSError) -> StoreFull | UsageError:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "free some space, then run the same command again to continue"
        return StoreFull(f"the disk is full ({error.strerror})", file=path, hint=hint)
    return UsageError(f"cannot be written: {error.strerror}", file=path, hint="choose another folder with --out")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            "there is no run here", file=path, hint="give the folder that `unwaver run` wrote"
        ) from None
    except json.JSONDecodeError as e:
        message = f"broken JSON: {e.msg} at column {e.colno}"
        raise DataError(message, file=path, line=e.lineno, hint=_DAMAGED) from None
    except (ValueError, OSError, RecursionError) as e:
        raise DataError(f"cannot be read: {e}", file=path, hint=_DAMAGED) from None
    if not isinstance(value, dict):
        raise DataError("found no JSON object", file=path, hint="give a run.json that `unwaver run` wrote")
    return value
