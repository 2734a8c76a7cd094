"""Negation inserted and removed: one sentence of our own for each rule, then the human-made sets."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.errors import UsageError
from unwaver.tasks import task_named
from unwaver.text.english import Edit, article, edited, parsed, refusal
from unwaver.text.refused import Refused
from unwaver.types import Item
from unwaver.variants.negate import negate
from unwaver.variants.source import Source, paired

spacy = pytest.importorskip("spacy")
pytest.importorskip("lemminflect")


def made(text: str) -> list[str]:
    (found,) = negate()([text])
    assert not isinstance(found, Refused), found.reason
    return [rewrite.text for rewrite in found]


def tag(text: str) -> str:
    (found,) = negate()([text])
    assert not isinstance(found, Refused), found.reason
    return found[0].tag


def refused(text: str) -> str:
    (found,) = negate()([text])
    assert isinstance(found, Refused), found
    return found.reason


@pytest.mark.parametrize(
    ("text", "best"),
    [
        # helpers
        ("The cat is asleep.", "The cat is not asleep."),
        ("Two girls were singing.", "Two girls were not singing."),
        ("The train has left the station.", "The train has not left the station."),
        ("They had eaten lunch.", "They had not eaten lunch."),
        ("The shop will close soon.", "The shop will not close soon."),
        ("She can swim.", "She cannot swim."),
        ("You should leave.", "You should not leave."),
        ("He might be late.", "He might not be late."),
        ("He would rather stay.", "He would rather not stay."),
        # contractions
        ("He's sleeping.", "He's not sleeping."),
        ("We're late.", "We're not late."),
        ("They've left.", "They have not left."),
        ("She'll sing tomorrow.", "She will not sing tomorrow."),
        ("I'd go there.", "I would not go there."),
        ("He'd gone home.", "He had not gone home."),
        # do-support
        ("A dog barks at the moon.", "A dog does not bark at the moon."),
        ("Two dogs chase a ball.", "Two dogs do not chase a ball."),
        ("The boy ran home.", "The boy did not run home."),
        ("The baker has a red hat.", "The baker does not have a red hat."),
        ("She does a flip.", "She does not do a flip."),
        ("He used to smoke.", "He did not use to smoke."),
        ("The vase lay on the table.", "The vase did not lie on the table."),
        ("A man jumps up and catches a ball.", "A man does not jump up and catch a ball."),
        ("A sailor slowly climbs the mast.", "A sailor does not slowly climb the mast."),
        ("The firm recently hired a cook.", "The firm recently did not hire a cook."),
        # there is
        ("There is a goat on the roof.", "There is no goat on the roof."),
        ("There are goats on the roof.", "There are no goats on the roof."),
        ("There's a hole in the wall.", "There's no hole in the wall."),
        ("There are some apples.", "There are no apples."),
        ("There will be a party.", "There will be no party."),
        ("There is somebody at the door.", "There is nobody at the door."),
        ("There are two goats on the roof.", "There are not two goats on the roof."),
        ("There is more than one goat.", "There is no more than one goat."),
        ("There is a man and a goat.", "There is not a man and a goat."),
        # polarity
        ("She has some money.", "She does not have any money."),
        ("He is holding something red.", "He is not holding anything red."),
        ("She likes him too.", "She does not like him either."),
        ("He has already eaten.", "He has not eaten."),
        ("He still works here.", "He no longer works here."),
        ("He is still asleep.", "He is no longer asleep."),
        ("He sometimes smokes.", "He never smokes."),
        # subjects
        ("Someone is knocking.", "No one is knocking."),
        ("Some cups are broken.", "No cups are broken."),
        ("Some of the cups are broken.", "None of the cups are broken."),
        ("Everyone is happy.", "Not everyone is happy."),
        ("All the boys are outside.", "Not all the boys are outside."),
        ("Many birds sing here.", "Not many birds sing here."),
        # no main clause with a finite verb, imperatives, reports
        ("A man sleeping on a bench.", "A man not sleeping on a bench."),
        ("A woman who plays the violin", "A woman who does not play the violin"),
        ("A nurse with a lamp crosses the hall.", "A nurse with a lamp does not cross the hall."),
        ("Open the door.", "Do not open the door."),
        ("Please open the door!", "Please do not open the door!"),
        ("Let's go.", "Let's not go."),
        ('"He is here," she said.', '"He is not here," she said.'),
        # the rest stays as it was
        ("  The  cat   is asleep .", "  The  cat   is not asleep ."),
        ("THE CAT IS ASLEEP", "THE CAT IS NOT ASLEEP"),
        ("the cat sleeps", "the cat does not sleep"),
    ],
)
def test_insertion(text: str, best: str) -> None:
    assert made(text)[0] == best
    assert tag(text) == "negation"


@pytest.mark.parametrize(
    ("text", "all_of_them"),
    [
        ("There is a goat.", ["There is no goat.", "There is not a goat."]),
        ("There are some apples.", ["There are no apples.", "There are not any apples."]),
        ("There are two goats.", ["There are not two goats.", "There are no two goats."]),
        ("They hit the ball.", ["They do not hit the ball.", "They did not hit the ball."]),
        ("They just hit the ball.", ["They did not just hit the ball."]),
        ("The boy hit the ball.", ["The boy did not hit the ball."]),
        ("A group of men are singing.", ["A group of men are not singing.", "A group of men is not singing."]),
        ("A cat sits by some gates.", ["A cat does not sit by some gates.", "A cat does not sit by any gates."]),
        ("A man with no hat is here.", ["A man with no hat is not here.", "A man with a hat is here."]),
    ],
)
def test_several_wordings(text: str, all_of_them: list[str]) -> None:
    assert made(text) == all_of_them


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("The dog isn't barking.", "The dog is barking."),
        ("The dog is not barking.", "The dog is barking."),
        ("The dog doesn't bark.", "The dog barks."),
        ("The dog didn't bark.", "The dog barked."),
        ("They do not like it.", "They like it."),
        ("She cannot swim.", "She can swim."),
        ("She can't swim.", "She can swim."),
        ("He won't come.", "He will come."),
        ("Don't open the door.", "Open the door."),
        ("Nobody is at sea.", "Somebody is at sea."),
        ("No one likes rain.", "Someone likes rain."),
        ("Nothing happened.", "Something happened."),
        ("There are no chairs in the room.", "There are chairs in the room."),
        ("There is no chair in the room.", "There is a chair in the room."),
        ("There is no owl.", "There is an owl."),
        ("There is no milk.", "There is milk."),
        ("No dogs are barking.", "Some dogs are barking."),
        ("The man has no shoes.", "The man has shoes."),
        ("He never smiles.", "He smiles."),
        ("He no longer works here.", "He still works here."),
        ("Not all men are tall.", "All men are tall."),
        ("The man doesn't have any shoes.", "The man has some shoes."),
        ("I haven't seen anything.", "I have seen something."),
        ("It is not hailing anymore.", "It is hailing."),
    ],
)
def test_removal(text: str, best: str) -> None:
    assert made(text) == [best]
    assert tag(text) == "rm_negation"


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("is it bad to swim at night", "is it not bad to swim at night"),
        ("Is it raining?", "Is it not raining?"),
        ("is the moon made of cheese", "is the moon not made of cheese"),
        ("is a pony the same as a foal", "is a pony not the same as a foal"),
        ("is the spleen part of the gut", "is the spleen not part of the gut"),
        ("is a toad a reptile", "is a toad not a reptile"),
        ("is there a bridge over the river", "is there no bridge over the river"),
        ("are there wolves in norway", "are there no wolves in norway"),
        ("does a whale have teeth", "does a whale not have teeth"),
        ("do gulls sleep at sea", "do gulls not sleep at sea"),
        ("can dogs eat grapes", "can dogs not eat grapes"),
        ("has norway ever won a cup", "has norway never won a cup"),
        ("has anyone ever been to mars", "has no one ever been to mars"),
        ("isn't it cold", "is it cold"),
        ("Won't he come?", "Will he come?"),
        ("is it not cold", "is it cold"),
        ("is there no train on sunday", "is there a train on sunday"),
    ],
)
def test_questions(text: str, best: str) -> None:
    assert made(text)[0] == best


def test_a_question_for_an_object_has_two_wordings() -> None:
    assert made("does a snail have a spine") == ["does a snail not have a spine", "does a snail have no spine"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("Hello", "one word"),
        ("😀 😀!", "no words"),
        ("그는 자고 있지 않다.", "not in English"),
        ("Der Hund schläft nicht im Garten.", "not in English"),
        ("Le chat est dans le jardin.", "not in English"),
        ("The cat is asleep. " * 120, "longer than 2,000 characters"),
        ("He sleeps. She works.", "not one sentence"),
        ("A man in a park.", "no finite verb"),
        ("Who is there?", "yes or no"),
        ("What is this", "yes or no"),
        ("Only one man is smiling.", "limited"),
        ("He hardly sleeps.", "half negative"),
        ("Neither man is tall.", "half negative"),
        ("He cries because he fell.", "reason"),
        ("Maybe he sleeps.", "leaves open"),
        ("The night is warm, and the owl eats a mouse.", "several main clauses"),
        ("A woman is tired but walked home.", "several finite verbs"),
        ("He is not sad and not tired.", "several negations"),
        ("The girl is not only tall but strong.", "several negations"),
        ("He ain't here.", "cannot be taken out"),
        ("The sailor sing in the rain.", "do not agree"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_only_english() -> None:
    with pytest.raises(UsageError, match="language ko") as caught:
        negate(lang="ko")
    assert caught.value.hint == "supported: en"


def test_groups_get_the_opposite_label() -> None:
    task = task_named("snli")
    fields = {"premise": "A cat naps.", "hypothesis": "The cat is asleep."}
    item = Item("7", "snli", "original", fields, task.labels, ("entailment",))
    (group,) = paired(Source("own", task, (item,)), "negational", negate())
    assert not isinstance(group, Refused)
    assert group.tag == "negation"
    assert group.items[1].fields == {**fields, "hypothesis": "The cat is not asleep."}
    assert group.items[1].accepted == ("contradiction",)


def test_removal_undoes_insertion() -> None:
    subjects, verbs = ("The cat", "She", "My uncle"), ("sleeps", "is asleep", "ran home", "can swim", "has left")
    for text in (f"{subject} {verb}." for subject in subjects for verb in verbs):
        assert made(made(text)[0])[0] == text


SOME_WORDS = [
    "a",
    "man",
    "dog",
    "is",
    "sleeps",
    "not",
    "no",
    "there",
    "some",
    "the",
    "and",
    "quickly",
    "?",
    ".",
    "n't",
]


@given(st.lists(st.sampled_from(SOME_WORDS), max_size=9))
def test_words_in_any_order_never_crash(some: list[str]) -> None:
    """Whatever comes out differs from the text and is said once."""
    text = " ".join(some)
    (found,) = negate()([text])
    if not isinstance(found, Refused):
        outputs = [rewrite.text for rewrite in found]
        assert outputs
        assert text not in outputs
        assert len(set(outputs)) == len(outputs)


@given(st.text(max_size=40))
def test_any_text_is_rewritten_or_refused(text: str) -> None:
    (found,) = negate()([text])
    assert isinstance(found, Refused) == (not isinstance(found, list))


# --- english.py ---------------------------------------------------------------------------------------------


def test_the_same_text_is_parsed_once() -> None:
    first, other, again = parsed(["A cat naps.", "", "A cat naps."])
    assert first is again
    assert isinstance(other, Refused)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("old", "an"),
        ("young", "a"),
        ("hour", "an"),
        ("unique", "a"),
        ("unhappy", "an"),
        ("one-eyed", "a"),
        ("uninvited", "an"),
        ("uninteresting", "an"),
        ("unit", "a"),
        ("", "a"),
    ],
)
def test_the_article(word: str, expected: str) -> None:
    assert article(word) == expected


@given(st.text(max_size=30), st.data())
def test_edits_change_only_their_place(text: str, draw: Any) -> None:
    start = draw.draw(st.integers(0, len(text)))
    end = draw.draw(st.integers(start, len(text)))
    edit: Edit = (start, end, "new")
    assert edited(text, [edit]) == text[:start] + "new" + text[end:]
    assert edited(text, []) == text


def test_english_with_names_is_not_refused() -> None:
    assert refusal("The house of El Greco is in Las Palmas") is None


# --- the human-made sets ------------------------------------------------------------------------------------


def bench() -> Any:
    """The comparison with BECEL is that of the bench."""
    path = Path(__file__).parents[2] / "bench" / "negation.py"
    spec = importlib.util.spec_from_file_location("bench_negation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_comparison_ignores_contraction() -> None:
    plain = bench().plain
    assert plain("He can't  sleep !") == plain("he cannot sleep") == plain("He can not sleep.")
    assert plain("It isn 't.") == plain("It is not")
    assert plain("He won't.") == plain("He will not")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "first", "any_of_them"),
    [("snli", 0.85, 0.92), ("rte", 0, 0.70), ("mrpc", 0, 0.70), ("boolq", 0, 0.75)],
)
def test_against_the_human_made_negations(data: Path, task: str, first: float, any_of_them: float) -> None:
    study = bench()
    found = study.matched(study.pairs(data, task, "negation"), negate())
    assert found["first"] >= first
    assert found["any"] >= any_of_them


def test_korean_is_refused_not_mangled(data: Path) -> None:
    from unwaver.files import read_rows

    rows = read_rows(data / "kornli" / "xnli.dev.ko.tsv", quoting=False)[:300]
    texts = [row.text("sentence2") for row in rows]
    assert all(isinstance(found, Refused) for found in negate()(texts))
