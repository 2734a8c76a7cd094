"""Surface changes: what each makes, what it leaves alone, and what it refuses."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwaver.errors import UsageError
from unwaver.tasks import Relation, built_in, plain_task
from unwaver.text.refused import Refused
from unwaver.types import Group, Item
from unwaver.variants import surface
from unwaver.variants.source import Source
from unwaver.variants.surface_english import is_english, spelling
from unwaver.variants.surface_typing import typo_changes, word_test

SNLI = built_in()["snli"]
SST2 = built_in()["sst2"]
WIC = built_in()["wic"]
TEXT_KINDS = ("case", "punctuation", "space", "typo", "contraction", "number", "spelling")
KINDS = (*TEXT_KINDS, "options")


def name_of(kind):
    return kind if kind == "options" else f"surface_{kind}"


def builder(kind, **options):
    return getattr(surface, name_of(kind))(**options)


def source(*texts, task=SST2, label="positive"):
    items = (
        Item(str(n), task.name, "original", {task.modified: t}, task.labels, (label,)) for n, t in enumerate(texts)
    )
    return Source("mine", task, tuple(items))


def changed(kind, text, **options):
    """The variants by tag; {} where the text is refused."""
    (made,) = builder(kind, **options)(source(text))
    if isinstance(made, Refused):
        return {}
    return {tag: i.fields["sentence"] for tag, i in zip(made.tag.split(), made.items[1:], strict=True)}


# --- one kind after another -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "A dog isn't here.",
            {"lower": "a dog isn't here.", "upper": "A DOG ISN'T HERE.", "title": "A Dog Isn't Here."},
        ),
        ("fine", {"upper": "FINE", "title": "Fine"}),
        ("(so) it 'goes'", {"upper": "(SO) IT 'GOES'", "title": "(So) It 'Goes'"}),
        ("Der Spaß", {"lower": "der spaß"}),  # there is no capital ß that comes back
        ("ısı", {}),  # Turkish: I is no capital of i
        ("Όλος", {"lower": "όλος", "upper": "ΌΛΟΣ"}),
        ("고양이가 잔다.", {}),
        ("🐈 123", {}),
    ],
)
def test_case(text, expected):
    assert changed("case", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog.", {"dropped": "A dog", "doubled": "A dog.."}),
        ("a dog . ", {"dropped": "a dog ", "doubled": "a dog . . "}),
        ("Is it?", {"dropped": "Is it", "doubled": "Is it??"}),
        ("Wait...", {}),
        ("He left the U.S.", {"doubled": "He left the U.S.."}),
        ("a dog", {"added": "a dog."}),
        ("is it a dog", {"added": "is it a dog?"}),
        ("猫が寝る", {"added": "猫が寝る。"}),
        ("猫。", {"dropped": "猫", "doubled": "猫。。"}),
        ("고양이가 잔다", {"added": "고양이가 잔다."}),
        ("קול", {}),
        ("so good 🙂", {}),
        ('"It\'s me" he said.', {"dropped": '"It\'s me" he said', "doubled": '"It\'s me" he said..', "curly": "“It’s me” he said."}),
        ("“No” is ‘no’", {"added": "“No” is ‘no’", "straight": "\"No\" is 'no'"}),
        ('a 6" pipe', {"added": 'a 6" pipe.'}),
        ('one " alone', {"added": 'one " alone.'}),
        ("red, white, and blue", {"added": "red, white, and blue.", "comma_dropped": "red, white and blue"}),
        ("in red, white, green and blue", {"added": "in red, white, green and blue.", "comma_added": "in red, white, green, and blue"}),
        ("my brother, a cook, and I", {"added": "my brother, a cook, and I."}),
        ("in the park, men and women", {"added": "in the park, men and women."}),
    ],
)  # fmt: skip
def test_punctuation(text, expected):
    expected = {tag: new for tag, new in expected.items() if new != text}
    assert changed("punctuation", text) == expected


def test_space():
    assert changed("space", "a b c") == {
        "double": "a  b  c",
        "tab": "a\tb\tc",
        "leading": " a b c",
        "newline": "a b c\n",
    }
    assert changed("space", "猫") == {"leading": " 猫", "newline": "猫\n"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He does not run.", {"contracted": "He doesn't run."}),
        ("He doesn't run.", {"expanded": "He does not run."}),
        ("I can't and won't.", {"expanded": "I cannot and will not."}),
        ("We cannot go and will not go.", {"contracted": "We can't go and won't go."}),
        ("Don't go.", {"expanded": "Do not go."}),
        ("Do not go.", {"contracted": "Don't go."}),
        ("Don’t go.", {"expanded": "Do not go."}),
        ("the dog ’s bone is not here", {"contracted": "the dog ’s bone isn’t here"}),
        ("it is n't late", {"expanded": "it is not late"}),
        ("I'm sure they're late.", {"expanded": "I am sure they are late."}),
        ("There is a dog.", {"contracted": "There's a dog."}),
        ("It's raining.", {"expanded": "It is raining."}),
        ("It's not a dog, it's just so late.", {"expanded": "It is not a dog, it is just so late."}),
        ("It's been raining.", {}),  # has, not is
        ("It's just begun, he's not gone.", {}),
        ("The dog's bone.", {}),
        ("Isn't it late?", {}),
        ("It is late, isn't it?", {}),
        ("Why don't the dogs bark", {}),
        ("Doesn't he run fast", {}),
        ("He might have not gone.", {}),
        ("I know where you are.", {}),
        ("The men behind you are running.", {}),
        ("This is a not-so-good day.", {}),
        ("a is not-so-good day", {}),
        ("HE DOES NOT RUN.", {}),
        ("l'ami n'est pas là", {}),
    ],
)
def test_contraction(text, expected):
    assert changed("contraction", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The 7 dogs are here.", {"digits_to_words": "The seven dogs are here."}),
        ("7 of the dogs sleep. They snore.", {"digits_to_words": "Seven of the dogs sleep. They snore."}),
        ("There are 21 dogs and 3 cats.", {"digits_to_words": "There are twenty-one dogs and three cats."}),
        ("Two dogs and twenty-one cats are here.", {"words_to_digits": "2 dogs and 21 cats are here."}),
        ("They paid 1,000 for it.", {"separators_dropped": "They paid 1000 for it."}),
        ("There were 25000 people.", {"separators_added": "There were 25,000 people."}),
        ("The one that got away, no one knows it.", {}),
        ("They met in 1999 and there were 1999 people.", {}),
        ("They met on May 7 and on 7 May.", {}),
        ("They met at 7 pm and at 7:30, it is 7% of 7.5 or $7.", {}),
        ("She is in room 7 on page 12 of Part 3.", {}),
        ("Apollo 11 and the Boeing 747 are here.", {}),
        ("They scored 3 - 2 and 4-1 and A4.", {}),
        ("The two hundred dogs and two and a half cats.", {}),
        ("The Seven Samurai are here, and the two-year-old.", {}),
        ("1. The first point", {}),
        ("is call of duty modern warfare 2 for the people", {}),
        (
            "is it true that they are here for 3 days",
            {"digits_to_words": "is it true that they are here for three days"},
        ),
        ("Die 7 Zwerge sind im Wald", {}),
        ("Les 7 nains sont dans le bois", {}),
        ("7 Zwerge", {}),
        ("개 7 마리", {}),
        ("ten dom jest duży", {}),
        ("٧ dogs are in the park", {}),
    ],
)
def test_number(text, expected):
    assert changed("number", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A gray harbor.", {"british": "A grey harbour."}),
        ("Colour and COLOUR.", {"american": "Color and COLOR."}),
        ("They organize travelers and analysed it.", {"british": "They organise travellers and analysed it.", "american": "They organize travelers and analyzed it."}),
        ("The men at Pearl Harbor.", {}),
        ("did jean grey die", {}),
        ("two analyses of the practice", {}),
        ("le colorant", {}),
    ],
)  # fmt: skip
def test_spelling(text, expected):
    assert changed("spelling", text) == expected


def test_spelling_pairs_are_one_to_one():
    pairs = spelling()
    assert len(pairs) > 800
    assert len(set(pairs.values())) == len(pairs)
    assert not pairs.keys() & set(pairs.values())
    assert all(word.isascii() and word.islower() and word.isalpha() for pair in pairs.items() for word in pair)


def test_typo_is_one_error_in_one_long_word():
    text = "The children never walked 12345 km without their mother, see www.example.com or McDonald's."
    found = changed("typo", text)
    assert set(found) == {"swap", "drop", "double", "neighbour"}
    words = text.split(" ")
    for tag, new in found.items():
        (pair,) = [(a, b) for a, b in zip(words, new.split(" "), strict=True) if a != b]
        before, after = pair
        assert before in ("children", "walked", "their", "mother,")
        assert len(after) - len(before) == {"swap": 0, "neighbour": 0, "drop": -1, "double": 1}[tag]
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert sorted(after) == sorted(before) or tag != "swap"


@pytest.mark.parametrize(
    "text", ["never without seven", "It is so", "고양이가 잔다", "кошка гуляет", "NASA UNESCO", "für"]
)
def test_no_typo_where_none_is_harmless(text):
    assert changed("typo", text) == {}


def test_typo_makes_no_word_of_the_source():
    is_word = word_test(["trail trial", "Walking, waking"])
    assert is_word("trial")
    assert is_word("Waking")
    assert not is_word("wlaking")
    for seed in range(50):
        made = {r.text for r in typo_changes("the trail", is_word, Random(seed))}
        assert "the trial" not in made


GERMAN = (
    "Welche Stadt ist die größte in Österreich?",
    "Wie heißt der höchste Berg in Deutschland?",
    "Warum können Vögel fliegen?",
    "Wer hat die Glühbirne erfunden?",
    "Wann öffnet das Museum am Sonntag?",
    "Wie viele Einwohner hat Zürich ungefähr?",
)
QWERTZ = ("qwertzuiopü", "asdfghjklöä", "yxcvbnm")


def slips(text, lang="en", seeds=40):
    """(tag, word, word with the error) of many seeds; the rest of the text stays."""
    is_word = word_test([text])
    for seed in range(seeds):
        for new in typo_changes(text, is_word, Random(seed), lang):
            pairs = zip(text.split(" "), new.text.split(" "), strict=True)
            ((before, after),) = [pair for pair in pairs if pair[0] != pair[1]]
            yield new.tag, before.rstrip("?."), after.rstrip("?.")


@pytest.mark.parametrize("lang", ["en", "de", "de-AT"])
@pytest.mark.parametrize("text", GERMAN)
def test_german_is_typed_on_a_german_keyboard(text, lang):
    found = list(slips(text, lang))
    assert found
    for tag, before, after in found:
        assert (after[0], after[-1]) == (before[0], before[-1])
        if tag == "neighbour":
            ((old, new),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
            (row,) = [row for row in QWERTZ if old in row]
            assert abs(row.find(new) - row.find(old)) == 1
            assert new in row


def test_words_with_umlauts_may_err_and_lose_their_dots():
    found = {pair for text in GERMAN for pair in slips(text)}
    assert ("no_dots", "höchste", "hochste") in found
    assert any(tag == "swap" and set("äöü") & set(before) for tag, before, _ in found)
    assert any(before == "Glühbirne" for _, before, _ in found), "a noun after its article"
    assert not any(before in ("Österreich", "Deutschland", "Zürich") for _, before, _ in found), "names"


@pytest.mark.parametrize(
    ("word", "other"),
    [("fliegen", "fliehen"), ("könnte", "konnte"), ("würde", "wurde"), ("lösen", "losen"), ("zählen", "zahlen")],
)
def test_no_german_word_becomes_another(word, other):
    assert all(after != other for _, _, after in slips(f"Warum ist {word} so schwer für sie?", "de", seeds=200))


@pytest.mark.parametrize("text", ["nicht ohne sieben", "niemals zwölf außer keinem", "Österreich Zürich"])
def test_german_words_that_stay(text):
    assert not list(slips(text, "de"))


def test_english_is_not_taken_for_german():
    for text in ("The children walked to the über café.", "Die hard fans want the band", "Il est là pour toi"):
        assert all(tag != "no_dots" for tag, _, _ in slips(text))


def test_a_german_question_gets_its_mark():
    assert changed("punctuation", "Wie heißt der höchste Berg")["added"].endswith("Berg?")


def test_seeds_change_typos_and_orders_and_nothing_else():
    items = source(*(f"The children number {n} walked slowly." for n in range(20)))
    for kind in KINDS:
        options = {"seed": 1} if kind in ("typo", "options") else {}
        assert list(builder(kind)(items)) == list(builder(kind)(items))
        same = list(builder(kind, **options)(items)) == list(builder(kind)(items))
        assert same == (kind != "typo")  # two labels have one other order
    three = Source(
        "mine",
        SNLI,
        tuple(Item(str(n), "snli", "original", dict.fromkeys(SNLI.fields, "a b"), SNLI.labels) for n in range(20)),
    )
    assert list(builder("options", seed=1)(three)) != list(builder("options")(three))


# --- what all kinds have in common ------------------------------------------------------------------------------

STRANGE = ["", " ", "\n", "Go!", "hund", "🐈", "🙂 🙂", "猫が寝ている", "고양이가 잔다.", "Кошка спит.", "القط نائم", "a" * 10_000,
           "The children walked 7 miles and did not see the gray harbor. " * 170, "0", "—", "{x} %s \\n", "\u200b", "e\u0301te\u0301"]  # fmt: skip
ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(STRANGE),
    st.lists(
        st.sampled_from(["The", "dog", "isn't", "7", "gray", "here", ".", '"', "two", "is", "not", "ß", "猫"]),
        max_size=9,
    ).map(" ".join),
)


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=5), st.sampled_from(KINDS))
def test_every_item_is_a_group_or_refused_and_only_the_text_changes(texts, kind):
    items = source(*texts)
    made = list(builder(kind)(items))
    assert len(made) == len(texts)
    assert made == list(builder(kind)(items))
    groups = [m for m in made if isinstance(m, Group)]
    assert all(m.reason and m.item for m in made if isinstance(m, Refused))
    ids = [i.id for g in groups for i in g.items]
    assert len(set(ids)) == len(ids)
    for group in groups:
        assert (group.kind, group.expect, group.suite) == (name_of(kind), "same", "mine")
        assert {i.accepted for i in group.items} == {("positive",)}
        assert {tuple(sorted(i.choices)) for i in group.items} == {("negative", "positive")}
        assert [i.role for i in group.items] == ["original", *["variant"] * (len(group.items) - 1)]
        if kind != "options":
            shown = [i.fields["sentence"] for i in group.items]
            assert len(set(shown)) == len(shown) > 1
            assert len(group.tag.split()) == len(shown) - 1


@settings(deadline=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], min_codepoint=0x250)),
    st.sampled_from(["typo", "contraction", "number", "spelling"]),
)
def test_other_scripts_are_left_alone(text, kind):
    assert changed(kind, text) == {}


@settings(deadline=None)
@given(ANY_TEXT)
def test_space_case_and_spelling_keep_the_words(text):
    for new in changed("space", text).values():
        assert new.split() == text.split()
    for new in changed("case", text).values():
        assert new.lower() == text.lower()
    for new in changed("spelling", text).values():
        assert len(new.split()) == len(text.split())


@pytest.mark.parametrize("text", STRANGE)
@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_strange_texts_go_through_or_are_refused(text, kind):
    (made,) = builder(kind)(source(text))
    if not text.strip():
        assert made == Refused("the text is empty", "0")
    elif isinstance(made, Group) and kind == "typo":
        assert all(abs(len(i.fields["sentence"]) - len(text)) <= 1 for i in made.items)


def test_gold_is_not_needed():
    items = Source("mine", SST2, (Item("0", "sst2", "original", {"sentence": "A gray day."}, SST2.labels),))
    for kind in KINDS:
        groups = [m for m in builder(kind)(items) if isinstance(m, Group)]
        assert all(i.accepted == () for g in groups for i in g.items)


def test_rules_of_the_task_hold():
    barred = plain_task("mine", ["text"], ["no", "yes"])
    barred = type(barred)(**{**vars(barred), "invalid": {"surface_case": "case is what it asks"}})
    with pytest.raises(UsageError, match="surface_case does not hold for mine: case is what it asks"):
        list(builder("case")(source("A b", task=barred, label="no")))
    partly = type(barred)(**{**vars(barred), "invalid": {}, "relations": {"surface_case": Relation(("yes",))}})
    (made,) = builder("case")(source("A b", task=partly, label="no"))
    assert made == Refused("surface_case holds only where the label is yes", "0")


def test_only_the_modified_field_changes():
    fields = {"premise": "A Gray Cat sleeps.", "hypothesis": "The gray cat is not awake, the 3 children walked."}
    items = Source("mine", SNLI, (Item("0", "snli", "original", fields, SNLI.labels, ("entailment",)),))
    for kind in KINDS:
        (group,) = builder(kind)(items)
        assert {i.fields["premise"] for i in group.items} == {"A Gray Cat sleeps."}


@pytest.mark.parametrize(
    ("word", "sentence", "kind"),
    [("color", "The color.", "spelling"), ("do", "I do not.", "contraction"), ("cling", "He clung on.", "typo"), ("two", "The two of them are here", "number")],
)  # fmt: skip
def test_a_word_in_context_survives(word, sentence, kind):
    fields = {"word": word, "sentence1": "x", "sentence2": sentence}
    items = Source("mine", WIC, (Item("0", "wic", "original", fields, WIC.labels, ("same",)),))
    (made,) = builder(kind)(items)
    assert isinstance(made, Refused)
    (case,) = builder("case")(items)
    assert isinstance(case, Group)


def test_what_is_english():
    assert is_english("The dog is here")
    assert is_english("a man in a park")
    assert not is_english("7 Zwerge")
    assert not is_english("De man is in een park")
    assert not is_english("")
