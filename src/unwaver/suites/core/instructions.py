"""What stands around questions in each language: requests for the form of the answer, and frames of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

YES_NO = {"en": "Answer with Yes or No.", "de": "Antworte mit Ja oder Nein.", "zh": "请只回答“是”或“否”。"}
LETTER = {
    "en": "Answer with the letter of the right option.",
    "de": "Antworte mit dem Buchstaben der richtigen Antwort.",
    "zh": "请只回答正确选项的字母。",
}
SHORT = {
    "en": "Give the answer only, without an explanation.",
    "de": "Gib nur die Antwort, ohne Erklärung.",
    "zh": "请只给出答案，不要解释。",
}
PREFERENCE = {"en": "Answer with A, B or Tie."}
# spellings of the labels, by language: the first is the one that is asked for
YES_NO_WORDS: Mapping[str, tuple[str, str]] = {
    "en": ("Yes|True|Correct|Right", "No|False|Incorrect|Wrong"),
    "de": ("Ja|Richtig|Stimmt|Wahr|Yes", "Nein|Falsch|Stimmt nicht|No"),
    "zh": ("是|是的|对|对的|正确|没错|Yes", "否|不是|不对|不正确|错|错误|错的|No"),
}
PREFERENCE_WORDS = ("A", "B", "Tie|Equal|Both|Neither|Same")

# a statement to judge: {Q} is the direct question, {S} the statement with a capital, {s} without
FRAMES: Mapping[str, tuple[str, ...]] = {
    "en": (
        "{Q}?",
        "Statement: {S}.\nIs this statement true?",
        "Please tell me whether it is true that {s}.",
        "A student writes: “{S}.” Is the student right?",
        "Someone claims that {s}. Is that correct?",
        "{S} – yes or no?",
    ),
    "de": (
        "{Q}?",
        "Aussage: {S}.\nStimmt diese Aussage?",
        "Bitte sag mir, ob die folgende Aussage stimmt: {S}.",
        "Jemand behauptet: „{S}.“ Ist das richtig?",
    ),
    "zh": (
        "{Q}？",
        "陈述：{S}。\n这个陈述正确吗？",
        "请告诉我下面的说法是否正确：{S}。",
        "有人说：“{S}。”这种说法对吗？",
    ),
}
INVERTED = "Is it right to say that {s}?"
JUDGING = (1, 3, 4)  # the English frames that judge a statement as a whole, which may hold a negation
BOTH = (
    "Statement 1: {S}.\nStatement 2: {T}.\nAre both statements true?",
    "Is it true that {s} and that {t}?",
)


def one_of(words: Sequence[str], lang: str = "en") -> str:
    """one_of(["Positive", "Negative"]) -> "Answer with Positive or Negative."."""
    listed = [word.split("|", 1)[0] for word in words]
    if lang == "zh":
        return f"请只回答“{'”、“'.join(listed[:-1])}”或“{listed[-1]}”。"
    start, join = ("Antworte mit", "oder") if lang == "de" else ("Answer with", "or")
    return f"{start} {', '.join(listed[:-1])} {join} {listed[-1]}."
