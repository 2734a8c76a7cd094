"""Certifiers, as one writes them: entail=self, same=hf/PAIRS@0.8, distance=0.1:0.9, length=0.5:2.

    entail     an NLI model says that original and candidate entail one another; "self" is the model under test
    same       a pair classifier (or embedding/PATH) gives "same meaning" at least that probability; "writer" asks
               the model that wrote the candidate by a prompt, as happens if no judge is named
    distance   lexical distance to the original, from 0 to 1
    length     words of the candidate for each word of the original

Equal texts are never candidates. Those that need no model speak when the group is made; the others are items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unwaver import registry
from unwaver.bound import takes_value
from unwaver.errors import UsageError, near
from unwaver.groups import WRITER
from unwaver.groups.conversations import with_fields
from unwaver.models import find_model
from unwaver.named_models import resolved, with_threshold
from unwaver.tasks import open_task
from unwaver.types import Group, Item, replace
from unwaver.variants.source import Rewrite

NLI, PAIR, MEANING = "snli", "mrpc", "same_meaning"  # the tasks in which models are asked
CERTIFY = "certify"  # the form of same_meaning in which a writer is asked
SELF = "self"
RULES, BANK = "rules", "bank/"


class VariantQuestion(NamedTuple):
    """What a model is asked about a candidate: fields of a task, and the labels that accept it."""

    name: str
    task: str
    fields: Mapping[str, str]
    accepted: tuple[str, ...]
    template: str = ""


@dataclass(frozen=True)
class Certifier:
    """Accepts a candidate or refuses it.

    Without a model, `refuses(original, candidate)` gives the reason, None if it accepts. With one, `asks(original,
    candidate)` gives questions: it accepts where each gets an accepted label, with a probability of `at_least`.
    """

    kind: str
    model: str = ""  # "provider/name" with its options, or "self"
    at_least: float = 0.0
    refuses: Callable[[str, str], str | None] | None = None
    asks: Callable[[str, str], Iterable[VariantQuestion]] | None = None


_EXAMPLES = "entail=self, entail=hf/PATH, same=hf/PATH@0.8, distance=0.1:0.9, length=0.5:2"


def parse_certifier(text: str) -> Certifier:
    """ "entail=self" -> entail("self"): in the catalog a certifier is a function of what follows the =."""
    text = resolved(text, "--judge ")
    kind, equals, value = text.partition("=")
    known = registry.names("judges")
    if kind not in known:
        raise UsageError(f"unknown certifier {text!r}", hint=f"{near(kind, known)}; for example {_EXAMPLES}")
    takes, needs = takes_value(registry.find("judges", kind))
    if bool(value) != bool(equals) or (value and not takes) or (needs and not value):
        why = "it needs a value after the =" if takes else "it takes no value"
        raise UsageError(f"unknown certifier {text!r}: {why}", hint=f"for example {_EXAMPLES}")
    return _guarded(kind, registry.call("judges", kind, Certifier, *([value] if value else [])))


def check_certifiers(given: Sequence[str]) -> None:
    """Say what is wrong with a certifier, the name of its model or its options, before anything is asked."""
    for certifier in map(parse_certifier, given):
        if certifier.model not in ("", SELF, WRITER):
            find_model(certifier.model, f"--judge {certifier.kind}=")


def option_of(model: str, given: Sequence[str]) -> str:
    """The text before a model that certifies: option_of("hf/m", ["entail=hf/m@0.8"]) -> "--judge entail="."""
    kinds = (certifier.kind for certifier in map(parse_certifier, given) if certifier.model == model)
    return f"--judge {next(kinds, '…')}="


def _guarded(kind: str, certifier: Certifier) -> Certifier:
    """A certifier of an installed package, with failures that name it."""
    if registry.is_built_in("judges", kind):
        return certifier
    if certifier.refuses is None and (certifier.asks is None or not certifier.model):
        raise registry.broken("judges", kind, "has neither refuses, nor asks and a model")
    refuses, asks = certifier.refuses, certifier.asks
    return replace(
        certifier,
        refuses=refuses and registry.guarded("judges", kind, refuses, str | None),
        asks=asks and registry.guarded("judges", kind, lambda *texts: list(asks(*texts)), list),
    )


def is_model(writer: str | None) -> bool:
    """is_model("hf/PATH") -> True; rules and bank/FILE are there already."""
    return writer is not None and writer != RULES and not writer.startswith(BANK)


def certifiers_for(kind: str, given: Sequence[str], writer: str | None = None) -> list[Certifier]:
    """Those given. Else, for fooling, the protocol's own: the model under test says that the two entail one
    another; and where a model writes, that model says whether both mean the same (self-certified)."""
    own = (f"same={WRITER}",) if is_model(writer) else ()
    chosen = given or (("entail=self",) if kind == "fooling" else own)
    return [parse_certifier(text) for text in chosen]


def entail(value: str) -> Certifier:
    model, share = _with_share("entail", value)

    def asks(original: str, text: str) -> Iterator[VariantQuestion]:
        for name, pair in (("forward", (original, text)), ("back", (text, original))):
            yield VariantQuestion(
                name, NLI, dict(zip(("premise", "hypothesis"), pair, strict=True)), ("entailment",)
            )

    return Certifier("entail", model, share, asks=asks)


def same(value: str) -> Certifier:
    model, share = _with_share("same", value)
    task = MEANING if model == WRITER or model.startswith("embedding/") else PAIR
    form = CERTIFY if model == WRITER else ""

    def asks(original: str, text: str) -> Iterator[VariantQuestion]:
        yield VariantQuestion("same", task, _pair(task, original, text), (open_task(task).labels[-1],), form)

    return Certifier("same", model, share, asks=asks)


def distance(value: str) -> Certifier:
    from unwaver.text.distance import lexical_distance

    return Certifier("distance", refuses=_within("distance", value, "1", lexical_distance))


def length(value: str) -> Certifier:
    def words_per_word(original: str, candidate: str) -> float:
        return len(candidate.split()) / max(len(original.split()), 1)

    return Certifier("length", refuses=_within("length", value, "1000", words_per_word))


def _with_share(kind: str, value: str) -> tuple[str, float]:
    """ "hf/PATH@0.8" -> ("hf/PATH", 0.8); without @ 0.0."""
    model, bar = with_threshold(value)
    if bar is None:
        return value, 0.0
    share = _number(bar)
    if not model:
        raise UsageError(f"--judge {f'{kind}={value}'!r} names no model before the @", hint=f"say {_EXAMPLES}")
    if share is None or not 0 < share <= 1:
        text = f"{kind}={value}"
        raise UsageError(
            f"--judge {text!r}: found {bar!r} after @, expected a probability", hint=f"say {_EXAMPLES}"
        )
    return model, share


def _within(
    kind: str, value: str, most: str, measure: Callable[[str, str], float]
) -> Callable[[str, str], str | None]:
    """ "0.1:0.9" -> refuses what measures less than 0.1 or more than 0.9."""
    start, colon, end = value.partition(":")
    low, high = _number(start or "0"), _number(end or most)
    if not colon or low is None or high is None or low > high:
        raise UsageError(f"--judge {f'{kind}={value}'!r}: expected LOW:HIGH", hint=f"for example {_EXAMPLES}")

    def refuses(original: str, candidate: str) -> str | None:
        found = measure(original, candidate)
        return None if low <= found <= high else f"{kind} {found:.2f} is not within {low:g} and {high:g}"

    return refuses


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text) else None


def refused_by(certifier: Certifier, original: str, candidate: str) -> str | None:
    """Why a certifier that needs no model refuses a candidate; None if it does not, or needs a model."""
    return None if certifier.refuses is None else certifier.refuses(original, candidate)


def with_candidates(
    group: Group, texts: Sequence[Rewrite], field: str, certifiers: Sequence[Certifier], encoder: str | None = None
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
        variant = replace(with_fields(original, fields), id=f"{group.id}/{number}", role="variant")
        if any(refused_by(certifier, original.fields[field], rewrite.text) for certifier in certifiers):
            variant = replace(variant, certified=False)
        items.append(variant)
        items += _apart(_questions(variant, original.fields[field], rewrite.text, certifiers, encoder))
        number += 1
    return replace(group, items=tuple(items))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!?")


def _questions(
    variant: Item, original: str, text: str, certifiers: Sequence[Certifier], encoder: str | None
) -> Iterator[Item]:
    """What the certifiers ask about a variant; nothing where it is refused already."""
    if variant.certified is False:
        return
    for certifier in certifiers:
        for question in certifier.asks(original, text) if certifier.asks else ():
            yield _item(variant, question, certifier.model, certifier.at_least)
    if encoder:
        measured = VariantQuestion("embedding", MEANING, _pair(MEANING, original, text), ())
        yield _item(variant, measured, f"embedding/{encoder}", 0.0)


def _pair(task: str, original: str, text: str) -> dict[str, str]:
    return dict(zip(open_task(task).fields, (original, text), strict=True))


def _apart(questions: Iterable[Item]) -> Iterator[Item]:
    """Answers are found by id: what a second certifier of one kind asks has one of its own, forward.2."""
    seen = Counter[str]()
    for question in questions:
        seen[question.id] += 1
        number = seen[question.id]
        yield question if number == 1 else replace(question, id=f"{question.id}.{number}")


def _item(variant: Item, question: VariantQuestion, model: str, at_least: float) -> Item:
    return Item(
        id=f"{variant.id}/{question.name}",
        task=question.task,
        role="judge",
        fields=question.fields,
        choices=open_task(question.task).labels,
        accepted=question.accepted,
        template=question.template,
        judge=model,
        about=variant.id,
        at_least=at_least,
    )
