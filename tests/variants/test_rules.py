"""The paraphraser that needs no model: every construction, every refusal, and real sentences."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("spacy")
pytest.importorskip("lemminflect")

from unwaver.errors import UsageError
from unwaver.files import read_rows
from unwaver.text.refused import Refused
from unwaver.variants import lexicon
from unwaver.variants.rules import MOST, rules
from unwaver.variants.rules import words as word_rules
from unwaver.variants.rules.sentence import Edit, applied, article_for
from unwaver.variants.source import Rewrite


@pytest.fixture(scope="module")
def rewrite():
    rewriter = rules()

    def one(text: str) -> list[Rewrite]:
        (made,) = rewriter([text])
        return [] if isinstance(made, Refused) else made

    return one


@pytest.fixture(scope="module")
def texts(rewrite):
    return lambda text: [made.text for made in rewrite(text)]


CONSTRUCTIONS = [
    ("there", "A plumber is kneeling under a sink.", "There is a plumber kneeling under a sink."),
    ("there", "Three plumbers are in the kitchen.", "There are three plumbers in the kitchen."),
    ("there", "A ladder was being carried upstairs.", "There was a ladder being carried upstairs."),
    ("there_relative", "A nurse is tired.", "There is a nurse who is tired."),
    ("there_relative", "A horse does not eat.", "There is a horse that does not eat."),
    ("plain", "There is a nurse reading a chart.", "A nurse is reading a chart."),
    ("plain", "There are goats on the roof.", "Goats are on the roof."),
    ("plain", "There is a nurse who is reading a chart.", "A nurse is reading a chart."),
    ("adverbial", "There are goats on the roof.", "On the roof, there are goats."),
    ("inversion", "There are goats on the roof.", "On the roof are goats."),
    ("finite", "A nurse reading a chart", "A nurse is reading a chart"),
    ("there", "A nurse reading a chart", "There is a nurse reading a chart"),
    ("relative", "A nurse reading a chart", "A nurse who is reading a chart"),
    ("finite_cleft", "A nurse reading a chart", "It is a nurse who is reading a chart"),
    ("finite_currently", "A nurse reading a chart", "A nurse is currently reading a chart"),
    ("finite_frame", "The nurse reading a chart", "It is true that the nurse is reading a chart"),
    ("there", "Two goats with bells", "There are two goats with bells"),
    ("passive", "A nurse is reading the chart.", "The chart is being read by a nurse."),
    ("passive", "The nurses wrote a letter.", "A letter was written by the nurses."),
    ("passive", "A nurse has written the letters.", "The letters have been written by a nurse."),
    ("passive", "The nurse can lift the box.", "The box can be lifted by the nurse."),
    ("passive", "She rides the horse in the park.", "The horse is ridden in the park by her."),
    ("passive", "A nurse picks up the chart.", "The chart is picked up by a nurse."),
    ("active", "The chart is being read by two nurses.", "Two nurses are reading the chart."),
    ("active", "The letters were written by her.", "She wrote the letters."),
    ("active", "The letter has been written by the nurses.", "The nurses have written the letter."),
    ("active", "The chart can be read by a nurse.", "A nurse can read the chart."),
    ("active", "The chart is being read.", "Someone is reading the chart."),
    ("dative", "The nurse gives a toy to the girl.", "The nurse gives the girl a toy."),
    ("dative", "The nurse gave the girl a toy.", "The nurse gave a toy to the girl."),
    ("dative", "The nurse bought a toy for the girl.", "The nurse bought the girl a toy."),
    ("particle", "The nurse picks up the chart.", "The nurse picks the chart up."),
    ("particle", "The nurse picks the chart up.", "The nurse picks up the chart."),
    ("adverbial", "The nurses are eating soup in the kitchen.", "In the kitchen, the nurses are eating soup."),
    ("adverbial", "In the kitchen, the nurses are eating soup.", "The nurses are eating soup in the kitchen."),
    ("adverbial", "The nurse sleeps at night.", "At night, the nurse sleeps."),
    ("clothing", "A nurse in a green coat smiles.", "A nurse wearing a green coat smiles."),
    ("clothing", "A nurse in a green coat smiles.", "A nurse who is wearing a green coat smiles."),
    ("clothing", "A nurse wearing a green coat is singing.", "A nurse in a green coat is singing."),
    ("relative", "The nurse holding the chart smiles.", "The nurse who is holding the chart smiles."),
    ("relative", "The nurse holding the chart smiled.", "The nurse who was holding the chart smiled."),
    ("reduced", "The nurse who is holding the chart smiles.", "The nurse holding the chart smiles."),
    ("located", "The nurses at the station are singing.", "The nurses who are at the station are singing."),
    ("adjective", "A blind nurse plays the harp.", "A nurse who is blind plays the harp."),
    ("adjective", "Asian nurses are singing.", "Nurses who are Asian are singing."),
    ("coordination", "A nurse and an usher are singing.", "An usher and a nurse are singing."),
    ("coordination", "The apple and banana are ripe.", "The banana and apple are ripe."),
    ("coordination", "The nurse is singing and dancing.", "The nurse is dancing and singing."),
    ("genitive", "The nurse's harp is old.", "The harp of the nurse is old."),
    ("genitive", "The owner of the girl is here.", "The girl's owner is here."),
    ("currently", "The nurse is singing.", "The nurse is currently singing."),
    ("inversion", "Two nurses are walking in the park.", "Walking in the park are two nurses."),
    ("inversion", "Two nurses sit on a bench.", "On a bench sit two nurses."),
    ("inversion", "The harp is in the garden.", "In the garden is the harp."),
    ("the_one", "The nurses are singing.", "The nurses are the ones who are singing."),
    ("the_one", "She was tired.", "She was the one who was tired."),
    ("the_one", "The harp is old.", "The harp is what is old."),
    ("cleft_subject", "Nurses are singing.", "It is nurses who are singing."),
    ("cleft_subject", "The harp was old.", "It was the harp that was old."),
    ("cleft_object", "A nurse is painting a wall.", "It is a wall that a nurse is painting."),
    ("cleft_adverbial", "A nurse is singing in the garden.", "It is in the garden that a nurse is singing."),
    ("what_cleft", "A nurse is painting a wall.", "What a nurse is painting is a wall."),
    ("what_doing", "The nurses are singing.", "What the nurses are doing is singing."),
    ("what_subject", "The harp is old.", "What is old is the harp."),
    ("frame", "Every nurse sings.", "It is true that every nurse sings."),
    ("frame", "There is a harp.", "It is the case that there is a harp."),
    ("synonym", "The nurse is next to the sofa.", "The nurse is beside the sofa."),
    ("synonym", "The nurse is next to the sofa.", "The nurse is next to the couch."),
    ("synonym", "The nurse waited for her friends.", "The nurse awaited her friends."),
    ("synonym", "A kid bought an automobile.", "A kid bought a car."),
    ("synonym", "An ill nurse sleeps.", "A sick nurse sleeps."),
    ("pair", "Two nurses are singing.", "A pair of nurses are singing."),
    ("someone", "A person is singing.", "Someone is singing."),
    ("many", "Many nurses are singing.", "A lot of nurses are singing."),
    ("state", "The nurse is sleeping.", "The nurse is asleep."),
    ("state", "The nurse is sitting on a bench.", "The nurse is seated on a bench."),
    ("state", "The nurse is wearing a suit.", "The nurse is dressed in a suit."),
]


@pytest.mark.parametrize(("tag", "original", "expected"), CONSTRUCTIONS)
def test_construction(rewrite, tag, original, expected):
    assert Rewrite(expected, tag) in rewrite(original)


LEFT_ALONE = [
    ("passive", "A nurse has a harp."),  # a state
    ("passive", "The nurse is painting her wall."),  # her: whose, once the nurse comes last?
    ("passive", "A nurse sees another nurse."),
    ("passive", "The nurse is painting a wall blue."),
    ("passive", "The nurse is not painting a wall."),
    ("passive", "Two nurses read a letter."),  # today or yesterday?
    ("there", "The nurse is singing."),
    ("there", "Nobody is singing."),
    ("there_relative", "Nurses sing."),  # of nurses in general
    ("cleft_subject", "Nobody is singing."),
    ("adverbial", "The nurse looks at the garden."),
    ("adverbial", "The nurse is in the garden."),
    ("cleft_object", "The nurse is sewing up a hole in a coat."),
    ("what_doing", "The nurse is going to sing."),
    ("what_doing", "The nurse is wearing a coat."),
    ("particle", "The nurse looks out the window."),
    ("particle", "The nurse picks it up."),
    ("coordination", "The nurse and her friend are singing."),
    ("coordination", "Old nurses and ushers are singing."),  # old ushers?
    ("coordination", "The nurse sits and eats."),  # first the one, then the other
    ("genitive", "The nurse is in a children's ward."),
    ("synonym", "The nurse rides a dirt bike."),
    ("adjective", "An old friend is singing in a red wine bar."),
    ("relative", "Is a nurse singing?"),
    ("frame", "Is a nurse singing?"),
    ("frame", "Sing louder."),
    ("frame", "The nurse are singing."),
]


@pytest.mark.parametrize(("tag", "original"), LEFT_ALONE)
def test_left_alone(rewrite, tag, original):
    assert tag not in [part for made in rewrite(original) for part in made.tag.split("+")]


REFUSED = [
    ("", "the text is empty"),
    (" \n", "the text is empty"),
    ("Sleeping", "the text is one word"),
    ("😀 😀", "the text has no words"),
    ("A nurse is singing 😀", "the text has an emoji or another sign"),
    ("간호사가 노래하고 있다.", "the text is not in English"),
    ("Die Frau ist nicht auf der Bank.", "the text is not in English"),
    ("A nurse sings. A harp plays.", "the text is more than one sentence"),
    ("A nurse sings " * 200, "the text is longer than 2,000 characters"),
    ("Harp music", "no rule applies"),
    ("Sing louder!", "no rule applies"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_refused(text, reason):
    (made,) = rules()([text])
    assert made == Refused(reason)


def test_other_languages_are_not_known():
    with pytest.raises(UsageError, match="rules does not know the language de"):
        rules(lang="de")


def test_answers_are_aligned_with_the_texts():
    made = list(rules()(["", "A nurse is singing.", "", "A nurse is singing."]))
    assert [isinstance(m, Refused) for m in made] == [True, False, True, False]
    assert made[1] == made[3]


def test_the_rest_stays_as_it_was_written(texts):
    made = texts("  a nurse  is painting the  wall !\n")
    assert "  it is a nurse who  is painting the  wall !\n" not in made  # where words are moved, one space
    assert "  there is a nurse painting the  wall !\n" in made
    assert all(text.startswith("  ") and text.endswith(" !\n") for text in made)


def test_capitals(texts):
    assert "It is true that Paris is quiet." in texts("Paris is quiet.")
    assert "It is true that the harp is quiet." in texts("THE harp is quiet.")
    assert "It is true that I am quiet." in texts("I am quiet.")
    assert "it is true that the harp is quiet" in texts("the harp is quiet")
    assert "Harps are being played by 3 nurses." in texts("3 nurses are playing harps.")


def test_two_rules_together(rewrite):
    made = rewrite("The nurse is painting a couch.")
    assert Rewrite("A sofa is being painted by the nurse.", "synonym+passive") in made
    assert Rewrite("The nurse is currently painting a sofa.", "synonym+currently") in made
    assert not any("who is blind who" in m.text for m in rewrite("A blind nurse is ill."))


def test_natural_constructions_come_before_frames(rewrite):
    tags = [made.tag for made in rewrite("The harp was old.")]
    assert tags.index("frame") > tags.index("cleft_subject")


def test_synonyms_of_words_with_one_sense(monkeypatch, rewrite):
    senses = {"backpack": 1, "rucksack": 1, "haversack": 1, "bag": 9}
    monkeypatch.setattr(word_rules, "synset_count", lambda lemma, pos: senses.get(lemma, 0))
    monkeypatch.setattr(
        word_rules, "synonyms", lambda lemma, pos: ["rucksack", "bag"] if lemma == "backpack" else []
    )
    word_rules._unambiguous.cache_clear()
    try:
        made = rewrite("The nurse has two backpacks.")
    finally:
        word_rules._unambiguous.cache_clear()
    assert Rewrite("The nurse has two rucksacks.", "one_sense") in made
    assert not any("bags" in m.text for m in made)


def test_without_wordnet_the_curated_list_is_used(monkeypatch, rewrite):
    monkeypatch.setattr(lexicon, "wordnet_folder", lambda: None)
    word_rules._unambiguous.cache_clear()
    try:
        tags = {made.tag for made in rewrite("The nurse has a backpack on the couch.")}
    finally:
        word_rules._unambiguous.cache_clear()
    assert "synonym" in tags
    assert "one_sense" not in tags


def test_curated_list():
    curated = word_rules.curated()
    assert curated["noun"]["couch"] == ("sofa",)
    assert curated["noun"]["sofa"] == ("couch",)
    assert "physician" not in curated["noun"].get("doctor", ())
    assert all(word not in others for entries in curated.values() for word, others in entries.items())


@pytest.mark.parametrize(("word", "article"), [("apple", "an"), ("hour", "an"), ("uniform", "a"), ("one", "a")])
def test_articles(word, article):
    assert article_for(word) == article


@given(st.lists(st.integers(0, 6) | st.just("new"), max_size=8), st.integers(0, 6), st.integers(1, 3))
def test_an_edit_applies_only_to_an_unbroken_run(pieces, start, length):
    run = list(range(start, start + length))
    made = applied(pieces, Edit("t", "word", start, start + length, ["x"]))
    unbroken = any(pieces[at : at + length] == run for at in range(len(pieces)))
    assert (made is not None) == unbroken
    assert made is None or (len(made) == len(pieces) - length + 1 and "x" in made)


SUBJECTS = ("A nurse", "The nurses", "Two old horses", "Nobody", "A boy and a girl", "She", "Every nurse", "Snow")
VERBS = ("is singing", "are eating soup", "was ill", "gives the girl a harp", "has not slept", "can read", "sits")
PLACES = ("", " in the park", " next to a wall", " outside", " at night", " without a hat", " of stone")
ENDS = (".", "", "!", " .")


@settings(max_examples=150, deadline=None)
@given(*map(st.sampled_from, (SUBJECTS, VERBS, PLACES, ENDS)))
def test_outputs_are_distinct_and_other_than_the_original(subject, verb, place, end):
    original = subject + verb.join((" ", "")) + place + end
    (made,) = rules()([original])
    if isinstance(made, Refused):
        return
    texts = [m.text for m in made]
    assert len({original, *texts}) == len(texts) + 1 <= MOST + 1
    assert all(text.endswith(end) and not re.search(r"\s{2}|\s,", text) for text in texts)
    assert list(rules()([original])) == [made]


# --- on real data -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hypotheses(data: Path) -> list[str]:
    rows = read_rows(data / "becel/snli/validation.tsv.gz")
    return list(dict.fromkeys(row.text("hypothesis") for row in rows))[:2000]


def test_two_thousand_real_sentences(hypotheses):
    covered = 0
    for original, made in zip(hypotheses, rules()(hypotheses), strict=True):
        if isinstance(made, Refused):
            continue
        covered += len(made) >= 5
        texts = [m.text for m in made]
        assert len({original, *texts}) == len(texts) + 1
        for text in texts:
            assert _final_marks(text) == _final_marks(original)
            assert "  " not in text or "  " in original, (original, text)
            assert text.strip()[0].isupper() == original.strip()[0].isupper() or not original.strip()[0].isalpha()
            assert _capitals(text.split(maxsplit=1)[1]) <= _capitals(original), (original, text)
    assert covered > 0.8 * len(hypotheses)


def _final_marks(text: str) -> str:
    """ "Stop it. " -> ". "."""
    return re.sub(r".*[\w)\"'’]", "", text, flags=re.DOTALL)


def _capitals(text: str) -> set[str]:
    return {word for word in re.findall(r"[A-Za-z]+", text) if word[0].isupper()} - {"TV"}
