"""Positions of many kinds, and attention with a scheme of the scores written out in float64 loops."""

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate import attend, reference

PLACES = {
    "range": (range(5), range(5)),
    "last of many": (range(6, 7), range(7)),
    "strided ranges": (range(0, 10, 2), range(1, 15, 2)),
    "falling": (range(4, -1, -1), range(6, -1, -1)),
    "steps differ": (range(0, 10, 2), range(5)),
    "far ranges": (range(2**40, 2**40 + 3), range(2**40 - 5, 2**40)),
    "far apart": (range(2**40, 2**40 + 3), range(3)),
    "tensors": (torch.tensor([3, 0, 8]), torch.tensor([1, 1, 9, 0])),
    "int32": (torch.tensor([2**31 - 1], dtype=torch.int32), torch.tensor([-(2**31)], dtype=torch.int32)),
    "int32, the future": (torch.tensor([-(2**31)], dtype=torch.int32), torch.tensor([2**31 - 1, 0], dtype=torch.int32)),
    "rows": (torch.tensor([[0, 1], [7, 3]]), torch.tensor([[0, 1, 2], [5, 5, 0]])),
    "range and rows": (range(2), torch.tensor([[0, 1, 2], [5, 5, 0]])),
    "one row for all": (torch.tensor([[4, 2]]), range(3)),
}
SEEN = ["range", "last of many", "strided ranges", "falling", "tensors", "rows", "range and rows"]
MASKS = ["no mask", "bool", "added"]


def listed(places, row):
    """The positions of one batch row as Python numbers."""
    if isinstance(places, range):
        return list(places)
    return (places if places.ndim == 1 else places[row % len(places)]).tolist()


def drawn(places, n_heads, n_kv_heads, width, dtype=torch.float64):
    """Random q, k and v for two batch rows."""
    generator = torch.Generator().manual_seed(0)
    queries, keys = (len(listed(side, 0)) for side in places)
    shapes = [(2, n_heads, queries, width), (2, n_kv_heads, keys, width), (2, n_kv_heads, keys, width)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def loud(module, seed=1):
    """Weights of size 1 in place of 0.02, exact in bfloat16, so that a wrong row is no small error."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_((16 * torch.randn(weight.shape, generator=generator)).round() / 16)
    return module


def numbers(x):
    return x.detach().double().numpy()


def mask_of(kind, queries, keys):
    """A mask [2, 1, Q, K] that hides about a third, and all from the first query of row 1."""
    generator = torch.Generator().manual_seed(2)
    seen = torch.rand(2, 1, queries, keys, generator=generator) > 0.3
    seen[1, 0, 0] = False
    added = torch.randn(seen.shape, generator=generator, dtype=torch.float64).masked_fill(~seen, -torch.inf)
    return {"no mask": None, "bool": seen, "added": added}[kind]


def check_attention(scheme, places, causal, mask, *, n_heads, n_kv_heads, width, scale, bias, added=None, extras=None, given=None):
    """``attend`` against loops: softmax(scale q . k + bias(q, k, queries, keys, head)) v + added(weights, queries, keys)."""
    q, k, v = drawn(places, n_heads, n_kv_heads, width)
    mask = mask_of(mask, q.shape[2], k.shape[2])
    out = attend(
        q, k, v, scheme=scheme, q_positions=places[0], k_positions=places[1], causal=causal, mask=mask, scale=given, extras=extras
    )
    blind = 0
    for b in range(2):
        queries, keys = (listed(side, b) for side in places)
        visible = np.array([[not causal or key <= query for key in keys] for query in queries])
        more = np.zeros(visible.shape)
        if mask is not None:
            seen = mask[b, 0] if mask.dtype == torch.bool else mask[b, 0] > -torch.inf
            visible &= seen.numpy()
            more = np.where(seen.numpy(), 0.0 if mask.dtype == torch.bool else mask[b, 0].numpy(), 0.0)
        for h in range(n_heads):
            one_q, one_k, one_v = (
                q[b, h].numpy(),
                k[b, h // (n_heads // n_kv_heads)].numpy(),
                v[b, h // (n_heads // n_kv_heads)].numpy(),
            )
            scores = bias(one_q, one_k, queries, keys, h) + more
            want = reference.attention(one_q, one_k, one_v, scale, scores, visible)
            if added is not None:
                # with the identity as values the output is the weights
                want = want + added(reference.attention(one_q, one_k, np.eye(len(keys)), scale, scores, visible), queries, keys)
            got = out[b, h].detach().numpy()
            assert np.abs(got - want).max() < 1e-13
            assert not got[~visible.any(1)].any()  # exactly 0
            blind += (~visible.any(1)).sum()
    assert mask is None or blind > 0


def softmax(scores):
    """Weights of one query, vectorised: the loops of ``reference.attention`` are too slow for thousands of keys."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


class Largest(TorchDispatchMode):
    """Remembers the bytes of the largest tensor that any step makes."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.bytes = max(self.bytes, tensor.untyped_storage().nbytes())
        return out
