"""Units that numbers carry: 5 km, 5,000 m and 5 m are two distances.

A unit is a dimension and a factor: unit_after(" km/h fast") -> (Unit("speed", 5/18), 5).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple


class Unit(NamedTuple):
    dimension: str
    factor: Fraction


def _units(dimension: str, **factors: str) -> dict[str, Unit]:
    """Names with / in them are written with _per_: m_per_s."""
    return {name.replace("_per_", "/"): Unit(dimension, Fraction(f)) for name, f in factors.items()}


_MINUTE, _HOUR, _DAY = "60", "3600", "86400"
_KNOWN: dict[str, Unit] = {
    **_units("length", nm="1/1000000000", µm="1/1000000", mm="1/1000", cm="1/100", dm="1/10", m="1", km="1000"),
    **_units("length", millimeter="1/1000", centimeter="1/100", meter="1", kilometer="1000"),
    **_units("length", millimetre="1/1000", centimetre="1/100", metre="1", kilometre="1000"),
    **_units("length", inch="0.0254", inches="0.0254", feet="0.3048", foot="0.3048", ft="0.3048"),
    **_units("length", yard="0.9144", yd="0.9144", mile="1609.344", mi="1609.344"),
    **_units("mass", mg="1/1000000", g="1/1000", kg="1", t="1000", gram="1/1000", kilogram="1", tonne="1000"),
    **_units("mass", pound="0.45359237", lb="0.45359237", ounce="0.028349523125", oz="0.028349523125"),
    **_units("time", ms="1/1000", s="1", sec="1", second="1", min=_MINUTE, minute=_MINUTE, h=_HOUR, hr=_HOUR),
    **_units("time", hour=_HOUR, day=_DAY, week="604800"),
    **_units("months", month="1", year="12"),
    **_units(
        "volume", ml="1/1000", mL="1/1000", cl="1/100", l="1", L="1", liter="1", litre="1", gallon="3.785411784"
    ),
    **_units("area", cm2="1/10000", m2="1", km2="1000000", hectare="10000", ha="10000", acre="4046.8564224"),
    **_units("cubic", cm3="1/1000000", m3="1", km3="1000000000"),
    **_units("speed", m_per_s="1", km_per_h="5/18", kmh="5/18", mph="0.44704", kph="5/18"),
    **_units("power", W="1", kW="1000", MW="1000000", watt="1", kilowatt="1000"),
    **_units("energy", J="1", kJ="1000", joule="1", kilojoule="1000", kWh="3600000", cal="4.184", kcal="4184"),
    **_units("force", N="1", kN="1000", newton="1"),
    **_units("frequency", Hz="1", kHz="1000", MHz="1000000", GHz="1000000000"),
    **_units("voltage", V="1", kV="1000", mV="1/1000", volt="1"),
    **_units("current", A="1", mA="1/1000", ampere="1", amp="1"),
    **_units("data", bit="1", byte="8", KB="8000", MB="8000000", GB="8000000000", TB="8000000000000"),
    **_units("angle", degree="1", deg="1"),
    **_units("radians", radian="1", rad="1"),
    **_units("Celsius", C="1"),
    **_units("Fahrenheit", F="1"),
    **_units("dollar", dollar="1", USD="1", cent="1/100"),
    **_units("euro", euro="1", EUR="1"),
    **_units("sterling", GBP="1"),
    **_units("yen", yen="1", JPY="1"),
    "°": Unit("angle", Fraction(1)),
    "°C": Unit("Celsius", Fraction(1)),
    "°F": Unit("Fahrenheit", Fraction(1)),
    "K": Unit("kelvin", Fraction(1)),
    "mol": Unit("amount", Fraction(1)),
    "dozen": Unit("", Fraction(12)),
}
SIGNS = {"$": "dollar", "€": "euro", "£": "sterling", "¥": "yen"}
CURRENCIES = frozenset(SIGNS.values())
_RAISED = str.maketrans("²³", "23")
_NAME = re.compile(r"\s?(°\s?[CF]?|[A-Za-zµ]+(?:/[A-Za-z]+)?(?:\^?\{?[23]\}?|[²³])?)(?![\w^/°])")
_POWERED = re.compile(r"(?:(square|sq\.?|cubic|cu\.?)\s+)?", re.IGNORECASE)


def unit_after(text: str, start: int = 0) -> tuple[Unit, int] | None:
    """The unit that a text goes on with, and where it ends; None if what follows is not a unit.

    "square meters" -> area. A word that only begins like a unit is none: "5 mice".
    """
    power = {"s": "2", "c": "3"}.get(text[start:].lstrip()[:1].lower(), "")
    led = re.compile(rf"\s+{_POWERED.pattern}").match(text, start)
    prefixed = bool(led and led[1])
    found = _NAME.match(text, led.end() if led and prefixed else start)
    if found is None:
        return None
    name = re.sub(r"[\s^{}]", "", found[1]).translate(_RAISED)
    unit = _named(name)
    if unit is not None and prefixed:
        unit = _powered(unit, power)
    return None if unit is None else (unit, found.end())


def _named(name: str) -> Unit | None:
    if name in _KNOWN:
        return _KNOWN[name]
    lower = name.lower()
    for word in (lower, lower.removesuffix("s"), lower.removesuffix("es")):
        if len(word) > 2 and word in _KNOWN:
            return _KNOWN[word]
    return None


def _powered(unit: Unit, power: str) -> Unit | None:
    if unit.dimension != "length":
        return None
    return Unit({"2": "area", "3": "cubic"}[power], unit.factor ** int(power))
