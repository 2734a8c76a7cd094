"""An original that is asked again alone: its answers are compared with one another and with no variant."""

from __future__ import annotations

from typing import Any

import pytest

from unwaver.agree.comparison import parse_agreements
from unwaver.answers.table import table_of
from unwaver.asking.ask import make_plan
from unwaver.config import Config
from unwaver.engine import road
from unwaver.errors import DataError
from unwaver.files import Where
from unwaver.groups import group_to_json
from unwaver.groups.from_json import group_from_json
from unwaver.metrics.block import block_of
from unwaver.metrics.score import score_frame
from unwaver.types import Answer, Group, Item, Request


def group(choices: tuple[str, ...] = (), repeats: int = 2) -> Group:
    items = [
        Item(f"g/{n}", "own", "variant" if n else "original", {"text": t}, choices) for n, t in enumerate("ab")
    ]
    return Group("g", "s", "own", "semantic", "same", tuple(items), repeats=repeats)


def answers(*texts: str) -> dict[tuple[str, int], Answer]:
    """Of the original, three times; then of the variant."""
    places = [("g/0", 0), ("g/0", 1), ("g/0", 2), ("g/1", 0)]
    return {place: Answer(text=text) for place, text in zip(places, texts, strict=True)}


def scores(texts: tuple[str, ...], choices: tuple[str, ...] = ()) -> dict[str, Any]:
    tested = road.Tested("m", "x", answers(*texts))
    agreements = () if choices else parse_agreements(("normalised",))
    evidence = road.Evidence(Config((), ()), [group(choices)], {("own", ""): choices}, [tested], agreements)
    table = road.rated(evidence, lambda _: {})
    return {score.metric: score.value for score in score_frame(table.frame)}


@pytest.mark.parametrize(
    ("texts", "tau", "cons", "repeat"),
    [
        (("x", "x", "x", "x"), 0, 1, 1),
        (("x", "y", "z", "x"), 0, 1, 0),  # repeats differ, the wordings of the first round agree
        (("x", "x", "y", "y"), 1, 0, 1 / 3),
        (("x", "y", "y", "y"), 1, 0, 1 / 3),
    ],
)
def test_free_text(texts: tuple[str, ...], tau: float, cons: float, repeat: float) -> None:
    found = scores(texts)
    assert found["tau"] == tau
    assert found["Cons_normalised"] == pytest.approx(cons)
    assert found["Cons_normalised_repeat"] == pytest.approx(repeat)
    assert found["majority_share"] == pytest.approx(1 if cons else 0.5)


def test_labels() -> None:
    assert scores(("yes", "no", "no", "yes"), ("yes", "no"))["tau"] == 0
    assert scores(("yes", "no", "no", "no"), ("yes", "no"))["tau"] == 1


def test_rows_of_the_table() -> None:
    frame = table_of([group()], answers("x", "y", "z", "x"), {}, model="m", method="x")
    assert frame.select("item", "replicate").rows() == [("g/0", 0), ("g/1", 0), ("g/0", 1), ("g/0", 2)]
    block = block_of(frame)
    assert block.alone.tolist() == [False, False, True, True]


class Model:
    name = identity = "m"
    method, reads, settings = "generate", ("prompt",), {"temperature": 0.5}

    def __init__(self, deterministic: bool):
        self.deterministic = deterministic


@pytest.mark.parametrize(("replicates", "asked"), [(1, 4), (2, 5), (3, 6)])
def test_requests(replicates: int, asked: int) -> None:
    def render(item: Item, _: object) -> Request:
        return Request("own", (), item.fields["text"], (), (), item=item.id)

    plan = make_plan([group()], Model(False), render, replicates)  # type: ignore[arg-type]
    assert len(plan.requests) == len(plan.keys) == asked
    once = make_plan([group()], Model(True), render, replicates)  # type: ignore[arg-type]
    assert (len(once.requests), len(once.keys)) == (2, asked)


def test_a_group_keeps_its_repeats_in_a_file() -> None:
    record = group_to_json(group())
    assert record["repeats"] == 2
    assert group_from_json(record, Where("f", 1)) == group()
    assert "repeats" not in group_to_json(group(repeats=0))
    with pytest.raises(DataError, match='"repeats": found -1'):
        group_from_json({**record, "repeats": -1}, Where("f", 1))
