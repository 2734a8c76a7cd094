"""`--test [MODEL=]FILE`: a model's answers on the full test set, added to its answers on the buckets.

    TestSets(["snli_test_set_small.json"]).added_to(frame) -> the frame with rows of the role test, and weights

FILE is a published list of predictions, or a table with label, gold and probs. It says whose it is by its
published name (snli_test_set_MODEL.json) or by a column `model`; MODEL= or PATH= says it if it does not. A test
set of another model is refused: its confidences say nothing about this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from unwaver.answers.columns import Origin, texts
from unwaver.answers.given import complete, read_cells
from unwaver.answers.schema import BLOCK, SCHEMA
from unwaver.answers.weights import TEST, weighted
from unwaver.errors import DataError, UsageError, near
from unwaver.files import shown
from unwaver.groups import SEEN_SUFFIX
from unwaver.logs import paranlu_tests
from unwaver.logs.common import head
from unwaver.tasks.paranlu_names import TASKS


@dataclass(frozen=True)
class TestSet:
    """`whose` is the name before the =; `model` and `task` are what the file says, None if it does not."""

    __test__ = False  # no tests of pytest's

    path: Path
    whose: str
    model: str | None
    task: str | None
    rows: pl.DataFrame

    def fits_task(self, task: str) -> bool:
        return self.task is None or task in (self.task, TASKS.get(self.task))

    def fits_model(self, model: str, path: str) -> bool:
        if self.whose and self.whose not in (model, path, f"{model} ({path})"):
            return False
        # a name on a file is a weaker claim than what the user says; a column is not
        said = self.model if not self.whose or "model" in self.rows.columns else None
        return said is None or said == model


@dataclass
class TestSets:
    """Test sets for one or several tables. Each must be used; `one_model`: all tables are of the same model."""

    __test__ = False

    sets: Sequence[TestSet]
    one_model: bool = False
    _models: list[str] = field(default_factory=list)  # seen so far
    _tasks: list[str] = field(default_factory=list)
    _used: dict[int, str] = field(default_factory=dict)  # number of the set -> whom it serves

    def added_to(self, frame: pl.DataFrame, path: str = "") -> pl.DataFrame:
        """The frame with the test sets of its models, in place of test rows that it has of them."""
        buckets = frame.filter((pl.col("role") != TEST) & (pl.col("expect") == "bucket"))
        cases = buckets.select(BLOCK).unique(maintain_order=True).rows(named=True)
        self._models += [str(c["model"]) for c in cases if c["model"] not in self._models]
        self._tasks += [str(c["task"]) for c in cases if c["task"] not in self._tasks]
        found = [
            (case, one)
            for number, one in enumerate(self.sets)
            if (case := self._case_of(number, one, cases, path)) is not None
        ]
        _check_once([(tuple(case.values()), one) for case, one in found])
        for case, one in found:
            frame = _joined(frame, case, one)
        return weighted(frame) if found else frame

    def _case_of(
        self, number: int, one: TestSet, cases: Sequence[dict[str, Any]], path: str
    ) -> dict[str, Any] | None:
        own = [c for c in cases if one.fits_task(str(c["task"])) and one.fits_model(str(c["model"]), path)]
        if any(not str(c["kind"]).endswith(SEEN_SUFFIX) for c in own):
            own = [c for c in own if not str(c["kind"]).endswith(SEEN_SUFFIX)]
        if not own:
            return None
        served = f"{own[0]['model']}" + ("" if self.one_model else f" ({path})")
        before = self._used.setdefault(number, served)
        if len(own) > 1 or before != served:
            others = [f"{c['model']}, {c['task']}/{c['kind']}, {c['method']}" for c in own]
            both = " and ".join(others[:2] if len(own) > 1 else (before, served))
            hint = "say whose it is: --test MODEL=FILE, or --test PATH=FILE; several tasks need a column task"
            raise UsageError(f"this test set may belong to {both}", file=one.path, hint=hint)
        return own[0]

    def check_used(self) -> None:
        """Refuse a test set that no model here owns."""
        for number, one in enumerate(self.sets):
            if number not in self._used:
                raise self._refused(one)

    def _refused(self, one: TestSet) -> DataError | UsageError:
        models = ", ".join(self._models) or "no buckets"
        if not any(map(one.fits_task, self._tasks)) and self._tasks:
            first = shown(one.rows["item"][0]) if "item" in one.rows.columns else f"a test set of {one.task}"
            message = f"found {first} among problems of {', '.join(self._tasks)}"
            return DataError(message, hint="give the test set of the same task", file=one.path)
        if one.whose and one.whose not in self._models:
            hint = near(one.whose, self._models)
            return UsageError(f"--test {one.whose}=…: no model and no path has this name", hint=hint)
        hint = "give the test set of the same model: the weights come from its own confidences"
        if not one.whose and self._models:
            hint += f"; if it is the same model under another name: --test {self._models[0]}={one.path}"
        return DataError(f"a test set of {one.model}, expected one of {models}", hint=hint, file=one.path)


@contextmanager
def shared_test_sets(given: Any, *, one_model: bool = False) -> Iterator[TestSets]:
    """The test sets for several tables; what no table used is refused in the end."""
    found = open_test_sets(given, one_model)
    yield found
    found.check_used()


def open_test_sets(given: Any, one_model: bool = False) -> TestSets:
    """ "a.json", Path("a.json"), ["small=a.json", …] or None -> TestSets"""
    if given is None or isinstance(given, str | Path):
        given = [] if given is None else [given]
    return TestSets([_opened(str(text)) for text in given], one_model)


def with_test_sets(frames: Iterable[pl.DataFrame], given: Any, path: str = "") -> list[pl.DataFrame]:
    """The frames with these test sets, which are used up, or with those of a TestSets that others use too."""
    sets = given if isinstance(given, TestSets) else open_test_sets(given)
    found = [sets.added_to(frame, path) for frame in frames]
    if sets is not given:
        sets.check_used()
    return found


def _opened(text: str) -> TestSet:
    whose, path = _parted(text)
    if not path.is_file():
        hint = "a file of the same model's answers on the test set: --test FILE, or --test MODEL=FILE"
        raise DataError("there is no such file", file=path, hint=hint)
    if paranlu_tests.looks_like(path) or head(path).lstrip().startswith('{"'):  # problems are no test set
        task, rows = paranlu_tests.read(path)
        return TestSet(path, whose, paranlu_tests.model_named_by(path), task, rows)
    rows = _table(path)
    return TestSet(path, whose, _only(rows, "model", path), _only(rows, "task", path), rows)


def _parted(text: str) -> tuple[str, Path]:
    """ "small=a.json" -> ("small", a.json); "a=b.json" is a file if there is one of that name."""
    if "=" not in text or Path(text).is_file():
        return "", Path(text)
    places = [n for n, sign in enumerate(text) if sign == "="]
    place = next((n for n in places if Path(text[n + 1 :]).is_file()), places[0])
    return text[:place], Path(text[place + 1 :])


def _table(path: Path) -> pl.DataFrame:
    """label, gold and probs of a table; the rest, where it is there."""
    cells = read_cells(path, required=("label", "gold"))
    if "role" in cells.columns:
        role = texts(cells["role"], Origin(str(path)))
        cells = cells.filter(role.is_null() | (role == TEST))
    if cells.is_empty():
        hint = "rows with label, gold and probs, and the role test if there is a column role"
        raise DataError("there is no row of a test set", file=path, hint=hint)
    names = [name for name in ("model", "task", "replicate") if name in cells.columns]
    named = next((cells[n] for n in ("item", "group", "id") if n in cells.columns), None)
    ids = None if named is None else texts(named, Origin(str(path)))
    numbers = pl.Series([f"test/{n}" for n in range(cells.height)])
    rows = complete(
        cells.select("label", "gold", *(["probs"] if "probs" in cells.columns else []), *names).with_columns(
            kind=pl.lit("bucket"), role=pl.lit(TEST), group=numbers if ids is None else ids.fill_null(numbers)
        )
    )
    found = rows.select("label", "gold", "probs", "status", "replicate", *{"model", "task"} & set(names), "group")
    return found.with_columns(item=pl.col("group"))


def _only(rows: pl.DataFrame, column: str, path: Path) -> str | None:
    if column not in rows.columns:
        return None
    found = rows[column].unique(maintain_order=True).to_list()
    if len(found) > 1:
        message = f'column "{column}": found {found[0]} and {found[1]}, expected one {column} in a test set'
        raise DataError(message, hint=f"give one file for each {column}", file=path)
    return str(found[0])


def _check_once(found: Sequence[tuple[tuple[Any, ...], TestSet]]) -> None:
    seen: dict[tuple[Any, ...], TestSet] = {}
    for case, one in found:
        if case in seen:
            message = f"a second test set for {case[3]}, after {seen[case].path}"
            raise UsageError(message, file=one.path, hint="give one test set for each model and task")
        seen[case] = one


def _joined(frame: pl.DataFrame, case: dict[str, Any], one: TestSet) -> pl.DataFrame:
    """The frame with the rows of a test set in the block `case`, whose weights are to be made again."""
    plain = case["kind"].removesuffix(SEEN_SUFFIX)
    own = pl.all_horizontal(pl.col(n) == case[n] for n in BLOCK if n != "kind") & pl.col("kind").is_in(
        [plain, plain + SEEN_SUFFIX]
    )
    kept = frame.filter(~(own & (pl.col("role") == TEST)))
    kept = kept.with_columns(
        pl.when(own).then(None).otherwise(pl.col("weight")).alias("weight"),
        pl.col("group").cast(pl.String),
        pl.col("cluster").cast(pl.String),
    )
    constant = {**case, "expect": "bucket", "role": TEST, "truncated": False}
    rows = one.rows.drop("model", "task", strict=False)
    rows = rows.with_columns(**{name: pl.lit(value) for name, value in constant.items()})
    rows = rows.with_columns(pl.col("group").alias("cluster"))
    missing = [name for name in SCHEMA if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in missing)
    return pl.concat([_with_gold_lists(kept), _with_gold_lists(rows.select(list(SCHEMA)))], how="diagonal_relaxed")


def _with_gold_lists(frame: pl.DataFrame) -> pl.DataFrame:
    if isinstance(frame.schema["gold"], pl.List):
        return frame
    gold = pl.when(pl.col("gold").is_not_null()).then(pl.concat_list("gold").cast(pl.List(pl.String)))
    return frame.with_columns(gold.alias("gold"))
