"""Tools and a response format for all items of a run (--tools, --response-format), as part of its groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unwaver.config import Config
from unwaver.errors import UsageError
from unwaver.files import Where
from unwaver.groups.conversations import compact, format_from_json, tools_from_json
from unwaver.suites.select import Selection
from unwaver.types import Item, replace


def with_offers(config: Config, selection: Selection) -> Selection:
    """The groups with the tools and the format in every item that names none. Judges are asked as before."""
    tools = _tools(Path(config.tools)) if config.tools else ""
    wanted = _format(Path(config.response_format)) if config.response_format else ""

    def offered(item: Item) -> Item:
        if item.role == "judge":
            return item
        return replace(item, tools=item.tools or tools, response_format=item.response_format or wanted)

    groups = [replace(group, items=tuple(map(offered, group.items))) for group in selection.groups]
    return replace(selection, groups=groups)


def _tools(path: Path) -> str:
    found = _json(path, "--tools")
    found = found.get("tools", found) if isinstance(found, Mapping) else found
    tools = tools_from_json(found, Where(str(path), 1))
    if not tools:
        raise UsageError("--tools: the list is empty", file=path, hint="leave --tools out, or list a tool")
    return tools


def _format(path: Path) -> str:
    """A response_format as it is; a JSON schema becomes one."""
    found = _json(path, "--response-format")
    found = found.get("response_format", found) if isinstance(found, Mapping) else found
    if isinstance(found, Mapping) and found.get("type") not in ("json_schema", "json_object", "text"):
        schema = {"name": "answer", "schema": found}
        return compact({"type": "json_schema", "json_schema": schema})
    return format_from_json(found, Where(str(path), 1))


def _json(path: Path, option: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"{option}: {e.strerror}", file=path, hint="check the path") from None
    except (ValueError, RecursionError) as e:
        raise UsageError(
            f"{option}: not JSON: {e}", file=path, hint="see docs/text.md, JSON and tool calls"
        ) from None
