"""The answers of people to a job, for every command that reads answers: score, report, compare, gate, show.

    unwaver score job.toml                       the majority, and each person
    unwaver compare human/job.toml runs/small    the same beside a model
    unwaver gate job.toml,rater=r2 …             one person; rater=people is the majority

The file of replies is read as it stands, also while people answer. What nobody answered is missing, not wrong; a
tie of the majority is unreadable. Each person is a model with all metrics and intervals of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unwaver.agree.comparison import chosen
from unwaver.asking.consult import Consult, Enquiry
from unwaver.asking.panel import Answers
from unwaver.config import Config
from unwaver.engine import folder
from unwaver.engine.job_content import content
from unwaver.engine.load import Loaded
from unwaver.engine.road import Evidence, Tested, rated
from unwaver.errors import DataError, UsageError, near
from unwaver.models.human import EVERYBODY, MAJORITY, PERSON, read_outcome
from unwaver.named_models import pieces
from unwaver.people.cards import answerable
from unwaver.people.outcome import NO_MAJORITY, Outcome, answers
from unwaver.people.store import Card
from unwaver.types import Answer, Group, replace

PREFIX = "human/"
PEOPLE = "people"  # of `Loaded.run`


class JobName(NamedTuple):
    """A job, or one person of it."""

    path: Path
    rater: str | None = None


def job_named(given: Path | str) -> JobName | None:
    """job_named("human/job.toml,rater=r1") -> JobName("job.toml", "r1"); None for what is not a job."""
    text = str(given)
    if text.endswith(".sqlite") and Path(text).with_suffix(".toml").is_file():
        return JobName(Path(text).with_suffix(".toml"))  # where the replies are
    if ".toml" not in text or Path(text).is_dir():
        return None
    if Path(text).is_file():
        return JobName(Path(text)) if text.endswith(".toml") else None
    name, options = pieces(text.removeprefix(PREFIX))
    if not name.endswith(".toml"):
        return None
    for option in options:
        if option != "rater":
            raise UsageError(f"{text}: a job has no option {option}", hint=f"name a person: {name},rater=r1")
    path = Path(name)
    absolute = Path("/", name)  # Path("human//home/job.toml") is human/home/job.toml
    is_absolute = text.startswith(PREFIX) and not path.exists() and absolute.is_file()
    return JobName(absolute if is_absolute else path, options.get("rater"))


def load_job(name: JobName, agree: Sequence[str] = ()) -> Loaded:
    """The answers of everybody who counts, one frame for each, the majority first."""
    found = read_outcome(name.path)
    if not found.people:
        aside = " whose replies count" if found.replies else ""
        hint = f"let people answer first: unwaver annotate {name.path} serves the job"
        raise DataError(f"nobody{aside} has answered yet", file=name.path, hint=hint)
    groups, added = _groups(found)
    given = {model: said for model, said in _given(found).items() if name.rater in (None, model)}
    if not given:
        everybody = [EVERYBODY, *(found.names[person] for person in found.people)]
        raise UsageError(f"{name.path}: there is no rater {name.rater}", hint=near(str(name.rater), everybody))
    tested = [
        Tested(model, MAJORITY if model == EVERYBODY else PERSON, {(id, 0): a for id, a in said.items()})
        for model, said in given.items()
    ]
    agreements = chosen(agree, groups)
    if agree and not agreements:
        what = "--agree has no effect: no answer of this job is free text"
        raise UsageError(what, file=name.path, hint="leave --agree out")
    table = rated(Evidence(Config((), ()), groups, {}, tested, agreements), _no_model(name.path))
    notes = [*_notes(found, groups, given), *added]
    about = {"job": str(name.path), "raters": len(found.people), "set_aside": len(found.aside)}
    run: dict[str, Any] = {"versions": folder.versions(), PEOPLE: about, "notes": {str(name.path): notes}}
    if table.agreements:
        run["agreements"] = table.agreements
    return Loaded(table.frames, groups, run)


def _given(found: Outcome) -> dict[str, dict[str, Answer]]:
    """By the name of the model: the majority where there are several people and labels, then each person."""
    pooled = answers(found) if len(found.people) > 1 else {}
    said = {EVERYBODY: pooled} if pooled else {}
    said |= {found.names[person]: answers(found, person) for person in found.people}
    return {
        model: {id: Answer(text=one.get("label", one.get("text"))) for id, one in of_model.items()}
        for model, of_model in said.items()
    }


def _no_model(path: Path) -> Consult:
    def consult(enquiry: Enquiry) -> Answers:
        hint = "compare by an agreement that needs no model, such as --agree rouge1"
        raise UsageError(f"--agree {enquiry.name}: this reads answers and asks no model", file=path, hint=hint)

    return consult


# --- the same groups ----------------------------------------------------------------------------------------


def _groups(found: Outcome) -> tuple[list[Group], list[str]]:
    """The groups that people were asked about, and what is to be said of others in the source."""
    now = content(replace(found.job, limit=None))
    _check_unchanged(found, now.cards)
    asked = {id for card in found.cards for id in card.shown.get("items", ())}
    groups = [g for g in now.groups if (own := answerable(g)) and all(item.id in asked for item in own)]
    new = sum(1 for g in now.groups if answerable(g)) - len(groups)
    if not new or found.job.limit is not None:
        return groups, []
    line = (
        f"{new:,} groups of {found.job.source} are not in the job yet: unwaver annotate {found.job.path} adds them"
    )
    return groups, [line]


def _check_unchanged(found: Outcome, now: Sequence[Card]) -> None:
    """An answer belongs to the question that was shown."""
    current = {card.id: card for card in now}
    own = [card for card in found.cards if card.known is None]
    changed = [card.id for card in own if not _same(card, current.get(card.id))]
    if changed:
        count = f"{len(changed):,} of {len(own):,} questions"
        raise DataError(
            f"{found.job.source} has changed since the cards were made: {count} differ, such as {changed[0]}",
            file=found.job.path,
            hint="restore the file; or copy the job to a new name, and have people answer the new questions there",
        )


def _same(card: Card, now: Card | None) -> bool:
    if now is None:
        return False
    return all(card.shown.get(name) == now.shown.get(name) for name in ("prompt", "choices", "labels"))


# --- what must be said --------------------------------------------------------------------------------------


def _notes(found: Outcome, groups: Sequence[Group], given: Mapping[str, Mapping[str, Answer]]) -> Iterator[str]:
    items = list(dict.fromkeys(item.id for group in groups for item in answerable(group)))
    people = f"{len(found.people)} {'person' if len(found.people) == 1 else 'people'} answered"
    yield people + (f"; {len(found.aside)} set aside, whose answers do not count" if found.aside else "")
    pooled = given.get(EVERYBODY, {})
    if ties := sum(pooled[id].text == NO_MAJORITY for id in items if id in pooled):
        yield f"{_items(ties)} without a majority: unreadable in the row {EVERYBODY}"
    decided = [card for card in found.cards if card.id in found.decisions]
    if decided and EVERYBODY in given:
        yield f"{_items(len(decided))} decided by the owner, in place of the majority"
    if EVERYBODY not in given and len(given) > 1:
        yield "free text has no majority: each person has results of their own"
    for model, said in given.items():
        if lacking := sum(id not in said for id in items):
            skipped = _skipped(found, model)
            more = f" ({skipped:,} skipped)" if skipped else ""
            yield f"{model}: {lacking:,} of {_items(len(items))} not answered{more}; groups with one are missing"


def _items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


def _skipped(found: Outcome, model: str) -> int:
    return sum(found.names[reply.rater] == model and "skip" in reply.value for reply in found.counted)
