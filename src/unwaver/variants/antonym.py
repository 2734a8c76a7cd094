"""Opposites by one word: an adjective or adverb replaced by its antonym.

    antonym()(["An old man is outside."]) ->
        [Rewrite("A young man is outside.", "antonym"), Rewrite("An old man is inside.", "antonym")]

The antonym agrees in form (older -> younger), and so does the article before it. Words whose antonym would not
turn the sentence into its opposite, or not into English, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from unwaver.text.english import Edit, article, cased, check_language, edited, parsed, words
from unwaver.text.refused import Refused
from unwaver.variants.lexicon import Antonyms, Pos, antonyms_of
from unwaver.variants.negate_verbs import end_of, replaced
from unwaver.variants.source import Rewrite, Rewriter

# places are adverbs, prepositions or adjectives to a parser: "outside" is all three
_PLACES = {
    "outside": "inside",
    "inside": "outside",
    "outdoors": "indoors",
    "indoors": "outdoors",
    "outdoor": "indoor",
    "indoor": "outdoor",
    "upstairs": "downstairs",
    "downstairs": "upstairs",
}
_COLOURS = words("black white red blue green yellow orange purple pink brown gray grey tan beige")
# words whose opposite is the same in nearly all uses; of the others in a WordNet only unhappy, careless … are used
_PLAIN = words(
    "young old black white little large small new asleep awake female male tall short big happy empty full good"
    " bad many few long blond blonde brunette hot cold dark wet dry sad tired warm cool open closed bright nice"
    " high low dirty clean fat thin beautiful ugly dead alive dangerous safe public private heavy colorful"
    " colorless deep shallow cloudy strong weak quiet noisy wide narrow poor rich fast slow expensive cheap"
    " rough smooth urban rural round square difficult easy simple complex tight drunk fancy formal curly straight"
    " thick military civilian physical mental temporary permanent right left quickly slowly quietly loudly softly"
    " noisily heavily lightly gently roughly brightly rarely frequently"
)
# words with an antonym in dictionaries that does not fit most of their uses
_SKIPPED = words(
    "not no so too very as then there here just now more most less least only even also well up down in out"
    " on off back away over around about own other such several single multiple present hard much enough local"
    " general main certain various able next first last second still ever never always often yet fine plain"
    " light clear solid natural common top far near close apart forward ahead past like busy fresh flat sharp"
    " live mixed regular original due late early uniform human professional free ready loved shaven all haired"
    " sure fair native national middle surgical loose opposite masculine feminine inner outer relaxing fully"
    " clearly hungry thirsty odd double concrete wild dramatic serious sober south north east west center worn"
    " net sadistic central exact dull future former significant material moderate lean joint standard senior"
    " strange loud awful whole singular plural minimum maximum industrial tough identical front broad stiff"
    " real individual uneven eastern western pro positive wrong mobile personal running half exactly toned"
    " shaved badly poorly commercial medical separate civil prepared potential nuclear possible incredible"
    " sophisticated political competitive clothed absolute relative offensive defensive"
)
# compounds in which the adjective is part of a name for something else
_COMPOUNDS = {
    "hot": words("dog tub air sauce chocolate"),
    "cold": words("cut"),
    "high": words("school heel chair five jump wire"),
    "long": words("jump johns"),
    "short": words("stop"),
    "hard": words("hat"),
    "fast": words("food"),
    "soft": words("drink ball"),
    "black": words("belt board light"),
    "white": words("board water"),
    "wet": words("suit"),
    "dry": words("cleaner ice"),
    "open": words("air"),
    "big": words("top wheel"),
    "little": words("league one"),
    "best": words("man friend"),
    "good": words("luck"),
    "happy": words("birthday hour"),
    "full": words("moon attire gear costume dress"),
    "smart": words("phone"),
    "deep": words("sea"),
    "new": words("year"),
    "right": words("field"),
    "left": words("field"),
    "dark": words("room"),
    "low": words("rider"),
    "sweet": words("potato tooth"),
    "heavy": words("metal machinery"),
    "private": words("property"),
    "public": words("transportation phone restroom"),
    "foreign": words("language"),
    "wide": words("receiver open"),
    "clean": words("shaven"),
}
_NEGATIVE = words("not n't n’t never nobody nothing none neither nor hardly barely cannot")
_LIVING = words(
    "man woman boy girl person people child kid baby toddler lady gentleman guy male female couple dog cat"
    " horse puppy animal player worker student teacher mother father parent grandmother grandfather family"
    " adult teenager teen friend brother sister son daughter husband wife soldier officer musician singer"
    " dancer athlete runner biker cyclist skateboarder skater surfer swimmer performer artist actor doctor"
    " nurse fisherman farmer human individual member men women children crowd group actress bride groom model"
    " driver rider customer he she they it i we you who someone citizen"
)
# words replaced only where they are said of these
_OF_SOME = {
    "little": _LIVING,
    "poor": _LIVING,
    "rich": _LIVING,
    "empty": words("room stadium glass bottle cup bowl plate box bag bin basket bus train pool theater table can"),
    "right": words("hand arm leg foot eye ear side shoulder knee wrist lane corner"),
    "left": words("hand arm leg foot eye ear side shoulder knee wrist lane corner"),
}
_CHILDREN = words("child children kid baby toddler infant")
_PREFERRED = {
    "male": "female",
    "female": "male",
    "large": "small",
    "little": "big",
    "right": "left",
    "left": "right",
    "clean": "dirty",
}
_UNIVERSAL = words("everybody everyone everything all every each any")
_DEGREES = words("wide sound fast half brand")  # wide awake, sound asleep, brand new
# these do not stand before a noun: "a dead fish" has no opposite "an alive fish"
_PREDICATIVE = words("alive asleep awake well aground afloat afraid unafraid alone")
# the opposite depends on what the word is said of: (living beings, anything else)
_BY_NOUN = {"old": ("young", "new"), "short": ("tall", "long")}


def antonym(*, lang: str = "en", antonyms: str | None = None) -> Rewriter:
    """Replaces one word at a time (tag `antonym`); `antonyms` is a table of them, else a WordNet is looked for."""
    check_language(lang, "antonym")
    source = antonyms_of(antonyms)

    def rewriter(texts: Sequence[str]) -> Iterator[list[Rewrite] | Refused]:
        for doc in parsed(texts):
            yield doc if isinstance(doc, Refused) else replaced_words(doc, source, any_word=antonyms is not None)

    return rewriter


def replaced_words(doc: Any, source: Antonyms, any_word: bool = False) -> list[Rewrite] | Refused:
    """The opposites of a parsed sentence, one for each word that has an antonym.

    A table of the user's is trusted with any word; a WordNet, which knows rare senses too, with plain ones.
    """
    if any(t.lower_ in _NEGATIVE or (t.lower_ == "no" and t.head.dep_ != "pobj") for t in doc):
        return Refused("the sentence is negated: an antonym in it gives no opposite")
    texts = [edited(doc.text, edits) for token in doc for edits in _edits(token, source, any_word)]
    made = [Rewrite(text, "antonym") for text in dict.fromkeys(texts) if text != doc.text]
    return made or Refused("no adjective or adverb of the text has a known antonym that fits")


def _edits(token: Any, source: Antonyms, any_word: bool) -> Iterator[list[Edit]]:
    pos = _part_of_speech(token)
    if pos is None or _is_fixed(token):
        return
    if token.lower_ in ("same", "different"):
        yield from _same_or_different(token)
        return
    lemma = _lemma(token)
    for word in _fitting(token, lemma, pos, source(lemma, pos), any_word or lemma in _PLAIN):
        form = _inflected(word, token.tag_)
        first = _more_before(token) or token
        new = (first.idx, end_of(token), cased(form if first == token else _compared(word, first), first.text))
        yield [new, *_article(first, new[2])]


# --- which words --------------------------------------------------------------------------------------------


def _part_of_speech(token: Any) -> Pos | None:
    """a or r for a word that may be replaced, None for any other."""
    word = token.lower_
    if word in _PLACES and token.doc[0].lower_ in (
        "it",
        "its",
    ):  # "It is cold inside" denies nothing about outside
        return None
    if word in _PLACES:
        is_noun = token.i > 0 and token.doc[token.i - 1].lower_ in ("the", "from") and token.dep_ != "amod"
        return None if is_noun else "a" if token.dep_ == "amod" else "r"
    if word in ("male", "female"):
        has_pronoun = any(t.lower_ in ("he", "she", "his", "her", "him", "himself", "herself") for t in token.doc)
        return "a" if token.tag_ in ("NN", "JJ") and not has_pronoun else None
    if _lemma(token) in _SKIPPED or word in _SKIPPED or not token.is_alpha:
        return None
    if token.tag_ in ("JJ", "JJR", "JJS") and token.pos_ == "ADJ":
        is_noun = token.dep_ in ("nsubj", "nsubjpass", "dobj", "pobj") and word not in _COLOURS
        return None if is_noun else "a"
    if token.tag_ in ("RB", "RBR") and token.dep_ == "advmod" and token.head.pos_ in ("VERB", "AUX"):
        return "r" if word.endswith("ly") or word in ("fast", "high", "low", "together") else None
    return None


def _lemma(token: Any) -> str:
    """older -> old; the pipeline takes "better" for a form of "well"."""
    return {"better": "good", "best": "good"}.get(token.lower_, str(token.lemma_).lower())


def _is_fixed(token: Any) -> bool:
    """Whether the word is part of a phrase: hot dog, warm up, wide awake, six feet tall, old and young."""
    doc, i, word = token.doc, token.i, token.lower_
    before = doc[i - 1].lower_ if i else ""
    after = doc[i + 1].lower_ if i + 1 < len(doc) else ""
    if "-" in (before, after) or any(t.dep_ == "npadvmod" or t.lower_ in _DEGREES for t in token.lefts):
        return True
    if before == "as" or (doc[0].lower_ in _UNIVERSAL and token.sent.root != token.head):
        return True
    if (after in ("up", "down", "out", "off", "as", "from") or after.isdecimal()) and word not in _PLACES:
        return True
    if word in ("few", "many") and before in ("a", "as", "how", "so", "the"):
        return True
    if token.pos_ == "ADJ" and (token.dep_ == "conj" or any(t.dep_ == "conj" for t in token.children)):
        return True
    return _belongs_to_noun(token) or (
        bool(after) and doc[i + 1].lemma_.lower() in _COMPOUNDS.get(word, frozenset())
    )


def _belongs_to_noun(token: Any) -> bool:
    """Whether what the word is said of forbids its antonym: "an old child" is not what a young child is not."""
    word, noun = token.lower_, _said_of(token)
    if (word in ("young", "old") and noun in _CHILDREN) or (word == "new" and _is_living(token)):
        return True
    if word in ("empty", "poor", "rich") and token.dep_ != "amod":  # "The tank is empty"
        return False
    return word in _OF_SOME and not (token.dep_ == "amod" and noun in _OF_SOME[word])


def _fitting(token: Any, lemma: str, pos: Pos, senses: Sequence[Sequence[str]], any_stem: bool) -> list[str]:
    """The antonyms of the most frequent sense, at most two, unless what the word is said of asks for others."""
    known = [found for sense in senses if (found := [w for w in sense if _is_word(w, pos)])]
    every = [w for sense in known for w in sense]
    if lemma in _COLOURS:
        best = [w for w in every if w in _COLOURS][:1]
    elif lemma in _BY_NOUN:
        best = [_BY_NOUN[lemma][not _is_living(token)]]
    elif wanted := _PLACES.get(lemma) or _PREFERRED.get(lemma):
        best = [wanted]
    else:
        best = [w for w in every if _same_stem(lemma, w)][:1] or (known[0][:2] if known and any_stem else [])
    # "The white goat meets the black goat" has another opposite than two black goats
    present = {t.lemma_.lower() for t in token.doc}
    unfit = present | (_PREDICATIVE if token.dep_ == "amod" else frozenset())
    return [w for w in best if w in every and w not in unfit]


def _same_stem(a: str, b: str) -> bool:
    """happy and unhappy, careful and careless: opposites in every sense."""
    if any(b == prefix + a or a == prefix + b for prefix in ("un", "in", "im", "ir", "dis")):
        return True
    return a.removesuffix("ful") == b.removesuffix("less") or b.removesuffix("ful") == a.removesuffix("less")


def _is_living(token: Any) -> bool:
    """Whether an adjective is said of people or animals: "An old man", "an old man dance"; not "an old house"."""
    noun = _said_of(token)
    between = {t.lemma_.lower() for t in token.doc[token.i : token.head.i]} if token.dep_ == "amod" else set()
    return noun in _LIVING or bool(between & _LIVING)


def _said_of(token: Any) -> str:
    """The noun that an adjective belongs to: "An old man", "The man looks old" -> man."""
    noun = token.head
    if token.dep_ in ("acomp", "attr", "ROOT"):
        subjects = [t for t in noun.lefts if t.dep_ in ("nsubj", "nsubjpass")]
        noun = subjects[0] if subjects else noun
    return str(noun.lemma_).lower()


@cache
def _is_word(word: str, pos: Pos) -> bool:
    """Whether a dictionary knows one plain word as an adjective or adverb."""
    import lemminflect

    if not word.isalpha() or not word.islower():
        return False
    return word in _PLACES or ("ADJ" if pos == "a" else "ADV") in lemminflect.getAllLemmas(word)


# --- the form -----------------------------------------------------------------------------------------------


def _inflected(word: str, tag: str) -> str:
    """("young", "JJR") -> "younger", ("modern", "JJR") -> "more modern"."""
    if tag not in ("JJR", "JJS", "RBR", "RBS"):
        return word
    return _short_form(word, tag) or f"{'more' if tag.endswith('R') else 'most'} {word}"


@cache
def _short_form(word: str, tag: str) -> str | None:
    """slow -> slower; None for words that take more and most: lemminflect makes "expensiver" of them."""
    irregular = {"good": ("better", "best"), "bad": ("worse", "worst"), "little": ("smaller", "smallest")}
    if word in irregular:
        return irregular[word][tag.endswith("S")]
    import lemminflect

    vowels = sum(1 for i, c in enumerate(word) if c in "aeiouy" and (i == 0 or word[i - 1] not in "aeiouy"))
    silent = word.endswith("e") and not word.endswith("le")
    syllables = vowels - silent
    if syllables > 2 or (syllables == 2 and not word.endswith(("y", "le", "ow", "er"))) or word.endswith("ly"):
        return None
    forms = lemminflect.getInflection(word, tag="JJ" + tag[-1])
    return str(forms[0]) if forms else None


def _more_before(token: Any) -> Any | None:
    """The "more" or "most" of "more modern"."""
    before = token.doc[token.i - 1] if token.i else None
    if before is not None and before.lower_ in ("more", "most") and before.head == token:
        return before
    return None


def _compared(word: str, more: Any) -> str:
    """("old", more) -> "older", ("formal", more) -> "more formal"."""
    return _inflected(word, "JJR" if more.lower_ == "more" else "JJS")


def _article(first: Any, new: str) -> list[Edit]:
    """The edit of "a" or "an" before the word, where it changes."""
    before = first.doc[first.i - 1] if first.i else None
    if before is None or before.lower_ not in ("a", "an") or before.lower_ == article(new):
        return []
    return [replaced(before, cased(article(new), before.text))]


def _same_or_different(token: Any) -> Iterator[list[Edit]]:
    """the same room -> a different room, the same hats -> different hats, a different hat -> the same hat."""
    noun, before = token.head, token.doc[token.i - 1] if token.i else None
    if token.dep_ != "amod" or before is None or any(t.lower_ in ("than", "from", "as") for t in token.doc):
        return
    if token.lower_ == "different" and before.lower_ == "a":
        yield [
            replaced(before, cased("the", before.text)),
            replaced(token, "same"),
        ]
    elif token.lower_ == "same" and before.lower_ == "the":
        new = "different" if noun.tag_ in ("NNS", "NNPS") else "a different"
        yield [(before.idx, end_of(token), cased(new, before.text))]
