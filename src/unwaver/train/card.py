"""The model card of a trained folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unwaver.groups import SEEN_FLAG
from unwaver.train.own_bases import BILSTM, NGRAMS, OWN
from unwaver.train.samples import told as samples_told


def card(about: Mapping[str, Any]) -> str:
    """What a reader of the folder must know: data, recipe, seed, scores."""
    setup = about["setup"]
    lines = [
        "---",
        f"library_name: {'unwaver' if about['base'] in OWN else 'transformers'}",
        "---",
        f"# {', '.join(about['tasks'])}, seed {about['seed']}",
        "",
        f"Trained by unwaver {about['unwaver']} from {about['base_name']}.",
        "",
        "| task | file | form | trained on | held out | accuracy, held out | accuracy, test |",
        "|---|---|---|---|---|---|---|",
    ]
    for task, entry in about["tasks"].items():
        scores = about["scores"][task]
        told = [_told(scores.get(on)) for on in ("held_out", "test")]
        cells = [task, entry["file"], entry["form"], f"{entry['items']:,}", f"{entry['held_out']:,}", *told]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        _recipe(about),
    ]
    if drawn := _drawn(setup):
        lines.append(f"Drawn from the file: {drawn}.")
    if about["pairs"]:
        lines.append(
            f"{about['pairs']:,} rows have a variant ({_variants(setup['variants'])}), of a share of "
            f"{setup['share']:g} those of which one can be made; weight of the consistency loss: "
            f"{setup.get('consistency', 0):g}."
        )
    if setup.get("adversarial"):
        bar = f", with a similarity of at least {setup['bar']:g}" if setup.get("encoder") else ""
        lines.append(
            f"{about['added']:,} samples with words substituted ({setup['adversarial']}{bar}), at most "
            f"{setup['samples']} per item, are among the rows; adversarial.jsonl lists them."
        )
        for task, counts in about.get("adversarial", {}).items():
            lines.append(f"{task}: {'; '.join(samples_told(counts))}.")
    lines += [
        "",
        "The hold-out has a tenth of the premises (or rows) and chose the epoch; the test set was not used for "
        "training. unwaver scores groups with training texts separately, with the flag `seen_in_training`.",
        "",
    ]
    if setup.get("head") == "choose":
        lines += ["One head scores each alternative; a softmax over the scores is the answer.", ""]
    if setup.get("pool"):
        lines += ["The sets were pooled: one head answers for all of them.", ""]
    if about["heads"]:
        lines += ["The encoder is shared; heads.safetensors has a head for each task.", ""]
    return "\n".join(lines)


def _recipe(about: Mapping[str, Any]) -> str:
    recipe = about["recipe"]
    if about["base"] == NGRAMS:
        return (
            f"Stochastic gradient descent, learning rate {recipe['lr']:g} falling linearly to 0, "
            f"{recipe['epochs']} epochs; n-grams of up to four words. The hold-out was not used for training."
        )
    unit = "words" if about["base"] == BILSTM else "tokens"
    return (
        f"Recipe `{recipe['name']}`: AdamW, learning rate {recipe['lr']:g} {_warmup(recipe)}falling linearly to "
        f"0, weight decay {recipe['weight_decay']:g}, batch {recipe['batch']}, at most {recipe['length']} {unit}, "
        f"at most {recipe['epochs']} epochs ({about['epochs_trained']:g} were trained), the best on the hold-out "
        "kept."
    )


def _warmup(recipe: Mapping[str, Any]) -> str:
    return f"after {recipe['warmup']} steps of warm-up, " if recipe.get("warmup") else ""


def _drawn(setup: Mapping[str, Any]) -> str:
    """ "a fraction of 0.25, about 2,000 rows of snli"."""
    told = [f"a fraction of {setup['fraction']:g}"] if setup["fraction"] < 1 else []
    for task, rows in setup.get("rows", {}).items():
        told.append(f"about {rows:,} rows" + (f" of {task}" if task != "*" else ""))
    return ", ".join(told)


def _variants(by_task: Mapping[str, Sequence[str]]) -> str:
    """{"*": ["swap", "reverse"]} -> "swap, reverse"; {"snli": ["swap"], "wic": ["swap"]} ->
    "snli: swap; wic: swap"."""
    if len(by_task) == 1:
        return ", ".join(*by_task.values())
    return "; ".join(f"{task}: {', '.join(names)}" for task, names in by_task.items())


def _told(score: Mapping[str, Any] | None) -> str:
    if score is None or score["accuracy"] is None:
        return "–"
    interval = "" if score["low"] is None else f" [{100 * score['low']:.1f} – {100 * score['high']:.1f}]"
    left_out = f", {score[SEEN_FLAG]:,} left out as seen" if score.get(SEEN_FLAG) else ""
    return f"{100 * score['accuracy']:.1f} %{interval} of {score['items']:,}{left_out}"
