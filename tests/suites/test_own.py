"""A user's own file."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unwaver
from unwaver.errors import DataError, UsageError
from unwaver.groups import group_to_json
from unwaver.suites import own
from unwaver.tasks import built_in


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def lines(*records) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def all_groups(suite):
    return [group for task, kinds in suite.cases.items() for kind in kinds for group in suite.groups(task, kind)]


def summary(suite):
    """(group id without the suite, texts, gold) of every group."""
    return [
        (g.id.partition("/")[2], *(tuple(i.fields.values()) for i in g.items), *(i.accepted for i in g.items))
        for g in all_groups(suite)
    ]


# --- tables ---------------------------------------------------------------------------------------------------


def test_two_columns_are_enough(tmp_path):
    suite = own.suite(put(tmp_path, "mine.csv", "q1,q2\nIs it late?,Has it got late?\nWho?,Which one?\n"))
    assert suite.name == "mine"
    assert suite.cases == {"own": ("semantic",)}
    assert summary(suite) == [
        ("own/semantic/2", ("Is it late?",), ("Has it got late?",), (), ()),
        ("own/semantic/3", ("Who?",), ("Which one?",), (), ()),
    ]
    (free,) = suite.notes("own", "semantic")
    assert "answers are free text" in free
    assert suite.tasks["own"].fields == ("text",)
    assert list(suite.examples("own")) == []


def test_gold_labels_seen_become_the_choices(tmp_path):
    table = "question\tparaphrase\tlabel\na\tb\tyes\nc\td\tno\ne\tf\t\n"
    suite = own.suite(put(tmp_path, "mine.tsv", table))
    assert [i.choices for g in all_groups(suite) for i in g.items] == [("no", "yes")] * 6
    assert suite.tasks["own"].labels == ("no", "yes")
    assert [g.items[1].accepted for g in all_groups(suite)] == [("yes",), ("no",), ()]
    assert suite.notes("own", "semantic")[0].startswith("1 of 3 groups has no gold label for the original")
    assert [i.id for i in suite.examples("own")] == ["mine/own/semantic/2/0", "mine/own/semantic/3/0"]


def test_many_gold_answers_are_free_text(tmp_path):
    rows = "".join(f"q{n},p{n},answer {n}\n" for n in range(30))
    suite = own.suite(put(tmp_path, "qa.csv", "question,paraphrase,answer\n" + rows))
    group = all_groups(suite)[7]
    assert group.items[0].choices == ()
    assert group.items[0].accepted == ("answer 7",)


def test_labels_can_be_given_and_gold_may_be_their_number(tmp_path):
    path = put(tmp_path, "mine.csv", "text,variant,gold\na,b,1\nc,d,neg\n")
    suite = own.suite(path, labels=["neg", "pos"])
    assert [g.items[0].accepted for g in all_groups(suite)] == [("pos",), ("neg",)]


def test_labels_that_are_numbers_are_names(tmp_path):
    suite = own.suite(
        put(
            tmp_path,
            "mine.jsonl",
            lines({"text": "a", "variant": "b", "gold": 2}, {"text": "c", "variant": "d", "gold": 1}),
        )
    )
    assert [g.items[0].accepted for g in all_groups(suite)] == [("2",), ("1",)]
    with pytest.raises(DataError, match='column "gold": found "0", expected 0 1, 1 2'):
        own.suite(put(tmp_path, "mine.csv", "text,variant,gold\na,b,0\n"), labels=["1", "2"])


def test_labels_that_are_whole_floats_are_the_same_names(tmp_path):
    """What pandas writes of 2 beside a missing value."""
    rows = [{"text": f"t{n}", "variant": f"v{n}", "gold": gold} for n, gold in enumerate((2.0, 2, 1.0, 2.5))]
    suite = own.suite(put(tmp_path, "mine.jsonl", lines(*rows)))
    assert [g.items[0].accepted for g in all_groups(suite)] == [("2",), ("2",), ("1",), ("2.5",)]
    own_choices = {"text": "a", "variant": "b", "choices": [1.0, 2.0], "gold": 2}
    (group,) = all_groups(own.suite(put(tmp_path, "mine.jsonl", lines(own_choices))))
    assert (group.items[0].choices, group.items[0].accepted) == (("1", "2"), ("2",))


def test_several_variants_share_a_cluster(tmp_path):
    path = put(
        tmp_path,
        "mine.jsonl.gz",
        lines({"id": "x", "original": "a", "variants": ["b", "c"]}, {"id": "y", "original": "a", "variants": "d"}),
    )
    groups = all_groups(own.suite(path))
    assert [g.id for g in groups] == ["mine/own/semantic/x", "mine/own/semantic/x.2", "mine/own/semantic/y"]
    assert {g.cluster for g in groups} == {"mine/own/semantic/x"}


def test_variant_columns_may_be_empty_in_a_row(tmp_path):
    path = put(tmp_path, "mine.csv", "Text,Variant 1,Variant 2,note\na,b,c,n\nd,,e,n\n")
    assert [s[2] for s in summary(own.suite(path))] == [("b",), ("c",), ("e",)]


def test_columns_can_be_named(tmp_path):
    path = put(tmp_path, "mine.csv", "y,q,q2,q3,text\n1,a,b,c,x\n0,d,e,f,x\n")
    suite = own.suite(path, columns={"original": "q", "variant": ["q2", "q3"], "gold": "y"})
    assert [(s[1], s[2], s[3]) for s in summary(suite)] == [
        (("a",), ("b",), ("1",)),
        (("a",), ("c",), ("1",)),
        (("d",), ("e",), ("0",)),
        (("d",), ("f",), ("0",)),
    ]


def test_a_kind_column(tmp_path):
    path = put(tmp_path, "mine.csv", "text,variant,kind,label\na,b,semantic,yes\nc,d,negational,no\n")
    suite = own.suite(path)
    assert suite.cases == {"own": ("semantic", "negational")}
    (negated,) = suite.groups("own", "negational")
    assert negated.expect == "different"
    assert negated.items[1].accepted == ("yes",)  # the other one of two
    with pytest.raises(UsageError, match="mine/own has no symmetric"):
        suite.groups("own", "symmetric")


def test_a_built_in_task_of_two_fields(tmp_path):
    path = put(tmp_path, "mine.tsv", "premise\thypothesis\thypothesis_neg\tlabel\np\th\tn\t0\n")
    suite = own.suite(path, task="snli")
    (group,) = suite.groups("snli", "negational")
    assert group.items[0].fields == {"premise": "p", "hypothesis": "h"}
    assert group.items[1].fields == {"premise": "p", "hypothesis": "n"}
    assert [i.accepted for i in group.items] == [("entailment",), ("contradiction",)]
    assert group.items[0].choices == built_in()["snli"].labels
    assert suite.tasks == {}
    assert suite.notes("snli", "negational") == []


def test_a_built_in_task_of_one_field(tmp_path):
    suite = own.suite(put(tmp_path, "mine.csv", "text,paraphrase,label\na,b,positive\n"), task="sst2")
    assert all_groups(suite)[0].items[1].fields == {"sentence": "b"}


def test_a_task_column(tmp_path):
    path = put(tmp_path, "mine.csv", "task,text,variant,label\nsst2,a,b,1\nag_news,c,d,Sports\n")
    assert own.suite(path).cases == {"sst2": ("semantic",), "ag_news": ("semantic",)}


def test_choices_in_a_column(tmp_path):
    suite = own.suite(put(tmp_path, "mine.csv", "text,variant,choices,gold\na,b,x|y,x\nc,d,z|w,w\n"))
    assert [g.items[0].choices for g in all_groups(suite)] == [("x", "y"), ("z", "w")]
    assert suite.tasks["own"].labels == ()  # they differ between items


BAD_TABLES = {
    "no variant column": ("text,colour,size\na,b,c\n", {}, 1, 'no column for the variant; found: "text", "colour", "size"', '--column variant='),
    "no original column": ("x,y,z\na,b,c\n", {}, 1, 'no column for the original; found: "x", "y", "z"', '--column original='),
    "named column missing": ("a,b\n1,2\n", {"columns": {"original": "question"}}, 1, 'no column "question"; found: "a", "b"', "known: a, b"),
    "no variant in a row": ("text,variant\na,b\nc,\n", {}, 3, 'column "variant": found nothing, expected a variant', "fill the cell"),
    "no original in a row": ("text,variant\n ,b\n", {}, 2, 'column "text": found nothing, expected a text', "fill the cell"),
    "label not among those given": ("text,variant,gold\na,b,maybe\n", {"labels": ["yes", "no"]}, 2, 'column "gold": found "maybe", expected 0 yes, 1 no', "name"),
    "field of a task missing": ("premise,variant\na,b\n", {"task": "snli"}, 1, 'no column "hypothesis"', "needed: premise, hypothesis"),
    "invalid relation": ("text,variant\na,b\n", {"task": "ag_news", "kind": "negational"}, 2, "negational does not hold for ag_news: a topic survives negation", "valid for ag_news: semantic"),
    "relation of another label": ("premise,hypothesis,hypothesis_neg,label\np,h,n,neutral\n", {"task": "snli"}, 2, "found negational of an original labelled neutral; for snli it holds only where the label is entailment", "leave the row out"),
    "kind of three": ("text,variant\na,b\n", {"kind": "transitive"}, 2, "an original and a variant cannot be transitive", "groups.jsonl"),
    "kind not known": ("text,variant,kind\na,b,funny\n", {}, 2, 'kind: found "funny", which is not known', '"expect"'),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(tmp_path, case):
    text, options, line, message, hint = BAD_TABLES[case]
    path = put(tmp_path, "mine.csv", text)
    with pytest.raises(DataError) as raised:
        own.suite(path, **options)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.file, raised.value.line) == (str(path), line)


def test_bad_options(tmp_path):
    path = put(tmp_path, "mine.csv", "text,variant\na,b\n")
    with pytest.raises(UsageError, match="no column can be the orignal") as raised:
        own.suite(path, columns={"orignal": "text"})
    assert "original" in raised.value.hint
    with pytest.raises(UsageError, match="sst2 has labels of its own: negative, positive"):
        own.suite(path, task="sst2", labels=["good", "bad"])


# --- groups.jsonl ---------------------------------------------------------------------------------------------

LATE = {
    "items": [
        {"text": "Is it late?", "accepted": ["yes"], "choices": ["yes", "no"], "segments": ["x"]},
        {"text": "Late?", "choices": ["yes", "no"]},
    ]
}


def test_groups_of_little(tmp_path):
    suite = own.suite(put(tmp_path, "groups.jsonl", lines(LATE, LATE)))
    assert [g.id for g in all_groups(suite)] == ["groups/own/semantic/1", "groups/own/semantic/2"]
    assert {g.cluster for g in all_groups(suite)} == {"groups/own/semantic/1"}
    assert suite.tasks["own"].labels == ("yes", "no")


def test_groups_of_a_run_are_read_as_they_were(tmp_path):
    snli = {"premise": "p", "hypothesis": "h"}
    record = {"id": "becel/snli/semantic/0", "suite": "becel", "task": "snli", "kind": "semantic", "cluster": "c", "tag": "t",
              "items": [{"id": "a", "fields": snli}, {"id": "b", "fields": {"hypothesis": "h2", "premise": "p"}}]}  # fmt: skip
    suite = own.suite(put(tmp_path, "groups.jsonl", lines(record)))
    (group,) = suite.groups("snli", "semantic")
    assert (suite.name, group.id, group.cluster, group.tag) == ("becel", record["id"], "c", "t")
    assert tuple(group.items[1].fields) == ("premise", "hypothesis")
    assert group.items[0].choices == built_in()["snli"].labels
    again = own.suite(put(tmp_path, "groups.jsonl", lines(group_to_json(group))))
    assert list(again.groups("snli", "semantic")) == [group]


def test_calm_groups_keep_their_form(tmp_path):
    items = [{"template": "calm", "fields": {"first": "Premise: a", "second": "Hypothesis: b"}}] * 2
    (group,) = own.suite(
        put(tmp_path, "g.jsonl", lines({"task": "mnli", "kind": "reverse", "items": items}))
    ).groups("mnli", "reverse")
    assert group.items[0].template == "calm"


def test_groups_of_which_some_have_no_gold_say_what_is_lost(tmp_path):
    record = {"task": "mine", "kind": "transitive", "items": [{"fields": {"a": t, "b": t}} for t in "xyz"]}
    known = {**record, "items": [{**item, "accepted": ["yes"]} for item in record["items"]]}
    some = own.suite(put(tmp_path, "some.jsonl", lines(record, known, known)))
    assert some.notes("mine", "transitive")[0] == (
        "1 of 3 groups has no gold label for the original: tau, accuracy and tau_conditioned leave it out"
    )
    more = own.suite(put(tmp_path, "more.csv", "original,variant,gold\na,b,yes\nc,d,\ne,f,\n"))
    assert more.notes("own", "semantic")[0] == (
        "2 of 3 groups have no gold label for the original: accuracy and tau_conditioned leave them out"
    )
    none = own.suite(put(tmp_path, "none.jsonl", lines(record)))
    assert not any("gold label" in note for note in none.notes("mine", "transitive"))
    assert none.tasks["mine"].fields == ("a", "b")


def text_item(**more):
    return {"text": "a", **more}


BAD_GROUPS = {
    "second line without items": ([LATE, {"id": "x"}], 2, 'expected an object with "items"', "items"),
    "an id twice": ([{**LATE, "id": "x"}, {**LATE, "id": "x"}], 2, '"id": found "x", which line 1 has too', "id of its own"),
    "an item id with two texts": ([{"items": [{"text": "a", "id": "i"}, {"text": "b", "id": "i"}]}], 1, '"id": found item "i" a second time with another text', "id of its own"),
    "accepted not a choice": ([{"items": [text_item(choices=["yes", "no"], accepted=["ye"]), text_item()]}], 1, '"accepted": found "ye", expected one of yes, no', "did you mean yes?"),
    "fields of another task": ([{"task": "snli", "items": [text_item(), text_item()]}], 1, '"fields": found text, expected those of snli: premise, hypothesis', "another name"),
    "choices of another task": ([{"task": "sst2", "items": [text_item(choices=["good", "bad"]), text_item()]}], 1, '"choices": found good, bad, expected those of sst2: negative, positive', "leave"),
    "unknown form": ([{"task": "mnli", "items": [text_item(template="clam")] * 2}], 1, '"template": found "clam", expected a form of mnli', "did you mean calm?"),
    "form of no task": ([{"items": [text_item(template="calm")] * 2}], 1, "own is not a built-in task and has no forms", "known"),
    "a name that is no word": ([{"items": [{"fields": {"my text": "a"}}] * 2}], 1, '"fields": found the name "my text", expected letters', "rename"),
    "fields that change": ([LATE, {"items": [{"fields": {"q": "a"}}] * 2}], 2, '"fields": found q, but own has text above', "same fields"),
    "invalid relation": ([{"task": "snli", "kind": "additive", "items": [text_item()] * 3}], 1, "additive does not hold for snli: merging two pairs breaks entailment", "valid for snli"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_GROUPS)
def test_bad_groups(tmp_path, case):
    records, line, message, hint = BAD_GROUPS[case]
    path = put(tmp_path, "groups.jsonl", lines(*records))
    with pytest.raises(DataError) as raised:
        own.suite(path)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.file, raised.value.line) == (str(path), line)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["items", "text", "fields", "id", "role", "task", "kind", "expect", "choices", "accepted", "variant", "gold"]), inner, max_size=4), max_leaves=12)  # fmt: skip


@given(st.lists(JSON, min_size=1, max_size=3))
def test_whatever_the_file_holds_the_error_is_one_for_users(tmp_path_factory, records):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(lines(*records), encoding="utf-8", errors="surrogatepass")
    try:
        suite = own.suite(path)
    except DataError:
        return
    assert all_groups(suite)
    assert all(suite.notes(task, kind) is not None for task, kinds in suite.cases.items() for kind in kinds)


@pytest.mark.parametrize(
    "names", [("x/q.csv", "y/q.csv"), ("one.jsonl", "two.jsonl"), ("one.jsonl", "three.jsonl")]
)
def test_files_must_not_call_different_things_by_one_name(tmp_path: Path, names: tuple[str, str]) -> None:
    """Else the answers to one file would be taken for those to the other."""
    for folder, what in (("x", "capital"), ("y", "colour")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "q.csv").write_text(f"original,variant\nWhich {what}?,What {what}?\n")
    for name, group, text in (("one", "a", "red"), ("two", "a", "blue"), ("three", "b", "green")):
        items = [{"id": f"i{n}", "text": f"{text} {n}"} for n in range(2)]
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": group, "items": items}) + "\n")
    files = [str(tmp_path / name) for name in names]
    with pytest.raises(DataError, match="more than one file uses this id"):
        unwaver.run(files, "fake/random", out=str(tmp_path / "run"))
    assert unwaver.run([files[0], "sample/snli"], "fake/random", out=str(tmp_path / "run"))
