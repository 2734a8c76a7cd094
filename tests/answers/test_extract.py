"""Answers read out of text: what each way reads, and what none of them may do with hostile texts."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import no_endless_work

from unwaver.answers import extract
from unwaver.answers.extract import normal, reader
from unwaver.errors import UsageError

SPECS = ["text", "first_line", "last_line", "letter", "number", "json", "json:answer", r"regex:(\w+)\W*$"]


@pytest.mark.parametrize(
    ("spec", "text", "answer"),
    [
        ("text", "  Paris.\n", "Paris."),
        ("text", "<think>Rome? No.</think>\n\nParis.", "Paris."),
        ("text", "a</think>b<think>c</think>d", "d"),
        ("text", "<think>It has no end", None),
        ("text", "Paris <think>", "Paris <think>"),
        ("first_line", "\n \n Paris.\nQ: What else?\nA: Rome.", "Paris."),
        ("first_line", "Paris.\r\nRome.", "Paris."),
        ("last_line", "Let me see.\nParis.\n\n", "Paris."),
    ],
)
def test_texts_and_lines(spec: str, text: str, answer: str | None) -> None:
    assert reader(spec)(text) == answer


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B or C", None),
        ("The answer is A or B.", None),
        ("answer is (B) or (C)", None),
        ("Answer: B/C", None),
        ("The answer is B and a reason follows", "B"),
        ("The answer is (B) and it is right", "B"),
        ("B", "B"),
        ("(b)", "B"),
        ("**B.**", "B"),
        ("$B$", "B"),
        ("B) Paris", "B"),
        ("(b) because it rains", "B"),
        ("B. Paris", "B"),
        ("B - Paris", "B"),
        ("B: Paris, not A", "B"),
        ("B\n\nBecause A is wrong.", "B"),
        ("It rains.\n\nB", "B"),
        ("Paris (C)", "C"),
        ("The answer is B.", "B"),
        ("A is wrong, so the answer is **B**, not C", "B"),
        ("First the answer is A. No, the answer is (c).", "C"),
        ("Answer: b", "B"),
        ("Answer:\n\n**(C)** Paris", "C"),
        ("The correct answer is option D.", "D"),
        ("The answer is A because it rains", "A"),
        ("answer: A. Rome", "A"),
        ("Option C fits", "C"),
        ("(A) is right", "A"),
        ("It is not A but C", "C"),
        (r"So A or B? \boxed{\text{B}}", "B"),
        ("I would say B", "B"),
        ("A cat sleeps, so B", "B"),
        ("A. Rome\nB. Paris\nThe answer is B", "B"),
        ("A", "A"),
        ("I", "I"),
        ("Not A, but B", "B"),
        ("It's not B but C", "C"),
        ("The answer is B? No, C.", "C"),
        ("Option B is not right, so option C", "C"),
        ("(B) isn't it, (C) is", "C"),
        ("It is B, isn't it?", "B"),
        ("Not B.", None),
        ("NOT B", None),
        ("Never B", None),
        ("It can't be B", None),
        ("It can’t be (B)", None),
        ("It cannot be the option B.", None),
        ("neither A nor B", None),
        ("B is not right", None),
        # two of them, or none
        ("A. Rome\nB. Paris\nC. Oslo", None),
        ("A\nB\nC", None),
        ("(A) is wrong, (B) is right", None),
        ("It is not B", None),
        ("It isn't option B", None),
        ("Not options B and option C, option D", None),
        ("It's A or B", None),
        ("I think it is C because D is wrong", None),
        ("The answer is a dog.", None),
        ("I don't know", None),
        ("I like it", None),
        ("A cat", None),
        ("U.S. law, e.g. this", None),
        ("X-rays", None),
        ("Paris", None),
        (r"\boxed{42} B", None),
    ],
)
def test_letters(text: str, letter: str | None) -> None:
    assert reader("letter")(text) == letter


@given(
    st.sampled_from("ABCDEFGHJ"), st.sampled_from(["{}", "({})", "{}.", "**{}**", "The answer is {}.", "{}) No"])
)
def test_a_letter_in_any_dress(letter: str, dress: str) -> None:
    assert reader("letter")(dress.format(letter)) == letter


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        ("6 * 7 = 42\n#### 42\n", "42"),
        ("#### 1,000", "1000"),
        ("The answer is 1,000.0 metres.", "1000"),
        ("The answer is 42, since 40 + 2 = 42 and not 41", "42"),
        ("The answer is:\n\n8", "8"),
        ("The answer is unknown, maybe 17", "17"),
        ("Answer: 3 + 4 = 7", "7"),
        ("Answer: x = 5", "5"),
        ("First 3, then 4.", "4"),
        (r"So \boxed{\frac{3}{4}} of 12", "0.75"),
        (r"\boxed{1{,}000} in 3 steps", "1000"),
        (r"about 12\,000 in all", "12000"),
        (r"5\%", "5"),
        ("50 %", "50"),
        ("3/4", "0.75"),
        ("-3", "-3"),
        ("−3.50", "-3.5"),
        ("$1,234.50", "1234.5"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("twelve", "12"),
        ("٤٢", "42"),
        ("<think>3 or 4</think>It is 4.", "4"),
        ("<think>3", None),
        (r"\boxed{6.02 \times 10^{23}}", "602000000000000000000000"),
        (r"$\frac{-1}{2}$", "-0.5"),
        ("none at all", None),
        ("", None),
    ],
)
def test_numbers(text: str, number: str | None) -> None:
    assert reader("number")(text) == number


DRESSES = ["{}", "#### {}", r"\boxed{{{}}}", "The answer is {}.", "It is 7, no: {}", "Answer: {} km", "3 + 4 = {}"]


@given(st.integers(-(10**12), 10**12), st.sampled_from(DRESSES))
def test_a_number_is_one_however_it_is_written(number: int, dress: str) -> None:
    read = reader("number")
    written = {str(number), f"{number:,}", f"{number}.0", f"{number:,}.00"}
    assert {read(dress.format(w)) for w in written} == {str(number)}


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-1e20, max_value=1e20, places=6))
def test_the_normal_form_keeps_the_value(value: Decimal) -> None:
    written = normal(value)
    assert written is not None
    assert Decimal(written) == value
    assert normal(Decimal(written)) == written
    assert normal(value * 1) == normal(value.normalize())


def test_numbers_that_are_none() -> None:
    assert (normal(Decimal("Infinity")), normal(Decimal("NaN"))) == (None, None)
    assert normal(Decimal("1e40")) == "1E+40"


@pytest.mark.parametrize(
    ("spec", "text", "answer"),
    [
        ("json:answer", '{"answer": "Paris "}', "Paris"),
        ("json:answer", 'Sure!\n```json\n{"answer": "Paris"}\n```\nBye {"answer": "Rome"}', "Paris"),
        ("json:answer", 'I mean {"x": {"answer": 1}}, that is {"answer": 2.0}.', "2"),
        ("json:answer", '{"answer": true}', "true"),
        ("json:answer", '{"answer": 0}', "0"),
        ("json:answer", '{"answer": null}', None),
        ("json:answer", '{"answer": ""}', None),
        ("json:answer", '{"answer": ["b", "a"]}', '["b", "a"]'),
        ("json:answer", '{broken {"answer": "in"}', "in"),
        ("json:answer", '{"steps": [{"answer": 1}, {"answer": 2', None),  # cut off: these are no answers
        ("json:answer", '{"steps": [{"answer": 1}, "and', None),
        ("json:answer", r'{"answer": "half \ud800"}', "half ?"),
        ("json:answer", '{"answer": NaN}', None),
        ("json:answer", '{"answer": 1e999}', None),
        ("json:answer", '<think>{"answer": 1}</think>{"answer": 2}', "2"),
        ("json:a.b.1", '{"a": {"b": ["x", "y"]}}', "y"),
        ("json:a.b.2", '{"a": {"b": ["x", "y"]}}', None),
        ("json:a.b", '{"a": "b"}', None),
        ("json:0", '["x"]', "x"),
        ("json", 'It is {"b": 2.0, "a": "é"}!', '{"a": "é", "b": 2}'),
        ("json", "```\n[1, 2]\n```", "[1, 2]"),
        ("json", "no JSON {here}", None),
    ],
)
def test_json(spec: str, text: str, answer: str | None) -> None:
    assert reader(spec)(text) == answer


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4), st.integers(0, 2))
def test_json_comes_back(value: dict[str, object], dress: int) -> None:
    written = json.dumps(value)
    text = (written, f"Here:\n```json\n{written}\n```\n", f"Well, {written} it is.")[dress]
    found = reader("json")(text)
    assert found is not None
    assert json.loads(found) == value


@pytest.mark.parametrize(
    ("pattern", "text", "answer"),
    [
        (r"is (\w+)", "It is one. It is two.", "two"),
        (r"\d+", "1 22 333", "333"),
        (r"(a)|b", "a b", None),  # the last match has no first group
        (r"^(\w+)", "Paris it is", "Paris"),
        (r"x", "y", None),
        (r"(?i)CITY: (.*)", "city: Paris \n", "Paris"),
        (r"a:b:(.)", "a:b:c", "c"),
    ],
)
def test_regular_expressions(pattern: str, text: str, answer: str | None) -> None:
    assert reader(f"regex:{pattern}")(text) == answer


def test_of_long_texts_a_regular_expression_reads_the_end() -> None:
    long = "first " + "x " * 25_000 + "last"
    assert reader(r"regex:(\w+)$")(long) == "last"
    assert reader("regex:first")(long) is None
    assert reader(r"regex:^(\w+)")(long) is None  # the beginning of the text, not of what is read


def test_a_regular_expression_that_takes_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "REGEX_SECONDS", 0.1)
    read = reader("regex:(a+)+b")
    message = r"regex:\(a\+\)\+b: not done after 0\.1 s .* 50,000 characters"
    with no_endless_work(), pytest.raises(UsageError, match=message) as caught:
        read("a" * 50_000)
    assert caught.value.hint is not None
    assert "repeats inside repeats" in caught.value.hint


@pytest.mark.parametrize("spec", ["", "numbr", "text:x", "json:", "regex", "regex:", "regexp:x", "Number"])
def test_unknown_ways(spec: str) -> None:
    with pytest.raises(UsageError, match="unknown reader") as caught:
        reader(spec)
    assert caught.value.hint is not None
    assert "last_line, letter, number, json" in caught.value.hint
    assert ("a pattern is missing" in caught.value.hint) == (spec in ("regex", "regex:"))


def test_broken_ways() -> None:
    with pytest.raises(UsageError, match=r"regex:\(: not a regular expression: missing \)"):
        reader("regex:(")
    with pytest.raises(UsageError, match=r"json:a\.\.b: found an empty name"):
        reader("json:a..b")


# --- hostile texts ------------------------------------------------------------------------------------------

HOSTILE = [
    *("", " ", "\n", "\0", "\x1b[2J", "\u202e\u200f", "\ud7ff\ue000"),
    *(sign * 50_000 for sign in "a9A (*-#\n{[\"'`.,\\"),
    *(word * (50_000 // len(word)) for word in ("1,", "1/", "1.", "answer is ", "option ", "\\boxed{", "\\frac{")),
    *(word * (50_000 // len(word)) for word in ('{"a":', '{"a":[', "```\n", "one and ", "minus ", "A ", "A. x\n")),
    "1" + " " * 50_000 + "x",
    "5" + " trillion" * 5_500,
    '{"answer": ' + "9" * 49_000 + "}",
    '{"answer": "' + "x" * 50_000,
    "\x00\x07\x1b\u2028" * 12_000,
    "‏התשובה היא ٤٢ " * 3_000,
]


@pytest.mark.parametrize("spec", SPECS)
def test_hostile_texts(spec: str) -> None:
    read = reader(spec)
    for text in HOSTILE:
        with no_endless_work():
            found = read(text)
        assert found is None or (found and found == found.strip() and len(found) <= len(text))


@given(st.text() | st.text(alphabet='{}[]":,a1 \n`<>/think\\box', max_size=80), st.sampled_from(SPECS))
def test_any_text_is_read_or_not(text: str, spec: str) -> None:
    found = reader(spec)(text)
    assert found is None or (found and found == found.strip())
    found_again = reader(spec)(text)
    assert found_again == found
    hidden = reader(spec)(f"<think>A 1 {{}}</think>{text}")
    assert hidden == found or text.lstrip().startswith("<think>")
