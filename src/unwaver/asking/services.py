"""What is looked after while a service is asked: what it does not take is remembered in the store, and its first
answers are watched.

Where 25 of the first 50 answers were cut or are empty, the rest would be, too: asking ends, and says what to set.
What was answered stays. Answers that the store has already are the first ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from unwaver.answers.dialect_table import learn, learned
from unwaver.answers.labels import read_label
from unwaver.answers.store import Store
from unwaver.answers.table import reading_status
from unwaver.asking.budget import Spent
from unwaver.models.dialect import Dialect, told
from unwaver.models.limits import LIMITS, token_limit
from unwaver.models.parts import way_of
from unwaver.models.thinking import ENOUGH
from unwaver.state import CutMode
from unwaver.types import Answer, Model, Request

FIRST, MOST = 50, 25
STOPPED = "of the first"  # how the reason begins


class Service:
    """One model of a service, in one run."""

    def __init__(
        self,
        model: Model,
        dialect: Dialect,
        store: Store,
        say: Callable[[str], None],
        cut: CutMode,
        option: str,
    ):
        """`option` is the text before an option of the model on the command line."""
        self._model, self._dialect, self._store, self._say, self._cut = model, dialect, store, say, cut
        self._option = option
        self._looked: set[str] = set()  # keys
        self._lost: Counter[str] = Counter()
        self._request: Request | None = None
        self._known = recall(dialect, store)

    def remember(self) -> None:
        """Keep what the server has told since, and say it."""
        new = self._dialect.switches - self._known
        if not new:
            return
        self._known |= new
        learn(self._store, [(*self._dialect.place, switch) for switch in sorted(new)])
        for switch in sorted(new):
            self._say(told(self._dialect.place, switch))

    def begin(self, requests: Mapping[str, Request], answered: Iterable[str], spent: Spent) -> Service:
        """Look at what is there, and stop before anything is asked if that is enough."""
        self.known(requests, answered)
        self.end(spent)
        return self

    def arrived(self, requests: Mapping[str, Request], answers: Sequence[tuple[str, Answer]]) -> None:
        self.remember()
        self.look(requests, answers)

    def end(self, spent: Spent) -> None:
        spent.stopped = spent.stopped or self.problem()

    def known(self, requests: Mapping[str, Request], answered: Iterable[str]) -> None:
        """Count the answers that are there, the first of the plan first."""
        if not self.left:
            return
        there = set(answered) - self._looked
        keys = list(islice((key for key in requests if key in there), self.left))
        self.look(requests, list(self._store.answers(keys).items()))

    @property
    def left(self) -> int:
        """How many answers are still to be looked at."""
        return max(0, FIRST - len(self._looked))

    def look(self, requests: Mapping[str, Request], answers: Sequence[tuple[str, Answer]]) -> None:
        for key, answer in answers:
            if self.left and answer.error is None:
                self._looked.add(key)
                if why := _lost(requests[key], answer, self._cut):
                    self._lost[why] += 1
                    self._request = requests[key]

    def problem(self) -> str | None:
        """Why there is no point in asking on; None if there is."""
        if self._lost.total() < MOST or self._request is None:
            return None
        way = way_of(self._model, self._request)
        limit = self._request.limit or token_limit(way.settings)
        name = next((name for name in LIMITS if isinstance(way.settings.get(name), int)), LIMITS[0])
        at = "" if limit is None else f" at {name}={limit}"
        how = " and ".join(f"{count} {why}" for why, count in sorted(self._lost.items()))
        more = max(ENOUGH, 4 * (limit or 0))
        option = f"max_tokens={more}" if name == LIMITS[0] else f"""extra='{{"{name}": {more}}}'"""
        return (
            f"{STOPPED} {len(self._looked)} answers of {self._model.name}{at}, {how}: "
            "a model that thinks before it answers needs more tokens. "
            f"Set {self._option}{option} (a limit in the model's name overrides it)"
        )


def recall(dialect: Dialect, store: Store) -> frozenset[str]:
    """Know again what the store knows of the server and the model."""
    dialect.know(switch for *place, switch in learned(store) if tuple(place) == dialect.place)
    return dialect.switches


def _lost(request: Request, answer: Answer, cut: CutMode) -> str | None:
    """Whether an answer was cut before it could be read, or is empty."""
    if answer.text is None:
        return None
    text = answer.text.strip()
    label = read_label(text, request.choices, request.words) if request.choices else text or None
    status = reading_status(answer, label, request.choices, request.words)
    if status == "cut":
        return None if cut == "keep" and text else "were cut"
    return "are empty" if status == "empty" else None
