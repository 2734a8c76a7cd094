"""The suite core: what a program can prove about its tables and groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from unwaver.answers.labels import fitting, read_label
from unwaver.errors import DataError
from unwaver.suites.core.book import Book
from unwaver.suites.core.quality import problems
from unwaver.suites.core.sizes import every_group
from unwaver.suites.core.suite import all_tables, core
from unwaver.suites.core.table import read_table
from unwaver.suites.core.wording import fill, with_article


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_every_relation_holds_on_the_right_answers(seed: int) -> None:
    assert list(problems(list(every_group(Book("core", all_tables(), seed))))) == []


@pytest.mark.parametrize("kind", ["inherited", "transitive"])
def test_a_conclusion_says_of_the_member_what_the_rule_says_of_its_class(kind: str) -> None:
    chained = {t.name for t in all_tables() if any(c.kind == kind and not c.true_only for c in t.chains)}
    groups = [g for g in core().groups("yes_no", kind) if g.tag in chained]
    seen = set()
    for group in groups:
        of, rule, end = (
            item.fields["question"].split("\n")[0].removeprefix("Statement: ") for item in group.items
        )
        member, a_class = of.rstrip(".").split(" are ")
        assert rule.lower().startswith(a_class)
        assert end.removeprefix(member) == rule[len(a_class) :], group.id
        seen.add(group.items[-1].accepted)
    assert seen == {("yes",), ("no",)}


def test_a_table_with_a_fault_is_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nrule = "r"\ncolumns = ["a", "b"]\nrows = [["x", "y"]]\n'
        '[[questions]]\nname = "q"\nanswer = "b"\nopen.en = ["what is {c}?", "2", "3", "4", "5", "6"]\n'
    )
    with pytest.raises(DataError, match=r"open.en: there is no column 'c'"):
        read_table(file)


def test_articles() -> None:
    assert fill("is {x|a} red?", {"x": "apple"}) == "is an apple red?"
    assert [with_article(w) for w in ("hour", "university", "pear")] == ["an hour", "a university", "a pear"]


def test_spellings_of_an_answer_are_read_in_every_language() -> None:
    choices, words = ("Rome", "Vienna"), ("Rome|Rom|罗马", "Vienna|Wien|维也纳")
    said = {
        "Rom": "Rome",
        "答案是维也纳。": "Vienna",
        "Die Antwort lautet: Wien": "Vienna",
        "Rome or Vienna": None,
        "Oslo": None,
    }
    assert {text: read_label(text, choices, words) for text in said} == said
    yes_no = ("是|是的|对|正确", "否|不是|不对|不正确")
    told = {"是的，没错": "yes", "不是。": "no", "答案：否": "no", "不正确": "no", "答案是否": "no"}
    assert {text: read_label(text, ("yes", "no"), yes_no) for text in told} == told
    assert fitting(words, ("Vienna",)) == ("Vienna|Wien|维也纳",)


def test_the_suite_is_the_same_every_time_and_another_with_another_seed() -> None:
    suite, other = core(), core(core_seed=1)
    cases = [(task, kind) for task, kinds in suite.cases.items() for kind in kinds]
    assert [list(suite.groups(*case)) for case in cases] == [list(core().groups(*case)) for case in cases]
    assert list(suite.groups("open", "paraphrase")) != list(other.groups("open", "paraphrase"))
