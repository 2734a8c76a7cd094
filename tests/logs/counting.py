"""The metrics of a bucket by a direct count, in plain Python: the oracle of the readers' tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import permutations
from statistics import fmean
from typing import Any

Answer = tuple[str, str, int, str | None, float | None]  # bucket, wording, replicate, answer, right


def counted(answers: Iterable[Answer]) -> dict[str, float | None]:
    buckets: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        buckets[answer[0]].append(answer)
    groups = list(buckets.values())
    return {
        "P_C": mean(p_c(g) for g in groups),
        "P_C_pairs": mean(p_c_pairs(g) for g in groups if all(a[2] == 0 for a in g)),
        "A_bucket": mean(theta(g) for g in groups),
        "Cons_lex": mean(pairs(g, lambda a, b: a[1] != b[1]) for g in groups),
        "Cons_lex_repeat": mean(pairs(g, lambda a, b: a[1] == b[1] and a[2] != b[2]) for g in groups),
        "tau": mean(tau(g) for g in groups),
    }


def mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return fmean(known) if known else None


def theta(group: list[Answer]) -> float | None:
    return mean(a[4] for a in group)


def p_c(group: list[Answer]) -> float | None:
    share = theta(group)
    return None if share is None else share**2 + (1 - share) ** 2


def p_c_pairs(group: list[Answer]) -> float | None:
    return mean(float(a[4] == b[4]) for a, b in permutations(group, 2))


def pairs(group: list[Answer], chosen: Any) -> float | None:
    readable = [a for a in group if a[3] is not None]
    return mean(float(a[3] == b[3]) for a, b in permutations(readable, 2) if chosen(a, b))


def tau(group: list[Answer]) -> float | None:
    first = {a[2]: a[3] for a in group if a[1] == group[0][1]}
    later = [a for a in group if a[1] != group[0][1] and a[2] in first]
    return mean(float(a[3] is None or a[3] != first[a[2]]) for a in later)
