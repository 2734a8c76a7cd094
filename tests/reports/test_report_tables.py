"""The table for papers, and the columns of the explorer."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unwaver
from unwaver.answers.given import complete
from unwaver.meaning import meanings
from unwaver.metrics.broken import broken_groups
from unwaver.metrics.score import score_frame
from unwaver.reports.explorer import BROKEN, HELD, MISSING, NOT_APPLICABLE, columns
from unwaver.reports.methods import repeat_commands, slug
from unwaver.reports.page import escaped, packed, tag
from unwaver.reports.source import Source, read_sources
from unwaver.reports.tables import as_csv, latex, markdown
from unwaver.result import Result


def source(rows: Any) -> Source:
    frame = complete(rows)
    return Source("t", frame, Result(score_frame(frame)), {})


ROWS = {
    "group": [1, 1, 2, 2, 3, 3],
    "kind": ["negational"] * 6,
    "role": ["original", "variant"] * 3,
    "label": ["yes", "no", "yes", "yes", "no", None],
    "gold": ["yes", "no", "yes", "no", "yes", "no"],
    "model": ["a_b|c*"] * 6,
}


def test_markdown() -> None:
    header, _, line, *_ = markdown([source(ROWS)]).splitlines()
    assert (
        header
        == "| relation | model | metric | % | 95 % interval | chance | accuracy | counted | n/a | unreadable |"
    )
    assert (
        line == r"| own/own/negational | a_b\|c\* (table) | tau ↓ | 66.7 | 9.4 – 99.2 | 66.7 | 66.7 | 3 | 0 | 1 |"
    )


def test_latex() -> None:
    text = latex([source(ROWS)])
    assert (
        r"own/own/negational & a\_b|c* (table) & $\tau$ $\downarrow$ & 66.7 & 9.4 -- 99.2 & 66.7 & 66.7 & 3 & 0 & 1 \\"
        in text
    )
    assert text.startswith(r"\begin{tabular}{lllrrrrrrr}")
    assert text.count(r"\\") == 2


def test_csv_holds_every_score() -> None:
    found = source({**ROWS, "model": ["=1+1"] * 6})
    rows = list(csv.DictReader(io.StringIO(as_csv([found]))))
    assert len(rows) == len(found.result)
    assert next(float(r["value"]) for r in rows if r["metric"] == "tau") == found.result.find("tau").value
    assert rows[0]["model"] == "'=1+1"  # no formula for a spreadsheet


def test_columns_hold_the_broken_groups_first(tmp_path: Path) -> None:
    unwaver.run("sample", "fake/random", out=str(tmp_path / "run"))
    (found,) = read_sources([tmp_path / "run"])
    data = columns([found])
    states = data["case"]["state"]
    broken = {data["texts"][g] for g, s in zip(data["case"]["group"], states, strict=True) if s == BROKEN}
    assert broken == set(broken_groups(found.frame))
    order = [{BROKEN: 0, HELD: 1, NOT_APPLICABLE: 2, MISSING: 3}[s] for s in states]
    assert order == sorted(order)
    bad = [b for b, s in zip(data["case"]["bad"], states, strict=True) if s == BROKEN]
    assert bad == sorted(bad, reverse=True)
    assert len(data["texts"]) == len(set(data["texts"]))
    assert data["all"] == len(states)


def test_columns_give_texts_and_answers_back(tmp_path: Path) -> None:
    unwaver.run("sample/snli", ["fake/random", "fake/keyword"], out=str(tmp_path / "run"))
    (found,) = read_sources([tmp_path / "run"])
    data = columns([found])
    answer, item, field = data["answer"], data["item"], data["field"]
    ends = [*data["case"]["first"][1:], len(answer["item"])]
    seen = 0
    for n, (start, end) in enumerate(zip(data["case"]["first"], ends, strict=True)):
        group = found.groups[data["texts"][data["case"]["group"][n]]]
        model = data["models"][data["case"]["model"][n]][0]
        rows = found.frame.filter((found.frame["group"] == group.id) & (found.frame["model"] == model)).to_dicts()
        assert len(rows) == end - start
        for a, row, own in zip(range(start, end), rows, group.items, strict=True):
            i = answer["item"][a]
            last = [*item["first"][1:], len(field["text"])][i]
            texts = {
                data["fields"][field["name"][f]]: data["texts"][field["text"][f]]
                for f in range(item["first"][i], last)
            }
            assert texts == dict(own.fields)
            assert data["labels"][answer["label"][a]] == row["label"]
            at = answer["prob"][a]
            given = [p / 1000 for p in data["probs"][at + 1 : at + 1 + data["probs"][at]]]
            assert np.allclose(given, row["probs"], atol=0.0006)
            seen += 1
    assert seen == found.frame.height


def test_confidence_is_that_of_what_broke() -> None:
    rows = [
        {"group": 1, "kind": "semantic", "role": "original", "label": "a", "probs": [0.97, 0.03]},
        {"group": 1, "kind": "semantic", "role": "variant", "label": "b", "probs": [0.08, 0.92]},
        {"group": 2, "kind": "semantic", "role": "original", "label": "a", "probs": [0.6, 0.4]},
        {"group": 2, "kind": "semantic", "role": "variant", "label": "b", "probs": [0.01, 0.99]},
        {"group": 3, "kind": "semantic", "role": "original", "label": "a", "probs": [0.9, 0.1]},
        {"group": 3, "kind": "semantic", "role": "variant", "label": "a", "probs": [0.9, 0.1]},
    ]
    data = columns([source(rows)])
    assert data["case"]["sure"] == [92, 60, -1]
    assert data["case"]["state"] == [BROKEN, BROKEN, HELD]


def test_runs_with_the_same_names_keep_their_texts(tmp_path: Path) -> None:
    for name, words in (("a", "first"), ("b", "second")):
        (tmp_path / name).mkdir()
        line = {"items": [{"text": f"{words} {k}", "choices": ["x", "y"]} for k in range(2)]}
        (tmp_path / name / "q.jsonl").write_text(json.dumps(line) + "\n")
        unwaver.run(str(tmp_path / name / "q.jsonl"), "fake/random", out=str(tmp_path / name / "run"))
    data = columns(read_sources([tmp_path / "a" / "run", tmp_path / "b" / "run"]))
    assert {"first 0", "first 1", "second 0", "second 1"} <= set(data["texts"])


def test_only_the_worst_are_kept() -> None:
    data = columns([source(ROWS)], most=1)
    assert len(data["case"]["state"]) == 1
    assert data["all"] == 3


def test_every_declaration_has_an_anchor_of_its_own() -> None:
    assert len({slug(meaning.name) for meaning in meanings()}) == len(meanings())
    assert slug("C_S@0.9") == slug("C_S@0.5") != slug("C_S")
    assert slug("of another package") == "how-of-another-package"


def test_what_repeats_it(tmp_path: Path) -> None:
    unwaver.run("sample/snli", "fake/random", out=str(tmp_path / "a run"))
    (found,) = read_sources([tmp_path / "a run"])
    assert repeat_commands(found)[0] == f"unwaver score '{tmp_path}/a run'"


def test_tag_escapes() -> None:
    assert tag("td", "a < b", class_="n") == '<td class="n">a &lt; b</td>'
    assert tag("a", tag("b", '"'), href="'\">") == '<a href="&#x27;&quot;&gt;"><b>&quot;</b></a>'
    assert escaped("\ud800\x00\u202e") == "?��"


def test_packed_is_letters_only() -> None:
    import base64
    import zlib

    text = packed({"a": "</script>\ud800"})
    assert text.isascii()
    assert "<" not in text
    assert json.loads(zlib.decompress(base64.b64decode(text))) == {"a": "</script>?"}


def test_a_missing_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(unwaver.UnwaverError, match="no such file"):
        read_sources([tmp_path / "nothing"])


def test_latex_has_symbols_and_tasks_by_relations(tmp_path: Path) -> None:
    unwaver.run(["sample/snli", "sample/rte", "sample/mnli"], "fake/random", out=str(tmp_path / "run"), limit=2)
    (found,) = read_sources([tmp_path / "run"])
    first, second = latex([found]).split("\n\n")
    assert r"& $\tau$ $\downarrow$ &" in first
    assert r"& $C_R$ $\uparrow$ &" in first
    assert "tau $" not in first.replace(r"\tau$ $", "")
    header = second.splitlines()[3]
    assert header.startswith(r"task & semantic ($\tau$ $\downarrow$) & negational")
    assert [line.split(" & ")[0] for line in second.splitlines()[5:8]] == ["snli", "rte", "mnli"]
    value = found.result.find("tau", task="rte", kind="semantic").value
    assert value is not None
    assert f"rte & {100 * value:.1f} &" in second


def test_latex_writes_names_below_a_symbol() -> None:
    from unwaver.reports.tables import _latex_metric

    assert _latex_metric("tau_conditioned ↓") == r"$\tau_{\mathrm{conditioned}}$ $\downarrow$"
    assert _latex_metric("P_C ↑") == r"$P_C$ $\uparrow$"
    assert _latex_metric("P_C_pairs ↑") == r"$P_{C,\mathrm{pairs}}$ $\uparrow$"
    assert _latex_metric("A_paraphrase") == r"$A_{\mathrm{paraphrase}}$"
    assert [_latex_metric(name) for name in ("r_s@5", "C_S@0.9")] == ["$r_s@5$", "$C_S@0.9$"]
    assert _latex_metric("Cons_exact ↑") == r"Cons\_exact $\uparrow$"


def test_names_of_figures_tell_relations_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.cli.main import cli

    monkeypatch.chdir(tmp_path)
    unwaver.run("sample/snli", "fake/random", out="run", limit=4)
    cli.main(["report", "run", "--format", "svg", "--out", "figures", "-q"], standalone_mode=False)
    names = [path.name.partition("-")[2] for path in Path("figures").iterdir()]
    assert len(set(names)) == len(names)
    assert any("snli-semantic" in name for name in names)


def test_a_reader_that_finds_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.reports.remarks import remarks

    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text("question,paraphrase\nWho is it?,Tell me who it is\nWhere?,In which place?\n")
    told = " ".join(remarks(unwaver.run("q.csv", "fake/random", read="json:reply", out="a")))
    assert "--read json:reply finds no answer in 2 of 2 groups (unwaver show a shows the texts)" in told
    assert "The answers hold no JSON. Run the same command again" in told
    assert "--read" not in " ".join(remarks(unwaver.run("q.csv", "fake/random", read="last_line", out="b")))


@pytest.mark.parametrize(
    ("reply", "read", "there"),
    [
        ('{"answer": "Paris", "why": "x"}', "json:reply", "no field reply; they have answer, why."),
        ('Well.\n```json\n{"result": {"text": "Paris"}}\n```', "json:result.answer", "they have result.text."),
        ('[{"city": "Paris"}]', "json:town", "no field town; they have 0.city."),
        ('{"\\u001b[31mred": 1}', "json:reply", "no field reply; they have "),
    ],
)
def test_the_fields_that_are_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: str, read: str, there: str
) -> None:
    from server import Server

    from unwaver.reports.remarks import remarks

    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text("question,paraphrase\nWho is it?,Tell me who it is\nWhere?,In which place?\n")
    with Server(lambda _: reply) as server:
        model = f"openai/m,base_url={server.url}"
        (told,) = [r for r in remarks(unwaver.run("q.csv", model, read=read, out="a")) if "--read" in r]
    assert f"--read {read} finds no answer in 2 of 2 groups" in told
    assert there in told
    assert "\x1b" not in told


def test_one_remark_on_all_relations_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.reports.remarks import remarks

    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text("question\nWho is it that comes?\nWhere is it that they go?\n")
    kinds = ("surface_case", "surface_space")
    result = unwaver.run("q.csv", "fake/random", variants=kinds, read="json:reply", out="a")
    (told,) = [line for line in remarks(result) if "--read" in line]
    assert "question/surface_case, question/surface_space (fake/random): --read json:reply finds no answer in 4 of 4" in told  # fmt: skip
