"""Figures drawn: SVG for the page, and PNG, SVG or PDF for papers, from one specification.

Vega draws them here, not in the reader's browser: the page then needs no script for its pictures, shows what the
paper shows, and no text of data ever meets Vega's expressions there. Of the SVG only known elements and attributes
stay; all texts are escaped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from unwaver.errors import UnwaverError, missing_extra
from unwaver.meaning import meanings
from unwaver.metrics.block import Block
from unwaver.types import Figure, Score

EXTRA = "report"
_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "clipPath", "defs", "title"}
_ATTRIBUTES = {
    *(
        "width",
        "height",
        "viewBox",
        "transform",
        "d",
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
        "dx",
        "dy",
        "r",
        "cx",
        "cy",
    ),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-miterlimit"),
    *("opacity", "text-anchor", "font-family", "font-size", "font-weight", "font-style", "clip-path", "id"),
    *("stroke-dashoffset", "stroke-cap", "stroke-linecap", "stroke-linejoin", "visibility"),
}
_PLAIN = re.compile(r"[\w\s.,#%()+\-]*")


def figures_of(blocks: Sequence[Block], scores: Sequence[Score]) -> Iterator[Figure]:
    """Every figure whose data are there, by the functions that metrics declare."""
    for draw in dict.fromkeys(meaning.figures for meaning in meanings()):
        if draw is not None:
            yield from draw(blocks, scores)


def installed() -> bool:
    from importlib.util import find_spec

    return find_spec("vl_convert") is not None


def vega() -> Any:
    """What draws; an error with the line that installs it where it is missing."""
    try:
        import vl_convert
    except ImportError:
        raise missing_extra("vl-convert-python", EXTRA) from None
    return vl_convert


def svg_of(figure: Figure, background: str | None = None) -> str:
    """The picture as SVG; nothing is fetched."""
    spec = dict(figure.spec)
    if background:
        spec["background"] = background
    try:
        drawn: str = vega().vegalite_to_svg(spec, allowed_base_urls=[])
    except ValueError as e:
        hint = "update vl-convert-python; the tables of unwaver report --format need no figures"
        raise UnwaverError(f"the figure {figure.title!r} could not be drawn: {e}", hint=hint) from e
    return drawn


def bytes_of(figure: Figure, format: Literal["png", "svg", "pdf"]) -> bytes:
    """The picture as a file for papers, on white."""
    drawn = svg_of(figure, "white")
    if format == "svg":
        return drawn.encode()
    found: bytes = vega().svg_to_png(drawn, scale=3) if format == "png" else vega().svg_to_pdf(drawn)
    return found


def inline_svg(figure: Figure, number: int) -> str:
    """SVG to stand in the page: only what is known, the text of a mark as its title."""
    root = ET.fromstring(svg_of(figure))
    _clean(root, f"f{number}-")
    root.set("role", "img")
    root.set("aria-label", f"{figure.title}. {figure.says}")
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _clean(element: ET.Element, prefix: str) -> None:
    says = element.get("aria-label") if element.get("role") == "graphics-symbol" else None
    is_mark = element.tag.rpartition("}")[2] in ("path", "circle", "rect")
    for name, value in list(element.attrib.items()):
        kept = _attribute(name, value, prefix)
        if kept is None:
            del element.attrib[name]
        else:
            element.set(name, kept)
    for child in list(element):
        useless = child.get("class") in ("background", "foreground") and not child.get("stroke")
        if child.tag.rpartition("}")[2] not in _ELEMENTS or useless:
            element.remove(child)
        else:
            _clean(child, prefix)
    if says and is_mark:
        title = ET.SubElement(element, f"{{{_SVG}}}title")
        title.text = says


def _attribute(name: str, value: str, prefix: str) -> str | None:
    """A value that is safe to keep; ids of one picture do not meet those of another."""
    if name not in _ATTRIBUTES:
        return None
    if name == "id":
        return prefix + value if _PLAIN.fullmatch(value) else None
    if name == "clip-path":
        found = re.fullmatch(r"url\(#([\w-]+)\)", value)
        return f"url(#{prefix}{found[1]})" if found else None
    if name in ("transform", "d", "viewBox"):
        return value if _PLAIN.fullmatch(value) else None
    return value if _PLAIN.fullmatch(value) and "url" not in value.lower() else None
