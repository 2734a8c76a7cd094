"""Models that speak about answers: an agreement compares two of them, a scorer says whether one is right.

Where answers are scored, an `Enquiry` is handed to someone who either asks the model (in a run) or reads what it
said then (from a run folder). That is the only difference between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from unwaver.asking.ask import Asker
from unwaver.asking.panel import Answers, Respondent, answers_of
from unwaver.console import Console
from unwaver.errors import StoreFull
from unwaver.types import Model, Request


@dataclass(frozen=True)
class Enquiry:
    """What a model is to be asked about answers. The store keeps each reply under the name of its request."""

    role: Literal["agreement", "scorer"]
    name: str
    model: str  # "provider/name"
    options: Mapping[str, object]  # what the model is opened with
    requests: Mapping[str, Request]


Consult = Callable[[Enquiry], Answers]


def written(role: str, name: str) -> str:
    """What stands before such a model on the command line: "--agree judge="."""
    return f"--{'agree' if role == 'agreement' else 'scorer'} {name}="


def planned(enquiry: Enquiry, model: Model) -> Respondent:
    """The model with the requests; raises where it could not answer them."""
    option = f"{written(enquiry.role, enquiry.name)}{enquiry.model},"
    respondent = Respondent(model, enquiry.name, option=option)
    respondent.ask_about(enquiry.requests.items())
    return respondent


def put(respondent: Respondent, asker: Asker, console: Console) -> Answers:
    """Ask for what the store lacks, unless asking has stopped, and give all that is there."""
    plan = respondent.plan
    if not asker.spent.stopped:
        try:
            with console.track(respondent.known_as, len(plan.requests)) as progress:
                respondent.put(asker, progress=progress)
        except StoreFull as full:  # what there is can be scored
            asker.spent.stopped = str(full)
    return answers_of(plan.keys, asker.store)
