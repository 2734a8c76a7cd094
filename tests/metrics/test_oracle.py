"""Every relation against an oracle: 300 random groups, and the definition in a few lines of plain Python."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest

import unwaver

E, N, C = LABELS = ("entailment", "neutral", "contradiction")
OPPOSITE = {E: {C}, C: {E}, N: {E, C, None}}
GROUPS = 300


def drawn(seed: int, originals: int, most_variants: int) -> list[dict[str, Any]]:
    """Groups with gold and answers for originals and variants; None is unreadable."""
    rng = random.Random(seed)
    groups = []
    for _ in range(GROUPS):
        gold = [rng.choice(LABELS) for _ in range(originals)]
        said = [rng.choice([g, g, g, rng.choice(LABELS), None]) for g in gold]
        variants = [rng.choice([said[0], *LABELS, None]) for _ in range(rng.randint(0, most_variants))]
        accepted = rng.sample(LABELS, rng.randint(1, 2))
        groups.append({"gold": gold, "said": said, "variants": variants, "accepted": accepted})
    return groups


def scored(groups: list[dict[str, Any]], kind: str, target: str, **columns: Any) -> unwaver.Result:
    rows = []
    for n, group in enumerate(groups):
        for gold, said in zip(group["gold"], group["said"], strict=True):
            rows.append({"group": str(n), "role": "original", "label": said, "gold": [gold]})
        for said in group["variants"]:
            rows.append({"group": str(n), "role": target, "label": said, "gold": group["accepted"]})
    table = {name: [row[name] for row in rows] for name in rows[0]}
    table |= {name: [value] * len(rows) for name, value in {"kind": kind, **columns}.items()}
    return unwaver.score(table)


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


# --- the definitions ----------------------------------------------------------------------------------------


def broken(kind: str, said: str | None, variant: str | None, accepted: list[str]) -> bool:
    if variant is None:
        return True
    if kind == "transitive":
        return variant not in accepted
    return said is None or (variant == said if kind == "negational" else variant != said)


def tau(groups: list[dict[str, Any]], kind: str, given: str | None = None) -> tuple[float | None, int]:
    """Over groups whose originals were answered right, or whose original got the given label."""
    values = []
    for g in groups:
        held = g["said"] == g["gold"] if given is None else g["said"][0] == given
        if held and g["variants"]:
            values.append(mean([float(broken(kind, g["said"][0], v, g["accepted"])) for v in g["variants"]]))
    return mean(values), len(values)


def at_k(groups: list[dict[str, Any]], k: int, strict: bool, given: str | None = None) -> tuple[float | None, int]:
    """The share of k-subsets of an item's variants in which one changes the answer, over items with m ≥ k."""
    values = []
    for g in groups:
        (gold,), (said,), variants = g["gold"], g["said"], g["variants"]
        if said != gold or len(variants) < k or given not in (None, said):
            continue
        changed = [v in OPPOSITE[said] if strict else v != said for v in variants]
        values.append(mean([float(any(chosen)) for chosen in combinations(changed, k)]))
    return mean(values), len(values)


# --- against the tool ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["semantic", "symmetric", "negational"])
def test_conditioned_tau(kind: str, seed: int) -> None:
    groups = drawn(seed, 1, 3)
    found = scored(groups, kind, "variant")
    for given in (None, *LABELS):
        score, (value, counted) = found.find("tau_conditioned", given=given), tau(groups, kind, given)
        assert (score.value, score.counted) == (pytest.approx(value), counted)
        assert score.counted + score.not_applicable == score.groups


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["transitive", "additive"])
def test_tau_of_a_conclusion_is_conditional(kind: str, seed: int) -> None:
    groups = [g for g in drawn(seed, 2, 1) if g["variants"]]
    score, (value, counted) = scored(groups, kind, "conclusion").find("tau"), tau(groups, "transitive")
    assert (score.value, score.counted) == (pytest.approx(value), counted)


@pytest.mark.parametrize("seed", range(2))
def test_rates_at_k_rest_on_items_with_k_variants(seed: int) -> None:
    groups = drawn(seed, 1, 5)
    found = scored(groups, "fooling", "variant", keep=5)
    sizes = []
    for k in range(1, 6):
        for name, strict in (("r_r", False), ("r_s", True)):
            for given in (None, *LABELS):
                score, (value, counted) = found.find(f"{name}@{k}", given=given), at_k(groups, k, strict, given)
                assert (score.value, score.counted) == (pytest.approx(value), counted), (name, k, given)
                of_class = [g for g in groups if given in (None, *g["gold"])]
                wrong = sum(g["said"] != g["gold"] for g in of_class)
                few = sum(g["said"] == g["gold"] and len(g["variants"]) < k for g in of_class)
                assert (score.answered_wrong, score.too_few) == (wrong, few)
        score = found.find(f"r_r@{k}")
        assert score.not_applicable == score.answered_wrong + score.too_few
        sizes.append(score.counted)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] > 0


def passed(groups: list[dict[str, Any]], theta: float = 1.0) -> tuple[float | None, int]:
    """The share of items whose answer stays in a share θ of the variants; one that cannot be read has changed."""
    values = []
    for g in groups:
        if g["variants"]:
            kept = [v is not None and v == g["said"][0] for v in g["variants"]]
            values.append(float(sum(kept) >= theta * len(kept)))
    return mean(values), len(values)


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_input(seed: int) -> None:
    groups = drawn(seed, 1, 1)
    score, (value, counted) = scored(groups, "reverse", "variant").find("C_R"), passed(groups)
    assert (score.value, score.counted) == (pytest.approx(value), counted)


@pytest.mark.parametrize("seed", range(2))
def test_the_signs_of_the_input(seed: int) -> None:
    groups = drawn(seed, 1, 10)
    found = scored(groups, "signal", "variant")
    score, (value, counted) = found.find("C_S"), passed(groups)
    assert (score.value, score.counted) == (pytest.approx(value), counted)
    for theta in (0.9, 0.8, 0.7):
        assert found.find(f"C_S@{theta}").value == pytest.approx(passed(groups, theta)[0])


@pytest.mark.parametrize("seed", range(2))
def test_buckets(seed: int) -> None:
    """P_C is the mean of θ² + (1 − θ)² over buckets with two wordings or more, θ the share that is right."""
    groups = drawn(seed, 1, 6)
    shares = [mean([float(v in g["gold"]) for v in g["variants"]]) for g in groups if len(g["variants"]) > 1]
    rows = [
        {"group": str(n), "kind": "bucket", "role": "variant", "label": said, "gold": g["gold"]}
        for n, g in enumerate(groups)
        for said in g["variants"]
    ]
    score = unwaver.score({name: [row[name] for row in rows] for name in rows[0]}).find("P_C")
    assert (score.value, score.counted) == (
        pytest.approx(mean([p**2 + (1 - p) ** 2 for p in shares])),
        len(shares),
    )
