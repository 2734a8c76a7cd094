"""The plan: every path is read whole, nothing shared is read twice without need, rows keep ancestors apart."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.models.prefix import KEEP_FROM, Path, cheapest_cuts, common, plain_steps, shared_steps

token = st.integers(0, 3)
tails = st.lists(token, min_size=1, max_size=12).map(tuple)
beginnings = st.sampled_from([(), (1,) * 5, (2,) * 20, (2,) * 20 + (3,) * 25, (0, 1) * 20])
paths_of_a_wave = st.lists(st.builds(lambda a, b: a + b, beginnings, tails), min_size=1, max_size=30)


def walk(paths: list[Path], first: list[int], budget: int) -> tuple[dict[tuple[int, int], Path], int]:
    """What each reading has seen, up to and with its own token; and how many tokens were read in all."""
    kept: dict[int, Path] = {0: ()}
    seen: dict[tuple[int, int], Path] = {}
    count = 0
    for step in shared_steps(paths, first, budget):
        for row in step.rows:
            count += len(row.tokens)
            for p, place, where in row.reads:
                ancestors = [i for i in range(where + 1) if i == where or row.end[i] > where]
                assert [row.depth[i] for i in ancestors] == list(range(len(ancestors)))
                assert (p, place) not in seen
                seen[p, place] = kept[step.kept] + tuple(row.tokens[i] for i in ancestors)
        if step.keep:
            kept[step.kept + len(step.rows[0].tokens)] = kept[step.kept] + tuple(step.rows[0].tokens)
    return seen, count


@settings(max_examples=300, deadline=None)
@given(paths_of_a_wave, st.integers(1, 200), st.data())
def test_every_reading_has_seen_its_path_and_nothing_else(
    drawn: list[Path], budget: int, data: st.DataObject
) -> None:
    paths = sorted(set(drawn))
    first = [data.draw(st.integers(0, len(p) - 1)) for p in paths]
    seen, count = walk(paths, first, budget)
    assert seen == {(p, i): path[: i + 1] for p, path in enumerate(paths) for i in range(first[p], len(path))}
    assert count <= sum(map(len, paths))


def test_a_beginning_shared_by_many_is_read_once() -> None:
    shots = tuple(range(100, 400))
    paths = sorted(shots + (group,) * 20 + (variant,) for group in range(30) for variant in range(4))
    _, count = walk(paths, [len(p) - 1 for p in paths], budget=128)
    assert count == 300 + 30 * (20 + 4)


def test_a_short_beginning_is_read_again_rather_than_kept() -> None:
    paths = sorted((9,) * (KEEP_FROM - 1) + (group,) * 50 for group in range(9))
    assert not any(step.keep for step in shared_steps(paths, [0] * 9, 100))


def test_rows() -> None:
    (step,) = shared_steps([(7, 8), (7, 9), (7, 9, 1)], [1, 1, 1], 100)
    (row,) = step.rows
    assert (row.tokens, row.depth, row.end) == ([7, 8, 9, 1], [0, 1, 1, 2], [4, 2, 4, 4])
    assert row.reads == [(0, 1, 1), (1, 1, 2), (2, 1, 2), (2, 2, 3)]


def test_plain_steps_keep_paths_apart() -> None:
    rows = [row for step in plain_steps([(7, 8), (7, 9)], [1, 1], 100) for row in step.rows]
    assert [row.tokens for row in rows] == [[7, 8], [7, 9]]
    assert list(plain_steps([], [], 10)) == list(shared_steps([], [], 10)) == []


def test_common() -> None:
    assert common((1, 2, 3), (1, 2, 4)) == 2
    assert common((), (1,)) == 0
    assert common((1, 2), (1, 2, 3)) == 2


def test_cheapest_cuts() -> None:
    assert cheapest_cuts(3, lambda start: iter([2.0, 3.0])) == [(0, 1), (1, 3)]
    assert cheapest_cuts(4, lambda start: iter([1.0, 3.0])) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert cheapest_cuts(0, lambda start: iter([1.0])) == []
