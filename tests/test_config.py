"""The configuration of a run: ids that folders of earlier versions keep, and records that they hold."""

from dataclasses import asdict
from pathlib import Path

import pytest

from unwaver.config import Config
from unwaver.config_record import config_from


def config(**options):
    return Config(("s",), ("fake/random",), **options)


def test_one_sheet_or_none_gives_the_id_of_earlier_versions():
    """The ids were computed when --review took one sheet."""
    assert config().id == config(review=()).id == config(review=None).id == "6fe2d7d1"
    assert (
        config(review="a.tsv").id
        == config(review=("a.tsv",)).id
        == config(review=[Path("a.tsv")]).id
        == "c2a2175d"
    )
    several = config(review=("a.tsv", "b.tsv")).id
    assert several not in ("6fe2d7d1", "c2a2175d", config(review=("a.tsv",)).id)


@pytest.mark.parametrize(
    ("written", "read"), [(None, ()), ("a.tsv", ("a.tsv",)), (["a.tsv", "b.tsv"], ("a.tsv", "b.tsv")), ([], ())]
)
def test_sheets_in_a_record(written, read):
    record = {"config": {**asdict(config()), "suites": ["s"], "models": ["fake/random"], "review": written}}
    for name, value in record["config"].items():
        if isinstance(value, tuple):
            record["config"][name] = list(value)
    assert config_from(record, Path("run.json")).review == read
