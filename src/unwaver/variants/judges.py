"""Judges of candidates, as one writes them: entail=self, same=hf/PAIRS@0.8, distance=0.1:0.9, length=0.5:2.

    entail     an NLI model says that original and candidate entail one another; "self" is the model under test
    same       a pair classifier (or embedding/PATH) gives "same meaning" at least that probability
    distance   lexical distance to the original, from 0 to 1
    length     words of the candidate for each word of the original

Equal texts are never candidates. Judges that need no model speak when the group is made; the others are items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from unwaver.errors import UsageError, near
from unwaver.tasks import task_named
from unwaver.types import Group, Item
from unwaver.variants.source import Rewrite

KINDS = ("entail", "same", "distance", "length")
NLI, PAIR, MEANING = "snli", "mrpc", "same_meaning"  # the tasks in which models are asked
SELF = "self"


@dataclass(frozen=True)
class Judge:
    kind: str
    model: str = ""
    low: float = 0.0  # of a pair classifier: the probability that is enough
    high: float = 1.0

    def __str__(self) -> str:
        if self.kind in ("distance", "length"):
            return f"{self.kind}={self.low:g}:{self.high:g}"
        return f"{self.kind}={self.model}" + (f"@{self.low:g}" if self.low else "")


def parse_judge(text: str) -> Judge:
    """ "entail=self" -> Judge("entail", "self"); "distance=0.1:" -> Judge("distance", low=0.1, high=1.0)."""
    kind, equals, value = text.partition("=")
    if kind not in KINDS or not equals or not value:
        raise UsageError(f"unknown judge {text!r}", hint=f"{near(kind, KINDS)}; for example {_EXAMPLES}")
    if kind in ("distance", "length"):
        return _range(kind, text, value)
    model, at, bar = value.rpartition("@")
    if not at:
        return Judge(kind, value)
    share = _number(bar)
    if share is None or not 0 < share <= 1:
        raise UsageError(f"judge {text!r}: found {bar!r} after @, expected a probability", hint=f"say {_EXAMPLES}")
    return Judge(kind, model, share)


def judges_for(kind: str, given: Sequence[str]) -> list[Judge]:
    """Those given; for fooling the protocol's own: the model under test says that the two entail one another."""
    chosen = given or (("entail=self",) if kind == "fooling" else ())
    return [parse_judge(judge) for judge in chosen]


_EXAMPLES = "entail=self, entail=hf/PATH, same=hf/PATH@0.8, distance=0.1:0.9, length=0.5:2"


def _range(kind: str, text: str, value: str) -> Judge:
    low, colon, high = value.partition(":")
    limits = [_number(low or "0"), _number(high or ("1" if kind == "distance" else "1000"))]
    if not colon or None in limits or limits[0] > limits[1]:  # type: ignore[operator]
        raise UsageError(f"judge {text!r}: expected LOW:HIGH", hint=f"for example {_EXAMPLES}")
    return Judge(kind, low=float(limits[0] or 0), high=float(limits[1] or 0))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) else None


def refused_by(judge: Judge, original: str, candidate: str) -> str | None:
    """Why a judge that needs no model refuses a candidate; None where it does not, or needs a model."""
    from unwaver.text.distance import lexical_distance

    if judge.kind == "distance":
        value = lexical_distance(original, candidate)
    elif judge.kind == "length":
        value = len(candidate.split()) / max(len(original.split()), 1)
    else:
        return None
    if judge.low <= value <= judge.high:
        return None
    return f"{judge.kind} {value:.2f} is not within {judge.low:g} and {judge.high:g}"


def with_candidates(
    group: Group, texts: Sequence[Rewrite], field: str, judges: Sequence[Judge], encoder: str | None = None
) -> Group:
    """The group with further variants of its original: `field` says the same in the words of each text.

    Texts that are there already, or equal the original, are left out: case, spacing and the final mark do not
    make another text.
    """
    original = group.items[0]
    known = {_plain(i.fields[field]) for i in group.items if i.role in ("original", "variant")}
    items = list(group.items)
    number = sum(item.role != "judge" for item in items)
    for rewrite in texts:
        if not rewrite.text.strip() or _plain(rewrite.text) in known:
            continue
        known.add(_plain(rewrite.text))
        fields = {**original.fields, field: rewrite.text}
        variant = replace(original, id=f"{group.id}/{number}", role="variant", fields=fields)
        if any(refused_by(judge, original.fields[field], rewrite.text) for judge in judges):
            variant = replace(variant, certified=False)
        items.append(variant)
        items += _apart(_questions(variant, original.fields[field], rewrite.text, judges, encoder))
        number += 1
    return replace(group, items=tuple(items))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!?")


def _questions(
    variant: Item, original: str, text: str, judges: Sequence[Judge], encoder: str | None
) -> Iterator[Item]:
    """What the judges are asked about a variant; nothing where it is refused already."""
    if variant.certified is False:
        return
    for judge in judges:
        if judge.kind == "entail":
            for name, pair in (("forward", (original, text)), ("back", (text, original))):
                fields = dict(zip(("premise", "hypothesis"), pair, strict=True))
                yield _question(variant, name, NLI, fields, judge, ("entailment",))
        elif judge.kind == "same":
            task = MEANING if judge.model.startswith("embedding/") else PAIR
            fields = dict(zip(task_named(task).fields, (original, text), strict=True))
            yield _question(variant, "same", task, fields, judge, (task_named(task).labels[-1],))
    if encoder:
        fields = dict(zip(task_named(MEANING).fields, (original, text), strict=True))
        yield _question(variant, "embedding", MEANING, fields, Judge("same", f"embedding/{encoder}"), ())


def _apart(questions: Iterable[Item]) -> Iterator[Item]:
    """Answers are found by id: what a second judge of one kind is asked has one of its own, forward.2."""
    seen = Counter[str]()
    for question in questions:
        seen[question.id] += 1
        number = seen[question.id]
        yield question if number == 1 else replace(question, id=f"{question.id}.{number}")


def _question(
    variant: Item, name: str, task: str, fields: Mapping[str, str], judge: Judge, accepted: tuple[str, ...]
) -> Item:
    return Item(
        id=f"{variant.id}/{name}",
        task=task,
        role="judge",
        fields=fields,
        choices=task_named(task).labels,
        accepted=accepted,
        judge=judge.model,
        about=variant.id,
        at_least=judge.low,
    )
