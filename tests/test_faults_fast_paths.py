"""Faults of fast and compiled paths: shapes that break them, missing gradients, graph breaks, checks that compiling loses."""

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from ordinate import ALiBi, Learned, Rope, Sinusoidal, attend, reference

INDUCTOR_WARNS = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")


def test_fused_kernel_shape_gradient():
    for layout in ("half", "interleaved"):
        x = torch.tensor([[[[1.0, 0.0]]]], requires_grad=True)
        Rope(head_dim=2, layout=layout).queries(x, range(1, 2))[..., 0].sum().backward()
        assert (x.grad.flatten().double() - torch.tensor([0.540302, -0.841471]).double()).abs().max() < 6e-7


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("n_heads", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_fused_kernel_shape_rope_sweep(batch, n_heads, length):
    x = torch.randn(batch, n_heads, length, 6, generator=torch.Generator().manual_seed(0))
    for layout in ("half", "interleaved"):
        rope = Rope(head_dim=6, layout=layout, rotary_dim=4, rotary_start=1)
        turned, other = rope.queries(x, range(3, 3 + length)), rope.keys(x.transpose(1, 2), range(3, 3 + length), sequence_dim=-3)
        assert torch.equal(other.transpose(1, 2), turned)
        for b in range(batch):
            for h in range(n_heads):
                slow = reference.rope(x[b, h].double().numpy(), range(3, 3 + length), layout, rotary_dim=4, rotary_start=1)
                assert np.abs(turned[b, h].double().numpy() - slow).max() < 1e-6  # float32 products of numbers up to 3


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("n_heads", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_fused_kernel_shape_attend_sweep(batch, n_heads, length):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(batch, n_heads, length, 4, generator=generator, dtype=torch.float64) for _ in range(3))
    alibi = ALiBi(n_heads=n_heads, slopes="authors")
    out = attend(q, k, v, scheme=alibi, q_positions=range(length), k_positions=range(length), causal=True).numpy()
    bias = reference.alibi(range(length), range(length), alibi.slope_values)
    for b in range(batch):
        for h in range(n_heads):
            slow = reference.attention(q[b, h].numpy(), k[b, h].numpy(), v[b, h].numpy(), 0.5, bias[h], np.tri(length) > 0)
            assert np.abs(out[b, h] - slow).max() < 1e-14


SCHEMES = [
    None,
    Rope(head_dim=4, layout="half"),
    Rope(head_dim=4, layout="interleaved", rotary_dim=2),
    ALiBi(n_heads=2, slopes="paper"),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["nope", "half", "interleaved", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("places", [range(3), torch.tensor([2, 0, 5])])
def test_fused_kernel_shape_gradcheck(scheme, causal, places):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, heads, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True) for heads in (2, 1, 1))
    assert torch.autograd.gradcheck(
        lambda q, k, v: attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=causal), (q, k, v)
    )


@pytest.mark.parametrize("scheme", SCHEMES, ids=["nope", "half", "interleaved", "alibi"])
@pytest.mark.parametrize("places_of", [range, torch.arange], ids=["range", "tensor"])
def test_compile_unfriendly_three_lengths(scheme, places_of):
    torch.compiler.reset()
    counter = CompileCounterWithBackend("aot_eager")

    def forward(q, places):
        return attend(q, q, q, scheme=scheme, q_positions=places, k_positions=places, causal=True)

    compiled = torch.compile(forward, backend=counter, fullgraph=True)
    for length in (8, 9, 10):
        q = torch.randn(1, 2, length, 4, generator=torch.Generator().manual_seed(length))
        assert (compiled(q, places_of(length)) - forward(q, places_of(length))).abs().max() < 1e-6
    assert counter.frame_count <= 2


@INDUCTOR_WARNS
def test_compile_unfriendly_sinusoids_of_three_lengths():
    torch.compiler.reset()
    scheme, counter = Sinusoidal(d_model=6), CompileCounterWithBackend("inductor")
    compiled = torch.compile(scheme.at, backend=counter, fullgraph=True)
    for length in (8, 9, 10):
        assert np.abs(compiled(range(length)).double().numpy() - reference.sinusoidal(length, 6)).max() < 1e-7
    assert counter.frame_count <= 2


@INDUCTOR_WARNS
@pytest.mark.parametrize("overflow", ["error", "wrap", "clamp"])
def test_cos_sin_range_compiled(overflow):
    torch.compiler.reset()
    table = Learned(max_length=4, d_model=2, overflow=overflow)
    compiled = torch.compile(table.at, fullgraph=True)
    inside = torch.tensor([3, 0])
    assert torch.equal(compiled(inside), table.weight[inside])
    for position in (-1, 4) if overflow == "error" else (-1,):
        with pytest.raises(RuntimeError, match=r"Learned\(max_length=4\): a position has no row"):
            compiled(torch.tensor([0, position]))
    if overflow != "error":
        assert torch.equal(compiled(torch.tensor([6, 4])), table.weight[[2, 0] if overflow == "wrap" else [3, 3]])
