"""Bad input: one clear line each - what was needed, what came, what to do - with the values in it."""

import math

import pytest
import torch

from ordinate import ALiBi, KeyValueCache, Learned, MultiheadAttention, Rope, Sinusoidal, TokenAndPositionEmbedding, phases
from ordinate.schemes import require_name

ROPE = Rope(head_dim=8, layout="half")
ALIBI = ALiBi(n_heads=4, slopes="paper")
META = torch.device("meta")


def x(*shape, **kind):
    return torch.zeros(*shape, **kind)


def whole(*shape, **kind):
    return torch.zeros(*shape, dtype=torch.int64, **kind)


BUILDING = [
    (lambda: Rope(head_dim=7, layout="half"), r"rotary_dim: needed an even number from 2 to 7 .* got 7; .* with rotary_dim=6"),
    (lambda: Rope(head_dim=8, layout="half", rotary_dim=10), r"even number from 2 to 8 \(head_dim=8, rotary_start=0\), got 10"),
    (lambda: Rope(head_dim=8, layout="half", rotary_dim=6, rotary_start=4), r"from 2 to 4 \(head_dim=8, rotary_start=4\), got 6"),
    (lambda: Rope(head_dim=8, layout="half", rotary_dim=0), "rotary_dim: .* got 0"),
    (lambda: Rope(head_dim=8, layout="half", rotary_start=-2), "rotary_start: needed a whole number >= 0, got -2"),
    (lambda: Rope(head_dim=0, layout="half"), "head_dim: needed a whole number >= 1, got 0"),
    (lambda: Rope(head_dim=8, layout="halves"), "layout: needed one of half, interleaved, got 'halves'"),
    (lambda: Rope(head_dim=8, layout="half", phases="float64"), "phases: needed one of exact, float32, got 'float64'"),
    (
        lambda: Rope(head_dim=8, layout="half", arithmetic="bfloat16"),
        "arithmetic: needed one of float32, input, mixed, got 'bfloat16'",
    ),
    (lambda: Rope(head_dim=8, layout="half", base=-1.0), "base: needed a positive finite number, got -1.0"),
    (lambda: Rope(head_dim=8, layout="half", base=0.0, phases="float32"), "base: needed a positive finite number, got 0.0"),
    (lambda: Rope(head_dim=8, layout="half", base=math.inf), "base: needed a positive finite number, got inf"),
    (
        lambda: Rope(head_dim=8, layout="half", inverse_frequencies=[1.0]),
        r"inverse_frequencies: needed 4 numbers \(rotary_dim=8\), got 1",
    ),
    (
        lambda: Rope(head_dim=2, layout="half", inverse_frequencies=[math.nan]),
        r"inverse_frequencies: needed finite numbers in one row, got tuple \(nan,\)|got list \[nan\]",
    ),
    (lambda: ALiBi(n_heads=0, slopes="paper"), "n_heads: needed a whole number >= 1, got 0"),
    (lambda: ALiBi(n_heads=2.0, slopes="paper"), "n_heads: needed a whole number >= 1, got float 2.0"),
    (lambda: ALiBi(n_heads=2, slopes="bloom"), "slopes: needed 'paper', 'authors' or a tuple of 2 numbers, got 'bloom'"),
    (lambda: ALiBi(n_heads=2, slopes=(1.0,)), r"slopes: needed 2 finite numbers, one a head, got \(1\.0,\)"),
    (lambda: ALiBi(n_heads=1, slopes=(math.inf,)), r"slopes: needed finite numbers in one row, got tuple \(inf,\)"),
    (lambda: ALIBI.heads(2, 5), "heads: needed 0 <= start < stop <= 4, got 2, 5"),
    (lambda: ALIBI.heads(2, 2), "heads: needed 0 <= start < stop <= 4, got 2, 2"),
    (lambda: ALIBI.heads(-1, 2), "start: needed a whole number >= 0, got -1"),
    (lambda: Sinusoidal(d_model=0), "d_model: needed a whole number >= 1, got 0"),
    (lambda: Sinusoidal(d_model=4, layout="half"), "layout: needed one of interleaved, sin_cos, cos_sin, got 'half'"),
    (lambda: Sinusoidal(d_model=4, spacing="wide"), "spacing: needed one of open, closed, got 'wide'"),
    (lambda: Sinusoidal(d_model=4, dropout=1.0), r"dropout: needed a probability in \[0, 1\), got 1.0"),
    (lambda: Sinusoidal(d_model=4, base=math.nan), "base: needed a positive finite number, got nan"),
    (lambda: Learned(max_length=0, d_model=4), "max_length: needed a whole number >= 1, got 0"),
    (lambda: Learned(max_length=2.5, d_model=4), "max_length: needed a whole number >= 1, got float 2.5"),
    (lambda: Learned(max_length=2, d_model=-4), "d_model: needed a whole number >= 1, got -4"),
    (lambda: Learned(max_length=2, d_model=4, padding_offset=-1), "padding_offset: needed a whole number >= 0, got -1"),
    (lambda: Learned(max_length=2, d_model=4, overflow="extend"), "overflow: needed one of error, wrap, clamp, got 'extend'"),
    (lambda: Learned(max_length=2, d_model=4, dropout=-0.1), r"dropout: needed a probability in \[0, 1\), got -0.1"),
    (lambda: MultiheadAttention(d_model=30, n_heads=4, scheme=None, causal=True), "n_heads: .* divides d_model=30, got 4"),
    (
        lambda: MultiheadAttention(d_model=32, n_heads=4, n_kv_heads=3, scheme=None, causal=True),
        "n_kv_heads: .* divides n_heads=4, got 3",
    ),
    (
        lambda: TokenAndPositionEmbedding(vocabulary_size=9, d_model=8, scheme=Sinusoidal(d_model=4), scale=None),
        r"scheme: needed d_model=8, got Sinusoidal\(d_model=4",
    ),
    (
        lambda: TokenAndPositionEmbedding(vocabulary_size=9, d_model=8, scheme=None, scale=2.0),
        "scale: needed one of sqrt, None, got 2.0",
    ),
    (
        lambda: TokenAndPositionEmbedding(
            vocabulary_size=9, d_model=8, scheme=Sinusoidal(d_model=8, dropout=0.1), scale=None, dropout=0.2
        ),
        r"one dropout on the sum, got 0\.2 here and one in Sinusoidal\(.*dropout=0\.1\)",
    ),
    (lambda: MultiheadAttention(d_model=8, n_heads=1, scheme=None, causal=True, dropout=1.5), r"probability in \[0, 1\), got 1\.5"),
    (lambda: Rope(head_dim=8.0, layout="half"), r"head_dim: .* got float 8\.0"),
    (lambda: Rope(head_dim=8, layout="half", rotary_dim=4.0), r"rotary_dim: .* got float 4\.0"),
    (lambda: ALiBi(n_heads=2, slopes=None), "slopes: needed finite numbers in one row, got NoneType None"),
    (lambda: phases.from_values([1.0, math.inf]), r"needed finite numbers below 1e\+30, got \[1\.0, inf\]"),
    (lambda: require_name("rop"), "unknown scheme 'rop'; did you mean 'rope'"),
    (lambda: require_name("Sinusoid"), "unknown scheme 'Sinusoid'; did you mean 'sinusoidal'"),
    (lambda: require_name("qqq"), "unknown scheme 'qqq'; there are nope, sinusoidal, learned, shaw, t5, deberta, alibi, rope"),
]

CALLING = [
    (lambda: ROPE.queries(x(1, 2, 3, 6), range(3)), r"q: .* \[B, H, T, D\] with D = head_dim = 8, got float32 \[1, 2, 3, 6\]"),
    (lambda: ROPE.keys(whole(1, 2, 3, 8), range(3)), r"k: needed a floating tensor .* got int64 \[1, 2, 3, 8\]"),
    (lambda: ROPE.queries(x(1, 2, 3, 8), range(4)), "positions: needed 3 positions, one a token, got 4"),
    (lambda: ROPE.queries(x(1, 2, 3, 8), range(3), sequence_dim=-3), "positions: needed 2 positions, one a token, got 3"),
    (lambda: ROPE.queries(x(1, 2, 3, 8), range(3), sequence_dim=1), r"sequence_dim: needed -2 .* or -3 .* got 1"),
    (lambda: ROPE.queries(x(3, 2, 3, 8), whole(2, 3)), r"needed 3 rows, one a batch row \(or 1\), got 2"),
    (lambda: ROPE.queries(x(1, 2, 3, 8, device=META), whole(3)), "q: needed at made for device meta, got cpu"),
    (lambda: ROPE.queries(x(1, 2, 3, 8), whole(3, device=META)), "q: needed at made for device cpu, got meta"),
    (
        lambda: ROPE.queries(x(1, 2, 3, 8), Rope(head_dim=4, layout="half").at(range(3))),
        "q: needed at made with this scheme.s frequencies, got others",
    ),
    (lambda: ROPE.at(x(3, dtype=torch.bfloat16)), r"positions: .* got bfloat16 \[3\]; lower precision merges"),
    (lambda: ROPE.shift(x(1, 2, 3, 8), range(4)), "needed 3 positions, one a token, got 4"),
    (lambda: ALIBI.at(range(3), x(3, dtype=torch.float16)), r"k_positions: .* got float16 \[3\]"),
    (
        lambda: ALIBI.bias(x(1, 6, 3, 8), x(1, 6, 3, 8), ALIBI.at(range(3), range(3))),
        r"ALiBi\(n_heads=4\): needed q with 4 heads, got 6; .*heads\(",
    ),
    (
        lambda: ALIBI.bias(x(1, 4, 3, 8), x(1, 4, 3, 8), ALIBI.at(range(2), range(3))),
        "q_positions: needed 3 positions, one a token, got 2",
    ),
    (
        lambda: Sinusoidal(d_model=4)(x(1, 3, 6), range(3)),
        r"x: needed a floating tensor \[B, T, 4\] \(d_model=4\), got float32 \[1, 3, 6\]",
    ),
    (lambda: Sinusoidal(d_model=4)(whole(1, 3, 4), range(3)), r"x: needed a floating tensor .* got int64 \[1, 3, 4\]"),
    (
        lambda: Sinusoidal(d_model=4)(x(1, 3, 4), whole(3, device=META)),
        r"positions: needed device cpu, .* got meta; .*\.to\(device\)",
    ),
    (lambda: Learned(max_length=4, d_model=4)(x(2, 3, 4), whole(3, 3)), r"needed 2 rows, one a batch row \(or 1\), got 3"),
    (
        lambda: Learned(max_length=4, d_model=4).at(x(2)),
        r"whole positions \(int32 or int64\), got float32 \[2\]; tables take no fractions",
    ),
    (
        lambda: Learned(max_length=4, d_model=4).at(torch.tensor([1, -3])),
        r"positions 0\.\.3, got -3; a negative position has no row",
    ),
    (lambda: Learned(max_length=4, d_model=4).at(torch.tensor([1, 9])), r"0\.\.3, got 9, so length 10 > 4; truncate"),
    (
        lambda: MultiheadAttention(d_model=8, n_heads=1, scheme=None, causal=False)(x(1, 3, 8), range(3), context=x(1, 2, 8)),
        "context: needed together with context_positions, got one of the two",
    ),
]


def one_line(caught):
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize(("call", "message"), BUILDING + CALLING, ids=[message[:50] for _, message in BUILDING + CALLING])
def test_values(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    one_line(caught)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: TokenAndPositionEmbedding(vocabulary_size=9, d_model=8, scheme=ROPE, scale=None),
            "needed an input scheme or None, got Rope",
        ),
        (
            lambda: TokenAndPositionEmbedding(vocabulary_size=9, d_model=8, scheme=ALIBI, scale=None),
            "got ALiBi, which acts in the attention",
        ),
        (
            lambda: MultiheadAttention(d_model=8, n_heads=1, scheme=Learned(max_length=4, d_model=8), causal=True),
            "got Learned, which acts at the input; give it to TokenAndPositionEmbedding",
        ),
        (
            lambda: TokenAndPositionEmbedding(vocabulary_size=9, d_model=8, scheme="sinusoidal", scale=None),
            "scheme: needed .* got str",
        ),
        (lambda: MultiheadAttention(d_model=8, n_heads=1, scheme="rope", causal=True), "scheme: needed .* got str"),
        (lambda: ROPE.at([0, 1]), r"positions: needed a range or an integer tensor \[T\] or \[B, T\], got list \[0, 1\]"),
        (lambda: ROPE.queries(x(1, 1, 2, 8), 5), "positions: needed a range or an integer tensor .* got int 5"),
        (lambda: Learned(max_length=4, d_model=8).at("0"), "positions: .* got str '0'"),
        (lambda: ALIBI.at(range(2), 3), "k_positions: .* got int 3"),
    ],
)
def test_types(call, message):
    with pytest.raises(TypeError, match=message) as caught:
        call()
    one_line(caught)


def test_several_faults_come_at_once():
    with pytest.raises(
        ValueError, match=r"rotary_dim: .* got 7; .*layout: .* got 'both'; phases: .* got 'double'; arithmetic: .* got 'half'"
    ):
        Rope(head_dim=7, layout="both", phases="double", arithmetic="half")
    with pytest.raises(ValueError, match=r"rotary_start: needed room for a pair in head_dim=4, got 3; layout: .* got 'both'"):
        Rope(head_dim=4, layout="both", rotary_start=3)
    with pytest.raises(ValueError, match=r"inverse_frequencies: needed 2 numbers .* got 3; layout: .* got 'pairs'"):
        Rope(head_dim=4, layout="pairs", inverse_frequencies=(1, 2, 3))


def test_a_setting_without_effect_warns():
    with pytest.warns(UserWarning, match=r"base=500000\.0 has no effect beside inverse_frequencies"):
        Rope(head_dim=2, layout="half", base=500000.0, inverse_frequencies=(1.0,))


def test_a_cache_that_is_called_with_other_heads():
    cache = KeyValueCache()
    cache.extend(x(1, 2, 3, 8), x(1, 2, 3, 8), range(3))
    with pytest.raises(ValueError, match=r"cache: needed k like the cached float32 \[1, 2, 3, 8\], got float32 \[1, 4, 1, 8\]"):
        cache.extend(x(1, 4, 1, 8), x(1, 4, 1, 8), range(3, 4))
