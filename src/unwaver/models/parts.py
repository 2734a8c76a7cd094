"""What a model may have beyond the minimum (`unwaver.Model`). A model that lacks a part is used without it.

    Parts(model).check        -> the model's method, or None

This is the only place that looks for them; docs/extending.md lists them for those who write a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from unwaver.types import Item, Model, Request

if TYPE_CHECKING:
    from unwaver.models.dialect import Dialect
    from unwaver.models.openai_batches import OpenAIBatch
    from unwaver.models.own_price import OwnPrice
    from unwaver.models.trained import Trained

Tokens = tuple[int, int | None]  # prompt and answer; None if nothing limits the answer
Meter = Callable[[int, int | None, bool], bool]


AnyModel = TypeVar("AnyModel", bound=Model)


class Parts:
    """The optional parts of a model, each None (or "") where the model does not have it."""

    __slots__ = ("_model",)

    def __init__(self, model: object):
        self._model = model

    @property
    def check(self) -> Callable[[Sequence[Request]], None] | None:
        """`check(requests)` raises before anything is asked if the model cannot answer one of the requests."""
        return getattr(self._model, "check", None)

    @property
    def count_tokens(self) -> Callable[[Sequence[Request]], int] | None:
        """`count_tokens(requests)`: prompt tokens by the model's own tokeniser, for --dry-run."""
        return getattr(self._model, "count_tokens", None)

    @property
    def most_tokens(self) -> Callable[[Request], Tokens] | None:
        """`most_tokens(request)`: the most prompt and answer tokens (None: no limit), for --max-cost. Without it a
        limit is worked out from the texts and `settings["max_tokens"]`."""
        return getattr(self._model, "most_tokens", None)

    @property
    def answered_before(self) -> Callable[[bool], None] | None:
        """`answered_before(yes)` is called before asking: whether the store has answers of this model already."""
        return getattr(self._model, "answered_before", None)

    @property
    def finish(self) -> Callable[[], None] | None:
        """`finish()`: send nothing more, and yield only what is in flight. Called when the money is spent."""
        return getattr(self._model, "finish", None)

    @property
    def meter(self) -> Meter | None:
        """`meter(tokens_in, tokens_out, again)`, set from outside: the model calls it after a try that failed and
        may be billed, and tries again only if it gives True."""
        return getattr(self._model, "meter", None)

    @meter.setter
    def meter(self, meter: Meter | None) -> None:
        if hasattr(self._model, "meter"):
            self._model.meter = meter

    @property
    def tell(self) -> Callable[[str], None] | None:
        """`tell(text)`, set from outside: the model calls it while it waits for a limit of its server, and with ""
        when that is over."""
        return getattr(self._model, "tell", None)

    @tell.setter
    def tell(self, tell: Callable[[str], None] | None) -> None:
        if hasattr(self._model, "tell"):
            self._model.tell = tell

    @property
    def concurrency(self) -> int | None:
        """How many requests are answered at once: processes that share a store then take small parts."""
        found = getattr(self._model, "concurrency", None)
        return found if isinstance(found, int) else None

    @property
    def decoding(self) -> str:
        """How tokens are chosen, as reports show it: "nucleus top_p 0.9"; "" for greedy."""
        return getattr(self._model, "decoding", "")

    @property
    def n_best(self) -> bool:
        """Whether a request can ask for one of the most likely texts of several beams (`Request.beams`)."""
        return bool(getattr(self._model, "n_best", False))

    @property
    def dialect(self) -> Dialect | None:
        """What the server behind the model does not take; only services have it."""
        return getattr(self._model, "dialect", None)

    @property
    def batch(self) -> OpenAIBatch | None:
        """How its requests are put into batches; only services have it."""
        return getattr(self._model, "batch", None)

    @property
    def free_text(self) -> Model | None:
        """The model whose method and settings answer requests without choices, where they differ."""
        return getattr(self._model, "free_text", None)

    @property
    def price(self) -> OwnPrice | None:
        """What its tokens cost, where that was given with its name."""
        return getattr(self._model, "price", None)

    @property
    def form(self) -> str:
        """The form in which the model reads items, "t5" for T5; "" for the task's own."""
        return getattr(self._model, "form", "")

    @property
    def takes(self) -> tuple[str, ...]:
        """What of a request is sent beyond the messages: "tools", "response_format"."""
        return tuple(getattr(self._model, "takes", None) or ())

    @property
    def trained(self) -> Trained | None:
        """What `unwaver train` has left with the model: tasks, forms, and texts it was trained on."""
        return getattr(self._model, "trained", None)


def way_of(model: AnyModel, asked: Request | Item) -> AnyModel:
    """Who answers: the model itself or, if there are no choices, its free-text twin if it has one.

    A model that picks among labels by their probability writes free text in another way, with other settings.
    """
    if asked.choices:
        return model
    twin: Any = Parts(model).free_text
    return model if twin is None else twin
