"""Decode token by token with a cache and see that it equals one full forward, also for left-padded rows."""

import torch

from ordinate import KeyValueCache, MultiheadAttention, Rope, positions


def largest_difference():
    torch.manual_seed(0)
    layer = MultiheadAttention(d_model=32, n_heads=4, n_kv_heads=2, scheme=Rope(head_dim=8, layout="half"), causal=True)
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])  # the first row has two pad tokens on the left
    x = torch.randn(2, 8, 32)

    prompt = positions.from_padding_mask(real)
    later = positions.continued(real.sum(1), 3)
    seen = torch.cat((real, torch.ones(2, 3, dtype=torch.int64)), dim=1).bool()
    full = layer(x, torch.cat((prompt, later), dim=1), mask=seen[:, None, None, :])

    cache = KeyValueCache()
    parts = [layer(x[:, :5], prompt, cache=cache, mask=seen[:, None, None, :5])]
    for step in range(3):
        width = 6 + step
        parts.append(layer(x[:, width - 1 : width], later[:, step : step + 1], cache=cache, mask=seen[:, None, None, :width]))
    difference = (torch.cat(parts, dim=1) - full).abs()
    return difference[seen].max().item()  # what pad tokens compute is of no use


if __name__ == "__main__":
    print(f"largest difference between cached and full: {largest_difference():.1e}")
