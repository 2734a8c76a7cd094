"""`--variants auto`: what unwaver makes of each item if nobody says more.

paraphrases   three by a writer, certified (kind semantic)
changes       two that carry no meaning: a typing error, the final mark dropped or added; where that cannot be
              done, other case or other space (kinds surface_…)
repeats       every original is asked again twice, for the noise of sampling
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from unwaver.text.refused import Refused
from unwaver.types import Group, replace
from unwaver.variants.paraphrase import paraphrase
from unwaver.variants.source import Build, Source
from unwaver.variants.surface import surface_case, surface_punctuation, surface_space, surface_typo

PARAPHRASES, CHANGES, REPEATS = 3, 2, 2
USUAL = ("surface_typo", "surface_punctuation")  # what can be done with almost every item
# tried for each item in this order, until it has as many as it needs
_IN_ORDER: Mapping[str, Callable[[int, str], Build]] = {
    "surface_typo": lambda seed, lang: surface_typo(seed=seed, lang=lang),
    "surface_punctuation": lambda *_: surface_punctuation(),
    "surface_case": lambda *_: surface_case(),
    "surface_space": lambda *_: surface_space(),
}


def auto(
    *,
    writer: str | None = None,
    judges: Sequence[str] = (),
    k: int | None = None,
    encoder: str | None = None,
    lang: str = "en",
    seed: int = 0,
) -> Build:
    """Without a writer there are no paraphrases."""
    options = {"judges": judges, "k": k or PARAPHRASES, "encoder": encoder, "lang": lang}
    reworded = paraphrase(writer=writer, **options) if writer else None  # type: ignore[arg-type]

    def build(source: Source) -> Iterator[Group | Refused]:
        for made in reworded(source) if reworded else ():
            if isinstance(made, Refused):
                yield made._replace(reason=f"no paraphrase: {made.reason}")
            else:
                yield replace(made, repeats=REPEATS)
        yield from _changed(source, seed, lang)

    return build


def _changed(source: Source, seed: int, lang: str) -> Iterator[Group | Refused]:
    found = dict.fromkeys((item.id for item in source.items), 0)
    for kind, builder in _IN_ORDER.items():
        left = [item for item in source.items if found[item.id] < CHANGES]
        for item, made in zip(left, builder(seed, lang)(replace(source, items=tuple(left))), strict=True):
            if isinstance(made, Group):
                found[item.id] += 1
                yield _with_one(made, Random(f"{seed}/{kind}/{item.id}"))
    for name, count in found.items():
        if count < CHANGES:
            yield Refused("no surface change" if count == 0 else "only one surface change", name)


def _with_one(group: Group, random: Random) -> Group:
    """The group with one of its variants: any typing error; of other changes the first, which is the slightest."""
    original, *variants = group.items
    place = random.randrange(len(variants)) if group.kind == "surface_typo" else 0
    tags = group.tag.split(" ")
    tag = tags[place] if len(tags) == len(variants) else ""
    return replace(group, items=(original, variants[place]), tag=tag, repeats=REPEATS)
