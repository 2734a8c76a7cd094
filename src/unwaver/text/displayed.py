"""HTML for notebooks. Every text is escaped here; colours are those of the notebook, light or dark.

section(title="sample · fake/random", level="bad", lines=["…"], tables=[[["metric", "%"], ["tau", "12.5"]]])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unwaver.text.shown import escaped

Rows = Sequence[Sequence[str]]
MOST_NOTES = 6  # more are folded
_COLOURS = {"bad": "#d64545", "fair": "#c98a1b", "unsure": "#7f8c9b", "good": "#2f9e62"}

# no colour of text or background of its own: both themes have theirs
STYLE = """<style>
.uw { font-size: 13px; line-height: 1.45; color: inherit; max-width: 72em; margin: .3em 0; }
.uw p { margin: .3em 0; }
.uw .uw-title { font-weight: 600; margin-top: .7em; overflow-wrap: anywhere; }
.uw .uw-headline { font-size: 14px; font-weight: 600; padding-left: .6em; border-left: 4px solid #7f8c9b; }
.uw ul { margin: .3em 0; padding-left: 1.2em; }
.uw li { margin: .15em 0; overflow-wrap: anywhere; }
.uw .uw-verdicts { list-style: none; padding-left: 0; margin-left: 0; }
.uw .uw-verdicts li { padding-left: .6em; border-left: 4px solid #7f8c9b; }
.uw .uw-soft { opacity: .7; }
.uw .uw-scroll { overflow-x: auto; }
.uw table { border-collapse: collapse; border: none; margin: .3em 0; font-variant-numeric: tabular-nums; }
.uw tbody tr { background: transparent; }
.uw th, .uw td { padding: .2em .7em; text-align: right; white-space: nowrap; vertical-align: top; border: none;
  color: inherit; background: transparent; max-width: none; }
.uw th { font-weight: 600; border-bottom: 1px solid rgba(127, 127, 127, .6); }
.uw td { border-bottom: 1px solid rgba(127, 127, 127, .22); }
.uw .uw-left { text-align: left; }
.uw .uw-text { text-align: left; white-space: pre-wrap; overflow-wrap: anywhere; min-width: 10em; }
</style>""".replace(".uw ", ".unwaver.unwaver.unwaver ")  # above the rules of notebooks for tables


def framed(*parts: str) -> str:
    return f'<div class="unwaver">{STYLE}{"".join(parts)}</div>'


def title(text: str) -> str:
    return f'<p class="uw-title">{escaped(text)}</p>'


def headline(text: str, level: str = "") -> str:
    return f'<p class="uw-headline"{_border(level)}>{escaped(text)}</p>'


def soft(text: str) -> str:
    return f'<p class="uw-soft">{escaped(text)}</p>'


def verdicts(lines: Iterable[tuple[str, str, str, str]]) -> str:
    """Lines of (level, subject, what is said, what it rests on)."""
    items = "".join(
        f"<li{_border(level)}><b>{escaped(subject)}</b>: {escaped(said)}"
        + (f' <span class="uw-soft">· {escaped(basis)}</span></li>' if basis else "</li>")
        for level, subject, said, basis in lines
    )
    return f'<ul class="uw-verdicts">{items}</ul>' if items else ""


def notes(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    listed = f"<ul>{''.join(f'<li>{escaped(line)}</li>' for line in lines)}</ul>"
    if len(lines) <= MOST_NOTES:
        return f'<div class="uw-notes">{listed}</div>'
    return f'<details class="uw-notes"><summary>{len(lines)} notes</summary>{listed}</details>'


def table(rows: Rows, left: Iterable[str] = (), texts: Iterable[str] = ()) -> str:
    """Header first. Columns of numbers are on the right, those named `left` on the left; `texts` may wrap."""
    header, *body = rows
    kinds = ["uw-text" if name in texts else "uw-left" if name in left else "" for name in header]

    def line(cells: Sequence[str], tag: str) -> str:
        shown = "".join(
            f"<{tag}{f' class={kind}' if kind else ''}>{escaped(cell)}</{tag}>"
            for cell, kind in zip(cells, kinds, strict=True)
        )
        return f"<tr>{shown}</tr>"

    return (
        f'<div class="uw-scroll"><table><thead>{line(header, "th")}</thead>'
        f"<tbody>{''.join(line(cells, 'td') for cells in body)}</tbody></table></div>"
    )


def _border(level: str) -> str:
    colour = _COLOURS.get({"constant": "fair", "none": "unsure"}.get(level, level))
    return f' style="border-left-color: {colour}"' if colour else ""
