r"""The same mathematical answer, however it is written: "\frac{1}{2}", "0.5" and "50 %" agree.

Plain numbers are compared as in `numeric`. Other expressions go to a process of their own (math_worker), which
math-verify may keep busy for as long as a text makes it: it is ended after SECONDS for a pair, and nothing is said
of that pair. Its own time limits work by signals, which a run uses itself; they are off.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction

from unwaver.agree import Agreement, Pair
from unwaver.errors import missing_extra
from unwaver.text.amounts import Amount, amount_of, same_amount
from unwaver.text.expressions import Expression, expression_of

SECONDS = 10.0  # for one pair
START = 60.0  # for the first, which imports the library


def math() -> Agreement:
    """1 if both texts give equal expressions, None if one cannot be read for certain."""
    worker = _Worker()

    def compare(pairs: Sequence[Pair]) -> list[float | None]:
        texts = dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b))
        amounts = {text: amount_of(text) for text in texts}
        found = {text: expression_of(text) for text in texts}
        try:
            told = [_told(amounts[p.a], amounts[p.b], found[p.a], found[p.b], worker) for p in pairs]
        finally:
            worker.close()
        return [None if value is None else float(value) for value in told]

    return Agreement("math", True, "high", same=1.0, threshold=0.5, compare=compare, compares_identical=True)


def _told(
    one: Amount | None, other: Amount | None, a: Expression | None, b: Expression | None, worker: _Worker
) -> bool | None:
    if one is not None and other is not None:
        return same_amount(one, other)
    a, b = a if one is None else _written(one), b if other is None else _written(other)
    if a is None or b is None or (a.unit and a.unit.dimension) != (b.unit and b.unit.dimension):
        return None
    if a.unit != b.unit or _only_case_differs(a.latex, b.latex):
        return None
    if a.latex == b.latex:
        return True
    one_by_one, others = _listed(a.latex), _listed(b.latex)
    if len(one_by_one) == len(others) == 1:
        return worker.equal(a.latex, b.latex)
    if len(one_by_one) != len(others):
        return None
    # a list without brackets is a set to some and a sequence to others: another order is left open
    same = [worker.equal(x, y) for x, y in zip(one_by_one, others, strict=True)]
    return True if all(same) else None


def _only_case_differs(a: str, b: str) -> bool:
    """Whether both have a variable, one of them as a capital: the parser takes x and X for one."""
    one, other = (
        set(re.findall(r"(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])", _NAMES.sub(" ", text))) for text in (a, b)
    )
    return bool({x.swapcase() for x in one} & other)


_NAMES = re.compile(r"\\[a-zA-Z]+")


def _listed(latex: str) -> list[str]:
    """The members of a list without brackets: "1, 2" -> ["1", "2"]; "(1, 2)" -> ["(1, 2)"]."""
    parts, depth = [""], 0
    for mark in latex:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mark, 0)
        if mark in ",;" and not depth:
            parts.append("")
        else:
            parts[-1] += mark
    return [part.strip() for part in parts]


def _written(amount: Amount) -> Expression:
    r"""Amount(1/2) -> "\frac{1}{2}"."""
    value = amount.value / 100 if amount.percent else Fraction(amount.value)
    sign, size = ("-" if value < 0 else ""), abs(value)
    whole = size.denominator == 1
    latex = str(size.numerator) if whole else rf"\frac{{{size.numerator}}}{{{size.denominator}}}"
    return Expression(f"{sign}{latex}" if not amount.name else f"{amount.name}={sign}{latex}", amount.unit)


class _Worker:
    """The process, started when it is first needed and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._known: dict[tuple[str, str], bool | None] = {}

    def equal(self, one: str, other: str) -> bool | None:
        if (one, other) not in self._known:
            self._known[one, other] = self._known[other, one] = self._asked(one, other)
        return self._known[one, other]

    def _asked(self, one: str, other: str) -> bool | None:
        seconds = SECONDS
        if self._process is None:
            self._start()
            seconds = START
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([one, other]) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except (OSError, queue.Empty):
            self.close()
            return None
        if not line:  # it ended: out of memory
            self.close()
            return None
        told = json.loads(line)
        return told if isinstance(told, bool) else None

    def _start(self) -> None:
        if importlib.util.find_spec("math_verify") is None:
            raise missing_extra("math-verify", "math")
        command = [sys.executable, "-P", "-m", "unwaver.agree.math_worker"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._lines = queue.Queue()
        threading.Thread(target=_passed_on, args=(self._process, self._lines), daemon=True).start()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _passed_on(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(ValueError):  # closed in the middle
        for line in process.stdout:
            lines.put(line)
    lines.put("")
