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
