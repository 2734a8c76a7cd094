from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from unwaver.train.loop import Batches, Collate, consistency_loss, length_of  # noqa: E402


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 2)), min_size=1, max_size=300),
    st.integers(1, 40),
    st.integers(0, 5),
)
def test_batches_hold_every_row_once(rows: list[tuple[int, int]], size: int, epoch: int) -> None:
    lengths, tasks = zip(*rows, strict=True)
    batches = Batches(lengths, tasks, size, seed=3)
    batches.set_epoch(epoch)
    made = list(batches)
    assert len(made) == len(batches)
    assert sorted(n for batch in made for n in batch) == list(range(len(rows)))
    assert all(len({tasks[n] for n in batch}) == 1 and len(batch) <= size for batch in made)
    again = Batches(lengths, tasks, size, seed=3)
    again.set_epoch(epoch)
    assert list(again) == made, "a training that is resumed sees the same batches"


def test_epochs_and_seeds_have_their_own_order_and_batches_one_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 3200)
    batches = Batches(lengths, np.zeros(3200, int), 32, seed=0)
    first = list(batches)
    batches.set_epoch(1)
    assert list(batches) != first
    assert list(Batches(lengths, np.zeros(3200, int), 32, seed=1)) != first
    spread = np.mean([np.ptp(lengths[batch]) for batch in first])
    assert spread < 10, "padding is little"


def row(ids: list[int], label: int, **more: object) -> dict[str, object]:
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": label, **more}


def test_variants_come_after_the_originals() -> None:
    rows = [
        row([5, 6], 1),
        row([7], 0, variant=row([8, 9, 10], 0), alike=True),
        row([1, 2, 3], 2, variant=row([4], -100), alike=False),
    ]
    batch = Collate(padding=99)(rows)
    assert batch["input_ids"].tolist() == [[5, 6, 99], [7, 99, 99], [1, 2, 3], [8, 9, 10], [4, 99, 99]]
    assert batch["attention_mask"].sum(1).tolist() == [2, 1, 3, 3, 1]
    assert batch["labels"].tolist() == [1, 0, 2, 0, -100]
    assert batch["pair_of"].tolist() == [1, -1], "a negation need not be answered alike"
    assert "pair_of" not in Collate(0)(rows[:1])
    assert [length_of(r) for r in rows] == [2, 3, 3]


def test_consistency_loss_by_hand() -> None:
    def logits(*rows: list[float]) -> object:
        return torch.log(torch.tensor(rows, dtype=torch.float64))

    p, q = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    expected = (np.sum(p * np.log(p / q)) + np.sum(q * np.log(q / p))) / 2
    found = consistency_loss(logits([0.3, 0.7], [0.5, 0.5], [0.9, 0.1]), torch.tensor([1]))
    assert float(found) == pytest.approx(expected) == pytest.approx(0.4394, abs=1e-4)
    alike = consistency_loss(logits([0.2, 0.8], [0.2, 0.8]), torch.tensor([0]))
    assert float(alike) == pytest.approx(0, abs=1e-12)
    assert float(consistency_loss(logits([0.2, 0.8], [0.9, 0.1]), torch.tensor([-1]))) == 0


@given(st.lists(st.lists(st.floats(-4, 4), min_size=3, max_size=3), min_size=2, max_size=6))
def test_consistency_loss_against_scipy(rows: list[list[float]]) -> None:
    from scipy.special import rel_entr, softmax

    half = len(rows) // 2
    table = torch.tensor(rows[: 2 * half], dtype=torch.float64)
    p = softmax(table.numpy(), axis=1)
    expected = np.mean(
        [(rel_entr(a, b).sum() + rel_entr(b, a).sum()) / 2 for a, b in zip(p[:half], p[half:], strict=True)]
    )
    assert float(consistency_loss(table, torch.arange(half))) == pytest.approx(expected, rel=1e-9, abs=1e-9)
