"""Who answers a request: the model itself or, where there are no choices, its free-text twin.

A model that picks among labels by their probability writes free text by another method and with other settings:
those of `model.writer`. A model without one answers everything itself.
"""

from __future__ import annotations

from typing import Any, TypeVar

from unwaver.models.parts import Parts
from unwaver.types import Item, Model, Request

AnyModel = TypeVar("AnyModel", bound=Model)


def way_of(model: AnyModel, asked: Request | Item) -> AnyModel:
    """The model whose method and settings answer this: `model`, or its writer where there are no choices."""
    if asked.choices:
        return model
    twin: Any = Parts(model).free_text
    return model if twin is None else twin
