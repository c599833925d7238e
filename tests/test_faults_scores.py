"""Ways of using score schemes that once went wrong: slices after loading, vmap, traced float64, far positions, odd numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import ordinate
from contract_tools import draw, identical, near
from ordinate import ALiBi, Deberta, DistanceScheme, MultiheadAttention, Shaw, T5Bias, attend, reference

PLACES = {"q_positions": range(6), "k_positions": range(6), "causal": False}


def _inputs(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [draw(2, 4, 6, 8, seed=seed, dtype=dtype) for seed in range(3)]


REPLACED: dict[str, Callable[[T5Bias, dict[str, torch.Tensor]], Any]] = {
    "assigned": lambda whole, state: whole.load_state_dict(state, assign=True),
    "loaded": lambda whole, state: whole.load_state_dict(state),
    "emptied": lambda whole, state: whole.to_empty(device="cpu").load_state_dict(state),
    "set": lambda whole, state: setattr(whole, "weight", torch.nn.Parameter(state["weight"])),
}


@pytest.mark.parametrize("how", REPLACED)
def test_a_slice_of_heads_follows_the_whole(how: str) -> None:
    with torch.device("meta" if how == "emptied" else "cpu"):
        whole = T5Bias(n_heads=4, bidirectional=True)
    part, table = whole.heads(1, 4).heads(1, 3), draw(32, 4)
    REPLACED[how](whole, {"weight": table})
    identical(part.by_distance(torch.tensor([0, 1])), table[[0, 17]].T[2:4])
    part.by_distance(torch.tensor([0])).sum().backward()
    assert whole.weight.grad is not None
    assert whole.weight.grad.nonzero().tolist() == [[0, 2], [0, 3]]


def test_a_slice_of_heads_moves_and_saves_with_the_whole() -> None:
    whole = T5Bias(n_heads=4, bidirectional=True)
    part = whole.heads(0, 2).double()
    assert whole.weight.dtype == torch.float64
    assert [name for name, _ in part.named_parameters()] == ["whole.weight"]
    assert next(part.parameters()) is whole.weight


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # PyTorch's fused attention has no batching rule
@pytest.mark.parametrize("scheme", [None, ALiBi(n_heads=4, slopes="paper"), Shaw(head_dim=8, max_distance=3, values=True)])
def test_vmap_over_masks(scheme: Any) -> None:
    q, k, v = _inputs()
    scheme = scheme if scheme is None else scheme.requires_grad_(False)
    for masks in (draw(3, 6, 6, seed=9), draw(3, 6, 6, seed=9) > -1):
        got = torch.func.vmap(lambda mask: attend(q, k, v, scheme=scheme, mask=mask, **PLACES))(masks)
        for row, mask in enumerate(masks):
            near(got[row], attend(q, k, v, scheme=scheme, mask=mask, **PLACES), 2e-6)


def test_float64_buckets_are_traced_without_reading_values() -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        q = torch.zeros(1, 2, 6, 8, dtype=torch.float64)
        scheme = T5Bias(n_heads=2, bidirectional=True)
        assert attend(q, q, q, scheme=scheme, **PLACES).dtype == torch.float64
        rows = torch.zeros(1, 6, dtype=torch.int64)
        assert attend(q, q, q, scheme=scheme, q_positions=rows, k_positions=rows, causal=False).dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_farthest_positions_share_the_last_buckets(dtype: torch.dtype) -> None:
    scheme = T5Bias(n_heads=1, bidirectional=True)
    q = torch.zeros(1, 1, 2, 4, dtype=dtype)
    bias = scheme.bias(q, q, scheme.at(range(2**62 - 3, 2**62 - 1), range(-(2**62) + 2, -(2**62) + 4)))
    near(bias, scheme.weight[15, 0].detach().to(dtype).expand(1, 1, 2, 2), 0.0)
    deberta = Deberta(n_heads=1, head_dim=2, content_to_position=True, position_to_content=False, max_distance=2**61)
    assert deberta.rows(torch.tensor([-(2**63), 2**63 - 1, 0])).tolist() == [2**62 - 1, 0, 2**61]


def test_float64_weights_are_not_rounded() -> None:
    scheme = T5Bias(n_heads=2, bidirectional=False).double()
    q = torch.zeros(1, 2, 3, 4, dtype=torch.float64)
    want = reference.t5(range(3), range(3), scheme.weight.detach().numpy(), 128, False)
    near(scheme.bias(q, q, scheme.at(range(3), range(3))).detach()[0], torch.from_numpy(want), 0.0)


class Broadcast(DistanceScheme):
    """Wrong: forgets the heads."""

    def __init__(self) -> None:
        super().__init__()
        self.n_heads = 4

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        return distance.float()

    def heads(self, start: int, stop: int) -> Broadcast:
        raise NotImplementedError


class Window(DistanceScheme):
    """As docs/adding-a-scheme.md has it."""

    def __init__(self, *, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        return torch.where(distance.abs() < 2, 0.0, -1.0).expand(self.n_heads, *distance.shape)

    def heads(self, start: int, stop: int) -> Window:
        return Window(n_heads=stop - start)


def test_a_scheme_of_ones_own() -> None:
    q, k, v = _inputs()
    added = torch.tensor([[0.0 if abs(i - j) < 2 else -1.0 for j in range(6)] for i in range(6)])
    for places in (range(6), torch.arange(6)):
        got = attend(q, k, v, scheme=Window(n_heads=4), q_positions=places, k_positions=places, causal=False)
        near(got, attend(q, k, v, scheme=None, mask=added, **PLACES), 2e-6)
        with pytest.raises(ValueError, match=r"Broadcast\.by_distance: needed \[n_heads, \.\.\.\] = \[4, "):
            attend(q, k, v, scheme=Broadcast(), q_positions=places, k_positions=places, causal=False)


@pytest.mark.parametrize("scale", [1, 0.25, np.float32(0.25), np.int64(1), 0.0, -0.5])
def test_a_scale_is_any_finite_number(scale: Any) -> None:
    q, k, v = _inputs(torch.float64)
    visible = np.ones((6, 6), dtype=bool)
    got = attend(q, k, v, scheme=None, scale=scale, **PLACES)
    want = reference.attention(q[1, 2].numpy(), k[1, 2].numpy(), v[1, 2].numpy(), float(scale), np.zeros((6, 6)), visible)
    near(got[1, 2], torch.from_numpy(want))


@pytest.mark.parametrize("scale", [10**400, 1e308, float("nan"), True, "1", torch.tensor(1.0)])
def test_other_scales_are_refused(scale: Any) -> None:
    q, k, v = _inputs()
    for call in (
        lambda: attend(q, k, v, scheme=None, scale=scale, **PLACES),
        lambda: MultiheadAttention(d_model=32, n_heads=4, scheme=None, causal=True, scale=scale),
    ):
        with pytest.raises(ValueError, match="scale: needed a finite number, got "):
            call()


@pytest.mark.parametrize("scheme", [None, ordinate.Rope(head_dim=8, layout="half"), Shaw(head_dim=8, max_distance=3, values=True)])
@pytest.mark.parametrize("wrong", [6, [0, 1, 2, 3, 4, 5], None, "range"])
def test_positions_of_another_kind_are_refused(scheme: Any, wrong: Any) -> None:
    q, k, v = _inputs()
    with pytest.raises(TypeError, match="q_positions: needed a range or an integer tensor"):
        attend(q, k, v, scheme=scheme, q_positions=wrong, k_positions=range(6), causal=True)
    with pytest.raises(TypeError, match="k_positions: needed a range or an integer tensor"):
        attend(q, k, v, scheme=scheme, q_positions=range(6), k_positions=wrong, causal=True)


def test_a_layer_with_another_width_and_scale() -> None:
    """As T5's checkpoints are: d_kv is not d_model / n_heads, and nothing divides the scores."""
    layer = MultiheadAttention(d_model=12, n_heads=2, head_dim=8, scheme=None, causal=False, scale=1.0).double()
    x = draw(1, 5, 12, dtype=torch.float64)
    q, k, v = (
        (x[0] @ part.weight.T).unflatten(-1, (2, 8)).transpose(0, 1).detach().numpy() for part in (layer.q, layer.k, layer.v)
    )
    heads = [reference.attention(q[h], k[h], v[h], 1.0, np.zeros((5, 5)), np.ones((5, 5), dtype=bool)) for h in range(2)]
    want = torch.from_numpy(np.concatenate(heads, axis=1)) @ layer.out.weight.T
    near(layer(x, range(5))[0].detach(), want.detach())


def test_small_refusals() -> None:
    q, k, v = _inputs()
    with pytest.raises(TypeError, match="got the class Deberta; build it first"):
        attend(q, k, v, scheme=Deberta, extras={"keys": q}, **PLACES)
    with pytest.raises(ValueError, match="extras: needed none for no scheme, got 1, keys"):
        attend(q, k, v, scheme=None, extras={1: q, "keys": q}, **PLACES)
    with pytest.raises(ValueError, match="q: needed a width D of at least 1"):
        attend(q[..., :0], k[..., :0], v, scheme=None, **PLACES)
    with pytest.raises(ValueError, match="max_distance: needed a whole number from 1 to"):
        Shaw(head_dim=2, max_distance=10**30, values=False)
    with pytest.raises(TypeError, match="Shaw acts on attention scores"):
        Shaw(head_dim=2, max_distance=3, values=False)(q, range(6))
    for name in ("span", "extras"):
        with pytest.raises(AttributeError, match=f"{name} is fixed"):
            setattr(Deberta(n_heads=1, head_dim=2, content_to_position=True, position_to_content=False, max_distance=3), name, 1)
