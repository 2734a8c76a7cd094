"""unwaver analyse distance, sizes and entailment: the paraphrases themselves, not answers about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unwaver.cli import completion
from unwaver.cli.analysed import emit, with_interval
from unwaver.cli.options import BANK, DATA_DIR, DEVICE, JSON, LIMIT, PATH, SEED, SOURCE, STORE
from unwaver.cli.sections import option, section, together, verb
from unwaver.errors import UsageError
from unwaver.text.shown import percent

if TYPE_CHECKING:
    from unwaver.asking.consult import Consult
    from unwaver.console import Console
    from unwaver.types import Group

_SUITES = click.argument("suites", nargs=-1, required=True, shell_complete=completion.suites)
_WHICH = together(
    section(
        "What to analyse",
        DATA_DIR.but(type=PATH),
        LIMIT,
        SOURCE,
        BANK,
    )
)
_STORE = STORE.but(help="Keep the models' replies there. [default: do not keep]")


@verb(
    "distance",
    examples=(
        "unwaver analyse distance sample/snli",
        "unwaver analyse distance paranlu --data-dir DIR",
    ),
)
@_SUITES
@_WHICH
@section(
    "How to measure",
    option("--annotations", type=PATH, metavar="FILE", help="Rows with id, tree or vector, and field."),
    option("--dependency", is_flag=True, help="Also compare dependency trees (unwaver's own measure)."),
    option(
        "--agree",
        multiple=True,
        metavar="NAME[=MODEL]",
        shell_complete=partial(completion.names, "agreements"),
        help="Similarity by an agreement: embedding=PATH, bertscore=PATH, entail=hf/PATH. Repeatable.",
    ),
    option(
        "--scorer",
        "scorers",
        multiple=True,
        metavar="NAME=MODEL",
        shell_complete=partial(completion.names, "scorers"),
        help="Similarity by a model of pairs, such as bleurt=PATH. Repeatable.",
    ),
    DEVICE,
    _STORE,
)
@section("Output", JSON)
def distance_command(
    suites: tuple[str, ...],
    annotations: Path | None,
    dependency: bool,
    agree: tuple[str, ...],
    scorers: tuple[str, ...],
    device: str | None,
    store: str | None,
    as_json: bool,
    **which: Any,
) -> None:
    """Measure how far paraphrases are from their originals.

    Distances are lexical, Jaccard and syntactic; similarity is that of embeddings.
    SUITES are suites or files, as for `unwaver run`: paranlu/snli, a groups.jsonl, your own .csv.
    """
    from unwaver.analysis.paraphrases import distances, read_annotations

    groups = _groups(suites, **which)
    found = distances(groups, read_annotations(annotations) if annotations else None)
    if not found:
        raise UsageError("no group has an original and a variant of it", hint="unwaver list suites")
    extra: dict[str, Mapping[str, float | None]] = {}
    if dependency:
        extra["dependency (ours)"] = _mean_by_relation(groups, _dependency_values)
    if agree or scorers:
        with _consulting(store, device, as_json) as (consult, speak):
            extra |= _by_models(groups, agree, scorers, consult, speak)
    header = ("relation", "paraphrases", "lexical", "jaccard", "syntactic", "similarity", *extra)
    rows = [
        (
            d.relation,
            f"{d.paraphrases:,}",
            *map(percent, (d.lexical, d.jaccard, d.syntactic, d.similarity)),
            *(percent(values.get(d.relation)) for values in extra.values()),
        )
        for d in found
    ]
    measures = [{name: values.get(d.relation) for name, values in extra.items()} for d in found]
    document = [{**asdict(d), **({"measures": m} if m else {})} for d, m in zip(found, measures, strict=True)]
    emit({"distances": document}, header, rows, as_json)


@verb("sizes", examples=("unwaver analyse sizes sample/snli",))
@_SUITES
@_WHICH
@section("Output", JSON)
def sizes_command(suites: tuple[str, ...], as_json: bool, **which: Any) -> None:
    """Count problems and paraphrases: mean and standard deviation per problem.

    SUITES are suites or files, as for `unwaver run`.
    """
    from unwaver.analysis.paraphrases import sizes

    found = sizes(_groups(suites, **which))
    if not found:
        raise UsageError("no group has an original or a variant", hint="unwaver list suites")
    header = ("relation", "originals", "paraphrases", "per original", "least", "most")
    rows = [
        (
            s.relation,
            f"{s.originals:,}",
            f"{s.paraphrases:,}",
            f"{s.mean:.1f}" + ("" if s.deviation is None else f" ± {s.deviation:.1f}"),
            f"{s.least}",
            f"{s.most}",
        )
        for s in found
    ]
    emit({"sizes": [asdict(s) for s in found]}, header, rows, as_json)


@verb("entailment", examples=("unwaver analyse entailment sample/snli --model fake/random",))
@_SUITES
@_WHICH
@section(
    "Whom to ask",
    option("--model", required=True, metavar="PROVIDER/NAME", help="NLI model: hf/PATH or any that knows snli."),
    DEVICE,
    _STORE,
    SEED,
)
@section("Output", JSON)
def entailment_command(
    suites: tuple[str, ...],
    model: str,
    device: str | None,
    store: str | None,
    seed: int,
    as_json: bool,
    **which: Any,
) -> None:
    """Measure how often original and paraphrase entail one another.

    An NLI model reads each text that a paraphrase changes, without its context, in both directions.
    Intervals resample problems.
    """
    from unwaver.agree.comparison import parse_agreement
    from unwaver.analysis.by_models import entailment, text_pairs

    pairs = text_pairs(_groups(suites, **which))
    if not pairs:
        raise UsageError("no group has an original and a variant of it", hint="unwaver list suites")
    agreement = parse_agreement(f"bidirectional={model}")
    with _consulting(store, device, as_json) as (consult, speak):
        found = [entailment(name, own, agreement, consult, speak, seed) for name, own in pairs.items()]
    header = ("relation", "texts", "forward", "backward", "both", "95 % interval", "no verdict")
    rows = [
        (
            e.relation,
            f"{e.pairs:,}",
            percent(e.forward),
            percent(e.backward),
            *with_interval(e.both.value, e.both.low, e.both.high),
            f"{e.not_told:,}",
        )
        for e in found
    ]
    document = [{**asdict(e), "both": e.both.value, "low": e.both.low, "high": e.both.high} for e in found]
    emit({"model": model, "entailment": document}, header, rows, as_json)


def _groups(
    suites: Sequence[str], data_dir: Path | None, limit: int | None, source: str | None, bank: str | None
) -> Sequence[Group]:
    from unwaver.suites.select import select

    options = {"data_dir": data_dir, "source": source, "bank": bank}
    groups = select(suites, options, limit=limit).groups
    if source or bank:
        from unwaver.suites.paranlu_automatic import check_source

        check_source(source, bank, groups)
    return groups


@contextmanager
def _consulting(store: str | None, device: str | None, quiet: bool) -> Iterator[tuple[Consult, Console]]:
    """Asks models; what they say is kept in the store, or until the command ends."""
    import tempfile

    from unwaver.cli.agreement_verb import asking
    from unwaver.cli.printing import console

    speak = console(quiet)
    with tempfile.TemporaryDirectory() as place:
        yield asking(store or Path(place) / "replies.sqlite", device, speak), speak


def _by_models(
    groups: Sequence[Group], agree: Sequence[str], scorers: Sequence[str], consult: Consult, speak: Console
) -> dict[str, Mapping[str, float | None]]:
    from unwaver.agree.comparison import parse_agreements
    from unwaver.agree.scorers import parse_scorers
    from unwaver.analysis.by_models import agreed, scored

    found: dict[str, Mapping[str, float | None]] = {}
    for agreement in parse_agreements(agree) if agree else ():
        values = partial(agreed, agreement=agreement, consult=consult, console=speak)
        found[agreement.name] = _mean_by_relation(groups, values)
    for scorer in parse_scorers(scorers):
        found[scorer.name] = _mean_by_relation(groups, partial(scored, scorer=scorer, consult=consult))
    return found


def _dependency_values(pairs: Sequence[Any]) -> list[float | None]:
    from unwaver.analysis.dependencies import dependency_distances

    return dependency_distances([(pair.original, pair.paraphrase) for pair in pairs])


def _mean_by_relation(
    groups: Sequence[Group], values: Callable[[Sequence[Any]], Sequence[float | None]]
) -> dict[str, float | None]:
    """The mean over the texts for which there is a value."""
    from statistics import fmean

    from unwaver.analysis.by_models import text_pairs

    means: dict[str, float | None] = {}
    for relation, pairs in text_pairs(groups).items():
        known = [value for value in values(pairs) if value is not None]
        means[relation] = fmean(known) if known else None
    return means
