"""Models that are consulted about answers: an agreement compares two answers, a scorer says whether one is right.

Scoring passes an `Enquiry` to a function of type `Consult`, which returns the replies. A run passes one that asks
the model (`engine.runs`); reading a run folder passes one that looks up stored replies (`engine.load`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from unwaver.asking.ask import Asker, key_maker
from unwaver.asking.panel import Answers, Respondent, answers_of, check_requests
from unwaver.console import Console
from unwaver.errors import StoreFull
from unwaver.types import Model, Request


@dataclass(frozen=True)
class Enquiry:
    """Requests to one model about answers, by name. The store keeps each reply under the name of its request."""

    role: Literal["agreement", "scorer"]
    name: str
    model: str  # "provider/name"
    options: Mapping[str, object]  # options for opening the model
    requests: Mapping[str, Request]


Consult = Callable[[Enquiry], Answers]


def written(role: str, name: str) -> str:
    """The option that names such a model on the command line: "--agree judge="."""
    return f"--{'agree' if role == 'agreement' else 'scorer'} {name}="


def planned(enquiry: Enquiry, model: Model) -> Respondent:
    """The model with a plan of the requests; raises an error if it cannot answer one of them."""
    option = f"{written(enquiry.role, enquiry.name)}{enquiry.model},"
    respondent = Respondent(model, enquiry.name, option=option)
    ask_about(respondent, enquiry.requests.items())
    return respondent


def ask_about(respondent: Respondent, questions: Iterable[tuple[str, Request]]) -> None:
    """Plan requests that are not items of a group, each under a name of its own."""
    key_of, plan = key_maker(respondent.model), respondent.plan
    for name, request in questions:
        key = key_of(request)
        plan.requests.setdefault(key, request)
        plan.keys[name, 0] = key
        plan.groups.append([key])
    check_requests(respondent.model, list(plan.requests.values()))


def put(respondent: Respondent, asker: Asker, console: Console) -> Answers:
    """Ask the requests that have no answer in the store, unless the run has stopped; return all stored answers."""
    plan = respondent.plan
    if not asker.spent.stopped:
        try:
            with console.track(respondent.known_as, len(plan.requests)) as progress:
                respondent.put(asker, progress=progress)
        except StoreFull as full:  # what there is can be scored
            asker.spent.stopped = full.summary
    return answers_of(plan.keys, asker.store)
