"""Classes of words from word_classes.toml: which nouns are people, which adjectives may follow "who is"."""

from __future__ import annotations

import tomllib
from importlib import resources


def _read() -> dict[str, frozenset[str]]:
    text = resources.files("unwaver.variants").joinpath("word_classes.toml").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in tomllib.loads(text).items()}


_CLASSES = _read()
PEOPLE = _CLASSES["people"]
ANIMALS = _CLASSES["animals"]
GROUPS = _CLASSES["groups"]
COLLECTIVES = _CLASSES["collectives"]
CLOTHING = _CLASSES["clothing"]
OUTFITS = _CLASSES["outfits"]
PLACES = _CLASSES["places"]
THINGS = _CLASSES["things"] | _CLASSES["places"] | _CLASSES["clothing"]
TIMES = _CLASSES["times"]
INTERSECTIVE = _CLASSES["intersective"]
CAPITAL = _CLASSES["capital"]
LOCATIVE = _CLASSES["locative"]
LOCATION_ADVERBS = _CLASSES["location_adverbs"]
NO_MOVE = _CLASSES["no_move"]
NOT_DONE = _CLASSES["not_done"]
MOTIONS = _CLASSES["motions"]
NO_PARTICIPLE = _CLASSES["no_participle"]
GIVE = _CLASSES["give"]
MAKE = _CLASSES["make"]
RELATIONS = _CLASSES["relations"]
NO_PASSIVE = _CLASSES["no_passive"]
NO_OBJECT = _CLASSES["no_object"]
VERBS_AS_NOUNS = _CLASSES["verbs_as_nouns"]
ONE_SENSE_BUT = _CLASSES["one_sense_but"]
INTRANSITIVE = _CLASSES["intransitive"]
NOT_ELDERLY = _CLASSES["not_elderly"]
NAMED_BY_OWNER = _CLASSES["named_by_owner"]
NOT_LARGE = _CLASSES["not_large"]
RESULTS = _CLASSES["results"]
PARTICLE_VERBS = frozenset(
    (verb, particle)
    for verb, *particles in (entry.split("-") for entry in _CLASSES["particle_verbs"])
    for particle in particles
)
