"""Standard output and error that a verb can always write to.

A reader that goes away (`unwaver gate RUN | head -3`) must change neither what a verb does nor its exit code, and
neither must a terminal that cannot show τ. So both streams are replaced once, before a verb starts:

    the reader is gone              the rest goes nowhere; the verb ends as it would have
    >&- or 2>&-                     the same, and no file of ours gets the number of a standard stream
    an encoding without a character    τ -> tau, – -> -, … -> ..., 你 -> \\u4f60
    stderr cannot be written        the same as a reader that is gone: messages are not worth an exit code

A full disk below stdout stays an error: a file that lacks its end must not look whole.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
from typing import Any, TextIO

from unwaver.secrets import masked

ERRORS = "unwaver-plain"
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.ESHUTDOWN, errno.ENOTCONN, errno.EBADF}
_PLAIN = {
    "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": ".", "→": "->", "←": "<-", "↑": "^", "↓": "v",
    "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "±": "+-", "τ": "tau", "κ": "kappa", "ρ": "rho", "θ": "theta",
    "α": "alpha", "ε": "epsilon", "σ": "sigma", "Δ": "Delta", "‘": "'", "’": "'", "“": '"', "”": '"',
    "\u00a0": " ", "\u202f": " ", "�": "?", "✅": "+", "❌": "x", "❔": "?", "▸": ">",
}  # fmt: skip


def plain(character: str) -> str:
    """What stands for a character that cannot be shown: "τ" -> "tau", the stray byte "\\udce9" -> "\\xe9"."""
    if character in _PLAIN:
        return _PLAIN[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(plain, error.object[error.start : error.end])), error.end


codecs.register_error(ERRORS, _replaced)


class _Descriptor(io.RawIOBase):
    """A file descriptor whose reader may go away. It is never closed: it belongs to the process."""

    def __init__(self, number: int, *, needed: bool):
        self._number, self._needed = number, needed

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return os.isatty(self._number)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        while True:
            try:
                return os.write(self._number, data)
            except BlockingIOError:  # another process made the pipe non-blocking
                select.select([], [self._number], [])
            except OSError as e:
                if self._needed and e.errno not in _GONE and not (e.errno == errno.EIO and self.isatty()):
                    raise
                to_nowhere(self._number)


class _Text(io.TextIOWrapper):
    """No secret gets through, whoever writes."""

    def write(self, text: str, /) -> int:
        super().write(masked(text))
        return len(text)


class _PlainText(_Text):
    """Of a stream in ASCII: click looks for the bytes below one and would write UTF-8 there."""

    buffer = None  # type: ignore[assignment]


def to_nowhere(number: int) -> None:
    """What is written to this descriptor from now on is thrown away."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def guard() -> None:
    """Replace the streams of this process, unless somebody else did (a test that captures them)."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: else the first file that is opened would become standard output
            to_nowhere(number)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout, 1)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr, 2)


def _guarded(stream: TextIO | None, number: int) -> TextIO:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if stream is not None:
        if os.name != "posix" and isinstance(stream, io.TextIOWrapper):  # a console there is no file
            stream.reconfigure(errors=ERRORS)
            return stream
        stream.flush()
    form = _PlainText if codecs.lookup(encoding).name == "ascii" else _Text
    raw = _Descriptor(number, needed=number == 1)
    by_line = number == 2 or raw.isatty() or getattr(stream, "write_through", False)
    return form(io.BufferedWriter(raw), encoding=encoding, errors=ERRORS, line_buffering=by_line)
