"""A question in words with its right answer, and the same question in other clothes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from unwaver.suites.core.wording import sentence
from unwaver.types import Item, Role, replace

MARKS: Mapping[str, str] = {"letters": "ABCDEF", "small": "abcdef", "numbers": "123456"}
CUES = {"en": "Answer:", "de": "Antwort:", "zh": "答案："}
_HEADS = {"en": ("Question", "Task"), "de": ("Frage", "Aufgabe"), "zh": ("问题", "要求")}
SIGNS = (" =", " ->", " |", " ~")  # in place of the colon after a head
STYLES = ("markdown", "json", "order", "sign", "capitals")


@dataclass(frozen=True)
class Asked:
    """`context` are texts with the word before each, `options` what stands after each mark. `accepted` and
    `choices` are canonical answers, in the order in which options are listed. `kept` are names in the question,
    which a typing error must not touch."""

    table: str
    fact: str
    task: str
    question: str
    instruction: str
    choices: tuple[str, ...]
    accepted: tuple[str, ...]
    template: str = ""
    lang: str = "en"
    context: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    style: str = ""
    kept: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def body(self) -> str:
        """All that is asked, without the instruction on how to answer."""
        if self.style:
            return _styled(self)
        lines = [f"{head}{_colon(self.lang)}{text}" if head else text for head, text in self.context]
        lines += [sentence(self.question), *self.listed]
        return "\n".join(filter(None, [self.before, *lines, self.after]))

    @property
    def listed(self) -> list[str]:
        marks = MARKS[self.template.rstrip("0123456789")] if self.options else ""
        return [f"{mark}. {option}" for mark, option in zip(marks, self.options, strict=False)]

    @cached_property
    def fields(self) -> dict[str, str]:
        cue = CUES[self.lang]
        end = f"\n{cue}" if self.style else f"\n{self.instruction}\n{cue}"
        return {"instruction": end, "question": self.body}  # what is asked last, since lists of groups show this

    @property
    def text(self) -> str:
        """What a model reads."""
        return self.fields["question"] + self.fields["instruction"]

    @cached_property
    def id(self) -> str:
        """The same for the same request, whatever group it is in."""
        said = json.dumps([self.task, self.template, self.text, self.choices], ensure_ascii=True)
        return f"core/{self.table}/{self.fact}/{hashlib.sha256(said.encode()).hexdigest()[:10]}"

    def item(self, role: Role) -> Item:
        return Item(self.id, self.task, role, self.fields, self.choices, self.accepted, template=self.template)

    def reordered(self, order: Iterable[int]) -> Asked:
        """The options, and with them the choices, in another order."""
        places = list(order)
        choices = tuple(self.choices[i] for i in places)
        return replace(self, choices=choices, options=tuple(self.options[i] for i in places))

    def marked(self, marks: str) -> Asked:
        """With other marks before the options: marked("numbers")."""
        return replace(
            self,
            template=f"{marks}{len(self.options)}",
            instruction=self.instruction.replace("letter", "number") if marks == "numbers" else self.instruction,
        )


def _colon(lang: str) -> str:
    return "：" if lang == "zh" else ": "


def _styled(asked: Asked) -> str:
    head, task = _HEADS[asked.lang]
    question = "\n".join([sentence(asked.question), *asked.listed])
    parts = [(h or "Text", t) for h, t in asked.context]
    if stated := re.match(r"(Statement): (.+)\n", question):  # has a head of its own
        parts, question = [*parts, (stated[1], stated[2])], question[stated.end() :]
    parts += [(head, question), (task, asked.instruction)]
    if asked.style == "markdown":
        return "\n\n".join(f"**{h}**\n\n{t}" for h, t in parts)
    if asked.style == "json":
        return json.dumps({h.lower(): t for h, t in parts}, ensure_ascii=False, indent=2)
    if asked.style == "order":
        return "\n".join(f"{h}: {t}" for h, t in (parts[-1], *parts[:-1]))
    if asked.style == "capitals":
        return "\n".join(f"{h.upper()}: {t.upper() if h == head and not asked.options else t}" for h, t in parts)
    sign = SIGNS[number(asked.question, len(SIGNS))]
    return "\n".join(f"{h}{sign} {t}" for h, t in parts)


@dataclass(frozen=True)
class Source:
    """What can be asked about a fact in one form of answer: `make(lang, n)` gives wording n in a language, of
    which there are `counts[lang]`. `original` is the wording that all groups of the fact start from."""

    table: str
    fact: str
    task: str
    question: str
    counts: Mapping[str, int]
    make: Callable[[str, int], Asked] = field(compare=False)
    first: int = 0
    has_case: bool = True

    @cached_property
    def original(self) -> Asked:
        return self.make("en", self.first)

    @property
    def cluster(self) -> str:
        return f"{self.table}/{self.fact}"

    def others(self, lang: str = "en") -> list[Asked]:
        return [self.make(lang, n) for n in range(self.counts[lang]) if lang != "en" or n != self.first]


def number(seed: object, below: int) -> int:
    """A number from 0 to below - 1 that depends on the seed alone."""
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:6], "big") % below
