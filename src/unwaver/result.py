"""A result: scores with what is needed to repeat them. Prints as a table, in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unwaver.meaning import block_key, leading_of
from unwaver.types import Group, Score

if TYPE_CHECKING:
    import polars as pl

    from unwaver.frames import Frame

VERSION = 1


@dataclass(frozen=True, repr=False)
class Result(Sequence[Score]):
    """Scores, with `run` (how they came about) and `folder`. `answers` and `groups` are what was scored."""

    scores: list[Score]
    run: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    answers: pl.DataFrame | None = field(default=None, compare=False)
    groups: Sequence[Group] = field(default=(), compare=False)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> list[Score]: ...
    def __getitem__(self, index: int | slice) -> Score | list[Score]:
        return self.scores[index]

    def __len__(self) -> int:
        return len(self.scores)

    def find(self, metric: str, **fields: object) -> Score:
        """The one score with this metric and these fields: find("tau", kind="semantic")."""
        wanted = {"given": None, **fields}
        for score in self.scores:
            if score.metric == metric and all(getattr(score, k) == v for k, v in wanted.items()):
                return score
        raise KeyError(f"no score {metric} with {wanted}")

    @property
    def missing(self) -> int:
        """Groups that could not be scored because answers are missing."""
        return sum(s.missing for s in self.leading())

    @property
    def is_complete(self) -> bool:
        """Whether every call has succeeded that was needed, those of judges, agreements and scorers included,
        and gave an answer that was neither cut nor refused."""
        partial = any(score.partial for score in self.scores)
        return not (self.missing or partial or self.missing_verdicts or self.run.get("failures"))

    @property
    def missing_verdicts(self) -> int:
        """Verdicts on free text that models which compare or rate did not give: failed, refused or cut."""
        told = [*self.run.get("agreements", ()), *self.run.get("scorers", ())]
        return sum(one.get(why, 0) for one in told for why in ("failed", "refused", "cut"))

    def document(self) -> dict[str, Any]:
        """What scores.json holds and --json prints."""
        scores = [{**asdict(s), "flags": list(s.flags)} for s in self.scores]
        return {"version": VERSION, "run": dict(self.run), "scores": scores}

    def leading(self) -> list[Score]:
        """One score for each suite/task/kind and model: the number a reader looks for first."""
        return [leading_of(block) for block in self.blocks()]

    def blocks(self) -> Iterator[list[Score]]:
        blocks: dict[tuple[str, ...], list[Score]] = {}
        for s in self.scores:
            blocks.setdefault(block_key(s), []).append(s)
        yield from blocks.values()

    def frame(self) -> Frame:
        """One row for each score, as a Polars frame: result.frame().filter(pl.col("metric") == "tau")."""
        from unwaver.frames import frame_of

        first = ("model", "method", "suite", "task", "kind", "metric", "given", "value", "low", "high", "accuracy")
        return frame_of(self.scores, Score, first)

    def to_pandas(self) -> Any:
        """`frame` as a frame of pandas."""
        return self.frame().to_pandas()

    def broken(self) -> Frame:
        """Every answer of each broken group with its text, the worst group first, as a Polars frame."""
        from unwaver.errors import UsageError
        from unwaver.reports.in_python import broken_frame

        if self.answers is None:
            hint = "unwaver.run and unwaver.score (without stream=True) return results that have them"
            raise UsageError("this result has scores and no answers", hint=hint)
        return broken_frame(self.answers, self.groups)

    def __str__(self) -> str:
        from unwaver.reports.in_python import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return str(self).rstrip() or "no scores"

    def _repr_html_(self) -> str:
        from unwaver.reports.in_python import as_html

        return as_html(self)


def method_names(asked: Iterable[tuple[Hashable, str, str]]) -> dict[tuple[str, str], str]:
    """From (case, model, method), how the answers of a model and method are called: by all methods of the model
    together, unless a case was asked in several ways.

    labels by logprob and free text by generate -> "logprob, generate" for both; one case greedy and sampled ->
    each by its own.
    """
    ways: dict[str, dict[Hashable, dict[str, None]]] = {}
    for case, model, method in asked:
        ways.setdefault(model, {}).setdefault(case, {})[method] = None
    names: dict[tuple[str, str], str] = {}
    for model, cases in ways.items():
        methods = list(dict.fromkeys(method for found in cases.values() for method in found))
        together = all(len(found) == 1 for found in cases.values())
        names |= {(model, method): ", ".join(methods) if together else method for method in methods}
    return names
