"""From answers that are already there to scores: a run folder, a table, another tool's log. No model is asked."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unwaver import __version__
from unwaver.answers.store import Asked, Store
from unwaver.asking.failures import Failed, Reason, Role, as_records, from_records, grouped, of_folder
from unwaver.asking.panel import Answers, answers_of, frame_of
from unwaver.config import Config, as_options, config_from
from unwaver.engine import folder
from unwaver.errors import DataError, UsageError
from unwaver.result import Result
from unwaver.state import CutMode
from unwaver.types import Group

if TYPE_CHECKING:
    import polars as pl


def seen_apart(frame: pl.DataFrame, seen: Sequence[str]) -> pl.DataFrame:
    """Groups that the model was trained on stand apart, as a kind of their own: symmetric -> symmetric_seen."""
    import polars as pl

    from unwaver.models.trained import SUFFIX

    if not seen:
        return frame
    apart = pl.col("group").is_in(list(seen))
    return frame.with_columns(kind=pl.when(apart).then(pl.col("kind") + SUFFIX).otherwise(pl.col("kind")))


def scored(frames: Sequence[pl.DataFrame], record: Mapping[str, Any], config: Config, place: Path) -> Result:
    import polars as pl

    from unwaver.metrics.score import score_frame

    scores = score_frame(pl.concat(frames), unreadable=config.unreadable, seed=config.seed)
    shown = {k: v for k, v in record.items() if k not in ("words", "version")}
    kept = {"cut": config.cut} if config.cut == "keep" else {}
    return Result(scores, {**shown, **kept, "folder": str(place)}, place)


def score(
    answers: Any,
    *,
    unreadable: Literal["violate", "skip"] | None = None,
    cut: CutMode | None = None,
    seed: int = 0,
    review: Path | str | None = None,
    agree: Sequence[str] = (),
    weights: Literal["published", "renormalised"] = "renormalised",
    **log_options: Any,
) -> Result:
    """Score answers that are already there: score("runs/first"), score(frame), score("samples_gsm8k.jsonl").

    `answers` is a run folder; or a table, that is a frame of Polars or pandas, columns, or rows with group, kind,
    role, label and, where known, gold; or the path, or paths, of tables and of other tools' logs. `log_options`
    are the fields of `unwaver.logs.LogOptions`: score("samples_x.jsonl", bucket="doc.problem"). cut="keep" counts
    answers that ended at the token limit as they are.
    """
    from unwaver.logs import options_from

    options = options_from(log_options)
    notes: dict[str, list[str]] = {}
    if paths := _paths(answers):
        place = run_folder(paths, options.format)
        if place is not None:
            return score_folder(place, unreadable=unreadable, cut=cut, review=review, agree=agree)
        from unwaver.logs import read_logs

        answers, notes = read_logs(paths, options)
    from unwaver.answers.table import complete
    from unwaver.metrics.score import score_frame

    frame = complete(answers, cut or "exclude")
    scores = score_frame(frame, unreadable=unreadable or "violate", seed=seed)
    run: dict[str, Any] = {"versions": versions()}
    if cut == "keep":
        run["cut"] = cut
    if weights == "published":
        run["weights"] = weights
    if notes:
        run["notes"] = notes
    return Result(scores, run)


def read_answers(
    path: Path,
    *,
    cut: CutMode | None = None,
    review: Path | str | None = None,
    agree: Sequence[str] = (),
    **log_options: Any,
) -> tuple[pl.DataFrame, dict[str, Any] | None]:
    """The answers of a run folder, with its record, or those of a table or a log of another tool."""
    import polars as pl

    from unwaver.answers.table import complete
    from unwaver.logs import options_from, read_logs

    options = options_from(log_options)
    place = run_folder([path], options.format)
    if place is None:
        return complete(read_logs([path], options)[0], cut or "exclude"), None
    frames, record, _ = read_folder(place, review, agree, cut)
    return pl.concat(frames, how="diagonal_relaxed"), record


def _paths(answers: Any) -> list[Path]:
    """One path or several; [] where the answers themselves were given."""
    if isinstance(answers, str | Path):
        return [Path(answers)]
    several = isinstance(answers, list | tuple) and all(isinstance(a, str | Path) for a in answers)
    return [Path(a) for a in answers] if several else []


def run_folder(paths: Sequence[Path], format: str = "auto") -> Path | None:
    """The run folder that these paths are, if they are one: with --format auto a folder is one unless it holds
    other tools' logs."""
    from unwaver.logs import is_log_folder

    for path in paths:
        if not path.exists():
            raise DataError(
                "there is no such file or folder", file=path, hint="give a run folder or a table, or logs"
            )
    found = [p for p in paths if (p / folder.RUN).exists() or p.name == folder.RUN]
    if format == "auto":
        found += [p for p in paths if p.is_dir() and p not in found and not is_log_folder(p)]
    elif format == "run":
        found = list(paths)
    else:
        return None
    if len(paths) > 1 and found:
        raise UsageError(
            f"{found[0]} is a run folder, which is scored alone", hint="score one run folder at a time"
        )
    return None if not found else found[0] if found[0].is_dir() else found[0].parent


def score_folder(
    place: Path,
    *,
    unreadable: Literal["violate", "skip"] | None = None,
    cut: CutMode | None = None,
    review: Path | str | None = None,
    agree: Sequence[str] = (),
) -> Result:
    """Score the answers in a run folder again, perhaps without the variants that a person has called wrong; no
    model is asked."""
    frames, record, config = read_folder(place, review, agree, cut)
    if unreadable:
        config = Config(**{**as_options(config), "unreadable": unreadable})
    return scored(frames, record, config, place)


def read_folder(
    place: Path, review: Path | str | None = None, agree: Sequence[str] = (), cut: CutMode | None = None
) -> tuple[list[pl.DataFrame], dict[str, Any], Config]:
    record = folder.read_run(place)
    config = config_from(record, place / folder.RUN)
    if cut:
        config = Config(**{**as_options(config), "cut": cut})
    groups = folder.read_groups(place)
    words = {tuple(name.split("/", 1)): w for name, w in record["words"].items()}
    if not (place / folder.ANSWERS).exists():
        raise DataError("the run has no answers", file=place / folder.ANSWERS, hint=folder.INCOMPLETE)
    store = Store(place / folder.ANSWERS, read_only=True)
    frames = []
    keys: dict[int, dict[tuple[str, int], str]] = {}
    linked = store.linked()
    record["failures"] = as_records(_failures(linked, record, config, store))
    for number, item, replicate, key in linked:
        keys.setdefault(min(number, len(record["models"])), {})[item, replicate] = key  # the judges come last
    seen = folder.read_seen(place)
    judged = answers_of(keys.get(len(record["models"]), {}), store)
    for number, model in enumerate(record["models"]):
        found = {**answers_of(keys.get(number, {}), store), **judged}
        own = _without(groups, review, found, words, config) if review else groups
        method, writes = model["method"], model.get("writes")
        frame = frame_of(own, found, words, config, model=model["name"], method=method, writes=writes)
        if record.get("until"):
            from unwaver.asking.until import marked

            frame = marked(frame, record["until"], number, groups)
        frames.append(seen_apart(frame, seen.get(str(number), ())))
    store.close()
    frames, record["agreements"] = _compared_again(frames, groups, agree, config, judged, place)
    frames, record["scorers"] = _rated_again(frames, groups, config, judged)
    return frames, record, config


def _failures(linked: Sequence[Asked], record: Mapping[str, Any], config: Config, store: Store) -> list[Reason]:
    """Why calls failed. Of the writer only the record of the run tells: what it wrote are no items."""
    return [
        *grouped(of_folder(linked, asked_by_number(record, config), store)),
        *(reason for reason in from_records(record.get("failures")) if reason.role == "writer"),
    ]


def failed_calls(place: Path) -> list[Failed]:
    """Every call of a run folder that failed."""
    record = folder.read_run(place)
    config = config_from(record, place / folder.RUN)
    with closing(Store(place / folder.ANSWERS, read_only=True)) as store:
        return of_folder(store.linked(), asked_by_number(record, config), store)


def asked_by_number(record: Mapping[str, Any], config: Config) -> list[tuple[Role, str]]:
    """Who was asked, in the order in which the store counts them: see Run._stores."""
    from unwaver.agree.comparison import parse_agreements
    from unwaver.agree.scorers import parse_scorers

    return [
        *(("model", str(model["name"])) for model in record["models"]),
        *(("judge", str(judge["name"])) for judge in record.get("judges") or ()),
        *(("agreement", a.name) for a in parse_agreements(config.agree) if a.model),
        *(("scorer", scorer.name) for scorer in parse_scorers(config.scorers)),
    ]


def _compared_again(
    frames: list[pl.DataFrame],
    groups: Sequence[Group],
    agree: Sequence[str],
    config: Config,
    judged: Answers,
    place: Path,
) -> tuple[list[pl.DataFrame], list[dict[str, object]]]:
    """By the agreements that are asked for, or else those of the run; from the store where a model was asked."""
    from unwaver.agree.comparison import Comparison, check_same_question, chosen

    summaries = []
    for agreement in chosen(agree or config.agree, groups):
        check_same_question(agreement, config.agree, place)
        comparison = Comparison(agreement, groups, frames)
        if agreement.compare is not None:
            values, lost = comparison.compared(lambda _: None), None
        else:
            values, lost = comparison.read(judged), comparison.lost(judged)
            if comparison.pairs and not comparison.was_asked(judged):
                hint = f"give the command of the run again with --agree {agreement.name}=…: only that is asked"
                raise UsageError(f"this run has no values of {agreement.name}", file=place, hint=hint)
        frames = comparison.frames_with(values)
        summaries.append(comparison.summary(values, lost))
    return frames, summaries


def _rated_again(
    frames: list[pl.DataFrame], groups: Sequence[Group], config: Config, judged: Answers
) -> tuple[list[pl.DataFrame], list[dict[str, object]]]:
    from unwaver.agree.scorers import Rating, parse_scorers

    summaries = []
    for scorer in parse_scorers(config.scorers):
        rating = Rating(scorer, groups, frames)
        frames = rating.frames_with(judged)
        summaries.append(rating.summary(judged))
    return frames, summaries


def _without(
    groups: Sequence[Group],
    review: Path | str,
    answers: Answers,
    words: Mapping[tuple[str, str], Sequence[str]],
    config: Config,
) -> list[Group]:
    """The groups without what a person has called wrong. Variants that were not needed stay out: nobody asked."""
    from unwaver.answers.table import reader
    from unwaver.groups.review import counting, read_sheet, reviewed, unknown_ids

    verdicts = read_sheet(Path(review))
    if strange := unknown_ids(groups, verdicts):
        hint = "give the sheet that unwaver review wrote for this run"
        raise DataError(f"{len(strange):,} of its ids are not in this run: {strange[0]} …", file=review, hint=hint)
    told = reader(answers, words, config.normalise, cut=config.cut)
    return reviewed(counting(groups, verdicts, lambda item: told(item, 0)), verdicts)


def versions() -> dict[str, str]:
    """Versions of what a number may depend on; libraries only where they were used."""
    found: dict[str, str] = {}
    for name in ("numpy", "polars", "scipy", "torch", "transformers", "tokenizers", "httpx"):
        if name in sys.modules:
            found[name] = str(getattr(sys.modules[name], "__version__", "?"))
    return {"unwaver": __version__, "python": platform.python_version(), **found}
