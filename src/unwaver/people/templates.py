"""The file that `unwaver annotate --new KIND` writes: a job with comments."""

from __future__ import annotations

import json

from unwaver.people.job import KINDS, SCALE
from unwaver.people.rules import PRESETS

_HEAD = """\
# {about}
kind = "{kind}"
from = "{source}"
title = ""                  # above every page
instructions = \"\"\"
{instructions}
\"\"\"
raters = {raters}                  # people for each {unit}
# limit = 100               # ask about 100 only, drawn at random
# seed = 0                  # draws them, and the order of each person
# claim_minutes = 30        # minutes without a reply until somebody else gets what a person has taken
# check_every = 10          # one card with a known answer every ten; see [[checks]]
"""
_KEEPS = f"# which variants stay: {', '.join(PRESETS)}"
_OWN = {
    "rate": f"scale = {json.dumps(SCALE)}\n"
    'rule = { semantic = "mean>=4", negational = "mean<=2" }  # which stay, by kind or for all: "mean>=4"\n',
    "write": """\
field = "question"          # the text that is to be paraphrased
least = 3                   # paraphrases of each text
most = 10
""",
    "validate": f'criteria = ["meaning", "label", "grammar"]\nrule = "all-yes"            {_KEEPS}\n',
    "answer": '# rule = "2-of-3"           # export groups whose variants so many people answer right\n',
    "pairs": 'grades = ["yes", "no"]      # or numbers: ["1", "2", "3", "4", "5"]\n',
    "review": f'rule = "majority"           {_KEEPS}\n',
}
_SOURCES = {"pairs": "pairs.csv", "write": "questions.csv"}
_INSTRUCTIONS = {
    "rate": "Read both texts. How similar is what they say? Do not mind the wording.",
    "write": "Say the text in your own words, each time differently. Keep what it means.",
    "validate": "Read the original and the variant. Does the variant keep what is asked for?",
    "answer": "Answer each question by yourself, as you understand it. Some look alike: answer each one anew.",
    "pairs": "Both answers are to the same question. Do they say the same? Do not mind the wording.",
    "review": "Is the variant what it should be?",
}
_CARDS = {
    "rate": 'original = "A man sleeps."\nvariant = "A man is asleep."\nanswer = "5"',
    "write": 'text = "A man sleeps."\nanswer = "Somebody is having a nap."',
    "validate": 'original = "A man sleeps."\nvariant = "No man sleeps."\nanswer = "no"',
    "answer": 'prompt = "Is snow white?"\nchoices = "yes | no"\nanswer = "yes"',
    "pairs": 'question = "Where is Bonn?"\none = "In Germany."\nother = "Germany"\nanswer = "yes"',
    "review": 'original = "A man sleeps."\nvariant = "No man sleeps."\nexpected = "the same"\nanswer = "wrong"',
}
_BECAUSE = {
    "rate": "Both say that a man sleeps.",
    "write": "It says the same in other words.",
    "validate": "It says the opposite.",
    "answer": "Snow is white.",
    "pairs": "Both name the same country.",
    "review": "It says the opposite.",
}
_KNOWN = """
[[practice]]                # shown before the first card, with the answer; as many as you like
{card}
because = "{because}"
"""
_CHECKS = """
[[checks]]                  # between the cards, to see whether somebody reads them; as many as you like
{card}
"""


def template(kind: str) -> str:
    """A whole file, ready to be changed."""
    text = _HEAD.format(
        about=KINDS[kind],
        kind=kind,
        source=_SOURCES.get(kind, "groups.jsonl"),
        instructions=_INSTRUCTIONS[kind],
        raters=1 if kind == "write" else 3,
        unit={"answer": "group", "write": "text"}.get(kind, "card"),
    )
    known = _KNOWN.format(card=_CARDS[kind], because=_BECAUSE[kind])
    # there is no one right paraphrase, so none that could be checked
    checks = "" if kind == "write" else _CHECKS.format(card=_CARDS[kind])
    return text + _OWN[kind] + known + checks
