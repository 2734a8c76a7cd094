"""unwaver measures how consistent a language model is.

    import unwaver
    result = unwaver.run("sample", "fake/random")       # ask a model, keep the answers, score them
    result = unwaver.score(table)                       # score answers you already have
    print(result); result.find("tau", task="snli", kind="semantic").value
    result.frame(); result.broken()                     # scores, and broken groups, as frames

`run`, `score`, `show`, `report`, `compare`, `gate`, `build` and `check` are the commands of the same names.

Names are imported when they are first used, so that `import unwaver` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unwaver.api import build as build
    from unwaver.api import check as check
    from unwaver.api import compare as compare
    from unwaver.api import report as report
    from unwaver.api import run as run
    from unwaver.bars import Bar as Bar
    from unwaver.config import Config as Config
    from unwaver.engine.load import score as score
    from unwaver.errors import UnwaverError as UnwaverError
    from unwaver.meaning import Meaning as Meaning
    from unwaver.meaning import Phrase as Phrase
    from unwaver.reports.shown_groups import show as show
    from unwaver.result import Result as Result
    from unwaver.types import Answer as Answer
    from unwaver.types import Group as Group
    from unwaver.types import Item as Item
    from unwaver.types import Message as Message
    from unwaver.types import Model as Model
    from unwaver.types import Request as Request
    from unwaver.types import Score as Score
    from unwaver.types import Suite as Suite
    from unwaver.verdicts.gates import gate as gate

__version__ = "0.1.0"

_HOMES = {
    "Answer": "types",
    "Bar": "bars",
    "Config": "config",
    "Group": "types",
    "Item": "types",
    "Meaning": "meaning",
    "Message": "types",
    "Model": "types",
    "Phrase": "meaning",
    "Request": "types",
    "Result": "result",
    "Score": "types",
    "Suite": "types",
    "UnwaverError": "errors",
    "build": "api",
    "check": "api",
    "compare": "api",
    "gate": "verdicts.gates",
    "report": "api",
    "run": "api",
    "score": "engine.load",
    "show": "reports.shown_groups",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unwaver' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"unwaver.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
