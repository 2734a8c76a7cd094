"""Run by the tools' Python: Inspect on a tiny model, three epochs, as .eval and as .json, and what `eval` returned.

FOLDER/eval/*.eval, FOLDER/json/*.json, FOLDER/other/*.eval (another prompt)
FOLDER/eval.json …  one entry a sample: id, epoch, problem, answer, value
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, prompt_template


@task
def letters(form: str = "") -> Task:
    samples = [
        Sample(
            id=f"p{problem}-w{wording}",
            input=f"{'ab' * problem}{wording}",
            target="\ufffd",  # half a character, which a model of bytes often says
            metadata={"problem": f"p{problem}", "about": {"wording": wording}},
        )
        for problem in range(4)
        for wording in range(3)
    ]
    solver = [prompt_template(form + "{prompt}"), generate()]
    return Task(dataset=MemoryDataset(samples), solver=solver, scorer=[includes(), match()])


def run(folder: Path, name: str, format: str, form: str, model: str) -> None:
    config = GenerateConfig(max_tokens=2, temperature=0.6, seed=len(name))
    lm = get_model("hf/local", model_path=model, device="cpu", config=config, memoize=False)
    log = eval(
        letters(form=form),
        model=lm,
        epochs=3,
        log_dir=str(folder / name),
        log_format=format,
        display="none",
    )[0]
    assert log.status == "success", log.error
    entries = [
        {
            "id": sample.id,
            "epoch": sample.epoch,
            "problem": sample.metadata["problem"],
            "answer": sample.scores["includes"].answer.strip(),
            "right": sample.scores["includes"].value == "C",
        }
        for sample in log.samples
    ]
    (folder / f"{name}.json").write_text(json.dumps(entries))


def main(folder: Path) -> None:
    import tiny

    model = tiny.saved(folder / "model", chat="{% for m in messages %}{{ m['content'] }}{% endfor %}")
    run(folder, "eval", "eval", "", model)
    run(folder, "json", "json", "", model)
    run(folder, "other", "eval", "So: ", model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
