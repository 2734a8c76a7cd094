"""The first screen of the report, for someone who decides in a minute: what was asked and when, what holds, what
broke, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unwaver.asking.prices import money
from unwaver.reports import methods
from unwaver.reports.advice import steps
from unwaver.reports.examples import Example, Side, counts, examples
from unwaver.reports.kinds import TASKS, WORDS, kind_in_words
from unwaver.reports.markup import Html, cut, name, tag
from unwaver.reports.source import Source
from unwaver.reports.verdict import MOST_OF_SEVERAL, MOST_VERDICTS, Verdict, by_level, headline, verdicts
from unwaver.result import method_names

MOST_EXAMPLES, LONGEST = 3, 320  # broken groups, and characters of a text in them
MOST_RUNS = 4  # whose date and cost are told
NO_NAME = "table"  # the model of a table that names none
TOOLS = {"lm-eval": "lm-eval", "inspect": "Inspect", "promptfoo": "promptfoo", "helm": "HELM"}
EXPECTED = {
    "same": "must get the same answer",
    "different": "must get another answer",
    "implied": "must follow from the originals",
    "bucket": "must be right in every wording",
}
SECTIONS = (
    ("scores", "Scores"),
    ("figures", "Figures"),
    ("explorer", "Groups"),
    ("how", "How was this computed?"),
)


def models_of(sources: Sequence[Source]) -> list[str]:
    names = (s.model for source in sources for s in source.result.scores)
    return list(dict.fromkeys(model for model in names if not model.startswith("average")))


# --- what was asked, and when -------------------------------------------------------------------------------


def title_of(sources: Sequence[Source]) -> str:
    """ "shop-bot-2: orders"; a table that names no model is called after its file."""
    subjects = dict.fromkeys(subject for source in sources for subject in _subjects(source))
    return f"{', '.join(_who(sources))}: {', '.join(subjects)}"


def _who(sources: Sequence[Source]) -> list[str]:
    models, files = models_of(sources), [_file_of(source) for source in sources if source.files]
    return files if models == [NO_NAME] and files else models


def _file_of(source: Source) -> str:
    """ "a.json and 1 more"."""
    more = len(source.files) - 1
    return Path(source.files[0]).name + (f" and {more} more" if more else "")


def _subjects(source: Source) -> list[str]:
    """What was asked about: the suites of a run, the tasks of a log."""
    scores = [s for s in source.result.scores if not s.task.startswith("average")]
    return list(dict.fromkeys(s.task if source.files else s.suite for s in scores))


def header(sources: Sequence[Source]) -> Html:
    who = _who(sources)
    shown = ", ".join(cut(each, 80) for each in who[:6]) + (f" and {len(who) - 6} more" if len(who) > 6 else "")
    whose = "its" if len(models_of(sources)) == 1 else "their"
    about = " ".join(_about(source) for source in sources[:MOST_RUNS])
    links = [tag("a", words, href=f"#{anchor}") for anchor, words in SECTIONS]
    return tag(
        "header",
        tag("h1", name(shown, 600)),
        tag("p", f"How consistent are {whose} answers? {about}"),
        [tag("p", line, class_="when") for line in _when(sources)],
        tag("nav", links, tag("button", "dark / light", id="theme", type="button", hidden=True)),
    )


def _about(source: Source) -> str:
    """ "Asked about: orders." or "Read from results.json, a log of promptfoo; task: faq." """
    subjects = cut(", ".join(_subjects(source)))
    if not source.files:
        return f"Asked about: {subjects}."
    suites = dict.fromkeys(s.suite for s in source.result.scores)
    tools = [TOOLS[suite] for suite in suites if suite in TOOLS]
    log = f", a log of {', '.join(tools)}" if tools else ""
    return (
        f"Read from {cut(_file_of(source), 120)}{log}; {'task' if ',' not in subjects else 'tasks'}: {subjects}."
    )


def _when(sources: Sequence[Source]) -> Iterator[str]:
    """The date, the duration and what it cost, of each run; what is not known is said to be so."""
    for source in sources[:MOST_RUNS]:
        asked = source.result.run.get("asking")
        about = f"{cut(source.path, 60)}: " if len(sources) > 1 else ""
        if not asked:
            where = "the log does not say" if source.files else "the run has no record of it"
            yield f"{about}Date, duration and cost are not known: {where}."
        else:
            yield f"{about}{asked_in_words(asked)}"


def asked_in_words(asked: Mapping[str, Any]) -> str:
    """ "Asked on 2026-11-17 at 15:33 UTC, in 4.2 s: 560 requests, 16,440 tokens, cost 0.0170." """
    date, _, time = str(asked["began"]).partition("T")
    tokens = (asked.get("tokens_in") or 0) + (asked.get("tokens_out") or 0)
    calls = "1 request" if asked["calls"] == 1 else f"{asked['calls']:,} requests"
    spent = "not known" if asked.get("cost") is None else money(asked["cost"])
    counted = f", {tokens:,} tokens" if tokens else ""
    return f"Asked on {date} at {time[:5]} UTC, in {duration(asked['seconds'])}: {calls}{counted}, cost {spent}."


def duration(seconds: float) -> str:
    """4.21 -> "4.2 s", 200 -> "3 min 20 s", 7500 -> "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# --- what holds ---------------------------------------------------------------------------------------------


def verdict_section(found: Sequence[Verdict], models: Sequence[str]) -> Html:
    parts: list[Html] = []
    most = MOST_VERDICTS if len(models) == 1 else MOST_OF_SEVERAL
    for model in models:
        own = [v for v in found if v.score.model == model]
        if not own:
            continue
        title = tag("h2", headline(own))
        if len(models) > 1:
            title = tag("h2", tag("span", name(model)), " – ", headline(own))
        names = method_names(((s.suite, s.task, s.kind), s.model, s.method) for s in (v.score for v in own))
        lines = [_verdict(v, len(set(names.values())) > 1) for v in own]
        parts += [title, tag("ul", lines[:most], class_="verdicts")]
        if len(lines) > most:
            more = tag("summary", f"{len(lines) - most} more")
            parts.append(tag("details", more, tag("ul", lines[most:], class_="verdicts")))
    return tag("section", parts, id="verdict")


def _verdict(v: Verdict, with_method: bool) -> Html:
    about = f" ({v.score.method})" if with_method else ""
    basis = tag("a", v.basis or "how?", href=f"#{methods.slug(v.score.metric)}", class_="basis")
    said = f": {cut(v.said, 400)}."
    sentence = tag("span", tag("b", name(v.subject, 60)), cut(about, 60), said, class_="said")
    return tag("li", tag("span", WORDS[v.level], class_="badge"), sentence, basis, class_=v.level)


# --- what broke ---------------------------------------------------------------------------------------------


def broken_section(sources: Sequence[Source], found: Sequence[Verdict]) -> Html:
    """The worst group of each relation that broke, by the order of the verdicts."""
    number = counts(sources)
    if not number.of:
        return Html("")
    if not number.broken:
        held = f"all {number.of:,} groups that were measured hold"
        said = f"Nothing: {'the one group that was measured holds' if number.of == 1 else held}."
        return tag("section", tag("h2", "What broke"), tag("p", said), id="broke")
    several = len(models_of(sources)) > 1
    groups = "group is" if number.broken == 1 else "groups are"
    if any(source.is_private for source in sources):
        where = tag("a", "below", href="#explorer")
        told = [f"{number.broken:,} of {number.of:,} {groups} broken. Their ids are ", where, ", without texts."]
        return tag("section", tag("h2", "What broke"), tag("p", told), id="broke")
    order = [(s.suite, s.task, s.kind, s.model, s.method) for s in (v.score for v in found)]
    shown = sorted(examples(sources), key=lambda e: order.index(e.block) if e.block in order else len(order))
    said = f"{number.broken:,} of {number.of:,} {groups} broken. The worst of each relation is here, "
    return tag(
        "section",
        tag("h2", "What broke"),
        tag("p", said, tag("a", "all of them are below", href="#explorer"), ".", class_="note"),
        [_example(example, several) for example in shown[:MOST_EXAMPLES]],
        id="broke",
    )


def _example(example: Example, several: bool) -> Html:
    _, task, kind, model, _ = example.block
    who = f" · {cut(model, 60)}" if several else ""
    about = tag("b", name(f"{TASKS.get(task, task)}, {kind_in_words(kind)}"))
    is_known = any(side.right is not None for side in example.sides)
    expected = EXPECTED["same" if example.expect == "bucket" and not is_known else example.expect]
    sides = tag("div", [_side(side) for side in example.sides], class_="sides")
    return tag("div", tag("div", about, f": {expected}{who}"), sides, class_="example")


def _side(side: Side) -> Html:
    texts = [tag("div", tag("i", label), cut(text, LONGEST), class_="asked") for label, text in side.texts]
    kind = {True: "right", False: "wrong", None: ""}[side.right]
    sign = {True: "✓ ", False: "✗ ", None: ""}[side.right]
    said = cut(side.answer, LONGEST)
    answer = tag("div", f"{sign}{said}", class_=f"answer {kind}".strip()) if said or sign else ""
    return tag("div", tag("div", side.role, class_="role"), texts, answer, class_="side")


# --- what to do ---------------------------------------------------------------------------------------------


def todo_section(sources: Sequence[Source], found: Sequence[Verdict]) -> Html:
    todo = steps([(source.path, source.result) for source in sources], found)
    if not todo:
        return Html("")
    lines = [tag("li", step.says, tag("pre", tag("code", step.command)) if step.command else "") for step in todo]
    return tag("section", tag("h2", "What to do"), tag("ol", lines), id="todo")


def all_verdicts(sources: Sequence[Source]) -> list[Verdict]:
    """Of all sources, worst first."""
    return by_level([v for source in sources for v in verdicts(source.result)])
