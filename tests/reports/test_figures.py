"""Figures: each where its data are and nowhere else, with the numbers of the scores, and safe as SVG."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unwaver
from unwaver.answers.given import complete
from unwaver.metrics import charts
from unwaver.metrics.block import block_of
from unwaver.metrics.meanings.pairwise import correlations
from unwaver.metrics.score import partition, score_frame
from unwaver.reports.page import all_figures
from unwaver.reports.pictures import _clean, inline_svg
from unwaver.reports.source import Source, read_sources
from unwaver.result import Result
from unwaver.types import Figure

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")

BUCKETS, REPEATS = "Bucket accuracy", "Wording noise against sampling noise"
FLIPS, SURE = "Flips: which answer turned into which", "Confidence of consistent and inconsistent answers"
CURVES, KINDS, THETA = "Accuracy against consistency", "Inconsistency", "C_S over θ"
AGREE, OVER_K, BY_MODEL, FLIPPED = (
    "Do the notions of agreement agree?",
    "Fooling rate over k",
    "Fooling rates of the models",
    "Flipped and unflipped variants",
)


def figures_of(frame: Any) -> list[Figure]:
    frame = complete(frame)
    return all_figures([Source("t", frame, Result(score_frame(frame)), {})], Result(score_frame(frame)))


def families(figures: list[Figure]) -> set[str]:
    return {f.family for f in figures}


def drawn(figures: list[Figure]) -> None:
    for number, figure in enumerate(figures):
        root = ET.fromstring(inline_svg(figure, number))
        assert len(list(root.iter())) > 20, figure.title


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Figure]:
    place = tmp_path_factory.mktemp("sample") / "run"
    result = unwaver.run("sample", "fake/random", out=str(place))
    return all_figures(read_sources([place]), result)


def test_a_run_of_relations(sample: list[Figure]) -> None:
    assert families(sample) == {KINDS, CURVES, FLIPS, THETA, SURE}  # normalised and exact say the same
    drawn(sample)


def test_several_models_make_a_heat_map(tmp_path: Path) -> None:
    result = unwaver.run("sample", ["fake/random", "fake/keyword"], out=str(tmp_path / "run"))
    figures = all_figures(read_sources([tmp_path / "run"]), result)
    (figure,) = [f for f in figures if f.family == KINDS]
    cells = {(row["row"], row["column"]): row["value"] for row in figure.spec["data"]["values"]}
    for model in ("fake/random", "fake/keyword"):
        assert (
            cells["snli/negational", model]
            == result.find("tau", task="snli", kind="negational", model=model).value
        )
    (unsure,) = [f for f in figures if f.title == "How unsure the models were"]
    bars = {(row["name"], row["colour"]): row["value"] for row in unsure.spec["data"]["values"]}
    entropy = {(f"{s.task}/{s.kind}", s.model): s.value for s in result if s.metric == "entropy_inconsistent"}
    assert bars == {key: value for key, value in entropy.items() if value is not None}
    drawn([figure, unsure])


def test_flips_are_counted() -> None:
    table = {
        "group": [0, 0, 1, 1, 2, 2, 3, 3], "kind": ["semantic"] * 8, "role": ["original", "variant"] * 4,
        "label": ["a", "a", "a", "b", "a", "b", "b", "b"],
    }  # fmt: skip
    (figure,) = [f for f in figures_of(table) if f.family == FLIPS]
    cells = {(r["row"], r["column"]): r["value"] for r in figure.spec["data"]["values"]}
    assert cells == {("a", "a"): 1 / 3, ("a", "b"): 2 / 3, ("b", "a"): 0.0, ("b", "b"): 1.0}


def test_no_flip_no_matrix_and_one_number_no_picture() -> None:
    table = {"group": [0, 0, 1, 1], "kind": ["semantic"] * 4, "role": ["original", "variant"] * 2, "label": ["a", "a", "b", "b"]}  # fmt: skip
    assert figures_of(table) == []


def buckets(replicates: int = 1, models: tuple[str, ...] = ("one",)) -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    return [
        {"model": m, "group": g, "kind": "bucket", "role": "variant", "item": f"{g}/{w}", "replicate": r,
         "label": "ab"[int(random.random() < 0.3 + 0.4 * k)], "gold": "b"}
        for k, m in enumerate(models) for g in range(12) for w in range(4) for r in range(replicates)
    ]  # fmt: skip


def test_buckets_among_curves() -> None:
    found = figures_of(buckets(models=("one", "two")))
    assert {CURVES, BUCKETS} <= families(found)
    assert REPEATS not in families(found)
    curves = next(f for f in found if f.family == CURVES and f.metric == "P_C")
    scores = Result(score_frame(complete(buckets(models=("one", "two")))))
    points = {row["colour"]: (row["accuracy"], row["value"]) for row in curves.spec["data"]["values"]}
    for model in ("one", "two"):
        assert points[model] == (scores.find("A_bucket", model=model).value, scores.find("P_C", model=model).value)
    floor = [r for r in curves.spec["layer"][0]["data"]["values"] if r["share"] == 1.0]
    assert min(r["value"] for r in floor) == 0.5
    histogram = next(f for f in found if f.family == BUCKETS)
    assert sum(r["value"] for r in histogram.spec["data"]["values"]) == 12
    drawn(found)


def test_replicates_tell_wording_from_sampling() -> None:
    found = [f for f in figures_of(buckets(replicates=3)) if f.family == REPEATS]
    assert {f.title for f in found} == {"Variance components", "Cons_lex"}
    drawn(found)


def test_fooling_over_k_and_flipped_variants() -> None:
    random = np.random.default_rng(1)
    rows = []
    for g in range(30):
        for v in range(4):
            p = [0.8, 0.1, 0.1] if not v or random.random() < 0.7 else [0.2, 0.5, 0.3]
            label = ("entailment", "neutral", "contradiction")[int(np.argmax(p))]
            rows.append({"group": g, "kind": "fooling", "role": "variant" if v else "original", "item": f"{g}/{v}", "label": label,
                         "gold": "entailment", "probs": p, "keep": 3})  # fmt: skip
    found = figures_of(pl.DataFrame(rows))
    assert {OVER_K, FLIPPED} <= families(found)
    over_k = next(f for f in found if f.family == OVER_K)
    values = [row["value"] for row in sorted(over_k.spec["data"]["values"], key=lambda row: row["x"])]
    assert len(values) == 3
    assert values == sorted(values)
    drawn(found)
    assert BY_MODEL not in families(found), "one model"
    other = [{**row, "model": "other", "label": "entailment", "probs": [0.8, 0.1, 0.1]} for row in rows]
    both = figures_of(pl.DataFrame([*({**row, "model": "one"} for row in rows), *other]))
    (by_model,) = [f for f in both if f.family == BY_MODEL]
    bars = {(row["name"], row["colour"]): row["value"] for row in by_model.spec["data"]["values"]}
    assert bars["one", "r_r@3"] == values[-1]
    assert bars["other", "r_r@3"] == bars["other", "r_s@3"] == 0
    drawn([by_model])


def test_agreements_correlate_as_scipy_says() -> None:
    from scipy.stats import spearmanr

    random = np.random.default_rng(2)
    a, b = random.random(50), random.random(50)
    a[3] = np.nan
    cells = {(r["row"], r["column"]): r["value"] for r in correlations({"one": a, "two": b})["data"]["values"]}
    assert cells["one", "two"] == pytest.approx(spearmanr(np.delete(a, 3), np.delete(b, 3)).statistic)
    assert cells["one", "one"] == 1.0


def test_names_keep_their_order_where_a_correlation_is_missing() -> None:
    """`exact` is constant where `numeric` has a value: no cell for these two, and no other order for that."""
    random = np.random.default_rng(3)
    numeric = np.r_[random.random(10), np.full(10, np.nan)]
    columns = {"exact": np.r_[np.zeros(10), random.random(10)], "numeric": numeric, "rouge1": random.random(20)}
    drawn_of = correlations(columns)
    cells = drawn_of["data"]["values"]
    assert ("exact", "numeric") not in {(c["row"], c["column"]) for c in cells}
    places = drawn_of["layer"][0]["encoding"]
    assert places["x"]["sort"] == places["y"]["sort"] == list(columns)


def test_free_text_has_a_correlation_matrix(tmp_path: Path) -> None:
    lines = [
        {
            "items": [
                {"text": f"Question {n}?", "accepted": ["yes"]},
                {"text": f"Again, {n}?"},
                {"text": f"{n}, please?"},
            ]
        }
        for n in range(6)
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = unwaver.run(
        str(tmp_path / "q.jsonl"),
        "fake/random",
        agree=("exact", "normalised", "rouge1"),
        out=str(tmp_path / "run"),
    )
    found = all_figures(read_sources([tmp_path / "run"]), result)
    assert FLIPS not in families(found)
    drawn(found)


def test_boxes_are_numpys() -> None:
    values = np.array([0.0, 0.4, 0.5, 0.6, 0.7, 5.0])
    found = charts.box(values)
    assert (found["q1"], found["middle"], found["q3"]) == tuple(np.percentile(values, [25, 50, 75]))
    assert (found["low"], found["high"]) == (0.4, 0.7)  # 0 and 5 lie further out than one and a half boxes


def test_names_say_what_tells_apart() -> None:
    frame = complete(buckets(models=("one", "two")))
    blocks = [block_of(part) for part in partition(frame)]
    assert list(charts.names_of(blocks).values()) == ["own/bucket · one", "own/bucket · two"]
    assert list(charts.names_of(blocks[:1]).values()) == ["own/bucket"]


def test_svg_keeps_only_what_is_known() -> None:
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="a()"><script>a()</script>'
        '<image href="http://x/"/><foreignObject/><a xlink:href="javascript:a()"><text>t</text></a>'
        '<path style="x" class="y" fill="url(http://x)" d="M0,0h1" onclick="a()" role="graphics-symbol" aria-label="&lt;b&gt;"/>'
        '<g clip-path="url(#c)"><text fill="#fff">&lt;script&gt;</text></g></svg>'
    )
    root = ET.fromstring(text)
    _clean(root, "p-")
    left = ET.tostring(root, encoding="unicode")
    for word in ("onload", "onclick", "<script", "href", "image", "foreignObject", "style", "class", "http://x"):
        assert word not in left
    assert "&lt;script&gt;" in left
    assert "title>&lt;b&gt;</" in left
    assert 'clip-path="url(#p-c)"' in left


def test_labels_are_short_and_steer_nothing() -> None:
    assert charts.label("a\x00b\u202ec\x1b[31m") == "a�b�c�[31m"
    assert len(charts.label("x" * 1000)) == 48
