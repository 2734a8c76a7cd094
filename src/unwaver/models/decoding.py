"""Ways of choosing the next token, by name: what `--decode` gives to a model that generates.

    greedy            the most likely token                           temperature 0
    nucleus           drawn among the most likely that make up top_p  top_p 0.9, temperature 0.7
    sample            drawn among all                                 temperature 1
    beam              the most likely text of several kept at a time  num_beams 4

"nucleus:top_p=0.95,temperature=0.8" is nucleus with other numbers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

from unwaver import registry
from unwaver.bound import bind
from unwaver.errors import UsageError, near

SHORT, LONG = 16, 64  # tokens: enough to say a label, and for an answer in free text

Options = Mapping[str, object]  # what a model is opened with


def greedy() -> Options:
    return {"temperature": 0.0}


def nucleus(*, top_p: float = 0.9, temperature: float = 0.7) -> Options:
    return {"top_p": top_p, "temperature": temperature}


def sample(*, temperature: float = 1.0) -> Options:
    return {"temperature": temperature}


def beam(*, num_beams: int = 4) -> Options:
    return {"num_beams": num_beams}


ANY = ("no_repeat_ngram", "max_tokens")  # options that go with each of them

_RULES: dict[str, tuple[type[int] | type[float], Callable[[float], bool], str]] = {
    "temperature": (float, lambda x: x > 0, "a number above 0"),
    "top_p": (float, lambda x: 0 < x <= 1, "a number above 0, at most 1"),
    "num_beams": (int, lambda x: x > 1, "a whole number above 1"),
    "no_repeat_ngram": (int, lambda x: x >= 0, "a whole number, 0 for off"),
    "max_tokens": (int, lambda x: x > 0, "a whole number above 0"),
}


def decoding(name: str, options: Options | None = None) -> dict[str, object]:
    """The model options of a decoding; what is given in the name or as options replaces its own numbers.

    "greedy" -> {"temperature": 0.0}; "nucleus:top_p=0.95" -> {"top_p": 0.95, "temperature": 0.7}

    In the catalog a decoding is a function that gives them. Its keyword arguments are its own options.
    """
    kind, _, rest = name.partition(":")
    if kind not in registry.names("decodings"):
        raise UsageError(f"unknown decoding {kind!r}", hint=near(kind, registry.names("decodings")))
    own = _own_options(kind)
    given = {**(_pairs(kind, rest, own) if rest else {}), **(options or {})}
    read = {option: _value(kind, option, value, own) for option, value in given.items()}
    made = registry.call("decodings", kind, Mapping, **{o: v for o, v in read.items() if o in own})
    return {**made, **{option: value for option, value in read.items() if option not in own}}


def _own_options(kind: str) -> dict[str, object]:
    """The options of a decoding with their defaults: nucleus -> {"top_p": 0.9, "temperature": 0.7}."""
    parameters = inspect.signature(registry.find("decodings", kind)).parameters.values()
    return {p.name: None if p.default is p.empty else p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def described(settings: Mapping[str, object]) -> str:
    """How the settings of a model that generates choose tokens; "" for the greedy way without further rules.

    {"temperature": 0.7, "top_p": 0.9, …} -> "nucleus top_p 0.9 temperature 0.7"
    """
    temperature, top_p, beams = (settings.get(k) for k in ("temperature", "top_p", "num_beams"))
    said = "greedy"
    if isinstance(beams, int) and beams > 1:
        said = f"beam num_beams {beams}"
    elif temperature != 0:
        # None leaves it to a server
        heat = "temperature of the server" if temperature is None else f"temperature {temperature:g}"
        nucleus = isinstance(top_p, int | float) and top_p < 1
        said = f"nucleus top_p {top_p:g} {heat}" if nucleus else f"sample {heat}"
    if size := settings.get("no_repeat_ngram"):
        said += f" no_repeat_ngram {size}"
    return "" if said == "greedy" else said


def stop_strings(stop: str | Sequence[str] | None) -> tuple[str, ...]:
    """The strings before which a text ends, sorted. In one text "|" stands between them and \\n for a line break.

    "\\n|Q:" -> ("\n", "Q:"); ["a|b"] -> ("a|b",); None -> ()
    """
    if stop is None:
        return ()
    strings = stop.replace("\\n", "\n").split("|") if isinstance(stop, str) else list(stop)
    if not strings or not all(isinstance(s, str) and s for s in strings):
        raise UsageError(f"stop is {stop!r}: a string in it is empty", hint="stop='\\n|Q:', or leave it out")
    return tuple(sorted(set(strings)))


def before_stop(text: str, stops: Sequence[str]) -> str | None:
    """The text before the first stop string, None if there is none in it: "Yes.\nQ: why", ["\n"] -> "Yes."."""
    places = [place for place in map(text.find, stops) if place >= 0]
    return text[: min(places)] if places else None


def _pairs(kind: str, rest: str, own: Options) -> dict[str, str]:
    """ "top_p=0.95, temperature=0.8" -> {"top_p": "0.95", "temperature": "0.8"}"""
    pairs: dict[str, str] = {}
    for part in rest.split(","):
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not option or not equals or option in pairs:
            why = "is given twice" if option in pairs else "is not of the form option=value"
            raise UsageError(f"decoding {kind}: {part.strip()!r} {why}", hint=f"{kind}:{_example(own)}")
        pairs[option] = value
    return pairs


def _example(own: Options) -> str:
    return ",".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in own.items()) or (
        "no_repeat_ngram=2"
    )


def _value(kind: str, option: str, value: object, own: Options) -> object:
    if option not in (*own, *ANY):
        raise UsageError(f"decoding {kind} has no option {option!r}", hint=near(option, (*own, *ANY)))
    if option not in _RULES:  # a plug-in's own
        found = registry.find("decodings", kind)
        return bind(found, {option: value}, f"decoding {kind}", f"--decode {kind}:")[option]
    kind_of, holds, expected = _RULES[option]
    try:
        number = kind_of(str(value))
    except ValueError:
        number = float("nan")
    if not math.isfinite(number) or not holds(number):
        usual = own.get(option)
        hint = "leave it out" if usual is None else f"leave it out for {kind}:{option}={usual:g}"
        raise UsageError(f"decoding {kind}: {option}={value}, expected {expected}", hint=hint)
    return number


def longest(max_tokens: int | None) -> tuple[int, int]:
    """The most tokens of an answer that holds a label, and of free text: None -> (16, 64), 30 -> (30, 30)."""
    return (SHORT, LONG) if max_tokens is None else (max_tokens, max_tokens)
