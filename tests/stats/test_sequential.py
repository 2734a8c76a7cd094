"""Verdicts that hold at any time: the price of every bet is fair, and simulated runs are wrong no more than they may."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from unwaver.asking.until import WAVE
from unwaver.stats.sequential import FRACTIONS, Seen, by_cluster, decide, interval, log_capital, seen

ALPHA = 0.05


def capital(hits: int, n: int, bar: float, *, below: bool) -> float:
    return float(np.exp(log_capital(outcome(hits, n), bar, 1, below=below)[0]))


def outcome(hits: int, n: int) -> Seen:
    """n clusters of one group, so many of them broken."""
    return Seen(np.array([0.0, 1.0]), np.ones(2), np.array([n - hits, hits], dtype=float))


def test_by_hand() -> None:
    """One group that held, bar 0.2: a fraction f of the capital earns f · 0.2 / 0.8 for who bets on less, and who
    bets on more loses it."""
    assert capital(0, 1, 0.2, below=True) == pytest.approx(1 + FRACTIONS.mean() * 0.25)
    assert capital(0, 1, 0.2, below=False) == pytest.approx(1 - FRACTIONS.mean())
    assert capital(1, 1, 0.2, below=False) == pytest.approx(1 + FRACTIONS.mean() * 4)


@pytest.mark.parametrize("bar", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("below", [True, False])
def test_every_bet_is_fair(bar: float, below: bool) -> None:
    """Summed over all outcomes the expected capital is 1 at the bar, and less where the doubter is wrong."""
    for n in (1, 7, 40):
        capitals = np.array([capital(hits, n, bar, below=below) for hits in range(n + 1)])
        assert binom.pmf(np.arange(n + 1), n, bar) @ capitals == pytest.approx(1)
        wrong = bar * (1.5 if below else 0.5)
        assert binom.pmf(np.arange(n + 1), n, wrong) @ capitals < 1


def test_the_bet_is_fair_with_clusters_that_do_not_all_apply() -> None:
    """Clusters of 1 to 3 groups, large ones break more often: the mean over groups is what the bet is about."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, (5000, 5))
    counts = rng.binomial(sizes, 0.7)  # to the others the metric does not apply
    chance = np.array([0.0, 0.02, 0.05, 0.3])[sizes]
    sums = rng.binomial(counts, chance)
    tau = sum(s * p for s, p in ((1, 0.02), (2, 0.05), (3, 0.3))) / 6
    for below in (True, False):
        capitals = [
            np.exp(log_capital(seen(s, c), tau, 3, below=below)[0]) for s, c in zip(sums, counts, strict=True)
        ]
        assert np.mean(capitals) == pytest.approx(1, abs=4 * np.std(capitals) / np.sqrt(len(capitals)))


def looks(n: int) -> np.ndarray:
    """When a run of n groups looks: after each wave, as unwaver.asking.until does."""
    ends = [0]
    while ends[-1] < n:
        ends.append(min(n, ends[-1] + max(WAVE, ends[-1] // 20)))
    return np.array(ends[1:])


def simulated(values: np.ndarray, bar: float) -> tuple[np.ndarray, np.ndarray]:
    """Per run (a row of 0/1 in the order of asking): the verdict (1 pass, −1 fail, 0 none), and groups asked."""
    ends = looks(values.shape[1])
    hits = np.cumsum(values, axis=1)[:, ends - 1]
    logs = {
        below: np.log(
            np.vectorize(lambda h, n, below=below: capital(h, n, bar, below=below))(*_unique(hits, ends)[:2])
        )
        for below in (True, False)
    }
    place = _unique(hits, ends)[2]
    met, missed = (logs[below][place].reshape(hits.shape) >= np.log(1 / ALPHA) for below in (True, False))
    stops = np.where((met | missed).any(axis=1), (met | missed).argmax(axis=1), len(ends) - 1)
    rows = np.arange(len(values))
    return met[rows, stops].astype(int) - missed[rows, stops].astype(int), ends[stops]


def _unique(hits: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs = np.column_stack([hits.ravel(), np.tile(ends, len(hits))]).astype(int)
    found, place = np.unique(pairs, axis=0, return_inverse=True)
    return found[:, 0], found[:, 1], place.ravel()


@pytest.mark.parametrize("bar", [0.05, 0.1, 0.3])
def test_error_rate_at_the_boundary(bar: float) -> None:
    """2,000 runs of 1,000 groups with τ exactly at the bar: fail is wrong, and just above it pass would be."""
    rng = np.random.default_rng(1)
    verdicts, _ = simulated(rng.random((2000, 1000)) < bar, bar)
    allowed = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / 2000)
    assert (verdicts == -1).mean() <= allowed
    assert (verdicts == 1).mean() <= allowed


def test_error_rate_of_a_fixed_set_in_random_order() -> None:
    """The same where the set itself has a share of exactly the bar, and only its order is random."""
    rng = np.random.default_rng(2)
    whole = np.tile(np.repeat([1, 0], [100, 900]), (2000, 1))
    verdicts, _ = simulated(rng.permuted(whole, axis=1), 0.1)
    allowed = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / 2000)
    assert max((verdicts == -1).mean(), (verdicts == 1).mean()) <= allowed


@pytest.mark.parametrize(("tau", "right"), [(0.05, 1), (0.2, -1)])
def test_groups_saved_at_half_and_twice_the_bar(tau: float, right: int) -> None:
    rng = np.random.default_rng(3)
    verdicts, asked = simulated(rng.random((1000, 1000)) < tau, 0.1)
    assert (verdicts == right).mean() >= 0.98
    assert np.median(1 - asked / 1000) >= {0.05: 0.7, 0.2: 0.85}[tau]


def test_error_rate_with_clusters() -> None:
    """Clusters of 1 to 4 groups that break together, τ at the bar; looking at each of 300 clusters in steps of 30."""
    rng = np.random.default_rng(4)
    runs, wrong = 200, 0
    for _ in range(runs):
        counts = rng.integers(1, 5, 300).astype(float)
        sums = counts * (rng.random(300) < 0.1)
        for end in range(30, 301, 30):
            found = seen(sums[:end], counts[:end])
            if (said := decide(found, found, 0.1, 4, ALPHA, at_most=True)) != "undecided":
                wrong += said == "fail"
                break
    assert wrong / runs <= ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / runs)


def test_interval_and_verdict_agree() -> None:
    found = outcome(12, 200)
    low, high = interval(found, 1, 1 - 2 * ALPHA)
    assert low < 0.06 < high
    assert decide(found, found, high + 1e-6, 1, ALPHA, at_most=True) == "pass"
    assert decide(found, found, high - 1e-6, 1, ALPHA, at_most=True) == "undecided"
    assert decide(found, found, low - 1e-6, 1, ALPHA, at_most=True) == "fail"
    assert decide(found, found, low - 1e-6, 1, ALPHA, at_most=False) == "pass"


def test_nothing_seen_or_all_alike() -> None:
    assert interval(seen(np.zeros(0), np.zeros(0)), 1, 0.95) == (0.0, 1.0)
    assert interval(outcome(0, 300), 1, 0.95)[0] == 0.0
    assert interval(outcome(300, 300), 1, 0.95)[1] == 1.0
    assert (
        decide(outcome(1, 51), outcome(1, 51), 0.0, 1, ALPHA, at_most=True) == "fail"
    )  # none may break, and one did


def test_missing_answers_help_no_verdict() -> None:
    """200 groups held, 30 have no answer: they might all have broken."""
    least, most = outcome(0, 230), outcome(30, 230)
    assert decide(least, least, 0.05, 1, ALPHA, at_most=True) == "pass"
    assert decide(least, most, 0.05, 1, ALPHA, at_most=True) == "undecided"


def test_which_metrics_are_means() -> None:
    """Those that are say of what: its mean is the value. The others say nothing."""
    import polars as pl

    from unwaver.answers.given import complete
    from unwaver.metrics.block import block_of
    from unwaver.metrics.score import measured

    rows = [
        {"group": g, "kind": "bucket", "expect": "bucket", "role": "variant", "label": label, "gold": "y"}
        for g, labels in (("a", "yyyn"), ("b", "yn"), ("c", "nn"))
        for label in labels
    ]
    found = {m.metric.name: m for m in measured(block_of(complete(pl.DataFrame(rows))), "violate")}
    means = {name for name, m in found.items() if m.mean_of is not None}
    assert means == {
        "P_C",
        "P_C_pairs",
        "VAP",
        "A_original",
        "A_bucket",
        "Cons_lex",
        "tau",
        "accuracy",
        "accuracy_variants",
    }
    for name in ("P_C", "P_C_pairs", "VAP", "A_bucket", "Cons_lex"):
        values = found[name].mean_of
        assert values is not None
        assert ((values >= 0) & (values <= 1)).all()
        assert values.mean() == pytest.approx(found[name].estimate().value)


def test_by_cluster() -> None:
    sums, counts = by_cluster(np.array([1.0, np.nan, 0.5, 0.0]), np.array([0, 0, 1, 1]))
    assert (sums.tolist(), counts.tolist()) == ([1.0, 0.5], [1.0, 2.0])
