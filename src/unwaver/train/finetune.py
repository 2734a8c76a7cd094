"""One command, several seeds: DIR[/TASK]/seedN, each an ordinary model folder, and summary.json.

A model appears in its folder whole, when it is done. Until then its checkpoints lie beside, in .seedN.checkpoints;
a training that was stopped goes on from the last of them, if they are its own.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unwaver import __version__
from unwaver.console import Progress, Track, silent, untracked
from unwaver.engine.folder import write_whole
from unwaver.errors import StoreFull, UsageError
from unwaver.groups import SEEN_FLAG
from unwaver.models.hf_common import token_limit
from unwaver.models.pretrained import pretrained
from unwaver.models.trained import (
    ABOUT,
    SEEN,
    VERSION,
    Fingerprints,
    fingerprints,
    read_trained,
    unseen,
)
from unwaver.train.attack import Attacker, check_victims
from unwaver.train.base import CHOOSE, PACKAGE, is_text_to_text, load_tokenizer, open_base
from unwaver.train.card import card
from unwaver.train.material import Material, formed, material
from unwaver.train.own_bases import BILSTM, NGRAMS, OWN, open_trained, told
from unwaver.train.recipes import Recipe
from unwaver.train.rows import RowEncoder, accuracy_on, answered, lines_of_test
from unwaver.train.samples import SAMPLES, Kept
from unwaver.train.setup import Setup, as_json, nothing_unseen
from unwaver.train.tuning import Tuning, own_checkpoints

SUMMARY, TEST, CARD = "summary.json", "test.jsonl", "README.md"
SAVE_SECONDS = 300.0
_FULL = (
    "No space left",
    "File too large",
    "Disk quota",
    "PytorchStreamWriter",
    "unexpected pos",
    "iostream error",
)


@dataclass(frozen=True)
class TrainedModel:
    """A trained model: where it is, and by task what it scored on the hold-out and the test set."""

    folder: Path
    seed: int
    scores: Mapping[str, Mapping[str, Mapping[str, Any]]]


def train(
    setup: Setup,
    out: Path,
    seeds: Sequence[int],
    *,
    say: Callable[[str], None] = silent,
    track: Track = untracked,
    save_seconds: float = SAVE_SECONDS,
) -> list[TrainedModel]:
    """Train what is not there yet."""
    if setup.asked_attack is not None:
        for part in setup.parts:
            check_victims(setup.asked_attack, part.task, seeds)
    made = []
    for n, seed in enumerate(seeds, 1):
        folder = out / f"seed{seed}"
        title = f"{'+'.join(p.task.name for p in setup.parts)} seed {seed} ({n} of {len(seeds)})"
        training = _Training(setup.at(seed), folder, seed, say, partial(track, title), save_seconds, track)
        with _disk(folder):
            if training.is_finished():
                say(f"{folder} is trained already")
                made.append(training.measured())
            else:
                made.append(training.go())
    everything = sorted([*made, *_made_before(setup, out, seeds)], key=lambda m: m.seed)
    _write_json(out / SUMMARY, summary_of_seeds(setup, everything))
    return made


def _made_before(setup: Setup, out: Path, seeds: Sequence[int]) -> Iterator[TrainedModel]:
    """Models of the same training whose seeds were not asked for this time."""
    for folder in out.glob("seed*"):
        seed = folder.name.removeprefix("seed")
        if seed.isdecimal() and int(seed) not in seeds:
            about = _read_about(folder)
            if is_trained(setup, out, int(seed)):
                yield TrainedModel(folder, int(seed), about["scores"])


def is_trained(setup: Setup, out: Path, seed: int) -> bool:
    """Is this very model there, and measured on this test set?"""
    about = _read_about(out / f"seed{seed}")
    return bool(about) and about.get("id") == setup.id(seed) and _same_test(about, setup)


def _read_about(folder: Path) -> dict[str, Any]:
    """Empty if there is none that can be read."""
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    sound = isinstance(found, dict) and all(isinstance(found.get(key), dict) for key in ("setup", "scores"))
    return found if sound else {}


def _same_test(about: Mapping[str, Any], setup: Setup) -> bool:
    asked = as_json(setup)
    return all(about["setup"].get(key) == _plain(asked.get(key)) for key in ("test_split", "test_rows"))


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    """A full disk shows in many ways, one for each library that writes."""
    try:
        yield
    except Exception as e:
        if any(sign in str(e) for sign in _FULL):
            first_line = str(e).strip().split("\n", 1)[0][:120]
            hint = "free some space, then run the same command again to continue from the last checkpoint"
            raise StoreFull(f"the disk is full ({first_line})", file=place, hint=hint) from e
        raise


def summary_of_seeds(setup: Setup, made: Sequence[TrainedModel]) -> dict[str, Any]:
    """What summary.json holds: each seed, and mean and s.d. over seeds of each accuracy."""
    over: dict[str, dict[str, Any]] = {}
    for task, on in dict.fromkeys((t, s) for m in made for t, sets in m.scores.items() for s in sets):
        values = [m.scores[task][on]["accuracy"] for m in made if on in m.scores[task]]
        spread = statistics.stdev(values) if len(values) > 1 else None
        items = max(m.scores[task][on]["items"] for m in made if on in m.scores[task])
        over.setdefault(task, {})[on] = {
            "accuracy": statistics.fmean(values),
            "sd": spread,
            "seeds": len(values),
            "items": items,
        }
    seeds = [{"seed": m.seed, "folder": m.folder.name, "scores": m.scores} for m in made]
    return {"version": VERSION, "setup": as_json(setup), "seeds": seeds, "over_seeds": over}


class _Training:
    def __init__(
        self,
        setup: Setup,
        folder: Path,
        seed: int,
        say: Callable[[str], None],
        track: Callable[[int], AbstractContextManager[Progress]],
        save_seconds: float,
        track_more: Track = untracked,
    ):
        self.setup, self.folder, self.seed = setup, folder, seed
        self.say, self.track, self.save_seconds, self.track_more = say, track, save_seconds, track_more
        self.checkpoints = folder.with_name(f".{folder.name}.checkpoints")
        self.part = folder.with_name(f".{folder.name}.part")
        self.kept = folder.with_name(f".{folder.name}.attack.jsonl")
        self.base, self.config = open_base(setup.base.replace("{seed}", str(seed)))
        self.text_to_text = is_text_to_text(self.config, setup.head)
        self.multi_task = setup.multi_task
        self.recipe = setup.recipe_of(str(self.config.get("model_type", "")))
        if self.text_to_text and setup.consistency:
            hint = "leave --consistency out: the pairs alone can be trained on"
            raise UsageError("a text-to-text model has no distribution over labels to keep alike", hint=hint)
        if self.text_to_text and setup.multi_task:
            self.multi_task = False  # the prompt says which task it is: no heads are needed

    def is_finished(self) -> bool:
        """Whether the model is there; an error if something else is."""
        if not self.folder.exists():
            return False
        if _read_about(self.folder).get("id") != self.setup.id(self.seed):
            raise UsageError(
                "this folder holds something else: another training, or other data",
                file=self.folder,
                hint="choose another --out, or move it away",
            )
        shutil.rmtree(self.checkpoints, ignore_errors=True)  # a kill may have left them
        self.kept.unlink(missing_ok=True)
        return True

    def measured(self) -> TrainedModel:
        """The finished model; where another test set is asked for than it was measured on, that is done now."""
        about = _read_about(self.folder)
        if not _same_test(about, self.setup):
            about["setup"], about["scores"] = as_json(self.setup), self._scores(self.folder)
            _write_json(self.folder / ABOUT, about)
            write_whole(self.folder / CARD, card(about))
        return TrainedModel(self.folder, self.seed, about["scores"])

    def go(self) -> TrainedModel:
        """Trained, then measured: a kill while it is measured costs none of the training."""
        if _read_about(self.part).get("id") != self.setup.id(self.seed):
            self._train()
        about = {**_read_about(self.part), "setup": as_json(self.setup)}
        about["scores"] = scores = self._scores(self.part)
        _write_json(self.part / ABOUT, about)
        write_whole(self.part / CARD, card(about))
        self.part.rename(self.folder)
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.kept.unlink(missing_ok=True)
        return TrainedModel(self.folder, self.seed, scores)

    def _train(self) -> None:
        if self.base == NGRAMS:
            self._train_bag()
            return
        own = None
        if self.base == BILSTM:
            from unwaver.train.bilstm_base import beginning

            own = beginning(self.setup, self.recipe.length, self.setup.head == CHOOSE)
        tokenizer = own.words if own else load_tokenizer(self.base)
        recipe = self.recipe if own else self._fitted(self.recipe, tokenizer)
        encode = RowEncoder(tokenizer, recipe.length, self.text_to_text, self._labels())
        read = material(
            self.setup, encode, self.seed, multi_task=self.multi_task, say=self.say, attacker=self._attacker()
        )
        own_checkpoints(self.checkpoints, self.setup.id(self.seed))
        tuning = Tuning(
            self.base,
            {part.task.name: part.task.labels for part in self.setup.parts},
            recipe,
            self.seed,
            self.text_to_text,
            self.multi_task,
            self.setup.consistency,
            self.setup.device,
            self.checkpoints,
            self.setup.head == CHOOSE,
            own.start if own else None,
        )
        model, epochs = tuning.tune(
            read.rows,
            read.held,
            tokenizer.pad_token_id or 0,
            self.track,
            save_seconds=self.save_seconds,
            resumed=lambda done, of: self.say(f"{self.folder}: going on after {done:,} of {of:,} steps"),
        )
        save = partial(own.save, model) if own else partial(self._save_pretrained, model, tokenizer)
        self._save(save, read, self._about(read, recipe, epochs))

    def _train_bag(self) -> None:
        from unwaver.models.bow import save
        from unwaver.train.ngrams_base import TextRows, fit_bag

        encode = TextRows(self.setup.parts[0].task.labels)
        read = material(self.setup, encode, self.seed, multi_task=False, say=self.say, attacker=self._attacker())
        bag = fit_bag(self.setup, read.rows, encode.texts, self.recipe, self.seed, self.track)
        self._save(partial(save, bag), read, self._about(read, self.recipe, self.recipe.epochs))

    def _labels(self) -> Sequence[str]:
        """Of the one head that several sets share."""
        return self.setup.parts[0].task.labels if self.setup.pool else ()

    def _attacker(self) -> Attacker | None:
        attack = self.setup.asked_attack
        if attack is None:
            return None
        kept = Kept(self.kept, self.setup.id(self.seed))
        return Attacker(attack, self.seed, self.setup.device, kept, self.track_more, self.say)

    def _fitted(self, recipe: Recipe, tokenizer: Any) -> Recipe:
        """Inputs are cut where the base ends, if the recipe does not cut them before."""
        limit = token_limit(tokenizer, pretrained("AutoConfig", self.base), unknown=recipe.length)
        if limit >= recipe.length:
            return recipe
        self.say(f"{self.base} reads {limit} tokens: inputs are cut there, not at {recipe.length}")
        return replace(recipe, length=limit)

    def _save_pretrained(self, model: Any, tokenizer: Any, part: Path) -> None:
        if self.multi_task:
            model.save(part)
        else:
            model.save_pretrained(part)
        tokenizer.save_pretrained(part)

    def _save(self, save: Callable[[Path], None], read: Material, about: Mapping[str, Any]) -> None:
        """unwaver.json comes last, when all else is on the disk: with it the training is done."""
        part = self.part
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        save(part)
        tasks = {p.task.name: p.task for p in self.setup.parts}
        seen = np.union1d(fingerprints(read.learnt, tasks), self._seen_by_base())
        np.savez_compressed(part / SEEN, seen=seen)
        if read.attacks:
            write_whole(part / SAMPLES, "".join(line for found in read.attacks for line in found.lines))
        for path in part.iterdir():
            with path.open("rb") as f:
                os.fsync(f.fileno())
        _write_json(part / ABOUT, about)

    def _seen_by_base(self) -> Fingerprints:
        """What the base was trained on, if it is a model of ours: its weights are where this one began."""
        known = None if self.base in OWN else read_trained(Path(self.base))
        return known.seen if known is not None else np.empty(0, np.uint64)

    def _about(self, read: Material, recipe: Recipe, epochs: float) -> dict[str, Any]:
        tasks = {
            p.task.name: {
                "labels": list(p.task.labels),
                "form": p.form,
                "file": Path(p.data.file).name,
                "items": len(p.divided[0]),
                "held_out": len(p.divided[1]),
            }
            for p in self.setup.parts
        }
        return {
            "version": VERSION,
            "unwaver": __version__,
            "id": self.setup.id(self.seed),
            "seed": self.seed,
            "base": self.setup.base,
            "base_name": self._base_name(),
            "tasks": tasks,
            "heads": self.multi_task,
            "recipe": {"name": self.setup.recipe, **asdict(recipe)},
            "setup": as_json(self.setup),
            "rows": len(read.rows),
            "pairs": read.pairs,
            "added": sum(len(found.items) for found in read.attacks),
            **({"adversarial": {found.task: found.counts for found in read.attacks}} if read.attacks else {}),
            "epochs_trained": round(epochs, 2),
            "scores": {},
        }

    def _base_name(self) -> str:
        """A package or a model of the hub by its name, a folder by its last part: a card goes where paths do not.
        A model of ours says what it is."""
        if self.base in OWN:
            return told(self.base, self.setup.vectors)
        about = _read_about(Path(self.base))
        if about.get("tasks") and "seed" in about:
            return f"a model of {', '.join(about['tasks'])}, seed {about['seed']}, from {about.get('base_name')}"
        name = self.setup.base.replace("{seed}", str(self.seed))
        return f"`{name if name.startswith(PACKAGE) or not Path(self.base).is_dir() else Path(self.base).name}`"

    def _scores(self, folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
        """Accuracy on the hold-out and the test set, asked of the saved folder as any run would ask it.

        Rows of the test set that were trained on are left out and counted.
        """
        model = open_trained(folder, self.setup.device)
        known = read_trained(folder)
        assert known is not None
        found: dict[str, dict[str, dict[str, Any]]] = {}
        lines: list[str] = []
        for part in self.setup.parts:
            held = answered(model, part.task, formed(part, part.divided[1]))
            found[part.task.name] = {"held_out": accuracy_on(part.divided[1], held, part.task)}
            if part.test is not None:
                items = unseen(part.test.items, known, part.task)
                if not items:
                    raise nothing_unseen(part.task)
                labels = answered(model, part.task, formed(part, items))
                told = {SEEN_FLAG: len(part.test.items) - len(items)}
                found[part.task.name]["test"] = {**accuracy_on(items, labels, part.task), **told}
                lines += lines_of_test(part.test.items, items, labels, part.task)
        (folder / TEST).unlink(missing_ok=True)
        if lines:
            write_whole(folder / TEST, "".join(lines))
        return found


def _plain(value: Any) -> Any:
    """As it comes back from a file: tuples are lists there."""
    return json.loads(json.dumps(value))


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
