"""The tables "paper → command" of docs/methods.md: each table and figure is there, and each command runs.

The commands are run as they are printed, in one folder for each paper, in which small data and models lie under the
names that the commands use (see paper_data.py). Where a name has to be another one, RENAMED says which; of the
study files, SMALLER says what is changed.
"""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
SECTION = "Every table and figure of the papers"
# how many tables and figures each paper has
COUNTS = {
    "BECEL": {"Table": 10, "Figure": 7},
    "CALM": {"Table": 11, "Figure": 3},
    "ParaNLU": {"Table": 7, "Figure": 8},
    "Semantic sensitivity": {"Table": 4, "Figure": 5},
    "Generated text": {"Table": 3, "Figure": 0},
}
_BECEL, _CALM, _CALM_KOREAN = (f"studies/{name}/models" for name in ("becel", "calm", "calm_korean"))
# models that must know something are rules: weights that know it are too large for a test
RENAMED = {
    "hf/facebook/bart-large-mnli": "python/rules:weak",
    "hf/roberta-large-mnli": "python/rules:strong",
    "hf/microsoft/deberta-v2-xxlarge-mnli": "python/rules:strong",
    # pictures of inconsistent answers need some: a small trained model may have none
    f"hf/{_BECEL}/roberta-base/1/single/rte/seed0": "python/rules:unsure",
    f"hf/{_CALM}/roberta-base/1/single/rte/seed0": "python/rules:unsure",
    f"hf/{_CALM}/roberta-large/1/single/rte/seed0": "python/rules:shaky",
    f"hf/{_CALM_KOREAN}/monologg-kobert/1/single/kornli/seed0": "python/rules:unsure",
    f"hf/{_CALM_KOREAN}/monologg-koelectra-base-v3-discriminator/1/single/kornli/seed0": "python/rules:shaky",
}
_TWO_SIZES = {
    "bases": ["roberta-base", "roberta-large"],
    "families": {"roberta": {"base": "roberta-base", "large": "roberta-large"}},
}
_THREE_BASES = {  # ρ needs another model of the same size
    "bases": ["bert-base-uncased", *_TWO_SIZES["bases"]],
    "families": {"bert": {"base": "bert-base-uncased"}, **_TWO_SIZES["families"]},  # type: ignore[dict-item]
}
_QUICK = {"seeds": 2, "limit": 6, "epochs": 1, "batch": 32, "lr": 0.003}
# random weights know no similarity, and made-up names no grammar
_ATTACK = {"samples": 2, "bar": -1.0, "pos": "any"}
_KOREAN = ["monologg/kobert", "monologg/koelectra-base-v3-discriminator"]
# keys of the study files that the test changes; empty values are left out, keys of tasks and settings are added
SMALLER: Mapping[str, Mapping[str, Any]] = {
    "becel": {**_THREE_BASES, **_QUICK},
    "becel_t5": {"bases": ["t5-base"], "families": {}, "compare": [], **_QUICK, "seeds": 1},
    "becel_6k": {
        "bases": ["google/electra-base-discriminator"],
        "settings": {"six_thousand": {"fractions": [0.5]}},
        **_QUICK,
    },
    "becel_adversarial": {
        **_QUICK,
        "tasks": {task: {"rows": 24} for task in ("boolq", "mrpc", "sst2", "rte")},
        "settings": {"bae": {**_ATTACK, "candidates": 3}, "textfooler": _ATTACK},
    },
    "calm": {**_TWO_SIZES, **_QUICK, "limit": 2},
    "calm_korean": {"bases": _KOREAN, **_QUICK, "seeds": 1, "limit": 2},
    "calm_multi_task": {"bases": ["roberta-large"], **_QUICK, "limit": 2},
}


@dataclass(frozen=True)
class Line:
    """A row of a table: "Tables 2, 9" are two entries."""

    paper: str
    entries: tuple[str, ...]
    shows: str
    command: str
    checked_by: str

    @property
    def commands(self) -> list[str]:
        return re.findall(r"`(unwaver [^`]+)`", self.command)


def section(text: str) -> str:
    return text.split(f"\n## {SECTION}\n", 1)[1].split("\n## ", 1)[0]


def lines_of(text: str) -> list[Line]:
    found = []
    for part in text.split("\n### ")[1:]:
        paper = part.partition("\n")[0].strip()
        for row in re.findall(r"^\| ((?:Table|Figure).*) \|$", part, re.MULTILINE):
            which, shows, command, checked = (cell.strip() for cell in f"{row} ".split(" | "))
            kind, numbers = re.fullmatch(r"(Table|Figure)s? ([\d, ]+)", which).groups()  # type: ignore[union-attr]
            entries = tuple(f"{kind} {n.strip()}" for n in numbers.split(","))
            found.append(Line(paper, entries, shows, command, checked))
    return found


LINES = lines_of(section(PAGE))


# --- what is on the page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", COUNTS)
def test_every_table_and_figure_is_listed_once(paper: str) -> None:
    found = [entry for line in LINES if line.paper == paper for entry in line.entries]
    assert sorted(found) == sorted(f"{kind} {n + 1}" for kind, most in COUNTS[paper].items() for n in range(most))


def test_no_other_paper_is_listed() -> None:
    assert {line.paper for line in LINES} == set(COUNTS)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.paper} {', '.join(line.entries)}")
def test_every_line_has_a_command_or_a_reason(line: Line) -> None:
    assert line.shows
    assert line.commands or line.command.startswith(("illustration", "not run: ")), line.command
    if line.commands:
        assert (line.paper, line.entries[0]) in EXPECTED, "what its output must have"


def test_tests_that_compute_published_numbers_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", " ".join(line.checked_by for line in LINES))
    assert len(named) >= 10
    for file, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), name


def test_studies_of_the_papers_are_in_a_command() -> None:
    named = set(re.findall(r"unwaver study studies/(\w+)\.toml", section(PAGE)))
    assert named == set(SMALLER)
    assert [name for name in named if not (ROOT / "studies" / f"{name}.toml").is_file()] == []


# --- running them ----------------------------------------------------------------------------------------------


@dataclass
class Folder:
    """A user's folder; a command that is printed twice is run once."""

    path: Path
    said: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        if command not in self.said:
            self.said[command] = self._run(command)
        return self.said[command]

    def _run(self, command: str) -> str:
        from unwaver.cli.main import main

        words = [renamed(word) for word in shlex.split(command)[1:]]
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0, f"{command}\n{out.getvalue()}"
        return out.getvalue()

    def json(self, name: str) -> Any:
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def scores(self, run: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json(f"{run}/scores.json")["scores"]
        return found

    def values(self, run: str, *metrics: str, **where: str) -> list[float]:
        """The values of these metrics of a run; each must be there, and none may be null."""
        scores = [s for s in self.scores(run) if s.get("unreadable_as") in (None, "violation")]
        scores = [s for s in scores if all(s[name] == value for name, value in where.items())]
        found = {m: [s["value"] for s in scores if s["metric"] == m and s["given"] is None] for m in metrics}
        assert all(found.values()), f"{run}: no {[m for m, v in found.items() if not v]} {where}"
        values = [v for some in found.values() for v in some]
        assert None not in values, f"{run}: {found}"
        return values


def renamed(word: str) -> str:
    """ "--agree entail=hf/NLI" names a model, too."""
    name, sign, model = word.rpartition("=")
    return f"{name}{sign}{RENAMED.get(model, model)}"


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(map(as_toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def smaller_study(name: str) -> str:
    """The study of the paper with fewer bases, seeds and rows: all else is as in the file."""
    plan = tomllib.loads((ROOT / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    for key, value in SMALLER[name].items():
        if key in ("settings", "tasks"):
            plan[key] = {each: {**found, **value.get(each, {})} for each, found in plan[key].items()}
        else:
            plan[key] = value
    return "\n".join(f"{key} = {as_toml(value)}" for key, value in plan.items() if value not in ({}, []))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Data and models, made once; each paper gets links to them."""
    for library in ("torch", "transformers", "vl_convert"):
        pytest.importorskip(library)
    import paper_data

    place = tmp_path_factory.mktemp("small")
    paper_data.data_folder(place / "DIR")
    paper_data.predictions(place)
    paper_data.files(place)
    paper_data.models(place)
    (place / "studies").mkdir()
    for name in SMALLER:
        (place / "studies" / f"{name}.toml").write_text(smaller_study(name), encoding="utf-8")
    gc.collect()
    gc.freeze()  # a study collects after each model: what is imported by now need not be looked at again
    yield place
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.parametrize("paper", COUNTS)
def test_commands_run(paper: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    monkeypatch.syspath_prepend(str(small))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("UNWAVER_DATA", raising=False)
    folder = Folder(small)
    for line in LINES:
        said = [folder.run(command) for command in line.commands if line.paper == paper]
        if said:
            EXPECTED[paper, line.entries[0]](folder, said)


# --- what the output must have ---------------------------------------------------------------------------------

Expected = Callable[[Folder, Sequence[str]], None]
EXPECTED: dict[tuple[str, str], Expected] = {}


def expects(paper: str, *entries: str) -> Callable[[Expected], Expected]:
    def keep(check: Expected) -> Expected:
        EXPECTED.update({(paper, entry): check for entry in entries})
        return check

    return keep


def cell(text: str, row: str, column: str) -> str:
    """The cell of a printed table: the row that begins with `row`, and the column with this title."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]
    title = next(line for line in lines if column in line)
    found = next(line for line in lines if line[0] == row)
    return found[title.index(column)]


def has(text: str, *words: str) -> None:
    assert not [word for word in words if word not in text], text


def means(folder: Folder, study: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = folder.json(f"studies/{study}/study.json")["lines"]
    return found


def mean_and_spread(lines: Sequence[Mapping[str, Any]], *names: str) -> None:
    assert lines
    for line in lines:
        for name in names:
            spread = "sd" if name == "value" else f"{name}_sd"
            assert line[name] is not None, line
            assert line[spread] is not None, line


def svg(folder: Folder, name: str, *texts: str) -> None:
    found = (folder.path / name).read_text(encoding="utf-8")
    assert found.startswith("<svg")
    has(found, *texts)


def rows_of_csv(folder: Folder, name: str) -> list[dict[str, str]]:
    with (folder.path / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def figure(folder: Folder, place: str, name: str) -> str:
    """The one figure of a folder with this in its file name."""
    (found,) = (path for path in (folder.path / place).iterdir() if name in path.name)
    return found.read_text(encoding="utf-8")


# BECEL


@expects("BECEL", "Table 1")
def becel_sizes(folder: Folder, said: Sequence[str]) -> None:
    from unwaver.suites.becel import CASES

    listed = dict(re.findall(r"^(becel/\S+) +([\d,]+) groups$", said[0], re.MULTILINE))
    assert set(listed) == {f"becel/{task}/{kind}" for task, kinds in CASES.items() for kind in kinds}
    assert "0" not in listed.values()
    groups = int(re.search(r"groups +(\d+)", said[1])[1])  # type: ignore[index]
    assert groups > int(listed["becel/sst2/additive"]) + int(listed["becel/ag_news/additive"]), "every pair"


@expects("BECEL", "Table 2")
def becel_taus(folder: Folder, said: Sequence[str]) -> None:
    published = {
        "boolq": {"semantic", "negational"},
        "mrpc": {"semantic", "negational", "symmetric"},
        "rte": {"semantic", "negational", "symmetric"},
        "snli": {"semantic", "negational", "symmetric", "transitive"},
        "sst2": {"semantic", "additive"},
        "wic": {"semantic", "symmetric", "transitive"},
        "ag_news": {"semantic", "additive"},
    }
    for study, base in (("becel", "roberta-base"), ("becel", "roberta-large"), ("becel_t5", "t5-base")):
        lines = [x for x in means(folder, study) if x["base"] == base and x["metric"] == "tau"]
        for task, kinds in published.items():
            assert {x["kind"].removesuffix("_seen") for x in lines if x["task"] == task} >= kinds
    lines = means(folder, "becel")
    mean_and_spread([x for x in lines if x["seeds"] > 1], "value")
    assert all((x["value"] is None) == (x["groups"] == 0) for x in lines), "null only where nothing applies"
    always = [x for x in lines if x["kind"].partition("_")[0] in ("semantic", "negational", "symmetric")]
    assert [x for x in always if x["value"] is None] == []
    has(said[0], "boolq/negational", "tau ↓", "seeds")


@expects("BECEL", "Table 3")
def becel_adversarial(folder: Folder, said: Sequence[str]) -> None:
    table = said[0].split("adversarial training: semantic τ in %", 1)[1]
    for recipe in ("bae", "textfooler"):
        for task in ("boolq", "mrpc", "sst2", "rte"):
            assert re.fullmatch(r"\d+\.\d \([+-]\d+\.\d\)\*{0,2}", cell(table, recipe, task))
    lines = [x for x in means(folder, "becel_adversarial") if (x["kind"], x["metric"]) == ("semantic", "tau")]
    assert len(lines) == 12
    mean_and_spread(lines, "value")


@expects("BECEL", "Table 10")
def becel_samples(folder: Folder, said: Sequence[str]) -> None:
    models = folder.path / "studies/becel_adversarial/models/roberta-base/1"
    for recipe in ("bae", "textfooler"):
        for task in ("boolq", "mrpc", "sst2", "rte"):
            place = models / recipe / task / "seed0"
            samples = [json.loads(line) for line in (place / "adversarial.jsonl").read_text().splitlines()]
            counts = json.loads((place / "unwaver.json").read_text())["adversarial"][task]
            assert 0 < len(samples) == counts["samples"] <= 2 * counts["items"]
            assert all(sample["label"] and sample["fields"] != sample["original"] for sample in samples)


@expects("BECEL", "Table 4")
def becel_rho(folder: Folder, said: Sequence[str]) -> None:
    has(said[0], "ρ of negational τ against SNLI", "τ SNLI", "best τ")
    found = folder.json("studies/becel/study.json")["rho"]
    assert {(x["task"], x["size"]) for x in found} == {
        (t, s) for t in ("boolq", "mrpc", "rte") for s in ("base", "large")
    }
    assert all(None not in (x["tau"], x["tau_snli"], x["best"]) for x in found)


@expects("BECEL", "Table 5")
def becel_few_rows(folder: Folder, said: Sequence[str]) -> None:
    lines = means(folder, "becel_6k")
    tau = [x for x in lines if x["metric"] == "tau"]
    found = {(x["task"], x["setting"]) for x in tau if x["kind"].startswith("transitive")}
    assert found == {("snli", "all"), ("snli", "six_thousand"), ("wic", "all")}
    mean_and_spread(tau, "base_accuracy")
    mean_and_spread([x for x in lines if x["kind"] == "test"], "value")
    has(said[0], "six_thousand@0.5", "base acc.")


@expects("BECEL", "Table 6")
def becel_f1(folder: Folder, said: Sequence[str]) -> None:
    lines = [x for x in means(folder, "becel") if x["kind"] == "semantic"]
    assert {x["task"] for x in lines} == {"boolq", "mrpc", "rte", "snli", "sst2", "wic", "ag_news"}
    mean_and_spread(lines, "base_f1")
    mean_and_spread(
        [x for x in means(folder, "becel") if x["kind"] == "symmetric_seen"], "base_f1"
    )  # of WiC: train
    has(said[0], "base F1")


@expects("BECEL", "Table 8")
def becel_recipe(folder: Folder, said: Sequence[str]) -> None:
    recipe = folder.json("models/mrpc/seed0/unwaver.json")["recipe"]
    assert (recipe["name"], recipe["batch"], recipe["lr"], recipe["epochs"]) == ("becel", 8, 2e-5, 10)


@expects("BECEL", "Table 9")
def becel_fields(folder: Folder, said: Sequence[str]) -> None:
    groups = [json.loads(line) for line in (folder.path / "sets/groups.jsonl").read_text().splitlines()]
    changed = {
        (group["task"], name)
        for group in groups
        if group["kind"] in ("semantic", "negational")
        for name, text in group["items"][0]["fields"].items()
        if text != group["items"][1]["fields"][name]
    }
    assert changed == {
        ("boolq", "question"), ("snli", "hypothesis"), ("rte", "sentence2"), ("mrpc", "sentence2"),
        ("wic", "sentence2"), ("sst2", "sentence"), ("ag_news", "text"),
    }  # fmt: skip


@expects("BECEL", "Figure 3")
def becel_confidence(folder: Folder, said: Sequence[str]) -> None:
    assert folder.values("runs/negated", "max_prob_inconsistent") > [0.5]
    has(figure(folder, "figures/becel", "how-sure-the-model-was"), "greatest probability", "inconsistent")


@expects("BECEL", "Figure 4")
def becel_shares(folder: Folder, said: Sequence[str]) -> None:
    has(said[0], "better", "worse", "no difference", "large against base · roberta", "large against base · all")
    svg(folder, "studies/becel/shares.svg", "better", "worse", "no difference")


@expects("BECEL", "Figure 5")
def becel_examples(folder: Folder, said: Sequence[str]) -> None:
    has(said[0], "rte/negational", "original", "variant")


@expects("BECEL", "Figure 7")
def becel_sheet(folder: Folder, said: Sequence[str]) -> None:
    title, *rows = (folder.path / "sheet.tsv").read_text(encoding="utf-8").splitlines()
    assert "verdict" in title.split("\t")
    assert len(rows) >= 4


# CALM

CALM = ("mnli", "qnli", "rte", "qqp", "mrpc")


@expects("CALM", "Table 1")
def calm_rates(folder: Folder, said: Sequence[str]) -> None:
    for base in ("roberta-base", "roberta-large"):
        lines = [x for x in means(folder, "calm") if x["base"] == base]
        assert {(x["task"], x["metric"]) for x in lines} == {(t, m) for t in CALM for m in ("C_R", "C_S")}
        mean_and_spread(lines, "value", "accuracy")
    has(said[0], "mnli against rte", "qnli against rte", "qqp against mrpc", "large against base")
    assert {s["task"] for s in folder.scores("runs/t5") if s["metric"] == "C_S"} == set(CALM)
    first, second = folder.values("runs/people", "C_R")
    assert second < first < 1
    assert all(s["accuracy"] is not None for s in folder.scores("runs/people"))


@expects("CALM", "Table 2")
def calm_examples(folder: Folder, said: Sequence[str]) -> None:
    has(said[1], "Sentence1", "Sentence2", "original", "entailment")


@expects("CALM", "Table 3")
def calm_unreadable(folder: Folder, said: Sequence[str]) -> None:
    assert folder.values("runs/t5", "C_S") is not None
    assert any(s["unreadable"] for s in folder.scores("runs/t5"))
    has(said[0], "calm/rte/signal")


@expects("CALM", "Table 4")
def calm_korean(folder: Folder, said: Sequence[str]) -> None:
    lines = means(folder, "calm_korean")
    sets = ("kornli", "klue-nli", "klue-sts")
    assert {(x["task"], x["metric"]) for x in lines} == {(t, m) for t in sets for m in ("C_R", "C_S")}
    assert all(None not in (x["value"], x["accuracy"]) for x in lines)


@expects("CALM", "Table 5")
def calm_multi_task(folder: Folder, said: Sequence[str]) -> None:
    lines = means(folder, "calm_multi_task")
    wanted = {(s, t, m) for s in ("single", "multi") for t in CALM[:3] for m in ("C_R", "C_S")}
    assert {(x["setting"], x["task"], x["metric"]) for x in lines} == wanted
    mean_and_spread(lines, "value", "accuracy")
    has(said[0], "multi against single")


@expects("CALM", "Table 6")
def calm_sizes(folder: Folder, said: Sequence[str]) -> None:
    for task in (*CALM, "kornli", "klue-nli", "klue-sts"):
        assert re.search(rf"^calm/{task}/signal +\d+ groups$", said[0], re.MULTILINE)
    assert dict(re.findall(r"single/(\w+): 2 × (\d+) rows", said[1])).keys() == set(CALM)


@expects("CALM", "Table 7")
def calm_signs(folder: Folder, said: Sequence[str]) -> None:
    group = json.loads((folder.path / "signs.jsonl").read_text(encoding="utf-8").splitlines()[0])
    texts = [" ".join(map(str, item["fields"].values())) for item in group["items"]]
    signs = ("[Premise]", "{Premise}", "(Premise)", "<Premise>", *(f"Premise{sign}" for sign in ";#!@~-"))
    assert len(texts) == 11
    assert [sign for sign in signs if not any(f"{sign} " in text for text in texts)] == []


@expects("CALM", "Figure 2")
def calm_entropy(folder: Folder, said: Sequence[str]) -> None:
    assert min(folder.values("runs/format", "entropy_inconsistent")) > 0
    has(figure(folder, "figures/calm", "how-unsure-the-models-were"), "mean entropy, bits", "rte/signal")


@expects("CALM", "Figure 3")
def calm_korean_entropy(folder: Folder, said: Sequence[str]) -> None:
    has(figure(folder, "figures/korean", "how-unsure-the-models-were"), "mean entropy, bits", "kornli/signal")


# ParaNLU

CORRECTED = ("A_corrected", "P_C_corrected")


@expects("ParaNLU", "Table 2")
def paranlu_sizes(folder: Folder, said: Sequence[str]) -> None:
    for task in ("anli", "snli", "atomic", "social"):
        assert cell(said[0], f"paranlu/{task}/paraphrase", "originals") == "18"
        assert cell(said[0], f"paranlu/{task}/paraphrase", "paraphrases") == "45"
        assert cell(said[0], f"paranlu/{task}/paraphrase", "per original") == "2.5 ± 0.5"


@expects("ParaNLU", "Table 4")
def paranlu_models(folder: Folder, said: Sequence[str]) -> None:
    columns = ("A_original", "A_test", "A_paraphrase", "P_C", *CORRECTED)
    for run in ("roberta", "abductive", "unified", "words", "bilstm", "prompted"):
        assert len(folder.values(f"runs/{run}", *columns)) == len(columns)
    published = next(text for text in said if "d-snli-roberta-large" in text)
    has(published, "A_corrected_published", "P_C_corrected_published", "A_test")
    has(said[-1], "snli/seed0", "words", "yes", *CORRECTED)


@expects("ParaNLU", "Table 5")
def paranlu_prompts(folder: Folder, said: Sequence[str]) -> None:
    prompts = [
        item["prompt"]
        for line in (folder.path / "prompts/groups.jsonl").read_text(encoding="utf-8").splitlines()
        for item in json.loads(line)["items"]
    ]
    assert {prompt.count("Answer:") for prompt in prompts} == {37}
    assert {prompt.count("Premise:") for prompt in prompts} == {25}, "twelve examples, of δ-SOCIAL, have none"


@expects("ParaNLU", "Table 6")
def paranlu_distances(folder: Folder, said: Sequence[str]) -> None:
    for text in said:
        for task in ("anli", "snli", "atomic", "social"):
            row = f"paranlu/{task}/paraphrase"
            values = [float(cell(text, row, name)) for name in ("lexical", "bleurt")]
            assert all(0 < value < 100 for value in values)
            assert text is not said[0] or 0 < float(cell(text, row, "syntactic")) < 100


@expects("ParaNLU", "Table 7")
def paranlu_artifacts(folder: Folder, said: Sequence[str]) -> None:
    for part in ("likely", "unlikely"):
        for model in ("snli/seed0", "partial/seed0"):
            rows = [line.split() for line in said[-1].splitlines() if line.split()[:1] == [part] and model in line]
            named = {row[3]: row[4] for row in rows}
            for name in ("A_original", "A_paraphrase", "P_C", *CORRECTED):
                assert re.fullmatch(r"[\d.]+", named[name]), named
            assert model != "partial/seed0" or named["A_original"] == ("100.0" if part == "likely" else "0.0")


@expects("ParaNLU", "Figure 2")
def paranlu_patterns(folder: Folder, said: Sequence[str]) -> None:
    found = re.findall(r"own/bucket +P_C ↑ +([\d.]+) .* 80\.0 +5", said[0])
    assert found == ["100.0", "68.0", "77.6"], "80 % accuracy each: highest, lowest, and in between"


@expects("ParaNLU", "Figure 3")
def paranlu_front(folder: Folder, said: Sequence[str]) -> None:
    has(said[-1], "Figure: paranlu-figure-3.svg")
    svg(folder, "paranlu-figure-3.svg", "snli/seed0", "words", "PVAP")


@expects("ParaNLU", "Figure 4")
def paranlu_sources(folder: Folder, said: Sequence[str]) -> None:
    has(said[-1], *CORRECTED)
    svg(folder, "paranlu-figure-4.svg", "PVAP")


@expects("ParaNLU", "Figure 5")
def paranlu_pretraining(folder: Folder, said: Sequence[str]) -> None:
    has(said[-1], "1M/seed0", "snli/seed0", *CORRECTED)
    svg(folder, "paranlu-figure-5.svg", "PVAP")


@expects("ParaNLU", "Figure 6")
def paranlu_training_share(folder: Folder, said: Sequence[str]) -> None:
    has(said[-1], "half/seed0", "snli/seed0", *CORRECTED)
    svg(folder, "paranlu-figure-6.svg", "PVAP")


@expects("ParaNLU", "Figure 8")
def paranlu_other_sets(folder: Folder, said: Sequence[str]) -> None:
    has(said[-1], "paranlu/atomic/paraphrase", "paranlu/social/paraphrase", *CORRECTED)
    svg(folder, "paranlu-figure-8.svg", "PVAP")


# semantic sensitivity

SETS = ("mnli", "snli", "anli-r1", "anli-r2", "anli-r3")


@expects("Semantic sensitivity", "Table 1")
def sensitivity_accuracy(folder: Folder, said: Sequence[str]) -> None:
    scores = folder.scores("runs/sensitivity")
    for model in ("rules:weak", "rules:strong"):
        found = {s["task"]: s["accuracy"] for s in scores if s["model"] == model and s["metric"] == "r_r@1"}
        assert set(SETS) <= set(found)
        assert None not in found.values()


@expects("Semantic sensitivity", "Table 2")
def sensitivity_rates(folder: Folder, said: Sequence[str]) -> None:
    for model in ("rules:weak", "rules:strong"):
        for task in SETS:
            strict, relaxed = folder.values("runs/sensitivity", "r_s@3", "r_r@3", model=model, task=task)
            assert strict <= relaxed
    has(said[0], "r_s@3", "r_r@3", "rules:weak", "rules:strong", "average_in", "average_out")


@expects("Semantic sensitivity", "Table 3")
def sensitivity_by_label(folder: Folder, said: Sequence[str]) -> None:
    for task in SETS:
        found = {
            (row["given"], row["metric"]): row["value"]
            for row in rows_of_csv(folder, "sensitivity.csv")
            if row["model"] == "average" and row["task"] == task and row["metric"] in ("r_s@3", "r_r@3")
        }
        labels = {"", "entailment", "neutral", "contradiction"}
        assert set(found) == {(label, metric) for label in labels for metric in ("r_s@3", "r_r@3")}, task
        assert "" not in found.values()
        assert found["neutral", "r_s@3"] == found["neutral", "r_r@3"]


@expects("Semantic sensitivity", "Table 4")
def sensitivity_lengths(folder: Folder, said: Sequence[str]) -> None:
    names = ("overlap_fuzzy", "overlap_words", "length_context", "length_original", "length", "pairs")
    rows = rows_of_csv(folder, "sensitivity.csv")
    for task in SETS:
        found = {
            row["metric"]: row["value"] for row in rows if (row["model"], row["task"]) == ("rules:weak", task)
        }
        assert all(float(found[name]) > 0 for name in names)


@expects("Semantic sensitivity", "Figure 2")
def sensitivity_sizes(folder: Folder, said: Sequence[str]) -> None:
    for task in ("mnli", "snli"):
        has(figure(folder, "figures/sensitivity", f"fooling-rates-of-the-models-{task}"), "r_s@3", "rules:weak")


@expects("Semantic sensitivity", "Figure 3", "Figure 4")
def sensitivity_divergence(folder: Folder, said: Sequence[str]) -> None:
    for name in ("jensen-shannon", "kolmogorov-smirnov", "spread-of-the-probabilities"):
        has(figure(folder, "figures/sensitivity", name), "flipped", "unflipped")
    states = ("js_flipped", "js_unflipped", "ks_flipped", "ks_unflipped", "sigma_original", "sigma_flipped")
    assert all(0 <= value <= 1 for value in folder.values("runs/sensitivity", *states, model="rules:weak"))


# generated text

TEXT = {
    "PP": "Cons_paraphrase", "BERTs": "Cons_bertscore", "Entail": "Cons_entail", "Contra": "Cons_contradict",
    "R1-C": "Cons_rouge1", "NER": "Cons_entities", "R1-A": "accuracy_rouge1", "BLEURT": "accuracy_bleurt",
    "PP+acc": "Cons_paraphrase_accurate",
}  # fmt: skip


def columns_of_text(folder: Folder, run: str, names: Iterable[str]) -> None:
    for model in ("opt-125m", "opt-350m"):
        scores = [s for s in folder.scores(run) if s["model"].endswith(model)]
        methods = {s["method"] for s in scores}
        assert len(methods) == 2, "greedy and sampled"
        for method in methods:
            values = {s["metric"]: s["value"] for s in scores if s["method"] == method}
            assert [name for name in names if values.get(TEXT[name]) is None] == [], (model, method)


@expects("Generated text", "Table 1")
def generation_table(folder: Folder, said: Sequence[str]) -> None:
    columns_of_text(folder, "runs/truthfulqa", TEXT)


@expects("Generated text", "Table 3")
def generation_unfiltered(folder: Folder, said: Sequence[str]) -> None:
    columns_of_text(folder, "runs/unfiltered", set(TEXT) - {"Entail", "Contra"})
    asked = {
        run: (folder.path / f"runs/{run}/groups.jsonl").read_text(encoding="utf-8")
        for run in ("truthfulqa", "unfiltered")
    }
    assert "Or not?" in asked["unfiltered"], "a paraphrase with a low score"
    assert "Or not?" not in asked["truthfulqa"]


@expects("Generated text", "Table 2")
def generation_correlations(folder: Folder, said: Sequence[str]) -> None:
    has(
        said[0],
        "6 pairs of 3 questions",
        "Fleiss",
        "rouge1",
        "entities",
        "bertscore",
        "paraphrase",
        "entail",
        "contradict",
    )
    svg(folder, "correlations.svg", "people", "bertscore", "contradict")
