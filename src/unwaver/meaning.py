"""What a metric means: one declaration (`Meaning`) per metric, read by tables, legends, verdicts, reports, gates
and `unwaver explain`.

The module that the catalogue names for a metric has two attributes: `metrics`, which computes, and `MEANINGS`, the
declarations, or "module:MEANINGS" if they are in another file. `r_r@<k>` declares a family: r_r@1, r_r@2 …
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from unwaver import registry
from unwaver.errors import near
from unwaver.types import Figure, Score

Better = Literal["low", "high", ""]
_PLACE = re.compile(r"<(\w+)>")


class Phrase(NamedTuple):
    """The words of a verdict, in singular and plural: Phrase("swap", "swaps", "changes the answer", "change the
    answer") -> "1 in 4 swaps changes the answer", "2 in 5 swaps change the answer"."""

    unit: str
    units: str
    happens: str
    happen: str


class Named(Protocol):
    """The part of a score that decides which metric leads."""

    @property
    def metric(self) -> str: ...
    @property
    def given(self) -> str | None: ...
    @property
    def value(self) -> float | None: ...


AnyNamed = TypeVar("AnyNamed", bound=Named)


@dataclass(frozen=True)
class Context:
    """A score with all scores of its block: the same suite, task, kind, model and method."""

    score: Score
    block: Sequence[Score]
    run: Mapping[str, Any] = field(default_factory=dict)
    leads: bool = False  # whether the score's metric leads the block

    def beside(self, metric: str) -> Score | None:
        """The score of another metric in the same block."""
        return next((s for s in self.block if s.metric == metric), None)

    def value(self, metric: str) -> float | None:
        found = self.beside(metric)
        return None if found is None else found.value


@dataclass(frozen=True)
class Meaning:
    """The declaration of a metric. `name`, `title` and `says` are enough; each other field adds something.

    name       the name in scores.json, or the pattern of a family: "r_r@<k>"
    title      the name in words: "inconsistency"
    says       what it measures; the legend of a table shows the first sentence
    formula    how it is computed, in one or two lines
    better     "low", "high" or "" if neither is better
    paper      its source; empty if it is unwaver's own, or common knowledge
    docs       the page that describes it
    of         values of the placeholders of a family: a regular expression, or a function that lists them
    examples   names of the family to suggest to users
    leads      the rank of a metric that can lead a table; the metric with the lowest rank in a block leads
    leads_if   a further condition: leads_if(score, scores of the block)
    led_by     the metric that leads instead of this one if the block has it, with the beside, choose, without_gold
               and verdict of this declaration
    beside     metrics to show below it in a table that it leads, if the block has them
    choose     the same as a function of the scores: choose(context) -> names
    chance     the value expected by chance: chance(context), or the name of the metric that has it
    chance_says    what that value is, in words
    without_gold   what cannot be computed without right answers, in words
    remark     caveats below the table: remark(context) -> lines; called for every score of the metric
    figures    figures(blocks, scores) -> Figure, …
    verdict    a Phrase, or a sentence with {value}, {wrong} or {right} in percent; or either by the kind of
               group, "" for all others; or a function of the score that returns either
    verdict_of     other metrics: the sentence is about the first of them that has a value
    """

    name: str
    title: str
    says: str
    formula: str = ""
    better: Better = ""
    paper: str = ""
    docs: str = ""
    of: Mapping[str, str | Callable[[], Iterable[str]]] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    leads: int | None = None
    leads_if: Callable[[Named, Sequence[Named]], bool] | None = None
    led_by: str = ""
    beside: tuple[str, ...] = ()
    choose: Callable[[Context], Iterable[str]] | None = None
    chance: str | Callable[[Context], float | None] | None = None
    chance_says: str = ""
    without_gold: tuple[str, ...] = ()
    remark: Callable[[Context], Iterable[str]] | None = None
    figures: Callable[[Sequence[Any], Sequence[Score]], Iterator[Figure]] | None = None
    verdict: Phrase | str | Mapping[str, Phrase | str] | Callable[[Score], Phrase | str] | None = None
    verdict_of: tuple[str, ...] = ()

    @property
    def is_family(self) -> bool:
        return _PLACE.search(self.name) is not None

    @property
    def heading(self) -> str:
        """ "inconsistency (tau)" """
        return self.title if self.title == self.name else f"{self.title} ({self.name})"

    @property
    def summary(self) -> str:
        """The first sentence of `says`, without its full stop."""
        return re.split(r"\.(?=\s|$)", self.says, maxsplit=1)[0]

    def values_in(self, name: str) -> dict[str, str] | None:
        """The values of the placeholders: "r_r@5" -> {"k": "5"}; None if the name does not match."""
        if name == self.name:
            return {}
        found = self._pattern.fullmatch(name) if self.is_family else None
        return None if found is None else found.groupdict()

    def knows(self, name: str) -> bool:
        """Whether a metric of this name can exist: Cons_rouge1 can, Cons_rogue1 cannot."""
        values = self.values_in(name)
        if values is None:
            return False
        return all(v in self.of[k]() for k, v in values.items() if callable(self.of.get(k)))  # type: ignore[operator]

    def names(self) -> list[str]:
        """Names to suggest to users: its own; for a family, the examples and the members with a listed value."""
        if not self.is_family:
            return [self.name]
        places = _PLACE.findall(self.name)
        known = self.of.get(places[0])
        listed = [self.filled({places[0]: v}).name for v in known()] if callable(known) else []
        return [*self.examples, *(listed if len(places) == 1 else ())]

    def filled(self, values: Mapping[str, str]) -> Meaning:
        """One member of a family: filled({"k": "5"}) has the name r_r@5, and 5 for <k> in every text."""
        if not values:
            return self
        return replace(self, **{f.name: _filled(getattr(self, f.name), values) for f in fields(self)})

    @property
    def _pattern(self) -> re.Pattern[str]:
        of = tuple((k, v if isinstance(v, str) else r"[\w-]+?") for k, v in self.of.items())
        return _compiled(self.name, of)


@lru_cache(maxsize=1000)
def _compiled(name: str, of: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    parts = _PLACE.split(name)  # text, placeholder, text, …
    named = dict(of)
    return re.compile(
        "".join(
            f"(?P<{part}>{named.get(part, '.+?')})" if n % 2 else re.escape(part) for n, part in enumerate(parts)
        )
    )


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACE.sub(lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, Phrase):
        return Phrase(*(_filled(part, values) for part in value))
    if isinstance(value, partial):
        return partial(value.func, *_filled(value.args, values))
    if isinstance(value, tuple):
        return tuple(_filled(part, values) for part in value)
    return value


# --- every declaration --------------------------------------------------------------------------------------


def meanings() -> tuple[Meaning, ...]:
    """Every declaration. If two have the same name, the built-in one counts."""
    return tuple(_declared().by_name.values())


def undeclared() -> tuple[str, ...]:
    """Entries of other packages without `MEANINGS`: the names of their metrics are not known."""
    return _declared().silent


class _Declared(NamedTuple):
    names: Mapping[str, str]  # the entries that were read
    by_name: Mapping[str, Meaning]
    silent: tuple[str, ...]
    families: tuple[Meaning, ...]  # the most specific first
    asked: dict[str, Meaning | None]  # what was looked up before


_read: list[_Declared] = []


def _declared() -> _Declared:
    """The declarations of all catalogue entries, read again only if the catalogue has changed."""
    names = registry.names("metrics")
    if not _read or _read[0].names is not names:
        _read[:] = [_read_all(names)]
    return _read[0]


def _read_all(names: Mapping[str, str]) -> _Declared:
    found: dict[str, Meaning] = {}
    silent = []
    for name in names:
        own = of_entry(name)
        if not own:
            silent.append(name)
        found |= {meaning.name: meaning for meaning in own}
    families = [m for m in found.values() if m.is_family]
    families.sort(key=lambda m: -len(_PLACE.sub("", m.name)))
    return _Declared(names, found, tuple(silent), tuple(families), {})


def of_entry(name: str) -> Sequence[Meaning]:
    """The declarations of one catalogue entry; an error in a plug-in names the plug-in."""
    own = registry.beside("metrics", name, "MEANINGS") or ()
    if isinstance(own, str):
        module, _, attribute = own.partition(":")
        own = getattr(importlib.import_module(module), attribute)
    if registry.is_built_in("metrics", name):
        return own
    from unwaver.foreign_meanings import checked

    return checked(own, name)


def family_of(metric: str) -> Meaning | None:
    """The declaration of a metric as written in its file: r_r@<k> for r_r@5."""
    known = _declared()
    if metric not in known.asked:
        fitting = (m for m in known.families if m.values_in(metric) is not None)
        known.asked[metric] = known.by_name.get(metric) or next(fitting, None)
    return known.asked[metric]


def meaning_of(metric: str) -> Meaning | None:
    """The declaration of a metric, with placeholders filled in: r_r@5 with 5 for <k> in its texts."""
    found = family_of(metric)
    return None if found is None else found.filled(found.values_in(metric) or {})


def is_known(metric: str) -> bool:
    found = family_of(metric)
    return found is not None and found.knows(metric)


def known_names() -> list[str]:
    return list(dict.fromkeys(name for meaning in meanings() for name in meaning.names()))


def suggestion(metric: str, also: Iterable[str] = ()) -> str:
    """A hint for an unknown name: "p_c" -> "did you mean P_C?"; `also` are further names that this run has."""
    known = dict.fromkeys([*also, *known_names()])
    alike = [name for name in known if name.lower() == metric.lower()]
    return f"did you mean {' or '.join(alike)}?" if alike else near(metric, known)


# --- which number leads -------------------------------------------------------------------------------------


def leading_of(block: Sequence[AnyNamed]) -> AnyNamed:
    """The score that leads a block in a table: the lowest rank (`leads`) whose condition is met."""
    best: tuple[int, AnyNamed] | None = None
    for s in block:
        meaning = family_of(s.metric) if s.given is None else None
        if meaning is None or meaning.leads is None or (best and best[0] <= meaning.leads):
            continue
        if meaning.leads_if is None or meaning.leads_if(s, block):
            best = meaning.leads, s
    if best is None:
        return block[0]
    led_by = getattr(family_of(best[1].metric), "led_by", "")
    return next((s for s in block if s.metric == led_by and s.given is None), best[1])


def leading_meaning(score: Named, block: Sequence[Named]) -> Meaning | None:
    """The declaration under which a score leads its block: its own, or that of the metric in whose place."""
    for s in block:
        meaning = family_of(s.metric)
        if meaning and meaning.led_by == score.metric and (meaning.leads_if is None or meaning.leads_if(s, block)):
            return meaning_of(s.metric)
    return meaning_of(score.metric)


def if_measured(score: Named, block: Sequence[Named]) -> bool:
    """For `leads_if`: the metric leads if it has a value."""
    del block
    return score.value is not None


def contexts(scores: Sequence[Score], run: Mapping[str, Any]) -> list[Context]:
    """Each score with its block, in the order of the scores."""
    blocks: dict[tuple[str, ...], list[Score]] = {}
    for s in scores:
        blocks.setdefault(block_key(s), []).append(s)
    leads = {key: leading_of(block).metric for key, block in blocks.items()}
    return [Context(s, blocks[block_key(s)], run, s.metric == leads[block_key(s)]) for s in scores]


def context_of(score: Score, scores: Sequence[Score], run: Mapping[str, Any]) -> Context:
    """One score with its block; `leads` is not computed."""
    return Context(score, [s for s in scores if block_key(s) == block_key(score)], run)


def block_key(s: Score) -> tuple[str, ...]:
    return s.suite, s.task, s.kind, s.model, s.method
