"""What the tests of schemes with several coordinates share."""

import numpy as np
import torch

FLOAT32, FLOAT64 = 1e-6, 4e-15


def drawn(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def in_loops(x, places, turn):
    """A reference's turn of [T, D] for every row and head of [B, H, T, D]; positions [B or 1, T, A]."""
    out = np.zeros(x.shape)
    for b in range(x.shape[0]):
        for h in range(x.shape[1]):
            out[b, h] = turn(x[b, h].double().numpy(), places[b % len(places)].tolist())
    return torch.from_numpy(out)


def error(ours, theirs):
    assert ours.shape == theirs.shape
    return (ours.double() - theirs).abs().max().item()
