"""Decompression in bounded steps: whoever reads decides, piece by piece, how much is enough.

A few kilobytes of gzip can hold gigabytes. The functions of zlib and gzip that take all at once, and HTTP clients
that decode by themselves, notice it when the memory is gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

STEP = 1 << 16  # the most bytes in one piece
GZIP, ZLIB, BARE = 31, 15, -15  # zlib's names of the formats


def inflated(parts: Iterable[bytes], format: int = GZIP) -> Iterator[bytes]:
    """The decompressed bytes, in pieces of at most STEP; a piece may be empty, so that a reader can look at the
    clock. One gzip member may follow another. Raises zlib.error where it is damaged, EOFError where it is cut."""
    packed, whole = zlib.decompressobj(format), True
    for part in parts:
        while part:
            if packed.eof:
                if format != GZIP or not part.strip(b"\0"):  # padding, or what is none of ours
                    break
                packed = zlib.decompressobj(format)
            piece = packed.decompress(part, STEP)
            part, whole = packed.unused_data if packed.eof else packed.unconsumed_tail, packed.eof
            yield piece
        while not packed.eof and (piece := packed.decompress(b"", STEP)):  # held back by the limit
            whole = packed.eof
            yield piece
    if not whole:
        raise EOFError("the compressed data ends too early")


# --- files --------------------------------------------------------------------------------------------------

MOST_BYTES = 1 << 30  # what a packed file may unpack to
FREE_BYTES, MOST_RATIO = 64 << 20, 150  # above this many bytes, text does not shrink as much as that


class TooMuch(ValueError):
    """A packed file unpacks to more than anybody wants."""


def check_size(size: int, packed: int, most: int | None = None) -> None:
    """Raise where `packed` bytes unpack, or claim to, to too many."""
    limit = MOST_BYTES if most is None else most
    if size > limit:
        raise TooMuch(f"it unpacks to more than {limit / (1 << 30):.3g} GB")
    if size > FREE_BYTES and size > MOST_RATIO * packed:
        raise TooMuch(f"it unpacks to more than {MOST_RATIO} times its size")


def gunzipped(data: bytes) -> bytearray:
    """What a gzip file holds; stops as soon as it is too much, and raises what `inflated` raises."""
    if data[:2] != b"\x1f\x8b":
        raise zlib.error("Not a gzipped file")
    taken = 0

    def parts() -> Iterator[bytes]:  # small ones: what is left of a part is copied for each piece
        nonlocal taken
        for taken in range(STEP, len(data) + STEP, STEP):
            yield data[taken - STEP : taken]

    found = bytearray()
    for piece in inflated(parts()):
        found += piece
        check_size(len(found), min(taken, len(data)))
    return found
