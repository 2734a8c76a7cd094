"""What a person sent, read as a reply to a card; or why it cannot be one.

    rate, pairs, review   {"value": "4"}; review with a reason
    validate              {"meaning": "yes", "label": "no", "grammar": "yes", "reason": "…"}
    answer                {"value": "entailment"}, in free text {"text": "…"}
    write                 {"texts": ["…", "…", "…"]}
    any                   {"skip": "why"} in its place; "flag" beside it

Nothing that was sent is trusted: unknown fields are left out, texts longer than `LONGEST` are refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unwaver.people.job import YES_NO_UNSURE, Job
from unwaver.people.store import Card
from unwaver.text.distance import jaccard_distance

LONGEST = 10_000  # characters of a text
NEAR, FAR = 0.2, 0.4  # Jaccard distance: below the first a copy, below the second a warning

Form = Mapping[str, Sequence[str]]  # as HTML sends it: several values of one name


class Invalid(Exception):
    """A form that is no reply yet, in words for the person who sent it."""


def read_form(job: Job, card: Card, form: Form) -> dict[str, Any]:
    """The reply; Invalid says what is missing."""
    flag = _text(form, "flag")
    value = {"skip": _text(form, "reason") or "skipped"} if form.get("skip") else _reply(job, card, form)
    return {**value, **({"flag": flag} if flag else {})}


def _reply(job: Job, card: Card, form: Form) -> dict[str, Any]:
    if job.kind == "write":
        return _written(job, str(card.shown["text"]), form)
    if job.kind == "answer":
        return _answered(card.shown.get("choices") or (), form)
    return _validated(job, form) if job.kind == "validate" else _chosen(job, form)


def plain(text: str) -> str:
    """One spelling of each letter and of the ends of lines."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\0", "")


def _text(form: Form, name: str) -> str:
    found = next(iter(form.get(name, ())), "")
    text = plain(found).strip()
    if len(text) > LONGEST:
        raise Invalid(f"This text has {len(text):,} characters; at most {LONGEST:,} can be kept.")
    return text


def _chosen(job: Job, form: Form) -> dict[str, Any]:
    value = _text(form, "value")
    if value not in job.choices:
        raise Invalid("Choose one of the answers.")
    reason = _text(form, "reason") if job.kind == "review" else ""
    return {"value": value, **({"reason": reason} if reason else {})}


def _validated(job: Job, form: Form) -> dict[str, Any]:
    found = {name: _text(form, f"criterion-{n}") for n, name in enumerate(job.criteria)}
    if missing := [name for name, value in found.items() if value not in YES_NO_UNSURE]:
        raise Invalid(f"Choose an answer for: {', '.join(missing)}.")
    reason = _text(form, "reason")
    if not reason and any(value != "yes" for value in found.values()):
        raise Invalid("Say in a few words what is wrong, or why you are not sure.")
    return {"criteria": found, "value": overall(found), **({"reason": reason} if reason else {})}


def overall(criteria: Mapping[str, str]) -> str:
    """All criteria together: {"meaning": "yes", "label": "no"} -> "no"."""
    values = set(criteria.values())
    return "no" if "no" in values else "unsure" if "unsure" in values else "yes"


def _answered(choices: Sequence[str], form: Form) -> dict[str, Any]:
    if choices:
        value = _text(form, "value")
        if value not in choices:
            raise Invalid("Choose one of the answers.")
        return {"value": value}
    text = _text(form, "text")
    if not text:
        raise Invalid("Write an answer, or skip the question.")
    return {"text": text}


def _written(job: Job, original: str, form: Form) -> dict[str, Any]:
    texts = [_text({"text": [each]}, "text") for each in form.get("texts", ())]
    texts = [text for text in texts if text]
    if len(texts) < job.least:
        raise Invalid(f"Write at least {job.least} paraphrases; there {_are(len(texts))}.")
    if len(texts) > job.most:
        raise Invalid(f"Write at most {job.most} paraphrases; there {_are(len(texts))}.")
    if problems := list(copies(plain(original), texts)):
        raise Invalid(" ".join(problems))
    return {"texts": texts}


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def copies(original: str, texts: Sequence[str]) -> Iterator[str]:
    """What is wrong with paraphrases that are too close to the original or to one another."""
    for n, text in enumerate(texts, 1):
        if not any(letter.isalnum() for letter in text):
            yield f"Paraphrase {n} has no words."
        if jaccard_distance(text, original) < NEAR:
            yield f"Paraphrase {n} has nearly the same words as the original."
        for m, other in enumerate(texts[: n - 1], 1):
            if jaccard_distance(text, other) < NEAR:
                yield f"Paraphrase {n} has nearly the same words as paraphrase {m}."


def is_right(card: Card, reply: Mapping[str, Any]) -> bool | None:
    """Whether a card with a known answer was answered so; None for others, and for skipped ones."""
    if card.known is None or "skip" in reply:
        return None
    said = reply.get("value") or reply.get("text") or ""
    return str(said).strip().casefold() == card.known.strip().casefold()
