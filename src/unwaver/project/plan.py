"""What a check would do, for `unwaver check --explain`. Nothing is asked and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unwaver.config import named_models
from unwaver.project.checking import run_config
from unwaver.project.file import Project, Source
from unwaver.project.frozen import FOLDER, Places, check_unchanged, groups_config, is_file, read_frozen
from unwaver.project.lock import LOCK, read_lock
from unwaver.reports.kinds import kind_in_words


def plan(project: Project) -> dict[str, Any]:
    header, entries = read_lock(project.folder / LOCK)
    return {
        "file": str(project.path),
        "sources": [_source(project, source) for source in project.sources],
        "bars": [f"{placed.where}: {placed.bar}" for placed in project.bars],
        "alpha": project.alpha,
        "baseline": {"accepted": header.get("accepted"), "groups": len(entries)} if header else None,
    }


def _source(project: Project, source: Source) -> dict[str, Any]:
    found: dict[str, Any] = {"name": source.name, "from": source.given, "log": source.is_log}
    if source.is_log:
        return found
    made = is_file(project, source)
    places = Places.of(project, source)
    config = run_config(project, source, places.groups if made else None)
    asked = {option: texts for option, texts in named_models(config).items() if any(texts)}
    found |= {"models": asked, "folder": config.out, "groups": None, "kinds": {}}
    if made and places.groups.exists():
        check_unchanged(project, source)
        groups = read_frozen(project, source)
        found |= {"groups": len(groups), "kinds": dict(Counter(group.kind for group in groups))}
    elif made:
        config = groups_config(project, source)
        found |= {"variants": list(config.variants), "writer": config.writer, "judges": list(config.judges)}
    return found


def plan_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['file']}: {_count(len(found['sources']), 'source')}"
    for source in found["sources"]:
        yield from _source_lines(source)
    base = found["baseline"]
    yield "bars: " + "; ".join(found["bars"]) + f" (alpha {found['alpha']:g})"
    told = f"accepted on {base['accepted']}, {_count(base['groups'], 'group')}" if base else "none yet"
    yield f"baseline: {LOCK}, {told}"


def _source_lines(source: Mapping[str, Any]) -> Iterator[str]:
    if source["log"]:
        yield f"{source['name']}: score the log {source['from']}"
        return
    if source["groups"] is not None:
        kinds = ", ".join(f"{count:,} {kind_in_words(kind)}" for kind, count in source["kinds"].items())
        groups = f"{_count(source['groups'], 'group')} of {FOLDER}/{source['name']}.jsonl"
        yield f"{source['name']}: {groups} ({kinds})"
    elif "variants" in source:
        by = f", written by {source['writer']}" if source["writer"] else ""
        variants = _listed(source["variants"]) or "as they are in the file"
        yield f"{source['name']}: make groups from {source['from']} once: {variants}{by}"
    else:
        yield f"{source['name']}: the suite {source['from']}"
    for option, texts in source["models"].items():
        yield f"  {option} {_listed(texts)}"
    yield f"  answers in {source['folder']}"


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
