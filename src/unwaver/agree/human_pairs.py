"""Pairs of answers that people have judged, read from a file, and what agreement functions say of them.

    question, a, b, label       and, where they are known: cluster, true, false
    question, a, b, rater1, …   the labels of several people (unwaver.agree.human_raters)
    job.toml                    a job in which people judge pairs, as it stands

`b` may be a list: the best of the alternatives counts. `label` is 0 or 1, or a grade. `cluster` names what is not
independent, the question if not given. By `kind`, people's agreement is told apart. `true` and `false` are
references: with them the accuracy of a pair is the mean of its two answers'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unwaver.agree import Agreement, Pair
from unwaver.agree.comparison import PairList, Values
from unwaver.agree.human_raters import Ratings, common_label, is_missing, rater_columns
from unwaver.answers.references import Referenced, accurate_all, contains
from unwaver.asking.consult import Consult
from unwaver.console import Console
from unwaver.errors import DataError, UsageError, near
from unwaver.files import Row, Where, read_rows, shown
from unwaver.metrics.agreed import notions
from unwaver.metrics.block import Block, block_of
from unwaver.metrics.pairwise import agreeing_shares
from unwaver.metrics.score import partition
from unwaver.stats.human_validity import called_same, confusion_at, corrected
from unwaver.text.rouge import rouge1_of

# the names under which columns are found, the first first; the last are those of the published TruthfulQA pairs
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input"),
    "a": ("a", "answer1", "text1", "sentence1", "output"),
    "b": ("b", "answer2", "text2", "sentence2", "output pp"),
    "label": ("label", "human", "judgement", "score", "consistency score"),
    "cluster": ("cluster",),
    "kind": ("kind",),
    "true": ("true", "accepted"),
    "false": ("false", "rejected"),
}
NEEDED = ("a", "b", "label")


@dataclass(frozen=True)
class JudgedPair:
    question: str
    a: str
    b: tuple[str, ...]  # alternatives
    label: float
    cluster: str
    kind: str = ""
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedPairs:
    pairs: list[JudgedPair]
    empty: int = 0  # left out because one of the texts is empty
    unlabelled: int = 0  # left out because no rater gave a label
    tied: int = 0  # left out because as many raters say 0 as say 1
    raters: tuple[str, ...] = ()  # columns of several people's labels
    ratings: Sequence[tuple[str, Ratings]] = ()  # with the cluster, of every pair that has its texts
    kinds: Sequence[str] = ()  # of the same pairs
    columns: Mapping[str, str] = field(default_factory=dict)

    def to_compare(self, agreement: Agreement) -> Iterable[Pair]:
        """What the agreement has to compare: distinct texts, both directions where these differ."""
        for pair in self.pairs:
            for b in pair.b:
                if pair.a != b or agreement.compares_identical:
                    yield Pair(pair.question, pair.a, b)
                    if not agreement.symmetric:
                        yield Pair(pair.question, b, pair.a)

    @property
    def texts(self) -> list[str]:
        return list(dict.fromkeys(text for pair in self.pairs for text in (pair.a, *pair.b)))

    def compared(self, agreement: Agreement, consult: Consult, console: Console) -> list[Directions]:
        """The values of each pair; `consult` asks the model of the agreement, if it has one."""
        work = PairList(agreement, self.to_compare(agreement), self.texts)
        return self.values(agreement, work.values(consult, console)[0])

    def values(self, agreement: Agreement, values: Values) -> list[Directions]:
        """Of each pair the values of both directions, or the one that there is; of several alternatives those of
        the best."""
        best = max if agreement.better == "high" else min
        found: list[Directions] = []
        for pair in self.pairs:
            told = [_both_ways(pair.question, pair.a, b, agreement, values) for b in pair.b]
            known = [several for several in told if None not in several]
            found.append(best(known, key=lambda several: mean_of_directions(several) or 0.0) if known else (None,))
        return found

    def accuracies(self) -> dict[str, list[float | None]]:
        """By ROUGE-1 where true and false references are known, by containment where only true ones are: of each
        pair the mean of its two answers'. {} where no pair has references."""
        texts = [(pair, text) for pair in self.pairs for text in (pair.a, pair.b[0])]
        closer = accurate_all([Referenced(text, p.true, p.false) for p, text in texts], rouge1_of)
        stands = [contains(text, p.true) if p.true and not p.false else None for p, text in texts]
        named = {"accuracy_rouge1": closer, "accuracy_contains": stands}
        return {name: _means(told) for name, told in named.items() if any(v is not None for v in told)}


Directions = tuple[float | None, ...]  # of a pair: a to b and b to a, or one value where they are the same


def mean_of_directions(several: Directions) -> float | None:
    """One value per pair: the mean of its directions."""
    known = [value for value in several if value is not None]
    return sum(known) / len(known) if len(known) == len(several) else None


def _both_ways(question: str, a: str, b: str, agreement: Agreement, values: Values) -> Directions:
    if a == b and not agreement.compares_identical:
        return (agreement.same,)
    one = values.get(Pair(question, a, b))
    if agreement.symmetric or one is None:
        return (one,)
    other = values.get(Pair(question, b, a))
    if other is None:
        return (None,)
    return (agreement.combine(one, other),) if agreement.combine else (one, other)


def _means(told: Sequence[bool | None]) -> list[float | None]:
    return [
        None if one is None or other is None else (one + other) / 2
        for one, other in zip(told[::2], told[1::2], strict=True)
    ]


def read_pairs(path: Path, columns: Mapping[str, str] | None = None, raters: Sequence[str] = ()) -> JudgedPairs:
    """`columns` say what a column of the file is, where its name does not: {"a": "answer", "label": "verdict"}.
    `raters` are columns with the labels of several people."""
    given = dict(columns or {})
    if strange := [name for name in given if name not in COLUMNS]:
        raise UsageError(f"--column {strange[0]}=… is unknown", hint=near(strange[0], COLUMNS))
    if path.suffix == ".toml":
        rows, raters = _rows_of_job(path, raters)
    else:
        rows = read_rows(path)
    if not rows:
        raise DataError("there are no pairs in it", file=path, hint="give a file with a, b and label in each row")
    has_label = "label" in given or any(name in rows[0].cells for name in COLUMNS["label"])
    people = rater_columns(rows[0], raters, has_label=has_label)
    places = _places(rows[0], given, NEEDED[:-1] if people else NEEDED)
    pairs: list[JudgedPair] = []
    ratings: list[tuple[str, Ratings]] = []
    kinds: list[str] = []
    left_out = {"empty": 0, "unlabelled": 0, "tied": 0}
    for row in rows:
        pair = _pair(row, places)
        if pair is None:
            left_out["empty"] += 1
            continue
        told = tuple(None if is_missing(row.cells.get(c)) else _label(row, c) for c in people)
        if people:
            ratings.append((pair.cluster, told))
            kinds.append(pair.kind)
        label = common_label(told) if people else _label(row, places["label"])
        if label is None:
            left_out["unlabelled" if all(x is None for x in told) else "tied"] += 1
        else:
            pairs.append(replace(pair, label=label))
    if not pairs:
        what = max(left_out, key=lambda why: left_out[why])
        raise DataError(
            f"no pair is left: {_LEFT[what]}", file=path, hint="give pairs of answers that people judged"
        )
    return JudgedPairs(pairs, **left_out, raters=people, ratings=ratings, kinds=kinds, columns=places)


def _rows_of_job(path: Path, raters: Sequence[str]) -> tuple[list[Row], Sequence[str]]:
    """The labels that people gave in a job of pairs, and the columns of those who count. One person's labels are
    in the column label."""
    from unwaver.people.outcome import pair_records, read_judged

    found = read_judged(path, ("pairs",))
    records = pair_records(found)
    people = [found.names[person] for person in found.people]
    if not records:
        hint = f"unwaver annotate {path} serves it"
        raise DataError("nobody has judged a pair in this job yet", file=path, hint=hint)
    rows = [Row(record, Where(str(path), 1)) for record in records]
    if len(people) == 1 and not raters:
        labelled = [r for r in records if r[people[0]] is not None]
        return [Row({**r, "label": r[people[0]]}, Where(str(path), 1)) for r in labelled], ()
    return rows, raters or people


def unjudged_pairs(path: Path) -> list[tuple[str, str, str, str]]:
    """Pairs for people to judge: id, question and two answers. Rows with an empty text are left out."""
    rows = read_rows(path)
    found = []
    for number, row in enumerate(rows, 1):
        pair = _pair(row, _places(row, {}, NEEDED[:-1]))
        if pair is not None:
            found.append((str(row.cells.get("id") or number), pair.question, pair.a, pair.b[0]))
    return found


_LEFT = {
    "empty": "every pair has an empty text",
    "unlabelled": "no rater gave a label",
    "tied": "as many raters say 0 as say 1",
}


def _places(row: Row, given: Mapping[str, str], needed: Sequence[str]) -> dict[str, str]:
    """The column of each field."""
    known = list(row.cells)
    places: dict[str, str] = {}
    for name, others in COLUMNS.items():
        if name in given:
            if given[name] not in known:
                raise row.where.error(f'there is no column "{given[name]}"', near(given[name], known))
            places[name] = given[name]
        elif here := [other for other in others if other in known]:
            places[name] = here[0]
        elif name in needed:
            hint = f"columns here: {', '.join(known)}; say which it is: --column {name}=COLUMN"
            raise row.where.error(f'there is no column "{name}"', hint)
    return places


def _pair(row: Row, places: Mapping[str, str]) -> JudgedPair | None:
    """Without its label. None if a text is empty."""

    def texts(name: str) -> tuple[str, ...]:
        value = row.cells.get(places.get(name, ""))
        found = value if isinstance(value, list) else [value]
        return tuple(str(text).strip() for text in found if text is not None and str(text).strip())

    a, b, question = texts("a"), texts("b"), texts("question")
    if not a or not b:
        return None
    asked = question[0] if question else ""
    cluster = texts("cluster")
    return JudgedPair(
        asked,
        a[0],
        b,
        0.0,
        cluster[0] if cluster else asked or f"{a[0]}\0{b[0]}",
        next(iter(texts("kind")), ""),
        _references(texts("true")),
        _references(texts("false")),
    )


def _references(texts: tuple[str, ...]) -> tuple[str, ...]:
    """One text may hold several, with ";" between them."""
    from unwaver.suites.truthfulqa import references

    return texts if len(texts) > 1 else references(texts[0]) if texts else ()


def _label(row: Row, column: str) -> float:
    found: Any = row.cells.get(column)
    try:
        value = float({"true": "1", "false": "0", "yes": "1", "no": "0"}.get(str(found).strip().lower(), found))
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        hint = "write 1 or 0, or a grade; leave out pairs that nobody has judged"
        raise row.where.error(f'column "{column}": found {shown(found)}, expected a number', hint)
    return value


# --- a run as people would have seen it ---------------------------------------------------------------------


def corrected_run(
    frames: Sequence[pl.DataFrame],
    agreements: Sequence[Agreement],
    values: Mapping[str, Sequence[Directions]],
    judged: JudgedPairs,
    cut: float,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The share of agreeing pairs in the answers of a run, seen and corrected, for each agreement that it was
    compared by."""
    lines = [
        _corrected(block, agreement, notion.threshold, values[agreement.name], judged, cut, seed)
        for block in map(block_of, partition(pl.concat(frames)))
        for agreement in agreements
        if (notion := notions(block).get(agreement.name)) is not None
    ]
    if not lines:
        hint = "unwaver run … --agree with what is validated here"
        raise UsageError("none of these agreements was used in the run", hint=hint)
    return lines


def _corrected(
    block: Block,
    agreement: Agreement,
    threshold: float,
    values: Sequence[Directions],
    judged: JudgedPairs,
    cut: float,
    seed: int,
) -> dict[str, Any]:
    seen, identical = agreeing_shares(block, agreement.name, threshold, agreement.better)
    seen = np.where(block.complete, seen, np.nan)  # as in the scores: no question that lacks an answer
    # identical texts are certain on both sides: the errors are those on texts that differ; the run counts each
    # direction of a pair, so each is compared with the label
    told = [
        (value, pair)
        for pair, several in zip(judged.pairs, values, strict=True)
        if pair.a not in pair.b
        for value in several
        if value is not None
    ]
    table = np.array([value for value, _ in told], dtype=np.float64)
    people = np.array([pair.label >= cut for _, pair in told], dtype=bool)
    errors = confusion_at(table, people, threshold, agreement.better)
    found = corrected(
        seen,
        block.cluster.tolist(),
        called_same(table, threshold, agreement.better),
        people,
        [pair.cluster for _, pair in told],
        identical=identical,
        seed=seed,
    )
    counted = ~np.isnan(seen)
    return {
        "case": f"{block.suite}/{block.task}/{block.kind}",
        "model": block.model,
        "method": block.method,
        "agreement": agreement.name,
        "threshold": threshold,
        "seen": float(seen[counted].mean()) if counted.any() else None,
        "corrected": found.value,
        "low": found.low,
        "high": found.high,
        "reason": found.reason,
        "warning": found.warning,
        "sensitivity": errors.sensitivity,
        "specificity": errors.specificity,
        "questions": int(counted.sum()),
        "judged_pairs": len({id(pair) for _, pair in told}),
    }
