"""The kit's checks of T5's, Shaw's and DeBERTa's rows, and of the relative shift: originals pass, planted faults are named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ordinate
from ordinate.testing.biases import (
    check_bias,
    check_deberta,
    check_relative_shift,
    check_shaw,
    check_t5,
    from_buckets,
    from_lengths,
    from_vectors,
)
from ordinate.testing.findings import Finding, Report


def only(report: Report) -> Finding:
    assert len(report.broken) == 1, str(report)
    (finding,) = report.broken
    assert finding.kind == "relative-index-logic", str(report)
    assert finding.code == "ORD503"
    assert finding.smallest
    return finding


def t5_buckets(
    relative_position: torch.Tensor,
    bidirectional: bool = True,
    num_buckets: int = 32,
    max_distance: int = 128,
    sign: int = 1,
    dtype: torch.dtype = torch.float32,
    halved: bool = True,
    clipped: bool = True,
) -> torch.Tensor:
    """Right as it stands; each keyword plants a fault."""
    distance, first = sign * relative_position, 0
    rows = num_buckets // 2 if bidirectional and halved else num_buckets
    reach = distance.abs() if bidirectional else (-distance).clamp(min=0)
    if bidirectional:
        first = (distance > 0).long() * (num_buckets // 2)
    exact = rows // 2
    far = (reach.clamp(min=1).to(dtype) / exact).log() / math.log(max_distance / exact) * (rows - exact)
    far = exact + far.long()
    return first + torch.where(reach < exact, reach, far.clamp(max=rows - 1) if clipped else far)


@pytest.mark.parametrize("causal", [True, False])
def test_t5_originals_pass(causal: bool) -> None:
    scheme = ordinate.T5Bias(n_heads=3, bidirectional=not causal)
    assert check_t5(scheme.buckets, causal=causal).broken == ()
    assert check_t5(scheme, causal=causal, table=scheme.weight).broken == ()
    assert check_bias(ordinate.T5Bias, causal=causal, n_heads=2).broken == ()
    assert len(check_t5(scheme, causal=not causal).broken) == 1
    assert check_t5(lambda relative_position: t5_buckets(relative_position, not causal), causal=causal).broken == ()
    for n_buckets, reach in ((6, 20), (64, 1000), (8, 16)):
        other = ordinate.T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=reach, bidirectional=not causal)
        assert check_t5(other.buckets, causal=causal, n_buckets=n_buckets, max_distance=reach).broken == ()


def test_t5_of_transformers_passes() -> None:
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    transformers = pytest.importorskip("transformers")
    for causal in (True, False):
        config = transformers.T5Config(d_model=8, num_heads=2, d_kv=4, d_ff=8, is_decoder=causal)
        attention = t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
        with torch.no_grad():
            attention.relative_attention_bias.weight.normal_()
        table = attention.relative_attention_bias.weight
        bucket = from_buckets(lambda d, causal=causal: t5.T5Attention._relative_position_bucket(d, bidirectional=not causal))
        assert check_t5(bucket, causal=causal).broken == ()
        whole = from_lengths(lambda q_len, k_len, a=attention: a.compute_bias(q_len, k_len, past_seen_tokens=k_len - q_len))
        assert check_t5(whole, causal=causal, table=table).broken == ()
        unaligned = from_lengths(lambda q_len, k_len, a=attention: a.compute_bias(q_len, k_len))
        finding = only(check_t5(unaligned, causal=causal, table=table))
        assert finding.property == "alignment of queries and keys"
        assert "aligned to the first key" in finding.said


T5_FAULTS: dict[str, tuple[dict[str, Any], bool, str, str]] = {
    "sign": ({"sign": -1}, False, "sign of the distance", "key position - query position = -1"),
    "sign, causal": ({"sign": -1, "bidirectional": False}, True, "sign of the distance", "key position - query position = -1"),
    "two ways in a decoder": ({}, True, "split for two directions", "key position - query position = 1"),
    "one way in an encoder": (
        {"bidirectional": False},
        False,
        "split for one direction",
        "key position - query position = 1",
    ),
    "bfloat16": ({"dtype": torch.bfloat16}, False, "bfloat16", "key position - query position = -16"),
    "max distance": ({"max_distance": 64}, False, "max_distance is 64", ""),
    "buckets": ({"num_buckets": 64}, False, "there are 64 rows", ""),
    "not halved": ({"halved": False}, False, "not halved", ""),
    "not clipped": ({"clipped": False}, False, "past the last row", "key position - query position = -128"),
}


@pytest.mark.parametrize("name", T5_FAULTS)
def test_t5_faults_are_named(name: str) -> None:
    changed, causal, said, smallest = T5_FAULTS[name]
    report = check_bias(lambda relative_position: t5_buckets(relative_position, **changed), scheme="t5", causal=causal)
    finding = only(report)
    assert said in finding.said, str(report)
    assert smallest in str(finding.smallest), str(report)


def test_a_rounded_logarithm_that_misses_nothing_is_no_fault() -> None:
    """One direction of 32 buckets up to 128: bfloat16 gives all rows rightly."""
    right = from_buckets(lambda d: t5_buckets(d, False, dtype=torch.bfloat16))
    assert check_t5(right, causal=True).broken == ()


@pytest.mark.parametrize(
    ("causal", "distance", "row"),
    [(True, -20, 17), (True, 5, 0), (False, -20, 10), (False, 5, 21), (False, 0, 0), (False, 1, 17), (False, 128, 31)],
)
def test_one_wrong_row_is_found(causal: bool, distance: int, row: int) -> None:
    off = from_buckets(lambda relative_position: t5_buckets(relative_position, not causal) - 100 * (relative_position == distance))
    finding = only(check_t5(off, causal=causal))
    assert finding.smallest == f"key position - query position = {distance}"
    assert (finding.expected, finding.actual) == (str(row), str(row - 100))
    assert "no known mistake" in finding.said


def test_t5_biases_by_their_table() -> None:
    table = torch.randn(32, 4)
    signed = lambda q, k: table[t5_buckets(q[:, None] - k[None, :])].movedim(-1, 0)  # noqa: E731
    assert "sign" in only(check_t5(signed, causal=False, table=table)).said
    other = lambda q, k: table[t5_buckets(k[None, :] - q[:, None])].movedim(-1, 0) * 0.5  # noqa: E731
    assert "no known mistake" in only(check_t5(other, causal=False, table=table)).said
    with pytest.raises(ValueError, match="give its table="):
        check_t5(signed, causal=False)


def test_t5_offset_ignored_is_found() -> None:
    ignoring = lambda q, k: t5_buckets(torch.arange(len(k))[None, :] - torch.arange(len(k) - len(q), len(k))[:, None])  # noqa: E731
    assert check_t5(ignoring, causal=False).kinds == ("relative-index-logic",)


def _shaw(m: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    return lambda q, k: (k[None, :] - q[:, None]).clamp(-m, m) + m


@pytest.mark.parametrize("m", [1, 2, 4, 16])
def test_shaw_originals_pass(m: int) -> None:
    assert check_shaw(_shaw(m), max_distance=m).broken == ()
    assert check_shaw(lambda length: _shaw(m)(torch.arange(length), torch.arange(length)), max_distance=m).broken == ()
    table = torch.randn(2 * m + 1, 5)
    vectors = from_vectors(lambda q, k: table[_shaw(m)(q, k)])
    assert check_shaw(vectors, max_distance=m, table=table, causal=True).broken == ()


SHAW_FAULTS: dict[str, tuple[Any, str]] = {
    "sign": (lambda q, k: (q[:, None] - k[None, :]).clamp(-2, 2) + 2, "sign of the distance"),
    "not clipped": (lambda q, k: k[None, :] - q[:, None] + 2, "not clipped"),
    "not moved": (lambda q, k: (k[None, :] - q[:, None]).clamp(-2, 2), "not moved"),
    "clipped too soon": (lambda q, k: (k[None, :] - q[:, None]).clamp(-1, 1) + 2, "clipped at 1"),
    "one side": (lambda q, k: (k[None, :] - q[:, None]).clamp(max=2) + 2, "only one side"),
    "unsigned": (lambda q, k: (k[None, :] - q[:, None]).abs().clamp(max=2), "lost its sign"),
}


@pytest.mark.parametrize("name", SHAW_FAULTS)
def test_shaw_faults_are_named(name: str) -> None:
    fn, said = SHAW_FAULTS[name]
    assert said in only(check_shaw(fn, max_distance=2)).said


def test_shaw_index_past_the_table_is_a_finding() -> None:
    """max distance 1, length 3: rows [[1,2,2],[0,1,2],[0,0,1]]"""
    table = torch.randn(3, 4)
    past = from_vectors(lambda q, k: table[(k[None, :] - q[:, None]) + 1])
    finding = only(check_shaw(past, max_distance=1, table=table))
    assert "wrap around" in finding.said
    assert (finding.smallest, finding.expected, finding.actual) == ("key position - query position = -2", "0", "2")
    wide = from_vectors(lambda q, k: F.embedding((k[None, :] - q[:, None]).clamp(min=-1) + 1, table))
    assert "IndexError" in str(only(check_shaw(wide, max_distance=1, table=table)).actual)
    assert check_shaw(from_vectors(lambda q, k: table[_shaw(1)(q, k)]), max_distance=1, table=table).broken == ()


def test_deberta_originals_pass() -> None:
    v2 = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2")

    def buckets(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return v2.make_log_bucket_position(q[:, None] - k[None, :], 256, 512)

    assert check_deberta(buckets).broken == ()
    signed = from_buckets(lambda d: v2.make_log_bucket_position(d, 256, 512), query_minus_key=True)
    assert check_deberta(signed).broken == ()
    rows = from_buckets(lambda d: (v2.make_log_bucket_position(d, 256, 512) + 256).clamp(0, 511), query_minus_key=True)
    assert check_deberta(rows).broken == ()
    swapped = from_buckets(lambda d: v2.make_log_bucket_position(d, 256, 512))
    assert "sign of the distance" in only(check_deberta(swapped)).said
    sixteen = from_buckets(lambda d: v2.make_log_bucket_position(d, 256, 1024), query_minus_key=True)
    assert only(check_deberta(sixteen)).smallest
    scheme = ordinate.Deberta(
        n_heads=1, head_dim=4, content_to_position=True, position_to_content=True, buckets=256, max_distance=512
    )
    assert check_deberta(from_buckets(scheme.rows)).broken == ()


def xl_shift(scores: torch.Tensor) -> torch.Tensor:
    """Pads a column, views the rows one longer, and cuts the first."""
    b, h, q, r = scores.shape
    return F.pad(scores, (1, 0)).view(b, h, r + 1, q)[:, :, 1:].reshape(b, h, q, r)


def test_relative_shifts() -> None:
    assert check_relative_shift(xl_shift, two_way=False).broken == ()
    assert check_relative_shift(lambda scores: xl_shift(scores), two_way=True).broken == ()
    assert "not shifted" in only(check_relative_shift(lambda scores: scores, two_way=False)).said
    assert "wrong direction" in only(check_relative_shift(lambda scores: xl_shift(scores.flip(-1)), two_way=True)).said
    late = only(check_relative_shift(lambda scores: F.pad(xl_shift(scores), (0, 1))[..., 1:], two_way=True))
    assert late.said == "the shift is off by one"
    assert check_relative_shift(lambda scores: scores[0], two_way=True).broken
    transposed = check_relative_shift(lambda scores: scores.transpose(-1, -2), two_way=True)
    assert "no value" in only(transposed).said
