"""CALM: the files it finds, the columns it knows, and what it renders."""

import gzip
import json
import os
from pathlib import Path

import pytest

from unwaver.errors import DataError, UsageError
from unwaver.suites import calm
from unwaver.tasks import built_in, segments_of

DATA = os.environ.get("UNWAVER_DATA")
real_data = pytest.mark.skipif(not DATA, reason="UNWAVER_DATA is not set")

COUNTS = {"mnli": 9815, "qnli": 5732, "rte": 277, "qqp": 20214, "mrpc": 408, "kornli": 2490, "klue-nli": 3000, "klue-sts": 519}  # fmt: skip


@real_data
def test_counts_on_the_real_files():
    suite = calm.suite(Path(DATA))
    assert {task: sum(1 for _ in suite.groups(task, "reverse")) for task in suite.cases} == COUNTS
    assert suite.notes("mnli", "signal") == [f"from {DATA}/mnli/mnli_dev_matched_gold.jsonl.gz"]


@real_data
@pytest.mark.parametrize("task", COUNTS)
def test_both_kinds_hold_the_same_pairs_in_the_form_of_the_task(task):
    suite = calm.suite(Path(DATA))
    reverse, signal = suite.groups(task, "reverse"), suite.groups(task, "signal")
    first, second = built_in()[task].forms["calm"].indicators
    for a, b in zip(reverse, signal, strict=False):
        assert a.items[0].fields == b.items[0].fields
        assert (len(a.items), len(b.items)) == (2, 11)
        original, swapped = a.items
        assert original.fields["first"].startswith(f"{first}: ")
        assert swapped.fields == {"first": original.fields["second"], "second": original.fields["first"]}
        assert b.items[1].fields["second"].startswith(f"[{second}] ")
        assert b.items[10].fields["first"].startswith(f"{first}- ")
        assert {i.accepted for i in (*a.items, *b.items)} == {original.accepted}


@real_data
def test_korean_renders():
    group = next(calm.suite(Path(DATA)).groups("kornli", "signal"))
    item = group.items[4]
    assert segments_of(item, built_in()["kornli"].form_of(item)) == (
        '<전제> 그리고 그가 말했다, "엄마, 저 왔어요."',
        "<가설> 그는 학교 버스가 그를 내려주자마자 엄마에게 전화를 걸었다.",
    )
    sts = next(calm.suite(Path(DATA)).groups("klue-sts", "reverse"))
    assert sts.items[1].fields["first"].startswith("문장2: 무엇보다도, 호스트들은")
    assert sts.items[0].accepted == ("equivalent",)


@real_data
def test_rows_without_gold_are_kept_and_serve_as_no_example():
    suite = calm.suite(Path(DATA))
    assert sum(not g.items[0].accepted for g in suite.groups("qqp", "reverse")) == 2
    assert sum(1 for _ in suite.examples("qqp")) == COUNTS["qqp"] - 2


@real_data
def test_examples_come_from_a_training_file_if_there_is_one():
    suite = calm.suite(Path(DATA))
    origin = {task: next(suite.examples(task)).id for task in suite.cases}
    with_train = {"mnli", "rte", "mrpc", "klue-nli"}
    assert origin == {t: f"calm/{t}/{'train' if t in with_train else 'dev'}/0" for t in suite.cases}
    assert all(next(suite.examples(t)).template == "calm" for t in suite.cases)


# --- small files ----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


PAIR = "premise\thypothesis\tlabel\np\th\t0\n"
GOOD = {
    "glue mnli": ("mnli", "dev_matched.tsv", 'index\tsentence1\tsentence2\tlabel1\tgold_label\n0\t"p\th\tneutral\tentailment\n'),
    "glue qqp": ("qqp", "dev.tsv", "id\tquestion1\tquestion2\tis_duplicate\n1\t\"a \"\"b\"\"\"\th\t1.0\n"),
    "glue qnli": ("qnli", "validation.jsonl", '{"question": "p", "sentence": "h", "label": 0, "idx": 0}\n'),
    "no gold": ("mnli", "dev.csv.gz", "premise,hypothesis,label\np,h,-\n"),
    "names of labels": ("qnli", "x_dev.csv", "premise,hypothesis,label\np,h,Not Entailment\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_known_columns(tmp_path, case):
    task, name, text = GOOD[case]
    put(tmp_path, f"{task}/{name}", text)
    first, second = built_in()[task].forms["calm"].indicators
    (group,) = calm.suite(tmp_path).groups(task, "reverse")
    texts = {"glue mnli": '"p', "glue qqp": 'a "b"'}
    assert group.items[0].fields == {"first": f"{first}: {texts.get(case, 'p')}", "second": f"{second}: h"}
    gold = {"glue qqp": ("duplicate",), "no gold": (), "names of labels": ("not_entailment",)}
    assert group.items[0].accepted == gold.get(case, ("entailment",))


def test_the_order_of_dev_files(tmp_path):
    names = [
        "dev_mismatched.jsonl",
        "derived_nondev.jsonl",
        "train.jsonl",
        "dev.tsv.gz",
        "dev.tsv",
        "dev.json",
        "a_dev.jsonl",
    ]
    used = []
    for name in names[3:]:
        text = '{"premise": "p", "hypothesis": "h", "label": 0}'
        put(tmp_path, f"mnli/{name}", PAIR if ".tsv" in name else f"[{text}]" if name.endswith(".json") else text)
        used.append(Path(calm.suite(tmp_path).notes("mnli", "reverse")[0]).name)
    assert used == names[3:]
    for name in names[:3]:
        put(tmp_path, f"mnli/{name}", '{"premise": "p", "hypothesis": "h", "label": 0}')
    assert calm.suite(tmp_path).notes("mnli", "reverse")[0].endswith("a_dev.jsonl")


def test_a_file_of_unknown_columns_gives_way_to_the_next(tmp_path):
    put(tmp_path, "mnli/dev.jsonl", json.dumps({"text": "x"}))
    put(tmp_path, "mnli/dev.tsv", PAIR)
    assert sum(1 for _ in calm.suite(tmp_path).groups("mnli", "reverse")) == 1


def test_groups_with_one_pair_are_one_cluster(tmp_path):
    put(tmp_path, "mnli/dev.tsv", PAIR + "q\th\t0\np\th\t1\n")
    clusters = [g.cluster for g in calm.suite(tmp_path).groups("mnli", "signal")]
    assert clusters == ["calm/mnli/signal/0", "calm/mnli/signal/1", "calm/mnli/signal/0"]


def test_the_name_of_a_korean_folder_may_have_a_hyphen(tmp_path):
    put(tmp_path, "klue-nli/dev.tsv", PAIR)
    assert sum(1 for _ in calm.suite(tmp_path).groups("klue-nli", "reverse")) == 1


BAD = {
    "no columns": ("klue-sts", "klue_sts/dev.tsv", "sentence1\tsentence2\tlabel\na\tb\t3.7\n", 1, 'no known columns for klue-sts; found: "sentence1", "sentence2", "label"', "labels.binary-label"),
    "wrong label": ("mnli", "mnli/dev.tsv", PAIR + "p\th\tentails\n", 3, 'column "label": found "entails", expected 0 entailment, 1 neutral, 2 contradiction', "number or its name"),
    "missing key": ("mnli", "mnli/dev.jsonl", '{"premise": "p", "hypothesis": "h", "label": 0}\n{"premise": "p", "label": 0}', 2, 'no "hypothesis", which other rows have', "complete the row"),
    "text no text": ("mnli", "mnli/dev.jsonl", '{"premise": 1, "hypothesis": "h", "label": 0}', 1, 'column "premise": found 1, expected text', "double quotes"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    task, name, text, line, message, hint = BAD[case]
    path = put(tmp_path, name, text)
    with pytest.raises(DataError) as raised:
        list(calm.suite(tmp_path).groups(task, "reverse"))
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.file, raised.value.line) == (str(path), line)


def test_missing_files_are_named(tmp_path):
    put(tmp_path, "mnli/train.tsv", PAIR)
    suite = calm.suite(tmp_path)
    with pytest.raises(
        DataError, match='not found: a file with "dev" or "validation" in its name in mnli'
    ) as raised:
        suite.groups("mnli", "reverse")
    assert f"save it as {tmp_path}/mnli/dev.tsv, give --data-dir DIR or set UNWAVER_DATA" in raised.value.hint
    with pytest.raises(DataError, match="in becel/rte or rte") as raised:
        suite.groups("rte", "reverse")
    assert f"{tmp_path}/becel/rte/validation.tsv" in raised.value.hint
    assert "--fetch" in raised.value.hint


def test_unknown_names(tmp_path):
    with pytest.raises(UsageError, match="calm has no task klue_nli") as raised:
        calm.suite(tmp_path).groups("klue_nli", "reverse")
    assert raised.value.hint == "did you mean klue-nli?" or "klue-nli" in raised.value.hint
    with pytest.raises(UsageError, match="calm/mnli has no signals") as raised:
        calm.suite(tmp_path).groups("mnli", "signals")
    assert raised.value.hint == "did you mean signal?"
