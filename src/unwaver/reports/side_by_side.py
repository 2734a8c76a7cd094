"""Groups side by side, for people: texts with the words that differ marked, and what was answered to each.

Texts of data and models are never trusted here.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unwaver.answers.unreadable import shortened
from unwaver.groups.conversations import shown_fields
from unwaver.text.shown import safe
from unwaver.types import Group, Item

MOST_WORDS, MOST_PAIRS = 4_000, 50_000  # of texts whose words are aligned

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def print_group(
    group: Group,
    answers: Mapping[str, Sequence[Mapping[str, Any]]],
    console: Console,
    *,
    longest: int | None = None,
    note: str = "",
) -> bool:
    """The texts of a group, words that differ from the original marked, and what the model said of each.

    `answers` by item id, one for each replicate: label, probs, gold, right, status. Equal ones are shown once,
    with their number: "yes ×2". Texts with more than `longest` characters are cut, so that words that differ stay;
    whether one was is returned.
    """
    from rich.text import Text

    title = f"{group.id}  expects: {_EXPECTED[group.expect]}" + (f"  ({group.tag})" if group.tag else "") + note
    cut = False
    console.print(Text(safe(title), style="bold"))
    first = group.items[0]
    for item in group.items:
        if item.id not in answers:  # judges and variants that do not count: audit.jsonl has them
            continue
        for n, (said, times) in enumerate(_distinct(answers[item.id])):
            role = item.role if n == 0 else ""
            answer, was_cut = _said(item, said, times, longest)
            cut |= was_cut
            console.print(Text.assemble("  ", (f"{role:<11}", "dim"), answer))
        for name, text in shown_fields(item).items():
            before = first.fields.get(name, "") if item.role == "variant" else text
            if item is not first and item.role == "variant" and before == text:
                continue
            marked, was_cut = _marked(before, text, plain=console.color_system is None, longest=longest)
            cut |= was_cut
            console.print(Text.assemble("    ", (f"{name}: ", "dim"), marked))
    console.print()
    return cut


LONGEST = 400  # characters of a text, before it is cut
BESIDE = 12  # words on each side of what differs in a text that is cut
_EXPECTED = {
    "same": "the same answer",
    "different": "another answer",
    "implied": "what the originals imply",
    "bucket": "the right answer",
}


def _distinct(answers: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """Each answer once, with how often it was given: any of them may be the one that breaks the group."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for answer in answers:
        found.setdefault((answer.get("label"), answer.get("status"), answer.get("said")), []).append(answer)
    return [(same[0], len(same)) for same in found.values()]


def _said(item: Item, said: Mapping[str, Any], times: int, longest: int | None) -> tuple[Text, bool]:
    from rich.text import Text

    label, gold, probs = said.get("label"), said.get("gold"), said.get("probs")
    shown = str(said.get("status", "not asked")).replace("_", " ")
    was_cut = False
    if label is not None:
        was_cut = longest is not None and len(str(label)) > longest
        shown = safe(shortened(str(label), longest) if was_cut and longest else str(label))
    if label is None and (said.get("said") or "").strip():  # what could not be read
        shown += f": {safe(shortened(said['said']))}"
    if label is not None and probs and label in item.choices:
        shown += f" ({100 * probs[item.choices.index(label)]:.0f} %)"
    if times > 1:
        shown += f" ×{times}"
    judged = said.get("right")  # of free text, which need not be a right answer letter for letter
    right = None if not gold or label is None else label in gold if judged is None else judged == 1
    text = Text(shown, style={True: "green", False: "red", None: "yellow"}[right])
    if gold and right is not True:
        known = " or ".join(gold)
        was_cut |= longest is not None and len(known) > longest
        text.append(f"  right: {safe(shortened(known, longest) if longest else known)}", style="dim")
    return text, was_cut


def _marked(before: str, after: str, plain: bool, longest: int | None) -> tuple[Text, bool]:
    """`after` with the words that `before` does not have in that place underlined, or *starred* without colour."""
    from rich.text import Text

    old, new = re.findall(r"\S+", safe(before)), re.findall(r"\S+", safe(after))
    parts = _parts(old, new)
    was_cut = longest is not None and sum(len(word) + 1 for words, _ in parts for word in words) > longest
    if was_cut and longest is not None:
        parts = _around(parts, longest)
    text = Text()
    for words, differs in parts:
        joined = " ".join(words)
        text.append(f"*{joined}*" if plain and differs else joined, style="bold underline" if differs else "")
        text.append(" ")
    text.rstrip()
    return text, was_cut


def _parts(old: Sequence[str], new: Sequence[str]) -> list[tuple[list[str], bool]]:
    """The words of `new` in order, and whether they differ: a b, a c -> [(["a"], False), (["c"], True)].

    What both begin and end with is taken off first. If the rest is too long, or shares words too often, it differs
    as a whole: to align thousands of equal words takes minutes."""
    most = min(len(old), len(new))
    first = next((n for n in range(most) if old[n] != new[n]), most)
    last = next((n for n in range(most - first) if old[-1 - n] != new[-1 - n]), most - first)
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    counts = Counter(before)
    if len(before) + len(after) > MOST_WORDS or sum(counts[word] for word in after) > MOST_PAIRS:
        middle = [(list(after), True)]
    else:
        codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        middle = [(list(after[start:end]), kind != "equal") for kind, _, _, start, end in codes if end > start]
    found = [(list(new[:first]), False), *middle, (list(new[len(new) - last :]), False)]
    return _joined([(words, differs) for words, differs in found if words])


def _joined(parts: Sequence[tuple[list[str], bool]]) -> list[tuple[list[str], bool]]:
    """Neighbours of one kind as one."""
    found: list[tuple[list[str], bool]] = []
    for words, differs in parts:
        if found and found[-1][1] == differs:
            found[-1] = [*found[-1][0], *words], differs
        else:
            found.append((words, differs))
    return found


def _around(parts: Sequence[tuple[list[str], bool]], longest: int) -> list[tuple[list[str], bool]]:
    """The words that differ with some words on each side, … for the rest; the beginning where nothing differs."""
    room, kept = longest, []
    for place, (words, differs) in enumerate(parts):
        if not differs:
            first = words[:BESIDE] if place else [] if len(parts) > 1 else words
            last = words[-BESIDE:] if place + 1 < len(parts) else []
            words = words if len(words) <= 2 * BESIDE else [*first, "…", *last] if len(parts) > 1 else words
        fitting = _fitting(words, room)
        room -= sum(len(word) + 1 for word in fitting)
        kept.append((fitting, differs))
        if len(fitting) < len(words):
            kept.append((["…"], False))
            break
    return kept


def _fitting(words: Sequence[str], room: int) -> list[str]:
    """As many words as there is room for; of a single long one its beginning."""
    kept: list[str] = []
    for word in words:
        if len(word) + 1 > room:
            return kept or [word[: max(room, 1)]]
        kept.append(word)
        room -= len(word) + 1
    return kept
