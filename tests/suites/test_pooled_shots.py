"""--shots-from: solved examples of several sets in one prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unwaver.asking.render import Renderer
from unwaver.config import Config
from unwaver.errors import UsageError
from unwaver.suites.select import select
from unwaver.types import Answer, Item

SETS = ("paranlu/snli", "paranlu/atomic", "paranlu/social")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "paranlu").mkdir()
    (tmp_path / "defeasible_nli").mkdir()
    original = {"premise": "It rains.", "hypothesis": "Ann is wet.", "update": "She has an umbrella.", "label": 0}
    problems = {"snli.train.7": [{"original_example": original, "update_paraphrase": "Ann holds one."}]}
    (tmp_path / "paranlu" / "snli_paraphrases_human.json").write_text(json.dumps(problems))
    for task in ("snli", "atomic", "social"):
        rows = [
            {
                "Premise": f"{task} premise {n}.", "Hypothesis": f"{task} hypothesis {n}.", "Update": f"{task} {n}.",
                "UpdateType": ("weakener", "strengthener")[n % 2],
            }
            for n in range(20)
        ]  # fmt: skip
        path = tmp_path / "defeasible_nli" / f"{task}_dev.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


class Reader:
    name, identity, method, settings, reads, deterministic = "r", "r", "generate", {}, ("prompt",), True

    def answer(self, requests: Any) -> Any:
        yield [(n, Answer(text="")) for n, _ in enumerate(requests)]

    def close(self) -> None:
        pass


def prompt(place: Path, **options: Any) -> tuple[str, Item]:
    selection = select(["paranlu/snli"], {"data_dir": place})
    config = Config(("paranlu/snli",), ("fake/random",), **options)
    item = selection.groups[0].items[0]
    return Renderer(selection, config)(item, Reader()).prompt, item  # type: ignore[arg-type]


def test_twelve_of_each_set_in_its_own_form(place: Path) -> None:
    text, _ = prompt(place, shots=36, shots_from=SETS)
    plain, _ = prompt(place)
    assert text.endswith(plain)
    solved = text.removesuffix(plain)
    assert solved.count("Update:") == 36
    assert [solved.count(f"Update: {name} ") for name in ("snli", "atomic", "social")] == [12, 12, 12]
    assert solved.count("Premise:") == 24  # of δ-SOCIAL there is none
    assert "social premise" not in solved
    assert prompt(place, shots=36, shots_from=SETS) == prompt(place, shots=36, shots_from=SETS)
    assert prompt(place, shots=36, shots_from=SETS, seed=1) != prompt(place, shots=36, shots_from=SETS)


def test_a_suite_stands_for_its_sets_with_the_same_labels(place: Path) -> None:
    """α-NLI has other labels: its files are not needed for a question of δ-NLI."""
    assert prompt(place, shots=36, shots_from=("paranlu",)) == prompt(place, shots=36, shots_from=SETS)


@pytest.mark.parametrize(
    ("shots", "sets", "message"),
    [
        (35, SETS, "cannot be shared by 3 sets"),
        (0, SETS, "cannot be shared by 3 sets"),
        (2, ("becel/snli",), "is not a set of a suite in this run"),
        (2, ("paranlu/nothing",), "is not a set of a suite in this run"),
        (90, SETS, "only 20 solved examples"),
    ],
)
def test_what_is_refused(place: Path, shots: int, sets: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        prompt(place, shots=shots, shots_from=sets)
