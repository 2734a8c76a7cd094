"""Agreement functions against people's judgements, on five published sets: the table of docs/text.md.

    python studies/agreement_and_people.py --data DATA --nli FOLDER --paraphrase FOLDER --encoder FOLDER --out DIR

PAWS-Wiki test, MRPC test (0 or 1) and STS-B test (0 to 5, the same from 4); EVOUNA, a free answer against the gold
answers, the best of which counts, 2,000 drawn by question; and the scored answer pairs of TruthfulQA, with
references. It can be stopped and started again: what models have said is kept in DIR.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pair_models import mrpc, paws, stsb

import unwaver
from unwaver.files import read_rows

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
CUTS = {"STS-B": 4 / 5}


def evouna(data: Path, count: int = 2000) -> Iterator[dict[str, Any]]:
    """Answers that people judged; improper questions and answers without a verdict are left out."""
    judged = []
    for name in ("nq", "tq"):
        with gzip.open(data / f"evouna/evouna_{name}.json.gz") as file:
            for entry in json.load(file):
                if entry["improper"]:
                    continue
                gold = [text.strip() for text in entry["golden_answer"].split("/") if text.strip()]
                for system in SYSTEMS:
                    if entry[f"judge_{system}"] is not None and gold:
                        judged.append(
                            (entry["question"], entry[f"answer_{system}"], gold, entry[f"judge_{system}"])
                        )
    random.Random(0).shuffle(judged)
    for question, answer, gold, verdict in judged[:count]:
        yield {"question": question, "a": answer, "b": gold, "label": int(verdict), "true": gold}


def truthfulqa(data: Path) -> Iterator[dict[str, Any]]:
    """The pairs with the references of their question."""
    rows = read_rows(data / "truthfulqa/TruthfulQA_v1_817.csv")
    known = {row.text("Question").strip(): row for row in rows}
    for row in read_rows(data / "truthfulqa_paraphrases/truthfulQA_pp_conscore.csv"):
        question = row.text("input").strip()
        pair = {"a": row.cells["output"], "b": row.cells["output pp"], "label": row.cells["consistency score"]}
        about = known.get(question)
        references = (
            {"true": about.text("Correct Answers"), "false": about.text("Incorrect Answers")} if about else {}
        )
        yield {"question": question, **pair, **references}


def sets(data: Path) -> dict[str, list[dict[str, Any]]]:
    def plain(pairs: list[tuple[str, str, float]]) -> list[dict[str, Any]]:
        return [{"a": a, "b": b, "label": label} for a, b, label in pairs]

    return {
        "TruthfulQA": list(truthfulqa(data)),
        "STS-B": plain(stsb(data, "test")),
        "MRPC": plain(mrpc(data, "test")),
        "EVOUNA": list(evouna(data)),
        "PAWS": plain(paws(data, "test")),
    }


def validated(name: str, rows: list[dict[str, Any]], agree: list[str], out: Path) -> dict[str, Any]:
    pairs = out / f"{name}.jsonl"
    pairs.write_text("\n".join(map(json.dumps, rows)))
    command = [sys.executable, "-m", "unwaver.cli.main", "agreement", "validate", "--pairs", str(pairs), "--json"]
    command += ["--cut", str(CUTS.get(name, 0.5)), "--device", "cpu", "--plot", str(out / f"{name}.svg")]
    for agreement in agree:
        command += ["--agree", agreement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    (out / f"{name}.json").write_text(done.stdout)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    """Markdown: ρ with its interval, AUC, κ at the threshold of the function."""
    lines = ["| agreement | " + " | ".join(f"{n} ({d['pairs']:,})" for n, d in found.items()) + " |"]
    lines += ["|---" * (len(found) + 1) + "|"]
    for name in next(iter(found.values()))["agreements"]:
        cells = []
        for document in found.values():
            v = document["agreements"][name]
            rho, auc, kappa = v["spearman"], v["auc"]["value"], v["kappa"]
            if rho["value"] is None:
                cells.append("–")
                continue
            told = "" if not v["unknown"] else f", {v['pairs']:,} pairs"
            cells.append(
                f"{rho['value']:.2f} [{rho['low']:.2f}, {rho['high']:.2f}], {auc:.2f}, "
                f"{'–' if kappa is None else f'{kappa:.2f}'}{told}"
            )
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "nli", "paraphrase", "encoder", "out"):
        arguments.add_argument(f"--{name}", type=Path, required=True)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    agree = ["exact", "normalised", "numeric", "rouge1", "bleu", "entities"]
    agree += [f"bertscore={given.encoder}", f"bertscore={given.encoder},idf=true", f"embedding={given.encoder}"]
    agree += [f"paraphrase=hf/{given.paraphrase}"]
    agree += [f"{name}=hf/{given.nli}" for name in ("entail", "contradict", "bidirectional")]
    found = {}
    for name, rows in sets(given.data).items():
        found[name] = validated(name, rows, agree, given.out)
        print(f"{name}: {found[name]['pairs']:,} pairs of {found[name]['clusters']:,} clusters", flush=True)
    text = table(found)
    (given.out / "table.md").write_text(f"unwaver {unwaver.__version__}\n\n{text}\n")
    print(text)


if __name__ == "__main__":
    main()
