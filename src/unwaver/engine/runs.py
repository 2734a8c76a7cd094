"""A run in three steps: prepare, ask, score. Start reading at `go`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.answers.shared_store import open_store
from unwaver.answers.store import Store
from unwaver.asking.ask import Asker
from unwaver.asking.consult import Consult, Enquiry, planned, put, written
from unwaver.asking.failures import as_records
from unwaver.asking.panel import Answers
from unwaver.asking.sharing import sharing
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.engine.asked import Asked, ask, failures
from unwaver.engine.at_work import at_work
from unwaver.engine.came_back import recall_dialects, services, with_services
from unwaver.engine.folder import shown_record
from unwaver.engine.outcome import Outcome as Outcome
from unwaver.engine.prepare import Prepared, prepare
from unwaver.engine.recording import Recording
from unwaver.engine.road import Evidence, Rated, Tested, rated, scored
from unwaver.errors import StoreFull
from unwaver.groups import has_candidates
from unwaver.groups.many import few, rarely_collected
from unwaver.result import Result
from unwaver.types import Model, replace

if TYPE_CHECKING:
    pass

MANY = 10_000  # groups: what came of fewer is computed again in a second


@rarely_collected()
def go(config: Config, console: Console | None = None, models: Sequence[str | Model] = ()) -> Outcome:
    """All three steps: `prepare` plans the requests, `ask` sends them, `rated` and `scored` score the answers."""
    prepared = prepare(config, console, models)
    config = prepared.config
    with closing(prepared):
        if "auto" in config.variants or any(group.repeats for group in few(prepared.groups)):  # unwaver made them
            from unwaver.engine.consent import agree_to_cost

            agree_to_cost(prepared)
        live = not (config.batch or config.batch_out or config.batch_in)
        if live and (prepared.opened or prepared.panel.certifiers or prepared.writer):
            from unwaver.engine.reached import reach

            reach(prepared)
        place = folder.open_folder(config.folder, config)
        with at_work(place):
            folder.open_folder(place, config)  # nobody else can change it from now on
            if len(prepared.groups) < MANY:
                return _ask_and_score(prepared, place)
            from unwaver.engine.finished import once

            return once(prepared, place, partial(_ask_and_score, prepared, place))


def _ask_and_score(prepared: Prepared, place: Path) -> Outcome:
    with stores(prepared, place) as (asker, recording):
        if asker.store.has("dialects"):
            recall_dialects(prepared, asker.store)
        pilot = _piloted(prepared, asker) if prepared.config.pilot else {}
        asked = ask(prepared, asker)
        evidence = evidence_of(prepared, asked, asker.store)
        seen = {str(number): list(tested.seen) for number, tested in enumerate(evidence.tested)}
        audit, certified = _certification(prepared, asked, asker.store)
        recording.asked(asked, seen, audit)
        table = rated(evidence, _asking(prepared, asker, recording), prepared.console)
        if asker.batches is not None:
            asker.batches.close(asker)  # those who compared answers may wait for a batch, too
        reasons = failures(prepared, asker.store, recording.consulted)
        served = asker.services or asker.store.has("beside")
        found = services(prepared, recording.consulted, asker.store) if served else []
    came_of_it = {
        **pilot,
        **({"until": evidence.until} if evidence.until else {}),
        "certification": certified,
        "agreements": table.agreements,
        "scorers": table.scorers,
        "failures": as_records(reasons) if reasons else [],
        "spent": asdict(asker.spent),
    }
    record = recording.finish(came_of_it)
    if found:
        record = with_services(record, found)
    return _score(evidence, table, record, place, recording)


def _piloted(prepared: Prepared, asker: Asker) -> dict[str, Any]:
    from unwaver.engine.pilot import piloted

    return {"pilot": piloted(prepared, asker)}


def _score(
    evidence: Evidence, table: Rated, record: Mapping[str, Any], place: Path, recording: Recording
) -> Outcome:
    """Compute the scores and write them. If the disk is full, return them all the same."""
    run = shown_record(record, evidence.config, place)
    result = Result(scored(table.frame, evidence.config), run, place, table.frame, evidence.groups)
    if recording.has_begun:
        try:
            folder.write_run(place, record)
            folder.write_scores(place, result.document())
        except StoreFull as full:
            record["spent"]["stopped"] = record["spent"]["stopped"] or full.summary
    return Outcome(result)


def _certification(
    prepared: Prepared, asked: Asked, store: Store
) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """The decision on every candidate, and a summary; None and [] if no variant had to be certified."""
    if not any(has_candidates(group) for group in few(asked.groups)):
        return None, []
    from unwaver.engine.certification import certification

    return certification(prepared, asked, store)


def evidence_of(prepared: Prepared, asked: Asked, store: Store) -> Evidence:
    """Collect what the scores of this run depend on, with the answers from the store."""
    panel, groups = prepared.panel, asked.groups
    tested = [
        Tested(
            name,
            prepared.method_of(respondent.model),
            {} if (parts := panel.in_windows(respondent, store)) else panel.answers(respondent, store),
            prepared.writes(respondent.model),
            prepared.renderer.seen(groups, respondent.model),
            form=prepared.form_of(respondent.model),
            parts=parts,
        )
        for name, respondent in zip(prepared.names, panel.tested, strict=True)
    ]
    until = prepared.until.record(prepared.names) if prepared.until else None
    words = prepared.words(groups)
    return Evidence(prepared.config, groups, words, tested, prepared.agreements, prepared.scorers, until)


def _asking(prepared: Prepared, asker: Asker, recording: Recording) -> Consult:
    """A `consult` for the road that asks the models which compare and rate answers."""
    needs_texts = {agreement.name for agreement in prepared.agreements if agreement.needs_texts}

    def consult(enquiry: Enquiry) -> Answers:
        model = prepared.opened[enquiry.role, enquiry.name]
        with ExitStack() as opened:
            if enquiry.role == "agreement" and enquiry.name in needs_texts:  # known only now
                from unwaver.models.helpers import open_consulted

                option = written(enquiry.role, enquiry.name)
                model = open_consulted(prepared.config, enquiry.model, enquiry.options, option)
            respondent = planned(enquiry, model)
            recording.consulted.append((enquiry.role, respondent))
            opened.callback(model.close)  # it may be large, and another one follows
            return put(respondent, asker, prepared.console)

    return consult


@contextmanager
def stores(prepared: Prepared, place: Path) -> Iterator[tuple[Asker, Recording]]:
    """The asker and the recording of the run folder. With a shared store (--store), its answers are copied to the
    run folder at the end, also after an error."""
    config = prepared.config
    with ExitStack() as opened:
        own = opened.enter_context(closing(Store(place / folder.ANSWERS)))
        shared = opened.enter_context(closing(open_store(config.store))) if config.store else None
        say, waiting = prepared.console.say, prepared.console.waiting
        asker = Asker(shared or own, prepared.budget, say=say, waiting=waiting, cut=config.cut)
        recording = Recording(prepared, place, own, asker.spent)
        asker = replace(asker, arrived=recording.begin)
        if config.batch or config.batch_out or config.batch_in:
            from unwaver.engine.in_batches import batches

            asker = replace(asker, batches=batches(config, asker.store))
        try:
            if shared:
                asker = opened.enter_context(sharing(asker))
            yield asker, recording
            recording.guard(recording.begin)  # nothing new may have been asked
        finally:
            recording.end(shared)
