"""Who answers: the models under test and the certifiers of variants, asked in rounds, as answers call for more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile

from unwaver.answers.store import Store
from unwaver.asking.ask import Asker, Plan, Render, make_plan
from unwaver.console import Progress
from unwaver.errors import ModelError
from unwaver.groups import is_plain
from unwaver.groups.packed import Packed
from unwaver.models.parts import Parts
from unwaver.state import CutMode
from unwaver.tasks import Words, spoken
from unwaver.types import Answer, Group, Item, Model, Request

Answers = dict[tuple[str, int], Answer]  # by item and replicate


@dataclass(eq=False)
class Respondent:
    """A model and what it is asked. `known_as` is its name in items, "" for a model under test."""

    model: Model
    known_as: str = ""
    plan: Plan = field(default_factory=Plan)
    form: str = ""  # in which it reads items, where that is not the task's own
    option: str = ""  # the text before an option of the model on the command line, if not --model-arg

    def put(self, asker: Asker, only: set[str] | None = None, progress: Progress = lambda _: None) -> bool:
        """Ask the model what the store lacks; what is wrong names the option that named it."""
        asker.option = self.option
        try:
            return asker.ask(self.model, self.plan, only, progress)
        except ModelError as e:
            from unwaver.named_models import renamed

            raise renamed(e, self.option) from e.__cause__

    def spoken(self, words: Words) -> Words:
        """The words as this model writes them."""
        return spoken(words, self.form)

    def answers(self, item: Item) -> bool:
        return item.judge == self.known_as or (not self.known_as and item.judge == "self")


class Panel:
    """The models under test and the certifiers, each with a plan that grows with the groups."""

    def __init__(
        self,
        models: Sequence[Model],
        certifiers: Mapping[str, Model],
        render: Render,
        replicates: int = 1,
        normalise: bool = False,
        cut: CutMode = "exclude",
        form: str | None = None,
    ):
        self.tested = [Respondent(model, form=form or Parts(model).form) for model in models]
        self.certifiers = [Respondent(model, name) for name, model in certifiers.items()]
        self.render, self.replicates = render, replicates
        self.normalise, self.cut = normalise, cut
        self._planned: Sequence[Group] | None = ()  # all groups that were planned, if that was done at once

    @property
    def tested_or_none(self) -> Sequence[Respondent | None]:
        """The models under test; if there is none, the certifiers alone speak."""
        return self.tested or [None]

    @property
    def everyone(self) -> list[Respondent]:
        return [*self.tested, *self.certifiers]

    def plan(self, groups: Sequence[Group]) -> None:
        """Add what is new in the groups to the plans, and let the models look at it before they are asked."""
        self._planned = groups if self._planned == () else None
        if _is_long(groups):
            from unwaver.asking.long_plan import plan_in_windows

            plan_in_windows(self, groups)
            return
        for respondent in self.everyone:
            known = set(respondent.plan.requests)
            make_plan(
                groups,
                respondent.model,
                self.render,
                self.replicates,
                chosen=respondent.answers,
                plan=respondent.plan,
            )
            new = [request for key, request in respondent.plan.requests.items() if key not in known]
            if new:
                check_requests(respondent.model, new)

    def in_windows(self, tested: Respondent, store: Store) -> Iterator[tuple[Sequence[Group], Answers]] | None:
        """Groups with their answers, one part after the other, where there are very many; else None."""
        from unwaver.asking.long_plan import LongPlan

        plan = tested.plan
        if not isinstance(plan, LongPlan):
            return None
        return ((window, answers_of(part.keys, store)) for window, part in plan.with_groups())

    def answers(self, tested: Respondent | None, store: Store, groups: Sequence[Group] | None = None) -> Answers:
        """What a model under test and the certifiers have said, of everything or of some groups."""
        found: Answers = {}
        for respondent in [*([tested] if tested else []), *self.certifiers]:
            keys = respondent.plan.keys
            if groups is not None:
                times = self.replicates
                places = [(i.id, r) for g in groups for i in g.items for r in range(g.times(i, times))]
                keys = {place: keys[place] for place in places if place in keys}
            found.update(answers_of(keys, store))
        return found

    def ask(
        self,
        groups: Sequence[Group],
        store: Store,
        words: Words,
        put: Callable[[Respondent, set[str] | None], bool],
        tested: Sequence[Respondent] | None = None,
    ) -> None:
        """Put everything that is needed, round by round; `put` asks one model about some keys (None: about all
        that is planned) and says whether to go on.

        `tested` are the models under test that are asked now, if not all.
        """
        asked = [*(self.tested if tested is None else tested), *self.certifiers]
        to_certify = [] if _is_long(groups) else [group for group in groups if not is_plain(group)]
        if groups is self._planned and not to_certify:  # all that is planned
            if not all(put(respondent, None) for respondent in asked if respondent.plan.requests):
                return
        else:
            everything = [group for group in groups if is_plain(group)]
            for respondent in asked:
                keys = self.keys(respondent, (item for group in everything for item in group.items))
                if keys and not put(respondent, keys):
                    return
        if to_certify:
            from unwaver.asking.rounds import certify

            certify(self, to_certify, store, words, put, asked)
        if any(respondent.plan.later for respondent in asked):
            from unwaver.asking.rounds import go_on

            go_on(self, groups, store, words, put, asked)

    def keys(self, respondent: Respondent, items: Iterable[Item]) -> set[str]:
        keys = respondent.plan.keys
        return {keys[place] for item in items if respondent.answers(item) for place in _planned(item.id, keys)}


def _is_long(groups: Sequence[Group]) -> bool:
    """Whether there are so many groups that they are planned and asked in windows: that needs no rounds."""
    if not isinstance(groups, Packed) or not all(map(is_plain, groups.few)):
        return False
    return not any("{answer of" in message.text for g in groups.few for i in g.items for message in i.messages)


def _planned(item: str, keys: Mapping[tuple[str, int], str]) -> Iterator[tuple[str, int]]:
    """The item with each of its replicates."""
    return takewhile(keys.__contains__, ((item, replicate) for replicate in count()))


def check_requests(model: Model, requests: Sequence[Request]) -> None:
    """Let a model look at what it will be asked, if it wants to: it raises where it could not answer."""
    if check := Parts(model).check:
        check(requests)


def links(everyone: Sequence[Respondent]) -> Iterator[tuple[int, str, int, str]]:
    """(number, item, replicate, key); models under test come first."""
    for number, respondent in enumerate(everyone):
        for (item, replicate), key in respondent.plan.keys.items():
            yield number, item, replicate, key


def answers_of(keys: Mapping[tuple[str, int], str], store: Store) -> Answers:
    wanted = set(keys.values())
    found: dict[str, Answer] = store.answers(wanted)
    if missing := wanted - found.keys():
        found.update((key, Answer(error=error)) for key, error in store.failures(missing).items())
    return {place: found[key] for place, key in keys.items() if key in found}
