"""Probabilities of labels from a chat: those of the first token of an answer (`top_logprobs`).

    "Is snow cold? Answer with Yes or No."  ->  Yes 0.62, yes 0.08, No 0.21, The 0.05, …  ->  Yes 0.70, No 0.21

Tokens that differ only in case or in a space before them are added up. A label that is not among the most likely
tokens gets an upper bound: the least of their probabilities, or what they leave of 1 if that is less. Labels that
a tokeniser may split, or that begin alike, are asked for as letters, with a list of options at the end of the
prompt.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from unwaver.models.openai_replies import Fault, NoScores, chat_answer, first_choice, log_probability
from unwaver.state import is_cut, is_refused
from unwaver.types import Answer, Beside, Request, replace

TOP = 20  # tokens: the most that OpenAI gives
FEW = 5  # what other services give
LEAST = 1e-12  # a probability that is not known to be 0
PREFIX = 2  # characters of a word by which it is known if the server splits it
# one token, or known by the first one, in the vocabularies of today's models
WHOLE = {
    "yes", "no", "true", "false", "neither", "maybe", "positive", "negative", "neutral", "good", "bad", "right",
    "wrong", "correct", "same", "different", "first", "second",
}  # fmt: skip
_CUE = re.compile(r"[^\n]{0,40}[:\uff1a][ \t]*")
_THOUGHT = re.compile(r"\s*(?:<\|?/?(?:think|thought|reason|channel|start_of_thought)|\[think)", re.IGNORECASE)
_SPECIAL = re.compile(r"<.*>|\[.*\]|\s*|.*\ufffd.*", re.DOTALL)  # tokens that need not be seen in a text
_SPACES = "\u2581\u0120\u010a"  # before a token, as tokenisers write a space or a line break


@dataclass(frozen=True)
class Marks:
    """What the first token of an answer is compared with, in the order of the choices."""

    words: tuple[str, ...]
    letters: Mapping[str, str]  # letter -> label; none where labels are asked for by their words


def marks_of(request: Request) -> Marks:
    """("Yes", "No") -> themselves; ("entailment", "neutral") -> A and B."""
    words = tuple(map(_plain, request.words or request.choices))
    if len(set(words)) == len(words) and all(len(word) == 1 or word in WHOLE for word in words):
        return Marks(words, {})
    if len(words) > len(ascii_uppercase):
        said = f"{len(words)} labels that may begin with the same token: there are letters for 26"
        raise NoScores(said, hint="use method=generate", setup=True)
    letters = ascii_uppercase[: len(words)]
    return Marks(tuple(map(_plain, letters)), dict(zip(letters, request.choices, strict=True)))


def asked(request: Request, marks: Marks) -> Request:
    """The request as it is put: with a list of options if labels are asked for as letters."""
    if not marks.letters:
        return request
    words, letters = request.words or request.choices, tuple(marks.letters)
    last = max((n for n, message in enumerate(request.messages) if message.role == "user"), default=None)
    if last is None:
        return replace(request, prompt=with_options(request.prompt, words, letters))
    told = replace(request.messages[last], text=with_options(request.messages[last].text, words, letters))
    return replace(request, messages=(*request.messages[:last], told, *request.messages[last + 1 :]))


def with_options(prompt: str, words: Sequence[str], letters: Sequence[str]) -> str:
    """The prompt with options before its last line, if that is one like "Answer:", and letters in place of the
    words that answer solved examples."""
    *lines, cue = prompt.rstrip().split("\n")
    if not _CUE.fullmatch(cue):
        lines, cue = [*lines, cue], "Answer:"
    letter = dict(zip(words, letters, strict=True))
    solved = re.compile(rf"({re.escape(cue.rstrip())} )({'|'.join(map(re.escape, words))})")
    lines = [f"{m[1]}{letter[m[2]]}" if (m := solved.fullmatch(line)) else line for line in lines]
    options = [f"{letter}. {word}" for letter, word in zip(letters, words, strict=True)]
    return "\n".join([*lines, *options, "Answer with the letter of the right option.", cue])


def first_token(reply: Mapping[str, Any], request: Request, marks: Marks) -> Answer:
    """The log-probabilities of the choices in a reply with `top_logprobs`. NoScores: the reply has none, or they
    are those of a thought."""
    answer = chat_answer(reply)
    beside = answer.beside or Beside()
    if is_refused(answer.finish) or beside.refusal.strip():
        return answer
    if beside.reasoning or beside.reasoning_tokens:
        raise thinks()
    given = first_choice(reply).get("logprobs")
    content = given.get("content") if isinstance(given, dict) else None
    if not isinstance(content, list):
        raise NoScores("the server answered without top_logprobs", hint="use method=generate", setup=True)
    if not content:
        return answer  # it ended at once: empty
    token, found = _likely(content[0])
    if _THOUGHT.match(token) or _is_hidden(token, answer):
        raise thinks()
    return _scored(answer, request, marks, token, found)


def _is_hidden(token: str, answer: Answer) -> bool:
    """Whether the first token is not the beginning of the text: some services keep thoughts back."""
    text = (answer.text or "").strip()
    if _SPECIAL.fullmatch(token) or (not text and not is_cut(answer.finish)):
        return False
    return not text.startswith(token.lstrip(_SPACES).strip())


def thinks() -> NoScores:
    said = "the model thinks before it answers: the first token is one of its thoughts"
    return NoScores(said, hint="use method=generate", setup=True)


def _likely(first: object) -> tuple[str, list[tuple[str, float]]]:
    """The token that was written, and the most likely ones with their probabilities, each once."""
    entry = first if isinstance(first, dict) else {}
    top = entry.get("top_logprobs")
    if not isinstance(top, list) or not top or not isinstance(entry.get("token"), str):
        raise NoScores("the server answered without top_logprobs", hint="use method=generate", setup=True)
    found: dict[str, float] = {}
    for each in [*top, entry]:
        token = each.get("token") if isinstance(each, dict) else None
        if not isinstance(token, str):
            raise Fault("the server answered top_logprobs without tokens", passing=True)
        # bytes of one character may have the same text: each of them counts
        key = f"{token}\0{each.get('bytes')}"
        found[key] = math.exp(log_probability(each.get("logprob")))
    return entry["token"], [(key.split("\0")[0], p) for key, p in found.items()]


def _scored(
    answer: Answer, request: Request, marks: Marks, token: str, found: Sequence[tuple[str, float]]
) -> Answer:
    plain = [(_plain(text), p) for text, p in found]
    masses = [_mass(word, marks.words, plain) for word in marks.words]
    rest = max(0.0, 1.0 - math.fsum(p for _, p in found))
    bound = max(min(rest, min(p for _, p in found)), LEAST)
    known = math.fsum(mass for mass in masses if mass is not None)
    outside = [label for label, mass in zip(request.choices, masses, strict=True) if mass is None]
    scoring = {"top": len(found), "other": round(max(0.0, 1.0 - known), 6), "token": token}
    scoring |= {"outside": outside} if outside else {}
    scoring |= {"letters": dict(marks.letters)} if marks.letters else {}
    beside = replace(answer.beside or Beside(), scoring=json.dumps(scoring))
    if len(outside) == len(masses):  # nothing is known of any label: what was written is shown as unreadable
        return Answer(text=token, usage=answer.usage, beside=beside)
    logs = tuple(math.log(max(bound if mass is None else min(mass, 1.0), LEAST)) for mass in masses)
    return Answer(logprobs=logs, tokens=(1,) * len(logs), usage=answer.usage, beside=beside)


def _mass(word: str, words: Sequence[str], found: Sequence[tuple[str, float]]) -> float | None:
    """The probability of a word; if no token is the word, of those that can only be its beginning."""
    whole = [p for text, p in found if text == word]
    if whole:
        return math.fsum(whole)
    others = [other for other in words if other != word]
    begins = {text for text, _ in found if len(text) >= PREFIX and word.startswith(text)}
    parts = [p for text, p in found if text in begins and not any(other.startswith(text) for other in others)]
    return math.fsum(parts) if parts else None


def _plain(text: str) -> str:
    return text.lstrip(_SPACES).strip().casefold()
