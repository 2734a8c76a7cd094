"""Existing answers, from a run folder, a table or another tool's log. No model is asked.

`score`, `report`, `show`, `compare`, `gate`, `analyse` and `agreement validate` all call `load`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unwaver.answers.store import Asked, Store
from unwaver.asking.consult import Consult, Enquiry
from unwaver.asking.failures import Failed, Reason, Role, as_records, from_records, grouped, of_folder
from unwaver.asking.panel import Answers, answers_of
from unwaver.config import Config
from unwaver.config_numbers import check_theta
from unwaver.config_record import config_from
from unwaver.engine import folder, stored
from unwaver.errors import DataError, UsageError
from unwaver.groups.many import rarely_collected
from unwaver.result import Result
from unwaver.state import CutMode
from unwaver.types import Group, replace

if TYPE_CHECKING:
    import polars as pl

    from unwaver.agree import Agreement
    from unwaver.engine.road import Tested
    from unwaver.tasks import Words

Unreadable = Literal["violate", "skip"]
AGAIN = "run the command of the run again"


@dataclass(frozen=True)
class Loaded:
    """Answers in a table, ready to be scored.

    `frames` has one frame per model of a run folder, or a single frame for a table or log. `groups` holds the
    texts, () if only answers are known. `run` describes where the answers come from, for `Result.run`.
    """

    frames: Sequence[pl.DataFrame]
    groups: Sequence[Group] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    config: Config | None = None  # of a run folder
    place: Path | None = None

    @cached_property
    def frame(self) -> pl.DataFrame:
        import polars as pl

        return pl.concat(self.frames, how="diagonal_relaxed") if len(self.frames) > 1 else self.frames[0]

    def with_theta(self, theta: Sequence[float]) -> Loaded:
        """The same with other θ of C_S@θ; () leaves those of the run."""
        if not theta:
            return self
        import polars as pl

        check_theta(theta)
        frames = [frame.with_columns(theta=pl.lit(list(theta))) for frame in self.frames]
        return replace(self, frames=frames)

    def scored(self, unreadable: Unreadable | None = None, seed: int = 0) -> Result:
        """Score the table. For a run folder, the settings of the run are the defaults."""
        from unwaver.metrics.score import score_frame

        if self.config is not None:
            unreadable, seed = unreadable or self.config.unreadable, self.config.seed
        scores = score_frame(self.frame, unreadable=unreadable or "violate", seed=seed)
        return Result(scores, self.run, self.place, self.frame, self.groups)


def score(
    answers: Any,
    *,
    unreadable: Unreadable | None = None,
    cut: CutMode | None = None,
    seed: int = 0,
    review: Path | str | Sequence[Path | str] | None = None,
    agree: Sequence[str] = (),
    domain: Mapping[str, str] | None = None,
    weights: Literal["published", "renormalised"] = "renormalised",
    theta: Sequence[float] = (),
    stream: bool = False,
    **log_options: Any,
) -> Result:
    """Score existing answers: score("runs/first"), score(frame), score("samples_gsm8k.jsonl").

    `answers` is a run folder; a table in memory (a Polars or pandas frame, columns or rows, with group, kind,
    role, label and, if known, gold); paths of tables or of other tools' logs; or a result. `log_options` are the
    fields of `unwaver.logs.LogOptions`: score("samples_x.jsonl", bucket="doc.problem"). cut="keep" scores answers
    that stopped at the token limit like any others. domain={"mnli": "in", "snli": "out"} averages fooling rates in
    and out of domain; `theta` are the θ of C_S@θ. stream=True scores a .parquet table in bounded memory, and the
    result has no answers.
    """
    from unwaver.engine.answer_options import check_answer_options

    if stream:
        from unwaver.engine.large_table import scored_in_parts

        others = {**log_options, "review": review, "agree": agree, "domain": domain, "theta": theta}
        how: Any = {"cut": cut, "unreadable": unreadable, "seed": seed, "stream": True}
        result = scored_in_parts(_paths(answers), {**others, "weights": weights == "published"}, **how)
        assert result is not None
        return result
    check_answer_options(_paths(answers), review=review, agree=agree, **log_options)
    found = load(answers, cut=cut, review=review, agree=agree, domain=domain, **log_options).with_theta(theta)
    return score_loaded(found, weights, unreadable, seed)


def score_loaded(
    found: Loaded,
    weights: Literal["published", "renormalised"] = "renormalised",
    unreadable: Unreadable | None = None,
    seed: int = 0,
) -> Result:
    if weights == "published":
        found = replace(found, run={**found.run, "weights": weights})
    return found.scored(unreadable, seed)


@rarely_collected()
def load(
    answers: Any,
    *,
    cut: CutMode | None = None,
    review: Path | str | Sequence[Path | str] | None = None,
    agree: Sequence[str] = (),
    domain: Mapping[str, str] | None = None,
    **log_options: Any,
) -> Loaded:
    """The answers of a run folder, of tables or logs, of a table in memory, or of a result."""
    from unwaver.answers.given import complete
    from unwaver.logs import LogOptions, options_from, read_logs

    if isinstance(answers, Result):
        if not (cut or review or agree or domain) and options_from(log_options) == LogOptions():
            return _of_result(answers)
        answers = _folder_of(answers)
    options = options_from(log_options)
    notes: dict[str, list[str]] = {}
    paths = _paths(answers)
    if jobs := [path for path in paths if is_job(path, options.format)]:
        return _of_people(jobs[0], paths, agree)
    if paths:
        place = run_folder(paths, options.format)
        if place is not None:
            found = load_run(place, cut=cut, review=review, agree=agree, domain=domain)
            return _with_test(found, options.test, paths)
        answers, notes = read_logs(paths, options)
    elif options.names_columns:  # a table in memory with columns of its own names
        from unwaver.suites.in_memory import as_file

        answers, notes = read_logs([as_file(answers)], options)
    kept = {"cut": cut} if cut == "keep" else {}
    frame = complete(answers, cut or "exclude")
    if not options.strict and (frame["status"] == "failed").any():
        from unwaver.logs.failed import without_failed

        frame, line = without_failed(frame)
        notes = notes | ({"failed calls": [line]} if line else {})
    if domain:
        from unwaver.answers.domains import check_domains, fooled_sets, with_domains

        check_domains(domain, fooled_sets([frame]))
        frame = with_domains(frame, domain)
    found = Loaded([frame], run={"versions": folder.versions(), **kept, **({"notes": notes} if notes else {})})
    return _with_test(found, options.test, paths)


def is_job(path: Path, format: str = "auto") -> bool:
    """Whether this names a job that people answer: job.toml, or human/job.toml,rater=r1."""
    if format != "auto" or not (".toml" in path.name or path.suffix == ".sqlite"):
        return False
    from unwaver.engine.people_answers import job_named

    return job_named(path) is not None


def _of_people(path: Path, paths: Sequence[Path], agree: Sequence[str]) -> Loaded:
    from unwaver.engine.people_answers import job_named, load_job

    name = job_named(path)
    if len(paths) > 1:
        hint = (
            f"unwaver report {' '.join(map(str, paths))} puts them into one report, unwaver compare into one table"
        )
        raise UsageError(f"{path} is a job of people, which is scored by itself", hint=hint)
    assert name is not None
    return load_job(name, agree)


def _of_result(result: Result) -> Loaded:
    """The answers that a result was computed from: its folder may hold others by now."""
    if result.answers is None:
        return load(_folder_of(result))
    frames = result.answers.partition_by("model", maintain_order=True)
    run = dict(result.run)
    if "config" not in run:
        return Loaded(frames, result.groups, run, None, result.folder)
    run["config"] = json.loads(json.dumps(run["config"], default=str))  # as run.json holds it: lists, no tuples
    return Loaded(frames, result.groups, run, config_from(run, Path(folder.RUN)), result.folder)


def _folder_of(result: Result) -> Path:
    if result.folder is None:
        hint = "give the run folder, or the table or log that was scored"
        raise UsageError("this result is not a run that was saved, so its answers cannot be read", hint=hint)
    return result.folder


def name_of(answers: Any) -> str:
    """How a person knows answers that are given in Python: by their path, if they have one."""
    if isinstance(answers, Result):
        return "result" if answers.folder is None else str(answers.folder)
    return str(answers) if isinstance(answers, str | Path) else "table"


def _with_test(found: Loaded, test: Any, paths: Sequence[Path]) -> Loaded:
    """With answers on the full test set that are in files of their own (--test)."""
    if not test:
        return found
    from unwaver.logs.test_sets import with_test_sets

    return replace(found, frames=with_test_sets([found.frame], test, str(paths[0]) if len(paths) == 1 else ""))


def _paths(answers: Any) -> list[Path]:
    """The given paths; [] if the answers themselves were given."""
    if isinstance(answers, str | Path):
        return [Path(answers)]
    several = isinstance(answers, list | tuple) and all(isinstance(a, str | Path) for a in answers)
    return [Path(a) for a in answers] if several else []


def run_folder(paths: Sequence[Path], format: str = "auto") -> Path | None:
    """The run folder that the paths name, or None if they name tables or logs. With --format auto, any folder is a
    run folder unless it holds other tools' logs."""
    from unwaver.logs import is_log_folder
    from unwaver.logs.foreign import refuse_unfinished

    for path in paths:
        if not path.exists():
            raise DataError(
                "there is no such file or folder", file=path, hint="give a run folder or a table, or logs"
            )
    found = [p for p in paths if (p / folder.RUN).exists() or p.name == folder.RUN]
    if format == "auto":
        strange = [p for p in paths if p.is_dir() and p not in found and not is_log_folder(p)]
        for path in strange:
            refuse_unfinished(path)
        found += strange
    elif format == "run":
        found = list(paths)
    else:
        return None
    if len(paths) > 1 and found:
        raise UsageError(
            f"{found[0]} is a run folder, which cannot be scored together with other files",
            hint="score one run folder at a time",
        )
    return None if not found else found[0] if found[0].is_dir() else found[0].parent


def load_run(
    place: Path,
    *,
    cut: CutMode | None = None,
    review: Path | str | Sequence[Path | str] | None = None,
    agree: Sequence[str] = (),
    domain: Mapping[str, str] | None = None,
) -> Loaded:
    """The answers of a run folder, tabulated again. `review` removes variants that a person judged wrong, `agree`
    replaces the agreements of the run, `cut` its treatment of cut answers, `domain` its domains."""
    from unwaver.engine.road import Evidence, rated

    record = stored.read_run(place)
    config = config_from(record, place / folder.RUN)
    config = replace(config, cut=cut or config.cut, domain=domain or config.domain)
    groups = stored.read_groups(place)
    if domain:
        from unwaver.answers.domains import check_domains

        check_domains(domain, [group.task for group in groups if group.kind == "fooling"])
    words: Words = {_task_and_template(name): found for name, found in record["words"].items()}
    if not (place / folder.ANSWERS).exists():
        raise DataError("the run has no answers", file=place / folder.ANSWERS, hint=stored.INCOMPLETE)
    with closing(Store(place / folder.ANSWERS, read_only=True)) as store:
        linked = store.linked()
        failures = as_records(_failures(linked, record, config, store))
        said = _said(linked, len(record["models"]), store)
    tested = _tested(record, said, stored.read_seen(place))
    if review:
        tested = [replace(one, groups=_without(groups, review, one.answers, words, config)) for one in tested]
    agreements = _agreements(agree, config, groups, place)
    evidence = Evidence(config, groups, words, tested, agreements, _scorers(config), record.get("until"))
    table = rated(evidence, _reading(said[-1], place))
    record |= {"failures": failures, "agreements": table.agreements, "scorers": table.scorers}
    return Loaded(table.frames, groups, folder.shown_record(record, config, place), config, place)


def _task_and_template(name: str) -> tuple[str, str]:
    task, _, template = name.partition("/")
    return task, template


def _said(linked: Sequence[Asked], models: int, store: Store) -> list[Answers]:
    """The answers of each model under test, followed by those of all other models together."""
    keys: list[dict[tuple[str, int], str]] = [{} for _ in range(models + 1)]
    for number, item, replicate, key in linked:
        keys[min(number, models)][item, replicate] = key
    return [answers_of(own, store) for own in keys]


def _tested(record: Mapping[str, Any], said: Sequence[Answers], seen: Mapping[str, list[str]]) -> list[Tested]:
    from unwaver.engine.road import Tested

    *own, others = said
    return [
        Tested(
            model["name"],
            model["method"],
            {**answers, **others},
            model.get("writes"),
            seen.get(str(number), ()),
            form=model.get("form") or "",
        )
        for number, (model, answers) in enumerate(zip(record["models"], own, strict=True))
    ]


def _agreements(agree: Sequence[str], config: Config, groups: Sequence[Group], place: Path) -> list[Agreement]:
    """The agreements given to the command, or else those of the run."""
    from unwaver.agree.comparison import check_same_question, chosen

    found = chosen(agree or config.agree, groups)
    if agree and not found:
        hint = "leave --agree out"
        raise UsageError("--agree has no effect: no answer of this run is free text", file=place, hint=hint)
    for agreement in found:
        check_same_question(agreement, config.agree, place)
    return found


def _scorers(config: Config) -> list[Any]:
    from unwaver.agree.scorers import parse_scorers

    return list(parse_scorers(config.scorers))


def _reading(answers: Answers, place: Path) -> Consult:
    """A `consult` for the road that reads stored replies; it refuses an agreement that the run did not ask."""

    def consult(enquiry: Enquiry) -> Answers:
        was_asked = any((name, 0) in answers for name in enquiry.requests)
        if enquiry.role == "agreement" and enquiry.requests and not was_asked:
            hint = f"{AGAIN} with --agree {enquiry.name}=…: unwaver asks only for these values"
            raise UsageError(f"this run has no values of {enquiry.name}", file=place, hint=hint)
        return answers

    return consult


def _failures(linked: Sequence[Asked], record: Mapping[str, Any], config: Config, store: Store) -> list[Reason]:
    """The reasons of failed calls. Those of the writer come from run.json, because its requests are not items."""
    return [
        *grouped(of_folder(linked, asked_by_number(record, config), store)),
        *(reason for reason in from_records(record.get("failures")) if reason.role == "writer"),
    ]


def failed_calls(place: Path) -> list[Failed]:
    """Every call of a run folder that failed."""
    record = stored.read_run(place)
    config = config_from(record, place / folder.RUN)
    with closing(Store(place / folder.ANSWERS, read_only=True)) as store:
        return of_folder(store.linked(), asked_by_number(record, config), store)


def asked_by_number(record: Mapping[str, Any], config: Config) -> list[tuple[Role, str]]:
    """Role and name of each model that was asked, ordered as its number in the store: see engine.recording."""
    from unwaver.agree.comparison import parse_agreements
    from unwaver.agree.scorers import parse_scorers

    return [
        *(("model", str(model["name"])) for model in record["models"]),
        *(("judge", str(judge["name"])) for judge in record.get("judges") or ()),
        *(("agreement", a.name) for a in parse_agreements(config.agree) if a.model),
        *(("scorer", scorer.name) for scorer in parse_scorers(config.scorers)),
    ]


def _without(
    groups: Sequence[Group],
    review: Path | str | Sequence[Path | str],
    answers: Answers,
    words: Words,
    config: Config,
) -> list[Group]:
    """The groups without variants that a person judged wrong, and without spare variants that were never asked."""
    from unwaver.answers.table import label_reader
    from unwaver.engine.reviews import read_reviews
    from unwaver.groups.review import counting, majority, reviewed, unknown_ids

    verdicts = majority(sheets := read_reviews(review))
    for sheet, own in sheets.items():
        if strange := unknown_ids(groups, own):
            hint = "give the sheet that unwaver review wrote for this run"
            raise DataError(
                f"{len(strange):,} ids of this sheet are not in this run: {strange[0]} …", file=sheet, hint=hint
            )
    told = label_reader(answers, words, config.normalise, cut=config.cut)
    return reviewed(counting(groups, verdicts, lambda item: told(item, 0)), verdicts)
