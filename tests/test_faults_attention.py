"""The kinds of faults that need a whole attention to show: decoding, packing, padding, sharding. The name says the kind."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate import ALiBi, KeyValueCache, Learned, MultiheadAttention, Rope, Sinusoidal, TokenAndPositionEmbedding, attend
from ordinate.positions import from_padding_mask, packed

SCHEMES = {
    "nope": lambda: None,
    "rope half": lambda: Rope(head_dim=8, layout="half"),
    "rope interleaved": lambda: Rope(head_dim=8, layout="interleaved", rotary_dim=4, rotary_start=2),
    "alibi": lambda: ALiBi(n_heads=4, slopes="authors"),
}
each_scheme = pytest.mark.parametrize("name", SCHEMES)


def agree(ours, theirs):
    """To float32 rounding: 1e-6 of the largest output."""
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() <= 1e-6 * theirs.abs().max()


def layer_with(name, seed=0):
    torch.manual_seed(seed)
    layer = MultiheadAttention(d_model=32, n_heads=4, n_kv_heads=2, scheme=SCHEMES[name](), causal=True)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.mul_(3)  # far from uniform attention
    return layer.eval()


def test_derived_keys_in_checkpoint_loads_the_layer_strictly():
    layer = layer_with("rope half")
    assert sorted(layer.state_dict()) == ["k.weight", "out.weight", "q.weight", "v.weight"]
    layer_with("alibi", seed=1).load_state_dict(layer.state_dict(), strict=True)


@each_scheme
def test_decode_offset_the_token_after_six_is_at_six(name):
    layer, x = layer_with(name), torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        full, cache = layer(x, range(7)), KeyValueCache()
        layer(x[:, :6], range(6), cache=cache)
        agree(layer(x[:, 6:], range(6, 7), cache=cache), full[:, 6:])
        if name != "nope":
            wrong = attend_like(layer, x, range(7), range(6, 13))
            assert (wrong - full).abs().max() > 0.01


def attend_like(layer, x, q_positions, k_positions):
    q, k, v = (part(x).view(2, 7, -1, 8).transpose(1, 2) for part in (layer.q, layer.k, layer.v))
    order = (range(7), range(7))
    out = attend(q, k, v, scheme=layer.scheme, q_positions=q_positions, k_positions=k_positions, causal=True, order=order)
    return layer.out(out.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("scheme", [Sinusoidal(d_model=32), Learned(max_length=9, d_model=32)])
def test_decode_offset_at_the_input(scheme):
    embed = TokenAndPositionEmbedding(vocabulary_size=9, d_model=32, scheme=scheme, scale=None)
    tokens = torch.tensor([[5, 3, 3, 8, 0, 1, 3]])
    assert torch.equal(embed(tokens[:, 6:], range(6, 7)), embed(tokens, range(7))[:, 6:])
    assert not torch.equal(embed(tokens[:, 6:], range(1)), embed(tokens, range(7))[:, 6:])


def test_packed_positions_numbers():
    positions, document_ids = packed([3, 2])
    assert positions.tolist() == [0, 1, 2, 0, 1]
    assert document_ids.tolist() == [0, 0, 0, 1, 1]


@each_scheme
@pytest.mark.parametrize("as_tensors", [False, True])
def test_packed_positions_keep_documents_apart(name, as_tensors):
    layer, x, both = layer_with(name), torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(0)), packed([3, 2])
    with torch.no_grad():
        alone = torch.cat((layer(x[:, :3], range(3)), layer(x[:, 3:], range(2))), dim=1)
        together = layer(x, both.positions, document_ids=both.document_ids if as_tensors else both)
        agree(together, alone)
        assert (layer(x, both.positions) - alone).abs().max() > 0.1  # the reset alone does not


class Dtypes(TorchDispatchMode):
    """Record the dtype of every tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        self.seen |= {x.dtype for x in torch.utils._pytree.tree_leaves(out) if isinstance(x, torch.Tensor)}
        return out


@each_scheme
def test_backend_dtype_nothing_complex(name):
    layer, dtypes = layer_with(name), Dtypes()
    with dtypes:
        layer(torch.randn(1, 5, 32), range(5))
        Sinusoidal(d_model=8)(torch.randn(1, 5, 8), torch.arange(5))
        Learned(max_length=8, d_model=8)(torch.randn(1, 5, 8), torch.arange(5))
    assert torch.float32 in dtypes.seen
    assert not [dtype for dtype in dtypes.seen if dtype.is_complex]


@each_scheme
def test_context_parallel_slice_zigzag(name):
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8, 8)
    scheme = SCHEMES[name]()
    full = attend(q, k, v, scheme=scheme, q_positions=range(8), k_positions=range(8), causal=True)
    for places in ([0, 1, 6, 7], [2, 3, 4, 5]):
        rank = attend(q[:, :, places], k, v, scheme=scheme, q_positions=torch.tensor(places), k_positions=range(8), causal=True)
        agree(rank, full[:, :, places])


@each_scheme
def test_mask_blind_positions_left_padding(name):
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    places = from_padding_mask(mask)
    assert places[0, 2:].tolist() == [0, 1, 2]
    layer, x = layer_with(name), torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        out = layer(x, places, mask=mask.bool()[:, None, None, :])
        agree(out[:, 2:], layer(x[:, 2:], range(3)))


@pytest.mark.parametrize("scheme", [Sinusoidal(d_model=8), Learned(max_length=8, d_model=8)])
def test_mask_blind_positions_at_the_input(scheme):
    x, mask = torch.randn(1, 5, 8), torch.tensor([[0, 0, 1, 1, 1]])
    assert torch.equal(scheme(x, from_padding_mask(mask))[:, 2:], scheme(x[:, 2:], range(3)))
