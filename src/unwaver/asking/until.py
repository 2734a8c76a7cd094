"""`unwaver run … --until "tau<=0.10"`: groups are asked in random order, and no more than the verdict needs.

Answers in free text are compared wave by wave. Each suite/task/kind and model stops by itself. The order of its
clusters follows from the seed alone, and the size of a wave from what was asked before; so a run that was killed
goes on exactly as it would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from unwaver.asking.ask import Asker
from unwaver.asking.panel import Answers, Panel, Respondent
from unwaver.bars import Decision, until_bar
from unwaver.config import Config
from unwaver.console import Console
from unwaver.errors import UsageError, near
from unwaver.groups.clusters import share_items
from unwaver.tasks import Words, spoken
from unwaver.types import Group

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from unwaver.metrics.block import Block
    from unwaver.metrics.score import Measured

WAVE = 16  # groups; later a twentieth of what was asked


def by_case(groups: Sequence[Group]) -> dict[str, list[Group]]:
    cases: dict[str, list[Group]] = {}
    for group in groups:
        cases.setdefault(f"{group.suite}/{group.task}/{group.kind}", []).append(group)
    return cases


def in_order(groups: Sequence[Group], seed: int) -> list[list[Group]]:
    """The clusters of one suite/task/kind in random order: by a hash of seed and name, whatever else is there."""
    clusters: dict[str, list[Group]] = {}
    for group in groups:
        clusters.setdefault(group.cluster or group.id, []).append(group)
    case = f"{groups[0].suite}/{groups[0].task}/{groups[0].kind}"

    def place(name: str) -> bytes:
        return hashlib.sha256(f"{seed}/{case}/{name}".encode()).digest()

    return [clusters[name] for name in sorted(clusters, key=place)]


def drawn(groups: Sequence[Group], seed: int) -> list[Group]:
    """In random order: if a budget ends the run early, those asked so far must be random too."""
    return [g for case in by_case(groups).values() for cluster in in_order(case, seed) for g in cluster]


@dataclass
class Progressing:
    """One suite/task/kind of one model on its way to a decision."""

    case: str
    clusters: list[list[Group]]
    asked: int = 0  # clusters, in order
    decision: Decision = "undecided"
    # for each cluster asked: sums and counts, with the least and the most that missing answers could be worth
    least: list[tuple[float, float]] = field(default_factory=list)
    most: list[tuple[float, float]] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.decision == "undecided" and self.asked < len(self.clusters)

    @property
    def needed(self) -> list[list[Group]]:
        """Without a decision all of them, whether they were asked or not."""
        return self.clusters if self.decision == "undecided" else self.clusters[: self.asked]

    @property
    def groups_asked(self) -> int:
        return sum(map(len, self.clusters[: self.asked]))

    def wave(self) -> list[list[Group]]:
        """The next clusters; about as many groups as make it worth to look again."""
        wanted, chosen = max(WAVE, self.groups_asked // 20), list[list[Group]]()
        for cluster in self.clusters[self.asked :]:
            if sum(map(len, chosen)) >= wanted:
                break
            chosen.append(cluster)
        return chosen


class Compares(Protocol):
    """Who compares the free answers of a wave (unwaver.engine.waves)."""

    def columns(self, frame: pl.DataFrame, groups: Sequence[Group], asker: Asker | None) -> pl.DataFrame:
        """The frame with what agreements say. Without an asker no model is asked."""

    def refuse(self, metric: str) -> None:
        """Raise where this metric cannot be known before everything is asked."""

    def lacking(self, block: Block, metric: str) -> NDArray[np.bool_]:
        """Per group: a model did not compare what this metric needs."""


class Until:
    """Asks the models of a panel until a bar is certainly met or certainly missed."""

    def __init__(
        self,
        config: Config,
        panel: Panel,
        groups: Sequence[Group],
        words: Words,
        console: Console,
        compares: Compares | None = None,
    ):
        assert config.until is not None
        self._compares = compares
        self._config, self._panel, self._words, self._console = config, panel, words, console
        self._bar = until_bar(config.until)
        cases = by_case(groups)
        self._check(cases)
        self._runs = {
            tested: [Progressing(case, in_order(found, config.seed)) for case, found in cases.items()]
            for tested in panel.tested
        }

    def _check(self, cases: Mapping[str, Sequence[Group]]) -> None:
        """Every case must have the metric, as a mean over groups. Seen on a group to which nobody has answered."""
        if self._compares:
            self._compares.refuse(self._bar.metric)
        for case, groups in cases.items():
            if share_items(groups):
                why = f"--until needs independent groups, but the groups of {case} share original items"
                raise UsageError(why, hint="give --additive disjoint, or run without --until")
            usable, known = set[str](), set[str]()
            for found in self._measured(self._frame(groups[:1], {})):
                known.add(found.metric.name)
                if found.mean_of is not None:
                    usable.add(found.metric.name)
            if self._bar.metric in usable:
                continue
            if self._bar.metric in known:
                why = (
                    f"--until: {self._bar.metric} is not the mean of one value per group, so it cannot stop early"
                )
                raise UsageError(f"{why} ({case})", hint="possible here: " + ", ".join(sorted(usable)))
            raise UsageError(f"--until: {case} has no {self._bar.metric}", hint=near(self._bar.metric, usable))

    def _frame(
        self, groups: Sequence[Group], answers: Answers, asker: Asker | None = None, form: str = ""
    ) -> pl.DataFrame:
        from unwaver.answers.table import table_of

        config = self._config
        frame = table_of(
            groups,
            answers,
            spoken(self._words, form),
            model="",
            method="",
            replicates=config.replicates,
            normalise=config.normalise,
            read=config.read,
            cut=config.cut,
        )
        return self._compares.columns(frame, groups, asker) if self._compares else frame

    def _measured(self, frame: pl.DataFrame) -> Iterator[Measured]:
        from unwaver.metrics.block import block_of
        from unwaver.metrics.score import measured

        for found in measured(block_of(frame), self._config.unreadable):
            if found.metric.given is None:
                yield found

    def ask(self, asker: Asker) -> None:
        for tested, runs in self._runs.items():
            with self._console.track(
                f"{tested.model.name} until {self._bar}",
                len(tested.plan.requests) + sum(tested.plan.later.values()),
            ) as progress:

                def put(respondent: Respondent, keys: set[str] | None, progress: Any = progress) -> bool:
                    told = progress if not respondent.known_as else lambda _: None
                    return asker.ask(respondent.model, respondent.plan, keys, told)

                while not asker.spent.stopped and (on_their_way := [run for run in runs if run.is_open]):
                    waves = [run.wave() for run in on_their_way]
                    groups = [group for wave in waves for cluster in wave for group in cluster]
                    self._panel.ask(groups, asker.store, self._words, put, [tested])
                    for run, wave in zip(on_their_way, waves, strict=True):
                        self._look(run, wave, tested, asker)

    def _look(
        self,
        run: Progressing,
        wave: Sequence[Sequence[Group]],
        tested: Respondent,
        asker: Asker,
    ) -> None:
        """Add what a wave has told, as far as it was asked, and see whether that is enough.

        Where the budget cut it short, what was not asked is for another time. Else it has no answer, like a call
        that failed.
        """
        import numpy as np

        from unwaver.stats.sequential import decide, seen

        groups = [group for cluster in wave for group in cluster]
        frame = self._frame(groups, self._panel.answers(tested, asker.store, groups), asker, tested.form)
        found = next(m for m in self._measured(frame) if m.metric.name == self._bar.metric)
        block, of_groups = found.block, found.mean_of
        assert of_groups is not None
        names = frame["group"].unique(maintain_order=True).to_list()
        told = dict(zip(names, range(block.groups), strict=True))
        lacking = ~block.complete
        if self._compares:
            lacking |= np.isnan(of_groups) & self._compares.lacking(block, self._bar.metric)
        not_asked = block.not_asked | (lacking & block.complete)
        for cluster in wave:
            rows = [told[group.id] for group in cluster if group.id in told]
            if asker.spent.stopped and not_asked[rows].any():
                break
            values = of_groups[rows]
            applies, total = int((~np.isnan(values)).sum()), float(np.nansum(values))
            missing = int(lacking[rows].sum())
            run.least.append((total, applies + missing))
            run.most.append((total + missing, applies + missing))
            run.asked += 1
        if run.asked:
            least, most = (seen(*np.array(side, dtype=np.float64).T) for side in (run.least, run.most))
            largest = max(map(len, run.clusters))
            run.decision = decide(
                least, most, self._bar.value, largest, self._config.alpha, at_most=self._bar.at_most
            )

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """What run.json says of it: the verdicts, how far each case was asked, and what was saved."""
        cases = [
            {
                "model": name,
                "number": number,
                "case": run.case,
                "verdict": run.decision,
                "asked": run.groups_asked,
                "groups": sum(map(len, run.clusters)),
                "clusters_asked": run.asked,
                "clusters": len(run.clusters),
            }
            for number, (name, runs) in enumerate(zip(names, self._runs.values(), strict=True))
            for run in runs
        ]
        requests, needed = 0, 0
        for respondent in self._panel.everyone:
            runs = self._runs.get(respondent) or [run for runs in self._runs.values() for run in runs]
            items = [i for run in runs for cluster in run.needed for g in cluster for i in g.items]
            later = respondent.plan.later
            requests += len(respondent.plan.requests) + sum(later.values())
            needed += len(self._panel.keys(respondent, items)) + sum(later.get(item.id, 0) for item in items)
        return {
            "bar": str(self._bar),
            "alpha": self._config.alpha,
            "seed": self._config.seed,
            "requests": requests,
            "saved": requests - needed,
            "cases": cases,
        }


def marked(frame: pl.DataFrame, until: Mapping[str, Any], number: int, groups: Sequence[Group]) -> pl.DataFrame:
    """The answers of one model, those that the verdict did not need taken out and named so.

    If there is no verdict nothing is taken out, but the intervals still have to know of the looking.
    """
    import polars as pl

    needless: list[str] = []
    cases = {case["case"]: case for case in until["cases"] if case["number"] == number}
    for name, found in by_case(groups).items():
        case = cases[name]
        if case["verdict"] != "undecided":
            left = in_order(found, until["seed"])[case["clusters_asked"] :]
            needless += [group.id for cluster in left for group in cluster]
    is_needless = pl.col("group").is_in(needless)
    return frame.with_columns(
        pl.lit(True).alias("sequential"),
        pl.when(is_needless).then(pl.lit("not_needed")).otherwise(pl.col("status")).alias("status"),
        *(pl.when(~is_needless).then(pl.col(name)).alias(name) for name in ("label", "right", "probs")),
    )


def as_lines(until: Mapping[str, Any]) -> list[str]:
    """For a person: each verdict with what it took, and what was saved."""
    said = {"pass": "yes", "fail": "no", "undecided": "undecided"}
    several = len({case["number"] for case in until["cases"]}) > 1
    lines = []
    for case in until["cases"]:
        name = f"{case['case']}{' (' + case['model'] + ')' if several else ''}"
        took = f"after {case['asked']:,} of {case['groups']:,} groups"
        lines.append(f"{name}: {until['bar']}? {said[case['verdict']]}, {took}")
    share = f" ({100 * until['saved'] / until['requests']:.0f} %)" if until["requests"] else ""
    lines.append(
        f"Each verdict is wrong with probability {until['alpha']:g} at most. "
        f"{until['saved']:,} of {until['requests']:,} requests were not needed{share}."
    )
    return lines
