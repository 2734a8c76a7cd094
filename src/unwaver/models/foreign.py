"""Models of others: objects that a caller gives, and providers of installed packages. What one lacks is named."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from unwaver import registry
from unwaver.errors import UsageError
from unwaver.types import Model

_MINIMUM = ("name", "identity", "method", "settings", "reads", "deterministic", "answer", "close")


def guarded(provider: str, make: Callable[..., Model]) -> Callable[..., Model]:
    """What opens the models of a provider. One that fails, or gives no model, is named."""

    @wraps(make)
    def opened(*arguments: Any, **options: Any) -> Model:
        model: Model = registry.guarded("models", provider, make, object)(*arguments, **options)
        if missing := _missing(model):
            raise registry.broken("models", provider, f"gave {model!r:.60}, which has no {', '.join(missing)}")
        return model

    return opened


def whole(model: Model) -> Model:
    """The object of a caller, which has all that a model has."""
    if missing := _missing(model):
        hint = "an object that answers has the attributes of unwaver.Model; or give provider/name"
        raise UsageError(f"{model!r:.60} is not a model: it has no {', '.join(missing)}", hint=hint)
    return model


def _missing(model: object) -> list[str]:
    return [name for name in _MINIMUM if not hasattr(model, name)]
