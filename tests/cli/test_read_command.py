"""``ordinate read``: prints the plan, or one line and status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ordinate.cli.main import main

CONFIGS = Path(__file__).parents[1] / "checkpoints" / "configs"


def test_the_plan_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(CONFIGS / "llama_3_2_1b.json")]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "llama_3_2_1b.json: llama"
    (theta,) = (line for line in lines if line.startswith("rope_theta"))
    assert theta.split() == ["rope_theta", "500000.0", "->", "base", "500000.0"]
    assert "layers 0-15: rope, head_dim=64, layout='half', base=500000.0" in printed.out
    assert printed.err == ""


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "--json", str(CONFIGS / "bert_base_uncased.json")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["stacks"][0]["input"] == {"scheme": "learned", "max_length": 512, "d_model": 768, "padding_offset": 0}


def test_warnings_are_printed_with_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(CONFIGS / "gpt2.json")]) == 0
    assert "warning: n_ctx: changes nothing: gpt2 reads no such key" in capsys.readouterr().out


def test_a_type_may_be_named_and_keys_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "rope_extra": 3}))
    assert main(["read", str(path)]) == 2
    assert "model_type: needed" in capsys.readouterr().err
    assert main(["read", str(path), "--model-type", "llama"]) == 2
    assert "rope_extra: looks like a key of positions and is unknown" in capsys.readouterr().err
    assert main(["read", str(path), "--model-type", "llama", "--ignore", "rope_extra"]) == 0


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00", '{"model_type": "lama"}', "{" * 100_000])
def test_one_line_for_what_cannot_be_read(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    assert main(["read", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ordinate read: ")
    assert printed.err.count("\n") == 1


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("missing.json", "missing.gguf"):
        assert main(["read", name]) == 2
        assert capsys.readouterr().err == f"ordinate read: {name}: could not read (No such file or directory)\n"


def test_the_types_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "--types"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["llama", "rope", "half", "input"] in rows
    assert ["deberta-v2", "tables", "or", "biases"] in rows
    assert ["gemma3", "as", "gemma3_text"] in rows
    assert main(["read"]) == 2
    assert capsys.readouterr().err == "ordinate read: needed a PATH, or --types\n"


def test_hints_are_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    for values, option in (({}, "say it with --model-type"), ({"model_type": "llama", "rope_xyzabc": 1}, "pass it with --ignore")):
        path.write_text(json.dumps(values))
        assert main(["read", str(path)]) == 2
        assert option in capsys.readouterr().err
