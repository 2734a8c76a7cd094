"""Texts that stand around questions: irrelevant sentences, who asks, polite words, doubts, conversations."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

SECTIONS = ("distractors", "personas", "politeness", "filler", "doubts", "conversations")


@cache
def shared_texts() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The sections of texts.toml: {"personas": [{"text": {"en": "I am a nurse."}}, …], …}."""
    text = resources.files("unwaver.suites.core").joinpath("texts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def beside(section: str, table: str) -> list[Mapping[str, Any]]:
    """The texts of a section that may stand beside questions of a table."""
    return [entry for entry in shared_texts()[section] if table not in entry.get("avoid", ())]
