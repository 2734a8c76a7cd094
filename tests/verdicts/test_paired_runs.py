"""Comparing runs: hand-worked tables, the same groups only, the same questions only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import unwaver as package
from unwaver.errors import DataError, UsageError
from unwaver.verdicts.paired_runs import compare, pairs_of, sides_of, summary


def write(
    path: Path, broken: str, *, kind: str = "semantic", cluster: int = 1, wrong: str = "", **extra: Any
) -> Path:
    """A table of answers: one group for each letter, x broken, o not, - unreadable; `cluster` groups share an original."""
    rows = []
    for n, letter in enumerate(broken):
        shared = {"group": f"g{n}", "kind": kind, "cluster": f"c{n // cluster}", **extra}
        original = "no" if wrong[n : n + 1] == "w" else "yes"
        other = {"x": "no" if original == "yes" else "yes", "o": original, "-": None}[letter]
        rows += [
            {**shared, "role": "original", "label": original, "gold": "yes"},
            {**shared, "role": "variant", "label": other, "gold": "yes"},
        ]
    pl.DataFrame(rows, infer_schema_length=None).write_ndjson(path)
    return path


def rows_of(*paths: Path, **options: Any) -> list[Any]:
    found = compare(pairs_of([sides_of(path) for path in paths]), **options)
    return [row for comparison in found for row in comparison.rows]


def test_by_hand(tmp_path: Path) -> None:
    """τ 0.6 -> 0.3 over ten groups: four fixed, one broken; McNemar exact: 2 · (1 + 5) / 2⁵."""
    one = write(tmp_path / "a.jsonl", "xxxxxxoooo")
    other = write(tmp_path / "b.jsonl", "ooooxxxooo", wrong="w")
    (row,) = rows_of(one, other)
    assert (row.metric, row.first, row.second) == ("tau", 0.6, 0.3)
    assert row.difference == pytest.approx(-0.3)
    assert (row.test, row.p) == ("mcnemar", 12 / 32)
    assert row.p == pytest.approx(mcnemar([[2, 1], [4, 3]], exact=True).pvalue)
    assert (row.fixed, row.broken) == (("g0", "g1", "g2", "g3"), ("g6",))
    assert (row.groups, row.counted, row.not_applicable, row.clusters) == (10, 10, 0, 10)
    assert row.accuracy == (1.0, 0.9)
    assert row.verdict == "no difference"


def test_shared_originals_forbid_mcnemar(tmp_path: Path) -> None:
    """Three clusters of four groups, all fixed: 2 of 2³ ways are as great."""
    one, other = write(tmp_path / "a.jsonl", "x" * 12, cluster=4), write(tmp_path / "b.jsonl", "o" * 12, cluster=4)
    (row,) = rows_of(one, other)
    assert (row.test, row.p, row.clusters) == ("permutation", 0.25, 3)


def test_better_and_worse(tmp_path: Path) -> None:
    bad, good = "x" * 30 + "o" * 30, "o" * 60
    tables = {"a": bad, "b": good}
    paths = {name: write(tmp_path / f"{name}.jsonl", broken) for name, broken in tables.items()}
    assert rows_of(paths["a"], paths["b"])[0].verdict == "better"
    assert rows_of(paths["b"], paths["a"])[0].verdict == "worse"
    (accuracy,) = rows_of(paths["a"], paths["b"], metrics=["accuracy_variants"])  # high is better there
    assert (accuracy.verdict, accuracy.better) == ("better", "high")


def test_a_run_with_itself_is_exactly_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = package.run("sample", "fake/random", out="r").folder
    assert folder is not None
    names = ["tau", "C_R", "C_S", "accuracy", "tau_independent", "entropy_consistent", "tau_conditioned"]
    rows = rows_of(folder, folder, metrics=names)
    assert {row.metric for row in rows} == set(names)
    assert len(rows) > 60
    for row in rows:
        assert row.difference in (0.0, None)
        assert row.p in (1.0, None)
        assert (row.broken, row.fixed) == ((), ())
        assert row.verdict in ("no difference", None)


def test_holm_is_over_the_whole_table(tmp_path: Path) -> None:
    parts = {"a": ("xxxxxxxxoo", "xxxxxxoooo"), "b": ("oooooooooo", "oooooxoooo")}
    paths = []
    for name, (first, second) in parts.items():
        frames = [
            pl.read_ndjson(write(tmp_path / "part.jsonl", broken, kind=kind, task=kind))
            for broken, kind in ((first, "semantic"), (second, "symmetric"))
        ]
        path = tmp_path / f"{name}.jsonl"
        pl.concat(frames).write_ndjson(path)
        paths.append(path)
    rows = rows_of(*paths)
    p = [row.p for row in rows]
    assert p == pytest.approx([2 / 2**8, 2 / 2**5])
    assert [row.p_holm for row in rows] == pytest.approx(multipletests(p, method="holm")[1].tolist())
    assert summary(rows) == {
        "semantic": {"better": 1, "worse": 0, "no difference": 0},
        "symmetric": {"better": 0, "worse": 0, "no difference": 1},
    }


def test_other_groups_are_refused_with_their_counts(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a.jsonl", "xoxo"), write(tmp_path / "b.jsonl", "xoxoxx")
    with pytest.raises(UsageError, match="4 and 6 groups, 4 in both") as raised:
        rows_of(one, other)
    assert "--common" in str(raised.value.hint)
    (row,) = rows_of(one, other, common=True)
    assert (row.groups, row.difference) == (4, 0.0)
    (found,) = compare(pairs_of([sides_of(one), sides_of(other)]), common=True)
    assert found.remarks == ("own/own/semantic: 4 groups in both; left out: 0 of the first, 2 of the second",)


def test_nothing_in_common(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a.jsonl", "xo"), write(tmp_path / "b.jsonl", "xo", kind="symmetric")
    with pytest.raises(DataError, match="no group in common"):
        rows_of(one, other, common=True)


def test_what_does_not_apply_or_is_missing_is_counted(tmp_path: Path) -> None:
    """Transitive: in one run an original is wrong, in the other an answer is missing."""
    both: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    for n in range(4):
        for name, rows in both.items():
            labels = ["yes", "yes", "no" if (name, n) == ("a", 3) else "yes"]
            labels[0] = "no" if (name, n) == ("a", 0) else "yes"
            missing = (name, n) == ("b", 1)
            for role, label in zip(("original", "original", "conclusion"), labels, strict=True):
                shared = {"group": str(n), "kind": "transitive", "role": role, "gold": "yes"}
                gone = missing and role == "conclusion"
                rows.append(
                    {**shared, "label": None if gone else label, "status": "not_asked" if gone else "answered"}
                )
    paths = []
    for name, rows in both.items():
        paths.append(tmp_path / f"{name}.jsonl")
        pl.DataFrame(rows).write_ndjson(paths[-1])
    (row,) = rows_of(*paths)
    assert (row.groups, row.counted, row.not_applicable, row.missing) == (4, 2, 1, 1)
    assert (row.first, row.second, row.fixed) == (0.5, 0.0, ("3",))


def test_unreadable_answers_are_shown(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a.jsonl", "oo--"), write(tmp_path / "b.jsonl", "oooo")
    (row,) = rows_of(one, other)
    assert (row.unreadable, row.first, row.second) == ((2, 0), 0.5, 0.0)


def test_another_k_is_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "a.jsonl", "xoxo")
    frame = pl.read_ndjson(one)
    more = frame.filter(pl.col("role") == "variant", pl.col("group") == "g1")
    pl.concat([frame, more]).write_ndjson(tmp_path / "b.jsonl")
    with pytest.raises(UsageError, match="1 groups have different numbers of answers, such as g1 with 2 and 3"):
        rows_of(one, tmp_path / "b.jsonl")
    (found,) = compare(pairs_of([sides_of(one), sides_of(tmp_path / "b.jsonl")]), allow_different=True)
    assert "compared although they differ" in found.remarks[0]


def test_other_settings_are_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    package.run("sample/snli/semantic", "fake/random", out="a")
    package.run("sample/snli/semantic", "fake/random", out="b", replicates=2, unreadable="skip")
    package.run("sample/snli/semantic", "fake/keyword", out="c", device="cpu", max_calls=1000)
    with pytest.raises(UsageError, match="--replicates is 1 and 2; --unreadable is violate and skip"):
        rows_of(Path("a"), Path("b"))
    (found,) = compare(pairs_of([sides_of(Path("a")), sides_of(Path("b"))]), allow_different=True)
    assert any("--replicates is 1 and 2" in line for line in found.remarks)
    (row,) = rows_of(Path("a"), Path("c"))  # another model, and where it runs, is what is compared
    assert row.counted == 10


def test_other_texts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, question in (("a", "Is it late?"), ("b", "Is it early?")):
        Path("q.csv").write_text(f"question,paraphrase\n{question},Late?\nIs it dark?,Dark?\n")
        package.run("q.csv", "fake/random", out=name, labels=("yes", "no"))
    with pytest.raises(UsageError, match="1 groups have different texts, such as q/own/semantic/2"):
        rows_of(Path("a"), Path("b"))


def test_which_is_compared_with_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    models = ["fake/random", "fake/constant"]
    package.run("sample/snli/semantic", models, out="a")
    package.run("sample/snli/semantic", models, out="b", seed=1)
    package.run("sample/snli/semantic", "fake/keyword", out="c")
    a, b, c = (sides_of(Path(name)) for name in "abc")

    def names(pairs: Any) -> list[tuple[str, str]]:
        return [(one.name, other.name) for one, other in pairs]

    assert names(pairs_of([a])) == [("fake/random (a)", "fake/constant (a)")]
    assert names(pairs_of([a, b])) == [
        ("fake/random (a)", "fake/random (b)"),
        ("fake/constant (a)", "fake/constant (b)"),
    ]
    assert names(pairs_of([c, a])) == [
        ("fake/keyword (c)", "fake/random (a)"),
        ("fake/keyword (c)", "fake/constant (a)"),
    ]
    with pytest.raises(UsageError, match="only one run"):
        pairs_of([c])


def test_buckets_are_compared_by_p_c(tmp_path: Path) -> None:
    """θ = 1, ½ -> P_C = (1 + ½) / 2; θ = 1, 1 -> 1."""
    rows = [
        {"group": g, "kind": "bucket", "expect": "bucket", "role": "variant", "gold": "y", "item": f"{g}{n}"}
        for g in "ab"
        for n in range(2)
    ]
    for name, labels in (("a", "yyyn"), ("b", "yyyy")):
        frame = pl.DataFrame([{**row, "label": label} for row, label in zip(rows, labels, strict=True)])
        frame.write_ndjson(tmp_path / f"{name}.jsonl")
    (row,) = rows_of(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert (row.metric, row.first, row.second, row.fixed) == ("P_C", 0.75, 1.0, ("b",))


# --- the command line ---------------------------------------------------------------------------------------


def test_command(unwaver: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", "x" * 30 + "o" * 30)
    write(tmp_path / "b.jsonl", "o" * 59 + "x")
    done = unwaver("compare", "a.jsonl", "b.jsonl", "--limit", 2)
    assert done.returncode == 0, done.stderr
    assert "table (b.jsonl) against table (a.jsonl)" in done.stdout
    assert "better" in done.stdout
    assert "newly fixed: g0, g1 and 28 more" in done.stdout
    assert "newly broken: g59" in done.stdout
    document = json.loads(unwaver("compare", "a.jsonl", "b.jsonl", "--json").stdout)
    (found,) = document["comparisons"]
    assert (document["version"], found["second"]["path"], found["summary"]["semantic"]["better"]) == (
        1,
        "b.jsonl",
        1,
    )
    assert len(found["rows"][0]["fixed"]) == 30
    assert found["rows"][0]["p_holm"] == found["rows"][0]["p"] < 1e-6


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("a.jsonl",), "only one run", "compare A B"),
        (("a.jsonl", "gone.jsonl"), "there is no such file", "run folder"),
        (("a.jsonl", "c.jsonl"), "2 and 3 groups, 2 in both", "--common"),
        (("a.jsonl", "b.jsonl", "--metric", "tua"), "no tua to compare", "did you mean tau"),
        (("a.jsonl", "b.jsonl", "--alpha", "5"), "5", "--help"),
        (("a.jsonl", "text.txt"), "text.txt", "--format"),
    ],
)
def test_what_goes_wrong_is_told(
    unwaver: Any, tmp_path: Path, args: tuple[str, ...], message: str, hint: str
) -> None:
    for name, broken in (("a", "xo"), ("b", "oo"), ("c", "xox")):
        write(tmp_path / f"{name}.jsonl", broken)
    (tmp_path / "text.txt").write_text("nothing of use\n")
    done = unwaver("compare", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr
