"""Train on documents laid end to end: positions start again in each, and none sees another."""

import torch

from ordinate import Rope, attend, positions


def largest_difference():
    torch.manual_seed(0)
    rope = Rope(head_dim=16, layout="interleaved")
    documents = [torch.randn(1, 2, length, 16) for length in (4, 7, 3)]
    packed = positions.packed([document.shape[2] for document in documents])
    x = torch.cat(documents, dim=2)
    together = attend(
        x, x, x, scheme=rope, q_positions=packed.positions, k_positions=packed.positions, causal=True, document_ids=packed
    )
    alone = [
        attend(d, d, d, scheme=rope, q_positions=range(d.shape[2]), k_positions=range(d.shape[2]), causal=True) for d in documents
    ]
    return (together - torch.cat(alone, dim=2)).abs().max().item()


if __name__ == "__main__":
    print(f"largest difference between packed and separate: {largest_difference():.1e}")
