"""Agreements that need nothing but the two texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.agree import Agreement, Pair
from unwaver.agree.entities import entities
from unwaver.agree.exact import exact, normalised
from unwaver.agree.numeric import numeric
from unwaver.agree.overlap import bleu, rouge1
from unwaver.bound import bind
from unwaver.catalog import AGREEMENTS
from unwaver.errors import UsageError
from unwaver.text.normalise import normalise
from unwaver.text.numbers import Number, numbers

LONG = "The river rises in the hills and falls to the sea. " * 981  # 50,031 characters
STRANGE = [
    "\x00",
    "\x07\x1b[31m red \x7f",
    "שלום עולם",
    "\u202eעברית\u202c and English",
    "مرحبا بالعالم ٣٤",
    "👩‍👩‍👧 ok",
    "\ud800 half",
    "?",
    "­",
    LONG,
]


def values(agreement: Agreement, *pairs: tuple[str, str]) -> list[float | None]:
    assert agreement.compare is not None
    return agreement.compare([Pair("", a, b) for a, b in pairs])


def value(agreement: Agreement, a: str, b: str) -> float | None:
    return values(agreement, (a, b))[0]


@pytest.mark.parametrize("name", AGREEMENTS)
def test_every_agreement_of_the_list_is_there(name: str) -> None:
    module, _, function = AGREEMENTS[name][0].partition(":")
    make = getattr(__import__(module, fromlist=[function]), function)
    takes_a_model = "model" in make.__annotations__
    made = make("provider/name") if takes_a_model else make()
    assert made.name == name
    assert (made.compare is None) == takes_a_model == (made.request is not None) == bool(made.model)
    assert (made.better, made.same) == (("low", 0.0) if name == "contradict" else ("high", 1.0))
    assert 0 < made.threshold < 1


def test_options_are_bound_and_checked() -> None:
    assert bind(numeric, {"every": "yes"}, "numeric") == {"every": True}
    with pytest.raises(UsageError, match="has no option 'evry'"):
        bind(numeric, {"evry": "yes"}, "numeric")


@pytest.mark.parametrize(
    "make", [exact, normalised, numeric, rouge1, lambda: rouge1(any_script=True), bleu, entities]
)
def test_strange_texts_have_values_or_none(make: Callable[[], Agreement]) -> None:
    found = values(make(), *((a, b) for a in STRANGE for b in STRANGE if a != b))
    assert all(v is None or 0 <= v <= 1 for v in found)


# --- exact --------------------------------------------------------------------------------------------------


def test_case_and_outer_space_count_for_exact() -> None:
    assert values(exact(), ("Paris", "Paris"), ("Paris", "paris"), ("Paris", "Paris ")) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("“An apple”, a pear.", "apple pear"),
        ("theatre", "theatre"),
        ("U.S.\x00", "us"),
        ("\u202eשלום!\u202c", "שלום"),
        ("cafe\u0301", "café"),
        ("", ""),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    assert normalise(text) == plain


def test_nothing_left_of_both_cannot_be_told() -> None:
    pairs = [("The Paris.", "paris"), ("Paris", "Rome"), ("?", "!"), ("?", "Rome")]
    assert values(normalised(), *pairs) == [1.0, 0.0, None, 0.0]


@given(st.text())
def test_normalise_twice_is_normalise_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has 1,234,567 inhabitants.", ["1234567"]),
        ("about 1200.50", ["1200.50"]),
        ("-5 or −7 or minus three", ["-5", "-7", "-3"]),
        ("3-5 and 10–12", ["3", "5", "10", "12"]),
        ("It costs $5, -$6, €7.", ["5", "-6", "7"]),
        ("1.5 million; 2 hundred thousand", ["1500000", "200000"]),
        ("twenty-five, two hundred and five thousand", ["25", "205000"]),
        ("twelve hundred", ["1200"]),
        ("a thousand", ["1000"]),
        ("3/4 of it", ["0.75"]),
        ("1e6 and 2.5E-3", ["1000000", "0.0025"]),
        ("H2O, B2B, v1.2.3, MP3", []),
        ("192.168.0.1", ["192.168"]),
        ("No one knows the last one; one of them, one should", []),
        ("One.", ["1"]),
        ("someone often weighs a ton", []),
        ("٣٤ كتابا", ["34"]),
        ("1'000 or 1\u202f000", ["1000", "1000"]),
        ("5/0", ["5"]),
        ("The 1st of 12.", ["1", "12"]),
        (".5", ["0.5"]),
        ("10 000 people, 1,00,000 or 12 345 678", ["10000", "100000", "12345678"]),
        ("1.000,5 and 1.000.000 but 3,14", ["1000.5", "1000000", "3", "14"]),
        ("½, 1½, -1¼ and ⅓", ["0.5", "1.5", "-1.25", "0." + 50 * "3"]),
        ("1 3/4 cups in 2020 3/4 of a pound", ["1.75", "2020", "0.75"]),
        ("6.02×10^23, 1.5 x 10^-3, 10⁶, 2 · 10⁻³, 10^{3}", ["6.02E+23", "0.0015", "1000000", "0.002", "1000"]),
        ("2^10 and 2**3 but 3 × 4", ["1024", "8", "3", "4"]),
        ("1e5kg", ["100000"]),
        ("0x10 and 0xFF", ["16", "255"]),
        ("$2M, £5m, €1.5bn, 2M, $2 more", ["2000000", "5000000", "1500000000", "2", "2"]),
        ("nineteen eighty-four, twenty twenty-four", ["1984", "2024"]),
        ("nineteen hundred, two thousand twenty-four", ["1900", "2024"]),
        ("two five", ["2", "5"]),
        ("0^-1", []),
    ],
)
def test_numbers(text: str, expected: list[str]) -> None:
    assert [n.value for n in numbers(text)] == [Decimal(e) for e in expected]


def test_percent() -> None:
    assert list(numbers("25 % or 25 percent or 25 per cent")) == [Number(Decimal(25), True)] * 3
    same = [("50%", "0.5"), ("50 percent", "50 %"), ("fifty percent", "50%")]
    assert values(numeric(), *same) == [1.0] * 3
    assert value(numeric(), "50%", "50") is None, "it depends on the question"
    assert values(numeric(), ("0.5%", "50%"), ("50", "0.5")) == [0.0, 0.0]


def test_the_last_number_or_all() -> None:
    assert value(numeric(), "3 + 4 = 7", "It is seven.") == 1.0
    assert value(numeric(every=True), "3 + 4 = 7", "It is seven.") == 0.0
    assert value(numeric(every=True), "two and 3", "3 and 2") == 1.0
    assert numeric(every=True).name == "numeric_all"


@pytest.mark.parametrize(
    ("a", "b"),
    [("10 000", "25 000"), ("1.000,5", "2.000,5"), ("1½", "1¼"), ("6.02×10^23", "1.5×10^23"), ("0x10", "0x20")],
)
def test_a_part_of_a_number_is_not_taken_for_it(a: str, b: str) -> None:
    assert values(numeric(), (a, b), (a, a)) == [0.0, 1.0]


def test_no_number_cannot_be_told() -> None:
    assert values(numeric(), ("none", "7"), ("7", "none"), ("none", "nothing")) == [None, None, None]


def test_numbers_that_would_not_fit_in_memory() -> None:
    assert value(numeric(), "1" * 50_000, "2" * 50_000) is None
    assert value(numeric(), "1e999999999", "1e999") is None
    assert value(numeric(), "one " * 12_500, "1") is None
    assert value(numeric(every=True), "5" + " million" * 400_000, "5 6") is None


def test_all_digits_count_with_a_sign_too() -> None:
    assert value(numeric(), "-" + "1" * 40, "-" + "1" * 39 + "2") == 0.0


@given(st.integers(-(10**12), 10**12), st.integers(0, 999))
def test_a_number_is_found_however_it_is_written(whole: int, part: int) -> None:
    written = [f"{whole}.{part:03}", f"It is {whole:,}.{part:03}!", f"x = {whole}.{part:03}0"]
    assert len({tuple(numbers(text)) for text in written}) == 1
    assert [n.value for n in numbers(written[0])] == [Decimal(written[0])]


@given(st.text(alphabet="0123456789.,-/%e+ ¹٣onetwhudrd", max_size=40))
def test_numbers_never_fail(text: str) -> None:
    assert all(isinstance(n, Number) for n in numbers(text))


# --- words in common ----------------------------------------------------------------------------------------

SENTENCES = st.lists(
    st.sampled_from(["The", "cat", "cat,", "sat", "on", "a", "mat.", "42", "didn't"]), min_size=1
).map(" ".join)


@settings(deadline=None)  # the first example imports the library
@given(SENTENCES, SENTENCES)
def test_rouge1_equals_the_library_and_a_count_of_words(a: str, b: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    found = value(rouge1(), a, b)
    assert found == RougeScorer(["rouge1"], use_stemmer=False).score(b, a)["rouge1"].fmeasure
    one, other = (Counter(re.findall(r"[a-z0-9]+", text.lower())) for text in (a, b))
    assert found == pytest.approx(2 * (one & other).total() / (one.total() + other.total()))
    assert found == pytest.approx(value(rouge1(any_script=True), a, b))
    assert found == pytest.approx(value(rouge1(), b, a))


def test_rouge1_of_other_scripts() -> None:
    assert value(rouge1(), "שלום עולם", "שלום לך") == 0.0
    assert value(rouge1(any_script=True), "שלום עולם", "שלום לך") == 0.5
    assert rouge1(any_script=True).name == "rouge1_any"


@settings(deadline=None)
@given(SENTENCES, SENTENCES)
def test_bleu_equals_the_library(a: str, b: str) -> None:
    import sacrebleu

    assert value(bleu(), a, b) == pytest.approx(sacrebleu.sentence_bleu(a, [b]).score / 100)


def test_bleu_has_a_direction() -> None:
    assert not bleu().symmetric
    assert value(bleu(), "the cat sat", "the cat sat on the mat") != value(
        bleu(), "the cat sat on the mat", "the cat sat"
    )


# --- entities -----------------------------------------------------------------------------------------------


def test_entities_in_common() -> None:
    pairs = [
        ("Angela Merkel met Barack Obama in Berlin.", "Barack Obama flew to Berlin."),
        ("Berlin is the capital of Germany.", "The capital of Germany is Berlin."),
        ("He lives in Paris.", "He lives in London."),
        ("He lives in Paris.", "He does not know."),
        ("He sleeps.", "He does not know."),
    ]
    assert values(entities(), *pairs) == [pytest.approx(2 / 3), 1.0, 0.0, 0.0, None]


def test_no_more_of_the_pipeline_is_run_than_finds_entities() -> None:
    from unwaver.agree.entities import pipeline

    assert "ner" in pipeline().pipe_names
    assert not {"parser", "tagger", "lemmatizer"} & set(pipeline().pipe_names)
