"""The kit's check of ALiBi: right implementations of every form pass, and planted faults are found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import ordinate
from ordinate import reference
from ordinate.testing.biases import assert_bias, check_alibi, check_bias, from_additive_mask, from_lengths, from_score_mod
from ordinate.testing.findings import Finding, Report

Bias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def slopes_of(n_heads: int) -> torch.Tensor:
    return torch.tensor(reference.alibi_slopes(n_heads, "authors")).view(-1, 1, 1)


def exact(slopes: torch.Tensor) -> Bias:
    return lambda q, k: -slopes * (q[:, None] - k[None, :]).abs()


def by_rule(rule: Callable[[int], list[float]]) -> Callable[[int], Bias]:
    return lambda n: exact(torch.tensor(rule(n)).view(-1, 1, 1))


def first(report: Report) -> Finding:
    return report.broken[0]


def key_row(length: int) -> torch.Tensor:
    return slopes_of(4) * torch.arange(length).view(1, 1, -1)


def full_mask(length: int) -> torch.Tensor:
    places = torch.arange(length)
    distance = places[None, :] - places[:, None]
    return (slopes_of(4) * distance).masked_fill(distance > 0, torch.finfo(torch.float32).min)[None]


SLOPES = slopes_of(4)
RIGHT_CAUSAL: dict[str, Any] = {
    "positions": exact(SLOPES),
    "signed distance": lambda q, k: SLOPES * (k[None, :] - q[:, None]),
    "a batch of one": lambda q, k: exact(SLOPES)(q, k)[None],
    "one row of keys": key_row,
    "one row of keys that ends at 0": lambda length: key_row(length) - SLOPES * (length - 1),
    "lengths": lambda q_len, k_len: exact(SLOPES)(torch.arange(k_len - q_len, k_len), torch.arange(k_len)),
    "additive mask": from_additive_mask(full_mask),
    "score_mod": lambda score, _, h, q_idx, kv_idx: score + SLOPES[h, 0, 0] * (kv_idx - q_idx),
    "scheme": ordinate.ALiBi(n_heads=4, slopes="authors"),
    "distance": lambda distance: SLOPES * distance,
    "NumPy": lambda q, k: exact(SLOPES)(q, k).numpy(),
    "float64": lambda q, k: exact(SLOPES.double())(q, k),
}


@pytest.mark.parametrize("name", RIGHT_CAUSAL)
def test_right_forms_pass(name: str) -> None:
    report = check_alibi(RIGHT_CAUSAL[name], n_heads=4, causal=True)
    assert report.broken == (), str(report)
    assert sum(finding.verdict == "holds" for finding in report) >= 4


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12])
@pytest.mark.parametrize("causal", [True, False])
def test_schemes_pass(n_heads: int, causal: bool) -> None:
    for rule in ("authors", "paper"):
        scheme = ordinate.ALiBi(n_heads=n_heads, slopes=rule)
        assert_bias(
            scheme,
            scheme="alibi",
            n_heads=n_heads,
            causal=causal,
            slopes=rule,
            log_sum_exp=True,
            make=lambda n, rule=rule: ordinate.ALiBi(n_heads=n, slopes=rule),
        )


def test_transformers_builders_pass() -> None:
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    mpt = pytest.importorskip("transformers.models.mpt.modeling_mpt")

    def of_bloom(n: int, dtype: torch.dtype = torch.float32) -> Any:
        return from_lengths(lambda length: bloom.build_alibi_tensor(torch.ones(1, length, dtype=torch.int64), n, dtype))

    def of_mpt(n: int) -> Any:
        return from_lengths(lambda length: mpt.build_mpt_alibi_tensor(n, length))

    for make in (of_bloom, of_mpt):
        report = check_bias(make(6), scheme="alibi", n_heads=6, causal=True, make=make)
        assert report.broken == (), str(report)
    rounded = check_bias(of_bloom(8, torch.bfloat16), scheme="alibi", n_heads=8, causal=True)
    assert [finding.property for finding in rounded.broken] == ["far distances"]
    assert "row of keys is rounded to bfloat16" in first(rounded).said


def _series(n: int, start: int = 1, ratio: int | None = None) -> list[float]:
    return [2.0 ** (-8 * h / (ratio or n)) for h in range(start, start + n)]


SLOPE_FAULTS: dict[str, tuple[Callable[[int], list[float]], str, str]] = {
    "one series": (_series, "one geometric series", "3 heads"),
    "off by one": (lambda n: _series(n, start=0), "begin with 2^0", "1 heads"),
    "second first": (lambda n: _series(n, start=2), "that of the second head", "1 heads"),
    "reversed": (lambda n: reference.alibi_slopes(n, "authors")[::-1], "reverse order", "2 heads"),
    "sorted": (lambda n: sorted(reference.alibi_slopes(n, "authors"), reverse=True), "sorted", "3 heads"),
    "next power": (
        lambda n: _series(n, ratio=1 << (n - 1).bit_length()),
        "first ones of the next larger power",
        "3 heads",
    ),
    "fixed ratio": (lambda n: [0.5 ** (h + 1) for h in range(n)], "ratio is 1/2", "1 heads"),
    "not negated": (lambda n: [1 / slope for slope in reference.alibi_slopes(n, "authors")], "not negated", "1 heads"),
    "unknown": (lambda n: [0.3 / (h + 2) for h in range(n)], "no known mistake", "1 heads"),
}


@pytest.mark.parametrize("name", SLOPE_FAULTS)
def test_slopes_are_named(name: str) -> None:
    rule, said, smallest = SLOPE_FAULTS[name]
    report = check_alibi(by_rule(rule)(8), n_heads=8, causal=True, make=by_rule(rule))
    assert report.kinds == ("alibi-slopes",), str(report)
    assert said in first(report).said
    assert first(report).smallest == smallest
    assert first(report).code == "ORD501"


def test_the_rule_that_is_declared_counts() -> None:
    authors = ordinate.ALiBi(n_heads=6, slopes="authors")
    assert "authors' list" in first(check_alibi(authors, n_heads=6, causal=True, slopes="paper")).said
    report = check_alibi(ordinate.ALiBi(n_heads=6, slopes="paper"), n_heads=6, causal=True)
    assert 'slopes="paper"' in str(first(report).remedy)
    own = ordinate.ALiBi(n_heads=2, slopes=(0.3, 0.1))
    assert check_alibi(own, n_heads=2, causal=True, slopes=(0.3, 0.1)).broken == ()
    assert check_alibi(own, n_heads=2, causal=True, slopes=(0.1, 0.3)).kinds == ("alibi-slopes",)


def _index_form(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return -SLOPES * (torch.arange(len(q))[:, None] - torch.arange(len(k))[None, :]).abs()


def _aligned_first(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return -SLOPES * (torch.arange(len(q))[:, None] - k[None, :]).abs()


GEOMETRY_FAULTS: dict[str, tuple[Any, bool, str, str]] = {
    "sign": (lambda q, k: -exact(SLOPES)(q, k), True, "distances", "the bias grows with the distance"),
    "sign of a row": (lambda length: -key_row(length), True, "distances", "the bias grows with the distance"),
    "one-sided": (lambda q, k: SLOPES * (k[None, :] - q[:, None]), False, "distances", "distance keeps its sign"),
    "future at 0": (
        lambda q, k: SLOPES * (k[None, :] - q[:, None]).clamp(max=0),
        False,
        "distances",
        "keys after the query get 0",
    ),
    "row of keys, two-way": (key_row, False, "distances", ""),
    "aligned to the first key": (_aligned_first, True, "alignment of queries and keys", "aligned to the first key"),
    "aligned by lengths": (
        lambda q_len, k_len: exact(SLOPES)(torch.arange(q_len), torch.arange(k_len)),
        True,
        "alignment of queries and keys",
        "aligned to the first key",
    ),
    "positions ignored": (
        lambda q, k: exact(SLOPES)(torch.arange(len(k) - len(q), len(k)), torch.arange(len(k))),
        True,
        "positions in any order",
        "the queries are taken for the last of the keys",
    ),
    "indexes, two-way": (_index_form, False, "alignment of queries and keys", ""),
    "bfloat16": (lambda q, k: exact(SLOPES)(q, k).bfloat16(), True, "far distances", "the bias is rounded to bfloat16"),
    "float16 positions": (
        lambda q, k: exact(SLOPES)(q, k).half(),
        True,
        "far distances",
        "the bias is rounded to float16",
    ),
    "squared": (lambda q, k: -SLOPES * (q[:, None] - k[None, :]) ** 2, True, "distances", ""),
    "no heads": (lambda q, k: (q[0] + k).float(), True, "distances", "no bias"),
}


@pytest.mark.parametrize("name", GEOMETRY_FAULTS)
def test_geometry_is_named(name: str) -> None:
    fn, causal, property, said = GEOMETRY_FAULTS[name]
    report = check_alibi(fn, n_heads=4, causal=causal)
    found = [finding for finding in report.broken if finding.kind == "alibi-geometry"]
    assert found, str(report)
    assert found[0].property == property, str(report)
    assert said in found[0].said, str(report)
    assert found[0].smallest
    assert found[0].expected


def test_a_row_of_keys_is_no_fault_unless_something_keeps_the_constant() -> None:
    assert check_alibi(key_row, n_heads=4, causal=True).broken == ()
    report = check_alibi(key_row, n_heads=4, causal=True, log_sum_exp=True)
    assert report.kinds == ("alibi-geometry",)
    assert "log-sum-exp" in first(report).said


def test_the_bias_by_hand() -> None:
    """slope 0.5, query 4, keys 0..4"""
    function = ordinate.testing.biases.adapted(lambda q, k: exact(torch.tensor([[[0.5]]]))(q, k))
    assert function.ask(((4,), range(5))).tolist() == [[[-2.0, -1.5, -1.0, -0.5, 0.0]]]


def test_errors_are_findings() -> None:
    def fails(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        if len(q) != len(k):
            raise RuntimeError("sizes differ\nmore lines")
        return exact(SLOPES)(q, k)

    (finding,) = check_alibi(fails, n_heads=4, causal=True).broken[:1]
    assert finding.actual == "RuntimeError: sizes differ"
    assert finding.property == "alignment of queries and keys"


def test_a_stale_cache_is_found() -> None:
    largest = [0]

    def after_longer(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        stale = largest[0] in (8,) and len(k) == 3
        largest[0] = max(largest[0], len(k)) if len(k) <= 8 else 0
        return exact(SLOPES)(q, k) - (0.125 if stale else 0.0)

    assert "cache-key-and-sharing" in check_alibi(after_longer, n_heads=4, causal=True).kinds


def test_what_cannot_be_asked_is_said() -> None:
    report = check_alibi(key_row, n_heads=4, causal=True)
    unasked = {finding.property: finding.said for finding in report if finding.verdict == "does not apply"}
    assert unasked["alignment of queries and keys"] == "the function takes one length for both"
    assert "positions in any order" in unasked


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="scheme: needed one of alibi, t5, shaw, deberta, got 'rope'"):
        check_bias(exact(SLOPES), scheme="rope")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wrap it by an adapter"):
        check_alibi(lambda a, b, c: a + b + c, n_heads=1, causal=True)
    with pytest.raises(ValueError, match="causal: needed True"):
        check_bias(exact(SLOPES), scheme="alibi", n_heads=4)
    with pytest.raises(ValueError, match="n_heads: needed"):
        check_bias(exact(SLOPES), scheme="alibi", causal=True)
    with pytest.raises(ValueError, match="alibi: needed some of slopes, log_sum_exp, make, got max_distance"):
        check_bias(exact(SLOPES), scheme="alibi", causal=True, n_heads=4, max_distance=9)
    with pytest.raises(ValueError, match=r"the name 'nothing exact.<locals>.<lambda>' does not say it"):
        check_bias(exact(SLOPES), name="nothing", causal=True)
    with pytest.raises(AssertionError, match="alibi-geometry"):
        assert_bias(lambda q, k: -exact(SLOPES)(q, k), scheme="alibi", n_heads=4, causal=True)


class OneSeriesAlibi(torch.nn.Module):
    """A class that is found by its name and made by its arguments."""

    def __init__(self, num_heads: int, reach: float = 8.0) -> None:
        super().__init__()
        self.slopes = 2.0 ** (-reach * torch.arange(1, num_heads + 1) / num_heads)

    def forward(self, q_len: int, k_len: int) -> torch.Tensor:
        return exact(self.slopes.view(-1, 1, 1))(torch.arange(k_len - q_len, k_len), torch.arange(k_len))


def test_classes_are_made() -> None:
    report = check_bias(OneSeriesAlibi, causal=True, n_heads=8)
    assert report.subject == "OneSeriesAlibi"
    assert (first(report).smallest, report.kinds) == ("3 heads", ("alibi-slopes",))
    short = check_bias(OneSeriesAlibi, causal=True, n_heads=8, settings={"reach": 4.0})
    assert "ends with 2^-4" in first(short).said
    assert check_bias(ordinate.ALiBi, causal=False, n_heads=6, slopes="authors").broken == ()
    assert check_bias(ordinate.T5Bias(n_heads=1, bidirectional=True).buckets, name="t5", causal=False).broken == ()
    with pytest.raises(ValueError, match="settings: needed none for what is no class, got reach"):
        check_bias(key_row, scheme="alibi", causal=True, n_heads=4, settings={"reach": 1})


def test_rounding_of_float32_and_short_functions_are_no_faults() -> None:
    slopes = slopes_of(12)
    assert check_alibi(lambda q, k: (slopes * k).expand(-1, len(q), -1), n_heads=12, causal=True).broken == ()

    def short(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return -slopes * torch.arange(64).float()[(q[:, None] - k[None, :]).abs()] if int(k.max()) < 64 else torch.ones(64)[k]

    report = check_alibi(short, n_heads=12, causal=True)
    assert report.broken == (), str(report)
    assert "gives no bias" in str(report)


def test_score_mods_need_their_heads() -> None:
    mod = from_score_mod(lambda score, _, h, q, k: score - SLOPES[h, 0, 0] * (q - k).abs(), 4)
    assert check_alibi(mod, n_heads=4, causal=False).broken == ()
    assert check_alibi(mod, n_heads=3, causal=False).kinds[0] == "alibi-slopes"
