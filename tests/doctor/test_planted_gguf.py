"""Faults in GGUF headers, written by hand as the format's specification has them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from checkpoints_on_disk import LLAMA, found_in, loud, written

ENTRIES = {
    "llama.block_count": 4,
    "llama.embedding_length": 512,
    "llama.attention.head_count": 4,
    "llama.context_length": 131072,
    "llama.rope.freq_base": 500000.0,
    "llama.rope.dimension_count": 128,
}
YARN = {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0, "llama.rope.scaling.original_context_length": 32768}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key: str, value: float | str) -> bytes:
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    return text(key) + (struct.pack("<II", 4, value) if isinstance(value, int) else struct.pack("<If", 6, value))


def gguf(path: Path, entries: dict[str, float | str], architecture: str = "llama", table: tuple[int, int] | None = None) -> Path:
    content = [entry("general.architecture", architecture), *(entry(key, value) for key, value in entries.items())]
    tensors = b"" if table is None else text("position_embd.weight") + struct.pack("<IQQIQ", 2, *table[::-1], 1, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, int(table is not None), len(content))
    path.write_bytes(head + b"".join(content) + tensors + bytes(64))
    return path


PLANTED = [
    ("clean", ENTRIES, None),
    ("yarn", {**ENTRIES, **YARN}, None),
    ("yarn too short", {**ENTRIES, **YARN, "llama.rope.scaling.factor": 2.0}, "ORD104"),
    ("linear too short", {**ENTRIES, **YARN, "llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0}, "ORD104"),
    ("unknown rule", {**ENTRIES, **YARN, "llama.rope.scaling.type": "yarm"}, "ORD103"),
    ("unread", {**ENTRIES, "llama.rope.scale_linear": 4.0}, "ORD101"),
    ("another width", {**ENTRIES, "llama.rope.dimension_count": 96}, "ORD103"),
]


@pytest.mark.parametrize(("name", "entries", "code"), PLANTED, ids=[each[0] for each in PLANTED])
def test_planted(name: str, entries: dict[str, float | str], code: str | None, tmp_path: Path) -> None:  # noqa: ARG001
    assert [each for each, _ in loud(found_in(gguf(tmp_path / "a.gguf", entries)))] == ([] if code is None else [code])


def test_an_unknown_architecture_is_a_note(tmp_path: Path) -> None:
    assert [each.code for each in found_in(gguf(tmp_path / "a.gguf", {}, "mine"))] == ["ORD902"]


def test_rows_of_a_table(tmp_path: Path) -> None:
    entries = {"gpt2.block_count": 1, "gpt2.embedding_length": 8, "gpt2.attention.head_count": 2, "gpt2.context_length": 64}
    assert loud(found_in(gguf(tmp_path / "a.gguf", entries, "gpt2", (64, 8)))) == []
    assert [code for code, _ in loud(found_in(gguf(tmp_path / "b.gguf", entries, "gpt2", (32, 8))))] == ["ORD602"]


def test_converters_exchange_rows_by_design(tmp_path: Path) -> None:
    """The same model in both formats: other pairs, told as a note; another base is a fault."""
    same = written(tmp_path / "same", {**LLAMA, "rope_theta": 5e5, "max_position_embeddings": 131072})
    other = written(tmp_path / "other", {**LLAMA, "max_position_embeddings": 131072})
    file = gguf(tmp_path / "a.gguf", ENTRIES)
    found = found_in(same, file)
    assert loud(found) == []
    assert "ORD301" in {each.code for each in found}
    assert [code for code, _ in loud(found_in(other, file))] == ["ORD801"]
    folder = tmp_path / "folder"
    folder.mkdir()
    gguf(folder / "model.gguf", ENTRIES)
    assert loud(found_in(folder)) == []
