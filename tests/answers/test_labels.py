from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import no_endless_work

from unwaver.answers.labels import match_label, read_label, read_labels
from unwaver.tasks import built_in

RTE = (("entailment", "not_entailment"), ("Yes", "No"))
NLI = (("entailment", "neutral", "contradiction"), ("True", "Neither", "False"))
MRPC = (("not_equivalent", "equivalent"), ("No", "Yes"))
NEWS = (("World", "Sports", "Business", "Sci/Tech"), ("World", "Sports", "Business", "Science"))
KOREAN = (("entailment", "neutral", "contradiction"), ("참", "모름", "거짓"))
KOREAN_STS = (("not_equivalent", "equivalent"), ("아니요", "예"))


@pytest.mark.parametrize(
    ("text", "task", "label"),
    [
        # the whole answer
        ("yes", RTE, "entailment"),
        (" Yes\n", RTE, "entailment"),
        ("**Yes.**", RTE, "entailment"),
        ("“No”", RTE, "not_entailment"),
        ("`not_entailment`", RTE, "not_entailment"),
        ("Not Entailment", RTE, "not_entailment"),
        ("not-entailment!", RTE, "not_entailment"),
        ("entailment", RTE, "entailment"),
        ("not equivalent", MRPC, "not_equivalent"),
        ("not_equivalent", MRPC, "not_equivalent"),
        ("Not Equivalent", MRPC, "not_equivalent"),
        ("equivalent", MRPC, "equivalent"),
        ("Sci/Tech", NEWS, "Sci/Tech"),
        ("sci tech", NEWS, "Sci/Tech"),
        ("SCIENCE", NEWS, "Sci/Tech"),
        ("FALSE", NLI, "contradiction"),
        # the first line, the beginning
        ("Yes\n\nText: a\nClaim: b\nAnswer: No", RTE, "entailment"),
        ("\n\nNo\nYes", RTE, "not_entailment"),
        ("No, because yes would be wrong.", RTE, "not_entailment"),
        ("**No**, because yes would be wrong.", RTE, "not_entailment"),
        ("Yes, it does.\n\nText: c\nAnswer: No", RTE, "entailment"),
        ("Neither true nor false", NLI, "neutral"),
        # after "answer:"
        ("No such thing is said, nor the opposite. The answer is: Yes", RTE, "entailment"),
        ("Yes and no are possible. Answer: **No**.", RTE, "not_entailment"),
        ("The text says yes or no. The answer is no.", RTE, "not_entailment"),
        ('{"answer": "not_entailment", "reason": "yes is wrong"}', RTE, "not_entailment"),
        ("Final answer: not entailment, as yes fails", RTE, "not_entailment"),
        # the only one mentioned
        ("I would say yes here", RTE, "entailment"),
        ("This is not entailment at all", RTE, "not_entailment"),
        ("The story is about sci/tech matters", NEWS, "Sci/Tech"),
        ("It is not true but false", NLI, "contradiction"),
        ("It is neither true nor false", NLI, "neutral"),
        ("yes, yes and again yes", RTE, "entailment"),
        # several, but it begins with one
        ("No information here makes a yes likely", RTE, "not_entailment"),
        # thoughts are no answers
        ("<think>Is it no? I think no.</think>\n\nYes", RTE, "entailment"),
        # Korean, with its endings
        ("참", KOREAN, "entailment"),
        ("거짓입니다.", KOREAN, "contradiction"),
        ("답은 모름입니다", KOREAN, "neutral"),
        ("정답: 거짓", KOREAN, "contradiction"),
        ("예, 뜻이 같습니다.", KOREAN_STS, "equivalent"),
        ("아니요", KOREAN_STS, "not_equivalent"),
        # unreadable
        ("", RTE, None),
        (" \n", RTE, None),
        ("...", RTE, None),
        ("Perhaps", RTE, None),
        ("some say yes, some say no", RTE, None),
        ("Yes or No?", RTE, None),
        ("Yes/No", RTE, None),
        ("World, Sports, Business or Science?", NEWS, None),
        ("Yesterday nobody noted it", RTE, None),
        ("The hypothesis is not true", NLI, None),
        ("That isn't the same", (("different", "same"), ("No", "Yes")), None),
        ("No-one yes", RTE, "not_entailment"),
        ("<think>So the answer is: Yes. But", RTE, None),
        ("참 또는 거짓", KOREAN, None),
        ("예를 들어", KOREAN_STS, None),
    ],
)
def test_values(text, task, label):
    assert read_label(text, *task) == label


def test_marks_only_labels_are_read_exactly():
    assert read_label(" + ", ("plus", "minus"), ("+", "-")) == "plus"
    assert read_label("C++", ("c", "cpp"), ("C", "C++")) == "cpp"
    assert read_label("c++", ("c", "cpp"), ("C", "C++")) is None  # both are the word c


def test_a_word_goes_before_a_label_of_the_same_spelling():
    assert read_label("1", ("1", "0"), ("0", "1")) == "0"


def test_a_word_of_two_labels_is_no_answer():
    assert read_label("yes", ("a", "b"), ("yes", "Yes")) == "a"  # spelt exactly
    assert read_label("YES", ("a", "b"), ("yes", "Yes")) is None
    assert read_label("yes", ("a", "b"), ("yes", "yes")) is None


def test_no_choices_no_label():
    assert read_label("anything", (), ()) is None


def test_decomposed_korean_is_the_same_word():
    import unicodedata

    assert read_label(unicodedata.normalize("NFD", "거짓"), *KOREAN) == "contradiction"


def test_every_built_in_task_reads_its_own_words_and_labels():
    for task in built_in().values():
        for names in (task.labels, task.form.words):
            assert read_labels(names, task.labels, task.form.words) == list(task.labels)


def test_many_texts():
    assert read_labels(["Yes", None, "hm", "Yes"], *RTE) == ["entailment", None, None, "entailment"]


def test_match_label_takes_whole_names_only():
    assert match_label("Not entailment", RTE[0]) == "not_entailment"
    assert match_label("probably entailment", RTE[0]) is None
    assert match_label("", RTE[0]) is None


@pytest.mark.parametrize("piece", ["yes ", "no-", "answer: ", "not ", "/", "'", "a'", "_", "<think>", "참입니다 "])
def test_long_texts_are_read_fast(piece):
    text = piece * (50_000 // len(piece))
    with no_endless_work(20):
        read_label(text, *RTE)


@given(text=st.text(), choices=st.lists(st.text(), max_size=4), words=st.lists(st.text(), max_size=4))
def test_never_raises_and_gives_a_choice_or_none(text, choices, words):
    assert read_label(text, choices, words) in {None, *choices}
    assert match_label(text, choices) in {None, *choices}


pieces = st.sampled_from(
    ["Yes", "No", "not", "entailment", "Answer:", "or", "/", ",", "\n", "is", "</think>", "<think>", " "]
)


@given(st.lists(pieces).map(" ".join))
def test_never_raises_on_near_misses(text):
    assert read_label(text, *RTE) in {None, *RTE[0]}


@given(
    st.lists(
        st.text(alphabet="abcdef 가나다_-'’", min_size=1),
        min_size=1,
        max_size=4,
        unique_by=lambda w: w.casefold(),
    )
)
def test_a_word_is_read_as_its_label(words):
    labels = [f"label {i}" for i in range(len(words))]
    for word, label in zip(words, labels, strict=True):
        plain = word.strip()
        if plain and [w.strip() for w in words].count(plain) == 1:
            assert read_label(word, labels, words) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A", "entailment"),
        ("a", "entailment"),
        ("(B)", "neutral"),
        ("C. False", "contradiction"),
        ("A is right", "entailment"),
        ("A cat sleeps, so B", "neutral"),
        ("The answer is C", "contradiction"),
        ("A cat is an animal.", None),
        ("A or B", None),
    ],
)
def test_option_letters(text: str, label: str | None) -> None:
    assert read_label(text, ("entailment", "neutral", "contradiction"), ("A", "B", "C")) == label
