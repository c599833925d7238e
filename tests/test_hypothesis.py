"""Drawn shapes, positions, dtypes and layouts against the float64 loops of ``ordinate.reference``."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

import ordinate
from ordinate import reference
from strategies import DTYPES, SIZES, fractional, normal, numbers_of, places, ranges, whole

given = hypothesis.given(st.data())
BASES = st.sampled_from((10000.0, 500000.0, 1e6, 37.0))


def close(got: torch.Tensor, want: Any, dtype: torch.dtype, angle: float = 0.0, size: float = 1.0) -> None:
    """Assert |got - want| <= one rounding to dtype + what float64 angles of this size lose in the oracle itself."""
    want = torch.from_numpy(np.asarray(want, dtype=np.float64)).view(got.shape)
    assert got.dtype == dtype
    # float32 work: 4 roundings of numbers of this size; the oracle's angle p w is off by up to 3 roundings of float64.
    work = size * (2e-15 if dtype == torch.float64 else 3e-7) + size * angle * 4e-16
    info = torch.finfo(dtype)
    allowed = want.abs() * (info.eps / 2) + work + info.smallest_normal * info.eps
    worst = ((got.double() - want).abs() - allowed).max().item() if got.numel() else 0.0
    assert worst <= 0.0, f"off by {worst:.3g} more than rounding allows"


def largest(rows: list[list[float]]) -> float:
    return max((abs(place) for row in rows for place in row), default=0.0)


@given
def test_rope(data: Any) -> None:
    batch, heads, length, dtype = (data.draw(part) for part in (SIZES, SIZES, SIZES, DTYPES))
    head_dim = data.draw(st.integers(2, 13), label="head_dim")
    start = data.draw(st.integers(0, head_dim - 2), label="start")
    width = 2 * data.draw(st.integers(1, (head_dim - start) // 2), label="pairs")
    settings = {"layout": data.draw(st.sampled_from(("half", "interleaved"))), "base": data.draw(BASES)}
    settings |= {"rotary_dim": width, "rotary_start": start}
    positions = data.draw(places(batch, length), label="positions")
    x = normal(data, batch, heads, length, head_dim, dtype=dtype)
    before, rows = x.clone(), numbers_of(positions, batch)
    rope = ordinate.Rope(head_dim=head_dim, **settings)
    want = [[reference.rope(x[b, h].double().numpy(), rows[b], **settings) for h in range(heads)] for b in range(batch)]
    size = 2 * x.abs().max().item()
    close(rope.queries(x, positions), want, dtype, largest(rows), size)
    close(rope.keys(x, rope.at(positions)), want, dtype, largest(rows), size)
    close(rope.keys(x.transpose(1, 2), positions, sequence_dim=-3).transpose(1, 2), want, dtype, largest(rows), size)
    assert torch.equal(x, before)


@given
def test_sinusoidal(data: Any) -> None:
    batch, length, dtype = (data.draw(part) for part in (SIZES, SIZES, DTYPES))
    width = data.draw(st.integers(1, 11), label="width")
    settings = {
        "layout": data.draw(st.sampled_from(("interleaved", "sin_cos", "cos_sin"))),
        "spacing": data.draw(st.sampled_from(("open", "closed"))),
        "base": data.draw(BASES),
    }
    positions = data.draw(places(batch, length), label="positions")
    rows = numbers_of(positions, batch)
    scheme = ordinate.Sinusoidal(d_model=width, **settings)
    want = np.stack([reference.sinusoidal(row, width, **settings) for row in rows])
    vectors = scheme.at(positions)
    close(vectors.expand(batch, length, width), want, torch.float32, largest(rows))
    x = normal(data, batch, length, width, dtype=dtype)
    close(scheme(x, positions), x.double().numpy() + want, dtype, largest(rows), 2 + x.abs().max().item())


@given
def test_learned(data: Any) -> None:
    batch, length, dtype = (data.draw(part) for part in (SIZES, SIZES, DTYPES))
    overflow = data.draw(st.sampled_from(("error", "wrap", "clamp")))
    size, offset = data.draw(st.integers(1, 40), label="max_length"), data.draw(st.integers(0, 3), label="offset")
    highest = size - 1 if overflow == "error" else 2**31 - 1
    hypothesis.assume(size >= length)
    positions = data.draw(places(batch, length, fractions=False, lowest=0, highest=highest), label="positions")
    scheme = ordinate.Learned(max_length=size, d_model=5, padding_offset=offset, overflow=overflow).to(dtype)
    table = scheme.weight.detach().double().numpy()
    rows = [[int(place) for place in row] for row in numbers_of(positions, batch)]
    want = np.stack([reference.learned(table, row, offset, overflow) for row in rows])
    got = scheme.at(positions).detach().expand(batch, length, 5)
    assert torch.equal(got.double(), torch.from_numpy(want)), "a row is read, not computed"
    x = normal(data, batch, length, 5, dtype=dtype)
    close(scheme(x, positions).detach(), x.double().numpy() + want, dtype, size=4.0)


@given
def test_learned_refuses_what_has_no_row(data: Any) -> None:
    length, size = data.draw(SIZES), data.draw(st.integers(1, 20), label="max_length")
    positions = data.draw(st.one_of(whole((length,), -30, 40), whole((2, length), -30, 40), ranges(length, -30, 40)))
    values = [place for row in numbers_of(positions, 2) for place in row]
    scheme = ordinate.Learned(max_length=size, d_model=2, overflow=data.draw(st.sampled_from(("error", "wrap"))))
    if min(values) < 0 or (scheme.overflow == "error" and max(values) >= size):
        with pytest.raises(ValueError, match="needed positions 0"):
            scheme.at(positions)
    else:
        scheme.at(positions)
    with pytest.raises(ValueError, match="whole positions"):
        scheme.at(data.draw(fractional((length,))))


@given
def test_alibi(data: Any) -> None:
    batch, asked, held, dtype = (data.draw(part) for part in (SIZES, SIZES, SIZES, DTYPES))
    n_heads, rule = data.draw(st.integers(1, 13), label="heads"), data.draw(st.sampled_from(("paper", "authors")))
    scheme = ordinate.ALiBi(n_heads=n_heads, slopes=rule)
    q_positions, k_positions = data.draw(places(batch, asked)), data.draw(places(batch, held))
    q, k = normal(data, batch, n_heads, asked, 4, dtype=dtype), normal(data, batch, 1, held, 4, dtype=dtype)
    rows, columns = numbers_of(q_positions, batch), numbers_of(k_positions, batch)
    want = np.stack([reference.alibi(rows[b], columns[b], reference.alibi_slopes(n_heads, rule)) for b in range(batch)])
    got = scheme.bias(q, k, scheme.at(q_positions, k_positions)).expand(want.shape)
    # slope, difference and product: 2 roundings of float64, then one to float32
    right = torch.from_numpy(want)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert got.dtype == wide
    allowed = right.abs() * (2.0**-51 if wide == torch.float64 else 2.0**-23.99)
    # Below 1e-38 a float32 has fewer digits.
    assert ((got.double() - right).abs() <= allowed + torch.finfo(torch.float32).smallest_normal).all()


@given
def test_attention(data: Any) -> None:
    batch, groups, asked, held = (data.draw(part) for part in (SIZES, SIZES, SIZES, SIZES))
    n_kv_heads, n_heads = groups, groups * data.draw(st.integers(1, 3), label="group")
    q = normal(data, batch, n_heads, asked, 6)
    k, v = normal(data, batch, n_kv_heads, held, 6), normal(data, batch, n_kv_heads, held, data.draw(SIZES))
    fractions = data.draw(st.booleans(), label="fractions")
    q_positions, k_positions = (data.draw(places(batch, n, fractions, -30, 30)) for n in (asked, held))
    causal, window = data.draw(st.booleans(), label="causal"), data.draw(st.sampled_from((None, 1, 2, 9)), label="window")
    ids = data.draw(st.one_of(st.none(), st.tuples(whole((batch, asked), 0, 2), whole((batch, held), 0, 2))), label="documents")
    shown = normal(data, batch, n_heads, asked, held) > data.draw(st.sampled_from((-9.0, -0.3, 0.8)), label="mask")
    added = torch.zeros(shown.shape, dtype=torch.float64)
    if data.draw(st.booleans(), label="float mask"):
        added = normal(data, batch, n_heads, asked, held)
    order = data.draw(st.one_of(st.none(), st.tuples(*(places(batch, n, False, -30, 30) for n in (asked, held)))), label="order")
    scale = data.draw(st.sampled_from((None, 0.7)), label="scale")
    schemes = (None, ordinate.Rope(head_dim=6, layout="half"), ordinate.ALiBi(n_heads=n_heads, slopes="paper"))
    scheme = data.draw(st.sampled_from(schemes))
    got = ordinate.attend(
        q,
        k,
        v,
        scheme=scheme,
        q_positions=q_positions,
        k_positions=k_positions,
        causal=causal,
        window=window,
        document_ids=ids,
        mask=added.masked_fill(~shown, -torch.inf) if added.any() else shown,
        order=order,
        scale=scale,
    )
    rows, columns = numbers_of(q_positions, batch), numbers_of(k_positions, batch)
    first, second = (rows, columns) if order is None else (numbers_of(places_of, batch) for places_of in order)
    for b, h in np.ndindex(batch, n_heads):
        distance = np.array(second[b])[None] - np.array(first[b])[:, None]
        visible = shown[b, h].numpy() & ((distance <= 0) | (not causal)) & (np.abs(distance) < (window or np.inf))
        if ids is not None:
            visible &= ids[0][b].numpy()[:, None] == ids[1][b].numpy()[None]
        group = h // (n_heads // n_kv_heads)
        asking, keys, values = (x.numpy() for x in (q[b, h], k[b, group], v[b, group]))
        bias = added[b, h].numpy()
        if isinstance(scheme, ordinate.Rope):
            asking, keys = reference.rope(asking, rows[b], "half"), reference.rope(keys, columns[b], "half")
        if isinstance(scheme, ordinate.ALiBi):
            bias = bias + reference.alibi(rows[b], columns[b], reference.alibi_slopes(n_heads, "paper"))[h]
        want = reference.attention(asking, keys, values, scale or 6**-0.5, bias, visible)
        # float64 throughout; fractional positions reach 2^31, where the oracle's own angles and biases are 1e-6 off
        assert np.abs(got[b, h].numpy() - want).max() < (2e-6 if fractions else 1e-12)
        assert (got[b, h].numpy()[~visible.any(1)] == 0).all()


@given
def test_positions_of_padding_and_packing(data: Any) -> None:
    batch, length = data.draw(SIZES), data.draw(st.integers(0, 9))
    rows = data.draw(st.lists(st.lists(st.booleans(), min_size=length, max_size=length), min_size=batch, max_size=batch))
    got = ordinate.positions.from_padding_mask(torch.tensor(rows).view(batch, length).bool()).tolist()
    for row, places_of_row in zip(rows, got, strict=True):
        assert places_of_row == [max(sum(row[: t + 1]) - 1, 0) for t in range(length)]
    lengths = data.draw(st.lists(st.integers(0, 5), max_size=5))
    tail = data.draw(st.integers(0, 3))
    packed = ordinate.positions.packed(lengths, total=sum(lengths) + tail)
    parts = [*lengths, *([tail] if tail else [])]
    assert packed.positions.tolist() == [t for n in parts for t in range(n)]
    assert packed.document_ids.tolist() == [i for i, n in enumerate(parts) for _ in range(n)]
    borders = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    assert ordinate.positions.packed(cu_seqlens=borders).lengths == tuple(lengths)


@given
def test_ranges_without_len(data: Any) -> None:
    numbers = st.integers(-20, 20)
    one = range(data.draw(numbers), data.draw(numbers), data.draw(numbers.filter(bool)))
    other = range(data.draw(numbers), data.draw(numbers), data.draw(numbers.filter(bool)))
    assert ordinate.positions.count(one) == len(one)
    if one:
        assert ordinate.positions.ends(one) == (min(one), max(one))
    assert not ordinate.positions.same(one, other) or one == other
    past, n = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 4))
    assert list(ordinate.positions.continued(past, n)) == list(range(past, past + n))
    rows = ordinate.positions.continued(torch.tensor([past, past + 3]), n)
    assert rows.tolist() == [list(range(past, past + n)), list(range(past + 3, past + 3 + n))]
