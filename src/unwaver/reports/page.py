"""The report: one HTML file that fetches nothing and runs nothing but its own script.

Texts of data and models are not trusted. They get into the page in two ways only: escaped, by `tag`, or as JSON
that is compressed and written in base64, which the script puts into text nodes. The policy in the head lets no
other script run, whatever a text holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from unwaver import __version__
from unwaver.console import Track, untracked
from unwaver.meaning import Meaning, meaning_of
from unwaver.reports import methods, opening
from unwaver.reports.explorer import MOST_CASES, columns
from unwaver.reports.markup import WITHOUT_TEXTS, Html, cut, name, tag
from unwaver.reports.markup import escaped as escaped
from unwaver.reports.pictures import figures_of, inline_svg
from unwaver.reports.remarks import remarks
from unwaver.reports.source import Source
from unwaver.reports.terminal import HELD, chance_of, chances, count_cell, count_title, percent
from unwaver.reports.unreadable import unreadable_texts
from unwaver.reports.verdict import about, rates
from unwaver.result import Result
from unwaver.secrets import masked_json
from unwaver.state import COUNTS
from unwaver.text.shown import interval
from unwaver.types import Figure, Score

MOST_FIGURES = 4  # of a family, before the rest is folded away
MOST_SCORES = 2000  # rows of the table of all numbers


def page(sources: Sequence[Source], track: Track = untracked, above: Html | None = None) -> str:
    """The whole file. `track` shows how far it has come, as in `unwaver.engine.runs.Console`; `above` is what a
    server puts before the report."""
    style, script = _static("report.css"), _static("report.js")
    result = Result([s for source in sources for s in source.result.scores])
    models, found = opening.models_of(sources), opening.all_verdicts(sources)
    is_private = any(source.is_private for source in sources)
    title = "unwaver: " + cut(opening.title_of(sources))
    body = [
        opening.header(sources),
        _profile(result),
        opening.verdict_section(found, models),
        opening.broken_section(sources, found),
        opening.todo_section(sources, found),
        _scores(sources, len(models) > 1),
        unreadable_texts(sources, tag),
        _figures(all_figures(sources, result), track),
        _explorer(),
        _how(sources, result),
        tag(
            "footer",
            f"unwaver {__version__}. This file is complete: it fetches nothing and sends nothing.",
            " Questions and answers were left out (--without-texts)." if is_private else "",
        ),
    ]
    head = [
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'),
        *([Html(WITHOUT_TEXTS)] if is_private else []),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    ]
    parts = [
        "<!doctype html>\n",
        Html('<html lang="en">'),
        tag("head", head),
        Html("<body>"),
        above or "",
        *body,
        Html(f'<script type="text/plain" id="groups">{_groups(sources, track)}</script>'),
        Html(f"<script>{script}</script>"),
        Html("</body></html>\n"),
    ]
    return "".join(parts)


def _profile(result: Result) -> Html:
    held = [s for s in result.scores if s.metric == HELD]
    if not held:
        return Html("")
    from unwaver.reports.profile import profile_section

    return profile_section(held)


def _groups(sources: Sequence[Source], track: Track) -> str:
    cases = sum(source.frame["group"].n_unique() * source.frame["model"].n_unique() for source in sources)
    with track("groups", min(cases, MOST_CASES)) as progress:
        return packed(columns(sources, progress=progress))


def policy() -> str:
    """Nothing but the style and the script of the page, and no text may become markup or code."""
    style, script = _static("report.css"), _static("report.js")
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _static(name: str) -> str:
    return (files("unwaver.reports") / "static" / name).read_text(encoding="utf-8")


def packed(document: Any) -> str:
    """JSON, deflated, in base64: no character of it means anything to HTML."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(masked_json(text).encode("utf-8", "replace"), 7)).decode()


# --- the table ----------------------------------------------------------------------------------------------


def _scores(sources: Sequence[Source], several: bool) -> Html:
    rows = [(source, about(s, source.result)) for source in sources for s in source.result.leading()]
    wide = [c for c in COUNTS if any(getattr(s, c) for _, s in rows)]
    wide = list(dict.fromkeys(["unreadable", *wide]))
    rest = [chance_of(source.result, s) for source, s in rows]
    by_chance = rest if any(value is not None for value in rest) else []
    names = ["relation", *(["model"] if several else []), "metric", "inconsistent, %", "95 % interval", ""]
    names += [*(["chance"] if by_chance else []), "accuracy", "counted", "not applicable"]
    names += [count_title(c) for c in wide]
    words = ("relation", "model", "metric")
    header = tag("tr", [tag("th", name, scope="col", class_=None if name in words else "n") for name in names])
    body = [_row(s, several, wide, by_chance[n : n + 1]) for n, (_, s) in enumerate(rows)]
    notes = list(dict.fromkeys(line for source in sources for line in remarks(source.result)))
    every = [(source, s) for source in sources for s in source.result.scores]
    return tag(
        "section",
        tag("h2", "Scores"),
        tag("div", tag("table", tag("thead", header), tag("tbody", body), class_="scores"), class_="wide"),
        tag("p", "Every row says how much is inconsistent: 0 is best. ",
            "A metric that counts what holds is shown as 1 − metric. " if any(s.better == "high" for _, s in rows)
            else "",
            [f"{line[:1].upper()}{line[1:]} " for line in chances(s.metric for _, s in rows) if by_chance],
            "Click a number to see how it was computed.", class_="note"),
        tag("ul", [tag("li", cut(line, 500)) for line in notes], class_="remarks") if notes else "",
        tag("details", tag("summary", f"All {len(every):,} numbers, by the names of scores.json"),
            _all_scores(every), class_="all"),
        id="scores",
    )  # fmt: skip


def _row(s: Score, several: bool, wide: Sequence[str], chances: Sequence[float | None]) -> Html:
    """On the scale of the verdict: the share of what is wrong. `chances` is empty where no row has one."""
    rate, low, high = rates(s)
    chances = [1 - x if x is not None and s.better == "high" else x for x in chances]
    metric = f"1 − {s.metric}" if s.better == "high" else s.metric
    value = tag("a", percent(rate), href=f"#{methods.slug(s.metric)}", title="How was this computed?")
    cells = [
        tag("th", name(f"{s.task}/{s.kind}"), scope="row"),
        *([tag("td", name(f"{s.model} ({s.method})"), data_label="model")] if several else []),
        tag("td", name(metric), data_label="metric", title=_heading(s.metric)),
        tag("td", value, class_="n", data_label="inconsistent, %"),
        tag("td", interval(low, high), class_="n", data_label="95 % interval"),
        tag("td", _bar(rate, low, high), class_="bar"),
        *[tag("td", percent(x), class_="n", data_label="chance") for x in chances],
        tag("td", percent(s.accuracy), class_="n", data_label="accuracy"),
        tag("td", f"{s.counted:,}", class_="n", data_label="counted"),
        tag("td", f"{s.not_applicable:,}", class_="n", data_label="not applicable"),
        *[tag("td", count_cell(s, c), class_="n", data_label=count_title(c)) for c in wide],
    ]
    return tag("tr", cells)


def _heading(metric: str) -> str | None:
    """ "inconsistency (tau)"; None for a metric that nobody has declared."""
    meaning = meaning_of(metric)
    return None if meaning is None else cut(meaning.heading, 120)


def _bar(value: float | None, low: float | None, high: float | None) -> Html:
    """The value and its interval on a line from 0 to 100 %."""
    if value is None or not 0 <= value <= 1:
        return Html("")
    parts = [tag("line", x1=4, x2=104, y1=7, y2=7, class_="axis")]
    if low is not None and high is not None:
        parts.append(
            tag("line", x1=f"{4 + 100 * low:.1f}", x2=f"{4 + 100 * high:.1f}", y1=7, y2=7, class_="reach")
        )
    parts.append(tag("circle", cx=f"{4 + 100 * value:.1f}", cy=7, r=3.5))
    return tag("svg", parts, width=108, height=14, viewBox="0 0 108 14", aria_hidden="true")


def _all_scores(rows: Sequence[tuple[Source, Score]]) -> Html:
    names = ("relation", "model", "metric", "value", "low", "high", "interval", "accuracy", "groups", "counted",
             "not applicable", *(count_title(c) for c in COUNTS))  # fmt: skip
    header = tag("tr", [tag("th", title, scope="col") for title in names])
    body = []
    for source, s in rows[:MOST_SCORES]:
        called = s.metric + (f" | {cut(s.given, 40)}" if s.given is not None else "")
        called += ", unreadable left out" if s.unreadable_as == "skipped" else ""
        cells: list[object] = [cut(f"{s.suite}/{s.task}/{s.kind}", 80), cut(f"{s.model} ({s.method})", 80)]
        cells += [
            tag("a", called, href=f"#{methods.slug(s.metric)}"),
            *(_number(x) for x in (s.value, s.low, s.high)),
        ]
        cells += [methods.interval_words(s, methods.seed_of(source)), _number(s.accuracy)]
        cells += [f"{n:,}" for n in (s.groups, s.counted, s.not_applicable)]
        cells += [count_cell(s, c) for c in COUNTS]
        body.append(tag("tr", [tag("td", cell) for cell in cells]))
    note = f"The first {MOST_SCORES:,} are shown; scores.json has all." if len(rows) > MOST_SCORES else ""
    return tag("div", tag("table", tag("thead", header), tag("tbody", body)), tag("p", note), class_="wide")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


# --- figures ------------------------------------------------------------------------------------------------


def all_figures(sources: Sequence[Source], result: Result) -> list[Figure]:
    blocks = [block for source in sources for block, _ in source.blocks]
    return list(figures_of(blocks, result.scores))


def _figures(figures: Sequence[Figure], track: Track) -> Html:
    """All in one flow; of a family with many the rest is folded away."""
    families: dict[str, list[Html]] = {}
    with track("figures", len(figures)) as progress:
        for number, figure in enumerate(figures):
            families.setdefault(figure.family, []).append(_figure(figure, number))
            progress(1)
    first = [drawn for family in families.values() for drawn in family[:MOST_FIGURES]]
    folded = [
        tag("details", tag("summary", f"{name}: {len(drawn) - MOST_FIGURES} more"), _flow(drawn[MOST_FIGURES:]))
        for name, drawn in families.items()
        if len(drawn) > MOST_FIGURES
    ]
    parts = [_flow(first), *folded] if first else [tag("p", "There are too few data for a figure.")]
    return tag("section", tag("h2", "Figures"), parts, id="figures")


def _flow(drawn: Sequence[Html]) -> Html:
    return tag("div", drawn, class_="figures")


def _figure(figure: Figure, number: int) -> Html:
    how = tag("a", "how?", href=f"#{methods.slug(figure.metric)}")
    title = [tag("span", figure.family, class_="family")] if figure.title != figure.family else []
    caption = tag("figcaption", figure.says, " ", how)
    drawing = tag("div", Html(inline_svg(figure, number)), class_="drawing")
    return tag("figure", tag("div", title, tag("b", figure.title), class_="title"), drawing, caption)


# --- groups -------------------------------------------------------------------------------------------------


def _explorer() -> Html:
    choice = [
        tag("label", words, tag("select", id=name))
        for name, words in (("relation", "relation"), ("model", "model"), ("label", "answer"), ("state", "shown"))
    ]
    choice.append(tag("label", "words", Html('<input type="search" id="words" placeholder="in the texts">')))
    return tag(
        "section",
        tag("h2", "Groups"),
        tag("p", "Worst first. Words that differ are marked; ✓ is a right answer, ✗ a wrong one.", class_="note"),
        tag("noscript", tag("p", "The list of groups needs JavaScript. Everything above does not.")),
        tag("div", choice, class_="controls"),
        tag("p", "…", id="count", role="status"),
        tag("div",
            tag("div", tag("div", tag("div", id="rows"), id="tall"), id="list", tabindex=0, role="listbox",
                aria_label="groups"),
            tag("div", id="group", aria_live="polite"),
            class_="split"),
        id="explorer",
    )  # fmt: skip


# --- how was this computed ----------------------------------------------------------------------------------


_EVERY_NUMBER = (
    "Every number is a mean (or the reduction named) over groups. A group to which it does not apply is left out "
    "and counted; an unreadable answer satisfies no relation; a group with an answer that failed, was refused or "
    "was cut is left out and counted. 95 % intervals: exact (Clopper and Pearson) "
    "if every cluster has one group and every value is 0 or 1, else a bootstrap over clusters of groups that "
    "share an original, or over the original items if groups are made of several. With few independent units "
    "it is a t interval, with fewer than five there is none."
)


def _how(sources: Sequence[Source], result: Result) -> Html:
    known = methods.used(result.scores)
    entries = [_method(anchor, meaning, names) for anchor, meaning, names in known]
    return tag(
        "section",
        tag("h2", "How was this computed?"),
        tag("p", _EVERY_NUMBER),
        entries,
        tag("h3", "Repeat it", id="repeat"),
        [_source(source) for source in sources],
        id="how",
    )  # fmt: skip


BETTER = {"low": " Lower is better.", "high": " Higher is better.", "": ""}


def _method(anchor: str, meaning: Meaning | None, names: Sequence[str]) -> Html:
    code = tag("code", ", ".join(names[:8]) + (" …" if len(names) > 8 else ""))
    if meaning is None:
        title = tag("summary", code)
        text = tag("p", "A metric of another package: its documentation says how it is computed.")
        return tag("details", title, text, id=anchor, class_="method")
    one = meaning_of(names[0]) if len(names) == 1 else None
    shown = one or meaning
    facts = (
        ("Formula", tag("span", shown.formula, class_="formula") if shown.formula else ""),
        ("Chance", shown.chance_says),
        ("From", shown.paper or methods.OURS),
    )
    parts = [
        tag("p", shown.says, BETTER[meaning.better]),
        *(tag("p", tag("b", f"{name} "), text) for name, text in facts if text),
        tag("p", tag("a", "The command and the versions that repeat it", href="#repeat")),
    ]
    title = tag("summary", f"{shown.title} ", code)
    return tag("details", title, parts, id=anchor, class_="method")


def _source(source: Source) -> Html:
    lines: list[Html] = [tag("pre", tag("code", command)) for command in methods.repeat_commands(source)]
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", _fact(told))) for name, told in methods.facts(source)
    ]
    return tag("div", lines, tag("div", tag("table", rows, class_="facts"), class_="wide"), class_="source")


def _fact(told: methods.Fact) -> object:
    """A text, or a table of settings within the table."""
    if isinstance(told, str):
        return name(told, 600)
    rows = [tag("tr", tag("th", key, scope="row"), tag("td", cut(value, 600))) for key, value in told]
    return tag("table", rows, class_="settings")
