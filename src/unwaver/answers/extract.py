r"""Reading an answer out of what a model wrote, by a short name of how:

    text            the whole text, without white space around it
    first_line      the first line that is not blank; last_line the last one
    letter          the letter of an option: "(b) Rome", "so the answer is B." -> "B"
    number          "The answer is 1,000.0 m." "#### 1000" "\boxed{1000}" -> "1000"; "3/4" -> "0.75"; "5%" -> "5"
    json            the first JSON object, or what a fenced block holds, with sorted keys
    json:a.b.0      a value in it: {"a": {"b": ["yes"]}} -> "yes"
    regex:PATTERN   the last match: its first group, or all of it where there is none

None is unreadable: what is looked for is not there, is empty, or two letters are. A thought (<think>…</think>) is
cut off first; one without an end is unreadable as a whole. Label words are read in unwaver.answers.labels.

    reader("number")("<think>6 or 7?</think>It is 7.") -> "7"
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Context, Decimal
from typing import Any, TypeVar

from unwaver import registry
from unwaver.answers.thoughts import without_thought
from unwaver.bound import takes_value
from unwaver.errors import UsageError, missing_extra, near
from unwaver.text.amounts import is_part
from unwaver.text.marked import after_cue, after_hashes, boxed, plain_latex
from unwaver.text.marked import first_line as first_line_of
from unwaver.text.normalise import is_blank
from unwaver.text.numbers import number_matches, numbers

Reader = Callable[[str], str | None]
Found = TypeVar("Found")

REGEX_CHARACTERS = 20_000  # a regular expression reads the end of longer texts
REGEX_SECONDS = 5.0  # of computing, for one text
JSON_STARTS = 1_000  # braces from which an object is tried: each try may read the rest of the text


def reader(spec: str) -> Reader:
    r"""The function that `spec` names: reader("last_line")("Well.\nParis\n") -> "Paris".

    In the catalog a reader is a function that gives it; one with a parameter gets what follows the colon.
    """
    name, colon, rest = spec.partition(":")
    known = registry.names("readers")
    if name not in known:
        raise _unknown(name, spec, known)
    takes, needs = takes_value(registry.find("readers", name))
    if bool(rest) != bool(colon) or (colon and not takes) or (needs and not rest):
        raise _unknown(name, spec, known)
    read = registry.call("readers", name, Callable, *([rest] if colon else []))
    return _guarded(registry.guarded("readers", name, read, str | None))


def _unknown(name: str, spec: str, known: Mapping[str, str]) -> UsageError:
    written = ", ".join(w for n in known for w in _WRITTEN.get(n, (n,)))
    likely = "a pattern is missing;" if name == "regex" else near(name, known)
    if name in known and not registry.is_built_in("readers", name):
        likely = f"something after {name}: is missing, or must be left out;"
    helps = likely.startswith(("a ", "something ")) or (likely.startswith("did") and ":" not in spec)
    hint = f"{likely} known: {written}" if helps else f"known: {written}"
    return UsageError(f"unknown reader {spec!r}", hint=hint)


_WRITTEN = {"json": ("json", "json:FIELD"), "regex": ("regex:PATTERN",)}


def _guarded(read: Reader) -> Reader:
    """Thoughts cut off before, white space after; nothing left is None."""

    def read_answer(text: str) -> str | None:
        answer = without_thought(text)
        found = None if answer is None else read(answer)
        return None if found is None or is_blank(found) else found.strip()

    return read_answer


def _last(found: Iterable[Found]) -> Found | None:
    last = None
    for last in found:  # noqa: B007 - the last one is what is wanted
        pass
    return last


# --- lines --------------------------------------------------------------------------------------------------


def text() -> Reader:
    return lambda answer: answer


def first_line() -> Reader:
    return first_line_of


def last_line() -> Reader:
    return _last_line


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


# --- letters ------------------------------------------------------------------------------------------------

_LATEX_COMMAND = re.compile(r"\\[a-z]+\s*\{?")
_EDGE = r"[\s*_`\"'“”‘’$]*"  # emphasis and quotes
# A and I are words too: as options they do not stand before a word in small letters, but for a few
_NO_WORD = r"(?!\s+(?!(?:is|or|and|because|since)\b)[a-z])"
_LETTER = rf"(?:[B-HJ-Zb-hj-z]|[AaIi]{_NO_WORD})(?![^\W_])(?!['’]\w)"
_BRACKETED = rf"[(\[]{_EDGE}(?P<{{}}>[A-Za-z]){_EDGE}[)\]]"
_ALONE = re.compile(rf"{_EDGE}(?:{_BRACKETED.format('a')}|(?P<b>[A-Za-z]))[).\]:]?{_EDGE}[.]?{_EDGE}")
_OPTION = r"(?:(?:the|an?)\s+)?(?:correct\s+|right\s+|best\s+)?(?:(?:option|choice|letter|answer)\s+)?"
_AT_CUE = re.compile(
    rf"{_EDGE}(?i:{_OPTION}){_EDGE}(?:{_BRACKETED.format('a')}|(?P<b>{_LETTER})(?=\W|$))",
)
_ANOTHER = re.compile(rf"{_EDGE}(?:or|and|/){_EDGE}(?:{_BRACKETED.format('a')}|{_LETTER}(?=\W|$))")
_LISTED = re.compile(
    rf"{_EDGE}(?:{_BRACKETED.format('a')}(?!\s+(?:is|are|and|or|can|cannot)\b)"
    r"|(?P<b>[A-Za-z])[*_`]*(?:[).:](?=\s|$|[*_`])|\s+[-–—]\s|(?=\n)))"
)
_NAMED = re.compile(rf"\b(?i:option|choice|letter)s?\s+(?:{_BRACKETED.format('a')}|(?P<b>{_LETTER}))")
_MENTIONED = re.compile(rf"{_BRACKETED.format('a')}|(?<![\w'’.-])(?P<b>[B-HJ-Z]|A{_NO_WORD})(?![\w'’]|[.-]\w)")
# before a letter that is ruled out: "not", "can't be", "neither (A) nor", "is never the option"
_RULED_OUT = re.compile(
    r"(?:\b(?:not|never|cannot|neither|nor)|n['’]t)"
    rf"(?:\s+(?:be|is|the|an?|necessarily|really|options?|choices?|letters?|answer))*\s+{_EDGE}$",
    re.IGNORECASE,
)
_NEAR = 60  # characters before a letter in which it is ruled out
# after a letter: "B? No, C.", "B is not right", "(B) can't be"
_TAKEN_BACK = re.compile(
    rf"[)\]]?{_EDGE}(?:\?|\s*(?:(?:is|was|can|could|does)(?:\s+(?:not|never)|n['’]t)|cannot|can['’]t)\b)",
    re.IGNORECASE,
)


def letter() -> Reader:
    return _letter


def _letter(text: str) -> str | None:
    """The first of these that gives one: a box; the first or last line, whole; after "answer is"; the beginning,
    set off; "option B"; the only letter that stands alone, as a capital (but for I) or in brackets."""
    box = boxed(text)
    if box is not None:
        return _found(_ALONE.fullmatch(_LATEX_COMMAND.sub("", box).rstrip("} ")))
    lines = [_found(_ALONE.fullmatch(line.strip())) for line in (first_line_of(text), _last_line(text))]
    if any(lines):
        return _one(letter for letter in lines if letter)
    at_cue = _AT_CUE.match(after_cue(text) or "")
    if at_cue and not _TAKEN_BACK.match(at_cue.string, at_cue.end()):
        return None if _ANOTHER.match(at_cue.string, at_cue.end()) else _found(at_cue)
    listed = _LISTED.match(text)
    if listed and not _TAKEN_BACK.match(text, listed.end()):
        return None if _is_list(text) else _group(listed)
    return _one(_told(_NAMED, text) or _told(_MENTIONED, text))


def _told(pattern: re.Pattern[str], text: str) -> set[str]:
    """The letters that are given, not those that are ruled out or taken back."""
    return {
        _group(match)
        for match in pattern.finditer(text)
        if not _RULED_OUT.search(text, max(0, match.start() - _NEAR), match.start())
        and not _TAKEN_BACK.match(text, match.end())
    }


def _one(letters: Iterable[str]) -> str | None:
    """ "B", "B" -> "B"; "A", "B" -> None."""
    distinct = set(letters)
    return distinct.pop() if len(distinct) == 1 else None


def _found(match: re.Match[str] | None) -> str | None:
    return None if match is None else _group(match)


def _group(match: re.Match[str]) -> str:
    return (match["a"] or match["b"]).upper()


def _is_list(text: str) -> bool:
    r"""Whether the options are given back, each on its line: "A. Rome\nB. Paris"."""
    marked = {_group(match) for line in text.splitlines() if (match := _LISTED.match(line))}
    return len(marked) > 1


# --- numbers ------------------------------------------------------------------------------------------------

_DIGITS = Context(prec=50)
_PLAIN_DIGITS = 30  # beyond, a number is written as 1E+40


def number() -> Reader:
    return _number


def _number(text: str) -> str | None:
    """The number in the last box, after the last ####, after the last "answer is"; else the last of the text."""
    box = boxed(text)
    if box is not None:
        return _first_number(plain_latex(box))
    text = plain_latex(text)
    for part in (after_hashes(text), after_cue(text)):
        if part is not None and any(True for _ in numbers(part)):
            return _first_number(part)
    return _written(text, _last(number_matches(text)))


def _first_number(line: str) -> str | None:
    """ "7, that is 3 + 4" -> 7; but of a sum its result: "3 + 4 = 7" -> 7."""
    before, equals, _ = line.partition("=")
    if equals and sum(1 for _ in numbers(before)) > 1:
        line = line.rpartition("=")[2]
    return _written(line, next(number_matches(line), None))


def _written(text: str, place: re.Match[str] | None) -> str | None:
    r"""None for what is a part of something else: the 2 of "\sqrt{2}", "x^2", "2x" or "2\pi"."""
    if place is None or is_part(text, place.start(), place.end()):
        return None
    last = _last(numbers(place[0]))
    return None if last is None else normal(last.value)


def normal(value: Decimal) -> str | None:
    """One way of writing a number: 1000.0 -> "1000", 1E+3 -> "1000", -0 -> "0"; None if it is not finite."""
    if not value.is_finite():
        return None
    short = value.normalize(_DIGITS)
    if not short:
        return "0"
    return str(short) if abs(short.adjusted()) > _PLAIN_DIGITS else format(short, "f")


# --- JSON ---------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)```", re.DOTALL)
_MISSING = object()


def json_value(path: str = "") -> Reader:
    """The value at the path in the first JSON of the text that has it; names and list places between points."""
    steps = path.split(".") if path else []
    if "" in steps:
        raise UsageError(f"json:{path}: found an empty name", hint="write json:answer or json:result.answer")

    def read(text: str) -> str | None:
        values = (_at(value, steps) for value in json_values(text))
        return next((_as_text(value) for value in values if value is not _MISSING), None)

    return read


def json_values(text: str) -> Iterator[Any]:
    """The whole text, each fenced block, each object in the text: whatever of them is JSON."""
    for whole in (text, *(fence[1] for fence in _FENCE.finditer(text))):
        try:
            yield DECODER.decode(whole.strip())
        except (ValueError, RecursionError):
            continue
    yield from _json_objects(text)


def _json_objects(text: str) -> Iterator[Any]:
    start = text.find("{")
    for _ in range(JSON_STARTS):
        if start < 0:
            return
        end = start + 1
        try:
            value, end = DECODER.raw_decode(text, start)
            yield value
        except json.JSONDecodeError as error:
            if _is_cut_off(error, text):  # the rest is inside the object that was not finished
                return
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)


def _is_cut_off(error: json.JSONDecodeError, text: str) -> bool:
    return error.msg.startswith("Unterminated") or not text[error.pos :].strip()


def _json_float(digits: str) -> float | int:
    """1.0 is 1, so that both are one answer."""
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("no number of JSON that can be kept")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_float=_json_float, parse_constant=_no_constant)


def _at(value: Any, steps: list[str]) -> Any:
    """_at({"a": ["x", "y"]}, ["a", "1"]) -> "y"."""
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _as_text(value: Any) -> str | None:
    """Text as it is, null as None, all else as JSON with sorted keys."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text.encode(errors="replace").decode()  # "\ud800" is half a character, which no file can hold


# --- regular expressions ------------------------------------------------------------------------------------


def regex_match(pattern: str) -> Reader:
    """By the library `regex`: it knows what `re` knows, and can be stopped. A pattern that takes too long is an
    error and not "unreadable", as which answers are readable must not depend on the machine."""
    try:
        import regex  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise missing_extra("regex", "text") from None
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        hint = "write a Python pattern: regex:answer is (\\w+)"
        raise UsageError(f"regex:{pattern}: not a regular expression: {error}", hint=hint) from None

    def read(text: str) -> str | None:
        # the text is not cut, so that ^ keeps meaning its beginning
        start = max(0, len(text) - REGEX_CHARACTERS)
        try:
            last = _last(compiled.finditer(text, start, timeout=REGEX_SECONDS))
        except TimeoutError:
            hint = "repeats inside repeats, like (a+)+, take too long: write the pattern without them"
            message = (
                f"regex:{pattern}: not done after {REGEX_SECONDS:g} s with a text of {len(text):,} characters"
            )
            raise UsageError(message, hint=hint) from None
        if last is None:
            return None
        found: str | None = last[1] if compiled.groups else last[0]
        return found

    return read
