"""Arrays from an .npz that anybody may have written: nothing in it is run, and no header is believed.

read_arrays(Path("e.npz"), {"embeddings": (2, NUMBERS)}, hint) -> {"embeddings": …}
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from unwaver.errors import DataError
from unwaver.unpack import TooMuch, check_size

NUMBERS, WHOLE, NAMES = "fiub", "iu", "iubU"
KINDS = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "truths", "U": "texts"}


def read_arrays(path: Path, wanted: Mapping[str, tuple[int, str]], hint: str) -> dict[str, np.ndarray]:
    """The arrays by name, each `wanted` with this many dimensions and values of these kinds of NumPy; numbers
    are finite. What a header says is compared with the size of its file before anything is believed."""
    expected = " and ".join(wanted)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
            check_size(size, size)  # arrays of zeros may shrink to nothing
            return {name: _array(archive, name, *form) for name, form in wanted.items()}
    except (DataError, TooMuch) as e:
        raise DataError(str(e), file=path, hint=hint) from None
    except OSError as e:
        raise DataError(f"cannot be read: {e.strerror or e}", file=path, hint=hint) from None
    except Exception as e:  # whatever a damaged file does to the readers of zip archives and of headers
        reason = str(e).strip().split("\n", 1)[0] or type(e).__name__
        raise DataError(f"arrays cannot be read: {reason}; expected {expected}", file=path, hint=hint) from None


def _array(archive: zipfile.ZipFile, name: str, dimensions: int, kinds: str) -> np.ndarray:
    part = archive.getinfo(f"{name}.npy")
    with archive.open(part) as file:
        shape, in_columns, dtype = _header(file)
        if dtype.kind not in kinds:
            known = " or ".join(dict.fromkeys(KINDS[kind] for kind in kinds))
            raise DataError(f'"{name}": found values of type {dtype}, expected {known}')
        if len(shape) != dimensions:
            raise DataError(f'"{name}": found {len(shape)} dimensions, expected {dimensions}')
        size = math.prod(shape) * dtype.itemsize
        data = file.read(part.file_size + 1)
        if any(n < 0 for n in shape) or len(data) != size:
            raise DataError(f'"{name}": found {len(data):,} bytes, expected {size:,} for the shape {shape}')
    array = np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if in_columns else "C")
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f'"{name}": found a value that is not finite, expected numbers')
    return array


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, Any]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = read(file)
    return tuple(int(n) for n in shape), bool(in_columns), dtype
