"""A file with a table of facts, as types: docs/core.md explains each key."""

from __future__ import annotations

from typing import Annotated

import msgspec

from unwaver.typed import Filled

Texts = list[str]
Cell = str | int | float | bool | Texts


class Sentence(msgspec.Struct, forbid_unknown_fields=True):
    """A text by language."""

    en: str = ""
    de: str = ""
    zh: str = ""


class Wordings(msgspec.Struct, forbid_unknown_fields=True):
    """Texts by language."""

    en: Texts = []
    de: Texts = []
    zh: Texts = []


class QuestionRecord(msgspec.Struct, forbid_unknown_fields=True):
    name: Filled
    task: str = ""
    answer: str = ""
    among: str = ""
    wrong: str = ""
    context: str | Texts = ""
    converse: str = ""
    contrast: str = ""
    near: list[Annotated[Texts, msgspec.Meta(min_length=2, max_length=2)]] = []
    pair: dict[str, str] = {}
    labels: Texts = []
    flipped: str = ""
    flipped_answer: str = ""
    reworded: str = ""
    negated: str = ""
    symmetric: Texts = []
    triple: str = ""
    choice: bool = True
    choice_only: bool = False
    chains_only: bool = False
    statement: Sentence | None = None
    negation: Sentence | None = None
    question: Sentence | None = None
    inverse: Sentence | None = None
    opposite: Sentence | None = None
    hint: Sentence | None = None
    joined: Sentence | None = None
    open: Wordings | None = None
    ask: Wordings | None = None
    words: Wordings | None = None
    heads: Wordings | None = None
    rubric: Wordings | None = None


class ChainRecord(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    premises: Texts
    conclusion: str
    true_only: bool = False


class TableRecord(msgspec.Struct, forbid_unknown_fields=True):
    name: Filled
    rule: Filled
    columns: Annotated[list[Filled], msgspec.Meta(min_length=1)]
    rows: Annotated[list[list[Cell]], msgspec.Meta(min_length=1)]
    questions: Annotated[list[QuestionRecord], msgspec.Meta(min_length=1)]
    chains: list[ChainRecord] = []
    case: bool = True
    cluster: str = ""
