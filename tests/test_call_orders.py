"""Calls in other orders than the obvious one: a stale ``at``, a refused step, a compiled decoder, other devices, later changes."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable

import pytest
import torch
import torch._dynamo.testing

from ordinate import (
    ALiBi,
    Deberta,
    KeyValueCache,
    Learned,
    MultiheadAttention,
    Rope,
    Shaw,
    Sinusoidal,
    T5Bias,
    TokenAndPositionEmbedding,
    attend,
    rotate,
)
from ordinate.attention import AttentionScheme
from ordinate.positions import packed

ROPE = Rope(head_dim=4, layout="half")
ALIBI = ALiBi(n_heads=2, slopes="paper")
T5 = T5Bias(n_heads=2, bidirectional=False)
SHAW = Shaw(head_dim=4, max_distance=2, values=True)
DEBERTA = Deberta(n_heads=2, head_dim=4, content_to_position=True, position_to_content=True, max_distance=3)
FLOAT32 = 2e-6  # rounding of float32 attention over a few keys


def x(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_an_old_step_s_at_is_refused() -> None:
    q, k = x(1, 2, 1, 4), x(1, 2, 5, 4)
    stale = (ROPE.at(range(3, 4)), ROPE.at(range(5)))
    with pytest.raises(ValueError, match=r"needed what was made for q positions range\(4, 5\), got one for range\(3, 4\)"):
        attend(q, k, k, scheme=ROPE, q_positions=range(4, 5), k_positions=range(5), causal=True, at=stale)
    for scheme in (ALIBI, T5, SHAW, DEBERTA):
        at, tables = scheme.at(range(4, 5), range(1, 6)), dict.fromkeys(scheme.extras, x(6, 2, 4))
        with pytest.raises(ValueError, match=r"for k positions range\(0, 5\), got one for range\(1, 6\)"):
            attend(q, k, k, scheme=scheme, q_positions=range(4, 5), k_positions=range(5), causal=True, at=at, extras=tables)
    layer = MultiheadAttention(d_model=8, n_heads=2, scheme=ROPE, causal=True)
    with pytest.raises(ValueError, match=r"for q positions range\(4, 5\), got one for range\(3, 4\)"):
        layer(x(1, 1, 8), range(4, 5), cache=KeyValueCache(), at=(stale[0], stale[0]))


@pytest.mark.parametrize("scheme", [ROPE, ALIBI, T5, SHAW, DEBERTA, None], ids=["rope", "alibi", "t5", "shaw", "deberta", "nope"])
def test_a_refused_step_leaves_the_cache_as_it_was(scheme: AttentionScheme | None) -> None:
    torch.manual_seed(0)
    attention = MultiheadAttention(d_model=8, n_heads=2, scheme=scheme, causal=True)
    layer = functools.partial(attention, extras=dict.fromkeys(getattr(scheme, "extras", ()), x(6, 2, 4)))
    tokens, cache = x(2, 4, 8), KeyValueCache()
    full = layer(tokens, range(4))
    layer(tokens[:, :3], range(3), cache=cache)
    if isinstance(scheme, Deberta):
        with pytest.raises(ValueError, match="extras: needed keys and queries for Deberta, got none"):
            attention(tokens[:, 3:], range(3, 4), cache=cache)
    for wrong in ({"mask": torch.ones(2, 4, dtype=torch.bool)}, {"document_ids": torch.zeros(9, dtype=torch.int64)}):
        with pytest.raises(ValueError, match="needed"):
            layer(tokens[:, 3:], range(3, 4), cache=cache, **wrong)
    with pytest.raises(ValueError, match="needed 1 positions, one a token, got 2"):
        layer(tokens[:, 3:], range(3, 5), cache=cache)
    assert cache.positions == range(3)
    assert (layer(tokens[:, 3:], range(3, 4), cache=cache) - full[:, 3:]).abs().max() < FLOAT32


def test_cached_positions_may_gain_rows() -> None:
    torch.manual_seed(0)
    layer = MultiheadAttention(d_model=8, n_heads=2, scheme=ROPE, causal=True)
    tokens, cache = x(2, 5, 8), KeyValueCache()
    first = layer(tokens[:, :3], torch.arange(3)[None], cache=cache)
    second = layer(tokens[:, 3:], torch.arange(3, 5).expand(2, -1), cache=cache)
    assert (torch.cat((first, second), dim=1) - layer(tokens, range(5))).abs().max() < FLOAT32


@pytest.mark.parametrize("scheme", [ROPE, ALIBI, T5, SHAW, DEBERTA], ids=["rope", "alibi", "t5", "shaw", "deberta"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_decoding_with_ranges(scheme: AttentionScheme, dynamic: bool | None) -> None:
    torch._dynamo.reset()
    tables = dict.fromkeys(getattr(scheme, "extras", ()), x(6, 2, 4))
    counter = torch._dynamo.testing.CompileCounterWithBackend("eager")

    def step(q: torch.Tensor, k: torch.Tensor, where: range, keys: range) -> torch.Tensor:
        return attend(q, k, k, scheme=scheme, q_positions=where, k_positions=keys, causal=True, extras=tables)

    compiled = torch.compile(step, backend=counter, fullgraph=True, dynamic=dynamic)
    for length in (8, 9, 10, 11):
        arguments = x(1, 2, 1, 4), x(1, 2, length, 4, seed=length), range(length - 1, length), range(length)
        assert (compiled(*arguments) - step(*arguments)).abs().max() < 1e-6  # compiled, a bias is held whole: other roundings
    assert counter.frame_count <= 2


def test_compiled_with_dynamic_shapes_masks_and_grouped_heads() -> None:
    torch._dynamo.reset()

    def run(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        where = torch.arange(q.shape[2])
        return attend(q, k, k, scheme=ROPE, q_positions=where, k_positions=where, causal=True, mask=mask, scale=0.3)

    compiled = torch.compile(run, backend="eager", fullgraph=True, dynamic=True)
    for length in (5, 8):
        arguments = x(1, 4, length, 4), x(1, 2, length, 4), x(length, length)
        assert torch.equal(compiled(*arguments), run(*arguments))


def test_meta_tensors_pass_through_everything() -> None:
    with torch.device("meta"):
        layer = MultiheadAttention(d_model=8, n_heads=2, scheme=Rope(head_dim=4, layout="half"), causal=True)
        embed = TokenAndPositionEmbedding(
            vocabulary_size=5, d_model=8, scheme=Learned(max_length=4, d_model=8, overflow="wrap"), scale="sqrt"
        )
        out = layer(embed(torch.zeros(2, 3, dtype=torch.int64), range(3)), range(3))
        assert packed([3, 2]).positions.shape == (5,)
    assert out.shape == (2, 3, 8)
    assert out.is_meta


def test_autocast_takes_vectors_of_mixed_dtypes() -> None:
    q, k, v = x(1, 2, 5, 4), x(1, 2, 5, 4, seed=1), x(1, 2, 5, 4, seed=2)
    where = {"q_positions": range(5), "k_positions": range(5), "causal": True}
    with torch.autocast("cpu", torch.bfloat16):
        got = attend(q, k, v.bfloat16(), scheme=ROPE, **where)
    assert got.dtype == torch.bfloat16
    assert (got.float() - attend(q, k, v, scheme=ROPE, **where)).abs().max() < 0.05  # bfloat16 keeps 8 bits


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        (ROPE, "base"),
        (ALIBI, "slopes"),
        (Sinusoidal(d_model=8), "base"),
        (T5, "max_distance"),
        (T5, "bidirectional"),
        (T5.heads(0, 1), "n_heads"),
        (SHAW, "max_distance"),
        (SHAW, "values"),
        (DEBERTA, "buckets"),
        (DEBERTA, "position_to_content"),
    ],
)
def test_an_attribute_with_numbers_behind_it_is_fixed(scheme: torch.nn.Module, name: str) -> None:
    before = repr(scheme)
    with pytest.raises(AttributeError, match=f"{name} is fixed when the scheme is built; build another"):
        setattr(scheme, name, 500000.0)
    assert repr(scheme) == before == repr(pickle.loads(pickle.dumps(scheme)))


def test_five_dims_pair_rows_with_their_positions() -> None:
    q = x(2, 3, 5, 2, 4)
    where = torch.tensor([[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]])
    got = ROPE.queries(q, where, sequence_dim=-3)
    for row in range(2):
        for group in range(3):
            for token in range(5):
                angles = [where[row, token].item() * 10000.0 ** (-i / 2) for i in range(2)]
                for head in range(2):
                    a, b = q[row, group, token, head, :2].tolist(), q[row, group, token, head, 2:].tolist()
                    want = [a[i] * math.cos(angles[i]) - b[i] * math.sin(angles[i]) for i in range(2)]
                    assert got[row, group, token, head, :2].tolist() == pytest.approx(want, abs=1e-6)


def attention(**changes: object) -> object:
    return MultiheadAttention(**{"d_model": 8, "n_heads": 2, "scheme": None, "causal": True, **changes})


def embedded(positions: object) -> object:
    return TokenAndPositionEmbedding(vocabulary_size=5, d_model=8, scheme=None, scale=None)(torch.zeros(1, 3).long(), positions)


def attended(**changes: object) -> object:
    given = {"scheme": None, "q_positions": range(3), "k_positions": range(3), "causal": True}
    return attend(x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4), **{**given, **changes})


def second_step_at_the_same_place() -> None:
    cache, layer = KeyValueCache(), attention()
    for _ in range(2):
        layer(x(1, 3, 8), range(3), cache=cache)


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: attended(causal="False"), "causal: needed True or False, got str 'False'"),
    (lambda: attended(order=range(3)), r"order: needed a pair \(q_order, k_order\), got range"),
    (lambda: attended(mask=torch.ones(2, 3, 3)), r"got \[2, 3, 3\]; a padding mask .* a mask \[B, Q, K\] is mask\[:, None\]"),
    (lambda: attended(scheme=ROPE, q_positions=range(2)), "needed 3 positions, one a token, got 2; q .* is read as .B, H, T, D."),
    (lambda: attended(at=(ROPE.at(range(3)), ROPE.at(range(3)))), "at: needed None without a scheme, got tuple"),
    (lambda: attention(causal=None), "causal: needed True or False, got NoneType"),
    (lambda: attention(d_model="8"), "d_model: needed a whole number >= 1, got str"),
    (lambda: attention(window=0), "window: needed a whole number >= 1, got 0"),
    (lambda: attention(scheme=Rope(head_dim=8, layout="half")), "needed head_dim=4"),
    (lambda: attention(scheme=ALiBi(n_heads=4, slopes="paper")), "needed n_heads=2"),
    (lambda: attention()(x(3, 8), range(3)), r"x: needed a tensor \[B, T, d_model=8\], got float32 \[3, 8\]"),
    (lambda: attention()(x(1, 3, 8), range(3), context=x(1, 3, 8), context_positions=range(3), cache=KeyValueCache()), "got both"),
    (second_step_at_the_same_place, r"needed positions after the cached range\(0, 3\), got range\(0, 3\)"),
    (lambda: embedded(range(9)), "needed 3 positions, one a token, got 9"),
    (lambda: rotate(x(1, 1, 5, 4), *ROPE.at(range(5))[:2], layout="Half"), "layout: needed one of half, interleaved, got 'Half'"),
    (lambda: rotate(x(1, 1, 5, 3), *ROPE.at(range(5))[:2], layout="half"), "at least 4 entries in its last dim, got float32"),
    (lambda: ROPE(range(5), x(1, 2, 5, 4), x(1, 2, 5, 4)), "q: needed a floating tensor .* got range"),
    (lambda: ROPE.queries(x(1, 5, 2, 4), range(5)), r"got 5; q is read as \[B, H, T, D\], sequence_dim=-3 reads the other order"),
    (lambda: ROPE.shift(x(1, 2, 5, 4), math.nan), "by: needed a finite distance, got nan"),
    (lambda: Sinusoidal(d_model=4)(range(5), x(1, 5, 4)), "x: needed a floating tensor .* got range"),
    (lambda: ALIBI.bias(x(1, 2, 5, 4), x(1, 2, 5, 4), range(5)), r"at: needed ALiBi\.at\(q_positions, k_positions\), got range"),
    (lambda: ROPE.at(range(2**63, 2**63 + 2)), "needed positions that int64 holds"),
    (lambda: ROPE.at(torch.ones(3, dtype=torch.bool)), "a mask becomes positions with from_padding_mask"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_plausible_mistakes_end_in_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
