"""One declaration per metric: complete, unambiguous, and all that a metric from elsewhere needs."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import unwaver
from unwaver import catalog, registry
from unwaver.cli.main import main
from unwaver.errors import UsageError
from unwaver.meaning import (
    Meaning,
    Phrase,
    family_of,
    is_known,
    leading_of,
    meaning_of,
    meanings,
    suggestion,
    undeclared,
)
from unwaver.reports.methods import slug
from unwaver.reports.pictures import figures_of
from unwaver.reports.source import read_sources
from unwaver.reports.terminal import chance_of, legend, rows
from unwaver.reports.verdict import verdicts
from unwaver.result import Result

ROOT = Path(unwaver.__file__).parents[2]


# --- the built-in ones --------------------------------------------------------------------------------------


@pytest.mark.parametrize("meaning", meanings(), ids=lambda m: m.name)
def test_a_declaration_is_complete(meaning: Meaning) -> None:
    assert meaning.title
    assert not meaning.title.endswith(".")
    assert meaning.says.endswith(".")
    assert meaning.formula
    assert bool(meaning.chance) == bool(meaning.chance_says)
    assert meaning.leads is None or meaning.verdict is not None
    assert meaning.docs, "docs names the page that describes the metric"
    assert not isinstance(meaning.chance, str) or is_known(meaning.chance)
    path, _, anchor = meaning.docs.partition("#")
    text = (ROOT / path).read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}
    assert not anchor or anchor in anchors
    for name in (*meaning.beside, *meaning.verdict_of):
        assert family_of(name.replace("<t>", "0.5").replace("<agreement>", "exact").replace("<k>", "5")), name


def test_nothing_is_declared_twice_and_everything_is() -> None:
    names = [m.name for m in meanings()]
    assert len(names) == len(set(names))
    assert undeclared() == ()
    ranks = [m.leads for m in meanings() if m.leads is not None and not m.name.startswith("Cons_")]
    assert len(ranks) == len(set(ranks))  # which number leads is never left to chance


def test_every_metric_of_the_sample_is_explained() -> None:
    """With replicates and free text, so that almost every family has a number."""
    result = unwaver.run("sample", "fake/random", replicates=2, agree=["exact", "rouge1", "numeric"])
    for s in result:
        meaning = meaning_of(s.metric)
        assert meaning is not None, s.metric
        assert is_known(s.metric), s.metric
        assert meaning.name == s.metric
        assert "<" not in meaning.title + meaning.says, s.metric
    assert {"tau", "C_S@0.9", "Cons_rouge1@0.5", "Cons_numeric_questions"} <= {s.metric for s in result}


def buckets(kind: str = "bucket") -> dict[str, list[object]]:
    labels = ["a", "a", "b", "b", "a", "b", "a", "a"]
    return {
        "group": [n // 4 for n in range(8)],
        "item": [f"{n // 4}-{n % 4 // 2}" for n in range(8)],
        "replicate": [n % 2 for n in range(8)],
        "role": ["variant"] * 8,
        "kind": [kind] * 8,
        "label": labels,
        "gold": ["a"] * 8,
        "weight": [0.5] * 8,
    }


def test_every_metric_of_buckets_is_explained() -> None:
    result = unwaver.score(buckets())
    assert {"P_C", "var_wording", "Cons_lex_repeat", "weight_mass"} <= {s.metric for s in result}
    assert [s.metric for s in result if not is_known(s.metric)] == []


def test_names_of_families() -> None:
    known = (
        "r_r@5",
        "r_s@12",
        "C_S@0.8",
        "C_S@1",
        "Cons_rouge1",
        "Cons_judge@0.5",
        "Cons_exact_joint",
        "Cons_lex",
    )
    assert [name for name in known if not is_known(name)] == []
    unknown = (
        "r_r@0",
        "r_r",
        "r_r@k",
        "C_S@",
        "Cons_rogue1",
        "Cons_",
        "Cons_judges",
        "tau<",
        "tau_",
        "",
        "accuracy_x",
    )
    assert [name for name in unknown if is_known(name)] == []


def test_a_member_of_a_family_has_its_values_in_the_texts() -> None:
    found = meaning_of("r_r@5")
    assert found is not None
    assert found.heading == "relaxed fooling rate, k = 5 (r_r@5)"
    assert found.beside == ("r_s@5", "r_r@1", "r_s@1")
    assert isinstance(found.verdict, Phrase)
    assert found.verdict.happens == "is changed by one of 5 paraphrases"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Cons_lex_repeat", "Cons_lex_repeat"),
        ("Cons_rouge1_repeat", "Cons_<agreement>_repeat"),
        ("Cons_contradict", "Cons_contradict"),
        ("Cons_contradict_joint", "Cons_contradict_joint"),
        ("Cons_mine", "Cons_<agreement>"),  # an agreement of a run that is in no catalogue
        ("accuracy_variants", "accuracy_variants"),
        ("accuracy_mine", "accuracy_<scorer>"),
    ],
)
def test_the_nearest_declaration_counts(name: str, family: str) -> None:
    found = family_of(name)
    assert found is not None
    assert found.name == family


def test_less_contradiction_is_better() -> None:
    assert [meaning_of(n).better for n in ("Cons_contradict", "Cons_contradict_joint", "Cons_exact")] == [  # type: ignore[union-attr]
        "low",
        "high",
        "high",
    ]


def test_suggestions() -> None:
    assert suggestion("p_c") == "did you mean P_C?"
    assert suggestion("TAU") == "did you mean tau?"
    assert suggestion("Cons_rogue1").startswith("did you mean Cons_rouge1")
    assert suggestion("my_metrik", ["my_metric"]) == "did you mean my_metric?"


def test_what_leads() -> None:
    class Number:
        def __init__(self, metric: str, value: float | None = 0.5, given: str | None = None):
            self.metric, self.value, self.given = metric, value, given

    def first(*numbers: Number) -> str:
        return leading_of(numbers).metric

    tau, accuracy = Number("tau"), Number("accuracy")
    assert first(accuracy, tau) == "tau"
    assert first(tau, accuracy, Number("C_R")) == "C_R"
    assert first(Number("C_R"), Number("C_S", None)) == "C_S"
    assert first(Number("P_C", None), Number("Cons_lex"), tau) == "Cons_lex"
    assert first(Number("P_C"), Number("Cons_lex"), tau) == "P_C"
    assert first(tau, Number("r_r@1"), Number("r_r@2"), Number("r_r@2", given="a")) == "r_r@2"
    free_text = Number("Cons_a"), Number("Cons_a@0.5"), Number("Cons_b"), Number("Cons_b@0.5")
    assert first(*free_text) == "Cons_a"
    assert first(*free_text, Number("P_C"), tau) == "tau", "the share of broken groups leads in free text"
    assert first(tau, Number("Cons_a")) == "tau"
    assert first(Number("of another package")) == "of another package"


def test_the_legend_has_titles() -> None:
    lines = legend(unwaver.run("sample/snli", "fake/random"))
    assert "inconsistency (tau): share of groups that break their relation." in lines
    assert any(line.endswith(": expected value if answers were independent.") for line in lines)
    assert lines[-1].startswith("More: unwaver explain ")


# --- unwaver explain ----------------------------------------------------------------------------------------


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["explain", *arguments])
    out = capsys.readouterr()
    return int(left.value.code or 0), out.out, out.err


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "tau")
    assert code == 0
    assert out.startswith("inconsistency (tau)\n\nShare of groups that break their relation.")
    for words in ("formula", "better", "lower values", "chance", "expected value", "BECEL", "docs/methods.md#tau"):
        assert words in out


@pytest.mark.parametrize(
    "name", ["Cons_rouge1", "r_r@5", "C_S@0.8", "tau_conditioned", "r_r@<k>", "Cons_judge@0.7"]
)
def test_explain_families(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, name)
    assert code == 0
    assert f"({name})" in out.splitlines()[0]


def test_explain_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:-1]] == [m.name for m in meanings()]


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "P_C", "VAP", "--json")
    first, second = json.loads(out)["metrics"]
    assert first["title"] == "paraphrastic consistency"
    assert first["leads"]
    assert first["chance"]
    assert second["chance"] is None
    assert "P_C_pairs" in first["beside"]
    assert len(json.loads(said(capsys, "--json")[1])["metrics"]) == len(meanings())


@pytest.mark.parametrize(
    ("name", "hint"), [("tua", "did you mean tau"), ("p_c", "did you mean P_C"), ("r_r@0", "r_r@"), ("ζ", "lists")]
)
def test_explain_an_unknown_name(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, name)
    assert code == 2
    assert out == ""
    assert f"unknown metric '{name}'" in err
    assert hint in err


# --- a metric from elsewhere --------------------------------------------------------------------------------

PLUG_IN = '''
import numpy as np

from unwaver import Meaning, Phrase
from unwaver.metrics import charts
from unwaver.metrics.block import Block, Metric
from unwaver.types import Figure


def metrics(block: Block):
    if block.expect == "same":
        yield Metric("steady", steady)
        yield Metric("steady@2", steady)


def steady(block):
    """1 where all answers of a group are one label, else 0."""
    least = np.full(block.groups, np.inf)
    most = np.full(block.groups, -np.inf)
    np.minimum.at(least, block.group, block.code)
    np.maximum.at(most, block.group, block.code)
    return ((least == most) & (least >= 0)).astype(float)


def chance(context):
    value = context.value("tau_independent")
    return None if value is None else 1 - value


def figures(blocks, scores):
    rows = charts.rows_of(charts.chosen(scores, "steady"), name=charts.relation_of)
    if rows:
        yield Figure("Steadiness", "By relation", "Groups with one answer.", "steady", charts.intervals(rows, "steady"))


def remark(context):
    if context.leads and context.score.counted < 1000:
        yield f"{context.score.kind}: too few groups for a steady hand"


MEANINGS = (
    Meaning(
        "steady",
        title="steadiness",
        says="Share of groups whose answers are all one label. Unreadable answers are not one label.",
        formula="mean over groups of [one label]",
        better="high",
        paper="A. Nobody, On Steadiness, 2026",
        leads=5,
        beside=("steady@2", "tau"),
        chance=chance,
        chance_says="expected value if answers were independent",
        remark=remark,
        figures=figures,
        verdict=Phrase("group", "groups", "wavers", "waver"),
    ),
    Meaning("steady@<n>", title="steadiness at <n>", says="The same at <n>.", better="high", of={"n": "[0-9]+"}),
)
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A function that installs a package with a file of metrics: what pip would leave, on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def install(text: str, name: str = "steady_metrics") -> None:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[unwaver.metrics]\n{name} = {name}:metrics\n")
        made.append(name)
        registry.names.cache_clear()

    yield install
    for name in made:
        sys.modules.pop(name, None)
    registry.names.cache_clear()


def asked() -> Result:
    return unwaver.run("sample/snli", "fake/random")


def test_a_plug_in_metric_gets_all_of_it(installed: object, capsys: pytest.CaptureFixture[str]) -> None:
    installed(PLUG_IN)  # type: ignore[operator]
    has_all_of_it(asked(), capsys)


def has_all_of_it(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    semantic = next(s for s in result.leading() if s.kind == "semantic")
    assert (semantic.metric, semantic.better) == ("steady", "high")
    assert {s.metric for s in result.leading()} == {"steady", "tau"}  # elsewhere it does not apply
    shown = [row[1] for row in rows(result) if row[0] == "snli/semantic"]
    assert shown == ["steady ↑", "steady@2 ↑", "tau ↓"]
    expected = result.find("tau_independent", kind="semantic").value
    assert expected is not None
    assert chance_of(result, semantic) == 1 - expected
    assert "steadiness (steady): share of groups whose answers are all one label." in legend(result)
    assert "semantic: too few groups for a steady hand" in str(result)
    sentences = [v.said for v in verdicts(result) if v.score.metric == "steady"]
    assert len(sentences) == 2
    assert all(re.search("waver", sentence) for sentence in sentences)
    assert result.folder is not None
    (source,) = read_sources([result.folder])
    blocks = [block for block, _ in source.blocks]
    assert "Steadiness" in [figure.family for figure in figures_of(blocks, result.scores)]
    assert slug("steady@3") == slug("steady@4") != slug("steady")
    code, out, _ = said(capsys, "steady", "steady@7")
    assert code == 0
    assert "steadiness (steady)" in out
    assert "On Steadiness" in out
    assert "steadiness at 7 (steady@7)" in out
    for bar, wanted in (("steady=0", 0), ("steady@2=1.0", 1)):
        with pytest.raises(SystemExit) as left:
            main(["gate", str(result.folder), "--min", bar, "--allow-undecided"])
        assert left.value.code == wanted, capsys.readouterr()
    with pytest.raises(SystemExit) as left:  # its names are known, so a slip is one
        main(["gate", str(result.folder), "--min", "steedy=0.5"])
    assert left.value.code == 2
    assert "did you mean steady" in capsys.readouterr().err
    from unwaver.reports.page import page

    html = page([source])
    assert "On Steadiness" in html
    assert 'title="steadiness (steady)"' in html


def test_a_new_file_and_a_line_in_the_catalogue_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "steady_built_in.py").write_text(PLUG_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(
        catalog.METRICS, "steady", ("steady_built_in:metrics", "steady: share of groups that hold")
    )
    registry.names.cache_clear()
    try:
        has_all_of_it(asked(), capsys)
    finally:
        registry.names.cache_clear()
        sys.modules.pop("steady_built_in", None)


def test_a_plug_in_that_declares_nothing_works_as_before(installed: object) -> None:
    installed(PLUG_IN.partition("MEANINGS = (")[0], "silent_metrics")  # type: ignore[operator]
    assert undeclared() == ("silent_metrics",)
    result = asked()
    assert result.find("steady", kind="semantic").value is not None
    assert "steady" not in {s.metric for s in result.leading()}
    assert meaning_of("steady") is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("MEANINGS = Meaning('steady', title='x', says='y.')", "expected a tuple of unwaver.Meaning"),
        ("MEANINGS = ({'name': 'steady'},)", "expected a tuple of unwaver.Meaning"),
        (
            "MEANINGS = (Meaning('steady', title='x', says='y.', leads=1, chance=lambda context: 1 / 0),)",
            "ZeroDivisionError",
        ),
        ("MEANINGS = (Meaning('steady', title='x', says='y.', verdict='{share} %'),)", "{value}, {wrong}"),
        ("MEANINGS = (Meaning('steady', title='x', says='y.', verdict='{0} %'),)", "{value}, {wrong}"),
        ("MEANINGS = (Meaning('steady', title='x', says='y.', better='higher'),)", '"low", "high" or ""'),
    ],
)
def test_a_broken_declaration_names_the_plug_in(installed: object, broken: str, message: str) -> None:
    installed(PLUG_IN.partition("MEANINGS = (")[0] + broken, "broken_metrics")  # type: ignore[operator]
    with pytest.raises(UsageError, match="broken_metrics") as raised:
        rows(asked())
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('Metric("steady", steady)', 'Metric("steady", lambda b: 7 * steady(b))', "share=False"),
        ('Metric("steady", steady)', 'Metric("steady", lambda b: steady(b) - 1)', "share=False"),
        ('Metric("steady", steady)', 'Metric("steady", steady, better="higher")', 'expected "low", "high" or ""'),
    ],
)
def test_a_broken_metric_names_the_plug_in(installed: object, old: str, new: str, message: str) -> None:
    assert old in PLUG_IN
    installed(PLUG_IN.replace(old, new), "broken_metrics")  # type: ignore[operator]
    with pytest.raises(UsageError, match="broken_metrics") as raised:
        asked()
    assert message in str(raised.value)


def test_a_metric_of_a_plug_in_may_lie_outside_0_to_1_if_it_says_so(installed: object) -> None:
    wide = 'Metric("steady", lambda b: 7 * steady(b), share=False)'
    installed(PLUG_IN.replace('Metric("steady", steady)', wide), "wide_metrics")  # type: ignore[operator]
    assert asked().find("steady", kind="semantic").value is not None


def test_a_built_in_name_cannot_be_taken(installed: object) -> None:
    installed(PLUG_IN + "\nMEANINGS = (Meaning('tau', title='mine', says='Mine.'),)\n", "greedy_metrics")  # type: ignore[operator]
    found = meaning_of("tau")
    assert found is not None
    assert found.title == "inconsistency"


def test_a_metric_whose_name_is_not_that_of_its_declaration_is_said(installed: object) -> None:
    text = PLUG_IN.replace('Meaning("steady"', 'Meaning("stedy"').replace(
        'Meaning(\n        "steady"', 'Meaning(\n        "stedy"'
    )
    assert text != PLUG_IN
    installed(text, "misspelt_metrics")  # type: ignore[operator]
    with pytest.warns(UserWarning, match="the metric 'steady' of .* is not declared, while MEANINGS has stedy"):
        asked()
