"""Headers of GGUF files: the reference reader and writer as oracles, and files that lie, end early or ask for too much."""

from __future__ import annotations

import ast
import dataclasses
import math
import os
import re
import struct
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gguf
import hypothesis.strategies as st
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from hypothesis import given

from ordinate.checkpoints import gguf_header
from ordinate.checkpoints.gguf_header import GGUFHeader, Skipped, TensorInfo, read_header, read_small_tensor

FLOAT32, STRING, ARRAY = 6, 8, 9
HUGE = 2**60


# Files written by hand


def text(content: bytes | str, *, length: int | None = None) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return struct.pack("<Q", len(raw) if length is None else length) + raw


def entry(key: bytes | str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int, values: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + values


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, offset: int = 0, *, dims: int | None = None) -> bytes:
    dims = len(shape) if dims is None else dims
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", dims, *shape, kind, offset)


def whole(entries: list[bytes], tensors: Sequence[bytes] = (), *, version: int = 3, counts: tuple[int, int] | None = None) -> bytes:
    n_tensors, n_entries = (len(tensors), len(entries)) if counts is None else counts
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_entries) + b"".join([*entries, *tensors])


def padded(header: bytes, data: bytes, alignment: int = 32) -> bytes:
    return header + b"\0" * (-len(header) % alignment) + data


ENTRIES = [
    entry("general.architecture", STRING, text("llama")),
    entry("llama.rope.freq_base", FLOAT32, struct.pack("<f", 5e5)),
    entry("llama.rope.sections", ARRAY, array(5, 3, struct.pack("<3i", 16, -24, 24))),
    entry("general.languages", ARRAY, array(STRING, 2, text("en") + text("дом"))),
    entry("flag", 7, b"\1"),
]
TENSORS = [tensor("rope_freqs.weight", (3,)), tensor("half", (2,), 1, 32), tensor("table", (576, 49152), 8, 64)]
HEADER = whole(ENTRIES, TENSORS)
SMALL = padded(HEADER, struct.pack("<3f20x2e", 1.0, 0.5, math.inf, 2.0, -0.25))
METADATA = {
    "general.architecture": "llama",
    "llama.rope.freq_base": 5e5,
    "llama.rope.sections": (16, -24, 24),
    "general.languages": ("en", "дом"),
    "flag": True,
}


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "written.gguf"
        path.write_bytes(content)
        return path

    return write


def outcome(call: Callable[..., Any], *arguments: object) -> Any:
    """What a call gives, or the one line of its refusal."""
    try:
        return call(*arguments)
    except ValueError as error:
        fault = error
    assert type(fault) is ValueError, "no UnicodeDecodeError either"
    assert str(fault).isprintable(), "one line, and nothing that a terminal obeys"
    return str(fault)


def bounded(path: Path, most: int) -> GGUFHeader | str:
    """The header or its refusal, and no more memory than said."""
    tracemalloc.start()
    try:
        found: GGUFHeader | str = outcome(read_header, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most, f"{peak} bytes"
    return found


# What the reference implementation says


def theirs(path: Path) -> tuple[dict[str, object], dict[str, TensorInfo]]:
    """The same header by gguf's reader; long arrays and texts by their counts."""
    reader = GGUFReader(path)
    metadata: dict[str, object] = {}
    for key, field in reader.fields.items():
        if field.types[0] == GGUFValueType.ARRAY and len(field.data) > 4096:
            metadata[key] = Skipped(field.types[-1].name.lower(), len(field.data))
        elif not key.startswith("GGUF."):
            value = field.contents()
            metadata[key] = tuple(value) if isinstance(value, list) else value
    tensors = {one.name: TensorInfo(tuple(one.shape.tolist()), int(one.tensor_type), one.data_offset) for one in reader.tensors}
    return metadata, tensors


def test_a_real_file_as_the_reference_reads_it(smollm2_gguf: Path) -> None:
    found = read_header(smollm2_gguf)
    metadata, tensors = theirs(smollm2_gguf)
    assert found.version == 3
    assert found.metadata == metadata
    assert {key: type(value) for key, value in found.metadata.items()} == {key: type(value) for key, value in metadata.items()}
    assert list(found.tensors) == list(tensors)
    assert found.tensors == tensors
    assert found.metadata["tokenizer.ggml.tokens"] == Skipped("string", 49152)
    assert found.metadata["llama.rope.freq_base"] == 100000.0


def test_memory_for_a_real_file(smollm2_gguf: Path) -> None:
    assert isinstance(bounded(smollm2_gguf, 2**20), GGUFHeader)


ENDS: dict[GGUFValueType, list[Any]] = {
    GGUFValueType.UINT8: [0, 2**8 - 1],
    GGUFValueType.INT8: [-(2**7), 2**7 - 1],
    GGUFValueType.UINT16: [0, 2**16 - 1],
    GGUFValueType.INT16: [-(2**15), 2**15 - 1],
    GGUFValueType.UINT32: [0, 2**32 - 1],
    GGUFValueType.INT32: [-(2**31), 2**31 - 1],
    GGUFValueType.FLOAT32: [math.inf, float(np.float32(1e-45)), -3.5],
    GGUFValueType.BOOL: [True, False],
    GGUFValueType.STRING: ["", "дом\n", "x"],
    GGUFValueType.UINT64: [0, 2**64 - 1],
    GGUFValueType.INT64: [-(2**63), 2**63 - 1],
    GGUFValueType.FLOAT64: [-math.inf, 5e-324, 1e308],
}


def written(path: Path, alignment: int | None) -> dict[str, np.ndarray]:
    writer = GGUFWriter(path, "llama")
    for kind, values in ENDS.items():
        for place, value in enumerate(values):
            writer.add_key_value(f"{kind.name}.{place}", value, kind)
        writer.add_key_value(f"{kind.name}.array", values, GGUFValueType.ARRAY, sub_type=kind)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    numbers = np.random.default_rng(0)
    tables = {
        "rope_freqs.weight": numbers.standard_normal(48).astype(np.float32),
        "rope_factors_long.weight": numbers.standard_normal(3).astype(np.float16),
        "rope_factors_short.weight": np.array([math.inf, -math.inf, 0.0], np.float32),
    }
    for name, table in tables.items():
        writer.add_tensor(name, table)
    writer.add_tensor("four.weight", numbers.standard_normal((2, 3, 5, 7)).astype(np.float32))
    writer.add_tensor("bytes.weight", numbers.integers(0, 256, (3, 34), np.uint8), raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tables


@pytest.mark.parametrize("alignment", [None, 8, 4096])
def test_what_the_reference_writes(tmp_path: Path, alignment: int | None) -> None:
    path = tmp_path / "written.gguf"
    tables = written(path, alignment)
    found = read_header(path)
    assert (found.metadata, found.tensors) == theirs(path)
    for kind, values in ENDS.items():
        assert found.metadata[f"{kind.name}.array"] == tuple(values)
        for place, value in enumerate(values):
            assert found.metadata[f"{kind.name}.{place}"] == value
            assert type(found.metadata[f"{kind.name}.{place}"]) is type(value)
    assert found.tensors["four.weight"].shape == (7, 5, 3, 2)
    assert found.tensors["bytes.weight"].shape == (32, 3)
    for name, table in tables.items():
        assert read_small_tensor(path, found, name) == tuple(table.tolist())


def test_the_kinds_are_the_reference_s() -> None:
    names = {kind: name for kind, (name, _) in gguf_header.KINDS.items()}
    assert names | {STRING: "string", ARRAY: "array"} == {kind.value: kind.name.lower() for kind in GGUFValueType}
    sizes = {kind: np.dtype(GGUFReader.gguf_scalar_to_np[GGUFValueType(kind)]).itemsize for kind in names}
    assert {kind: form.size for kind, (_, form) in gguf_header.KINDS.items()} == sizes
    assert gguf_header.TABLES.keys() == {GGMLQuantizationType.F32.value, GGMLQuantizationType.F16.value}
    assert {gguf.GGUF_VERSION, 2} == set(gguf_header.VERSIONS)


# A small file, and what is next to it


@pytest.mark.parametrize("version", [2, 3])
def test_a_small_file(file: Callable[[bytes], Path], version: int) -> None:
    path = file(SMALL.replace(struct.pack("<I", 3), struct.pack("<I", version), 1))
    found = read_header(path)
    start = -(-len(HEADER) // 32) * 32
    assert (found.version, found.metadata) == (version, METADATA)
    assert found.tensors == {
        "rope_freqs.weight": TensorInfo((3,), 0, start),
        "half": TensorInfo((2,), 1, start + 32),
        "table": TensorInfo((576, 49152), 8, start + 64),
    }
    assert read_small_tensor(path, found, "rope_freqs.weight") == (1.0, 0.5, math.inf)
    assert read_small_tensor(path, found, "half") == (2.0, -0.25)


def test_records_cannot_be_changed() -> None:
    for record in (Skipped("byte", 3), TensorInfo((3,), 0, 0), GGUFHeader(3, {}, {})):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, dataclasses.fields(record)[0].name, 0)


def test_every_prefix_is_refused(file: Callable[[bytes], Path]) -> None:
    for size in range(len(HEADER)):
        found = outcome(read_header, file(SMALL[:size]))
        assert isinstance(found, str)
        assert f"the file of {size} has " in found
    for size in range(len(HEADER), len(SMALL) + 1):
        assert read_header(file(SMALL[:size])).metadata == METADATA


def test_every_prefix_of_a_table_is_refused(file: Callable[[bytes], Path]) -> None:
    header = read_header(file(SMALL))
    for size in range(len(SMALL)):
        with pytest.raises(ValueError, match="tensor 'half': needed 4 bytes at byte"):
            read_small_tensor(file(SMALL[:size]), header, "half")


def test_the_longest_that_is_kept(file: Callable[[bytes], Path]) -> None:
    numbers = np.arange(4097, dtype=np.float32)
    texts = [text(str(number)) for number in range(4097)]
    long = [
        entry("numbers", ARRAY, array(FLOAT32, 4096, numbers[:-1].tobytes())),
        entry("more numbers", ARRAY, array(FLOAT32, 4097, numbers.tobytes())),
        entry("texts", ARRAY, array(STRING, 4096, b"".join(texts[:-1]))),
        entry("more texts", ARRAY, array(STRING, 4097, b"".join(texts))),
        entry("text", STRING, text(b"a" * 65535)),
        entry("more text", STRING, text(b"a" * 65536)),
        entry("k" * 65535, ARRAY, array(STRING, 2, text(b"a" * 65536) + text("b"))),
        entry("none", ARRAY, array(FLOAT32, 0)),
        entry("no texts", ARRAY, array(STRING, 0)),
        entry("last", 0, b"\7"),
    ]
    assert read_header(file(whole(long))).metadata == {
        "numbers": tuple(range(4096)),
        "more numbers": Skipped("float32", 4097),
        "texts": tuple(map(str, range(4096))),
        "more texts": Skipped("string", 4097),
        "text": "a" * 65535,
        "more text": Skipped("byte", 65536),
        "k" * 65535: (Skipped("byte", 65536), "b"),
        "none": (),
        "no texts": (),
        "last": 7,
    }


def test_numbers_that_are_none_are_given_as_they_are(file: Callable[[bytes], Path]) -> None:
    values = entry("many", ARRAY, array(FLOAT32, 2, struct.pack("<2f", math.nan, -math.inf)))
    single = entry("one", 12, struct.pack("<d", math.nan))
    path = file(padded(whole([values, single], [tensor("rope_freqs.weight", (2,), 1)]), struct.pack("<2e", math.nan, math.inf)))
    header = read_header(path)
    many, one = header.metadata["many"], header.metadata["one"]
    assert isinstance(many, tuple)
    assert isinstance(one, float)
    assert (math.isnan(many[0]), many[1], math.isnan(one)) == (True, -math.inf, True)
    first, second = read_small_tensor(path, header, "rope_freqs.weight")
    assert (math.isnan(first), second) == (True, math.inf)


def test_bytes_that_are_no_text_are_replaced(file: Callable[[bytes], Path]) -> None:
    path = file(whole([entry("licence", STRING, text(b"caf\xe9")), entry(b"\xff", 0, b"\1")]))
    assert read_header(path).metadata == {"licence": "caf\ufffd", "\ufffd": 1}


# Files that lie


def chain(depth: int) -> bytes:
    return entry("deep", ARRAY, array(ARRAY, 1) * depth + array(0, 0))


HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "magic: needed 4 bytes at byte 0, the file of 0 has 0 left"),
    "another format": (b"PK\3\4" + bytes(99), r"needed a file that begins with b'GGUF', got b'PK"),
    "version 1": (whole([], version=1), "needed GGUF version 2 or 3, got 1; convert the model again, with a current llama.cpp"),
    "version 4": (whole([], version=4), "needed GGUF version 2 or 3, got 4$"),
    "version 0": (whole([], version=0), "needed GGUF version 2 or 3, got 0$"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "needed a little-endian file, got a big-endian one"),
    "many entries": (whole(ENTRIES, counts=(0, HUGE)), f"needed at most 65536 entries, got {HUGE}"),
    "many tensors": (whole(ENTRIES, counts=(2**64 - 1, 5)), "needed at most 65536 tensors, got 18446744073709551615"),
    "more entries than bytes": (whole(ENTRIES, counts=(0, 60)), "0 tensors and 60 entries: needed 780 bytes at byte 24"),
    "more tensors than bytes": (whole(ENTRIES, counts=(30, 5)), "30 tensors and 5 entries: needed 785 bytes at byte 24"),
    "long key": (whole([text("key", length=HUGE) + bytes(9)]), f"key of entry 0: needed at most 65535 bytes, got {HUGE}"),
    "key beyond the end": (whole([text("key", length=60000) + bytes(9)]), "key of entry 0: needed 60000 bytes at byte 32"),
    "long text": (whole([entry("k", STRING, text("v", length=HUGE))]), f"entry 'k': needed {HUGE} bytes at byte 45"),
    "text beyond the end": (whole([entry("k", STRING, text("v", length=2))]), "entry 'k': needed 2 bytes at byte 45"),
    "long array": (whole([entry("k", ARRAY, array(12, HUGE))]), f"entry 'k': needed {8 * HUGE} bytes"),
    "longest array": (whole([entry("k", ARRAY, array(12, 2**64 - 1))]), f"entry 'k': needed {8 * (2**64 - 1)} bytes"),
    "array beyond the end": (whole([entry("k", ARRAY, array(2, 9, bytes(17)))]), "entry 'k': needed 18 bytes"),
    "long array of texts": (whole([entry("k", ARRAY, array(STRING, HUGE))]), f"entry 'k': needed {8 * HUGE} bytes"),
    "texts beyond the end": (whole([entry("k", ARRAY, array(STRING, 2, bytes(15)))]), "entry 'k': needed 16 bytes"),
    "long text in a long array": (
        whole([entry("k", ARRAY, array(STRING, 5000, bytes(39992) + text("", length=HUGE)))]),
        f"entry 'k': needed {HUGE} bytes",
    ),
    "array of arrays": (whole([chain(1)]), "entry 'deep': needed an array of numbers or texts, got an array of arrays"),
    "a million arrays deep": (whole([chain(10**6)]), "entry 'deep': needed an array of numbers or texts, got an array of arrays"),
    "unknown kind": (whole([entry("k", 13, bytes(8))]), "entry 'k': needed a kind of value from 0 to 12, got 13"),
    "unknown kind in an array": (
        whole([entry("k", ARRAY, array(2**31, 0))]),
        "needed a kind of value from 0 to 12, got 2147483648",
    ),
    "a key twice": (whole([entry("a.b", 0, b"\1"), entry("a.b", 0, b"\1")]), "entry 'a.b': needed once, got it twice"),
    "a tensor twice": (whole([], [tensor("t", (1,))] * 2), "tensor 't': needed once, got it twice"),
    "a key that clears the screen": (whole([entry("\x1b[2J\n", 99, bytes(8))]), r"entry '\\x1b\[2J\\n': needed a kind"),
    "a long key is not printed whole": (whole([entry("k" * 999, 99, bytes(8))]), r"entry 'k{57}\.\.\.': needed"),
    "many dimensions": (whole([], [tensor("t", (1,) * 5)]), "tensor 't': needed at most 4 dimensions, got 5"),
    "billions of dimensions": (whole([], [tensor("t", (1,), dims=2**32 - 1)]), "needed at most 4 dimensions, got 4294967295"),
    "more elements than int64": (whole([], [tensor("t", (2**32, 2**31))]), "tensor 't': needed fewer than 2\\^63 elements"),
    "no element of a long row": (whole([], [tensor("t", (0, 2**64 - 1))]), "tensor 't': needed fewer than 2\\^63 elements"),
    "tensor name beyond the end": (whole([], [text("t", length=99) + bytes(16)]), "name of tensor 0: needed 99 bytes"),
    "tensor cut": (whole([], [tensor("t", (2, 3))[:-1]]), "tensor 't': needed 8 bytes"),
    "no alignment": (whole([entry("general.alignment", 4, bytes(4))]), "general.alignment: needed a power of two, got '0'"),
    "alignment 24": (whole([entry("general.alignment", 0, b"\x18")]), "general.alignment: needed a power of two, got '24'"),
    "negative alignment": (whole([entry("general.alignment", 1, b"\xff")]), "general.alignment: needed a power of two, got '-1'"),
    "alignment as a text": (whole([entry("general.alignment", STRING, text("32"))]), "general.alignment: needed a power of two"),
    "alignment as a flag": (whole([entry("general.alignment", 7, b"\1")]), "general.alignment: needed a power of two, got 'True'"),
    "values without end": (
        whole([entry(f"{n}", ARRAY, array(1, 4096, b"\x80" * 4096)) for n in range(1026)]),
        "entry '1023': needed at most 4194304 values and characters up to here",
    ),
    "empty texts without end": (
        whole([entry("k", ARRAY, array(STRING, 2**22, bytes(2**25)))]),
        "entry 'k': needed at most 4194304 values and characters up to here",
    ),
    "texts without end": (
        whole([entry("k", ARRAY, array(STRING, 65, text(b"a" * 65535) * 65))]),
        "entry 'k': needed at most 4194304 values and characters up to here",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused_within_bounds(file: Callable[[bytes], Path], what: str) -> None:
    content, message = HOSTILE[what]
    path = file(content)
    began = time.process_time()
    # An int of Python with its place in a tuple takes 36 bytes, an entry of the file down to one.
    most = 2**28 if what.endswith("without end") else 2**18
    found = bounded(path, most)
    assert isinstance(found, str)
    assert re.search(message, found), found
    assert time.process_time() - began < 30


def sparse(path: Path, start: bytes, size: int) -> Path:
    path.write_bytes(start)
    os.truncate(path, size)
    return path


def test_a_header_beyond_any_model(tmp_path: Path) -> None:
    # The array of bytes is there, 1 GiB of holes, and one byte less would be taken.
    key = text("k") + struct.pack("<I", ARRAY)
    for spare, taken in ((0, True), (1, False)):
        count = 2**30 - len(whole([])) - len(key) - 12 + spare
        path = sparse(tmp_path / "large.gguf", whole([key + array(0, count)]), 2**30 + 9)
        found = bounded(path, 2**18)
        if taken:
            assert isinstance(found, GGUFHeader)
            assert found.metadata == {"k": Skipped("uint8", count)}
        else:
            assert f"entry 'k': needed a header of at most {2**30} bytes" in str(found)


def test_a_long_text_is_stepped_over(tmp_path: Path) -> None:
    start = whole([entry("k", STRING, text("", length=2**29))])
    found = bounded(sparse(tmp_path / "large.gguf", start, len(start) + 2**29), 2**18)
    assert found == GGUFHeader(3, {"k": Skipped("byte", 2**29)}, {})


def test_data_is_never_read(tmp_path: Path) -> None:
    # 32 GiB of holes: whoever reads them, or maps and copies them, is seen by memory and time.
    path = sparse(tmp_path / "large.gguf", whole(ENTRIES, [tensor("t", (2**30, 8)), tensor("last", (1,), 0, 2**35)]), 2**36)
    began = time.process_time()
    header = bounded(path, 2**18)
    assert isinstance(header, GGUFHeader)
    assert header.metadata == METADATA
    assert read_small_tensor(path, header, "last") == (0.0,)
    assert time.process_time() - began < 10


def test_what_is_no_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, Path("/dev/zero")):
        with pytest.raises(ValueError, match="needed a GGUF file, got a directory, a pipe or a device"):
            read_header(path)
    with pytest.raises(FileNotFoundError, match=r"missing\.gguf"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(ValueError, match="null"):
        read_header("a\0b")


def test_a_path_as_text(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.gguf"
    path.write_bytes(SMALL)
    assert read_header(str(path)).metadata == METADATA
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"two\\nlines\.gguf': magic"):
        read_header(str(path))


def test_a_file_that_shrinks_while_it_is_read(file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(SMALL[:40])
    full = os.stat_result((0o100644, 0, 0, 1, 0, 0, len(SMALL), 0, 0, 0))
    monkeypatch.setattr(gguf_header.os, "fstat", lambda _: full)
    with pytest.raises(ValueError, match="got 8: the file changed meanwhile"):
        read_header(path)


TABLES: dict[str, tuple[TensorInfo, str]] = {
    "quantized": (TensorInfo((32,), 8, 0), r"needed one row of at most 4096 numbers of float32 or float16, got shape \(32,\)"),
    "bfloat16": (
        TensorInfo((32,), 30, 0),
        "needed one row of at most 4096 numbers of float32 or float16, got shape .* of ggml type 30",
    ),
    "two dimensions": (TensorInfo((2, 2), 0, 0), r"needed one row of .*, got shape \(2, 2\) of ggml type 0"),
    "no dimension": (TensorInfo((), 0, 0), r"needed one row of .*, got shape \(\)"),
    "long": (TensorInfo((4097,), 0, 0), r"needed one row of at most 4096 numbers"),
    "longer than any file": (TensorInfo((2**62,), 0, 0), r"needed one row of at most 4096 numbers"),
    "beyond the end": (TensorInfo((3,), 0, 90), "needed 12 bytes at byte 90, the file of 100 has 10 left"),
    "far beyond the end": (
        TensorInfo((3,), 0, 2**64 + 31),
        "needed 12 bytes at byte 18446744073709551647, the file of 100 has 0 left",
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_tables_that_are_none(file: Callable[[bytes], Path], what: str) -> None:
    info, message = TABLES[what]
    with pytest.raises(ValueError, match=f"tensor 'rope_freqs.weight': {message}"):
        read_small_tensor(file(bytes(100)), GGUFHeader(3, {}, {"rope_freqs.weight": info}), "rope_freqs.weight")


def test_a_table_that_is_not_there(file: Callable[[bytes], Path]) -> None:
    path = file(SMALL)
    with pytest.raises(ValueError, match=r"written\.gguf': needed one of the 3 tensors of the file, got 'rope_freqs'"):
        read_small_tensor(path, read_header(path), "rope_freqs")


def test_the_longest_table(file: Callable[[bytes], Path]) -> None:
    numbers = np.arange(4096, dtype=np.float32)
    path = file(padded(whole([], [tensor("t", (4096,))]), numbers.tobytes()))
    assert read_small_tensor(path, read_header(path), "t") == tuple(numbers.tolist())


def test_a_faulty_offset_is_a_fault_of_the_tensor_only(file: Callable[[bytes], Path]) -> None:
    path = file(padded(whole(ENTRIES, [tensor("t", (3,), 0, 2**64 - 1)]), b""))
    header = read_header(path)
    assert header.metadata == METADATA
    with pytest.raises(ValueError, match="tensor 't': needed 12 bytes at byte 1844674407370955"):
        read_small_tensor(path, header, "t")


# Files that nobody wrote


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, "fuzzed.gguf")


def holds(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    found = bounded(path, 2**19)
    if isinstance(found, GGUFHeader):
        for name in found.tensors:
            numbers = outcome(read_small_tensor, path, found, name)
            assert isinstance(numbers, str) or len(numbers) <= 4096


@given(content=st.binary(max_size=400), front=st.sampled_from([0, 4, 8, 24, 40]))
def test_random_bytes(scratch: Path, content: bytes, front: int) -> None:
    holds(scratch, SMALL[:front] + content)


PLACES = st.integers(0, len(HEADER) - 1)
# Bytes that mean something: ends of ranges, kinds of values, small counts.
PIECES = st.one_of(
    st.binary(min_size=1, max_size=12),
    st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\x7f", b"\x80"]),
    st.integers(0, 13).map(lambda kind: struct.pack("<I", kind)),
    st.integers(0, 2**64 - 1).map(lambda count: struct.pack("<Q", count)),
)
CHANGES = st.lists(st.tuples(st.sampled_from(["flip", "insert", "cut"]), PLACES, PIECES), min_size=1, max_size=6)


@given(changes=CHANGES)
def test_a_file_with_changed_bytes(scratch: Path, changes: list[tuple[str, int, bytes]]) -> None:
    content = SMALL
    for how, place, piece in changes:
        removed = {"flip": len(piece), "insert": 0, "cut": len(piece)}[how]
        content = content[:place] + (b"" if how == "cut" else piece) + content[place + removed :]
    holds(scratch, content)


def test_every_byte_changed(scratch: Path) -> None:
    for place in range(len(HEADER)):
        for change in (0x01, 0x80, 0xFF):
            holds(scratch, SMALL[:place] + bytes([SMALL[place] ^ change]) + SMALL[place + 1 :])


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse(Path(gguf_header.__file__).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {name for name in names if name.split(".")[0] in sys.stdlib_module_names} != set()
