"""The bag of words: n-grams, training from files of several forms, saving without code, and asking it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unwaver
from unwaver.errors import DataError, ModelError, UsageError
from unwaver.models.bow import COLUMNS, chosen_segments, features, ngrams, open_model, save, train, training_rows
from unwaver.tasks import task_named
from unwaver.types import Request

ROWS = [("It rains. Ann is wet.", "Ann stands in the rain.", 1), ("It rains. Ann is wet.", "Ann is inside.", 0)]


def written(path: Path, rows: Any = ROWS) -> Path:
    lines = ["sentence1,sentence2,label", *(f"{a} {n},{b},{c}" for n in range(8) for a, b, c in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def request(*segments: str, task: str = "delta-snli", choices: Any = ("weakener", "strengthener")) -> Request:
    return Request(task, segments, "", choices, choices)


def test_ngrams_and_features() -> None:
    assert list(ngrams("A dog!")) == ["a", "a dog", "a dog !", "dog", "dog !", "!"]
    assert max(len(g.split()) for g in ngrams("a b c d e f")) == 4
    matrix = features(["a a a", "", "b"])
    assert matrix.shape == (3, COLUMNS)
    assert np.allclose(matrix.multiply(matrix).sum(axis=1).ravel(), [1, 0, 1])


def test_trained_saved_and_asked(tmp_path: Path) -> None:
    model = train([written(tmp_path / "train.csv")], "delta-snli")
    save(model, tmp_path / "bow")
    again = open_model(str(tmp_path / "bow"))
    assert (again.name, again.method, again.about["examples"]) == ("bow", "bow", 16)
    asked = [request("It rains. Ann is wet.", "Ann is inside."), request("It rains.", "Ann stands in the rain.")]
    answers = {i: a for batch in again.answer(asked) for i, a in batch}
    assert answers[0].logprobs[0] > answers[0].logprobs[1]
    assert answers[1].logprobs[1] > answers[1].logprobs[0]
    assert sum(np.exp(answers[0].logprobs)) == pytest.approx(1)
    first = {i: a for batch in model.answer(asked) for i, a in batch}
    assert np.allclose(first[0].logprobs, answers[0].logprobs, rtol=1e-4, atol=1e-4)
    assert sorted(p.name for p in (tmp_path / "bow").iterdir()) == ["model.json", "weights.npz"]


def test_partial_input_reads_the_update_alone(tmp_path: Path) -> None:
    model = train([written(tmp_path / "train.csv")], "delta-snli", fields=["update"])
    asked = [request("Something else.", "Ann is inside."), request("It rains. Ann is wet.", "Ann is inside.")]
    one, other = (a for batch in model.answer(asked) for _, a in batch)
    assert one == other


def test_fields_that_share_a_segment() -> None:
    delta, anli = task_named("delta-snli"), task_named("anli")
    assert chosen_segments(delta, ()) == [0, 1]
    assert chosen_segments(delta, ["update"]) == [1]
    assert chosen_segments(anli, ["hyp1", "hyp2"]) == [1]
    with pytest.raises(UsageError, match="puts hyp2 into one segment with hyp1"):
        chosen_segments(anli, ["hyp1"])
    with pytest.raises(UsageError, match="no field 'updat'"):
        chosen_segments(delta, ["updat"])


def test_forms_of_training_files(tmp_path: Path) -> None:
    released = {"Premise": "P.", "Hypothesis": "H.", "Update": "U.", "UpdateType": "strengthener"}
    impossible = {**released, "Update": "", "UpdateTypeImpossible": True}
    path = tmp_path / "dev.jsonl"
    path.write_text(json.dumps(released) + "\n" + json.dumps(impossible))
    assert list(training_rows(path, task_named("delta-snli"))) == [(("P. H.", "U."), 1)]
    story = {"obs1": "A.", "obs2": "B.", "hyp1": "C.", "hyp2": "D."}
    art = tmp_path / "art.jsonl"
    art.write_text(json.dumps(story))
    (tmp_path / "art-labels.lst").write_text("2\n")
    assert list(training_rows(art, task_named("anli"))) == [(("A. B.", "C. D."), 1)]
    (tmp_path / "art-labels.lst").write_text("2\n1\n")
    with pytest.raises(DataError, match="found 2 labels"):
        list(training_rows(art, task_named("anli")))


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("sentence1,sentence2,label\na,b,7\n", 'found label "7"', 2),
        ("sentence1,label\na,1\n", "expected premise, hypothesis, update", 2),
        ("sentence1,sentence2\na,b\n", "no column label", 2),
        ("sentence1,sentence2,label\na,b,1\n", "all examples have one label", None),
    ],
)
def test_bad_training_files(tmp_path: Path, text: str, message: str, line: int | None) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        train([path], "delta-snli")
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a bag-of-words model"):
        open_model(str(tmp_path / "absent"))
    save(train([written(tmp_path / "train.csv")], "delta-snli"), tmp_path / "bow")
    (tmp_path / "bow" / "weights.npz").write_bytes(b"no archive")
    with pytest.raises(ModelError, match="not a bag-of-words model"):
        open_model(str(tmp_path / "bow"))


def test_another_task_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    model = train([written(tmp_path / "train.csv")], "delta-snli")
    model.check([request("a", "b", task="delta-atomic")])
    with pytest.raises(ModelError, match="was trained on delta-snli"):
        model.check([request("a", "b", task="snli", choices=("entailment", "neutral", "contradiction"))])
    with pytest.raises(ModelError, match="was trained on delta-snli"):
        model.check([request("a")])


def test_shares_are_of_contexts(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv")
    assert train([path], "delta-snli", share=0.5).about["examples"] == 8
    with pytest.raises(UsageError, match="share is 2"):
        train([path], "delta-snli", share=2)


def test_command(unwaver: Any, data: Path, tmp_path: Path) -> None:
    train_file = data / "defeasible_nli" / "social_dev_part_paranlu_aflite.csv"
    done = unwaver("bow", train_file, "--task", "delta-social", "--out", "model", "--fields", "update")
    assert done.returncode == 0, done.stderr
    assert "trained on 1,002 examples" in done.stdout
    options = ("--model", "bow/model", "--limit", 20, "--data-dir", data, "--json")
    scores = json.loads(unwaver("run", "paranlu/social", *options).stdout)["scores"]
    p_c = next(s for s in scores if s["metric"] == "P_C")
    assert (p_c["model"], p_c["method"], p_c["groups"]) == ("model", "bow", 20)
    assert "identical" not in p_c["flags"]


def test_as_an_object(data: Path, tmp_path: Path) -> None:
    model = train([data / "defeasible_nli" / "social_dev_part_paranlu_aflite.csv"], "delta-social")
    result = unwaver.run("paranlu/social", model, limit=5, data_dir=str(data), out=str(tmp_path / "run"))
    assert result.find("P_C").counted == 5


def test_a_label_of_thousands_of_digits_is_no_number(tmp_path: Path) -> None:
    from unwaver.files import whole

    assert (whole("17"), whole("²"), whole("-1"), whole("9" * 5000), whole("")) == (17, None, None, None, None)
