"""Headers of safetensors files, read within bounds, and the few small tensors that follow from a configuration.

    file = length of the header (8 bytes, little-endian), header (JSON), data
    header = {name: {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, "__metadata__": {...}}

Of the data nothing is read but rows that are asked for. A file is taken as hostile: the header's length is held against the file's
size and a bound before it is read, each offset against the file before it is followed.
"""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_HEADER = 2**24
MOST_TENSORS = 200_000
LONGEST_ROW = 2**16
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "I8": 1, "BOOL": 1}
Row = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor is.

    Attributes:
        path: the file.
        name: in it.
        dtype: as the format writes it, "BF16" say.
        shape: of it.
        start: of its first byte in the file.
    """

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int


def read_tensors(path: Path) -> list[Tensor]:
    """Read a safetensors file's header.

    Args:
        path: of the file.

    Returns:
        All tensors whose entries are whole.

    Raises:
        ValueError: if it is no such file, is cut short or damaged.
        OSError: if it cannot be read.

    Example:
        >>> import tempfile
        >>> header = b'{"inv_freq": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "model.safetensors")
        ...     size = path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        ...     [(found.name, found.dtype, found.shape) for found in read_tensors(path)]
        [('inv_freq', 'F32', (1,))]
    """
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise ValueError("needed a safetensors file, got a directory, a pipe or a device")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if state.st_size < 8 or length > state.st_size - 8:
            raise ValueError(f"header: needed {length} bytes, the file of {state.st_size} has fewer: it is cut short or damaged")
        if length > LARGEST_HEADER:
            raise ValueError(f"header: needed at most {LARGEST_HEADER} bytes, got {length}")
        text = file.read(length)
    try:
        entries = json.loads(text)
    except RecursionError:
        raise ValueError("header: needed JSON, got one nested too deeply") from None
    except ValueError:
        raise ValueError("header: needed JSON, got something else") from None
    if not isinstance(entries, dict) or len(entries) > MOST_TENSORS:
        raise ValueError(f"header: needed a JSON object of at most {MOST_TENSORS} entries, got something else")
    made = (_tensor(path, name, entry, 8 + length, state.st_size) for name, entry in entries.items() if name != "__metadata__")
    return list(made)


def _tensor(path: Path, name: str, entry: Any, start: int, size: int) -> Tensor:
    said: dict[str, Any] = entry if isinstance(entry, dict) else {}
    shape, offsets = _wholes(said.get("shape")), _wholes(said.get("data_offsets"))
    dtype = said.get("dtype")
    if shape is None or offsets is None or len(offsets) != 2 or not isinstance(dtype, str):
        raise ValueError(f"tensor {name[:60]!r}: needed a dtype, a shape and two offsets, got something else")
    begin, end = offsets
    wanted = math.prod(shape) * WIDTHS[dtype] if dtype in WIDTHS else end - begin
    if not begin <= end <= size - start or end - begin != wanted:
        raise ValueError(f"tensor {name[:60]!r}: needed {wanted} bytes inside the file, got offsets {begin} to {end}")
    return Tensor(path, name, dtype, shape, start + begin)


def _wholes(values: Any) -> tuple[int, ...] | None:
    if not isinstance(values, list) or len(values) > 16:
        return None
    fits = all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 2**62 for each in values)
    return tuple(values) if fits else None


def read_row(found: Tensor, *, row: int = 0, width: int | None = None) -> Row:
    """Read one row of numbers.

    Args:
        found: a floating tensor.
        row: which.
        width: numbers a row has; the last dimension if None.

    Returns:
        Its numbers, in float64.

    Raises:
        ValueError: if it is too long or of another dtype.
        OSError: if the file cannot be read.
    """
    width = found.shape[-1] if width is None else width
    if found.dtype not in ("F64", "F32", "F16", "BF16") or width > LONGEST_ROW:
        raise ValueError(f"tensor {found.name[:60]!r}: needed at most {LONGEST_ROW} floating numbers, got {width} of {found.dtype}")
    size = width * WIDTHS[found.dtype]
    with found.path.open("rb") as file:
        file.seek(found.start + row * size)
        content = file.read(size)
    if len(content) != size:
        raise ValueError(f"tensor {found.name[:60]!r}: the file changed meanwhile")
    if found.dtype == "BF16":  # the upper half of a float32
        raised = np.frombuffer(content, "<u2").astype("<u4") << 16
        return raised.view("<f4").astype(np.float64)
    return np.frombuffer(content, {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[found.dtype]).astype(np.float64)
