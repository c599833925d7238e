"""Drawn settings, positions, dtypes and layouts of T5, Shaw and DeBERTa against the float64 loops of ``ordinate.reference``."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import torch
from hypothesis import strategies as st

import ordinate
from ordinate import reference
from strategies import DTYPES, SIZES, normal, numbers_of, places

given = hypothesis.given(st.data())
WIDTH = 4


def drawn_table(data: Any, *shape: int) -> torch.Tensor:
    """Multiples of 1/32, which every dtype holds."""
    return (32 * normal(data, *shape)).round().contiguous() / 32


def drawn_places(data: Any, batch: int, *lengths: int) -> tuple[list[Any], list[list[list[int]]]]:
    """Whole positions for each length, and the same as numbers, by batch row."""
    drawn = [data.draw(places(batch, length, fractions=False), label="positions") for length in lengths]
    return drawn, [[[int(place) for place in row] for row in numbers_of(positions, batch)] for positions in drawn]


def close(got: torch.Tensor, want: Any, terms: int) -> None:
    """Products of ``terms`` numbers of size 5 or less, scaled, summed in float32 (float64) and rounded once."""
    right = torch.from_numpy(np.asarray(want))
    epsilon = torch.finfo(got.dtype).eps
    assert got.dtype in (torch.float32, torch.float64)
    assert (got.double() - right).abs().max() <= terms * 25 * epsilon


def drawn_t5(data: Any, n_heads: int) -> ordinate.T5Bias:
    bidirectional = data.draw(st.booleans(), label="bidirectional")
    n_buckets = data.draw(st.integers(2, 20), label="half") * 2
    least = (n_buckets // 4 if bidirectional else n_buckets // 2) + 1
    most = data.draw(st.integers(least, 10 * least), label="max_distance")
    scheme = ordinate.T5Bias(n_heads=n_heads, n_buckets=n_buckets, max_distance=most, bidirectional=bidirectional)
    scheme.weight.data.copy_(drawn_table(data, n_buckets, n_heads))
    return scheme


def drawn_shaw(data: Any) -> ordinate.Shaw:
    most = data.draw(st.integers(1, 9), label="max_distance")
    scheme = ordinate.Shaw(head_dim=WIDTH, max_distance=most, values=data.draw(st.booleans(), label="values"))
    for table in scheme.parameters():
        table.data.copy_(drawn_table(data, *table.shape))
    return scheme


def drawn_deberta(data: Any, n_heads: int) -> tuple[ordinate.Deberta, dict[str, torch.Tensor]]:
    buckets = data.draw(st.one_of(st.none(), st.integers(4, 20)), label="buckets")
    most = data.draw(st.integers(1 if buckets is None else buckets // 2 + 2, 60), label="max_distance")
    c2p, p2c = data.draw(st.sampled_from(((True, True), (True, False), (False, True))), label="terms")
    terms = {"content_to_position": c2p, "position_to_content": p2c}
    scheme = ordinate.Deberta(n_heads=n_heads, head_dim=WIDTH, **terms, buckets=buckets, max_distance=most)
    return scheme, {name: drawn_table(data, 2 * scheme.span, n_heads, WIDTH) for name in scheme.extras}


def by_definition(scheme: Any, tables: dict[str, torch.Tensor], q: Any, k: Any, rows: Any, columns: Any) -> Any:
    """The terms of one batch row that are not yet scaled; T5's are not scaled at all: [H, Q, K]."""
    if isinstance(scheme, ordinate.T5Bias):
        table = scheme.weight.detach().double().numpy()
        return reference.t5(rows, columns, table, scheme.max_distance, scheme.bidirectional)
    if isinstance(scheme, ordinate.Shaw):
        table = scheme.key_weight.detach().double().numpy()
        return np.stack([reference.shaw(head, rows, columns, table) for head in q])
    heads = []
    for h in range(len(q)):
        keys, queries = (tables[name][:, h].double().numpy() if name in tables else None for name in ("keys", "queries"))
        key_head = k[h // (len(q) // len(k))]
        heads.append(reference.deberta(q[h], key_head, rows, columns, keys, queries, scheme.max_distance, scheme.buckets))
    return np.stack(heads)


def drawn_scheme(data: Any, n_heads: int) -> tuple[Any, dict[str, torch.Tensor], float]:
    """A scheme, its tables, and the softmax scale of its paper."""
    kind = data.draw(st.sampled_from(("t5", "shaw", "deberta")), label="scheme")
    if kind == "deberta":
        scheme, tables = drawn_deberta(data, n_heads)
        return scheme, tables, (WIDTH * (1 + len(tables))) ** -0.5
    return drawn_t5(data, n_heads) if kind == "t5" else drawn_shaw(data), {}, WIDTH**-0.5


@given
def test_biases(data: Any) -> None:
    batch, groups, asked, held, dtype = (data.draw(part) for part in (SIZES, SIZES, SIZES, SIZES, DTYPES))
    n_heads = groups * data.draw(st.integers(1, 2), label="group")
    scheme, tables, scale = drawn_scheme(data, n_heads)
    q, k = normal(data, batch, n_heads, asked, WIDTH, dtype=dtype), normal(data, batch, groups, held, WIDTH, dtype=dtype)
    (q_positions, k_positions), (rows, columns) = drawn_places(data, batch, asked, held)
    got = scheme.bias(q, k, scheme.at(q_positions, k_positions), **{name: table.to(dtype) for name, table in tables.items()})
    heads = q.double().numpy(), k.double().numpy()
    want = [by_definition(scheme, tables, heads[0][b], heads[1][b], rows[b], columns[b]) for b in range(batch)]
    factor = scale if scheme.content else 1.0
    close(got.detach().expand(batch, n_heads, asked, held), np.stack(want) * factor, 2 * WIDTH)
    start = data.draw(st.integers(0, n_heads - 1), label="first head")
    part = scheme.heads(start, n_heads)
    every = k.repeat_interleave(n_heads // groups, 1)
    cut = {name: table[:, start:].to(dtype) for name, table in tables.items()}
    sliced = part.bias(q[:, start:], every[:, start:], part.at(q_positions, k_positions), **cut)
    close(sliced.detach(), got.detach()[:, start:].double().numpy(), 2 * WIDTH)


@given
def test_added_values(data: Any) -> None:
    batch, n_heads, asked, held = (data.draw(part) for part in (SIZES, SIZES, SIZES, SIZES))
    scheme = drawn_shaw(data)
    (q_positions, k_positions), (rows, columns) = drawn_places(data, batch, asked, held)
    add = scheme.added_values(scheme.at(q_positions, k_positions))
    hypothesis.assume(add is not None)
    weights = normal(data, batch, n_heads, asked, held).softmax(-1)
    table = scheme.value_weight.detach().double().numpy()
    want = [
        [reference.shaw_values(weights[b, h].numpy(), rows[b], columns[b], table) for h in range(n_heads)] for b in range(batch)
    ]
    close(add(weights).detach(), want, held)
    close(add(weights.float()).detach(), want, held)


@given
def test_attention(data: Any) -> None:
    batch, groups, asked, held = (data.draw(part) for part in (SIZES, SIZES, SIZES, SIZES))
    n_heads = groups * data.draw(st.integers(1, 2), label="group")
    scheme, tables, own = drawn_scheme(data, n_heads)
    scheme = scheme.double()
    q = normal(data, batch, n_heads, asked, WIDTH)
    k, v = normal(data, batch, groups, held, WIDTH), normal(data, batch, groups, held, WIDTH)
    (q_positions, k_positions), (rows, columns) = drawn_places(data, batch, asked, held)
    causal, window = data.draw(st.booleans(), label="causal"), data.draw(st.sampled_from((None, 1, 4)), label="window")
    shown = normal(data, batch, n_heads, asked, held) > data.draw(st.sampled_from((-9.0, 0.3)), label="mask")
    given_scale = data.draw(st.sampled_from((None, 1.0, 0.2)), label="scale")
    where = {"q_positions": q_positions, "k_positions": k_positions, "causal": causal, "window": window, "mask": shown}
    got = ordinate.attend(q, k, v, scheme=scheme, **where, scale=given_scale, extras=tables).detach()
    scale = own if given_scale is None else given_scale
    for b in range(batch):
        terms = by_definition(scheme, tables, q[b].numpy(), k[b].numpy(), rows[b], columns[b])
        ahead = np.array(columns[b])[None] - np.array(rows[b])[:, None]
        for h in range(n_heads):
            visible = shown[b, h].numpy() & ((ahead <= 0) | (not causal)) & (np.abs(ahead) < (window or np.inf))
            bias, group = terms[h] * (scale if scheme.content else 1.0), h // (n_heads // groups)
            heads = q[b, h].numpy(), k[b, group].numpy()
            want = reference.attention(*heads, v[b, group].numpy(), scale, bias, visible)
            if isinstance(scheme, ordinate.Shaw) and scheme.values:
                weights = reference.attention(*heads, np.eye(held), scale, bias, visible)
                want = want + reference.shaw_values(weights, rows[b], columns[b], scheme.value_weight.detach().numpy())
            assert np.abs(got[b, h].numpy() - want).max() < 1e-12
            assert (got[b, h].numpy()[~visible.any(1)] == 0).all()
