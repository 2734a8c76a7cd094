"""The search of TextFooler and BAE: words in the order of their importance to a victim model, each replaced by the
substitute that hurts the victim most.

A word is important if the victim believes the right label less once the word is deleted. At each word, all
substitutes that pass the constraints are put to the victim. If some change its answer, the one most similar to the
original is a sample, and the search goes on at the next word without it, until there are enough samples. If none
does, the one that lowers the probability of the label most stays, and the next word is replaced too. Where words
run out, the best of what was tried fills up: other texts that fool the victim first, then those that lower the
probability of the label.

Items are attacked side by side, so that models are asked in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from unwaver.models.embedding import Embedding, cosines
from unwaver.tasks import Task
from unwaver.text.english import refusal
from unwaver.train import samples
from unwaver.train.attack_words import WordText, word_text
from unwaver.train.neighbours import Substitutes
from unwaver.train.samples import Attacked, Sample
from unwaver.train.tagger import Tagger
from unwaver.train.victim import Judged, Victim
from unwaver.types import Item, replace
from unwaver.variants.surface import word_survives

SIDE_BY_SIDE = 32  # items

Place = tuple[str, int]  # a field, the number of a word


@dataclass(frozen=True)
class Constraints:
    """What a text with a word substituted must keep; no tagger: any part of speech."""

    encoder: Embedding
    bar: float
    tagger: Tagger | None

    def same_pos(self, one: Sequence[tuple[WordText, int]], other: Sequence[tuple[WordText, int]]) -> list[bool]:
        if self.tagger is None:
            return [True] * len(one)
        tags = zip(self.tagger.tagged(one), self.tagger.tagged(other), strict=True)
        return [a is not None and b is not None and a.form == b.form for a, b in tags]


class _Try(NamedTuple):
    """A substitute in its place, and how similar the text around it still is."""

    walk: _Walk
    place: Place
    text: WordText
    similarity: float = 1.0

    @property
    def item(self) -> Item:
        fields = {**self.walk.item.fields, **{name: t.text for name, t in self.walk.texts.items()}}
        return replace(self.walk.item, fields={**fields, self.place[0]: self.text.text})


@dataclass
class _Walk:
    """One item on its way through its words; `texts` are its fields with the words replaced so far."""

    item: Item
    texts: dict[str, WordText]
    was: Judged
    now: float
    order: list[Place] = field(default_factory=list)
    similarity: float = 1.0
    found: list[Sample] = field(default_factory=list)
    # with what they are sorted by: whether it fools nobody, its rank at its word, similarity or probability
    spare: list[tuple[bool, int, float, Sample]] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    tried: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def was_right(self) -> bool:
        return self.was.label in self.item.accepted


class Search:
    def __init__(
        self,
        task: Task,
        fields: Sequence[str],
        victim: Victim,
        substitutes: Substitutes,
        constraints: Constraints,
        *,
        wanted: int,
        fooling_only: bool = False,
    ):
        self._task, self._fields, self._victim = task, fields, victim
        self._substitutes, self._constraints = substitutes, constraints
        self._wanted, self._fooling_only = wanted, fooling_only

    def attacked(self, items: Sequence[Item], done: Callable[[int], None]) -> Iterator[list[Attacked]]:
        """What is made of the items, this many at a time, in order."""
        for start in range(0, len(items), SIDE_BY_SIDE):
            yield self._side_by_side(items[start : start + SIDE_BY_SIDE], done)

    def _side_by_side(self, items: Sequence[Item], done: Callable[[int], None]) -> list[Attacked]:
        walks = self._begun(items)
        self._rank([walk for walk in walks if not self._is_skipped(walk)])
        running = [walk for walk in walks if walk.order]
        done(len(walks) - len(running))
        step = 0
        while running:
            self._step([(walk, walk.order[step]) for walk in running])
            step += 1
            left = [w for w in running if len(w.found) < self._wanted and step < len(w.order)]
            done(len(running) - len(left))
            running = left
        return [self._made(walk) for walk in walks]

    def _begun(self, items: Sequence[Item]) -> list[_Walk]:
        walks = []
        for item, judged in zip(items, self._victim.judged(items), strict=True):
            texts = {name: word_text(item.fields[name]) for name in self._fields if item.fields.get(name)}
            walks.append(_Walk(item, texts, judged, judged.right))
        return walks

    def _is_skipped(self, walk: _Walk) -> bool:
        return self._fooling_only and not walk.was_right

    def _rank(self, walks: Sequence[_Walk]) -> None:
        """By what is left of the label's probability without the word; words of equal weight as they come."""
        places = [(walk, place) for walk in walks for place in self._places(walk)]
        without = [
            replace(walk.item, fields={**walk.item.fields, name: walk.texts[name].without(n)})
            for walk, (name, n) in places
        ]
        left: dict[int, list[tuple[float, Place]]] = {}
        for (walk, place), judged in zip(places, self._victim.judged(without), strict=True):
            left.setdefault(id(walk), []).append((judged.right, place))
        for walk in walks:
            walk.order = [place for _, place in sorted(left.get(id(walk), []), key=lambda pair: pair[0])]

    def _places(self, walk: _Walk) -> Iterator[Place]:
        for name, text in walk.texts.items():
            if self._constraints.tagger is not None and (refusal(text.text) or "").endswith("not in English"):
                continue
            yield from ((name, n) for n in text.places())

    # --- one word -------------------------------------------------------------------------------------------

    def _step(self, at: Sequence[tuple[_Walk, Place]]) -> None:
        passed = self._similar(self._kept(self._tries(at)))
        judged = self._victim.judged([each.item for each in passed])
        by_walk: dict[int, list[tuple[_Try, Judged]]] = {}
        for each, said in zip(passed, judged, strict=True):
            by_walk.setdefault(id(each.walk), []).append((each, said))
        for walk, _ in at:
            if id(walk) in by_walk:
                self._moved(walk, by_walk[id(walk)])

    def _tries(self, at: Sequence[tuple[_Walk, Place]]) -> list[_Try]:
        places = [(walk.texts[name], n) for walk, (name, n) in at]
        english = self._constraints.tagger is not None
        found = []
        for (walk, place), words in zip(at, self._substitutes.of(places), strict=True):
            name, n = place
            walk.lost[samples.NO_SUBSTITUTE] += not words
            found += [_Try(walk, place, walk.texts[name].with_word(n, w, english=english)) for w in words]
        return found

    def _kept(self, tries: Sequence[_Try]) -> list[_Try]:
        """Those of the same part of speech, in which the word in question is left."""
        before = [(each.walk.texts[each.place[0]], each.place[1]) for each in tries]
        after = [(each.text, each.place[1]) for each in tries]
        found = []
        for each, same in zip(tries, self._constraints.same_pos(before, after), strict=True):
            texts = tuple(each.item.fields.values())
            if texts in each.walk.tried:
                continue
            each.walk.tried.add(texts)
            if not same:
                each.walk.lost[samples.OTHER_POS] += 1
            elif not word_survives(self._task, each.walk.item, each.text.text, each.place[0]):
                each.walk.lost[samples.SENSE] += 1
            else:
                found.append(each)
        return found

    def _similar(self, tries: Sequence[_Try]) -> list[_Try]:
        """Those whose words around the new one are similar to the original ones."""
        before = [replace(each.text, words=each.text.original).window(each.place[1])[0] for each in tries]
        after = [each.text.window(each.place[1])[0] for each in tries]
        pairs = list(zip(before, after, strict=True))
        found = []
        for each, cosine in zip(tries, cosines(self._constraints.encoder, pairs), strict=True):
            if cosine >= self._constraints.bar:
                found.append(each._replace(similarity=min(cosine, each.walk.similarity)))
            else:
                each.walk.lost[samples.DISSIMILAR] += 1
        return found

    def _moved(self, walk: _Walk, tried: Sequence[tuple[_Try, Judged]]) -> None:
        """One word further: with a sample, or with the word replaced."""
        made = [(each, said, _sample(walk, each, said)) for each, said in tried]
        fooling = sorted((m for m in made if m[2].fooled), key=lambda m: -m[0].similarity)
        others = sorted((m for m in made if not m[2].fooled), key=lambda m: m[1].right)
        walk.found += [m[2] for m in fooling[:1]]
        walk.spare += [(False, rank, -m[0].similarity, m[2]) for rank, m in enumerate(fooling[1:], 1)]
        walk.spare += [(True, rank, m[1].right, m[2]) for rank, m in enumerate(others)]
        walk.lost[samples.NOT_FOOLED] += len(others)
        if not fooling and others[0][1].right < walk.now:
            best, said, _ = others[0]
            walk.texts[best.place[0]] = best.text
            walk.now, walk.similarity = said.right, best.similarity

    def _made(self, walk: _Walk) -> Attacked:
        spare = sorted((s for s in walk.spare if not (s[0] and self._fooling_only)), key=lambda s: s[:3])
        found = [*walk.found, *(sample for *_, sample in spare)][: self._wanted]
        return Attacked(tuple(found), "" if len(found) >= self._wanted else self._reason(walk))

    def _reason(self, walk: _Walk) -> str:
        """What most of its substitutes were lost by."""
        if self._is_skipped(walk):
            return samples.WRONG_BEFORE
        if not walk.order:
            return samples.NO_WORD
        known = (samples.OTHER_POS, samples.DISSIMILAR, samples.SENSE)
        lost = {reason: walk.lost[reason] for reason in (*known, *([samples.NOT_FOOLED] * self._fooling_only))}
        if any(lost.values()):
            return max(lost, key=lost.__getitem__)
        return samples.NO_MORE if walk.spare or walk.found else samples.NO_SUBSTITUTE


def _sample(walk: _Walk, tried: _Try, said: Judged) -> Sample:
    texts = {**walk.texts, tried.place[0]: tried.text}
    changed = tuple((name, *pair) for name, text in texts.items() for pair in text.changes())
    return Sample(
        fields=tried.item.fields,
        changed=changed,
        similarity=round(tried.similarity, 4),
        before=round(walk.was.right, 4),
        after=round(said.right, 4),
        answer=said.label,
        fooled=walk.was_right and said.label not in walk.item.accepted,
    )
