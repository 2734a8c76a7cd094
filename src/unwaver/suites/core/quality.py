"""What a program can prove about groups: each relation holds on the right answers, and texts are well formed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from unwaver.suites.core.table import LANGUAGES
from unwaver.types import Group, Item

LONGEST = 1200
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WRONG = (
    (re.compile(r"\{[\w.|]*\}"), "an unfilled slot"),
    (re.compile(r"\b(?:a|an|the) (?:a|an|the)\b", re.I), "two articles"),
    (re.compile(r"\ba (?=[aeio]\w)(?!one\b|eu)", re.I), "a before a vowel"),
    (re.compile(r"\ban (?=[bcdfgjklmnpqrstvwyz]\w)", re.I), "an before a consonant"),
    (re.compile(r" [,.;?!]|[,;]{2}|(?<!\.)\.\.(?!\.)| {2}"), "a mark or space too many"),
    (re.compile(r"\?.*[?]|？.*？", re.S), "two question marks"),
)


def problems(groups: Sequence[Group]) -> Iterator[str]:
    """Every fault: "core/open/paraphrase/capitals/France: two articles in …"."""
    golds: dict[str, tuple[str, ...]] = {}
    ids: set[str] = set()
    for group in groups:
        if group.id in ids:
            yield f"{group.id}: two groups have this id"
        ids.add(group.id)
        yield from (f"{group.id}: {what}" for what in (*_relation(group), *_texts(group.items)))
        for item in group.items:
            if item.messages:
                continue
            asked = f"{item.task}/{item.template}/{text_of(item)}/{sorted(item.choices)}"
            if golds.setdefault(asked, item.accepted) != item.accepted:
                yield f"{group.id}: two right answers, {golds[asked]} and {item.accepted}: {asked[:150]}"


def text_of(item: Item) -> str:
    """What is asked: of a conversation the last message, since the others were asked before."""
    if item.messages:
        return item.messages[-1].text
    return item.fields["question"] + item.fields["instruction"]


def _relation(group: Group) -> Iterator[str]:
    golds = [item.accepted for item in group.items]
    if any(len(gold) != 1 or gold[0] not in item.choices for gold, item in zip(golds, group.items, strict=True)):
        yield "an answer is not among the choices"
    if group.expect in ("same", "bucket") and len(set(golds)) > 1:
        yield f"answers differ: {golds}"
    if group.expect == "different" and (len(golds) != 2 or golds[0] == golds[1]):
        yield f"answers must differ: {golds}"
    if group.kind == "contrast" and golds[0] == golds[-1]:
        yield f"the edit does not change the answer: {golds[0]}"
    if len({(item.id, text_of(item)) for item in group.items}) < len(group.items):
        yield "two items are the same"
    if len({_bare(item) for item in group.items}) < len(group.items) and group.kind == "paraphrase":
        yield "two wordings are the same"


def _bare(item: Item) -> str:
    return re.sub(r"\W+", " ", text_of(item)).lower()


def _texts(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        text = text_of(item)
        if len(text) > LONGEST:
            yield f"{len(text)} characters: {text[:60]}…"
        if item.fields.get("question", "").startswith("{\n"):
            continue  # JSON
        german = text.rstrip().endswith("Antwort:")  # where "an" is a preposition
        wrong = [(pattern, what) for pattern, what in _WRONG if not (german and what.startswith("an "))]
        yield from (f"{what} in {text!r}" for pattern, what in wrong if pattern.search(_english(text)))
        lang = next((lang for lang in LANGUAGES if text.rstrip().endswith({"zh": "答案："}.get(lang, "\0"))), "")
        if bool(_HAN.search(text)) != (lang == "zh"):
            yield f"the wrong script in {text!r}"


def _english(text: str) -> str:
    """Options and answers of a judge are not sentences of ours to count marks in."""
    return "\n".join(line for line in text.split("\n") if not re.match(r"\w\. |(?:Question|Answer [AB]): ", line))
