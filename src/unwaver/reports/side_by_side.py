"""Groups side by side, for people: texts with the words that differ marked, and what was answered to each.

Texts of data and models are never trusted here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unwaver.answers.unreadable import shortened
from unwaver.text.shown import safe
from unwaver.types import Group, Item

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def print_group(group: Group, answers: Mapping[str, Sequence[Mapping[str, Any]]], console: Console) -> None:
    """The texts of a group, words that differ from the original marked, and what the model said of each.

    `answers` by item id, one for each replicate: label, probs, gold, right, status. Equal ones are shown once,
    with their number: "yes ×2".
    """
    from rich.text import Text

    title = f"{group.id}  expects: {_EXPECTED[group.expect]}" + (f"  ({group.tag})" if group.tag else "")
    console.print(Text(safe(title), style="bold"))
    first = group.items[0]
    for item in group.items:
        if item.id not in answers:  # judges and variants that do not count: audit.jsonl has them
            continue
        for n, (said, times) in enumerate(_distinct(answers[item.id])):
            role = item.role if n == 0 else ""
            console.print(Text.assemble("  ", (f"{role:<11}", "dim"), _said(item, said, times)))
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


def _distinct(answers: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """Each answer once, with how often it was given: any of them may be the one that breaks the group."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for answer in answers:
        found.setdefault((answer.get("label"), answer.get("status"), answer.get("said")), []).append(answer)
    return [(same[0], len(same)) for same in found.values()]


def _said(item: Item, said: Mapping[str, Any], times: int) -> Text:
    from rich.text import Text

    label, gold, probs = said.get("label"), said.get("gold"), said.get("probs")
    shown = safe(str(label)) if label is not None else str(said.get("status", "not asked")).replace("_", " ")
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
