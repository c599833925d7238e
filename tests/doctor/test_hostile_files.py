"""Damaged and hostile files: one line, exit status 2, bounded, and nothing is executed."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints_on_disk import LLAMA, row, safetensors, table, written

from ordinate.cli.main import main
from ordinate.doctor import look


def header(text: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text + data


ENTRY = {"inv_freq": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
BROKEN_JSON = {
    "empty": b"",
    "blank": b"  \n",
    "a list": b"[]",
    "cut": b'{"model_type": ',
    "nul": b"\0" * 100,
    "wrong utf-8": b'{"model_type": "\xff\xfe"}',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "huge": b" " * (3 * 2**20),
    "twice": b'{"model_type": "llama", "rope_theta": 1e4, "rope_theta": 5e5}',
    "many digits": b'{"rope_theta": ' + b"9" * 100_000 + b"",
}
BROKEN_TENSORS = {
    "empty": b"",
    "seven bytes": b"\0" * 7,
    "longer than the file": header(b"{}", length=2**62),
    "no json": header(b"\xff" * 10),
    "a list": header(b"[1]"),
    "deep": header(b"[" * 100_000),
    "no entry": header(json.dumps({"a": 5}).encode()),
    "no offsets": header(json.dumps({"a": {"dtype": "F32", "shape": [1]}}).encode()),
    "negative": header(json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}).encode()),
    "backwards": header(json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}).encode()),
    "beyond the end": header(json.dumps(ENTRY).encode()),
    "another size": header(json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}).encode(), bytes(4)),
    "nan": header(b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 4]}}', bytes(4)),
    "a text": header(b'{"a": {"dtype": "F32", "shape": ["1"], "data_offsets": [0, 4]}}', bytes(4)),
    "a number too large": header(b'{"a": {"dtype": "F32", "shape": [1e400], "data_offsets": [0, 4]}}', bytes(4)),
}


def one_line(target: Path | str, capsys: pytest.CaptureFixture[str]) -> str:
    """Looked at by the command: status 2, no traceback, and the finding in a line."""
    assert main(["doctor", str(target), "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.err == ""
    (found,) = [each for each in json.loads(printed.out)["findings"] if each["code"] == "ORD901"]
    assert found["message"].isprintable()
    assert len(found["message"]) < 600
    assert main(["doctor", str(target)]) == 2
    assert "Traceback" not in capsys.readouterr().out
    return str(found["message"])


@pytest.mark.parametrize("name", BROKEN_JSON)
def test_broken_configurations(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_bytes(BROKEN_JSON[name])
    one_line(tmp_path / "config.json", capsys)
    one_line(tmp_path, capsys)


@pytest.mark.parametrize("name", BROKEN_TENSORS)
def test_broken_weights(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, LLAMA)
    (tmp_path / "model.safetensors").write_bytes(BROKEN_TENSORS[name])
    assert "model.safetensors" in one_line(tmp_path, capsys)
    one_line(tmp_path / "model.safetensors", capsys)


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "config.json")
    one_line(tmp_path / "config.json", capsys)
    os.mkfifo(tmp_path / "pipe.gguf")
    one_line(tmp_path / "pipe.gguf", capsys)
    os.mkfifo(tmp_path / "pipe.safetensors")
    one_line(tmp_path / "pipe.safetensors", capsys)
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    one_line(tmp_path / "loop.json", capsys)
    (tmp_path / "empty").mkdir()
    one_line(tmp_path / "empty", capsys)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").mkdir()
    one_line(tmp_path / "folder", capsys)
    for name in ("missing.json", "missing", "missing.gguf", "a\0b", "x" * 5000, ""):
        one_line(name, capsys)
    (tmp_path / "no.gguf").write_bytes(b"GGUG" + bytes(64))
    one_line(tmp_path / "no.gguf", capsys)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e400", "-1e400", '"1e6"', "true", "[]", "{}", "9" * 400])
def test_values_that_no_number_is(value: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(f'{{"model_type": "llama", "rope_theta": {value}}}')
    assert {each.severity for each in look(str(tmp_path)).findings} == {"error", "note"}
    (tmp_path / "config.json").write_text(
        f'{{"rope_theta": 1e4, "head_dim": 128, "rope_scaling": {{"rope_type": "yarn", "factor": {value}}}}}'
    )
    assert "error" in {each.severity for each in look(str(tmp_path)).findings}


def test_values_of_any_type_anywhere(tmp_path: Path) -> None:
    keys = (
        "rope_theta",
        "rope_scaling",
        "head_dim",
        "hidden_size",
        "num_attention_heads",
        "layer_types",
        "rotary_dim",
        "torch_dtype",
    )
    keys += ("max_position_embeddings", "partial_rotary_factor", "mrope_section", "model_type", "text_config", "vision_config")
    keys += ("original_max_position_embeddings", "num_hidden_layers", "rope_parameters", "auto_map")
    values = (None, True, -1, 0, 2**70, 1.5, float("nan"), "x", [], [None], {}, {"a": {"b": []}}, [[1]], {"full_attention": 5})
    base = {"rope_theta": 1e4, "head_dim": 64, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    for model_type in ({}, {"model_type": "llama"}, {"model_type": "llava"}, {"model_type": "gemma3_text"}, {"model_type": "mine"}):
        for key in keys:
            for value in values:
                (tmp_path / "config.json").write_text(json.dumps({**base, **model_type, key: value}))
                assert all(each.message.isprintable() for each in look(str(tmp_path)).findings)


def test_values_of_any_type_in_a_rule(tmp_path: Path) -> None:
    keys = (
        "factor",
        "rope_type",
        "type",
        "short_factor",
        "long_factor",
        "attention_factor",
        "mscale",
        "mscale_all_dim",
        "beta_fast",
    )
    keys += ("original_max_position_embeddings", "mrope_section", "low_freq_factor", "full_attention", "alpha", "rope_theta")
    values = (None, True, -1, 0, 1e300, 5e-324, "x", [], [1.0], [None], {}, {"rope_theta": "x"}, "yarn", "longrope")
    rule = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32, "original_max_position_embeddings": 64}
    for model_type in ({}, {"model_type": "llama"}):
        for key in keys:
            for value in values:
                config = {**model_type, "rope_theta": 1e4, "head_dim": 64, "rope_scaling": {**rule, key: value}}
                (tmp_path / "config.json").write_text(json.dumps(config))
                assert all(each.message.isprintable() for each in look(str(tmp_path)).findings)


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ordinate.doctor.folder.MOST_ENTRIES", 20)
    for number in range(30):
        (tmp_path / f"model-{number}.safetensors").write_bytes(b"")
    assert "at most 20 files" in one_line(tmp_path, capsys)


def test_pickles_are_named_and_not_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'exploded'}",)

    folder = written(tmp_path / "model", LLAMA)
    for name in ("pytorch_model.bin", "consolidated.00.pth", "weights.pt"):
        (folder / name).write_bytes(pickle.dumps(Bomb()))
    (folder / "modeling_own.py").write_text(f"open({str(tmp_path / 'exploded')!r}, 'w')")
    found = [each for each in look(str(folder)).findings if each.code == "ORD903"]
    assert [each.message for each in found] == ["not opened: consolidated.00.pth, pytorch_model.bin, weights.pt"]
    assert not (tmp_path / "exploded").exists()
    assert look(str(folder / "pytorch_model.bin")).findings[0].code == "ORD901"


def test_odd_tensors_are_no_trouble(tmp_path: Path) -> None:
    tensors = {
        "a.inv_freq": ("F32", [0], b""),
        "b.inv_freq": ("I64", [1], bytes(8)),
        "c.inv_freq": ("F8_E4M3", [4], bytes(4)),
        "wpe.weight": ("F32", [0, 0], b""),
        "d\n.inv_freq": row([1.0]),
        "position_embeddings.weight": table(1, 1),
    }
    folder = written(tmp_path, LLAMA)
    (folder / "model.safetensors").write_bytes(safetensors(tensors))
    assert all(each.message.isprintable() and each.where.isprintable() for each in look(str(folder)).findings)


def test_no_torch_for_files(tmp_path: Path) -> None:
    folder = written(tmp_path, LLAMA, {"rotary_emb.inv_freq": row([1.0] * 64), "wpe.weight": table(4, 8)})
    (folder / "config.json").write_text(json.dumps({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}}))
    code = f"""
import sys
from ordinate.cli.main import main
asked = [{str(folder / "config.json")!r}], [{str(folder)!r}, "--json"], ["--explain", "ORD101"]
status = [main(["doctor", *each]) for each in asked]
assert status == [0, 1, 0], status
heavy = [name for name in ("torch", "transformers", "safetensors", "rich", "gguf") if name in sys.modules]
assert heavy == [], heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_file_of_newlines_takes_no_time(tmp_path: Path) -> None:
    folder = written(tmp_path, LLAMA)
    (folder / "mergekit_config.yml").write_text("\n" * 65_000)
    assert all(each.severity == "note" for each in look(str(folder)).findings)


def test_what_is_broken_beside_a_configuration_is_named_and_hides_nothing(tmp_path: Path) -> None:
    base = written(tmp_path / "base", LLAMA)
    (base / "config.json").write_text("{")
    folder = written(tmp_path / "own", {**LLAMA, "rope_teta": 1e6})
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    (folder / "gone.safetensors").symlink_to(tmp_path / "nowhere")
    found = look(str(folder)).findings
    assert {"ORD101", "ORD901"} <= {each.code for each in found}
    said = [each.message for each in found if each.code == "ORD901"]
    assert any(str(base) in each for each in said)
    assert any("gone.safetensors" in each for each in said)
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "x" * 300}))
    assert "ORD101" in {each.code for each in look(str(folder)).findings}


@pytest.mark.parametrize("value", [float("nan"), -1, 0, "x"])
def test_a_size_that_is_none_is_named(tmp_path: Path, value: object) -> None:
    found = look(str(written(tmp_path, {**LLAMA, "head_dim": value}))).findings
    assert [each.where for each in found if each.severity == "error"] == ["head_dim"]


def test_a_thousand_unknown_keys(tmp_path: Path) -> None:
    found = look(str(written(tmp_path, {**LLAMA, **{f"rope_{n}": 1 for n in range(1000)}}))).findings
    assert len(found) >= 1000
