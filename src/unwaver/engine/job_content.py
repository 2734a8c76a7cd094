"""What a job for people is about: its groups and its cards, from anything that `unwaver run` takes.

    from = "becel/snli"         a suite, or a part of one
    from = "groups.jsonl"       groups, or a table of originals and variants
    from = "questions.csv"      a table of questions: for write and answer
    from = "write.toml"         what people wrote in another job: for validate
    from = "pairs.csv"          pairs of answers: for pairs

Cards that wait for a model are refused: nobody can say yet which variants count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine.prepare import Chosen, choose
from unwaver.errors import DataError, UsageError
from unwaver.groups import BASE
from unwaver.groups.clusters import with_clusters
from unwaver.people.cards import Pair, Prompt, answerable, cards_of, undecided
from unwaver.people.chain import cards_of_texts
from unwaver.people.job import Job, read_job
from unwaver.people.store import Card, Database
from unwaver.suites.select import Selection
from unwaver.types import Group, Item


@dataclass(frozen=True)
class Content:
    """Groups, and all cards or `limit` of them. Of texts from another job, `withdrawn` units are shown no more;
    `forgotten` are people who wrote and were deleted there. `words` are what a prompt has for the labels."""

    groups: list[Group]
    cards: list[Card]
    withdrawn: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    words: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)


def content(job: Job, console: Console | None = None) -> Content:
    """Read the source of a job."""
    source = source_of(job)
    if job.kind == "pairs":
        return Content([], cards_of(job, pairs=_pairs(source, job)))
    if source.suffix == ".toml":
        return _of_written(job, source, console or Console())
    chosen = _chosen(job, source, console or Console())
    groups = list(chosen.groups)
    if job.kind != "answer":
        return Content(groups, cards_of(job, groups))
    _check_decided(job, groups)
    renderer = Renderer(chosen.selection, Config((str(source),), ()))
    asked = [item for group in groups for item in answerable(group)]
    prompts = {item.id: _prompt(renderer, item) for item in asked}
    return Content(groups, cards_of(job, groups, prompts=prompts), words=renderer.words(groups))


def source_of(job: Job) -> Path:
    """Beside the job's file, or from where the command is run; a suite is no file."""
    beside = job.path.parent / job.source
    return beside if beside.exists() else Path(job.source)


def _chosen(job: Job, source: Path, console: Console) -> Chosen:
    if source.is_file() and source.suffix != ".jsonl":
        from unwaver.suites.questions import holds_questions

        if holds_questions(source, {}):
            return _questions(job, source)
    found = choose(Config((str(source),), ()), console)
    for group in found.groups:
        if job.kind == "write" and job.field not in group.items[0].fields:
            known = ", ".join(group.items[0].fields)
            what = f'field = "{job.field}": {group.id} has no such text'
            raise DataError(what, file=job.path, hint=f"it has {known}")
    return found


def _questions(job: Job, source: Path) -> Chosen:
    """Each question of a table as a group of its own."""
    from unwaver.suites.questions import read_questions

    if job.kind not in ("write", "answer"):
        command = f"unwaver build auto --from {source} --task question --out groups.jsonl"
        hint = f'{command} writes variants (--writer NAME: by a model); then from = "groups.jsonl"'
        raise DataError(f"{job.source} has questions without variants", file=job.path, hint=hint)
    items = read_questions(source).source.items
    kind = f"{BASE}_{source.stem}"
    groups = [Group(item.id, source.stem, item.task, kind, "same", (item,)) for item in items]
    return Chosen(Selection(with_clusters(groups), {}), with_clusters(groups), {})


def _check_decided(job: Job, groups: Sequence[Group]) -> None:
    if waiting := undecided(groups):
        hint = 'have them certified when groups are made: unwaver build … --judge …; or by people: kind = "rate"'
        wait = "variant waits" if len(waiting) == 1 else "variants wait"
        what = f"{len(waiting):,} {wait} for the verdict of a model, such as {waiting[0].id}"
        raise DataError(what, file=job.path, hint=hint)


def _prompt(renderer: Renderer, item: Item) -> Prompt:
    words = renderer.form(item).words
    fits = item.choices and len(words) == len(item.choices)
    return str(renderer.shown(item)["prompt"]), [word.strip() for word in words] if fits else ()


def _pairs(source: Path, job: Job) -> Sequence[Pair]:
    from unwaver.agree.human_pairs import unjudged_pairs

    if not source.is_file():
        hint = 'from = "pairs.csv" with columns question, a and b'
        raise UsageError(f"from = {job.source}: there is no such file", file=job.path, hint=hint)
    return unjudged_pairs(source)


def _of_written(job: Job, source: Path, console: Console) -> Content:
    """The texts that people wrote in another job."""
    if job.kind != "validate":
        hint = 'kind = "validate" has people judge what others wrote'
        raise DataError(f"from = {job.source} is a job, and {job.kind} takes none", file=job.path, hint=hint)
    other = read_job(source)
    if other.kind != "write":
        hint = 'name a job with kind = "write", or groups'
        raise DataError(f"from = {job.source} is a job of the kind {other.kind}", file=job.path, hint=hint)
    labels: dict[str, str] = {}
    if "label" in job.criteria:
        groups = content(other, console).groups
        labels = {g.items[0].id: " or ".join(g.items[0].accepted) for g in groups if g.items[0].accepted}
    found = cards_of_texts(job, other, labels)
    return Content([], list(found.cards), found.withdrawn, found.forgotten)


def keep_cards(job: Job, found: Content) -> None:
    """Put the cards into the job's database. Those that are there already stay as they are."""
    database = Database(job.database)
    try:
        database.add_cards(found.cards)
        if found.withdrawn or found.forgotten or job.source.endswith(".toml"):
            database.forget_authors(found.forgotten)
            database.withdraw(found.withdrawn)
    finally:
        database.close()
