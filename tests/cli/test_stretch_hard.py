"""``ordinate stretch`` on what is unusual, damaged or used twice at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.test_stretch import LENGTH, found, stretch
from ordinate.stretching import writing
from stretching.conftest import TRAINED, llama, save, text, tiny

__all__ = ["text", "tiny"]

PLAIN = ("--start", "10", "--chunk", "50")


def loss(folder: Path, rule: str = "native", length: int = LENGTH) -> float:
    return next(float(cell["loss"]) for cell in found(folder)["cells"] if (cell["rule"], cell["length"]) == (rule, length))


def test_a_rule_that_depends_on_the_length_does_not_depend_on_what_ran_before(tmp_path: Path, text: Path) -> None:
    """transformers' own module remembers the longest sequence that it has seen."""
    native = {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 4.0}
    folder = save(llama(rope_parameters=native), tmp_path / "model")
    losses = set()
    for number, more in enumerate((["--lengths", str(LENGTH)], ["--lengths", f"{LENGTH},{5 * LENGTH}"], ["--tests", "shift,ppl"])):
        arguments = ["--rules", "native", "--text", text, "--output", tmp_path / str(number), *more]
        assert stretch(folder, *PLAIN, *([] if "--tests" in more else ["--tests", "ppl"]), *arguments) == 0
        losses.add(round(loss(tmp_path / str(number)), 6))
    assert len(losses) == 1
    assert found(tmp_path / "2")["shift"] == {}


def test_another_model_under_the_same_name_is_another_run(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(llama(), tmp_path / "model")
    arguments = (folder, *PLAIN, "--tests", "ppl", "--rules", "native", "--text", text, "--output", tmp_path / "report")
    assert stretch(*arguments) == 0
    model = llama()
    with torch.no_grad():
        model.lm_head.weight[-1, -1] += 1.0
    save(model, folder)
    assert stretch(*arguments) == 2
    assert "belongs to another run" in capsys.readouterr().err


@pytest.mark.parametrize("tests", ["ppl", "needle"])
def test_layers_with_a_window(tmp_path: Path, text: Path, tests: str) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = MistralConfig(**sizes, num_key_value_heads=1, vocab_size=256, max_position_embeddings=TRAINED, sliding_window=40)
    folder = save(MistralForCausalLM(config).eval(), tmp_path / "model")
    arguments = ("--tests", tests, "--rules", "native", "--lengths", "512", "--text", text, "--output", tmp_path / "report")
    assert stretch(folder, *PLAIN, *arguments) == 0
    document = found(tmp_path / "report")
    if tests == "needle":
        assert [line["depth"] for line in document["needle"]] == [0.1, 0.5, 0.9]
        return
    from stretching.test_losses import plain_losses

    tokens = torch.tensor([ord(letter) for letter in text.read_text()[10 : 10 + 513]])
    from transformers import AutoTokenizer

    tokens = torch.tensor(
        AutoTokenizer.from_pretrained(folder)(text.read_text(), add_special_tokens=False)["input_ids"][10 : 10 + 513]
    )
    assert loss(tmp_path / "report", length=512) == pytest.approx(plain_losses(folder, tokens).mean().item(), abs=1e-5)


def test_two_at_once_are_told(tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("report").mkdir()
    with writing.locked(tmp_path / "report"):
        assert stretch(tiny, *PLAIN, "--tests", "ppl", "--text", text, "--output", tmp_path / "report") == 2
    assert "another run is at work" in capsys.readouterr().err
    assert stretch(tiny, *PLAIN, "--tests", "ppl", "--text", text, "--output", tmp_path / "report") == 0


def test_losses_that_are_no_numbers_fail_their_cell(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = llama()
    with torch.no_grad():
        model.model.layers[0].mlp.down_proj.weight.mul_(float("inf"))
    folder = save(model, tmp_path / "model")
    assert stretch(folder, *PLAIN, "--tests", "ppl,shift", "--text", text, "--output", tmp_path / "report") == 1
    assert "failed: needed finite losses, got others" in capsys.readouterr().out
    assert all("finite" in cell["failed"] for cell in found(tmp_path / "report")["cells"])


def test_models_that_end_somewhere_fail_with_their_reason(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transformers import MptConfig, MptForCausalLM

    torch.manual_seed(0)
    folder = save(
        MptForCausalLM(MptConfig(d_model=32, n_heads=2, n_layers=2, max_seq_len=TRAINED, vocab_size=256)), tmp_path / "model"
    )
    assert stretch(folder, *PLAIN, "--tests", "ppl", "--text", text, "--output", tmp_path / "report") == 1
    said = capsys.readouterr().out
    assert "no estimate: RuntimeError" in said
    assert f"ppl native {LENGTH}: failed: RuntimeError" in said


def test_nothing_to_measure_is_said(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 256, "n_positions": TRAINED}
    folder = save(GPT2LMHeadModel(GPT2Config(**sizes)), tmp_path / "model")
    for arguments, said in (
        (["--rules", "native", "--tests", "ppl"], "nothing to measure: gpt2 has no ppl under native there"),
        (["--tests", "shift"], "nothing to measure: gpt2 has no shift"),
        (["--trained", "128"], "--trained: needed the length of the learned table, 64, or nothing, got 128"),
    ):
        assert stretch(folder, *PLAIN, *arguments, "--text", text, "--output", tmp_path / "report") == 2
        assert said in capsys.readouterr().err


def test_damaged_lines_are_run_again(tiny: Path, text: Path, tmp_path: Path) -> None:
    arguments = (tiny, *PLAIN, "--tests", "ppl", "--rules", "native", "--text", text, "--output", tmp_path / "report")
    assert stretch(*arguments) == 0
    before = found(tmp_path / "report")
    path = tmp_path / "report" / "cells" / f"ppl-native-{LENGTH}.jsonl"
    first, second, *_ = path.read_text().splitlines(keepends=True)
    for wrong in ('{"losses": "x"}\n', '{"window": 0, "chunk": 1, "first": 50, "losses": [NaN]}\n', second.replace("[", '["a", ')):
        path.write_text(first + second + wrong + second)
        assert stretch(*arguments) == 0
        assert found(tmp_path / "report") == before
    path.write_text(first + second + second)  # as two runs at once would have left it
    assert stretch(*arguments) == 0
    assert found(tmp_path / "report") == before


def test_results_of_others_are_left_alone(tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"mine": 1}))
    assert stretch(tiny, *PLAIN, "--tests", "ppl", "--text", text, "--output", tmp_path) == 2
    assert "was not made by an earlier run" in capsys.readouterr().err
    assert json.loads((tmp_path / "results.json").read_text()) == {"mine": 1}


@pytest.mark.parametrize(
    ("held", "said"),
    [('{"short_factor": "1111", "long_factor": "1111"}', "it has no such lists"), ("[" * 100_000, "longrope: needed a JSON file")],
    ids=["text", "deep"],
)
def test_odd_factors(tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], held: str, said: str) -> None:
    factors = tmp_path / "factors.json"
    factors.write_text(held)
    assert stretch(tiny, *PLAIN, "--rules", f"longrope:{factors}", "--text", text, "--output", tmp_path / "report") == 2
    assert said in capsys.readouterr().err


def test_short_lengths_and_odd_texts(tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stretch(tiny, *PLAIN, "--trained", "4", "--lengths", "6", "--text", text, "--output", tmp_path / "report") == 2
    assert "--lengths: needed at least 8 tokens, got 6" in capsys.readouterr().err
    odd = tmp_path / "odd.txt"
    odd.write_bytes("water".encode("utf-16-le") * 1000)
    assert stretch(tiny, *PLAIN, "--text", odd, "--output", tmp_path / "report") == 2
    assert "holds NUL characters" in capsys.readouterr().err
