"""The kit's check of sinusoidal vectors: every convention passes and is named, planted faults are found and named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import ordinate
from ordinate.testing.findings import Finding, Report
from ordinate.testing.inputs import assert_input, check_input, check_sinusoidal, from_embeddings, from_length, from_offset

D = 16


def table(
    positions: torch.Tensor, d_model: int = D, base: float = 10000.0, step: float = 2.0, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """The paper's form; each keyword plants a fault."""
    pairs = torch.arange((d_model + 1) // 2)
    frequencies = base ** (-step * pairs / d_model)
    angles = (positions[:, None].to(dtype) * frequencies.to(dtype)).float()
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :d_model]


class Encoding(nn.Module):
    """As tutorials write it."""

    def __init__(self, d_model: int, max_len: int = 5000, scale: float = 1.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", scale * pe)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(x + self.pe[: x.shape[1]])


class Sliced(nn.Module):
    """Gives a view of its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pe", table(torch.arange(512)))

    def forward(self, seq_len: int) -> torch.Tensor:
        return self.pe[:seq_len]


def of_numpy(seq_length: int, d_model: int) -> np.ndarray:
    angles = np.arange(seq_length)[:, None] / np.power(10000, (2 * (np.arange(d_model)[None, :] // 2)) / d_model)
    out = np.zeros((seq_length, d_model))
    out[:, 0::2], out[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    return out


def only(report: Report, kind: str = "sinusoid-construction") -> Finding:
    assert len(report.broken) == 1, str(report)
    (finding,) = report.broken
    assert finding.kind == kind, str(report)
    assert finding.smallest
    assert finding.expected
    return finding


@pytest.mark.parametrize("layout", ["interleaved", "sin_cos", "cos_sin"])
@pytest.mark.parametrize("spacing", ["open", "closed"])
@pytest.mark.parametrize("d_model", [4, 16, 62])
def test_conventions_pass_and_are_named(layout: Any, spacing: Any, d_model: int) -> None:
    def make(width: int) -> ordinate.Sinusoidal:
        return ordinate.Sinusoidal(d_model=width, layout=layout, spacing=spacing)

    report = check_input(make(d_model), scheme="sinusoidal", d_model=d_model, make=make)
    assert report.broken == (), str(report)
    assert f"follows {layout}/{spacing}" in report.findings[0].said
    assert check_sinusoidal(make(d_model), d_model=d_model, convention=f"{layout}/{spacing}").broken == ()


RIGHT: dict[str, Any] = {
    "positions": table,
    "module with dropout": Encoding(D),
    "NumPy": of_numpy,
    "offset": from_offset(lambda x, offset: x + table(torch.arange(offset, offset + x.shape[1])), D),
    "sequence first": from_embeddings(lambda x: x + table(torch.arange(len(x)))[:, None], D, sequence_first=True),
    "length": from_length(lambda n: table(torch.arange(n))),
    "bfloat16 of a float32 table": lambda positions: table(positions).bfloat16(),
    "float16 of a float32 table": lambda positions: table(positions).half(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_forms_pass(name: str) -> None:
    report = check_sinusoidal(RIGHT[name], d_model=D)
    assert report.broken == (), str(report)
    assert report.findings[0].said.startswith("follows interleaved/open")


def test_originals_of_transformers_pass() -> None:
    m2m = pytest.importorskip("transformers.models.m2m_100.modeling_m2m_100")
    whisper = pytest.importorskip("transformers.models.whisper.modeling_whisper")
    got = check_sinusoidal(from_length(lambda n: whisper.sinusoids(n, D)), d_model=D)
    assert (got.broken, got.findings[0].said) == ((), "follows sin_cos/closed")
    weights = m2m.M2M100SinusoidalPositionalEmbedding.get_embedding(512, D)
    assert check_sinusoidal(lambda positions: weights[positions], d_model=D, max_length=512).broken == ()


def own_columns(positions: torch.Tensor) -> torch.Tensor:
    angles = positions[:, None] * 10000.0 ** (-torch.arange(D) / D)
    return torch.where(torch.arange(D) % 2 == 0, angles.sin(), angles.cos())


def doubled(positions: torch.Tensor) -> torch.Tensor:
    even = torch.arange(0, D, 2)
    angles = positions[:, None] / 10000.0 ** (2 * even / D)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


FAULTS: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "exponent i / d": (lambda p: table(p, step=1.0), "exponent is i / d_model"),
    "exponent j / d": (own_columns, "each column has a frequency of its own: exponent j"),
    "doubled twice": (doubled, "doubled twice"),
    "exchanged": (lambda p: table(p).view(-1, D // 2, 2).flip(-1).flatten(1), "sine and cosine are exchanged"),
    "base": (lambda p: table(p, base=500.0), "the base is 500, not 10000"),
    "no base": (lambda p: table(p, base=1.0), "base is ignored"),
    "from 1": (lambda p: table(p + 1), "counted from 1"),
    "from 2": (lambda p: table(p + 2), "counted from 2"),
    "scaled": (lambda p: table(p) * D**0.5, "multiplied by sqrt(d_model)"),
    "constant": (lambda p: table(0 * p), "positions are ignored: all vectors"),
    "unknown": (lambda p: table(p) ** 2, "no known mistake"),
    "raises": (lambda p: table(p)[:, D + 1], "no value"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(name: str) -> None:
    fn, said = FAULTS[name]
    assert said in only(check_sinusoidal(fn, d_model=D)).said


def test_block_layouts_are_recognised_with_faults() -> None:
    blocks = ordinate.Sinusoidal(d_model=D, layout="sin_cos", spacing="closed")
    assert "counted from 2" in only(check_sinusoidal(lambda p: blocks.at(p + 2), d_model=D)).said
    assert check_sinusoidal(lambda p: blocks.at(p + 2), d_model=D, padding_offset=2).broken == ()


def test_the_declared_convention_counts() -> None:
    finding = only(check_sinusoidal(table, d_model=D, convention="sin_cos/open"))
    assert finding.said == "the vectors follow interleaved/open, not sin_cos/open"
    with pytest.raises(ValueError, match="convention: needed one of interleaved/open"):
        check_sinusoidal(table, d_model=D, convention="paper")


LOW: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "bfloat16 angles": (lambda p: table(p, dtype=torch.bfloat16), "rounded to bfloat16"),
    "float16 positions": (lambda p: table(p.half().float()), "positions are rounded to float16"),
    "bfloat16 positions": (lambda p: table(p.bfloat16().float()), "positions are rounded to bfloat16"),
}


@pytest.mark.parametrize("name", LOW)
def test_lost_bits_are_named(name: str) -> None:
    fn, said = LOW[name]
    assert said in only(check_sinusoidal(fn, d_model=D), "low-precision-phase").said


def test_odd_widths() -> None:
    def crashes(width: int) -> Encoding:
        return Encoding(width)

    assert "odd width fails" in only(check_sinusoidal(crashes(D), d_model=D, make=crashes)).said
    short = lambda width: from_length(lambda n: table(torch.arange(n), width - width % 2))  # noqa: E731
    finding = only(check_sinusoidal(short(D), d_model=D, make=short))
    assert finding.said == "vectors of odd width follow no convention"
    own = lambda width: lambda positions: table(positions, width)  # noqa: E731
    assert_input(own(D), scheme="sinusoidal", d_model=D, make=own)
    assert check_sinusoidal(own(5), d_model=5).broken == ()


def test_offsets_that_are_ignored() -> None:
    ignoring = from_offset(lambda x, _: x + table(torch.arange(x.shape[1])), D)
    finding = only(check_sinusoidal(ignoring, d_model=D), "decode-offset")
    assert finding.said == "positions are ignored: vectors are counted from 0"
    assert finding.smallest == "positions [1]"
    assert "takes no offset" in str(check_sinusoidal(Encoding(D), d_model=D))


def test_sharing_is_found_and_put_back() -> None:
    module = Sliced()
    before = module.pe.clone()
    finding = only(check_sinusoidal(module, d_model=D, max_length=512), "cache-key-and-sharing")
    assert "view of a stored table" in finding.said
    assert torch.equal(module.pe, before)
    kept: dict[int, torch.Tensor] = {}

    def memoised(positions: torch.Tensor) -> torch.Tensor:
        return kept.setdefault(len(positions), table(positions))

    assert set(check_sinusoidal(memoised, d_model=D).kinds) >= {"cache-key-and-sharing"}


def test_memory_is_found() -> None:
    longest = [0]

    def stretched(positions: torch.Tensor) -> torch.Tensor:
        longest[0] = max(longest[0], len(positions))
        return table(positions) if longest[0] < 9 or len(positions) >= 9 else table(positions) + 0.5

    fresh = from_length(lambda n: stretched(torch.arange(n)))
    assert check_sinusoidal(fresh, d_model=D, max_length=8).broken == ()
    calls: list[int] = []

    def after_eight(positions: torch.Tensor) -> torch.Tensor:
        calls.append(len(positions))
        return table(positions) + (0.5 if calls[-2:] == [8, 3] else 0.0)

    assert check_sinusoidal(after_eight, d_model=D).kinds == ("cache-key-and-sharing",)


class SinusoidalEncoding(Encoding):
    """Found by its name and made by its arguments."""

    def __init__(self, d_model: int, max_len: int, scale: float = 1.0) -> None:
        super().__init__(d_model, max_len, scale)


def test_classes_are_made() -> None:
    report = check_input(SinusoidalEncoding)
    assert report.subject == "SinusoidalEncoding"
    assert "odd width fails" in only(report).said
    scaled = check_input(SinusoidalEncoding, d_model=D, settings={"scale": 4.0}, name="mine")
    assert "multiplied by sqrt(d_model)" in scaled.broken[0].said
    assert check_input(ordinate.Sinusoidal, d_model=D).broken == ()


def test_short_tables_are_no_fault() -> None:
    for length in (16, 300):
        report = check_sinusoidal(Encoding(D, max_len=length), d_model=D)
        assert report.broken == (), str(report)
        weights = table(torch.arange(length))
        assert check_sinusoidal(lambda positions, w=weights: w[positions], d_model=D).broken == ()


def test_what_is_not_said() -> None:
    with pytest.raises(ValueError, match=r"for the name 'vectors .*' does not say it"):
        check_input(RIGHT["positions"].__call__, name="vectors")
    with pytest.raises(ValueError, match=r"sinusoidal: needed some of convention, .*got overflow"):
        check_input(table, scheme="sinusoidal", overflow="wrap")
