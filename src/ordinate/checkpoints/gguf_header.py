"""The header of a GGUF file, read within bounds. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

    file   = "GGUF", version, number of tensors, number of entries, entries, tensors, zeros up to the alignment, the tensors' data
    entry  = key, kind, value
    tensor = name, number of dimensions, shape, type, offset

Numbers are little-endian. A text is its length in bytes, then UTF-8. An array is the kind of its values, their number, the values.
Offsets count from the first multiple of ``general.alignment`` (32) after the header. Of the data nothing is read.

A file is taken as hostile: each count is held against the bytes that are left before anything is read, and what is kept is
bounded, so a damaged or forged file ends in one ValueError. Where known readers differ: the specification allows arrays of
arrays; llama.cpp refuses them, and so does this reader. gguf's GGUFReader makes objects of every token; this one steps over them.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

LONGEST_ARRAY = 4096  # values of an array that is kept, or of a tensor that is read
LONGEST_TEXT = 2**16 - 1  # bytes of a key, as the specification has it, and of a text that is kept
MOST_DIMENSIONS = 4
MOST_ENTRIES = 2**16
# Values and bytes of text that are kept and texts that are stepped over, all together. A vocabulary of 2^18 tokens takes a fifth.
MOST_WORK = 2**22
LARGEST_HEADER = 2**30
ELEMENTS_BELOW = 2**63  # as in llama.cpp, which counts elements in int64

VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
KINDS = {
    0: ("uint8", struct.Struct("<B")),
    1: ("int8", struct.Struct("<b")),
    2: ("uint16", struct.Struct("<H")),
    3: ("int16", struct.Struct("<h")),
    4: ("uint32", struct.Struct("<I")),
    5: ("int32", struct.Struct("<i")),
    6: ("float32", struct.Struct("<f")),
    7: ("bool", struct.Struct("<?")),
    10: ("uint64", struct.Struct("<Q")),
    11: ("int64", struct.Struct("<q")),
    12: ("float64", struct.Struct("<d")),
}
UINT32, UINT64 = KINDS[4][1], KINDS[10][1]
# Types of tensors that hold plain numbers, and their codes in struct.
TABLES = {0: ("float32", "f"), 1: ("float16", "e")}
# The fewest bytes of an entry (an empty key, a kind, one byte) and of a tensor (an empty name, no shape, a type, an offset).
SMALLEST_ENTRY, SMALLEST_TENSOR = 8 + 4 + 1, 8 + 4 + 4 + 8


@dataclass(frozen=True, slots=True)
class Skipped:
    """What stands for a value too long to keep.

    Args:
        kind: of the values of an array, as the specification calls them in lower case; "byte" for a text.
        count: how many there are.

    Example:
        >>> Skipped("string", 49152)  # a list of tokens
        Skipped(kind='string', count=49152)
    """

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor is.

    Args:
        shape: as the file has it, the dimension whose neighbours lie side by side first: PyTorch's the other way round.
        type_id: of ggml_type, 0 for float32, 1 for float16.
        offset: of its first byte from the start of the file; not held against the file's size.

    Example:
        >>> TensorInfo(shape=(32,), type_id=0, offset=1785664).shape
        (32,)
    """

    shape: tuple[int, ...]
    type_id: int
    offset: int


@dataclass(frozen=True)
class GGUFHeader:
    """What a file says before its data.

    Args:
        version: of the format.
        metadata: from key to a bool, int, float, str or Skipped, or a tuple of these for an array. A float may be NaN or infinite.
        tensors: from name to place.

    Example:
        >>> header = GGUFHeader(version=3, metadata={"llama.rope.freq_base": 10000.0}, tensors={})
        >>> header.metadata.get("llama.rope.freq_base"), header.metadata.get("llama.rope.scaling.type")
        (10000.0, None)
    """

    version: int
    metadata: Mapping[str, object]
    tensors: Mapping[str, TensorInfo]


def read_header(path: str | os.PathLike[str]) -> GGUFHeader:
    """Read the header of a GGUF file, version 2 or 3, little-endian.

    Bytes that are not UTF-8 become U+FFFD: a licence in another encoding is no reason to refuse a checkpoint.

    Args:
        path: of the file.

    Returns:
        All entries and tensors; arrays of more than 4096 values and texts of more than 65535 bytes as Skipped.

    Raises:
        ValueError: if it is no such file, is cut short or damaged, or asks for more than any model does; one line.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> key = b"llama.context_length"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "tiny.gguf")
        ...     content = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, 8192)
        ...     size = path.write_bytes(content)
        ...     read_header(path).metadata
        {'llama.context_length': 8192}
    """
    with _open(path) as file:
        cursor = _Cursor(file, path)
        version = _version(cursor)
        n_tensors, n_entries = _counts(cursor)
        metadata = _metadata(cursor, n_entries)
        return GGUFHeader(version, metadata, _tensors(cursor, n_tensors, _alignment(cursor, metadata)))


def read_small_tensor(path: str | os.PathLike[str], header: GGUFHeader, name: str) -> tuple[float, ...]:
    """Read a table of frequencies or factors: ``rope_freqs.weight``, ``rope_factors_long.weight``, ``rope_factors_short.weight``.

    Args:
        path: of the file.
        header: what ``read_header`` gave for it.
        name: of a tensor of float32 or float16, of one dimension, of at most 4096 numbers.

    Returns:
        Its numbers as they are, also NaN and infinities.

    Raises:
        ValueError: if there is no such tensor, or it lies outside the file.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "tiny.gguf")
        ...     size = path.write_bytes(struct.pack("<32x2f", 1.0, 0.5))
        ...     header = GGUFHeader(3, {}, {"rope_freqs.weight": TensorInfo(shape=(2,), type_id=0, offset=32)})
        ...     read_small_tensor(path, header, "rope_freqs.weight")
        (1.0, 0.5)
    """
    with _open(path) as file:
        cursor = _Cursor(file, path)
        info = header.tensors.get(name)
        if info is None:
            raise cursor.fault(f"needed one of the {len(header.tensors)} tensors of the file, got {_shown(name)}")
        if info.type_id not in TABLES or len(info.shape) != 1 or info.shape[0] > LONGEST_ARRAY:
            needed = f"one row of at most {LONGEST_ARRAY} numbers of {' or '.join(kind for kind, _ in TABLES.values())}"
            raise cursor.fault(f"tensor {_shown(name)}: needed {needed}, got shape {info.shape} of ggml type {info.type_id}")
        form = struct.Struct(f"<{info.shape[0]}{TABLES[info.type_id][1]}")
        return form.unpack(cursor.take_at(f"tensor {_shown(name)}", info.offset, form.size))


class _Cursor:
    """A place in a file: it moves forwards, never beyond the end, and gives up on a header that asks for too much."""

    def __init__(self, file: BinaryIO, path: str | os.PathLike[str]) -> None:
        self._file = file
        self._path = os.fspath(path)
        self._size = os.fstat(file.fileno()).st_size
        self._work = MOST_WORK
        self.at = 0

    def fault(self, text: str) -> ValueError:
        """Say in one line what is wrong with the file."""
        return ValueError(f"{self._path!r}: {text}")

    def need(self, what: str, size: int) -> None:
        """Refuse a size that the file does not hold."""
        if size > self._size - self.at:
            left = f"the file of {self._size} has {max(self._size - self.at, 0)} left"
            raise self.fault(f"{what}: needed {size} bytes at byte {self.at}, {left}: it is cut short or damaged")

    def work(self, what: str, amount: int) -> None:
        """Count what is kept or stepped over."""
        self._work -= amount
        if self._work < 0:
            raise self.fault(f"{what}: needed at most {MOST_WORK} values and characters up to here, got more")

    def take(self, what: str, size: int) -> bytes:
        """Give the next bytes."""
        self.need(what, size)
        content = self._file.read(size)
        if len(content) != size:
            raise self.fault(f"{what}: needed {size} bytes at byte {self.at}, got {len(content)}: the file changed meanwhile")
        self.at += size
        return content

    def take_at(self, what: str, place: int, size: int) -> bytes:
        """Give the bytes at a place, however far."""
        self.at = place
        self.need(what, size)
        self._file.seek(place)
        return self.take(what, size)

    def skip(self, what: str, size: int) -> None:
        """Step over bytes: what is taken is bounded by the work, only this leads far into a file."""
        self.need(what, size)
        if self.at + size > LARGEST_HEADER:
            raise self.fault(f"{what}: needed a header of at most {LARGEST_HEADER} bytes, got {self.at + size} and more")
        self._file.seek(size, os.SEEK_CUR)
        self.at += size

    def number(self, what: str, form: struct.Struct) -> Any:
        """Give the next number."""
        return form.unpack(self.take(what, form.size))[0]

    def text(self, what: str, size: int) -> str:
        """Give the next bytes as text."""
        self.work(what, size)
        return self.take(what, size).decode("utf-8", "replace")


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    # Looked at before it is opened: to open a pipe is to wait for who writes to it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{os.fspath(path)!r}: needed a GGUF file, got a directory, a pipe or a device")
    return open(path, "rb")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:57] + "...")


def _version(cursor: _Cursor) -> int:
    magic = cursor.take("magic", 4)
    if magic != b"GGUF":
        raise cursor.fault(f"needed a file that begins with b'GGUF', got {magic!r}")
    content = cursor.take("version", 4)
    version = int.from_bytes(content, "little")
    if version in VERSIONS:
        return version
    if int.from_bytes(content, "big") in VERSIONS:
        raise cursor.fault("needed a little-endian file, got a big-endian one; convert the model again, as little-endian")
    hint = "; convert the model again, with a current llama.cpp" if version == 1 else ""
    raise cursor.fault(f"needed GGUF version 2 or 3, got {version}{hint}")


def _counts(cursor: _Cursor) -> tuple[int, int]:
    n_tensors, n_entries = (cursor.number(f"number of {what}", UINT64) for what in ("tensors", "entries"))
    for what, count in (("tensors", n_tensors), ("entries", n_entries)):
        if count > MOST_ENTRIES:
            raise cursor.fault(f"needed at most {MOST_ENTRIES} {what}, got {count}")
    cursor.need(f"{n_tensors} tensors and {n_entries} entries", n_tensors * SMALLEST_TENSOR + n_entries * SMALLEST_ENTRY)
    return n_tensors, n_entries


def _metadata(cursor: _Cursor, count: int) -> dict[str, object]:
    metadata: dict[str, object] = {}
    for place in range(count):
        key = _name(cursor, f"key of entry {place}")
        what = f"entry {_shown(key)}"
        if key in metadata:
            raise cursor.fault(f"{what}: needed once, got it twice")
        metadata[key] = _value(cursor, what)
    return metadata


def _name(cursor: _Cursor, what: str) -> str:
    size = cursor.number(what, UINT64)
    if size > LONGEST_TEXT:
        raise cursor.fault(f"{what}: needed at most {LONGEST_TEXT} bytes, got {size}")
    return cursor.text(what, size)


def _value(cursor: _Cursor, what: str) -> object:
    kind = cursor.number(what, UINT32)
    if kind == ARRAY:
        return _array(cursor, what)
    if kind == STRING:
        return _text(cursor, what)
    return cursor.number(what, _form(cursor, what, kind)[1])


def _form(cursor: _Cursor, what: str, kind: int) -> tuple[str, struct.Struct]:
    if kind not in KINDS:
        raise cursor.fault(f"{what}: needed a kind of value from 0 to 12, got {kind}")
    return KINDS[kind]


def _text(cursor: _Cursor, what: str) -> str | Skipped:
    size = cursor.number(what, UINT64)
    if size <= LONGEST_TEXT:
        return cursor.text(what, size)
    cursor.skip(what, size)
    return Skipped("byte", size)


def _array(cursor: _Cursor, what: str) -> tuple[object, ...] | Skipped:
    kind, count = cursor.number(what, UINT32), cursor.number(what, UINT64)
    if kind == ARRAY:
        raise cursor.fault(f"{what}: needed an array of numbers or texts, got an array of arrays")
    return _texts(cursor, what, count) if kind == STRING else _numbers(cursor, what, kind, count)


def _numbers(cursor: _Cursor, what: str, kind: int, count: int) -> tuple[object, ...] | Skipped:
    name, form = _form(cursor, what, kind)
    if count > LONGEST_ARRAY:
        cursor.skip(what, count * form.size)
        return Skipped(name, count)
    cursor.work(what, count)
    content = cursor.take(what, count * form.size)
    return tuple(number for (number,) in form.iter_unpack(content))


def _texts(cursor: _Cursor, what: str, count: int) -> tuple[object, ...] | Skipped:
    cursor.need(what, count * UINT64.size)
    cursor.work(what, count)
    if count <= LONGEST_ARRAY:
        return tuple(_text(cursor, what) for _ in range(count))
    for _ in range(count):
        cursor.skip(what, cursor.number(what, UINT64))
    return Skipped("string", count)


def _alignment(cursor: _Cursor, metadata: Mapping[str, object]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise cursor.fault(f"general.alignment: needed a power of two, got {_shown(str(alignment))}")
    return alignment


def _tensors(cursor: _Cursor, count: int, alignment: int) -> dict[str, TensorInfo]:
    found: dict[str, tuple[tuple[int, ...], int, int]] = {}
    for place in range(count):
        name = _name(cursor, f"name of tensor {place}")
        what = f"tensor {_shown(name)}"
        if name in found:
            raise cursor.fault(f"{what}: needed once, got it twice")
        found[name] = (_shape(cursor, what), cursor.number(what, UINT32), cursor.number(what, UINT64))
    start = -(-cursor.at // alignment) * alignment
    return {name: TensorInfo(shape, type_id, start + offset) for name, (shape, type_id, offset) in found.items()}


def _shape(cursor: _Cursor, what: str) -> tuple[int, ...]:
    n_dimensions = cursor.number(what, UINT32)
    if n_dimensions > MOST_DIMENSIONS:
        raise cursor.fault(f"{what}: needed at most {MOST_DIMENSIONS} dimensions, got {n_dimensions}")
    shape = tuple(cursor.number(what, UINT64) for _ in range(n_dimensions))
    if math.prod(max(size, 1) for size in shape) >= ELEMENTS_BELOW:
        raise cursor.fault(f"{what}: needed fewer than 2^63 elements, got shape {shape}")
    return shape
