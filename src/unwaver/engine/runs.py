"""A run: groups in, answers stored, scores out. `run` is what the command line calls too."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.answers.store import Store
from unwaver.asking.ask import Asker, Plan
from unwaver.asking.claims import claiming
from unwaver.asking.failures import Reason, Role, as_records, grouped, in_words, of_respondents
from unwaver.asking.panel import Answers, Panel, Respondent, answers_of, frame_of
from unwaver.asking.purse import Budget, sharing
from unwaver.asking.render import Renderer
from unwaver.asking.repeats import repeats_note
from unwaver.asking.until import Until, by_case, in_order, marked
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.engine.at_work import at_work
from unwaver.engine.load import scored, seen_apart, versions
from unwaver.engine.recording import Recording
from unwaver.errors import DataError, StoreFull, UsageError
from unwaver.models import open_judge, open_models, open_writer
from unwaver.result import Result
from unwaver.secrets import masked, masked_settings
from unwaver.suites.select import Selection, select
from unwaver.types import Group, Model
from unwaver.variants.judges import SELF, judges_for, parse_judge
from unwaver.variants.paraphrase import is_model

if TYPE_CHECKING:
    import polars as pl

    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer
    from unwaver.asking.audit import Unfinished


COSTS = ("cost_at_most", "cost_expected")


def run(suites: str | Sequence[str], model: str | Model | Sequence[str | Model], **options: Any) -> Result:
    """Ask models about suites and score the answers: run("sample", "fake/random", limit=5).

    A model is "provider/name" or any object with the methods of unwaver.Model. Options are the fields of
    `Config`; `model_args` are those of the model.
    """
    names = (suites,) if isinstance(suites, str) else tuple(suites)
    models = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    config = Config(names, tuple(m if isinstance(m, str) else m.name for m in models), **options)
    return Run(config, models=models).go()


# options that may name files; a run replaces none of them
_INPUTS = (
    "suites", "models", "model_args", "template", "task", "review", "antonyms", "writer", "judges", "encoder",
    "agree", "scorers",
)  # fmt: skip


class Run:
    """One run, step by step; every step is made when it is first asked for."""

    def __init__(self, config: Config, console: Console | None = None, *, models: Sequence[str | Model] = ()):
        self.config = config
        self.console = console or Console()
        self._given = models or config.models
        self._comparers: list[Respondent] = []
        self._unfinished: list[Unfinished] = []  # paraphrases that the writer did not finish

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
            "variants": c.variants or None,
            "writer": c.writer,
            "judges": c.judges or None,
            "k": c.k,
            "encoder": c.encoder,
            "lang": c.lang,
            "antonyms": c.antonyms,
        }
        return select(c.suites, options, limit=c.limit, sample=c.sample, seed=c.seed)

    @cached_property
    def models(self) -> list[Model]:
        return open_models(self.config, self._given)

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self.selection, self.config)

    @cached_property
    def panel(self) -> Panel:
        """The models and the judges, with everything that the groups ask them."""
        for judge in self.config.judges:
            parse_judge(judge)
        groups = self.groups
        names = {i.judge for g in groups for i in g.items if i.judge} - {SELF}
        if is_model(self.config.writer):  # what it writes will be judged
            kinds = {g.kind for g in groups}
            names |= {j.model for k in kinds for j in judges_for(k, self.config.judges) if j.model} - {SELF}
            names |= {f"embedding/{self.config.encoder}"} if self.config.encoder else set()
        judges = {name: open_judge(self.config, name) for name in sorted(names)}
        c = self.config
        panel = Panel(self.models, judges, self.renderer, c.replicates, c.normalise, c.cut)
        if self.config.until:  # a budget may end a wave: what is asked of it must be random, too
            groups = [g for case in by_case(groups).values() for c in in_order(case, self.config.seed) for g in c]
        panel.plan(groups)
        return panel

    @cached_property
    def agreements(self) -> list[Agreement]:
        """How free text is compared; a model that cannot be opened is told before anything is asked."""
        from unwaver.agree.comparison import chosen, try_out

        found = chosen(self.config.agree, self.groups)
        for agreement in found:
            texts = {"texts": [""]} if agreement.needs_texts else {}
            options = {**agreement.options, **texts}
            try_out(agreement, partial(open_judge, self.config, agreement.model, options))
        return found

    @cached_property
    def scorers(self) -> list[Scorer]:
        """Models that say whether free text is right; as above, told before anything is asked."""
        from unwaver.agree.scorers import parse_scorers
        from unwaver.asking.panel import check_requests

        found = parse_scorers(self.config.scorers)
        for scorer in found:
            with closing(open_judge(self.config, scorer.model, scorer.options)) as model:
                check_requests(model, [scorer.sample])
        return found

    @property
    def plans(self) -> list[Plan]:
        """What each model under test is asked."""
        return [respondent.plan for respondent in self.panel.tested]

    @cached_property
    def groups(self) -> list[Group]:
        """Those selected, with what a person has said of their variants."""
        self._check_review()
        return self._reviewed(self.selection.groups)

    def _check_review(self) -> None:
        """A sheet of which nothing is known here belongs to other groups; what a model writes is not known yet."""
        from unwaver.groups.review import unknown_ids

        if not self._verdicts or is_model(self.config.writer):
            return
        strange = unknown_ids(self.selection.groups, self._verdicts)
        if len(strange) == len(self._verdicts):
            hint = "give the sheet that unwaver review wrote for these groups"
            raise DataError(f"none of its ids is known here: {strange[0]} …", file=self.config.review, hint=hint)
        if strange:
            self.console.say(
                f"{self.config.review}: {len(strange):,} verdicts on variants that are not asked here"
            )

    @cached_property
    def _verdicts(self) -> dict[str, bool]:
        from unwaver.groups.review import read_sheet

        return read_sheet(Path(self.config.review)) if self.config.review else {}

    def _reviewed(self, groups: list[Group]) -> list[Group]:
        if self._verdicts:
            from unwaver.groups.review import reviewed

            groups = reviewed(groups, self._verdicts)
        if self.config.epsilon is not None:
            groups = [replace(group, epsilon=self.config.epsilon) for group in groups]
        return groups

    @cached_property
    def writer(self) -> Respondent | None:
        if not is_model(self.config.writer):
            return None
        from unwaver.asking.paraphraser import SETTINGS

        return Respondent(open_writer(self.config, SETTINGS))

    @cached_property
    def until(self) -> Until | None:
        """Who asks no more than a verdict needs; refused where that cannot be."""
        if self.config.until is None:
            return None
        if is_model(self.config.writer):
            hint = "write the variants first (unwaver build), or leave --until out"
            raise UsageError("--until does not work with a model that writes variants", hint=hint)
        return Until(self.config, self.panel, self.groups, self.renderer.words(self.groups), self.console)

    def _check_place(self) -> None:
        from unwaver.outputs import check_run, named_files

        given = {name: getattr(self.config, name) for name in _INPUTS}
        check_run(self.config.folder, named_files(given))

    @property
    def budget(self) -> Budget:
        c = self.config
        return Budget(c.max_calls, c.max_cost, c.price_in, c.price_out)

    def check(self) -> None:
        """Find what is wrong before anything is written or asked."""
        self._check_place()
        if not self._given:
            raise UsageError("no model given", hint="add --model hf/PATH, openai/NAME or fake/random")
        from unwaver.answers.extract import reader

        reader(self.config.read)
        for _ in self.budget, self.panel, self.writer, self.agreements, self.scorers, self.until:
            pass  # each is made, and refused if it cannot be
        if self.config.max_cost is not None:
            from unwaver.engine.forecast import check_costs

            check_costs(self)

    def go(self) -> Result:
        self.check()
        self._warn()
        place = folder.open_folder(self.config.folder, self.config.id)
        with at_work(place):
            folder.open_folder(place, self.config.id)  # nobody else can change it from now on
            return self._go(place)

    def _go(self, place: Path) -> Result:
        panel, writer, until = self.panel, self.writer, self.until
        with self._stores(place) as (asker, recording), ExitStack() as opened:
            record, spent, store = recording.record, asker.spent, asker.store
            for respondent in [*panel.everyone, *([writer] if writer else [])]:
                opened.callback(respondent.model.close)
            try:
                if until:
                    until.ask(asker)
                else:
                    self._ask(asker)
            except StoreFull as full:
                spent.stopped = str(full)
            if writer and recording.has_begun:
                record["hashes"]["groups.jsonl"] = folder.write_groups(place, self.groups)
                record["words"] = self._words()
            frames = [self.frame(respondent, store) for respondent in panel.tested]
            if until:
                record["until"] = until.record(self.names())
                frames = [marked(frame, record["until"], n, self.groups) for n, frame in enumerate(frames)]
            seen = {str(n): self.renderer.seen(self.groups, r.model) for n, r in enumerate(panel.tested)}
            folder.write_seen(place, seen)
            frames = [seen_apart(frame, seen[str(n)]) for n, frame in enumerate(frames)]
            record["certification"] = self._audit(store, place)
            frames = self._rate(self._compare(frames, asker, record), asker, record)
            record["failures"] = as_records(self._failures(store))
            try:
                recording.begin()
            except StoreFull as full:  # the scores are at least shown
                spent.stopped = spent.stopped or str(full)
        record["spent"] = asdict(spent)
        result = scored(frames, record, self.config, place)
        record["versions"].update(versions())  # scoring has brought its libraries in
        _save(result, record, place)
        return result

    def _putter(self, asker: Asker) -> Callable[[Respondent, set[str]], bool]:
        """What asks a model for the answers of some keys, and says whether to go on."""

        def put(respondent: Respondent, keys: set[str]) -> bool:
            with self.console.track(respondent.model.name, len(keys)) as progress:
                return asker.ask(respondent.model, respondent.plan, keys, progress)

        return put

    def _compare(self, frames: list[pl.DataFrame], asker: Asker, record: dict[str, Any]) -> list[pl.DataFrame]:
        """The frames with how far the answers of free text agree; models that compare are asked for it."""
        from unwaver.agree.comparison import Comparison

        record["agreements"] = []
        for agreement in self.agreements:
            comparison = Comparison(agreement, self.groups, frames)
            if agreement.compare is not None:
                with self.console.track(agreement.name, len(comparison.pairs)) as progress:
                    values, lost = comparison.compared(progress), None
            else:
                texts = {"texts": comparison.texts} if agreement.needs_texts else {}
                model = open_judge(self.config, agreement.model, {**agreement.options, **texts})
                said = self._compared(model, agreement.name, comparison.plan, asker)
                values, lost = comparison.read(said), comparison.lost(said)
            frames = comparison.frames_with(values)
            record["agreements"].append(comparison.summary(values, lost))
        return frames

    def _rate(self, frames: list[pl.DataFrame], asker: Asker, record: dict[str, Any]) -> list[pl.DataFrame]:
        """The frames with what models say about free text: is it right?"""
        from unwaver.agree.scorers import Rating

        record["scorers"] = []
        for scorer in self.scorers:
            rating = Rating(scorer, self.groups, frames)
            model = open_judge(self.config, scorer.model, scorer.options)
            said = self._compared(model, scorer.name, rating.plan, asker)
            frames = rating.frames_with(said)
            record["scorers"].append(rating.summary(said))
        return frames

    def _compared(self, model: Model, name: str, plan: Callable[[Respondent], None], asker: Asker) -> Answers:
        """Ask a model about what others have answered, and close it."""
        comparer = Respondent(model, name)
        plan(comparer)
        self._comparers.append(comparer)
        try:
            if not asker.spent.stopped:
                self._putter(asker)(comparer, set(comparer.plan.requests))
        finally:
            comparer.model.close()
        return answers_of(comparer.plan.keys, asker.store)

    def _failures(self, store: Store) -> list[Reason]:
        """Why calls failed, of everyone who was asked."""
        panel, compares = self.panel, {agreement.name for agreement in self.agreements}
        asked: list[tuple[Role, str, Respondent]] = [
            *(("model", name, r) for name, r in zip(self.names(), panel.tested, strict=True)),
            *(("judge", r.judge, r) for r in panel.judges),
            *(("agreement" if r.judge in compares else "scorer", r.judge, r) for r in self._comparers),
            *([("writer", self.writer.model.name, self.writer)] if self.writer else []),  # type: ignore[list-item]
        ]
        return grouped(of_respondents(asked, store))

    def _ask(self, asker: Asker) -> None:
        """Everything that the groups ask; and, where a model writes variants, what it writes and those ask."""
        put, store, spent = self._putter(asker), asker.store, asker.spent
        self.panel.ask(self.groups, store, self.renderer.words(self.groups), put)
        if self.writer and not spent.stopped:
            from unwaver.asking.paraphraser import Written, tries_of

            written = Written(self.writer, self.config, self.panel, self.renderer, store)
            if written.tries < tries_of(self.config):
                self.console.say(
                    f"{self.writer.model.name} writes the same every time: it is asked once an item. "
                    "Sample with --writer-arg temperature=0.6"
                )
            awaiting = {group.id for group in self.groups if len(group.items) == 1}
            for attempt in range(written.tries):
                grown = written.round(attempt, self.groups, awaiting, put)
                if grown is None:
                    break
                self.groups = self._reviewed(grown)
                self.panel.plan(self.groups)
                self.panel.ask(self.groups, store, self.renderer.words(self.groups), put)
            self._unfinished = written.unfinished
            spent.stopped = spent.stopped or written.problem()

    def _audit(self, store: Store, place: Path) -> list[dict[str, Any]]:
        """Write what became of every candidate, and give the summary, if any variant had to be certified."""
        from unwaver.asking.audit import audit, has_candidates, of_groups, summary

        if not any(has_candidates(group) for group in self.groups):
            return []
        records: list[dict[str, Any]] = []
        summaries: list[dict[str, Any]] = []
        for respondent, name in zip(self.panel.tested_or_none, self.names() or [""], strict=True):
            read = self.panel.reads(respondent, store, self.renderer.words(self.groups))[0]
            for case, groups in by_case(self.groups).items():
                judges = judges_for(groups[0].kind, self.config.judges)
                unfinished = of_groups(self._unfinished, groups)
                records += [*audit(groups, read, judges, name), *(u.record(name) for u in unfinished)]
                if any(has_candidates(group) for group in groups):
                    summaries.append({"model": name, "case": case, **summary(groups, read, unfinished)})
        folder.write_audit(place, records)
        return summaries

    def build(self, out: Path) -> tuple[list[Group], list[dict[str, Any]]]:
        """Make the groups, ask the judges if there are any, and write both: no model is tested."""
        asked = {item.judge for group in self.groups for item in group.items}
        asked |= {judge.model for group in self.groups for judge in judges_for(group.kind, self.config.judges)}
        if SELF in asked:
            raise UsageError("entail=self needs a model to test", hint="--judge entail=hf/PATH, or unwaver run")
        panel, writer = self.panel, self.writer
        with ExitStack() as opened:
            if panel.judges or writer:
                store = Store(Path(self.config.store or out.with_suffix(".sqlite")))
                opened.callback(store.close)
                for respondent in [*panel.everyone, *([writer] if writer else [])]:
                    opened.callback(respondent.model.close)
                claims = opened.enter_context(claiming(store, self.console.say))
                asker = Asker(store, claims=claims)
                self._ask(asker)
                for line in in_words(self._failures(store)):
                    self.console.say(line)
                if asker.spent.stopped:
                    hint = "what was answered is kept: give the same command again"
                    raise UsageError(f"not all candidates were judged: {asker.spent.stopped}", hint=hint)
            else:
                store = Store(Path(":memory:"))
                opened.callback(store.close)
            certification = self._audit(store, out.parent)
        folder.write_whole(out, folder.groups_text(self.groups))
        return self.groups, certification

    def dry(self) -> list[dict[str, Any]]:
        """What would be asked, one entry a model; with `out` the groups are written for others to answer."""
        self._check_place()
        if self.config.models:
            self.check()
        groups_file = self._shown_groups(Path(self.config.out)) if self.config.out else None
        if not self.config.models:
            asked = sum(len(g.items) for g in self.groups) * self.config.replicates
            entry: dict[str, Any] = {"model": "(no model)", "groups": len(self.groups), "requests": asked}
            unknown = dict.fromkeys(("unique_requests", "already_answered", "tokens", *COSTS))
            return [{**entry, **unknown, "estimated": [], "groups_file": groups_file}]
        from unwaver.engine.forecast import forecast

        return [{**entry, "groups_file": groups_file} for entry in forecast(self)]

    def _shown_groups(self, place: Path) -> str:
        """Write groups.jsonl for others to answer; that of a finished run stays, with what its writer wrote."""
        folder.open_folder(place, self.config.id)
        if not (place / folder.RUN).exists():
            with at_work(place):
                folder.write_groups(place, self.groups, self.renderer.shown)
        return str(place / folder.GROUPS)

    def record(self, groups_hash: str | None = None) -> dict[str, Any]:
        """What run.json holds: enough to repeat the run and to score it without the model."""
        return {
            "version": folder.RUN_VERSION,
            "id": self.config.id,
            "command": masked_settings(sys.argv),
            "config": masked_settings(asdict(self.config)),
            "models": [
                {**_model_record(n, m), "method": self._method(m), "writes": self._writes(m)}
                for n, m in zip(self.names(), self.models, strict=True)
            ],
            "judges": [_model_record(r.judge, r.model) for r in self.panel.judges],
            "writer": _model_record(self.writer.model.name, self.writer.model) if self.writer else None,
            "notes": self._notes(),
            "words": self._words(),
            "hashes": {"groups.jsonl": groups_hash},
            "versions": versions(),
        }

    def _notes(self) -> dict[str, list[str]]:
        """What a reader must know: of how the groups were made, and of repeats that are none."""
        repeats = [repeats_note(self.groups, model, self.config.replicates) for model in self.models]
        said = zip(self.names(), repeats, strict=True)
        return {**self.selection.notes, **{name: [note] for name, note in said if note}}

    def _words(self) -> dict[str, tuple[str, ...]]:
        return {f"{task}/{template}": w for (task, template), w in self.renderer.words(self.groups).items()}

    def names(self) -> list[str]:
        """Model names, told apart where two are alike."""
        names = [m.name for m in self.models]
        methods = [self._method(m) for m in self.models]
        alike = Counter(zip(names, methods, strict=True))
        specs = [spec for spec in self.config.models for _ in self.config.decode or ("",)]
        return [
            f"{name} ({spec})" if alike[name, method] > 1 else name
            for name, method, spec in zip(names, methods, specs, strict=True)
        ]

    def _method(self, model: Model) -> str:
        parts = [model.method]
        if way := getattr(model, "decoding", ""):
            parts.append(way)
        if "prompt" in model.reads and self.config.shots:
            parts.append(f"{self.config.shots}-shot")
        if self.config.normalise and model.method == "logprob":
            parts.append("per token")
        return ", ".join(parts)

    def _writes(self, model: Model) -> str | None:
        """The method of free text, where it is another."""
        writer = getattr(model, "writer", None)
        return None if writer is None else self._method(writer)

    def _warn(self) -> None:
        c = self.config
        prompting = [o for o, v in (("--template", c.template), ("--shots", c.shots), ("--system", c.system)) if v]
        if c.agree and not self.agreements:
            self.console.say("--agree makes no difference: no answer is free text, all have labels to choose from")
        for model in self.models:
            if prompting and "prompt" not in model.reads:
                self.console.say(f"{model.name} reads no prompt: {', '.join(prompting)} makes no difference to it")
            if note := repeats_note(self.groups, model, self.config.replicates):
                self.console.say(f"{model.name}: {note}")

    @contextmanager
    def _stores(self, place: Path) -> Iterator[tuple[Asker, Recording]]:
        """Who asks, and who writes down what came of it. Answers in a shared store are copied to the run folder at
        the end, whatever the end is."""
        with ExitStack() as opened:
            own = opened.enter_context(closing(Store(place / folder.ANSWERS)))
            shared = opened.enter_context(closing(Store(Path(self.config.store)))) if self.config.store else None
            recording = Recording(
                place,
                own,
                lambda: self.record(folder.write_groups(place, self.groups)),
                lambda: [*self.panel.everyone, *self._comparers],
            )
            try:
                asker = Asker(shared or own, self.budget, arrived=recording.begin)
                if shared:
                    claims = opened.enter_context(claiming(shared, self.console.say))
                    capped = self.budget.max_cost is not None
                    ledger = opened.enter_context(sharing(shared, claims.worker)) if capped else None
                    asker = replace(asker, claims=claims, ledger=ledger)
                yield asker, recording
            finally:
                if recording.has_begun:
                    recording.link()  # variants have been written meanwhile, or answers compared
                if recording.has_begun and shared:
                    asked = [*self.panel.everyone, *self._comparers, *([self.writer] if self.writer else [])]
                    own.copy_from(shared, [key for respondent in asked for key in respondent.plan.requests])

    def frame(self, tested: Respondent, store: Store) -> pl.DataFrame:
        names = dict(zip(map(id, self.models), self.names(), strict=True))
        return frame_of(
            self.groups,
            self.panel.answers(tested, store),
            self.renderer.words(self.groups),
            self.config,
            model=names[id(tested.model)],
            method=self._method(tested.model),
            writes=self._writes(tested.model),
        )


def _model_record(name: str, model: Model) -> dict[str, Any]:
    settings = dict(model.settings)
    if writer := getattr(model, "writer", None):
        settings["free_text"] = dict(writer.settings)
    shown = masked_settings(settings)
    return {"name": name, "identity": masked(model.identity), "method": model.method, "settings": shown}


def _save(result: Result, record: Mapping[str, Any], place: Path) -> None:
    """Write the scores; where the disk is full the answers are safe, and the scores are at least shown."""
    try:
        folder.write_run(place, record)
        folder.write_scores(place, result.document())
    except StoreFull as full:
        record["spent"]["stopped"] = record["spent"]["stopped"] or str(full)
