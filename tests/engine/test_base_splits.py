"""The accuracy of the whole split that a set was made from, beside the accuracy on the originals of the set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import unwaver
from unwaver.cli.main import cli
from unwaver.errors import DataError, UsageError

LABELS = ("entailment", "not_entailment")


@pytest.fixture
def rte(tmp_path: Path) -> Path:
    """Six items of the base split, of which two have a negation; ten training items, four of them swapped."""
    place = tmp_path / "data" / "becel" / "rte"
    place.mkdir(parents=True)

    def write(name: str, header: list[str], rows: list[list[object]]) -> None:
        lines = ["\t".join(header), *("\t".join(map(str, row)) for row in rows)]
        (place / f"{name}.tsv").write_text("\n".join(lines) + "\n")

    write("validation", ["sentence1", "sentence2", "label"], [[f"v {n}", f"b {n}", n % 2] for n in range(6)])
    write("train", ["sentence1", "sentence2", "label"], [[f"t {n}", f"u {n}", n % 2] for n in range(10)])
    header = ["sentence1", "sentence2", "sentence2_neg", "label", "neg_label", "tag"]
    write("negational", header, [[f"v {n}", f"b {n}", f"not b {n}", 0, 1, "negation"] for n in (0, 2)])
    write("symmetric", ["sentence1", "sentence2", "label"], [[f"u {n}", f"t {n}", 1] for n in (1, 3, 5, 7)])
    return tmp_path / "data"


def run(suite: str, rte: Path, out: Path, **options: object) -> unwaver.Result:
    options.setdefault("base_accuracy", True)
    model = options.pop("model", "fake/constant")
    return unwaver.run(suite, model, data_dir=str(rte), out=str(out), **options)  # type: ignore[arg-type]


def test_both_accuracies(rte: Path, tmp_path: Path) -> None:
    found = run("becel/rte/negational", rte, tmp_path / "run")
    tau = found.find("tau")
    assert tau.accuracy == 1.0, "all originals of negational groups are entailment"
    assert tau.base_accuracy == pytest.approx(1 / 2)
    assert tau.base_f1 == pytest.approx((2 * 3 / (6 + 3) + 0) / 2)
    base = found.find("accuracy", kind="base_validation")
    assert (base.value, base.counted) == (1 / 2, 6)
    assert found.find("macro_f1").value == pytest.approx(1 / 3)
    assert not [s for s in found if s.kind == "base_validation" and s.metric.startswith("tau")]


def test_each_set_has_the_split_that_it_was_made_from(rte: Path, tmp_path: Path) -> None:
    result = unwaver.run(
        ["becel/rte/negational", "becel/rte/symmetric"], "fake/random",
        data_dir=str(rte), out=str(tmp_path / "run"), base_accuracy=True, limit=1,
    )  # fmt: skip
    counts = {s.kind: s.counted for s in result if s.metric == "accuracy"}
    assert counts == {"negational": 1, "symmetric": 1, "base_validation": 6, "base_train": 10}
    for kind, base in (("negational", "base_validation"), ("symmetric", "base_train")):
        assert result.find("tau", kind=kind).base_accuracy == result.find("accuracy", kind=base).value
        assert result.find("tau", kind=kind).base_f1 == result.find("macro_f1", kind=base).value


def test_it_is_not_asked_unless_asked_for(rte: Path, tmp_path: Path) -> None:
    found = run("becel/rte/negational", rte, tmp_path / "run", base_accuracy=False)
    assert {s.kind for s in found} == {"negational"}
    assert found.find("tau").base_accuracy is None
    assert found.find("tau").accuracy == 1.0


def test_answers_in_the_store_are_enough(rte: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "shared.sqlite")
    first = run("becel/rte/negational", rte, tmp_path / "first", store=store)
    later = run("becel/rte/negational", rte, tmp_path / "later", store=store, base_accuracy=False)
    assert later.find("tau").base_accuracy == first.find("tau").base_accuracy == 1 / 2
    assert later.run["spent"]["calls"] == 0
    again = unwaver.score(tmp_path / "later")
    assert again.find("tau").base_f1 == first.find("tau").base_f1
    other = run(
        "becel/rte/negational", rte, tmp_path / "other", store=store, base_accuracy=False, model="fake/random"
    )
    assert other.find("tau").base_accuracy is None, "another model has not answered them"


def test_a_store_with_a_part_of_the_split_is_not_enough(rte: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "shared.sqlite")
    run("becel/rte/negational", rte, tmp_path / "first", store=store, base_accuracy=False)  # asks items 0 and 2
    later = run("becel/rte/negational", rte, tmp_path / "later", store=store, base_accuracy=False)
    assert later.find("tau").base_accuracy is None
    assert later.run["spent"]["calls"] == 0


def test_the_same_folder_goes_on(rte: Path, tmp_path: Path) -> None:
    run("becel/rte/negational", rte, tmp_path / "run", base_accuracy=False)
    found = run("becel/rte/negational", rte, tmp_path / "run")
    assert found.find("tau").base_accuracy == 1 / 2
    assert found.run["spent"]["calls"] == 4, "two of six were originals of groups"


def test_a_missing_split_is_named(rte: Path, tmp_path: Path) -> None:
    (rte / "becel" / "rte" / "train.tsv").unlink()
    with pytest.raises(DataError, match="train"):
        run("becel/rte/symmetric", rte, tmp_path / "run")
    (tmp_path / "run").mkdir()
    run("becel/rte/symmetric", rte, tmp_path / "run", base_accuracy=False)
    run("becel/rte/symmetric", rte, tmp_path / "run", base_accuracy=False)  # with a store to look at


def test_what_has_no_base_split_is_refused(rte: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing in this run has a base split"):
        unwaver.run("sample/snli", "fake/random", base_accuracy=True, out=str(tmp_path / "run"))
    with pytest.raises(UsageError, match="--until"):
        run("becel/rte/negational", rte, tmp_path / "run", until="tau<=0.1")


def test_on_the_command_line(rte: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    options = ["--model", "fake/constant", "--data-dir", str(rte), "--no-report"]
    done = CliRunner().invoke(
        cli, ["run", "becel/rte/negational", *options, "--out", str(place), "--base-accuracy"]
    )
    assert done.exit_code == 0, done.output
    for word in ("base acc.", "base F1", "macro_f1", "rte/base_validation"):
        assert word in done.output
    plain = tmp_path / "plain"
    CliRunner().invoke(cli, ["run", "becel/rte/negational", *options, "--out", str(plain)])
    compared = CliRunner().invoke(cli, ["compare", str(place), str(plain), "--json"])
    assert compared.exit_code == 0, "a base split that one run has is no obstacle"
    assert json.loads(compared.output)["comparisons"][0]["summary"].keys() == {"negational"}
    shown = CliRunner().invoke(cli, ["show", str(place)])
    assert "2 groups" in shown.output, "items of a base split break nothing"
    table = CliRunner().invoke(cli, ["report", str(place), "--format", "md", "--out", "-"])
    assert "base acc." in table.output, table.output
