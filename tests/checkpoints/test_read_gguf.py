"""Headers of GGUF files: any value under any key, architectures, rows of factors."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mutations import (
    accepted,
    outcome,
    refused,
)
from small_configs import written

from ordinate.checkpoints.gguf_models import ARCHITECTURES, SCALING_WORDS, WORDS

# Headers of GGUF files


def gguf_text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf_value(value: Any) -> tuple[int, bytes]:
    match value:
        case bool():
            return 7, struct.pack("<?", value)
        case int():
            return (10, struct.pack("<Q", value)) if value >= 0 else (11, struct.pack("<q", value))
        case float():
            return 12, struct.pack("<d", value)
        case str():
            return 8, gguf_text(value)
        case _:
            kinds = [gguf_value(part)[0] for part in value] or [4]
            return 9, struct.pack("<IQ", kinds[0], len(value)) + b"".join(gguf_value(part)[1] for part in value)


def gguf(folder: Path, entries: Mapping[str, Any], rows: Mapping[str, list[float]] | None = None) -> Path:
    """A file with these entries and float32 rows."""
    rows = rows or {}
    infos, data = b"", b""
    for name, row in rows.items():
        infos += gguf_text(name) + struct.pack("<IQIQ", 1, len(row), 0, len(data))
        data += struct.pack(f"<{len(row)}f", *row)
        data += b"\0" * (-len(data) % 32)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(entries))
    for key, value in entries.items():
        kind, raw = gguf_value(value)
        header += gguf_text(key) + struct.pack("<I", kind) + raw
    header += infos
    return written(folder, header + b"\0" * (-len(header) % 32) + data, name="a.gguf")


def header_of(architecture: str, **change: Any) -> dict[str, Any]:
    sizes = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "context_length": 128}
    entries = {f"{architecture}.{key}": value for key, value in {**sizes, **change}.items()}
    return {"general.architecture": architecture, **entries}


IN_HEADERS = (
    True,
    -1,
    0,
    3,
    2**63,
    0.5,
    math.nan,
    math.inf,
    1e300,
    "x",
    "a\nb",
    "",
    [1, 2],
    [math.nan],
    ["a\nb"],
    list(range(1000)),
)
HEADER_KEYS = [*WORDS, *SCALING_WORDS, "rope.dimension_count", "rope.scaling.alpha", "rope.scaling.x\ny", "attention.causal"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_value_in_a_header(tmp_path: Path, architecture: str) -> None:
    accepted(gguf(tmp_path, header_of(architecture)))
    for key in HEADER_KEYS:
        for value in IN_HEADERS:
            outcome(gguf(tmp_path, header_of(architecture, **{key: value})))


@pytest.mark.parametrize("architecture", [None, 5, "lama", "a\nb", ["llama"]], ids=repr)
def test_unknown_architectures(tmp_path: Path, architecture: Any) -> None:
    entries = {} if architecture is None else {"general.architecture": architecture}
    refused(gguf(tmp_path, entries), "general.architecture", "is not in the table", "known are", "llama")


ROWS = {"nan": math.nan, "inf": math.inf, "zero": 0.0, "below": -1.0, "tiny": 1e-45}


@pytest.mark.parametrize("what", ROWS)
def test_hostile_rows_of_factors(tmp_path: Path, what: str) -> None:
    row = [ROWS[what]] * 8
    header = header_of("llama", **{"rope.scaling.original_context_length": 64})
    short, long = "rope_factors_short.weight", "rope_factors_long.weight"
    refused(gguf(tmp_path, header_of("llama"), {"rope_freqs.weight": row}), "a.gguf", "rope_freqs.weight")
    refused(gguf(tmp_path, header, {short: row, long: row}), "a.gguf", "short_factor")
    refused(gguf(tmp_path, header, {short: [1.0] * 8, long: row}), "a.gguf", "long_factor")


def test_rows_of_factors_that_do_not_fit(tmp_path: Path) -> None:
    short = "rope_factors_short.weight"
    for count in (0, 1, 7, 9):
        refused(gguf(tmp_path, header_of("llama"), {"rope_freqs.weight": [1.0] * count}), "a.gguf", "rope_freqs.weight")
    refused(gguf(tmp_path, header_of("llama"), {short: [1.0] * 8}), short, "needed both or neither, got one")
