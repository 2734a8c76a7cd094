"""Solved examples from several sets with one set of labels: --shots 36 --shots-from paranlu/snli --shots-from …

Every set gives the same number, in turn, each in the form of its own task: of δ-SOCIAL there is no premise. A
suite without a task, --shots-from paranlu, stands for all its sets with the labels of the question: three for
δ-NLI, one for α-NLI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice

from unwaver.config import Config
from unwaver.errors import UsageError, near
from unwaver.suites.select import Selection
from unwaver.suites.shots import in_turn, question_of
from unwaver.tasks import Form, known
from unwaver.tasks.paranlu_names import TASKS
from unwaver.tasks.prompts import prompt_of
from unwaver.types import Item


class Pooled:
    """Prompts after solved examples of several sets, the same ones for all items of a task."""

    def __init__(self, config: Config, selection: Selection, form_of: Callable[[Item], Form]):
        self._config, self._selection, self._form_of = config, selection, form_of
        self._solved: dict[tuple[str, str], str] = {}

    def prompt(self, item: Item, form: Form) -> str:
        key, c = (item.task, item.template), self._config
        if key not in self._solved:
            self._solved[key] = solved_text(item, c.shots, c.shots_from, self._selection, self._form_of, c.seed)
        return self._solved[key] + prompt_of(item, form)


def solved_text(
    item: Item, count: int, names: Sequence[str], selection: Selection, form_of: Callable[[Item], Form], seed: int
) -> str:
    """The text before the question: `count` solved examples, as many from each of the sets `names`."""
    names = [each for name in names for each in _sets(name, item, selection)]
    if count == 0 or count % len(names):
        hint = f"--shots {max(1, count // len(names)) * len(names)} gives each set the same number"
        told = f"{len(names)} sets" if len(names) > 1 else names[0]
        raise UsageError(f"--shots {count} cannot be shared by {told} (--shots-from)", hint=hint)
    tested = {question_of(i) for group in selection.groups for i in group.items}
    chosen = [_examples(name, count // len(names), item, selection, tested, seed) for name in names]
    return "".join(_solved(shot, form_of(shot)) for shot in chain.from_iterable(zip(*chosen, strict=True)))


def _sets(name: str, item: Item, selection: Selection) -> list[str]:
    """ "paranlu/snli" -> itself; "paranlu" -> its sets with the labels of the question."""
    suite = next((s for s in selection.suites if s.name == name), None)
    if suite is None:
        return [name]
    tasks = {short: TASKS.get(short, short) if name == "paranlu" else short for short in suite.cases}
    labels = {short: known()[task].labels for short, task in tasks.items() if task in known()}
    found = [f"{name}/{short}" for short, several in labels.items() if several == item.choices]
    if not found:
        hint = f"name sets: {', '.join(f'{name}/{task}' for task in suite.cases)}"
        raise UsageError(f"--shots-from {name}: none of its sets has the labels of {item.task}", hint=hint)
    return found


def _examples(
    name: str, count: int, item: Item, selection: Selection, tested: set[tuple[str, ...]], seed: int
) -> list[Item]:
    suite_name, _, task = name.partition("/")
    suite = next((s for s in selection.suites if s.name == suite_name), None)
    if suite is None or task not in suite.cases:
        sets = [f"{s.name}/{t}" for s in selection.suites for t in s.cases]
        raise UsageError(f"--shots-from {name} is not a set of a suite in this run", hint=near(name, sets))
    examples = list(suite.examples(task))
    if any(example.choices != item.choices for example in examples[:1]):
        hint = "run sets with different labels separately"
        raise UsageError(f"--shots-from {name}: its labels are not those of {item.task}", hint=hint)
    free = [e for e in examples if len(e.accepted) == 1 and question_of(e) not in tested]
    found = list(islice(in_turn(free, seed), count))
    if len(found) < count:
        hint = "take fewer, or add a train file to the data folder"
        raise UsageError(f"--shots-from {name}: only {len(found)} solved examples are not under test", hint=hint)
    return found


def _solved(shot: Item, form: Form) -> str:
    """The question with its answer: what prompt_of puts before a question, less that question."""
    asked = prompt_of(shot, form)
    return prompt_of(shot, form, [(shot, shot.accepted[0])])[: -len(asked)]
