"""ALiBi in extra channels: what they add to scores, attention against float64, and its error beside that of a mask of biases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ordinate import ALiBi, T5Bias, reference
from ordinate.attention.factored import attend_factored, factored

HALVES = [torch.bfloat16, torch.float16]
# a slope's two parts hold 17 and 23 bits of it
SLOPE_ERROR = {torch.bfloat16: 2.0**-17, torch.float16: 2.0**-23}
ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
RULES = [(8, "paper"), (6, "authors"), (12, "authors")]


def drawn(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def at_range(alibi: ALiBi, places: range) -> Any:
    return alibi.at(places, places)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("n_heads", "rule"), RULES)
@pytest.mark.parametrize(("scale", "places"), [
    (0.125, range(2)),
    (0.125, range(700)),
    (-(80**-0.5), range(10**12, 10**12 + 70001)),
    (1.0, range(-3, 2**21, 2**10 + 1)),
    (1 / 16, range(-(2**20), 2**20 + 1, 2**11)),
])  # fmt: skip
def test_channels_add_slope_times_position(dtype: torch.dtype, n_heads: int, rule: Any, scale: float, places: range) -> None:
    """Their products differ along a row by the slope times the distance, to the error of the slope's parts alone."""
    alibi, x = ALiBi(n_heads=n_heads, slopes=rule), torch.zeros(1, 1, len(places), 1, dtype=dtype)
    wide_q, wide_k = factored(x.expand(1, n_heads, -1, -1), x, alibi, at_range(alibi, places), scale)
    added = scale * wide_q[0, :, -1:].double() @ wide_k[0, 0].double().mT
    distances = torch.tensor([float(place - places[-1]) for place in places], dtype=torch.float64)
    asked = torch.tensor(reference.alibi_slopes(n_heads, rule), dtype=torch.float64)[:, None] * distances
    assert wide_q.dtype == wide_k.dtype == dtype
    assert torch.equal(wide_q, wide_q[:, :, :1].expand_as(wide_q))
    assert ((added - added[..., -1:])[:, 0] - asked).abs().le(SLOPE_ERROR[dtype] * asked.abs()).all()


@pytest.mark.parametrize(("dtype", "width", "wide"), [
    (torch.bfloat16, 64, 72), (torch.float16, 64, 72), (torch.bfloat16, 58, 64), (torch.bfloat16, 60, 72), (torch.float16, 60, 64),
])  # fmt: skip
def test_widths_are_multiples_of_8(dtype: torch.dtype, width: int, wide: int) -> None:
    alibi = ALiBi(n_heads=4, slopes="paper")
    q, k = drawn(2, 4, 5, width, dtype=dtype), drawn(2, 2, 5, width, dtype=dtype, seed=1)
    wide_q, wide_k = factored(q, k, alibi, at_range(alibi, range(5)), 0.5)
    assert (wide_q.shape, wide_k.shape) == ((2, 4, 5, wide), (2, 2, 5, wide))
    assert torch.equal(wide_q[..., :width], q)
    assert torch.equal(wide_k[..., :width], k)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("n_heads", "n_kv_heads", "width", "value_width", "places"), [
    (4, 2, 8, 8, range(9)),
    (6, 1, 5, 3, range(100, 121, 3)),
    (3, 3, 16, 40, range(-8, 6)),
    (1, 1, 8, 8, range(7, 8)),
])  # fmt: skip
def test_attention_is_that_of_the_loops(
    dtype: torch.dtype, n_heads: int, n_kv_heads: int, width: int, value_width: int, places: range
) -> None:
    alibi, tokens = ALiBi(n_heads=n_heads, slopes="authors"), len(places)
    q = drawn(2, n_heads, tokens, width, dtype=dtype)
    k, v = (drawn(2, n_kv_heads, tokens, size, dtype=dtype, seed=size) for size in (width, value_width))
    out = attend_factored(q, k, v, alibi, at_range(alibi, places), 0.3, 0.0)
    assert (out.shape, out.dtype) == ((2, n_heads, tokens, value_width), dtype)
    bias = reference.alibi(places, places, reference.alibi_slopes(n_heads, "authors"))
    for b in range(2):
        for h in range(n_heads):
            one = (x.double().numpy() for x in (q[b, h], k[b, h * n_kv_heads // n_heads], v[b, h * n_kv_heads // n_heads]))
            slow = reference.attention(*one, 0.3, bias[h], np.tri(tokens) > 0)
            assert np.abs(out[b, h].double().numpy() - slow).max() < 2 * ROUNDING[dtype] * np.abs(slow).max()


def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, slopes: list[float], rows: torch.Tensor, scale: float) -> torch.Tensor:
    """Some rows of attention in float64, head by head."""
    columns = torch.arange(q.shape[2])
    ahead = (columns - rows[:, None]).double()
    out = []
    for h, slope in enumerate(slopes):
        scores = scale * q[0, h, rows].double() @ k[0, h].double().mT + slope * ahead
        out.append(scores.masked_fill(ahead > 0, -math.inf).softmax(-1) @ v[0, h].double())
    return torch.stack(out)


def by_mask(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, slopes: list[float], scale: float) -> torch.Tensor:
    """The usual form: biases of the vectors' dtype, all of them, as a mask."""
    columns = torch.arange(q.shape[2])
    ahead = columns - columns[:, None]
    bias = (torch.tensor(slopes)[:, None, None] * ahead).masked_fill(ahead > 0, -math.inf).to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None], scale=scale)


def errors(dtype: torch.dtype, tokens: int, n_heads: int, rule: Any) -> list[torch.Tensor]:
    """Ours and the mask's, of some rows."""
    alibi, slopes, scale = ALiBi(n_heads=n_heads, slopes=rule), reference.alibi_slopes(n_heads, rule), 16**-0.5
    q, k, v = (drawn(1, n_heads, tokens, 16, dtype=dtype, seed=seed) for seed in range(3))
    rows = torch.arange(tokens - 1, -1, -(1 + tokens // 300))
    asked = exact(q, k, v, slopes, rows, scale)
    out = attend_factored(q, k, v, alibi, at_range(alibi, range(tokens)), scale, 0.0)
    return [x[0, :, rows].double() - asked for x in (out, by_mask(q, k, v, slopes, scale))]


# Where biases are few bits long the two forms have the same error but for chance: a sum's order may turn a rounding over.
@pytest.mark.parametrize(("n_heads", "rule"), RULES)
@pytest.mark.parametrize("tokens", [63, 1000, 4096])
def test_error_is_no_larger_than_that_of_a_mask(tokens: int, n_heads: int, rule: Any) -> None:
    ours, theirs = errors(torch.bfloat16, tokens, n_heads, rule)
    assert ours.abs().max() <= 1.05 * theirs.abs().max()
    assert ours.square().mean() <= 1.001 * theirs.square().mean()


def test_error_is_no_larger_than_that_of_a_mask_in_float16() -> None:
    ours, theirs = errors(torch.float16, 1000, 12, "authors")
    assert ours.square().mean() <= 1.001 * theirs.square().mean()


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients(dtype: torch.dtype) -> None:
    alibi, slopes, rows = ALiBi(n_heads=4, slopes="paper"), reference.alibi_slopes(4, "paper"), torch.arange(90)
    given = [drawn(1, 4, 90, 8, dtype=dtype, seed=seed).requires_grad_() for seed in range(3)]
    wide = [x.detach().double().requires_grad_() for x in given]
    weights = drawn(1, 4, 90, 8, dtype=dtype, seed=3)
    (attend_factored(*given, alibi, at_range(alibi, range(90)), 0.5, 0.0) * weights).sum().backward()
    (exact(*wide, slopes, rows, 0.5) * weights[0].double()).sum().backward()
    for ours, theirs in zip(given, wide, strict=True):
        assert (ours.grad.double() - theirs.grad).square().mean().sqrt() < ROUNDING[dtype] * theirs.grad.square().mean().sqrt()


def test_dropout_reaches_the_weights() -> None:
    alibi, q = ALiBi(n_heads=1, slopes=(0.01,)), drawn(1, 1, 200, 8, dtype=torch.bfloat16)
    out = attend_factored(q, q, torch.ones_like(q), alibi, at_range(alibi, range(200)), 0.1, 0.5)
    assert 0.05 < out[0, 0, 100:].float().std() < 0.5
    assert abs(out[0, 0, 100:].float().mean() - 1) < 0.1


def test_autocast_gives_its_dtype() -> None:
    alibi, q = ALiBi(n_heads=2, slopes="paper"), drawn(1, 2, 9, 8, dtype=torch.float32)
    at = at_range(alibi, range(9))
    with torch.autocast("cpu", torch.bfloat16):
        out = attend_factored(q, q, q, alibi, at, 0.3, 0.0)
    half = q.bfloat16()
    assert out.dtype == torch.bfloat16
    assert torch.equal(out, attend_factored(half, half, half, alibi, at, 0.3, 0.0))


def test_no_tokens() -> None:
    alibi, x = ALiBi(n_heads=1, slopes=(0.5,)), torch.zeros(1, 1, 0, 8, dtype=torch.bfloat16)
    assert attend_factored(x, x, x, alibi, at_range(alibi, range(0)), 0.3, 0.0).shape == (1, 1, 0, 8)


X = torch.zeros(1, 2, 3, 8, dtype=torch.bfloat16)
TWO, STEEP = ALiBi(n_heads=2, slopes="paper"), ALiBi(n_heads=2, slopes=(0.5, 200.0))


@pytest.mark.parametrize(
    ("q", "scheme", "places", "scale", "what"),
    [
        (X.float(), TWO, [range(3)] * 2, 0.5, r"q, k: needed both in bfloat16 or .*, got torch.float32 and torch.float32"),
        (X.double(), TWO, [range(3)] * 2, 0.5, r"got torch.float64 and .* in wider dtypes adding the bias is more exact"),
        (X, TWO, [torch.arange(3)] * 2, 0.5, r"at: needed one rising range .* got int64 \[3\] and int64 \[3\]; attend takes any"),
        (X, TWO, [range(3), range(1, 4)], 0.5, r"at: needed one rising range .* got range\(0, 3\) and range\(1, 4\)"),
        (X, TWO, [range(3, 0, -1)] * 2, 0.5, r"at: needed one rising range .* got range\(3, 0, -1\)"),
        (X, TWO, [range(4)] * 2, 0.5, "q_positions: needed 3 positions, one a token, got 4"),
        (X, TWO, [range(0, 3 * 2**23 + 3, 2**23 + 1)] * 2, 0.5, r"at: needed positions up to 8388608 from .* torch.bfloat16"),
        (X.half(), TWO, [range(0, 3 * 2**21 + 3, 2**21 + 1)] * 2, 0.5, r"at: needed positions up to 2097152 from .* torch.float16"),
        (X.half(), STEEP, [range(3)] * 2, 0.125, r"scale: needed slope / scale .* up to 1023.5 .* \(0.5, 200.0\) and scale 0.125"),
        (X, TWO, [range(3)] * 2, 0.0, "scale: needed slope / scale of sizes up to"),
        (X, ALiBi(n_heads=2, slopes=(0.0, 0.0)), [range(3)] * 2, 0.0, "scale: needed slope / scale of sizes up to"),
        (X, TWO, [range(3)] * 2, math.inf, "scale: needed a finite number, got float inf"),
        (X, ALiBi(n_heads=4, slopes="paper"), [range(3)] * 2, 0.5, "needed q with 4 heads, got 2"),
    ],
)
def test_bad_input(q: torch.Tensor, scheme: ALiBi, places: Any, scale: float, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        attend_factored(q, q, q, scheme, scheme.at(*places), scale, 0.0)


def test_dtypes_and_schemes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"got torch.bfloat16 and torch.float16"):
        factored(X, X.half(), TWO, at_range(TWO, range(3)), 0.5)
    with pytest.raises(TypeError, match=r"scheme: needed ALiBi, whose causal bias is .*, got T5Bias"):
        factored(X, X, T5Bias(n_heads=2, bidirectional=False), at_range(TWO, range(3)), 0.5)  # type: ignore[arg-type]
