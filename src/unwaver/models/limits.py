"""The most tokens that a request and its answer can have, whatever the tokeniser."""

from __future__ import annotations

from collections.abc import Mapping

from unwaver.models.decoding import LONG, SHORT
from unwaver.models.parts import Parts, Tokens, way_of
from unwaver.types import Model, Request

MARGIN = 64  # tokens of the chat format, for each message
# settings that limit how long an answer may be, by the names that services have for them
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict")


def most_tokens(model: Model, request: Request) -> Tokens:
    """The most tokens of a request and its answer. A model may know better, with a method of this name.

    No tokeniser makes more tokens than bytes. A model that says nothing of max_tokens is taken to write a label,
    or a short text.
    """
    if own := Parts(model).most_tokens:
        return own(request)
    way = way_of(model, request)
    words = request.words or request.choices
    texts = (way.settings.get("system") or "", request.prompt, *request.segments)
    each = sum(map(byte_count, texts)) + MARGIN
    if way.method == "logprob":  # once for each choice
        return len(words) * each + sum(map(byte_count, words)), len(words) + sum(map(byte_count, words))
    usual = SHORT if request.choices else LONG
    settings = {"max_tokens": usual, **way.settings}
    return each, token_limit(settings if request.limit is None else {**settings, "max_tokens": request.limit})


def byte_count(text: object) -> int:
    return len(str(text).encode("utf-8", "replace"))


def token_limit(settings: Mapping[str, object]) -> int | None:
    """The most tokens of an answer under these settings: the greatest limit, None if there is none."""
    limits = [settings.get(name) for name in LIMITS]
    known = [limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool)]
    several = settings.get("best_of")
    return max(known) * (several if isinstance(several, int) else 1) if known else None
