"""Small checkpoints on disk: configurations, safetensors files written by hand, and what the doctor says of them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.doctor import Diagnosis, compared, look

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "num_attention_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}


def safetensors(tensors: Mapping[str, tuple[str, Sequence[int], bytes]]) -> bytes:
    """The format as its specification has it: a length, JSON, data."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def row(values: Sequence[float], dtype: str = "F32") -> tuple[str, Sequence[int], bytes]:
    if dtype == "BF16":  # by torch's own rounding, as an oracle
        import torch

        content = torch.tensor(list(values), dtype=torch.float64).to(torch.float32).bfloat16().view(torch.int16).numpy().tobytes()
        return dtype, [len(values)], content
    kind = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[dtype]
    return dtype, [len(values)], np.asarray(values, dtype=np.float64).astype(kind).tobytes()


def table(rows: int, width: int) -> tuple[str, Sequence[int], bytes]:
    return "F16", [rows, width], bytes(2 * rows * width)


def frequencies(base: float, width: int, *, over: int | None = None, factor: float = 1.0) -> list[float]:
    return [base ** (-2 * i / (over or width)) / factor for i in range(width // 2)]


def written(
    folder: Path, config: Mapping[str, Any] | None, tensors: Mapping[str, Any] | None = None, **others: Mapping[str, Any]
) -> Path:
    """A checkpoint's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if tensors is not None:
        (folder / "model.safetensors").write_bytes(safetensors(tensors))
    for name, values in others.items():
        (folder / f"{name}.json").write_text(json.dumps(values))
    return folder


def found_in(*targets: Path | str) -> list[Diagnosis]:
    looked = [look(str(target)) for target in targets]
    found = [each for one in looked for each in one.findings]
    return found + (compared(*looked) if len(looked) == 2 else [])


def loud(found: Sequence[Diagnosis]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in found if each.severity != "note"]
