"""Results as tables, and groups side by side, for people. Texts of data and models are never trusted here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unwaver.asking.failures import from_records, in_words
from unwaver.metrics import missing
from unwaver.result import OF_BUCKETS, Result, method_names, of_free_text
from unwaver.state import COUNTS
from unwaver.text.safe import safe
from unwaver.types import Group, Item, Score

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

COLUMNS = 8  # of the short table, before the counts of what went wrong
# columns of words
LEFT = ("relation", "metric", "model", "agreement", "part", "side", "id", "flags", "bar", "verdict", "is")
ARROW = {"low": " ↓", "high": " ↑", "": ""}


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def p_value(p: float | None) -> str:
    return "–" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def rows(result: Result) -> list[list[str]]:
    """The short table, header first: one line for each suite/task/kind and model, numbers in percent."""
    scores = shown_scores(result)
    wide = _optional_columns(scores)
    header = ["relation", "metric", "%", "95 % interval", "chance", "acc.", "groups", "n/a"]
    body = [_row(s, result) + [f"{getattr(s, c):,}" for c in wide] for s in scores]
    return [header + [count_title(c) for c in wide], *body]


def shown_scores(result: Result) -> list[Score]:
    """The scores of the short table: what leads, and what belongs beside it."""
    return [s for leading in result.leading() for s in (leading, *_companions(result, leading))]


def _companions(result: Result, leading: Score) -> list[Score]:
    """What belongs beside a leading number: P_C is never shown without its pair form and its accuracies."""
    if leading.metric.startswith("r_r@"):
        k = leading.metric.partition("@")[2]
        found = [
            _beside(result, leading, name) for name in (f"r_s@{k}", *(["r_r@1", "r_s@1"] if k != "1" else []))
        ]
        return [s for s in found if s is not None]
    texts = of_free_text([s for s in result.scores if _same_block(s, leading)])
    if leading in texts:
        beside = [name for s in texts for name in _metrics_of_agreement(result, s) if name != leading.metric]
        rated = (
            s.metric
            for s in result.scores
            if s.metric.startswith("accuracy_") and s.metric != "accuracy_variants" and _same_block(s, leading)
        )
        beside += ["majority_share", *rated]
        return [s for name in beside if (s := _beside(result, leading, name)) is not None]
    agree = [_beside(result, leading, n) for n in ("Cons_lex", "Cons_lex_repeat") if n != leading.metric]
    agreeing = [s for s in agree if s is not None and s.value is not None]
    if leading.metric != "P_C":
        return agreeing if leading.metric == "Cons_lex" else []
    form = "_published" if result.run.get("weights") == "published" else ""
    names = ("P_C_pairs", "A_paraphrase", f"P_C_corrected{form}", f"A_corrected{form}", "A_test")
    found = [_beside(result, leading, name) for name in names]
    return [s for s in found if s is not None] + agreeing


def _metrics_of_agreement(result: Result, mean: Score) -> Iterator[str]:
    """The mean; the share at the threshold, where it is another number; and that of repeats."""
    yield mean.metric
    shares = (s for s in result.scores if s.metric.startswith(f"{mean.metric}@") and _same_block(s, mean))
    yield from (s.metric for s in shares if s.value != mean.value)
    yield f"{mean.metric}_repeat"


def _optional_columns(scores: Sequence[Score]) -> list[str]:
    return [c for c in COUNTS if any(getattr(s, c) for s in scores)]


def count_title(name: str) -> str:
    """cut_read -> "cut, read", not_asked -> "not asked"."""
    return name.replace("cut_read", "cut, read").replace("_", " ")


def _row(s: Score, result: Result) -> list[str]:
    chance = chance_of(result, s)
    interval = "–" if s.low is None or s.high is None else f"{percent(s.low)} – {percent(s.high)}"
    return [
        safe(f"{s.task}/{s.kind}"),
        s.metric + ARROW[s.better],
        percent(s.value),
        interval,
        percent(chance),
        percent(s.accuracy),
        f"{s.counted:,}",
        f"{s.not_applicable:,}",
    ]


def chance_of(result: Result, s: Score) -> float | None:
    """What independent answers would give; of C_S, a share of items that pass, there is no such number."""
    if s.metric in ("P_C", "P_C_pairs"):  # of pairs of distinct wordings, the floor is what chance gives
        chance = _beside(result, s, "P_C_independent" if s.metric == "P_C" else "P_C_floor")
        return None if chance is None else chance.value
    found = _beside(result, s, "tau_independent")
    if found is None or found.value is None or s.metric not in ("tau", "C_R"):
        return None
    return found.value if s.metric == "tau" else 1 - found.value


def _beside(result: Result, s: Score, metric: str) -> Score | None:
    """Another metric of the same block."""
    return next((other for other in result.scores if other.metric == metric and _same_block(other, s)), None)


def _same_block(one: Score, other: Score) -> bool:
    fields = ("suite", "task", "kind", "model", "method")
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def print_result(result: Result, console: Console) -> None:
    """One table for each suite and model, then what a reader must know."""
    from rich.text import Text

    for title, part in tables(result):
        console.print(Text(safe(title), style="bold"))
        for table in _fitting(rows(part), console):
            console.print(table, crop=False)
    for line in remarks(result):
        console.print(Text(safe(line), style="yellow"))


def tables(result: Result) -> Iterator[tuple[str, Result]]:
    """One for each suite and model; one for each method where a case was asked in several ways."""
    parts: dict[tuple[str, str, str], list[Score]] = {}
    for suite in dict.fromkeys(s.suite for s in result.scores):
        own = [s for s in result.scores if s.suite == suite]
        names = method_names(((s.task, s.kind), s.model, s.method) for s in own)
        for s in own:
            parts.setdefault((suite, s.model, names[s.model, s.method]), []).append(s)
    for (suite, model, method), scores in parts.items():
        yield f"{suite} · {model} ({method})", Result(scores, result.run, result.folder)


def _fitting(lines: Sequence[Sequence[str]], console: Console) -> Iterator[Table]:
    """One table; where the terminal is too narrow, a second one for the counts of what went wrong."""
    parts = [lines]
    if len(lines[0]) > COLUMNS and _width(_table(lines, tight=True), console) > console.width:
        counts = [(line[0], *line[COLUMNS:]) for line in lines]  # the metrics of a relation mostly share them
        parts = [[line[:COLUMNS] for line in lines], list(dict.fromkeys(counts))]
    return (_fitted(part, console) for part in parts)


def _fitted(lines: Sequence[Sequence[str]], console: Console) -> Table:
    """With less space between columns where that makes it fit; else rather a line too long than a number cut."""
    table = _table(lines)
    if _width(table, console) > console.width:
        table = _table(lines, tight=True)
        natural = _width(table, console)
        table.width = natural if natural > console.width else None
    return table


def _width(table: Table, console: Console) -> int:
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _table(lines: Sequence[Sequence[str]], *, tight: bool = False) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    header, *body = lines
    space = (0, 0) if tight else (0, 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=space, collapse_padding=True, show_edge=not tight)
    for name in header:
        left = name in LEFT
        table.add_column(Text(name), justify="left" if left else "right", no_wrap=True)
    for line in body:
        table.add_row(*[Text(cell) for cell in line])
    return table


def print_rows(lines: Sequence[Sequence[str]], console: Console) -> None:
    """Any table, header first."""
    console.print(_fitted([[safe(cell) for cell in line] for line in lines], console), crop=False)


def legend(result: Result) -> list[str]:
    """What the numbers of the short table are, for who sees it the first time."""
    leading = result.leading()
    shown = {s.metric for first in leading for s in (first, *_companions(result, first))}
    lines = []
    if "tau" in shown:
        lines.append("tau: groups that broke their relation; chance: were the answers independent.")
    if shown & {"C_R", "C_S"}:
        lines.append("C_R, C_S: answers that survived the change of format.")
    if "P_C" in shown:
        lines.append("P_C: two paraphrases both right or both wrong; chance: were the wordings independent.")
    if shown & set(OF_BUCKETS[1:]):
        lines.append("Cons_lex: pairs of wordings with one answer; Cons_lex_repeat: pairs of repeats.")
    return lines


def remarks(result: Result) -> list[str]:
    """What must be said beside the numbers: constant predictors, unreadable and missing answers, notes."""
    lines = []
    constant: dict[str, list[str]] = {}
    for s in result.scores:
        if "constant" in s.flags and s.task not in constant.setdefault(s.model, []):
            constant[s.model].append(s.task)
    for model, tasks in constant.items():
        lines.append(
            f"{model} gives one and the same answer on all of {', '.join(tasks)}: "
            "consistent, but not by understanding"
        )
    leads = {(s.suite, s.task, s.kind, s.model, s.metric) for s in result.leading()}
    for s in result.scores:
        led = (s.suite, s.task, s.kind, s.model, s.metric) in leads
        if led and s.unreadable and s.unreadable_as == "skipped" and s.metric in ("tau", "C_R", "C_S"):
            name = f"{s.suite}/{s.task}/{s.kind}"
            lines.append(
                f"{name}: {s.metric} is {percent(s.value)} % [{percent(s.low)} – {percent(s.high)}] over "
                f"{s.counted:,} of {s.groups:,} groups if those with an unreadable answer are left out"
            )
    lines += _about_buckets(result) + _about_variants(result) + _about_agreements(result) + _about_sets(result)
    lines += _about_seen(result)
    leading = result.leading()
    relations = [s for s in leading if s.metric not in OF_BUCKETS]
    without = [s for s in relations if s.accuracy is None and s.groups > s.missing + s.not_needed]
    if any(not s.metric.startswith("Cons_") for s in without):
        lines.append(
            "Without gold labels nothing can be said of accuracy, tau_conditioned, or transitive and additive tau."
        )
    elif without:
        lines.append("Without right answers nothing can be said of accuracy.")
    failed, not_asked = sum(s.failed for s in leading), sum(s.not_asked for s in leading)
    if failed:
        again = " The same command asks them again." if result.folder else ""
        groups = "group" if failed == 1 else "groups"
        lines.append(f"{failed:,} {groups} could not be scored: calls failed.{again}")
    lines += in_words(from_records(result.run.get("failures")))
    lines += missing.lines(result)
    not_needed = sum(s.not_needed for s in leading)
    not_asked -= not_needed
    if not_asked:
        lines.append(f"{not_asked:,} groups could not be scored: not every item was asked or answered.")
    if until := result.run.get("until"):
        from unwaver.asking.until import as_lines

        lines += as_lines(until)
    elif not_needed:
        lines.append(f"{not_needed:,} groups were not asked: a verdict was certain without them.")
    return lines + _notes(result.run.get("notes", {}))


def _about_agreements(result: Result) -> list[str]:
    """What was not compared, and how sure those are of themselves who were asked in words."""
    lines = []
    for told in result.run.get("agreements", ()):
        name = f"{told['name']} ({told['model']})" if told["model"] else told["name"]
        if lost := sum(told.get(why, 0) for why in ("failed", "refused", "cut")):
            lines.append(
                f"{name}: {lost:,} of {told['pairs']:,} pairs were not compared ({missing.in_words(told)})"
            )
        if told["not_told"]:
            lines.append(f"{name}: no value for {told['not_told']:,} of {told['answer_pairs']:,} pairs of answers")
        if told["name"] == "judge" and told["own_consistency"] is not None:
            low, high = told["own_interval"]
            lines.append(
                f"{name} says the same in both orders of {percent(told['own_consistency'])} % "
                f"[{percent(low)} – {percent(high)}] of {told['own_pairs']:,} pairs of answers"
            )
    for told in result.run.get("scorers", ()):
        if lost := sum(told[why] for why in ("failed", "refused", "cut")):
            why = missing.in_words(told)
            lines.append(
                f"{told['name']} ({told['model']}): no verdict in {lost:,} of {told['asked']:,} cases ({why})"
            )
    return lines


def _about_sets(result: Result) -> list[str]:
    """How many different things were said, which is no share."""
    lines = []
    for s in result.scores:
        entropy = _beside(result, s, "cluster_entropy")
        if s.metric == "clusters" and s.value is not None and entropy is not None and entropy.value is not None:
            lines.append(
                f"{s.task}/{s.kind} ({s.method}): the answers to a question say {_plain(s)} different things "
                f"(clusters), {_plain(entropy)} bits (cluster_entropy), over {s.counted:,} questions"
            )
    return lines


def _plain(s: Score) -> str:
    interval = "" if s.low is None or s.high is None else f" [{s.low:.2f} – {s.high:.2f}]"
    return f"{s.value:.2f}{interval}"


def _about_variants(result: Result) -> list[str]:
    """How the variants were certified, and what wrong ones among them would do to the numbers."""
    from unwaver.asking.audit import as_text

    lines = [
        f"{found['case']} ({found['model']}): {as_text(found)}" for found in result.run.get("certification", ())
    ]
    for s in result.leading():
        if s.epsilon:
            lines.append(
                f"{s.suite}/{s.task}/{s.kind}: if {percent(s.epsilon)} % of the variants are wrong, {s.metric} on "
                f"the right ones lies between {percent(s.bound_low)} and {percent(s.bound_high)} %"
            )
    return lines


def _about_seen(result: Result) -> list[str]:
    """Groups that a model was trained on say nothing of what it does with others."""
    apart: dict[str, list[str]] = {}
    for s in result.leading():
        if "seen_in_training" in s.flags:
            apart.setdefault(s.model, []).append(f"{s.task}/{s.kind}")
    return [
        f"{', '.join(names)}: groups with a text that {model} was trained on, scored apart (seen_in_training)"
        for model, names in apart.items()
    ]


def _single_answers(result: Result, s: Score) -> bool:
    """A bucket of which nothing was measured, though its answers are there."""
    others = (_beside(result, s, name) for name in (*OF_BUCKETS, "tau"))
    complete = s.groups - s.failed - s.not_asked
    return complete > 0 and all(other is None or other.value is None for other in others)


def _about_buckets(result: Result) -> list[str]:
    lines = []
    for s in result.scores:
        name = f"{s.suite}/{s.task}/{s.kind}"
        if s.metric == "P_C" and "identical" in s.flags:
            lines.append(
                f"{name}: {s.model} gives one answer to all wordings of every problem, though not always the "
                "right one: the paraphrase may never have reached the model"
            )
        if s.metric == "P_C" and s.not_applicable and s.value is not None:
            lines.append(f"{name}: P_C leaves out groups with fewer than two judged answers: {s.not_applicable:,}")
        if s.metric == "P_C" and _single_answers(result, s):
            lines.append(
                f"{name}: nothing was measured: no group has a second judged wording or a second answer, so there "
                "is nothing to compare"
            )
        if s.metric == "weight_mass" and s.value is not None and s.value < 1 - 1e-9:
            lost = f"{100 * (1 - s.value):.2g} %"
            lines.append(f"{name}: {lost} of the test set is in bins without a problem, so …_published lose it")
    return lines


def _notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Each note once, with all that it is about: {"a/b/c": [x], "a/b/d": [x]} -> "a/b: x"."""
    about: dict[str, list[str]] = {}
    for name, said in notes.items():
        for note in said:
            about.setdefault(note, []).append(name)
    lines = []
    for note, names in about.items():
        shared = "/".join(p[0] for p in zip(*(n.split("/") for n in names), strict=False) if len(set(p)) == 1)
        lines.append(f"{shared or ', '.join(names)}: {note}")
    return lines


def as_text(result: Result, width: int = 100) -> str:
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    print_result(result, Console(file=out, width=width, color_system=None))
    return out.getvalue()


# --- groups side by side ------------------------------------------------------------------------------------


def print_group(group: Group, answers: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    """The texts of a group, words that differ from the original marked, and what the model said of each.

    `answers` by item id: label, probs, gold, status.
    """
    from rich.text import Text

    title = f"{group.id}  expects: {_EXPECTED[group.expect]}" + (f"  ({group.tag})" if group.tag else "")
    console.print(Text(safe(title), style="bold"))
    first = group.items[0]
    for item in group.items:
        if item.id not in answers:  # judges and variants that do not count: audit.jsonl has them
            continue
        said = answers[item.id]
        console.print(Text.assemble("  ", (f"{item.role:<11}", "dim"), _said(item, said)))
        for name, text in item.fields.items():
            before = first.fields.get(name, "") if item.role == "variant" else text
            if item.role == "variant" and before == text:
                continue
            console.print(
                Text.assemble(
                    "    ", (f"{name}: ", "dim"), _marked(before, text, plain=console.color_system is None)
                )
            )
    console.print()


_EXPECTED = {
    "same": "the same answer",
    "different": "another answer",
    "implied": "what the originals imply",
    "bucket": "the right answer",
}


def _said(item: Item, said: Mapping[str, Any]) -> Text:
    from rich.text import Text

    label, gold, probs = said.get("label"), said.get("gold"), said.get("probs")
    shown = safe(str(label)) if label is not None else str(said.get("status", "not asked")).replace("_", " ")
    if label is not None and probs and label in item.choices:
        shown += f" ({100 * probs[item.choices.index(label)]:.0f} %)"
    right = None if not gold or label is None else label in gold
    text = Text(shown, style={True: "green", False: "red", None: "yellow"}[right])
    if gold and right is not True:
        text.append(f"  right: {safe(' or '.join(gold))}", style="dim")
    return text


def _marked(before: str, after: str, plain: bool) -> Text:
    """`after` with the words that `before` does not have in that place underlined, or *starred* without colour."""
    from rich.text import Text

    old, new = re.findall(r"\S+", safe(before)), re.findall(r"\S+", safe(after))
    text = Text()
    for operation, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        words = " ".join(new[start:end])
        if not words:
            continue
        if operation == "equal":
            text.append(words)
        else:
            text.append(f"*{words}*" if plain else words, style="bold underline")
        text.append(" ")
    text.rstrip()
    return text
