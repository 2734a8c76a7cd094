"""A process that says of pairs of LaTeX expressions whether they are equal: one JSON line in, one out.

    [r"\\frac{1}{2}", "0.5"] -> true         ["x", "y"] -> false         ["(", "5"] -> null: it cannot be read

math-verify parses and compares; texts reach only its LaTeX grammar, which evaluates no code. It is lenient where
graders want that (rounding, sets for intervals, equations without solutions). So what it calls equal must also be
equal by a check of our own, which evaluates both sides. If the two checks differ, the answer is null.
unwaver.agree.mathematics starts this process, limits its time and ends it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from typing import Any

MEMORY = 2 << 30  # bytes of address space
_POINTS = ((3, 7), (-5, 3), (11, 13), (-2, 9), (17, 4))  # rational values of a variable
_DIGITS = 60


def main() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.disable(logging.CRITICAL)  # it warns that we limit the time ourselves
    for line in sys.stdin:
        try:
            one, other = json.loads(line)
            told = equal(one, other)
        except Exception:  # whatever a text does to a parser, it is not read
            told = None
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def equal(one: str, other: str) -> bool | None:
    from math_verify import verify

    a, b = parsed(one), parsed(other)
    if a is None or b is None:
        return None
    options: dict[str, Any] = {"float_rounding": _DIGITS, "timeout_seconds": None}
    library = verify([a], [b], **options) or verify([b], [a], **options)
    own = _same(a, b, shape(one) == shape(other))
    if own is None or library != own:
        return None if library or own else False
    return own


def parsed(latex: str) -> Any:
    """The expression, with decimals as the fractions that they are; None if it cannot be read."""
    from latex2sympy2_extended.latex2sympy2 import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse
    from sympy import Float, Rational

    normal = NormalizationConfig(basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none")
    how = LatexExtractionConfig(normalization_config=normal)
    found = parse(f"${latex}$", [how], fallback_mode="no_fallback", parsing_timeout=None)
    if len(found) != 1 or isinstance(found[0], str):
        return None
    value = found[0]
    floats = value.atoms(Float) if hasattr(value, "atoms") else ()
    return value.xreplace({number: Rational(str(number)) for number in floats})


def shape(latex: str) -> str:
    """The brackets around what commas part, to tell [1, 2], (1, 2) and {1, 2} apart: "[,]"."""
    if "," not in latex and ";" not in latex:
        return ""
    return "".join(re.findall(r"\\[{}]|[\[\](),;]|\\cup", latex))


def _same(a: Any, b: Any, same_shape: bool) -> bool | None:
    """Whether both are equal, by evaluation; None where there is no rule for what they are."""
    from sympy import Expr, Set, Tuple
    from sympy.core.relational import Relational

    a, b = _right_side(a, b), _right_side(b, a)
    if isinstance(a, Relational) and isinstance(b, Relational):
        return _same_relation(a, b)
    if isinstance(a, Expr) and isinstance(b, Expr):
        return _is_zero(a - b)
    if isinstance(a, (Set, Tuple)) and isinstance(b, (Set, Tuple)):
        return _same_collection(a, b, same_shape)
    if isinstance(a, Relational) and isinstance(b, Set):
        return _same_set(a.as_set(), b)
    if isinstance(a, Set) and isinstance(b, Relational):
        return _same_set(a, b.as_set())
    return None


def _right_side(a: Any, b: Any) -> Any:
    """Of "x = 5" beside "5" what x is."""
    from sympy import Eq, Expr

    alone = isinstance(a, Eq) and isinstance(b, Expr) and a.lhs.is_Symbol and a.lhs not in a.rhs.free_symbols
    return a.rhs if alone else a


def _same_relation(a: Any, b: Any) -> bool | None:
    """Both sides apart by the same factor: 2x = 10 and x = 5."""
    from sympy import Eq, simplify

    if a.free_symbols != b.free_symbols or not a.free_symbols:
        return None
    one, other = a.lhs - a.rhs, b.lhs - b.rhs
    factor = simplify(one / other)
    if not factor.is_number or not factor.is_finite or factor == 0:
        return False
    if isinstance(a, Eq) or isinstance(b, Eq):
        return type(a) is type(b)
    return type(a) is (type(b) if factor > 0 else type(b.reversed))


def _same_collection(a: Any, b: Any, same_shape: bool) -> bool | None:
    from sympy import FiniteSet, Interval, Tuple

    if not same_shape:
        return None
    if isinstance(a, Interval) and isinstance(b, Interval):
        ends = ((a.start, b.start), (a.end, b.end))
        return all(x == y or bool(_is_zero(x - y)) for x, y in ends) and (a.left_open, a.right_open) == (
            b.left_open,
            b.right_open,
        )
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a) == len(b) and all(_same(x, y, True) for x, y in zip(a, b, strict=True))
    if isinstance(a, FiniteSet) and isinstance(b, FiniteSet):
        return _covers(a, b) and _covers(b, a)
    return _same_set(a, b)


def _covers(a: Any, b: Any) -> bool:
    return all(any(_same(x, y, True) for y in b) for x in a)


def _same_set(a: Any, b: Any) -> bool | None:
    found = a.symmetric_difference(b).is_empty
    return None if found is None else bool(found)


def _is_zero(difference: Any) -> bool | None:
    """Zero to 60 digits at each point; None where it has no value."""
    from sympy import Rational, oo, zoo

    if difference.has(oo, -oo, zoo):
        return bool(difference == 0)
    symbols = sorted(difference.free_symbols, key=str)
    defined = 0
    for shift in range(len(_POINTS)) if symbols else (0,):
        values = {s: Rational(*_POINTS[(shift + n) % len(_POINTS)]) + n for n, s in enumerate(symbols)}
        value = difference.subs(values).doit().evalf(_DIGITS, chop=False)
        if value.has(zoo, oo) or not value.is_number or value.is_finite is False:
            continue
        defined += 1
        if abs(value) > Rational(1, 10 ** (_DIGITS - 20)):
            return False
    return True if defined >= min(3, len(_POINTS) if symbols else 1) or (defined and not symbols) else None


if __name__ == "__main__":
    main()
