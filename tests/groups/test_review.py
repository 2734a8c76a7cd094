"""The review sheet: written, filled in, read back, and what it says of the variants nobody looked at."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from unwaver.asking.audit import audit, summary
from unwaver.engine.folder import write_audit
from unwaver.engine.stored import read_kept
from unwaver.errors import DataError
from unwaver.groups.certify import Reading
from unwaver.groups.review import counting, majority, read_sheet, read_sheets, reviewed, sheet, unknown_ids
from unwaver.types import Group, Item, replace
from unwaver.variants.certifiers import parse_certifier, with_candidates
from unwaver.variants.source import Rewrite

LABELS = ("no", "yes")


def group(n, variants=1, kind="semantic", **options):
    id = f"s/t/{kind}/{n}"
    items = [Item(f"{id}/0", "t", "original", {"text": f"Text {n}\twith a tab."}, LABELS, ("yes",))]
    items += [
        Item(f"{id}/{m}", "t", "variant", {"text": f'Other "{m}" of {n}'}, LABELS) for m in range(1, variants + 1)
    ]
    return Group(id, "s", "t", kind, "same", tuple(items), **options)


def rows(text):
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def filled(path, text, verdicts):
    lines = rows(text)
    for line in lines:
        line["verdict"] = verdicts.get(line["id"], "")
    with path.open("w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, list(lines[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return path


def test_the_sheet():
    lines = rows(sheet([group(1), group(2, variants=2)]))
    assert list(lines[0]) == ["id", "original", "variant", "expected", "label", "verdict", "reason"]
    assert [line["id"] for line in lines] == ["s/t/semantic/1/1", "s/t/semantic/2/1", "s/t/semantic/2/2"]
    assert lines[0]["original"] == "Text 1\twith a tab."
    assert lines[0]["variant"] == 'Other "1" of 1'
    assert all(line["verdict"] == line["reason"] == "" for line in lines)


def test_only_what_differs_is_shown():
    fields = {"premise": "P.", "hypothesis": "H."}
    one = Item("a/0", "snli", "original", fields, LABELS)
    pair = Group(
        "a",
        "s",
        "snli",
        "semantic",
        "same",
        (one, replace(one, id="a/1", role="variant", fields={**fields, "hypothesis": "X."})),
    )
    assert rows(sheet([pair]))[0]["original"] == "H."
    swapped = replace(one, id="a/1", role="variant", fields={"premise": "H.", "hypothesis": "P."})
    assert rows(sheet([replace(pair, items=(one, swapped))]))[0]["variant"] == "H. | P."


def test_a_sample_is_drawn_under_a_seed():
    groups = [group(n) for n in range(30)]
    ids = [line["id"] for line in rows(sheet(groups, sample=10, seed=1))]
    assert len(set(ids)) == 10
    assert ids == [line["id"] for line in rows(sheet(groups, sample=10, seed=1))]
    assert ids != [line["id"] for line in rows(sheet(groups, sample=10, seed=2))]
    assert len(rows(sheet(groups, sample=99))) == 30


def test_what_is_refused_need_not_be_looked_at():
    refused = group(1)
    refused = replace(refused, items=(refused.items[0], replace(refused.items[1], certified=False)))
    assert [line["id"] for line in rows(sheet([refused, group(2)]))] == ["s/t/semantic/2/1"]
    assert [line["id"] for line in rows(sheet([group(1), group(2)], only={"s/t/semantic/1/1"}))] == [
        "s/t/semantic/1/1"
    ]


def test_the_round_trip(tmp_path):
    groups = [group(1), group(2), group(3)]
    told = {"s/t/semantic/1/1": "ok", "s/t/semantic/2/1": " Wrong "}
    path = filled(tmp_path / "sheet.tsv", sheet(groups), told)
    assert read_sheet(path) == {"s/t/semantic/1/1": True, "s/t/semantic/2/1": False}


@pytest.mark.parametrize(
    ("word", "verdict"), [("yes", True), ("right", True), ("OK", True), ("no", False), ("false", False)]
)
def test_words_for_verdicts(tmp_path, word, verdict):
    path = filled(tmp_path / "sheet.tsv", sheet([group(1)]), {"s/t/semantic/1/1": word})
    assert read_sheet(path) == {"s/t/semantic/1/1": verdict}


def test_a_bad_verdict_is_named(tmp_path):
    path = filled(tmp_path / "sheet.tsv", sheet([group(1), group(2)]), {"s/t/semantic/2/1": "maybe"})
    with pytest.raises(DataError, match="expected ok or wrong") as error:
        read_sheet(path)
    assert (error.value.file, error.value.line) == (str(path), 3)
    (tmp_path / "no.tsv").write_text("id\tvariant\na\tb\n")
    with pytest.raises(DataError, match="verdict"):
        read_sheet(tmp_path / "no.tsv")


def epsilons(groups, verdicts):
    return {g.kind: g.epsilon for g in reviewed(groups, verdicts)}


def verdicts_of(groups, *told):
    ids = [i.id for g in groups for i in g.items if i.role == "variant"]
    return dict(zip(ids, told, strict=False))


def test_epsilon_is_the_upper_limit_of_the_exact_interval():
    groups = [group(n) for n in range(40)]
    told = [False] * 2 + [True] * 18
    assert epsilons(groups, verdicts_of(groups, *told))["semantic"] == pytest.approx(beta.ppf(0.975, 3, 18))
    assert epsilons(groups, verdicts_of(groups, *[True] * 20))["semantic"] == pytest.approx(1 - 0.025 ** (1 / 20))


def test_all_looked_at_leaves_nothing_open():
    groups = [group(n) for n in range(5)]
    assert epsilons(groups, verdicts_of(groups, True, False, True, True, False)) == {"semantic": 0.0}
    assert epsilons(groups, verdicts_of(groups, True, False, True, True))["semantic"] > 0.2


def test_kinds_are_apart_and_a_measured_epsilon_stays():
    groups = [group(1, epsilon=0.05), group(2, epsilon=0.05), group(1, kind="symmetric", epsilon=0.07)]
    found = epsilons(groups, {"s/t/semantic/1/1": True})
    assert found["semantic"] == pytest.approx(0.975)
    assert found["symmetric"] == 0.07


def test_what_bars_refused_is_no_part_of_the_count():
    groups = [group(1), group(2)]
    refused = replace(groups[1], items=(groups[1].items[0], replace(groups[1].items[1], certified=False)))
    assert epsilons([groups[0], refused], {"s/t/semantic/1/1": True}) == {"semantic": 0.0}


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=30))
def test_verdicts_land_on_their_variants(told):
    groups = [group(n) for n in range(len(told))]
    verdicts = {g.items[1].id: v for g, v in zip(groups, told, strict=True) if v is not None}
    found = reviewed(groups, verdicts)
    assert [g.items[1].certified for g in found] == told
    assert all(g.items[0].certified is None for g in found)
    if None in told and verdicts:
        wrong, n = told.count(False), len(verdicts)
        expected = 1.0 if wrong == n else float(beta.ppf(0.975, wrong + 1, n - wrong))
        assert found[0].epsilon == pytest.approx(expected)


def test_unknown_ids():
    assert unknown_ids([group(1)], {"s/t/semantic/1/1": True, "elsewhere/1": False}) == ["elsewhere/1"]


# --- with judges --------------------------------------------------------------------------------------------


def judged(keep=None, bars=()):
    original = group(1, variants=0, keep=keep)
    judges = [parse_certifier("entail=hf/x"), *map(parse_certifier, bars)]
    texts = [Rewrite("First other."), Rewrite("Second other one."), Rewrite("Third other text, a longer one.")]
    return with_candidates(original, texts, "text", judges), judges


def says(*accepted):
    """How often each variant passes: says(True, False) reads the judges of the first two."""

    def read(item):
        if item.role != "judge" or int(item.about[-1]) > len(accepted):
            return Reading()
        return Reading(
            "answered", "entailment" if accepted[int(item.about[-1]) - 1] else "neutral", [0.7, 0.2, 0.1]
        )

    return read


def test_what_judges_refused_says_nothing_about_what_counts():
    found, _ = judged(keep=1)
    verdicts = {i.id: False for i in found.items if i.role == "variant"}
    (left,) = counting([found], verdicts, says(False, True))
    assert [i.id[-1] for i in left.items if i.role == "variant"] == ["2"], "one refused, one not needed"
    assert reviewed([left], verdicts)[0].epsilon == 0.0
    (again,) = counting(
        reviewed([found], {found.items[4].id: False}), {found.items[4].id: False}, says(False, True)
    )
    assert found.items[4].id in [i.id for i in again.items], "a sheet given a second time counts the same"


def test_the_audit_has_each_candidate_with_every_verdict():
    found, judges = judged(keep=2, bars=["length=0.1:1"])
    records = list(audit([found], says(False, True), judges, "m"))
    json.dumps(records, allow_nan=False)
    assert [r["standing"] for r in records] == ["rejected", "kept", "rejected"]
    assert [v["question"] for v in records[0]["verdicts"]] == ["forward", "back"]
    assert records[0]["reasons"] == ["hf/x (forward) says neutral", "hf/x (back) says neutral"]
    assert records[1]["verdicts"][0]["score"] == pytest.approx(0.7)
    assert records[1]["reasons"] == []
    assert records[2]["reasons"] == ["length 1.20 is not within 0.1 and 1"]
    assert records[2]["verdicts"] == []


def test_the_audit_of_groups_that_were_refused_earlier_blames_nobody():
    """The judges of a bar are not known when groups.jsonl is read back."""
    found, _ = judged(bars=["length=0.1:1"])
    record = list(audit([found], says(True, True), [], ""))[2]
    assert record["standing"] == "rejected"
    assert record["reasons"] == ["refused when the groups were made, or by a person"]


def test_the_summary_by_hand():
    one, _ = judged()
    other = group(2, variants=0, keep=1)
    found = summary([one, other], says(True, False, True))
    assert (found["items"], found["candidates"], found["judged"]) == (2, 3, 3)
    assert found["acceptance"] == pytest.approx(2 / 3)
    assert (found["items_with_1"], found["items_with_3"], found["items_with_5"]) == (0.5, 0.0, 0.0)
    assert 0 < found["distance_to_original"] <= 1
    assert 0 < found["distance_among_variants"] <= 1
    nothing = summary([other], says())
    assert nothing["acceptance"] is nothing["distance_to_original"] is None


def test_the_sheet_lists_what_was_kept_and_what_nobody_judged(tmp_path):
    found, judges = judged(keep=1)
    plain = group(5)
    assert read_kept(tmp_path, [found]) is None
    write_audit(tmp_path, audit([found, plain], says(False, True), judges, "m"))
    only = read_kept(tmp_path, [found, plain])
    assert [line["id"] for line in rows(sheet([found, plain], only=only))] == [f"{found.id}/2", f"{plain.id}/1"]
    write_audit(tmp_path, [])
    assert read_kept(tmp_path, [found]) is None


def transitive():
    texts = [("a", "b", "neutral"), ("a", "c", "contradiction"), ("b", "c", None)]
    items = [
        Item(f"t/{n}", "snli", "conclusion" if label is None else "original", {"premise": p, "hypothesis": h}, LABELS,
             ("neutral", "contradiction") if label is None else (label,))
        for n, (p, h, label) in enumerate(texts)
    ]  # fmt: skip
    return Group("t", "s", "snli", "transitive", "implied", tuple(items))


def test_a_conclusion_is_shown_with_every_original():
    (line,) = rows(sheet([transitive()]))
    assert line["original"] == "(1) a | b (2) a | c"
    assert line["variant"] == "b | c"
    assert line["expected"] == "it follows from the originals"
    assert line["label"] == "neutral + contradiction → neutral or contradiction"


def test_the_relation_and_the_labels_are_shown():
    (line,) = rows(sheet([group(1)]))
    assert (line["expected"], line["label"]) == ("the same meaning: the answer must stay", "yes")
    (line,) = rows(sheet([replace(group(1), kind="negational", expect="different")]))
    assert line["expected"] == "the opposite meaning: the answer must change"


@pytest.mark.parametrize("cell", ["1", "0", "5", "1.0", "-1", "4/5", "１"])
def test_a_number_is_no_verdict(tmp_path, cell):
    path = filled(tmp_path / "s.tsv", sheet([group(1)]), {"s/t/semantic/1/1": cell})
    with pytest.raises(DataError, match="expected ok or wrong") as e:
        read_sheet(path)
    assert "1 may mean yes, or the lowest of five grades" in str(e.value.hint)


def test_several_sheets_are_read_together(tmp_path):
    text = sheet([group(n) for n in range(4)])
    ids = [line["id"] for line in rows(text)]
    given = (("ok", "ok", "wrong", ""), ("ok", "wrong", "wrong", ""), ("ok", "ok", "ok", "ok"))
    place = tmp_path / "sheets"
    place.mkdir()
    paths = [filled(place / f"{n}.tsv", text, dict(zip(ids, each, strict=True))) for n, each in enumerate(given)]
    expected = dict(zip(ids, (True, True, False, True), strict=True))
    assert majority(read_sheets(place)) == majority(read_sheets(paths)) == expected
    assert majority(read_sheets(list(map(str, paths[:2]))))[ids[1]] is False, "a tie is wrong"
    assert majority(read_sheets(str(paths[0]))) == read_sheet(paths[0])
    assert majority(read_sheets(())) == majority(read_sheets(None)) == {}
    with pytest.raises(DataError, match="no review sheet"):
        read_sheets(tmp_path)


def test_a_sheet_named_twice_votes_once(tmp_path):
    text = sheet([group(1)])
    place = tmp_path / "sheets"
    place.mkdir()
    ok = filled(place / "a.tsv", text, {"s/t/semantic/1/1": "ok"})
    filled(place / "b.tsv", text, {"s/t/semantic/1/1": "wrong"})
    assert majority(read_sheets([ok, place])) == {"s/t/semantic/1/1": False}
    assert list(read_sheets([ok, place / ".." / "sheets" / "a.tsv"])) == [ok]


@pytest.mark.parametrize(
    ("kind", "expect", "words"),
    [
        ("symmetric", "same", "the two texts swapped"),
        ("surface_case", "same", "another form"),
        ("negational", "different", "the answer must change"),
        ("additive", "implied", "joined"),
        ("mine", "same", "the answer must stay"),
        ("mine", "different", "the answer must change"),
        ("mine", "bucket", "the same problem"),
    ],
)
def test_the_relation_in_words(kind, expect, words):
    (line,) = rows(sheet([replace(group(1), kind=kind, expect=expect)]))
    assert words in line["expected"]


def test_many_references_are_cut():
    found = group(1)
    many = tuple("abcdef")
    items = tuple(replace(item, accepted=many) for item in found.items)
    (line,) = rows(sheet([replace(found, items=items)]))
    assert line["label"] == "a or b or c or … → a or b or c or …"
