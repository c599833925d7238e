"""Faults of relative indices that scores are made with: T5's buckets, Shaw's rows, DeBERTa's third term. Right values by hand."""

from __future__ import annotations

import math

import torch

import ordinate
from contract_tools import identical, near
from ordinate import reference


def _t5_rows(scheme: ordinate.T5Bias, distances: list[int], dtype: torch.dtype = torch.float32) -> list[int]:
    """The rows of the table that one query reads, its table holding the rows' numbers."""
    with torch.no_grad():
        scheme.weight.copy_(torch.arange(len(scheme.weight), dtype=torch.float32)[:, None])
    q, k = torch.zeros(1, 1, 1, 2, dtype=dtype), torch.zeros(1, 1, len(distances), 2, dtype=dtype)
    at = scheme.at(torch.tensor([7]), torch.tensor(distances) + 7)
    return [int(row) for row in scheme.bias(q, k, at)[0, 0, 0].tolist()]


# key - query -> row of 32 with max_distance 128
T5_CAUSAL = {-20: 17, 5: 0, 0: 0, -15: 15, -16: 16, -32: 21, -90: 29, -128: 31, -5000: 31}
T5_TWO_WAY = {-20: 10, 5: 21, 0: 0, 1: 17, -8: 8, -16: 10, -32: 12, -90: 14, -128: 15, 128: 31, 16: 26, 32: 28, 90: 30, 5000: 31}


def t5_buckets() -> None:
    """The authors' rows, also after a cast of the model and inside autocast, where a bfloat16 logarithm misses 16, 32 and 90."""
    for bidirectional, right in ((False, T5_CAUSAL), (True, T5_TWO_WAY)):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            t5 = ordinate.T5Bias(n_heads=1, bidirectional=bidirectional).to(dtype)
            assert _t5_rows(t5, list(right), dtype) == list(right.values()), dtype
            with torch.autocast("cpu", torch.bfloat16):
                assert _t5_rows(t5, list(right), dtype) == list(right.values()), f"autocast, {dtype}"
    far = [*range(-1030, 1031), -(2**31), 2**31]
    for n_buckets, most, bidirectional in ((32, 128, True), (32, 128, False), (6, 20, True), (7, 20, False), (64, 1000, True)):
        t5 = ordinate.T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=most, bidirectional=bidirectional)
        assert _t5_rows(t5, far) == [reference.t5_bucket(d, n_buckets, most, bidirectional) for d in far]


def shaw_rows() -> None:
    """Distances clipped on both sides: no index past the table, at any length."""
    shaw = ordinate.Shaw(head_dim=1, max_distance=1, values=True)
    with torch.no_grad():
        shaw.key_weight.copy_(torch.tensor([[0.0], [1.0], [2.0]]))
        shaw.value_weight.copy_(torch.tensor([[0.0], [10.0], [20.0]]))
    for length in (1, 2, 3, 4, 9):
        rows = [[max(-1, min(j - i, 1)) + 1 for j in range(length)] for i in range(length)]
        if length == 3:
            assert rows == [[1, 2, 2], [0, 1, 2], [0, 0, 1]]
        one = torch.ones(1, 1, length, 1)
        for places in (range(length), torch.arange(length)):
            at = shaw.at(places, places)
            near(shaw.bias(one, one, at)[0, 0], torch.tensor(rows), 0.0, f"length {length}")
            for j in range(length):
                alone = torch.zeros(1, 1, length, length)
                alone[..., j] = 1.0
                near(shaw.added_values(at)(alone)[0, 0, :, 0], torch.tensor([10 * row[j] for row in rows]), 0.0)
    ends = torch.tensor([-(2**31) + 1, 0, 2**31 - 1], dtype=torch.int32)
    near(shaw.bias(torch.ones(1, 1, 3, 1), torch.ones(1, 1, 3, 1), shaw.at(ends, ends))[0, 0, 0], torch.tensor([1, 2, 2]), 0.0)


def deberta_third_term() -> None:
    """Keys meet the table at the distance from i to j, as in the authors' code and all checkpoints, not from j to i (paper)."""
    terms = {"content_to_position": True, "position_to_content": True}
    deberta = ordinate.Deberta(n_heads=1, head_dim=1, **terms, max_distance=2)
    one, nothing, table = torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), torch.arange(4.0).view(4, 1, 1)
    for query, key, row in ((4, 3, 3), (4, 4, 2), (4, 5, 1), (4, 9, 0), (9, 4, 3)):
        at = deberta.at(range(query, query + 1), range(key, key + 1))
        for q, k in ((one, nothing), (nothing, one)):
            got = deberta.bias(q, k, at, keys=table, queries=table)
            near(got.view(1), torch.tensor([row / math.sqrt(3)], dtype=torch.float64), 1e-7, f"query {query}, key {key}")


def deberta_buckets() -> None:
    """v2 and v3: 256 buckets, distances to 512; rows ordered by query - key, and the softmax divided by the number of terms."""
    both, one = ({"content_to_position": True, "position_to_content": p2c} for p2c in (True, False))
    v3 = ordinate.Deberta(n_heads=12, head_dim=64, **both, buckets=256, max_distance=512)
    right = {0: 256, -1: 257, 1: 255, -128: 384, 128: 128, -129: 385, 129: 127, -511: 511, 511: 1, -512: 511, 512: 0, 9999: 0}
    assert v3.rows(torch.tensor(list(right))).tolist() == list(right.values())
    far = list(range(-1030, 1031))
    buckets = [reference.deberta_bucket(-distance, 256, 512) for distance in far]
    assert v3.rows(torch.tensor(far)).tolist() == [max(0, min(256 + bucket, 511)) for bucket in buckets]
    assert abs(v3.softmax_scale(64) - 0.0721687836) < 1e-10
    assert abs(ordinate.Deberta(n_heads=1, head_dim=64, **one, max_distance=2).softmax_scale(64) - 0.0883883476) < 1e-10


def slices_of_heads_share_tables() -> None:
    """A tensor-parallel rank's scheme trains the whole's table: the same object, with the gradient in its own columns."""
    t5 = ordinate.T5Bias(n_heads=5, bidirectional=True)
    part = t5.heads(1, 4).heads(1, 3)
    assert part.weight is t5.weight
    assert part.n_heads == 2
    part.by_distance(torch.tensor([-8, 1, 1])).sum().backward()
    want = torch.zeros(32, 5)
    want[8, 2:4], want[17, 2:4] = 1.0, 2.0
    identical(t5.weight.grad, want)
    shaw = ordinate.Shaw(head_dim=2, max_distance=1, values=True)
    assert shaw.heads(1, 3) is shaw
