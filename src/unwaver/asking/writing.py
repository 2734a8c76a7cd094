"""What a writer is asked, how long it may write, and what of its reply is the paraphrase.

prompt_for(config, "semantic").fill(text, {"premise": "A man runs."}, "en")  -> the prompt
token_limit("A dog sleeps.")                                                 -> 64
written('{"text": "The dog is asleep."}')                                    -> "The dog is asleep."
why_copy("a dog sleeps!", "A dog sleeps.", [])                               -> "a copy of the original"
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from unwaver.answers.thoughts import without_thought
from unwaver.config import Config
from unwaver.errors import DataError, UsageError, near
from unwaver.tasks import FIELD
from unwaver.text.distance import lexical_distance, words
from unwaver.text.normalise import normalise
from unwaver.types import Group

TEXT, CONTEXT, LANGUAGE = "text", "context", "language"
PLACEHOLDERS = (TEXT, CONTEXT, LANGUAGE)
# of Arakelyan et al., for fooling, which repeats their protocol
PUBLISHED = "Rephrase the following sentence while preserving its original meaning: {text}"
PROMPT = (
    "Rephrase the following text in other words, in its own language and with its line breaks, while preserving "
    "its original meaning. Reply with nothing but the rephrased text: {text}"
)
WITH_CONTEXT = "The context of a text, which helps to understand it and stays as it is:\n{context}\n\n"
# the temperature of Arakelyan et al.; max_tokens is for models that do not look at the limit of a request
SETTINGS: Mapping[str, object] = {"temperature": 0.6, "max_tokens": 256}
FLOOR, SERVER_FLOOR, CEILING = 64, 2048, 8192  # tokens; a model on a server may think before it writes
NEAR = 0.05  # lexical distance below which a text is a near-copy
MOST_PAIRS = 250_000  # of words: for longer texts, words are counted rather than matched
# structured output, for services that have it
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {TEXT: {"type": "string", "description": "the rephrased text"}},
        "required": [TEXT],
        "additionalProperties": False,
    }
)
_LANGUAGES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


# --- what it is asked -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WriterPrompt:
    """A prompt for writers; `name` and version (or hash) are part of the key of what is written."""

    name: str
    prompt: str
    file: str | None = None

    def fill(self, text: str, context: Mapping[str, str], lang: str) -> str:
        """The prompt of one text; values are never read as templates."""
        shown = "\n".join(f"{name}: {value}" for name, value in context.items())
        values = {TEXT: text, CONTEXT: shown, LANGUAGE: _LANGUAGES.get(lang.lower(), lang)}
        before = WITH_CONTEXT if context and self.file is None and self.prompt == PROMPT else ""
        return FIELD.sub(lambda found: values[found[1]], before + self.prompt)

    def record(self) -> dict[str, Any]:
        """What run.json says of it."""
        return {"template": self.name, "prompt": self.prompt, "file": self.file}


def prompt_for(config: Config, kind: str) -> WriterPrompt:
    """The user's own, else the published one for fooling, else ours."""
    if config.writer_prompt is not None:
        return read_prompt(config.writer_prompt)
    return WriterPrompt("paraphrase@1", PUBLISHED) if kind == "fooling" else WriterPrompt("paraphrase@2", PROMPT)


def read_prompt(place: str) -> WriterPrompt:
    """A prompt in a file: any text with {text} in it, and perhaps {context} and {language}."""
    path = Path(place).expanduser()
    try:
        prompt = path.read_text(encoding="utf-8-sig").rstrip("\n")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise DataError(
            f"the prompt of the writer cannot be read: {why}", file=place, hint="check --writer-prompt"
        ) from None
    found = FIELD.findall(prompt)
    if unknown := [name for name in found if name not in PLACEHOLDERS]:
        raise UsageError(
            f"--writer-prompt has {{{unknown[0]}}}, expected {{text}}, {{context}} or {{language}}",
            file=place,
            hint=near(unknown[0], PLACEHOLDERS),
        )
    if TEXT not in found:
        raise UsageError(
            "--writer-prompt has no {text}: the writer would not see what to rephrase",
            file=place,
            hint="write, for example: Say this in other words, in {language}: {text}",
        )
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:12]
    return WriterPrompt(f"{path.stem}@{digest}", prompt, place)


def check_prompt(config: Config, writes: bool) -> None:
    """Refuse a prompt that nobody would read, or that cannot be used, before anything is asked."""
    if config.writer_prompt is None:
        return
    if not writes:
        raise UsageError(
            "--writer-prompt is for a model that writes, and none does here",
            hint="add --writer openai/NAME or hf/PATH, or leave --writer-prompt out",
        )
    read_prompt(config.writer_prompt)


def recorded(config: Config, groups: Iterable[Group]) -> dict[str, Any]:
    """The prompts that a writer is asked with, as run.json has them."""
    kinds = dict.fromkeys(group.kind for group in groups if len(group.items) == 1)
    prompts = dict.fromkeys(prompt_for(config, kind) for kind in kinds)
    return {"prompts": [prompt.record() for prompt in prompts]}


def token_limit(text: str, *, server: bool = False) -> int:
    """The most tokens of a paraphrase: twice what the text may have in any script, as a power of two, from FLOOR
    (SERVER_FLOOR on a server) to CEILING. Few different limits keep batches large."""
    tokens = ceil(len(text.encode("utf-8", "replace")) / 3)
    wanted = 1 << (2 * tokens + 16 - 1).bit_length()
    return min(max(wanted, SERVER_FLOOR if server else FLOOR), CEILING)


# --- what it wrote --------------------------------------------------------------------------------------------


def written(reply: str, original: str = "") -> str:
    """The paraphrase in a reply: of a structured one its text, else the reply without what chat models add."""
    said = without_thought(reply)
    text = _unfenced((said or "").strip())
    inside = _structured(text, original)
    return clean(text, original) if inside is None else inside


def _structured(text: str, original: str) -> str | None:
    """'{"text": "A dog."}' -> "A dog."; None if the reply is plain text."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    values = [value for value in found.values() if isinstance(value, str)]
    value = found.get(TEXT, values[0] if len(found) == len(values) == 1 else None)
    return value.strip() if isinstance(value, str) and not original.lstrip().startswith("{") else None


def _unfenced(text: str) -> str:
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    return fenced[1].strip() if fenced else text


_PREFACE = re.compile(
    r"^(?:(?:sure|certainly|of course)[!.,]?\s*\n|"
    r"(?:sure|certainly|of course|here|rephrased|paraphrase)[^:\n]{0,80}:)\s*",
    re.IGNORECASE,
)
_CHAT = re.compile(
    r"^(?:i hope|let me know|feel free|note(?: that)?\b|explanation\b|\(note|is there anything|would you like|"
    r"this (?:version|rephrasing|paraphrase|rewording)\b)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:\d{1,2}[.)]|[-*•])\s+")
_AROUND = {'"': '"', "“": "”", "«": "»", "„": "“", "「": "」", "'": "'", "‘": "’", "**": "**"}


def clean(text: str, original: str = "") -> str:
    """The paraphrase in a chatty reply: 'Sure, here it is:\\n"A dog sleeps."' -> 'A dog sleeps.'

    Line breaks stay. Of a list of alternatives the first counts, unless the original is a list, too.
    """
    text = text.strip()
    while (shorter := _PREFACE.sub("", text)) != text and not _PREFACE.match(original.strip()):
        text = shorter
    text = _without_chat(text, original)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and all(map(_BULLET.match, lines)) and not _BULLET.match(original.strip()):
        text = _BULLET.sub("", lines[0])
    text = _unquoted(text, original)
    return "\n".join(_spaced(line) for line in text.splitlines()).strip()


def _without_chat(text: str, original: str) -> str:
    """Without a last paragraph that speaks to the reader."""
    paragraphs = re.split(r"\n\s*\n", text)
    while len(paragraphs) > 1 and _CHAT.match(paragraphs[-1].strip()) and not _CHAT.search(original.strip()):
        paragraphs.pop()
    return "\n\n".join(paragraphs)


def _unquoted(text: str, original: str) -> str:
    for before, after in _AROUND.items():
        quoted = len(text) >= len(before + after) and text.startswith(before) and text.endswith(after)
        if quoted and not original.strip().startswith(before):
            text = text.removeprefix(before).removesuffix(after).strip()
    return text


def _spaced(line: str) -> str:
    """One space between words; what a line is indented by stays."""
    return line[: len(line) - len(line.lstrip())] + " ".join(line.split())


def why_copy(text: str, original: str, others: Iterable[str]) -> str | None:
    """Why a text says nothing new, None if it does: it equals the original or another candidate without case,
    punctuation and articles, or is lexically too near to it."""
    for other, what in ((original, "the original"), *((other, "another candidate") for other in others)):
        if normalise(text.casefold()) == normalise(other.casefold()):
            return f"a copy of {what}"
        if (found := _distance(text, other)) < NEAR:
            return f"a near-copy of {what}: lexical distance {found:.3f} is below {NEAR:g}"
    return None


def _distance(one: str, other: str) -> float:
    a, b = words(one), words(other)
    if len(a) * len(b) <= MOST_PAIRS:
        return lexical_distance(one, other)
    shared = (Counter(a) & Counter(b)).total()
    return 1 - 2 * shared / (len(a) + len(b))
