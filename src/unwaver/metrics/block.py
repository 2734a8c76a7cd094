"""One block of a table – the answers of one model about one suite/task/kind – as NumPy columns.

Metrics read a Block and give one value per group. Rows are answers; a *trial* is one replicate of one group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unwaver.errors import DataError
from unwaver.metrics.wordings import Wordings
from unwaver.state import MISSING, UNREADABLE
from unwaver.stats import Estimate, Floats, Reduce

Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Block(Wordings):
    suite: str
    task: str
    kind: str
    model: str
    method: str
    expect: str
    labels: list[str]  # label of each code
    groups: int
    trials: int
    # one entry per row
    group: Codes
    trial: Codes
    target: Bools  # variant or conclusion, not original
    code: Codes  # -1: no readable label
    right: Floats  # 1, 0 or NaN if the right answer is not known; unreadable is wrong
    gold: pl.Series
    probs: pl.Series
    # one entry per group
    cluster: Codes
    units: Codes  # what intervals resample: clusters, or a row with the items of each group (unwaver.stats.units)
    failed: Bools
    not_asked: Bools
    unreadable: Bools
    empty: Bools
    tool_call: Bools
    truncated: Bools
    not_needed: Bools  # of those not asked: the verdict was certain without them
    refused: Bools
    cut: Bools
    cut_read: Bools  # an answer was cut and could be read
    # one entry per row
    item: pl.Series
    cluster_name: pl.Series
    # one entry per group, NaN if it has none; None if no group has one
    weight: Floats | None = None
    # the same model on the full test set, one group an item
    test: Block | None = None
    keep: int | None = None  # how many certified variants count
    theta: tuple[float, ...] = ()  # of C_S@θ, where others are asked for than the usual ones
    epsilon: float | None = None  # an upper limit of the share of wrong variants
    domain: str | None = None  # in, out: of what the model was trained on
    # one entry per row; None if the table has no such column
    text: pl.Series | None = None
    context: pl.Series | None = None
    embedding_distance: pl.Series | None = None
    right_by: pl.Series | None = None  # how free text was judged
    format: pl.Series | None = None  # whether an answer keeps the format that was asked for
    sequential: bool = False  # how many were asked follows from what was answered
    self_certified: bool = False  # variants count because the model that wrote them says so
    partial: int = 0  # groups that were scored without an answer whose call failed
    # by "agree_<agreement>@<threshold>": in each row its values with all rows of the group, in their order
    agree: Mapping[str, pl.Series] = field(default_factory=dict)
    # by the name of a scorer: whether free text is right, one entry per row
    rated: Mapping[str, pl.Series] = field(default_factory=dict)

    @property
    def complete(self) -> Bools:
        return np.asarray(~np.logical_or.reduce([getattr(self, name) for name in MISSING]))

    @property
    def is_free_text(self) -> bool:
        """Whether answers are texts that were compared or rated."""
        return bool(self.agree or self.rated) or self.right_by is not None

    @property
    def missing(self) -> dict[str, int]:
        """How many groups are not scored because an answer is missing, by why: {"failed": 2, "cut": 0 …}."""
        return {name: int(getattr(self, name).sum()) for name in MISSING}

    def per_group(self, values: Floats | Bools, rows: Bools) -> Floats:
        """The mean of row values over the chosen rows of each group, NaN if a group has none."""
        rows = rows if values.dtype == np.bool_ else rows & ~np.isnan(values)
        places = np.flatnonzero(rows)  # taking by place is three times as fast as by truth
        group = self.group.take(places)
        counts = np.bincount(group, minlength=self.groups)
        sums = np.bincount(group, weights=values.take(places), minlength=self.groups)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts, dtype=np.float64)

    @cached_property
    def first_original(self) -> Codes:
        """The label code of the first original of each trial; -1 unreadable, -2 there is none."""
        codes = np.full(self.trials, -2)
        originals = np.flatnonzero(~self.target)[::-1]  # the first is written last
        codes[self.trial[originals]] = self.code[originals]
        return codes

    @cached_property
    def originals_right(self) -> Bools:
        """Per trial: there is an original, and every one was answered right. Unknown gold is not right."""
        originals = ~self.target
        right = np.zeros(self.trials, dtype=bool)
        right[self.trial[originals]] = True
        right[self.trial[originals & (self.right != 1.0)]] = False
        return right


@dataclass(frozen=True)
class Metric:
    """A value per group, NaN if it does not apply, and how the values are reduced (None: the mean).

    `values` may have several columns of statistics for `reduce`. `skippable`: an unreadable answer violates
    by convention, and the value without such groups is another number that is shown beside it. `known`: the
    value is given, not estimated, and has no interval. `of_test`: the groups are those of `block.test`.
    `any_of`: the share of groups where any of this many variants breaks the relation; it gets bounds where wrong
    variants may be among them. `by_weight` stands for a value that is not a function of sums: it gets a row of
    weights, one a group, for each draw. `each` makes of `values` those whose mean the metric is, where `reduce` is
    not the mean itself but does the same to the mean: such a metric can be asked for with --until. `estimate` is
    what gives value and interval instead of unwaver.stats: estimate(values, units, seed, level). `better` is the
    declaration's (unwaver.Meaning) where it has one.
    """

    name: str
    values: Callable[[Block], Floats]
    better: Literal["low", "high", ""] = ""
    reduce: Reduce | None = None
    given: str | None = None
    share: bool = True
    skippable: bool = False
    known: bool = False
    of_test: bool = False
    any_of: int = 0
    by_weight: Reduce | None = None
    each: Reduce | None = None
    estimate: Callable[[Floats, Codes, int, float], Estimate] | None = None


def block_of(frame: pl.DataFrame, labels: Sequence[str] | None = None) -> Block:
    """The block of a frame (table.SCHEMA) whose rows all have the same suite, task, kind, model, method. `labels`
    are those of the table that it is a part of."""
    is_test = frame["role"] == "test"
    if not is_test.any():
        return _block(frame, None, labels)
    groups = frame.filter(~is_test)
    if groups.is_empty():
        raise DataError("every row has the role test: there is no group", hint="add the rows of the groups")
    return _block(groups, _block(frame.filter(is_test), None))


def _block(frame: pl.DataFrame, test: Block | None, known: Sequence[str] | None = None) -> Block:
    first = frame.row(0, named=True)
    group, groups = codes_of(frame["group"])
    if frame["cluster"].equals(frame["group"]):
        cluster = np.arange(groups)
    else:
        cluster = np.empty(groups, dtype=np.int64)
        cluster[group] = codes_of(frame["cluster"])[0]
    trials, trial = _trials(group, frame["replicate"].to_numpy())
    named = frame["label"].unique().drop_nulls() if known is None else pl.Series(known, dtype=pl.String)
    labels = named.sort()
    code = _lookup(frame["label"], labels)

    def any_row(rows: pl.Series) -> Bools:
        return np.bincount(group[rows.to_numpy()], minlength=groups) > 0

    status = frame["status"]
    missing: dict[str, Any] = {}  # each group under the first reason that it has
    for why in MISSING:
        found = any_row(status.is_in([why, "not_needed"] if why == "not_asked" else [why]))
        missing[why] = found & ~np.logical_or.reduce([np.zeros(groups, bool), *missing.values()])
    return Block(
        **{name: first[name] for name in ("suite", "task", "kind", "model", "method", "expect")},
        labels=labels.to_list(),
        groups=groups,
        trials=trials,
        group=group,
        trial=trial,
        target=(frame["role"] != "original").to_numpy(),
        code=code,
        right=_right(frame),
        gold=frame["gold"],
        probs=frame["probs"],
        cluster=cluster,
        **missing,
        units=_units(frame, group, cluster),
        unreadable=any_row(status.is_in(UNREADABLE)),
        empty=any_row(status == "empty"),
        tool_call=any_row(status == "tool_call"),
        cut_read=any_row(status == "cut_read"),
        truncated=any_row(frame["truncated"]),
        not_needed=any_row(status == "not_needed") & missing["not_asked"],
        item=frame["item"],
        cluster_name=frame["cluster"],
        weight=_weight(frame["weight"], group, groups),
        test=test,
        keep=_greatest(frame, "keep"),
        epsilon=_greatest(frame, "epsilon"),
        domain=_greatest(frame, "domain")
        if "domain" in frame.columns and frame["domain"].n_unique() == 1
        else None,
        theta=tuple(first.get("theta") or ()),
        text=frame["text"] if "text" in frame.columns else None,
        context=frame["context"] if "context" in frame.columns else None,
        embedding_distance=frame["embedding_distance"] if "embedding_distance" in frame.columns else None,
        right_by=frame["right_by"] if "right_by" in frame.columns else None,
        format=frame["format"] if "format" in frame.columns else None,
        sequential="sequential" in frame.columns,
        partial=_partial(frame),
        self_certified="self_certified" in frame.columns and bool(frame["self_certified"].any()),
        agree={
            name: frame[name]
            for name in frame.columns
            if name.startswith("agree_") and frame[name].null_count() < frame.height
        },
        rated={
            name.removeprefix("right_"): frame[name]
            for name in frame.columns
            if name.startswith("right_") and name != "right_by" and frame[name].null_count() < frame.height
        },
    )


def _trials(group: Codes, replicate: Codes) -> tuple[int, Codes]:
    """How many trials there are, and the number of each row's: those that occur, in order of group and replicate,
    so that neither grows with the size of a replicate's number. Where a replicate is not the first, there are more
    trials than groups."""
    groups = int(group.max()) + 1
    if not replicate.any():
        return groups, group
    values, rank = np.unique(replicate, return_inverse=True)
    found, trial = np.unique(group * len(values) + rank, return_inverse=True)
    return max(len(found), groups + 1), trial


def _units(frame: pl.DataFrame, group: Codes, cluster: Codes) -> Codes:
    """The items of each group as numbers, -1 if it has fewer; a group that names none has its cluster."""
    if "units" not in frame.columns or frame["units"].null_count() == frame.height:
        return cluster
    first = np.unique(group, return_index=True)[1]
    own_cluster = pl.concat_list(pl.col("cluster").cast(pl.String))
    names = frame[first].select(pl.coalesce("units", own_cluster)).to_series()
    counts = names.list.len().to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(first)), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    units = np.full((len(first), int(counts.max())), -1, dtype=np.int64)
    units[row, place] = codes_of(names.explode())[0]
    return units


def _greatest(frame: pl.DataFrame, column: str) -> Any:
    return frame[column].max() if column in frame.columns else None


def _partial(frame: pl.DataFrame) -> int:
    if "failed_calls" not in frame.columns:
        return 0
    return frame.filter(pl.col("failed_calls") > 0)["group"].n_unique()


def _weight(column: pl.Series, group: Codes, groups: int) -> Floats | None:
    if column.null_count() == len(column):
        return None
    weight = np.empty(groups)
    weight[group] = column.fill_null(np.nan).to_numpy()
    return weight


def codes_of(column: pl.Series) -> tuple[Codes, int]:
    """Numbers 0, 1, … for the distinct values in order of appearance, and how many there are."""
    runs = column.rle_id().to_numpy().astype(np.int64)
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    if len(starts) == column[starts].n_unique():  # the rows of a group stand together
        return runs, len(starts)
    names = column.unique(maintain_order=True)
    return _lookup(column, names), len(names)


def _lookup(column: pl.Series, names: pl.Series) -> Codes:
    """The place of each value in names, -1 for null."""
    places = pl.DataFrame({"name": names, "place": np.arange(len(names))})
    found = pl.DataFrame({"name": column}).join(places, on="name", how="left", maintain_order="left")["place"]
    return found.fill_null(-1).to_numpy().astype(np.int64, copy=False)


def _right(frame: pl.DataFrame) -> Floats:
    gold, label, right = (frame[name] for name in ("gold", "label", "right"))
    if isinstance(gold.dtype, pl.List):
        found = pl.select(pl.lit(gold).list.contains(pl.lit(label))).to_series()
    else:
        found = gold == label
    known = pl.when(gold.is_not_null()).then(found.fill_null(False).cast(pl.Float64))
    judged = pl.coalesce(right, known).fill_null(float("nan"))
    return pl.select(judged).to_series().to_numpy().astype(np.float64, copy=False)
