"""The first step of a run: choose the groups, open the models, plan the requests, and check all of it. This step
sends no request and writes no file, so errors are reported before they cost anything.

    prepare -> Prepared -> ask -> Asked -> score -> Outcome        (unwaver.engine.runs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwaver.asking.budget import Budget
from unwaver.asking.panel import Panel, Respondent
from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.console import Console
from unwaver.errors import UsageError
from unwaver.groups import is_free_text
from unwaver.groups.many import few, together
from unwaver.models import open_models
from unwaver.models.parts import Parts
from unwaver.suites.select import Selection, select
from unwaver.tasks import T5
from unwaver.types import Group, Model, replace
from unwaver.variants.certifiers import option_of

if TYPE_CHECKING:
    from unwaver.agree import Agreement
    from unwaver.agree.scorers import Scorer
    from unwaver.asking.until import Until

# options that may name files; a run replaces none of them
_INPUTS = (
    "suites", "models", "model_args", "template", "task", "review", "antonyms", "writer", "judges", "encoder",
    "agree", "scorers", "writer_prompt", "bank", "tools", "response_format", "tables",
)  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """The groups of a run, as known before the first request. `review` holds a person's verdicts on variants, from
    a review sheet: id of the variant -> right or wrong."""

    selection: Selection
    groups: Sequence[Group]
    review: Mapping[str, bool]


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start. Only the plans of `panel` and `writer` grow, while a model writes variants."""

    config: Config
    console: Console
    chosen: Chosen
    renderer: Renderer
    panel: Panel
    writer: Respondent | None = None
    agreements: Sequence[Agreement] = ()
    scorers: Sequence[Scorer] = ()
    opened: Mapping[tuple[str, str], Model] = field(
        default_factory=dict
    )  # of ("agreement", "entail"), ("scorer", …)
    until: Until | None = None

    @property
    def groups(self) -> Sequence[Group]:
        return self.chosen.groups

    @property
    def writing(self) -> dict[str, Any]:
        """What run.json says of how the writer is asked."""
        from unwaver.asking.generator import recorded

        return recorded(self.writer.model if self.writer else None, self.config, self.groups)

    @cached_property
    def budget(self) -> Budget:
        return budget_of(self.config)

    @cached_property
    def models(self) -> list[Model]:
        """The models under test."""
        return [respondent.model for respondent in self.panel.tested]

    @cached_property
    def names(self) -> list[str]:
        """Names of the models under test; where two would be headed alike, see unwaver.engine.headings."""
        heads = [(model.name, self.method_of(model)) for model in self.models]
        if len(set(heads)) == len(heads):
            return [name for name, _ in heads]
        from unwaver.engine.headings import told_apart

        return told_apart(heads, [spec for spec in self.config.models for _ in self.config.decode or ("",)])

    def method_of(self, model: Model) -> str:
        """How a model answers, as shown to the user: "logprob, 4-shot"."""
        parts = [model.method]
        if way := Parts(model).decoding:
            parts.append(way)
        if "prompt" in model.reads and self.config.shots:
            parts.append(f"{self.config.shots}-shot")
        if self.config.normalise and model.method == "logprob":
            parts.append("per token")
        if self.form_of(model) == T5:
            parts.append("T5's form")
        return ", ".join(parts)

    def form_of(self, model: Model) -> str:
        return (self.config.form or Parts(model).form) if "prompt" in model.reads else ""

    def writes(self, model: Model) -> str | None:
        """The method for free text, or None if it is the same as for labels."""
        twin = Parts(model).free_text
        return None if twin is None else self.method_of(twin)

    def reviewed(self, groups: Sequence[Group]) -> Sequence[Group]:
        return reviewed(groups, self.chosen.review, self.config)

    def words(self, groups: Sequence[Group]) -> dict[tuple[str, str], tuple[str, ...]]:
        return self.renderer.words(groups, self.models)

    def close(self) -> None:
        """Close every model that was opened."""
        for respondent in [*self.panel.everyone, *([self.writer] if self.writer else [])]:
            respondent.model.close()
        for model in self.opened.values():
            model.close()


def prepare(config: Config, console: Console | None = None, models: Sequence[str | Model] = ()) -> Prepared:
    """Check the configuration and open what a run needs; `models` replaces those of the configuration."""
    config = settle(config, models, console)
    check_place(config)
    given = models or config.models
    if not given:
        raise UsageError("no model given", hint="add --model hf/PATH, openai/NAME or fake/random")
    if config.read != "text":
        from unwaver.answers.extract import reader

        reader(config.read)
    if config.form:
        from unwaver.models.trained import check_form

        check_form(config.form)
    budget_of(config)
    if config.batch_out:
        from unwaver.engine.in_batches import check_batches

        check_batches(config)
    prepared = prepare_asking(config, console, given)
    if config.agree or config.scorers or any(map(is_free_text, few(prepared.groups))):
        from unwaver.engine.consulted import with_consulted

        prepared = with_consulted(prepared)
    if config.until is not None:
        from unwaver.engine.waves import until_of

        prepared = replace(prepared, until=until_of(prepared))
    if config.max_cost is not None or config.pilot is not None:
        from unwaver.engine.forecast import check_costs

        check_costs(prepared)
    return prepared


def settle(config: Config, models: Sequence[str | Model] = (), console: Console | None = None) -> Config:
    """The configuration with what it leaves open about a file of questions: see unwaver.engine.questions."""
    if not config.variants and not any(Path(name).is_file() for name in config.suites):
        return config
    from unwaver.engine.questions import settled

    return settled(config, models, console)


def prepare_asking(config: Config, console: Console | None, models: Sequence[str | Model]) -> Prepared:
    """What `build` needs, too: groups, certifiers and a writer. Without models the certifiers alone are asked."""
    if config.judges:
        from unwaver.variants.certifiers import check_certifiers

        check_certifiers(config.judges)
    speak, writer = console or Console(), _writer(config)
    chosen = choose(config, speak)
    if any(item.tools or item.response_format for group in few(chosen.groups) for item in group.items):
        from unwaver.answers.formats import check

        check(item for group in chosen.groups for item in group.items)
    certifiers = _certifiers(config, chosen)
    tested = open_models(config, models)
    renderer = Renderer(chosen.selection, config)
    if config.base_accuracy or any(suite.base for suite in chosen.selection.suites):
        from unwaver.engine.base_splits import with_base

        chosen = with_base(chosen, config, tested, renderer)
    panel = Panel(tested, certifiers, renderer, config.replicates, config.normalise, config.cut, config.form)
    for respondent in panel.certifiers:
        respondent.option = f"{option_of(respondent.known_as, config.judges)}{respondent.known_as},"
    groups = chosen.groups
    if config.until:
        from unwaver.asking.until import drawn

        groups = drawn(groups, config.seed)
    panel.plan(groups)
    prepared = Prepared(config, speak, chosen, renderer, panel, writer)
    if config != Config(config.suites, config.models):
        from unwaver.engine.no_effect import tell

        tell(prepared)
    return prepared


def check_place(config: Config) -> None:
    from unwaver.engine.folder import check_run
    from unwaver.paths import named_files

    check_run(config.folder, named_files({name: getattr(config, name) for name in _INPUTS}))


def budget_of(config: Config) -> Budget:
    return Budget(config.max_calls, config.max_cost, config.price_in, config.price_out)


# --- groups ---------------------------------------------------------------------------------------------------


def choose(config: Config, console: Console) -> Chosen:
    """The groups that the configuration selects, without variants that a person judged wrong."""
    options, verdicts = _suite_options(config, console), dict[str, bool]()
    selection = select(config.suites, options, limit=config.limit, sample=config.sample, seed=config.seed)
    if config.source or config.bank or config.corrected or config.domain or config.review:
        from unwaver.engine.chosen_with import chosen_with

        selection, verdicts = chosen_with(config, selection, options, console, writes(config))
    if config.tools or config.response_format:
        from unwaver.engine.offered import with_offers

        selection = with_offers(config, selection)
    return Chosen(selection, reviewed(selection.groups, verdicts, config), verdicts)


def _suite_options(config: Config, console: Console) -> dict[str, Any]:
    return {
        "data_dir": Path(config.data_dir).expanduser() if config.data_dir else None,
        "fetch": config.fetch or None,
        "say": console.say,
        "additive": config.additive,
        "additive_cap": config.additive_cap,
        "seed": config.seed,
        "task": config.task,
        "kind": config.kind,
        "labels": config.labels or None,
        "columns": config.columns or None,
        "variants": config.variants or None,
        "writer": config.writer,
        "judges": config.judges or None,
        "k": config.k,
        "encoder": config.encoder,
        "lang": config.lang,
        "antonyms": config.antonyms,
        "message": config.message,
        "source": config.source,
        "bank": config.bank,
        "signs": config.signs,
        "min_score": config.min_score,
        "core_seed": config.core_seed,
        "tables": config.tables or None,
    }


def reviewed(groups: Sequence[Group], verdicts: Mapping[str, bool], config: Config) -> Sequence[Group]:
    """The groups after a review: without wrong variants, and with the assumed share of wrong ones (--epsilon)."""
    if verdicts:
        from unwaver.groups import review

        groups = review.reviewed(groups, verdicts)
    if config.epsilon is not None:
        groups = together(replace(group, epsilon=config.epsilon) for group in groups)
    return groups


# --- who is asked ---------------------------------------------------------------------------------------------


def _certifiers(config: Config, chosen: Chosen) -> dict[str, Model]:
    """The models that certify variants, by the names that items know them by."""
    names = {item.judge for group in few(chosen.groups) for item in group.items if item.judge}
    if not names and not writes(config):
        return {}
    from unwaver.engine.who_certifies import certifiers

    return certifiers(config, chosen, names)


def writes(config: Config) -> bool:
    """Whether a model writes variants."""
    if config.writer is None:
        return False
    from unwaver.variants.paraphrase import is_model

    return is_model(config.writer)


def _writer(config: Config) -> Respondent | None:
    if not writes(config) and config.writer_prompt is None:
        return None
    from unwaver.asking.writing import SETTINGS, check_prompt
    from unwaver.models.helpers import open_writer

    check_prompt(config, writes(config))
    return Respondent(open_writer(config, SETTINGS), option="--writer-arg ")
