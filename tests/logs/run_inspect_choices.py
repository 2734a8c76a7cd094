"""Run by the tools' Python: Inspect on multiple choice with shuffled choices, and on texts that were cut or refused.

FOLDER/dataset/*.eval   choices shuffled when the data is read, each sample in an order of its own
FOLDER/solver/*.eval    choices shuffled by the solver, each call in an order of its own
FOLDER/plain/*.eval     choices in one order
FOLDER/again/*.eval     the samples of `dataset` in another order
FOLDER/cut/*.eval       multiple choice whose texts are cut: after the letter, before it, within a thought; refused
FOLDER/text/*.eval      free text, the last of three wordings cut
FOLDER/json/*.json      `dataset` as JSON

The model is always right: it looks for the right text among the choices that it is shown.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice

RIGHT = {"capital": "Paris", "river": "Seine", "metal": "Iron"}
OTHERS = ["Rome", "Tiber", "Gold", "Nile"]
WORDINGS = 4


def samples() -> list[Sample]:
    return [
        Sample(
            id=f"{name}-{n}",
            input=f"Which {name}, wording {n}?",
            choices=[right, *OTHERS],
            target="A",
            metadata={"problem": name},
        )
        for name, right in RIGHT.items()
        for n in range(WORDINGS)
    ]


@task
def quiz(seed: int | None = None, shuffle: bool = False) -> Task:
    data = MemoryDataset(samples())
    if seed is not None:
        data.shuffle_choices(seed=seed)
    solver = multiple_choice(shuffle=True) if shuffle else multiple_choice()
    return Task(dataset=data, solver=solver, scorer=choice())


@task
def texts() -> Task:
    data = [
        Sample(id=f"{name}-{n}", input=f"Say {name} {n}", target=right, metadata={"problem": name})
        for name, right in RIGHT.items()
        for n in range(3)
    ]
    return Task(dataset=MemoryDataset(data), solver=generate(), scorer=includes())


def said(text: str, stop_reason: Any = "stop") -> ModelOutput:
    output = ModelOutput.from_content("mock", text, stop_reason=stop_reason)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else a tokeniser is fetched
    return output


def always_right(messages: list[Any], *_: Any) -> ModelOutput:
    for right in RIGHT.values():
        if found := re.search(rf"([A-E])\) {right}", messages[-1].text):
            return said(f"ANSWER: {found[1]}")
    raise AssertionError(messages[-1].text)


def cut_short(messages: list[Any], *_: Any) -> ModelOutput:
    """capital: cut after the letter; river: before it, or within a thought; metal: refused."""
    text = messages[-1].text
    if "capital" in text:
        return said(always_right(messages).completion, stop_reason="max_tokens")
    if "river" in text:
        return said("<think>ANSWER: A" if "wording 1" in text else "Let me", stop_reason="model_length")
    return said("", stop_reason="content_filter")


def cut_text(messages: list[Any], *_: Any) -> ModelOutput:
    text = messages[-1].text
    (right,) = (right for name, right in RIGHT.items() if name in text)
    cut = text.endswith("2") and "capital" in text
    return said(f"It is {right}", stop_reason="max_tokens" if cut else "stop")


def run(folder: Path, name: str, made: Task, outputs: Any, format: str = "eval") -> None:
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    log = eval(made, model=model, log_dir=str(folder / name), log_format=format, display="none")[0]
    assert log.status == "success", log.error


def main(folder: Path) -> None:
    run(folder, "plain", quiz(), always_right)
    run(folder, "dataset", quiz(seed=7), always_right)
    run(folder, "again", quiz(seed=8), always_right)
    run(folder, "solver", quiz(shuffle=True), always_right)
    run(folder, "json", quiz(seed=7), always_right, "json")
    run(folder, "cut", quiz(seed=7), cut_short)
    run(folder, "text", texts(), cut_text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
