"""Bad input to the schemes that add to the scores: one clear line each, before any number is computed."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate import Deberta, MultiheadAttention, Shaw, T5Bias, attend

T5 = T5Bias(n_heads=4, bidirectional=True)
SHAW = Shaw(head_dim=8, max_distance=2, values=True)
BOTH = {"content_to_position": True, "position_to_content": True}
ONE = {"content_to_position": True, "position_to_content": False}
DEBERTA = Deberta(n_heads=4, head_dim=8, **BOTH, max_distance=3)
C2P = Deberta(n_heads=4, head_dim=8, **ONE, max_distance=3)
TABLE = torch.zeros(6, 4, 8)


def x(*shape, **kind):
    return torch.zeros(*shape, **kind)


def t5(**change):
    return T5Bias(**{"n_heads": 4, "bidirectional": True, **change})


def shaw(**change):
    return Shaw(**{"head_dim": 8, "max_distance": 2, "values": True, **change})


def deberta(**change):
    return Deberta(**{"n_heads": 4, "head_dim": 8, **BOTH, "max_distance": 8, **change})


def call(scheme, **change):
    right = {"q": x(1, 4, 3, 8), "k": x(1, 2, 3, 8), "v": x(1, 2, 3, 8), "scheme": scheme, "causal": True}
    right |= {"q_positions": range(3), "k_positions": range(3), "extras": dict.fromkeys(scheme.extras, TABLE)} | change
    return attend(**right)


BUILDING = [
    (lambda: t5(n_heads=0), "n_heads: needed a whole number >= 1, got 0"),
    (lambda: t5(bidirectional=None), "bidirectional: needed True or False, got None"),
    (lambda: t5(bidirectional="causal"), "bidirectional: needed True or False, got 'causal'"),
    (lambda: t5(bidirectional=1), "bidirectional: needed True or False, got 1"),
    (lambda: t5(n_buckets=2), "n_buckets: needed a whole number >= 4, got 2"),
    (lambda: t5(n_buckets=1, bidirectional=False), "n_buckets: needed a whole number >= 2, got 1"),
    (lambda: t5(n_buckets=33), "n_buckets: needed an even number for two directions, got 33"),
    (lambda: t5(max_distance=8), "max_distance: needed a whole number >= 9, got 8"),
    (lambda: t5(max_distance=16, bidirectional=False), "max_distance: needed a whole number >= 17, got 16"),
    (lambda: t5(max_distance=128.0), "max_distance: needed a whole number >= 9, got float 128.0"),
    (lambda: T5.heads(3, 5), "heads: needed 0 <= start < stop <= 4, got 3, 5"),
    (lambda: T5.heads(1, 3).heads(0, 3), "heads: needed 0 <= start < stop <= 2, got 0, 3"),
    (lambda: shaw(head_dim=0), "head_dim: needed a whole number >= 1, got 0"),
    (lambda: shaw(max_distance=0), "max_distance: needed a whole number >= 1, got 0"),
    (lambda: shaw(max_distance=2.5), "max_distance: needed a whole number >= 1, got float 2.5"),
    (lambda: shaw(max_future=-1), "max_future: needed a whole number >= 0, got -1"),
    (lambda: shaw(values=None), "values: needed True or False, got None"),
    (lambda: SHAW.heads(2, 2), "heads: needed 0 <= start < stop, got 2, 2"),
    (lambda: deberta(n_heads=0), "n_heads: needed a whole number >= 1, got 0"),
    (lambda: deberta(head_dim=8.0), "head_dim: needed a whole number >= 1, got float 8.0"),
    (lambda: deberta(content_to_position="c2p"), "content_to_position: needed True or False, got 'c2p'"),
    (lambda: deberta(position_to_content=None), "position_to_content: needed True or False, got None"),
    (lambda: deberta(content_to_position=False, position_to_content=False), "needed at least one of the two, got neither"),
    (lambda: deberta(max_distance=0), "max_distance: needed a whole number >= 1, got 0"),
    (lambda: deberta(max_distance=-1), "max_distance: needed a whole number >= 1, got -1"),
    (lambda: deberta(buckets=3), "buckets: needed a whole number >= 4, got 3"),
    (lambda: deberta(buckets=16, max_distance=9), "max_distance: needed a whole number >= 10, got 9"),
    (lambda: DEBERTA.heads(0, 5), "heads: needed 0 <= start < stop <= 4, got 0, 5"),
]

FRACTIONS = torch.tensor([0.0, 0.5, 1.0])
CALLING = [
    *((lambda s=s: s.at(FRACTIONS, range(3)), r"q_positions: .*whole positions .* got float32 \[3\]") for s in (T5, SHAW, DEBERTA)),
    *((lambda s=s: s.at(range(3), FRACTIONS.double()), "k_positions: .*got float64") for s in (T5, SHAW, DEBERTA)),
    *((lambda s=s: call(s, q_positions=FRACTIONS), r"q_positions: .*whole positions .* got float32") for s in (T5, SHAW, DEBERTA)),
    (lambda: T5.buckets(FRACTIONS), "distance: needed whole numbers, got float32 .* with fractions or infinities"),
    (
        lambda: T5.by_distance(torch.tensor([math.pi])),
        "distance: needed whole numbers, got float32 .* with fractions or infinities",
    ),
    (lambda: call(T5, q=x(1, 6, 3, 8)), r"T5Bias\(n_heads=4\): needed q with 4 heads, got 6; build the scheme .*heads\("),
    (lambda: T5.bias(x(1, 4, 3, 8), x(1, 2, 3, 8), range(3)), r"at: needed T5Bias\.at\(q_positions, k_positions\), got range"),
    (lambda: call(SHAW, q=x(1, 4, 3, 6), k=x(1, 2, 3, 6)), r"Shaw\(head_dim=8\): needed q and k of that width, got 6 and 6"),
    (lambda: call(SHAW, v=x(1, 2, 3, 5)), r"v: needed width 8, that of the values of Shaw\(head_dim=8.*, got 5"),
    (lambda: SHAW.bias(x(1, 4, 3, 8), x(1, 2, 3, 8), SHAW.at(range(2), range(3))), "q_positions: needed 3 positions, .* got 2"),
    (lambda: call(SHAW, extras={"keys": TABLE}), "extras: needed none for Shaw, got keys"),
    (lambda: call(T5, at=SHAW.at(range(3), range(1, 4))), r"at: .*for k positions range\(0, 3\), got one for range\(1, 4\)"),
    (lambda: call(DEBERTA, extras=None), "extras: needed keys and queries for Deberta, got none"),
    (lambda: call(DEBERTA, extras={"keys": TABLE}), "extras: needed keys and queries for Deberta, got keys"),
    (lambda: call(C2P, extras={"keys": TABLE, "queries": TABLE}), "extras: needed keys for Deberta, got keys, queries"),
    (
        lambda: call(DEBERTA, extras={"keys": TABLE, "tables": TABLE}),
        "extras: needed keys and queries for Deberta, got keys, tables",
    ),
    (
        lambda: call(DEBERTA, extras={"keys": TABLE, "queries": TABLE[:5]}),
        r"queries: needed the projected table \[2 span, H, D\] = \[6, 4, 8\], got float32 \[5, 4, 8\]",
    ),
    (lambda: call(DEBERTA, extras={"keys": TABLE.flatten(1), "queries": TABLE}), r"keys: .* got float32 \[6, 32\]"),
    (lambda: call(DEBERTA, extras={"keys": None, "queries": TABLE}), r"keys: .* got NoneType"),
    (lambda: call(DEBERTA, extras={"keys": TABLE.long(), "queries": TABLE}), r"keys: .* got int64"),
    (lambda: call(DEBERTA, extras={"keys": TABLE.to("meta"), "queries": TABLE}), "keys: needed .*device cpu.* got .*meta"),
    (lambda: call(DEBERTA, extras=["keys", "queries"]), "extras: needed .* got list"),
    (
        lambda: C2P.bias(x(1, 4, 3, 8), x(1, 2, 3, 8), C2P.at(range(3), range(3)), keys=TABLE, queries=TABLE),
        "queries: needed None with position_to_content=False, got float32",
    ),
    (lambda: call(DEBERTA, q=x(1, 2, 3, 8)), r"Deberta\(n_heads=4\): needed q with 4 heads, got 2"),
    (lambda: call(DEBERTA, q=x(1, 4, 3, 6), k=x(1, 2, 3, 6)), r"Deberta\(head_dim=8\): needed q and k of that width, got 6 and 6"),
    (lambda: MultiheadAttention(d_model=32, n_heads=8, scheme=T5, causal=True), r"scheme: needed n_heads=8, got T5Bias\("),
    (lambda: MultiheadAttention(d_model=32, n_heads=8, scheme=SHAW, causal=True), r"scheme: needed head_dim=4, got Shaw\("),
    (lambda: MultiheadAttention(d_model=64, n_heads=4, scheme=C2P, causal=True), r"scheme: needed head_dim=16, got Deberta\("),
    (
        lambda: MultiheadAttention(d_model=32, n_heads=4, scheme=C2P, causal=True)(x(1, 3, 32), range(3)),
        "extras: needed keys for Deberta, got none",
    ),
]


@pytest.mark.parametrize(("call", "message"), BUILDING + CALLING, ids=[message[:50] for _, message in BUILDING + CALLING])
def test_values(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize("scheme", [T5, SHAW, DEBERTA, C2P])
def test_the_calls_are_right(scheme):
    assert call(scheme).shape == (1, 4, 3, 8)


class NoProducts(TorchDispatchMode):
    """Fails at the first product, softmax or look-up."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().split("::")[1].split(".")[0]
        assert name not in {"mm", "bmm", "gather", "embedding", "_softmax", "scatter_add"}, f"{name} ran before the refusal"
        return func(*args, **(kwargs or {}))


def test_products_are_seen():
    for scheme in (T5, SHAW, DEBERTA):
        with NoProducts(), pytest.raises(AssertionError, match="ran before the refusal"):
            call(scheme)


REFUSED = {
    "width of values": lambda: call(SHAW, v=x(1, 2, 3, 5)),
    "fractions": lambda: call(T5, q_positions=FRACTIONS),
    "no tables": lambda: call(DEBERTA, extras=None),
    "tables too many": lambda: call(C2P, extras={"keys": TABLE, "queries": TABLE}),
    "wrong table": lambda: call(DEBERTA, extras={"keys": TABLE, "queries": TABLE[:5]}),
    "wrong heads": lambda: call(DEBERTA, q=x(1, 2, 3, 8)),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_nothing_runs_before_a_refusal(fault):
    with NoProducts(), pytest.raises(ValueError, match="needed"):
        REFUSED[fault]()
