"""Attention by diagonals and by blocks against float64 loops, whatever hides keys, and that neither holds rows times columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ordinate import ALiBi, Deberta, Rope, Shaw, T5Bias, TransformerXL, attend, positions, reference
from ordinate.attention import blocked, choosing, learned, toeplitz
from ordinate.attention.band import Band, band_of, farthest_nearest
from ordinate.visibility import Sight

SLOPES = (0.5, 0.07)


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.fixture(params=[64, 2])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Least rows of a chunk: one chunk for all, or several."""
    monkeypatch.setattr(toeplitz, "LEAST_ROWS", request.param)
    monkeypatch.setattr(learned, "ROWS", 2 * request.param)
    return request.param


@pytest.fixture
def never_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the bias was held whole")

    monkeypatch.setattr(choosing, "weigh", refuse)


def t5_with(weight: torch.Tensor) -> T5Bias:
    scheme = T5Bias(n_heads=weight.shape[1], n_buckets=weight.shape[0], max_distance=9, bidirectional=True).double()
    with torch.no_grad():
        scheme.weight.copy_(weight)
    return scheme


def visible(q_places: range, k_places: range, causal: bool, window: int | None) -> Any:
    ahead = np.subtract.outer(np.array(k_places), np.array(q_places)).T
    seen = np.ones(ahead.shape, dtype=bool)
    if causal:
        seen &= ahead <= 0
    if window is not None:
        seen &= np.abs(ahead) < window
    return seen


PLACES = {
    "itself": (range(9), range(9)),
    "with a cache": (range(6, 9), range(9)),
    "one token": (range(8, 9), range(9)),
    "another sequence": (range(7), range(11)),
    "far behind": (range(500, 505), range(6)),
    "before all keys": (range(4), range(6, 12)),
    "partly before": (range(8), range(3, 9)),
    "every other": (range(0, 14, 2), range(4, 20, 2)),
    "backwards": (range(9, 0, -1), range(7, 0, -1)),
    "negative": (range(-5, 3), range(-7, 1)),
}
HIDDEN = [(False, None), (True, None), (True, 1), (True, 3), (False, 3)]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("causal", "window"), HIDDEN)
@pytest.mark.parametrize("kind", ["alibi", "t5", "none"])
@pytest.mark.usefixtures("rows")
def test_values_against_loops(places: str, causal: bool, window: int | None, kind: str) -> None:
    q_places, k_places = PLACES[places]
    q, k, v = drawn(2, 2, len(q_places), 4), drawn(2, 1, len(k_places), 4, seed=1), drawn(2, 1, len(k_places), 3, seed=2)
    table = drawn(8, 2, seed=3)
    scheme = {"alibi": ALiBi(n_heads=2, slopes=SLOPES), "t5": t5_with(table), "none": None}[kind]
    bias = np.zeros((2, len(q_places), len(k_places)))
    if kind == "alibi":
        bias = reference.alibi(q_places, k_places, SLOPES)
    elif kind == "t5":
        bias = reference.t5(q_places, k_places, table.numpy(), max_distance=9, bidirectional=True)
    seen = visible(q_places, k_places, causal, window)
    with torch.no_grad():
        out = attend(q, k, v, scheme=scheme, q_positions=q_places, k_positions=k_places, causal=causal, window=window, scale=0.4)
    for b, h in itertools.product(range(2), range(2)):
        want = reference.attention(q[b, h].numpy(), k[b, 0].numpy(), v[b, 0].numpy(), 0.4, bias[h], seen)
        want[~seen.any(-1)] = 0.0
        assert np.abs(out[b, h].numpy() - want).max() < 1e-13


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("causal", "window"), HIDDEN)
def test_the_band_is_what_is_seen(places: str, causal: bool, window: int | None) -> None:
    q_places, k_places = PLACES[places]
    band = band_of(Sight(causal, window, (q_places, k_places), None, None))
    seen = visible(q_places, k_places, causal, window)
    u = np.subtract.outer(np.arange(len(k_places)), np.arange(len(q_places))).T
    assert band is not None
    assert ((u >= band.lowest) & (u <= band.highest) == seen).all()
    assert list(band.rows) == np.flatnonzero(seen.any(-1)).tolist()
    for first, last in itertools.combinations_with_replacement(band.rows, 2):
        assert list(band.columns(first, last)) == list(
            range(np.flatnonzero(seen[first : last + 1].any(0))[0], np.flatnonzero(seen[first : last + 1].any(0))[-1] + 1)
        )
    if len(band.rows):
        distance = np.abs(np.subtract.outer(np.array(k_places), np.array(q_places)).T)
        nearest = max(distance[row][seen[row]].min() for row in band.rows)
        assert farthest_nearest(band, k_places.start - q_places.start, q_places.step) == nearest


@pytest.mark.parametrize("places", ["itself", "with a cache", "partly before"])
@pytest.mark.usefixtures("rows", "never_whole")
def test_gradients(places: str) -> None:
    q_places, k_places = PLACES[places]
    q, k, v = (drawn(1, 2, len(p), 4, seed=s).requires_grad_() for s, p in enumerate((q_places, k_places, k_places)))
    for window in (None, 3):
        for scheme in (ALiBi(n_heads=2, slopes=SLOPES), None):
            told: dict[str, Any] = {"q_positions": q_places, "k_positions": k_places, "causal": True, "window": window}
            if scheme is None and window is None and places == "itself":
                continue  # PyTorch's own
            assert torch.autograd.gradcheck(lambda *x, s=scheme, t=told: attend(*x, scheme=s, **t), (q, k, v))


@pytest.mark.parametrize("places", ["itself", "with a cache", "one token", "another sequence", "partly before", "backwards"])
@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 3)])
@pytest.mark.usefixtures("rows", "never_whole")
def test_gradients_of_a_learned_bias(places: str, causal: bool, window: int | None) -> None:
    q_places, k_places = PLACES[places]
    q, k, v = drawn(2, 2, len(q_places), 4), drawn(2, 1, len(k_places), 4, seed=1), drawn(2, 1, len(k_places), 4, seed=2)
    scheme = t5_with(drawn(8, 2, seed=3))
    inputs = [x.requires_grad_() for x in (q, k, v)]

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        told: dict[str, Any] = {"q_positions": q_places, "k_positions": k_places, "causal": causal, "window": window}
        return torch.func.functional_call(Around(scheme, told), {"scheme.weight": weight}, (q, k, v))

    assert torch.autograd.gradcheck(call, (*inputs, scheme.weight.detach().requires_grad_()))


class Around(torch.nn.Module):
    def __init__(self, scheme: T5Bias, told: dict[str, Any]) -> None:
        super().__init__()
        self.scheme, self.told = scheme, told

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        return attend(*x, scheme=self.scheme, **self.told)


def _table_gradient(weight: torch.Tensor, dtype: torch.dtype, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    q, k, v = (drawn(1, 2, n, 8, seed=s).to(dtype) for s in range(3))
    scheme = T5Bias(n_heads=2, bidirectional=False).to(dtype if dtype == torch.float64 else torch.float32)
    with torch.no_grad():
        scheme.weight.copy_(weight)
    out = attend(q, k, v, scheme=scheme, q_positions=range(n), k_positions=range(n), causal=True)
    out.backward(drawn(1, 2, n, 8, seed=9).to(dtype))
    assert scheme.weight.grad is not None
    return out.detach(), scheme.weight.grad


def test_learned_in_lower_precision_and_without_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = drawn(32, 2, seed=4)
    exact_out, exact = _table_gradient(weight, torch.float64, 200)
    for dtype, bound in ((torch.float32, 3e-6), (torch.bfloat16, 4e-2)):
        out, gradient = _table_gradient(weight, dtype, 200)
        assert (out - exact_out).abs().max() < bound
        assert (gradient - exact).abs().max() < 20 * bound, dtype
    by_operators = _table_gradient(weight, torch.float32, 200)
    monkeypatch.setattr(choosing, "operators", lambda: None)
    by_formula = _table_gradient(weight, torch.float32, 200)
    assert not torch.equal(by_operators[1], by_formula[1]), "the operators were not hidden"
    assert (by_formula[1] - exact).abs().max() < 6e-5
    monkeypatch.setattr(blocked, "SCORES", 4000)
    in_blocks = _table_gradient(weight, torch.float32, 200)
    assert (in_blocks[1] - exact).abs().max() < 6e-5


def test_operators_are_found_by_their_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert learned.operators() is not None
    learned.operators.cache_clear()
    monkeypatch.setattr(learned, "NAME", "_no_such_operator")
    assert learned.operators() is None
    learned.operators.cache_clear()
    monkeypatch.setattr(learned, "NAME", "_scaled_dot_product_flash_attention_for_cpu")
    monkeypatch.setattr(learned, "FORWARD", ("query", "key", "value"))
    assert learned.operators() is None
    learned.operators.cache_clear()


def test_a_learned_bias_is_differentiated_twice() -> None:
    q, k, v, scheme = *(drawn(1, 2, 4, 3, seed=s).requires_grad_() for s in range(3)), t5_with(drawn(8, 2))

    def call(*x: torch.Tensor) -> torch.Tensor:
        told: dict[str, Any] = {"q_positions": range(4), "k_positions": range(1, 5), "causal": True}
        return torch.func.functional_call(Around(scheme, told), {"scheme.weight": x[3]}, x[:3])

    assert torch.autograd.gradgradcheck(call, (q, k, v, scheme.weight.detach().requires_grad_()))


# What is dropped


@pytest.mark.parametrize("gradient", [False, True])
def test_all_visible_keys_are_far_away(gradient: bool) -> None:
    """Biases of -250 and less are all there is: nothing may be lost that is large beside them."""
    q_places, k_places = range(500, 600), range(100)
    q, k, v = (drawn(1, 2, 100, 8, seed=s, dtype=torch.float32).requires_grad_(gradient) for s in range(3))
    out = attend(q, k, v, scheme=ALiBi(n_heads=2, slopes=(0.5, 1.0)), q_positions=q_places, k_positions=k_places, causal=True)
    bias = reference.alibi(q_places, k_places, (0.5, 1.0))
    for h in range(2):
        values = (x[0, h].detach().double().numpy() for x in (q, k, v))
        want = reference.attention(*values, 8**-0.5, bias[h], np.ones((100, 100), dtype=bool))
        assert np.abs(out[0, h].detach().numpy() - want).max() < 5e-5  # a score near -600 has a last place of 6e-5


def test_gradients_with_far_keys_dropped() -> None:
    n, slopes = 300, (1.0, 0.25)
    inputs = [drawn(1, 2, n, 8, seed=s) for s in range(3)]
    results = []
    for dtype in (torch.float64, torch.float32):
        q, k, v = (x.clone().to(dtype).requires_grad_() for x in inputs)
        told: dict[str, Any] = {"q_positions": range(n), "k_positions": range(n), "causal": True}
        attend(q, k, v, scheme=ALiBi(n_heads=2, slopes=slopes), **told).backward(drawn(1, 2, n, 8, seed=7).to(dtype))
        results.append([x.grad.double() for x in (q, k, v)])
    for exact, got in zip(*results, strict=True):
        assert (exact - got).abs().max() < 1e-5


def test_what_is_dropped_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = choosing.by_diagonals
    monkeypatch.setattr(choosing, "by_diagonals", lambda *args: seen.append(args[3]) or real(*args))
    x, alibi = drawn(1, 1, 100, 4, dtype=torch.float32), ALiBi(n_heads=1, slopes=(1.0,))

    def hidden(x: torch.Tensor, k_places: range = range(100)) -> int:
        attend(x, x, x, scheme=alibi, q_positions=range(100), k_positions=k_places, causal=False)
        return int((seen[-1] == -math.inf).sum())

    assert hidden(x.double()) == 0
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert hidden(x.to(dtype)) == 2 * (99 - 60)
    # the row that has its nearest key farthest decides: 40 away, so biases below -100 go
    assert hidden(x, range(40, 140)) == 139 - 100


# What is held


def test_the_bias_is_a_view_of_one_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    real = toeplitz.fused
    monkeypatch.setattr(toeplitz, "fused", lambda *args: held.append(args[3].untyped_storage().nbytes()) or real(*args))
    q, t5 = drawn(1, 2, 700, 8, dtype=torch.bfloat16), T5Bias(n_heads=2, bidirectional=False)
    with torch.no_grad():
        for scheme, window in (
            (ALiBi(n_heads=2, slopes=SLOPES), None),
            (t5, None),
            (t5, 50),
            (None, 50),
            (Rope(head_dim=8, layout="half"), 9),
        ):
            held.clear()
            attend(q, q, q, scheme=scheme, q_positions=range(700), k_positions=range(700), causal=True, window=window)
            assert held
            assert max(held) <= 2 * 1399 * 4
        held.clear()
        lengths = positions.packed([300, 400])
        told: dict[str, Any] = {"q_positions": lengths.positions, "k_positions": lengths.positions, "document_ids": lengths}
        attend(q, q, q, scheme=t5, causal=True, **told)
        assert max(held) <= 2 * 799 * 4


CONTENT = {
    "shaw": lambda: Shaw(head_dim=4, max_distance=3, values=True).double(),
    "deberta": lambda: Deberta(n_heads=2, head_dim=4, content_to_position=True, position_to_content=True, max_distance=4),
    "xl": lambda: TransformerXL(n_heads=2, head_dim=4, d_model=8, layout="interleaved").double(),
    "alibi": lambda: ALiBi(n_heads=2, slopes=SLOPES),
    "t5": lambda: t5_with(drawn(8, 2, seed=3)),
    "none": lambda: None,
}


@pytest.mark.parametrize("kind", CONTENT)
@pytest.mark.parametrize("form", ["ranges", "tensors", "rows", "documents", "mask", "window", "bool mask"])
def test_blocks_of_rows_are_the_whole(monkeypatch: pytest.MonkeyPatch, kind: str, form: str) -> None:
    if (kind, form) == ("none", "ranges"):
        return  # PyTorch's own
    scheme = CONTENT[kind]()
    n, generator = 23, torch.Generator().manual_seed(5)
    shuffled = torch.randperm(n, generator=generator)
    places: Any = range(n) if form == "ranges" else torch.stack((shuffled, shuffled.flip(0))) if form == "rows" else shuffled
    told: dict[str, Any] = {"q_positions": places, "k_positions": places, "causal": form != "bool mask"}
    told["extras"] = {name: drawn(8, 2, 4, seed=i) for i, name in enumerate(getattr(scheme, "extras", ()))}
    if form == "documents":
        told["document_ids"] = torch.arange(n) // 9
    if form == "window":
        told["window"] = 5
    if form == "mask":
        told["mask"] = drawn(2, 1, n, n, seed=8).masked_fill(drawn(2, 1, n, n, seed=9) > 0.8, -math.inf)
        told["mask"][:, :, 5] = -math.inf
    if form == "bool mask":
        told["mask"] = drawn(n, seed=9) < 1
    results = []
    for scores in (10**9, 200):
        monkeypatch.setattr(blocked, "SCORES", scores)
        monkeypatch.setattr(blocked, "LEAST_ROWS", 2)
        monkeypatch.setattr(choosing, "_band", lambda *_: None)
        q, k, v = (drawn(2, h, n, 4, seed=s).requires_grad_() for s, h in enumerate((2, 1, 1)))
        sizes: list[int] = []
        real = choosing.weigh
        with monkeypatch.context() as patch:
            patch.setattr(
                choosing, "weigh", lambda *args, f=real, s=sizes: s.append(args[0].shape[2] * args[1].shape[2] * 4) or f(*args)
            )
            out = attend(q, k, v, scheme=scheme, **told)
            if scheme is not None:
                scheme.zero_grad()
            out.backward(drawn(2, 2, n, 4, seed=6))
        learned_ones = [] if scheme is None else [parameter.grad.clone() for parameter in scheme.parameters()]
        results.append([out.detach(), q.grad, k.grad, v.grad, *learned_ones])
        assert (max(sizes) <= 200) == (scores == 200)
    for whole, cut in zip(*results, strict=True):
        assert (whole - cut).abs().max() < 1e-13


def test_blocks_skip_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked, "SCORES", 2000)
    widths = []
    real = choosing.weigh
    monkeypatch.setattr(choosing, "weigh", lambda *args: widths.append(args[1].shape[2]) or real(*args))
    x = drawn(1, 2, 64, 4)
    shaw = Shaw(head_dim=4, max_distance=3, values=False).double()
    attend(x, x, x, scheme=shaw, q_positions=range(64), k_positions=range(64), causal=True)
    assert widths == [16, 32, 48, 64]


def test_a_band_of_no_rows() -> None:
    band = band_of(Sight(True, 2, (range(3), range(50, 60)), None, None))
    assert band is not None
    assert list(band.rows) == []
    x, y = drawn(1, 1, 3, 4).requires_grad_(), drawn(1, 1, 10, 4)
    out = attend(x, y, y, scheme=None, q_positions=range(3), k_positions=range(50, 60), causal=True, window=2)
    out.sum().backward()
    assert out.abs().max() == 0
    assert x.grad is not None
    assert x.grad.abs().max() == 0
    assert Band(3, 2, 5, 5).rows == range(0)
