"""Opens the models that are consulted about free-text answers: agreements compare them, scorers rate them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from unwaver.agree import Agreement
from unwaver.agree.comparison import QUESTIONS, SAMPLE, asked_about, chosen
from unwaver.agree.scorers import Scorer, parse_scorers
from unwaver.asking.consult import written
from unwaver.asking.panel import check_requests
from unwaver.config import Config
from unwaver.engine.prepare import Prepared
from unwaver.models.helpers import open_consulted
from unwaver.types import Model


def with_consulted(prepared: Prepared) -> Prepared:
    """Add the agreements and scorers of free text. Their models are opened and tried now, so that a missing
    package or file is an error before the first request, not at the end of the run."""
    config = prepared.config
    agreements = chosen(config.agree, prepared.groups)
    opened = {("agreement", a.name): model for a in agreements if (model := _tried(config, a)) is not None}
    scorers = parse_scorers(config.scorers)
    for scorer in scorers:
        opened["scorer", scorer.name] = model = _opened(config, "scorer", scorer, {})
        check_requests(model, [scorer.sample])
    return replace(prepared, agreements=agreements, scorers=scorers, opened=opened)


def _opened(config: Config, role: str, asks: Agreement | Scorer, more: Mapping[str, object]) -> Model:
    return open_consulted(config, asks.model, {**asks.options, **more}, written(role, asks.name))


def _tried(config: Config, agreement: Agreement) -> Model | None:
    """The model of an agreement, opened; None if it has none."""
    if agreement.compare is not None:
        agreement.compare([SAMPLE])
        return None
    samples = [asked_about(agreement)(SAMPLE)]
    if config.compare_questions:
        samples.append(asked_about(agreement, QUESTIONS)(SAMPLE))
    texts = {"texts": [""]} if agreement.needs_texts else {}
    model = _opened(config, "agreement", agreement, texts)
    check_requests(model, samples)
    return model
