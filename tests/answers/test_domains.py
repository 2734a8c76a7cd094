"""--domain: which sets are in the domain of a model."""

import polars as pl
import pytest

import unwaver
from unwaver.answers.domains import check_domains, domain_of, read_domains
from unwaver.answers.given import complete
from unwaver.errors import UsageError

SETS = ["mnli", "snli", "anli-r1", "anli-r2"]


def test_reading():
    expected = {"mnli": "in", "snli": "out", "anli": "out"}
    assert read_domains(("mnli=in,snli=out,anli=out",)) == expected
    assert read_domains(("mnli=in", " snli = out , anli=out", "mnli=in")) == expected
    assert read_domains(expected) == expected
    assert read_domains(()) == read_domains(None) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("mnli", "expected SET=in or SET=out"),
        ("=in", "expected SET=in"),
        ("mnli=inside", "expected mnli=in or mnli=out"),
        ("mnli=in,mnli=out", "both in and out"),
        ("mnli=in,", "expected SET=in"),
    ],
)
def test_what_cannot_be_read(given, says):
    with pytest.raises(UsageError, match=says):
        read_domains((given,))


def test_a_name_fits_its_rounds_and_the_longest_wins():
    domains = {"anli": "out", "anli-r2": "in", "snl": "in"}
    assert [domain_of(task, domains) for task in ("anli-r1", "anli-r2", "anli", "snli")] == [
        "out",
        "in",
        "out",
        None,
    ]


def test_what_does_not_fit_the_run():
    check_domains({"mnli": "in", "snli": "out", "anli": "out"}, SETS)
    with pytest.raises(UsageError, match="qnli is not a set of this run"):
        check_domains({"mnli": "in", "snli": "out", "anli": "out", "qnli": "out"}, SETS)
    with pytest.raises(UsageError, match="whether anli-r1 is in or out") as e:
        check_domains({"mnli": "in", "snli": "out"}, SETS)
    assert "anli-r1=in or anli-r1=out" in e.value.hint
    with pytest.raises(UsageError, match="no effect"):
        check_domains({"mnli": "in"}, [])
    with pytest.raises(UsageError, match="expected mnli=in"):
        check_domains({"mnli": "IN"}, ["mnli"])


def test_score_of_a_table():
    rows = [
        {"group": f"{task}/{n}", "role": role, "label": "entailment", "task": task}
        for task in SETS[:2]
        for n in range(3)
        for role in ("original", "variant")
    ]
    table = pl.DataFrame(rows).with_columns(kind=pl.lit("fooling"), gold=pl.lit("entailment"), keep=pl.lit(1))
    found = unwaver.score(complete(table), domain={"mnli": "in", "snli": "out"})
    assert {s.task for s in found} >= {"average", "average_in", "average_out"}
    with pytest.raises(UsageError, match="anli is not a set"):
        unwaver.score(complete(table), domain={"mnli": "in", "snli": "out", "anli": "out"})
