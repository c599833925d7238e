"""Faults that positional code has in the wild, each with the smallest input and the right value, worked out from the formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import torch

import contract_faults_axes as axes
import contract_faults_multimodal as multimodal
import contract_faults_reading as reading
import contract_faults_scaling as scaling
import contract_faults_scores as scores
import ordinate
from contract_tools import identical, near, refuses

DIGITS = 6e-7  # values below are given to six digits


def _turn(x: list[float], position: int, **settings: object) -> torch.Tensor:
    rope = ordinate.Rope(**{"head_dim": len(x), "layout": "half", **settings})
    return rope.queries(torch.tensor(x, dtype=torch.float32).view(1, 1, 1, -1), torch.tensor([position]))[0, 0, 0]


def _numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def base_is_used() -> None:
    for base, angle in ((1e6, 805.8422), (1e4, 865.9643)):
        rope = ordinate.Rope(head_dim=128, layout="half", base=base)
        assert abs(1000 * rope.inverse_frequencies[1] - angle) < 5e-5
        near(rope.at(torch.tensor([1000])).cos[0, 1:2], _numbers(math.cos(1000 * base ** (-2 / 128))), 1e-7)


def pair_layout() -> None:
    near(_turn([1, 2, 3, 4], 1), _numbers(-1.984111, 1.959901, 2.462378, 4.019800), DIGITS)
    near(_turn([1, 2, 3, 4], 1, layout="interleaved"), _numbers(-1.142640, 1.922076, 2.959851, 4.029800), DIGITS)
    # At width 6 the permutation between the layouts is not its own inverse, so a wrong direction shows.
    gather, back = [0, 2, 4, 1, 3, 5], [0, 3, 1, 4, 2, 5]
    x = torch.arange(1.0, 7.0)
    turned = _turn(x[gather].tolist(), 3)[back]
    near(_turn(x.tolist(), 3, layout="interleaved"), turned, DIGITS)


def phase_at_1857() -> None:
    """Position 1857 in float16 or bfloat16 is another position."""
    cos = ordinate.Rope(head_dim=32, layout="half").at(torch.tensor([1857])).cos
    near(cos[0, 1:2], _numbers(0.306693), DIGITS)
    refuses(lambda: ordinate.Rope(head_dim=32, layout="half").at(torch.tensor([1857.0]).half()), ValueError, "float16")
    refuses(lambda: ordinate.Sinusoidal(d_model=32).at(torch.tensor([1857.0]).bfloat16()), ValueError, "bfloat16")


def frequency_after_cast() -> None:
    for dtype in (torch.bfloat16, torch.float16):
        rope = ordinate.Rope(head_dim=128, layout="half").to(dtype)
        assert abs(rope.inverse_frequencies[1] - 0.8659643) < 5e-8
        near(rope.at(torch.tensor([4095])).cos[0, 1:2], _numbers(math.cos(4095 * 10000.0 ** (-2 / 128))), 1e-7)


def neighbours_under_autocast() -> None:
    rope, x = ordinate.Rope(head_dim=2, layout="half"), torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    with torch.autocast("cpu", torch.bfloat16):
        turned = rope.queries(x, torch.tensor([65536, 65537]))
        turned = torch.cat((turned, rope.queries(x, range(65536, 65538))))
    for row in turned[:, 0]:
        for vector, position in zip(row, (65536, 65537), strict=True):
            near(vector, _numbers(math.cos(position), math.sin(position)), 1e-7)


def far_positions() -> None:
    """cos and sin within 0.51 ulp of float32 up to 2^31, against 60 digits; float32 angles are wrong in every digit there."""
    places = [131071, 1_000_003, 10_000_019, 2**31 - 1, -(2**31) + 1]
    cos, sin = ordinate.Rope(head_dim=16, layout="half").at(torch.tensor(places))[:2]
    vectors = ordinate.Sinusoidal(d_model=16).at(torch.tensor(places))
    with mpmath.workdps(60):
        for row, place in enumerate(places):
            for i in range(8):
                angle = place * mpmath.mpf(10000) ** (-mpmath.mpf(2 * i) / 16)
                pairs = ((cos[row, i], mpmath.cos), (sin[row, i], mpmath.sin))
                pairs += ((vectors[row, 2 * i + 1], mpmath.cos), (vectors[row, 2 * i], mpmath.sin))
                for got, right in pairs:
                    ulp = 2.0 ** (math.frexp(float(right(angle)))[1] - 24)
                    assert abs(mpmath.mpf(got.item()) - right(angle)) <= 0.51 * ulp, f"position {place}, pair {i}"


def layers_keep_their_settings() -> None:
    slow = tuple(1e6 ** (-i / 4) / 8 for i in range(4))
    wide = ordinate.Rope(head_dim=8, layout="half", inverse_frequencies=slow)
    local = ordinate.Rope(head_dim=8, layout="half")
    for _ in range(2):
        near(wide.at(range(8, 9)).cos[0, :1], _numbers(0.540302), DIGITS)
        near(local.at(range(8, 9)).cos[0, :1], _numbers(-0.145500), DIGITS)


def frequencies_after_meta() -> None:
    with torch.device("meta"):
        rope = ordinate.Rope(head_dim=8, layout="half")
    rope = rope.to_empty(device="cpu")
    for buffer in rope.buffers():
        buffer.fill_(float("nan"))
    near(torch.tensor(rope.inverse_frequencies), _numbers(1, 0.1, 0.01, 0.001), 1e-8)
    near(rope.at(range(1, 2)).sin[0], _numbers(0.841471, 0.099833, 0.010000, 0.001000), DIGITS)


def table_bounds() -> None:
    for overflow in ("error", "wrap", "clamp"):
        table = ordinate.Learned(max_length=4, d_model=2, overflow=overflow)
        for bad in (torch.tensor([0, -1]), range(-1, 2), torch.tensor([[0, 1], [-4, 2]])):
            refuses(lambda table=table, bad=bad: table.at(bad), ValueError, "negative")
        refuses(lambda table=table: table.at(torch.tensor([2.0])), ValueError, "whole positions")
    table = ordinate.Learned(max_length=4, d_model=2, padding_offset=2)
    for bad in (range(5), torch.arange(5), torch.tensor([[0, 4]])):
        refuses(lambda bad=bad: table.at(bad), ValueError, "length 5 > 4")
    identical(table.at(torch.tensor([3, 0])), table.weight[[5, 2]])


def real_pairs() -> None:
    near(_turn([1.0, 0.0], 1), _numbers(0.540302, 0.841471), DIGITS)
    near(_turn([1.0, 0.0], 0), _numbers(1.0, 0.0), 0.0)
    near(_turn([1.0, 0.0], 5), _numbers(0.283662, -0.958924), DIGITS)


def gradient_of_a_turn() -> None:
    x = torch.tensor([[[[1.0, 0.0]]]], requires_grad=True)
    ordinate.Rope(head_dim=2, layout="half").queries(x, range(1, 2))[..., 0].sum().backward()
    near(x.grad[0, 0, 0], _numbers(0.540302, -0.841471), DIGITS)


def slopes_of_odd_head_counts() -> None:
    rules = {
        3: (1 / 16, 1 / 256, 1 / 4),
        6: (1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8),
        8: tuple(2.0**-h for h in range(1, 9)),
        12: tuple(2.0**-h for h in range(1, 9)) + tuple(2.0 ** (-h - 0.5) for h in range(4)),
    }
    for n_heads, slopes in rules.items():
        for rule in ("authors", "paper") if n_heads == 8 else ("authors",):
            near(torch.tensor(ordinate.ALiBi(n_heads=n_heads, slopes=rule).slope_values), _numbers(*slopes), 1e-7)
    near(torch.tensor(ordinate.ALiBi(n_heads=12, slopes="paper").slope_values[:3]), _numbers(0.629961, 0.396850, 0.25), DIGITS)


def alibi_geometry() -> None:
    alibi = ordinate.ALiBi(n_heads=1, slopes=(0.5,))
    q, k = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 5, 2)
    for rows, columns in ((range(4, 5), range(5)), (torch.tensor([4]), torch.arange(5)), (torch.tensor([[7]]), range(3, 8))):
        near(alibi.bias(q, k, alibi.at(rows, columns))[0, 0, 0], _numbers(-2, -1.5, -1, -0.5, 0), 0.0)


def padding_counts_no_positions() -> None:
    positions = ordinate.positions.from_padding_mask(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 1]]))
    assert positions[0, 2:].tolist() == [0, 1, 2]
    assert positions[1].tolist() == [0, 1, 2, 3, 4]
    assert positions[2, [0, 1, 4]].tolist() == [0, 1, 2]


def packed_positions() -> None:
    positions, documents = ordinate.positions.packed([3, 2])
    assert positions.tolist() == [0, 1, 2, 0, 1]
    assert documents.tolist() == [0, 0, 0, 1, 1]


def partial_rotary() -> None:
    rope = ordinate.Rope(head_dim=8, layout="half", rotary_dim=4)
    near(torch.tensor(rope.inverse_frequencies), _numbers(1, 0.01), 1e-9)
    x = [1.0, 2.0, 3.0, 4.0, 0.1, 0.2, 0.3, 0.4]
    turned = _turn(x, 1, rotary_dim=4)
    near(turned[:4], _numbers(-1.984111, 1.959901, 2.462378, 4.019800), DIGITS)
    identical(turned[4:], torch.tensor(x[4:]))


def sinusoid_conventions() -> None:
    odd = ordinate.Sinusoidal(d_model=5).at(range(2))
    near(odd[0], _numbers(0, 1, 0, 1, 0), 0.0)
    near(odd[1], _numbers(0.841471, 0.540302, 0.025116, 0.999685, 0.000631), DIGITS)
    for settings, vector in (
        ({}, (0.841471, 0.540302, 0.010000, 0.999950)),
        ({"layout": "sin_cos"}, (0.841471, 0.010000, 0.540302, 0.999950)),
        ({"layout": "sin_cos", "spacing": "closed"}, (0.841471, 0.000100, 0.540302, 1.000000)),
    ):
        near(ordinate.Sinusoidal(d_model=4, **settings).at(range(1, 2))[0], _numbers(*vector), DIGITS)


FAULTS: dict[str, Callable[[], None]] = {
    fault.__name__: fault
    for fault in (
        base_is_used,
        pair_layout,
        phase_at_1857,
        frequency_after_cast,
        neighbours_under_autocast,
        far_positions,
        layers_keep_their_settings,
        frequencies_after_meta,
        table_bounds,
        real_pairs,
        gradient_of_a_turn,
        slopes_of_odd_head_counts,
        alibi_geometry,
        padding_counts_no_positions,
        packed_positions,
        partial_rotary,
        sinusoid_conventions,
        scaling.yarn_ramp,
        scaling.llama3_bands,
        scaling.dynamic_ntk_history,
        scaling.longrope_switch,
        scaling.ntk_alpha,
        scaling.proportional_pairs,
        scaling.yarn_magnitude,
        scaling.softmax_is_scaled_apart,
        scores.t5_buckets,
        scores.shaw_rows,
        scores.deberta_third_term,
        scores.deberta_buckets,
        scores.slices_of_heads_share_tables,
        *axes.FAULTS,
        *reading.FAULTS,
        *multimodal.FAULTS,
    )
}
