"""What to know of probabilities that come from the first token of a chat (unwaver.models.first_token)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unwaver.text.shown import percent

MOST = 3  # lists of letters that are told


def first_tokens(how: Iterable[str]) -> dict[str, Any]:
    """For run.json: the number of answers, the mean probability of tokens that are no label, the answers with a
    label outside the most likely tokens, with all of them outside, and the letters that stood for labels."""
    found = [record for text in how if (record := _record(text)) is not None]
    letters = [record["letters"] for record in found if isinstance(record.get("letters"), dict)]
    return {
        "answers": len(found),
        "top": max((record["top"] for record in found), default=0),
        "other": sum(record["other"] for record in found) / max(len(found), 1),
        "bounded": sum(bool(record.get("outside")) for record in found),
        "without_labels": sum(record["other"] == 1 for record in found),
        "letters": [dict(pairs) for pairs in dict.fromkeys(tuple(named.items()) for named in letters)],
    }


def _record(text: str) -> dict[str, Any] | None:
    """What one answer says; None for a cell that unwaver did not write."""
    try:
        record = json.loads(text)
        return {**record, "top": int(record["top"]), "other": float(record["other"])}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def letters_of(run: Mapping[str, Any]) -> list[str]:
    """What a list of answers does not tell: which letters stood for which labels."""
    found = [service.get("first_token") or {} for service in run.get("services", ())]
    return [line for one in found if one.get("letters") for line in about(one) if "as letters" in line]


def about(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines below a table."""
    count = f"{found['answers']:,} answers"
    yield (
        f"the probabilities of labels are those of the first token of {count}; on average "
        f"{percent(found['other'])} % lie on other tokens"
    )
    if found["bounded"]:
        yield (
            f"in {found['bounded']:,} of {count} a label is not among the {found['top']:,} most likely tokens: "
            "its probability is an upper bound (--model-arg top_logprobs=N asks for more)"
        )
    if found["letters"]:
        shown = ["; ".join(f"{letter} = {label}" for letter, label in named.items()) for named in found["letters"]]
        more = f", and {len(shown) - MOST:,} more lists" if len(shown) > MOST else ""
        yield f"labels were asked for as letters: {', or '.join(shown[:MOST])}{more}"
