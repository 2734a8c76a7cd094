"""--test: whose a test set is, what is refused, and the same values from every form of it."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import unwaver
from unwaver.cli.analyse_verb import command as analyse
from unwaver.cli.compare_verb import command as compare
from unwaver.errors import DataError, UnwaverError, UsageError

TASK = ("weakener", "strengthener")


def predictions(place: Path, model: str, seed: int, task: str = "snli") -> tuple[Path, Path]:
    """Published prediction files of a made-up model: problems, and its test set."""
    random_ = random.Random(seed)

    def said() -> dict[str, Any]:
        p = round(random_.random(), 6)
        return {"prediction": int(p > 0.5), "confidence": [1 - p, p]}

    def problem() -> dict[str, Any]:
        original = said()
        return {
            "original_prediction": original["prediction"], "original_confidence": original["confidence"],
            "gold_label": random_.randint(0, 1), "bucket_confidences": [said() for _ in range(4)],
        }  # fmt: skip

    human, test = place / f"{task}_human_{model}.json", place / f"{task}_test_set_{model}.json"
    human.write_text(json.dumps({f"{task}.train.{n}": problem() for n in range(40)}))
    tests = [{"example_id": f"{task}.test.{n}", "label": random_.randint(0, 1), **said()} for n in range(60)]
    test.write_text(json.dumps(tests))
    return human, test


@pytest.fixture
def files(tmp_path: Path) -> dict[str, tuple[Path, Path]]:
    return {model: predictions(tmp_path, model, seed) for seed, model in enumerate(("small", "large"))}


def as_table(test: Path, path: Path, **more: str) -> Path:
    entries = json.loads(test.read_text())
    rows = [
        {"label": TASK[e["prediction"]], "gold": TASK[e["label"]], "probs": json.dumps(e["confidence"]), **more}
        for e in entries
    ]
    with path.open("w", newline="") as f:
        writer = csv.DictWriter(f, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def corrected(result: unwaver.Result) -> dict[str, Any]:
    return {s.metric: s.value for s in result if "corrected" in s.metric or s.metric in ("A_test", "weight_mass")}


def test_every_form_of_a_test_set_gives_the_same_values(files: Any, tmp_path: Path) -> None:
    human, test = files["small"]
    expected = corrected(unwaver.score(human, test=test))
    assert expected["P_C_corrected"] is not None
    named = as_table(test, tmp_path / "a.csv", model="small", task="snli")
    for given in (
        str(test),
        [test],
        f"small={test}",
        f"{human}={test}",
        as_table(test, tmp_path / "b.csv"),
        named,
    ):
        assert corrected(unwaver.score(human, test=given)) == expected, given


def test_a_test_set_of_another_model_is_refused(files: Any, tmp_path: Path) -> None:
    human, _ = files["small"]
    _, other = files["large"]
    with pytest.raises(DataError, match="a test set of large, expected one of small") as caught:
        unwaver.score(human, test=other)
    assert f"--test small={other}" in str(caught.value.hint)
    unwaver.score(human, test=f"small={other}")  # the user says that it is the same
    named = as_table(other, tmp_path / "t.csv", model="large")
    for given in (str(named), f"small={named}"):
        with pytest.raises(DataError, match="a test set of large"):
            unwaver.score(human, test=given)


def test_other_refusals(files: Any, tmp_path: Path) -> None:
    human, test = files["small"]
    _, social = predictions(tmp_path, "small", 3, "social")
    for given, kind, message in (
        (social, DataError, 'found "social.test.0" among problems of snli'),
        (f"tiny={test}", UsageError, "no model and no path has this name"),
        (tmp_path / "absent.json", DataError, "there is no such file"),
        (human, DataError, "expected a list of predictions"),
        ([test, as_table(test, tmp_path / "t.csv")], UsageError, "a second test set for small"),
        (as_table(test, tmp_path / "u.csv", role="variant"), DataError, "no row of a test set"),
    ):
        with pytest.raises(kind, match=message):
            unwaver.score(human, test=given)


def test_several_models_need_to_be_told_apart(files: Any, tmp_path: Path) -> None:
    (small, small_test), (large, large_test) = files["small"], files["large"]
    both = unwaver.score([small, large], test=[small_test, large_test])
    for model, (human, test) in files.items():
        own = {s.metric: s.value for s in unwaver.score(human, test=test)}
        assert {s.metric: s.value for s in both if s.model == model} == own
    with pytest.raises(UsageError, match="this test set may belong to small"):
        unwaver.score([small, large], test=as_table(small_test, tmp_path / "t.csv"))


def ran(verb: Any, *arguments: object) -> Result:
    return CliRunner().invoke(verb, [str(a) for a in arguments], catch_exceptions=True)


def test_the_analyses_take_one_test_set_per_model(files: Any) -> None:
    (small, small_test), (large, large_test) = files["small"], files["large"]
    tests = ("--test", small_test, "--test", large_test)
    expected = {
        model: {s.metric: s.value for s in unwaver.score(human, test=test)}
        for model, (human, test) in files.items()
    }
    chosen = ("--accuracy", "A_corrected", "--consistency", "P_C_corrected")
    points = json.loads(ran(analyse, "pareto", small, large, *tests, *chosen, "--json").stdout)["points"]
    assert {p["model"]: p["consistency"] for p in points} == {m: v["P_C_corrected"] for m, v in expected.items()}
    # test sets correct nothing else: with them, corrected values are what is meant
    assert json.loads(ran(analyse, "pareto", small, large, *tests, "--json").stdout)["points"] == points
    found = ran(analyse, "series", f"0.1={small}", f"1={large}", *tests, "--json")
    (step, _) = json.loads(found.stdout)["steps"]
    assert step["values"].keys() == {"A_corrected", "P_C_corrected"}
    partly = ran(analyse, "pareto", small, large, "--test", small_test)
    assert "large has no A_corrected" in " ".join(partly.stderr.split())
    found = ran(analyse, "series", f"0.1={small}", f"1={large}", *tests, "--metric", "A_corrected", "--json")
    steps = json.loads(found.stdout)["steps"]
    assert [s["values"]["A_corrected"][0] for s in steps] == [v["A_corrected"] for v in expected.values()]
    found = ran(compare, small, large, *tests, "--metric", "P_C_corrected", "--json")
    rows = json.loads(found.stdout)["comparisons"][0]["rows"]
    assert rows[0]["first"] == pytest.approx(expected["small"]["P_C_corrected"], rel=1e-12)
    assert rows[0]["second"] == pytest.approx(expected["large"]["P_C_corrected"], rel=1e-12)


def test_the_analyses_refuse_a_test_set_of_another_model(files: Any) -> None:
    (small, small_test), (large, large_test) = files["small"], files["large"]
    for verb, arguments in (
        (analyse, ("pareto", small)),
        (analyse, ("series", f"1={small}")),
        (analyse, ("split", small, "--partial", small)),
        (analyse, ("compare", small, small)),
        (compare, (small, small)),
    ):
        done = ran(verb, *arguments, "--test", large_test)
        assert isinstance(done.exception, UnwaverError), (arguments, done.output)
        assert "a test set of large" in str(done.exception)
    done = ran(analyse, "compare", small, large, "--test", small_test)
    assert done.exit_code == 0, done.output  # of the second there is none: it has no corrected values


def test_parts_with_the_weights_of_the_whole_or_of_their_own(files: Any) -> None:
    human, test = files["small"]
    whole = {s.metric: s.value for s in unwaver.score(human, test=test)}
    by_weights = {}
    for weights in ("whole", "recounted"):
        options = ("--partial", human, "--test", f"{human}={test}", "--weights", weights, "--json")
        done = ran(analyse, "split", human, *options)
        assert done.exit_code == 0, done.exception
        scores = json.loads(done.stdout)["scores"]
        by_weights[weights] = {(s["part"], s["metric"]): s["value"] for s in scores}
    assert by_weights["whole"] != by_weights["recounted"]
    assert ("likely", "weight_mass") in by_weights["recounted"]
    assert ("likely", "weight_mass") not in by_weights["whole"]
    # parts under the weights of the whole: their mean, by their mass, is the whole
    parts = [by_weights["whole"][part, "A_corrected"] for part in ("likely", "unlikely")]
    assert min(parts) <= whole["A_corrected"] <= max(parts)
    without = ran(analyse, "split", human, "--partial", human, "--weights", "recounted")
    assert "needs the test set" in str(without.exception)
