"""Banks: variants in a file, by id, by text, or in the layout of BECEL."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.errors import DataError
from unwaver.tasks import built_in
from unwaver.types import Item
from unwaver.variants.bank import open_bank, read_bank

SNLI, SST2 = built_in()["snli"], built_in()["sst2"]


def item(id="17", premise="A man naps.", hypothesis="A man sleeps."):
    return Item(id, "snli", "original", {"premise": premise, "hypothesis": hypothesis}, SNLI.labels)


def jsonl(path, *records):
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return path


def test_by_id(tmp_path):
    bank = read_bank(jsonl(tmp_path / "b.jsonl", {"id": 17, "variants": ["He naps.", "He dozes."]}), SNLI)
    assert bank.of(item()) == ["He naps.", "He dozes."]
    assert bank.of(item(id="18")) == []


def test_by_text(tmp_path):
    records = [
        {"hypothesis": "A man  sleeps.", "variants": ["He naps."]},
        {"premise": "A man naps.", "hypothesis": "A man sleeps.", "variants": ["He dozes.", "He naps."]},
        {"premise": "Another.", "hypothesis": "A man sleeps.", "variants": ["No."]},
    ]
    bank = read_bank(jsonl(tmp_path / "b.jsonl", *records), SNLI)
    assert bank.of(item()) == ["He naps.", "He dozes."]
    assert bank.of(item(premise="Another.")) == ["He naps.", "No."]
    assert bank.of(item(hypothesis="a man sleeps.")) == [], "another case is another text"


def test_id_and_text_together(tmp_path):
    records = [{"id": "17", "variants": ["By id."]}, {"hypothesis": "A man sleeps.", "variant": "By text."}]
    bank = read_bank(jsonl(tmp_path / "b.jsonl", *records), SNLI)
    assert bank.of(item()) == ["By id.", "By text."]


def test_a_table_in_the_layout_of_becel(tmp_path):
    path = tmp_path / "b.tsv"
    rows = ["index\tpremise\thypothesis\tlabel\thypothesis_paraphrase"]
    rows += ["1\tA man naps.\tA man sleeps.\t0\tThe man is asleep.", "2\tA man naps.\tA man sleeps.\t0\tHe naps."]
    path.write_text("\n".join(rows) + "\n")
    assert read_bank(path, SNLI).of(item()) == ["The man is asleep.", "He naps."]


def test_one_text_of_one_field(tmp_path):
    path = jsonl(tmp_path / "b.json", {"sentence": "Great.", "paraphrase": "Wonderful."})
    path.write_text(json.dumps([json.loads(path.read_text())]))
    found = Item("1", "sst2", "original", {"sentence": "Great."}, SST2.labels)
    assert read_bank(path, SST2).of(found) == ["Wonderful."]


def test_empty_variants_are_none(tmp_path):
    records = [{"id": "17", "variants": ["", "  ", "He naps."]}, {"id": "18", "variants": None}]
    bank = read_bank(jsonl(tmp_path / "b.jsonl", *records), SNLI)
    assert bank.of(item()) == ["He naps."]
    assert bank.of(item(id="18")) == []


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\u2028\u2029\x85"), min_size=1, max_size=8)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.lists(TEXT, max_size=3)), min_size=1, max_size=6),
    st.integers(0, 99),
)
def test_the_hash_is_one_of_contents_not_of_order(tmp_path_factory, entries, seed):
    folder = tmp_path_factory.mktemp("bank")
    records = [{"id" if by_id else "hypothesis": name, "variants": texts} for name, by_id, texts in entries]
    one = read_bank(jsonl(folder / "one.jsonl", *records), SNLI)
    random.Random(seed).shuffle(records)
    other = read_bank(jsonl(folder / "other.jsonl", *records), SNLI)
    assert one.hash == other.hash
    more = read_bank(jsonl(folder / "more.jsonl", *records, {"id": "d", "variants": ["new"]}), SNLI)
    assert more.hash != one.hash


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"variants": ["x"]}, 'neither "id" nor "hypothesis"'),
        ({"id": "1", "texts": ["x"]}, 'no column "variants" or "hypothesis_paraphrase"; found: id, texts'),
        ({"id": "1", "variants": [1]}, '"variants.0": found 1, expected a text'),
        ({"id": "1", "variants": {"a": "b"}}, "expected a list of texts or a text"),
    ],
)
def test_a_bad_row_is_named(tmp_path, record, said):
    path = jsonl(tmp_path / "b.jsonl", {"id": "0", "variants": ["x"]}, record)
    with pytest.raises(DataError) as error:
        read_bank(path, SNLI)
    assert said in error.value.message
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert error.value.hint


def test_a_bank_that_is_not_there():
    with pytest.raises(DataError, match="there is no such bank") as error:
        open_bank("nowhere.jsonl", SNLI)
    assert "--writer bank/FILE" in error.value.hint


def test_becels_paraphrases_are_a_bank(data: Path):
    from unwaver.suites import sensitivity

    path = data / "becel" / "snli" / "semantic.tsv"
    bank = open_bank(str(path), SNLI)
    suite = sensitivity.suite(data, writer=f"bank/{path}")
    items = list(suite.examples("snli"))
    found = [bank.of(i) for i in items]
    assert sum(map(bool, found)) > 4300  # of 4,406 rows; a few repeat an item, or differ by a character
    assert max(map(len, found)) <= 2
    assert bank.hash.startswith("sha256:")
    assert bank.hash in suite.notes("snli", "fooling")[0]
