"""Items from which no variant was made, with the reason."""

from __future__ import annotations

from typing import NamedTuple


class Refused(NamedTuple):
    """An item (or a text) of which no variant was made, and why: in words that stand alone in a table."""

    reason: str
    item: str = ""
