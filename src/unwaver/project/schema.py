"""The JSON Schema of unwaver.toml, for editors that complete and check TOML, made from what reads the file."""

from __future__ import annotations

import json
from typing import Any

from unwaver.config_record import option_of
from unwaver.project.settings import FIELD_OF, TYPE_OF

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_PLAIN: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_OF_TYPE: dict[str, dict[str, Any]] = {
    "tuple[str, ...]": _TEXTS,
    "tuple[float, ...]": {"type": "array", "items": {"type": "number"}},
    "Mapping[str, str]": {"type": "object", "additionalProperties": _PLAIN},
    "int": {"type": "integer"},
    "int | None": {"type": "integer"},
    "float": {"type": "number"},
    "float | None": {"type": "number"},
    "bool": {"type": "boolean"},
    "str": _TEXT,
    "str | None": _TEXT,
    "Literal['violate', 'skip']": {"enum": ["violate", "skip"]},
    "Literal['exclude', 'keep']": {"enum": ["exclude", "keep"]},
}


def schema() -> dict[str, Any]:
    options = {
        name: {**_OF_TYPE[TYPE_OF[field]], "description": f"As {option_of(field)} of unwaver run."}
        for name, field in FIELD_OF.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unwaver.toml",
        "description": "What unwaver check asks, compares and decides.",
        "type": "object",
        "additionalProperties": False,
        "required": ["sources"],
        "properties": {
            "runs": {**_TEXT, "description": "Folder for runs.", "default": "runs"},
            "alpha": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5, "default": 0.05},
            "run": {
                "type": "object",
                "description": "Options of unwaver run for every source.",
                "additionalProperties": False,
                "properties": options,
            },
            "models": {
                "type": "object",
                "description": "Models by name: @bot is [models.bot].",
                "additionalProperties": {"type": "object", "required": ["model"], "properties": {"model": _TEXT}},
            },
            "sources": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": [_source(options), _log()]},
            },
            "bars": {"anyOf": [_TEXTS, {"type": "object", "additionalProperties": _TEXTS}]},
        },
    }


def _source(options: dict[str, Any]) -> dict[str, Any]:
    origin = {**_TEXT, "description": "A file or a suite."}
    return {
        "type": "object",
        "required": ["from"],
        "additionalProperties": False,
        "properties": {"from": origin, **options},
    }


def _log() -> dict[str, Any]:
    origin = {**_TEXT, "description": "A log of another tool, or a table of answers."}
    return {"type": "object", "required": ["log"], "properties": {"log": origin}}


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
