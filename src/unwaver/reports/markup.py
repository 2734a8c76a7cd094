"""HTML from Python: whatever is not `Html` already is escaped, so a text of data or of a model stays a text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unwaver.text.shown import cut as cut
from unwaver.text.shown import escaped as escaped

WITHOUT_TEXTS = '<meta name="unwaver" content="without texts">'  # in the head of a page that has none
_JOINTS = re.compile(r"(?<=[/_.:=@])(?=[^/_.:=@\s])(?<!\d[.:](?=\d))")  # 0.5 and 17:30 are whole


class Html(str):
    """Text that is HTML already; any other is escaped."""


def tag(name: str, *children: object, **attributes: object) -> Html:
    """tag("td", "a < b", class_="n") -> <td class="n">a &lt; b</td>; None and False leave an attribute out."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{given}>{''.join(map(_child, children))}</{name}>")


def _child(child: object) -> str:
    if isinstance(child, Html):
        return child
    return (
        escaped(child)
        if isinstance(child, str)
        else "".join(map(_child, child))
        if isinstance(child, Iterable)
        else ""
    )


def name(text: str, most: int = 80) -> Html:
    """A name that may go on in another line where its parts meet, and nowhere inside a word: surface_<wbr>typo."""
    return Html("<wbr>".join(escaped(part) for part in _JOINTS.split(cut(text, most))))
