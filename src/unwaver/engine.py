"""A run: groups in, answers stored, scores out. `run` and `score` are what the command line calls too."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unwaver import __version__, folder
from unwaver.ask import Budget, Plan, Progress, Spent, ask, make_plan
from unwaver.config import Config, as_options, config_from
from unwaver.errors import DataError, StoreFull, UsageError
from unwaver.models import open_models
from unwaver.render import Renderer
from unwaver.result import Result
from unwaver.select import Selection, select
from unwaver.store import Store
from unwaver.types import Answer, Group, Model, Request

if TYPE_CHECKING:
    import polars as pl


def _silent(_: str) -> None:
    pass


def _untracked(_what: str, _total: int) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _: None)


@dataclass(frozen=True)
class Console:
    """How a run speaks to a person: `say` a line, `track` work of a known size. Silent by default."""

    say: Callable[[str], None] = _silent
    track: Callable[[str, int], AbstractContextManager[Progress]] = _untracked


def run(suites: str | Sequence[str], model: str | Model | Sequence[str | Model], **options: Any) -> Result:
    """Ask models about suites and score the answers: run("sample", "fake/random", limit=5).

    A model is "provider/name" or any object with the methods of unwaver.Model. Options are the fields of
    `Config`; `model_args` are those of the model.
    """
    names = (suites,) if isinstance(suites, str) else tuple(suites)
    models = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    config = Config(names, tuple(m if isinstance(m, str) else m.name for m in models), **options)
    return Run(config, models=models).go()


class Run:
    """One run, step by step; every step is made when it is first asked for."""

    def __init__(self, config: Config, console: Console | None = None, *, models: Sequence[str | Model] = ()):
        self.config = config
        self.console = console or Console()
        self._given = models or config.models

    @cached_property
    def selection(self) -> Selection:
        c = self.config
        options = {
            "data_dir": Path(c.data_dir).expanduser() if c.data_dir else None,
            "fetch": c.fetch or None,
            "say": self.console.say,
            "additive": c.additive,
            "additive_cap": c.additive_cap,
            "seed": c.seed,
            "task": c.task,
            "kind": c.kind,
            "labels": c.labels or None,
            "columns": c.columns or None,
        }
        return select(c.suites, options, limit=c.limit, sample=c.sample, seed=c.seed)

    @cached_property
    def models(self) -> list[Model]:
        return open_models(self.config, self._given)

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self.selection, self.config)

    @cached_property
    def plans(self) -> list[Plan]:
        plans = [make_plan(self.selection.groups, m, self.renderer, self.config.replicates) for m in self.models]
        for model, plan in zip(self.models, plans, strict=True):
            if check := getattr(model, "check", None):
                check(list(plan.requests.values()))
        return plans

    @property
    def budget(self) -> Budget:
        c = self.config
        return Budget(c.max_calls, c.max_cost, c.price_in, c.price_out)

    def go(self) -> Result:
        budget, groups, plans = self.budget, self.selection.groups, self.plans  # fail before anything is written
        self._warn()
        place = folder.open_folder(self.config.folder, self.config.id)
        groups_hash = folder.write_groups(place, groups)
        record = self.record(groups_hash)
        folder.write_run(place, record)
        spent = Spent()
        with self._stores(place, plans) as store, ExitStack() as opened:
            for model in self.models:
                opened.callback(model.close)
            try:
                for model, plan in zip(self.models, plans, strict=True):
                    with self.console.track(model.name, len(plan.requests)) as progress:
                        ask(model, plan, store, budget=budget, spent=spent, progress=progress)
            except StoreFull as full:
                spent.stopped = str(full)
            frames = [self._frame(m, p, store) for m, p in zip(self.models, plans, strict=True)]
        record["spent"] = asdict(spent)
        result = scored(frames, record, self.config, place)
        record["versions"].update(versions())  # scoring has brought its libraries in
        _save(result, record, place)
        return result

    def dry(self) -> list[dict[str, Any]]:
        """What would be asked, one entry a model; with `out` the groups are written for others to answer."""
        groups_file = None
        if self.config.out:
            place = folder.open_folder(Path(self.config.out), self.config.id)
            folder.write_groups(place, self.selection.groups, self.renderer.shown)
            groups_file = str(place / folder.GROUPS)
        if not self.config.models:
            return [self._dry_entry("(no model)", None, None, groups_file)]
        return [
            self._dry_entry(name, model, plan, groups_file)
            for name, model, plan in zip(self._names(), self.models, self.plans, strict=True)
        ]

    def _dry_entry(
        self, name: str, model: Model | None, plan: Plan | None, groups_file: str | None
    ) -> dict[str, Any]:
        items = sum(len(g.items) for g in self.selection.groups)
        entry: dict[str, Any] = {
            "model": name,
            "groups": len(self.selection.groups),
            "requests": items * self.config.replicates,
            "unique_requests": None,
            "already_answered": None,
            "tokens": None,
            "cost": None,
            "estimated": [],
            "groups_file": groups_file,
        }
        if plan and model:
            requests = list(plan.requests.values())
            entry["unique_requests"] = len(requests)
            entry["already_answered"] = self._already_answered(plan)
            tokens, entry["estimated"] = estimated_tokens(model, requests)
            entry["tokens"] = tokens
            if self.budget.has_prices:
                written: Any = model.settings.get("max_tokens") or 0
                entry["cost"] = self.budget.cost(tokens, int(written) * len(requests))
                entry["estimated"].append("cost")
        return entry

    def _already_answered(self, plan: Plan) -> int:
        path = Path(self.config.store) if self.config.store else self.config.folder / folder.ANSWERS
        if not path.exists():
            return 0
        store = Store(path, read_only=True)
        try:
            return len(store.answered(plan.requests))
        finally:
            store.close()

    def record(self, groups_hash: str | None = None) -> dict[str, Any]:
        """What run.json holds: enough to repeat the run and to score it without the model."""
        return {
            "version": folder.RUN_VERSION,
            "id": self.config.id,
            "command": sys.argv,
            "config": asdict(self.config),
            "models": [
                {"name": n, "identity": m.identity, "method": self._method(m), "settings": dict(m.settings)}
                for n, m in zip(self._names(), self.models, strict=True)
            ],
            "notes": self.selection.notes,
            "words": {f"{task}/{template}": w for (task, template), w in self.renderer.words.items()},
            "hashes": {"groups.jsonl": groups_hash},
            "versions": versions(),
        }

    def _names(self) -> list[str]:
        """Model names, told apart where two are alike."""
        names = [m.name for m in self.models]
        twice = {n for n, count in Counter(names).items() if count > 1}
        return [f"{n} ({spec})" if n in twice else n for n, spec in zip(names, self.config.models, strict=True)]

    def _method(self, model: Model) -> str:
        parts = [model.method]
        if "prompt" in model.reads and self.config.shots:
            parts.append(f"{self.config.shots}-shot")
        if self.config.normalise and model.method == "logprob":
            parts.append("per token")
        return ", ".join(parts)

    def _warn(self) -> None:
        c = self.config
        prompting = [o for o, v in (("--template", c.template), ("--shots", c.shots), ("--system", c.system)) if v]
        for model in self.models:
            if prompting and "prompt" not in model.reads:
                self.console.say(f"{model.name} reads no prompt: {', '.join(prompting)} makes no difference to it")
            if self.config.replicates > 1 and model.deterministic:
                self.console.say(
                    f"{model.name} answers the same every time ({model.method}): --replicates "
                    f"{self.config.replicates} asks it for nothing new. Sample with --model-arg temperature=0.7"
                )

    @contextmanager
    def _stores(self, place: Path, plans: Sequence[Plan]) -> Iterator[Store]:
        """The store to ask into. A shared one is copied to the run folder at the end, whatever the end is."""
        own = Store(place / folder.ANSWERS)
        own.link(
            (number, item, replicate, key)
            for number, plan in enumerate(plans)
            for (item, replicate), key in plan.keys.items()
        )
        if not self.config.store:
            try:
                yield own
            finally:
                own.close()
            return
        shared = Store(Path(self.config.store))
        try:
            yield shared
        finally:
            own.copy_from(shared, [key for plan in plans for key in plan.requests])
            shared.close()
            own.close()

    def _frame(self, model: Model, plan: Plan, store: Store) -> pl.DataFrame:
        names = dict(zip(map(id, self.models), self._names(), strict=True))
        found = answers_of(plan.keys, store)
        return frame_of(
            self.selection.groups,
            found,
            self.renderer.words,
            self.config,
            model=names[id(model)],
            method=self._method(model),
        )


def estimated_tokens(model: Model, requests: Sequence[Request]) -> tuple[int, list[str]]:
    """Prompt tokens, counted by the model's own tokeniser or else estimated at four characters each."""
    if count := getattr(model, "count_tokens", None):
        return count(requests), []
    characters = sum(len(r.prompt) + sum(map(len, r.segments)) for r in requests)
    return characters // 4, ["tokens"]


def answers_of(keys: Mapping[tuple[str, int], str], store: Store) -> dict[tuple[str, int], Answer]:
    found: dict[str, Answer] = store.answers(set(keys.values()))
    missing = [k for k in set(keys.values()) if k not in found]
    found.update((key, Answer(error=error)) for key, error in store.failures(missing).items())
    return {place: found[key] for place, key in keys.items() if key in found}


def frame_of(
    groups: Sequence[Group],
    answers: Mapping[tuple[str, int], Answer],
    words: Mapping[tuple[str, str], Sequence[str]],
    config: Config,
    *,
    model: str,
    method: str,
) -> pl.DataFrame:
    from unwaver.table import table_of

    return table_of(
        groups,
        answers,
        words,
        model=model,
        method=method,
        replicates=config.replicates,
        normalise=config.normalise,
    )


def scored(frames: Sequence[pl.DataFrame], record: Mapping[str, Any], config: Config, place: Path) -> Result:
    import polars as pl

    from unwaver.scoring import score_frame

    scores = score_frame(pl.concat(frames), unreadable=config.unreadable, seed=config.seed)
    shown = {k: v for k, v in record.items() if k not in ("words", "version")}
    return Result(scores, {**shown, "folder": str(place)}, place)


def score(
    answers: Any,
    *,
    unreadable: Literal["violate", "skip"] | None = None,
    seed: int = 0,
    weights: Literal["published", "renormalised"] = "renormalised",
    **log_options: Any,
) -> Result:
    """Score answers that are already there: score("runs/first"), score(frame), score("samples_gsm8k.jsonl").

    `answers` is a run folder; or a table, that is a frame of Polars or pandas, columns, or rows with group, kind,
    role, label and, where known, gold; or the path, or paths, of tables and of other tools' logs. `log_options`
    are the fields of `unwaver.logs.LogOptions`: score("samples_x.jsonl", bucket="doc.problem").
    """
    from unwaver.logs import options_from

    options = options_from(log_options)
    notes: dict[str, list[str]] = {}
    if paths := _paths(answers):
        place = run_folder(paths, options.format)
        if place is not None:
            return score_folder(place, unreadable=unreadable)
        from unwaver.logs import read_logs

        answers, notes = read_logs(paths, options)
    from unwaver.scoring import score_frame
    from unwaver.table import complete

    scores = score_frame(complete(answers), unreadable=unreadable or "violate", seed=seed)
    run: dict[str, Any] = {"versions": versions()}
    if weights == "published":
        run["weights"] = weights
    if notes:
        run["notes"] = notes
    return Result(scores, run)


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


def score_folder(place: Path, *, unreadable: Literal["violate", "skip"] | None = None) -> Result:
    """Score the answers in a run folder again; no model is asked."""
    frames, record, config = read_folder(place)
    if unreadable:
        config = Config(**{**as_options(config), "unreadable": unreadable})
    return scored(frames, record, config, place)


def read_folder(place: Path) -> tuple[list[pl.DataFrame], dict[str, Any], Config]:
    record = folder.read_run(place)
    config = config_from(record, place / folder.RUN)
    groups = folder.read_groups(place)
    words = {tuple(name.split("/", 1)): w for name, w in record["words"].items()}
    if not (place / folder.ANSWERS).exists():
        raise DataError("the run has no answers", file=place / folder.ANSWERS, hint=folder.INCOMPLETE)
    store = Store(place / folder.ANSWERS, read_only=True)
    frames = []
    keys: dict[int, dict[tuple[str, int], str]] = {}
    for number, item, replicate, key in store.linked():
        keys.setdefault(number, {})[item, replicate] = key
    for number, model in enumerate(record["models"]):
        found = answers_of(keys.get(number, {}), store)
        frames.append(frame_of(groups, found, words, config, model=model["name"], method=model["method"]))
    store.close()
    return frames, record, config


def _save(result: Result, record: Mapping[str, Any], place: Path) -> None:
    """Write the scores; where the disk is full the answers are safe, and the scores are at least shown."""
    try:
        folder.write_run(place, record)
        folder.write_scores(place, result.document())
    except StoreFull as full:
        record["spent"]["stopped"] = record["spent"]["stopped"] or str(full)


def versions() -> dict[str, str]:
    """Versions of what a number may depend on; libraries only where they were used."""
    found: dict[str, str] = {}
    for name in ("numpy", "polars", "scipy", "torch", "transformers", "tokenizers", "httpx"):
        if name in sys.modules:
            found[name] = str(getattr(sys.modules[name], "__version__", "?"))
    return {"unwaver": __version__, "python": platform.python_version(), **found}
