"""Run by the tools' Python: lm-eval's own command line on a tiny model, twice, with two prompts of one task.

FOLDER/first    even (multiple choice) and say (generation, three repeats, two filters)
FOLDER/second   even, asked in other words; again: even as in first
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))

TASK = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {docs}
test_split: test
"""
CHOICE = """output_type: multiple_choice
doc_to_text: "{prompt}"
doc_to_choice: choices
doc_to_target: answer
metric_list:
  - metric: acc
  - metric: acc_norm
"""
SAY = """output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "a"
repeats: 3
generation_kwargs: {until: ["\\n"], max_gen_toks: 1, do_sample: true, temperature: 0.3}
filter_list:
  - name: first
    filter: [{function: take_first}]
  - name: all
    filter: [{function: lowercase}]
metric_list:
  - metric: exact_match
"""
WORDS = ["no", "ab", "a b", "cab", "noa", "bab"]


def write_tasks(folder: Path, prompt: str, *, generation: bool) -> None:
    folder.mkdir()
    docs = folder / "docs.jsonl"
    with docs.open("w") as file:
        for n in range(24):
            problem, wording = divmod(n, 4)
            doc = {
                "id": f"p{problem}-w{wording}",
                "problem": f"p{problem}",
                "question": f"{WORDS[(n * 5) % 6]} {n}?",
                "choices": [WORDS[n % 6], WORDS[(n + 1) % 6], WORDS[(n + 3) % 6]],
                "answer": n % 3,
            }
            file.write(json.dumps(doc) + "\n")
    even = TASK.format(name="even", docs=docs) + CHOICE.replace("{prompt}", prompt)
    (folder / "even.yaml").write_text(even)
    if generation:
        (folder / "say.yaml").write_text(TASK.format(name="say", docs=docs) + SAY)


def run(tasks: str, include: Path, out: Path, model: str) -> None:
    from lm_eval.__main__ import cli_evaluate

    arguments = (
        f"--model hf --model_args pretrained={model},dtype=float32 --device cpu --batch_size 8 --log_samples"
    )
    sys.argv = ["lm_eval", "run", *arguments.split(), "--tasks", *tasks.split(), "--include_path", str(include)]
    sys.argv += ["--output_path", str(out)]
    cli_evaluate()


def main(folder: Path) -> None:
    import tiny

    model = tiny.saved(folder / "model")
    write_tasks(folder / "tasks1", "{{question}}", generation=True)
    write_tasks(folder / "tasks2", "So: {{question}} Say", generation=False)
    run("even say", folder / "tasks1", folder / "first", model)
    run("even", folder / "tasks2", folder / "second", model)
    run("even", folder / "tasks1", folder / "again", model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
