"""The figures of the second note's claims, against arithmetic in loops, the raw results and other people's models."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import transformers
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

import ordinate.lab
from ordinate import reference
from ordinate.claims import find
from ordinate.claims.words_biases import deberta

FREQUENCIES = [10000.0 ** (-2 * i / 512) for i in range(256)]


def values(name: str) -> dict[str, Any]:
    return dict(find(name).check().values)


def mean(task: str, scheme: str, length: int) -> float:
    """Straight from the file, without the classes that read it."""
    cells = json.loads(Path(ordinate.lab.__file__).with_name("kept_comparison.json").read_text())["cells"]
    losses = [cell["losses"][length] for cell in cells if (cell["task"], cell["scheme"]) == (task, scheme)]
    assert len(losses) == 2
    return sum(losses) / 2


def test_trained_losses_are_those_of_the_file() -> None:
    found = values("scales-automatically")
    for task in ("text", "shift", "last"):
        assert found[task] == pytest.approx(mean(task, "sinusoidal", 3) - mean(task, "sinusoidal", 0), abs=1e-12)
    found = values("relative-distances")
    assert found["trained"] == pytest.approx(mean("shift", "sinusoidal", 0), abs=1e-12)
    assert found["beyond"] == pytest.approx(mean("shift", "sinusoidal", 3), abs=1e-12)
    assert found["multiple"] == 8
    found = values("explicit-positions")
    for task in ("text", "shift"):
        assert found[task] == pytest.approx(mean(task, "nope", 0) - mean(task, "sinusoidal", 0), abs=1e-12)
    found = values("relative-universal")
    for scheme in ("alibi", "deberta", "shaw", "t5", "rope", "learned", "sinusoidal"):
        rises = [mean(task, scheme, 3) - mean(task, scheme, 0) for task in ("text", "shift", "last")]
        assert found[scheme] == pytest.approx(max(rises), abs=1e-12)
    found = values("table-optimal")
    for task in ("text", "shift", "last"):
        assert found[task] == pytest.approx(mean(task, "learned", 0) - mean(task, "sinusoidal", 0), abs=0.0051)


def test_nearest_rows_and_what_bfloat16_leaves() -> None:
    found = values("unique-pattern")
    squares = [sum(2 - 2 * math.cos(w * lag) for w in FREQUENCIES) for lag in (1, 2, 44, 710)]
    assert min(squares) == squares[0]
    assert found["nearest"] == pytest.approx(math.sqrt(squares[0]), rel=1e-12)
    assert found["lag"] == 1
    # eight bits: every number up to 256, then 128 for each doubling up to 8192, then every 64th up to 9984
    assert found["different"] == 257 + 5 * 128 + (9984 - 8192) // 64
    # words are farther apart than positions: the nearest two sums are one word at neighbouring positions
    assert values("unique-words")["nearest"] == pytest.approx(math.sqrt(squares[0]), rel=1e-9)


def test_the_picture() -> None:
    found = values("wave-picture")
    assert found["shortest"] == pytest.approx(2 * math.pi, rel=1e-12)
    assert found["longest"] == pytest.approx(2 * math.pi * 10000 ** (98 / 512), rel=1e-12)
    assert (found["waves"], found["left_out"]) == (50, 206)
    assert found["still"] == sum(50 * w < 2 * math.pi / 10 for w in FREQUENCIES[50:])
    lags = [sum(2 - 2 * math.cos(w * lag) for w in FREQUENCIES[:50]) for lag in range(1, 50)]
    assert found["apart"] == pytest.approx(math.sqrt(min(lags)), rel=1e-12)


def test_the_index() -> None:
    found = values("formula-index")
    assert found["outside"] == len({*range(512, 1024)})
    assert found["exponent"] == 1022 / 512
    assert found["slowest"] == 510 / 512


def test_no_width_has_the_printed_vectors() -> None:
    for position, printed, name in ((1, (0.99, -0.13), "example-position-1"), (2, (0.67, -0.98), "example-position-2")):
        misfits = {}
        for width in range(4, 4097, 2):
            angle = position * mpmath.mpf(10000) ** (-mpmath.mpf(2) / width)
            wanted = mpmath.sin(angle), mpmath.cos(angle)
            misfits[width] = max(abs(value - right) for value, right in zip(printed, wanted, strict=True))
        nearest = min(misfits, key=lambda width: misfits[width])
        found = values(name)
        assert found["width"] == nearest
        assert found["misfit"] == pytest.approx(float(misfits[nearest]), rel=1e-12)
        # nor has the limit of infinite width, where the pair turns by 1
        limit = math.sin(position), math.cos(position)
        assert max(abs(value - right) for value, right in zip(printed, limit, strict=True)) > 0.5
    assert values("example-position-1")["asked"] == pytest.approx(math.acos(-0.13 / math.hypot(0.99, 0.13)), rel=1e-12)
    assert values("example-position-2")["length"] == pytest.approx(math.sqrt(0.67**2 + 0.98**2), rel=1e-12)


def test_one_table() -> None:
    found = values("example-one-table")
    turned = complex(-0.13, 0.99) ** 2 / abs(complex(-0.13, 0.99)) ** 2
    assert found["second"] == pytest.approx(max(abs(turned.imag - 0.67), abs(turned.real + 0.98)), rel=1e-12)
    turned = complex(0.54, 0.84) ** 2 / abs(complex(0.54, 0.84)) ** 2
    assert found["first"] == pytest.approx(max(abs(turned.imag - 0.91), abs(turned.real + 0.41)), rel=1e-12)


def test_first_pairs_and_sums_in_decimals() -> None:
    def two_digits(x: float) -> str:
        return f"{x:.2f}"

    assert [two_digits(f(p)) for p in (1, 2) for f in (math.sin, math.cos)] == ["0.84", "0.54", "0.91", "-0.42"]
    assert values("example-first-pair")["wrong"] == "cos 2"
    added = [("0.5", "0.99", "1.49"), ("0.4", "-0.13", "0.27"), ("-0.4", "0.67", "0.27"), ("0.8", "-0.98", "-0.18")]
    assert all(Decimal(a) + Decimal(b) == Decimal(total) for a, b, total in added)
    assert values("example-sums")["right"] == 12


def test_models_of_other_people_hold_what_the_claims_say() -> None:
    small: dict[str, Any] = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    bert = transformers.BertModel(transformers.BertConfig(**small, vocab_size=9))
    gpt = transformers.OpenAIGPTModel(transformers.OpenAIGPTConfig(n_layer=1, n_embd=16, n_head=2, vocab_size=9))
    gpt_2 = transformers.GPT2Model(transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=9))
    tables = (bert.embeddings.position_embeddings, gpt.positions_embed, gpt_2.wpe)
    assert [table.weight.requires_grad for table in tables] == [True] * 3
    assert [tuple(table.weight.shape) for table in tables] == [(512, 16), (512, 16), (1024, 16)]
    t5 = transformers.T5Model(
        transformers.T5Config(num_layers=1, num_decoder_layers=1, d_model=16, d_kv=8, d_ff=16, num_heads=8, vocab_size=9)
    )
    named = {name: tuple(weight.shape) for name, weight in t5.named_parameters() if "position" in name or "relative" in name}
    assert set(named.values()) == {(32, 8)}
    assert all("relative_attention_bias" in name for name in named)
    assert values("t5-table")["shape"] == "32 x 8"


def test_alibi_is_blooms() -> None:
    bias = build_alibi_tensor(torch.ones(1, 64), 8, torch.float64)[:, 0]
    steps = bias.diff(dim=-1)
    found = values("alibi-shift")
    assert found["first"] == pytest.approx(float(steps[0, 0]), rel=1e-6)
    assert found["last"] == pytest.approx(float(steps[-1, 0]), rel=1e-6)
    assert (found["first"], found["last"]) == (2**-1, 2**-8)


def test_deberta_is_the_loops() -> None:
    generator = np.random.default_rng(7)
    q, k = generator.normal(size=(2, 5, 16))
    keys, queries = generator.normal(size=(2, 10, 16))
    wanted = reference.deberta(q, k, range(5), range(5), keys, queries, 5) * (3 * 16) ** -0.5
    assert np.abs(deberta(q, k, keys, queries) - wanted).max() < 1e-12


def test_the_function_on_odd_widths() -> None:
    function = find("function-widths").check.__defaults__[0]
    assert np.array_equal(function(3, 1), np.sin(np.arange(3))[:, None])
    for width in (3, 5, 511):
        with pytest.raises(ValueError, match="broadcast"):
            function(3, width)


def test_one_name_of_math_is_not_the_module() -> None:
    done = subprocess.run([sys.executable, "-c", "from math import pi\nmath.log(2)"], capture_output=True, text=True, check=False)
    assert "NameError: name 'math' is not defined" in done.stderr
    assert values("module-imports")["missing"] == "math"


def test_plain_tensors_stay_where_they_are() -> None:
    holder = torch.nn.Linear(2, 2)
    holder.table = torch.zeros(3)
    holder.to(torch.float64)
    assert (holder.weight.dtype, holder.table.dtype, "table" in holder.state_dict()) == (torch.float64, torch.float32, False)
    found = values("module-table")
    assert (found["weights"], found["table"], found["device"], found["state"]) == ("float64", "float32", "cpu", "embedding.weight")
    assert (values("module-lengths")["longest"], values("module-lengths")["rows"]) == (8, 8)
